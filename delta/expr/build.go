package expr

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

const built = -1 // the position of a node that was not parsed

// Col names a column as a text does: "a.b" is the field b of the struct a, and backticks keep a
// name with dots together. Field takes names as they are.
func Col(name string) *Column {
	if path, ok := splitPath(name); ok {
		return Field(path...)
	}
	return Field(name)
}

// Field names a column, or with more than one name a field of a struct.
func Field(path ...string) *Column {
	return &Column{Path: append([]string{}, path...), At: built}
}

// splitPath splits at dots outside backticks; a doubled backtick within them is one.
func splitPath(name string) (path []string, ok bool) {
	for rest := name; ; {
		var part string
		if strings.HasPrefix(rest, "`") {
			quoted, n, ok := unquote(rest, '`')
			if !ok {
				return nil, false
			}
			part, rest = quoted, rest[n:]
		} else {
			n := strings.IndexByte(rest+".", '.')
			part, rest = rest[:n], rest[n:]
		}
		path = append(path, part)
		switch {
		case rest == "":
			return path, true
		case rest[0] != '.':
			return nil, false
		}
		rest = rest[1:]
	}
}

// unquote reads a quoted name at the start of text; n is its length with the quotes.
func unquote(text string, quote byte) (name string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != quote {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		return b.String(), i + 1, true
	}
	return "", 0, false
}

// Lit is a constant: a bool, any integer, a float32 or float64, a string, a []byte, a time.Time
// (an instant, kept to the microsecond), a time.Duration (an interval), an Arrow scalar, what Date,
// Decimal and Interval give, or nil for NULL. Another value gives an Invalid, which binding refuses.
func Lit(v any) Expr {
	switch v := v.(type) {
	case *Literal, *Invalid:
		return v.(Expr)
	case scalar.Scalar:
		if v == nil {
			return &Literal{At: built}
		}
	}
	value, err := literal(v)
	if err != nil {
		return &Invalid{Err: err, At: built}
	}
	return &Literal{Value: value, At: built}
}

// Date is a day of the calendar.
func Date(year int, month time.Month, day int) Expr {
	t := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if y, m, d := t.Date(); y != year || m != month || d != day {
		return &Invalid{Err: fmt.Errorf("there is no day %d-%02d-%02d", year, int(month), day), At: built}
	}
	days := floorDiv(t.Unix(), 24*60*60)
	if int64(arrow.Date32(days)) != days {
		return &Invalid{Err: fmt.Errorf("the day %d-%02d-%02d is beyond what a date holds", year, int(month), day), At: built}
	}
	return Lit(arrow.Date32(days))
}

// Decimal is an exact number given as text, "12.50".
func Decimal(text string) Expr {
	value, err := decimalScalar(text)
	if err != nil {
		return &Invalid{Err: err, At: built}
	}
	return &Literal{Value: value, At: built}
}

// operand takes a tree as it is and anything else as a literal.
func operand(v any) Expr {
	if e, ok := v.(Expr); ok {
		return e
	}
	return Lit(v)
}

func operandList(values []any) []Expr {
	list := make([]Expr, len(values))
	for i, v := range values {
		list[i] = operand(v)
	}
	return list
}

func binary(op Op, l Expr, r any) *Binary {
	return &Binary{Op: op, L: l, R: operand(r), At: built}
}

// AllOf joins conditions with AND; one condition stays as it is, none is TRUE.
func AllOf(conditions ...Expr) Expr { return join(And, true, conditions) }

// AnyOf joins conditions with OR; one condition stays as it is, none is FALSE.
func AnyOf(conditions ...Expr) Expr { return join(Or, false, conditions) }

func join(op Op, empty bool, conditions []Expr) Expr {
	if len(conditions) == 0 {
		return Lit(empty)
	}
	joined := conditions[0]
	for _, c := range conditions[1:] {
		joined = binary(op, joined, c)
	}
	return joined
}

// Negate is NOT x.
func Negate(x Expr) *Not { return &Not{X: x, At: built} }

// Convert is CAST(x AS to); x may be a literal.
func Convert(x any, to arrow.DataType) Expr {
	return foldNumber(&Cast{X: operand(x), To: to, At: built})
}

// Apply joins two operands with an operator: Apply(Sub, 100, Col("discount")) is 100 - discount.
// Operands are trees or whatever Lit takes, as everywhere.
func Apply(op Op, l, r any) *Binary { return binary(op, operand(l), r) }

// CaseWhen is CASE WHEN condition THEN then END; the methods When and Otherwise add to it.
func CaseWhen(condition Expr, then any) *Case {
	return &Case{Whens: []When{{If: condition, Then: operand(then)}}, At: built}
}

// CaseOf is CASE x WHEN value THEN then END; the methods When and Otherwise add to it.
func CaseOf(x, value, then any) *Case {
	return &Case{Operand: operand(x), Whens: []When{{If: operand(value), Then: operand(then)}}, At: built}
}

// When is e with one more branch: a condition, or with an operand a value that it is compared with.
func (e *Case) When(condition, then any) *Case {
	copied := *e
	copied.Whens = append(slices.Clip(e.Whens), When{If: operand(condition), Then: operand(then)})
	return &copied
}

// Otherwise is e with the value of ELSE.
func (e *Case) Otherwise(v any) *Case {
	copied := *e
	copied.Else = operand(v)
	return &copied
}

// EscapedBy is e with another character than backslash before what stands for itself in the pattern.
func (e *Like) EscapedBy(c rune) *Like {
	copied := *e
	copied.Escape = c
	return &copied
}

// Function is a call by name. The name is as in SQL text; the sign of -x is the function negative, ||
// is concat.
func Function(name string, args ...any) *Call {
	return &Call{Name: name, Args: operandList(args), At: built}
}
