package interop_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/conformance"
)

// column is a column by its name and its Delta type.
type column [2]string

// row is one row as canonical cells: integers, floats and booleans as Go has them, everything else
// as text, floats that JSON lacks too, NULL as nil; a struct as map[string]any, an array as []any, a
// map as []any of pairs.
type row []any

// source is rows on their way into a table, in the form that engines.py takes.
type source struct {
	Schema []column `json:"schema"`
	Rows   []row    `json:"rows"`
}

var primitives = map[string]arrow.DataType{
	"string": arrow.BinaryTypes.String, "binary": arrow.BinaryTypes.Binary, "boolean": arrow.FixedWidthTypes.Boolean,
	"byte": arrow.PrimitiveTypes.Int8, "short": arrow.PrimitiveTypes.Int16, "integer": arrow.PrimitiveTypes.Int32, "long": arrow.PrimitiveTypes.Int64,
	"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64, "date": arrow.FixedWidthTypes.Date32,
	"timestamp": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, "timestamp_ntz": &arrow.TimestampType{Unit: arrow.Microsecond},
	"variant": arrow.StructOf(variantPart("value"), variantPart("metadata")),
}

// variantPart is a half of a variant, which is a struct that says so.
func variantPart(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.BinaryTypes.Binary, Metadata: arrow.NewMetadata([]string{"DELTA:variant"}, []string{name})}
}

// arrowType reads a type as Spark writes it: long, decimal(5,2), struct<a:long,b:array<map<string,date>>>.
func arrowType(t *testing.T, name string) arrow.DataType {
	if dt := primitives[name]; dt != nil {
		return dt
	}
	outer, inner, nested := strings.Cut(strings.TrimSuffix(name, ">"), "<")
	if !nested {
		var d arrow.Decimal128Type
		_, err := fmt.Sscanf(name, "decimal(%d,%d)", &d.Precision, &d.Scale)
		require.NoError(t, err, "type %s", name)
		return &d
	}
	parts := split(inner)
	switch outer {
	case "array":
		return arrow.ListOf(arrowType(t, inner))
	case "map":
		return arrow.MapOf(arrowType(t, parts[0]), arrowType(t, parts[1]))
	}
	require.Equal(t, "struct", outer, "type %s", name)
	var fields []arrow.Field
	for _, p := range parts {
		field, typ, _ := strings.Cut(p, ":")
		fields = append(fields, arrow.Field{Name: field, Type: arrowType(t, typ), Nullable: true})
	}
	return arrow.StructOf(fields...)
}

// split cuts at the commas outside of brackets.
func split(text string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case strings.ContainsRune("<(", c):
			depth++
		case strings.ContainsRune(">)", c):
			depth--
		case c == ',' && depth == 0:
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}

func (s source) schema(t *testing.T) *arrow.Schema {
	var fields []arrow.Field
	for _, c := range s.Schema {
		fields = append(fields, arrow.Field{Name: c[0], Type: arrowType(t, c[1]), Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// reader gives the rows to idem, in batches of two.
func (s source) reader(t *testing.T, mem memory.Allocator) array.RecordReader {
	schema := s.schema(t)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	var batches []arrow.RecordBatch
	for part := range slices.Chunk(s.Rows, 2) {
		for _, r := range part {
			require.Len(t, r, len(s.Schema), "row %v", r)
			for c, cell := range r {
				require.NoError(t, appendCell(b.Field(c), cell), "column %s", s.Schema[c][0])
			}
		}
		batch := b.NewRecordBatch()
		defer batch.Release()
		batches = append(batches, batch)
	}
	r, err := array.NewRecordReader(schema, batches)
	require.NoError(t, err)
	t.Cleanup(r.Release)
	return r
}

func appendCell(b array.Builder, cell any) (err error) {
	if cell == nil {
		b.AppendNull()
		return nil
	}
	text := fmt.Sprint(cell)
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range b.Type().(*arrow.StructType).Fields() {
			if err := appendCell(b.FieldBuilder(i), cell.(map[string]any)[f.Name]); err != nil {
				return err
			}
		}
	case *array.MapBuilder:
		b.Append(true)
		for _, e := range cell.([]any) {
			if err := errors.Join(appendCell(b.KeyBuilder(), e.([]any)[0]), appendCell(b.ItemBuilder(), e.([]any)[1])); err != nil {
				return err
			}
		}
	case *array.ListBuilder:
		b.Append(true)
		for _, e := range cell.([]any) {
			if err := appendCell(b.ValueBuilder(), e); err != nil {
				return err
			}
		}
	case *array.StringBuilder:
		b.Append(text)
	case *array.BooleanBuilder:
		b.Append(cell.(bool))
	case *array.BinaryBuilder:
		var v []byte
		v, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "base64:"))
		b.Append(v)
	case *array.Float32Builder:
		var v float64
		v, err = strconv.ParseFloat(text, 32)
		b.Append(float32(v))
	case *array.Float64Builder:
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		b.Append(v)
	default:
		return appendWhole(b, text)
	}
	return err
}

// appendWhole appends a cell that is a whole number within.
func appendWhole(b array.Builder, text string) error {
	var at time.Time
	n, ok := new(big.Int).SetString(strings.Replace(text, ".", "", 1), 10)
	if !ok {
		var err error
		if at, err = time.Parse("2006-01-02T15:04:05.000000", strings.TrimSuffix(text, "Z")); err != nil {
			if at, err = time.Parse(time.DateOnly, text); err != nil {
				return err
			}
		}
	}
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(n.Int64()))
	case *array.Int16Builder:
		b.Append(int16(n.Int64()))
	case *array.Int32Builder:
		b.Append(int32(n.Int64()))
	case *array.Int64Builder:
		b.Append(n.Int64())
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(n))
	case *array.Date32Builder:
		b.Append(arrow.Date32FromTime(at))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(at.UnixMicro()))
	default:
		return fmt.Errorf("no cells of %T", b)
	}
	return nil
}

// answer is rows as an engine, or idem, read them: canonical texts, sorted.
type answer struct {
	schema []column
	rows   []string
}

// scan reads a table with idem.
func scan(ctx context.Context, table *idem.Table, where string) (answer, error) {
	var a answer
	for _, f := range table.Snapshot().Schema().Fields {
		a.schema = append(a.schema, column{f.Name, typeName(fmt.Sprint(f.Type))})
	}
	for batch, err := range table.Scan(ctx, idem.Scan{Where: where}) {
		if err != nil {
			return answer{}, err
		}
		for i := range int(batch.NumRows()) {
			text, err := conformance.AppendRow(nil, batch, i)
			if err != nil {
				return answer{}, err
			}
			line, err := canonical(text)
			if err != nil {
				return answer{}, err
			}
			a.rows = append(a.rows, line)
		}
	}
	slices.Sort(a.rows)
	return a, nil
}

// typeName is a type by its outer kind: what nested columns hold shows in their cells.
func typeName(t string) string {
	for _, kind := range []string{"struct", "array", "map"} {
		if strings.HasPrefix(t, kind) {
			return kind
		}
	}
	return t
}

// read reads a table with an engine. version -1 is the newest.
func (e engine) read(path, where string, version int64) (answer, error) {
	args := map[string]any{"path": path}
	if where != "" {
		args["where"] = where
	}
	if version >= 0 {
		args["version"] = version
	}
	return e.rows("rows", args)
}

func (e engine) rows(op string, args map[string]any) (answer, error) {
	var reply struct {
		Schema []column
		Rows   [][]any
	}
	if err := theRun.server.ask(e, op, args, &reply); err != nil {
		return answer{}, err
	}
	a := answer{schema: reply.Schema}
	for _, r := range reply.Rows {
		var line []byte
		for i, cell := range r {
			name, err := json.Marshal(reply.Schema[i][0])
			if err != nil {
				return answer{}, err
			}
			text, err := encode(cell)
			if err != nil {
				return answer{}, err
			}
			line = append(append(append(append(line, ','), name...), ':'), text...)
		}
		line[0] = '{'
		text, err := canonical(append(line, '}'))
		if err != nil {
			return answer{}, err
		}
		a.rows = append(a.rows, text)
	}
	slices.Sort(a.rows)
	return a, nil
}

// canonical writes a row's JSON anew, so that both sides spell numbers and strings alike. Keys come
// out sorted: engines give columns in the table's order, which the schema compares.
func canonical(text []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("row %s: %w", text, err)
	}
	out, err := encode(respell(v))
	return string(out), err
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// respell writes every number that is not whole as encoding/json writes a float64.
func respell(v any) any {
	switch v := v.(type) {
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return v
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
	case []any:
		for i := range v {
			v[i] = respell(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = respell(v[k])
		}
	}
	return v
}
