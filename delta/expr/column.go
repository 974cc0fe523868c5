package expr

import "github.com/apache/arrow-go/v18/arrow"

func in(x Expr, values []any, negated bool) *In {
	return &In{X: x, List: operandList(values), Negated: negated, At: built}
}

func between(x Expr, lo, hi any, negated bool) *Between {
	return &Between{X: x, Lo: operand(lo), Hi: operand(hi), Negated: negated, At: built}
}

func like(x Expr, pattern any, fold, negated bool) *Like {
	return &Like{X: x, Pattern: operand(pattern), Fold: fold, Negated: negated, At: built}
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

// Plus is e + v.
func (e *Column) Plus(v any) *Binary { return binary(Add, e, v) }

// Minus is e - v.
func (e *Column) Minus(v any) *Binary { return binary(Sub, e, v) }

// Times is e * v.
func (e *Column) Times(v any) *Binary { return binary(Mul, e, v) }

// Div is e / v, which has a fraction, of integers too.
func (e *Column) Div(v any) *Binary { return binary(Div, e, v) }

// IntDiv is e DIV v.
func (e *Column) IntDiv(v any) *Binary { return binary(IntDiv, e, v) }

// Mod is e % v.
func (e *Column) Mod(v any) *Binary { return binary(Mod, e, v) }

// In is e IN (values…).
func (e *Column) In(values ...any) *In { return in(e, values, false) }

// NotIn is e NOT IN (values…).
func (e *Column) NotIn(values ...any) *In { return in(e, values, true) }

// Between is e BETWEEN lo AND hi, both ends included.
func (e *Column) Between(lo, hi any) *Between { return between(e, lo, hi, false) }

// NotBetween is e NOT BETWEEN lo AND hi.
func (e *Column) NotBetween(lo, hi any) *Between { return between(e, lo, hi, true) }

// Like is e LIKE pattern, in which % stands for any text and _ for one character.
func (e *Column) Like(pattern any) *Like { return like(e, pattern, false, false) }

// NotLike is e NOT LIKE pattern.
func (e *Column) NotLike(pattern any) *Like { return like(e, pattern, false, true) }

// ILike is e ILIKE pattern: LIKE that ignores case.
func (e *Column) ILike(pattern any) *Like { return like(e, pattern, true, false) }

// NotILike is e NOT ILIKE pattern.
func (e *Column) NotILike(pattern any) *Like { return like(e, pattern, true, true) }

// IsNull is e IS NULL.
func (e *Column) IsNull() *IsNull { return &IsNull{X: e, At: built} }

// IsNotNull is e IS NOT NULL.
func (e *Column) IsNotNull() *IsNull { return &IsNull{X: e, Negated: true, At: built} }

// Cast is CAST(e AS to).
func (e *Column) Cast(to arrow.DataType) *Cast { return &Cast{X: e, To: to, At: built} }

// Element is e[index]: an element of an array by its place from 0, or the value of a key of a map.
func (e *Column) Element(index any) *Element { return &Element{X: e, Index: operand(index), At: built} }

// Member is (e).name, a field of a struct. The same field is found by the column that Field names with
// its path, which is another tree.
func (e *Column) Member(name string) *Member { return &Member{X: e, Name: name, At: built} }

// And is e AND v, where e is a condition.
func (e *Column) And(v any) *Binary { return binary(And, e, v) }

// Or is e OR v, where e is a condition.
func (e *Column) Or(v any) *Binary { return binary(Or, e, v) }

// Not is NOT e, where e is a condition.
func (e *Column) Not() *Not { return Negate(e) }
