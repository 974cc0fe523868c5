package rows_test

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/rows"
	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	pair := map[string]any{"struct": []any{[]any{"x", "int32"}, []any{"y", "string"}}}
	deep, value := any("int8"), any(nil)
	for range 10 {
		deep, value = map[string]any{"list": deep}, []any{value}
	}
	many := make([]any, 20)
	for _, c := range []struct {
		why   string
		typ   any
		value any
		want  string
	}{
		{"NULL", "string", nil, "NULL"},
		{"null type", "null", nil, "NULL"},
		{"quoted", "string", "a \"b\"\n", `"a \"b\"\n"`},
		{"64 runes are whole", "string", strings.Repeat("é", 64), `"` + strings.Repeat("é", 64) + `"`},
		{"65 are cut", "string", strings.Repeat("é", 65), `"` + strings.Repeat("é", 64) + `"…`},
		{"binary", "binary", "00ff", "X'00ff'"},
		{"binary cut", "binary", strings.Repeat("ab", 33), "X'" + strings.Repeat("ab", 32) + "'…"},
		{"true", "bool", true, "true"},
		{"date", "date", "19782", "2024-02-29"},
		{"date before year 1", "date", "-719163", "0000-12-31"},
		{"instant", "timestamp", "1709164800123456", "2024-02-29T00:00:00.123456Z"},
		{"local", "timestamp_ntz", "-1000000", "1969-12-31T23:59:59"},
		{"decimal keeps its scale", "decimal(10,2)", "1.5", "1.50"},
		{"negative decimal", "decimal(10,2)", "-0.05", "-0.05"},
		{"float32 shortest", "float32", "0.1", "0.1"},
		{"NaN", "float64", "NaN", "NaN"},
		{"infinity", "float64", "Infinity", "Inf"},
		{"minus infinity", "float64", "-Infinity", "-Inf"},
		{"integer", "int8", "-128", "-128"},
		{"struct", pair, []any{"1", nil}, `{"x": 1, "y": NULL}`},
		{"list", map[string]any{"list": "int32"}, []any{"1", nil, "3"}, "[1, NULL, 3]"},
		{"map", map[string]any{"map": []any{"string", "int32"}}, []any{[]any{"a", "1"}}, `{"a": 1}`},
		{"long list", map[string]any{"list": "int32"}, many, "[" + strings.Repeat("NULL, ", 16) + "…]"},
		{"deep list", deep, value, "[[[[[[[[…]]]]]]]]"},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			b := vectorBatch(t, mem, vector{Schema: [][2]any{{"c", c.typ}}, Rows: [][]any{{nil}, {c.value}}})
			defer b.Release()
			require.Equal(t, c.want, rows.Text(b.Column(0), 1))
		})
	}
	require.Equal(t, "(no row 1)", rows.Text(emptyArray(arrow.Null), 1))
}

// TestTextOfDecimalsOfAnyScale: no table has such scales, but rows that are refused may.
func TestTextOfDecimalsOfAnyScale(t *testing.T) {
	for scale, want := range map[int32]string{
		-2: "-1230000", -38: "-12300" + strings.Repeat("0", 38), 38: "-0." + strings.Repeat("0", 33) + "12300",
		39: "-12300E-39", -39: "-12300E39", math.MaxInt32: "-12300E-2147483647", math.MinInt32: "-12300E2147483648",
	} {
		b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 10, Scale: scale})
		b.Append(decimal128.FromI64(-12300))
		require.Equal(t, want, rows.Text(b.NewArray(), 0), "scale %d", scale)
	}
}
