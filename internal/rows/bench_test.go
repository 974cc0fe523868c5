package rows_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/rows"
)

const benchRows = 1 << 20

// benchBatch is (id, name, updated_at, amount, price, day), with about one key in twenty twice.
func benchBatch() arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "name", Type: arrow.BinaryTypes.String},
		{Name: "updated_at", Type: arrow.FixedWidthTypes.Timestamp_us}, {Name: "amount", Type: decimalType(12, 2)},
		{Name: "price", Type: arrow.PrimitiveTypes.Float64}, {Name: "day", Type: arrow.FixedWidthTypes.Date32},
	}, nil))
	defer b.Release()
	r := rand.New(rand.NewPCG(1, 2))
	for range benchRows {
		id := r.Int64N(benchRows * 10)
		b.Field(0).(*array.Int64Builder).Append(id * 7919)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("customer-%09d", id))
		b.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(r.Int64N(1 << 50)))
		b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(r.Int64N(1e9)))
		b.Field(4).(*array.Float64Builder).Append(r.Float64())
		b.Field(5).(*array.Date32Builder).Append(arrow.Date32(r.Int32N(20000)))
	}
	return b.NewRecordBatch()
}

func perSecond(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkLatestByKey(b *testing.B) {
	batch := benchBatch()
	for _, c := range []struct {
		name string
		key  []int
	}{{"int64", []int{0}}, {"string", []int{1}}, {"string+int64", []int{1, 0}}} {
		b.Run("key="+c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := rows.LatestByKey(batch, c.key, []int{2}, []int{0, 1, 2, 3, 4, 5}); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, benchRows)
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	batch := benchBatch()
	for _, c := range []struct {
		name string
		key  []int
	}{{"int64", []int{0}}, {"string", []int{1}}} {
		cols := []arrow.Array{batch.Column(c.key[0])}
		b.Run("op=build/key="+c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := rows.NewIndex(cols, benchRows); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, benchRows)
		})
		x, err := rows.NewIndex(cols, benchRows)
		if err != nil {
			b.Fatal(err)
		}
		out := make([]int32, benchRows)
		b.Run("op=probe/key="+c.name, func(b *testing.B) {
			for b.Loop() {
				if err := x.Probe(cols, out); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, benchRows)
		})
	}
}

func BenchmarkDigestRows(b *testing.B) {
	batch := benchBatch()
	bench := func(name string, cols ...int) {
		var fields []arrow.Field
		var arrs []arrow.Array
		for _, c := range cols {
			fields, arrs = append(fields, batch.Schema().Field(c)), append(arrs, batch.Column(c))
		}
		part := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrs, benchRows)
		b.Run("cols="+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := rows.DigestRows(part, nil); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, benchRows)
		})
	}
	bench("int64", 0)
	bench("string", 1)
	bench("decimal", 3)
	bench("float64", 4)
	bench("all6", 0, 1, 2, 3, 4, 5)
}

func BenchmarkTake(b *testing.B) {
	batch := benchBatch()
	r := rand.New(rand.NewPCG(1, 2))
	index := make([]int32, benchRows/2)
	for i := range index {
		index[i] = r.Int32N(benchRows)
	}
	for b.Loop() {
		got, err := rows.Take(memory.DefaultAllocator, batch, index)
		if err != nil {
			b.Fatal(err)
		}
		got.Release()
	}
	perSecond(b, len(index))
}
