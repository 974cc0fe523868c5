package parquetio

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/idemtable/idem/delta"
)

// calendar says in which calendar the days of a file are counted. Spark before 3.0 (before 3.1 for INT96), and later
// ones when they are told to, count days before 1582-10-15 as the Julian calendar has them, and timestamps with the
// offsets of java.util.TimeZone; the footer tells of it (Spark's DataSourceUtils). Everybody else uses the proleptic
// Gregorian calendar of ISO 8601, and so does the log.
type calendar struct {
	dates  bool   // dates, and timestamps but for INT96, are of the old calendar
	int96  bool   // INT96 are
	zone   string // of the writer, "" if it is not told
	writer string // Spark's version, "" for other writers
}

// mostPairs is the number of the pairs of a footer that are looked at.
const mostPairs = 10_000

// pair takes in one of the footer's pairs of texts.
func (c *calendar) pair(key, value string) {
	switch key {
	case "org.apache.spark.version":
		c.writer = value
	case "org.apache.spark.legacyDateTime":
		c.dates = true
	case "org.apache.spark.legacyINT96":
		c.int96 = true
	case "org.apache.spark.timeZone":
		c.zone = value
	}
}

// settle draws the conclusions from all pairs, which are Spark's own. Spark compares versions as texts, too.
func (c *calendar) settle() {
	sparks := c.writer != ""
	c.dates = sparks && (c.dates || c.writer < "3.0.0")
	c.int96 = sparks && (c.int96 || c.writer < "3.1.0")
}

// rebase gives the conversion of a column to days and times of the calendar of now.
func (c *calendar) rebase(f leafFunc, want arrow.DataType, n *node) leafFunc {
	old := c.dates
	if n.phys == parquet.Types.Int96 {
		old = c.int96
	}
	if !old {
		return f
	}
	switch t := want.(type) {
	case *arrow.Date32Type:
		return each(f, func(d arrow.Date32) (arrow.Date32, error) { return arrow.Date32(gregorian(int64(d))), nil })
	case *arrow.TimestampType:
		if n.note == dateType {
			return each(f, gregorianTime)
		}
		if t.TimeZone != "" { // those without a zone are never of the old calendar
			return each(f, c.instant)
		}
	}
	return f
}

// each maps the values that a conversion gives. Slots without a value hold 0, which stays.
func each[T arrow.FixedWidthType](f leafFunc, to func(T) (T, error)) leafFunc {
	return func(a *assembler, l *leafReader, n int, valid []byte) ([]*memory.Buffer, error) {
		bufs, err := f(a, l, n, valid)
		if err != nil {
			return bufs, err
		}
		values := arrow.GetData[T](bufs[0].Bytes())[:n]
		for i, v := range values {
			if values[i], err = to(v); err != nil {
				return nil, err
			}
		}
		return bufs, nil
	}
}

// lastJulianDay is 1582-10-04, the last day of the Julian calendar, as days since 1970 count on in it.
const lastJulianDay = -141_428

// gregorian gives the day that has the year, month and day which the Julian calendar gives to a day.
func gregorian(day int64) int64 {
	if day > lastJulianDay {
		return day
	}
	c := day + julianEpoch + 32_082 // days since March 1 of the year -4800 (Richards 2013)
	d := floorDiv(4*c+3, 1461)
	e := c - floorDiv(1461*d, 4)
	m := (5*e + 2) / 153
	year, month, of := d-4800+m/10, m+3-12*(m/10), e-(153*m+2)/5+1
	return floorDiv(time.Date(int(year), time.Month(month), int(of), 0, 0, 0, 0, time.UTC).Unix(), 86_400)
}

func gregorianTime(at arrow.Timestamp) (arrow.Timestamp, error) {
	day := floorDiv(int64(at), microsPerDay)
	return at + arrow.Timestamp((gregorian(day)-day)*microsPerDay), nil
}

// since1900 is from when on all calendars and offsets of time zones are those of now, by a day more.
const since1900 = -2_208_902_400_000_000

// instant gives a timestamp of a time zone. Offsets from before 1900 would have to be those of the writer's Java.
func (c *calendar) instant(at arrow.Timestamp) (arrow.Timestamp, error) {
	if at >= since1900 {
		return at, nil
	}
	switch c.zone {
	case "", "UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "Universal", "Zulu", "UCT", "+00:00":
		return gregorianTime(at)
	}
	return at, fmt.Errorf("%w: a timestamp from before 1900 that Spark wrote in its old calendar and in the time zone %s (org.apache.spark.legacyDateTime): "+
		"write the file again with Spark", delta.ErrUnsupported, c.zone)
}
