package rows

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Limits of a rendered value, so that a message stays readable whatever the data.
const (
	maxTextRunes    = 64
	maxTextBytes    = 32
	maxTextElements = 16
	maxTextDepth    = 8
)

// Text is row i of a column for a message: strings quoted and cut at 64 runes, binary as X'hex', ISO dates and instants, decimals with their
// scale, NaN, NULL; nested values much as in JSON, cut at 16 elements.
func Text(col arrow.Array, i int) string {
	if i < 0 || i >= col.Len() {
		return "(no row " + strconv.Itoa(i) + ")"
	}
	c, err := slicedColumn(col, int64(i), int64(i)+1)
	if err != nil {
		return col.ValueStr(i)
	}
	return string(appendText(nil, &c, 0, 0))
}

func appendText(b []byte, c *column, i, depth int) []byte {
	if c.null(i) {
		return append(b, "NULL"...)
	}
	switch c.class {
	case classInt:
		return strconv.AppendInt(b, c.words[i], 10)
	case classFloat:
		return appendFloat(b, c, i)
	case classBool:
		return strconv.AppendBool(b, c.words[i] == 1)
	case classDate:
		return time.Unix(c.words[i]*24*60*60, 0).UTC().AppendFormat(b, time.DateOnly)
	case classTimestamp:
		return time.UnixMicro(c.words[i]).UTC().AppendFormat(b, "2006-01-02T15:04:05.999999Z07:00")
	case classTimestampNTZ:
		return time.UnixMicro(c.words[i]).UTC().AppendFormat(b, "2006-01-02T15:04:05.999999")
	case classDecimal:
		return appendDecimal(b, c.dec[i], c.scale)
	case classString:
		return appendString(b, c.bytes(i))
	case classBinary:
		return appendBinary(b, c.bytes(i))
	default:
		return appendNested(b, c, i, depth)
	}
}

// appendDecimal writes a decimal with its scale, in the exponent if Arrow has no text for that many digits.
func appendDecimal(b []byte, d decimal128.Num, scale int32) []byte {
	if scale >= -decimal128.MaxScale && scale <= decimal128.MaxScale {
		return append(b, d.ToString(scale)...)
	}
	return strconv.AppendInt(append(append(b, d.ToString(0)...), 'E'), -int64(scale), 10)
}

func appendFloat(b []byte, c *column, i int) []byte {
	f, size := wordFloat(c.words[i]), 64
	if c.typ.ID() == arrow.FLOAT32 {
		size = 32
	}
	if math.IsInf(f, 1) {
		return append(b, "Inf"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, size)
}

func appendString(b, s []byte) []byte {
	at := 0
	for range maxTextRunes {
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	b = strconv.AppendQuote(b, string(s[:at]))
	if at < len(s) {
		b = append(b, "…"...)
	}
	return b
}

func appendBinary(b, v []byte) []byte {
	b = append(b, "X'"...)
	b = hex.AppendEncode(b, v[:min(len(v), maxTextBytes)])
	b = append(b, '\'')
	if len(v) > maxTextBytes {
		b = append(b, "…"...)
	}
	return b
}

func appendNested(b []byte, c *column, i, depth int) []byte {
	if depth == maxTextDepth {
		return append(b, "…"...)
	}
	if c.class == classStruct {
		return appendElements(b, '{', '}', 0, len(c.child), func(b []byte, n int) []byte {
			b = append(strconv.AppendQuote(b, c.names[n]), ": "...)
			return appendText(b, &c.child[n], i, depth+1)
		})
	}
	lo, hi := c.span(i)
	if c.class == classMap {
		return appendElements(b, '{', '}', lo, hi, func(b []byte, n int) []byte {
			b = append(appendText(b, &c.child[0], n, depth+1), ": "...)
			return appendText(b, &c.child[1], n, depth+1)
		})
	}
	return appendElements(b, '[', ']', lo, hi, func(b []byte, n int) []byte {
		return appendText(b, &c.child[0], n, depth+1)
	})
}

func appendElements(b []byte, begin, end byte, lo, hi int, element func(b []byte, n int) []byte) []byte {
	b = append(b, begin)
	for n := lo; n < hi; n++ {
		if n > lo {
			b = append(b, ", "...)
		}
		if n == lo+maxTextElements {
			b = append(b, "…"...)
			break
		}
		b = element(b, n)
	}
	return append(b, end)
}
