package delta_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
)

// statsOf gathers the statistics of rows given as JSON, in batches of at most size rows that are slices of one.
func statsOf(t *testing.T, s *delta.Struct, configuration map[string]string, rows string, size int64) string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	as, err := delta.ArrowSchema(s)
	require.NoError(t, err)
	batch, _, err := array.RecordFromJSON(mem, as, strings.NewReader(rows))
	require.NoError(t, err)
	defer batch.Release()
	b := delta.NewStatsBuilder(s, nil, configuration)
	for from := int64(0); from < batch.NumRows(); from += size {
		slice := batch.NewSlice(from, min(from+size, batch.NumRows()))
		require.NoError(t, b.Add(slice))
		slice.Release()
	}
	return b.JSON()
}

func TestStatsBuilder(t *testing.T) {
	nested := schemaOf(field("a", delta.Long), field("in", schemaOf(field("b", delta.String))))
	for _, c := range []struct {
		why  string
		s    *delta.Struct
		conf map[string]string
		rows string
		want string
	}{
		{"no rows", schemaOf(field("a", delta.Long)), nil, `[]`,
			`{"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{"a":0}}`},
		{"integers and NULLs", schemaOf(field("a", delta.Integer)), nil, `[{"a":3},{"a":null},{"a":-5},{"a":4}]`,
			`{"numRecords":4,"minValues":{"a":-5},"maxValues":{"a":4},"nullCount":{"a":1}}`},
		{"all NULL has no bounds", schemaOf(field("a", delta.String)), nil, `[{"a":null},{"a":null}]`,
			`{"numRecords":2,"minValues":{},"maxValues":{},"nullCount":{"a":2}}`},
		{"a NULL struct is a NULL of its leaves", schemaOf(field("s", nested)), nil,
			`[{"s":{"a":1,"in":{"b":"x"}}},{"s":null},{"s":{"a":null,"in":null}},{"s":{"a":7,"in":{"b":null}}}]`,
			`{"numRecords":4,"minValues":{"s":{"a":1,"in":{"b":"x"}}},"maxValues":{"s":{"a":7,"in":{"b":"x"}}},"nullCount":{"s":{"a":2,"in":{"b":3}}}}`},
		{"lists, maps, booleans and binaries have NULLs only",
			schemaOf(field("l", &delta.Array{Element: delta.Long, ContainsNull: true}), field("m", &delta.Map{Key: delta.String, Value: delta.Long}), field("b", delta.Boolean), field("x", delta.Binary)), nil,
			`[{"l":[1],"m":null,"b":true,"x":"YQ=="},{"l":null,"m":null,"b":null,"x":null}]`,
			`{"numRecords":2,"minValues":{},"maxValues":{},"nullCount":{"l":1,"m":2,"b":1,"x":1}}`},
		{"void is in no file", schemaOf(field("v", delta.Void), field("a", delta.Long)), nil, `[{"v":null,"a":1}]`,
			`{"numRecords":1,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{"a":0}}`},
		{"decimals keep their scale", schemaOf(field("d", delta.Decimal{Precision: 38, Scale: 2})), nil, `[{"d":"-0.05"},{"d":"123456789012345678901234567890.10"}]`,
			`{"numRecords":2,"minValues":{"d":-0.05},"maxValues":{"d":123456789012345678901234567890.10},"nullCount":{"d":0}}`},
		{"dates", schemaOf(field("d", delta.Date)), nil, `[{"d":"1500-01-02"},{"d":"2024-02-29"}]`,
			`{"numRecords":2,"minValues":{"d":"1500-01-02"},"maxValues":{"d":"2024-02-29"},"nullCount":{"d":0}}`},
		{"timestamps are floored, before 1970 too", schemaOf(field("t", delta.Timestamp), field("n", delta.TimestampNTZ)), nil,
			`[{"t":"1969-12-31 23:59:59.999500Z","n":"1969-12-31 23:59:59.999500"},{"t":"2024-01-02 03:04:05.678901Z","n":"2024-01-02 03:04:05.678901"}]`,
			`{"numRecords":2,"minValues":{"t":"1969-12-31T23:59:59.999Z","n":"1969-12-31T23:59:59.999"},"maxValues":{"t":"2024-01-02T03:04:05.678Z","n":"2024-01-02T03:04:05.678"},"nullCount":{"t":0,"n":0}}`},
		{"strings are cut, and not escaped for HTML", schemaOf(field("s", delta.String)), nil, `[{"s":"<` + strings.Repeat("a", 40) + `"},{"s":"é` + strings.Repeat("b", 40) + `"}]`,
			`{"numRecords":2,"minValues":{"s":"<` + strings.Repeat("a", 31) + `"},"maxValues":{"s":"é` + strings.Repeat("b", 31) + "\x7f" + `"},"nullCount":{"s":0}}`},
		{"a shorter prefix", schemaOf(field("s", delta.String)), map[string]string{"delta.dataSkippingStringPrefixLength": "2"}, `[{"s":"abcd"}]`,
			`{"numRecords":1,"minValues":{"s":"ab"},"maxValues":{"s":"ab` + "\x7f" + `"},"nullCount":{"s":0}}`},
		{"first columns", schemaOf(field("s", nested), field("x", delta.Long), field("y", delta.Long)), map[string]string{"delta.dataSkippingNumIndexedCols": "2"},
			`[{"s":{"a":1,"in":{"b":"x"}},"x":1,"y":1}]`,
			`{"numRecords":1,"minValues":{"s":{"a":1,"in":{"b":"x"}}},"maxValues":{"s":{"a":1,"in":{"b":"x"}}},"nullCount":{"s":{"a":0,"in":{"b":0}}}}`},
		{"no columns", schemaOf(field("x", delta.Long)), map[string]string{"delta.dataSkippingNumIndexedCols": "0"}, `[{"x":1}]`, `{"numRecords":1}`},
		{"listed columns win over the count", schemaOf(field("s", nested), field("a.b", delta.Long), field("y", delta.Long)),
			map[string]string{"delta.dataSkippingNumIndexedCols": "0", "delta.dataSkippingStatsColumns": " S.in , `a.b`"},
			`[{"s":{"a":1,"in":{"b":"x"}},"a.b":1,"y":1}]`,
			`{"numRecords":1,"minValues":{"s":{"in":{"b":"x"}},"a.b":1},"maxValues":{"s":{"in":{"b":"x"}},"a.b":1},"nullCount":{"s":{"in":{"b":0}},"a.b":0}}`},
		{"an empty list lists nothing", schemaOf(field("x", delta.Long)), map[string]string{"delta.dataSkippingStatsColumns": ""}, `[{"x":1}]`, `{"numRecords":1}`},
		{"a list that cannot be read counts as absent", schemaOf(field("x", delta.Long)), map[string]string{"delta.dataSkippingStatsColumns": "`x"}, `[{"x":1}]`,
			`{"numRecords":1,"minValues":{"x":1},"maxValues":{"x":1},"nullCount":{"x":0}}`},
		{"physical names under column mapping",
			schemaOf(delta.Field{Name: "x", Type: delta.Long, Nullable: true, Metadata: map[string]json.RawMessage{"delta.columnMapping.physicalName": json.RawMessage(`"col-1"`)}}),
			map[string]string{"delta.columnMapping.mode": "name", "delta.dataSkippingStatsColumns": "x"}, `[{"x":1}]`,
			`{"numRecords":1,"minValues":{"col-1":1},"maxValues":{"col-1":1},"nullCount":{"col-1":0}}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, size := range []int64{1, 3, 1000} {
				require.Equal(t, c.want, statsOf(t, c.s, c.conf, c.rows, size), "batches of %d", size)
			}
		})
	}
}

func TestStatsBuilderDefaultsTo32Leaves(t *testing.T) {
	s, row := schemaOf(), map[string]int{}
	for i := range 40 {
		name := fmt.Sprintf("c%02d", i)
		s.Fields, row[name] = append(s.Fields, field(name, delta.Long)), i
	}
	rows, err := json.Marshal([]any{row})
	require.NoError(t, err)
	text := statsOf(t, s, nil, string(rows), 1)
	require.Contains(t, text, `"c31":0}`)
	require.NotContains(t, text, "c32")
	require.Contains(t, statsOf(t, s, map[string]string{"delta.dataSkippingNumIndexedCols": "-1"}, string(rows), 1), "c39")
}

func TestStatsBuilderLeavesPartitionColumnsOut(t *testing.T) {
	s := schemaOf(field("Day", delta.Date), field("a", delta.Long))
	b := delta.NewStatsBuilder(s, []string{"day"}, nil)
	require.Equal(t, `{"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{"a":0}}`, b.JSON())
}

func TestStatsBuilderFloats(t *testing.T) {
	nan, inf, negZero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, c := range []struct {
		why      string
		values   []float64
		min, max string // "" when there is none
	}{
		{"numbers", []float64{1.5, -2}, "-2.0", "1.5"},
		{"with a NaN there is no max", []float64{1, nan, 3}, "1.0", ""},
		{"a NaN first", []float64{nan, 3}, "3.0", ""},
		{"only NaN", []float64{nan}, "", ""},
		{"zeros are widened", []float64{0, negZero}, "-0.0", "0.0"},
		{"a single 0.0", []float64{0}, "-0.0", "0.0"},
		{"infinities are no JSON numbers", []float64{inf, -inf, 1}, "", ""},
		{"only infinity", []float64{inf}, "", ""},
		{"exponents", []float64{-1e-300, 1e300}, "-1.0E-300", "1.0E300"},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			wide := array.NewFloat64Builder(mem)
			defer wide.Release()
			wide.AppendValues(c.values, nil)
			column := wide.NewArray()
			defer column.Release()
			s := schemaOf(field("f", delta.Double))
			object := func(v string) string {
				if v == "" {
					return "{}"
				}
				return `{"f":` + v + `}`
			}
			want := fmt.Sprintf(`{"numRecords":%d,"minValues":%s,"maxValues":%s,"nullCount":{"f":0}}`, len(c.values), object(c.min), object(c.max))
			require.Equal(t, want, gather(t, s, column))
		})
	}
}

// gather gives the statistics of one batch.
func gather(t require.TestingT, s *delta.Struct, columns ...arrow.Array) string {
	as, err := delta.ArrowSchema(s)
	require.NoError(t, err)
	batch := array.NewRecordBatch(as, columns, int64(columns[0].Len()))
	defer batch.Release()
	b := delta.NewStatsBuilder(s, nil, nil)
	require.NoError(t, b.Add(batch))
	return b.JSON()
}

func TestStatsBuilderRefusesOtherColumns(t *testing.T) {
	empty := func(s *delta.Struct) arrow.RecordBatch {
		as, err := delta.ArrowSchema(s)
		require.NoError(t, err)
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, as, strings.NewReader("[]"))
		require.NoError(t, err)
		return batch
	}
	b := delta.NewStatsBuilder(schemaOf(field("a", delta.Long), field("s", schemaOf(field("b", delta.Date)))), nil, nil)
	require.ErrorIs(t, b.Add(empty(schemaOf(field("a", delta.Long)))), delta.ErrInput)
	require.ErrorContains(t, b.Add(empty(schemaOf(field("a", delta.Integer), field("s", schemaOf(field("b", delta.Date)))))), `"a"`)
	require.ErrorContains(t, b.Add(empty(schemaOf(field("a", delta.Long), field("s", schemaOf(field("b", delta.Long)))))), `"s.b"`)
	require.ErrorContains(t, b.Add(empty(schemaOf(field("a", delta.Long), field("s", delta.Long)))), `"s"`)
}

func TestStatsTruncation(t *testing.T) {
	const maxRune = "\U0010FFFF"
	a31, a32 := strings.Repeat("a", 31), strings.Repeat("a", 32)
	for _, c := range []struct {
		why, value, min, max string // max "" when there is none
	}{
		{"short", "abc", "abc", "abc"},
		{"exactly the prefix", a32, a32, a32},
		{"an ASCII character cut off", a32 + "b", a32, a32 + "\x7f"},
		{"DEL cut off is not below DEL", a32 + "\x7f", a32, a32 + maxRune},
		{"another character cut off", a32 + "é", a32, a32 + maxRune},
		{"a pair is not split: it is the end", a31 + "😀", a31 + "😀", a31 + "😀"},
		{"a pair is not split: more follows", a31 + "😀b", a31 + "😀", a31 + "😀\x7f"},
		{"the greatest character is skipped", a32 + maxRune + "b", a32, a32 + maxRune + "\x7f"},
		{"skipped to the end", a32 + maxRune + maxRune, a32, a32 + maxRune + maxRune},
		{"skipped to twice the prefix", a32 + strings.Repeat(maxRune, 16) + "b", a32, a32 + strings.Repeat(maxRune, 16) + "\x7f"},
		{"given up", a32 + strings.Repeat(maxRune, 17) + "b", a32, ""},
		{"bytes that are not UTF-8 are above every tie-breaker", a32 + "\xff", a32, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			b.Append(c.value)
			s := schemaOf(field("s", delta.String))
			var got struct{ MinValues, MaxValues map[string]string }
			require.NoError(t, json.Unmarshal([]byte(gather(t, s, b.NewArray())), &got))
			require.Equal(t, c.min, got.MinValues["s"])
			require.Equal(t, c.max, got.MaxValues["s"])
		})
	}
}

// statTypes are the types whose values can be drawn.
var statTypes = []delta.Type{delta.String, delta.Long, delta.Integer, delta.Short, delta.Byte, delta.Float, delta.Double, delta.Boolean,
	delta.Binary, delta.Date, delta.Timestamp, delta.TimestampNTZ, delta.Decimal{Precision: 9, Scale: 0}, delta.Decimal{Precision: 18, Scale: 4}, delta.Decimal{Precision: 38, Scale: 10}, delta.Decimal{Precision: 38, Scale: 38}}

func drawFloat(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64})).Draw(t, "float")
}

func drawString(t *rapid.T) string {
	unit := rapid.SampledFrom([]string{"a", "\x7f", "\x00", "é", "\uD7FF", "\uFFFD", "\uFFFF", "😀", "\U0010FFFF", "\""})
	piece := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(unit.Draw(t, "unit"), rapid.SampledFrom([]int{1, 2, 15, 16, 17, 31, 32, 33}).Draw(t, "times"))
	})
	return strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "pieces"), "")
}

func drawScalar(t *rapid.T, typ delta.Type) scalar.Scalar {
	dt := arrowType(t, typ)
	switch typ {
	case delta.String:
		return scalar.NewStringScalar(drawString(t))
	case delta.Long:
		return scalar.NewInt64Scalar(rapid.Int64().Draw(t, "int"))
	case delta.Integer:
		return scalar.NewInt32Scalar(rapid.Int32().Draw(t, "int"))
	case delta.Short:
		return scalar.NewInt16Scalar(rapid.Int16().Draw(t, "int"))
	case delta.Byte:
		return scalar.NewInt8Scalar(rapid.Int8().Draw(t, "int"))
	case delta.Float:
		return scalar.NewFloat32Scalar(float32(drawFloat(t)))
	case delta.Double:
		return scalar.NewFloat64Scalar(drawFloat(t))
	case delta.Boolean:
		return scalar.NewBooleanScalar(rapid.Bool().Draw(t, "bool"))
	case delta.Binary:
		return scalar.NewBinaryScalar(memory.NewBufferBytes(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes")), dt)
	case delta.Date:
		days := rapid.OneOf(rapid.Int32(), rapid.Int32Range(-800_000, 3_000_000), rapid.SampledFrom([]int32{-719163, -719162, 2932896, 2932897})).Draw(t, "days")
		return scalar.NewDate32Scalar(arrow.Date32(days))
	case delta.Timestamp, delta.TimestampNTZ:
		us := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-70_000_000_000_000_000, 260_000_000_000_000_000), rapid.Int64Range(-3000, 3000),
			rapid.SampledFrom([]int64{math.MinInt64, -62135596800000001, -62135596800000000, 253402300799999999, 253402300800000000, math.MaxInt64})).Draw(t, "us")
		return scalar.NewTimestampScalar(arrow.Timestamp(us), dt)
	}
	digits := rapid.IntRange(1, typ.(delta.Decimal).Precision).Draw(t, "digits")
	n, err := decimal128.FromString(rapid.StringMatching(fmt.Sprintf("-?[1-9][0-9]{%d}", digits-1)).Draw(t, "decimal"), 38, 0)
	require.NoError(t, err)
	return scalar.NewDecimal128Scalar(n, dt)
}

// Whatever is in a file, the bounds that are read from its statistics contain it.
func TestStatsContainEveryValue(t *testing.T) {
	for _, typ := range statTypes {
		t.Run(typ.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkContained(t, typ) })
		})
	}
}

func checkContained(t *rapid.T, typ delta.Type) {
	s := schemaOf(field("s", schemaOf(field("c", typ))))
	as, err := delta.ArrowSchema(s)
	require.NoError(t, err)
	b := delta.NewStatsBuilder(s, nil, nil)
	var values []scalar.Scalar
	nulls := int64(0)
	for range rapid.IntRange(1, 3).Draw(t, "batches") {
		builder := array.NewRecordBuilder(memory.DefaultAllocator, as)
		st := builder.Field(0).(*array.StructBuilder)
		n := rapid.IntRange(0, 20).Draw(t, "rows")
		from := rapid.IntRange(0, n).Draw(t, "from")
		for i := range n {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0:
				st.AppendNull()
			case kind == 1:
				st.Append(true)
				st.FieldBuilder(0).AppendNull()
			default:
				v := drawScalar(t, typ)
				st.Append(true)
				require.NoError(t, scalar.Append(st.FieldBuilder(0), v))
				if i >= from {
					values = append(values, v)
				}
				continue
			}
			if i >= from {
				nulls++
			}
		}
		batch := builder.NewRecordBatch()
		require.NoError(t, b.Add(batch.NewSlice(int64(from), int64(n))))
	}

	text := b.JSON()
	require.True(t, json.Valid([]byte(text)), text)
	st, ok := delta.ParseStats(text)
	require.True(t, ok, text)
	require.EqualValues(t, int64(len(values))+nulls, *st.NumRecords)
	least, greatest, nullCount := st.Column([]string{"s", "c"}, typ)
	require.Equal(t, nulls, nullCount)
	for _, v := range values {
		if least != nil {
			order, ok := delta.CompareScalars(least, v)
			require.True(t, ok && order <= 0, "%s is below the min of %s", v, text)
		}
		if greatest != nil {
			order, ok := delta.CompareScalars(greatest, v)
			require.True(t, ok && order >= 0, "%s is above the max of %s", v, text)
		}
	}
}

// The cut of a maximum against its definition in UTF-16 units.
func TestTruncationMatchesTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawString(t)
		if strings.ContainsRune(value, utf8.RuneError) {
			return // bounds nothing, see TestStatsBounds
		}
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(value)
		var got struct{ MinValues, MaxValues map[string]string }
		require.NoError(t, json.Unmarshal([]byte(gather(t, schemaOf(field("s", delta.String)), b.NewArray())), &got))
		low, high, ok := naiveTruncation(utf16.Encode([]rune(value)), 32)
		require.Equal(t, low, got.MinValues["s"])
		text, has := got.MaxValues["s"]
		require.Equal(t, ok, has)
		require.Equal(t, high, text)
	})
}

func naiveTruncation(units []uint16, prefix int) (low, high string, ok bool) {
	text := func(u []uint16) string { return string(utf16.Decode(u)) }
	if len(units) <= prefix {
		return text(units), text(units), true
	}
	at := prefix
	if utf16.IsSurrogate(rune(units[at-1])) && units[at-1] < 0xDC00 {
		at++
	}
	low = text(units[:at])
	for ; at <= 2*prefix; at += 2 {
		switch {
		case at >= len(units):
			return low, text(units), true
		case at+1 < len(units) && units[at] == 0xDBFF && units[at+1] == 0xDFFF:
			continue
		case units[at] < 0x7F:
			return low, text(units[:at]) + "\x7f", true
		}
		return low, text(units[:at]) + "\U0010FFFF", true
	}
	return low, "", false
}

func BenchmarkStatsBuilder(b *testing.B) {
	const rows = 1 << 16
	for _, typ := range []delta.Type{delta.Long, delta.Double, delta.String, delta.Decimal{Precision: 18, Scale: 2}} {
		b.Run("type="+typ.String(), func(b *testing.B) {
			s := schemaOf(field("c", typ))
			as, err := delta.ArrowSchema(s)
			require.NoError(b, err)
			builder := array.NewRecordBuilder(memory.DefaultAllocator, as)
			for i := range rows {
				require.NoError(b, builder.Field(0).AppendValueFromString(fmt.Sprint(i*7919%rows)))
			}
			batch := builder.NewRecordBatch()
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, delta.NewStatsBuilder(s, nil, nil).Add(batch))
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
