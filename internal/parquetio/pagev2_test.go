package parquetio_test

import (
	"bytes"
	"testing"

	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/parquetio"
)

// TestPagesOfVersion2 writes pages of either version in every compression, and reads them.
func TestPagesOfVersion2(t *testing.T) {
	for _, codec := range []string{"snappy", "zstd", "gzip", "none", "lz4_raw"} {
		for _, v2 := range []bool{false, true} {
			mem := checked(t)
			for seed := range uint64(2) {
				s := nestedSchema()
				if seed == 0 {
					s = flatSchema()
				}
				batch := randomBatch(mem, s, fewer(3000), seed)
				defer batch.Release()
				data := writeFile(t, parquetio.WriteOptions{Codec: codec, PageV2: v2, RowGroupRows: int64(fewer(1300)), Allocator: mem}, s, batch)
				got, err := readAll(t.Context(), source("f", data), s, parquetio.ReadOptions{Allocator: mem})
				require.NoError(t, err)
				requireSame(t, s, got, batch)
				got.Release()
				require.Equal(t, v2, hasPagesV2(t, data), codec)
			}
		}
	}
}

// hasPagesV2 looks at the first data page of the first column.
func hasPagesV2(t *testing.T, data []byte) bool {
	f, err := pqfile.NewParquetReader(bytes.NewReader(data))
	require.NoError(t, err)
	pages, err := f.RowGroup(0).GetColumnPageReader(0)
	require.NoError(t, err)
	for pages.Next() {
		switch pages.Page().(type) {
		case *pqfile.DataPageV1:
			return false
		case *pqfile.DataPageV2:
			return true
		}
	}
	t.Fatal("no page", pages.Err())
	return false
}

func TestFormatVersions(t *testing.T) {
	for text, want := range map[string][2]bool{
		"1.0.0": {false, true}, "2.0.0": {true, true}, "2.12.0": {true, true},
		"": {}, "1": {}, "1.0": {}, "1.1.0": {}, "2": {true, false}, "2.x.y": {}, "3.0.0": {}, "2.-1.0": {}, "v2.0.0": {},
	} {
		v2, ok := parquetio.FormatVersion(text)
		require.Equal(t, want, [2]bool{v2, ok}, "%q", text)
	}
}
