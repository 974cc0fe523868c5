package parquetio

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/idemtable/idem/delta"
)

// batchWriter is what the library's typed column writers have in common.
type batchWriter[T any] interface {
	WriteBatch(values []T, defs, reps []int16) (int64, error)
}

func put[T any](cw file.ColumnChunkWriter, values []T, defs, reps []int16) error {
	if values == nil {
		values = []T{}
	}
	_, err := cw.(batchWriter[T]).WriteBatch(values, defs, reps)
	return err
}

// pick gives the values at idx, all if idx is nil.
func pick[T any](src []T, idx []int) []T {
	if idx == nil {
		return src
	}
	out := make([]T, len(idx))
	for k, i := range idx {
		out[k] = src[i]
	}
	return out
}

// fixedSlice views an array's values.
func fixedSlice[T arrow.FixedWidthType](arr arrow.Array) []T {
	d := arr.Data()
	if d.Len() == 0 || d.Buffers()[1] == nil {
		return nil
	}
	return arrow.GetData[T](d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
}

// putFixed writes values that lie in Arrow as they do in Parquet.
func putFixed[T int32 | int64 | float32 | float64](cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error {
	return put(cw, pick(fixedSlice[T](arr), idx), defs, reps)
}

// putNarrow widens integers to INT32.
func putNarrow[T int8 | int16](cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error {
	src := pick(fixedSlice[T](arr), idx)
	out := make([]int32, len(src))
	for i, v := range src {
		out[i] = int32(v)
	}
	return put(cw, out, defs, reps)
}

func putBools(cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error {
	a := arr.(*array.Boolean)
	if idx == nil {
		out := make([]bool, a.Len())
		for i := range out {
			out[i] = a.Value(i)
		}
		return put(cw, out, defs, reps)
	}
	out := make([]bool, len(idx))
	for k, i := range idx {
		out[k] = a.Value(i)
	}
	return put(cw, out, defs, reps)
}

// decimals gives the values at idx; one beyond the type's precision is an error, as it would be stored as another.
func decimals(arr arrow.Array, idx []int) ([]decimal128.Num, error) {
	t := arr.DataType().(*arrow.Decimal128Type)
	src := pick(fixedSlice[decimal128.Num](arr), idx)
	top := decimal128.GetScaleMultiplier(int(t.Precision))
	low := top.Negate()
	for _, v := range src {
		if !v.Less(top) || !low.Less(v) {
			return nil, fmt.Errorf("%w: %s does not fit %s", delta.ErrInput, v.ToString(t.Scale), t)
		}
	}
	return src, nil
}

func putDecimal32(cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error {
	src, err := decimals(arr, idx)
	if err != nil {
		return err
	}
	out := make([]int32, len(src))
	for i, v := range src {
		out[i] = int32(v.LowBits())
	}
	return put(cw, out, defs, reps)
}

func putDecimal64(cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error {
	src, err := decimals(arr, idx)
	if err != nil {
		return err
	}
	out := make([]int64, len(src))
	for i, v := range src {
		out[i] = int64(v.LowBits())
	}
	return put(cw, out, defs, reps)
}

func putDecimalBytes(cw file.ColumnChunkWriter, arr arrow.Array, idx []int, defs, reps []int16) error {
	src, err := decimals(arr, idx)
	if err != nil {
		return err
	}
	width := decimalBytes(arr.DataType().(*arrow.Decimal128Type).Precision)
	raw := make([]byte, 0, width*len(src))
	out := make([]parquet.FixedLenByteArray, len(src))
	var full [16]byte
	for i, v := range src {
		binary.BigEndian.PutUint64(full[:8], uint64(v.HighBits()))
		binary.BigEndian.PutUint64(full[8:], v.LowBits())
		raw = append(raw, full[16-width:]...)
		out[i] = raw[len(raw)-width:]
	}
	return put(cw, out, defs, reps)
}
