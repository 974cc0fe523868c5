package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// ParseDate reads a day as Spark does: year, or year-month, or year-month-day, with a sign and up
// to seven digits for the year. Unlike Spark it refuses what follows the day, since a time of day
// would be lost.
func ParseDate(text string) (arrow.Date32, error) {
	r := reader{rest: strings.TrimSpace(text)}
	days, _, ok := r.date()
	if !ok || r.rest != "" {
		return 0, fmt.Errorf("%q is no day: write yyyy-MM-dd", clip(text))
	}
	if days < math.MinInt32 || days > math.MaxInt32 {
		return 0, fmt.Errorf("the day %q is beyond what a date holds", clip(text))
	}
	return arrow.Date32(days), nil
}

// ParseTimestamp reads a day and a time of day, with up to six digits of a second's fraction and
// a zone (Z, UTC, +01:00). zoned tells whether there was a zone; without one the reading is UTC.
// Names of regions are refused: their rules are not part of the text.
func ParseTimestamp(text string) (micros arrow.Timestamp, zoned bool, err error) {
	r := reader{rest: strings.TrimSpace(text)}
	bad := fmt.Errorf("%q is no timestamp: write yyyy-MM-dd HH:mm:ss.ffffff, with Z or an offset such as +01:00 behind it if it is not UTC", clip(text))
	days, whole, ok := r.date()
	if !ok {
		return 0, false, bad
	}
	var ofDay, offset int64
	if r.rest != "" {
		if !whole || !(r.take(' ') || r.take('T')) {
			return 0, false, bad
		}
		if ofDay, ok = r.timeOfDay(); !ok {
			return 0, false, bad
		}
		if offset, zoned, ok = r.zone(); !ok || r.rest != "" {
			return 0, false, bad
		}
	}
	const most = math.MaxInt64/microsADay - 2
	if days > most || days < -most {
		return 0, false, fmt.Errorf("the timestamp %q is beyond what a timestamp holds", clip(text))
	}
	return arrow.Timestamp(days*microsADay + ofDay - offset), zoned, nil
}

// FormatDate is the text that ParseDate reads.
func FormatDate(d arrow.Date32) string {
	return formatDay(int64(d))
}

// FormatTimestamp is the text that ParseTimestamp reads, without a zone.
func FormatTimestamp(t arrow.Timestamp) string {
	days := floorDiv(int64(t), microsADay)
	micros := int64(t) - days*microsADay
	return formatDay(days) + " " + formatClock(micros)
}

// formatClock writes hours, minutes and seconds; there may be more than 24 hours.
func formatClock(micros int64) string {
	seconds := micros / 1_000_000
	return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60) + formatFraction(micros%1_000_000)
}

func formatFraction(micros int64) string {
	if micros == 0 {
		return ""
	}
	return strings.TrimRight(fmt.Sprintf(".%06d", micros), "0")
}

func formatDay(days int64) string {
	t := time.Unix(days*24*60*60, 0).UTC()
	year, sign := t.Year(), ""
	switch {
	case year < 0:
		year, sign = -year, "-"
	case year > 9999:
		sign = "+"
	}
	return fmt.Sprintf("%s%04d-%02d-%02d", sign, year, int(t.Month()), t.Day())
}

// reader takes a text apart from the left.
type reader struct{ rest string }

func (r *reader) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// digits reads a number of least to most digits.
func (r *reader) digits(least, most int) (int64, bool) {
	n := 0
	for n < len(r.rest) && r.rest[n] >= '0' && r.rest[n] <= '9' {
		n++
	}
	if n < least || n > most {
		return 0, false
	}
	v, err := strconv.ParseInt(r.rest[:n], 10, 64)
	r.rest = r.rest[n:]
	return v, err == nil
}

// date reads a day; whole tells whether month and day were there.
func (r *reader) date() (days int64, whole, ok bool) {
	negative := r.take('-')
	if !negative {
		r.take('+')
	}
	year, ok := r.digits(4, 7)
	if !ok {
		return 0, false, false
	}
	if negative {
		year = -year
	}
	month, day := int64(1), int64(1)
	if r.take('-') {
		if month, ok = r.digits(1, 2); !ok {
			return 0, false, false
		}
		if r.take('-') {
			whole = true
			if day, ok = r.digits(1, 2); !ok {
				return 0, false, false
			}
		}
	}
	t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	if int64(t.Month()) != month || int64(t.Day()) != day {
		return 0, false, false
	}
	return floorDiv(t.Unix(), 24*60*60), whole, true
}

// timeOfDay reads hours, then if they are there minutes, seconds and a fraction, in microseconds.
func (r *reader) timeOfDay() (micros int64, ok bool) {
	unit := int64(3600 * 1_000_000)
	for i, limit := range []int64{24, 60, 60} {
		if i > 0 && !r.take(':') {
			return micros, true
		}
		v, ok := r.digits(1, 2)
		if !ok || v >= limit {
			return 0, false
		}
		micros += v * unit
		unit /= 60
	}
	if !r.take('.') {
		return micros, true
	}
	before := len(r.rest)
	v, ok := r.digits(1, 6)
	if !ok {
		return 0, false
	}
	for n := before - len(r.rest); n < 6; n++ {
		v *= 10
	}
	return micros + v, true
}

// zone reads a zone, if there is one, as its offset from UTC in microseconds.
func (r *reader) zone() (offset int64, zoned, ok bool) {
	r.rest = strings.TrimLeft(r.rest, " ")
	if r.rest == "" {
		return 0, false, true
	}
	for _, name := range []string{"UTC", "GMT", "Z"} {
		if rest, found := strings.CutPrefix(r.rest, name); found {
			r.rest = rest
			if rest == "" {
				return 0, true, true
			}
			break
		}
	}
	sign := int64(1)
	if r.take('-') {
		sign = -1
	} else if !r.take('+') {
		return 0, false, false
	}
	hours, ok := r.digits(1, 2)
	if !ok {
		return 0, false, false
	}
	var minutes int64
	if r.take(':') {
		if minutes, ok = r.digits(2, 2); !ok {
			return 0, false, false
		}
	}
	if minutes > 59 || hours*60+minutes > 18*60 {
		return 0, false, false
	}
	return sign * (hours*60 + minutes) * 60 * 1_000_000, true, true
}
