package function

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// dayUnits are the units that a day is brought to the start of.
var dayUnits = map[string]func(days int64) int64{
	"YEAR": startOfYear, "YYYY": startOfYear, "YY": startOfYear,
	"QUARTER": func(days int64) int64 { y, m, _ := civil(days); return daysOf(y, (m-1)/3*3+1, 1) },
	"MONTH":   startOfMonth, "MM": startOfMonth, "MON": startOfMonth,
	"WEEK": func(days int64) int64 { return days - int64(weekday(days)) },
}

// timeUnits are the shorter units, in microseconds.
var timeUnits = map[string]int64{
	"DAY": microsADay, "DD": microsADay, "HOUR": microsAnHour, "MINUTE": microsAMinute, "SECOND": microsASecond, "MILLISECOND": 1000, "MICROSECOND": 1,
}

func startOfYear(days int64) int64 { y, _, _ := civil(days); return daysOf(y, 1, 1) }

func startOfMonth(days int64) int64 { y, m, _ := civil(days); return daysOf(y, m, 1) }

// truncDate takes a day and a unit, which has to be a constant. One that it does not know is refused;
// Spark gives NULL.
func truncDate(name string, list []Param) (*Function, error) {
	types, err := args(wantDay, wantText).bind(name, list)
	if err != nil {
		return nil, err
	}
	word, err := constantWord(name, "unit", list[1])
	if err != nil {
		return nil, err
	}
	start, ok := dayUnits[word]
	if !ok {
		return nil, fmt.Errorf("%s: there is no unit %q: there are YEAR, QUARTER, MONTH and WEEK", name, word)
	}
	return &Function{Name: name, Params: types, Result: typeDate, Eval: func(c *Call) arrow.Array {
		t := timesOf(c.Args[0])
		return buildDays(c, name, nullsOf(c, c.Args...), func(row int) (int64, bool) {
			return start(t.day(row)), true
		})
	}}, nil
}

// truncTime takes a unit, which has to be a constant, and a time, also one without a zone, but gives a
// TIMESTAMP as Spark does.
func truncTime(name string, list []Param) (*Function, error) {
	types, err := args(wantText, wantTime).bind(name, list)
	if err != nil {
		return nil, err
	}
	word, err := constantWord(name, "unit", list[0])
	if err != nil {
		return nil, err
	}
	start, ofDay := dayUnits[word], timeUnits[word]
	if start == nil && ofDay == 0 {
		return nil, fmt.Errorf("%s: there is no unit %q: there are YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND and MICROSECOND", name, word)
	}
	return &Function{Name: name, Params: types, Result: timestampType, Eval: func(c *Call) arrow.Array {
		t := timesOf(c.Args[1])
		return buildFixed(nullsOf(c, c.Args...), timestampType, func(row int) (int64, error) {
			micros, err := t.at(row)
			if err != nil {
				return 0, err
			}
			if start != nil {
				micros, ok := microsOf(start(floorDiv(micros, microsADay)), 0)
				return micros, unless(ok, name, c, row)
			}
			past := micros - floorDiv(micros, ofDay)*ofDay
			micros, ok := plus(micros, -past)
			return micros, unless(ok, name, c, row)
		})
	}}, nil
}

// unless is no error if a time is in range.
func unless(ok bool, name string, c *Call, row int) error {
	if ok {
		return nil
	}
	return errTimeRange(name, c, row)
}
