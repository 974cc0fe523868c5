package rows

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Rename gives the batch another schema of the same shape: names, metadata and nullability may
// differ at every level, the types of values may not. It shares all memory with batch; the caller
// releases the result.
func Rename(batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	if int(batch.NumCols()) != schema.NumFields() {
		return nil, fmt.Errorf("rename columns: a batch of %d columns, a schema of %d", batch.NumCols(), schema.NumFields())
	}
	return build("rename columns", schema, batch.NumRows(), func(c int) (arrow.Array, error) {
		col, want := batch.Column(c), schema.Field(c).Type
		if arrow.TypeEqual(col.DataType(), want, arrow.CheckMetadata()) {
			col.Retain()
			return col, nil
		}
		data, err := relabel(col.Data(), want)
		if err != nil {
			return nil, err
		}
		defer data.Release()
		return array.MakeFromData(data), nil
	})
}

// relabel gives data another type of the same shape. The caller releases it.
func relabel(data arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	have := data.DataType()
	if have.ID() != want.ID() {
		return nil, fmt.Errorf("a column of %s cannot be called one of %s", have, want)
	}
	nested, ok := want.(arrow.NestedType)
	if !ok {
		if !arrow.TypeEqual(have, want) {
			return nil, fmt.Errorf("a column of %s cannot be called one of %s", have, want)
		}
		data.Retain()
		return data, nil
	}
	types := childTypes(nested)
	if len(types) != len(data.Children()) {
		return nil, fmt.Errorf("a column of %s cannot be called one of %s", have, want)
	}
	children := make([]arrow.ArrayData, 0, len(types))
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	for i, c := range data.Children() {
		child, err := relabel(c, types[i])
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return array.NewData(want, data.Len(), data.Buffers(), children, data.NullN(), data.Offset()), nil
}

// childTypes are the types of the arrays that an array of a type is made of: a map has one, of its
// entries.
func childTypes(t arrow.NestedType) []arrow.DataType {
	if m, ok := t.(*arrow.MapType); ok {
		return []arrow.DataType{m.Elem()}
	}
	types := make([]arrow.DataType, t.NumFields())
	for i, f := range t.Fields() {
		types[i] = f.Type
	}
	return types
}
