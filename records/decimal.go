package records

import (
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// parseFault says why text is no number of a kind.
type parseFault int

const (
	parsed parseFault = iota
	notANumber
	tooFine  // more digits behind the point than the type has
	tooGreat // outside the type's range
)

// parseInt reads [+-]digits.
func parseInt(text []byte) (v int64, fault parseFault) {
	digits, negative := signed(text)
	if len(digits) == 0 {
		return 0, notANumber
	}
	u, over := uint64(0), false
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, notANumber
		}
		d := uint64(c - '0')
		over = over || u > (math.MaxUint64-d)/10
		u = u*10 + d
	}
	switch {
	case over, negative && u > 1<<63, !negative && u > math.MaxInt64:
		return 0, tooGreat
	case negative:
		return -int64(u), parsed
	}
	return int64(u), parsed
}

func signed(text []byte) (rest []byte, negative bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		return text[1:], text[0] == '-'
	}
	return text, false
}

// maxDecimalText is how long the text of a decimal may be, and maxExponent is where exponents stop
// growing as they are read: it must move the point further than any text is long.
const (
	maxDecimalText = 1 << 16
	maxExponent    = 1 << 20
)

// parseDecimal reads [+-]digits[.digits][e[+-]digits] as the unscaled value of a decimal type. Zeros
// at the end that the type has no place for are no loss; any other digit is.
func parseDecimal(text []byte, t *arrow.Decimal128Type) (v decimal128.Num, fault parseFault) {
	if len(text) > maxDecimalText {
		return v, notANumber
	}
	rest, negative := signed(text)
	whole, rest := takeDigits(rest)
	var fraction []byte
	if len(rest) > 0 && rest[0] == '.' {
		fraction, rest = takeDigits(rest[1:])
	}
	exponent, ok := takeExponent(rest)
	if !ok || len(whole)+len(fraction) == 0 {
		return v, notANumber
	}
	fraction = trimZeros(fraction)
	if len(fraction) == 0 {
		trimmed := trimZeros(whole)
		exponent += len(whole) - len(trimmed)
		whole = trimmed
	}
	for len(whole) > 0 && whole[0] == '0' {
		whole = whole[1:]
	}
	if len(whole) == 0 {
		before := len(fraction)
		for len(fraction) > 0 && fraction[0] == '0' {
			fraction = fraction[1:]
		}
		if len(fraction) == 0 {
			return v, parsed // 0
		}
		exponent -= before
	} else {
		exponent -= len(fraction)
	}
	return scaled(whole, fraction, exponent+int(t.Scale), int(t.Precision), negative)
}

// scaled makes the number of the digits of two stretches times ten to the shift. The last digit is
// not 0, nor is the first.
func scaled(whole, fraction []byte, shift, precision int, negative bool) (v decimal128.Num, fault parseFault) {
	switch n := len(whole) + len(fraction); {
	case shift < 0:
		return v, tooFine
	case n+shift > precision:
		return v, tooGreat
	}
	v = appendDigits(appendDigits(v, whole), fraction)
	if shift > 0 {
		v = v.Mul(decimal128.GetScaleMultiplier(shift))
	}
	if negative {
		v = v.Negate()
	}
	return v, parsed
}

// appendDigits gives v with digits written behind it. The result has at most 38 digits.
func appendDigits(v decimal128.Num, digits []byte) decimal128.Num {
	const most = 18 // decimal digits that fit 64 bits whatever they are
	for len(digits) > 0 {
		n := min(len(digits), most)
		part := int64(0)
		for _, c := range digits[:n] {
			part = part*10 + int64(c-'0')
		}
		if v == (decimal128.Num{}) {
			v = decimal128.FromI64(part)
		} else {
			v = v.Mul(decimal128.GetScaleMultiplier(n)).Add(decimal128.FromI64(part))
		}
		digits = digits[n:]
	}
	return v
}

func takeDigits(text []byte) (digits, rest []byte) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

func trimZeros(digits []byte) []byte {
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits
}

// takeExponent reads what is behind the digits: nothing, or an exponent.
func takeExponent(text []byte) (exponent int, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	digits, negative := signed(text[1:])
	if len(digits) == 0 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		exponent = min(exponent*10+int(c-'0'), maxExponent)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

// appendDecimal writes a decimal with all digits of its scale.
func appendDecimal(dst []byte, v decimal128.Num, scale int32) []byte {
	var digits []byte
	if lo := int64(v.LowBits()); v.HighBits() == lo>>63 {
		digits = strconv.AppendInt(digits, lo, 10)
	} else {
		digits = v.BigInt().Append(digits, 10)
	}
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	point := len(digits) - int(scale)
	if point <= 0 {
		dst = append(dst, '0')
	} else {
		dst = append(dst, digits[:point]...)
	}
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	for ; point < 0; point++ {
		dst = append(dst, '0')
	}
	return append(dst, digits[point:]...)
}

func decimalString(v decimal128.Num, t *arrow.Decimal128Type) string {
	return string(appendDecimal(nil, v, t.Scale))
}
