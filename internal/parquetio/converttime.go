package parquetio

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/idemtable/idem/delta"
)

const (
	julianEpoch  = 2_440_588 // the Julian day number of 1970-01-01
	microsPerDay = 86_400_000_000
	nanosPerDay  = 86_400_000_000_000
)

// timestampConverter reads timestamps of any unit as microseconds. Whether the file says that they are UTC does not
// matter: old writers did not say it.
func timestampConverter(n *node, exact bool) leafFunc {
	switch {
	case n.phys == parquet.Types.Int96:
		return convertFixed(8, func(dst []arrow.Timestamp, src []parquet.Int96) error { return int96Micros(dst, src, exact) })
	case n.phys != parquet.Types.Int64:
		return nil
	case n.note == microsType:
		return convertFixed(8, func(dst []arrow.Timestamp, src []int64) error {
			for i, v := range src {
				dst[i] = arrow.Timestamp(v)
			}
			return nil
		})
	case n.note == millisType:
		return convertFixed(8, func(dst []arrow.Timestamp, src []int64) error {
			for i, v := range src {
				if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
					return fmt.Errorf("a timestamp of %d milliseconds", v)
				}
				dst[i] = arrow.Timestamp(v * 1000)
			}
			return nil
		})
	case n.note == nanosType:
		return convertFixed(8, func(dst []arrow.Timestamp, src []int64) error {
			for i, v := range src {
				if exact && v%1000 != 0 {
					return tooFine(v%1000 + 1000)
				}
				dst[i] = arrow.Timestamp(floorDiv(v, 1000))
			}
			return nil
		})
	}
	return nil
}

// midnightConverter reads dates as the timestamps of their first moment.
func midnightConverter(n *node) leafFunc {
	if n.phys != parquet.Types.Int32 {
		return nil
	}
	const maxDays = math.MaxInt64 / microsPerDay
	return convertFixed(8, func(dst []arrow.Timestamp, src []int32) error {
		for i, v := range src {
			if v > maxDays || v < -maxDays {
				return fmt.Errorf("day %d as a timestamp", v)
			}
			dst[i] = arrow.Timestamp(int64(v) * microsPerDay)
		}
		return nil
	})
}

// tooFine refuses a timestamp by its nanoseconds.
func tooFine(nanos int64) error {
	return fmt.Errorf("%w: a timestamp ends in %d nanoseconds, and the column holds microseconds; cut them off in the source if that is meant",
		delta.ErrInput, nanos%1000)
}

func floorDiv(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// int96Micros reads a Julian day and the nanoseconds in it.
func int96Micros(dst []arrow.Timestamp, src []parquet.Int96, exact bool) error {
	const maxDays = math.MaxInt64/microsPerDay - 2
	for i, v := range src {
		nanos := int64(binary.LittleEndian.Uint64(v[:8]))
		days := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - julianEpoch
		if days > maxDays || days < -maxDays || nanos > nanosPerDay || nanos < -nanosPerDay {
			return fmt.Errorf("a timestamp of day %d and %d nanoseconds", days, nanos)
		}
		if exact && nanos%1000 != 0 {
			return tooFine(nanos%1000 + 1000)
		}
		dst[i] = arrow.Timestamp(days*microsPerDay + floorDiv(nanos, 1000))
	}
	return nil
}
