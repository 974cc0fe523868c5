package function

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// expression is a regular expression of Java's, of those parts that Go's package means the same by.
// It finds, as RLIKE does: it need not match all of a text.
type expression struct {
	re     *regexp.Regexp
	dollar bool // $ is in it, which is also before a line's end at the end of the text
}

// compileExpression reads a regular expression. What Go lacks (look-around, back references, possessive
// quantifiers), or what depends on the version of Unicode or Java, is an error that names it.
func compileExpression(text string) (*expression, error) {
	t := translator{text: text}
	if err := t.translate(); err != nil {
		return nil, fmt.Errorf("the regular expression %s: at character %d: %w", shownText(text), utf8.RuneCountInString(text[:t.at])+1, err)
	}
	re, err := regexp.Compile(t.out.String())
	if err != nil {
		what := err.Error()
		var bad *syntax.Error
		if errors.As(err, &bad) {
			what = bad.Code.String()
		}
		return nil, fmt.Errorf("the regular expression %s: %s", shownText(text), what)
	}
	return &expression{re: re, dollar: t.dollar}, nil
}

func (x *expression) find(s string) bool {
	if x.re.MatchString(s) {
		return true
	}
	rest := withoutLineEnd(s)
	return x.dollar && len(rest) < len(s) && x.re.MatchString(rest)
}

// withoutLineEnd takes one end of a line from the end of a text.
func withoutLineEnd(s string) string {
	for _, end := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if rest, ok := strings.CutSuffix(s, end); ok {
			return rest
		}
	}
	return s
}

// translator writes a regular expression of Java's as Go's.
type translator struct {
	text   string
	at     int // the next byte
	out    strings.Builder
	open   int // groups
	dollar bool
}

// classes are what the escapes of Java stand for: characters of a class.
var classes = map[byte]string{
	'd': "0-9", 'D': `\x00-/:-\x{10FFFF}`, 'w': "a-zA-Z_0-9", 'W': "\\x00-/:-@\\[-^`{-\\x{10FFFF}", 's': `\t\n\v\f\r `, 'S': `\x00-\x08\x0e-\x1f!-\x{10FFFF}`,
}

var controls = map[byte]rune{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f'}

// next takes a character; it is 0 at the end.
func (t *translator) next() rune {
	r, n := utf8.DecodeRuneInString(t.text[t.at:])
	t.at += n
	if n == 0 {
		return 0
	}
	return r
}

func (t *translator) sees(s string) bool { return strings.HasPrefix(t.text[t.at:], s) }

// take takes what is next if it is s.
func (t *translator) take(s string) bool {
	if !t.sees(s) {
		return false
	}
	t.at += len(s)
	return true
}

func (t *translator) translate() error {
	for t.at < len(t.text) {
		before := t.at
		if err := t.item(); err != nil {
			t.at = before
			return err
		}
	}
	if t.open > 0 {
		return errors.New("a group is not closed")
	}
	return nil
}

// item writes one character, class, group or quantifier.
func (t *translator) item() error {
	switch r := t.next(); r {
	case '\\':
		return t.escape()
	case '.':
		t.out.WriteString(`[^\n\r\x{85}\x{2028}\x{2029}]`)
	case '^':
		t.out.WriteString(`\A`)
	case '$':
		if t.open > 0 || t.at < len(t.text) && !t.sees("|") {
			return errors.New("$ is read at the end alone")
		}
		t.dollar = true
		t.out.WriteString(`\z`)
	case '|':
		t.out.WriteByte('|')
	case '(':
		return t.group()
	case ')':
		if t.open--; t.open < 0 {
			return errors.New("there is no group to close")
		}
		t.out.WriteByte(')')
	case '[':
		return t.class()
	case '*', '+', '?':
		return t.quantifier(string(r))
	case '{':
		return t.repeat()
	default:
		t.out.WriteString(regexp.QuoteMeta(string(r)))
	}
	return nil
}

func (t *translator) group() error {
	if t.sees("?") && !t.take("?:") {
		return errors.New("of groups that begin with (? only (?:…) is read")
	}
	t.open++
	t.out.WriteString("(?:")
	return nil
}

// quantifier writes one, and the ? behind it.
func (t *translator) quantifier(text string) error {
	if t.sees("+") {
		return errors.New("possessive quantifiers are not read")
	}
	t.out.WriteString(text)
	if t.take("?") {
		t.out.WriteByte('?')
	}
	return nil
}

var repetition = regexp.MustCompile(`^[0-9]{1,4}(,[0-9]{0,4})?\}`)

func (t *translator) repeat() error {
	counts := repetition.FindString(t.text[t.at:])
	if counts == "" {
		return errors.New("{ is no quantifier: write \\{ for the character")
	}
	t.at += len(counts)
	return t.quantifier("{" + counts)
}

// escape writes what a backslash outside of a class begins.
func (t *translator) escape() error {
	r, class, err := t.escaped()
	switch {
	case err != nil:
		return err
	case class != "":
		t.out.WriteString("[" + class + "]")
	default:
		t.out.WriteString(regexp.QuoteMeta(string(r)))
	}
	return nil
}

// escaped reads what is behind a backslash: a character, or a class.
func (t *translator) escaped() (r rune, class string, err error) {
	r = t.next()
	switch {
	case r == 0 && t.at == len(t.text):
		return 0, "", errors.New("there is nothing behind the backslash")
	case r < utf8.RuneSelf && classes[byte(r)] != "":
		return 0, classes[byte(r)], nil
	case r < utf8.RuneSelf && controls[byte(r)] != 0:
		return controls[byte(r)], "", nil
	case r >= utf8.RuneSelf, r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return 0, "", fmt.Errorf("\\%c is not read", r)
	}
	return r, "", nil
}

// class writes what is within brackets.
func (t *translator) class() error {
	t.out.WriteByte('[')
	if t.take("^") {
		t.out.WriteByte('^')
	}
	for first := true; ; first = false {
		switch {
		case t.at == len(t.text):
			return errors.New("[ is not closed")
		case !first && t.take("]"):
			t.out.WriteByte(']')
			return nil
		case t.sees("["), t.sees("&&"), t.sees("]"):
			return errors.New("[, && and a ] that comes first are not read within brackets: write a backslash before the character")
		}
		if err := t.member(); err != nil {
			return err
		}
	}
}

// member writes a character or a range of a class.
func (t *translator) member() error {
	lo, class, err := t.bracketed()
	if err != nil || class != "" {
		t.out.WriteString(class)
		return err
	}
	t.out.WriteString(inClass(lo))
	if !t.sees("-") || t.sees("-]") {
		return nil
	}
	t.take("-")
	hi, class, err := t.bracketed()
	switch {
	case err != nil:
		return err
	case class != "" || hi == '[' || hi < lo:
		return errors.New("this is no range of characters")
	}
	t.out.WriteString("-" + inClass(hi))
	return nil
}

func (t *translator) bracketed() (r rune, class string, err error) {
	if r = t.next(); r == '\\' {
		return t.escaped()
	}
	return r, "", nil
}

func inClass(r rune) string { return fmt.Sprintf(`\x{%X}`, r) }

// rlike takes a text and a regular expression.
func rlike(name string, list []Param) (*Function, error) {
	types, err := args(wantText, wantText).bind(name, list)
	if err != nil {
		return nil, err
	}
	var constant *expression
	if text, err := constantText(list[1]); err == nil {
		if constant, err = compileExpression(text); err != nil {
			return nil, err
		}
	}
	return &Function{Name: name, Params: types, Result: typeBool, Eval: func(c *Call) arrow.Array {
		return findAll(c, name, constant)
	}}, nil
}

func findAll(c *Call, name string, constant *expression) arrow.Array {
	s, patterns := textsOf(c.Args[0]), textsOf(c.Args[1])
	x, of := constant, ""
	return buildBool(nullsOf(c, c.Args[0], c.Args[1]), func(row int) (bool, error) {
		if text := patterns.at(row); constant == nil && (x == nil || text != of) {
			var err error
			if x, err = compileExpression(text); err != nil {
				return false, err
			}
			of = text
		}
		text := s.at(row)
		if !utf8.ValidString(text) {
			return false, errNoUTF8(name, text)
		}
		return x.find(text), nil
	})
}
