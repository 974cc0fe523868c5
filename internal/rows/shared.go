package rows

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Arrays count their NULLs when they are first asked, and keep the number: a read that writes. What
// several goroutines look at is therefore either counted before, or owned by each.

// CountNulls has every array of a batch of a table's types count its NULLs, at every level, so that
// goroutines may share the batch from then on.
func CountNulls(batch arrow.RecordBatch) {
	for _, c := range batch.Columns() {
		countNulls(c)
	}
}

func countNulls(a arrow.Array) {
	a.NullN()
	switch a := a.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			countNulls(a.Field(i))
		}
	case array.ListLike:
		countNulls(a.ListValues())
	}
}

// Own gives the batch arrays of its own over the same memory: what they note of themselves is not seen
// by others who hold the batch. The caller releases the result.
func Own(batch arrow.RecordBatch) arrow.RecordBatch {
	cols := make([]arrow.Array, batch.NumCols())
	for i, c := range batch.Columns() {
		data := ownData(c.Data())
		cols[i] = array.MakeFromData(data)
		data.Release()
	}
	out := array.NewRecordBatch(batch.Schema(), cols, batch.NumRows())
	for _, c := range cols {
		c.Release()
	}
	return out
}

func ownData(d arrow.ArrayData) *array.Data {
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = ownData(c)
	}
	var out *array.Data
	if d.DataType().ID() == arrow.DICTIONARY {
		values := ownData(d.Dictionary())
		out = array.NewDataWithDictionary(d.DataType(), d.Len(), d.Buffers(), d.NullN(), d.Offset(), values)
		values.Release()
	} else {
		out = array.NewData(d.DataType(), d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
	}
	for _, c := range children {
		c.Release()
	}
	return out
}
