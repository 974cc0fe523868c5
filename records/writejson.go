package records

import (
	"fmt"
	"io"
	"iter"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// WriteJSONLines writes rows, as idem's Table.Scan makes them, as JSON lines, and gives their number.
// The keys are the columns of the schema, in its order; batches may have more columns. [JSONLines]
// reads the text back as the same rows under the same options, if no line is longer than MaxLineBytes.
//
// NULL is null; decimals and integers are numbers with all their digits, NaN and the infinities
// strings. Skip has no effect.
//
// Errors: [delta.ErrInput] for values that the options cannot spell and for maps with one key twice,
// with row and path. An error of the sequence or of the writer is handed on as it is; then part of
// the text may have been written.
func WriteJSONLines(w io.Writer, schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error], o JSONOptions) (int64, error) {
	if err := o.check(schema); err != nil {
		return 0, err
	}
	j := jsonWriter{format: o.Format}
	return writeRows(w, schema, rows, nil, func(columns []arrow.Array) func([]byte, int) ([]byte, *fault) {
		row := j.object(schema.Fields(), func(i int) arrow.Array { return columns[i] })
		return func(dst []byte, i int) ([]byte, *fault) {
			dst, f := row(dst, i)
			return append(dst, '\n'), f
		}
	})
}

type jsonWriter struct{ format Format }

// object writes row i of some columns.
func (j jsonWriter) object(fields []arrow.Field, column func(int) arrow.Array) valueWriter {
	keys, values := make([][]byte, len(fields)), make([]valueWriter, len(fields))
	for n, f := range fields {
		if n > 0 {
			keys[n] = append(keys[n], ',')
		}
		keys[n] = append(appendJSONString(keys[n], []byte(f.Name)), ':')
		values[n] = j.value(column(n))
	}
	return func(dst []byte, i int) ([]byte, *fault) {
		dst = append(dst, '{')
		for n, value := range values {
			var f *fault
			if dst, f = value(append(dst, keys[n]...), i); f != nil {
				return dst, f.inside(fields[n].Name)
			}
		}
		return append(dst, '}'), nil
	}
}

// value writes the values of a column, NULL among them.
func (j jsonWriter) value(a arrow.Array) valueWriter {
	write := j.present(a)
	return func(dst []byte, i int) ([]byte, *fault) {
		if a.IsNull(i) {
			return append(dst, "null"...), nil
		}
		return write(dst, i)
	}
}

func (j jsonWriter) present(a arrow.Array) valueWriter {
	plain := newValueWriter(a, j.format)
	switch a := a.(type) {
	case *array.Struct:
		return j.object(a.DataType().(*arrow.StructType).Fields(), a.Field)
	case *array.List:
		return j.list(a)
	case *array.Map:
		return j.mapping(a)
	case *array.Boolean, *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Decimal128:
		return plain
	case *array.Float32:
		return floatJSON(plain, func(i int) float64 { return float64(a.Value(i)) })
	case *array.Float64:
		return floatJSON(plain, a.Value)
	case *array.Timestamp:
		if j.format.unix() != 0 {
			return plain
		}
	}
	return quotedJSON(plain)
}

// floatJSON puts the floats that are no JSON numbers into quotes.
func floatJSON(plain valueWriter, value func(i int) float64) valueWriter {
	quoted := quotedJSON(plain)
	return func(dst []byte, i int) ([]byte, *fault) {
		if v := value(i); math.IsNaN(v) || math.IsInf(v, 0) {
			return quoted(dst, i)
		}
		return plain(dst, i)
	}
}

func quotedJSON(plain valueWriter) valueWriter {
	var text []byte
	return func(dst []byte, i int) ([]byte, *fault) {
		var f *fault
		if text, f = plain(text[:0], i); f != nil {
			return dst, f
		}
		return appendJSONString(dst, text), nil
	}
}

func (j jsonWriter) list(a *array.List) valueWriter {
	element := j.value(a.ListValues())
	return func(dst []byte, i int) ([]byte, *fault) {
		from, to := a.ValueOffsets(i)
		dst = append(dst, '[')
		for n := from; n < to; n++ {
			if n > from {
				dst = append(dst, ',')
			}
			var f *fault
			if dst, f = element(dst, int(n)); f != nil {
				return dst, f.inside(fmt.Sprintf("[%d]", n-from))
			}
		}
		return append(dst, ']'), nil
	}
}

func (j jsonWriter) mapping(a *array.Map) valueWriter {
	key, item := newValueWriter(a.Keys(), j.format), j.value(a.Items())
	var text []byte
	return func(dst []byte, i int) ([]byte, *fault) {
		from, to := a.ValueOffsets(i)
		seen := make(map[string]bool, to-from)
		dst = append(dst, '{')
		for n := from; n < to; n++ {
			if n > from {
				dst = append(dst, ',')
			}
			var f *fault
			if text, f = key(text[:0], int(n)); f != nil {
				return dst, f.inside("[key]")
			}
			if seen[string(text)] {
				return dst, badText("", text, "is two keys of the map, and a JSON object has each once")
			}
			seen[string(text)] = true
			if dst, f = item(append(appendJSONString(dst, text), ':'), int(n)); f != nil {
				return dst, f.inside(fmt.Sprintf("[%q]", text))
			}
		}
		return append(dst, '}'), nil
	}
}

// appendJSONString writes valid UTF-8 as a JSON string.
func appendJSONString(dst, text []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf || c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
		i++
		start = i
	}
	return append(append(dst, text[start:]...), '"')
}
