package delta

import (
	"strings"
	"time"
)

// Dates and timestamps are read and written here without time.Time's nanoseconds, whose 64 bits end in 1677 and 2262.
// The calendar is the proleptic Gregorian one.

const (
	microsPerMilli  = 1_000
	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond

	minDay = -719_162  // 0001-01-01
	maxDay = 2_932_896 // 9999-12-31

	minMicros = minDay * microsPerDay
	maxMicros = (maxDay+1)*microsPerDay - 1

	maxYear          = 999_999 // of a date that is read
	maxTimestampYear = 290_000 // beyond it microseconds leave 64 bits
)

// daysOf counts days from 1970-01-01 (Howard Hinnant's days_from_civil).
func daysOf(year, month, day int) int {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	return era*146_097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719_468
}

func floorDiv[T int | int64](a, b T) T {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// textReader takes a date or time apart.
type textReader struct{ rest string }

// digits reads between least and most decimal digits.
func (r *textReader) digits(least, most int) (n int, ok bool) {
	i := 0
	for i < len(r.rest) && i < most && r.rest[i] >= '0' && r.rest[i] <= '9' {
		n = n*10 + int(r.rest[i]-'0')
		i++
	}
	r.rest = r.rest[i:]
	return n, i >= least
}

// byte consumes one of set, 0 if none comes next.
func (r *textReader) byte(set string) byte {
	if r.rest == "" || strings.IndexByte(set, r.rest[0]) < 0 {
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

// date reads [±]y…y-M-d; month and day may lack their zero.
func (r *textReader) date() (year, days int, ok bool) {
	sign := r.byte("+-")
	year, ok = r.digits(4, 6)
	if sign == '-' {
		year = -year
	}
	if !ok || r.byte("-") == 0 {
		return 0, 0, false
	}
	month, ok := r.digits(1, 2)
	if !ok || month < 1 || month > 12 || r.byte("-") == 0 {
		return 0, 0, false
	}
	day, ok := r.digits(1, 2)
	if !ok || day < 1 || day > daysIn(year, month) {
		return 0, 0, false
	}
	return year, daysOf(year, month, day), true
}

// clock reads HH:mm[:ss[.f…]]; digits beyond microseconds are dropped. digits is how many the fraction had.
func (r *textReader) clock() (micros int64, digits int, ok bool) {
	hour, okHour := r.digits(2, 2)
	if !okHour || hour > 23 || r.byte(":") == 0 {
		return 0, 0, false
	}
	minute, okMinute := r.digits(2, 2)
	if !okMinute || minute > 59 {
		return 0, 0, false
	}
	micros = int64(hour*3600+minute*60) * microsPerSecond
	if r.byte(":") == 0 {
		return micros, 0, true
	}
	second, okSecond := r.digits(2, 2)
	if !okSecond || second > 59 {
		return 0, 0, false
	}
	micros += int64(second) * microsPerSecond
	if r.byte(".") == 0 {
		return micros, 0, true
	}
	unit := int64(microsPerSecond)
	for ; digits < 9; digits++ {
		d := r.byte("0123456789")
		if d == 0 {
			break
		}
		unit /= 10
		micros += int64(d-'0') * unit
	}
	return micros, digits, digits > 0
}

// zone reads Z or ±HH[[:]mm[:ss]] and gives the offset east of UTC.
func (r *textReader) zone() (micros int64, ok bool) {
	sign := r.byte("Z+-")
	if sign == 'Z' || sign == 0 {
		return 0, sign == 'Z'
	}
	hour, ok := r.digits(2, 2)
	seconds := hour * 3600
	for _, unit := range []int{60, 1} {
		if !ok || r.rest == "" {
			break
		}
		r.byte(":")
		var n int
		n, ok = r.digits(2, 2)
		ok = ok && n < 60
		seconds += n * unit
	}
	if !ok || seconds > 18*3600 {
		return 0, false
	}
	if sign == '-' {
		seconds = -seconds
	}
	return int64(seconds) * microsPerSecond, true
}

// parseDate reads a date alone, as days from the epoch.
func parseDate(text string) (days int, ok bool) {
	r := textReader{text}
	_, days, ok = r.date()
	return days, ok && r.rest == ""
}

// moment is a timestamp's text, understood.
type moment struct {
	micros int64 // since the epoch; in UTC if the text has a zone, else as if it were UTC
	zoned  bool
	offset int64 // of the zone, microseconds
	digits int   // of the fraction, as written
}

// parseMoment reads a date, or a date and a time separated by "T" or a space, with or without a zone.
func parseMoment(text string) (m moment, ok bool) {
	r := textReader{text}
	year, days, ok := r.date()
	if !ok || year > maxTimestampYear || year < -maxTimestampYear {
		return moment{}, false
	}
	m.micros = int64(days) * microsPerDay
	if r.rest == "" {
		return m, true
	}
	if r.byte("T ") == 0 {
		return moment{}, false
	}
	clock, digits, ok := r.clock()
	if !ok {
		return moment{}, false
	}
	m.micros, m.digits = m.micros+clock, digits
	if r.rest == "" {
		return m, true
	}
	m.offset, m.zoned = r.zone()
	m.micros -= m.offset
	return m, m.zoned && r.rest == ""
}

// formatDay writes yyyy-MM-dd; the years 1 to 9999 can be written.
func formatDay(days int64) (text string, ok bool) {
	if days < minDay || days > maxDay {
		return "", false
	}
	return time.Unix(days*86_400, 0).UTC().Format(time.DateOnly), true
}

// formatMicros writes a timestamp in one of time's layouts; the years 1 to 9999 can be written.
func formatMicros(micros int64, layout string) (text string, ok bool) {
	if micros < minMicros || micros > maxMicros {
		return "", false
	}
	return time.UnixMicro(micros).UTC().Format(layout), true
}
