package pred_test

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta/expr"
)

// The twin: a condition evaluated for one row, by the words of SQL and without any cleverness.
// A truth value is nil for NULL.

func truthOf(b bool) *bool { return &b }

func not(x *bool) *bool {
	if x == nil {
		return nil
	}
	return truthOf(!*x)
}

// and looks at the second operand only where the first leaves it open; so does or.
func and(a *bool, b func() *bool) *bool {
	if a != nil && !*a {
		return truthOf(false)
	}
	switch b := b(); {
	case b != nil && !*b:
		return truthOf(false)
	case a == nil || b == nil:
		return nil
	}
	return truthOf(true)
}

func or(a *bool, b func() *bool) *bool {
	return not(and(not(a), func() *bool { return not(b()) }))
}

// cell is a value: nil, bool, string, []byte, *big.Rat (integers, decimals), float64, and micros.
type micros int64

type decimal struct{ *big.Rat }

func cellOf(s scalar.Scalar) any {
	if s == nil || !s.IsValid() {
		return nil
	}
	switch s := s.(type) {
	case *scalar.Boolean:
		return s.Value
	case *scalar.Int8:
		return big.NewRat(int64(s.Value), 1)
	case *scalar.Int16:
		return big.NewRat(int64(s.Value), 1)
	case *scalar.Int32:
		return big.NewRat(int64(s.Value), 1)
	case *scalar.Int64:
		return big.NewRat(s.Value, 1)
	case *scalar.Float32:
		return float64(s.Value)
	case *scalar.Float64:
		return s.Value
	case *scalar.Decimal128:
		scale := s.Type.(*arrow.Decimal128Type).Scale
		return decimal{new(big.Rat).SetFrac(s.Value.BigInt(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))}
	case *scalar.String:
		return string(s.Value.Bytes())
	case *scalar.Binary:
		return append([]byte{}, s.Value.Bytes()...)
	case *scalar.Date32:
		return micros(s.Value) * 86400e6
	case *scalar.Timestamp:
		return micros(s.Value)
	}
	panic(s.DataType().String())
}

func columnCell(batch arrow.RecordBatch, path []string, row int) any {
	arr := batch.Column(batch.Schema().FieldIndices(path[0])[0])
	for _, name := range path[1:] {
		if arr.IsNull(row) {
			return nil
		}
		i, _ := arr.DataType().(*arrow.StructType).FieldIdx(name)
		arr = arr.(*array.Struct).Field(i)
	}
	s, err := scalar.GetScalar(arr, row)
	if err != nil {
		panic(err)
	}
	return cellOf(s)
}

func number(x any) float64 {
	switch x := x.(type) {
	case float64:
		return x
	case decimal:
		f, _ := x.Float64()
		return f
	}
	f, _ := x.(*big.Rat).Float64()
	return f
}

func compareFloats(a, b float64) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	}
	return cmp.Compare(a, b)
}

func compareCells(a, b any) int {
	switch x := a.(type) {
	case bool:
		return cmp.Compare(map[bool]int{true: 1}[x], map[bool]int{true: 1}[b.(bool)])
	case string:
		return strings.Compare(x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case micros:
		return cmp.Compare(x, b.(micros))
	case float64:
		if y, ok := b.(*big.Rat); ok {
			return -compareCells(y, x)
		}
		return compareFloats(x, number(b))
	case decimal:
		if y, ok := b.(float64); ok {
			return compareFloats(number(x), y)
		}
		return compareCells(x.Rat, b)
	}
	x := a.(*big.Rat)
	switch y := b.(type) {
	case decimal:
		return x.Cmp(y.Rat)
	case *big.Rat:
		return x.Cmp(y)
	}
	y := b.(float64)
	if y != y || math.IsInf(y, 0) {
		return compareFloats(0, y)
	}
	return x.Cmp(new(big.Rat).SetFloat64(y))
}

// rowFailure is thrown where a row has no value. What is not reached throws nothing.
type rowFailure struct{ why string }

// safely gives the truth of a row, or why it has none.
func safely(batch arrow.RecordBatch, row int, e expr.Expr) (t *bool, failed string) {
	defer func() {
		if f, ok := recover().(rowFailure); ok {
			failed = f.why
		}
	}()
	return evalRow(batch, row, e), ""
}

// typeOf is the type of an operand, where the twin has to know it.
func typeOf(schema *arrow.Schema, e expr.Expr) arrow.DataType {
	switch e := e.(type) {
	case *expr.Column:
		return typeNamed(strings.Join(e.Path, "."))
	case *expr.Literal:
		return e.Value.DataType()
	case *expr.Call:
		if e.Name == "if" {
			return typeOf(schema, e.Args[1])
		}
		return typeOf(schema, e.Args[0])
	case *expr.Case:
		return typeOf(schema, e.Whens[0].Then)
	case *expr.Binary:
		return typeOf(schema, e.L)
	}
	panic(e.String())
}

// cell evaluates an operand or a condition.
func cell(batch arrow.RecordBatch, row int, e expr.Expr) any {
	switch e := e.(type) {
	case *expr.Literal:
		return cellOf(e.Value)
	case *expr.Column:
		return columnCell(batch, e.Path, row)
	case *expr.Cast: // only of timestamps to their day, and to INT
		v := cell(batch, row, e.X)
		if v == nil {
			return nil
		}
		if n, ok := v.(*big.Rat); ok {
			if i := n.Num(); !i.IsInt64() || int64(int32(i.Int64())) != i.Int64() {
				panic(rowFailure{"overflow"})
			}
			return n
		}
		y, m, d := time.UnixMicro(int64(v.(micros))).UTC().Date()
		return micros(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).UnixMicro())
	case *expr.Call:
		return callCell(batch, row, e)
	case *expr.Case:
		return caseCell(batch, row, e)
	case *expr.Binary:
		if e.Op >= expr.Add {
			return arithmeticCell(batch, row, e)
		}
	}
	if t := evalRow(batch, row, e); t != nil {
		return *t
	}
	return nil
}

func callCell(batch arrow.RecordBatch, row int, e *expr.Call) any {
	arg := func(i int) any { return cell(batch, row, e.Args[i]) }
	switch e.Name {
	case "if":
		if arg(0) == true {
			return arg(1)
		}
		return arg(2)
	case "nullif":
		x := arg(0)
		if x == nil {
			return nil
		}
		if y := arg(1); y != nil && compareCells(x, y) == 0 {
			return nil
		}
		return x
	case "year", "date_add", "floor":
		x := arg(0)
		if x == nil {
			return nil
		}
		switch e.Name {
		case "year":
			return big.NewRat(int64(time.UnixMicro(int64(x.(micros))).UTC().Year()), 1)
		case "date_add":
			return x.(micros) + 86400e6*micros(arg(1).(*big.Rat).Num().Int64())
		}
		r := x.(decimal).Rat
		return new(big.Rat).SetInt(new(big.Int).Div(r.Num(), r.Denom()))
	case "coalesce":
		for i := range e.Args {
			if v := arg(i); v != nil {
				return v
			}
		}
		return nil
	}
	panic(e.Name)
}

// isNullConstant tells whether an operand is NULL whatever the row: then nothing that is compared with
// it is looked at.
func isNullConstant(batch arrow.RecordBatch, e expr.Expr) (is bool) {
	defer func() {
		if _, failed := recover().(rowFailure); failed {
			is = false
		}
	}()
	return isFree(batch, e) && cell(batch, 0, e) == nil
}

// isFree tells whether the value of an operand, or its failure, is the same whatever the row.
func isFree(batch arrow.RecordBatch, e expr.Expr) bool {
	free := func(list ...expr.Expr) bool {
		return !slices.ContainsFunc(list, func(x expr.Expr) bool { return x != nil && !isFree(batch, x) })
	}
	compared := func(l, r expr.Expr) bool { return isNullConstant(batch, l) || isNullConstant(batch, r) || free(l, r) }
	switch e := e.(type) {
	case *expr.Column:
		return false
	case *expr.Not:
		return free(e.X)
	case *expr.IsNull:
		return free(e.X)
	case *expr.Cast:
		return free(e.X)
	case *expr.Binary:
		if e.Op < expr.NullSafeEq {
			return compared(e.L, e.R)
		}
		return free(e.L, e.R)
	case *expr.In:
		return isNullConstant(batch, e.X) || free(e.X) && free(e.List...)
	case *expr.Between:
		return compared(e.X, e.Lo) && compared(e.X, e.Hi)
	case *expr.Like:
		return free(e.X, e.Pattern)
	case *expr.Call:
		if e.Name == "nullif" {
			return compared(e.Args[0], e.Args[1]) && free(e.Args[0])
		}
		return free(e.Args...)
	case *expr.Case:
		for _, w := range e.Whens {
			if !free(w.Then) || e.Operand == nil && !free(w.If) || e.Operand != nil && !compared(e.Operand, w.If) {
				return false
			}
		}
		return free(e.Else)
	}
	return true
}

func caseCell(batch arrow.RecordBatch, row int, e *expr.Case) any {
	for _, w := range e.Whens {
		condition := w.If
		if e.Operand != nil {
			condition = &expr.Binary{Op: expr.Eq, L: e.Operand, R: w.If}
		}
		if cell(batch, row, condition) == true {
			return cell(batch, row, w.Then)
		}
	}
	if e.Else == nil {
		return nil
	}
	return cell(batch, row, e.Else)
}

// arithmeticCell computes with two whole numbers of a type, or two doubles. A division evaluates its
// divisor first, and nothing behind a NULL is evaluated.
func arithmeticCell(batch arrow.RecordBatch, row int, e *expr.Binary) any {
	first, second := e.L, e.R
	divides := e.Op == expr.Div || e.Op == expr.IntDiv || e.Op == expr.Mod
	if divides {
		first, second = e.R, e.L
	}
	l := cell(batch, row, first)
	if l == nil {
		return nil
	}
	r := cell(batch, row, second)
	if r == nil {
		return nil
	}
	if divides {
		l, r = r, l
	}
	if x, ok := l.(float64); ok {
		return floatCell(e.Op, x, r.(float64))
	}
	a, b, c := l.(*big.Rat).Num(), r.(*big.Rat).Num(), new(big.Int)
	if b.Sign() == 0 && (e.Op == expr.IntDiv || e.Op == expr.Mod) {
		panic(rowFailure{"division by zero"})
	}
	switch e.Op {
	case expr.Add:
		c.Add(a, b)
	case expr.Sub:
		c.Sub(a, b)
	case expr.Mul:
		c.Mul(a, b)
	case expr.IntDiv:
		c.Quo(a, b)
	case expr.Mod:
		c.Rem(a, b)
	}
	bits := typeOf(batch.Schema(), e.L).(arrow.FixedWidthDataType).BitWidth()
	if most := new(big.Int).Lsh(big.NewInt(1), uint(bits-1)); c.Cmp(most) >= 0 || new(big.Int).Neg(c).Cmp(most) > 0 {
		panic(rowFailure{"overflow"})
	}
	return new(big.Rat).SetInt(c)
}

func floatCell(op expr.Op, a, b float64) any {
	switch op {
	case expr.Add:
		return a + b
	case expr.Sub:
		return a - b
	case expr.Mul:
		return a * b
	}
	if b == 0 {
		panic(rowFailure{"division by zero"})
	}
	if op == expr.Mod {
		return math.Mod(a, b)
	}
	return a / b
}

// likeRunes matches by trying everything.
func likeRunes(s, p []rune) bool {
	switch {
	case len(p) == 0:
		return len(s) == 0
	case p[0] == '%':
		return likeRunes(s, p[1:]) || len(s) > 0 && likeRunes(s[1:], p)
	case len(s) == 0:
		return false
	case p[0] == '\\':
		return s[0] == p[1] && likeRunes(s[1:], p[2:])
	}
	return (p[0] == '_' || s[0] == p[0]) && likeRunes(s[1:], p[1:])
}

func evalRow(batch arrow.RecordBatch, row int, e expr.Expr) *bool {
	operator := func(op expr.Op, l, r expr.Expr) *bool {
		if op != expr.NullSafeEq && (isNullConstant(batch, l) || isNullConstant(batch, r)) {
			return nil
		}
		a := cell(batch, row, l)
		if op != expr.NullSafeEq && a == nil {
			return nil
		}
		b := cell(batch, row, r)
		if op == expr.NullSafeEq {
			return truthOf(a == nil && b == nil || a != nil && b != nil && compareCells(a, b) == 0)
		}
		if b == nil {
			return nil
		}
		c := compareCells(a, b)
		return truthOf(map[expr.Op]bool{expr.Eq: c == 0, expr.Ne: c != 0, expr.Lt: c < 0, expr.Le: c <= 0, expr.Gt: c > 0, expr.Ge: c >= 0}[op])
	}
	truth := func(e expr.Expr) func() *bool { return func() *bool { return evalRow(batch, row, e) } }
	negated := func(t *bool, negate bool) *bool {
		if negate {
			return not(t)
		}
		return t
	}
	switch e := e.(type) {
	case *expr.Not:
		return not(evalRow(batch, row, e.X))
	case *expr.IsNull:
		return truthOf((cell(batch, row, e.X) == nil) != e.Negated)
	case *expr.Binary:
		switch e.Op {
		case expr.And:
			return and(evalRow(batch, row, e.L), truth(e.R))
		case expr.Or:
			return or(evalRow(batch, row, e.L), truth(e.R))
		}
		return operator(e.Op, e.L, e.R)
	case *expr.In:
		t := truthOf(false)
		cell(batch, row, e.X)
		for _, member := range e.List {
			t = or(t, func() *bool { return operator(expr.Eq, e.X, member) })
		}
		return negated(t, e.Negated)
	case *expr.Between:
		t := and(operator(expr.Ge, e.X, e.Lo), func() *bool { return operator(expr.Le, e.X, e.Hi) })
		return negated(t, e.Negated)
	case *expr.Like:
		s, p := cell(batch, row, e.X), cell(batch, row, e.Pattern)
		if s == nil || p == nil {
			return nil
		}
		return negated(truthOf(likeRunes([]rune(s.(string)), []rune(p.(string)))), e.Negated)
	}
	v := cell(batch, row, e) // a boolean column, constant or computed value
	if v == nil {
		return nil
	}
	return truthOf(v.(bool))
}
