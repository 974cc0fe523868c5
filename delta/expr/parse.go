package expr

import (
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/scalar"
)

const (
	// MaxDepth is how many levels the tree of a text may have. A chain of AND, or of OR, is one.
	MaxDepth = 200
	// MaxLength is how long a text may be, in bytes.
	MaxLength = 1 << 20
)

// maxNesting bounds the calls of the parser within each other. A tree of MaxDepth takes at most two
// for a level: one for an operand and one for the parentheses around it.
const maxNesting = 2*MaxDepth + 2

// How strongly operators bind; the greater the power, the tighter. The levels are Spark's.
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
	powerShift   = 66
	powerAdd     = 70 // + - ||
	powerTimes   = 80 // * / % DIV
	powerSign    = 85
	powerField   = 90 // [ ] . ::
	powerOperand = 100
)

// Parse reads a condition or another expression of Spark SQL. Each ? takes the next argument, which is
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
	if len(text) > MaxDepth { // a level takes a byte at least
		if below := tooDeep(e); below != nil {
			return nil, p.fail(below.Pos(), nestsTooDeep)
		}
	}
	return e, nil
}

var nestsTooDeep = fmt.Sprintf("the expression nests deeper than %d", MaxDepth)

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

// peek is the token after the current one, or none where there is no token.
func (p *parser) peek() token {
	ahead := p.lexer
	tok, err := ahead.next()
	if err != nil {
		return token{kind: end, at: ahead.at}
	}
	return tok
}

func (p *parser) expected(what string) error {
	return p.fail(p.tok.at, "expected "+what+", found "+p.tok.describe())
}

func (p *parser) isSymbol(s string) bool  { return p.tok.isSymbol(s) }
func (p *parser) isKeyword(s string) bool { return p.tok.isWord(s) }

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
	if p.depth > maxNesting {
		return nil, p.fail(p.tok.at, nestsTooDeep)
	}
	left, most, err := p.prefix(least)
	if err != nil {
		return nil, err
	}
	return p.joined(left, least, most)
}

// joined reads the operators behind an operand, and what they join to it. most is the tightest that
// may come first.
func (p *parser) joined(left Expr, least, most int) (Expr, error) {
	for {
		op := infix(p.tok)
		if op.power == powerNone || op.power < least || op.power > most {
			return left, nil
		}
		// What binds tighter than op was for its right operand to take. A test such as IN does not even
		// take another test behind it.
		most = op.power
		if op.power == powerTest {
			most--
		}
		var err error
		if op.parse == nil {
			left, err = p.binary(left, op)
		} else {
			left, err = op.parse(p, left)
		}
		if err != nil {
			return nil, err
		}
	}
}

// operator is a row of the table: how tight it binds, and how it and the rest is read or, if there is
// no parse, what it joins a right operand with.
type operator struct {
	power int
	op    Op
	parse func(p *parser, left Expr) (Expr, error)
}

// infix looks a token up in the table of operators. The power of what is none is powerNone.
func infix(t token) operator {
	if t.kind != symbol && t.kind != word {
		return operator{}
	}
	switch t.val {
	case "OR":
		return operator{power: powerOr, op: Or}
	case "AND":
		return operator{power: powerAnd, op: And}
	case "=", "==":
		return operator{power: powerCompare, op: Eq}
	case "<>", "!=":
		return operator{power: powerCompare, op: Ne}
	case "<":
		return operator{power: powerCompare, op: Lt}
	case "<=":
		return operator{power: powerCompare, op: Le}
	case ">":
		return operator{power: powerCompare, op: Gt}
	case ">=":
		return operator{power: powerCompare, op: Ge}
	case "<=>":
		return operator{power: powerCompare, op: NullSafeEq}
	case "IS":
		return operator{power: powerTest, parse: (*parser).is}
	case "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP":
		return operator{power: powerTest, parse: (*parser).test}
	case "|":
		return operator{power: powerBitOr, parse: (*parser).refuse}
	case "^":
		return operator{power: powerBitXor, parse: (*parser).refuse}
	case "&":
		return operator{power: powerBitAnd, parse: (*parser).refuse}
	case "<<", ">>", ">>>":
		return operator{power: powerShift, parse: (*parser).refuse}
	case "+":
		return operator{power: powerAdd, op: Add}
	case "-":
		return operator{power: powerAdd, op: Sub}
	case "||":
		return operator{power: powerAdd, parse: (*parser).concat}
	case "*":
		return operator{power: powerTimes, op: Mul}
	case "/":
		return operator{power: powerTimes, op: Div}
	case "%":
		return operator{power: powerTimes, op: Mod}
	case "DIV":
		return operator{power: powerTimes, op: IntDiv}
	case "[":
		return operator{power: powerField, parse: (*parser).element}
	case ".":
		return operator{power: powerField, parse: (*parser).member}
	case "::":
		return operator{power: powerField, parse: (*parser).castBehind}
	case ":", "->", "=>", "COLLATE":
		return operator{power: powerField, parse: (*parser).refuse}
	}
	return operator{}
}

// binary reads the operator and the right operand; chains group from the left.
func (p *parser) binary(left Expr, op operator) (Expr, error) {
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.expression(op.power + 1)
	if err != nil {
		return nil, err
	}
	return &Binary{Op: op.op, L: left, R: right, At: at}, nil
}

// concat reads a || b, the function concat.
func (p *parser) concat(left Expr) (Expr, error) {
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.expression(powerAdd + 1)
	if err != nil {
		return nil, err
	}
	return &Call{Name: "concat", Args: []Expr{left, right}, At: at}, nil
}

// element reads x[i].
func (p *parser) element(left Expr) (Expr, error) {
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	index, err := p.expression(powerTest + 1)
	if err != nil {
		return nil, err
	}
	if !p.isSymbol("]") {
		return nil, p.expected(`an operator or "]"`)
	}
	return &Element{X: left, Index: index, At: at}, p.advance()
}

// member reads the field of anything but a plain name.
func (p *parser) member(left Expr) (Expr, error) {
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != word && p.tok.kind != quoted {
		return nil, p.expected("the name of a field")
	}
	return &Member{X: left, Name: nameOf(p.tok), At: at}, p.advance()
}

// castBehind reads x::type.
func (p *parser) castBehind(left Expr) (Expr, error) {
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	to, err := p.typeName()
	if err != nil {
		return nil, err
	}
	return foldNumber(&Cast{X: left, To: to, At: at}), nil
}

func (p *parser) refuse(Expr) (Expr, error) { return nil, p.unsupported() }

// unsupported names what Spark has here and idem lacks.
func (p *parser) unsupported() error {
	what := "the operator " + p.tok.text
	if p.tok.kind == word {
		what = p.tok.val
	}
	return p.fail(p.tok.at, what+" is not supported")
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

// test reads [NOT] IN, [NOT] BETWEEN and [NOT] LIKE.
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
		list, err := p.more(nil)
		if err != nil {
			return nil, err
		}
		return &In{X: left, List: list, Negated: negated, At: at}, nil
	case p.isKeyword("BETWEEN"):
		return p.between(left, negated, at)
	case p.isKeyword("LIKE"), p.isKeyword("ILIKE"):
		return p.like(&Like{X: left, Fold: p.isKeyword("ILIKE"), Negated: negated, At: at})
	case p.isKeyword("RLIKE"), p.isKeyword("REGEXP"):
		return p.rlike(left, negated, at)
	}
	return nil, p.expected("IN, BETWEEN or LIKE")
}

// rlike reads the regular expression of a RLIKE b, the function rlike.
func (p *parser) rlike(left Expr, negated bool, at int) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	pattern, err := p.expression(powerTest + 1)
	if err != nil {
		return nil, err
	}
	found := &Call{Name: "rlike", Args: []Expr{left, pattern}, At: at}
	if negated {
		return &Not{X: found, At: at}, nil
	}
	return found, nil
}

// like reads the pattern and the ESCAPE of e.
func (p *parser) like(e *Like) (Expr, error) {
	operator := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if (p.isKeyword("ANY") || p.isKeyword("SOME") || p.isKeyword("ALL")) && p.peek().isSymbol("(") {
		return nil, p.fail(p.tok.at, operator.val+" "+p.tok.val+" is not supported")
	}
	var err error
	if e.Pattern, err = p.expression(powerTest + 1); err != nil {
		return nil, err
	}
	if escaped, err := p.accept("ESCAPE"); err != nil || !escaped {
		return e, err
	}
	r, n := utf8.DecodeRuneInString(p.tok.val)
	if p.tok.kind != str || n == 0 || n != len(p.tok.val) {
		return nil, p.expected("a string of one character")
	}
	if r != '\\' {
		e.Escape = r
	}
	return e, p.advance()
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
	if p.isSymbol(")") {
		return nil, p.advance()
	}
	return p.more(nil)
}

// more reads the expressions behind those of a list, and the closing parenthesis.
func (p *parser) more(list []Expr) ([]Expr, error) {
	for len(list) == 0 || p.isSymbol(",") {
		if len(list) > 0 {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		e, err := p.expression(powerNone)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
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
