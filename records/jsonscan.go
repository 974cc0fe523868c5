package records

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth bounds how deep objects and arrays nest that are passed over. Those that are read nest
// as deep as the schema.
const maxJSONDepth = 100

// jsonScanner reads the JSON text (RFC 8259) of one line in place. The text is valid UTF-8.
type jsonScanner struct {
	data []byte
	pos  int
	buf  []byte // the last string that had escapes
}

// jsonSyntax says that the line is no JSON, and from which byte on.
func (s *jsonScanner) syntax(format string, args ...any) *fault {
	return &fault{why: fmt.Sprintf("the JSON is broken at byte %d: %s", s.pos+1, fmt.Sprintf(format, args...))}
}

// peek passes over white space and gives the next byte, 0 at the end of the line.
func (s *jsonScanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// take passes over the next byte if it is c.
func (s *jsonScanner) take(c byte) bool {
	if s.peek() != c || s.pos == len(s.data) {
		return false
	}
	s.pos++
	return true
}

// found names what comes next, for a message.
func (s *jsonScanner) found() string {
	if s.peek(); s.pos == len(s.data) {
		return "the end of the line"
	}
	r, _ := utf8.DecodeRune(s.data[s.pos:])
	return fmt.Sprintf("%q", r)
}

// kind is the first byte of the next value, with '0' for numbers; 0 if no value comes.
func (s *jsonScanner) kind() byte {
	switch c := s.peek(); {
	case c == '-', c >= '0' && c <= '9':
		return '0'
	case c == '{', c == '[', c == '"', c == 't', c == 'f', c == 'n':
		return c
	}
	return 0
}

// literal reads true, false or null.
func (s *jsonScanner) literal(word string) *fault {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.syntax("a value is expected, not %s", s.found())
	}
	s.pos += len(word)
	return nil
}

// number reads a number as its text.
func (s *jsonScanner) number() ([]byte, *fault) {
	start := s.pos
	s.digit("-")
	if s.digit("0") {
		if s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			return nil, s.syntax("a number begins with 0")
		}
	} else if !s.digits() {
		return nil, s.syntax("a digit is expected, not %s", s.found())
	}
	if s.digit(".") && !s.digits() {
		return nil, s.syntax("a digit is expected behind the point, not %s", s.found())
	}
	if s.digit("eE") {
		s.digit("+-")
		if !s.digits() {
			return nil, s.syntax("a digit is expected in the exponent, not %s", s.found())
		}
	}
	return s.data[start:s.pos], nil
}

// digit passes over one byte of a set.
func (s *jsonScanner) digit(set string) bool {
	if s.pos < len(s.data) && bytes.IndexByte([]byte(set), s.data[s.pos]) >= 0 {
		s.pos++
		return true
	}
	return false
}

func (s *jsonScanner) digits() bool {
	digits, _ := takeDigits(s.data[s.pos:])
	s.pos += len(digits)
	return len(digits) > 0
}

// text reads a string, whose quote comes next. It is valid until the next string with escapes.
func (s *jsonScanner) text() ([]byte, *fault) {
	s.pos++
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			text := s.data[start:s.pos]
			s.pos++
			return text, nil
		case c == '\\':
			return s.escaped(start)
		case c < 0x20:
			return nil, s.syntax("a control character (0x%02x) in a string; write it as an escape", c)
		}
		s.pos++
	}
	return nil, s.syntax("a string is not closed")
}

// escaped goes on with a string at its first escape.
func (s *jsonScanner) escaped(start int) ([]byte, *fault) {
	s.buf = append(s.buf[:0], s.data[start:s.pos]...)
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.buf, nil
		case c == '\\':
			if f := s.escape(); f != nil {
				return nil, f
			}
		case c < 0x20:
			return nil, s.syntax("a control character (0x%02x) in a string; write it as an escape", c)
		default:
			s.buf = append(s.buf, c)
			s.pos++
		}
	}
	return nil, s.syntax("a string is not closed")
}

// escape reads one escape into buf.
func (s *jsonScanner) escape() *fault {
	if s.pos+1 >= len(s.data) {
		return s.syntax("a string is not closed")
	}
	const names, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := s.data[s.pos+1]
	if i := strings.IndexByte(names, c); i >= 0 {
		s.buf = append(s.buf, means[i])
		s.pos += 2
		return nil
	}
	if c != 'u' {
		return s.syntax("the escape \\%c is none of JSON's", c)
	}
	r, ok := s.hex4(s.pos + 2)
	if !ok {
		return s.syntax("\\u wants four hexadecimal digits")
	}
	n := 6
	if utf16.IsSurrogate(r) {
		low, ok := rune(0), false
		if bytes.HasPrefix(s.data[s.pos+6:], []byte(`\u`)) {
			low, ok = s.hex4(s.pos + 8)
		}
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return s.syntax("the escape %s is half of a surrogate pair, and no character", s.data[s.pos:s.pos+6])
		}
		n = 12
	}
	s.buf = utf8.AppendRune(s.buf, r)
	s.pos += n
	return nil
}

func (s *jsonScanner) hex4(at int) (r rune, ok bool) {
	if at+4 > len(s.data) {
		return 0, false
	}
	for _, c := range s.data[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// object calls member for each member of an object, behind its colon. The key is valid until member
// reads on.
func (s *jsonScanner) object(member func(key []byte) *fault) *fault {
	s.pos++
	if s.take('}') {
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.syntax("a key in quotes is expected, not %s", s.found())
		}
		key, f := s.text()
		if f != nil {
			return f
		}
		if !s.take(':') {
			return s.syntax("a colon is expected, not %s", s.found())
		}
		if f := member(key); f != nil {
			return f
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.syntax("a comma or } is expected, not %s", s.found())
		}
	}
}

// array calls element for each element of an array.
func (s *jsonScanner) array(element func() *fault) *fault {
	s.pos++
	if s.take(']') {
		return nil
	}
	for {
		if f := element(); f != nil {
			return f
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.syntax("a comma or ] is expected, not %s", s.found())
		}
	}
}

// skip passes over a value.
func (s *jsonScanner) skip(depth int) *fault {
	if depth > maxJSONDepth {
		return s.syntax("values nest deeper than %d", maxJSONDepth)
	}
	var f *fault
	switch s.kind() {
	case '{':
		return s.object(func([]byte) *fault { return s.skip(depth + 1) })
	case '[':
		return s.array(func() *fault { return s.skip(depth + 1) })
	case '"':
		_, f = s.text()
	case '0':
		_, f = s.number()
	case 't':
		f = s.literal("true")
	case 'f':
		f = s.literal("false")
	case 'n':
		f = s.literal("null")
	default:
		f = s.syntax("a value is expected, not %s", s.found())
	}
	return f
}

// spelled gives a value as the line has it, for a message, and passes over it.
func (s *jsonScanner) spelled() string {
	s.peek()
	start := s.pos
	if f := s.skip(0); f != nil {
		return clip(s.data[start:])
	}
	return clip(s.data[start:s.pos])
}
