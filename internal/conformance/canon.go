package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// AppendRow appends the canonical text of row i: a compact JSON object whose keys are the columns in
// the batch's order. Integers and floats are JSON numbers as encoding/json formats them, NaN and the
// infinities strings, decimals strings with the column's scale, dates and timestamps ISO texts with
// six digits of a second's fraction, binary "base64:…", maps lists of pairs sorted by their keys'
// text, NULL null.
func AppendRow(dst []byte, batch arrow.RecordBatch, i int) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	for c, f := range batch.Schema().Fields() {
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, f.Name), ':')
		if dst, err = appendCell(dst, batch.Column(c), i); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return append(dst, '}'), nil
}

func appendCell(dst []byte, col arrow.Array, i int) ([]byte, error) {
	if col.IsNull(i) || col.DataType().ID() == arrow.NULL {
		return append(dst, "null"...), nil
	}
	switch a := col.(type) {
	case *array.Int8:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int16:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int32:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(i), 10), nil
	case *array.Float32:
		return appendFloat(dst, float64(a.Value(i)), 32), nil
	case *array.Float64:
		return appendFloat(dst, a.Value(i), 64), nil
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(i)), nil
	case *array.String:
		return appendString(dst, a.Value(i)), nil
	case *array.Binary:
		dst = append(dst, `"base64:`...)
		return append(base64.StdEncoding.AppendEncode(dst, a.Value(i)), '"'), nil
	case *array.Date32:
		return appendTime(dst, a.Value(i).ToTime(), `"2006-01-02"`), nil
	case *array.Timestamp:
		layout := `"2006-01-02T15:04:05.000000"`
		if a.DataType().(*arrow.TimestampType).TimeZone != "" {
			layout = `"2006-01-02T15:04:05.000000Z"`
		}
		return appendTime(dst, time.UnixMicro(int64(a.Value(i))).UTC(), layout), nil
	case *array.Decimal128:
		return appendDecimal(dst, a.Value(i), int(a.DataType().(*arrow.Decimal128Type).Scale)), nil
	}
	return appendNested(dst, col, i)
}

// appendDecimal writes all digits of the scale: 0.30, -1.0, 12.
func appendDecimal(dst []byte, v decimal128.Num, scale int) []byte {
	dst = append(dst, '"')
	if v.Sign() < 0 {
		dst, v = append(dst, '-'), v.Negate()
	}
	start := len(dst)
	if v.HighBits() == 0 {
		dst = strconv.AppendUint(dst, v.LowBits(), 10)
	} else {
		dst = append(dst, v.BigInt().String()...)
	}
	if missing := scale + 1 - (len(dst) - start); missing > 0 {
		dst = slices.Insert(dst, start, bytes.Repeat([]byte{'0'}, missing)...)
	}
	if scale > 0 {
		dst = slices.Insert(dst, len(dst)-scale, '.')
	}
	return append(dst, '"')
}

func appendTime(dst []byte, t time.Time, layout string) []byte { return t.AppendFormat(dst, layout) }

func appendNested(dst []byte, col arrow.Array, i int) (_ []byte, err error) {
	switch a := col.(type) {
	case *array.Struct:
		dst = append(dst, '{')
		for c, f := range a.DataType().(*arrow.StructType).Fields() {
			if c > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, f.Name), ':')
			if dst, err = appendCell(dst, a.Field(c), i); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case *array.Map:
		return appendMap(dst, a, i)
	case *array.List:
		from, to := a.ValueOffsets(i)
		dst = append(dst, '[')
		for j := from; j < to; j++ {
			if j > from {
				dst = append(dst, ',')
			}
			if dst, err = appendCell(dst, a.ListValues(), int(j)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	return nil, fmt.Errorf("no canonical text of the Arrow type %s", col.DataType())
}

func appendMap(dst []byte, a *array.Map, i int) ([]byte, error) {
	type pair struct{ key, value []byte }
	from, to := a.ValueOffsets(i)
	var pairs []pair
	for j := from; j < to; j++ {
		key, err := appendCell(nil, a.Keys(), int(j))
		if err != nil {
			return nil, err
		}
		value, err := appendCell(nil, a.Items(), int(j))
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair{key, value})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '[')
	for j, p := range pairs {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(append(append(dst, '['), p.key...), ','), p.value...), ']')
	}
	return append(dst, ']'), nil
}

// appendFloat writes a number as encoding/json does: as ECMAScript, with the fewest digits of the
// width that read as the same number.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format, size := byte('f'), math.Abs(f)
	if bits == 32 {
		if s := float32(size); s != 0 && (s < 1e-6 || s >= 1e21) {
			format = 'e'
		}
	} else if size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is written e-9
		dst = dst[:n-1]
	}
	return dst
}

// appendString writes a string as encoding/json does without escapes for HTML.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(s); err != nil {
				return append(dst, `""`...) // a string always encodes
			}
			return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// Hash is the SHA-256 of the canonical rows, sorted, each followed by a line feed.
func Hash(rows [][]byte) string {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, bytes.Compare)
	h := sha256.New()
	for _, r := range sorted {
		h.Write(r)
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonicalJSON writes a row that is given as JSON as AppendRow would: keys keep their order,
// numbers are formatted anew.
func canonicalJSON(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return appendValue(nil, d)
}

func appendValue(dst []byte, d *json.Decoder) ([]byte, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return appendContainer(dst, d, t)
	case string:
		return appendString(dst, t), nil
	case bool:
		return strconv.AppendBool(dst, t), nil
	case json.Number:
		if _, err := strconv.ParseInt(t.String(), 10, 64); err == nil {
			return append(dst, t...), nil
		}
		f, err := t.Float64()
		if err != nil {
			return nil, err
		}
		return appendFloat(dst, f, 64), nil
	}
	return append(dst, "null"...), nil
}

func appendContainer(dst []byte, d *json.Decoder, open json.Delim) (_ []byte, err error) {
	dst = append(dst, byte(open))
	for n := 0; d.More(); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		if open == '{' {
			if dst, err = appendValue(dst, d); err != nil {
				return nil, err
			}
			dst = append(dst, ':')
		}
		if dst, err = appendValue(dst, d); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return append(dst, byte(open)+2), nil // '{' + 2 is '}', '[' + 2 is ']'
}
