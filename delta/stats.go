package delta

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// maxStatsBytes bounds the statistics of one file.
const maxStatsBytes = 1 << 20

// millisSlack is what flooring to milliseconds can have taken from a timestamp.
const millisSlack = microsPerMilli - 1

// Stats are a file's statistics. They are advice: a part that is missing, or not what it should be, is unknown.
// Only the parts that are asked for are read. Stats are immutable.
type Stats struct {
	NumRecords  *int64 // rows of the file, deleted ones included; nil: unknown
	TightBounds *bool  // nil: as true

	minValues, maxValues, nullCount []byte // JSON text
}

// NumRecords is the number of rows of a file, deleted ones included, by the text of its statistics; ok
// is false if they do not say.
func NumRecords(stats string) (n int64, ok bool) {
	st, ok := ParseStats(stats)
	if stats == "" || !ok || st.NumRecords == nil {
		return 0, false
	}
	return *st.NumRecords, true
}

// ParseStats reads the JSON text. Bad statistics are no statistics: ok is false for what is not a JSON object, and for
// more than 1 MiB.
func ParseStats(text string) (st *Stats, ok bool) {
	if len(text) > maxStatsBytes || !utf8.ValidString(text) {
		return nil, false
	}
	st = &Stats{}
	s := scanner{data: []byte(text)}
	err := s.object(func(key []byte) error {
		name := string(key)
		raw, err := s.raw()
		switch name {
		case "numRecords":
			st.NumRecords = parseCount(raw)
		case "tightBounds":
			if isTrue := string(raw) == "true"; isTrue || string(raw) == "false" {
				st.TightBounds = &isTrue
			}
		case "minValues":
			st.minValues = raw
		case "maxValues":
			st.maxValues = raw
		case "nullCount":
			st.nullCount = raw
		}
		return err
	})
	if err != nil || s.end() != nil {
		return nil, false
	}
	return st, true
}

// parseCount reads a count, nil if it is none.
func parseCount(raw []byte) *int64 {
	s := scanner{data: raw}
	n, err := s.integer(64)
	if err != nil || n < 0 || s.end() != nil {
		return nil
	}
	return &n
}

// member finds a value below an object of objects, nil if it is not there. Of a repeated key the last counts.
func member(object []byte, path []string) []byte {
	for _, name := range path {
		if len(object) == 0 || object[0] != '{' {
			return nil
		}
		var found []byte
		s := scanner{data: object}
		err := s.object(func(key []byte) error {
			hit := string(key) == name
			raw, err := s.raw()
			if hit {
				found = raw
			}
			return err
		})
		if err != nil {
			return nil
		}
		object = found
	}
	return object
}

// Column gives what is known of the column at a path of physical names: bounds of all its values that are neither NULL nor NaN,
// as scalars of ArrowType(t), nil where unknown, and the number of its NULLs, -1 if unknown.
//
// Bounds are bounds, not values of the file: the max of a string may be a prefix with a tie-breaker, the max of a timestamp has
// the millisecond added that its writer cut off, and numbers that a writer may have passed through a narrower float are
// widened by that float's rounding. A NaN in the file is within no bound; writers disagree on what they do about it.
// With TightBounds false, nulls is known only if it is none or all.
func (st *Stats) Column(path []string, t Type) (min, max scalar.Scalar, nulls int64) {
	nulls = st.nulls(path)
	dt, err := ArrowType(t)
	if err != nil {
		return nil, nil, nulls
	}
	min = parseBound(member(st.minValues, path), t, dt, false)
	max = parseBound(member(st.maxValues, path), t, dt, true)
	if min != nil && max != nil {
		if order, ok := CompareScalars(min, max); !ok || order > 0 {
			return nil, nil, nulls
		}
	}
	return min, max, nulls
}

func (st *Stats) nulls(path []string) int64 {
	n := parseCount(member(st.nullCount, path))
	if n == nil || st.NumRecords != nil && *n > *st.NumRecords {
		return -1
	}
	loose := st.TightBounds != nil && !*st.TightBounds
	if loose && *n != 0 && (st.NumRecords == nil || *n != *st.NumRecords) {
		return -1
	}
	return *n
}

// parseBound reads a bound from its JSON text, nil if it is none of the type.
func parseBound(raw []byte, t Type, dt arrow.DataType, upper bool) scalar.Scalar {
	if len(raw) == 0 {
		return nil
	}
	text, quoted := string(raw), raw[0] == '"'
	if quoted {
		s := scanner{data: raw}
		unquoted, err := s.text()
		if err != nil {
			return nil
		}
		text = string(unquoted)
	}
	if d, ok := t.(Decimal); ok {
		return decimalBound(text, d, dt, upper)
	}
	switch t {
	case Float, Double:
		return floatBound(text, t, upper)
	case Long, Integer, Short, Byte:
		if n, ok := parseInteger(t, text); ok && !quoted {
			return n
		}
	case Boolean:
		if !quoted && (text == "true" || text == "false") {
			return scalar.NewBooleanScalar(text == "true")
		}
	case String:
		// What could not be written as text is written as U+FFFD, which bounds nothing.
		if quoted && !strings.ContainsRune(text, utf8.RuneError) {
			return scalar.NewStringScalar(text)
		}
	case Date:
		if days, ok := parseDate(text); ok && quoted && days >= minDay && days <= maxDay {
			return scalar.NewDate32Scalar(arrow.Date32(days))
		}
	case Timestamp, TimestampNTZ:
		if quoted {
			return timestampBound(text, t, dt, upper)
		}
	}
	return nil
}

// timestampBound reads a bound with its zone, or without for timestamp_ntz. A date is one of a timestamp_ntz column that
// was widened from date.
func timestampBound(text string, t Type, dt arrow.DataType, upper bool) scalar.Scalar {
	m, ok := parseMoment(text)
	if !ok || m.micros < minMicros || m.micros > maxMicros {
		return nil
	}
	if t == Timestamp && !m.zoned || t == TimestampNTZ && m.offset != 0 {
		return nil
	}
	if upper {
		m.micros += millisSlack
	}
	return scalar.NewTimestampScalar(arrow.Timestamp(m.micros), dt)
}

// floatBound reads a bound. A double whose text has no more digits than a float's may be one of a column that was
// widened from float: then the float itself, read as a double, lies beside the text's double.
func floatBound(text string, t Type, upper bool) scalar.Scalar {
	narrow, okNarrow := parseFloat(text, 32)
	if t == Float {
		if !okNarrow || math.IsNaN(narrow) {
			return nil
		}
		return scalar.NewFloat32Scalar(float32(narrow))
	}
	wide, ok := parseFloat(text, 64)
	if !ok || math.IsNaN(wide) {
		return nil
	}
	if d, isNumber := splitDecimal(text); okNarrow && isNumber && len(d.digits) <= 9 {
		if upper {
			wide = math.Max(wide, narrow)
		} else {
			wide = math.Min(wide, narrow)
		}
	}
	return scalar.NewFloat64Scalar(wide)
}

// decimalBound reads a bound from its digits. Some writers pass decimals through a double: a text that a double could
// have left (17 digits or fewer) of a type that a double cannot hold is widened by a double's rounding.
func decimalBound(text string, d Decimal, dt arrow.DataType, upper bool) scalar.Scalar {
	n, digits, ok := parseDecimal(text, d)
	if !ok {
		return nil
	}
	if d.Precision > 15 && digits <= 17 {
		slack := doubleRounding(n)
		if !upper {
			slack = slack.Negate()
		}
		n = n.Add(slack)
	}
	return scalar.NewDecimal128Scalar(n, dt)
}

// doubleRounding bounds what a double's 53 bits can have taken from or added to n: four units in the last place,
// for writers that round more than once.
func doubleRounding(n decimal128.Num) decimal128.Num {
	a := n.Abs()
	hi := uint64(a.HighBits())
	return decimal128.New(int64(hi>>50), hi<<14|a.LowBits()>>50)
}
