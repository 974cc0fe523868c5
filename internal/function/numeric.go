package function

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// numeric are the operators and functions of numbers, and the casts that go by the name of a type. What
// leaves the range of its type is an error of the row, also where Spark goes on with another number:
// floor and ceil of a double beyond BIGINT, div of decimals, the sum within pmod. Only floats become
// infinite. The sign of a decimal changes without a loss; Spark keeps 34 of its digits.
var numeric = map[string]resolver{
	"+": arithmetic, "-": arithmetic, "*": arithmetic, "/": division, "div": wholeDivision,
	"%": arithmetic, "mod": arithmetic, "pmod": arithmetic,
	"negative": ofNumber(negative), "positive": ofNumber(positive), "abs": ofNumber(absolute),
	"sign": sign, "signum": sign, "sqrt": sqrt,
	"round": rounded(halfUp), "bround": rounded(halfEven),
	"floor": roundedDown(toFloor), "ceil": roundedDown(toCeiling), "ceiling": roundedDown(toCeiling),
	"greatest": extreme(true), "least": extreme(false),
	"isnan": isNaN, "nanvl": nanvl,

	"tinyint": castNamed(arrow.PrimitiveTypes.Int8), "smallint": castNamed(arrow.PrimitiveTypes.Int16),
	"int": castNamed(arrow.PrimitiveTypes.Int32), "bigint": castNamed(arrow.PrimitiveTypes.Int64),
	"float": castNamed(arrow.PrimitiveTypes.Float32), "double": castNamed(arrow.PrimitiveTypes.Float64),
	"decimal": castNamed(&arrow.Decimal128Type{Precision: 10}), "boolean": castNamed(arrow.FixedWidthTypes.Boolean),
	"string": castNamed(arrow.BinaryTypes.String), "binary": castNamed(arrow.BinaryTypes.Binary),
}

// integer are the Go types of TINYINT, SMALLINT, INT and BIGINT.
type integer interface {
	~int8 | ~int16 | ~int32 | ~int64
}

// float are the Go types of FLOAT and DOUBLE.
type float interface{ ~float32 | ~float64 }

func isInteger(t arrow.DataType) bool { return arrow.IsSignedInteger(t.ID()) }

func isFloat(t arrow.DataType) bool { return t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64 }

// isDecimal says whether t is a decimal that a column can have: with 1 to 38 digits, of which the scale are
// behind the point.
func isDecimal(t arrow.DataType) bool {
	d, ok := t.(*arrow.Decimal128Type)
	return ok && d.Precision >= 1 && d.Precision <= maxPrecision && d.Scale >= 0 && d.Scale <= d.Precision
}

func isNumber(t arrow.DataType) bool { return isInteger(t) || isFloat(t) || isDecimal(t) }

// numbers checks arguments that all have to be numbers. A NULL without a type has the type of the first
// argument that has one, or DOUBLE.
func numbers(name string, args []Param, n int) ([]arrow.DataType, error) {
	if err := counted(name, args, n); err != nil {
		return nil, err
	}
	var known arrow.DataType = arrow.PrimitiveTypes.Float64
	for i := len(args) - 1; i >= 0; i-- {
		if t := args[i].Type; !isUntyped(t) && isNumber(t) {
			known = t
		}
	}
	types := make([]arrow.DataType, len(args))
	for i, a := range args {
		if types[i] = a.Type; isUntyped(a.Type) {
			types[i] = known
		}
		if !isNumber(types[i]) {
			return nil, noNumber(name, i, len(args), types[i])
		}
	}
	return types, nil
}

func counted(name string, args []Param, n int) error {
	words := "1 argument"
	if n != 1 {
		words = fmt.Sprintf("%d arguments", n)
	}
	if len(args) != n {
		return fmt.Errorf("%s takes %s; %s", name, words, given(len(args)))
	}
	return nil
}

func noNumber(name string, i, n int, t arrow.DataType) error {
	which := "the " + ordinal(i) + " argument"
	if n == 1 {
		which = "the argument"
	}
	err := fmt.Errorf("%s takes numbers; %s is %s", name, which, sqlName(t))
	if t.ID() == arrow.STRING {
		return fmt.Errorf("%w, and a text becomes a number only by a CAST", err)
	}
	return err
}

// widerInteger is the type of arithmetic between two integers.
func widerInteger(a, b arrow.DataType) arrow.DataType {
	if bitWidth(a) < bitWidth(b) {
		return b
	}
	return a
}

func bitWidth(t arrow.DataType) int { return t.(arrow.FixedWidthDataType).BitWidth() }

// arithmetic resolves + - * % mod and pmod.
func arithmetic(name string, args []Param) (*Function, error) {
	types, err := numbers(name, args, 2)
	if err != nil {
		return nil, err
	}
	l, r := types[0], types[1]
	switch {
	case isInteger(l) && isInteger(r):
		t := widerInteger(l, r)
		return ofTwo(name, t, t, integerEval(name, t)), nil
	case l.ID() == arrow.FLOAT32 && r.ID() == arrow.FLOAT32:
		return ofTwo(name, l, l, floatEval[float32](name, l)), nil
	case isFloat(l) || isFloat(r):
		t := arrow.PrimitiveTypes.Float64
		return ofTwo(name, t, t, floatEval[float64](name, t)), nil
	}
	return decimalFunction(name, args, types), nil
}

// ofTwo is a function of two arguments of one type.
func ofTwo(name string, t, result arrow.DataType, eval func(*Call) arrow.Array) *Function {
	return &Function{Name: name, Params: []arrow.DataType{t, t}, Result: result, Eval: eval}
}

// division resolves /, which never divides integers as integers.
func division(name string, args []Param) (*Function, error) {
	types, err := numbers(name, args, 2)
	if err != nil {
		return nil, err
	}
	double := arrow.PrimitiveTypes.Float64
	decimal := isDecimal(types[0]) || isDecimal(types[1])
	if !decimal || isFloat(types[0]) || isFloat(types[1]) || isUntyped(args[0].Type) {
		return ofTwo(name, double, double, floatEval[float64](name, double)), nil
	}
	return decimalFunction(name, args, types), nil
}

// wholeDivision resolves div: a BIGINT, of integers and decimals.
func wholeDivision(name string, args []Param) (*Function, error) {
	types, err := numbers(name, args, 2)
	if err != nil {
		return nil, err
	}
	long := arrow.PrimitiveTypes.Int64
	for i, t := range types {
		switch {
		case !isFloat(t):
		case isUntyped(args[i].Type):
			types[i] = long
		default:
			return nil, fmt.Errorf("div takes integers and decimals; the %s argument is %s: floor(a / b) divides those", ordinal(i), sqlName(t))
		}
	}
	if isInteger(types[0]) && isInteger(types[1]) {
		return ofTwo(name, long, long, func(c *Call) arrow.Array {
			return map2(c, long, divInt, unfit(c, name, long))
		}), nil
	}
	return decimalFunction(name, args, types), nil
}

// unfit makes errors of rows of what was computed there and what is wrong with it.
func unfit(c *Call, name string, t arrow.DataType) func(row int, err error) error {
	return func(row int, err error) error {
		if err != overflow {
			return fmt.Errorf("%s %w", applied(c, name, row), err)
		}
		return fmt.Errorf("%s %w %s", applied(c, name, row), err, sqlName(t))
	}
}

// applied is a function with the values of a row, as a text would have it: "1 + 2", "pmod(1, 2)".
func applied(c *Call, name string, row int) string {
	values := make([]string, len(c.Args))
	for i, a := range c.Args {
		values[i] = shown(a, row)
	}
	if strings.Contains("+-*/%", name) || name == "div" {
		return values[0] + " " + name + " " + values[1]
	}
	return name + "(" + strings.Join(values, ", ") + ")"
}

func integerEval(name string, t arrow.DataType) func(*Call) arrow.Array {
	switch t.ID() {
	case arrow.INT8:
		return integerEvalOf[int8](name, t)
	case arrow.INT16:
		return integerEvalOf[int16](name, t)
	case arrow.INT32:
		return integerEvalOf[int32](name, t)
	}
	return integerEvalOf[int64](name, t)
}

func integerEvalOf[T integer](name string, t arrow.DataType) func(*Call) arrow.Array {
	op := map[string]func(a, b T) (T, error){
		"+": addInt[T], "-": subInt[T], "*": mulInt[T], "%": modInt[T], "mod": modInt[T], "pmod": pmodInt[T],
	}[name]
	return func(c *Call) arrow.Array { return map2(c, t, op, unfit(c, name, t)) }
}

func addInt[T integer](a, b T) (T, error) {
	s := a + b
	if (a^s)&(b^s) < 0 {
		return 0, overflow
	}
	return s, nil
}

func subInt[T integer](a, b T) (T, error) {
	d := a - b
	if (a^b)&(a^d) < 0 {
		return 0, overflow
	}
	return d, nil
}

func mulInt[T integer](a, b T) (T, error) {
	x, y := int64(a), int64(b)
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	top := int64(hi) - (x>>63)&y - (y>>63)&x // of the signed product
	if p := int64(lo); top == p>>63 && int64(T(p)) == p {
		return T(p), nil
	}
	return 0, overflow
}

func divInt(a, b int64) (int64, error) {
	switch {
	case b == 0:
		return 0, byZero
	case b == -1 && a == math.MinInt64:
		return 0, overflow
	}
	return a / b, nil
}

func modInt[T integer](a, b T) (T, error) {
	if b == 0 {
		return 0, byZero
	}
	return a % b, nil
}

// pmodInt is a remainder that is not negative, unless the divisor is: (a % b + b) % b where a % b is
// negative. Spark wraps that sum where it is beyond the type; the remainder here is that of whole numbers.
func pmodInt[T integer](a, b T) (T, error) {
	if b == 0 {
		return 0, byZero
	}
	r := a % b
	switch {
	case r >= 0:
		return r, nil
	case b > 0:
		return r + b, nil
	}
	return r, nil
}

func floatEval[T float](name string, t arrow.DataType) func(*Call) arrow.Array {
	op := map[string]func(a, b T) (T, error){
		"+": func(a, b T) (T, error) { return a + b, nil },
		"-": func(a, b T) (T, error) { return a - b, nil },
		"*": func(a, b T) (T, error) { return a * b, nil },
		"/": divFloat[T], "%": modFloat[T], "mod": modFloat[T], "pmod": pmodFloat[T],
	}[name]
	return func(c *Call) arrow.Array { return map2(c, t, op, unfit(c, name, t)) }
}

func divFloat[T float](a, b T) (T, error) {
	if b == 0 {
		return 0, byZero
	}
	return a / b, nil
}

// modFloat is exact, so that computing with more digits and rounding gives the same.
func modFloat[T float](a, b T) (T, error) {
	if b == 0 {
		return 0, byZero
	}
	return T(math.Mod(float64(a), float64(b))), nil
}

func pmodFloat[T float](a, b T) (T, error) {
	r, err := modFloat(a, b)
	if err != nil || !(r < 0) {
		return r, err
	}
	return modFloat(r+b, b)
}
