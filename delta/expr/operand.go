package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

func (p *parser) operand() (Expr, error) {
	tok := p.tok
	switch tok.kind {
	case number:
		return p.number("")
	case str:
		return p.value(stringScalar(tok.val))
	case hexa:
		return p.value(binaryScalar([]byte(tok.val)), nil)
	case quoted:
		return p.name()
	case word:
		return p.keyword()
	case symbol:
		return p.mark()
	}
	return nil, p.expected("a column or a value")
}

// value ends a literal of one token.
func (p *parser) value(v scalar.Scalar, err error) (Expr, error) {
	if err != nil {
		return nil, p.fail(p.tok.at, err.Error())
	}
	return &Literal{Value: v, At: p.tok.at}, p.advance()
}

// mark reads an operand that starts with a symbol.
func (p *parser) mark() (Expr, error) {
	switch p.tok.val {
	case "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		return e, p.close()
	case "-", "+":
		return p.signed()
	case "?":
		return p.argument()
	case "~":
		return nil, p.unsupported()
	}
	return nil, p.expected("a column or a value")
}

// signed reads what has a sign. The sign belongs to a number behind it; otherwise it is the function
// negative or positive.
func (p *parser) signed() (Expr, error) {
	sign := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == number {
		e, err := p.number(strings.TrimPrefix(sign.val, "+"))
		if l, ok := e.(*Literal); ok {
			l.At = sign.at
		}
		return e, err
	}
	x, err := p.expression(powerSign)
	if err != nil {
		return nil, err
	}
	return &Call{Name: choose(sign.val == "-", negative, positive), Args: []Expr{x}, At: sign.at}, nil
}

func (p *parser) argument() (Expr, error) {
	if p.used == len(p.args) {
		return nil, p.fail(p.tok.at, fmt.Sprintf("there is no argument for this ?: %d were given", len(p.args)))
	}
	given := p.args[p.used]
	p.used++
	switch e := Lit(given).(type) {
	case *Literal:
		return p.value(e.Value, nil)
	case *Invalid:
		return nil, p.fail(p.tok.at, fmt.Sprintf("argument %d: %v", p.used, e.Err))
	}
	return nil, p.fail(p.tok.at, fmt.Sprintf("argument %d is not a value", p.used))
}

// reserved are the words of operators and constants. A column of such a name needs backticks, unless
// the word stands where there can be no operator and an operator follows.
var reserved = map[string]bool{
	"AND": true, "OR": true, "NOT": true, "IN": true, "BETWEEN": true, "IS": true, "NULL": true, "TRUE": true,
	"FALSE": true, "LIKE": true, "ILIKE": true, "RLIKE": true, "REGEXP": true, "DIV": true, "COLLATE": true,
}

// refused are the words that begin what is not supported; where no operand follows they name a column.
var refused = map[string]bool{"TRY_CAST": true, "EXISTS": true, "SELECT": true, "DISTINCT": true}

// begin are the words that begin a part of an expression, and follow those that end an operand. They
// name columns too, where that makes sense.
var (
	begin = map[string]bool{
		"CASE": true, "WHEN": true, "CAST": true, "INTERVAL": true, "BOTH": true, "LEADING": true, "TRAILING": true,
	}
	follow = map[string]bool{
		"AS": true, "THEN": true, "ELSE": true, "END": true, "ESCAPE": true, "FROM": true, "FOR": true, "PLACING": true,
	}
)

// hasMeaning tells whether a word, in upper case, is more than a name somewhere.
func hasMeaning(w string) bool {
	return reserved[w] || refused[w] || begin[w] || follow[w] || niladic[w]
}

// keyword reads an operand that starts with a word.
func (p *parser) keyword() (Expr, error) {
	switch tok := p.tok; {
	case tok.val == "NULL":
		return p.value(nil, nil)
	case tok.val == "TRUE" || tok.val == "FALSE":
		return p.value(scalar.NewBooleanScalar(tok.val == "TRUE"), nil)
	case reserved[tok.val] && (tok.val == "NOT" || !nameBefore(p.peek())):
		return nil, p.fail(tok.at, "expected a column or a value, found the keyword "+tok.val+"; a column of that name needs backticks")
	}
	return p.name()
}

// nameBefore tells whether the word before a token is a name, although it could be an operator.
func nameBefore(t token) bool {
	return t.val != "NOT" && infix(t).power != powerNone
}

// name reads a column, a function call, a CAST, or a literal with its type before it.
func (p *parser) name() (Expr, error) {
	first := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if first.kind == word {
		switch w := first.val; {
		case w == "CASE" && p.startsBranches():
			return p.branches(first.at)
		case w == "INTERVAL" && p.startsInterval():
			return p.interval(first.at)
		case w == "CAST" && p.isSymbol("("):
			return p.cast(first.at)
		case refused[w] && begins(p.tok):
			return nil, p.fail(first.at, w+" is not supported")
		case p.tok.kind == str:
			return p.typed(first)
		case niladic[w] && !p.isSymbol("(") && !p.isSymbol("."):
			return &Call{Name: strings.ToLower(w), At: first.at}, nil
		}
	}
	if p.isSymbol("(") {
		return p.call(first)
	}
	path := []string{nameOf(first)}
	for p.isSymbol(".") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind != word && p.tok.kind != quoted {
			return nil, p.expected("the name of a field")
		}
		path = append(path, nameOf(p.tok))
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if len(path) > 1 && p.isSymbol("(") {
		return nil, p.fail(first.at, "functions with a qualified name are not supported")
	}
	return &Column{Path: path, At: first.at}, nil
}

// begins tells whether a token could begin an operand, so that the word before it was no column.
func begins(t token) bool {
	switch t.kind {
	case str, number, quoted, hexa:
		return true
	case word:
		return infix(t).power == powerNone && !follow[t.val]
	}
	return t.kind == symbol && (t.val == "(" || t.val == "?")
}

// startsBranches tells whether the word CASE before the token begins an expression. A sign behind it
// is taken for one of an operand, so that a column of that name needs backticks there.
func (p *parser) startsBranches() bool {
	if p.isKeyword("NOT") {
		ahead := p.peek()
		return !ahead.isWord("IN") && !ahead.isWord("BETWEEN") && !ahead.isWord("LIKE") && !ahead.isWord("ILIKE")
	}
	return begins(p.tok) || p.isSymbol("-") || p.isSymbol("+") || p.isSymbol("!")
}

func nameOf(t token) string {
	if t.kind == quoted {
		return t.val
	}
	return t.text
}

// branches reads a CASE.
func (p *parser) branches(at int) (Expr, error) {
	e := &Case{At: at}
	var err error
	if !p.isKeyword("WHEN") {
		if e.Operand, err = p.expression(powerNone); err != nil {
			return nil, err
		}
	}
	if !p.isKeyword("WHEN") {
		return nil, p.expected("an operator or WHEN")
	}
	for p.isKeyword("WHEN") {
		var w When
		if w.If, err = p.behind("WHEN"); err != nil {
			return nil, err
		}
		if w.Then, err = p.behind("THEN"); err != nil {
			return nil, err
		}
		e.Whens = append(e.Whens, w)
	}
	if p.isKeyword("ELSE") {
		if e.Else, err = p.behind("ELSE"); err != nil {
			return nil, err
		}
	}
	if !p.isKeyword("END") {
		return nil, p.expected("an operator" + choose(e.Else == nil, ", WHEN, ELSE", "") + " or END")
	}
	return e, p.advance()
}

// behind reads the expression after a keyword that has to be there.
func (p *parser) behind(keyword string) (Expr, error) {
	if !p.isKeyword(keyword) {
		return nil, p.expected("an operator or " + keyword)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.expression(powerNone)
}

// typed reads DATE '…', TIMESTAMP '…' and TIMESTAMP_NTZ '…'.
func (p *parser) typed(name token) (Expr, error) {
	value := p.tok
	var v scalar.Scalar
	var err error
	switch name.val {
	case "DATE":
		var d arrow.Date32
		d, err = ParseDate(value.val)
		v = scalar.NewDate32Scalar(d)
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		var t arrow.Timestamp
		t, _, err = ParseTimestamp(value.val)
		v = scalar.NewTimestampScalar(t, timestampType)
	case "TIMESTAMP_NTZ":
		var t arrow.Timestamp
		var zoned bool
		t, zoned, err = ParseTimestamp(value.val)
		v = scalar.NewTimestampScalar(t, timestampNTZType)
		if err == nil && zoned {
			return nil, p.fail(value.at, "a TIMESTAMP_NTZ has no zone")
		}
	default:
		return nil, p.fail(name.at, "literals of the type "+name.text+" are not supported")
	}
	if err != nil {
		return nil, p.fail(value.at, err.Error())
	}
	return &Literal{Value: v, At: name.at}, p.advance()
}

func (p *parser) cast(at int) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	x, err := p.expression(powerNone)
	if err != nil {
		return nil, err
	}
	if err := p.expect("AS"); err != nil {
		return nil, err
	}
	to, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return foldNumber(&Cast{X: x, To: to, At: at}), nil
}

func (p *parser) typeName() (arrow.DataType, error) {
	name := p.tok
	if name.kind != word {
		return nil, p.expected("the name of a type")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if t, ok := sqlTypes[name.val]; ok {
		return t, nil
	}
	switch name.val {
	case "DECIMAL", "DEC", "NUMERIC":
		return p.decimalType()
	}
	return nil, p.fail(name.at, "a CAST to "+name.text+" is not supported")
}

// decimalType reads what follows DECIMAL; alone it is DECIMAL(10, 0).
func (p *parser) decimalType() (arrow.DataType, error) {
	size := [2]int{10, 0}
	at := p.tok.at
	if p.isSymbol("(") {
		for i := range size {
			if err := p.advance(); err != nil {
				return nil, err
			}
			n, err := strconv.Atoi(p.tok.text)
			if p.tok.kind != number || err != nil {
				return nil, p.expected("a number of digits")
			}
			size[i] = n
			if err := p.advance(); err != nil {
				return nil, err
			}
			if !p.isSymbol(",") {
				break
			}
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	if size[0] < 1 || size[0] > maxPrecision || size[1] > size[0] {
		return nil, p.fail(at, fmt.Sprintf("DECIMAL(%d, %d): the precision is 1 to %d, the scale 0 to the precision", size[0], size[1], maxPrecision))
	}
	return &arrow.Decimal128Type{Precision: int32(size[0]), Scale: int32(size[1])}, nil
}

// number reads a number as Spark types it: an integer is the first of int, bigint and decimal
// that holds it, a point makes a decimal, an exponent a double, a suffix what it says.
func (p *parser) number(sign string) (Expr, error) {
	suffix := p.tok.val
	digits := sign + p.tok.text[:len(p.tok.text)-len(suffix)]
	switch suffix {
	case "Y":
		return p.integer(digits, 8)
	case "S":
		return p.integer(digits, 16)
	case "L":
		return p.integer(digits, 64)
	case "D":
		return p.float(digits, 64)
	case "F":
		return p.float(digits, 32)
	case "BD":
		return p.value(decimalScalar(digits))
	}
	if strings.ContainsAny(digits, "eE") {
		return p.float(digits, 64)
	}
	if !strings.Contains(digits, ".") {
		if v, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return p.value(smallestInteger(v), nil)
		}
	}
	return p.value(decimalScalar(digits))
}

func smallestInteger(v int64) scalar.Scalar {
	if v >= math.MinInt32 && v <= math.MaxInt32 {
		return scalar.NewInt32Scalar(int32(v))
	}
	return scalar.NewInt64Scalar(v)
}

func (p *parser) integer(digits string, bits int) (Expr, error) {
	v, err := strconv.ParseInt(digits, 10, bits)
	if err != nil {
		return nil, p.fail(p.tok.at, fmt.Sprintf("the number %s is no integer of %d bits", clip(p.tok.text), bits))
	}
	switch bits {
	case 8:
		return p.value(scalar.NewInt8Scalar(int8(v)), nil)
	case 16:
		return p.value(scalar.NewInt16Scalar(int16(v)), nil)
	}
	return p.value(scalar.NewInt64Scalar(v), nil)
}

func (p *parser) float(digits string, bits int) (Expr, error) {
	v, err := strconv.ParseFloat(digits, bits)
	if err != nil {
		return nil, p.fail(p.tok.at, fmt.Sprintf("the number %s is beyond the range of its type", clip(p.tok.text)))
	}
	if bits == 32 {
		return p.value(float32Scalar(float32(v)), nil)
	}
	return p.value(float64Scalar(v), nil)
}

// foldNumber makes CAST('NaN' AS DOUBLE) and its kin the literal that they are the text of.
func foldNumber(e Expr) Expr {
	c, ok := e.(*Cast)
	if !ok || c.To == nil {
		return e
	}
	l, ok := c.X.(*Literal)
	if !ok {
		return e
	}
	s, ok := l.Value.(*scalar.String)
	if !ok || !s.Valid {
		return e
	}
	var v float64
	switch string(s.Value.Bytes()) {
	case "NaN":
		v = math.NaN()
	case "Infinity":
		v = math.Inf(1)
	case "-Infinity":
		v = math.Inf(-1)
	default:
		return e
	}
	switch c.To.ID() {
	case arrow.FLOAT32:
		return &Literal{Value: float32Scalar(float32(v)), At: c.At}
	case arrow.FLOAT64:
		return &Literal{Value: float64Scalar(v), At: c.At}
	}
	return e
}
