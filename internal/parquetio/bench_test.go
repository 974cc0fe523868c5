package parquetio_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// orders are n rows as a shop has them: keys that ascend, few currencies and days, some NULLs.
func orders(n int) arrow.RecordBatch {
	s := arrow.NewSchema([]arrow.Field{
		field("order_id", arrow.PrimitiveTypes.Int64), field("customer_id", arrow.PrimitiveTypes.Int64), field("order_total", decimalOf(12, 2)),
		field("currency", arrow.BinaryTypes.String), field("updated_at", timestampType), field("dt", arrow.FixedWidthTypes.Date32),
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i := range n {
		x := uint64(i) * 0x9E3779B97F4A7C15 >> 20
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%37 == 0 {
			b.Field(1).AppendNull()
			b.Field(2).AppendNull()
		} else {
			b.Field(1).(*array.Int64Builder).Append(int64(x % 100_000))
			b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromU64(x % 1_000_000))
		}
		b.Field(3).(*array.StringBuilder).Append([]string{"EUR", "USD", "CHF", "GBP"}[x%4])
		b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + int64(i)*1_000_003))
		b.Field(5).(*array.Date32Builder).Append(arrow.Date32(19000 + x%30))
	}
	return b.NewRecordBatch()
}

func perSecond(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkWrite(b *testing.B) {
	batch := orders(1 << 18)
	for _, codec := range []string{"snappy", "zstd"} {
		b.Run("codec="+codec, func(b *testing.B) {
			for b.Loop() {
				w, err := parquetio.Parquet{}.NewWriter(io.Discard, batch.Schema(), parquetio.WriteOptions{Codec: codec})
				require.NoError(b, err)
				for off := int64(0); off < batch.NumRows(); off += 1 << 16 {
					require.NoError(b, w.Write(batch.NewSlice(off, off+1<<16)))
				}
				require.NoError(b, w.Close())
			}
			perSecond(b, int(batch.NumRows()))
		})
	}
}

func BenchmarkRead(b *testing.B) {
	batch := orders(1 << 18)
	for _, codec := range []string{"snappy", "zstd"} {
		data := writeFile(b, parquetio.WriteOptions{Codec: codec}, batch.Schema(), batch)
		for _, cols := range []int{1, 6} {
			b.Run(fmt.Sprintf("codec=%s/columns=%d", codec, cols), func(b *testing.B) {
				want := arrow.NewSchema(batch.Schema().Fields()[:cols], nil)
				for b.Loop() {
					r, err := parquetio.Parquet{}.Open(b.Context(), source("f", data), parquetio.ReadOptions{})
					require.NoError(b, err)
					for _, err := range r.Batches(b.Context(), want) {
						require.NoError(b, err)
					}
				}
				perSecond(b, int(batch.NumRows()))
			})
		}
	}
}

// manyAdds is a checkpoint of n files in 200 partitions.
func manyAdds(n int) []delta.Action {
	out := make([]delta.Action, n)
	for i := range out {
		day := fmt.Sprintf("2024-%03d", i%200)
		out[i].Add = &delta.Add{
			Path:            fmt.Sprintf("day=%s/part-%05d-%08x-7f3d-4b2c-9a51-%012d-c000.snappy.parquet", day, i, i*2654435761, i),
			PartitionValues: map[string]*string{"day": &day}, Size: int64(i) + 1000, ModificationTime: 1_700_000_000_000,
			Stats: fmt.Sprintf(`{"numRecords":%d,"minValues":{"id":%d,"name":"aaa"},"maxValues":{"id":%d,"name":"zzz"},"nullCount":{"id":0,"name":0}}`, i, i, i+1000),
		}
	}
	return out
}

func BenchmarkCheckpointWrite(b *testing.B) {
	actions := manyAdds(20_000)
	for b.Loop() {
		_, _, err := parquetio.Parquet{}.WriteCheckpoint(io.Discard, slices.Values(actions), parquetio.CheckpointLayout{})
		require.NoError(b, err)
	}
	perSecond(b, len(actions))
}

func BenchmarkCheckpointRead(b *testing.B) {
	actions := manyAdds(20_000)
	data := writeCheckpoint(b, actions)
	for _, stats := range []bool{false, true} {
		b.Run(fmt.Sprintf("stats=%t", stats), func(b *testing.B) {
			for b.Loop() {
				n := 0
				require.NoError(b, parquetio.Parquet{}.ReadCheckpoint(b.Context(), source("c", data), parquetio.CheckpointOptions{SkipStats: !stats}, func(delta.Action) error {
					n++
					return nil
				}))
				require.Equal(b, len(actions), n)
			}
			perSecond(b, len(actions))
		})
	}
}
