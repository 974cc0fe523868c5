package parquetio

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/idemtable/idem/delta"
)

// leafFunc makes the buffers behind the validity of a column of n slots from the l.k values that l.take gave. valid is
// nil if all slots are set.
type leafFunc func(a *assembler, l *leafReader, n int, valid []byte) ([]*memory.Buffer, error)

// leafConverter chooses the conversion from a file's column to a table's type, as in the table of physical types of the
// protocol; a file may be older than a widening of its column's type. exact is as in ReadOptions.
func leafConverter(want arrow.DataType, n *node, exact bool) (leafFunc, error) {
	var f leafFunc
	switch t := want.(type) {
	case *arrow.BooleanType:
		if n.phys == parquet.Types.Boolean {
			f = convertBool
		}
	case *arrow.Int8Type:
		f = intConverter[int8](n, math.MinInt8, math.MaxInt8)
	case *arrow.Int16Type:
		f = intConverter[int16](n, math.MinInt16, math.MaxInt16)
	case *arrow.Int32Type:
		f = intConverter[int32](n, math.MinInt32, math.MaxInt32)
	case *arrow.Int64Type:
		f = longConverter(n)
	case *arrow.Float32Type:
		if n.phys == parquet.Types.Float {
			f = convertFixed(4, copyValues[float32])
		}
	case *arrow.Float64Type:
		f = doubleConverter(n)
	case *arrow.Decimal128Type:
		f = decimalConverter(n, t)
	case *arrow.StringType, *arrow.BinaryType:
		if n.physical(parquet.Types.ByteArray, parquet.Types.FixedLenByteArray) && n.note != decimalType {
			f = convertStrings
		}
	case *arrow.Date32Type:
		if n.phys == parquet.Types.Int32 && (n.note == dateType || n.note == plainType && n.bits == 0) {
			f = convertFixed(4, copyValues[int32])
		}
	case *arrow.TimestampType:
		if t.Unit != arrow.Microsecond {
			return nil, unreadable(want)
		}
		if f = timestampConverter(n, exact); n.note == dateType && t.TimeZone == "" {
			f = midnightConverter(n)
		}
	default:
		return nil, unreadable(want)
	}
	if f == nil {
		return nil, fmt.Errorf("%w: the file holds %s, the table says %s", delta.ErrCorrupt, n.describe(), want)
	}
	return f, nil
}

func unreadable(want arrow.DataType) error {
	return fmt.Errorf("%w: reading Parquet as %s", delta.ErrUnsupported, want)
}

// convertFixed makes a conversion to values of fixed width from one for values that lie side by side.
func convertFixed[S any, D arrow.FixedWidthType](width int, f func(dst []D, src []S) error) leafFunc {
	return func(a *assembler, l *leafReader, n int, valid []byte) ([]*memory.Buffer, error) {
		buf := a.buffer(width * n)
		dst := arrow.GetData[D](buf.Bytes())
		if err := f(dst[:l.k], taken[S](l)); err != nil {
			return nil, err
		}
		spread(dst, l.k, valid)
		return []*memory.Buffer{buf}, nil
	}
}

// spread moves the first k values of dst to the slots that are set, and clears the others.
func spread[D any](dst []D, k int, valid []byte) {
	if k == len(dst) {
		return
	}
	var zero D
	for i := len(dst) - 1; i >= 0; i-- {
		if valid[i>>3]>>(i&7)&1 != 0 {
			k--
			dst[i] = dst[k]
		} else {
			dst[i] = zero
		}
	}
}

func copyValues[T any](dst, src []T) error {
	copy(dst, src)
	return nil
}

func convertBool(a *assembler, l *leafReader, n int, valid []byte) ([]*memory.Buffer, error) {
	buf := a.buffer((n + 7) / 8)
	bits, src := buf.Bytes(), taken[bool](l)
	clear(bits)
	k := 0
	for i := range n {
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		if src[k] {
			bits[i>>3] |= 1 << (i & 7)
		}
		k++
	}
	return []*memory.Buffer{buf}, nil
}

// intConverter reads INT32 values that must be in a range.
func intConverter[D int8 | int16 | int32](n *node, low, high int32) leafFunc {
	if n.phys != parquet.Types.Int32 || n.note != plainType && !(n.note == unsignedType && n.bits < 32) {
		return nil
	}
	var zero D
	return convertFixed(widthOf(zero), func(dst []D, src []int32) error {
		for i, v := range src {
			if v < low || v > high {
				return fmt.Errorf("%d is not in the range of the table's type", v)
			}
			dst[i] = D(v)
		}
		return nil
	})
}

func widthOf(v any) int {
	switch v.(type) {
	case int8:
		return 1
	case int16:
		return 2
	}
	return 4
}

func longConverter(n *node) leafFunc {
	switch {
	case n.phys == parquet.Types.Int64 && n.note == plainType:
		return convertFixed(8, copyValues[int64])
	case n.phys == parquet.Types.Int32 && n.note == plainType:
		return convertFixed(8, func(dst []int64, src []int32) error {
			for i, v := range src {
				dst[i] = int64(v)
			}
			return nil
		})
	case n.phys == parquet.Types.Int32 && n.note == unsignedType:
		return convertFixed(8, func(dst []int64, src []int32) error {
			for i, v := range src {
				dst[i] = int64(uint32(v))
			}
			return nil
		})
	}
	return nil
}

func doubleConverter(n *node) leafFunc {
	switch n.phys {
	case parquet.Types.Double:
		return convertFixed(8, copyValues[float64])
	case parquet.Types.Float:
		return convertFixed(8, func(dst []float64, src []float32) error {
			for i, v := range src {
				dst[i] = float64(v)
			}
			return nil
		})
	case parquet.Types.Int32:
		if n.note != plainType {
			return nil
		}
		return convertFixed(8, func(dst []float64, src []int32) error {
			for i, v := range src {
				dst[i] = float64(v)
			}
			return nil
		})
	}
	return nil
}

// convertStrings reads byte strings.
func convertStrings(a *assembler, l *leafReader, n int, valid []byte) ([]*memory.Buffer, error) {
	data, ends := takenStrings(l)
	first := ends[0]
	obuf, dbuf := a.buffer(4*(n+1)), a.buffer(int(ends[l.k]-first))
	copy(dbuf.Bytes(), data[first:ends[l.k]])
	out := arrow.Int32Traits.CastFromBytes(obuf.Bytes())
	out[0] = 0
	if valid == nil {
		for i, e := range ends[1:] {
			out[i+1] = e - first
		}
		return []*memory.Buffer{obuf, dbuf}, nil
	}
	k := 0
	for i := range n {
		if valid[i>>3]>>(i&7)&1 != 0 {
			k++
		}
		out[i+1] = ends[k] - first
	}
	return []*memory.Buffer{obuf, dbuf}, nil
}

// integerDigits is how many decimal digits the integers of a column can have.
func (n *node) integerDigits() int32 {
	switch {
	case n.phys == parquet.Types.Int64 && n.note == unsignedType:
		return 20
	case n.phys == parquet.Types.Int64:
		return 19
	case n.bits == 8:
		return 3
	case n.bits == 16:
		return 5
	}
	return 10
}

// decimalConverter reads decimals of any precision and physical type, and integers as a type that holds all of them:
// without an annotation, those of a narrower type may be unscaled decimals.
func decimalConverter(n *node, t *arrow.Decimal128Type) leafFunc {
	fit := decimalFit{want: t, shift: int(t.Scale) - n.scale}
	switch {
	case n.note == plainType && n.physical(parquet.Types.Int32, parquet.Types.Int64) && t.Precision-t.Scale >= n.integerDigits():
		fit.shift = int(t.Scale)
	case n.note == unsignedType && n.phys == parquet.Types.Int64 && t.Precision-t.Scale >= n.integerDigits(): // as which Spark reads them
		fit.shift = int(t.Scale)
		return convertFixed(16, func(dst []decimal128.Num, src []int64) error {
			for i, v := range src {
				dst[i] = decimal128.New(0, uint64(v))
			}
			return fit.all(dst)
		})
	case n.note != decimalType || n.scale < 0 || n.scale > 38:
		return nil
	}
	switch n.phys {
	case parquet.Types.Int32:
		return convertFixed(16, func(dst []decimal128.Num, src []int32) error {
			for i, v := range src {
				dst[i] = decimal128.FromI64(int64(v))
			}
			return fit.all(dst)
		})
	case parquet.Types.Int64:
		return convertFixed(16, func(dst []decimal128.Num, src []int64) error {
			for i, v := range src {
				dst[i] = decimal128.FromI64(v)
			}
			return fit.all(dst)
		})
	case parquet.Types.FixedLenByteArray, parquet.Types.ByteArray:
		return fit.fromBytes
	}
	return nil
}
