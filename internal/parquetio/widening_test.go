package parquetio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// widening is a type change that a table may have gone through after its file was written.
type widening struct {
	old, now arrow.DataType
	values   string // of the file, as a JSON list
	want     string // as the table's type; "" if as in the file
}

func widenings() []widening {
	i8, i16, i32, i64 := arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	f32, f64 := arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64
	bytes, shorts, ints, longs := "[-128,127,0]", "[-32768,32767,0]", "[-2147483648,2147483647,0]", "[-9223372036854775808,9223372036854775807,0]"
	quoted := func(list, tail string) string {
		parts := strings.Split(strings.Trim(list, "[]"), ",")
		return `["` + strings.Join(parts, tail+`","`) + tail + `"]`
	}
	out := []widening{
		{i8, i16, bytes, ""}, {i8, i32, bytes, ""}, {i8, i64, bytes, ""}, {i16, i32, shorts, ""}, {i16, i64, shorts, ""}, {i32, i64, ints, ""},
		{f32, f64, "[1.5,-0.25,16777216]", ""}, {f32, f64, "[0.1,-0,3.4028235e38]", "[0.10000000149011612,-0,3.4028234663852886e38]"},
		{i8, f64, bytes, ""}, {i16, f64, shorts, ""}, {i32, f64, ints, ""},
		{arrow.FixedWidthTypes.Date32, timestampNTZType, `["0001-01-01","9999-12-31","1969-12-31"]`, `["0001-01-01T00:00:00","9999-12-31T00:00:00","1969-12-31T00:00:00"]`},
	}
	for _, old := range []struct {
		t      arrow.DataType
		digits int32
		values string
	}{{i8, 10, bytes}, {i16, 10, shorts}, {i32, 10, ints}, {i64, 20, longs}} {
		for _, scale := range []int32{0, 1, 18} {
			tail := ""
			if scale > 0 {
				tail = "." + strings.Repeat("0", int(scale))
			}
			out = append(out, widening{old.t, decimalOf(old.digits+scale, scale), old.values, quoted(old.values, tail)}, widening{old.t, decimalOf(38, scale), old.values, quoted(old.values, tail)})
		}
	}
	// As tables from before the protocol's ten digits have it.
	out = append(out, widening{i8, decimalOf(4, 1), bytes, quoted(bytes, ".0")}, widening{i16, decimalOf(6, 1), shorts, quoted(shorts, ".0")},
		widening{i64, decimalOf(19, 0), longs, quoted(longs, "")})
	for _, old := range [][2]int32{{1, 0}, {5, 2}, {9, 9}, {10, 3}, {18, 2}, {19, 2}, {30, 30}, {38, 10}} {
		nines := strings.Repeat("9", int(old[0]))
		for _, more := range [][2]int32{{1, 0}, {1, 1}, {4, 4}, {8, 0}, {10, 8}, {20, 20}} {
			if p, s := old[0]+more[0], old[1]+more[1]; p <= 38 {
				values := fmt.Sprintf(`["%se-%d","-%se-%d","0"]`, nines, old[1], nines, old[1])
				out = append(out, widening{decimalOf(old[0], old[1]), decimalOf(p, s), values, ""})
			}
		}
	}
	return out
}

// TestWidening reads files that are older than each widening which the protocol allows, at the top and below structs,
// lists and maps.
func TestWidening(t *testing.T) {
	places := map[string]struct {
		around func(arrow.DataType) arrow.DataType
		cell   string
	}{
		"column":    {func(t arrow.DataType) arrow.DataType { return t }, `%s`},
		"struct":    {func(t arrow.DataType) arrow.DataType { return arrow.StructOf(field("x", t)) }, `{"x":%s}`},
		"list":      {func(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) }, `[null,%s]`},
		"map value": {func(t arrow.DataType) arrow.DataType { return arrow.MapOf(arrow.BinaryTypes.String, t) }, `[{"key":"k","value":%s}]`},
		"map key":   {func(t arrow.DataType) arrow.DataType { return arrow.MapOf(t, arrow.BinaryTypes.String) }, `[{"key":%s,"value":"v"}]`},
		"lists deep": {func(t arrow.DataType) arrow.DataType {
			return arrow.ListOf(arrow.StructOf(field("x", arrow.ListOf(t))))
		}, `[{"x":[%s]},{"x":null}]`},
	}
	for _, w := range widenings() {
		for name, place := range places {
			want := w.want
			if want == "" {
				want = w.values
			}
			old, now := place.around(w.old), place.around(w.now)
			got := rewiden(t, old, now, cells(w.values, place.cell))
			expected := arrayOf(t, now, cells(want, place.cell))
			require.Truef(t, array.Equal(expected, got), "%s to %s in %s\nwant %v\ngot  %v", w.old, w.now, name, expected, got)
			expected.Release()
			got.Release()
		}
	}
}

// cells puts each value of a JSON list at its place, with a NULL cell at the end.
func cells(values, cell string) string {
	var out []string
	for _, v := range strings.Split(strings.Trim(values, "[]"), ",") {
		out = append(out, fmt.Sprintf(cell, v))
	}
	return "[" + strings.Join(append(out, "null"), ",") + "]"
}

func arrayOf(t *testing.T, dt arrow.DataType, text string) arrow.Array {
	arr, _, err := array.FromJSON(checked(t), dt, strings.NewReader(text))
	require.NoError(t, err, "%s %s", dt, text)
	return arr
}

// rewiden writes a column as one type and reads it as another.
func rewiden(t *testing.T, old, now arrow.DataType, text string) arrow.Array {
	mem := checked(t)
	written := arrow.NewSchema([]arrow.Field{field("c", old)}, nil)
	arr := arrayOf(t, old, text)
	defer arr.Release()
	batch := array.NewRecordBatch(written, []arrow.Array{arr}, int64(arr.Len()))
	defer batch.Release()
	data := writeFile(t, parquetio.WriteOptions{Allocator: mem}, written, batch)
	got, err := readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("c", now)}, nil), parquetio.ReadOptions{Allocator: mem})
	require.NoError(t, err, "%s to %s", old, now)
	defer got.Release()
	out := got.Column(0).Data().Chunk(0)
	out.Retain()
	return out
}

// TestNotWidened: what no widening allows stays a clear error.
func TestNotWidened(t *testing.T) {
	int32s, int64s := parquet.Types.Int32, parquet.Types.Int64
	tests := []struct {
		why  string
		node schema.Node
		col  column
		want arrow.DataType
	}{
		{"a long as double loses digits", prim("c", required, int64s), column{values: []int64{1}}, arrow.PrimitiveTypes.Float64},
		{"an int as float loses digits", prim("c", required, int32s), column{values: []int32{1}}, arrow.PrimitiveTypes.Float32},
		{"a date as timestamp has no zone", logical("c", required, schema.DateLogicalType{}, int32s, -1), column{values: []int32{1}}, timestampType},
		{"bytes without annotation as decimal", prim("c", required, parquet.Types.ByteArray), column{values: texts("\x01")}, decimalOf(38, 0)},
		{"an integer that may be an unscaled decimal", prim("c", required, int32s), column{values: []int32{1}}, decimalOf(9, 2)},
		{"a short that may be an unscaled decimal", logical("c", required, schema.NewIntLogicalType(16, true), int32s, -1), column{values: []int32{1}}, decimalOf(5, 2)},
		{"a date as double", logical("c", required, schema.DateLogicalType{}, int32s, -1), column{values: []int32{1}}, arrow.PrimitiveTypes.Float64},
		{"an unsigned integer as decimal", logical("c", required, schema.NewIntLogicalType(32, false), int32s, -1), column{values: []int32{1}}, decimalOf(20, 0)},
		{"a day beyond all timestamps", logical("c", required, schema.DateLogicalType{}, int32s, -1), column{values: []int32{2147483647}}, timestampNTZType},
		{"an integer that the decimal cannot hold", prim("c", required, int32s), column{values: []int32{1000}}, decimalOf(5, 2)},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			data := foreign(t, schema.FieldList{tt.node}, tt.col)
			_, err := readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("c", tt.want)}, nil), parquetio.ReadOptions{Allocator: checked(t)})
			require.ErrorIs(t, err, delta.ErrCorrupt)
		})
	}
}
