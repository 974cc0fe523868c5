package records_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/records"
)

// checked gives an allocator that must be empty when the test ends.
func checked(t testing.TB) memory.Allocator {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func schemaOf(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func decimalOf(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }

var (
	i32  = arrow.PrimitiveTypes.Int32
	i64  = arrow.PrimitiveTypes.Int64
	f32  = arrow.PrimitiveTypes.Float32
	f64  = arrow.PrimitiveTypes.Float64
	text = arrow.BinaryTypes.String
	bin  = arrow.BinaryTypes.Binary
	flag = arrow.FixedWidthTypes.Boolean
	date = arrow.FixedWidthTypes.Date32
	ts   = arrow.FixedWidthTypes.Timestamp_us
	ntz  = &arrow.TimestampType{Unit: arrow.Microsecond}
)

// flatSchema has every flat type of a table.
func flatSchema() *arrow.Schema {
	return schemaOf(field("b", flag), field("i8", arrow.PrimitiveTypes.Int8), field("i16", arrow.PrimitiveTypes.Int16), field("i32", i32),
		field("i64", i64), field("f32", f32), field("f64", f64), field("d", decimalOf(12, 2)), field("d38", decimalOf(38, 10)),
		field("s", text), field("bin", bin), field("day", date), field("at", ts), field("wall", ntz))
}

// lines reads all rows, each as its cells separated by |, and NULL as -.
func lines(t testing.TB, rows array.RecordReader) []string {
	t.Helper()
	out, err := tryLines(rows)
	require.NoError(t, err)
	return out
}

func tryLines(rows array.RecordReader) ([]string, error) {
	var out []string
	for rows.Next() {
		out = append(out, batchLines(rows.RecordBatch())...)
	}
	return out, rows.Err()
}

func batchLines(batch arrow.RecordBatch) []string {
	var out []string
	for i := range int(batch.NumRows()) {
		var cells []string
		for _, c := range batch.Columns() {
			switch d, decimal := c.(*array.Decimal128); {
			case c.IsNull(i):
				cells = append(cells, "-")
			case decimal:
				cells = append(cells, d.Value(i).ToString(d.DataType().(*arrow.Decimal128Type).Scale))
			default:
				cells = append(cells, c.ValueStr(i))
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return out
}

// failure reads rows up to their error, which there must be.
func failure(t testing.TB, rows array.RecordReader, err error) string {
	t.Helper()
	if err == nil {
		_, err = tryLines(rows)
		if r, ok := rows.(interface{ Release() }); ok {
			r.Release()
		}
	}
	require.Error(t, err)
	return err.Error()
}

// dir is files in memory.
func dir(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func in(files map[string]string, names ...string) records.Files {
	return records.Files{Names: names, FS: dir(files)}
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	return b.String()
}

// seqOf gives batches as a sequence, each once.
func seqOf(batches ...arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// fromJSON makes a batch.
func fromJSON(t testing.TB, mem memory.Allocator, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(rows))
	require.NoError(t, err)
	return batch
}

// requireEqual compares batches cell by cell.
func requireEqual(t require.TestingT, want, got arrow.RecordBatch) {
	require.True(t, want.Schema().Equal(got.Schema()), "%s\n%s", want.Schema(), got.Schema())
	for i, c := range want.Columns() {
		require.True(t, array.ApproxEqual(c, got.Column(i), array.WithNaNsEqual(true), array.WithAbsTolerance(0)), "%s:\n%s\n%s", want.ColumnName(i), c, got.Column(i))
	}
}
