package delta

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// variantWalker goes through a variant value, checks it, and writes it as JSON if it prints.
type variantWalker struct {
	dict   variantDict
	left   int // bytes of the value that no part of it has claimed: values that share bytes would claim more than there are
	strict bool
	prints bool
	text   []byte
}

func (w *variantWalker) walk(metadata, value []byte) (err error) {
	if w.dict, err = newVariantDict(metadata); err == nil {
		err = w.value(value, 0)
	}
	switch {
	case err == nil || w.strict:
		return err
	case errors.Is(err, ErrUnsupported):
		return err
	}
	return malformed(err)
}

// claim takes n bytes of the value for one part of it.
func (w *variantWalker) claim(n int) error {
	if w.left -= n; w.left < 0 {
		return errVariantOverlap
	}
	return nil
}

func (w *variantWalker) value(v []byte, depth int) error {
	switch {
	case len(v) == 0:
		return errVariantShort
	case depth > maxVariantDepth:
		return fmt.Errorf("%w: a variant of more than %d levels", ErrUnsupported, maxVariantDepth)
	case len(w.text) > maxVariantText:
		return fmt.Errorf("%w: a variant whose text has more than %d bytes", ErrUnsupported, maxVariantText)
	}
	switch v[0] & 3 {
	case variantObject, variantArray:
		return w.box(v, depth)
	}
	body, err := variantBody(v)
	if err != nil {
		return err
	}
	if err := w.claim(len(v) - cap(body) + len(body)); err != nil {
		return err
	}
	if v[0]&3 == variantShortString {
		return w.string(body)
	}
	return w.primitive(int(v[0]>>2), body)
}

func (w *variantWalker) box(v []byte, depth int) error {
	b, err := openVariantBox(v)
	if err != nil {
		return err
	}
	if err := w.claim(b.size - len(b.data)); err != nil {
		return err
	}
	if w.strict {
		if err := w.checkBox(&b); err != nil {
			return err
		}
	}
	opening, closing := byte('['), byte(']')
	if b.object {
		opening, closing = '{', '}'
	}
	w.byte(opening)
	for i := range b.n {
		if i > 0 {
			w.byte(',')
		}
		if b.object {
			key, err := w.dict.key(b.id(i))
			if err != nil {
				return err
			}
			if err := w.string(key); err != nil {
				return err
			}
			w.byte(':')
		}
		child, err := b.child(i)
		if err != nil {
			return err
		}
		if err := w.value(child, depth+1); err != nil {
			return err
		}
	}
	w.byte(closing)
	return nil
}

// checkBox wants an object's keys distinct and sorted, since readers look them up by bisection: by bytes, as the format
// says, or by UTF-16 units, as Spark sorts them; and an array's elements one after the other.
func (w *variantWalker) checkBox(b *variantBox) error {
	if !b.object {
		for i := range b.n {
			if b.offset(i) >= b.offset(i+1) {
				return errors.New("elements of an array that are out of order")
			}
		}
		return nil
	}
	byBytes, byUnits := true, true
	var before []byte
	for i := range b.n {
		key, err := w.dict.key(b.id(i))
		if err != nil {
			return err
		}
		if i > 0 {
			order := bytes.Compare(before, key)
			byBytes = byBytes && order < 0
			if byUnits && order != 0 {
				byUnits = slices.Compare(utf16.Encode([]rune(string(before))), utf16.Encode([]rune(string(key)))) < 0
			}
			if order == 0 || !byBytes && !byUnits {
				return fmt.Errorf("the keys %.40q and %.40q of an object, which are not in order", before, key)
			}
		}
		before = key
	}
	return nil
}

func (w *variantWalker) byte(c byte) {
	if w.prints {
		w.text = append(w.text, c)
	}
}

// raw writes a text as it is, quoted as a text in quotes.
func (w *variantWalker) raw(text string) error {
	if w.prints {
		w.text = append(w.text, text...)
	}
	return nil
}

func (w *variantWalker) quoted(text string) error { return w.raw(`"` + text + `"`) }

// string writes a JSON string as Jackson does; bytes that are not UTF-8 become U+FFFD.
func (w *variantWalker) string(s []byte) error {
	if w.strict && !utf8.Valid(s) {
		return errors.New("a string that is not UTF-8")
	}
	if !w.prints {
		return nil
	}
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	w.byte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			w.text = append(w.text, '\\', c)
		case c >= ' ':
			w.text = append(w.text, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			w.text = append(w.text, '\\', "btn.fr"[c-'\b'])
		default:
			w.text = append(w.text, '\\', 'u', '0', '0', '0'+c>>4, "0123456789ABCDEF"[c&15])
		}
	}
	w.byte('"')
	return nil
}

func (w *variantWalker) primitive(kind int, body []byte) error {
	n := littleEndian(body[:min(8, len(body))])
	switch kind {
	case variantNull:
		return w.raw("null")
	case variantTrue, variantFalse:
		return w.raw(strconv.FormatBool(kind == variantTrue))
	case variantInt8:
		return w.raw(strconv.Itoa(int(int8(n))))
	case variantInt16:
		return w.raw(strconv.Itoa(int(int16(n))))
	case variantInt32:
		return w.raw(strconv.Itoa(int(int32(n))))
	case variantInt64:
		return w.raw(strconv.FormatInt(int64(n), 10))
	case variantDouble:
		return w.float(math.Float64frombits(n), 64)
	case variantFloat:
		return w.float(float64(math.Float32frombits(uint32(n))), 32)
	case variantDecimal4, variantDecimal8, variantDecimal16:
		return w.decimal(body)
	case variantBinary:
		return w.quoted(base64.StdEncoding.EncodeToString(body))
	case variantString:
		return w.string(body)
	case variantUUID:
		return w.quoted(fmt.Sprintf("%x-%x-%x-%x-%x", body[:4], body[4:6], body[6:8], body[8:10], body[10:]))
	}
	return w.quoted(variantMoment(kind, int64(n)))
}

func (w *variantWalker) float(f float64, bits int) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return w.quoted(formatFloat(f, bits))
	}
	return w.raw(formatFloat(f, bits))
}

// decimal takes a scale and an unscaled number of 4, 8 or 16 bytes.
func (w *variantWalker) decimal(body []byte) error {
	scale, digits := int(body[0]), map[int]int32{4: 9, 8: 18, 16: 38}[len(body)-1]
	var n decimal128.Num
	switch unscaled := body[1:]; len(unscaled) {
	case 4:
		n = decimal128.FromI64(int64(int32(littleEndian(unscaled))))
	case 8:
		n = decimal128.FromI64(int64(littleEndian(unscaled)))
	default:
		n = decimal128.New(int64(littleEndian(unscaled[8:])), littleEndian(unscaled[:8]))
	}
	if !n.FitsInPrecision(digits) || scale > int(digits) {
		return fmt.Errorf("a decimal of more than %d digits", digits)
	}
	if !w.prints {
		return nil
	}
	text := formatDecimal(n, scale)
	if scale > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if n == (decimal128.Num{}) {
		text = "0"
	}
	return w.raw(text)
}

// variantMoment writes a date, time or timestamp of a stored number.
func variantMoment(kind int, n int64) string {
	switch kind {
	case variantDate:
		return variantDay(time.Unix(int64(int32(n))*secondsPerDay, 0).UTC())
	case variantTime:
		return variantClock(time.UnixMicro(n).UTC())
	}
	t := time.UnixMicro(n).UTC()
	if kind == variantTimestampNanos || kind == variantTimestampNanosNTZ {
		t = time.Unix(floorDiv(n, int64(time.Second)), n-floorDiv(n, int64(time.Second))*int64(time.Second)).UTC()
	}
	text := variantDay(t) + " " + variantClock(t)
	if kind == variantTimestamp || kind == variantTimestampNanos {
		text += "+00:00"
	}
	return text
}

const secondsPerDay = 24 * 60 * 60

// variantDay writes a day as ISO 8601 does; years beyond 9999 have a sign.
func variantDay(t time.Time) string {
	format := "%04d"
	switch year := t.Year(); {
	case year > 9999:
		format = "%+d"
	case year < 0:
		format = "%05d"
	}
	return fmt.Sprintf(format, t.Year()) + t.Format("-01-02")
}

// variantClock writes the time of a day with as many digits as it takes.
func variantClock(t time.Time) string { return t.Format("15:04:05.999999999") }
