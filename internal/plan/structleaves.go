package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// leavesOf gives a schema whose columns are the leaves of structs, by dotted names:
// "meta.loaded_at". A struct that is NULL in some of the rows stays as a column that says where, so
// that NULL is not a struct of NULLs.
func leavesOf(s *delta.Struct, rows ...*picked) *delta.Struct {
	out := &delta.Struct{}
	for _, f := range s.Fields {
		appendLeaf(out, f, rows)
	}
	return out
}

func appendLeaf(out *delta.Struct, f delta.Field, rows []*picked) {
	inner, ok := f.Type.(*delta.Struct)
	if !ok {
		out.Fields = append(out.Fields, f)
		return
	}
	if slices.ContainsFunc(rows, func(b *picked) bool { return b.anyNull(f.Name) }) {
		out.Fields = append(out.Fields, delta.Field{Name: f.Name, Type: delta.String, Nullable: true})
	}
	for _, leaf := range inner.Fields {
		leaf.Name = f.Name + "." + leaf.Name
		appendLeaf(out, leaf, rows)
	}
}

func (b *picked) anyNull(column string) bool {
	return slices.ContainsFunc(b.values(column), func(a arrow.Array) bool { return a.NullN() > 0 })
}

// leaves gives the same rows by leaves. The caller releases the result.
func (b *picked) leaves() *picked {
	out := &picked{n: b.n}
	for _, batch := range b.batches {
		var l leafColumns
		for c, f := range batch.Schema().Fields() {
			column := batch.Column(c)
			column.Retain()
			l.add(f.Name, column)
		}
		out.batches = append(out.batches, array.NewRecordBatch(arrow.NewSchema(l.fields, nil), l.columns, batch.NumRows()))
		release(l.columns)
	}
	return out
}

// leafColumns gathers the leaves of columns.
type leafColumns struct {
	fields  []arrow.Field
	columns []arrow.Array
}

// add takes a column over, or what it holds.
func (l *leafColumns) add(name string, column arrow.Array) {
	s, ok := column.(*array.Struct)
	if !ok {
		l.fields = append(l.fields, arrow.Field{Name: name, Type: column.DataType(), Nullable: true})
		l.columns = append(l.columns, column)
		return
	}
	defer s.Release()
	l.add(name, presence(s))
	for i, f := range s.DataType().(*arrow.StructType).Fields() {
		l.add(name+"."+f.Name, masked(memory.DefaultAllocator, s.Field(i), s.IsValid))
	}
}

// presence is NULL where a struct is.
func presence(s *array.Struct) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	for i := range s.Len() {
		if s.IsNull(i) {
			b.AppendNull()
		} else {
			b.Append("{…}")
		}
	}
	return b.NewStringArray()
}
