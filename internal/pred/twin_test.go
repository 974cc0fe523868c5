package pred_test

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
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

func and(a, b *bool) *bool {
	switch {
	case a != nil && !*a, b != nil && !*b:
		return truthOf(false)
	case a == nil || b == nil:
		return nil
	}
	return truthOf(true)
}

func or(a, b *bool) *bool { return not(and(not(a), not(b))) }

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

// cell evaluates an operand or a condition.
func cell(batch arrow.RecordBatch, row int, e expr.Expr) any {
	switch e := e.(type) {
	case *expr.Literal:
		return cellOf(e.Value)
	case *expr.Column:
		return columnCell(batch, e.Path, row)
	case *expr.Cast: // only of timestamps to their day
		v := cell(batch, row, e.X)
		if v == nil {
			return nil
		}
		y, m, d := time.UnixMicro(int64(v.(micros))).UTC().Date()
		return micros(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).UnixMicro())
	}
	if t := evalRow(batch, row, e); t != nil {
		return *t
	}
	return nil
}

func evalRow(batch arrow.RecordBatch, row int, e expr.Expr) *bool {
	operator := func(op expr.Op, a, b any) *bool {
		if op == expr.NullSafeEq {
			return truthOf(a == nil && b == nil || a != nil && b != nil && compareCells(a, b) == 0)
		}
		if a == nil || b == nil {
			return nil
		}
		c := compareCells(a, b)
		return truthOf(map[expr.Op]bool{expr.Eq: c == 0, expr.Ne: c != 0, expr.Lt: c < 0, expr.Le: c <= 0, expr.Gt: c > 0, expr.Ge: c >= 0}[op])
	}
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
			return and(evalRow(batch, row, e.L), evalRow(batch, row, e.R))
		case expr.Or:
			return or(evalRow(batch, row, e.L), evalRow(batch, row, e.R))
		}
		return operator(e.Op, cell(batch, row, e.L), cell(batch, row, e.R))
	case *expr.In:
		t := truthOf(false)
		for _, member := range e.List {
			t = or(t, operator(expr.Eq, cell(batch, row, e.X), cell(batch, row, member)))
		}
		return negated(t, e.Negated)
	case *expr.Between:
		x := cell(batch, row, e.X)
		t := and(operator(expr.Ge, x, cell(batch, row, e.Lo)), operator(expr.Le, x, cell(batch, row, e.Hi)))
		return negated(t, e.Negated)
	}
	v := cell(batch, row, e) // a boolean column or constant
	if v == nil {
		return nil
	}
	return truthOf(v.(bool))
}
