package parquetio_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/apache/arrow-go/v18/parquet/variant"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/parquetio"
)

var variantType, _ = delta.ArrowType(delta.Variant)

// noKeys is the metadata of a variant without objects, abc that of one with the keys a, b and c.
const (
	noKeys = "\x01\x00\x00"
	abc    = "\x01\x03\x00\x01\x02\x03abc"
)

// variantText gives the JSON of the variant in a row, "" if it is NULL.
func variantText(t require.TestingT, col arrow.Array, i int) string {
	st := col.(*array.Struct)
	if st.IsNull(i) {
		return ""
	}
	text, err := delta.VariantJSON(st.Field(1).(*array.Binary).Value(i), st.Field(0).(*array.Binary).Value(i))
	require.NoError(t, err)
	return text
}

// shape is how a variant is shredded: not, or into scalars of a type, objects of fields or arrays of elements.
type shape struct {
	scalar  arrow.DataType
	fields  map[string]*shape
	element *shape
}

var shreddedKeys = []string{"a", "b", "long name", "é", "z"}

func drawShape(t *rapid.T, depth int) *shape {
	switch rapid.IntRange(0, 2+2*min(depth, 1)).Draw(t, "shape") {
	case 0:
		return &shape{}
	case 1, 2:
		return &shape{scalar: rapid.SampledFrom([]arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64,
			arrow.BinaryTypes.String, arrow.FixedWidthTypes.Boolean}).Draw(t, "scalar")}
	case 3:
		return &shape{element: drawShape(t, depth-1)}
	}
	s := &shape{fields: map[string]*shape{}}
	for _, key := range shreddedKeys {
		if rapid.Bool().Draw(t, key) {
			s.fields[key] = drawShape(t, depth-1)
		}
	}
	if len(s.fields) == 0 {
		s.fields["a"] = &shape{}
	}
	return s
}

// group is the type of the columns that a variant is split into.
func (s *shape) group(top bool) *arrow.StructType {
	var fields []arrow.Field
	if top {
		fields = append(fields, mustField("metadata", arrow.BinaryTypes.Binary))
	}
	fields = append(fields, field("value", arrow.BinaryTypes.Binary))
	switch {
	case s.scalar != nil:
		fields = append(fields, field("typed_value", s.scalar))
	case s.element != nil:
		fields = append(fields, field("typed_value", arrow.ListOfField(mustField("element", s.element.group(false)))))
	case s.fields != nil:
		var inner []arrow.Field
		for _, key := range shreddedKeys {
			if f := s.fields[key]; f != nil {
				inner = append(inner, mustField(key, f.group(false)))
			}
		}
		fields = append(fields, field("typed_value", arrow.StructOf(inner...)))
	}
	return arrow.StructOf(fields...)
}

// missing is the value of a field that an object lacks.
type missing struct{}

// shred splits a value as the format says. meta has every key.
func (s *shape) shred(b *array.StructBuilder, v any, meta variant.Metadata) {
	b.Append(true)
	k := 0
	if b.Type().(*arrow.StructType).Field(0).Name == "metadata" {
		b.FieldBuilder(0).(*array.BinaryBuilder).Append(meta.Bytes())
		k = 1
	}
	rest := s.typed(b, k+1, v, meta)
	if _, none := rest.(missing); none {
		b.FieldBuilder(k).AppendNull()
		return
	}
	enc := variant.NewBuilderFromMeta(meta)
	if err := enc.Append(rest); err != nil {
		panic(err)
	}
	b.FieldBuilder(k).(*array.BinaryBuilder).Append(enc.BuildWithoutMeta())
}

// typed fills typed_value and gives what is left for value.
func (s *shape) typed(b *array.StructBuilder, k int, v any, meta variant.Metadata) (rest any) {
	if k >= b.NumField() {
		return v
	}
	switch to := b.FieldBuilder(k).(type) {
	case *array.Int64Builder:
		if n, ok := v.(int64); ok {
			to.Append(n)
			return missing{}
		}
	case *array.Float64Builder:
		if f, ok := v.(float64); ok {
			to.Append(f)
			return missing{}
		}
	case *array.StringBuilder:
		if text, ok := v.(string); ok {
			to.Append(text)
			return missing{}
		}
	case *array.BooleanBuilder:
		if is, ok := v.(bool); ok {
			to.Append(is)
			return missing{}
		}
	case *array.ListBuilder:
		if list, ok := v.([]any); ok {
			to.Append(true)
			for _, e := range list {
				s.element.shred(to.ValueBuilder().(*array.StructBuilder), e, meta)
			}
			return missing{}
		}
	case *array.StructBuilder:
		if object, ok := v.(map[string]any); ok {
			return s.object(to, object, meta)
		}
	}
	b.FieldBuilder(k).AppendNull()
	return v
}

func (s *shape) object(to *array.StructBuilder, object map[string]any, meta variant.Metadata) (rest any) {
	left := map[string]any{}
	for key, v := range object {
		if s.fields[key] == nil {
			left[key] = v
		}
	}
	to.Append(true)
	for i, f := range to.Type().(*arrow.StructType).Fields() {
		v, ok := object[f.Name]
		if !ok {
			v = missing{}
		}
		s.fields[f.Name].shred(to.FieldBuilder(i).(*array.StructBuilder), v, meta)
	}
	if len(left) == 0 {
		return missing{}
	}
	return left
}

func drawValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 5+3*min(depth, 1)).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return int64(rapid.Int32().Draw(t, "int"))
	case 4:
		return float64(rapid.IntRange(-100, 100).Draw(t, "halves")) + 0.5
	case 5:
		return strings.Repeat("ä", rapid.IntRange(0, 70).Draw(t, "text"))
	case 6:
		out := make([]any, rapid.SampledFrom([]int{0, 1, 3, 300}).Draw(t, "elements"))
		for i := range out {
			out[i] = any(int64(i))
			if i < 3 {
				out[i] = drawValue(t, depth-1)
			}
		}
		return out
	}
	out := map[string]any{}
	for _, key := range append(shreddedKeys, "other", "x\"y") {
		if rapid.Bool().Draw(t, "has "+key) {
			out[key] = drawValue(t, depth-1)
		}
	}
	return out
}

func sharedMetadata() variant.Metadata {
	var b variant.Builder
	for _, key := range append(shreddedKeys, "other", "x\"y") {
		b.AddKey(key)
	}
	v, err := b.Build()
	if err != nil {
		panic(err)
	}
	return v.Metadata()
}

// TestShreddedVariants: variants come back whole, however they were split, wherever they are in a column.
func TestShreddedVariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		s := drawShape(t, 3)
		group := s.group(true)
		b := array.NewStructBuilder(mem, group)
		defer b.Release()
		meta := sharedMetadata()
		var want []string
		for range rapid.IntRange(1, 8).Draw(t, "rows") {
			if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
				b.AppendNull()
				want = append(want, "")
				continue
			}
			v := drawValue(t, 3)
			text, err := json.Marshal(v)
			require.NoError(t, err)
			s.shred(b, v, meta)
			want = append(want, string(text))
		}
		variants := b.NewArray()
		defer variants.Release()
		wrap := rapid.SampledFrom([]string{"column", "list", "struct"}).Draw(t, "place")
		got := throughFile(t, mem, wrap, variants)
		defer got.Release()
		require.Equal(t, len(want), got.Len())
		for i := range want {
			if text := variantText(t, got, i); text == "" || want[i] == "" {
				require.Equal(t, want[i], text)
			} else {
				require.JSONEq(t, want[i], text)
			}
		}
	})
}

// throughFile writes an array as a plain struct at some place and reads it as variants from there.
func throughFile(t *rapid.T, mem memory.Allocator, place string, arr arrow.Array) arrow.Array {
	inner := func(dt arrow.DataType) arrow.DataType { return dt }
	var data arrow.ArrayData = arr.Data()
	n := arr.Len()
	switch place {
	case "list":
		inner = func(dt arrow.DataType) arrow.DataType { return arrow.ListOf(dt) }
		offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, int32(n / 2), int32(n)}))
		n = 2
		data = array.NewData(inner(arr.DataType()), n, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{data}, 0, 0)
		defer data.Release()
	case "struct":
		inner = func(dt arrow.DataType) arrow.DataType { return arrow.StructOf(field("v", dt)) }
		data = array.NewData(inner(arr.DataType()), n, []*memory.Buffer{nil}, []arrow.ArrayData{data}, 0, 0)
		defer data.Release()
	}
	column := array.MakeFromData(data)
	defer column.Release()
	written := arrow.NewSchema([]arrow.Field{field("c", column.DataType())}, nil)
	batch := array.NewRecordBatch(written, []arrow.Array{column}, int64(n))
	defer batch.Release()
	file := writeFile(t, parquetio.WriteOptions{Allocator: mem}, written, batch)
	tbl, err := readAll(t.Context(), source("f", file), arrow.NewSchema([]arrow.Field{field("c", inner(variantType))}, nil), parquetio.ReadOptions{Allocator: mem})
	require.NoError(t, err)
	defer tbl.Release()
	out := tbl.Column(0).Data().Chunk(0)
	switch place {
	case "list":
		out = out.(*array.List).ListValues()
	case "struct":
		out = out.(*array.Struct).Field(0)
	}
	out.Retain()
	return out
}

// TestShreddedScalars has every type into which the format lets scalars be shredded.
func TestShreddedScalars(t *testing.T) {
	i32, i64, flba, bin := parquet.Types.Int32, parquet.Types.Int64, parquet.Types.FixedLenByteArray, parquet.Types.ByteArray
	stamp := func(utc bool, unit schema.TimeUnitType) schema.LogicalType {
		return schema.NewTimestampLogicalType(utc, unit)
	}
	for _, tt := range []struct {
		logical schema.LogicalType
		phys    parquet.Type
		length  int
		values  any
		want    string // "": no variant is shredded into it
	}{
		{schema.NewIntLogicalType(8, true), i32, -1, []int32{-128}, `-128`},
		{schema.NewIntLogicalType(16, true), i32, -1, []int32{32767}, `32767`},
		{nil, i32, -1, []int32{-2147483648}, `-2147483648`},
		{nil, i64, -1, []int64{-9223372036854775808}, `-9223372036854775808`},
		{nil, parquet.Types.Float, -1, []float32{0.1}, `0.1`},
		{schema.NewDecimalLogicalType(9, 2), i32, -1, []int32{-12345}, `-123.45`},
		{schema.NewDecimalLogicalType(18, 0), i64, -1, []int64{-12345}, `-12345`},
		{schema.NewDecimalLogicalType(38, 38), flba, 16, fixed(append(make([]byte, 15), 1)), `0.00000000000000000000000000000000000001`},
		{schema.DateLogicalType{}, i32, -1, []int32{-719162}, `"0001-01-01"`},
		{schema.NewTimeLogicalType(false, schema.TimeUnitMicros), i64, -1, []int64{86_399_999_999}, `"23:59:59.999999"`},
		{stamp(true, schema.TimeUnitMicros), i64, -1, []int64{-1}, `"1969-12-31 23:59:59.999999+00:00"`},
		{stamp(false, schema.TimeUnitMicros), i64, -1, []int64{1_500_000}, `"1970-01-01 00:00:01.5"`},
		{stamp(true, schema.TimeUnitNanos), i64, -1, []int64{1}, `"1970-01-01 00:00:00.000000001+00:00"`},
		{stamp(false, schema.TimeUnitNanos), i64, -1, []int64{1}, `"1970-01-01 00:00:00.000000001"`},
		{schema.StringLogicalType{}, bin, -1, texts("ä\n"), `"ä\n"`},
		{nil, bin, -1, texts("\x00\xff"), `"AP8="`},
		{schema.UUIDLogicalType{}, flba, 16, fixed([]byte("0123456789abcdef")), `"30313233-3435-3637-3839-616263646566"`},
		{stamp(true, schema.TimeUnitMillis), i64, -1, []int64{1}, ""},
		{schema.NewTimeLogicalType(false, schema.TimeUnitMillis), i32, -1, []int32{1}, ""},
		{schema.NewIntLogicalType(32, false), i32, -1, []int32{1}, ""},
		{nil, flba, 16, fixed(make([]byte, 16)), ""},
		{nil, parquet.Types.Int96, -1, []parquet.Int96{int96(2440588, 0)}, ""},
	} {
		name := fmt.Sprintf("%v of %s", tt.logical, tt.phys)
		if tt.logical == nil {
			tt.logical = schema.NoLogicalType{}
		}
		data := foreign(t, schema.FieldList{group("v", required, prim("metadata", required, bin), logical("typed_value", optional, tt.logical, tt.phys, tt.length))},
			column{values: texts(noKeys)}, column{values: tt.values, defs: []int16{1}})
		got, err := readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("v", variantType)}, nil), parquetio.ReadOptions{Allocator: checked(t), Exact: true})
		if tt.want == "" {
			require.ErrorIs(t, err, delta.ErrCorrupt, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tt.want, variantText(t, got.Column(0).Data().Chunk(0), 0), name)
		got.Release()
	}
}

// TestShreddingRules has what the format says of missing values, and what breaks it.
func TestShreddingRules(t *testing.T) {
	bin, i64 := parquet.Types.ByteArray, parquet.Types.Int64
	value, typed := prim("value", optional, bin), prim("typed_value", optional, i64)
	object := group("typed_value", optional, group("a", required, value, typed))
	meta := prim("metadata", required, bin)
	at := func(values any, def int16) column { return column{values: values, defs: []int16{def}} }
	null := func(def int16) column { return at(texts(), def) }
	for _, tt := range []struct {
		why    string
		fields []schema.Node
		cols   []column
		want   string // "": corrupt
	}{
		{"a value that is not shredded", []schema.Node{meta, value, typed}, []column{{values: texts(noKeys)}, at(texts("\x05x"), 1), at([]int64{}, 0)}, `"x"`},
		{"the columns in another order", []schema.Node{typed, value, meta}, []column{at([]int64{7}, 1), null(0), {values: texts(noKeys)}}, `7`},
		{"a variant that is missing is null", []schema.Node{meta, value, typed}, []column{{values: texts(noKeys)}, null(0), at([]int64{}, 0)}, `null`},
		{"without typed_value, too", []schema.Node{meta, value}, []column{{values: texts(noKeys)}, null(0)}, `null`},
		{"a field that is missing is not there", []schema.Node{meta, value, object}, []column{{values: texts(abc)}, null(0), null(1), at([]int64{}, 1)}, `{}`},
		{"a field that is variant null", []schema.Node{meta, value, object}, []column{{values: texts(abc)}, null(0), at(texts("\x00"), 2), at([]int64{}, 1)}, `{"a":null}`},
		{"fields beside the shredded ones", []schema.Node{meta, value, object}, []column{{values: texts(abc)}, at(texts("\x02\x01\x01\x00\x01\x04"), 1), null(1), at([]int64{5}, 2)}, `{"a":5,"b":true}`},
		{"a name that the metadata lacks is added", []schema.Node{meta, value, object}, []column{{values: texts("\x01\x01\x00\x01b")}, at(texts("\x02\x01\x00\x00\x01\x04"), 1), null(1), at([]int64{5}, 2)}, `{"a":5,"b":true}`},
		{"a shredded field once more in the value", []schema.Node{meta, value, object}, []column{{values: texts(abc)}, at(texts("\x02\x01\x00\x00\x01\x04"), 1), null(1), at([]int64{5}, 2)}, ""},
		{"a value and a scalar", []schema.Node{meta, value, typed}, []column{{values: texts(noKeys)}, at(texts("\x00"), 1), at([]int64{1}, 1)}, ""},
		{"a value that is no object beside fields", []schema.Node{meta, value, object}, []column{{values: texts(abc)}, at(texts("\x00"), 1), null(1), at([]int64{5}, 2)}, ""},
		{"a field's value that ends early", []schema.Node{meta, value, object}, []column{{values: texts(abc)}, null(0), at(texts("\x14\x00"), 2), at([]int64{}, 1)}, ""},
		{"metadata that is malformed", []schema.Node{meta, value, typed}, []column{{values: texts("\x01")}, null(0), at([]int64{1}, 1)}, ""},
		{"no metadata in the row", []schema.Node{prim("metadata", optional, bin), value}, []column{null(0), at(texts("\x00"), 1)}, ""},
		{"no metadata in the file", []schema.Node{value, typed}, []column{at(texts("\x00"), 1), at([]int64{}, 0)}, ""},
		{"metadata that is no binary", []schema.Node{prim("metadata", required, i64), value}, []column{{values: []int64{1}}, at(texts("\x00"), 1)}, ""},
		{"a column that belongs to no variant", []schema.Node{meta, value, prim("x", optional, i64)}, []column{{values: texts(noKeys)}, at(texts("\x00"), 1), at([]int64{}, 0)}, ""},
		{"a field that is no group", []schema.Node{meta, value, group("typed_value", optional, prim("a", optional, i64))}, []column{{values: texts(abc)}, null(0), at([]int64{1}, 2)}, ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			want := arrow.NewSchema([]arrow.Field{field("v", variantType)}, nil)
			data := foreign(t, schema.FieldList{group("v", required, tt.fields...)}, tt.cols...)
			if tt.want == "" {
				requireCorrupt(t, data, want)
				return
			}
			got, err := readAll(t.Context(), source("f", data), want, parquetio.ReadOptions{Allocator: checked(t)})
			require.NoError(t, err)
			defer got.Release()
			require.Equal(t, tt.want, variantText(t, got.Column(0).Data().Chunk(0), 0))
			st := got.Column(0).Data().Chunk(0).(*array.Struct)
			require.NoError(t, delta.CheckVariant(st.Field(1).(*array.Binary).Value(0), st.Field(0).(*array.Binary).Value(0)))
		})
	}
}

// variantBatch has a column of variants at each kind of place.
func variantBatch(mem memory.Allocator, metadata, value string) arrow.RecordBatch {
	s := arrow.NewSchema([]arrow.Field{field("v", variantType), field("l", arrow.ListOf(variantType)),
		field("m", arrow.MapOf(arrow.BinaryTypes.String, variantType)), field("s", arrow.StructOf(field("n", arrow.Null), field("v", variantType)))}, nil)
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	add := func(b array.Builder, metadata, value string) {
		st := b.(*array.StructBuilder)
		st.Append(true)
		st.FieldBuilder(0).(*array.BinaryBuilder).Append([]byte(value))
		st.FieldBuilder(1).(*array.BinaryBuilder).Append([]byte(metadata))
	}
	l, m, st := b.Field(1).(*array.ListBuilder), b.Field(2).(*array.MapBuilder), b.Field(3).(*array.StructBuilder)
	add(b.Field(0), noKeys, "\x0c\x01")
	l.Append(true)
	l.ValueBuilder().AppendNull()
	add(l.ValueBuilder(), abc, "\x02\x01\x01\x00\x01\x04")
	m.Append(true)
	m.KeyBuilder().(*array.StringBuilder).Append("k")
	add(m.ItemBuilder(), metadata, value)
	st.Append(true)
	st.FieldBuilder(0).AppendNull()
	add(st.FieldBuilder(1), noKeys, "\x00")
	for i := range 4 {
		b.Field(i).AppendNull()
	}
	return b.NewRecordBatch()
}

// TestWriteVariants writes variants as Spark does, and reads what was written.
func TestWriteVariants(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		mem := checked(t)
		batch := variantBatch(mem, noKeys, "\x05x")
		defer batch.Release()
		data := writeFile(t, parquetio.WriteOptions{PageV2: v2, Allocator: mem}, batch.Schema(), batch)
		got, err := readAll(t.Context(), source("f", data), batch.Schema(), parquetio.ReadOptions{Allocator: mem})
		require.NoError(t, err)
		defer got.Release()
		requireSame(t, batch.Schema(), got, batch)

		f, err := pqfile.NewParquetReader(bytes.NewReader(data))
		require.NoError(t, err)
		v := f.MetaData().Schema.Root().Field(0).(*schema.GroupNode)
		require.Equal(t, "Variant", v.LogicalType().String())
		require.Equal(t, []string{"value", "metadata"}, []string{v.Field(0).Name(), v.Field(1).Name()})
		require.Equal(t, required, v.Field(0).RepetitionType())

		r, err := parquetio.Parquet{}.Open(t.Context(), source("f", data), parquetio.ReadOptions{})
		require.NoError(t, err)
		s, _, err := parquetio.Schema(r)
		require.NoError(t, err)
		require.True(t, delta.IsVariant(s.Field(0).Type), "a file's own schema says what is a variant")
		require.True(t, delta.IsVariant(s.Field(1).Type.(*arrow.ListType).Elem()))
	}
}

// TestWriteMalformedVariants: what no reader could read is not written.
func TestWriteMalformedVariants(t *testing.T) {
	mem := checked(t)
	batch := variantBatch(mem, noKeys, "\x14")
	defer batch.Release()
	w, err := parquetio.Parquet{}.NewWriter(&bytes.Buffer{}, batch.Schema(), parquetio.WriteOptions{Allocator: mem})
	require.NoError(t, err)
	defer w.Abort()
	err = w.Write(batch)
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, "column m, row 0")

	slice := batch.NewSlice(1, 2)
	defer slice.Release()
	require.NoError(t, w.Write(slice), "a malformed variant beyond the rows that are written is none of ours")
}

// TestVoidIsNotStored: fields without a type are in no file and read as NULL, whatever is beside them.
func TestVoidIsNotStored(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{field("id", arrow.PrimitiveTypes.Int64), field("n", arrow.Null),
		field("s", arrow.StructOf(field("n", arrow.Null), field("x", arrow.PrimitiveTypes.Int64)))}, nil)
	mem := checked(t)
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	require.NoError(t, b.UnmarshalJSON([]byte(`{"id":1,"s":{"x":2}}`)))
	batch := b.NewRecordBatch()
	defer batch.Release()
	data := writeFile(t, parquetio.WriteOptions{Allocator: mem}, s, batch)
	r, err := parquetio.Parquet{}.Open(t.Context(), source("f", data), parquetio.ReadOptions{})
	require.NoError(t, err)
	stored, _, err := parquetio.Schema(r)
	require.NoError(t, err)
	require.Equal(t, 2, stored.NumFields())
	requireRows(t, data, s, `[{"id":1,"n":null,"s":{"n":null,"x":2}}]`)
	for _, bad := range []arrow.DataType{arrow.ListOf(arrow.Null), arrow.MapOf(arrow.BinaryTypes.String, arrow.Null), arrow.StructOf(field("n", arrow.Null))} {
		_, err := parquetio.Parquet{}.NewWriter(&bytes.Buffer{}, arrow.NewSchema([]arrow.Field{field("c", bad)}, nil), parquetio.WriteOptions{})
		require.ErrorIs(t, err, delta.ErrUnsupported, bad.String())
	}
}

// FuzzShredded: no bytes in the columns of a shredded variant make the reader panic, or give what is neither a variant
// nor an error.
func FuzzShredded(f *testing.F) {
	f.Add([]byte(abc), []byte("\x02\x01\x01\x00\x01\x04"), []byte("\x00"), int64(5), true)
	f.Add([]byte(noKeys), []byte{}, []byte{}, int64(5), false)
	bin, i64 := parquet.Types.ByteArray, parquet.Types.Int64
	value := prim("value", optional, bin)
	node := group("v", required, prim("metadata", required, bin), value, group("typed_value", optional, group("a", required, value, prim("typed_value", optional, i64))))
	f.Fuzz(func(t *testing.T, metadata, rest, inner []byte, n int64, typed bool) {
		a, num := column{values: texts(string(inner)), defs: []int16{2}}, column{values: []int64{}, defs: []int16{1}}
		if typed {
			a, num = column{values: texts(), defs: []int16{1}}, column{values: []int64{n}, defs: []int16{2}}
		}
		data := foreign(t, schema.FieldList{node}, column{values: texts(string(metadata))}, column{values: texts(string(rest)), defs: []int16{1}}, a, num)
		var got arrow.Table
		var err error
		fuzzing.Bounded(t, len(data), func() {
			got, err = readAll(t.Context(), source("f", data), arrow.NewSchema([]arrow.Field{field("v", variantType)}, nil), parquetio.ReadOptions{})
		})
		if err != nil {
			require.True(t, errorsIsAny(err, delta.ErrCorrupt, delta.ErrUnsupported), err)
			return
		}
		defer got.Release()
		st := got.Column(0).Data().Chunk(0).(*array.Struct)
		_, err = delta.VariantFields(st.Field(1).(*array.Binary).Value(0), st.Field(0).(*array.Binary).Value(0))
		require.NoError(t, err, "an object was put together")
	})
}
