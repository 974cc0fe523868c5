package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// TestWidens compares with the list of the protocol, and with Spark's answers for what is beside it.
func TestWidens(t *testing.T) {
	dec := func(p, s int) delta.Type { return delta.Decimal{Precision: p, Scale: s} }
	tests := []struct {
		from  delta.Type
		to    []delta.Type
		notTo []delta.Type
	}{
		{delta.Byte, []delta.Type{delta.Short, delta.Integer, delta.Long, delta.Double, dec(10, 0), dec(12, 2), dec(38, 0), dec(38, 28)},
			[]delta.Type{delta.Byte, delta.Float, delta.String, dec(9, 0), dec(12, 3), dec(38, 29)}},
		{delta.Short, []delta.Type{delta.Integer, delta.Long, delta.Double, dec(10, 0)}, []delta.Type{delta.Byte, delta.Short, dec(10, 1)}},
		{delta.Integer, []delta.Type{delta.Long, delta.Double, dec(10, 0), dec(20, 10)}, []delta.Type{delta.Short, delta.Float, dec(20, 11)}},
		{delta.Long, []delta.Type{dec(20, 0), dec(21, 1), dec(38, 18)}, []delta.Type{delta.Integer, delta.Double, dec(19, 0), dec(38, 19)}},
		{delta.Float, []delta.Type{delta.Double}, []delta.Type{delta.Float, dec(38, 10)}},
		{delta.Double, nil, []delta.Type{delta.Float, delta.Double, delta.String}},
		{delta.Date, []delta.Type{delta.TimestampNTZ}, []delta.Type{delta.Timestamp, delta.String}},
		{delta.TimestampNTZ, nil, []delta.Type{delta.Timestamp, delta.Date}},
		{dec(5, 2), []delta.Type{dec(6, 2), dec(6, 3), dec(7, 3), dec(38, 35)}, []delta.Type{dec(5, 2), dec(5, 3), dec(6, 4), dec(4, 2), dec(5, 1), delta.Double}},
		{delta.String, nil, []delta.Type{delta.Binary, delta.String}},
		{&delta.Array{Element: delta.Byte}, nil, []delta.Type{&delta.Array{Element: delta.Short}, dec(38, 0)}},
		{nil, nil, []delta.Type{delta.Long, nil}},
	}
	for _, tt := range tests {
		for _, to := range tt.to {
			require.True(t, delta.Widens(tt.from, to), "%v to %v", tt.from, to)
		}
		for _, to := range tt.notTo {
			require.False(t, delta.Widens(tt.from, to), "%v to %v", tt.from, to)
		}
	}
}

// TestTypeChangesGate: a recorded change after which older files could not be read stops the reader, if the feature is on.
func TestTypeChangesGate(t *testing.T) {
	schema := func(changes string) string {
		return `{"type":"struct","fields":[{"name":"s","nullable":true,"metadata":{},"type":{"type":"struct","fields":[
			{"name":"a","type":"long","nullable":true,"metadata":{"delta.typeChanges":` + changes + `}}]}}]}`
	}
	tests := []struct {
		why, changes string
		err          error
	}{
		{"a widening", `[{"fromType":"short","toType":"integer"},{"fromType":"integer","toType":"long"}]`, nil},
		{"below an array, with the version of older tables", `[{"fromType":"decimal(10, 2)","toType":"decimal(12,4)","fieldPath":"element.key","tableVersion":3}]`, nil},
		{"digits as before the protocol settled on ten", `[{"fromType":"byte","toType":"decimal(4,1)"}]`, nil},
		{"from void", `[{"fromType":"void","toType":"string"}]`, nil},
		{"of a collation", `[{"fromType":"string","toType":"string"}]`, nil},
		{"a narrowing", `[{"fromType":"long","toType":"integer"}]`, delta.ErrUnsupported},
		{"with loss", `[{"fromType":"byte","toType":"decimal(3,1)"}]`, delta.ErrUnsupported},
		{"a type of the future", `[{"fromType":"long","toType":"huge"}]`, delta.ErrUnsupported},
		{"no list", `{"fromType":"short"}`, delta.ErrCorrupt},
		{"half a change", `[{"fromType":"short"}]`, delta.ErrCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			m := &delta.Metadata{ID: "1", Provider: "parquet", SchemaString: schema(tt.changes)}
			s, err := delta.ParseSchema(m.SchemaString)
			require.NoError(t, err)
			for _, feature := range []string{"typeWidening", "typeWidening-preview"} {
				p := &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{feature}, WriterFeatures: []string{feature}}
				require.ErrorIs(t, delta.GateRead(p, m, s), tt.err)
			}
			require.NoError(t, delta.GateRead(&delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, m, s), "inert without the feature")
		})
	}
}
