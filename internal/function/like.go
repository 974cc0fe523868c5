package function

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// pattern is a pattern of LIKE: the runs between its %, of which the first is where a text starts and
// the last where it ends. One run alone is both.
type pattern struct {
	runs  []run
	chars bool // there is a _ in it
}

// run is texts with one character of any kind between each and the next.
type run []string

// compile reads a pattern. escape takes the meaning from the %, the _ or the escape behind it; before
// anything else, and at the end, it is an error.
func compile(text string, escape rune) (*pattern, error) {
	p := &pattern{}
	var now run
	var b strings.Builder
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		char := text[at : at+n]
		at += n
		switch {
		case r == escape:
			next, n := utf8.DecodeRuneInString(text[at:])
			if n == 0 {
				return nil, fmt.Errorf("the pattern %s ends with its escape character %c: write it twice for the character itself", shownText(text), escape)
			}
			if next != escape && next != '%' && next != '_' {
				return nil, fmt.Errorf("in the pattern %s the escape character %c is before %q, but only %%, _ and the escape character can be escaped", shownText(text), escape, next)
			}
			b.WriteString(text[at : at+n])
			at += n
		case r == '_':
			now = append(now, b.String())
			p.chars = true
			b.Reset()
		case r == '%':
			p.runs, now = append(p.runs, append(now, b.String())), nil
			b.Reset()
		default:
			b.WriteString(char)
		}
	}
	p.runs = append(p.runs, append(now, b.String()))
	return p, nil
}

// matches says whether all of s is what the pattern describes.
func (p *pattern) matches(s string) bool {
	first, last := p.runs[0], p.runs[len(p.runs)-1]
	n, ok := first.at(s)
	if !ok {
		return false
	}
	if s = s[n:]; len(p.runs) == 1 {
		return s == ""
	}
	for _, r := range p.runs[1 : len(p.runs)-1] {
		end := r.first(s)
		if end < 0 {
			return false
		}
		s = s[end:]
	}
	return last.ends(s)
}

// at says whether s starts with the run, and with how many bytes.
func (r run) at(s string) (n int, ok bool) {
	for i, text := range r {
		if i > 0 {
			if n == len(s) {
				return 0, false
			}
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		}
		if !strings.HasPrefix(s[n:], text) {
			return 0, false
		}
		n += len(text)
	}
	return n, true
}

// first is where the first place in s ends that the run describes, -1 if there is none.
func (r run) first(s string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], r[0])
		if i < 0 {
			return -1
		}
		from += i
		if n, ok := r.at(s[from:]); ok {
			return from + n
		}
		_, size := utf8.DecodeRuneInString(s[from:])
		if size == 0 {
			return -1
		}
		from += size
	}
}

// ends says whether s ends with the run.
func (r run) ends(s string) bool {
	for i := len(r) - 1; i >= 0; i-- {
		rest, ok := strings.CutSuffix(s, r[i])
		if !ok {
			return false
		}
		if s = rest; i > 0 {
			_, size := utf8.DecodeLastRuneInString(s)
			if size == 0 {
				return false
			}
			s = s[:len(s)-size]
		}
	}
	return true
}

// defaultEscape is the escape character of a pattern that is given none.
const defaultEscape = '\\'

// like takes a text, a pattern and perhaps the escape character, which has to be a constant. With fold
// both are taken in lower case, but for the escape character.
func like(fold bool) resolver {
	s := args(wantText, wantText, wantText).optional(2)
	return func(name string, list []Param) (*Function, error) {
		types, err := s.bind(name, list)
		if err != nil {
			return nil, err
		}
		l := liker{name: name, escape: defaultEscape, fold: fold}
		if len(list) == 3 {
			if l.escape, err = escapeOf(list[2]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if text, err := constantText(list[1]); err == nil {
			if l.constant, err = l.compile(text); err != nil {
				return nil, err
			}
		}
		return &Function{Name: name, Params: types, Result: typeBool, Eval: l.eval}, nil
	}
}

// escapeOf reads an escape character. Spark takes one UTF-16 unit, so that there are none beyond it.
func escapeOf(p Param) (rune, error) {
	text, err := constantText(p)
	if err != nil {
		return 0, fmt.Errorf("the escape character: %w", err)
	}
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 || n < len(text) || n == 1 && r == utf8.RuneError || r > 0xFFFF {
		return 0, fmt.Errorf("the escape character has to be one character, not %s", shownText(text))
	}
	return r, nil
}

type liker struct {
	name     string
	escape   rune
	fold     bool
	constant *pattern // nil if patterns differ by row
}

func (l liker) folded(s string) (string, error) {
	if !l.fold {
		return s, nil
	}
	if !utf8.ValidString(s) {
		return "", errNoUTF8(l.name, s)
	}
	return string(lower(nil, s)), nil
}

func (l liker) compile(text string) (*pattern, error) {
	text, err := l.folded(text)
	if err != nil {
		return nil, err
	}
	return compile(text, l.escape)
}

func (l liker) eval(c *Call) arrow.Array {
	s, patterns := textsOf(c.Args[0]), textsOf(c.Args[1])
	p, of := l.constant, ""
	return buildBool(nullsOf(c, c.Args[0], c.Args[1]), func(row int) (bool, error) {
		if text := patterns.at(row); l.constant == nil && (p == nil || text != of) {
			var err error
			if p, err = l.compile(text); err != nil {
				return false, err
			}
			of = text
		}
		text, err := l.folded(s.at(row))
		if err != nil {
			return false, err
		}
		if p.chars && !utf8.ValidString(text) {
			return false, errNoUTF8(l.name, text)
		}
		return p.matches(text), nil
	})
}
