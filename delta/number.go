package delta

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// maxDecimalText bounds the text of a decimal that is read.
const maxDecimalText = 512

// digitText is a decimal number taken apart: ± digits × 10^exponent, digits without zeros at either end.
type digitText struct {
	negative bool
	digits   string
	exponent int
}

// splitDecimal takes [±]d…d[.d…d][e[±]d…d] apart.
func splitDecimal(text string) (d digitText, ok bool) {
	if len(text) > maxDecimalText {
		return d, false
	}
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
		e, err := strconv.ParseInt(exponent, 10, 16)
		if err != nil {
			return d, false
		}
		d.exponent = int(e)
	}
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		d.negative = mantissa[0] == '-'
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.digits = whole + fraction
	if d.digits == "" || strings.Trim(d.digits, "0123456789") != "" {
		return d, false
	}
	d.exponent -= len(fraction)
	d.digits = strings.TrimLeft(d.digits, "0")
	significant := strings.TrimRight(d.digits, "0")
	d.exponent += len(d.digits) - len(significant)
	d.digits = significant
	return d, true
}

// parseDecimal reads a number as an unscaled decimal of the type, exactly: a number that needs more digits than the type
// has is none of it. significant is how many digits the text has without the zeros at its ends.
func parseDecimal(text string, t Decimal) (n decimal128.Num, significant int, ok bool) {
	d, ok := splitDecimal(text)
	if !ok {
		return n, 0, false
	}
	if d.digits == "" {
		return n, 0, true
	}
	zeros := d.exponent + t.Scale
	if zeros < 0 || len(d.digits)+zeros > t.Precision {
		return n, 0, false
	}
	var hi, lo uint64
	for i := range len(d.digits) + zeros {
		digit := byte('0')
		if i < len(d.digits) {
			digit = d.digits[i]
		}
		carry, low := bits.Mul64(lo, 10)
		low, c := bits.Add64(low, uint64(digit-'0'), 0)
		hi, lo = hi*10+carry+c, low
	}
	n = decimal128.New(int64(hi), lo)
	if d.negative {
		n = n.Negate()
	}
	return n, len(d.digits), true
}

// formatDecimal writes an unscaled decimal as plain text with its scale.
func formatDecimal(n decimal128.Num, scale int) string {
	digits := n.BigInt().String()
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if scale == 0 {
		return sign + digits
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - scale
	return sign + digits[:point] + "." + digits[point:]
}

// parseFloat reads a decimal number, or NaN or an infinity by the names that Spark's cast takes; delta-rs writes inf.
func parseFloat(text string, bits int) (float64, bool) {
	switch strings.ToLower(text) {
	case "nan":
		return math.NaN(), true
	case "inf", "+inf", "infinity", "+infinity":
		return math.Inf(1), true
	case "-inf", "-infinity":
		return math.Inf(-1), true
	}
	if text == "" || strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, bits)
	return f, err == nil
}

// formatFloat writes the shortest text that reads as the same number, in the form that the JVM writes: 1.0, 1.0E10, NaN.
// For a finite number it is a JSON number.
func formatFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		return withPoint(strconv.FormatFloat(f, 'f', -1, bits))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
	e, _ := strconv.Atoi(exponent)
	return withPoint(mantissa) + "E" + strconv.Itoa(e)
}

func withPoint(text string) string {
	if strings.Contains(text, ".") {
		return text
	}
	return text + ".0"
}
