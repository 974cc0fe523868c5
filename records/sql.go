package records

import (
	"cmp"
	"database/sql"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// SQLOptions are how the rows of a query are read. The zero SQLOptions are safe.
type SQLOptions struct {
	_ struct{}

	// Schema says the types of the columns, as a rule idem's Table.Schema. Columns go by name,
	// ignoring case; one that the query lacks is left out of the rows. nil takes the types from what
	// the driver says, and leaves no column out.
	Schema *arrow.Schema

	// Format spells the dates and timestamps that the driver gives as text, and says by its Location
	// where the clocks are that they were read from.
	Format Format

	// BatchRows is the greatest number of rows of a batch. 0 means 65,536. A batch has fewer once its
	// values are 16 MiB.
	BatchRows int

	// Allocator makes Arrow buffers. nil is the Go allocator.
	Allocator memory.Allocator
}

// SQLRows gives the rows of a query, once. The caller closes rows.
//
// With a Schema each value must be one of its column: integers and texts of integers in range;
// decimals as text or integers, exactly, and never as floats; a time.Time as an instant, for
// timestamp_ntz as what its clock shows, for a date at 00:00; for booleans also 0 and 1; for strings
// text or UTF-8.
//
// Without one the types are those that the driver names: decimals by their size, dates, times as
// instants, integers by their width, floats, booleans, strings, bytes. A type that says too little,
// as a decimal without size, is an error that asks for a Schema; and what differs between databases,
// as whether a timestamp is an instant, is better said by one.
//
// Errors: [delta.ErrInput] for columns and values that break these rules, with row and column. An
// error of the query is handed on as it is.
func SQLRows(rows *sql.Rows, o SQLOptions) (*Reader, error) {
	if rows == nil {
		return nil, inputErrorf("SQLRows needs the rows of a query; they are nil")
	}
	if err := checkBatchRows(o.BatchRows); err != nil {
		return nil, err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, fmt.Errorf("read the columns of the query: %w", err)
	}
	wanted := o.Schema
	if wanted == nil {
		if wanted, err = sqlSchema(types); err != nil {
			return nil, err
		}
	}
	if err := checkTypes(wanted, false, "SQLRows"); err != nil {
		return nil, err
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name()
	}
	fields, schema, err := bindNames(names, wanted, nil, "leave it out of the query")
	if err != nil {
		return nil, inputErrorf("the query: %w", err)
	}
	if err := cmp.Or(checkTypes(schema, true, "a row of a query"), o.Format.check(schema)); err != nil {
		return nil, err
	}
	return newReader(schema, newSQLSource(rows, schema, fields, o)), nil
}

// sqlSource scans rows into batches.
type sqlSource struct {
	*batcher
	rows   *sql.Rows
	format Format
	schema *arrow.Schema
	fields []int // for each column of the query: that of schema
	count  int64

	values    []any // what was scanned
	targets   []any // pointers to values
	appenders []sqlColumn
}

type sqlColumn struct {
	name     string
	required bool
	null     func()
	value    sqlAppender
}

func newSQLSource(rows *sql.Rows, schema *arrow.Schema, fields []int, o SQLOptions) *sqlSource {
	s := &sqlSource{rows: rows, schema: schema, fields: fields, format: o.Format, values: make([]any, len(fields))}
	for i := range s.values {
		s.targets = append(s.targets, &s.values[i])
	}
	s.batcher = newBatcher(schema, o.Allocator, o.BatchRows, s.bind)
	return s
}

func (s *sqlSource) bind(b *array.RecordBuilder) func() (int, error) {
	s.appenders = nil
	for i, f := range s.schema.Fields() {
		s.appenders = append(s.appenders, sqlColumn{
			name: f.Name, required: !f.Nullable, null: b.Field(i).AppendNull, value: newSQLAppender(b.Field(i), s.format),
		})
	}
	return s.row
}

func (s *sqlSource) row() (int, error) {
	if !s.rows.Next() {
		if err := s.rows.Err(); err != nil {
			return 0, fmt.Errorf("read the rows of the query behind row %d: %w", s.count, err)
		}
		return 0, io.EOF
	}
	s.count++
	if err := s.rows.Scan(s.targets...); err != nil {
		return 0, fmt.Errorf("scan row %d of the query: %w", s.count, err)
	}
	size := 0
	for i, v := range s.values {
		c := &s.appenders[s.fields[i]]
		if f := c.append(v); f != nil {
			return 0, f.inside(c.name).at(fmt.Sprintf("row %d of the query", s.count))
		}
		size += sqlSize(v)
	}
	return size, nil
}

func (c *sqlColumn) append(v any) *fault {
	switch {
	case v != nil:
		return c.value(v)
	case c.required:
		return nullFault("")
	}
	c.null()
	return nil
}

func sqlSize(v any) int {
	switch v := v.(type) {
	case []byte:
		return len(v)
	case string:
		return len(v)
	}
	return 8
}

func (s *sqlSource) rewind() error { return errOnce }

// ---- values

// sqlAppender appends a value of a driver that is not NULL.
type sqlAppender func(v any) *fault

func newSQLAppender(b array.Builder, f Format) sqlAppender {
	text := newTextAppender(b, f)
	switch b := b.(type) {
	case *array.StringBuilder:
		return sqlString(b)
	case *array.BinaryBuilder:
		return sqlBinary(b)
	case *array.BooleanBuilder:
		return orText(text, sqlBool(b))
	case *array.Float32Builder:
		return orText(text, sqlFloat(func(v float64) { b.Append(float32(v)) }, func(v float64) bool { return float64(float32(v)) == v }))
	case *array.Float64Builder:
		return orText(text, sqlFloat(b.Append, func(float64) bool { return true }))
	case *array.Date32Builder:
		return orText(text, sqlTime(func(t time.Time) *fault {
			wall, f := civil(t, true)
			if f == nil && wall%microsPerDay != 0 {
				f = timeFault(t, "has a time of day, which a date column cannot hold; cast it to a date in the query")
			}
			if f == nil {
				b.Append(arrow.Date32(wall / microsPerDay))
			}
			return f
		}))
	case *array.TimestampBuilder:
		wall := b.Type().(*arrow.TimestampType).TimeZone == ""
		return orText(text, sqlTime(func(t time.Time) *fault {
			micros, f := civil(t, wall)
			if f == nil {
				b.Append(arrow.Timestamp(micros))
			}
			return f
		}))
	}
	// Integers and decimals: the text of an integer is exact.
	_, decimal := b.(*array.Decimal128Builder)
	return orText(text, func(v any) *fault {
		digits, ok := integerText(v)
		if !ok {
			f := unfit(v)
			if decimal {
				f.why += " to text"
			}
			return f
		}
		if why := text(digits); why != "" {
			return badText("", digits, why)
		}
		return nil
	})
}

// orText appends text by one way and all else by another.
func orText(text textAppender, other sqlAppender) sqlAppender {
	return func(v any) *fault {
		var spelled []byte
		switch v := v.(type) {
		case []byte:
			spelled = v
		case string:
			spelled = []byte(v)
		default:
			return other(v)
		}
		if why := text(spelled); why != "" {
			return badText("", spelled, why)
		}
		return nil
	}
}

// unfit refuses a Go value of a type that the column does not take.
func unfit(v any) *fault {
	return &fault{value: clip(fmt.Append(nil, v)), why: fmt.Sprintf("is a %T, which the column does not take as it is; cast it in the query", v)}
}

func integerText(v any) ([]byte, bool) {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(nil, r.Int(), 10), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(nil, r.Uint(), 10), true
	}
	return nil, false
}

func sqlString(b *array.StringBuilder) sqlAppender {
	return func(v any) *fault {
		var text []byte
		switch v := v.(type) {
		case []byte:
			text = v
		case string:
			text = []byte(v)
		default:
			return unfit(v)
		}
		if !utf8.Valid(text) {
			return badText("", text, "is not valid UTF-8, which a string column must hold; convert it in the query, or store it in a binary column")
		}
		b.BinaryBuilder.Append(text)
		return nil
	}
}

func sqlBinary(b *array.BinaryBuilder) sqlAppender {
	return func(v any) *fault {
		switch v := v.(type) {
		case []byte:
			b.Append(v)
		case string:
			b.AppendString(v)
		default:
			return unfit(v)
		}
		return nil
	}
}

// sqlBool takes what databases without booleans have for them as well.
func sqlBool(b *array.BooleanBuilder) sqlAppender {
	return func(v any) *fault {
		if v, ok := v.(bool); ok {
			b.Append(v)
			return nil
		}
		switch digits, ok := integerText(v); {
		case ok && string(digits) == "1":
			b.Append(true)
		case ok && string(digits) == "0":
			b.Append(false)
		case ok:
			return &fault{value: string(digits), why: "is no boolean, of numbers 0 and 1 are; compare it in the query (x <> 0)"}
		default:
			return unfit(v)
		}
		return nil
	}
}

func sqlFloat(add func(float64), exact func(float64) bool) sqlAppender {
	return func(v any) *fault {
		var f float64
		switch v := v.(type) {
		case float64:
			f = v
		case float32:
			f = float64(v)
		default:
			digits, ok := integerText(v)
			if !ok {
				return unfit(v)
			}
			f, _ = strconv.ParseFloat(string(digits), 64)
			if strconv.FormatFloat(f, 'f', -1, 64) != string(digits) {
				return &fault{value: string(digits), why: "is not exact as a float; cast it in the query if that is meant"}
			}
		}
		if !exact(f) && !math.IsNaN(f) {
			return &fault{value: fmt.Sprint(f), why: "is not exact as a float of 32 bits; cast it in the query if that is meant"}
		}
		add(f)
		return nil
	}
}

func sqlTime(add func(time.Time) *fault) sqlAppender {
	return func(v any) *fault {
		if t, ok := v.(time.Time); ok {
			return add(t)
		}
		return unfit(v)
	}
}
