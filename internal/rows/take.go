package rows

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Take gives the rows of a batch by number; -1 gives a row of NULLs. The caller releases the result.
func Take(mem memory.Allocator, batch arrow.RecordBatch, index []int32) (arrow.RecordBatch, error) {
	for _, i := range index {
		if i < -1 || int64(i) >= batch.NumRows() {
			return nil, fmt.Errorf("take rows: row %d of a batch of %d", i, batch.NumRows())
		}
	}
	return take(mem, []arrow.RecordBatch{batch}, nil, index)
}

// TakeFrom gives rows of several batches with one schema: row index[i] of batches[which[i]]; index -1 gives a row of NULLs. The
// caller releases the result.
func TakeFrom(mem memory.Allocator, batches []arrow.RecordBatch, which, index []int32) (arrow.RecordBatch, error) {
	if err := oneSchema(batches); err != nil {
		return nil, fmt.Errorf("take rows: %w", err)
	}
	if len(which) != len(index) {
		return nil, fmt.Errorf("take rows: %d batch numbers for %d row numbers", len(which), len(index))
	}
	for n, i := range index {
		w := which[n]
		if w < 0 || int(w) >= len(batches) {
			return nil, fmt.Errorf("take rows: batch %d of %d", w, len(batches))
		}
		if i < -1 || int64(i) >= batches[w].NumRows() {
			return nil, fmt.Errorf("take rows: row %d of a batch of %d", i, batches[w].NumRows())
		}
	}
	if len(batches) == 1 {
		which = nil
	}
	return take(mem, batches, which, index)
}

// Concat joins batches of one schema into one. The caller releases the result.
func Concat(mem memory.Allocator, batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if err := oneSchema(batches); err != nil {
		return nil, fmt.Errorf("join batches: %w", err)
	}
	if len(batches) == 1 {
		batches[0].Retain()
		return batches[0], nil
	}
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
	}
	return build("join batches", batches[0].Schema(), rows, func(c int) (arrow.Array, error) {
		return array.Concatenate(columnOf(batches, c), mem)
	})
}

func oneSchema(batches []arrow.RecordBatch) error {
	if len(batches) == 0 {
		return fmt.Errorf("no batch, hence no schema")
	}
	first := batches[0].Schema()
	for n, b := range batches[1:] {
		if s := b.Schema(); s != first && !s.Equal(first) {
			return fmt.Errorf("batch %d has another schema than the first: %s, not %s", n+1, s, first)
		}
	}
	return nil
}

func columnOf(batches []arrow.RecordBatch, c int) []arrow.Array {
	out := make([]arrow.Array, len(batches))
	for i, b := range batches {
		out[i] = b.Column(c)
	}
	return out
}

func take(mem memory.Allocator, batches []arrow.RecordBatch, which, index []int32) (arrow.RecordBatch, error) {
	g := gatherer{mem: mem, which: which, index: index}
	return build("take rows", batches[0].Schema(), int64(len(index)), func(c int) (arrow.Array, error) {
		return g.array(columnOf(batches, c))
	})
}

// build makes a batch column by column, and leaks none when one fails. what is done is for the error.
func build(what string, schema *arrow.Schema, rows int64, column func(c int) (arrow.Array, error)) (arrow.RecordBatch, error) {
	cols := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for c := range schema.NumFields() {
		arr, err := column(c)
		if err != nil {
			return nil, fmt.Errorf("%s: column %s: %w", what, schema.Field(c).Name, err)
		}
		cols = append(cols, arr)
	}
	return array.NewRecordBatch(schema, cols, rows), nil
}

// gatherer takes rows index of arrays which; a nil which is always the first array.
type gatherer struct {
	mem          memory.Allocator
	which, index []int32
}

func (g *gatherer) array(src []arrow.Array) (arrow.Array, error) {
	data, err := g.data(src)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

func (g *gatherer) data(src []arrow.Array) (*array.Data, error) {
	typ := src[0].DataType()
	if typ.ID() == arrow.NULL {
		return array.NewData(typ, len(g.index), []*memory.Buffer{nil}, nil, len(g.index), 0), nil
	}
	out := &gathered{mem: g.mem}
	defer out.release()
	nulls := g.validity(src, out)
	if err := g.values(typ, src, out); err != nil {
		return nil, err
	}
	return array.NewData(typ, len(g.index), out.buffers, out.children, nulls, 0), nil
}

// values appends to out the buffers that follow the validity bits, or the children.
func (g *gatherer) values(typ arrow.DataType, src []arrow.Array, out *gathered) error {
	switch t := typ.(type) {
	case *arrow.BooleanType:
		g.bools(src, out)
		return nil
	case *arrow.StringType, *arrow.BinaryType:
		return g.bytes(src, out)
	case *arrow.StructType:
		return g.structs(src, out)
	case *arrow.ListType:
		return g.lists(src, out)
	case *arrow.MapType:
		return g.lists(src, out)
	case *arrow.DictionaryType:
		return unsupported(t)
	case arrow.FixedWidthDataType:
		return g.fixed(t, src, out)
	default:
		return unsupported(t)
	}
}

// gathered is an array under way. It owns its parts until they are released; the array retains what it needs.
type gathered struct {
	mem      memory.Allocator
	buffers  []*memory.Buffer
	children []arrow.ArrayData
}

// buffer appends a buffer of n zero bytes.
func (o *gathered) buffer(n int) []byte {
	b := memory.NewResizableBuffer(o.mem)
	b.Resize(n)
	clear(b.Bytes())
	o.buffers = append(o.buffers, b)
	return b.Bytes()
}

func (o *gathered) release() {
	for _, b := range o.buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range o.children {
		c.Release()
	}
}

func offsetOverflow(total int64) error {
	if total > math.MaxInt32 {
		return fmt.Errorf("%d bytes or elements in one batch exceed what 32-bit offsets reach: use smaller batches", total)
	}
	return nil
}
