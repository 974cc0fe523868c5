package function

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// A field is of the day, or of the time since the start of the day.
type fieldOf struct {
	day  func(days int64) int32
	time func(micros int64) int32
}

// fields are the fields that EXTRACT knows, under the first of their names; SECOND is beside them.
var fields = map[string]fieldOf{
	"YEAR":          {day: func(days int64) int32 { y, _, _ := civil(days); return int32(y) }},
	"YEAROFWEEK":    {day: func(days int64) int32 { y, _, _ := civil(thursday(days)); return int32(y) }},
	"QUARTER":       {day: func(days int64) int32 { _, m, _ := civil(days); return int32(m+2) / 3 }},
	"MONTH":         {day: func(days int64) int32 { _, m, _ := civil(days); return int32(m) }},
	"WEEK":          {day: func(days int64) int32 { return (dayOfYear(thursday(days))-1)/7 + 1 }},
	"DAY":           {day: func(days int64) int32 { _, _, d := civil(days); return int32(d) }},
	"DAYOFWEEK":     {day: func(days int64) int32 { return (weekday(days)+1)%7 + 1 }},
	"DAYOFWEEK_ISO": {day: func(days int64) int32 { return weekday(days) + 1 }},
	"DOY":           {day: dayOfYear},
	"HOUR":          {time: func(micros int64) int32 { return int32(micros / microsAnHour) }},
	"MINUTE":        {time: func(micros int64) int32 { return int32(micros / microsAMinute % 60) }},
}

// fieldNames are the other names of fields.
var fieldNames = map[string]string{
	"Y": "YEAR", "YEARS": "YEAR", "YR": "YEAR", "YRS": "YEAR", "QTR": "QUARTER", "MON": "MONTH", "MONS": "MONTH", "MONTHS": "MONTH",
	"W": "WEEK", "WEEKS": "WEEK", "D": "DAY", "DAYS": "DAY", "DOW": "DAYOFWEEK", "DOW_ISO": "DAYOFWEEK_ISO",
	"H": "HOUR", "HOURS": "HOUR", "HR": "HOUR", "HRS": "HOUR", "M": "MINUTE", "MIN": "MINUTE", "MINS": "MINUTE", "MINUTES": "MINUTE",
	"S": "SECOND", "SEC": "SECOND", "SECONDS": "SECOND", "SECS": "SECOND",
}

// weekday counts from 0, Monday.
func weekday(days int64) int32 { return int32(days + 3 - floorDiv(days+3, 7)*7) }

func dayOfYear(days int64) int32 {
	year, _, _ := civil(days)
	return int32(days-daysOf(year, 1, 1)) + 1
}

// thursday is that of the week, which decides to which year the week belongs.
func thursday(days int64) int64 { return days - int64(weekday(days)) + 3 }

func second(micros int64) int32 { return int32(micros / microsASecond % 60) }

// ofDay computes an INT of each day.
func ofDay(f func(days int64) int32) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		t := timesOf(c.Args[0])
		return buildFixed(nullsOf(c, c.Args[0]), typeInt, func(row int) (int32, error) {
			return f(t.day(row)), nil
		})
	}
}

// ofTime computes an INT of the time of each day, in microseconds since its start.
func ofTime(f func(micros int64) int32) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		t := timesOf(c.Args[0])
		return buildFixed(nullsOf(c, c.Args[0]), typeInt, func(row int) (int32, error) {
			return f(t.ofDay(row)), nil
		})
	}
}

// ofDay is the microseconds since the start of the day.
func (t times) ofDay(row int) int64 {
	if t.isDate {
		return 0
	}
	micros := t.micros.at(row)
	return micros - floorDiv(micros, microsADay)*microsADay
}

// field is the function of a field.
func field(name string) resolver {
	f := fields[name]
	if f.day != nil {
		return args(wantDay).gives(typeInt, ofDay(f.day))
	}
	return args(wantTime).gives(typeInt, ofTime(f.time))
}

var secondType = &arrow.Decimal128Type{Precision: 8, Scale: 6}

// extract takes the name of a field, which has to be a constant, and a day or time.
func extract(name string, list []Param) (*Function, error) {
	if len(list) != 2 {
		return nil, fmt.Errorf("%s takes the name of a field and %s; %s", name, wantTime.words, given(len(list)))
	}
	word, err := constantWord(name, "name of the field", list[0])
	if err != nil {
		return nil, err
	}
	if first, ok := fieldNames[word]; ok {
		word = first
	}
	var f *Function
	if word == "SECOND" {
		f, err = args(wantTime).gives(secondType, seconds)(name, list[1:])
	} else if _, ok := fields[word]; ok {
		f, err = field(word)(name, list[1:])
	} else {
		return nil, fmt.Errorf("%s: there is no field %q: there are YEAR, YEAROFWEEK, QUARTER, MONTH, WEEK, DAY, DAYOFWEEK, DAYOFWEEK_ISO, DOY, HOUR, MINUTE and SECOND", name, word)
	}
	if err != nil {
		return nil, err
	}
	return behindWord(f), nil
}

// behindWord makes a function of one that has a word as an argument before its own.
func behindWord(f *Function) *Function {
	behind := *f
	behind.Params = append([]arrow.DataType{typeText}, f.Params...)
	behind.Eval = func(c *Call) arrow.Array {
		inner := *c
		inner.Args = c.Args[1:]
		return f.Eval(&inner)
	}
	return &behind
}

// seconds are those of the minute with their fraction.
func seconds(c *Call) arrow.Array {
	t := timesOf(c.Args[0])
	return buildFixed(nullsOf(c, c.Args[0]), secondType, func(row int) (decimal128.Num, error) {
		return decimal128.FromI64(t.ofDay(row) % microsAMinute), nil
	})
}

// named gives each day a name of three letters.
func named(f func(days int64) string) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		t := timesOf(c.Args[0])
		return buildText(nullsOf(c, c.Args[0]), typeText, func(dst []byte, row int) ([]byte, error) {
			return append(dst, f(t.day(row))...), nil
		})
	}
}

func dayName(days int64) string {
	return weekdays[weekday(days)][:1] + strings.ToLower(weekdays[weekday(days)][1:3])
}

func monthName(days int64) string {
	_, month, _ := civil(days)
	return time.Month(month).String()[:3]
}
