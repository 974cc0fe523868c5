package records

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// textAppender appends a value given as text. why says what is wrong with it, "" if nothing is; then
// nothing was appended.
type textAppender func(text []byte) (why string)

// newTextAppender understands the values of a flat column. Strings must be valid UTF-8, which their
// reader has seen to.
func newTextAppender(b array.Builder, f Format) textAppender {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return boolText(b)
	case *array.Int8Builder:
		return intText(b.Append, math.MinInt8, math.MaxInt8)
	case *array.Int16Builder:
		return intText(b.Append, math.MinInt16, math.MaxInt16)
	case *array.Int32Builder:
		return intText(b.Append, math.MinInt32, math.MaxInt32)
	case *array.Int64Builder:
		return intText(b.Append, math.MinInt64, math.MaxInt64)
	case *array.Float32Builder:
		return floatText(func(v float64) { b.Append(float32(v)) }, 32)
	case *array.Float64Builder:
		return floatText(b.Append, 64)
	case *array.Decimal128Builder:
		return decimalText(b)
	case *array.StringBuilder:
		return func(text []byte) string {
			b.BinaryBuilder.Append(text)
			return ""
		}
	case *array.BinaryBuilder:
		return binaryText(b, f.Binary)
	case *array.Date32Builder:
		return func(text []byte) string {
			days, why := f.date(text)
			if why == "" {
				b.Append(arrow.Date32(days))
			}
			return why
		}
	case *array.TimestampBuilder:
		zoned := b.Type().(*arrow.TimestampType).TimeZone != ""
		return func(text []byte) string {
			micros, why := f.timestamp(text, zoned)
			if why == "" {
				b.Append(arrow.Timestamp(micros))
			}
			return why
		}
	}
	return func([]byte) string { return "cannot be stored: a void column holds nothing; leave it out" }
}

func boolText(b *array.BooleanBuilder) textAppender {
	return func(text []byte) string {
		switch {
		case len(text) == 4 && strings.EqualFold(string(text), "true"):
			b.Append(true)
		case len(text) == 5 && strings.EqualFold(string(text), "false"):
			b.Append(false)
		default:
			return "is not true or false"
		}
		return ""
	}
}

func intText[T int8 | int16 | int32 | int64](add func(T), least, most int64) textAppender {
	outside := fmt.Sprintf("is outside the column's range, %d to %d", least, most)
	return func(text []byte) string {
		v, fault := parseInt(text)
		switch {
		case fault == notANumber:
			return "is not a whole number" + spaceHint(text)
		case fault == tooGreat, v < least, v > most:
			return outside
		}
		add(T(v))
		return ""
	}
}

// spaceHint tells of what cannot be seen well in a message.
func spaceHint(text []byte) string {
	if n := len(text); n > 0 && (text[0] == ' ' || text[n-1] == ' ' || text[0] == '\t' || text[n-1] == '\t') {
		return "; there are spaces around it"
	}
	return ""
}

func floatText(add func(float64), bits int) textAppender {
	return func(text []byte) string {
		v, ok := namedFloat(text)
		if !ok {
			if !isDecimalNumber(text) {
				return "is not a number" + spaceHint(text)
			}
			var err error
			if v, err = strconv.ParseFloat(string(text), bits); err != nil {
				return fmt.Sprintf("is outside the range of a float of %d bits", bits)
			}
		}
		add(v)
		return ""
	}
}

// namedFloat reads the values that have no digits, in the spellings that Spark, Python and Go have
// for them.
func namedFloat(text []byte) (v float64, ok bool) {
	if len(text) < 3 || len(text) > len("-Infinity") {
		return 0, false
	}
	name, negative := signed(text)
	switch strings.ToLower(string(name)) {
	case "nan":
		return math.NaN(), len(name) == len(text)
	case "inf", "infinity":
		if negative {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	}
	return 0, false
}

// isDecimalNumber keeps hexadecimal and underscored numbers out, which Go reads too.
func isDecimalNumber(text []byte) bool {
	rest, _ := signed(text)
	whole, rest := takeDigits(rest)
	var fraction []byte
	if len(rest) > 0 && rest[0] == '.' {
		fraction, rest = takeDigits(rest[1:])
	}
	_, ok := takeExponent(rest)
	return ok && len(whole)+len(fraction) > 0
}

func decimalText(b *array.Decimal128Builder) textAppender {
	t := b.Type().(*arrow.Decimal128Type)
	return func(text []byte) string {
		v, fault := parseDecimal(text, t)
		if fault != parsed {
			return decimalFault(fault, t) + spaceHint(text)
		}
		b.Append(v)
		return ""
	}
}

func decimalFault(fault parseFault, t *arrow.Decimal128Type) string {
	switch fault {
	case tooFine:
		return fmt.Sprintf("has more than %d digits behind the point, and the column is a decimal(%d,%d); round it in the source if that is meant", t.Scale, t.Precision, t.Scale)
	case tooGreat:
		return fmt.Sprintf("has more than %d digits before the point, and the column is a decimal(%d,%d)", t.Precision-t.Scale, t.Precision, t.Scale)
	}
	return "is not a decimal number, as 12.50"
}

func binaryText(b *array.BinaryBuilder, spelled BinaryText) textAppender {
	var buf []byte
	return func(text []byte) string {
		if spelled == Hex {
			buf = append(buf[:0], make([]byte, hex.DecodedLen(len(text)))...)
			n, err := hex.Decode(buf, text)
			if err != nil {
				return "is not hexadecimal digits in pairs"
			}
			b.Append(buf[:n])
			return ""
		}
		buf = append(buf[:0], make([]byte, base64.StdEncoding.DecodedLen(len(text)))...)
		n, err := base64.StdEncoding.Strict().Decode(buf, text)
		// The decoder passes over line ends, which are none of the value.
		if err != nil || strings.ContainsAny(string(text), "\r\n") {
			return "is not base64"
		}
		b.Append(buf[:n])
		return ""
	}
}

// invalidAt gives the place of the first byte that is not UTF-8.
func invalidAt(text []byte) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return at
}

func notUTF8(text []byte) string {
	at := invalidAt(text)
	return fmt.Sprintf("is not UTF-8: byte %d of it is 0x%02x; convert the file to UTF-8", at+1, text[at])
}
