package parquetio_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/internal/parquetio"
)

func TestRoundTrip(t *testing.T) {
	for name, s := range map[string]*arrow.Schema{"flat": flatSchema(), "nested": nestedSchema()} {
		for _, codec := range []string{"", "snappy", "zstd", "gzip", "none", "lz4_raw"} {
			t.Run(name+"/codec="+codec, func(t *testing.T) {
				mem := checked(t)
				a, b := randomBatch(mem, s, fewer(5000), 1), randomBatch(mem, s, fewer(6000), 2)
				defer a.Release()
				defer b.Release()
				part := b.NewSlice(77, int64(fewer(5010)))
				defer part.Release()
				data := writeFile(t, parquetio.WriteOptions{Codec: codec, RowGroupRows: int64(fewer(4100)), Allocator: mem}, s, a, part)
				got, err := readAll(t.Context(), source("f", data), s, parquetio.ReadOptions{BatchRows: fewer(1000), Allocator: mem})
				require.NoError(t, err)
				defer got.Release()
				requireSame(t, s, got, a, part)
				require.True(t, got.Schema().Equal(s))
			})
		}
	}
}

func TestBytesAreDeterministic(t *testing.T) {
	mem := checked(t)
	for _, s := range []*arrow.Schema{flatSchema(), nestedSchema()} {
		a := randomBatch(mem, s, fewer(9000), 3)
		o := parquetio.WriteOptions{Allocator: mem}
		require.Equal(t, writeFile(t, o, s, a), writeFile(t, o, s, a))
		a.Release()
	}
}

func TestEmptyFiles(t *testing.T) {
	mem := checked(t)
	s := flatSchema()
	empty := randomBatch(mem, s, 0, 1)
	defer empty.Release()
	for name, batches := range map[string][]arrow.RecordBatch{"no batch": nil, "an empty batch": {empty}} {
		t.Run(name, func(t *testing.T) {
			data := writeFile(t, parquetio.WriteOptions{Allocator: mem}, s, batches...)
			got, err := readAll(t.Context(), source("f", data), s, parquetio.ReadOptions{Allocator: mem})
			require.NoError(t, err)
			defer got.Release()
			require.Zero(t, got.NumRows())
		})
	}
}

func TestManySmallBatchesMakeOneRowGroup(t *testing.T) {
	mem := checked(t)
	s := arrow.NewSchema([]arrow.Field{field("x", arrow.PrimitiveTypes.Int64)}, nil)
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	var batches []arrow.RecordBatch
	for i := range 200 {
		for k := range 100 {
			b.Field(0).(*array.Int64Builder).Append(int64(i*100 + k))
		}
		batches = append(batches, b.NewRecordBatch())
		defer batches[i].Release()
	}
	data := writeFile(t, parquetio.WriteOptions{Allocator: mem}, s, batches...)
	require.Equal(t, 1, parquetio.RowGroups(t, data))
	got, err := readAll(t.Context(), source("f", data), s, parquetio.ReadOptions{Allocator: mem})
	require.NoError(t, err)
	defer got.Release()
	requireSame(t, s, got, batches...)
}

// TestRoundTripProperty cuts rows into batches, row groups and read batches of any size: they come back the same.
func TestRoundTripProperty(t *testing.T) {
	mem := checked(t)
	schemas := []*arrow.Schema{flatSchema(), nestedSchema()}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(schemas).Draw(rt, "schema")
		all := randomBatch(mem, s, rapid.IntRange(0, 150).Draw(rt, "rows"), rapid.Uint64().Draw(rt, "seed"))
		defer all.Release()
		var batches []arrow.RecordBatch
		for off := int64(0); off < all.NumRows(); {
			n := min(rapid.Int64Range(0, 60).Draw(rt, "batch"), all.NumRows()-off)
			batches = append(batches, all.NewSlice(off, off+n))
			defer batches[len(batches)-1].Release()
			off += n
		}
		o := parquetio.WriteOptions{RowGroupRows: rapid.Int64Range(1, 200).Draw(rt, "group"), Allocator: mem}
		data := writeFile(rt, o, s, batches...)
		got, err := readAll(t.Context(), source("f", data), s, parquetio.ReadOptions{BatchRows: rapid.IntRange(1, 90).Draw(rt, "read"), Allocator: mem})
		require.NoError(rt, err)
		defer got.Release()
		requireSame(rt, s, got, all)
	})
}
