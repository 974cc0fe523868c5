package parquetio_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// list and mapped are groups with the annotation of a list or map.
func list(name string, rep parquet.Repetition, item schema.Node) schema.Node {
	return schema.MustGroup(schema.NewGroupNodeConverted(name, rep, schema.FieldList{item}, schema.ConvertedTypes.List, -1))
}

func mapped(name string, item schema.Node) schema.Node {
	return schema.MustGroup(schema.NewGroupNodeConverted(name, optional, schema.FieldList{item}, schema.ConvertedTypes.Map, -1))
}

// TestSchemaOfLayouts: the schema that a file says of itself reads it, whatever the layout of its
// lists and maps.
func TestSchemaOfLayouts(t *testing.T) {
	int32s, str := parquet.Types.Int32, parquet.Types.ByteArray
	i32 := arrow.PrimitiveTypes.Int32
	must := func(t arrow.DataType) arrow.DataType { return arrow.ListOfField(arrow.Field{Name: "element", Type: t}) }
	three := column{[]int32{1, 2, 3}, []int16{3, 2, 3, 0, 1, 3}, []int16{0, 1, 1, 0, 0, 0}}
	two := column{[]int32{1, 2, 3}, []int16{2, 2, 0, 1, 2}, []int16{0, 1, 0, 0, 0}}
	bare := column{[]int32{1, 2, 3}, []int16{1, 1, 0, 1}, []int16{0, 1, 0, 0}}
	point := arrow.StructOf(arrow.Field{Name: "x", Type: i32})
	entry := group("key_value", repeated, prim("key", required, str), prim("value", optional, int32s))
	swapped := group("map", repeated, prim("value", optional, int32s), prim("key", required, str))
	keys, values := column{texts("a", "b"), []int16{2, 2, 0, 1}, []int16{0, 1, 0, 0}}, column{[]int32{7}, []int16{3, 2, 0, 1}, []int16{0, 1, 0, 0}}
	for _, c := range []struct {
		why  string
		node schema.Node
		cols []column
		want arrow.DataType
		rows string
	}{
		{"three levels", list("l", optional, group("list", repeated, prim("element", optional, int32s))), []column{three}, arrow.ListOf(i32), `[{"l":[1,null,2]},{"l":null},{"l":[]},{"l":[3]}]`},
		{"two levels", list("l", optional, prim("array", repeated, int32s)), []column{two}, must(i32), `[{"l":[1,2]},{"l":null},{"l":[]},{"l":[3]}]`},
		{"two levels of structs", list("l", optional, group("array", repeated, prim("x", required, int32s))), []column{two}, must(point), `[{"l":[{"x":1},{"x":2}]},{"l":null},{"l":[]},{"l":[{"x":3}]}]`},
		{"two levels, tuple", list("l", optional, group("l_tuple", repeated, prim("x", required, int32s))), []column{two}, must(point), `[{"l":[{"x":1},{"x":2}]},{"l":null},{"l":[]},{"l":[{"x":3}]}]`},
		{"a repeated primitive", prim("l", repeated, int32s), []column{bare}, must(i32), `[{"l":[1,2]},{"l":[]},{"l":[3]}]`},
		{"a repeated group", group("l", repeated, prim("x", required, int32s)), []column{bare}, must(point), `[{"l":[{"x":1},{"x":2}]},{"l":[]},{"l":[{"x":3}]}]`},
		{"a group without annotation", group("l", optional, prim("x", repeated, int32s)), []column{two}, arrow.StructOf(arrow.Field{Name: "x", Type: must(i32)}), `[{"l":{"x":[1,2]}},{"l":null},{"l":{"x":[]}},{"l":{"x":[3]}}]`},
		{"a map", mapped("l", entry), []column{keys, values}, arrow.MapOf(arrow.BinaryTypes.Binary, i32), `[{"l":[{"key":"YQ==","value":7},{"key":"Yg==","value":null}]},{"l":null},{"l":[]}]`},
		{"a map, its value first", mapped("l", swapped), []column{values, keys}, arrow.MapOf(arrow.BinaryTypes.Binary, i32), `[{"l":[{"key":"YQ==","value":7},{"key":"Yg==","value":null}]},{"l":null},{"l":[]}]`},
	} {
		t.Run(c.why, func(t *testing.T) {
			data := foreign(t, schema.FieldList{c.node}, c.cols...)
			r, err := parquetio.Parquet{}.Open(t.Context(), source("f", data), parquetio.ReadOptions{})
			require.NoError(t, err)
			got, others, err := parquetio.Schema(r)
			require.NoError(t, err)
			require.Empty(t, others)
			require.Equal(t, 1, got.NumFields())
			require.True(t, arrow.TypeEqual(c.want, got.Field(0).Type), got.String())
			require.Equal(t, c.node.RepetitionType() == optional, got.Field(0).Nullable)
			requireRows(t, data, got, c.rows)
		})
	}
}

// TestSchemaNamesOthers: what no table type holds is left out and named.
func TestSchemaNamesOthers(t *testing.T) {
	i64, flba := parquet.Types.Int64, parquet.Types.FixedLenByteArray
	time := logical("t", required, schema.NewTimeLogicalType(true, schema.TimeUnitMicros), i64, -1)
	data := foreign(t, schema.FieldList{
		prim("id", required, i64), time, logical("u", required, schema.NewIntLogicalType(64, false), i64, -1),
		logical("uuid", required, schema.UUIDLogicalType{}, flba, 16), group("s", required, time), logical("d", required, schema.NewDecimalLogicalType(40, 2), flba, 17),
		list("l", required, group("list", repeated, time)), list("bad", required, prim("x", required, i64)), mapped("m", group("kv", repeated, prim("key", required, i64))),
	}, column{values: []int64{1}}, column{values: []int64{1}}, column{values: []int64{1}}, column{values: fixed(make([]byte, 16))}, column{values: []int64{1}},
		column{values: fixed(make([]byte, 17))}, column{[]int64{}, []int16{0}, []int16{0}}, column{values: []int64{1}}, column{[]int64{}, []int16{0}, []int16{0}})
	r, err := parquetio.Parquet{}.Open(t.Context(), source("f", data), parquetio.ReadOptions{})
	require.NoError(t, err)
	got, others, err := parquetio.Schema(r)
	require.NoError(t, err)
	require.Equal(t, 1, got.NumFields())
	require.Equal(t, map[string]string{
		"t": "t is INT64 with an annotation that no table type has", "u": "u is INT64 as unsigned integer",
		"uuid": "uuid is FIXED_LEN_BYTE_ARRAY(16) with an annotation that no table type has", "s": "s.t is INT64 with an annotation that no table type has",
		"d": "d is FIXED_LEN_BYTE_ARRAY(17) as decimal(40,2)", "l": "l.list.t is INT64 with an annotation that no table type has",
		"bad": "bad is annotated as a list and has not the layout of one", "m": "m is annotated as a map and has not the layout of one",
	}, others)

	r, err = parquetio.Parquet{}.Open(t.Context(), source("f", foreign(t, schema.FieldList{group("s", required, prim("x", required, i64), prim("x", required, i64))},
		column{values: []int64{1}}, column{values: []int64{1}})), parquetio.ReadOptions{})
	require.NoError(t, err)
	_, _, err = parquetio.Schema(r)
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, `there are two columns "s.x"`)
}

// TestExactTimestamps: with Exact nothing below the microsecond is cut off in silence.
func TestExactTimestamps(t *testing.T) {
	want := arrow.NewSchema([]arrow.Field{field("t", timestampType)}, nil)
	nanos := logical("t", required, schema.NewTimestampLogicalType(true, schema.TimeUnitNanos), parquet.Types.Int64, -1)
	for why, c := range map[string]struct {
		node schema.Node
		col  column
		fine bool
	}{
		"nanoseconds":               {nanos, column{values: []int64{1000, -1}}, true},
		"INT96":                     {prim("t", required, parquet.Types.Int96), column{values: []parquet.Int96{int96(2440588, 1999)}}, true},
		"whole microseconds":        {nanos, column{values: []int64{-1000, 0, 1000}}, false},
		"whole microseconds, INT96": {prim("t", required, parquet.Types.Int96), column{values: []parquet.Int96{int96(2440588, 1000)}}, false},
	} {
		data := foreign(t, schema.FieldList{c.node}, c.col)
		_, err := readAll(t.Context(), source("f", data), want, parquetio.ReadOptions{})
		require.NoError(t, err, why)
		_, err = readAll(t.Context(), source("f", data), want, parquetio.ReadOptions{Exact: true})
		if !c.fine {
			require.NoError(t, err, why)
			continue
		}
		require.ErrorIs(t, err, delta.ErrInput, why)
		require.NotErrorIs(t, err, delta.ErrCorrupt, why)
		require.ErrorContains(t, err, "a timestamp ends in 999 nanoseconds", why)
	}
}
