package function

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// layout is a format of days and times: numbers and the text between them.
type layout struct {
	text  string
	parts []layoutPart
}

// layoutPart is a number, which has a letter, or a text.
type layoutPart struct {
	letter byte // one of y M d H m s S; 0 for a text
	count  int  // how often the letter stands there
	text   string
}

// newLayout reads a format. Supported are the letters whose meaning depends on no language: yyyy or y,
// MM or M, dd or d, HH or H, mm or m, ss or s, and one to nine S. Text between apostrophes stands for
// itself, and two apostrophes are one.
func newLayout(format string) (*layout, error) {
	l := &layout{text: format}
	for rest := format; rest != ""; {
		var part layoutPart
		var n int
		var err error
		switch c := rest[0]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			part, n, err = letters(rest)
		case c == '\'':
			part.text, n, err = quotedText(rest)
		case strings.IndexByte("[]{}#", c) >= 0:
			err = fmt.Errorf("the mark %q is not supported: write it between apostrophes if the text has it", c)
		default:
			_, n = utf8.DecodeRuneInString(rest)
			part.text = rest[:n]
		}
		if err != nil {
			return nil, fmt.Errorf("the format %s: %w", shownText(format), err)
		}
		l.add(part)
		rest = rest[n:]
	}
	return l, nil
}

// add joins texts that stand together.
func (l *layout) add(p layoutPart) {
	if last := len(l.parts) - 1; last >= 0 && p.letter == 0 && l.parts[last].letter == 0 {
		l.parts[last].text += p.text
		return
	}
	l.parts = append(l.parts, p)
}

func letters(rest string) (layoutPart, int, error) {
	n := 1
	for n < len(rest) && rest[n] == rest[0] {
		n++
	}
	ok := false
	switch rest[0] {
	case 'y':
		ok = n == 1 || n == 4
	case 'M', 'd', 'H', 'm', 's':
		ok = n <= 2
	case 'S':
		ok = n <= 9
	}
	if !ok {
		return layoutPart{}, 0, fmt.Errorf("%q is not supported, only yyyy, MM, dd, HH, mm, ss, S to SSSSSSSSS, and y, M, d, H, m, s", rest[:n])
	}
	return layoutPart{letter: rest[0], count: n}, n, nil
}

// quotedText reads a text between apostrophes, of which two within it are one, and nothing is one too.
func quotedText(rest string) (text string, n int, err error) {
	for i := 1; ; {
		end := strings.IndexByte(rest[i:], '\'')
		if end < 0 {
			return "", 0, errors.New("an apostrophe has no partner")
		}
		text += rest[i : i+end]
		i += end + 1
		if i < len(rest) && rest[i] == '\'' {
			text += "'"
			i++
			continue
		}
		if text == "" {
			text = "'"
		}
		return text, i, nil
	}
}

// format writes a time. Years beyond 9999 have a sign in yyyy, as those before 0 have.
func (l *layout) format(dst []byte, micros int64) []byte {
	days := floorDiv(micros, microsADay)
	ofDay := micros - days*microsADay
	year, month, day := civil(days)
	for _, p := range l.parts {
		switch p.letter {
		case 0:
			dst = append(dst, p.text...)
		case 'y':
			dst = appendYear(dst, year, p.count)
		case 'M':
			dst = appendPadded(dst, int64(month), p.count)
		case 'd':
			dst = appendPadded(dst, int64(day), p.count)
		case 'H':
			dst = appendPadded(dst, ofDay/microsAnHour, p.count)
		case 'm':
			dst = appendPadded(dst, ofDay/microsAMinute%60, p.count)
		case 's':
			dst = appendPadded(dst, ofDay/microsASecond%60, p.count)
		case 'S':
			at := len(dst)
			dst = append(appendPadded(dst, ofDay%microsASecond, 6), "000"...)[:at+p.count]
		}
	}
	return dst
}

func appendYear(dst []byte, year int64, width int) []byte {
	switch {
	case year < 0:
		dst, year = append(dst, '-'), -year
	case year > 9999 && width == 4:
		dst = append(dst, '+')
	}
	return appendPadded(dst, year, width)
}

// appendPadded appends a number that is not negative, with zeros before it up to a width.
func appendPadded(dst []byte, v int64, width int) []byte {
	for limit := int64(10); width > 1; width, limit = width-1, limit*10 {
		if v < limit {
			dst = append(dst, '0')
		}
	}
	return strconv.AppendInt(dst, v, 10)
}

// dateFormat takes a time and its format, which has to be a constant.
func dateFormat(name string, list []Param) (*Function, error) {
	types, err := args(wantTime, wantText).bind(name, list)
	if err != nil {
		return nil, err
	}
	l, err := constantLayout(name, list[1])
	if err != nil {
		return nil, err
	}
	return &Function{Name: name, Params: types, Result: typeText, Eval: func(c *Call) arrow.Array {
		t := timesOf(c.Args[0])
		return buildText(nullsOf(c, c.Args...), typeText, func(dst []byte, row int) ([]byte, error) {
			micros, err := t.at(row)
			if err != nil {
				return nil, err
			}
			return l.format(dst, micros), nil
		})
	}}, nil
}

func constantLayout(name string, p Param) (*layout, error) {
	text, err := constantText(p)
	if err != nil {
		return nil, fmt.Errorf("%s: the format: %w", name, err)
	}
	l, err := newLayout(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}
