package parquetio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/parquetio"
)

// file is a Source in memory.
type file struct {
	*bytes.Reader
	name string
}

func (f file) Name() string { return f.name }

func source(name string, b []byte) parquetio.Source { return file{bytes.NewReader(b), name} }

// checked gives an allocator that must be empty when the test ends.
func checked(t testing.TB) memory.Allocator {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// fewer is n, and a tenth of it under the race detector, for which a file is one goroutine.
func fewer(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func decimalOf(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }

var (
	timestampType    = arrow.FixedWidthTypes.Timestamp_us
	timestampNTZType = &arrow.TimestampType{Unit: arrow.Microsecond}
)

// flatSchema has every flat type of a table.
func flatSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		field("b", arrow.FixedWidthTypes.Boolean),
		field("i8", arrow.PrimitiveTypes.Int8),
		field("i16", arrow.PrimitiveTypes.Int16),
		field("i32", arrow.PrimitiveTypes.Int32),
		field("i64", arrow.PrimitiveTypes.Int64),
		field("f32", arrow.PrimitiveTypes.Float32),
		field("f64", arrow.PrimitiveTypes.Float64),
		field("d5", decimalOf(5, 2)),
		field("d12", decimalOf(12, 2)),
		field("d38", decimalOf(38, 10)),
		field("s", arrow.BinaryTypes.String),
		field("bin", arrow.BinaryTypes.Binary),
		field("date", arrow.FixedWidthTypes.Date32),
		field("ts", timestampType),
		field("ntz", timestampNTZType),
		{Name: "must", Type: arrow.PrimitiveTypes.Int64},
		field("code", arrow.BinaryTypes.String),
	}, nil)
}

// nestedSchema has lists, maps and structs in each other.
func nestedSchema() *arrow.Schema {
	point := arrow.StructOf(field("x", arrow.PrimitiveTypes.Int32), field("tag", arrow.BinaryTypes.String))
	return arrow.NewSchema([]arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64),
		field("point", point),
		field("tags", arrow.ListOf(arrow.BinaryTypes.String)),
		field("attrs", arrow.MapOf(arrow.BinaryTypes.String, decimalOf(20, 4))),
		field("deep", arrow.ListOf(arrow.ListOf(point))),
		field("mixed", arrow.StructOf(field("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.ListOf(timestampType))), field("flag", arrow.FixedWidthTypes.Boolean))),
	}, nil)
}

// randomBatch makes n rows with NULLs, deterministic by seed.
func randomBatch(mem memory.Allocator, s *arrow.Schema, n int, seed uint64) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(seed, 1))
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	for i, f := range s.Fields() {
		for range n {
			appendRandom(r, b.Field(i), f, 0)
		}
	}
	return b.NewRecordBatch()
}

func appendRandom(r *rand.Rand, b array.Builder, f arrow.Field, depth int) {
	if f.Nullable && r.IntN(6) == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case *array.Int8Builder:
		b.Append(int8(r.Int()))
	case *array.Int16Builder:
		b.Append(int16(r.Int()))
	case *array.Int32Builder:
		b.Append(int32(r.Int()))
	case *array.Int64Builder:
		b.Append(int64(r.Uint64()))
	case *array.Float32Builder:
		b.Append(float32(r.NormFloat64()))
	case *array.Float64Builder:
		b.Append(r.NormFloat64())
	case *array.Decimal128Builder:
		top := decimal128.GetScaleMultiplier(int(b.Type().(*arrow.Decimal128Type).Precision))
		_, v := decimal128.New(int64(r.Uint64()), r.Uint64()).Div(top)
		b.Append(v)
	case *array.StringBuilder:
		if f.Name == "code" {
			b.Append([]string{"EUR", "USD", "CHF"}[r.IntN(3)])
			return
		}
		b.Append(strings.Repeat("ä", r.IntN(4)) + fmt.Sprint(r.IntN(1000)))
	case *array.BinaryBuilder:
		b.Append([]byte{byte(r.Int()), 0, byte(r.Int())}[:r.IntN(4)])
	case *array.Date32Builder:
		b.Append(arrow.Date32(r.IntN(60000) - 30000))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(r.Int64N(1<<58) - 1<<57))
	case *array.StructBuilder:
		b.Append(true)
		for i, c := range b.Type().(*arrow.StructType).Fields() {
			appendRandom(r, b.FieldBuilder(i), c, depth+1)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range r.IntN(4) {
			appendRandom(r, b.ValueBuilder(), field("", nil), depth+1)
		}
	case *array.MapBuilder:
		b.Append(true)
		for range r.IntN(4) {
			appendRandom(r, b.KeyBuilder(), arrow.Field{}, depth+1)
			appendRandom(r, b.ItemBuilder(), field("", nil), depth+1)
		}
	default:
		panic(fmt.Sprintf("%T", b))
	}
}

// writeFile writes batches and gives the file's bytes.
func writeFile(t require.TestingT, o parquetio.WriteOptions, s *arrow.Schema, batches ...arrow.RecordBatch) []byte {
	data, err := tryWrite(o, s, batches...)
	require.NoError(t, err)
	return data
}

// tryWrite is writeFile where it may be refused.
func tryWrite(o parquetio.WriteOptions, s *arrow.Schema, batches ...arrow.RecordBatch) ([]byte, error) {
	var out bytes.Buffer
	w, err := parquetio.Parquet{}.NewWriter(&out, s, o)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			w.Abort()
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// readAll reads the wanted columns into one table. The caller releases it.
func readAll(ctx context.Context, src parquetio.Source, want *arrow.Schema, o parquetio.ReadOptions) (arrow.Table, error) {
	r, err := parquetio.Parquet{}.Open(ctx, src, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var batches []arrow.RecordBatch
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	rows := int64(0)
	for b, err := range r.Batches(ctx, want) {
		if err != nil {
			return nil, err
		}
		b.Retain()
		batches = append(batches, b)
		rows += b.NumRows()
	}
	if rows != r.NumRows() {
		return nil, fmt.Errorf("%d rows of %d", rows, r.NumRows())
	}
	return array.NewTableFromRecords(want, batches), nil
}

// requireSame compares what was read with the batches that were written.
func requireSame(t require.TestingT, s *arrow.Schema, got arrow.Table, batches ...arrow.RecordBatch) {
	want := array.NewTableFromRecords(s, batches)
	defer want.Release()
	requireSameTable(t, want, got)
}

func requireSameTable(t require.TestingT, want, got arrow.Table) {
	require.Equal(t, want.NumRows(), got.NumRows())
	require.Equal(t, want.NumCols(), got.NumCols())
	for i := range int(want.NumCols()) {
		a, b := want.Column(i).Data(), got.Column(i).Data()
		if want.NumRows() > 0 && !array.ChunkedEqual(a, b) {
			require.Failf(t, "columns differ", "column %s\nwant %v\ngot  %v", want.Column(i).Name(), a, b)
		}
	}
}

// corpus gives the directory of tables that other engines wrote.
func corpus(t testing.TB) string {
	dir := os.Getenv("IDEM_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "expected.jsonl")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the corpus is missing: %v", err)
		}
		t.Skipf("the corpus is missing (set IDEM_CORPUS): %v", err)
	}
	return dir
}

func errorsIsAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// rowsJSON gives a table's rows as a JSON array.
func rowsJSON(t testing.TB, tbl arrow.Table) string {
	r := array.NewTableReader(tbl, 0)
	defer r.Release()
	var out bytes.Buffer
	out.WriteByte('[')
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			if out.Len() > 1 {
				out.WriteByte(',')
			}
			row := map[string]any{}
			for c, f := range rec.Schema().Fields() {
				row[f.Name] = rec.Column(c).GetOneForMarshal(i)
			}
			b, err := json.Marshal(row)
			require.NoError(t, err)
			out.Write(b)
		}
	}
	require.NoError(t, r.Err())
	out.WriteByte(']')
	return out.String()
}
