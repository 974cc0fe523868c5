package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/scalar"
)

func (e *Column) String() string  { return text(e) }
func (e *Literal) String() string { return text(e) }
func (e *Binary) String() string  { return text(e) }
func (e *Not) String() string     { return text(e) }
func (e *IsNull) String() string  { return text(e) }
func (e *In) String() string      { return text(e) }
func (e *Between) String() string { return text(e) }
func (e *Cast) String() string    { return text(e) }
func (e *Call) String() string    { return text(e) }
func (e *Like) String() string    { return text(e) }
func (e *Case) String() string    { return text(e) }
func (e *Element) String() string { return text(e) }
func (e *Member) String() string  { return text(e) }
func (e *Invalid) String() string { return text(e) }

// String is the operator as it is written.
func (op Op) String() string {
	switch op {
	case Eq:
		return "="
	case Ne:
		return "<>"
	case Lt:
		return "<"
	case Le:
		return "<="
	case Gt:
		return ">"
	case Ge:
		return ">="
	case NullSafeEq:
		return "<=>"
	case And:
		return "AND"
	case Or:
		return "OR"
	case Add:
		return "+"
	case Sub:
		return "-"
	case Mul:
		return "*"
	case Div:
		return "/"
	case IntDiv:
		return "DIV"
	case Mod:
		return "%"
	}
	return "Op(" + strconv.Itoa(int(op)) + ")"
}

func text(e Expr) string {
	var p printer
	p.print(e, powerNone)
	return p.String()
}

// powerOf is how strongly the outermost operator of e binds, in the parser's terms.
func powerOf(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		switch e.Op {
		case Or:
			return powerOr
		case And:
			return powerAnd
		case Add, Sub:
			return powerAdd
		case Mul, Div, IntDiv, Mod:
			return powerTimes
		}
		return powerCompare
	case *Not:
		return powerNot
	case *IsNull, *In, *Between, *Like:
		return powerTest
	case *Call:
		if isNegative(e) {
			return powerSign
		}
	case *Element, *Member:
		return powerField
	}
	return powerOperand
}

// The functions that signs stand for.
const (
	negative = "negative"
	positive = "positive"
)

// isNegative tells whether a call is written with a minus.
func isNegative(e *Call) bool {
	return len(e.Args) == 1 && strings.EqualFold(e.Name, negative)
}

type printer struct{ strings.Builder }

// print writes e, in parentheses if it binds less than least.
func (p *printer) print(e Expr, least int) {
	if e == nil {
		p.WriteString("<missing>")
		return
	}
	if powerOf(e) < least {
		p.WriteByte('(')
		defer p.WriteByte(')')
	}
	switch e := e.(type) {
	case *Column:
		p.path(e.Path)
	case *Literal:
		p.literal(e.Value)
	case *Binary:
		p.binary(e)
	case *Not:
		p.WriteString("NOT ")
		p.print(e.X, powerNot)
	case *IsNull:
		p.print(e.X, powerCompare+1)
		p.WriteString(choose(e.Negated, " IS NOT NULL", " IS NULL"))
	case *In:
		p.print(e.X, powerCompare+1)
		p.WriteString(choose(e.Negated, " NOT IN ", " IN "))
		p.list(e.List)
	case *Between:
		p.print(e.X, powerCompare+1)
		p.WriteString(choose(e.Negated, " NOT BETWEEN ", " BETWEEN "))
		p.print(e.Lo, powerCompare+1)
		p.WriteString(" AND ")
		p.print(e.Hi, powerCompare+1)
	case *Like:
		p.like(e)
	case *Case:
		p.branches(e)
	case *Element:
		p.print(e.X, powerOfSubject(e.X))
		p.WriteByte('[')
		p.print(e.Index, powerTest+1)
		p.WriteByte(']')
	case *Member:
		least := powerOfSubject(e.X)
		if _, ok := e.X.(*Column); ok { // without parentheses it would be a column's path
			least = powerOperand + 1
		}
		p.print(e.X, least)
		p.WriteByte('.')
		p.name(e.Name)
	case *Cast:
		p.WriteString("CAST(")
		p.print(e.X, powerNone)
		p.WriteString(" AS " + TypeName(e.To) + ")")
	case *Call:
		p.call(e)
	case *Invalid:
		fmt.Fprintf(p, "<%v>", e.Err)
	}
}

func choose(negated bool, yes, no string) string {
	if negated {
		return yes
	}
	return no
}

// binary writes a chain of operators of one power from left to right without a call for each link.
// Comparisons in a row get parentheses, for the eye.
func (p *printer) binary(e *Binary) {
	power := powerOf(e)
	chain := []*Binary{e}
	for power != powerCompare {
		l, ok := chain[len(chain)-1].L.(*Binary)
		if !ok || powerOf(l) != power {
			break
		}
		chain = append(chain, l)
	}
	first := power
	if power == powerCompare {
		first++
	}
	p.print(chain[len(chain)-1].L, first)
	for i := len(chain) - 1; i >= 0; i-- {
		p.WriteString(" " + chain[i].Op.String() + " ")
		p.print(chain[i].R, power+1)
	}
}

func (p *printer) like(e *Like) {
	p.print(e.X, powerCompare+1)
	p.WriteString(choose(e.Negated, " NOT", "") + choose(e.Fold, " ILIKE ", " LIKE "))
	p.print(e.Pattern, powerCompare+1)
	if c := escapeOf(e); c != '\\' {
		p.WriteString(" ESCAPE ")
		p.quoted(string(c))
	}
}

// escapeOf is the character that escapes in a pattern.
func escapeOf(e *Like) rune {
	if e.Escape == 0 {
		return '\\'
	}
	return e.Escape
}

func (p *printer) branches(e *Case) {
	p.WriteString("CASE")
	if e.Operand != nil {
		p.WriteByte(' ')
		p.print(e.Operand, powerNone)
	}
	for _, w := range e.Whens {
		p.WriteString(" WHEN ")
		p.print(w.If, powerNone)
		p.WriteString(" THEN ")
		p.print(w.Then, powerNone)
	}
	if e.Else != nil {
		p.WriteString(" ELSE ")
		p.print(e.Else, powerNone)
	}
	p.WriteString(" END")
}

// call writes a function; negative is a minus before what is no literal, and the unit of timestampadd
// a word. An argument that could be read as a word gets backticks or parentheses.
func (p *printer) call(e *Call) {
	if isNegative(e) {
		p.WriteByte('-')
		p.print(e.Args[0], powerOfSubject(e.Args[0]))
		return
	}
	upper := strings.ToUpper(e.Name)
	if niladic[upper] {
		p.WriteString(e.Name)
	} else {
		p.name(e.Name)
	}
	p.WriteByte('(')
	for i, x := range e.Args {
		if i > 0 {
			p.WriteString(", ")
		}
		c, isColumn := x.(*Column)
		switch {
		case i == 0 && unitOf(e) != "":
			p.WriteString(unitOf(e))
		case i == 0 && isColumn && unitForms[upper] != "" && len(e.Args) == 3 && len(c.Path) == 1:
			p.backticks(c.Path[0])
		case i == 0 && upper == "POSITION":
			p.print(x, powerTest+1)
		default:
			p.print(x, powerNone)
		}
	}
	p.WriteByte(')')
}

// powerOfSubject is how strongly an element or a field binds what it is taken of. A literal gets
// parentheses: the sign and the point of a number are its own.
func powerOfSubject(e Expr) int {
	if _, ok := e.(*Literal); ok {
		return powerOperand + 1
	}
	return powerField
}

func (p *printer) list(list []Expr) {
	p.WriteByte('(')
	for i, e := range list {
		if i > 0 {
			p.WriteString(", ")
		}
		p.print(e, powerNone)
	}
	p.WriteByte(')')
}

func (p *printer) path(path []string) {
	for i, name := range path {
		if i > 0 {
			p.WriteByte('.')
		}
		p.name(name)
	}
}

func (p *printer) name(name string) {
	if plainName(name) {
		p.WriteString(name)
		return
	}
	p.backticks(name)
}

func (p *printer) backticks(name string) {
	p.WriteString("`" + strings.ReplaceAll(name, "`", "``") + "`")
}

// plainName tells whether a name needs no backticks.
func plainName(name string) bool {
	if name == "" || hasMeaning(strings.ToUpper(name)) {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !nameByte(c) || c >= utf8.RuneSelf || i == 0 && digit(c) {
			return false
		}
	}
	return true
}

func (p *printer) literal(v scalar.Scalar) {
	c, err := literal(v)
	if err != nil {
		fmt.Fprintf(p, "<%v>", err)
		return
	}
	switch v := c.(type) {
	case nil:
		p.WriteString("NULL")
	case *scalar.Boolean:
		p.WriteString(choose(v.Value, "TRUE", "FALSE"))
	case *scalar.Int8:
		p.WriteString(strconv.Itoa(int(v.Value)) + "Y")
	case *scalar.Int16:
		p.WriteString(strconv.Itoa(int(v.Value)) + "S")
	case *scalar.Int32:
		p.WriteString(strconv.Itoa(int(v.Value)))
	case *scalar.Int64:
		p.WriteString(strconv.FormatInt(v.Value, 10) + "L")
	case *scalar.Float32:
		p.float(float64(v.Value), 32)
	case *scalar.Float64:
		p.float(v.Value, 64)
	case *scalar.Decimal128:
		p.WriteString(formatDecimal(v) + "BD")
	case *scalar.String:
		p.quoted(string(v.Value.Bytes()))
	case *scalar.Binary:
		fmt.Fprintf(p, "X'%X'", v.Value.Bytes())
	case *scalar.Date32:
		p.WriteString("DATE '" + FormatDate(v.Value) + "'")
	case *scalar.MonthDayNanoInterval:
		p.WriteString("INTERVAL " + formatInterval(v.Value))
	case *scalar.Timestamp:
		p.WriteString(TypeName(v.Type) + " '" + FormatTimestamp(v.Value) + "'")
	}
}

func (p *printer) float(v float64, bits int) {
	name, suffix := "DOUBLE", "D"
	if bits == 32 {
		name, suffix = "FLOAT", "F"
	}
	switch {
	case math.IsNaN(v):
		p.WriteString("CAST('NaN' AS " + name + ")")
	case math.IsInf(v, 0):
		p.WriteString("CAST('" + choose(v < 0, "-Infinity", "Infinity") + "' AS " + name + ")")
	default:
		p.WriteString(strconv.FormatFloat(v, 'g', -1, bits) + suffix)
	}
}

func formatDecimal(v *scalar.Decimal128) string {
	scale := int(decimalScale(v))
	digits := v.Value.BigInt().String()
	if scale == 0 {
		return digits
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// quoted writes a string literal; what would not survive a log line is escaped.
func (p *printer) quoted(s string) {
	p.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			p.WriteByte('\\')
			p.WriteRune(r)
		case r == '\n':
			p.WriteString(`\n`)
		case r == '\t':
			p.WriteString(`\t`)
		case r == '\r':
			p.WriteString(`\r`)
		case r < 0x20 || r == 0x7f || r == 0x2028 || r == 0x2029:
			fmt.Fprintf(p, `\u%04X`, r)
		default:
			p.WriteRune(r)
		}
	}
	p.WriteByte('\'')
}
