package function

import (
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

var (
	errNoDay  = errors.New("it has no day, and the day of today is not part of the text")
	errRegion = errors.New("its zone is no offset from UTC, such as Z or +01:00; the rules of regions are not part of the text")
)

// castTime casts a DATE, TIMESTAMP or TIMESTAMP_NTZ.
func castTime(from, to arrow.DataType) func(*Call) arrow.Array {
	days := from.ID() == arrow.DATE32
	switch {
	case to.ID() == arrow.STRING && days:
		return toText(func(dst []byte, v int32) []byte { return appendDay(dst, int64(v)) })
	case to.ID() == arrow.STRING:
		return toText(appendTime)
	case days && isMicros(to):
		return convert(to, func(v int32) (int64, error) { return mulInt(int64(v), microsADay) })
	case isMicros(from) && to.ID() == arrow.DATE32:
		return convert(to, func(v int64) (int32, error) { return int32(floorDiv(v, microsADay)), nil })
	case isMicros(from) && isMicros(to):
		return convert(to, func(v int64) (int64, error) { return v, nil })
	case isInstant(from):
		return castInstant(to)
	}
	return nil
}

// castInstant casts a TIMESTAMP to a number of seconds since 1970: whole ones, rounded down, to integers.
func castInstant(to arrow.DataType) func(*Call) arrow.Array {
	switch to.ID() {
	case arrow.INT8:
		return convert(to, wholeSeconds[int8])
	case arrow.INT16:
		return convert(to, wholeSeconds[int16])
	case arrow.INT32:
		return convert(to, wholeSeconds[int32])
	case arrow.INT64:
		return convert(to, wholeSeconds[int64])
	case arrow.FLOAT32:
		return convert(to, func(v int64) (float32, error) { return float32(float64(v) / microsASecond), nil })
	case arrow.FLOAT64:
		return convert(to, func(v int64) (float64, error) { return float64(v) / microsASecond, nil })
	case arrow.DECIMAL128:
		t := to.(*arrow.Decimal128Type)
		return convert(to, secondsToDecimal(t))
	}
	return nil
}

func wholeSeconds[T integer](micros int64) (T, error) {
	return toInteger[int64, T](floorDiv(micros, microsASecond))
}

// appendDay writes yyyy-MM-dd; years before 0 and after 9999 have a sign.
func appendDay(dst []byte, days int64) []byte {
	year, month, day := civil(days)
	dst = append(appendYear(dst, year, 4), '-')
	dst = append(appendPadded(dst, int64(month), 2), '-')
	return appendPadded(dst, int64(day), 2)
}

// appendTime writes yyyy-MM-dd HH:mm:ss and as many digits of the second as are not zeros at its end.
func appendTime(dst []byte, micros int64) []byte {
	days := floorDiv(micros, microsADay)
	micros -= days * microsADay
	dst = append(appendDay(dst, days), ' ')
	dst = append(appendPadded(dst, micros/microsAnHour, 2), ':')
	dst = append(appendPadded(dst, micros/microsAMinute%60, 2), ':')
	dst = appendPadded(dst, micros/microsASecond%60, 2)
	if micros %= microsASecond; micros != 0 {
		dst = appendPadded(append(dst, '.'), micros, 6)
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
	}
	return dst
}

// numberText takes numbers from the start of a text.
type numberText struct{ rest string }

// take takes a character if it is next.
func (t *numberText) take(c byte) bool {
	if t.rest == "" || t.rest[0] != c {
		return false
	}
	t.rest = t.rest[1:]
	return true
}

// number takes all digits that are next, if there are least to most.
func (t *numberText) number(least, most int) (v int64, ok bool) {
	n := 0
	for n < len(t.rest) && t.rest[n]-'0' <= 9 {
		if n < most {
			v = v*10 + int64(t.rest[n]-'0')
		}
		n++
	}
	t.rest = t.rest[n:]
	return v, n >= least && n <= most
}

// day takes [+-]year[-month[-day]]; whole says that there was a day.
func (t *numberText) day(yearDigits int) (days int64, whole, ok bool) {
	neg := t.take('-')
	if !neg {
		t.take('+')
	}
	year, ok := t.number(4, yearDigits)
	month, day := int64(1), int64(1)
	if ok && t.take('-') {
		if month, ok = t.number(1, 2); ok && t.take('-') {
			day, ok = t.number(1, 2)
			whole = true
		}
	}
	if neg {
		year = -year
	}
	if !ok || month < 1 || month > 12 || day < 1 || int(day) > daysIn(year, int(month)) {
		return 0, false, false
	}
	return daysOf(year, int(month), int(day)), whole, true
}

// readDate reads a day; behind a space or a T anything may follow it.
func readDate(s string) (int32, error) {
	t := numberText{trimControls(s)}
	days, whole, ok := t.day(7)
	if !ok || t.rest != "" && (!whole || t.rest[0] != ' ' && t.rest[0] != 'T') {
		return 0, noValue
	}
	if int64(int32(days)) != days {
		return 0, overflow
	}
	return int32(days), nil
}

// readTime reads a day and perhaps a time behind a space or a T: hours, minutes, seconds, each optional,
// and behind seconds their fraction, of which six digits count, and a zone. A zone is taken into account
// only by a TIMESTAMP, as Spark does, but has to be one.
func readTime(s string, zoned bool) (int64, error) {
	t := numberText{trimControls(s)}
	if isTimeOnly(s) {
		return 0, errNoDay
	}
	days, whole, ok := t.day(6)
	if !ok {
		return 0, noValue
	}
	var micros, offset int64
	if t.rest != "" {
		if !whole || !t.take(' ') && !t.take('T') {
			return 0, noValue
		}
		var err error
		if micros, offset, err = t.clock(); err != nil {
			return 0, err
		}
	}
	if zoned {
		micros -= offset
	}
	v, ok := microsOf(days, micros)
	if !ok {
		return 0, overflow
	}
	return v, nil
}

// isTimeOnly says whether a text starts as a time without a day, which Spark takes for one of today.
func isTimeOnly(s string) bool {
	if strings.HasPrefix(s, "T") {
		s = s[1:]
		return s != "" && s[0]-'0' <= 9
	}
	t := numberText{trimControls(s)}
	_, ok := t.number(1, 2)
	return ok && t.take(':')
}

// clock takes a time and its zone up to the end, as microseconds.
func (t *numberText) clock() (micros, offset int64, err error) {
	unit := int64(microsAnHour)
	for i, limit := range []int64{24, 60, 60} {
		if i > 0 && t.rest == "" {
			return micros, 0, nil
		}
		if i > 0 && !t.take(':') {
			return 0, 0, noValue
		}
		v, ok := t.number(1, 2)
		if !ok || v >= limit {
			return 0, 0, noValue
		}
		micros += v * unit
		unit /= 60
	}
	if t.take('.') {
		micros += t.fraction()
	}
	if t.rest == "" {
		return micros, 0, nil
	}
	seconds, err := readZone(strings.TrimFunc(t.rest, func(r rune) bool { return r <= ' ' }))
	return micros, seconds * microsASecond, err
}

// fraction takes the digits behind the point of a second; those behind the sixth are dropped.
func (t *numberText) fraction() (micros int64) {
	unit := int64(microsASecond)
	for t.rest != "" && t.rest[0]-'0' <= 9 {
		unit /= 10
		micros += int64(t.rest[0]-'0') * unit
		t.rest = t.rest[1:]
	}
	return micros
}

// readZone reads the offset of a zone in seconds: Z, or one of UTC, GMT and UT, an offset, or both.
func readZone(zone string) (int64, error) {
	if zone == "Z" {
		return 0, nil
	}
	offset := zone
	for _, name := range []string{"UTC", "GMT", "UT"} {
		if rest, ok := strings.CutPrefix(zone, name); ok {
			if offset = rest; rest == "" {
				return 0, nil
			}
			break
		}
	}
	digits, neg := cutSign(offset)
	if len(digits) == len(offset) {
		return 0, errRegion
	}
	seconds, ok := readOffset(digits)
	if !ok {
		return 0, noValue
	}
	if neg {
		return -seconds, nil
	}
	return seconds, nil
}

// readOffset reads h, hh, hhmm, hhmmss, or h:m with one or two digits each, or h:mm:ss with one or two
// for the hour; at most 18 hours.
func readOffset(s string) (seconds int64, ok bool) {
	colons := strings.Count(s, ":")
	parts := strings.Split(s, ":")
	if colons == 0 && (len(s) == 4 || len(s) == 6) {
		parts = []string{s[:2], s[2:4], s[4:]}[:len(s)/2]
	}
	unit := int64(3600)
	for i, part := range parts {
		t := numberText{part}
		least := 1
		if i > 0 && colons != 1 {
			least = 2
		}
		v, ok := t.number(least, 2)
		if !ok || t.rest != "" || i > 0 && v > 59 {
			return 0, false
		}
		seconds += v * unit
		unit /= 60
	}
	return seconds, len(parts) <= 3 && seconds <= 18*3600
}

// secondsToDecimal is a time as a number of seconds with all its digits.
func secondsToDecimal(t *arrow.Decimal128Type) func(int64) (decimal128.Num, error) {
	return func(micros int64) (decimal128.Num, error) {
		return rescale(decimal128.FromI64(micros), 6, t.Scale, t.Precision, halfUp)
	}
}
