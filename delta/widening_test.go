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
