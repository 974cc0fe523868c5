package parquetio_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

var (
	required = parquet.Repetitions.Required
	optional = parquet.Repetitions.Optional
	repeated = parquet.Repetitions.Repeated
)

// column is a column of a file that another writer might have made.
type column struct {
	values     any // a slice of the physical type
	defs, reps []int16
}

// foreign writes a file of the given schema with one row group.
func foreign(t testing.TB, fields schema.FieldList, cols ...column) []byte {
	return foreignWith(t, nil, fields, cols...)
}

// foreignWith writes such a file with pairs of texts in its footer.
func foreignWith(t testing.TB, pairs map[string]string, fields schema.FieldList, cols ...column) []byte {
	kv := metadata.NewKeyValueMetadata()
	for k, v := range pairs {
		require.NoError(t, kv.Append(k, v))
	}
	root, err := schema.NewGroupNode("schema", required, fields, -1)
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := pqfile.NewParquetWriterWithError(&out, root, pqfile.WithWriteMetadata(kv))
	require.NoError(t, err)
	g, err := w.AppendRowGroupChecked()
	require.NoError(t, err)
	for _, c := range cols {
		cw, err := g.NextColumn()
		require.NoError(t, err)
		switch v := c.values.(type) {
		case []int32:
			_, err = cw.(*pqfile.Int32ColumnChunkWriter).WriteBatch(v, c.defs, c.reps)
		case []int64:
			_, err = cw.(*pqfile.Int64ColumnChunkWriter).WriteBatch(v, c.defs, c.reps)
		case []float32:
			_, err = cw.(*pqfile.Float32ColumnChunkWriter).WriteBatch(v, c.defs, c.reps)
		case []parquet.Int96:
			_, err = cw.(*pqfile.Int96ColumnChunkWriter).WriteBatch(v, c.defs, c.reps)
		case []parquet.ByteArray:
			_, err = cw.(*pqfile.ByteArrayColumnChunkWriter).WriteBatch(v, c.defs, c.reps)
		case []parquet.FixedLenByteArray:
			_, err = cw.(*pqfile.FixedLenByteArrayColumnChunkWriter).WriteBatch(v, c.defs, c.reps)
		default:
			t.Fatalf("%T", v)
		}
		require.NoError(t, err)
		require.NoError(t, cw.Close())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func texts(s ...string) (out []parquet.ByteArray) {
	for _, v := range s {
		out = append(out, parquet.ByteArray(v))
	}
	return out
}

func fixed(b ...[]byte) (out []parquet.FixedLenByteArray) {
	for _, v := range b {
		out = append(out, v)
	}
	return out
}

func prim(name string, rep parquet.Repetition, typ parquet.Type) schema.Node {
	return schema.MustPrimitive(schema.NewPrimitiveNode(name, rep, typ, -1, -1))
}

func logical(name string, rep parquet.Repetition, l schema.LogicalType, typ parquet.Type, length int) schema.Node {
	return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, rep, l, typ, length, -1))
}

func group(name string, rep parquet.Repetition, fields ...schema.Node) schema.Node {
	return schema.MustGroup(schema.NewGroupNode(name, rep, fields, -1))
}

// requireRows reads a file and compares it with rows in JSON.
func requireRows(t *testing.T, data []byte, want *arrow.Schema, rows string) {
	t.Helper()
	mem := checked(t)
	got, err := readAll(t.Context(), source("f", data), want, parquetio.ReadOptions{Allocator: mem})
	require.NoError(t, err)
	defer got.Release()
	require.True(t, got.Schema().Equal(want))
	require.JSONEq(t, rows, rowsJSON(t, got))
}

func TestListLayouts(t *testing.T) {
	ints := arrow.NewSchema([]arrow.Field{field("l", arrow.ListOf(arrow.PrimitiveTypes.Int32))}, nil)
	structs := arrow.NewSchema([]arrow.Field{field("l", arrow.ListOf(arrow.StructOf(field("x", arrow.PrimitiveTypes.Int32))))}, nil)
	three := column{[]int32{1, 2, 3}, []int16{3, 2, 3, 0, 1, 3}, []int16{0, 1, 1, 0, 0, 0}}
	two := column{[]int32{1, 2, 3}, []int16{2, 2, 0, 1, 2}, []int16{0, 1, 0, 0, 0}}
	legacy := column{[]int32{1, 2, 3}, []int16{1, 1, 0, 1}, []int16{0, 1, 0, 0}}
	int32s := parquet.Types.Int32
	for name, c := range map[string]struct {
		fields schema.Node
		col    column
		want   *arrow.Schema
		rows   string
	}{
		"three levels":              {group("l", optional, group("list", repeated, prim("element", optional, int32s))), three, ints, `[{"l":[1,null,2]},{"l":null},{"l":[]},{"l":[3]}]`},
		"three levels, Hive names":  {group("l", optional, group("bag", repeated, prim("array_element", optional, int32s))), three, ints, `[{"l":[1,null,2]},{"l":null},{"l":[]},{"l":[3]}]`},
		"two levels":                {group("l", optional, prim("array", repeated, int32s)), two, ints, `[{"l":[1,2]},{"l":null},{"l":[]},{"l":[3]}]`},
		"two levels of structs":     {group("l", optional, group("array", repeated, prim("x", required, int32s))), two, structs, `[{"l":[{"x":1},{"x":2}]},{"l":null},{"l":[]},{"l":[{"x":3}]}]`},
		"two levels, tuple":         {group("l", optional, group("l_tuple", repeated, prim("x", required, int32s))), two, structs, `[{"l":[{"x":1},{"x":2}]},{"l":null},{"l":[]},{"l":[{"x":3}]}]`},
		"two levels told by type":   {group("l", optional, group("element", repeated, prim("x", required, int32s))), two, structs, `[{"l":[{"x":1},{"x":2}]},{"l":null},{"l":[]},{"l":[{"x":3}]}]`},
		"a repeated primitive":      {prim("l", repeated, int32s), legacy, ints, `[{"l":[1,2]},{"l":[]},{"l":[3]}]`},
		"a repeated group":          {group("l", repeated, prim("x", required, int32s)), legacy, structs, `[{"l":[{"x":1},{"x":2}]},{"l":[]},{"l":[{"x":3}]}]`},
		"an element without a file": {group("l", optional, group("list", repeated, group("element", optional, prim("y", optional, int32s)))), column{[]int32{1}, []int16{4, 2, 0, 1, 3}, []int16{0, 1, 0, 0, 0}}, structs, `[{"l":[{"x":null},null]},{"l":null},{"l":[]},{"l":[{"x":null}]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			requireRows(t, foreign(t, schema.FieldList{c.fields}, c.col), c.want, c.rows)
		})
	}
}

func TestMapLayouts(t *testing.T) {
	want := arrow.NewSchema([]arrow.Field{field("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64))}, nil)
	keys := column{texts("a", "b", "c"), []int16{2, 2, 0, 1, 2}, []int16{0, 1, 0, 0, 0}}
	values := column{[]int32{1, 3}, []int16{3, 2, 0, 1, 3}, []int16{0, 1, 0, 0, 0}}
	rows := `[{"m":[{"key":"a","value":1},{"key":"b","value":null}]},{"m":null},{"m":[]},{"m":[{"key":"c","value":3}]}]`
	str := parquet.Types.ByteArray
	for name, node := range map[string]schema.Node{
		"key_value":          group("m", optional, group("key_value", repeated, prim("key", required, str), prim("value", optional, parquet.Types.Int32))),
		"map":                group("m", optional, group("map", repeated, prim("key", required, str), prim("value", optional, parquet.Types.Int32))),
		"MAP_KEY_VALUE":      schema.MustGroup(schema.NewGroupNodeConverted("m", optional, schema.FieldList{group("map", repeated, prim("k", required, str), prim("v", optional, parquet.Types.Int32))}, schema.ConvertedTypes.MapKeyValue, -1)),
		"entries, annotated": schema.MustGroup(schema.NewGroupNodeConverted("m", optional, schema.FieldList{group("entries", repeated, prim("key", required, str), prim("value", optional, parquet.Types.Int32))}, schema.ConvertedTypes.Map, -1)),
	} {
		t.Run(name, func(t *testing.T) { requireRows(t, foreign(t, schema.FieldList{node}, keys, values), want, rows) })
	}
}

func TestColumnsAreFoundByName(t *testing.T) {
	i32 := parquet.Types.Int32
	data := foreign(t, schema.FieldList{prim("a", required, i32), prim("A", required, i32), prim("Lone", required, i32), prim("extra", required, i32)},
		column{values: []int32{1}}, column{values: []int32{2}}, column{values: []int32{3}}, column{values: []int32{4}})
	ints := func(names ...string) *arrow.Schema {
		var f []arrow.Field
		for _, n := range names {
			f = append(f, field(n, arrow.PrimitiveTypes.Int32))
		}
		return arrow.NewSchema(f, nil)
	}
	requireRows(t, data, ints("A", "a"), `[{"A":2,"a":1}]`)
	requireRows(t, data, ints("lone", "missing"), `[{"lone":3,"missing":null}]`)
	twice := foreign(t, schema.FieldList{prim("ab", required, i32), prim("AB", required, i32), group("s", required, prim("x", required, i32), prim("X", required, i32))},
		column{values: []int32{1}}, column{values: []int32{2}}, column{values: []int32{3}}, column{values: []int32{4}})
	requireCorrupt(t, twice, ints("Ab"))
	requireRows(t, twice, ints("AB"), `[{"AB":2}]`)
	requireRows(t, twice, arrow.NewSchema([]arrow.Field{field("s", arrow.StructOf(field("X", arrow.PrimitiveTypes.Int32)))}, nil), `[{"s":{"X":4}}]`)
	wider := foreign(t, schema.FieldList{group("s", required, prim("xy", required, i32), prim("XY", required, i32))}, column{values: []int32{3}}, column{values: []int32{4}})
	requireCorrupt(t, wider, arrow.NewSchema([]arrow.Field{field("s", arrow.StructOf(field("Xy", arrow.PrimitiveTypes.Int32)))}, nil))
	requireRows(t, data, arrow.NewSchema([]arrow.Field{field("none", arrow.Null), field("gone", arrow.ListOf(arrow.BinaryTypes.String))}, nil), `[{"none":null,"gone":null}]`)
}

func TestMissingFieldsOfStructs(t *testing.T) {
	node := group("s", optional, prim("other", optional, parquet.Types.Int32))
	data := foreign(t, schema.FieldList{node}, column{[]int32{5}, []int16{0, 1, 2}, nil})
	want := arrow.NewSchema([]arrow.Field{field("s", arrow.StructOf(field("x", arrow.BinaryTypes.String)))}, nil)
	requireRows(t, data, want, `[{"s":null},{"s":{"x":null}},{"s":{"x":null}}]`)
}

func TestNoColumns(t *testing.T) {
	data := foreign(t, schema.FieldList{prim("a", required, parquet.Types.Int32)}, column{values: []int32{1, 2, 3}})
	got, err := readAll(t.Context(), source("f", data), arrow.NewSchema(nil, nil), parquetio.ReadOptions{})
	require.NoError(t, err)
	got.Release()
}

// int96 gives an INT96 timestamp.
func int96(julian uint32, nanos uint64) (v parquet.Int96) {
	binary.LittleEndian.PutUint64(v[:8], nanos)
	binary.LittleEndian.PutUint32(v[8:], julian)
	return v
}

func TestTimestamps(t *testing.T) {
	utc := arrow.NewSchema([]arrow.Field{field("t", timestampType)}, nil)
	ntz := arrow.NewSchema([]arrow.Field{field("t", timestampNTZType)}, nil)
	i64, i96 := parquet.Types.Int64, parquet.Types.Int96
	stamp := func(isUTC bool, unit schema.TimeUnitType) schema.Node {
		return logical("t", required, schema.NewTimestampLogicalType(isUTC, unit), i64, -1)
	}
	for name, c := range map[string]struct {
		node schema.Node
		col  any
		want *arrow.Schema
		rows string
	}{
		"INT96 from year 1 to 9999": {prim("t", required, i96), []parquet.Int96{int96(1721426, 0), int96(2440588, 1999), int96(5373484, 86399_999_999_999)}, utc,
			`[{"t":"0001-01-01T00:00:00Z"},{"t":"1970-01-01T00:00:00.000001Z"},{"t":"9999-12-31T23:59:59.999999Z"}]`},
		"INT96 as ntz":                    {prim("t", required, i96), []parquet.Int96{int96(2440589, 0)}, ntz, `[{"t":"1970-01-02T00:00:00"}]`},
		"milliseconds":                    {stamp(true, schema.TimeUnitMillis), []int64{-1, 1500}, utc, `[{"t":"1969-12-31T23:59:59.999Z"},{"t":"1970-01-01T00:00:01.5Z"}]`},
		"nanoseconds are floored":         {stamp(true, schema.TimeUnitNanos), []int64{-1, 1999}, utc, `[{"t":"1969-12-31T23:59:59.999999Z"},{"t":"1970-01-01T00:00:00.000001Z"}]`},
		"old writers did not say UTC":     {stamp(false, schema.TimeUnitMicros), []int64{1}, utc, `[{"t":"1970-01-01T00:00:00.000001Z"}]`},
		"and some say it where it is not": {stamp(true, schema.TimeUnitMicros), []int64{1}, ntz, `[{"t":"1970-01-01T00:00:00.000001"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			requireRows(t, foreign(t, schema.FieldList{c.node}, column{values: c.col}), c.want, c.rows)
		})
	}
	for name, col := range map[string]struct {
		node schema.Node
		v    any
	}{
		"milliseconds beyond all time": {stamp(true, schema.TimeUnitMillis), []int64{math.MaxInt64}},
		"a day beyond all time":        {prim("t", required, i96), []parquet.Int96{int96(1<<31-1, 0)}},
		"a day of too many nanos":      {prim("t", required, i96), []parquet.Int96{int96(2440588, 1<<62)}},
		"a bare INT64":                 {prim("t", required, i64), []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			requireCorrupt(t, foreign(t, schema.FieldList{col.node}, column{values: col.v}), utc)
		})
	}
}

func requireCorrupt(t *testing.T, data []byte, want *arrow.Schema) {
	t.Helper()
	mem := checked(t)
	_, err := readAll(t.Context(), source("the/file", data), want, parquetio.ReadOptions{Allocator: mem})
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, "the/file")
}

func TestDecimals(t *testing.T) {
	want := func(p, s int32) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{field("d", decimalOf(p, s))}, nil)
	}
	dec := func(p, s int32, typ parquet.Type, length int) schema.Node {
		return logical("d", required, schema.NewDecimalLogicalType(p, s), typ, length)
	}
	i32, i64, flba, bin := parquet.Types.Int32, parquet.Types.Int64, parquet.Types.FixedLenByteArray, parquet.Types.ByteArray
	minus := bytes.Repeat([]byte{0xff}, 17)
	for name, c := range map[string]struct {
		node schema.Node
		col  any
		want *arrow.Schema
		rows string // "": corrupt
	}{
		"INT32":                              {dec(5, 2, i32, -1), []int32{-12345, 7}, want(5, 2), `[{"d":"-123.45"},{"d":"0.07"}]`},
		"INT64 at a greater precision":       {dec(18, 2, i64, -1), []int64{-12345}, want(38, 2), `[{"d":"-123.45"}]`},
		"INT64 at a lower precision":         {dec(18, 2, i64, -1), []int64{-12345}, want(5, 2), `[{"d":"-123.45"}]`},
		"FLBA of more bytes than needed":     {dec(10, 2, flba, 17), fixed(minus), want(10, 2), `[{"d":"-0.01"}]`},
		"FLBA of few bytes":                  {dec(4, 1, flba, 2), fixed([]byte{0xff, 0x00}), want(10, 1), `[{"d":"-25.6"}]`},
		"BINARY of any length":               {dec(20, 0, bin, -1), texts("\x01\x00", "\xfe", ""), want(20, 0), `[{"d":"256"},{"d":"-2"},{"d":"0"}]`},
		"a scale that grows":                 {dec(5, 1, i32, -1), []int32{15}, want(10, 3), `[{"d":"1.5"}]`},
		"a scale that shrinks without loss":  {dec(5, 2, i32, -1), []int32{150}, want(5, 1), `[{"d":"1.5"}]`},
		"a scale that shrinks with loss":     {dec(5, 2, i32, -1), []int32{151}, want(5, 1), ""},
		"a value beyond the precision":       {dec(9, 0, i32, -1), []int32{100000}, want(5, 0), ""},
		"a value of 17 bytes":                {dec(10, 2, flba, 17), fixed(append([]byte{1}, minus[1:]...)), want(10, 2), ""},
		"an integer that is no decimal":      {prim("d", required, i32), []int32{1}, want(5, 0), ""},
		"a scale that overflows when raised": {dec(38, 0, flba, 16), fixed(append([]byte{0x4b}, minus[1:16]...)), want(38, 30), ""},
	} {
		t.Run(name, func(t *testing.T) {
			data := foreign(t, schema.FieldList{c.node}, column{values: c.col})
			if c.rows == "" {
				requireCorrupt(t, data, c.want)
				return
			}
			requireRows(t, data, c.want, c.rows)
		})
	}
}

func TestNumbersAndStrings(t *testing.T) {
	one := func(typ arrow.DataType) *arrow.Schema { return arrow.NewSchema([]arrow.Field{field("v", typ)}, nil) }
	i32, i64, f32, flba, bin := parquet.Types.Int32, parquet.Types.Int64, parquet.Types.Float, parquet.Types.FixedLenByteArray, parquet.Types.ByteArray
	p := arrow.PrimitiveTypes
	for name, c := range map[string]struct {
		node schema.Node
		col  any
		want arrow.DataType
		rows string // "": corrupt
	}{
		"INT32 without annotation as byte": {prim("v", required, i32), []int32{-128}, p.Int8, `[{"v":-128}]`},
		"a byte out of range":              {prim("v", required, i32), []int32{128}, p.Int8, ""},
		"a short as integer":               {logical("v", required, schema.NewIntLogicalType(16, true), i32, -1), []int32{-5}, p.Int32, `[{"v":-5}]`},
		"INT32 as long":                    {prim("v", required, i32), []int32{-5}, p.Int64, `[{"v":-5}]`},
		"INT64 as integer":                 {prim("v", required, i64), []int64{1}, p.Int32, ""},
		"unsigned INT32 as long":           {logical("v", required, schema.NewIntLogicalType(32, false), i32, -1), []int32{-1}, p.Int64, `[{"v":4294967295}]`},
		"unsigned INT64 as decimal":        {logical("v", required, schema.NewIntLogicalType(64, false), i64, -1), []int64{-1, 7}, decimalOf(20, 0), `[{"v":"18446744073709551615"},{"v":"7"}]`},
		"unsigned INT64 as scaled decimal": {logical("v", required, schema.NewIntLogicalType(64, false), i64, -1), []int64{-1}, decimalOf(22, 2), `[{"v":"18446744073709551615"}]`},
		"unsigned INT64 as small decimal":  {logical("v", required, schema.NewIntLogicalType(64, false), i64, -1), []int64{1}, decimalOf(19, 0), ""},
		"unsigned INT32 as integer":        {logical("v", required, schema.NewIntLogicalType(32, false), i32, -1), []int32{-1}, p.Int32, ""},
		"FLOAT as double":                  {prim("v", required, f32), []float32{0.5}, p.Float64, `[{"v":0.5}]`},
		"a string without annotation":      {prim("v", required, bin), texts("x"), arrow.BinaryTypes.String, `[{"v":"x"}]`},
		"an enum as string":                {logical("v", required, schema.EnumLogicalType{}, bin, -1), texts("x"), arrow.BinaryTypes.String, `[{"v":"x"}]`},
		"FLBA as binary":                   {schema.MustPrimitive(schema.NewPrimitiveNode("v", required, flba, -1, 3)), fixed([]byte("abc"), []byte("def")), arrow.BinaryTypes.Binary, `[{"v":"YWJj"},{"v":"ZGVm"}]`},
		"a date":                           {logical("v", required, schema.DateLogicalType{}, i32, -1), []int32{-719162}, arrow.FixedWidthTypes.Date32, `[{"v":"0001-01-01"}]`},
		"a string as number":               {prim("v", required, bin), texts("x"), p.Int64, ""},
		"a group as number":                {group("v", required, prim("x", required, i32)), []int32{1}, p.Int32, ""},
		"a number as list":                 {prim("v", required, i32), []int32{1}, arrow.ListOf(p.Int32), ""},
	} {
		t.Run(name, func(t *testing.T) {
			data := foreign(t, schema.FieldList{c.node}, column{values: c.col})
			if c.rows == "" {
				requireCorrupt(t, data, one(c.want))
				return
			}
			requireRows(t, data, one(c.want), c.rows)
		})
	}
}

func TestTypesOutsideOfTables(t *testing.T) {
	data := foreign(t, schema.FieldList{prim("v", required, parquet.Types.ByteArray)}, column{values: texts("x")})
	_, err := readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("v", arrow.BinaryTypes.LargeString)}, nil), parquetio.ReadOptions{})
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.NotErrorIs(t, err, delta.ErrCorrupt)
	stamps := foreign(t, schema.FieldList{logical("v", required, schema.NewTimestampLogicalType(true, schema.TimeUnitNanos), parquet.Types.Int64, -1)}, column{values: []int64{1}})
	_, err = readAll(t.Context(), source("f", stamps), arrow.NewSchema([]arrow.Field{field("v", arrow.FixedWidthTypes.Timestamp_ns)}, nil), parquetio.ReadOptions{})
	require.ErrorIs(t, err, delta.ErrUnsupported, "it is the type that is asked for, not the file")
	require.NotErrorIs(t, err, delta.ErrCorrupt)
	_, err = parquetio.Parquet{}.NewWriter(&bytes.Buffer{}, arrow.NewSchema([]arrow.Field{field("v", arrow.FixedWidthTypes.Timestamp_ns)}, nil), parquetio.WriteOptions{})
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.ErrorContains(t, err, "column v")
	_, err = parquetio.Parquet{}.NewWriter(&bytes.Buffer{}, flatSchema(), parquetio.WriteOptions{Codec: "lzo"})
	require.ErrorIs(t, err, delta.ErrUnsupported)
}

// TestBombs reads small files that stand for much: batches stay small and rows are all there.
func TestBombs(t *testing.T) {
	t.Run("a dictionary with a long string", func(t *testing.T) {
		long := string(bytes.Repeat([]byte("x"), 1<<20))
		const rows = 100
		vals := make([]parquet.ByteArray, rows)
		for i := range vals {
			vals[i] = parquet.ByteArray(long)
		}
		data := foreign(t, schema.FieldList{prim("s", required, parquet.Types.ByteArray)}, column{values: vals})
		require.Less(t, len(data), 2<<20)
		want := arrow.NewSchema([]arrow.Field{field("s", arrow.BinaryTypes.String)}, nil)
		r, err := parquetio.Parquet{}.Open(t.Context(), source("f", data), parquetio.ReadOptions{})
		require.NoError(t, err)
		n := int64(0)
		for b, err := range r.Batches(t.Context(), want) {
			require.NoError(t, err)
			require.LessOrEqual(t, b.NumRows(), int64(65))
			n += b.NumRows()
		}
		require.EqualValues(t, rows, n)
	})
	t.Run("a dictionary with a long value of fixed length", func(t *testing.T) {
		const rows, width = 100, 1 << 20
		vals := slices.Repeat(fixed(make([]byte, width)), rows)
		data := foreign(t, schema.FieldList{schema.MustPrimitive(schema.NewPrimitiveNode("v", required, parquet.Types.FixedLenByteArray, -1, width))}, column{values: vals})
		require.Less(t, len(data), 2<<20)
		want := arrow.NewSchema([]arrow.Field{field("v", arrow.BinaryTypes.Binary)}, nil)
		r, err := parquetio.Parquet{}.Open(t.Context(), source("f", data), parquetio.ReadOptions{})
		require.NoError(t, err)
		n := int64(0)
		for b, err := range r.Batches(t.Context(), want) {
			require.NoError(t, err)
			require.LessOrEqual(t, b.NumRows(), int64(65))
			n += b.NumRows()
		}
		require.EqualValues(t, rows, n)
	})
	t.Run("a row of millions of NULLs", func(t *testing.T) {
		const n = 2_500_000
		defs, reps := make([]int16, n), make([]int16, n)
		for i := range defs {
			defs[i], reps[i] = 2, 1
		}
		reps[0] = 0
		node := group("l", optional, group("list", repeated, prim("element", optional, parquet.Types.Int32)))
		data := foreign(t, schema.FieldList{node}, column{[]int32{}, defs, reps})
		_, err := readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("l", arrow.ListOf(arrow.PrimitiveTypes.Int32))}, nil), parquetio.ReadOptions{})
		require.ErrorIs(t, err, delta.ErrUnsupported)
	})
}

func TestBatchesStopEarly(t *testing.T) {
	mem := checked(t)
	s := flatSchema()
	b := randomBatch(memory.DefaultAllocator, s, 1000, 1)
	data := writeFile(t, parquetio.WriteOptions{}, s, b)
	r, err := parquetio.Parquet{}.Open(t.Context(), source("f", data), parquetio.ReadOptions{BatchRows: 10, Allocator: mem})
	require.NoError(t, err)
	for b, err := range r.Batches(t.Context(), s) {
		require.NoError(t, err)
		require.EqualValues(t, 10, b.NumRows())
		break
	}
}
