package delta

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and arrays of the log may nest: statistics as deep as a schema, and two objects more.
const maxDepth = maxSchemaDepth + 2

// maxMembers bounds how many members a map of the log may have.
const maxMembers = 10_000

// errLimit marks text that is well formed as far as it was read but beyond what idem reads.
var errLimit = errors.New("beyond the limit")

// scanner reads JSON text in place, without a value per field. The text must be valid UTF-8.
type scanner struct {
	data  []byte
	pos   int
	depth int
	deep  int    // how deep it may nest, if not maxDepth
	buf   []byte // unescaped text of the last string that had escapes
}

// fault is an error at the scanner's position.
func (s *scanner) fault(format string, args ...any) error {
	return fmt.Errorf("byte %d: %w", s.pos, fmt.Errorf(format, args...))
}

// peek skips white space and gives the next byte, 0 at the end.
func (s *scanner) peek() byte {
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

// end fails unless only white space is left.
func (s *scanner) end() error {
	if s.peek() != 0 || s.pos < len(s.data) {
		return s.fault("text after the end of the value")
	}
	return nil
}

// literal consumes a word if it comes next.
func (s *scanner) literal(word string) bool {
	if s.peek() != word[0] || len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

func (s *scanner) null() bool { return s.literal("null") }

// open consumes the bracket that begins an object or array.
func (s *scanner) open(bracket byte, what string) error {
	if s.peek() != bracket {
		return s.fault("%s expected", what)
	}
	if s.depth++; s.depth > cmp.Or(s.deep, maxDepth) {
		return s.fault("nested deeper than %d: %w", cmp.Or(s.deep, maxDepth), errLimit)
	}
	s.pos++
	return nil
}

// next stands before an element: more is false when the closing bracket was consumed.
func (s *scanner) next(first bool, closing byte) (more bool, err error) {
	c := s.peek()
	switch {
	case c == closing:
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.fault("',' or '%c' expected", closing)
	}
	s.pos++
	if s.peek() == closing {
		return false, s.fault("a value expected after ','")
	}
	return true, nil
}

// object reads an object; visit must consume the value of each key. key is valid until the next read.
func (s *scanner) object(visit func(key []byte) error) error {
	if err := s.open('{', "an object"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.next(first, '}')
		if err != nil || !more {
			return err
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.fault("':' expected")
		}
		s.pos++
		if err := visit(key); err != nil {
			return err
		}
	}
}

// array reads an array; visit must consume each element.
func (s *scanner) array(visit func() error) error {
	if err := s.open('[', "an array"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.next(first, ']')
		if err != nil || !more {
			return err
		}
		if err := visit(); err != nil {
			return err
		}
	}
}

// text reads a string. The result is valid until the next read.
func (s *scanner) text() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fault("a string expected")
	}
	s.pos++
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[start : s.pos-1], nil
		case c == '\\':
			return s.escaped(start)
		case c < 0x20:
			return nil, s.fault("control character in a string")
		}
		s.pos++
	}
	return nil, s.fault("string without end")
}

// escaped continues text at the first escape.
func (s *scanner) escaped(start int) ([]byte, error) {
	s.buf = append(s.buf[:0], s.data[start:s.pos]...)
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		switch {
		case c == '"':
			s.pos++
			return s.buf, nil
		case c < 0x20:
			return nil, s.fault("control character in a string")
		case c != '\\':
			s.buf = append(s.buf, c)
			s.pos++
		default:
			if err := s.unescape(); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.fault("string without end")
}

// unescape appends the character of one escape to buf.
func (s *scanner) unescape() error {
	if s.pos+1 >= len(s.data) {
		return s.fault("string without end")
	}
	c := s.data[s.pos+1]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return s.unescapeUnicode()
	default:
		return s.fault("unknown escape in a string")
	}
	s.buf = append(s.buf, c)
	s.pos += 2
	return nil
}

// unescapeUnicode appends \uXXXX. Half a surrogate pair becomes U+FFFD, as in encoding/json.
func (s *scanner) unescapeUnicode() error {
	r, ok := s.hex4(s.pos)
	if !ok {
		return s.fault("\\u without four hexadecimal digits")
	}
	s.pos += 6
	if utf16.IsSurrogate(r) {
		low, ok := s.hex4(s.pos)
		if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
			s.pos += 6
		} else {
			r = utf8.RuneError
		}
	}
	s.buf = utf8.AppendRune(s.buf, r)
	return nil
}

func (s *scanner) hex4(at int) (rune, bool) {
	if len(s.data)-at < 6 || s.data[at] != '\\' || s.data[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.data[at+2:at+6]), 16, 16)
	return rune(n), err == nil
}

// number reads a number as it is written.
func (s *scanner) number() ([]byte, error) {
	s.peek()
	start := s.pos
	digits := func() bool {
		from := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos > from
	}
	take := func(set string) bool {
		for i := range len(set) {
			if s.pos < len(s.data) && s.data[s.pos] == set[i] {
				s.pos++
				return true
			}
		}
		return false
	}
	take("-")
	ok := take("0") || digits()
	if ok && take(".") {
		ok = digits()
	}
	if ok && take("eE") {
		take("+-")
		ok = digits()
	}
	if !ok {
		return nil, s.fault("a value expected")
	}
	return s.data[start:s.pos], nil
}

// scalar reads a string, number or boolean; what it gives is valid until the next read.
func (s *scanner) scalar() ([]byte, error) {
	switch {
	case s.peek() == '"':
		return s.text()
	case s.literal("true"):
		return []byte("true"), nil
	case s.literal("false"):
		return []byte("false"), nil
	}
	return s.number()
}

// skip consumes any value, checking its form.
func (s *scanner) skip() error {
	switch s.peek() {
	case '{':
		return s.object(func([]byte) error { return s.skip() })
	case '[':
		return s.array(s.skip)
	}
	if s.null() {
		return nil
	}
	_, err := s.scalar()
	return err
}

// raw consumes any value and gives its text.
func (s *scanner) raw() ([]byte, error) {
	s.peek()
	start := s.pos
	err := s.skip()
	return s.data[start:s.pos], err
}

// value reads any value as encoding/json does with UseNumber: of a repeated key the last counts.
func (s *scanner) value() (any, error) {
	switch c := s.peek(); {
	case c == '{':
		m := map[string]any{}
		err := s.object(func(key []byte) error {
			name := string(key)
			v, err := s.value()
			m[name] = v
			return err
		})
		return m, err
	case c == '[':
		list := []any{}
		err := s.array(func() error {
			v, err := s.value()
			list = append(list, v)
			return err
		})
		return list, err
	case c == '"':
		return s.str()
	case s.null():
		return nil, nil
	case s.literal("true"):
		return true, nil
	case s.literal("false"):
		return false, nil
	}
	n, err := s.number()
	return json.Number(n), err
}

func (s *scanner) str() (string, error) {
	b, err := s.text()
	return string(b), err
}

// integer reads an integer of the given width; it never passes through a float.
func (s *scanner) integer(bits int) (int64, error) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, s.fault("an integer expected")
	}
	b, err := s.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(b), 10, bits)
	if err != nil {
		return 0, s.fault("%.40q is not an integer of %d bits", b, bits)
	}
	return n, nil
}

func (s *scanner) long() (int64, error) { return s.integer(64) }

func (s *scanner) longPtr() (*int64, error) {
	n, err := s.integer(64)
	return &n, err
}

func (s *scanner) boolean() (bool, error) {
	switch {
	case s.literal("true"):
		return true, nil
	case s.literal("false"):
		return false, nil
	}
	return false, s.fault("true or false expected")
}

func (s *scanner) stringList() ([]string, error) {
	list := []string{}
	err := s.array(func() error {
		if len(list) >= maxMembers {
			return s.fault("more than %d elements: %w", maxMembers, errLimit)
		}
		item, err := s.str()
		list = append(list, item)
		return err
	})
	return list, err
}

// stringMap reads a map of strings. Some writers leave the quotes off numbers and booleans: their
// text is taken. A null value is an absent one. An empty map is nil.
func (s *scanner) stringMap() (map[string]string, error) {
	var m map[string]string
	err := s.members(func(key string) error {
		if s.null() {
			return nil
		}
		if _, twice := m[key]; twice {
			return s.fault("key %q twice", key)
		}
		text, err := s.scalar()
		if m == nil {
			m = map[string]string{}
		}
		m[key] = string(text)
		return err
	})
	return m, err
}

// nullableMap reads partition values: strings or null.
func (s *scanner) nullableMap() (map[string]*string, error) {
	m := map[string]*string{}
	err := s.members(func(key string) error {
		if _, twice := m[key]; twice {
			return s.fault("key %q twice", key)
		}
		if s.null() {
			m[key] = nil
			return nil
		}
		text, err := s.str()
		m[key] = &text
		return err
	})
	return m, err
}

// members reads an object as a map of bounded size.
func (s *scanner) members(visit func(key string) error) error {
	n := 0
	return s.object(func(key []byte) error {
		if n++; n > maxMembers {
			return s.fault("more than %d members: %w", maxMembers, errLimit)
		}
		return visit(string(key))
	})
}
