package delta

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
)

// maxPrefixLength bounds how much of a string statistics keep, whatever the table's property says.
const maxPrefixLength = 1 << 12

// The layouts of timestamps in statistics. time's formatting drops the digits beyond them, and so floors.
const (
	statsTimestamp    = "2006-01-02T15:04:05.000Z"
	statsTimestampNTZ = "2006-01-02T15:04:05.000"
)

// bounder keeps the least and the greatest value of a leaf.
type bounder interface {
	// add takes the values of an array of the leaf's type in the rows of live.
	add(arr arrow.Array, live mask)

	// bound is the JSON value that no value is beyond; ok is false if there is none.
	bound(upper bool) (text string, ok bool)
}

// newBounder gives what keeps the bounds of a type, nil if statistics of the type have none.
func newBounder(t Type, units int) bounder {
	switch t {
	case Long:
		return newRange(func(a arrow.Array) []int64 { return a.(*array.Int64).Int64Values() }, formatInteger)
	case Integer:
		return newRange(func(a arrow.Array) []int32 { return a.(*array.Int32).Int32Values() }, formatInteger)
	case Short:
		return newRange(func(a arrow.Array) []int16 { return a.(*array.Int16).Int16Values() }, formatInteger)
	case Byte:
		return newRange(func(a arrow.Array) []int8 { return a.(*array.Int8).Int8Values() }, formatInteger)
	case Date:
		return newRange(func(a arrow.Array) []arrow.Date32 { return a.(*array.Date32).Date32Values() }, func(d arrow.Date32) (string, bool) {
			return quote(formatDay(int64(d)))
		})
	case Timestamp, TimestampNTZ:
		layout := statsTimestamp
		if t == TimestampNTZ {
			layout = statsTimestampNTZ
		}
		return newRange(func(a arrow.Array) []arrow.Timestamp { return a.(*array.Timestamp).TimestampValues() }, func(us arrow.Timestamp) (string, bool) {
			return quote(formatMicros(int64(us), layout))
		})
	case Float:
		return &floatRange[float32]{values: func(a arrow.Array) []float32 { return a.(*array.Float32).Float32Values() }, bits: 32}
	case Double:
		return &floatRange[float64]{values: func(a arrow.Array) []float64 { return a.(*array.Float64).Float64Values() }, bits: 64}
	case String:
		return &stringRange{units: units}
	}
	if d, ok := t.(Decimal); ok {
		return &decimalRange{scale: d.Scale}
	}
	return nil
}

func formatInteger[T int8 | int16 | int32 | int64](n T) (string, bool) {
	return strconv.FormatInt(int64(n), 10), true
}

func quote(text string, ok bool) (string, bool) { return `"` + text + `"`, ok }

// appendQuoted writes a JSON string.
func appendQuoted(dst []byte, text string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string and a strings.Builder have no error
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}

// valueRange keeps the bounds of integers, dates and timestamps.
type valueRange[T cmp.Ordered] struct {
	values   func(arrow.Array) []T
	format   func(T) (string, bool)
	seen     bool
	min, max T
}

func newRange[T cmp.Ordered](values func(arrow.Array) []T, format func(T) (string, bool)) *valueRange[T] {
	return &valueRange[T]{values: values, format: format}
}

func (r *valueRange[T]) add(arr arrow.Array, live mask) {
	values := r.values(arr)
	if !r.seen {
		first := 0
		for first < len(values) && !live.has(first) {
			first++
		}
		if first == len(values) {
			return
		}
		r.seen, r.min, r.max = true, values[first], values[first]
	}
	lo, hi := r.min, r.max
	if live.all() {
		for _, v := range values {
			lo, hi = min(lo, v), max(hi, v)
		}
	} else {
		for i, v := range values {
			if live.has(i) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	r.min, r.max = lo, hi
}

func (r *valueRange[T]) bound(upper bool) (string, bool) {
	switch {
	case !r.seen:
		return "", false
	case upper:
		return r.format(r.max)
	}
	return r.format(r.min)
}

// floatRange keeps the bounds of floats. NaN is greater than every number: with a NaN there is no max, and the min is that of
// the numbers. JSON has no infinities, so an infinite bound is none. A zero is written as the lesser of its two in a
// min and as the greater in a max, for readers that tell them apart.
type floatRange[T float32 | float64] struct {
	values   func(arrow.Array) []T
	bits     int
	seen     bool // a number
	nan      bool
	min, max T
}

func (r *floatRange[T]) add(arr arrow.Array, live mask) {
	lo, hi, nan, seen := T(math.Inf(1)), T(math.Inf(-1)), false, false
	if r.seen {
		lo, hi, seen = r.min, r.max, true
	}
	all := live.all()
	for i, v := range r.values(arr) {
		switch {
		case !all && !live.has(i):
		case v != v:
			nan = true
		default:
			seen = true
			if v < lo {
				lo = v
			}
			if v > hi {
				hi = v
			}
		}
	}
	r.min, r.max, r.seen, r.nan = lo, hi, seen, r.nan || nan
}

func (r *floatRange[T]) bound(upper bool) (string, bool) {
	v := float64(r.min)
	if upper {
		v = float64(r.max)
	}
	switch {
	case !r.seen, upper && r.nan, math.IsInf(v, 0):
		return "", false
	case v == 0 && upper:
		return "0.0", true
	case v == 0:
		return "-0.0", true
	}
	return formatFloat(v, r.bits), true
}

// decimalRange keeps the bounds of decimals.
type decimalRange struct {
	scale    int
	seen     bool
	min, max decimal.Decimal128
}

func (r *decimalRange) add(arr arrow.Array, live mask) {
	all := live.all()
	for i, v := range arr.(*array.Decimal128).Values() {
		switch {
		case !all && !live.has(i):
		case !r.seen:
			r.seen, r.min, r.max = true, v, v
		case v.Less(r.min):
			r.min = v
		case r.max.Less(v):
			r.max = v
		}
	}
}

func (r *decimalRange) bound(upper bool) (string, bool) {
	if upper {
		return formatDecimal(r.max, r.scale), r.seen
	}
	return formatDecimal(r.min, r.scale), r.seen
}

// stringRange keeps the bounds of strings in the order of their bytes: of each bound no more than what decides its text.
type stringRange struct {
	units    int
	seen     bool
	min, max string
}

func (r *stringRange) add(arr arrow.Array, live mask) {
	values := arr.(*array.String)
	lo, hi, seen := r.min, r.max, r.seen
	newLo, newHi := false, false
	all := live.all()
	for i := range values.Len() {
		if !all && !live.has(i) {
			continue
		}
		v := values.Value(i)
		if !seen {
			lo, hi, seen, newLo, newHi = v, v, true, true, true
			continue
		}
		if v < lo {
			lo, newLo = v, true
		} else if v > hi {
			hi, newHi = v, true
		}
	}
	r.seen = seen
	if newLo {
		r.min = r.keep(lo)
	}
	if newHi {
		r.max = r.keep(hi)
	}
}

// keep copies what truncation can look at: twice the units, and a character more to see that there is more.
func (r *stringRange) keep(s string) string {
	end, _ := prefixEnd(s, 2*r.units+4)
	return strings.Clone(s[:end])
}

func (r *stringRange) bound(upper bool) (string, bool) {
	if !r.seen || r.units == 0 {
		return "", false
	}
	text, ok := truncateMin(r.min, r.units), true
	if upper {
		text, ok = truncateMax(r.max, r.units)
	}
	if !ok || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		return "", false
	}
	return string(appendQuoted(nil, text)), true
}
