package function

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// minScale are the digits after the point that a result keeps when it has more digits than fit.
const minScale = 6

// boundDecimal is the type of a result that would need precision and scale: digits after the point are
// given up, down to minScale of them, so that those before it fit.
func boundDecimal(precision, scale int32) *arrow.Decimal128Type {
	if precision <= maxPrecision {
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	}
	whole := precision - scale
	return &arrow.Decimal128Type{Precision: maxPrecision, Scale: max(maxPrecision-whole, min(scale, minScale))}
}

// decimalResult is the type of an operator between decimals, by the rules of Hive that Spark keeps.
func decimalResult(name string, a, b *arrow.Decimal128Type) arrow.DataType {
	wholeA, wholeB := a.Precision-a.Scale, b.Precision-b.Scale
	scale := max(a.Scale, b.Scale)
	switch name {
	case "+", "-":
		return boundDecimal(max(wholeA, wholeB)+scale+1, scale)
	case "*":
		return boundDecimal(a.Precision+b.Precision+1, a.Scale+b.Scale)
	case "/":
		scale = max(minScale, a.Scale+b.Precision+1)
		return boundDecimal(wholeA+b.Scale+scale, scale)
	case "div":
		return arrow.PrimitiveTypes.Int64
	}
	return boundDecimal(min(wholeA, wholeB)+scale, scale)
}

// decimalFor is the decimal that an operand of arithmetic with decimals is: an integer that stands as a
// number in a text has the digits that it shows, others those of their type.
func decimalFor(p Param, t arrow.DataType) *arrow.Decimal128Type {
	if d, ok := t.(*arrow.Decimal128Type); ok {
		return d
	}
	if v, ok := integerConstant(p); ok && !p.Computed && t.ID() != arrow.INT8 {
		digits := int32(1)
		for m, _ := magnitude(decimal128.FromI64(v)); digits < maxPrecision && !m.less(pow10[digits]); {
			digits++
		}
		return &arrow.Decimal128Type{Precision: digits}
	}
	return integerDecimal(t)
}

// integerDecimal is the decimal that holds every value of an integer type.
func integerDecimal(t arrow.DataType) *arrow.Decimal128Type {
	digits := map[arrow.Type]int32{arrow.INT8: 3, arrow.INT16: 5, arrow.INT32: 10, arrow.INT64: 20}
	return &arrow.Decimal128Type{Precision: digits[t.ID()]}
}

// decimalFunction is an operator between decimals, or a decimal and an integer, of the given types. What
// it takes are these types: integers are read as they are.
func decimalFunction(name string, args []Param, types []arrow.DataType) *Function {
	a, b := decimalFor(args[0], types[0]), decimalFor(args[1], types[1])
	result := decimalResult(name, a, b)
	fn := &Function{Name: name, Params: types, Result: result}
	if name == "div" {
		quotient := decimalQuotient(a.Scale, b.Scale)
		fn.Eval = func(c *Call) arrow.Array { return mapDecimals(c, result, quotient, unfit(c, name, result)) }
		return fn
	}
	op := decimalOp(name, a.Scale, b.Scale, result.(*arrow.Decimal128Type))
	fn.Eval = func(c *Call) arrow.Array { return mapDecimals(c, result, op, unfit(c, name, result)) }
	return fn
}

func mapDecimals[R fixed](c *Call, t arrow.DataType, f func(a, b decimal128.Num) (R, error), explain func(int, error) error) arrow.Array {
	return mapColumns(nullsOf(c, c.Args...), t, decimalsOf(c.Args[0]), decimalsOf(c.Args[1]), f, explain)
}

// decimalsOf is the values of a decimal as they are, or of an integer as a decimal of scale 0.
func decimalsOf(a Arg) column[decimal128.Num] {
	switch a.DataType().ID() {
	case arrow.INT8:
		return widened(columnOf[int8](a))
	case arrow.INT16:
		return widened(columnOf[int16](a))
	case arrow.INT32:
		return widened(columnOf[int32](a))
	case arrow.INT64:
		return widened(columnOf[int64](a))
	}
	return columnOf[decimal128.Num](a)
}

func widened[T integer](v column[T]) column[decimal128.Num] {
	wide := column[decimal128.Num]{values: make([]decimal128.Num, len(v.values)), step: v.step}
	for i, n := range v.values {
		wide.values[i] = decimal128.FromI64(int64(n))
	}
	return wide
}

func decimalOp(name string, a, b int32, t *arrow.Decimal128Type) func(x, y decimal128.Num) (decimal128.Num, error) {
	switch name {
	case "+":
		return decimalSum(a, b, t, false)
	case "-":
		return decimalSum(a, b, t, true)
	case "*":
		return decimalProduct(a, b, t)
	case "/":
		return decimalRatio(a, b, t)
	}
	return decimalModulo(a, b, t, name == "pmod")
}

// decimalSum adds numbers of the scales a and b, or subtracts them.
func decimalSum(a, b int32, t *arrow.Decimal128Type, minus bool) func(x, y decimal128.Num) (decimal128.Num, error) {
	scale := max(a, b)
	// A number of 64 bits moved by 18 digits, and the sum of two, fit into 128 bits.
	short := scale == t.Scale && scale-min(a, b) <= 18
	upA, upB := pow10[scale-a].lo, pow10[scale-b].lo
	return func(x, y decimal128.Num) (decimal128.Num, error) {
		l, neg := magnitude(x)
		r, negR := magnitude(y)
		if short && l.hi|r.hi == 0 {
			return shortSum(timesWord(l.lo, upA), neg, timesWord(r.lo, upB), negR != minus, t.Precision)
		}
		// Numbers of 39 digits moved by 38 fit into 256 bits, and so does their sum.
		m, _ := l.wide().shift(scale - a)
		n, _ := r.wide().shift(scale - b)
		switch {
		case neg == (negR != minus):
			m, _ = m.add(n)
		case m.less(n):
			m, neg = n.sub(m), !neg
		default:
			m = m.sub(n)
		}
		return m.cut(scale-t.Scale, halfUp, neg).fit(t.Precision, neg)
	}
}

// shortSum adds numbers with signs whose sum has at most 127 bits.
func shortSum(l u128, negL bool, r u128, negR bool, precision int32) (decimal128.Num, error) {
	switch {
	case negL == negR:
		l = l.add(r)
	case l.less(r):
		l, negL = r.sub(l), negR
	default:
		l = l.sub(r)
	}
	if !l.less(pow10[precision]) {
		return decimal128.Num{}, overflow
	}
	return signed(l, negL), nil
}

func decimalProduct(a, b int32, t *arrow.Decimal128Type) func(x, y decimal128.Num) (decimal128.Num, error) {
	return func(x, y decimal128.Num) (decimal128.Num, error) {
		l, neg := magnitude(x)
		r, negR := magnitude(y)
		neg = neg != negR
		if l.hi|r.hi == 0 && a+b == t.Scale {
			return shortSum(timesWord(l.lo, r.lo), neg, u128{}, neg, t.Precision)
		}
		return l.mul(r).cut(a+b-t.Scale, halfUp, neg).fit(t.Precision, neg)
	}
}

// decimalRatio divides. The dividend is moved so that the quotient has the scale of the result.
func decimalRatio(a, b int32, t *arrow.Decimal128Type) func(x, y decimal128.Num) (decimal128.Num, error) {
	return func(x, y decimal128.Num) (decimal128.Num, error) {
		l, neg := magnitude(x)
		r, negR := magnitude(y)
		if r.isZero() {
			return decimal128.Num{}, byZero
		}
		m, ok := l.wide().shift(t.Scale + b - a)
		if !ok { // 77 digits, of which no divisor leaves less than 39
			return decimal128.Num{}, overflow
		}
		neg = neg != negR
		return m.divRound(r, halfUp, neg).fit(t.Precision, neg)
	}
}

// decimalQuotient is the digits of a quotient before its point as a BIGINT.
func decimalQuotient(a, b int32) func(x, y decimal128.Num) (int64, error) {
	return func(x, y decimal128.Num) (int64, error) {
		l, neg := magnitude(x)
		r, negR := magnitude(y)
		if r.isZero() {
			return 0, byZero
		}
		m, _ := l.wide().shift(b - a) // at most 77 digits
		d, _ := r.wide().shift(a - b)
		short, ok := d.narrow()
		if !ok {
			return 0, nil // it is beyond every dividend
		}
		q, _ := m.div(short)
		return toBigint(q, neg != negR)
	}
}

// toBigint is a number as a BIGINT, if it is one.
func toBigint(m u256, neg bool) (int64, error) {
	least := uint64(math.MaxInt64)
	if neg {
		least++
	}
	if m[1]|m[2]|m[3] != 0 || m[0] > least {
		return 0, overflow
	}
	if neg {
		return -int64(m[0]), nil
	}
	return int64(m[0]), nil
}

// decimalModulo is the remainder with the sign of the dividend; positive makes it pmod.
func decimalModulo(a, b int32, t *arrow.Decimal128Type, positive bool) func(x, y decimal128.Num) (decimal128.Num, error) {
	scale := max(a, b)
	return func(x, y decimal128.Num) (decimal128.Num, error) {
		l, neg := magnitude(x)
		r, negR := magnitude(y)
		if r.isZero() {
			return decimal128.Num{}, byZero
		}
		m, _ := l.wide().shift(scale - a)
		d, _ := r.wide().shift(scale - b)
		if short, ok := d.narrow(); ok {
			_, rest := m.div(short)
			m = rest.wide()
		} // or else it is beyond every dividend, of which a == scale
		if positive && neg && !negR && m != (u256{}) {
			m, neg = d.sub(m), false
		}
		return m.cut(scale-t.Scale, halfUp, neg).fit(t.Precision, neg)
	}
}

// ofNumber resolves a function of one number with a result of its type.
func ofNumber(eval func(name string, t arrow.DataType) func(*Call) arrow.Array) resolver {
	return func(name string, args []Param) (*Function, error) {
		types, err := numbers(name, args, 1)
		if err != nil {
			return nil, err
		}
		return &Function{Name: name, Params: types, Result: types[0], Eval: eval(name, types[0])}, nil
	}
}

func positive(string, arrow.DataType) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array { return same(c) }
}

// negative keeps every digit of a decimal; Spark rounds those of more than 34.
func negative(name string, t arrow.DataType) func(*Call) arrow.Array {
	return signChange(name, t, false)
}

func absolute(name string, t arrow.DataType) func(*Call) arrow.Array {
	return signChange(name, t, true)
}

// signChange negates all numbers, or only those below 0.
func signChange(name string, t arrow.DataType, below bool) func(*Call) arrow.Array {
	switch t.ID() {
	case arrow.INT8:
		return negateInts[int8](name, t, below)
	case arrow.INT16:
		return negateInts[int16](name, t, below)
	case arrow.INT32:
		return negateInts[int32](name, t, below)
	case arrow.INT64:
		return negateInts[int64](name, t, below)
	case arrow.FLOAT32:
		return negateFloats[float32](t, below)
	case arrow.FLOAT64:
		return negateFloats[float64](t, below)
	}
	return func(c *Call) arrow.Array {
		return map1(c, t, func(v decimal128.Num) (decimal128.Num, error) {
			if below && v.HighBits() >= 0 {
				return v, nil
			}
			return v.Negate(), nil
		}, nil)
	}
}

func negateInts[T integer](name string, t arrow.DataType, below bool) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		return map1(c, t, func(v T) (T, error) {
			if below && v >= 0 {
				return v, nil
			}
			return subInt(0, v)
		}, unfit(c, name, t))
	}
}

func negateFloats[T float](t arrow.DataType, below bool) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		return map1(c, t, func(v T) (T, error) {
			if below {
				return T(math.Abs(float64(v))), nil
			}
			return -v, nil
		}, nil)
	}
}

// sign resolves -1.0, 0.0 or 1.0; a double keeps NaN and -0.0.
func sign(name string, args []Param) (*Function, error) {
	types, err := numbers(name, args, 1)
	if err != nil {
		return nil, err
	}
	double := arrow.PrimitiveTypes.Float64
	fn := &Function{Name: name, Params: types, Result: double}
	if !isFloat(types[0]) {
		fn.Eval = func(c *Call) arrow.Array {
			v := decimalsOf(c.Args[0])
			return buildFixed(nullsOf(c, c.Args[0]), double, func(row int) (float64, error) {
				if n := v.at(row); n != (decimal128.Num{}) {
					return float64(n.Sign()), nil
				}
				return 0, nil
			})
		}
		return fn, nil
	}
	fn.Params = []arrow.DataType{double}
	fn.Eval = func(c *Call) arrow.Array {
		return map1(c, double, func(v float64) (float64, error) {
			switch {
			case v > 0:
				return 1, nil
			case v < 0:
				return -1, nil
			}
			return v, nil
		}, nil)
	}
	return fn, nil
}

func sqrt(name string, args []Param) (*Function, error) {
	if _, err := numbers(name, args, 1); err != nil {
		return nil, err
	}
	double := arrow.PrimitiveTypes.Float64
	return &Function{Name: name, Params: []arrow.DataType{double}, Result: double, Eval: func(c *Call) arrow.Array {
		return map1(c, double, func(v float64) (float64, error) { return math.Sqrt(v), nil }, nil)
	}}, nil
}
