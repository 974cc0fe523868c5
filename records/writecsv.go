package records

import (
	"bytes"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// WriteCSV writes rows, as idem's Table.Scan makes them, as CSV with lines ended by \n, and gives
// their number. The columns are those of the schema, in its order; batches may have more. [CSV] reads
// the text back as the same rows under the same options, if no record is longer than MaxLineBytes.
//
// NULL is the first of NullText, unquoted; a string that could be taken for it is quoted. Skip,
// SkipLines and TrimSpace have no effect.
//
// Errors: [delta.ErrInput] for nested columns and for values that the options cannot spell, with row
// and column. An error of the sequence or of the writer is handed on as it is; then part of the text
// may have been written.
func WriteCSV(w io.Writer, schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error], o CSVOptions) (int64, error) {
	if err := o.check(schema); err != nil {
		return 0, err
	}
	schema, err := selected(schema, o.Columns, "CSVOptions.Columns")
	if err == nil {
		err = o.checkColumns(schema)
	}
	if err != nil {
		return 0, err
	}
	c := csvWriter{options: o, schema: schema}
	for _, text := range o.nulls() {
		c.nulls = append(c.nulls, []byte(text))
	}
	return writeRows(w, schema, rows, c.header(), c.bind)
}

// selected gives the columns of a schema that are named, in the order of the names; all if there are
// no names.
func selected(schema *arrow.Schema, names []string, option string) (*arrow.Schema, error) {
	if names == nil {
		return schema, nil
	}
	var fields []arrow.Field
	seen := map[int]bool{}
	for _, name := range names {
		at := findColumn(schema.Fields(), name)
		switch {
		case at < 0:
			return nil, inputErrorf("%s names %q, and there is no such column; there are %s", option, name, columnNames(schema))
		case seen[at]:
			return nil, inputErrorf("%s names %q twice", option, name)
		}
		seen[at] = true
		fields = append(fields, schema.Field(at))
	}
	if len(fields) == 0 {
		return nil, inputErrorf("%s is empty; nil means all columns", option)
	}
	return arrow.NewSchema(fields, nil), nil
}

type csvWriter struct {
	options CSVOptions
	schema  *arrow.Schema
	nulls   [][]byte
	values  []valueWriter
}

// header is the header line, if there is to be one.
func (c *csvWriter) header() []byte {
	if c.options.NoHeader {
		return nil
	}
	var head []byte
	for i, f := range c.schema.Fields() {
		head = c.quoted(c.separated(head, i), []byte(f.Name))
	}
	return append(head, '\n')
}

func (c *csvWriter) separated(dst []byte, column int) []byte {
	if column > 0 {
		dst = append(dst, c.options.comma())
	}
	return dst
}

func (c *csvWriter) bind(columns []arrow.Array) func(dst []byte, row int) ([]byte, *fault) {
	c.values = c.values[:0]
	for _, a := range columns {
		c.values = append(c.values, newValueWriter(a, c.options.Format))
	}
	var text []byte
	return func(dst []byte, row int) ([]byte, *fault) {
		for i, a := range columns {
			dst = c.separated(dst, i)
			if a.IsNull(row) && len(c.nulls) > 0 {
				dst = append(dst, c.nulls[0]...)
				continue
			}
			var f *fault
			if a.IsNull(row) {
				f = &fault{why: "it is NULL, and CSVOptions.NullText has no spelling for it"}
			} else if text, f = c.values[i](text[:0], row); f == nil {
				f = c.distinct(text)
			}
			if f != nil {
				return dst, f.inside(c.schema.Field(i).Name)
			}
			dst = c.quoted(dst, text)
		}
		return append(dst, '\n'), nil
	}
}

// distinct refuses text that would read as NULL although it is quoted.
func (c *csvWriter) distinct(text []byte) *fault {
	if c.options.QuotedNulls && c.spellsNull(text) {
		return badText("", text, "would be read as NULL; leave QuotedNulls off, or choose another NullText")
	}
	return nil
}

func (c *csvWriter) spellsNull(text []byte) bool {
	for _, n := range c.nulls {
		if bytes.Equal(n, text) {
			return true
		}
	}
	return false
}

// quoted appends a field, in quotes if it would not be the same without them.
func (c *csvWriter) quoted(dst, text []byte) []byte {
	if !c.wantsQuotes(text) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for {
		q := bytes.IndexByte(text, '"')
		if q < 0 {
			break
		}
		dst = append(append(dst, text[:q+1]...), '"')
		text = text[q+1:]
	}
	return append(append(dst, text...), '"')
}

func (c *csvWriter) wantsQuotes(text []byte) bool {
	if c.spellsNull(text) || len(text) == 0 || bytes.HasPrefix(text, []byte("\ufeff")) {
		return true
	}
	if text[0] == ' ' || text[len(text)-1] == ' ' {
		return true
	}
	for _, b := range text {
		if b == c.options.comma() || b == '"' || b < 0x20 {
			return true
		}
	}
	return false
}
