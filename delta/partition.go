package delta

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

const (
	// hiveNull names the directory of NULL. Inside partitionValues it is a string like any other.
	hiveNull = "__HIVE_DEFAULT_PARTITION__"

	// maxDirBytes bounds one directory's name; common file systems end at 255.
	maxDirBytes = 240
	// maxDirsBytes bounds a file's directories together; names of objects end at 1,024 with the table's own.
	maxDirsBytes = 640

	partitionTimestamp    = "2006-01-02T15:04:05.000000Z"
	partitionTimestampNTZ = "2006-01-02 15:04:05.999999"
)

// ParsePartitionValue reads a value from the log as a scalar of ArrowType(t). nil and "" are NULL, an invalid scalar of the
// type. A timestamp without a zone is read as UTC, see AmbiguousTimestamp. A text that is none of the type wraps ErrCorrupt
// and names both.
func ParsePartitionValue(t Type, text *string) (scalar.Scalar, error) {
	dt, err := ArrowType(t)
	if err != nil {
		return nil, err
	}
	if text == nil || *text == "" {
		return scalar.MakeNullScalar(dt), nil
	}
	if v, ok := parsePartitionText(t, dt, *text); ok {
		return v, nil
	}
	return nil, fmt.Errorf("partition value %.80q is not of type %s: %w", *text, t, ErrCorrupt)
}

func parsePartitionText(t Type, dt arrow.DataType, text string) (scalar.Scalar, bool) {
	switch t {
	case String:
		return scalar.NewStringScalar(text), true
	case Binary:
		return scalar.NewBinaryScalar(memory.NewBufferBytes([]byte(text)), dt), true
	case Boolean:
		isTrue := strings.EqualFold(text, "true")
		return scalar.NewBooleanScalar(isTrue), isTrue || strings.EqualFold(text, "false")
	case Long, Integer, Short, Byte:
		return parseInteger(t, text)
	case Float:
		f, ok := parseFloat(text, 32)
		return scalar.NewFloat32Scalar(float32(f)), ok
	case Double:
		f, ok := parseFloat(text, 64)
		return scalar.NewFloat64Scalar(f), ok
	case Date:
		days, ok := parseDate(text)
		return scalar.NewDate32Scalar(arrow.Date32(days)), ok
	case Timestamp:
		m, ok := parseMoment(text)
		return scalar.NewTimestampScalar(arrow.Timestamp(m.micros), dt), ok
	case TimestampNTZ:
		m, ok := parseMoment(text)
		return scalar.NewTimestampScalar(arrow.Timestamp(m.micros), dt), ok && m.offset == 0
	}
	if d, isDecimal := t.(Decimal); isDecimal {
		n, _, ok := parseDecimal(text, d)
		return scalar.NewDecimal128Scalar(n, dt), ok
	}
	return nil, false
}

// parseInteger reads an integer of the type's width; the sign and leading zeros are optional.
func parseInteger(t Type, text string) (scalar.Scalar, bool) {
	switch t {
	case Long:
		n, err := strconv.ParseInt(text, 10, 64)
		return scalar.NewInt64Scalar(n), err == nil
	case Integer:
		n, err := strconv.ParseInt(text, 10, 32)
		return scalar.NewInt32Scalar(int32(n)), err == nil
	case Short:
		n, err := strconv.ParseInt(text, 10, 16)
		return scalar.NewInt16Scalar(int16(n)), err == nil
	}
	n, err := strconv.ParseInt(text, 10, 8)
	return scalar.NewInt8Scalar(int8(n)), err == nil
}

// AmbiguousTimestamp says whether the text of a timestamp partition value has no zone: its writer meant a zone that the log
// does not tell. It is read as UTC, but nothing may be pruned on it. NULL is not ambiguous.
func AmbiguousTimestamp(text string) bool {
	if text == "" {
		return false
	}
	m, ok := parseMoment(text)
	return !ok || !m.zoned
}

// FormatPartitionValue writes a scalar of ArrowType(t) for the log. nil is NULL, and so is an empty string or binary, which no
// partition can hold. What has no text that every engine reads the same (bytes that are not UTF-8, years beyond 1 to 9999,
// a decimal with more digits than its type) wraps ErrInput.
func FormatPartitionValue(t Type, v scalar.Scalar) (*string, error) {
	if v == nil || !v.IsValid() {
		return nil, nil
	}
	dt, err := ArrowType(t)
	if err != nil {
		return nil, err
	}
	if !arrow.TypeEqual(dt, v.DataType()) {
		return nil, fmt.Errorf("partition value of Arrow type %s for a column of type %s: %w", v.DataType(), t, ErrInput)
	}
	text, why := formatPartitionText(t, v)
	if why != "" {
		return nil, fmt.Errorf("partition value %.80q of type %s: %s: %w", v.String(), t, why, ErrInput)
	}
	if text == "" {
		return nil, nil
	}
	return &text, nil
}

// formatPartitionText gives the text, or why there is none.
func formatPartitionText(t Type, v scalar.Scalar) (text, why string) {
	const badYear = "only the years 1 to 9999 can be written"
	ok := true
	switch v := v.(type) {
	case scalar.BinaryScalar:
		if !utf8.Valid(v.Data()) {
			return "", "its bytes are not UTF-8, other engines would read another value"
		}
		return string(v.Data()), ""
	case *scalar.Boolean:
		return strconv.FormatBool(v.Value), ""
	case *scalar.Int64:
		return strconv.FormatInt(v.Value, 10), ""
	case *scalar.Int32:
		return strconv.FormatInt(int64(v.Value), 10), ""
	case *scalar.Int16:
		return strconv.FormatInt(int64(v.Value), 10), ""
	case *scalar.Int8:
		return strconv.FormatInt(int64(v.Value), 10), ""
	case *scalar.Float32:
		return formatFloat(float64(v.Value), 32), ""
	case *scalar.Float64:
		return formatFloat(v.Value, 64), ""
	case *scalar.Date32:
		if text, ok = formatDay(int64(v.Value)); !ok {
			return "", badYear
		}
		return text, ""
	case *scalar.Timestamp:
		layout := partitionTimestamp
		if t == TimestampNTZ {
			layout = partitionTimestampNTZ
		}
		if text, ok = formatMicros(int64(v.Value), layout); !ok {
			return "", badYear
		}
		return text, ""
	case *scalar.Decimal128:
		d := t.(Decimal)
		if !v.Value.FitsInPrecision(int32(d.Precision)) {
			return "", "it has more digits than its type"
		}
		return formatDecimal(v.Value, d.Scale), ""
	}
	return "", "no partition can be named by it"
}

// PartitionDir is the conventional directory of a file, "day=2013-01-01/", "" without partition columns. Of names and
// values all but letters, digits and "-._~" are percent-encoded: engines disagree on how other characters of a path are
// written in the log, and one that removes a file by another spelling than the one it was added by leaves its rows in the
// table. The result is not yet escaped for URIs. It is for people only: values are read from the log. A name that no file
// system would take is cut, and where all together are too long for a store, the last are left out.
func PartitionDir(columns []string, values map[string]*string) string {
	var dir strings.Builder
	for _, column := range columns {
		segment := escapeDir(column) + "="
		if v := values[column]; v != nil && *v != "" {
			segment += escapeDir(*v)
		} else {
			segment += hiveNull
		}
		if segment = cutDir(segment); dir.Len()+len(segment) >= maxDirsBytes {
			break
		}
		dir.WriteString(segment)
		dir.WriteByte('/')
	}
	return dir.String()
}

// cutDir shortens a segment that is too long, never inside an escape.
func cutDir(segment string) string {
	if len(segment) <= maxDirBytes {
		return segment
	}
	end := maxDirBytes
	if i := strings.LastIndexByte(segment[:end], '%'); i > end-3 {
		end = i
	}
	return segment[:end]
}

func escapeDir(text string) string {
	var b strings.Builder
	for i := range len(text) {
		writeEncoded(&b, text[i], isUnreserved(text[i]))
	}
	return b.String()
}
