package function_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/internal/function"
)

// parse reads a column as JSON; it lies in a slice of an array.
func (b *bench) parse(t arrow.DataType, json string) arrow.Array {
	a, _, err := array.FromJSON(b.mem, t, strings.NewReader("[null, "+json[1:]))
	require.NoError(b.t, err)
	return b.cut(a)
}

var (
	intLists  = arrow.ListOf(arrow.PrimitiveTypes.Int32)
	textLists = arrow.ListOf(arrow.BinaryTypes.String)
	intMaps   = arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32)
)

func TestArraysAndMapsByRow(t *testing.T) {
	b := newBench(t)
	defer b.close()
	lists := b.parse(intLists, `[[1, 2], null, [], [null, 7]]`)
	maps := b.parse(intMaps, `[[{"key": "a", "value": 1}, {"key": "b", "value": null}], null, [], [{"key": "c", "value": 3}]]`)
	null := b.keep(array.MakeArrayOfNull(b.mem, arrow.PrimitiveTypes.Int64, 4))
	for _, c := range []struct {
		why, name string
		args      []any
		want      []string
	}{
		{"the size of NULL is NULL", "size", []any{lists}, []string{"2", "NULL", "0", "2"}},
		{"", "cardinality", []any{maps}, []string{"2", "NULL", "0", "1"}},
		{"", "array_size", []any{lists}, []string{"2", "NULL", "0", "2"}},
		{"from 0", "element", []any{lists, b.ints(1, 0, 0, 0)}, []string{"2", "NULL", "!", "NULL"}},
		{"there is no place before the first", "element", []any{lists, b.ints(-1, -1, -1, 2)}, []string{"!", "NULL", "!", "!"}},
		{"from 1", "element_at", []any{lists, b.ints(1, 9, 1, 2)}, []string{"1", "NULL", "!", "7"}},
		{"from the end", "element_at", []any{lists, b.ints(-2, 9, -1, -3)}, []string{"1", "NULL", "!", "!"}},
		{"there is no place 0", "element_at", []any{lists, b.ints(0, 0, 0, 0)}, []string{"!", "NULL", "!", "!"}},
		{"a place that is NULL", "element", []any{lists, null}, []string{"NULL", "NULL", "NULL", "NULL"}},
		{"a key that is not there is NULL", "element", []any{maps, b.strs("a", "a", "a", "a")}, []string{"1", "NULL", "NULL", "NULL"}},
		{"and so is a value that is NULL", "element_at", []any{maps, b.strs("b", "b", "b", "c")}, []string{"NULL", "NULL", "NULL", "3"}},
		{"a constant key", "element_at", []any{maps, "c"}, []string{"NULL", "NULL", "NULL", "3"}},
		{"", "map_contains_key", []any{maps, "b"}, []string{"true", "NULL", "false", "false"}},
		{"an element that is NULL may be any", "array_contains", []any{lists, b.ints(2, 2, 2, 2)}, []string{"true", "NULL", "false", "NULL"}},
		{"", "array_contains", []any{lists, b.ints(3, 3, 3, 7)}, []string{"false", "NULL", "false", "true"}},
		{"keys", "map_keys", []any{maps}, []string{`["a","b"]`, "NULL", "[]", `["c"]`}},
		{"values", "map_values", []any{maps}, []string{`[1,null]`, "NULL", "[]", `[3]`}},
		{"arrays of texts are joined, NULLs left out", "concat_ws", []any{"-", b.parse(textLists, `[["a", null, "b"], null, [], ["c"]]`), b.strs("x", "y", "z", "")}, []string{"a-b-x", "y", "z", "c-"}},
	} {
		require.Equal(t, c.want, texts(b.apply(c.name, c.args...)), "%s: %s", c.name, c.why)
	}
}

func TestConstantsAreRepeated(t *testing.T) {
	b := newBench(t)
	defer b.close()
	one := b.parse(intMaps, `[[{"key": "a", "value": 1}]]`)
	f, err := function.Find("map_keys", []function.Param{{Type: intMaps}})
	require.NoError(t, err)
	for _, rows := range []int{0, 1, 3} {
		out := b.keep(f.Eval(&function.Call{Mem: b.mem, Rows: rows, Args: []function.Arg{{Array: one, Constant: true}}}))
		require.Equal(t, slices.Repeat([]string{`["a"]`}, rows), texts(out, make([]error, rows)))
	}
}

// Elements of any type are taken as they are.
func TestElementsOfEveryType(t *testing.T) {
	b := newBench(t)
	defer b.close()
	for json, elem := range map[string]arrow.DataType{
		`[[true, false], [false]]`:                 arrow.FixedWidthTypes.Boolean,
		`[["2024-01-31"], null]`:                   arrow.FixedWidthTypes.Date32,
		`[["1.50", "2.25"], ["-0.01"]]`:            &arrow.Decimal128Type{Precision: 5, Scale: 2},
		`[["eA==", null], ["eQ=="]]`:               arrow.BinaryTypes.Binary,
		`[[{"x": 1, "y": "a"}, null], [{"x": 2}]]`: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true}),
		`[[[1, 2], []], [null]]`:                   arrow.ListOf(arrow.PrimitiveTypes.Int16),
	} {
		column := b.parse(arrow.ListOf(elem), json)
		out, _ := b.apply("element", column, b.ints(0, 0))
		list := column.(*array.List)
		for row := range 2 {
			if list.IsNull(row) {
				require.True(t, out.IsNull(row), json)
				continue
			}
			start, _ := list.ValueOffsets(row)
			require.Equal(t, list.ListValues().ValueStr(int(start)), out.ValueStr(row), json)
		}
	}
}

func TestPlacesAreThoseOfGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer b.close()
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 4), 1, 5).Draw(t, "rows")
		build := array.NewListBuilder(b.mem, arrow.PrimitiveTypes.Int32)
		defer build.Release()
		build.Append(true) // a row that is sliced off
		build.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{9, 9}, nil)
		at, value := []int64{}, []int64{}
		for range rows {
			at = append(at, rapid.Int64Range(-5, 5).Draw(t, "at"))
			value = append(value, rapid.Int64Range(0, 4).Draw(t, "value"))
		}
		for _, r := range rows {
			build.Append(true)
			build.ValueBuilder().(*array.Int32Builder).AppendValues(r, nil)
		}
		column := b.cut(build.NewArray())
		zero, one, has := texts(b.apply("element", column, b.ints(at...))), texts(b.apply("element_at", column, b.ints(at...))), texts(b.apply("array_contains", column, b.ints(value...)))
		for i, r := range rows {
			want := func(place int64) string {
				if place < 0 || place >= int64(len(r)) {
					return "!"
				}
				return b.ints(int64(r[place])).ValueStr(0)
			}
			require.Equal(t, want(at[i]), zero[i])
			switch {
			case at[i] > 0:
				require.Equal(t, want(at[i]-1), one[i])
			case at[i] < 0:
				require.Equal(t, want(at[i]+int64(len(r))), one[i])
			default:
				require.Equal(t, "!", one[i])
			}
			require.Equal(t, map[bool]string{true: "true", false: "false"}[slices.Contains(r, int32(value[i]))], has[i])
		}
	})
}

// Slices of maps have offsets of their own in the entries.
func TestEntriesThatAreSlicedAreFound(t *testing.T) {
	b := newBench(t)
	defer b.close()
	maps := b.parse(intMaps, `[[{"key": "a", "value": 1}], [{"key": "b", "value": 2}], [{"key": "c", "value": 3}]]`).(*array.Map)
	entries := array.NewSlice(maps.ListValues(), 1, 3)
	defer entries.Release()
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1, 2}))
	data := array.NewData(intMaps, 2, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{entries.Data()}, 0, 0)
	defer data.Release()
	cut := b.keep(array.MakeFromData(data))
	require.Equal(t, []string{"2", "NULL"}, texts(b.apply("element", cut, "b")))
	require.Equal(t, []string{`["b"]`, `["c"]`}, texts(b.apply("map_keys", cut)))
	require.Equal(t, []string{"[2]", "[3]"}, texts(b.apply("map_values", cut)))
}
