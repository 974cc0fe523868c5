package delta_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

func TestParseCharType(t *testing.T) {
	for _, c := range []struct {
		why, text string
		at        func(*delta.CharType) *delta.CharType
		name      string
		length    int
	}{
		{"char", "char(5)", func(c *delta.CharType) *delta.CharType { return c }, "char(5)", 5},
		{"varchar, in any case and with spaces", " VARCHAR( 12 )", func(c *delta.CharType) *delta.CharType { return c }, "varchar(12)", 12},
		{"in an array", "array<varchar(2)>", (*delta.CharType).Element, "varchar(2)", 2},
		{"the key of a map", "map<char(3),int>", (*delta.CharType).Key, "char(3)", 3},
		{"the value of a map", "map<decimal(10,2),varchar(2)>", (*delta.CharType).Value, "varchar(2)", 2},
		{"a field", "struct<a:int,b:char(4)>", func(c *delta.CharType) *delta.CharType { return c.Field("B") }, "char(4)", 4},
		{"deeper", "struct<a:struct<x:array<map<string,char(1)>>>>", func(c *delta.CharType) *delta.CharType { return c.Field("a").Field("x").Element().Value() }, "char(1)", 1},
		{"a name in backticks", "struct<`a:``b>`:char(4),c:int>", func(c *delta.CharType) *delta.CharType { return c.Field("a:`b>") }, "char(4)", 4},
		{"a name with a space", "struct<a b:char(4)>", func(c *delta.CharType) *delta.CharType { return c.Field("a b") }, "char(4)", 4},
	} {
		t.Run(c.why, func(t *testing.T) {
			parsed, err := delta.ParseCharType(c.text)
			require.NoError(t, err)
			require.NotNil(t, c.at(parsed))
			require.Equal(t, c.name, c.at(parsed).Name)
			require.Equal(t, c.length, c.at(parsed).Length)
		})
	}
	for _, text := range []string{"string", "int", "array<int>", "struct<>", "struct<a:int>", "map<string,timestamp_ntz>", "decimal(10,2)", "interval day to second"} {
		parsed, err := delta.ParseCharType(text)
		require.NoError(t, err, text)
		require.Nil(t, parsed, "%s limits nothing", text)
		require.Nil(t, parsed.Field("a").Element().Key().Value(), "nor below")
	}
	for _, text := range []string{
		"", "char", "char()", "char(0)", "char(-1)", "char(x)", "char(5", "char(99999999999999999999)", "char(5)x", "array", "array<", "array<char(1)", "map<char(1)>", "map<char(1),>",
		"struct<a>", "struct<a:>", "struct<:int>", "struct<a:int", "struct<`a:int>", "struct<a:int b:int>", strings.Repeat("array<", 200) + "int" + strings.Repeat(">", 200),
	} {
		_, err := delta.ParseCharType(text)
		require.ErrorIs(t, err, delta.ErrUnsupported, text)
	}
}

func FuzzParseCharType(f *testing.F) {
	for _, seed := range []string{"char(5)", "struct<`a``b`:varchar(3),c:map<string,array<char(1)>>>", "decimal(10,2)", "struct<", "array<<>>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := fuzzing.Read(t, len(text), func() (*delta.CharType, error) { return delta.ParseCharType(text) })
		if err == nil && c != nil && c.Name != "" {
			require.Positive(t, c.Length)
		}
		if err != nil {
			require.ErrorIs(t, err, delta.ErrUnsupported)
		}
	})
}

func TestIdentityOfFields(t *testing.T) {
	raw := func(pairs ...string) map[string]json.RawMessage {
		m := map[string]json.RawMessage{}
		for i := 0; i < len(pairs); i += 2 {
			m["delta.identity."+pairs[i]] = json.RawMessage(pairs[i+1])
		}
		return m
	}
	for _, c := range []struct {
		why  string
		t    delta.Type
		m    map[string]json.RawMessage
		fits bool
	}{
		{"as Spark writes it", delta.Long, raw("start", "1", "step", "-2", "allowExplicitInsert", "false", "highWaterMark", "-7"), true},
		{"no number given yet", delta.Long, raw("start", "1", "step", "1", "allowExplicitInsert", "true"), true},
		{"no step", delta.Long, raw("start", "1"), false},
		{"a step of 0", delta.Long, raw("start", "1", "step", "0"), false},
		{"a text for a number", delta.Long, raw("start", `"1"`, "step", "1"), false},
		{"a number that no long holds", delta.Long, raw("start", "1", "step", "1", "highWaterMark", "9223372036854775808"), false},
		{"a fraction", delta.Long, raw("start", "1", "step", "1.5"), false},
		{"another type", delta.Integer, raw("start", "1", "step", "1"), false},
	} {
		t.Run(c.why, func(t *testing.T) {
			id, err := delta.Field{Name: "k", Type: c.t, Metadata: c.m}.Identity()
			if !c.fits {
				require.ErrorIs(t, err, delta.ErrCorrupt)
				return
			}
			require.NoError(t, err)
			require.Equal(t, len(c.m), len(id.Metadata()))
			for key, value := range c.m {
				require.JSONEq(t, string(value), string(id.Metadata()[key]))
			}
		})
	}
	id, err := delta.Field{Name: "k", Type: delta.Long, Metadata: raw("highWaterMark", "3")}.Identity()
	require.NoError(t, err)
	require.Nil(t, id, "a mark alone is no rule")
}

// TestMarkedKeepsTheRest: the definition with another mark differs in nothing else.
func TestMarkedKeepsTheRest(t *testing.T) {
	const schema = `{"type":"struct","fields":[` +
		`{"name":"k","type":"long","nullable":true,"metadata":{"delta.identity.allowExplicitInsert":false,"delta.identity.start":1,"delta.identity.step":1,"x":{"deep":[1,2.50]}}},` +
		`{"name":"s","type":{"type":"struct","fields":[{"name":"a","type":"string","nullable":false,"metadata":{"comment":"c"}}]},"nullable":true,"metadata":{}}]}`
	with := func(text string) *delta.Snapshot {
		r := delta.NewReplay("mem:///")
		require.NoError(t, r.Commit(0, []delta.Action{{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 6}},
			{Metadata: &delta.Metadata{ID: "t", Name: "n", Provider: "parquet", SchemaString: text, Configuration: map[string]string{"a": "b"}}}}))
		s, err := r.Snapshot(0)
		require.NoError(t, err)
		return s
	}
	m, err := with(schema).Marked(map[string]int64{"k": 41})
	require.NoError(t, err)
	require.JSONEq(t, strings.Replace(schema, `"x"`, `"delta.identity.highWaterMark":41,"x"`, 1), m.SchemaString)
	require.Contains(t, m.SchemaString, `{"deep":[1,2.50]}`)
	require.Equal(t, "n", m.Name)
	require.Equal(t, map[string]string{"a": "b"}, m.Configuration)
	id, err := with(m.SchemaString).Identity(0)
	require.NoError(t, err)
	require.EqualValues(t, 41, *id.Mark)

	udt := strings.Replace(schema, `"type":"string"`, `"type":{"type":"udt","class":"x","sqlType":"string"}`, 1)
	_, err = with(udt).Marked(map[string]int64{"k": 41})
	require.ErrorIs(t, err, delta.ErrUnsupported, "a definition that idem would not write back stays")
}
