package plan

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The days and instants that Delta's readers agree on: years 0001 to 9999.
const (
	minDay    = -719162
	maxDay    = 2932896
	minSecond = minDay * 86400
	maxSecond = maxDay*86400 + 86399
	minMicro  = minSecond * 1_000_000
	maxMicro  = maxSecond*1_000_000 + 999_999
	dayMillis = 86_400_000
)

const (
	outsideYears = "is outside the years 0001 to 9999, which are all that Delta's readers agree on"
	cutMicros    = "has digits below a microsecond, which the column cannot hold; truncate it in the rows if that is meant"
	cutDay       = "has a time of day, which a date column cannot hold; truncate it in the rows if that is meant"
)

func toDate(from arrow.DataType) conversion {
	switch from.ID() {
	case arrow.DATE32:
		return checked(func(in arrow.Array) error {
			return checkRange(in, in.(*array.Date32).Date32Values(), minDay, maxDay)
		})
	case arrow.DATE64:
		return mapValues(arrow.FixedWidthTypes.Date32, func(v int64) (arrow.Date32, string) {
			switch {
			case v%dayMillis != 0:
				return 0, cutDay
			case v/dayMillis < minDay || v/dayMillis > maxDay:
				return 0, outsideYears
			}
			return arrow.Date32(v / dayMillis), ""
		})
	}
	return nil
}

// checkRange refuses a value outside [least, most].
func checkRange[T arrow.Date32 | arrow.Timestamp](in arrow.Array, values []T, least, most T) error {
	for i, v := range values {
		if (v < least || v > most) && in.IsValid(i) {
			return badCell(in, i, outsideYears)
		}
	}
	return nil
}

// toTimestamp brings any unit to microseconds. Instants stay instants whatever their zone; times
// without a zone never become instants, nor instants times without a zone.
func toTimestamp(from arrow.DataType, to *arrow.TimestampType) conversion {
	f, ok := from.(*arrow.TimestampType)
	if !ok || (f.TimeZone == "") != (to.TimeZone == "") {
		return nil
	}
	switch f.Unit {
	case arrow.Second:
		return mapValues(to, func(v int64) (int64, string) { return multiplied(v, 1_000_000) })
	case arrow.Millisecond:
		return mapValues(to, func(v int64) (int64, string) { return multiplied(v, 1_000) })
	case arrow.Nanosecond:
		return mapValues(to, func(v int64) (int64, string) {
			if v%1000 != 0 {
				return 0, cutMicros
			}
			return multiplied(v/1000, 1)
		})
	}
	return func(_ memory.Allocator, in arrow.Array) (arrow.Array, error) {
		if err := checkRange(in, in.(*array.Timestamp).TimestampValues(), minMicro, maxMicro); err != nil {
			return nil, err
		}
		return retyped(in, to), nil
	}
}

func multiplied(v, factor int64) (int64, string) {
	if v > math.MaxInt64/factor || v < math.MinInt64/factor {
		return 0, outsideYears
	}
	if v *= factor; v < minMicro || v > maxMicro {
		return 0, outsideYears
	}
	return v, ""
}
