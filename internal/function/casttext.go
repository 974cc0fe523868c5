package function

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// castText reads strings.
func castText(to arrow.DataType) func(*Call) arrow.Array {
	switch to.ID() {
	case arrow.INT8:
		return readText(to, readInteger[int8])
	case arrow.INT16:
		return readText(to, readInteger[int16])
	case arrow.INT32:
		return readText(to, readInteger[int32])
	case arrow.INT64:
		return readText(to, readInteger[int64])
	case arrow.FLOAT32:
		return readText(to, func(s string) (float32, error) {
			v, err := readFloat(s, 32)
			return float32(v), err
		})
	case arrow.FLOAT64:
		return readText(to, func(s string) (float64, error) { return readFloat(s, 64) })
	case arrow.DECIMAL128:
		t := to.(*arrow.Decimal128Type)
		return readText(to, func(s string) (decimal128.Num, error) { return readDecimal(s, t) })
	case arrow.DATE32:
		return readText(to, readDate)
	case arrow.TIMESTAMP:
		zoned := isInstant(to)
		return readText(to, func(s string) (int64, error) { return readTime(s, zoned) })
	case arrow.BOOL:
		return func(c *Call) arrow.Array {
			s, a := textOf(c.Args[0]), c.Args[0]
			return buildBool(nullsOf(c, a), func(row int) (bool, error) {
				v, err := readBool(s.Value(a.At(row)))
				return v, unread(s.Value(a.At(row)), to, err)
			})
		}
	case arrow.BINARY:
		return func(c *Call) arrow.Array {
			s, a := textOf(c.Args[0]), c.Args[0]
			return buildText(nullsOf(c, a), to, func(dst []byte, row int) ([]byte, error) {
				return append(dst, s.Value(a.At(row))...), nil
			})
		}
	}
	return nil
}

func readText[R fixed](to arrow.DataType, read func(string) (R, error)) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		s, a := textOf(c.Args[0]), c.Args[0]
		return buildFixed(nullsOf(c, a), to, func(row int) (R, error) {
			v, err := read(s.Value(a.At(row)))
			if err != nil {
				err = unread(s.Value(a.At(row)), to, err)
			}
			return v, err
		})
	}
}

// unread is the error of a text that could not be read; a nil err is none.
func unread(s string, to arrow.DataType, err error) error {
	switch err {
	case nil:
		return nil
	case overflow, noValue:
		return fmt.Errorf("%s %w %s", shownText(s), err, sqlName(to))
	}
	return fmt.Errorf("%s %w %s: %w", shownText(s), noValue, sqlName(to), err)
}

// bytesToText keeps bytes that are UTF-8. Spark keeps all bytes, and writes files that others refuse.
func bytesToText(c *Call) arrow.Array {
	s, a := textOf(c.Args[0]), c.Args[0]
	return buildText(nullsOf(c, a), arrow.BinaryTypes.String, func(dst []byte, row int) ([]byte, error) {
		v := s.Value(a.At(row))
		if !utf8.ValidString(v) {
			return dst, fmt.Errorf("%s is no valid UTF-8", shown(a, row))
		}
		return append(dst, v...), nil
	})
}

// isControl says whether a byte is space, or a control character of ASCII.
func isControl(b byte) bool { return b <= ' ' || b == 0x7f }

// trimControls takes space and control characters from both ends of a text.
func trimControls(s string) string {
	for s != "" && isControl(s[0]) {
		s = s[1:]
	}
	for s != "" && isControl(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// trimSpace is trimControls, but that it leaves DEL: so are floats and decimals read.
func trimSpace(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// cutSign takes a sign from the start of a text.
func cutSign(s string) (rest string, neg bool) {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:], s[0] == '-'
	}
	return s, false
}

// readInteger reads a sign and digits.
func readInteger[T integer](s string) (T, error) {
	s, neg := cutSign(trimControls(s))
	if s == "" {
		return 0, noValue
	}
	var n uint64
	beyond := false
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, noValue
		}
		beyond = beyond || n > math.MaxInt64/10 // a digit more is beyond 64 bits
		n = n*10 + uint64(d)
	}
	v, err := toBigint(u256{n}, neg)
	if beyond || err != nil {
		return 0, overflow
	}
	return toInteger[int64, T](v)
}

// readBool reads the words for TRUE and FALSE in any case.
func readBool(s string) (bool, error) {
	s = trimControls(s)
	for _, word := range []string{"true", "t", "yes", "y", "1"} {
		if equalASCII(s, word) {
			return true, nil
		}
	}
	for _, word := range []string{"false", "f", "no", "n", "0"} {
		if equalASCII(s, word) {
			return false, nil
		}
	}
	return false, noValue
}

// equalASCII compares with a word in lower case. Only letters of ASCII have another case here: "ſ" is no s.
func equalASCII(s, word string) bool {
	if len(s) != len(word) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// readFloat reads what Java's Double.parseDouble does, with its hexadecimal numbers and the d or f
// behind a number, and the words for infinity in any case. What is too great for the type is infinite.
func readFloat(s string, bits int) (float64, error) {
	s = trimSpace(s)
	word, neg := cutSign(s)
	switch {
	case word == "NaN" || equalASCII(s, "nan"):
		return math.NaN(), nil
	case equalASCII(word, "inf") || equalASCII(word, "infinity"):
		if neg {
			return math.Inf(-1), nil
		}
		return math.Inf(1), nil
	}
	if n := len(s); n > 1 && strings.IndexByte("dDfF", s[n-1]) >= 0 {
		s = s[:n-1]
	}
	if strings.ContainsAny(s, "_iInN") { // which Go would read
		return 0, noValue
	}
	v, err := strconv.ParseFloat(s, bits)
	if err != nil && v-v == 0 {
		return 0, noValue
	}
	return v, nil
}

// readDecimal reads a sign, digits with a point, and an exponent, and rounds to the scale of a type.
func readDecimal(s string, t *arrow.Decimal128Type) (decimal128.Num, error) {
	s, neg := cutSign(trimSpace(s))
	s, exponent, ok := cutExponent(s)
	whole, fraction, _ := strings.Cut(s, ".")
	var m coefficient
	if !ok || len(whole)+len(fraction) == 0 || !m.add(whole) || !m.add(fraction) {
		return decimal128.Num{}, noValue
	}
	exponent += m.dropped - int64(len(fraction))
	if max(m.digits, 1)+exponent > maxPrecision { // also of 0e38, as in Spark
		return decimal128.Num{}, overflow
	}
	return atExponent(m.all(), neg, exponent, t)
}

// coefficient is the digits of a number. Those behind the first 76 are only counted: no decimal has
// them, and a half is rounded up whatever follows it.
type coefficient struct {
	value   u256
	tail    uint64 // the last of the digits, less than 10^18, which value does not have yet
	moved   int32  // how many they are
	digits  int64  // from the first that is not 0 on, without the dropped
	dropped int64
}

// add appends digits; false says that there was something else.
func (m *coefficient) add(s string) bool {
	for i := range len(s) {
		d := s[i] - '0'
		switch {
		case d > 9:
			return false
		case m.digits == 0 && d == 0:
		case m.digits == mostCut:
			m.dropped++
		default:
			if m.moved == 18 {
				m.value, m.tail, m.moved = m.all(), 0, 0
			}
			m.tail = m.tail*10 + uint64(d)
			m.moved++
			m.digits++
		}
	}
	return true
}

// all is the number of all digits.
func (m *coefficient) all() u256 {
	value, _ := m.value.shift(m.moved)
	value, _ = value.add(u256{m.tail})
	return value
}

// cutExponent takes an exponent from the end of a number.
func cutExponent(s string) (rest string, exponent int64, ok bool) {
	at := strings.IndexAny(s, "eE")
	if at < 0 {
		return s, 0, true
	}
	exponent, err := strconv.ParseInt(s[at+1:], 10, 32)
	return s[:at], exponent, err == nil
}
