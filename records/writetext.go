package records

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"
)

func intWriter(value func(i int) int64) valueWriter {
	return func(dst []byte, i int) ([]byte, *fault) { return strconv.AppendInt(dst, value(i), 10), nil }
}

// appendFloat writes the shortest text that reads back as the same float.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits) // NaN is NaN
}

func stringWriter(a *array.String) valueWriter {
	return func(dst []byte, i int) ([]byte, *fault) {
		s := a.Value(i)
		if !utf8.ValidString(s) {
			return dst, &fault{value: quote([]byte(s)), why: "is not valid UTF-8, which text must be; write it as binary, or as Parquet"}
		}
		return append(dst, s...), nil
	}
}

func binaryWriter(a *array.Binary, spelled BinaryText) valueWriter {
	if spelled == Hex {
		return func(dst []byte, i int) ([]byte, *fault) { return hex.AppendEncode(dst, a.Value(i)), nil }
	}
	return func(dst []byte, i int) ([]byte, *fault) { return base64.StdEncoding.AppendEncode(dst, a.Value(i)), nil }
}

// appendDate writes a day, given since 1970-01-01.
func (f Format) appendDate(dst []byte, days int64) ([]byte, *fault) {
	if days < minDay || days > maxDay {
		return dst, &fault{value: fmt.Sprintf("of day %d", days), why: outsideYears}
	}
	if f.DateLayout == "" {
		return dayTime(days).AppendFormat(dst, time.DateOnly), nil
	}
	start := len(dst)
	dst = dayTime(days).AppendFormat(dst, f.DateLayout)
	if back, why := f.date(dst[start:]); why != "" || int64(back) != days {
		return dst, &fault{value: dayTime(days).Format(time.DateOnly), why: fmt.Sprintf("is lost in the layout %q (Format.DateLayout); use one with year, month and day", f.DateLayout)}
	}
	return dst, nil
}

// appendTimestamp writes an instant, or a time without zone.
func (f Format) appendTimestamp(dst []byte, micros int64, zoned bool) ([]byte, *fault) {
	if micros < minMicros || micros > maxMicros {
		return dst, &fault{value: fmt.Sprintf("of microsecond %d", micros), why: outsideYears}
	}
	t, start := time.UnixMicro(micros).UTC(), len(dst)
	if zoned && f.Location != nil {
		t = t.In(f.Location)
	}
	switch unit := f.unix(); {
	case unit != 0 && micros%unit != 0:
		return dst, &fault{value: t.Format(time.RFC3339Nano), why: "is no whole number of " + f.TimestampLayout}
	case unit != 0:
		return strconv.AppendInt(dst, micros/unit, 10), nil
	case f.TimestampLayout != "":
		dst = t.AppendFormat(dst, f.TimestampLayout)
	case zoned:
		dst = t.AppendFormat(dst, "2006-01-02T15:04:05.999999Z07:00")
	default:
		dst = t.AppendFormat(dst, "2006-01-02T15:04:05.999999")
	}
	// A layout may have no place for what the value has, nor a zone with odd seconds one in ISO 8601.
	if f.TimestampLayout != "" || f.Location != nil {
		if back, why := f.timestamp(dst[start:], zoned); why != "" || back != micros {
			return dst, &fault{value: t.Format(time.RFC3339Nano), why: fmt.Sprintf("is lost when it is written as %q; use Format.TimestampLayout \"\" and time.UTC", dst[start:])}
		}
	}
	return dst, nil
}
