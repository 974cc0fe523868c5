package records

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// writeBuffer is how much text is gathered before it is written.
const writeBuffer = 64 << 10

// writeRows writes rows as text, one after the other. bind makes, for a batch, what appends the text
// of a row to a buffer.
func writeRows(w io.Writer, schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error], head []byte,
	bind func(columns []arrow.Array) func(dst []byte, row int) ([]byte, *fault)) (n int64, err error) {
	if w == nil || rows == nil {
		return 0, inputErrorf("writing rows needs a writer and a sequence of batches; one of them is nil")
	}
	out := bufio.NewWriterSize(w, writeBuffer)
	if _, err := out.Write(head); err != nil {
		return 0, err
	}
	var buf []byte
	for batch, err := range rows {
		if err != nil {
			return n, brokenOff(err)
		}
		columns, err := projected(batch, schema)
		if err != nil {
			return n, err
		}
		text := bind(columns)
		for i := range int(batch.NumRows()) {
			var f *fault
			if buf, f = text(buf[:0], i); f != nil {
				return n, f.at(fmt.Sprintf("row %d", n+1))
			}
			if _, err := out.Write(buf); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, out.Flush()
}

// projected gives the columns of a batch that a schema names, in its order.
func projected(batch arrow.RecordBatch, schema *arrow.Schema) ([]arrow.Array, error) {
	fields := batch.Schema().Fields()
	columns := make([]arrow.Array, schema.NumFields())
	for i, f := range schema.Fields() {
		at := findColumn(fields, f.Name)
		if at < 0 {
			return nil, inputErrorf("the rows have no column %q; scan it, or leave it out of the schema", f.Name)
		}
		if columns[i] = batch.Column(at); !arrow.TypeEqual(columns[i].DataType(), f.Type) {
			return nil, inputErrorf("column %q of the rows is %s, and the schema says %s", f.Name, columns[i].DataType(), f.Type)
		}
	}
	return columns, nil
}

// valueWriter appends the text of value i of a column, which is not NULL.
type valueWriter func(dst []byte, i int) ([]byte, *fault)

// newValueWriter writes the values of a flat column as [newTextAppender] reads them.
func newValueWriter(a arrow.Array, f Format) valueWriter {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) ([]byte, *fault) { return fmt.Append(dst, a.Value(i)), nil }
	case *array.Int8:
		return intWriter(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int16:
		return intWriter(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int32:
		return intWriter(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int64:
		return intWriter(a.Value)
	case *array.Float32:
		return func(dst []byte, i int) ([]byte, *fault) { return appendFloat(dst, float64(a.Value(i)), 32), nil }
	case *array.Float64:
		return func(dst []byte, i int) ([]byte, *fault) { return appendFloat(dst, a.Value(i), 64), nil }
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return func(dst []byte, i int) ([]byte, *fault) { return appendDecimal(dst, a.Value(i), scale), nil }
	case *array.String:
		return stringWriter(a)
	case *array.Binary:
		return binaryWriter(a, f.Binary)
	case *array.Date32:
		return func(dst []byte, i int) ([]byte, *fault) { return f.appendDate(dst, int64(a.Value(i))) }
	case *array.Timestamp:
		zoned := a.DataType().(*arrow.TimestampType).TimeZone != ""
		return func(dst []byte, i int) ([]byte, *fault) { return f.appendTimestamp(dst, int64(a.Value(i)), zoned) }
	}
	return func(dst []byte, _ int) ([]byte, *fault) { return dst, nil } // a void column has no value
}
