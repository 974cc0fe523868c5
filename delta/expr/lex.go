package expr

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says where a text stops being an expression.
type SyntaxError struct {
	Text string
	At   int // byte offset
	Msg  string
}

// Error shows the place by what stands before and after it.
func (e *SyntaxError) Error() string {
	const around = 24
	at := min(max(e.At, 0), len(e.Text))
	before, after := e.Text[:at], e.Text[at:]
	if len(before) > around {
		before = "…" + strings.ToValidUTF8(before[len(before)-around:], "")
	}
	if len(after) > around {
		after = strings.ToValidUTF8(after[:around], "") + "…"
	}
	return "expression, byte " + strconv.Itoa(e.At) + ": " + e.Msg + ": " + before + "»" + after + "«"
}

type kind int

const (
	end    kind = iota
	word        // an identifier or keyword
	quoted      // an identifier in backticks
	number      // digits with point, exponent and suffix
	str         // a string literal; val is its value
	hexa        // X'…'; val is the bytes
	symbol      // an operator or a mark
)

type token struct {
	kind kind
	text string // as written
	val  string // the value of quoted, str and hexa; the upper-case word
	at   int
}

// describe names a token in an error.
func (t token) describe() string {
	if t.kind == end {
		return "the end"
	}
	return strconv.Quote(clip(t.text))
}

func (t token) isWord(w string) bool   { return t.kind == word && t.val == w }
func (t token) isSymbol(s string) bool { return t.kind == symbol && t.val == s }

type lexer struct {
	text string
	at   int
}

func (l *lexer) fail(at int, msg string) error {
	return &SyntaxError{Text: l.text, At: at, Msg: msg}
}

// next reads a token.
func (l *lexer) next() (token, error) {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n\f\v", l.text[l.at]) >= 0 {
		l.at++
	}
	at := l.at
	if at == len(l.text) {
		return token{kind: end, at: at}, nil
	}
	rest := l.text[at:]
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "/*"):
		return token{}, l.fail(at, "comments are not part of an expression")
	case c == '\'' || c == '"':
		return l.str(at)
	case (c == 'x' || c == 'X') && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"'):
		return l.hexa(at)
	case (c == 'r' || c == 'R') && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"'):
		return l.raw(at)
	case c == '`':
		name, n, ok := unquote(rest, '`')
		if !ok {
			return token{}, l.fail(at, "the backtick has no partner")
		}
		if name == "" {
			return token{}, l.fail(at, "the name in backticks is empty")
		}
		return l.emit(quoted, n, name), nil
	case digit(c), c == '.' && len(rest) > 1 && digit(rest[1]):
		return l.number(at)
	case nameByte(c):
		return l.word(at)
	}
	return l.symbol(at)
}

func (l *lexer) emit(k kind, n int, val string) token {
	t := token{kind: k, text: l.text[l.at : l.at+n], val: val, at: l.at}
	l.at += n
	return t
}

// symbols are the marks of more than one byte, longest first.
var symbols = []string{"<=>", ">>>", "<<", ">>", "<=", ">=", "<>", "!=", "==", "||", "&&", "::", "->", "=>"}

func (l *lexer) symbol(at int) (token, error) {
	rest := l.text[at:]
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			return l.emit(symbol, len(s), s), nil
		}
	}
	if strings.IndexByte("=<>!()[],.?+-*/%&|^~:", rest[0]) >= 0 {
		return l.emit(symbol, 1, rest[:1]), nil
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, l.fail(at, "the character "+strconv.QuoteRune(r)+" has no meaning here")
}

func (l *lexer) word(at int) (token, error) {
	n := 0
	for at+n < len(l.text) && nameByte(l.text[at+n]) {
		n++
	}
	name := l.text[at : at+n]
	for i, r := range name {
		if r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return token{}, l.fail(at+i, "the character "+strconv.QuoteRune(r)+" is allowed in a name only in backticks")
		}
	}
	return l.emit(word, n, strings.ToUpper(name)), nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func nameByte(c byte) bool {
	return c == '_' || digit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// number reads digits, a point, an exponent and a suffix; their meaning is the parser's.
func (l *lexer) number(at int) (token, error) {
	n := at
	digits := func() {
		for n < len(l.text) && digit(l.text[n]) {
			n++
		}
	}
	digits()
	if n < len(l.text) && l.text[n] == '.' {
		n++
		digits()
	}
	if n < len(l.text) && (l.text[n] == 'e' || l.text[n] == 'E') {
		m := n + 1
		if m < len(l.text) && (l.text[m] == '+' || l.text[m] == '-') {
			m++
		}
		if m < len(l.text) && digit(l.text[m]) {
			n = m
			digits()
		}
	}
	body := n
	for n < len(l.text) && nameByte(l.text[n]) {
		n++
	}
	switch suffix := strings.ToUpper(l.text[body:n]); suffix {
	case "", "L", "S", "Y", "D", "F", "BD":
		return l.emit(number, n-at, suffix), nil
	}
	return token{}, l.fail(body, "expected the end of the number or one of L, S, Y, D, F, BD; a name that starts with a digit needs backticks")
}

func (l *lexer) hexa(at int) (token, error) {
	quote := l.text[at+1]
	length := strings.IndexByte(l.text[at+2:], quote)
	if length < 0 {
		return token{}, l.fail(at, "the quote has no partner")
	}
	digits := l.text[at+2 : at+2+length]
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	value, err := hex.DecodeString(digits)
	if err != nil {
		return token{}, l.fail(at+2, "expected hexadecimal digits between the quotes")
	}
	return l.emit(hexa, length+3, string(value)), nil
}

// raw reads r'…', a string in which a backslash is one.
func (l *lexer) raw(at int) (token, error) {
	length := strings.IndexByte(l.text[at+2:], l.text[at+1])
	if length < 0 {
		return token{}, l.fail(at, "the quote has no partner")
	}
	return l.emit(str, length+3, l.text[at+2:at+2+length]), nil
}

// str reads a string. A backslash escapes; a doubled quote is one.
func (l *lexer) str(at int) (token, error) {
	quote := l.text[at]
	var b strings.Builder
	for i := at + 1; i < len(l.text); {
		c := l.text[i]
		switch {
		case c == '\\' && i+1 < len(l.text):
			n, err := l.escape(i, &b)
			if err != nil {
				return token{}, err
			}
			i += n
		case c == quote && i+1 < len(l.text) && l.text[i+1] == quote:
			b.WriteByte(quote)
			i += 2
		case c == quote:
			return l.emit(str, i+1-at, b.String()), nil
		default:
			b.WriteByte(c)
			i++
		}
	}
	return token{}, l.fail(at, "the quote has no partner")
}

// escape writes the meaning of the escape at i and gives its length.
func (l *lexer) escape(i int, b *strings.Builder) (int, error) {
	rest := l.text[i+1:]
	switch c := rest[0]; {
	case c == 'u' || c == 'U':
		width := 4
		if c == 'U' {
			width = 8
		}
		if len(rest) <= width {
			return 0, l.fail(i, "expected "+strconv.Itoa(width)+" hexadecimal digits")
		}
		return l.codeUnit(i, rest[1:1+width], b)
	case c >= '0' && c <= '1' && len(rest) >= 3 && octal(rest[1]) && octal(rest[2]):
		b.WriteByte((c-'0')<<6 | (rest[1]-'0')<<3 | (rest[2] - '0'))
		return 4, nil
	case c == '%' || c == '_': // kept for a pattern to read
		b.WriteString(`\` + string(c))
		return 2, nil
	}
	r, n := utf8.DecodeRuneInString(rest)
	if meaning, ok := escapes[r]; ok {
		r = meaning
	}
	b.WriteRune(r)
	return 1 + n, nil
}

func (l *lexer) codeUnit(i int, digits string, b *strings.Builder) (int, error) {
	r, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || !utf8.ValidRune(rune(r)) || r > unicode.MaxRune {
		return 0, l.fail(i, "expected the hexadecimal digits of a character")
	}
	b.WriteRune(rune(r))
	return 2 + len(digits), nil
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

// escapes are the letters whose escape is not the letter itself.
var escapes = map[rune]rune{'0': 0, 'b': '\b', 'n': '\n', 'r': '\r', 't': '\t', 'Z': 26}
