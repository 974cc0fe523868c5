package function

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta/expr"
)

// span is an interval: months, then days, then microseconds are added.
type span struct{ months, days, micros int64 }

// intervalArithmetic gives + and - where an operand is a day, a time or an interval; ok is false where
// none is, and for other names.
//
// An interval is a constant of Arrow's month_day_nano. A DATE and an interval of months and days give a
// DATE, one with hours or less a TIMESTAMP; a TIMESTAMP and a TIMESTAMP_NTZ stay what they are. Spark
// tells INTERVAL 0 HOURS from INTERVAL 0 DAYS, here both are no time at all. A DATE and an integer give
// the DATE so many days on.
func intervalArithmetic(name string, list []Param) (*Function, bool, error) {
	if name != "+" && name != "-" || len(list) != 2 {
		return nil, false, nil
	}
	l, r := list[0], list[1]
	if !mayBeMoved(l) && !mayBeMoved(r) && !isInterval(l) && !isInterval(r) {
		return nil, false, nil
	}
	f, err := movedBy(name, l, r)
	return f, err == nil, err
}

func mayBeMoved(p Param) bool { return !isUntyped(p.Type) && isTemporal(p.Type) }

func isInterval(p Param) bool {
	return !isUntyped(p.Type) && p.Type.ID() == arrow.INTERVAL_MONTH_DAY_NANO
}

func isWhole(p Param) bool { return !isUntyped(p.Type) && arrow.IsSignedInteger(p.Type.ID()) }

func isDate(p Param) bool { return !isUntyped(p.Type) && p.Type.ID() == arrow.DATE32 }

// movedBy resolves by the types of the operands.
func movedBy(name string, l, r Param) (*Function, error) {
	switch {
	case mayBeMoved(l) && isInterval(r):
		return byInterval(name, l, r, 0)
	case isInterval(l) && mayBeMoved(r) && name == "+":
		return byInterval(name, r, l, 1)
	case isDate(l) && isWhole(r):
		return byDays(name, 0), nil
	case isWhole(l) && isDate(r) && name == "+":
		return byDays(name, 1), nil
	case isDate(l) && isDate(r) && name == "-":
		return nil, errors.New("DATE - DATE would be an INTERVAL, which is not supported: use datediff(end, start)")
	case mayBeMoved(l) && mayBeMoved(r) && name == "-":
		return nil, errors.New("the difference of times would be an INTERVAL, which is not supported: use datediff(unit, start, end)")
	case isUntyped(l.Type) || isUntyped(r.Type):
		return nil, fmt.Errorf("%s %s %s: the NULL needs a type, CAST it", operandType(l), name, operandType(r))
	}
	return nil, fmt.Errorf("there is no %s %s %s: an INTERVAL goes with a DATE, TIMESTAMP or TIMESTAMP_NTZ, and an INT with a DATE", operandType(l), name, operandType(r))
}

func operandType(p Param) string {
	if isUntyped(p.Type) {
		return "NULL"
	}
	return expr.TypeName(p.Type)
}

// byDays adds an integer to a DATE, which is the argument of a number.
func byDays(name string, date int) *Function {
	sign := int64(1)
	if name == "-" {
		sign = -1
	}
	f := &Function{Name: name, Result: typeDate, Params: []arrow.DataType{typeDate, typeLong}}
	if date == 1 {
		f.Params = []arrow.DataType{typeLong, typeDate}
	}
	f.Eval = func(c *Call) arrow.Array {
		t, n := timesOf(c.Args[date]), columnOf[int64](c.Args[1-date])
		return buildFixed(nullsOf(c, c.Args...), typeDate, func(row int) (int32, error) {
			days, ok := mul(n.at(row), sign)
			if days, fits := plus(t.day(row), days); ok && fits && days == int64(int32(days)) {
				return int32(days), nil
			}
			return 0, errMoved(name, c, row, "a DATE")
		})
	}
	return f
}

func errMoved(name string, c *Call, row int, what string) error {
	return fmt.Errorf("%s %s %s is beyond what %s holds", shownOperand(c.Args[0], row), name, shownOperand(c.Args[1], row), what)
}

func shownOperand(a Arg, row int) string {
	v, ok := a.Array.(*array.MonthDayNanoInterval)
	if !ok {
		return shown(a, row)
	}
	i := v.Value(a.At(row))
	return fmt.Sprintf("INTERVAL %d MONTHS %d DAYS %d MICROSECONDS", i.Months, i.Days, i.Nanoseconds/1000)
}

// spanOf reads a constant interval; NULL is none.
func spanOf(p Param) (s span, null bool, err error) {
	v, ok := p.Value.(*scalar.MonthDayNanoInterval)
	switch {
	case !ok:
		return span{}, false, errors.New("an INTERVAL has to be a constant")
	case !v.IsValid():
		return span{}, true, nil
	case v.Value.Nanoseconds%1000 != 0:
		return span{}, false, fmt.Errorf("an INTERVAL of %d nanoseconds is finer than microseconds", v.Value.Nanoseconds)
	}
	return span{int64(v.Value.Months), int64(v.Value.Days), v.Value.Nanoseconds / 1000}, false, nil
}

// byInterval moves a day or time, which is the argument of a number, by a constant interval.
func byInterval(name string, t, interval Param, at int) (*Function, error) {
	s, _, err := spanOf(interval)
	if err != nil {
		return nil, err
	}
	if name == "-" {
		s = span{-s.months, -s.days, -s.micros}
	}
	f := &Function{Name: name, Result: t.Type, Params: []arrow.DataType{t.Type, interval.Type}}
	if at == 1 {
		f.Params = []arrow.DataType{interval.Type, t.Type}
	}
	switch {
	case !isDate(t):
	case s.micros == 0:
		f.Eval = func(c *Call) arrow.Array { return s.moveDays(name, c, at) }
		return f, nil
	case s.months != 0:
		return nil, errors.New("an INTERVAL of months and of hours or less cannot be added to a DATE: CAST it AS TIMESTAMP")
	default:
		f.Result = timestampType
	}
	f.Eval = func(c *Call) arrow.Array { return s.moveTimes(name, f.Result, c, at) }
	return f, nil
}

func (s span) moveDays(name string, c *Call, at int) arrow.Array {
	t := timesOf(c.Args[at])
	return buildFixed(nullsOf(c, c.Args...), typeDate, func(row int) (int32, error) {
		days, ok := plusMonths(t.day(row), s.months)
		if days += s.days; !ok || days < math.MinInt32 || days > math.MaxInt32 {
			return 0, errMoved(name, c, row, "a DATE")
		}
		return int32(days), nil
	})
}

func (s span) moveTimes(name string, result arrow.DataType, c *Call, at int) arrow.Array {
	t := timesOf(c.Args[at])
	return buildFixed(nullsOf(c, c.Args...), result, func(row int) (int64, error) {
		micros, err := t.at(row)
		if err != nil {
			return 0, err
		}
		moved, ok := s.move(micros)
		if !ok {
			return 0, errMoved(name, c, row, "a TIMESTAMP")
		}
		return moved, nil
	})
}

// move adds the months first, since what a month is depends on where it starts.
func (s span) move(micros int64) (int64, bool) {
	ok := true
	if s.months != 0 {
		if micros, ok = monthsLater(micros, s.months); !ok {
			return 0, false
		}
	}
	by, ok := mul(s.days, microsADay)
	if !ok {
		return 0, false
	}
	if by, ok = plus(by, s.micros); !ok {
		return 0, false
	}
	return plus(micros, by)
}
