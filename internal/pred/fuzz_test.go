package pred_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/pred"
)

// Any text is refused as input, or is a condition that gives a value for each row.
func FuzzBind(f *testing.F) {
	for _, text := range []string{
		"i8 = 1 AND NOT s IN ('a', NULL)", "CAST(ts AS DATE) = d OR st.x <=> 5", "f64 > CAST('NaN' AS DOUBLE)", "big < 1e300 AND dec = 0.1D", "d = '2024-01-01'",
		"ntz BETWEEN '2024-01-01' AND TIMESTAMP_NTZ '+99999-01-01 00:00:00'", "CAST('9' AS DECIMAL(38, 38)) = 1", "bin = X'00'", "(bo = TRUE) <=> (i64 IS NULL)",
		"CAST(1e30 AS BIGINT) = i64", "CAST(DATE '+999999-01-01' AS TIMESTAMP) > ts", "CAST(1e-320 AS DECIMAL(38, 2)) = big", "i8 NOT IN (1, 2.5, 3e0, NULL)",
		"1 / i8 > 0.5 OR s LIKE 'a%_'", "CASE i8 WHEN 1 THEN s ELSE 'b' END = upper(s)", "coalesce(d, '2024-01-01') + INTERVAL '1' DAY > ts", "st IS NULL OR (st).x + 1 = i16 % 0",
		"date_format(ts, 'yyyy') = concat(s, repeat('a', 3))", "CAST(s AS INT) = nullif(i32, 0) AND NOT CAST(i64 AS BOOLEAN)", "dec * big / f64 = 0", "if(bo, bin, X'00') <=> bin",
	} {
		f.Add(text)
	}
	var columns []arrow.Array
	for _, field := range tableSchema.Fields() {
		b := array.NewBuilder(memory.DefaultAllocator, field.Type)
		b.AppendEmptyValue()
		b.AppendNull()
		columns = append(columns, b.NewArray())
	}
	batch := array.NewRecordBatch(tableSchema, columns, 2)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := expr.Parse(text)
		if err != nil {
			return
		}
		var p *pred.Predicate
		fuzzing.Bounded(t, len(text), func() { p, err = pred.Bind(e, tableSchema) })
		if err != nil {
			require.ErrorIs(t, err, delta.ErrInput)
			return
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		p.Prove(pred.Facts{Rows: 2})
		var got *array.Boolean
		fuzzing.Bounded(t, len(text), func() {
			if got != nil { // it took long, and is done again
				got.Release()
			}
			got, err = p.Eval(mem, batch)
		})
		if err != nil {
			require.ErrorIs(t, err, delta.ErrInput)
			return
		}
		require.Equal(t, 2, got.Len())
		got.Release()
	})
}
