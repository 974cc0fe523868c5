package delta_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

func field(name string, t delta.Type) delta.Field {
	return delta.Field{Name: name, Type: t, Nullable: true}
}

func schemaOf(fields ...delta.Field) *delta.Struct { return &delta.Struct{Fields: fields} }

// typeJSON is a schema of one column "c" of a type.
func typeJSON(typ string) string {
	return `{"type":"struct","fields":[{"name":"c","type":` + typ + `,"nullable":true,"metadata":{}}]}`
}

func TestParseSchemaTypes(t *testing.T) {
	for _, c := range []struct {
		why, json string
		want      delta.Type
	}{
		{"a word", `"long"`, delta.Long},
		{"timestamps without zone", `"timestamp_ntz"`, delta.TimestampNTZ},
		{"the bare word is (10,0)", `"decimal"`, delta.Decimal{Precision: 10, Scale: 0}},
		{"typeChanges write a space", `"decimal(10, 2)"`, delta.Decimal{Precision: 10, Scale: 2}},
		{"the largest", `"decimal(38,38)"`, delta.Decimal{Precision: 38, Scale: 38}},
		{"old spelling of void", `"null"`, delta.Void},
		{"variant", `"variant"`, delta.Variant},
		{"udt reads as sqlType", `{"type":"udt","class":"X","sqlType":{"type":"array","elementType":"double","containsNull":false}}`,
			&delta.Array{Element: delta.Double}},
		{"members in any order", `{"valueContainsNull":true,"valueType":"long","keyType":"string","type":"map","extra":[{}]}`,
			&delta.Map{Key: delta.String, Value: delta.Long, ValueContainsNull: true}},
		{"a struct without fields", `{"type":"struct","fields":[]}`, &delta.Struct{}},
	} {
		t.Run(c.why, func(t *testing.T) {
			s, err := delta.ParseSchema(typeJSON(c.json))
			require.NoError(t, err)
			require.Equal(t, c.want, s.Fields[0].Type)
			again, err := delta.ParseSchema(s.JSON())
			require.NoError(t, err)
			require.Equal(t, s, again)
		})
	}
}

func TestParseSchemaRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","containsNull":true,"elementType":`, 70) + `"long"` + strings.Repeat("}", 70)
	wide := strings.Repeat(`{"name":"","type":"long","nullable":true},`, 1)
	for _, c := range []struct {
		why, text string
		want      error
		says      string
	}{
		{"no JSON", `{"type":"struct"`, delta.ErrCorrupt, "not the JSON of a schema: byte 16"},
		{"empty", ``, delta.ErrCorrupt, "not the JSON of a schema: byte 0"},
		{"text after the schema", typeJSON(`"long"`) + "x", delta.ErrCorrupt, "text after the end"},
		{"no UTF-8", strings.Replace(typeJSON(`"long"`), `"c"`, "\"c\xff\"", 1), delta.ErrCorrupt, "UTF-8"},
		{"a word alone", `"long"`, delta.ErrCorrupt, "not a struct"},
		{"a number", `1`, delta.ErrCorrupt, "neither a name nor an object"},
		{"an array", `[]`, delta.ErrCorrupt, "neither a name nor an object"},
		{"a type of a future engine is unsupported, not corrupt", typeJSON(`"hyperloglog"`), delta.ErrUnsupported, `"hyperloglog"`},
		{"geometry", typeJSON(`"geometry(OGC:CRS84)"`), delta.ErrUnsupported, "geometry"},
		{"an object of a future engine", typeJSON(`{"type":"tensor","of":"long"}`), delta.ErrUnsupported, "tensor"},
		{"the column is named", typeJSON(`"hyperloglog"`), delta.ErrUnsupported, `column "c"`},
		{"precision beyond 38", typeJSON(`"decimal(39,0)"`), delta.ErrCorrupt, "decimal(39,0)"},
		{"scale beyond precision", typeJSON(`"decimal(3,4)"`), delta.ErrCorrupt, "decimal(3,4)"},
		{"negative scale", typeJSON(`"decimal(3,-4)"`), delta.ErrCorrupt, "decimal(3,-4)"},
		{"half a decimal", typeJSON(`"decimal(3"`), delta.ErrCorrupt, "decimal(3"},
		{"no type", `{"type":"struct","fields":[{"name":"c","nullable":true}]}`, delta.ErrCorrupt, "without name, type or nullable"},
		{"no nullable", `{"type":"struct","fields":[{"name":"c","type":"long"}]}`, delta.ErrCorrupt, "without name, type or nullable"},
		{"name of the wrong type", `{"type":"struct","fields":[{"name":1,"type":"long","nullable":true}]}`, delta.ErrCorrupt, "name"},
		{"fields is no list", `{"type":"struct","fields":{}}`, delta.ErrCorrupt, "not a list"},
		{"a field is no object", `{"type":"struct","fields":[1]}`, delta.ErrCorrupt, "not an object"},
		{"struct without fields member", `{"type":"struct"}`, delta.ErrCorrupt, "without fields"},
		{"array without element", typeJSON(`{"type":"array","containsNull":true}`), delta.ErrCorrupt, "elementType"},
		{"map without value", typeJSON(`{"type":"map","keyType":"string"}`), delta.ErrCorrupt, "valueType"},
		{"metadata is no object", `{"type":"struct","fields":[{"name":"c","type":"long","nullable":true,"metadata":3}]}`, delta.ErrCorrupt, "metadata"},
		{"case twins", `{"type":"struct","fields":[{"name":"a","type":"long","nullable":true},{"name":"A","type":"long","nullable":true}]}`,
			delta.ErrCorrupt, "differ only in case"},
		{"case twins below", typeJSON(`{"type":"struct","fields":[{"name":"é","type":"long","nullable":true},{"name":"É","type":"long","nullable":true}]}`),
			delta.ErrCorrupt, "differ only in case"},
		{"too deep", typeJSON(deep), delta.ErrUnsupported, "64 levels"},
		{"metadata that nests too deep", `{"type":"struct","fields":[{"name":"c","type":"long","nullable":true,"metadata":{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}]}`,
			delta.ErrUnsupported, "nested deeper"},
		{"too long a name", strings.Replace(typeJSON(`"long"`), `"c"`, `"`+strings.Repeat("c", 1025)+`"`, 1), delta.ErrUnsupported, "1025 bytes"},
		{"too many leaves", `{"type":"struct","fields":[` + strings.Repeat(strings.Replace(wide, `"long"`, `{"type":"struct","fields":[]}`, 1), 10_001) + `1]}`,
			delta.ErrUnsupported, "10000 leaf columns"},
		{"too many bytes", strings.Repeat(" ", 16<<20) + typeJSON(`"long"`), delta.ErrUnsupported, "bytes"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := delta.ParseSchema(c.text)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestParseSchemaTakesTheLastOfTwo(t *testing.T) {
	s, err := delta.ParseSchema(` {"fields" : [ {"name":"a","name":"\u0062\n\ud83d\ude00","type":"long","nullable":null,"nullable":true,"nullable":false,` +
		`"metadata":{"k":1},"metadata":null,"metadata":{"k":[ 2, {"x":"\u00e9"} ],"k":3.0}} ], "type":"array","type":"struct" } `)
	require.NoError(t, err)
	require.Equal(t, &delta.Struct{Fields: []delta.Field{{Name: "b\n😀", Type: delta.Long,
		Metadata: map[string]json.RawMessage{"k": json.RawMessage("3.0")}}}}, s)
}

func TestSchemaKeepsMetadataAndOrder(t *testing.T) {
	// 2^63-1 is no float64: an identity column's mark must survive.
	const text = `{"type":"struct","fields":[` +
		`{"name":"z","type":"long","nullable":false,"metadata":{"delta.identity.highWaterMark":9223372036854775807,"x":{"b":1.50,"a":[null,"<&>"]}}},` +
		`{"name":"a","type":"string","nullable":true,"metadata":{}}]}`
	s, err := delta.ParseSchema(text)
	require.NoError(t, err)
	require.Equal(t, text, s.JSON())
	require.Equal(t, json.RawMessage("9223372036854775807"), s.Fields[0].Metadata["delta.identity.highWaterMark"])
}

func TestSchemaString(t *testing.T) {
	s := schemaOf(
		delta.Field{Name: "id", Type: delta.Long},
		field("a b", &delta.Array{Element: delta.Decimal{Precision: 10, Scale: 2}}),
		field("m", &delta.Map{Key: delta.String, Value: schemaOf(field("v", delta.Variant))}),
	)
	require.Equal(t, "struct<id:long not null,a b:array<decimal(10,2)>,m:map<string,struct<v:variant>>>", s.String())
}

func TestSchemaIndex(t *testing.T) {
	s := schemaOf(field("Id", delta.Long), field("ÄÖ", delta.Long))
	require.Equal(t, 0, s.Index("iD"))
	require.Equal(t, 1, s.Index("äö"))
	require.Equal(t, -1, s.Index("x"))
}

func TestPhysicalName(t *testing.T) {
	f := field("a", delta.Long)
	require.Equal(t, "a", f.PhysicalName())
	f.Metadata = map[string]json.RawMessage{"delta.columnMapping.physicalName": json.RawMessage(`"col-1"`)}
	require.Equal(t, "col-1", f.PhysicalName())
}

func TestValidateNew(t *testing.T) {
	two := func(f delta.Field) *delta.Struct { return schemaOf(field("k", delta.Long), f) }
	for _, c := range []struct {
		why  string
		s    *delta.Struct
		by   []string
		says string // "" when it is valid
	}{
		{"plain", two(field("day", delta.Date)), []string{"day"}, ""},
		{"partition columns are found ignoring case", two(field("day", delta.Date)), []string{"DAY"}, ""},
		{"binary may partition", two(field("b", delta.Binary)), []string{"b"}, ""},
		{"void is allowed beside others", two(field("v", delta.Void)), nil, ""},
		{"no columns", schemaOf(), nil, "no columns"},
		{"no schema", nil, nil, "no columns"},
		{"only void", schemaOf(field("v", delta.Void)), nil, "no column that can be stored"},
		{"only void below", two(field("s", schemaOf(field("v", delta.Void)))), nil, `struct "s"`},
		{"void in an array", two(field("a", &delta.Array{Element: delta.Void})), nil, "void"},
		{"void that is NOT NULL", two(delta.Field{Name: "v", Type: delta.Void}), nil, "NOT NULL"},
		{"empty struct", two(field("s", schemaOf())), nil, `struct "s"`},
		{"empty name", two(field("", delta.Long)), nil, "without a name"},
		{"space in a name", two(field("a b", delta.Long)), nil, `"a b"`},
		{"brace in a nested name", two(field("s", schemaOf(field("x{", delta.Long)))), nil, `"s.x{"`},
		{"name not UTF-8", two(field("\xff", delta.Long)), nil, "UTF-8"},
		{"long name", two(field(strings.Repeat("n", 1025), delta.Long)), nil, "1025 bytes"},
		{"case twins", two(field("K", delta.Long)), nil, "differ only in case"},
		{"case twins in a map's value", two(field("m", &delta.Map{Key: delta.String, Value: schemaOf(field("a", delta.Long), field("A", delta.Long))})), nil, `"m.value.a"`},
		{"reserved", two(field("_Change_Type", delta.String)), nil, "reserved"},
		{"bad decimal", two(field("d", delta.Decimal{Precision: 40, Scale: 0})), nil, "decimal(40,0)"},
		{"unknown type", two(field("g", delta.Primitive("geometry"))), nil, "geometry"},
		{"no type", two(field("g", nil)), nil, "no type"},
		{"bad metadata", two(delta.Field{Name: "x", Type: delta.Long, Metadata: map[string]json.RawMessage{"a": json.RawMessage("{")}}), nil, "not JSON"},
		{"unknown partition column", two(field("a", delta.Long)), []string{"b"}, `"b"`},
		{"partition column twice", two(field("a", delta.Long)), []string{"a", "A"}, "twice"},
		{"all columns", two(field("a", delta.Long)), []string{"a", "k"}, "all 2 columns"},
		{"double", two(field("a", delta.Double)), []string{"a"}, "NaN"},
		{"float", two(field("a", delta.Float)), []string{"a"}, "NaN"},
		{"variant", two(field("a", delta.Variant)), []string{"a"}, "variant"},
		{"struct", two(field("a", schemaOf(field("b", delta.Long)))), []string{"a"}, "primitive"},
	} {
		t.Run(c.why, func(t *testing.T) {
			err := delta.ValidateNew(c.s, c.by)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, c.says)
		})
	}
}

var primitives = []delta.Type{delta.String, delta.Long, delta.Integer, delta.Short, delta.Byte, delta.Float, delta.Double,
	delta.Boolean, delta.Binary, delta.Date, delta.Timestamp, delta.TimestampNTZ, delta.Void}

func drawType(t *rapid.T, depth int) delta.Type {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth > 4 && kind > 4 {
		kind = 0
	}
	switch kind {
	case 5:
		return drawStruct(t, depth+1)
	case 6:
		return &delta.Array{Element: drawType(t, depth+1), ContainsNull: rapid.Bool().Draw(t, "null")}
	case 7:
		return &delta.Map{Key: drawType(t, depth+1), Value: drawType(t, depth+1), ValueContainsNull: rapid.Bool().Draw(t, "null")}
	case 4:
		p := rapid.IntRange(1, 38).Draw(t, "precision")
		return delta.Decimal{Precision: p, Scale: rapid.IntRange(0, p).Draw(t, "scale")}
	}
	return rapid.SampledFrom(primitives).Draw(t, "primitive")
}

func drawStruct(t *rapid.T, depth int) *delta.Struct {
	s := &delta.Struct{}
	for i := range rapid.IntRange(1, 4).Draw(t, "fields") {
		name := fmt.Sprint(i, rapid.StringN(0, 4, 8).Draw(t, "name"))
		s.Fields = append(s.Fields, delta.Field{Name: name, Type: drawType(t, depth), Nullable: rapid.Bool().Draw(t, "nullable")})
	}
	return s
}

func TestSchemaRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStruct(t, 0)
		parsed, err := delta.ParseSchema(s.JSON())
		require.NoError(t, err)
		require.Equal(t, s.String(), parsed.String())
		require.Equal(t, s.JSON(), parsed.JSON())

		as, err := delta.ArrowSchema(s)
		require.NoError(t, err)
		back, err := delta.FromArrow(as)
		require.NoError(t, err)
		require.Equal(t, s, back)
	})
}

func FuzzParseSchema(f *testing.F) {
	f.Add(typeJSON(`"decimal(10, 2)"`))
	f.Add(typeJSON(`{"type":"map","keyType":"string","valueType":{"type":"array","elementType":"null","containsNull":true},"valueContainsNull":false}`))
	f.Add(`{"type":"struct","fields":[{"name":"a","type":"x","nullable":null}]}`)
	for _, data := range fuzzing.Seeds(f, 40, 4<<10, isCommit) {
		actions, err := delta.DecodeCommit("f", data)
		for _, a := range actions {
			if err == nil && a.Metadata != nil {
				f.Add(a.Metadata.SchemaString)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := fuzzing.Read(t, len(text), func() (*delta.Struct, error) { return delta.ParseSchema(text) })
		if err != nil {
			require.True(t, isOneOf(err, delta.ErrCorrupt, delta.ErrUnsupported), "%v", err)
			return
		}
		again, err := delta.ParseSchema(s.JSON())
		require.NoError(t, err)
		require.Equal(t, s.JSON(), again.JSON())
		_, err = delta.ArrowSchema(s)
		require.NoError(t, err)
	})
}

func TestArrowTypes(t *testing.T) {
	for _, c := range []struct {
		t    delta.Type
		want arrow.DataType
	}{
		{delta.Timestamp, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{delta.TimestampNTZ, &arrow.TimestampType{Unit: arrow.Microsecond}},
		{delta.Decimal{Precision: 38, Scale: 18}, &arrow.Decimal128Type{Precision: 38, Scale: 18}},
		{delta.Void, arrow.Null},
		{delta.Byte, arrow.PrimitiveTypes.Int8},
		{delta.Date, arrow.FixedWidthTypes.Date32},
		{delta.Variant, arrow.StructOf(arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary}, arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary})},
	} {
		dt, err := delta.ArrowType(c.t)
		require.NoError(t, err)
		require.True(t, arrow.TypeEqual(c.want, dt), "%s: %s", c.t, dt)
	}
	for _, bad := range []delta.Type{nil, delta.Primitive("geometry"), delta.Decimal{Precision: 39, Scale: 0}, &delta.Array{}, &delta.Map{Key: delta.Long}, schemaOf(field("x", nil))} {
		_, err := delta.ArrowType(bad)
		require.ErrorIs(t, err, delta.ErrUnsupported)
	}
}

func TestFromArrow(t *testing.T) {
	str := arrow.BinaryTypes.String
	for _, c := range []struct {
		from arrow.DataType
		want delta.Type
		says string // of an error
	}{
		{arrow.BinaryTypes.LargeString, delta.String, ""},
		{arrow.BinaryTypes.StringView, delta.String, ""},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: str}, delta.String, ""},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.PrimitiveTypes.Int64}, nil, "dictionary"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 16}, delta.Binary, ""},
		{arrow.BinaryTypes.BinaryView, delta.Binary, ""},
		{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Paris"}, delta.Timestamp, ""},
		{&arrow.TimestampType{Unit: arrow.Second}, delta.TimestampNTZ, ""},
		{arrow.FixedWidthTypes.Date64, delta.Date, ""},
		{&arrow.Decimal32Type{Precision: 5, Scale: 2}, delta.Decimal{Precision: 5, Scale: 2}, ""},
		{&arrow.Decimal256Type{Precision: 38, Scale: 2}, delta.Decimal{Precision: 38, Scale: 2}, ""},
		{&arrow.Decimal256Type{Precision: 39, Scale: 2}, nil, "precision"},
		{&arrow.Decimal128Type{Precision: 5, Scale: -2}, nil, "scale"},
		{arrow.LargeListOf(str), &delta.Array{Element: delta.String, ContainsNull: true}, ""},
		{arrow.FixedSizeListOfNonNullable(3, str), &delta.Array{Element: delta.String}, ""},
		{arrow.ListViewOf(str), &delta.Array{Element: delta.String, ContainsNull: true}, ""},
		{arrow.MapOf(str, str), &delta.Map{Key: delta.String, Value: delta.String, ValueContainsNull: true}, ""},
		{arrow.PrimitiveTypes.Uint8, nil, "cast it to int16"},
		{arrow.PrimitiveTypes.Uint64, nil, "decimal128(20, 0)"},
		{arrow.FixedWidthTypes.Float16, nil, "cast it to float32"},
		{arrow.FixedWidthTypes.Time64us, nil, "time64"},
		{arrow.FixedWidthTypes.MonthInterval, nil, "month_interval"},
		{arrow.StructOf(arrow.Field{Name: "in", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32)}), nil, `"c.in.element"`},
	} {
		t.Run(c.from.String(), func(t *testing.T) {
			s, err := delta.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.from}}, nil))
			if c.says != "" {
				require.ErrorIs(t, err, delta.ErrInput)
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, err, "c")
				return
			}
			require.NoError(t, err)
			require.Equal(t, schemaOf(delta.Field{Name: "c", Type: c.want}), s)
		})
	}
}
