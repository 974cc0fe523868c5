package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// TestVoidGate: a table with void is written where files can leave it out, and read in any case.
func TestVoidGate(t *testing.T) {
	void, long := field("v", delta.Void), field("a", delta.Long)
	tests := []struct {
		why       string
		schema    *delta.Struct
		partition []string
		refused   string // what is named; "" if it may be written
	}{
		{"beside others", schemaOf(void, long), nil, ""},
		{"in a struct beside others", schemaOf(field("s", schemaOf(void, long))), nil, ""},
		{"in a struct of an array beside others", schemaOf(field("l", &delta.Array{Element: schemaOf(void, long)})), nil, ""},
		{"alone", schemaOf(void), nil, "no column is left"},
		{"beside partition columns alone", schemaOf(void, field("Day", delta.Date)), []string{"day"}, "no column is left"},
		{"alone in a struct", schemaOf(long, field("s", schemaOf(void))), nil, "struct s "},
		{"alone in a struct of a map", schemaOf(long, field("m", &delta.Map{Key: delta.String, Value: schemaOf(void)})), nil, "struct m.value "},
		{"an array of it", schemaOf(long, field("l", &delta.Array{Element: delta.Void})), nil, "l.element"},
		{"values of a map", schemaOf(long, field("s", schemaOf(field("m", &delta.Map{Key: delta.String, Value: delta.Void})))), nil, "s.m.value"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			m := &delta.Metadata{ID: "1", Provider: "parquet", SchemaString: tt.schema.JSON(), PartitionColumns: tt.partition}
			p := &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}
			require.NoError(t, delta.GateRead(p, m, tt.schema))
			err := delta.GateWrite(p, m, tt.schema)
			if tt.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, delta.ErrUnsupported)
			require.ErrorContains(t, err, tt.refused)
		})
	}
}
