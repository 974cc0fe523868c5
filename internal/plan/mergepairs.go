package plan

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/internal/rows"
)

// pairs are rows of the source and of the table that belong together: source row from[i], table row
// to[i]. One side may be missing: then its batch is nil. Columns are found by name.
type pairs struct {
	source, target arrow.RecordBatch
	from, to       []int32
}

// len is the number of pairs.
func (p *pairs) len() int { return max(len(p.from), len(p.to)) }

// only gives some of the pairs, by number.
func (p *pairs) only(index []int32) *pairs {
	out := &pairs{source: p.source, target: p.target}
	if p.source != nil {
		out.from = chosen(p.from, index)
	}
	if p.target != nil {
		out.to = chosen(p.to, index)
	}
	return out
}

func chosen(list, index []int32) []int32 {
	out := make([]int32, len(index))
	for i, k := range index {
		out[i] = list[k]
	}
	return out
}

// pairing is the schema that expressions over both sides are bound to: a struct of source columns
// and one of table columns.
type pairing struct {
	source, target []string
	schema         *arrow.Schema
}

func newPairing(source, table *arrow.Schema, used *namer) *pairing {
	l := &pairing{}
	var fields []arrow.Field
	side := func(name string, s *arrow.Schema, used map[string]bool) (names []string) {
		var list []arrow.Field
		for _, f := range s.Fields() {
			if used[foldName(f.Name)] {
				f.Nullable = true
				list, names = append(list, f), append(names, f.Name)
			}
		}
		fields = append(fields, arrow.Field{Name: name, Type: arrow.StructOf(list...), Nullable: true})
		return names
	}
	l.source = side(sourceSide, source, used.usedSource)
	l.target = side(targetSide, table, used.usedTable)
	l.schema = arrow.NewSchema(fields, nil)
	return l
}

// batch gives pairs as rows of the schema. The caller releases it.
func (l *pairing) batch(mem memory.Allocator, p *pairs) (arrow.RecordBatch, error) {
	sides := make([]arrow.Array, 2)
	defer release(sides)
	var err error
	if sides[0], err = sideOf(mem, l.schema.Field(0), p.source, l.source, p.from, p.len()); err != nil {
		return nil, err
	}
	if sides[1], err = sideOf(mem, l.schema.Field(1), p.target, l.target, p.to, p.len()); err != nil {
		return nil, err
	}
	return array.NewRecordBatch(l.schema, sides, int64(p.len())), nil
}

// sideOf takes rows of some columns as a struct, n NULLs if there is no batch.
func sideOf(mem memory.Allocator, f arrow.Field, batch arrow.RecordBatch, names []string, index []int32, n int) (arrow.Array, error) {
	if batch == nil {
		return array.MakeArrayOfNull(mem, f.Type, n), nil
	}
	columns, err := named(batch, names)
	if err != nil {
		return nil, err
	}
	view := array.NewRecordBatch(arrow.NewSchema(f.Type.(*arrow.StructType).Fields(), nil), columns, batch.NumRows())
	defer view.Release()
	taken, err := rows.Take(mem, view, index)
	if err != nil {
		return nil, err
	}
	defer taken.Release()
	children := make([]arrow.ArrayData, taken.NumCols())
	for i, c := range taken.Columns() {
		children[i] = c.Data()
	}
	data := array.NewData(f.Type, n, []*memory.Buffer{nil}, children, 0, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// blend puts a column together from rows of several arrays of one type: row index[i] of
// arrays[which[i]], NULL where index is -1. The caller releases it.
func blend(mem memory.Allocator, f arrow.Field, arrays []arrow.Array, which, index []int32) (arrow.Array, error) {
	if len(arrays) == 0 {
		return array.MakeArrayOfNull(mem, f.Type, len(index)), nil
	}
	schema := arrow.NewSchema([]arrow.Field{f}, nil)
	batches := make([]arrow.RecordBatch, len(arrays))
	for i, a := range arrays {
		if !arrow.TypeEqual(a.DataType(), f.Type) {
			return nil, fmt.Errorf("column %s: values of type %s for one of type %s", f.Name, a.DataType(), f.Type)
		}
		batches[i] = array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len()))
		defer batches[i].Release()
	}
	return onlyColumn(rows.TakeFrom(mem, batches, which, index))
}

// onlyColumn gives the one column of a batch, and lets go of the batch.
func onlyColumn(batch arrow.RecordBatch, err error) (arrow.Array, error) {
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	column := batch.Column(0)
	column.Retain()
	return column, nil
}

// takeColumn gives rows of one column.
func takeColumn(mem memory.Allocator, f arrow.Field, column arrow.Array, index []int32) (arrow.Array, error) {
	return blend(mem, f, []arrow.Array{column}, make([]int32, len(index)), index)
}

// named gives columns of a batch by name.
func named(batch arrow.RecordBatch, names []string) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(names))
	for i, n := range names {
		c, err := columnNamed(batch, n)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

func columnNamed(batch arrow.RecordBatch, name string) (arrow.Array, error) {
	c := slices.IndexFunc(batch.Schema().Fields(), func(f arrow.Field) bool { return f.Name == name })
	if c < 0 {
		return nil, fmt.Errorf("column %q is not in the batch", name)
	}
	return batch.Column(c), nil
}

// pick gives columns of a batch.
func pick(batch arrow.RecordBatch, columns []int) []arrow.Array {
	out := make([]arrow.Array, len(columns))
	for i, c := range columns {
		out[i] = batch.Column(c)
	}
	return out
}

func release(columns []arrow.Array) {
	for _, c := range columns {
		if c != nil {
			c.Release()
		}
	}
}

// counting is 0, 1, … n-1.
func counting(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}
