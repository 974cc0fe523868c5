package function

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// part is the characters from start to end, both counted from 0, as far as there are such.
func part(s string, isBytes bool, start, end int64) string {
	start = max(start, 0)
	if end <= start {
		return ""
	}
	if isBytes {
		return s[min(start, int64(len(s))):min(end, int64(len(s)))]
	}
	s = s[skip(s, start):]
	return s[:skip(s, end-start)]
}

// cut is length characters from position pos on. Positions count from 1, or from the end by negative
// numbers; 0 is 1. What lies before the first character counts, but there is nothing.
func cut(s string, isBytes bool, pos, length int64) string {
	start := int64(0)
	switch {
	case pos > 0:
		start = pos - 1
	case pos < 0:
		start = characters(s, isBytes) + pos
	}
	return part(s, isBytes, start, start+length)
}

// cuts makes a part of each text, which integers tell.
func cuts(f func(s string, isBytes bool, n []int64) string) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		s, t := textsOf(c.Args[0]), c.Args[0].DataType()
		v := intsOf(c.Args[1:]...)
		return buildText(nullsOf(c, c.Args...), t, func(dst []byte, row int) ([]byte, error) {
			n, err := v.at(row)
			if err != nil {
				return nil, err
			}
			return append(dst, f(s.at(row), t.ID() == arrow.BINARY, n)...), nil
		})
	}
}

// allOf is a length that no text exceeds, and the one that Spark counts with where none is given.
const allOf = math.MaxInt32

func substring(s string, isBytes bool, n []int64) string {
	if len(n) == 1 {
		return cut(s, isBytes, n[0], allOf)
	}
	return cut(s, isBytes, n[0], n[1])
}

func left(s string, isBytes bool, n []int64) string { return part(s, isBytes, 0, n[0]) }

func right(s string, isBytes bool, n []int64) string {
	if n[0] <= 0 {
		return ""
	}
	return cut(s, isBytes, -n[0], allOf)
}

// trimmed takes characters away at one end or both. order tells which argument is the text and which
// the characters, which are spaces if they are not given.
func trimmed(order func(c *Call) (text, set Arg, ok bool), atStart, atEnd bool) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		textArg, setArg, given := order(c)
		s := textsOf(textArg)
		set := func(int) string { return " " }
		if given {
			set = textsOf(setArg).at
		}
		return buildText(nullsOf(c, c.Args...), typeText, func(dst []byte, row int) ([]byte, error) {
			v, chars := s.at(row), set(row)
			if atStart {
				v = trimStart(v, chars)
			}
			if atEnd {
				v = trimEnd(v, chars)
			}
			return append(dst, v...), nil
		})
	}
}

// trimOf is the order of btrim: the text, then the characters.
func trimOf(c *Call) (text, set Arg, given bool) {
	if len(c.Args) == 1 {
		return c.Args[0], Arg{}, false
	}
	return c.Args[0], c.Args[1], true
}

// trimSet is the order of trim, ltrim and rtrim, as in TRIM(BOTH set FROM text).
func trimSet(c *Call) (text, set Arg, given bool) {
	if len(c.Args) == 1 {
		return c.Args[0], Arg{}, false
	}
	return c.Args[1], c.Args[0], true
}

func trimStart(s, set string) string {
	for s != "" {
		n := width(s[0])
		if n > len(s) || !strings.Contains(set, s[:n]) {
			break
		}
		s = s[n:]
	}
	return s
}

// trimEnd goes from the end where the text is UTF-8; in others only the start tells how characters are
// cut.
func trimEnd(s, set string) string {
	if utf8.ValidString(s) {
		for s != "" {
			_, n := utf8.DecodeLastRuneInString(s)
			if !strings.Contains(set, s[len(s)-n:]) {
				break
			}
			s = s[:len(s)-n]
		}
		return s
	}
	end := 0 // behind the last character that stays
	for at := 0; at < len(s); {
		next := at + width(s[at])
		if next > len(s) || !strings.Contains(set, s[at:next]) {
			end = min(next, len(s))
		}
		at = next
	}
	return s[:end]
}

var errPartZero = errors.New("split_part counts parts from 1, and by negative numbers from the end: there is no part 0")

// splitPart is a part of a text between delimiters, empty if there are not so many. An empty delimiter
// is found nowhere.
func splitPart(c *Call) arrow.Array {
	s, delimiter, which := textsOf(c.Args[0]), textsOf(c.Args[1]), intsOf(c.Args[2])
	return buildText(nullsOf(c, c.Args...), typeText, func(dst []byte, row int) ([]byte, error) {
		n, err := which.at(row)
		switch {
		case err != nil:
			return nil, err
		case n[0] == 0:
			return nil, errPartZero
		}
		return append(dst, splitAt(s.at(row), delimiter.at(row), n[0])...), nil
	})
}

// splitAt finds a part from the left, since delimiters that overlap count from there.
func splitAt(s, delimiter string, n int64) string {
	if delimiter == "" {
		if n == 1 || n == -1 {
			return s
		}
		return ""
	}
	if n < 0 {
		if n += int64(strings.Count(s, delimiter)) + 2; n <= 0 {
			return ""
		}
	}
	for ; n > 1; n-- {
		_, rest, found := strings.Cut(s, delimiter)
		if !found {
			return ""
		}
		s = rest
	}
	s, _, _ = strings.Cut(s, delimiter)
	return s
}

// tested asks something of two texts or binaries.
func tested(f func(s, what string) bool) func([]arrow.DataType) *Function {
	return func([]arrow.DataType) *Function {
		return &Function{Result: typeBool, Eval: func(c *Call) arrow.Array {
			s, what := textsOf(c.Args[0]), textsOf(c.Args[1])
			return buildBool(nullsOf(c, c.Args...), func(row int) (bool, error) {
				return f(s.at(row), what.at(row)), nil
			})
		}}
	}
}

func startsWith(s, what string) bool { return strings.HasPrefix(s, what) }
func endsWith(s, what string) bool   { return strings.HasSuffix(s, what) }
func contains(s, what string) bool   { return strings.Contains(s, what) }

// found is the position of what in s from a position on, both counted from 1; 0 if it is not there.
// An empty text is at 1, wherever the search starts.
func found(s, what string, from int64) (int32, error) {
	switch {
	case from < 1:
		return 0, nil
	case what == "":
		return 1, nil
	}
	start := skip(s, from-1)
	i := strings.Index(s[start:], what)
	if i < 0 {
		return 0, nil
	}
	n := from + count(s[start:start+i])
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("the position %d does not fit into INT", n)
	}
	return int32(n), nil
}

func instr(c *Call) arrow.Array {
	s, what := textsOf(c.Args[0]), textsOf(c.Args[1])
	return buildFixed(nullsOf(c, c.Args...), typeInt, func(row int) (int32, error) {
		return found(s.at(row), what.at(row), 1)
	})
}

// locate is 0 where the position to start from is NULL, whatever else is NULL.
func locate(c *Call) arrow.Array {
	what, s := textsOf(c.Args[0]), textsOf(c.Args[1])
	if len(c.Args) == 2 {
		return buildFixed(nullsOf(c, c.Args...), typeInt, func(row int) (int32, error) {
			return found(s.at(row), what.at(row), 1)
		})
	}
	start := c.Args[2]
	from := intsOf(start)
	return buildFixed(nullsOf(c), typeInt, func(row int) (int32, error) {
		switch {
		case start.IsNull(start.At(row)):
			return 0, nil
		case s.arg.IsNull(s.arg.At(row)) || what.arg.IsNull(what.arg.At(row)):
			return 0, errNull
		}
		n, err := from.at(row)
		if err != nil {
			return 0, err
		}
		return found(s.at(row), what.at(row), n[0])
	})
}
