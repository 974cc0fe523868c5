package function

import (
	"bytes"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

func castInteger(from, to arrow.DataType) func(*Call) arrow.Array {
	switch from.ID() {
	case arrow.INT8:
		return castIntegerOf[int8](to)
	case arrow.INT16:
		return castIntegerOf[int16](to)
	case arrow.INT32:
		return castIntegerOf[int32](to)
	}
	return castIntegerOf[int64](to)
}

func castIntegerOf[F integer](to arrow.DataType) func(*Call) arrow.Array {
	switch to.ID() {
	case arrow.INT8:
		return convert(to, toInteger[F, int8])
	case arrow.INT16:
		return convert(to, toInteger[F, int16])
	case arrow.INT32:
		return convert(to, toInteger[F, int32])
	case arrow.INT64:
		return convert(to, toInteger[F, int64])
	case arrow.FLOAT32:
		return convert(to, func(v F) (float32, error) { return float32(v), nil })
	case arrow.FLOAT64:
		return convert(to, func(v F) (float64, error) { return float64(v), nil })
	case arrow.DECIMAL128:
		t := to.(*arrow.Decimal128Type)
		return convert(to, func(v F) (decimal128.Num, error) {
			return rescale(decimal128.FromI64(int64(v)), 0, t.Scale, t.Precision, halfUp)
		})
	case arrow.BOOL:
		return toBool(func(v F) bool { return v != 0 })
	case arrow.STRING:
		return toText(func(dst []byte, v F) []byte { return strconv.AppendInt(dst, int64(v), 10) })
	case arrow.TIMESTAMP:
		if isInstant(to) {
			return convert(to, func(v F) (int64, error) { return mulInt(int64(v), microsASecond) })
		}
	}
	return nil
}

// convert casts values with a fixed width to such values.
func convert[A, R fixed](to arrow.DataType, f func(A) (R, error)) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array { return map1(c, to, f, lossy(c, to)) }
}

func toBool[A fixed](f func(A) bool) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		v := columnOf[A](c.Args[0])
		return buildBool(nullsOf(c, c.Args[0]), func(row int) (bool, error) { return f(v.at(row)), nil })
	}
}

// toText casts values with a fixed width to strings; f appends one.
func toText[A fixed](f func(dst []byte, v A) []byte) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		v := columnOf[A](c.Args[0])
		return buildText(nullsOf(c, c.Args[0]), arrow.BinaryTypes.String, func(dst []byte, row int) ([]byte, error) {
			return f(dst, v.at(row)), nil
		})
	}
}

func toInteger[F, T integer](v F) (T, error) {
	if n := T(v); int64(n) == int64(v) {
		return n, nil
	}
	return 0, overflow
}

func castFloat(from, to arrow.DataType) func(*Call) arrow.Array {
	if from.ID() == arrow.FLOAT32 {
		return castFloatOf[float32](to, 32)
	}
	return castFloatOf[float64](to, 64)
}

func castFloatOf[F float](to arrow.DataType, bits int) func(*Call) arrow.Array {
	switch to.ID() {
	case arrow.INT8:
		return convert(to, cutFloat[F, int8])
	case arrow.INT16:
		return convert(to, cutFloat[F, int16])
	case arrow.INT32:
		return convert(to, cutFloat[F, int32])
	case arrow.INT64:
		return convert(to, cutFloat[F, int64])
	case arrow.FLOAT32:
		return convert(to, func(v F) (float32, error) { return float32(v), nil })
	case arrow.FLOAT64:
		return convert(to, func(v F) (float64, error) { return float64(v), nil })
	case arrow.DECIMAL128:
		t := to.(*arrow.Decimal128Type)
		return convert(to, func(v F) (decimal128.Num, error) { return floatToDecimal(float64(v), t) })
	case arrow.BOOL:
		return toBool(func(v F) bool { return v != 0 })
	case arrow.STRING:
		return toText(func(dst []byte, v F) []byte { return appendFloat(dst, float64(v), bits) })
	case arrow.TIMESTAMP:
		if isInstant(to) {
			return convert(to, func(v F) (int64, error) { return wholeFloat[int64](math.Trunc(float64(v) * microsASecond)) })
		}
	}
	return nil
}

// cutFloat is the digits of a double before its point.
func cutFloat[F float, T integer](v F) (T, error) { return wholeFloat[T](math.Trunc(float64(v))) }

// floatToDecimal rounds the shortest text of a double.
func floatToDecimal(v float64, t *arrow.Decimal128Type) (decimal128.Num, error) {
	if v-v != 0 {
		return decimal128.Num{}, overflow
	}
	var room [32]byte
	digits, exponent := shortest(room[:0], math.Abs(v))
	n, _ := strconv.ParseUint(string(digits), 10, 64) // at most 17 digits
	return atExponent(u128{lo: n}.wide(), v < 0, int64(exponent-len(digits)), t)
}

// atExponent is m times 10^exponent as a decimal of a type.
func atExponent(m u256, neg bool, exponent int64, t *arrow.Decimal128Type) (decimal128.Num, error) {
	up := exponent + int64(t.Scale)
	switch {
	case m == (u256{}):
		return decimal128.Num{}, nil
	case up < -mostCut:
		return decimal128.Num{}, nil // m has at most 76 digits, which are all cut off
	case up < 0:
		return m.cut(int32(-up), halfUp, neg).fit(t.Precision, neg)
	case up > 2*maxPrecision:
		return decimal128.Num{}, overflow
	}
	m, ok := m.shift(int32(up))
	if !ok {
		return decimal128.Num{}, overflow
	}
	return m.fit(t.Precision, neg)
}

// appendFloat writes a float as Java's Double.toString and Float.toString do since version 19.
func appendFloat(dst []byte, v float64, bits int) []byte {
	at := len(dst)
	switch abs := math.Abs(v); {
	case v != v:
		return append(dst, "NaN"...)
	case v > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case v < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	case abs == 0, abs >= 1e-3 && abs < 1e7:
		dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
		if bytes.IndexByte(dst[at:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	dst = strconv.AppendFloat(dst, v, 'E', -1, bits)
	if bytes.IndexByte(dst[at:], '.') < 0 { // Java chooses among texts of two digits
		dst = strconv.AppendFloat(dst[:at], v, 'E', 1, bits)
	}
	return plainExponent(dst, at)
}

// plainExponent takes the plus sign and the leading zero from an exponent.
func plainExponent(dst []byte, at int) []byte {
	e := at + bytes.IndexByte(dst[at:], 'E') + 1
	digits := e + 1
	for digits < len(dst)-1 && dst[digits] == '0' {
		digits++
	}
	if dst[e] == '-' {
		e++
	}
	return append(dst[:e], dst[digits:]...)
}

func castDecimal(from *arrow.Decimal128Type, to arrow.DataType) func(*Call) arrow.Array {
	scale := from.Scale
	switch to.ID() {
	case arrow.INT8:
		return convert(to, cutDecimal[int8](scale))
	case arrow.INT16:
		return convert(to, cutDecimal[int16](scale))
	case arrow.INT32:
		return convert(to, cutDecimal[int32](scale))
	case arrow.INT64:
		return convert(to, cutDecimal[int64](scale))
	case arrow.FLOAT32:
		return convert(to, func(v decimal128.Num) (float32, error) { return float32(decimalFloat(v, scale, 32)), nil })
	case arrow.FLOAT64:
		return convert(to, func(v decimal128.Num) (float64, error) { return decimalFloat(v, scale, 64), nil })
	case arrow.DECIMAL128:
		t := to.(*arrow.Decimal128Type)
		return convert(to, func(v decimal128.Num) (decimal128.Num, error) {
			return rescale(v, scale, t.Scale, t.Precision, halfUp)
		})
	case arrow.BOOL:
		return toBool(func(v decimal128.Num) bool { return v != decimal128.Num{} })
	case arrow.STRING:
		return toText(func(dst []byte, v decimal128.Num) []byte { return appendDecimal(dst, v, scale) })
	case arrow.TIMESTAMP:
		if isInstant(to) {
			return convert(to, decimalSeconds(scale))
		}
	}
	return nil
}

// cutDecimal is the digits of a decimal before its point.
func cutDecimal[T integer](scale int32) func(decimal128.Num) (T, error) {
	return func(v decimal128.Num) (T, error) {
		m, neg := magnitude(v)
		n, err := toBigint(m.wide().cut(scale, toZero, neg), neg)
		if err != nil {
			return 0, err
		}
		return toInteger[int64, T](n)
	}
}

// decimalSeconds are the microseconds of a number of seconds; what is finer is cut off.
func decimalSeconds(scale int32) func(decimal128.Num) (int64, error) {
	const digits = 6
	return func(v decimal128.Num) (int64, error) {
		m, neg := magnitude(v)
		wide, _ := m.wide().shift(max(digits-scale, 0)) // 45 digits
		return toBigint(wide.cut(scale-digits, toZero, neg), neg)
	}
}

// decimalFloat is the float nearest to a decimal.
func decimalFloat(v decimal128.Num, scale int32, bits int) float64 {
	m, neg := magnitude(v)
	if m.hi == 0 && m.lo < 1<<53 && scale <= 22 && bits == 64 {
		f := float64(m.lo) / float64Pow10[scale] // both are exact, so that the quotient is rounded once
		if neg {
			return -f
		}
		return f
	}
	var room [48]byte
	text := strconv.AppendInt(append(appendDecimal(room[:0], v, 0), 'e'), int64(-scale), 10)
	f, _ := strconv.ParseFloat(string(text), bits)
	return f
}

// float64Pow10 are the powers of ten that a double holds exactly.
var float64Pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// appendDecimal writes a decimal with all digits of its scale.
func appendDecimal(dst []byte, v decimal128.Num, scale int32) []byte {
	m, neg := magnitude(v)
	if neg {
		dst = append(dst, '-')
	}
	var room [2 * maxPrecision]byte
	at := len(room)
	write := func(n uint64, least int) {
		for ; n > 0 || least > 0; n, least = n/10, least-1 {
			at--
			room[at] = byte('0' + n%10)
		}
	}
	const chunk = 19
	q, r := m.wide().div(pow10[chunk])
	if q[1]|q[0] == 0 {
		write(r.lo, int(scale)+1)
	} else {
		write(r.lo, chunk)
		top, rest := q.div(pow10[chunk])
		if top[0] == 0 {
			write(rest.lo, int(scale)+1-chunk)
		} else {
			write(rest.lo, chunk)
			write(top[0], int(scale)+1-2*chunk)
		}
	}
	digits := room[at:]
	point := len(digits) - int(scale)
	dst = append(dst, digits[:point]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[point:]...)
	}
	return dst
}

func castBool(to arrow.DataType) func(*Call) arrow.Array {
	switch to.ID() {
	case arrow.INT8:
		return boolTo[int8](to, 1)
	case arrow.INT16:
		return boolTo[int16](to, 1)
	case arrow.INT32:
		return boolTo[int32](to, 1)
	case arrow.INT64:
		return boolTo[int64](to, 1)
	case arrow.FLOAT32:
		return boolTo[float32](to, 1)
	case arrow.FLOAT64:
		return boolTo[float64](to, 1)
	case arrow.DECIMAL128:
		t := to.(*arrow.Decimal128Type)
		one, err := rescale(decimal128.FromI64(1), 0, t.Scale, t.Precision, halfUp)
		return boolValues(to, decimal128.Num{}, one, err)
	case arrow.STRING:
		return func(c *Call) arrow.Array {
			a := c.Args[0]
			return buildText(nullsOf(c, a), to, func(dst []byte, row int) ([]byte, error) {
				return strconv.AppendBool(dst, a.Array.(*array.Boolean).Value(a.At(row))), nil
			})
		}
	}
	return nil
}

func boolTo[R integer | float](to arrow.DataType, one R) func(*Call) arrow.Array {
	return boolValues(to, 0, one, nil)
}

// boolValues gives FALSE and TRUE a value each; TRUE may have none.
func boolValues[R fixed](to arrow.DataType, no, yes R, err error) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		a := c.Args[0]
		explain := lossy(c, to)
		return buildFixed(nullsOf(c, a), to, func(row int) (R, error) {
			switch v := a.Array.(*array.Boolean).Value(a.At(row)); {
			case !v:
				return no, nil
			case err != nil:
				return no, explain(row, err)
			}
			return yes, nil
		})
	}
}
