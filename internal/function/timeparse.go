package function

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// mostDigits is how many digits a number may have whose width is not given.
const mostDigits = 19

// reader is a layout that texts are read by.
type reader struct {
	*layout
	follow []int // of each number, the digits of those directly behind it
}

// newReader refuses layouts that Java reads by rules of its own: a number twice, and numbers that stand
// together where the first does not end by its width.
func newReader(l *layout) (*reader, error) {
	r := &reader{layout: l, follow: make([]int, len(l.parts))}
	var seen [256]bool
	for i, p := range l.parts {
		if p.letter == 0 {
			continue
		}
		if seen[p.letter] {
			return nil, fmt.Errorf("the format %s has %c twice: texts are read by formats that name a number once", shownText(l.text), p.letter)
		}
		seen[p.letter] = true
		for _, q := range l.parts[i+1:] {
			if q.letter == 0 {
				break
			}
			if !p.bounded() && !q.fixed() {
				return nil, fmt.Errorf("the format %s has no mark between %c and the numbers behind it: texts are read by formats in which numbers end by a mark, or have two digits behind the first", shownText(l.text), p.letter)
			}
			if p.bounded() {
				break
			}
			r.follow[i] += q.count
		}
	}
	return r, nil
}

// fixed says whether a number has as many digits as letters, bounded whether it has no more.
func (p layoutPart) fixed() bool   { return p.count == 2 && p.letter != 'S' }
func (p layoutPart) bounded() bool { return p.count == 2 || p.letter == 'S' }

// civilTime is what a text says.
type civilTime struct {
	year                             int64
	month, day, hour, minute, second int64
	micros                           int64 // of the second
}

// errUnread says that a text is not what the format describes.
var errUnread = errors.New("unread")

// read reads a text as a time in microseconds. What the format lacks is that of 1970-01-01.
func (r *reader) read(s string) (int64, error) {
	t := civilTime{year: 1970, month: 1, day: 1}
	for i, p := range r.parts {
		var ok bool
		switch p.letter {
		case 0:
			s, ok = cutText(s, p.text)
		case 'y':
			t.year, s, ok = cutYear(s, p.count, r.follow[i])
		case 'S':
			t.micros, s, ok = cutFraction(s, p.count)
		default:
			var n int64
			n, s, ok = cutNumber(s, p, r.follow[i])
			*t.part(p.letter) = n
		}
		if !ok {
			return 0, errUnread
		}
	}
	if s != "" {
		return 0, errUnread
	}
	if !t.valid() {
		return 0, errUnread
	}
	micros, ok := t.plus(t.micros)
	if !ok {
		return 0, errBeyond
	}
	return micros, nil
}

func (t *civilTime) part(letter byte) *int64 {
	switch letter {
	case 'M':
		return &t.month
	case 'd':
		return &t.day
	case 'H':
		return &t.hour
	case 'm':
		return &t.minute
	}
	return &t.second
}

var errBeyond = errors.New("it is beyond what a TIMESTAMP holds")

// valid says whether a time is one of the calendar.
func (t *civilTime) valid() bool {
	const mostYear = 999_999_999
	return t.year >= -mostYear && t.year <= mostYear && t.month >= 1 && t.month <= 12 && t.day >= 1 && t.day <= int64(daysIn(t.year, int(t.month))) &&
		t.hour >= 0 && t.hour <= 23 && t.minute >= 0 && t.minute <= 59 && t.second >= 0 && t.second <= 59
}

// plus is the time in microseconds, and so many more, unless it is beyond what a TIMESTAMP holds.
func (t *civilTime) plus(micros int64) (int64, bool) {
	micros += t.hour*microsAnHour + t.minute*microsAMinute + t.second*microsASecond
	return microsOf(daysOf(t.year, int(t.month), int(t.day)), micros)
}

// cutText takes a text from the start, in upper or lower case.
func cutText(s, text string) (rest string, ok bool) {
	for _, want := range text {
		got, n := utf8.DecodeRuneInString(s)
		if n == 0 || got != want && unicode.ToUpper(got) != unicode.ToUpper(want) && unicode.ToLower(got) != unicode.ToLower(want) {
			return s, false
		}
		if got == utf8.RuneError && n == 1 {
			return s, false
		}
		s = s[n:]
	}
	return s, true
}

// digitsOf is the number of digits at the start, at most a number of them.
func digitsOf(s string, most int) int {
	n := 0
	for n < len(s) && n < most && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// cutDigits reads a number of least or more digits, and leaves as many as follow.
func cutDigits(s string, least, follow int) (v int64, width int, rest string, ok bool) {
	width = max(least, digitsOf(s, mostDigits+follow)-follow)
	if digitsOf(s, width) < width {
		return 0, 0, s, false
	}
	v, err := strconv.ParseInt(s[:width], 10, 64)
	return v, width, s[width:], err == nil
}

func cutNumber(s string, p layoutPart, follow int) (v int64, rest string, ok bool) {
	if p.fixed() {
		if digitsOf(s, 2) < 2 {
			return 0, s, false
		}
		return int64(s[0]-'0')*10 + int64(s[1]-'0'), s[2:], true
	}
	v, _, rest, ok = cutDigits(s, 1, follow)
	return v, rest, ok
}

// cutYear reads a year. Of yyyy the sign + is there where, and only where, it has more than four digits.
func cutYear(s string, count, follow int) (v int64, rest string, ok bool) {
	digits, negative := strings.CutPrefix(s, "-")
	signed := false
	if !negative && count == 4 {
		digits, signed = strings.CutPrefix(s, "+")
	}
	v, width, rest, ok := cutDigits(digits, count, follow)
	switch {
	case !ok || negative && v == 0:
		return 0, s, false
	case negative:
		return -v, rest, true
	case count == 4 && signed != (width > 4):
		return 0, s, false
	}
	return v, rest, true
}

// cutFraction reads the digits of a second's fraction, as many as there are up to a number. What is
// finer than microseconds is left out.
func cutFraction(s string, most int) (micros int64, rest string, ok bool) {
	n := digitsOf(s, most)
	for i := range 6 {
		micros *= 10
		if i < n {
			micros += int64(s[i] - '0')
		}
	}
	return micros, s[n:], n > 0
}

// castTo is a CAST of a text, a day or a time.
func castTo(result arrow.DataType) resolver {
	return func(name string, list []Param) (*Function, error) {
		types, err := args(wantTextOrTime).bind(name, list)
		if err != nil {
			return nil, err
		}
		f, err := Cast(types[0], result)
		if err != nil {
			return nil, err
		}
		named := *f
		named.Name = name
		return &named, nil
	}
}

// parsed takes a text and its format, which has to be a constant, or a day or time. A text without a
// format is CAST.
func parsed(result arrow.DataType) resolver {
	return func(name string, list []Param) (*Function, error) {
		if len(list) == 1 {
			return castTo(result)(name, list)
		}
		types, err := args(wantTextOrTime, wantText).bind(name, list)
		if err != nil {
			return nil, err
		}
		if types[0].ID() != arrow.STRING {
			f, err := castTo(result)(name, list[:1])
			if err != nil {
				return nil, err
			}
			return &Function{Name: name, Params: append(f.Params, typeText), Result: result, Eval: func(c *Call) arrow.Array {
				inner := *c
				inner.Args = c.Args[:1]
				return f.Eval(&inner)
			}}, nil
		}
		l, err := constantLayout(name, list[1])
		if err != nil {
			return nil, err
		}
		r, err := newReader(l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &Function{Name: name, Params: types, Result: result, Eval: r.eval(result)}, nil
	}
}

var wantTextOrTime = want{words: "a STRING, DATE, TIMESTAMP or TIMESTAMP_NTZ", takes: func(p Param) arrow.DataType {
	if isTemporal(p.Type) || p.Type.ID() == arrow.STRING {
		return p.Type
	}
	return nil
}, null: typeText}

func (r *reader) eval(result arrow.DataType) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		s, n := textsOf(c.Args[0]), nullsOf(c, c.Args...)
		read := func(row int) (int64, error) {
			micros, err := r.read(s.at(row))
			if err == errUnread {
				err = fmt.Errorf("%s is no time of the format %s", shownText(s.at(row)), shownText(r.text))
			} else if err != nil {
				err = fmt.Errorf("%s: %w", shownText(s.at(row)), err)
			}
			return micros, err
		}
		if result.ID() != arrow.DATE32 {
			return buildFixed(n, result, read)
		}
		return buildFixed(n, result, func(row int) (int32, error) {
			micros, err := read(row)
			return int32(floorDiv(micros, microsADay)), err
		})
	}
}
