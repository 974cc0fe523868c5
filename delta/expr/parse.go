package expr

import (
	"fmt"
	"unicode/utf8"

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
	for links := 1; err == nil; {
		op := p.infix()
		if op.parse == nil || op.power < least || op.power > most {
			return left, nil
		}
		// A chain of AND or OR is flat to those who walk it; one of comparisons nests.
		if op.power >= powerTest {
			if links++; links > MaxDepth {
				return nil, p.fail(p.tok.at, fmt.Sprintf("the condition nests deeper than %d", MaxDepth))
			}
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
