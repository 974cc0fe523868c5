package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

const (
	// MaxDepth is how deep a text may nest.
	MaxDepth = 200
	// MaxLength is how long a text may be, in bytes.
	MaxLength = 1 << 20
)

// How strongly operators bind; the greater the power, the tighter. The gaps between comparison and
// operand are those of Spark's bitwise and arithmetic operators.
const (
	powerNone    = 0
	powerOr      = 10
	powerAnd     = 20
	powerNot     = 30
	powerTest    = 40 // IN, BETWEEN, IS, LIKE
	powerCompare = 50
	powerBitOr   = 60
	powerBitXor  = 62
	powerBitAnd  = 64
	powerAdd     = 70
	powerTimes   = 80
	powerField   = 90
	powerOperand = 100
)

// Parse reads a condition or expression of Spark SQL. Each ? takes the next argument, which is
// whatever Lit takes; too many or too few are an error. Errors are a *SyntaxError.
//
// Strings are Spark's: quotes of either kind, backslash escapes; a doubled quote is one quote, as
// from Spark 4.0. A number with a point is a decimal, one with an exponent a double.
func Parse(text string, args ...any) (Expr, error) {
	p := &parser{lexer: lexer{text: text}, args: args}
	if len(text) > MaxLength {
		return nil, p.fail(0, fmt.Sprintf("the text has %d bytes, more than %d: hand long lists over as a table to merge with", len(text), MaxLength))
	}
	if !utf8.ValidString(text) {
		return nil, p.fail(validPrefix(text), "the text is not valid UTF-8")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.expression(powerNone)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != end {
		return nil, p.expected("an operator or the end")
	}
	if p.used != len(args) {
		return nil, p.fail(len(text), fmt.Sprintf("the text has %d ?, but %d arguments were given", p.used, len(args)))
	}
	return e, nil
}

func validPrefix(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return i
			}
		}
	}
	return len(text)
}

type parser struct {
	lexer
	tok   token
	args  []any
	used  int
	depth int
}

func (p *parser) advance() error {
	tok, err := p.next()
	p.tok = tok
	return err
}

func (p *parser) expected(what string) error {
	return p.fail(p.tok.at, "expected "+what+", found "+p.tok.describe())
}

func (p *parser) isSymbol(s string) bool  { return p.tok.kind == symbol && p.tok.val == s }
func (p *parser) isKeyword(s string) bool { return p.tok.kind == word && p.tok.val == s }

// expect takes a symbol or keyword.
func (p *parser) expect(s string) error {
	if !p.isSymbol(s) && !p.isKeyword(s) {
		return p.expected(s)
	}
	return p.advance()
}

// accept takes a keyword if it is there.
func (p *parser) accept(keyword string) (bool, error) {
	if !p.isKeyword(keyword) {
		return false, nil
	}
	return true, p.advance()
}

// expression reads operands joined by operators that bind at least as tight as least.
func (p *parser) expression(least int) (Expr, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > MaxDepth {
		return nil, p.fail(p.tok.at, fmt.Sprintf("the condition nests deeper than %d", MaxDepth))
	}
	left, most, err := p.prefix(least)
	for err == nil {
		op := p.infix()
		if op.parse == nil || op.power < least || op.power > most {
			return left, nil
		}
		// A test such as IN takes no operator that binds tighter, or as tight, behind it.
		if op.power == powerTest {
			most = powerTest - 1
		}
		left, err = op.parse(p, left)
	}
	return nil, err
}

// operator is a row of the table: how tight it binds and how the rest of it is read.
type operator struct {
	power int
	parse func(p *parser, left Expr) (Expr, error)
}

// infix looks the current token up in the table of operators.
func (p *parser) infix() operator {
	if p.tok.kind != symbol && p.tok.kind != word {
		return operator{}
	}
	switch p.tok.val {
	case "OR":
		return joined(powerOr, Or)
	case "AND":
		return joined(powerAnd, And)
	case "=", "==":
		return joined(powerCompare, Eq)
	case "<>", "!=":
		return joined(powerCompare, Ne)
	case "<":
		return joined(powerCompare, Lt)
	case "<=":
		return joined(powerCompare, Le)
	case ">":
		return joined(powerCompare, Gt)
	case ">=":
		return joined(powerCompare, Ge)
	case "<=>":
		return joined(powerCompare, NullSafeEq)
	case "IS":
		return operator{powerTest, (*parser).is}
	case "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP":
		return operator{powerTest, (*parser).test}
	case "|":
		return operator{powerBitOr, (*parser).refuse}
	case "^":
		return operator{powerBitXor, (*parser).refuse}
	case "&":
		return operator{powerBitAnd, (*parser).refuse}
	case "+", "-", "||":
		return operator{powerAdd, (*parser).refuse}
	case "*", "/", "%", "DIV":
		return operator{powerTimes, (*parser).refuse}
	case "[", "::", "->", "COLLATE":
		return operator{powerField, (*parser).refuse}
	}
	return operator{}
}

// joined is an operator with two operands that groups from the left.
func joined(power int, op Op) operator {
	return operator{power, func(p *parser, left Expr) (Expr, error) {
		at := p.tok.at
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.expression(power + 1)
		if err != nil {
			return nil, err
		}
		return &Binary{Op: op, L: left, R: right, At: at}, nil
	}}
}

func (p *parser) refuse(Expr) (Expr, error) { return nil, p.unsupported() }

// unsupported names what Spark has here and idem lacks.
func (p *parser) unsupported() error {
	what := "the operator " + p.tok.text
	if p.tok.kind == word {
		what = p.tok.val
	}
	return p.fail(p.tok.at, what+" is not supported in a condition")
}

// is reads IS [NOT] NULL, TRUE, FALSE, UNKNOWN and DISTINCT FROM. The last four are written with
// <=>, which is never NULL.
func (p *parser) is(left Expr) (Expr, error) {
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	negated, err := p.accept("NOT")
	if err != nil {
		return nil, err
	}
	if p.tok.kind != word {
		return nil, p.expected("NULL, TRUE, FALSE or DISTINCT FROM")
	}
	subject := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	var same Expr
	switch subject.val {
	case "NULL", "UNKNOWN":
		return &IsNull{X: left, Negated: negated, At: at}, nil
	case "TRUE", "FALSE":
		value := &Literal{Value: scalar.NewBooleanScalar(subject.val == "TRUE"), At: subject.at}
		same = &Binary{Op: NullSafeEq, L: left, R: value, At: at}
	case "DISTINCT":
		if err := p.expect("FROM"); err != nil {
			return nil, err
		}
		right, err := p.expression(powerTest + 1)
		if err != nil {
			return nil, err
		}
		same, negated = &Binary{Op: NullSafeEq, L: left, R: right, At: at}, !negated
	default:
		return nil, p.fail(subject.at, "expected NULL, TRUE, FALSE or DISTINCT FROM, found "+subject.describe())
	}
	if negated {
		return &Not{X: same, At: at}, nil
	}
	return same, nil
}

// test reads [NOT] IN and [NOT] BETWEEN.
func (p *parser) test(left Expr) (Expr, error) {
	at := p.tok.at
	negated, err := p.accept("NOT")
	if err != nil {
		return nil, err
	}
	switch {
	case p.isKeyword("IN"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		if p.isSymbol(")") {
			return nil, p.expected("a value")
		}
		list, err := p.list()
		if err != nil {
			return nil, err
		}
		return &In{X: left, List: list, Negated: negated, At: at}, nil
	case p.isKeyword("BETWEEN"):
		return p.between(left, negated, at)
	case p.isKeyword("LIKE"), p.isKeyword("ILIKE"), p.isKeyword("RLIKE"), p.isKeyword("REGEXP"):
		return nil, p.unsupported()
	}
	return nil, p.expected("IN or BETWEEN")
}

func (p *parser) between(left Expr, negated bool, at int) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	lo, err := p.expression(powerTest + 1)
	if err != nil {
		return nil, err
	}
	if err := p.expect("AND"); err != nil {
		return nil, err
	}
	hi, err := p.expression(powerTest + 1)
	if err != nil {
		return nil, err
	}
	return &Between{X: left, Lo: lo, Hi: hi, Negated: negated, At: at}, nil
}

// list reads expressions up to and with the closing parenthesis; there may be none.
func (p *parser) list() ([]Expr, error) {
	var list []Expr
	if p.isSymbol(")") {
		return list, p.advance()
	}
	for {
		e, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.isSymbol(",") {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if !p.isSymbol(")") {
		return nil, p.expected(`an operator, "," or ")"`)
	}
	return list, p.advance()
}

// prefix reads an operand. most is the tightest operator that may follow it.
func (p *parser) prefix(least int) (e Expr, most int, err error) {
	tok := p.tok
	if tok.kind == word && tok.val == "NOT" || tok.kind == symbol && tok.val == "!" {
		if least > powerNot {
			return nil, 0, p.expected("a value; put NOT into parentheses")
		}
		if err := p.advance(); err != nil {
			return nil, 0, err
		}
		x, err := p.expression(powerNot)
		return &Not{X: x, At: tok.at}, powerNot - 1, err
	}
	e, err = p.operand()
	return e, powerOperand, err
}

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
	at := p.tok.at
	switch p.tok.val {
	case "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		if !p.isSymbol(")") {
			return nil, p.expected(`an operator or ")"`)
		}
		return e, p.advance()
	case "-", "+":
		sign := p.tok.val
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind != number {
			return nil, p.fail(at, "the operator "+sign+" is supported before a number only")
		}
		e, err := p.number(strings.TrimPrefix(sign, "+"))
		if l, ok := e.(*Literal); ok {
			l.At = at
		}
		return e, err
	case "?":
		return p.argument()
	case "~":
		return nil, p.unsupported()
	}
	return nil, p.expected("a column or a value")
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

// reserved are the words that name a column only in backticks.
var reserved = map[string]bool{
	"AND": true, "OR": true, "NOT": true, "IN": true, "BETWEEN": true, "IS": true, "NULL": true, "TRUE": true,
	"FALSE": true, "LIKE": true, "ILIKE": true, "RLIKE": true, "REGEXP": true, "DIV": true, "CASE": true, "COLLATE": true,
}

// special are the words with a meaning before a parenthesis, a string or a number; elsewhere they
// name a column.
var special = map[string]bool{
	"CAST": true, "TRY_CAST": true, "EXISTS": true, "SELECT": true, "INTERVAL": true, "DISTINCT": true,
}

// keyword reads an operand that starts with a word.
func (p *parser) keyword() (Expr, error) {
	switch tok := p.tok; {
	case tok.val == "NULL":
		return p.value(nil, nil)
	case tok.val == "TRUE" || tok.val == "FALSE":
		return p.value(scalar.NewBooleanScalar(tok.val == "TRUE"), nil)
	case tok.val == "CASE":
		return nil, p.unsupported()
	case reserved[tok.val]:
		return nil, p.fail(tok.at, "expected a column or a value, found the keyword "+tok.val+"; a column of that name needs backticks")
	}
	return p.name()
}

// name reads a column, a function call, a CAST, or a literal with its type before it.
func (p *parser) name() (Expr, error) {
	first := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case first.kind == word && special[first.val] && p.tok.kind != end && first.val != "CAST" && p.startsOperand():
		return nil, p.fail(first.at, first.val+" is not supported in a condition")
	case first.kind == word && first.val == "CAST" && p.isSymbol("("):
		return p.cast(first.at)
	case p.isSymbol("("):
		return p.call(first)
	case first.kind == word && p.tok.kind == str:
		return p.typed(first)
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
		return nil, p.fail(first.at, "functions with a qualified name are not supported in a condition")
	}
	return &Column{Path: path, At: first.at}, nil
}

// startsOperand tells whether the token could begin an operand, so that the word before it was
// no column.
func (p *parser) startsOperand() bool {
	switch p.tok.kind {
	case str, number, quoted, hexa:
		return true
	case word:
		return p.infix().parse == nil && !p.isKeyword("AS")
	}
	return p.isSymbol("(")
}

func nameOf(t token) string {
	if t.kind == quoted {
		return t.val
	}
	return t.text
}

func (p *parser) call(name token) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	args, err := p.list()
	if err != nil {
		return nil, err
	}
	return &Call{Name: nameOf(name), Args: args, At: name.at}, nil
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
		return nil, p.fail(name.at, "literals of the type "+name.text+" are not supported in a condition")
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
	return nil, p.fail(name.at, "a CAST to "+name.text+" is not supported in a condition")
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
