package rows

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Bytes is the memory that a batch's buffers hold for its rows: a slice counts for its own share.
func Bytes(batch arrow.RecordBatch) int64 {
	total := int64(0)
	for _, c := range batch.Columns() {
		total += arrayBytes(c, 0, c.Len())
	}
	return total
}

// arrayBytes counts rows lo to hi.
func arrayBytes(arr arrow.Array, lo, hi int) int64 {
	n := int64(hi - lo)
	if n <= 0 {
		return 0
	}
	total := int64(0)
	if len(arr.NullBitmapBytes()) > 0 {
		total += bitBytes(n)
	}
	switch a := arr.(type) {
	case *array.Null:
		return 0
	case *array.String:
		return total + 4*(n+1) + int64(spanOf(a.ValueOffsets(), lo, hi))
	case *array.Binary:
		return total + 4*(n+1) + int64(spanOf(a.ValueOffsets(), lo, hi))
	case *array.Struct:
		for f := range a.NumField() {
			total += arrayBytes(a.Field(f), lo, hi)
		}
		return total
	case array.ListLike:
		from, _ := a.ValueOffsets(lo)
		_, to := a.ValueOffsets(hi - 1)
		return total + 4*(n+1) + arrayBytes(a.ListValues(), int(from), int(to))
	default:
		if t, ok := arr.DataType().(arrow.FixedWidthDataType); ok {
			return total + bitBytes(n*int64(t.BitWidth()))
		}
		return total + int64(arr.Data().SizeInBytes())
	}
}

func spanOf(offs []int32, lo, hi int) int32 { return offs[hi] - offs[lo] }
