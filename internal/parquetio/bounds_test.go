package parquetio_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/parquetio"
)

// Spark and delta-rs prune row groups by the footer: bounds that leave out NaN, which Spark orders
// above every number, or the empty string hide rows that a condition asks for.
func TestFooterBoundsHideNoRow(t *testing.T) {
	mem := checked(t)
	s := arrow.NewSchema([]arrow.Field{
		field("f32", arrow.PrimitiveTypes.Float32), field("f64", arrow.PrimitiveTypes.Float64),
		field("text", arrow.BinaryTypes.String), field("raw", arrow.BinaryTypes.Binary), field("n", arrow.PrimitiveTypes.Int64),
	}, nil)
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	b.Field(0).(*array.Float32Builder).AppendValues([]float32{1, float32(math.NaN())}, nil)
	b.Field(1).(*array.Float64Builder).AppendValues([]float64{1, math.NaN()}, nil)
	b.Field(2).(*array.StringBuilder).AppendValues([]string{"", "b"}, nil)
	b.Field(3).(*array.BinaryBuilder).AppendValues([][]byte{{}, {1}}, nil)
	b.Field(4).(*array.Int64Builder).AppendValues([]int64{3, 4}, nil)
	batch := b.NewRecordBatch()
	defer batch.Release()
	r, err := pqfile.NewParquetReader(bytes.NewReader(writeFile(t, parquetio.WriteOptions{Allocator: mem}, s, batch)))
	require.NoError(t, err)
	defer r.Close()
	for i, f := range s.Fields() {
		chunk, err := r.MetaData().RowGroup(0).ColumnChunk(i)
		require.NoError(t, err)
		set, err := chunk.StatsSet()
		require.NoError(t, err)
		require.Equal(t, f.Name == "n", set, "bounds of %s", f.Name)
	}
}
