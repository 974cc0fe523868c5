package expr

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Interval is a length of time: months, or days and time, as INTERVAL '1-2' YEAR TO MONTH or
// INTERVAL '1 02:03:04' DAY TO SECOND. A year is 12 months; a day is one of the calendar, whatever
// its hours. As in Spark there is no interval of both, and nothing finer than a microsecond.
func Interval(months, days int, rest time.Duration) Expr {
	if int64(int32(months)) != int64(months) || int64(int32(days)) != int64(days) {
		return &Invalid{Err: fmt.Errorf("an interval of %d months and %d days is beyond what an interval holds", months, days), At: built}
	}
	return Lit(arrow.MonthDayNanoInterval{Months: int32(months), Days: int32(days), Nanoseconds: int64(rest)})
}

func intervalScalar(v arrow.MonthDayNanoInterval) (scalar.Scalar, error) {
	switch {
	case v.Months != 0 && (v.Days != 0 || v.Nanoseconds != 0):
		return nil, fmt.Errorf("an interval of %d months, %d days and %d ns has months, and days or time: use two, one of each", v.Months, v.Days, v.Nanoseconds)
	case v.Nanoseconds%1000 != 0:
		return nil, fmt.Errorf("an interval of %d ns is finer than a microsecond", v.Nanoseconds)
	}
	return scalar.NewMonthDayNanoIntervalScalar(v), nil
}

// intervalUnit is a unit of one of the three parts of an interval.
type intervalUnit struct {
	part int // 0: months, 1: days, 2: nanoseconds
	size int64
}

var intervalUnits = map[string]intervalUnit{
	"YEAR": {0, 12}, "MONTH": {0, 1}, "WEEK": {1, 7}, "DAY": {1, 1}, "HOUR": {2, 3600e9}, "MINUTE": {2, 60e9},
	"SECOND": {2, 1e9}, "MILLISECOND": {2, 1e6}, "MICROSECOND": {2, 1e3},
}

// unitNamed finds a unit in upper case, in the singular or plural.
func unitNamed(name string) (intervalUnit, bool) {
	u, ok := intervalUnits[strings.TrimSuffix(name, "S")]
	return u, ok
}

// span is an interval in the making: months, days, nanoseconds, and which of them were named.
type span struct {
	parts [3]int64
	named [3]bool
}

// add counts n units and a fraction in billionths, which only seconds have.
func (s *span) add(n, billionths int64, u intervalUnit) error {
	if billionths != 0 && u.size != 1e9 {
		return errors.New("only seconds have a fraction")
	}
	if n > math.MaxInt64/u.size || n < -math.MaxInt64/u.size {
		return errIntervalRange
	}
	sum := s.parts[u.part]
	for _, more := range []int64{n * u.size, billionths} {
		if more > 0 && sum > math.MaxInt64-more || more < 0 && sum < -math.MaxInt64-more {
			return errIntervalRange
		}
		sum += more
	}
	s.parts[u.part], s.named[u.part] = sum, true
	return nil
}

var errIntervalRange = errors.New("the interval is beyond what an interval holds")

func (s *span) scalar() (scalar.Scalar, error) {
	if s.named[0] && (s.named[1] || s.named[2]) {
		return nil, errors.New("an interval has years and months, or days and time: use two, one of each")
	}
	months, days := int32(s.parts[0]), int32(s.parts[1])
	if int64(months) != s.parts[0] || int64(days) != s.parts[1] {
		return nil, errIntervalRange
	}
	return intervalScalar(arrow.MonthDayNanoInterval{Months: months, Days: days, Nanoseconds: s.parts[2]})
}

// sign reads a sign, if there is one, and the blanks behind it.
func (r *reader) sign() int64 {
	sign := int64(1)
	if r.take('-') {
		sign = -1
	} else {
		r.take('+')
	}
	r.blanks()
	return sign
}

const blanks = " \t\r\n"

func (r *reader) blanks() { r.rest = strings.TrimLeft(r.rest, blanks) }

// word is the text up to the next blank.
func (r *reader) word() string {
	if n := strings.IndexAny(r.rest, blanks); n >= 0 {
		return r.rest[:n]
	}
	return r.rest
}

// quantity reads a number with a sign, a point and digits behind it, in billionths.
func (r *reader) quantity() (whole, billionths int64, ok bool) {
	sign := r.sign()
	point := strings.HasPrefix(r.rest, ".")
	if !point {
		if whole, ok = r.digits(1, 18); !ok {
			return 0, 0, false
		}
	}
	if r.take('.') {
		if billionths, ok = r.fraction(!point); !ok {
			return 0, 0, false
		}
	}
	return sign * whole, sign * billionths, true
}

// fraction reads the digits behind a point, in billionths. Where they are optional there may be none.
func (r *reader) fraction(optional bool) (billionths int64, ok bool) {
	before := len(r.rest)
	if billionths, ok = r.digits(1, 9); !ok {
		return 0, optional
	}
	for n := before - len(r.rest); n < 9; n++ {
		billionths *= 10
	}
	return billionths, true
}

// parseUnits reads '1 day -2.5 seconds', which may have the word interval before it.
func parseUnits(text string) (scalar.Scalar, error) {
	bad := fmt.Errorf("%q is no interval: write numbers with units, '1 day 2 hours'", clip(text))
	r := reader{rest: strings.TrimSpace(text)}
	if first := r.word(); strings.EqualFold(first, "interval") {
		r.rest = r.rest[len(first):]
		r.blanks()
	}
	var s span
	for first := true; first || r.rest != ""; first = false {
		whole, billionths, ok := r.quantity()
		before := len(r.rest)
		r.blanks()
		if !ok || len(r.rest) == before {
			return nil, bad
		}
		name := r.word()
		r.rest = r.rest[len(name):]
		r.blanks()
		u, ok := unitNamed(strings.ToUpper(name))
		if !ok {
			return nil, bad
		}
		if err := s.add(whole, billionths, u); err != nil {
			return nil, fmt.Errorf("%q: %w", clip(text), err)
		}
	}
	return s.scalar()
}

// ranges are the fields of an interval from one unit to another, and how they are written.
var ranges = map[string]struct {
	units []string
	form  string
}{
	"YEAR TO MONTH":    {[]string{"YEAR", "MONTH"}, "y-m"},
	"DAY TO HOUR":      {[]string{"DAY", "HOUR"}, "d h"},
	"DAY TO MINUTE":    {[]string{"DAY", "HOUR", "MINUTE"}, "d h:m"},
	"DAY TO SECOND":    {[]string{"DAY", "HOUR", "MINUTE", "SECOND"}, "d h:m:s.f"},
	"HOUR TO MINUTE":   {[]string{"HOUR", "MINUTE"}, "h:m"},
	"HOUR TO SECOND":   {[]string{"HOUR", "MINUTE", "SECOND"}, "h:m:s.f"},
	"MINUTE TO SECOND": {[]string{"MINUTE", "SECOND"}, "m:s.f"},
}

// fieldLimits are what the fields behind the first stay below.
var fieldLimits = map[string]int64{"MONTH": 12, "HOUR": 24, "MINUTE": 60, "SECOND": 60}

// parseRange reads '1-2' YEAR TO MONTH, '1 02:03:04.5' DAY TO SECOND and what is between. negative is
// a sign before the text.
func parseRange(text, name string, negative bool) (scalar.Scalar, error) {
	as, ok := ranges[name]
	if !ok {
		return nil, fmt.Errorf("there is no interval %s", name)
	}
	bad := fmt.Errorf("%q is no interval %s: write '%s', the parts behind the first within their limits", clip(text), name, as.form)
	r := reader{rest: strings.TrimSpace(text)}
	sign := r.sign()
	if negative {
		sign = -sign
	}
	var s span
	for i, unit := range as.units {
		most := 18
		if i > 0 {
			most = 2
			if !r.take(as.form[2*i-1]) {
				return nil, bad
			}
		}
		n, ok := r.digits(1, most)
		if limit := fieldLimits[unit]; !ok || i > 0 && n >= limit {
			return nil, bad
		}
		var billionths int64
		if unit == "SECOND" && r.take('.') {
			if billionths, ok = r.fraction(false); !ok {
				return nil, bad
			}
		}
		if err := s.add(sign*n, sign*billionths, intervalUnits[unit]); err != nil {
			return nil, err
		}
	}
	if r.rest != "" {
		return nil, bad
	}
	return s.scalar()
}

// interval reads what follows INTERVAL: a text with units, a text and FROM TO, or numbers with units
// behind them.
func (p *parser) interval(at int) (Expr, error) {
	if p.tok.kind == str && !beforeUnit(p.peek()) {
		v, err := parseUnits(p.tok.val)
		if err != nil {
			return nil, p.fail(p.tok.at, err.Error())
		}
		return &Literal{Value: v, At: at}, p.advance()
	}
	var s span
	for first := true; first || p.startsQuantity(); first = false {
		sign, value := "", p.tok
		if value.kind == symbol {
			sign = value.val
			if err := p.advance(); err != nil {
				return nil, err
			}
			value = p.tok
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		unit := p.tok
		if !beforeUnit(unit) {
			return nil, p.expected("a unit of time, YEAR to MICROSECOND")
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if first && p.isKeyword("TO") {
			return p.intervalRange(at, value, unit.val, sign == "-")
		}
		if err := p.count(&s, value, unit, sign == "-"); err != nil {
			return nil, err
		}
	}
	v, err := s.scalar()
	if err != nil {
		return nil, p.fail(at, err.Error())
	}
	return &Literal{Value: v, At: at}, nil
}

// count adds a number with its unit to an interval.
func (p *parser) count(s *span, value, unit token, negative bool) error {
	text := value.text
	if value.kind == str {
		text = strings.TrimSpace(value.val)
	}
	r := reader{rest: text}
	whole, billionths, ok := r.quantity()
	if !ok || r.rest != "" {
		return p.fail(value.at, clip(value.text)+" is no number of "+unit.val)
	}
	if negative {
		whole, billionths = -whole, -billionths
	}
	u, _ := unitNamed(unit.val)
	if err := s.add(whole, billionths, u); err != nil {
		return p.fail(value.at, err.Error())
	}
	return nil
}

func (p *parser) intervalRange(at int, value token, from string, negative bool) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	to := p.tok
	if to.kind != word {
		return nil, p.expected("a unit")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if value.kind != str {
		return nil, p.fail(value.at, "expected a string before "+from+" TO "+to.val+", found "+value.describe())
	}
	v, err := parseRange(value.val, from+" TO "+to.val, negative)
	if err != nil {
		return nil, p.fail(value.at, err.Error())
	}
	return &Literal{Value: v, At: at}, nil
}

// beforeUnit tells whether a value that t follows is a number of units.
func beforeUnit(t token) bool {
	_, ok := unitNamed(t.val)
	return t.kind == word && ok
}

// startsInterval tells whether the word INTERVAL before the token begins a literal.
func (p *parser) startsInterval() bool {
	return p.tok.kind == str || p.tok.kind == number || p.startsQuantity()
}

// startsQuantity tells whether a number, with a sign or as a text, and a unit come next.
func (p *parser) startsQuantity() bool {
	tok, ahead := p.tok, p.lexer
	if p.isSymbol("-") || p.isSymbol("+") {
		var err error
		if tok, err = ahead.next(); err != nil {
			return false
		}
	}
	if tok.kind != str && (tok.kind != number || tok.val != "" || strings.ContainsAny(tok.text, "eE")) {
		return false
	}
	unit, err := ahead.next()
	return err == nil && beforeUnit(unit)
}

// formatInterval is the text of an interval behind the word INTERVAL.
func formatInterval(v arrow.MonthDayNanoInterval) string {
	micros, days := v.Nanoseconds/1000, int64(v.Days)
	sign, months := "", int64(v.Months)
	if months < 0 || days < 0 || days == 0 && micros < 0 {
		sign, months, days, micros = "-", -months, -days, -micros
	}
	switch {
	case months != 0 && months%12 == 0:
		return fmt.Sprintf("'%s%d' YEAR", sign, months/12)
	case months > 0 && months < 12:
		return fmt.Sprintf("'%s%d' MONTH", sign, months)
	case months != 0:
		return fmt.Sprintf("'%s%d-%d' YEAR TO MONTH", sign, months/12, months%12)
	case micros == 0:
		return fmt.Sprintf("'%s%d' DAY", sign, days)
	case days == 0:
		return "'" + sign + formatClock(micros) + "' HOUR TO SECOND"
	case micros > 0 && micros < microsADay:
		return fmt.Sprintf("'%s%d %s' DAY TO SECOND", sign, days, formatClock(micros))
	}
	// Days and time that differ in sign, or more than a day of time beside days, have no other form.
	back := sign
	if micros < 0 {
		back, micros = choose(sign == "", "-", ""), -micros
	}
	return fmt.Sprintf("'%s%d days %s%d%s seconds'", sign, days, back, micros/1_000_000, formatFraction(micros%1_000_000))
}
