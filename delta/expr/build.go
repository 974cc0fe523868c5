package expr

import (
	"fmt"
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
// (an instant, kept to the microsecond), an Arrow scalar, what Date and Decimal give, or nil for
// NULL. Another value gives an Invalid, which binding refuses.
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

// Function is a call by name.
func Function(name string, args ...any) *Call {
	return &Call{Name: name, Args: operandList(args), At: built}
}

// Eq is e = v. Operands are trees or whatever Lit takes.
func (e *Column) Eq(v any) *Binary { return binary(Eq, e, v) }

// Ne is e <> v.
func (e *Column) Ne(v any) *Binary { return binary(Ne, e, v) }

// Lt is e < v.
func (e *Column) Lt(v any) *Binary { return binary(Lt, e, v) }

// Le is e <= v.
func (e *Column) Le(v any) *Binary { return binary(Le, e, v) }

// Gt is e > v.
func (e *Column) Gt(v any) *Binary { return binary(Gt, e, v) }

// Ge is e >= v.
func (e *Column) Ge(v any) *Binary { return binary(Ge, e, v) }

// NullSafeEq is e <=> v: NULL equals NULL, and the answer is never NULL.
func (e *Column) NullSafeEq(v any) *Binary { return binary(NullSafeEq, e, v) }

// In is e IN (values…).
func (e *Column) In(values ...any) *In { return &In{X: e, List: operandList(values), At: built} }

// NotIn is e NOT IN (values…).
func (e *Column) NotIn(values ...any) *In {
	return &In{X: e, List: operandList(values), Negated: true, At: built}
}

// Between is e BETWEEN lo AND hi, both ends included.
func (e *Column) Between(lo, hi any) *Between {
	return &Between{X: e, Lo: operand(lo), Hi: operand(hi), At: built}
}

// NotBetween is e NOT BETWEEN lo AND hi.
func (e *Column) NotBetween(lo, hi any) *Between {
	return &Between{X: e, Lo: operand(lo), Hi: operand(hi), Negated: true, At: built}
}

// IsNull is e IS NULL.
func (e *Column) IsNull() *IsNull { return &IsNull{X: e, At: built} }

// IsNotNull is e IS NOT NULL.
func (e *Column) IsNotNull() *IsNull { return &IsNull{X: e, Negated: true, At: built} }

// Cast is CAST(e AS to).
func (e *Column) Cast(to arrow.DataType) *Cast { return &Cast{X: e, To: to, At: built} }

// And is e AND v, where e is a column of booleans.
func (e *Column) And(v any) *Binary { return binary(And, e, v) }

// Or is e OR v, where e is a column of booleans.
func (e *Column) Or(v any) *Binary { return binary(Or, e, v) }

// Not is NOT e, where e is a column of booleans.
func (e *Column) Not() *Not { return Negate(e) }

// Eq is e = v.
func (e *Cast) Eq(v any) *Binary { return binary(Eq, e, v) }

// Ne is e <> v.
func (e *Cast) Ne(v any) *Binary { return binary(Ne, e, v) }

// Lt is e < v.
func (e *Cast) Lt(v any) *Binary { return binary(Lt, e, v) }

// Le is e <= v.
func (e *Cast) Le(v any) *Binary { return binary(Le, e, v) }

// Gt is e > v.
func (e *Cast) Gt(v any) *Binary { return binary(Gt, e, v) }

// Ge is e >= v.
func (e *Cast) Ge(v any) *Binary { return binary(Ge, e, v) }

// NullSafeEq is e <=> v.
func (e *Cast) NullSafeEq(v any) *Binary { return binary(NullSafeEq, e, v) }

// In is e IN (values…).
func (e *Cast) In(values ...any) *In { return &In{X: e, List: operandList(values), At: built} }

// Between is e BETWEEN lo AND hi.
func (e *Cast) Between(lo, hi any) *Between {
	return &Between{X: e, Lo: operand(lo), Hi: operand(hi), At: built}
}

// And is e AND v.
func (e *Binary) And(v any) *Binary { return binary(And, e, v) }

// Or is e OR v.
func (e *Binary) Or(v any) *Binary { return binary(Or, e, v) }

// Not is NOT e.
func (e *Binary) Not() *Not { return Negate(e) }

// And is e AND v.
func (e *Not) And(v any) *Binary { return binary(And, e, v) }

// Or is e OR v.
func (e *Not) Or(v any) *Binary { return binary(Or, e, v) }

// And is e AND v.
func (e *In) And(v any) *Binary { return binary(And, e, v) }

// Or is e OR v.
func (e *In) Or(v any) *Binary { return binary(Or, e, v) }

// Not is NOT e.
func (e *In) Not() *Not { return Negate(e) }

// And is e AND v.
func (e *Between) And(v any) *Binary { return binary(And, e, v) }

// Or is e OR v.
func (e *Between) Or(v any) *Binary { return binary(Or, e, v) }

// Not is NOT e.
func (e *Between) Not() *Not { return Negate(e) }

// And is e AND v.
func (e *IsNull) And(v any) *Binary { return binary(And, e, v) }

// Or is e OR v.
func (e *IsNull) Or(v any) *Binary { return binary(Or, e, v) }

// Not is NOT e.
func (e *IsNull) Not() *Not { return Negate(e) }
