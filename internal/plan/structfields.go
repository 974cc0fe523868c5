package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// lackedFields says which fields of a struct column the rows given lack. An update leaves those
// fields as the table has them, as it leaves a column that the rows lack. Fields below lists and maps
// are not among them: there is no telling which element of the table an element of the rows is.
type lackedFields struct {
	lacked []bool          // by field
	below  []*lackedFields // by field: of a struct, nil if the rows lack nothing of it
}

// typeGiven is the type of a column of the rows, by the table's name for it.
func typeGiven(rows *arrow.Schema, name string) arrow.DataType {
	for _, f := range rows.Fields() {
		if foldName(f.Name) == foldName(name) {
			return f.Type
		}
	}
	return arrow.Null
}

// lackedIn compares the type of a column as the rows give it with that of the table; nil if the rows
// lack nothing.
func lackedIn(given, table arrow.DataType) *lackedFields {
	to, ok := table.(*arrow.StructType)
	from, is := delta.PlainArrowType(given).(*arrow.StructType)
	if !ok || !is {
		return nil
	}
	has := make(map[string]arrow.DataType, from.NumFields())
	for _, f := range from.Fields() {
		has[foldName(f.Name)] = f.Type
	}
	l := &lackedFields{lacked: make([]bool, to.NumFields()), below: make([]*lackedFields, to.NumFields())}
	any := false
	for i, f := range to.Fields() {
		t, ok := has[foldName(f.Name)]
		if l.lacked[i] = !ok; ok {
			l.below[i] = lackedIn(t, f.Type)
		}
		any = any || !ok || l.below[i] != nil
	}
	if !any {
		return nil
	}
	return l
}

// structOf makes a struct of fields, with the NULLs of s.
func structOf(mem memory.Allocator, t *arrow.StructType, s *array.Struct, children []arrow.ArrayData) arrow.Array {
	valid := validity(mem, s)
	if valid != nil {
		defer valid.Release()
	}
	out := array.NewData(t, s.Len(), []*memory.Buffer{valid}, children, s.NullN(), 0)
	defer out.Release()
	return array.MakeFromData(out)
}

// over lays rows given over those of the table, row by row: a struct that is NULL in the rows is NULL,
// and of the others the lacked fields are the table's. Below a NULL of the table all is NULL, as files
// are read. The caller releases the result.
func (l *lackedFields) over(mem memory.Allocator, given, table arrow.Array) arrow.Array {
	if l == nil {
		given.Retain()
		return given
	}
	s, t := given.(*array.Struct), table.(*array.Struct)
	var children []arrow.ArrayData
	for i := range s.NumField() {
		if l.lacked[i] {
			children = append(children, t.Field(i).Data())
			continue
		}
		child := l.below[i].over(mem, s.Field(i), t.Field(i))
		defer child.Release()
		children = append(children, child.Data())
	}
	return structOf(mem, s.DataType().(*arrow.StructType), s, children)
}
