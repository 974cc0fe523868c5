package function_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// What Spark casts in ANSI mode: to all types but these.
func TestWhatIsCast(t *testing.T) {
	numbers := "TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(10,2)"
	refused := map[string]string{
		"TINYINT": "BINARY DATE TIMESTAMP_NTZ", "SMALLINT": "BINARY DATE TIMESTAMP_NTZ", "INT": "BINARY DATE TIMESTAMP_NTZ", "BIGINT": "BINARY DATE TIMESTAMP_NTZ",
		"FLOAT": "BINARY DATE TIMESTAMP_NTZ", "DOUBLE": "BINARY DATE TIMESTAMP_NTZ", "DECIMAL(10, 2)": "BINARY DATE TIMESTAMP_NTZ",
		"STRING": "", "BINARY": numbers + " BOOLEAN DATE TIMESTAMP TIMESTAMP_NTZ", "BOOLEAN": "BINARY DATE TIMESTAMP TIMESTAMP_NTZ",
		"DATE": numbers + " BINARY BOOLEAN", "TIMESTAMP": "BINARY BOOLEAN", "TIMESTAMP_NTZ": numbers + " BINARY BOOLEAN",
	}
	for _, from := range everyType {
		for _, to := range everyType {
			word := strings.ReplaceAll(typeWordOf(to), ", ", ",")
			var no bool
			for _, name := range strings.Fields(refused[typeWordOf(from)]) {
				no = no || name == word
			}
			f, err := function.Cast(from, to)
			if no {
				require.EqualError(t, err, fmt.Sprintf("there is no CAST from %s to %s", typeWordOf(from), typeWordOf(to)))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, []arrow.DataType{from}, f.Params)
			require.Equal(t, to, f.Result)
		}
	}
	for _, other := range []arrow.DataType{arrow.PrimitiveTypes.Uint8, arrow.BinaryTypes.LargeString, arrow.FixedWidthTypes.Timestamp_ns,
		&arrow.Decimal128Type{Precision: 10, Scale: -1}, &arrow.Decimal128Type{Precision: 5, Scale: 6}, &arrow.Decimal128Type{Precision: 39}, arrow.Null} {
		_, err := function.Cast(arrow.PrimitiveTypes.Int32, other)
		require.Error(t, err, "no column has the type %s", other)
		if other.ID() != arrow.NULL {
			_, err = function.Cast(other, arrow.BinaryTypes.String)
			require.Error(t, err, "no column has the type %s", other)
		}
	}
}

// jsonOf makes an array of its JSON.
func jsonOf(t require.TestingT, mem memory.Allocator, typ arrow.DataType, text string) arrow.Array {
	a, _, err := array.FromJSON(mem, typ, strings.NewReader(text))
	require.NoError(t, err)
	return a
}

func TestBytesThatAreNoTextAreRefused(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
	b.AppendValues([][]byte{[]byte("ä"), {0xff, 'a'}, nil, {}}, []bool{true, true, false, true})
	in := b.NewArray()
	b.Release()
	defer in.Release()
	f, err := function.Cast(arrow.BinaryTypes.Binary, arrow.BinaryTypes.String)
	require.NoError(t, err)
	out, errs := evaluated(t, f, 4, mem, function.Arg{Array: in})
	defer out.Release()
	require.Equal(t, `["ä" (null) (null) ""]`, fmt.Sprint(out))
	require.EqualError(t, errs[1], "X'ff61' is no valid UTF-8")
	require.NoError(t, errs[2])
}

// A constant is cast once, whatever its type, and what becomes of it stands in every row.
func TestConstantsAreCastOnce(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	list := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	for _, c := range []struct {
		from, to   arrow.DataType
		json, want string
		fails      string
	}{
		{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, `["7"]`, "[7 7 7 7 7]", ""},
		{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, `["x"]`, "[(null) (null) (null) (null) (null)]", `"x" is no INT`},
		{arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String, `[7]`, `["7" "7" "7" "7" "7"]`, ""},
		{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int32, `[7]`, "[7 7 7 7 7]", ""},
		{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int32, `[null]`, "[(null) (null) (null) (null) (null)]", ""},
		{arrow.PrimitiveTypes.Int32, arrow.FixedWidthTypes.Boolean, `[7]`, "[true true true true true]", ""},
		{list, arrow.ListOf(arrow.PrimitiveTypes.Int64), `[[1, null]]`, "[[1 (null)] [1 (null)] [1 (null)] [1 (null)] [1 (null)]]", ""},
		{list, list, `[[1]]`, "[[1] [1] [1] [1] [1]]", ""},
	} {
		f, err := function.Cast(c.from, c.to)
		require.NoError(t, err)
		in := jsonOf(t, mem, c.from, c.json)
		for _, rows := range []int{5, 1, 0} {
			out, errs := evaluated(t, f, rows, mem, function.Arg{Array: in, Constant: true})
			if rows == 5 {
				require.Equal(t, c.want, fmt.Sprint(out))
			}
			for _, err := range errs {
				if c.fails != "" {
					require.EqualError(t, err, c.fails)
				} else {
					require.NoError(t, err)
				}
			}
			out.Release()
		}
		in.Release()
	}
}

func TestNullBecomesAnything(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	nested := arrow.StructOf(arrow.Field{Name: "m", Type: arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.ListOf(arrow.BinaryTypes.String)), Nullable: true})
	for _, to := range append(everyType, nested, arrow.Null) {
		f, err := function.Cast(arrow.Null, to)
		require.NoError(t, err)
		in := array.NewNull(3)
		out := f.Eval(&function.Call{Mem: mem, Rows: 3, Args: []function.Arg{{Array: in}}})
		require.Equal(t, 3, out.NullN(), to)
		out.Release()
		in.Release()
	}
}

func TestNestedCasts(t *testing.T) {
	i8, i32, text := arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	for _, c := range []struct {
		why      string
		from, to arrow.DataType
		in, want string
		fails    map[int]string
	}{
		{"elements", arrow.ListOf(i32), arrow.ListOf(text), `[[1, null], null, [], [2]]`, `[["1",null],null,[],["2"]]`, nil},
		{"one element takes its list with it", arrow.ListOf(i32), arrow.ListOf(i8), `[[1], [2, 300, 400], [3]]`, `[[1],null,[3]]`,
			map[int]string{1: "300 does not fit into TINYINT"}},
		{"in lists of lists", arrow.ListOf(arrow.ListOf(text)), arrow.ListOf(arrow.ListOf(i8)), `[[["1"], ["x"]], [["2", null], null]]`, `[null,[[2,null],null]]`,
			map[int]string{0: `"x" is no TINYINT`}},
		{"fields by place", arrow.StructOf(field("a", i32), field("b", text)), arrow.StructOf(field("x", text), field("y", i32)),
			`[{"a": 1, "b": "2"}, null, {"a": null, "b": null}, {"a": 1, "b": "y"}]`, `[{"x":"1","y":2},null,{"x":null,"y":null},null]`,
			map[int]string{3: `"y" is no INT`}},
		{"a struct fails once", arrow.StructOf(field("a", text), field("b", text)), arrow.StructOf(field("a", i32), field("b", i32)),
			`[{"a": "x", "b": "y"}]`, `[null]`, map[int]string{0: `"x" is no INT`}},
		{"keys and values", arrow.MapOf(i32, i32), arrow.MapOf(text, i8), `[[{"key": 1, "value": 2}, {"key": 3, "value": null}], null, [{"key": 1, "value": 300}]]`,
			`[[{"key":"1","value":2},{"key":"3","value":null}],null,null]`, map[int]string{2: "300 does not fit into TINYINT"}},
		{"a key", arrow.MapOf(text, i32), arrow.MapOf(i32, i32), `[[{"key": "x", "value": 1}, {"key": "1", "value": 1}], [{"key": "1", "value": 2}]]`,
			`[null,[{"key":1,"value":2}]]`, map[int]string{0: `"x" is no INT`}},
		{"keys that become one", arrow.MapOf(text, i32), arrow.MapOf(i32, i32), `[[{"key": "1", "value": 2}, {"key": "01", "value": 3}], [{"key": "1", "value": 2}, {"key": "2", "value": 2}]]`,
			`[null,[{"key":1,"value":2},{"key":2,"value":2}]]`, map[int]string{0: "two keys of a map become the same"}},
	} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		f, err := function.Cast(c.from, c.to)
		require.NoError(t, err, c.why)
		in := jsonOf(t, mem, c.from, c.in)
		out, errs := evaluated(t, f, in.Len(), mem, function.Arg{Array: in})
		got, err := out.MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got), c.why)
		for row, err := range errs {
			if c.fails[row] == "" {
				require.NoError(t, err, c.why)
			} else {
				require.EqualError(t, err, c.fails[row], c.why)
			}
		}
		checkSlices(t, mem, f, in)
		out.Release()
		in.Release()
		mem.AssertSize(t, 0)
	}
}

// checkSlices casts every part of an array, and compares with that part of the whole.
func checkSlices(t *testing.T, mem memory.Allocator, f *function.Function, in arrow.Array) {
	whole, errs := evaluated(t, f, in.Len(), mem, function.Arg{Array: in})
	defer whole.Release()
	for from := range in.Len() {
		for to := from; to <= in.Len(); to++ {
			part := array.NewSlice(in, int64(from), int64(to))
			got, gotErrs := evaluated(t, f, to-from, mem, function.Arg{Array: part})
			want := array.NewSlice(whole, int64(from), int64(to))
			require.True(t, array.Equal(want, got), "%d to %d: %s, %s", from, to, want, got)
			require.Equal(t, errs[from:to], gotErrs)
			got.Release()
			want.Release()
			part.Release()
		}
	}
}

// What lies under a NULL does not matter.
func TestValuesUnderNullAreNotCast(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	text, i32 := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32
	field := func(t arrow.DataType) arrow.DataType {
		return arrow.StructOf(arrow.Field{Name: "a", Type: t, Nullable: true})
	}
	for _, c := range []struct {
		from, to arrow.DataType
		json     string
	}{
		{text, i32, `["1", "x", "2"]`},
		{arrow.ListOf(text), arrow.ListOf(i32), `[["1"], ["x"], ["2"]]`},
		{field(text), field(i32), `[{"a": "1"}, {"a": "x"}, {"a": "2"}]`},
		{arrow.MapOf(text, text), arrow.MapOf(i32, i32), `[[{"key": "1", "value": "1"}], [{"key": "x", "value": "1"}], []]`},
	} {
		all := jsonOf(t, mem, c.from, c.json)
		in := masked(all, 0, []bool{true, false, true})
		f, err := function.Cast(c.from, c.to)
		require.NoError(t, err)
		out, errs := evaluated(t, f, 3, mem, function.Arg{Array: in})
		require.Equal(t, make([]error, 3), errs)
		require.True(t, out.IsValid(0) && out.IsNull(1) && out.IsValid(2))
		out.Release()
		in.Release()
		all.Release()
	}
}

func TestNestedCastsThatAreNone(t *testing.T) {
	i32, text := arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String
	field := func(t arrow.DataType) arrow.Field { return arrow.Field{Name: "a", Type: t} }
	for _, c := range []struct{ from, to arrow.DataType }{
		{arrow.ListOf(i32), text}, {text, arrow.ListOf(text)}, {arrow.ListOf(i32), arrow.ListOf(arrow.FixedWidthTypes.Date32)},
		{arrow.ListOf(i32), arrow.MapOf(i32, i32)}, {arrow.StructOf(field(i32)), arrow.StructOf(field(i32), field(i32))},
		{arrow.StructOf(field(i32)), arrow.StructOf(field(arrow.BinaryTypes.Binary))}, {arrow.MapOf(i32, i32), arrow.MapOf(i32, arrow.BinaryTypes.Binary)},
	} {
		_, err := function.Cast(c.from, c.to)
		require.Error(t, err, "%s to %s", c.from, c.to)
	}
}

// recast casts one value to another type and gives its first row, and the error.
func recast(t require.TestingT, mem memory.Allocator, in arrow.Array, to arrow.DataType) (arrow.Array, error) {
	f, err := function.Cast(in.DataType(), to)
	require.NoError(t, err)
	out, errs := evaluated(t, f, in.Len(), mem, function.Arg{Array: in})
	return out, errs[0]
}

// The text of a value is read back as that value.
func TestTextsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		in := drawValue(t, mem)
		defer in.Release()
		text, err := recast(t, mem, in, arrow.BinaryTypes.String)
		require.NoError(t, err)
		defer text.Release()
		back, err := recast(t, mem, text, in.DataType())
		require.NoError(t, err, text)
		defer back.Release()
		require.True(t, array.Equal(in, back) || in.ValueStr(0) == "NaN", "%s of type %s is written %s and read %s", in, in.DataType(), text, back)
	})
}

// drawValue draws an array of one value of a type that has a text.
func drawValue(t *rapid.T, mem memory.Allocator) arrow.Array {
	typ := rapid.OneOf(rapid.SampledFrom(everyType), drawDecimalType).Draw(t, "type")
	b := array.NewBuilder(mem, typ)
	defer b.Release()
	switch b := b.(type) {
	case *array.Float32Builder:
		b.Append(math.Float32frombits(rapid.Uint32().Draw(t, "bits")))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(rapid.Uint64().Draw(t, "bits")))
	case *array.StringBuilder:
		b.Append(rapid.String().Draw(t, "text"))
	case *array.BinaryBuilder:
		b.Append([]byte(rapid.String().Draw(t, "bytes")))
	case *array.BooleanBuilder:
		b.Append(rapid.Bool().Draw(t, "bool"))
	case *array.Date32Builder:
		b.Append(arrow.Date32(rapid.Int32().Draw(t, "days")))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(rapid.Int64().Draw(t, "micros")))
	default:
		appendNumber(b, drawNumber(t, typ))
	}
	return b.NewArray()
}

// Days and times have the texts that delta/expr writes.
func TestTextsOfTimesAreThoseOfExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		days, micros := rapid.Int32().Draw(t, "days"), rapid.Int64().Draw(t, "micros")
		for _, typ := range everyType[10:] {
			b := array.NewBuilder(mem, typ)
			want := expr.FormatTimestamp(arrow.Timestamp(micros))
			if d, ok := b.(*array.Date32Builder); ok {
				d.Append(arrow.Date32(days))
				want = expr.FormatDate(arrow.Date32(days))
			} else {
				b.(*array.TimestampBuilder).Append(arrow.Timestamp(micros))
			}
			in := b.NewArray()
			b.Release()
			out, err := recast(t, mem, in, arrow.BinaryTypes.String)
			require.NoError(t, err)
			require.Equal(t, want, out.(*array.String).Value(0))
			out.Release()
			in.Release()
		}
	})
}

// A decimal is the float that is nearest to it, on every path.
func TestDecimalsBecomeTheNearestFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		typ := drawDecimalType.Draw(t, "type")
		n := drawNumber(t, typ)
		b := array.NewDecimal128Builder(mem, typ.(*arrow.Decimal128Type))
		b.Append(decimal128.FromBigInt(n.unscaled))
		in := b.NewArray()
		b.Release()
		defer in.Release()
		for _, to := range everyType[4:6] {
			out, err := recast(t, mem, in, to)
			require.NoError(t, err)
			if short, ok := out.(*array.Float32); ok {
				want, _ := n.rat().Float32()
				require.Equal(t, want, short.Value(0))
			} else {
				want, _ := n.rat().Float64()
				require.Equal(t, want, out.(*array.Float64).Value(0))
			}
			out.Release()
		}
	})
}
