package records

import (
	"time"
)

// Dates and times are read and written without time.Time's nanoseconds, whose 64 bits end in 1677
// and 2262. The calendar is the proleptic Gregorian one, in the years 0001 to 9999.

const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
	microsPerDay    = secondsPerDay * microsPerSecond

	minDay    = -719_162  // 0001-01-01
	maxDay    = 2_932_896 // 9999-12-31
	minMicros = minDay * microsPerDay
	maxMicros = (maxDay+1)*microsPerDay - 1
)

// civilReader takes the text of a date or time apart.
type civilReader struct{ rest []byte }

// digits reads exactly n decimal digits.
func (r *civilReader) digits(n int) (v int, ok bool) {
	if len(r.rest) < n {
		return 0, false
	}
	for _, c := range r.rest[:n] {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	r.rest = r.rest[n:]
	return v, true
}

// one consumes a byte if it is c or d.
func (r *civilReader) one(c, d byte) bool {
	if len(r.rest) == 0 || r.rest[0] != c && r.rest[0] != d {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// date reads yyyy-MM-dd and gives the days since 1970-01-01.
func (r *civilReader) date() (days int, ok bool) {
	year, ok := r.digits(4)
	if !ok || year == 0 || !r.one('-', '-') {
		return 0, false
	}
	month, ok := r.digits(2)
	if !ok || month < 1 || month > 12 || !r.one('-', '-') {
		return 0, false
	}
	day, ok := r.digits(2)
	if !ok || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	return daysOf(year, month, day), true
}

// clock reads HH:mm[:ss[.f…]] as microseconds. fine says that a digit below them is not 0.
func (r *civilReader) clock() (micros int64, fine, ok bool) {
	hour, ok := r.digits(2)
	if !ok || hour > 23 || !r.one(':', ':') {
		return 0, false, false
	}
	minute, ok := r.digits(2)
	if !ok || minute > 59 {
		return 0, false, false
	}
	seconds := hour*3600 + minute*60
	if !r.one(':', ':') {
		return int64(seconds) * microsPerSecond, false, true
	}
	second, ok := r.digits(2)
	if !ok || second > 59 {
		return 0, false, false
	}
	micros = int64(seconds+second) * microsPerSecond
	if !r.one('.', '.') {
		return micros, false, true
	}
	unit, n := int64(microsPerSecond), 0
	for n < len(r.rest) && r.rest[n] >= '0' && r.rest[n] <= '9' {
		d := int64(r.rest[n] - '0')
		unit /= 10
		micros += d * unit
		fine = fine || unit == 0 && d != 0
		n++
	}
	r.rest = r.rest[n:]
	return micros, fine, n > 0
}

// zone reads Z, UTC or ±HH[[:]mm], after at most one space, and gives the offset east of UTC.
func (r *civilReader) zone() (micros int64, ok bool) {
	r.one(' ', ' ')
	if string(r.rest) == "UTC" {
		r.rest = nil
		return 0, true
	}
	if r.one('Z', 'z') {
		return 0, true
	}
	sign := int64(1)
	if r.one('-', '-') {
		sign = -1
	} else if !r.one('+', '+') {
		return 0, false
	}
	hour, ok := r.digits(2)
	if !ok || hour > 18 {
		return 0, false
	}
	minute := 0
	if len(r.rest) > 0 {
		r.one(':', ':')
		if minute, ok = r.digits(2); !ok || minute > 59 {
			return 0, false
		}
	}
	return sign * int64(hour*3600+minute*60) * microsPerSecond, true
}

// parseDate reads yyyy-MM-dd.
func parseDate(text []byte) (days int, ok bool) {
	r := civilReader{text}
	days, ok = r.date()
	return days, ok && len(r.rest) == 0
}

// moment is a timestamp's text, understood.
type moment struct {
	micros int64 // since the epoch; in UTC if the text has a zone, else as if it were UTC
	zoned  bool
	fine   bool // a digit below the microsecond is not 0
}

// parseMoment reads a date, or a date and a time separated by T or a space, with or without a zone.
func parseMoment(text []byte) (m moment, ok bool) {
	r := civilReader{text}
	days, ok := r.date()
	if !ok {
		return m, false
	}
	m.micros = int64(days) * microsPerDay
	if len(r.rest) == 0 {
		return m, true
	}
	if !r.one('T', ' ') && !r.one('t', 't') {
		return m, false
	}
	clock, fine, ok := r.clock()
	if !ok {
		return m, false
	}
	m.micros, m.fine = m.micros+clock, fine
	if len(r.rest) == 0 {
		return m, true
	}
	offset, ok := r.zone()
	m.micros, m.zoned = m.micros-offset, true
	return m, ok && len(r.rest) == 0
}

// daysOf counts days from 1970-01-01 (Howard Hinnant's days_from_civil), for years from 1 on.
func daysOf(year, month, day int) int {
	if month <= 2 {
		year--
	}
	era := year / 400
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	return era*146_097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719_468
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

func dayTime(days int64) time.Time { return time.Unix(days*secondsPerDay, 0).UTC() }

// wallMicros is what a clock in t's location shows, as microseconds since its 1970-01-01.
func wallMicros(t time.Time) int64 {
	_, offset := t.Zone()
	return t.UnixMicro() + int64(offset)*microsPerSecond
}

// instantOf finds the instant at which clocks in a location show a wall time. why says that there is
// none, or more than one.
func instantOf(loc *time.Location, wall int64) (micros int64, why string) {
	found := 0
	last := int64(0)
	for _, around := range []int64{-microsPerDay, microsPerDay} {
		_, offset := time.UnixMicro(wall + around).In(loc).Zone()
		at := wall - int64(offset)*microsPerSecond
		if wallMicros(time.UnixMicro(at).In(loc)) != wall || found > 0 && at == last {
			continue
		}
		found++
		micros, last = at, at
	}
	switch found {
	case 0:
		return 0, "is a time that clocks in " + loc.String() + " skipped; write it with its offset from UTC"
	case 1:
		return micros, ""
	}
	return 0, "is a time that clocks in " + loc.String() + " showed twice; write it with its offset from UTC"
}
