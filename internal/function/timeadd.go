package function

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// addDays adds days, or with the sign -1 takes them away.
func addDays(name string, sign int64) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		t, n := timesOf(c.Args[0]), columnOf[int64](c.Args[1])
		return buildDays(c, name, nullsOf(c, c.Args...), func(row int) (int64, bool) {
			days, ok := mul(n.at(row), sign)
			if !ok {
				return 0, false
			}
			return plus(t.day(row), days)
		})
	}
}

func dateDiff(c *Call) arrow.Array {
	end, start := timesOf(c.Args[0]), timesOf(c.Args[1])
	return buildFixed(nullsOf(c, c.Args...), typeInt, func(row int) (int32, error) {
		days := end.day(row) - start.day(row)
		if days != int64(int32(days)) {
			return 0, fmt.Errorf("%s does not fit into INT", called("datediff", c, row))
		}
		return int32(days), nil
	})
}

func addMonths(c *Call) arrow.Array {
	t, n := timesOf(c.Args[0]), columnOf[int64](c.Args[1])
	return buildDays(c, "add_months", nullsOf(c, c.Args...), func(row int) (int64, bool) {
		return plusMonths(t.day(row), n.at(row))
	})
}

func lastDay(c *Call) arrow.Array {
	t := timesOf(c.Args[0])
	return buildDays(c, "last_day", nullsOf(c, c.Args[0]), func(row int) (int64, bool) {
		year, month, _ := civil(t.day(row))
		return daysOf(year, month, daysIn(year, month)), true
	})
}

// nextDay is the first day after a day that has a name of the week.
func nextDay(c *Call) arrow.Array {
	t, word := timesOf(c.Args[0]), textsOf(c.Args[1])
	return buildFixed(nullsOf(c, c.Args...), typeDate, func(row int) (int32, error) {
		which, ok := weekdayOf(word.at(row))
		if !ok {
			return 0, fmt.Errorf("%s is no day of the week: write MON or MONDAY", shownText(word.at(row)))
		}
		days := t.day(row)
		days += int64((which-weekday(days)+6)%7) + 1
		if days > math.MaxInt32 {
			return 0, fmt.Errorf("%s is beyond what a DATE holds", called("next_day", c, row))
		}
		return int32(days), nil
	})
}

var weekdays = [...]string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"}

// weekdayOf reads the English name of a day of the week, or its first two or three letters.
func weekdayOf(word string) (int32, bool) {
	for i, name := range weekdays {
		for _, known := range []string{name, name[:3], name[:2]} {
			if len(word) == len(known) && strings.EqualFold(word, known) {
				return int32(i), true
			}
		}
	}
	return 0, false
}

// unit is a length of time: so many months, or so many microseconds.
type unit struct{ months, micros int64 }

var units = map[string]unit{
	"YEAR": {months: 12}, "QUARTER": {months: 3}, "MONTH": {months: 1}, "WEEK": {micros: 7 * microsADay}, "DAY": {micros: microsADay},
	"DAYOFYEAR": {micros: microsADay}, "HOUR": {micros: microsAnHour}, "MINUTE": {micros: microsAMinute}, "SECOND": {micros: microsASecond},
	"MILLISECOND": {micros: 1000}, "MICROSECOND": {micros: 1},
}

// unitOf reads the unit that has to be the first of three arguments.
func unitOf(name, what string, list []Param, without string) (unit, error) {
	if len(list) != 3 {
		return unit{}, fmt.Errorf("%s takes a unit, %s; %s", name, what, given(len(list)))
	}
	word, err := constantWord(name, "unit", list[0])
	if err != nil {
		return unit{}, err
	}
	u, ok := units[word]
	if !ok || word == without {
		return unit{}, fmt.Errorf("%s: there is no unit %q: there are YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND and MICROSECOND", name, word)
	}
	return u, nil
}

// timestampAdd takes a unit, how many of it, and a time.
func timestampAdd(name string, list []Param) (*Function, error) {
	u, err := unitOf(name, args(wantInt, wantTime).String(), list, "")
	if err != nil {
		return nil, err
	}
	types, err := args(wantText, wantInt, wantTime).bind(name, list)
	if err != nil {
		return nil, err
	}
	result := timestampType
	if isMicros(types[2]) {
		result = types[2]
	}
	return &Function{Name: name, Params: types, Result: result, Eval: func(c *Call) arrow.Array {
		n, t := columnOf[int64](c.Args[1]), timesOf(c.Args[2])
		return buildFixed(nullsOf(c, c.Args...), result, func(row int) (int64, error) {
			micros, err := t.at(row)
			if err != nil {
				return 0, err
			}
			sum, ok := u.add(micros, n.at(row))
			if !ok {
				return 0, errTimeRange(name, c, row)
			}
			return sum, nil
		})
	}}, nil
}

// add moves a time by n units.
func (u unit) add(micros, n int64) (int64, bool) {
	if u.months == 0 {
		n, ok := mul(n, u.micros)
		if !ok {
			return 0, false
		}
		return plus(micros, n)
	}
	months, ok := mul(n, u.months)
	if !ok {
		return 0, false
	}
	return monthsLater(micros, months)
}

// monthsLater moves a time by months and keeps the time of day.
func monthsLater(micros, months int64) (int64, bool) {
	days := floorDiv(micros, microsADay)
	ofDay := micros - days*microsADay
	if days, ok := plusMonths(days, months); ok {
		return microsOf(days, ofDay)
	}
	return 0, false
}

// timestampDiff takes a unit and two times, and gives how many whole units are between them.
func timestampDiff(name string, list []Param) (*Function, error) {
	what := args(wantTime, wantTime).String()
	if strings.HasPrefix(name, "date") {
		what += ", or two days without a unit"
	}
	u, err := unitOf(name, what, list, "DAYOFYEAR")
	if err != nil {
		return nil, err
	}
	types, err := args(wantText, wantTime, wantTime).bind(name, list)
	if err != nil {
		return nil, err
	}
	return &Function{Name: name, Params: types, Result: typeLong, Eval: func(c *Call) arrow.Array {
		start, end := timesOf(c.Args[1]), timesOf(c.Args[2])
		return buildFixed(nullsOf(c, c.Args...), typeLong, func(row int) (int64, error) {
			from, err := start.at(row)
			if err != nil {
				return 0, err
			}
			to, err := end.at(row)
			if err != nil {
				return 0, err
			}
			n, ok := u.between(from, to)
			if !ok {
				return 0, fmt.Errorf("%s does not fit into BIGINT", called(name, c, row))
			}
			return n, nil
		})
	}}, nil
}

// between is the number of whole units from one time to another.
func (u unit) between(from, to int64) (int64, bool) {
	fromDay, toDay := floorDiv(from, microsADay), floorDiv(to, microsADay)
	days, rest := toDay-fromDay, (to-toDay*microsADay)-(from-fromDay*microsADay)
	if u.months != 0 {
		switch {
		case days > 0 && rest < 0:
			toDay--
		case days < 0 && rest > 0:
			toDay++
		}
		return monthsFrom(fromDay, toDay) / u.months, true
	}
	switch { // both of one sign
	case days > 0 && rest < 0:
		days, rest = days-1, rest+microsADay
	case days < 0 && rest > 0:
		days, rest = days+1, rest-microsADay
	}
	if u.micros > microsADay {
		return days / (u.micros / microsADay), true
	}
	n, ok := mul(days, microsADay/u.micros)
	if !ok {
		return 0, false
	}
	return plus(n, rest/u.micros)
}

// monthsFrom is the number of whole months between two days.
func monthsFrom(from, to int64) int64 {
	y1, m1, d1 := civil(from)
	y2, m2, d2 := civil(to)
	return ((y2*12+int64(m2))*32 + int64(d2) - (y1*12+int64(m1))*32 - int64(d1)) / 32
}

// monthsBetween counts a month as 31 days, but that two days of one number, or two last days of months,
// are whole months apart whatever the time of day. It is rounded to eight digits unless the third
// argument is FALSE.
func monthsBetween(c *Call) arrow.Array {
	t1, t2 := timesOf(c.Args[0]), timesOf(c.Args[1])
	rounds := func(int) bool { return true }
	if len(c.Args) == 3 {
		round := c.Args[2]
		values := round.Array.(*array.Boolean)
		rounds = func(row int) bool { return values.Value(round.At(row)) }
	}
	return buildFixed(nullsOf(c, c.Args...), arrow.PrimitiveTypes.Float64, func(row int) (float64, error) {
		months := monthsApart(t1.day(row), t2.day(row), t1.ofDay(row)/microsASecond, t2.ofDay(row)/microsASecond)
		if rounds(row) {
			months = roundHalfUp(months*1e8) / 1e8
		}
		return months, nil
	})
}

func monthsApart(days1, days2, seconds1, seconds2 int64) float64 {
	const secondsADay = 24 * 60 * 60
	y1, m1, d1 := civil(days1)
	y2, m2, d2 := civil(days2)
	months := float64(y1*12 + int64(m1) - y2*12 - int64(m2))
	if d1 == d2 || d1 == daysIn(y1, m1) && d2 == daysIn(y2, m2) {
		return months
	}
	apart := int64(d1-d2)*secondsADay + seconds1 - seconds2
	return months + float64(apart)/(31*secondsADay)
}

// roundHalfUp is Java's Math.round.
func roundHalfUp(f float64) float64 {
	down := math.Floor(f)
	if f-down >= 0.5 {
		return down + 1
	}
	return down
}
