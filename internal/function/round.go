package function

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// mostCut is a number of digits beyond which cutting more makes no difference to any number of 128 bits.
const mostCut = 76

// rounded resolves round and bround: to n digits after the point, or before it if n is negative. The
// type stays, but for decimals, which get the digits that the result needs.
func rounded(m rounding) resolver {
	return func(name string, args []Param) (*Function, error) {
		types, digits, err := roundingArgs(name, args)
		if err != nil {
			return nil, err
		}
		t := types[0]
		fn := &Function{Name: name, Params: types, Result: t}
		switch {
		case isDecimal(t):
			fn.Result = roundedDecimal(t.(*arrow.Decimal128Type), digits.n)
			fn.Eval = decimalRounding(name, t.(*arrow.Decimal128Type), fn.Result.(*arrow.Decimal128Type), digits.n, m)
		case isFloat(t):
			fn.Eval = floatRounding(t, digits.n, m)
		default:
			fn.Eval = integerRounding(name, t, digits.n, m)
		}
		if digits.null {
			fn.Eval = func(c *Call) arrow.Array { return allNull(c, fn.Result) }
		}
		return fn, nil
	}
}

// roundedDown resolves floor and ceil. Of one argument they give a BIGINT, or a decimal without a
// fraction; with n digits they give a decimal.
func roundedDown(m rounding) resolver {
	return func(name string, args []Param) (*Function, error) {
		types, digits, err := roundingArgs(name, args)
		if err != nil {
			return nil, err
		}
		if digits.null {
			return nil, fmt.Errorf("%s takes no NULL for the digits that it rounds to", name)
		}
		t := types[0]
		fn := &Function{Name: name, Params: types, Result: arrow.PrimitiveTypes.Int64}
		switch from, ok := t.(*arrow.Decimal128Type); {
		case len(args) == 2:
			fn.Result, fn.Eval = roundedToDecimal(name, t, digits.n, m)
		case ok && from.Scale == 0:
			fn.Result, fn.Eval = t, same
		case ok:
			to := &arrow.Decimal128Type{Precision: min(from.Precision-from.Scale+1, maxPrecision)}
			fn.Result, fn.Eval = to, decimalRounding(name, from, to, 0, m)
		case isInteger(t):
			fn.Params = []arrow.DataType{fn.Result}
			fn.Eval = same
		default:
			fn.Params = []arrow.DataType{arrow.PrimitiveTypes.Float64}
			fn.Eval = floatFloor(name, m)
		}
		return fn, nil
	}
}

// roundingDigits is the second argument of a rounding.
type roundingDigits struct {
	n    int32
	null bool
}

// roundingArgs checks a number and how many digits it is rounded to, which has to be constant.
func roundingArgs(name string, args []Param) ([]arrow.DataType, roundingDigits, error) {
	var digits roundingDigits
	if len(args) == 0 || len(args) > 2 {
		return nil, digits, fmt.Errorf("%s takes a number and perhaps how many digits it is rounded to; %s", name, given(len(args)))
	}
	types, err := numbers(name, args[:1], 1)
	if err != nil || len(args) == 1 {
		return types, digits, err
	}
	t := args[1].Type
	if isUntyped(t) {
		digits.null = true
		return append(types, arrow.PrimitiveTypes.Int32), digits, nil
	}
	v, ok := integerConstant(args[1])
	digits.null = args[1].Value != nil && !args[1].Value.IsValid()
	switch {
	case !isInteger(t) || t.ID() == arrow.INT64:
		return nil, digits, fmt.Errorf("%s takes an INT for the digits that it rounds to; that argument is %s", name, sqlName(t))
	case !ok && !digits.null:
		return nil, digits, fmt.Errorf("%s takes a constant for the digits that it rounds to", name)
	}
	digits.n = int32(v)
	return append(types, t), digits, nil
}

// integerConstant is the value of a constant integer that is not NULL.
func integerConstant(p Param) (int64, bool) {
	if p.Value == nil || !p.Value.IsValid() {
		return 0, false
	}
	switch v := p.Value.(type) {
	case *scalar.Int8:
		return int64(v.Value), true
	case *scalar.Int16:
		return int64(v.Value), true
	case *scalar.Int32:
		return int64(v.Value), true
	case *scalar.Int64:
		return v.Value, true
	}
	return 0, false
}

// roundedDecimal is the type of a decimal that is rounded to n digits: one more before the point, for
// what 9.9 becomes.
func roundedDecimal(t *arrow.Decimal128Type, n int32) *arrow.Decimal128Type {
	whole := t.Precision - t.Scale + 1
	if n < 0 {
		least := min(int64(maxPrecision), -int64(n)+1)
		return &arrow.Decimal128Type{Precision: min(max(whole, int32(least)), maxPrecision)}
	}
	scale := min(t.Scale, n)
	return &arrow.Decimal128Type{Precision: min(whole+scale, maxPrecision), Scale: scale}
}

// decimalRounding rounds to n digits.
func decimalRounding(name string, from, to *arrow.Decimal128Type, n int32, m rounding) func(*Call) arrow.Array {
	op := roundDecimal(from.Scale, to, n, m)
	return func(c *Call) arrow.Array {
		return map1(c, to, op, unfit(c, name, to))
	}
}

func roundDecimal(scale int32, to *arrow.Decimal128Type, n int32, m rounding) func(decimal128.Num) (decimal128.Num, error) {
	if n >= 0 {
		return func(v decimal128.Num) (decimal128.Num, error) { return rescale(v, scale, to.Scale, to.Precision, m) }
	}
	zeros := int32(min(-int64(n), mostCut))
	return func(v decimal128.Num) (decimal128.Num, error) {
		digits, neg := magnitude(v)
		wide := digits.wide().cut(min(scale+zeros, mostCut), m, neg)
		if wide, ok := wide.shift(zeros); ok {
			return wide.fit(to.Precision, neg)
		}
		return decimal128.Num{}, overflow
	}
}

// roundedToDecimal is floor or ceil of any number with n digits.
func roundedToDecimal(name string, t arrow.DataType, n int32, m rounding) (arrow.DataType, func(*Call) arrow.Array) {
	from, floats := &arrow.Decimal128Type{Precision: 30, Scale: 15}, isFloat(t)
	switch d, ok := t.(*arrow.Decimal128Type); {
	case ok:
		from = d
	case isInteger(t):
		from = integerDecimal(t)
	case t.ID() == arrow.FLOAT32:
		from = &arrow.Decimal128Type{Precision: 14, Scale: 7}
	}
	to := roundedDecimal(from, n)
	op := roundDecimal(from.Scale, to, n, m)
	if !floats {
		return to, func(c *Call) arrow.Array {
			v := decimalsOf(c.Args[0])
			explain := unfit(c, name, to)
			return buildFixed(nullsOf(c, c.Args[0]), to, func(row int) (decimal128.Num, error) {
				r, err := op(v.at(row))
				if err != nil {
					err = explain(row, err)
				}
				return r, err
			})
		}
	}
	cast := castFloat(t, from)
	return to, func(c *Call) arrow.Array {
		v := cast(&Call{Mem: c.Mem, Rows: c.Rows, Args: c.Args[:1], Fail: c.Fail})
		defer v.Release()
		return map1(&Call{Mem: c.Mem, Rows: c.Rows, Args: []Arg{{Array: v}}, Fail: c.Fail}, to, op, unfit(c, name, to))
	}
}

// floatFloor makes whole numbers of doubles. Those that are none, or beyond BIGINT, fail: Spark gives
// 0 for NaN and the nearest BIGINT for the others.
func floatFloor(name string, m rounding) func(*Call) arrow.Array {
	long := arrow.PrimitiveTypes.Int64
	f := math.Floor
	if m == toCeiling {
		f = math.Ceil
	}
	return func(c *Call) arrow.Array {
		return map1(c, long, func(v float64) (int64, error) { return wholeFloat[int64](f(v)) }, unfit(c, name, long))
	}
}

// wholeFloat is a double without a fraction as an integer.
func wholeFloat[T integer](v float64) (T, error) {
	if !(v >= -1<<63 && v < 1<<63) {
		return 0, overflow
	}
	if n := int64(v); int64(T(n)) == n {
		return T(n), nil
	}
	return 0, overflow
}

func integerRounding(name string, t arrow.DataType, n int32, m rounding) func(*Call) arrow.Array {
	if n >= 0 {
		return same
	}
	switch t.ID() {
	case arrow.INT8:
		return roundInts[int8](name, t, n, m)
	case arrow.INT16:
		return roundInts[int16](name, t, n, m)
	case arrow.INT32:
		return roundInts[int32](name, t, n, m)
	}
	return roundInts[int64](name, t, n, m)
}

func roundInts[T integer](name string, t arrow.DataType, n int32, m rounding) func(*Call) arrow.Array {
	zeros := int32(min(-int64(n), mostCut))
	return func(c *Call) arrow.Array {
		return map1(c, t, func(v T) (T, error) {
			digits, neg := magnitude(decimal128.FromI64(int64(v)))
			wide, ok := digits.wide().cut(zeros, m, neg).shift(zeros)
			if !ok {
				return 0, overflow
			}
			r, err := toBigint(wide, neg)
			if err == nil && int64(T(r)) != r {
				err = overflow
			}
			return T(r), err
		}, unfit(c, name, t))
	}
}

func floatRounding(t arrow.DataType, n int32, m rounding) func(*Call) arrow.Array {
	digits := int(max(min(n, 400), -400)) // no double has more
	return func(c *Call) arrow.Array {
		if t.ID() == arrow.FLOAT32 {
			return map1(c, t, func(v float32) (float32, error) { return float32(roundFloat(float64(v), digits, m, 32)), nil }, nil)
		}
		return map1(c, t, func(v float64) (float64, error) { return roundFloat(v, digits, m, 64), nil }, nil)
	}
}

// roundFloat rounds the shortest text of a double to n digits after its point. A result of 0 has no sign.
func roundFloat(v float64, n int, m rounding, bits int) float64 {
	if v-v != 0 || n >= 0 && v == math.Trunc(v) { // NaN, infinite or whole
		return v + 0
	}
	var room [32]byte
	digits, exponent := shortest(room[:0], math.Abs(v))
	keep := exponent + n
	if keep >= len(digits) {
		return v
	}
	if keep < 0 {
		return 0
	}
	kept, rest := uint64(0), digits[keep:]
	for _, d := range digits[:keep] {
		kept = kept*10 + uint64(d-'0')
	}
	if rest[0] > '5' || rest[0] == '5' && (len(rest) > 1 || m == halfUp || kept%2 == 1) {
		kept++
	}
	text := strconv.AppendUint(room[:0], kept, 10)
	text = strconv.AppendInt(append(text, 'e'), int64(-n), 10)
	r, _ := strconv.ParseFloat(string(text), bits) // beyond the range it is infinite, as it should be
	if v < 0 && kept != 0 {
		r = -r
	}
	return r
}

// shortest is the fewest digits that are read back as v, which is 0.digits times 10^exponent.
func shortest(room []byte, v float64) (digits []byte, exponent int) {
	text := strconv.AppendFloat(room, v, 'e', -1, 64) // d.ddde-dd
	e := bytes.IndexByte(text, 'e')
	for _, c := range text[e+2:] {
		exponent = exponent*10 + int(c-'0')
	}
	if text[e+1] == '-' {
		exponent = -exponent
	}
	digits = text[:e]
	if e > 1 {
		text[1] = text[0]
		digits = text[1:e]
	}
	return digits, exponent + 1
}
