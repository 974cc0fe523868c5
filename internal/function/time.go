package function

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta/expr"
)

// Days count from 1970-01-01, times are microseconds from its start in UTC. The calendar is the
// proleptic Gregorian one; a TIMESTAMP is read in UTC, whatever the session of other engines is.

var (
	typeDate      arrow.DataType = arrow.FixedWidthTypes.Date32
	timestampType arrow.DataType = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	ntzType       arrow.DataType = &arrow.TimestampType{Unit: arrow.Microsecond}
)

const (
	microsASecond = 1_000_000
	microsAMinute = 60 * microsASecond
	microsAnHour  = 60 * microsAMinute
	microsADay    = 24 * microsAnHour
)

// temporal are the functions of days and times. What leaves the range of DATE or TIMESTAMP is an error
// of the row, also where Spark goes on at the other end of the range.
var temporal = map[string]resolver{
	"year":       field("YEAR"),
	"quarter":    field("QUARTER"),
	"month":      field("MONTH"),
	"day":        field("DAY"),
	"dayofmonth": field("DAY"),
	"dayofweek":  field("DAYOFWEEK"),
	"weekday":    args(wantDay).gives(typeInt, ofDay(weekday)),
	"dayofyear":  field("DOY"),
	"weekofyear": field("WEEK"),
	"hour":       field("HOUR"),
	"minute":     field("MINUTE"),
	"second":     args(wantTime).gives(typeInt, ofTime(second)),
	"monthname":  args(wantDay).gives(typeText, named(monthName)),
	"dayname":    args(wantDay).gives(typeText, named(dayName)),
	"extract":    extract,
	"date_part":  extract,
	"datepart":   extract,

	"date_add":      args(wantDay, wantInt).gives(typeDate, addDays("date_add", 1)),
	"date_sub":      args(wantDay, wantInt).gives(typeDate, addDays("date_sub", -1)),
	"dateadd":       either(args(wantDay, wantInt).gives(typeDate, addDays("dateadd", 1)), timestampAdd),
	"timestampadd":  timestampAdd,
	"datediff":      either(args(wantDay, wantDay).gives(typeInt, dateDiff), timestampDiff),
	"date_diff":     either(args(wantDay, wantDay).gives(typeInt, dateDiff), timestampDiff),
	"timestampdiff": timestampDiff,

	"add_months":     args(wantDay, wantInt).gives(typeDate, addMonths),
	"months_between": args(wantTime, wantTime, wantBool).optional(2).gives(arrow.PrimitiveTypes.Float64, monthsBetween),
	"last_day":       args(wantDay).gives(typeDate, lastDay),
	"next_day":       args(wantDay, wantText).gives(typeDate, nextDay),
	"trunc":          truncDate,
	"date_trunc":     truncTime,

	"date":                castTo(typeDate),
	"timestamp":           castTo(timestampType),
	"date_format":         dateFormat,
	"to_date":             parsed(typeDate),
	"to_timestamp":        parsed(timestampType),
	"to_timestamp_ntz":    parsed(ntzType),
	"make_date":           args(wantInt, wantInt, wantInt).gives(typeDate, makeDate),
	"make_timestamp":      args(wantInt, wantInt, wantInt, wantInt, wantInt, wantSeconds).gives(timestampType, makeTimestamp(timestampType)),
	"make_timestamp_ltz":  args(wantInt, wantInt, wantInt, wantInt, wantInt, wantSeconds).gives(timestampType, makeTimestamp(timestampType)),
	"make_timestamp_ntz":  args(wantInt, wantInt, wantInt, wantInt, wantInt, wantSeconds).gives(ntzType, makeTimestamp(ntzType)),
	"unix_seconds":        args(wantTimestamp).gives(typeLong, unix(microsASecond)),
	"unix_millis":         args(wantTimestamp).gives(typeLong, unix(1000)),
	"unix_micros":         args(wantTimestamp).gives(typeLong, unix(1)),
	"unix_date":           args(wantDate).gives(typeInt, ofDay(func(days int64) int32 { return int32(days) })),
	"timestamp_seconds":   args(wantSeconds).gives(timestampType, fromSeconds),
	"timestamp_millis":    args(wantInt).gives(timestampType, fromUnix("timestamp_millis", 1000)),
	"timestamp_micros":    args(wantInt).gives(timestampType, fromUnix("timestamp_micros", 1)),
	"date_from_unix_date": args(wantInt).gives(typeDate, fromUnixDate),
}

// either resolves by the number of arguments: two are two's.
func either(two, other resolver) resolver {
	return func(name string, list []Param) (*Function, error) {
		if len(list) == 2 {
			return two(name, list)
		}
		return other(name, list)
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// civil is a day of the calendar (Howard Hinnant's civil_from_days).
func civil(days int64) (year int64, month, day int) {
	days += 719_468
	era := floorDiv(days, 146_097)
	ofEra := days - era*146_097
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36_524 - ofEra/146_096) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100) // from 1 March on
	shifted := (5*ofYear + 2) / 153
	day = int(ofYear - (153*shifted+2)/5 + 1)
	month = int((shifted+2)%12 + 1)
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// daysOf is the inverse of civil.
func daysOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	ofYear := int64((153*((month+9)%12)+2)/5 + day - 1)
	return era*146_097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + ofYear - 719_468
}

func daysIn(year int64, month int) int {
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

// plusMonths moves a day by months; the last day of a shorter month stands for those that it lacks.
func plusMonths(days, months int64) (int64, bool) {
	if months > 1<<40 || months < -1<<40 {
		return 0, false
	}
	year, month, day := civil(days)
	months += year*12 + int64(month) - 1
	year = floorDiv(months, 12)
	month = int(months-year*12) + 1
	return daysOf(year, month, min(day, daysIn(year, month))), true
}

// times are the values of an argument of days or times, by row.
type times struct {
	isDate bool
	days   column[int32]
	micros column[int64]
}

func timesOf(a Arg) times {
	if a.DataType().ID() == arrow.DATE32 {
		return times{isDate: true, days: columnOf[int32](a)}
	}
	return times{micros: columnOf[int64](a)}
}

// day is the day, that of a time in UTC.
func (t times) day(row int) int64 {
	if t.isDate {
		return int64(t.days.at(row))
	}
	return floorDiv(t.micros.at(row), microsADay)
}

// at is the time, that of a day its start.
func (t times) at(row int) (int64, error) {
	if !t.isDate {
		return t.micros.at(row), nil
	}
	days := t.days.at(row)
	micros, ok := microsOf(int64(days), 0)
	if !ok {
		return 0, fmt.Errorf("the day %s is beyond what a TIMESTAMP holds", expr.FormatDate(arrow.Date32(days)))
	}
	return micros, nil
}

// microsOf joins a day and the microseconds behind its start, of which there may be more or less than a
// day has.
func microsOf(days, micros int64) (int64, bool) {
	days, ok := plus(days, floorDiv(micros, microsADay))
	if !ok || days < math.MinInt64/microsADay-1 || days > math.MaxInt64/microsADay {
		return 0, false
	}
	micros -= floorDiv(micros, microsADay) * microsADay
	if days < 0 { // a day less first, so that the sum stays in range where it is
		return plus((days+1)*microsADay, micros-microsADay)
	}
	return plus(days*microsADay, micros)
}

func plus(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func mul(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	product := a * b
	return product, product/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

// called is a call as error texts show it: "date_add(2024-02-28, 5)".
func called(name string, c *Call, row int) string {
	var b strings.Builder
	b.WriteString(name + "(")
	for i, a := range c.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(shown(a, row))
	}
	return b.String() + ")"
}

// buildDays makes a day of each row; f says false where there is none, which is beyond the range then.
func buildDays(c *Call, name string, n *nulls, f func(row int) (int64, bool)) arrow.Array {
	return buildFixed(n, typeDate, func(row int) (int32, error) {
		days, ok := f(row)
		if !ok || days != int64(int32(days)) {
			return 0, fmt.Errorf("%s is beyond what a DATE holds", called(name, c, row))
		}
		return int32(days), nil
	})
}

func errTimeRange(name string, c *Call, row int) error {
	return fmt.Errorf("%s is beyond what a TIMESTAMP holds", called(name, c, row))
}

// constantWord is an argument that names something, in upper case.
func constantWord(name, what string, p Param) (string, error) {
	word, err := constantText(p)
	if err != nil {
		return "", fmt.Errorf("%s: the %s: %w", name, what, err)
	}
	return strings.ToUpper(word), nil
}
