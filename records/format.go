package records

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// BinaryText is how bytes are spelled in text.
type BinaryText int

const (
	// Base64 is the standard alphabet with padding (RFC 4648, section 4).
	Base64 BinaryText = iota

	// Hex is two hexadecimal digits a byte, in either case; written in lower case.
	Hex
)

// Values of Format.TimestampLayout for timestamps that are numbers: the time since 1970-01-01
// 00:00:00 UTC.
const (
	UnixSeconds = "unix seconds"
	UnixMillis  = "unix milliseconds"
	UnixMicros  = "unix microseconds"
)

// Format is how values are spelled in text, where that is not the same everywhere. The zero Format
// is ISO 8601 and base64.
type Format struct {
	_ struct{}

	// DateLayout spells dates, as a layout of package time. "" means 2006-01-02.
	DateLayout string

	// TimestampLayout spells timestamps, as a layout of package time or one of UnixSeconds,
	// UnixMillis and UnixMicros. "" means ISO 8601: a date, T or a space, a time with up to six
	// digits behind the second's point, and for instants Z or the offset from UTC. Further digits
	// must be 0.
	TimestampLayout string

	// Location is where clocks show the times of instants that are read without zone or offset.
	// nil refuses such. Instants are written in it; nil means UTC. Columns of timestamps without
	// time zone have no use for it.
	Location *time.Location

	// Binary spells bytes.
	Binary BinaryText
}

// check refuses what no column of the schema could be read or written with.
func (f Format) check(schema *arrow.Schema) error {
	if f.Binary != Base64 && f.Binary != Hex {
		return inputErrorf("Format.Binary is %d; it is Base64 or Hex", f.Binary)
	}
	instants, walls := false, false
	eachType(schema, func(t arrow.DataType) {
		if t, ok := t.(*arrow.TimestampType); ok {
			instants = instants || t.TimeZone != ""
			walls = walls || t.TimeZone == ""
		}
	})
	zone, zoned := layoutZone(f.TimestampLayout)
	switch {
	case zone == "MST":
		return inputErrorf("Format.TimestampLayout %q spells zones by abbreviations, which are not unique; use an offset as -07:00", f.TimestampLayout)
	case f.TimestampLayout == "" || f.unix() != 0:
		return nil
	case zoned && walls:
		return inputErrorf("Format.TimestampLayout %q has the zone %s, and there are columns of timestamps without time zone; leave the zone out of the layout", f.TimestampLayout, zone)
	case !zoned && instants && f.Location == nil:
		return inputErrorf("Format.TimestampLayout %q has no zone, so its times are no instants; set Format.Location (time.UTC if they are UTC)", f.TimestampLayout)
	}
	return nil
}

// layoutZone finds the zone in a layout of package time.
func layoutZone(layout string) (zone string, ok bool) {
	for _, z := range []string{"MST", "Z07:00:00", "Z07:00", "Z070000", "Z0700", "Z07", "-07:00:00", "-07:00", "-070000", "-0700", "-07"} {
		if strings.Contains(layout, z) {
			return z, true
		}
	}
	return "", false
}

// unix is the number of microseconds in the unit in which timestamps are numbers, 0 if they are not.
func (f Format) unix() int64 {
	switch f.TimestampLayout {
	case UnixSeconds:
		return microsPerSecond
	case UnixMillis:
		return 1_000
	case UnixMicros:
		return 1
	}
	return 0
}

// eachType visits the types of a schema at every level.
func eachType(schema *arrow.Schema, f func(arrow.DataType)) {
	var walk func(t arrow.DataType)
	walk = func(t arrow.DataType) {
		f(t)
		if n, ok := t.(arrow.NestedType); ok {
			for _, c := range n.Fields() {
				walk(c.Type)
			}
		}
	}
	for _, f := range schema.Fields() {
		walk(f.Type)
	}
}

const (
	cutMicros    = "has digits below a microsecond, which the column cannot hold; cut them off in the source if that is meant"
	outsideYears = "is outside the years 0001 to 9999, which are all that Delta's readers agree on"
	noZone       = "has no zone, so it is no instant; add Z or an offset, or set Format.Location if all are times of one place"
	hasZone      = "has a zone, and the column is a timestamp without time zone; leave it out, or store it in a timestamp column"
)

// date understands a date.
func (f Format) date(text []byte) (days int, why string) {
	if f.DateLayout == "" {
		if days, ok := parseDate(text); ok {
			return days, ""
		}
		return 0, "is not a date as 2013-01-31"
	}
	t, err := time.Parse(f.DateLayout, string(text))
	if err != nil {
		return 0, fmt.Sprintf("is not a date in the layout %q", f.DateLayout)
	}
	wall := wallMicros(t)
	switch {
	case wall%microsPerDay != 0 || t.Nanosecond() != 0:
		return 0, "has a time of day, which a date column cannot hold"
	case wall < minMicros || wall > maxMicros:
		return 0, outsideYears
	}
	return int(wall / microsPerDay), ""
}

// timestamp understands a timestamp; zoned says that it must be an instant, else it must be a time
// without zone.
func (f Format) timestamp(text []byte, zoned bool) (micros int64, why string) {
	if unit := f.unix(); unit != 0 {
		return unixTime(text, unit)
	}
	m, why := f.moment(text)
	switch {
	case why != "":
		return 0, why
	case m.fine:
		return 0, cutMicros
	case zoned && !m.zoned && f.Location == nil:
		return 0, noZone
	case !zoned && m.zoned:
		return 0, hasZone
	case zoned && !m.zoned:
		if m.micros, why = instantOf(f.Location, m.micros); why != "" {
			return 0, why
		}
	}
	if m.micros < minMicros || m.micros > maxMicros {
		return 0, outsideYears
	}
	return m.micros, ""
}

func (f Format) moment(text []byte) (m moment, why string) {
	if f.TimestampLayout == "" {
		if m, ok := parseMoment(text); ok {
			return m, ""
		}
		return m, "is not a timestamp as 2013-01-31T15:04:05.123456Z"
	}
	t, err := time.Parse(f.TimestampLayout, string(text))
	if err != nil {
		return m, fmt.Sprintf("is not a timestamp in the layout %q", f.TimestampLayout)
	}
	m.fine = t.Nanosecond()%1000 != 0
	if _, m.zoned = layoutZone(f.TimestampLayout); m.zoned {
		m.micros = t.UnixMicro()
	} else {
		m.micros = wallMicros(t)
	}
	return m, ""
}

func unixTime(text []byte, unit int64) (micros int64, why string) {
	v, fault := parseInt(text)
	switch {
	case fault == notANumber:
		return 0, "is not a whole number of " + map[int64]string{microsPerSecond: "seconds", 1000: "milliseconds", 1: "microseconds"}[unit]
	case fault == tooGreat, v > maxMicros/unit, v < minMicros/unit:
		return 0, outsideYears
	}
	return v * unit, ""
}
