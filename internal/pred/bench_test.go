package pred_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

func benchmarkRows(rows int) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "price", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "amount", Type: decSmall}, {Name: "country", Type: arrow.BinaryTypes.String}, {Name: "day", Type: arrow.FixedWidthTypes.Date32},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%10 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.Float64Builder).Append(float64(i % 1000))
		}
		must(b.Field(2).AppendValueFromString(fmt.Sprintf("%d.%02d", i%1000, i%100)))
		b.Field(3).(*array.StringBuilder).Append([]string{"de", "fr", "it", "at"}[i%4])
		b.Field(4).(*array.Date32Builder).Append(arrow.Date32(i % 30))
	}
	return b.NewRecordBatch()
}

func BenchmarkEval(b *testing.B) {
	const rows = 1 << 16
	batch := benchmarkRows(rows)
	for _, c := range []struct{ name, text string }{
		{"int_range", "id BETWEEN 1000 AND 30000"},
		{"int_in", "id IN (1, 2, 3, 500, 1000, 20000, 30000)"},
		{"date_eq", "day = DATE '1970-01-10'"},
		{"float_gt_nullable", "price > 500"},
		{"decimal_lt", "amount < 500.005"},
		{"string_eq", "country = 'de'"},
		{"string_in", "country IN ('de', 'fr', 'us')"},
		{"mixed", "day = DATE '1970-01-10' AND country <> 'de' AND (price > 500 OR price IS NULL)"},
		{"columns_int_float", "id > price"},
		{"arithmetic", "id * 2 + 1 > 50000"},
		{"year", "year(day) = 1970"},
		{"upper", "upper(country) = 'DE'"},
		{"like_prefix", "country LIKE 'd%'"},
		{"like_suffix", "country LIKE '%e'"},
		{"case", "CASE WHEN country = 'de' THEN price * 2 ELSE price END > 500"},
		{"coalesce", "coalesce(price, 0D) > 500"},
		{"lazy_division", "id % 2 <> 0 AND 1 / (id % 2) > 0.5"},
		{"short_circuit", "id < 0 AND upper(country) = 'DE'"},
	} {
		b.Run("condition="+c.name, func(b *testing.B) {
			e, err := expr.Parse(c.text)
			require.NoError(b, err)
			p, err := pred.Bind(e, batch.Schema())
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				got, err := p.Eval(memory.DefaultAllocator, batch)
				if err != nil {
					b.Fatal(err)
				}
				got.Release()
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func BenchmarkProve(b *testing.B) {
	schema := &delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}, {Name: "day", Type: delta.Date, Nullable: true}}}
	arrowSchema, err := delta.ArrowSchema(schema)
	require.NoError(b, err)
	day := "2024-01-02"
	const stats = `{"numRecords":4,"minValues":{"id":1},"maxValues":{"id":3},"nullCount":{"id":0}}`
	add := &delta.Add{Path: "f", PartitionValues: map[string]*string{"day": &day}, Stats: stats}
	snap, err := snapshotOf(schema, "day", add, nil)
	require.NoError(b, err)
	for _, c := range []struct{ name, text string }{
		{"partition", "day = DATE '2024-01-02'"},
		{"statistics", "id > 3"},
		{"partition_year", "year(day) = 2024"},
		{"statistics_sum", "id + 1 > 3"},
	} {
		b.Run("condition="+c.name, func(b *testing.B) {
			e, err := expr.Parse(c.text)
			require.NoError(b, err)
			p, err := pred.Bind(e, arrowSchema)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				f, err := pred.FileFacts(snap, add, stats)
				if err != nil {
					b.Fatal(err)
				}
				p.Prove(f)
			}
		})
	}
}
