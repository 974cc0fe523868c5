package parquetio_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// full is a disk that takes only so many bytes.
type full struct{ left int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n := f.left
		f.left = 0
		return n, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

// TestWritersReportAFullDisk lets the disk fill up at many places: the error is never lost, and nothing leaks.
func TestWritersReportAFullDisk(t *testing.T) {
	mem := checked(t)
	s := flatSchema()
	b := randomBatch(mem, s, fewer(10000), 1)
	defer b.Release()
	o := parquetio.WriteOptions{RowGroupRows: int64(fewer(3000)), Allocator: mem}
	size := len(writeFile(t, o, s, b))
	for left := 0; left < size; left += size/23 + 1 {
		w, err := parquetio.Parquet{}.NewWriter(&full{left}, s, o)
		require.NoError(t, err)
		err = errors.Join(w.Write(b), w.Close())
		require.ErrorIs(t, err, errFull, "%d bytes", left)
		w.Abort()
	}
}

func TestAbortGivesEverythingBack(t *testing.T) {
	mem := checked(t)
	s := nestedSchema()
	b := randomBatch(mem, s, fewer(10000), 1)
	defer b.Release()
	for batches := range 3 {
		var out bytes.Buffer
		w, err := parquetio.Parquet{}.NewWriter(&out, s, parquetio.WriteOptions{Allocator: mem})
		require.NoError(t, err)
		for range batches {
			require.NoError(t, w.Write(b))
		}
		before := out.Len()
		w.Abort()
		require.Equal(t, before, out.Len(), "an aborted writer writes no more")
		require.Error(t, w.Write(b))
		require.Error(t, w.Close())
	}
}

func TestBytesGrows(t *testing.T) {
	mem := checked(t)
	s := flatSchema()
	b := randomBatch(mem, s, 5000, 1)
	defer b.Release()
	var out bytes.Buffer
	w, err := parquetio.Parquet{}.NewWriter(&out, s, parquetio.WriteOptions{RowGroupRows: 12000, Allocator: mem})
	require.NoError(t, err)
	require.Zero(t, w.Bytes())
	for range 5 {
		before := w.Bytes()
		require.NoError(t, w.Write(b))
		require.Greater(t, w.Bytes(), before/2)
		require.Positive(t, w.Bytes())
	}
	estimate := w.Bytes()
	require.NoError(t, w.Close())
	require.InEpsilon(t, out.Len(), estimate, 0.5)
}

// TestBytesOfASlice: a few rows of a large batch count for themselves, or files would be closed too early.
func TestBytesOfASlice(t *testing.T) {
	mem := checked(t)
	s := arrow.NewSchema([]arrow.Field{field("x", arrow.PrimitiveTypes.Int64)}, nil)
	b := randomBatch(mem, s, 100_000, 1)
	defer b.Release()
	part := b.NewSlice(70, 80)
	defer part.Release()
	w, err := parquetio.Parquet{}.NewWriter(&bytes.Buffer{}, s, parquetio.WriteOptions{Allocator: mem})
	require.NoError(t, err)
	defer w.Abort()
	require.NoError(t, w.Write(part))
	require.LessOrEqual(t, w.Bytes(), int64(100))
}

// TestEmptyStringsWithoutABuffer: Arrow leaves out the buffer of values that have no bytes.
func TestEmptyStringsWithoutABuffer(t *testing.T) {
	mem := checked(t)
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.Binary} {
		offsets := memory.NewBufferBytes(make([]byte, 4*4))
		data := array.NewData(typ, 3, []*memory.Buffer{nil, offsets, nil}, nil, 0, 0)
		s := arrow.NewSchema([]arrow.Field{field("x", typ)}, nil)
		batch := array.NewRecordBatch(s, []arrow.Array{array.MakeFromData(data)}, 3)
		got, err := readAll(t.Context(), source("f", writeFile(t, parquetio.WriteOptions{Allocator: mem}, s, batch)), s, parquetio.ReadOptions{})
		require.NoError(t, err)
		requireSame(t, s, got, batch)
	}
}

func TestWritersRefuseWrongRows(t *testing.T) {
	mem := checked(t)
	must := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	nulls := array.NewRecordBuilder(mem, must)
	defer nulls.Release()
	nulls.Field(0).AppendNull()
	null := nulls.NewRecordBatch()
	defer null.Release()

	narrow := arrow.NewSchema([]arrow.Field{field("d", decimalOf(5, 2))}, nil)
	decimals := array.NewRecordBuilder(mem, narrow)
	defer decimals.Release()
	decimals.Field(0).(*array.Decimal128Builder).Append(decimal128.FromI64(100000))
	big := decimals.NewRecordBatch()
	defer big.Release()

	for name, c := range map[string]struct {
		schema *arrow.Schema
		batch  arrow.RecordBatch
		input  bool
	}{
		"NULL in a column that is NOT NULL": {must, null, true},
		"a decimal beyond its precision":    {narrow, big, true},
		"another type":                      {narrow, null, false},
		"another number of columns":         {flatSchema(), null, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := parquetio.Parquet{}.NewWriter(&out, c.schema, parquetio.WriteOptions{Allocator: mem})
			require.NoError(t, err)
			err = w.Write(c.batch)
			if err == nil {
				err = w.Close()
			}
			require.Error(t, err)
			require.Equal(t, c.input, errors.Is(err, delta.ErrInput))
			w.Abort()
		})
	}
}

func TestVoidColumnsAreNotStored(t *testing.T) {
	mem := checked(t)
	s := arrow.NewSchema([]arrow.Field{field("v", arrow.Null), field("x", arrow.PrimitiveTypes.Int32)}, nil)
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	b.Field(0).AppendNull()
	b.Field(1).(*array.Int32Builder).Append(7)
	batch := b.NewRecordBatch()
	defer batch.Release()
	requireRows(t, writeFile(t, parquetio.WriteOptions{Allocator: mem}, s, batch), s, `[{"v":null,"x":7}]`)
}

func TestExt(t *testing.T) {
	for codec, ext := range map[string]string{"": ".snappy.parquet", "ZSTD": ".zstd.parquet", "gzip": ".gz.parquet", "none": ".parquet", "lz4_raw": ".lz4raw.parquet"} {
		require.Equal(t, ext, parquetio.Parquet{}.Ext(parquetio.WriteOptions{Codec: codec}))
	}
}

type stub struct{ parquetio.Codec }

func TestCodecOfAContext(t *testing.T) {
	require.Equal(t, parquetio.Parquet{}, parquetio.From(t.Context()))
	ctx := parquetio.WithCodec(t.Context(), stub{})
	require.Equal(t, stub{}, parquetio.From(ctx))
}

// A row without a column is nowhere in a file.
func TestRowsOfAFileWithoutColumns(t *testing.T) {
	for _, fields := range [][]arrow.Field{nil, {{Name: "nothing", Type: arrow.Null, Nullable: true}}} {
		schema := arrow.NewSchema(fields, nil)
		w, err := parquetio.Parquet{}.NewWriter(&bytes.Buffer{}, schema, parquetio.WriteOptions{})
		require.NoError(t, err)
		var columns []arrow.Array
		if len(fields) > 0 {
			columns = []arrow.Array{array.NewNull(2)}
		}
		require.ErrorIs(t, w.Write(array.NewRecordBatch(schema, columns, 2)), delta.ErrUnsupported)
	}
}
