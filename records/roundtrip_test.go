package records_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/records"
)

// The property of every form: what is written is read back as the same rows, under the same options.

const (
	firstDay, lastDay = -719_162, 2_932_896
	dayMicros         = 86_400_000_000
)

// texts are what goes wrong when it goes wrong.
var texts = []string{"", " ", "NA", "NULL", "null", "a", `"`, `""`, "a,b", "a;b", "a\tb", "a\nb", "a\r\nb", "\r", " x ", "\ufeff", "é😀", "\x00\x1f", `\`, `\"`, "true", "1", "-", "2013-01-31"}

// drawValue appends any value of a type, NULL among them.
func drawValue(t *rapid.T, b array.Builder, depth int) {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(rapid.Bool().Draw(t, "bool"))
	case *array.Int8Builder:
		b.Append(rapid.Int8().Draw(t, "int8"))
	case *array.Int16Builder:
		b.Append(rapid.Int16().Draw(t, "int16"))
	case *array.Int32Builder:
		b.Append(rapid.Int32().Draw(t, "int32"))
	case *array.Int64Builder:
		b.Append(rapid.Int64().Draw(t, "int64"))
	case *array.Float32Builder:
		b.Append(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))})).Draw(t, "float32"))
	case *array.Float64Builder:
		b.Append(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1)})).Draw(t, "float64"))
	case *array.Decimal128Builder:
		b.Append(drawDecimal(t, b.Type().(*arrow.Decimal128Type).Precision))
	case *array.StringBuilder:
		b.Append(rapid.OneOf(rapid.SampledFrom(texts), rapid.String()).Draw(t, "string"))
	case *array.BinaryBuilder:
		b.Append(rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes"))
	case *array.Date32Builder:
		b.Append(arrow.Date32(rapid.Int32Range(firstDay, lastDay).Draw(t, "day")))
	case *array.TimestampBuilder:
		// A day from the ends: in another zone they are in years of other lengths.
		b.Append(arrow.Timestamp(rapid.Int64Range((firstDay+1)*dayMicros, lastDay*dayMicros).Draw(t, "micros")))
	default:
		drawNested(t, b, depth)
	}
}

func drawNested(t *rapid.T, b array.Builder, depth int) {
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			drawValue(t, b.FieldBuilder(i), depth+1)
		}
	case *array.MapBuilder:
		b.Append(true)
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 0, 3, rapid.ID[string]).Draw(t, "keys") {
			b.KeyBuilder().(*array.StringBuilder).Append(key)
			drawValue(t, b.ItemBuilder(), depth+1)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			drawValue(t, b.ValueBuilder(), depth+1)
		}
	}
}

func drawDecimal(t *rapid.T, precision int32) decimal128.Num {
	digits := rapid.SliceOfN(rapid.ByteRange('0', '9'), 1, int(precision)).Draw(t, "digits")
	n, err := decimal128.FromString(string(digits), precision, 0)
	if err != nil {
		t.Fatalf("%s: %v", digits, err)
	}
	if rapid.Bool().Draw(t, "negative") {
		n = n.Negate()
	}
	return n
}

func drawBatch(t *rapid.T, mem memory.Allocator, schema *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for range rapid.IntRange(0, 6).Draw(t, "rows") {
		for _, f := range b.Fields() {
			drawValue(t, f, 0)
		}
	}
	return b.NewRecordBatch()
}

// drawSchema takes some of the columns.
func drawSchema(t *rapid.T, all *arrow.Schema) *arrow.Schema {
	fields := rapid.Permutation(all.Fields()).Draw(t, "columns")
	return schemaOf(fields[:rapid.IntRange(1, len(fields)).Draw(t, "number of columns")]...)
}

// requireRows reads rows into one batch and compares it.
func requireRows(t *rapid.T, mem memory.Allocator, want arrow.RecordBatch, rows array.RecordReader) {
	var got []arrow.RecordBatch
	defer func() {
		for _, b := range got {
			b.Release()
		}
	}()
	n := int64(0)
	for rows.Next() {
		rows.RecordBatch().Retain()
		got = append(got, rows.RecordBatch())
		n += rows.RecordBatch().NumRows()
	}
	require.NoError(t, rows.Err())
	require.Equal(t, want.NumRows(), n)
	for i := range want.Columns() {
		var parts []arrow.Array
		for _, b := range got {
			parts = append(parts, b.Column(i))
		}
		if len(parts) == 0 {
			continue
		}
		whole, err := array.Concatenate(parts, mem)
		require.NoError(t, err)
		same := array.ApproxEqual(want.Column(i), whole, array.WithNaNsEqual(true), array.WithAbsTolerance(0)) && want.Column(i).String() == whole.String()
		require.True(t, same, "%s\n%s\n%s", want.ColumnName(i), want.Column(i), whole)
		whole.Release()
	}
}

func drawFormat(t *rapid.T) records.Format {
	return rapid.SampledFrom([]records.Format{
		{}, {Binary: records.Hex}, {Location: time.FixedZone("east", 5*3600+1800)},
		{DateLayout: "02.01.2006"}, {TimestampLayout: records.UnixMicros},
	}).Draw(t, "format")
}

func TestCSVRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		schema := drawSchema(t, flatSchema())
		o := records.CSVOptions{
			Comma: rapid.SampledFrom([]byte{0, ';', '\t', '1', 'a', ' '}).Draw(t, "comma"), NoHeader: rapid.Bool().Draw(t, "no header"),
			NullText: rapid.SampledFrom([][]string{nil, {"NA"}, {"NULL", ""}, {"2"}}).Draw(t, "null"), TrimSpace: rapid.Bool().Draw(t, "trim"),
			Format: drawFormat(t), BatchRows: rapid.IntRange(0, 3).Draw(t, "rows of a batch"), Allocator: mem,
		}
		if o.Comma == 'a' && len(o.NullText) > 0 {
			o.NullText = []string{"b"}
		}
		if rapid.Bool().Draw(t, "columns") {
			for _, f := range schema.Fields() {
				o.Columns = append(o.Columns, f.Name)
			}
			slices.Reverse(o.Columns)
		}
		want := drawBatch(t, mem, schema)
		var out bytes.Buffer
		n, err := records.WriteCSV(&out, schema, seqOf(want), o)
		require.NoError(t, err)
		require.Equal(t, want.NumRows(), n)
		rows, err := records.CSVFrom(schema, &out, o)
		require.NoError(t, err)
		requireRows(t, mem, want, rows)
		rows.Release()
		want.Release()
		mem.AssertSize(t, 0)
	})
}

// mixedSchema has flat and nested columns.
func mixedSchema() *arrow.Schema {
	deep := arrow.StructOf(field("l", arrow.ListOf(arrow.MapOf(text, arrow.StructOf(field("d", decimalOf(38, 3)), field("at", ts))))), field("f", f32))
	return schemaOf(append(flatSchema().Fields(), append(nestedSchema().Fields()[1:], field("deep", deep))...)...)
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		schema := drawSchema(t, mixedSchema())
		o := records.JSONOptions{Format: drawFormat(t), BatchRows: rapid.IntRange(0, 3).Draw(t, "rows of a batch"), Allocator: mem}
		want := drawBatch(t, mem, schema)
		var out bytes.Buffer
		n, err := records.WriteJSONLines(&out, schema, seqOf(want), o)
		require.NoError(t, err)
		require.Equal(t, want.NumRows(), n)
		rows, err := records.JSONLinesFrom(schema, &out, o)
		require.NoError(t, err)
		requireRows(t, mem, want, rows)
		rows.Release()
		want.Release()
		mem.AssertSize(t, 0)
	})
}

func TestParquetRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		schema := drawSchema(t, mixedSchema())
		want := drawBatch(t, mem, schema)
		o := records.ParquetOptions{
			Compression: rapid.SampledFrom([]string{"", "zstd", "none"}).Draw(t, "compression"), RowGroupRows: rapid.Int64Range(0, 3).Draw(t, "rows of a group"),
			BatchRows: rapid.IntRange(0, 3).Draw(t, "rows of a batch"), Allocator: mem,
		}
		var out bytes.Buffer
		n, err := records.WriteParquet(&out, schema, seqOf(want), o)
		require.NoError(t, err)
		require.Equal(t, want.NumRows(), n)
		rows, err := records.Parquet(in(map[string]string{"f": out.String()}, "f"), o)
		require.NoError(t, err)
		requireRows(t, mem, want, rows)
		rows.Release()
		want.Release()
		mem.AssertSize(t, 0)
	})
}

// drawn is a struct with a field of each shape.
type drawn struct {
	ID     int64
	Small  *int8
	U      uint32
	F      float64
	S      string
	Raw    []byte
	Day    time.Time  `idem:"day,date"`
	At     *time.Time `idem:"at"`
	Amount string     `idem:"amount,decimal(12,2)"`
	Parts  []part
	Map    map[string]*part
	part
}

type part struct {
	Name  *string
	Count []int32
}

func drawPart(t *rapid.T) part {
	return part{Name: rapid.Ptr(rapid.SampledFrom(texts), true).Draw(t, "name"), Count: drawSlice(t, rapid.Int32())}
}

// drawSlice draws nil, which is NULL, an empty slice, or a few.
func drawSlice[T any](t *rapid.T, of *rapid.Generator[T]) []T {
	if rapid.Bool().Draw(t, "nil") {
		return nil
	}
	return append([]T{}, rapid.SliceOfN(of, 0, 3).Draw(t, "slice")...)
}

func drawStruct(t *rapid.T) drawn {
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMicro(rapid.Int64Range(firstDay*dayMicros, (lastDay+1)*dayMicros-1).Draw(t, "micros")).UTC()
	})
	cents := rapid.Int64Range(0, 999_999_999_999).Draw(t, "cents")
	d := drawn{
		ID: rapid.Int64().Draw(t, "id"), Small: rapid.Ptr(rapid.Int8(), true).Draw(t, "small"), U: rapid.Uint32().Draw(t, "u"), F: rapid.Float64().Draw(t, "f"),
		S: rapid.String().Draw(t, "s"), Raw: drawSlice(t, rapid.Byte()), Day: time.Unix(rapid.Int64Range(firstDay, lastDay).Draw(t, "day")*86_400, 0).UTC(),
		At: rapid.Ptr(instant, true).Draw(t, "at"), Amount: fmt.Sprintf("%d.%02d", cents/100, cents%100), Parts: drawSlice(t, rapid.Custom(drawPart)), part: drawPart(t),
	}
	if rapid.Bool().Draw(t, "map") {
		d.Map = map[string]*part{}
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 0, 3, rapid.ID[string]).Draw(t, "keys") {
			d.Map[k] = rapid.Ptr(rapid.Custom(drawPart), true).Draw(t, "part")
		}
	}
	return d
}

func TestStructRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		want := rapid.SliceOfN(rapid.Custom(drawStruct), 0, 5).Draw(t, "rows")
		rows, err := records.Structs(want, records.StructOptions{BatchRows: rapid.IntRange(0, 3).Draw(t, "rows of a batch"), Allocator: mem})
		require.NoError(t, err)
		got, err := collect(records.StructsOf[drawn](array.IterFromReader(rows), records.StructOptions{}))
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
		rows.Release()
		mem.AssertSize(t, 0)
	})
}
