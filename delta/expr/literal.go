package expr

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// The types of literals with parameters. A timestamp is an instant, a timestamp_ntz a reading of a
// clock somewhere.
var (
	timestampType    = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	timestampNTZType = &arrow.TimestampType{Unit: arrow.Microsecond}
)

const (
	maxPrecision = 38
	microsADay   = 24 * 60 * 60 * 1_000_000
)

// literal makes the constant of a Go value, in one of the forms that a literal has in a text:
// boolean, int8 to int64, float32, float64, decimal128 of the least precision, utf8, binary,
// date32, timestamp[us, UTC], timestamp[us], month_day_nano_interval, or no value for NULL.
func literal(v any) (scalar.Scalar, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		return scalar.NewBooleanScalar(v), nil
	case string:
		return stringScalar(v)
	case []byte:
		return binaryScalar(v), nil
	case time.Time:
		return timeScalar(v)
	case arrow.Date32:
		return scalar.NewDate32Scalar(v), nil
	case arrow.Date64:
		return date64Scalar(v)
	case time.Duration:
		return intervalScalar(arrow.MonthDayNanoInterval{Nanoseconds: int64(v)})
	case arrow.MonthDayNanoInterval:
		return intervalScalar(v)
	case scalar.Scalar:
		return canonical(v)
	}
	return numberLiteral(v)
}

func numberLiteral(v any) (scalar.Scalar, error) {
	switch v := v.(type) {
	case int:
		return scalar.NewInt64Scalar(int64(v)), nil
	case int8:
		return scalar.NewInt8Scalar(v), nil
	case int16:
		return scalar.NewInt16Scalar(v), nil
	case int32:
		return scalar.NewInt32Scalar(v), nil
	case int64:
		return scalar.NewInt64Scalar(v), nil
	case uint:
		return uintScalar(uint64(v)), nil
	case uint8:
		return scalar.NewInt16Scalar(int16(v)), nil
	case uint16:
		return scalar.NewInt32Scalar(int32(v)), nil
	case uint32:
		return scalar.NewInt64Scalar(int64(v)), nil
	case uint64:
		return uintScalar(v), nil
	case float32:
		return float32Scalar(v), nil
	case float64:
		return float64Scalar(v), nil
	}
	return nil, fmt.Errorf("a value of the Go type %T is no literal: give a bool, an integer, a float, a string, a []byte, a time.Time, a time.Duration, an Arrow scalar, expr.Date, expr.Decimal, expr.Interval or nil", v)
}

// canonical gives a scalar the one form that its kind of literal has.
func canonical(v scalar.Scalar) (scalar.Scalar, error) {
	if !v.IsValid() {
		return nil, nil
	}
	switch v := v.(type) {
	case *scalar.Null:
		return nil, nil
	case *scalar.Boolean, *scalar.Int8, *scalar.Int16, *scalar.Int32, *scalar.Int64, *scalar.Date32:
		return v, nil
	case *scalar.Uint8:
		return numberLiteral(v.Value)
	case *scalar.Uint16:
		return numberLiteral(v.Value)
	case *scalar.Uint32:
		return numberLiteral(v.Value)
	case *scalar.Uint64:
		return numberLiteral(v.Value)
	case *scalar.Float16:
		return float32Scalar(v.Value.Float32()), nil
	case *scalar.Float32:
		return float32Scalar(v.Value), nil
	case *scalar.Float64:
		return float64Scalar(v.Value), nil
	case *scalar.Date64:
		return date64Scalar(v.Value)
	case *scalar.Decimal128:
		return decimal128Scalar(v)
	case *scalar.Timestamp:
		return timestampScalar(v)
	case *scalar.MonthDayNanoInterval:
		return intervalScalar(v.Value)
	case *scalar.String:
		return stringScalar(string(v.Value.Bytes()))
	case *scalar.LargeString:
		return stringScalar(string(v.Value.Bytes()))
	case *scalar.Binary:
		return binaryScalar(v.Value.Bytes()), nil
	case *scalar.LargeBinary:
		return binaryScalar(v.Value.Bytes()), nil
	case *scalar.FixedSizeBinary:
		return binaryScalar(v.Value.Bytes()), nil
	case *scalar.Dictionary:
		inner, err := v.GetEncodedValue()
		if err != nil {
			return nil, fmt.Errorf("literal of type %s: %w", v.DataType(), err)
		}
		return canonical(inner)
	}
	return nil, fmt.Errorf("an Arrow scalar of type %s is no literal", v.DataType())
}

func stringScalar(v string) (scalar.Scalar, error) {
	if !utf8.ValidString(v) {
		return nil, fmt.Errorf("the string %q is not valid UTF-8: give bytes as []byte", clip(v))
	}
	return scalar.NewStringScalar(v), nil
}

func binaryScalar(v []byte) scalar.Scalar {
	return scalar.NewBinaryScalar(memory.NewBufferBytes(append([]byte{}, v...)), arrow.BinaryTypes.Binary)
}

// A NaN is one value, whatever its bits.
func float32Scalar(v float32) scalar.Scalar {
	if v != v {
		v = float32(math.NaN())
	}
	return scalar.NewFloat32Scalar(v)
}

func float64Scalar(v float64) scalar.Scalar {
	if v != v {
		v = math.NaN()
	}
	return scalar.NewFloat64Scalar(v)
}

func uintScalar(v uint64) scalar.Scalar {
	if v <= math.MaxInt64 {
		return scalar.NewInt64Scalar(int64(v))
	}
	return shortestDecimal(decimal128.FromU64(v), 0)
}

// timeScalar keeps microseconds, as tables do; what is finer is cut off.
func timeScalar(v time.Time) (scalar.Scalar, error) {
	if y := v.Year(); y < -290_000 || y > 290_000 {
		return nil, fmt.Errorf("the time %s does not fit into a timestamp of microseconds", v)
	}
	return scalar.NewTimestampScalar(arrow.Timestamp(v.UnixMicro()), timestampType), nil
}

func date64Scalar(v arrow.Date64) (scalar.Scalar, error) {
	days := floorDiv(int64(v), 24*60*60*1000)
	if days < math.MinInt32 || days > math.MaxInt32 {
		return nil, fmt.Errorf("a date of %d milliseconds is beyond what a date holds", v)
	}
	return scalar.NewDate32Scalar(arrow.Date32(days)), nil
}

func timestampScalar(v *scalar.Timestamp) (scalar.Scalar, error) {
	t, ok := v.Type.(*arrow.TimestampType)
	if !ok {
		return nil, fmt.Errorf("a timestamp scalar has the type %s", v.Type)
	}
	to := timestampNTZType
	if t.TimeZone != "" {
		to = timestampType
	}
	micros := int64(v.Value)
	switch t.Unit {
	case arrow.Second, arrow.Millisecond:
		factor := int64(time.Second / time.Microsecond)
		if t.Unit == arrow.Millisecond {
			factor = int64(time.Millisecond / time.Microsecond)
		}
		if micros > math.MaxInt64/factor || micros < math.MinInt64/factor {
			return nil, fmt.Errorf("the timestamp %d %s does not fit into microseconds", v.Value, t.Unit)
		}
		micros *= factor
	case arrow.Nanosecond:
		micros = floorDiv(micros, 1000)
	}
	return scalar.NewTimestampScalar(arrow.Timestamp(micros), to), nil
}

func decimal128Scalar(v *scalar.Decimal128) (scalar.Scalar, error) {
	t, ok := v.Type.(*arrow.Decimal128Type)
	if !ok {
		return nil, fmt.Errorf("a decimal scalar has the type %s", v.Type)
	}
	if t.Scale < 0 || t.Scale > maxPrecision || !v.Value.FitsInPrecision(maxPrecision) {
		return nil, fmt.Errorf("the decimal %s of type %s does not fit into decimal(38, 0 to 38)", v.Value.BigInt(), t)
	}
	return shortestDecimal(v.Value, t.Scale), nil
}

// shortestDecimal has the least precision that holds n at the scale: the type of its text.
func shortestDecimal(n decimal128.Num, scale int32) scalar.Scalar {
	digits := int32(len(new(big.Int).Abs(n.BigInt()).String()))
	return scalar.NewDecimal128Scalar(n, &arrow.Decimal128Type{Precision: max(digits, scale, 1), Scale: scale})
}

// decimalScalar reads a decimal: sign, digits, a point, an exponent.
func decimalScalar(text string) (scalar.Scalar, error) {
	mantissa, exponent, err := splitExponent(text)
	if err != nil {
		return nil, err
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || strings.ContainsAny(whole+fraction, "_") {
		return nil, fmt.Errorf("%q is not a decimal number", clip(text))
	}
	scale := len(fraction) - exponent
	tooLong := fmt.Errorf("the decimal %s needs more than %d digits", clip(text), maxPrecision)
	if unscaled.Sign() == 0 {
		scale = min(max(scale, 0), maxPrecision)
	}
	if scale < -maxPrecision || scale > maxPrecision {
		return nil, tooLong
	}
	if scale < 0 {
		unscaled.Mul(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil))
		scale = 0
	}
	if len(new(big.Int).Abs(unscaled).String()) > maxPrecision {
		return nil, tooLong
	}
	return shortestDecimal(decimal128.FromBigInt(unscaled), int32(scale)), nil
}

// maxNumberLength bounds the work on the text of a number.
const maxNumberLength = 1100

func splitExponent(text string) (mantissa string, exponent int, err error) {
	if len(text) > maxNumberLength {
		return "", 0, fmt.Errorf("a number of %d characters is too long", len(text))
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return text, 0, nil
	}
	exponent, err = strconv.Atoi(text[at+1:])
	if err != nil || exponent > 10_000 || exponent < -10_000 {
		return "", 0, fmt.Errorf("%q is not a decimal number", clip(text))
	}
	return text[:at], exponent, nil
}

// sameScalar compares two literals by type and value; -0.0 and 0.0 are different texts.
func sameScalar(a, b scalar.Scalar) bool {
	a, errA := literal(a)
	b, errB := literal(b)
	if errA != nil || errB != nil {
		return false
	}
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if !sameType(a.DataType(), b.DataType()) {
		return false
	}
	switch a := a.(type) {
	case *scalar.Float32:
		return math.Float32bits(a.Value) == math.Float32bits(b.(*scalar.Float32).Value)
	case *scalar.Float64:
		return math.Float64bits(a.Value) == math.Float64bits(b.(*scalar.Float64).Value)
	}
	return scalar.Equals(a, b)
}

func sameType(a, b arrow.DataType) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return arrow.TypeEqual(a, b)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func decimalScale(v *scalar.Decimal128) int32 {
	if t, ok := v.Type.(*arrow.Decimal128Type); ok {
		return t.Scale
	}
	return 0
}
