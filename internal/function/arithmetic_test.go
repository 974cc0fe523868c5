package function_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/internal/function"
)

// number is an operand as the twins know it.
type number struct {
	null     bool
	unscaled *big.Int
	scale    int32
}

func (n number) rat() *big.Rat {
	return new(big.Rat).SetFrac(n.unscaled, pow10(n.scale))
}

func pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// operand is a column of numbers, or one constant.
type operand struct {
	typ      arrow.DataType
	values   []number
	constant bool
}

func (o operand) at(row int) number {
	if o.constant {
		return o.values[0]
	}
	return o.values[row]
}

var integerTypes = []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64}

var drawDecimalType = rapid.Custom(func(t *rapid.T) arrow.DataType {
	p := rapid.OneOf(rapid.Int32Range(1, 38), rapid.Just(int32(38))).Draw(t, "precision")
	return &arrow.Decimal128Type{Precision: p, Scale: rapid.Int32Range(0, p).Draw(t, "scale")}
})

// bounds are the digits and the scale that values of a type have.
func bounds(typ arrow.DataType) (least, most *big.Int, scale int32) {
	if d, ok := typ.(*arrow.Decimal128Type); ok {
		most = new(big.Int).Sub(pow10(d.Precision), big.NewInt(1))
		return new(big.Int).Neg(most), most, d.Scale
	}
	bits := uint(typ.(arrow.FixedWidthDataType).BitWidth())
	most = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits-1), big.NewInt(1))
	return new(big.Int).Not(most), most, 0
}

func drawNumber(t *rapid.T, typ arrow.DataType) number {
	least, most, scale := bounds(typ)
	n := number{scale: scale, unscaled: new(big.Int), null: rapid.IntRange(0, 9).Draw(t, "null") == 0}
	switch rapid.SampledFrom([]string{"any", "any", "short", "short", "least", "most"}).Draw(t, "kind") {
	case "least":
		n.unscaled.Add(least, big.NewInt(rapid.Int64Range(0, 2).Draw(t, "above")))
	case "most":
		n.unscaled.Sub(most, big.NewInt(rapid.Int64Range(0, 2).Draw(t, "below")))
	case "short":
		n.unscaled.SetInt64(rapid.Int64Range(-1000, 1000).Draw(t, "n"))
	default:
		n.unscaled.SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "negative") {
			n.unscaled.Neg(n.unscaled)
		}
	}
	if n.unscaled.Cmp(least) < 0 || n.unscaled.Cmp(most) > 0 {
		n.unscaled.Rem(n.unscaled, new(big.Int).Add(most, big.NewInt(1)))
	}
	return n
}

func drawOperand(t *rapid.T, typ arrow.DataType, rows int) operand {
	o := operand{typ: typ, constant: rapid.Bool().Draw(t, "constant")}
	if o.constant {
		rows = 1
	}
	for range rows {
		o.values = append(o.values, drawNumber(t, typ))
	}
	return o
}

// arg is the operand as a column in the middle of a longer array. Under a NULL lies a value.
func (o operand) arg(mem memory.Allocator) function.Arg {
	b := array.NewBuilder(mem, o.typ)
	defer b.Release()
	b.AppendEmptyValue()
	for _, v := range o.values {
		appendNumber(b, v)
	}
	b.AppendEmptyValue()
	all := b.NewArray()
	defer all.Release()
	valid := make([]bool, len(o.values))
	for i, v := range o.values {
		valid[i] = !v.null
	}
	return function.Arg{Array: masked(all, 1, valid), Constant: o.constant}
}

// masked is a part of an array, in which rows are NULL though they have values.
func masked(all arrow.Array, from int, valid []bool) arrow.Array {
	bits := make([]byte, bitutil.BytesForBits(int64(from+len(valid))))
	nulls := 0
	for i, ok := range valid {
		bitutil.SetBitTo(bits, from+i, ok)
		if !ok {
			nulls++
		}
	}
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(bits)}, all.Data().Buffers()[1:]...)
	data := array.NewData(all.DataType(), len(valid), buffers, all.Data().Children(), nulls, from)
	defer data.Release()
	return array.MakeFromData(data)
}

func appendNumber(b array.Builder, v number) {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v.unscaled.Int64()))
	case *array.Int16Builder:
		b.Append(int16(v.unscaled.Int64()))
	case *array.Int32Builder:
		b.Append(int32(v.unscaled.Int64()))
	case *array.Int64Builder:
		b.Append(v.unscaled.Int64())
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v.unscaled))
	}
}

// evaluated is the result of a function, with an error or a NULL in each row that has no value.
func evaluated(t require.TestingT, f *function.Function, rows int, mem memory.Allocator, args ...function.Arg) (arrow.Array, []error) {
	errs := make([]error, rows)
	out := f.Eval(&function.Call{Mem: mem, Rows: rows, Args: args, Fail: func(row int, err error) {
		require.NoError(t, errs[row], "a row fails once")
		errs[row] = err
	}})
	require.Equal(t, rows, out.Len())
	require.True(t, arrow.TypeEqual(f.Result, out.DataType()), "%s: %s", f.Result, out.DataType())
	nulls := 0
	for row := range rows {
		if out.IsNull(row) {
			nulls++
		}
		require.False(t, errs[row] != nil && out.IsValid(row), "row %d failed and has a value", row)
	}
	require.Equal(t, nulls, out.NullN())
	return out, errs
}

var errNone = fmt.Errorf("no value")

func TestArithmeticIsThatOfFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.OneOf(drawDecimalType, drawDecimalType, rapid.SampledFrom(integerTypes))
		name := rapid.SampledFrom([]string{"+", "-", "*", "/", "%", "mod", "pmod", "div"}).Draw(t, "operator")
		rows := rapid.IntRange(1, 20).Draw(t, "rows")
		a, b := drawOperand(t, types.Draw(t, "left"), rows), drawOperand(t, types.Draw(t, "right"), rows)
		f, err := function.Find(name, []function.Param{{Type: a.typ}, {Type: b.typ}})
		require.NoError(t, err)
		if f.Result.ID() == arrow.FLOAT64 {
			return // division of integers
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		l, r := a.arg(mem), b.arg(mem)
		defer l.Release()
		defer r.Release()
		args := []function.Arg{widenedTo(t, mem, l, f.Params[0]), widenedTo(t, mem, r, f.Params[1])}
		defer args[0].Release()
		defer args[1].Release()
		out, errs := evaluated(t, f, rows, mem, args...)
		defer out.Release()
		for row := range rows {
			x, y := a.at(row), b.at(row)
			if x.null || y.null {
				require.True(t, out.IsNull(row) && errs[row] == nil)
				continue
			}
			want, err := twin(name, x.rat(), y.rat(), f.Result)
			if err != nil {
				require.Error(t, errs[row], "%s %s %s", x.rat(), name, y.rat())
				continue
			}
			require.NoError(t, errs[row], "%s %s %s", x.rat(), name, y.rat())
			require.Equal(t, want, unscaledAt(out, row).String(), "%s %s %s", x.rat(), name, y.rat())
		}
	})
}

// widenedTo is an argument as a function takes it.
func widenedTo(t require.TestingT, mem memory.Allocator, a function.Arg, to arrow.DataType) function.Arg {
	require.True(t, function.Implicit(a.DataType(), to), "%s to %s", a.DataType(), to)
	f, err := function.Cast(a.DataType(), to)
	require.NoError(t, err)
	v := f.Eval(&function.Call{Mem: mem, Rows: a.Len(), Args: []function.Arg{{Array: a.Array}}, Fail: func(_ int, err error) { require.NoError(t, err) }})
	return function.Arg{Array: v, Constant: a.Constant}
}

func unscaledAt(arr arrow.Array, row int) *big.Int {
	switch arr := arr.(type) {
	case *array.Int8:
		return big.NewInt(int64(arr.Value(row)))
	case *array.Int16:
		return big.NewInt(int64(arr.Value(row)))
	case *array.Int32:
		return big.NewInt(int64(arr.Value(row)))
	case *array.Int64:
		return big.NewInt(arr.Value(row))
	}
	return arr.(*array.Decimal128).Value(row).BigInt()
}

// twin computes with fractions, and rounds to the scale of a type.
func twin(name string, a, b *big.Rat, t arrow.DataType) (string, error) {
	exact := new(big.Rat)
	switch name {
	case "+":
		exact.Add(a, b)
	case "-":
		exact.Sub(a, b)
	case "*":
		exact.Mul(a, b)
	default:
		if b.Sign() == 0 {
			return "", errNone
		}
		exact.Quo(a, b)
		whole := new(big.Rat).SetInt(new(big.Int).Quo(exact.Num(), exact.Denom()))
		switch rest := new(big.Rat).Sub(a, whole.Mul(whole, b)); name {
		case "%", "mod":
			exact = rest
		case "pmod":
			if exact = rest; rest.Sign() < 0 && b.Sign() > 0 {
				exact.Add(rest, b)
			}
		case "div":
			exact.SetInt(new(big.Int).Quo(exact.Num(), exact.Denom()))
		}
	}
	return roundedTo(exact, t)
}

// roundedTo is a fraction as the digits of a value of a type, a half away from zero.
func roundedTo(exact *big.Rat, t arrow.DataType) (string, error) {
	least, most, scale := bounds(t)
	digits := halfUp(new(big.Rat).Mul(exact, new(big.Rat).SetInt(pow10(scale))))
	if digits.Cmp(least) < 0 || digits.Cmp(most) > 0 {
		return "", errNone
	}
	return digits.String(), nil
}

func halfUp(v *big.Rat) *big.Int {
	abs := new(big.Rat).Add(new(big.Rat).Abs(v), big.NewRat(1, 2))
	digits := new(big.Int).Quo(abs.Num(), abs.Denom())
	if v.Sign() < 0 {
		digits.Neg(digits)
	}
	return digits
}

// What the types of results are, as Spark has them for columns (no operand is a literal).
func TestTypesOfDecimalArithmetic(t *testing.T) {
	for _, c := range []struct{ why, left, name, right, want string }{
		{"one digit more than the longer", "DECIMAL(5, 2)", "+", "DECIMAL(4, 0)", "DECIMAL(7, 2)"},
		{"digits behind the point give way", "DECIMAL(38, 10)", "+", "DECIMAL(38, 18)", "DECIMAL(38, 9)"},
		{"but six of them", "DECIMAL(38, 0)", "-", "DECIMAL(38, 38)", "DECIMAL(38, 6)"},
		{"all of them, if there are fewer", "DECIMAL(38, 2)", "+", "DECIMAL(38, 2)", "DECIMAL(38, 2)"},
		{"digits of both and one more", "DECIMAL(5, 2)", "*", "DECIMAL(4, 1)", "DECIMAL(10, 3)"},
		{"", "DECIMAL(38, 30)", "*", "DECIMAL(38, 30)", "DECIMAL(38, 21)"},
		{"", "DECIMAL(38, 10)", "*", "DECIMAL(38, 10)", "DECIMAL(38, 6)"},
		{"at least six digits", "DECIMAL(2, 1)", "/", "DECIMAL(1, 0)", "DECIMAL(7, 6)"},
		{"", "DECIMAL(10, 0)", "/", "DECIMAL(10, 0)", "DECIMAL(21, 11)"},
		{"", "DECIMAL(38, 0)", "/", "DECIMAL(38, 0)", "DECIMAL(38, 6)"},
		{"", "DECIMAL(38, 38)", "/", "DECIMAL(38, 38)", "DECIMAL(38, 6)"},
		{"the shorter of both", "DECIMAL(10, 2)", "%", "DECIMAL(5, 4)", "DECIMAL(5, 4)"},
		{"an INT has ten digits", "DECIMAL(5, 2)", "+", "INT", "DECIMAL(13, 2)"},
		{"a BIGINT twenty", "BIGINT", "/", "DECIMAL(5, 2)", "DECIMAL(28, 6)"},
		{"a TINYINT three", "TINYINT", "*", "DECIMAL(5, 2)", "DECIMAL(9, 2)"},
		{"a SMALLINT five", "DECIMAL(5, 2)", "-", "SMALLINT", "DECIMAL(8, 2)"},
		{"whole numbers are BIGINT", "DECIMAL(38, 10)", "div", "TINYINT", "BIGINT"},
		{"with a double all are doubles", "DECIMAL(5, 2)", "%", "DOUBLE", "DOUBLE"},
		{"with a FLOAT too", "FLOAT", "+", "DECIMAL(5, 2)", "DOUBLE"},
		{"FLOATs alone stay", "FLOAT", "+", "FLOAT", "FLOAT"},
		{"but in a division", "FLOAT", "/", "FLOAT", "DOUBLE"},
		{"integers with a FLOAT are doubles", "FLOAT", "*", "TINYINT", "DOUBLE"},
		{"the wider integer", "SMALLINT", "pmod", "BIGINT", "BIGINT"},
		{"integers are divided as doubles", "INT", "/", "INT", "DOUBLE"},
		{"a NULL is of the other's type", "VOID", "+", "DECIMAL(2, 1)", "DECIMAL(3, 1)"},
		{"but a DOUBLE over a decimal", "VOID", "/", "DECIMAL(2, 1)", "DOUBLE"},
		{"not under one", "DECIMAL(2, 1)", "/", "VOID", "DECIMAL(8, 6)"},
		{"NULLs alone are DOUBLE", "VOID", "%", "VOID", "DOUBLE"},
		{"or BIGINT", "VOID", "div", "VOID", "BIGINT"},
	} {
		f, err := function.Find(c.name, []function.Param{{Type: typeNamed(t, c.left)}, {Type: typeNamed(t, c.right)}})
		require.NoError(t, err, c.why)
		require.Equal(t, c.want, typeWordOf(f.Result), "%s: %s %s %s", c.why, c.left, c.name, c.right)
	}
}

func TestWhatArithmeticRefuses(t *testing.T) {
	for expression, want := range map[string]string{
		"1 + '1'":                     "+ takes numbers; the second argument is STRING, and a text becomes a number only by a CAST",
		"'1' / 1.5":                   "/ takes numbers; the first argument is STRING, and a text becomes a number only by a CAST",
		"NULL % '1'":                  "% takes numbers; the second argument is STRING, and a text becomes a number only by a CAST",
		"'1' div 2":                   "div takes numbers; the first argument is STRING, and a text becomes a number only by a CAST",
		"-'1'":                        "negative takes numbers; the argument is STRING, and a text becomes a number only by a CAST",
		"abs('1')":                    "abs takes numbers; the argument is STRING, and a text becomes a number only by a CAST",
		"round('1', 2)":               "round takes numbers; the argument is STRING, and a text becomes a number only by a CAST",
		"isnan('NaN')":                "isnan takes numbers; the argument is STRING, and a text becomes a number only by a CAST",
		"true * 2":                    "* takes numbers; the first argument is BOOLEAN",
		"X'01' % 2":                   "% takes numbers; the first argument is BINARY",
		"1.5D div 2":                  "div takes integers and decimals; the first argument is DOUBLE: floor(a / b) divides those",
		"pmod(1)":                     "pmod takes 2 arguments; 1 argument is given",
		"abs()":                       "abs takes 1 argument; no argument is given",
		"round()":                     "round takes a number and perhaps how many digits it is rounded to; no argument is given",
		"round(1, 2, 3)":              "round takes a number and perhaps how many digits it is rounded to; 3 arguments are given",
		"round(1, 2.5)":               "round takes an INT for the digits that it rounds to; that argument is DECIMAL(2, 1)",
		"round(1, 2L)":                "round takes an INT for the digits that it rounds to; that argument is BIGINT",
		"greatest(1)":                 "greatest takes 2 arguments or more; 1 argument is given",
		"greatest(1, 'a')":            "greatest: INT and STRING have no type in common: CAST one of them",
		"least(map(1, 2), map(3, 4))": "least: values of the type map<int32, int32, items_nullable> have no order",
	} {
		_, got := answer(t, expression, true)
		require.Equal(t, want, got, expression)
	}
	_, err := function.Find("round", []function.Param{{Type: arrow.PrimitiveTypes.Float64}, {Type: arrow.PrimitiveTypes.Int32}})
	require.EqualError(t, err, "round takes a constant for the digits that it rounds to")
}

func TestErrorsOfRowsShowTheirOperands(t *testing.T) {
	for expression, want := range map[string]string{
		"2147483647 + 1": "2147483647 + 1 does not fit into INT",
		"-128Y - 1Y":     "-128 - 1 does not fit into TINYINT",
		"1 / 0":          "1.0 / 0.0 divides by zero",
		"1 % 0":          "1 % 0 divides by zero",
		"pmod(1.50, 0)":  "pmod(1.50, 0) divides by zero",
		"99999999999999999999999999999999999999 * 10L":         "99999999999999999999999999999999999999 * 10 does not fit into DECIMAL(38, 0)",
		"-9223372036854775808L div -1":                         "-9223372036854775808 div -1 does not fit into BIGINT",
		"negative(-32768S)":                                    "negative(-32768) does not fit into SMALLINT",
		"round(127Y, -1)":                                      "round(127, -1) does not fit into TINYINT",
		"CAST(300 AS TINYINT)":                                 "300 does not fit into TINYINT",
		"CAST(1e30D AS INT)":                                   "1.0E30 does not fit into INT",
		"CAST(-99.995 AS DECIMAL(4, 2))":                       "-99.995 does not fit into DECIMAL(4, 2)",
		"CAST('12a' AS INT)":                                   `"12a" is no INT`,
		"CAST('128' AS TINYINT)":                               `"128" does not fit into TINYINT`,
		"CAST('1e39' AS DECIMAL(38, 0))":                       `"1e39" does not fit into DECIMAL(38, 0)`,
		"CAST(true AS DECIMAL(1, 1))":                          "true does not fit into DECIMAL(1, 1)",
		"CAST('2024-02-30' AS DATE)":                           `"2024-02-30" is no DATE`,
		"CAST('12:30' AS TIMESTAMP)":                           `"12:30" is no TIMESTAMP: it has no day, and the day of today is not part of the text`,
		"CAST('2024-01-01 00:00:00 Europe/Rome' AS TIMESTAMP)": `"2024-01-01 00:00:00 Europe/Rome" is no TIMESTAMP: its zone is no offset from UTC, such as Z or +01:00; the rules of regions are not part of the text`,
		"CAST(DATE '+5881580-07-11' AS TIMESTAMP)":             "+5881580-07-11 does not fit into TIMESTAMP",
	} {
		_, got := answer(t, expression, false)
		require.Equal(t, want, got, expression)
	}
}

// No value makes a kernel panic: also the least integers, and decimals beyond 38 digits, which damaged files hold.
func TestValuesAtTheEdges(t *testing.T) {
	ten38 := decimal128.FromBigInt(pow10(38))
	beyond := []decimal128.Num{decimal128.New(math.MinInt64, 0), decimal128.New(math.MaxInt64, math.MaxUint64), {}, decimal128.FromI64(-1), ten38}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, scale := range []int32{0, 19, 38} {
		b := array.NewDecimal128Builder(mem, &arrow.Decimal128Type{Precision: 38, Scale: scale})
		b.AppendValues(beyond, nil)
		v := b.NewArray()
		b.Release()
		arg := function.Arg{Array: v}
		for _, name := range []string{"+", "-", "*", "/", "%", "pmod", "div", "greatest"} {
			for _, other := range []function.Arg{arg, {Array: v, Constant: true}} {
				f, err := function.Find(name, []function.Param{{Type: v.DataType()}, {Type: v.DataType()}})
				require.NoError(t, err)
				out, _ := evaluated(t, f, v.Len(), mem, arg, other)
				out.Release()
			}
		}
		for _, name := range strings.Fields("abs negative sign round bround floor ceil") {
			f, err := function.Find(name, []function.Param{{Type: v.DataType()}})
			require.NoError(t, err)
			out, _ := evaluated(t, f, v.Len(), mem, arg)
			out.Release()
		}
		for _, to := range everyType {
			if f, err := function.Cast(v.DataType(), to); err == nil {
				out, _ := evaluated(t, f, v.Len(), mem, arg)
				if text, ok := out.(*array.String); ok && scale == 19 {
					require.Equal(t, "-17014118346046923173.1687303715884105728", text.Value(0))
					require.Equal(t, "10000000000000000000.0000000000000000000", text.Value(4))
				}
				out.Release()
			}
		}
		v.Release()
	}
}
