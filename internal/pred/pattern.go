package pred

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// pattern is what LIKE matches with: parts between the % of its text.
type pattern struct{ parts []part }

// part matches a run of characters: texts with wild characters between them. There is one text more than
// there are wild characters; texts may be empty.
type part []string

// newPattern reads a pattern as Spark does: the escape character may stand before % and _ and
// itself.
func newPattern(text string, escape rune) (pattern, error) {
	var p pattern
	literal := ""
	current := part{}
	for rest := text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		char := rest[:n]
		rest = rest[n:]
		switch {
		case r == escape && r != utf8.RuneError:
			next, n := utf8.DecodeRuneInString(rest)
			switch {
			case rest == "":
				return p, fmt.Errorf("the pattern %.60q ends with the escape character %q; write it twice to mean itself", text, escape)
			case next != '%' && next != '_' && next != escape:
				return p, fmt.Errorf("in the pattern %.60q the escape character %q is before %q; it may stand before %%, _ and itself", text, escape, next)
			}
			literal += rest[:n]
			rest = rest[n:]
		case r == '%':
			p.parts = append(p.parts, append(current, literal))
			current, literal = part{}, ""
		case r == '_':
			current, literal = append(current, literal), ""
		default:
			literal += char
		}
	}
	p.parts = append(p.parts, append(current, literal))
	return p, nil
}

// prefix is what every match begins with; whole says that nothing may follow, any that anything
// may.
func (p pattern) prefix() (prefix string, whole, any bool) {
	first := p.parts[0]
	plain := len(first) == 1
	whole = plain && len(p.parts) == 1
	any = plain && len(p.parts) > 1
	for _, rest := range p.parts[1:] {
		any = any && len(rest) == 1 && rest[0] == ""
	}
	return first[0], whole, any
}

// match tells whether a text matches. Each part between two % takes the first place that it finds:
// if the rest matches behind any, it does behind the first.
func (p pattern) match(s string) bool {
	last := len(p.parts) - 1
	n := p.parts[0].at(s)
	if n < 0 || last == 0 {
		return n == len(s)
	}
	s = s[n:]
	for _, x := range p.parts[1:last] {
		end := x.find(s)
		if end < 0 {
			return false
		}
		s = s[end:]
	}
	return p.parts[last].ends(s)
}

// at matches at the start of s, and gives the length of the match, or -1.
func (p part) at(s string) int {
	n := 0
	for i, text := range p {
		if i > 0 {
			if n == len(s) {
				return -1
			}
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		}
		if !strings.HasPrefix(s[n:], text) {
			return -1
		}
		n += len(text)
	}
	return n
}

// find gives the end of the first match in s, or -1.
func (p part) find(s string) int {
	for start := 0; ; {
		i := strings.Index(s[start:], p[0])
		if i < 0 {
			return -1
		}
		start += i
		if n := p.at(s[start:]); n >= 0 {
			return start + n
		}
		if start == len(s) {
			return -1
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		start += size
	}
}

// ends tells whether s ends with a match.
func (p part) ends(s string) bool {
	if len(p) == 1 {
		return strings.HasSuffix(s, p[0])
	}
	for start := 0; start < len(s); {
		if p.at(s[start:]) == len(s)-start {
			return true
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		start += size
	}
	return false
}

// beginning is the set of the strings that begin with a prefix.
func beginning(prefix string) keySet {
	end := strings.TrimRight(prefix, "\xff")
	if end == "" {
		return from(bound{key: key{s: prefix}}, beyond)
	}
	end = end[:len(end)-1] + string([]byte{end[len(end)-1] + 1})
	return from(bound{key: key{s: prefix}}, bound{key: key{s: end}})
}
