package rows_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/rows"
	"github.com/stretchr/testify/require"
)

type vector struct {
	Name, Why string
	Schema    [][2]any
	Rows      [][]any
	Digest    string
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	names, err := filepath.Glob("../../testdata/fingerprint/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var out []vector
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var vs []vector
		require.NoError(t, dec.Decode(&vs), name)
		out = append(out, vs...)
	}
	return out
}

// TestVectors holds the digests against those of docs/fingerprint.py.
func TestVectors(t *testing.T) {
	digests := map[string]string{}
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			batch := vectorBatch(t, mem, v)
			defer batch.Release()
			got, err := rows.DigestRows(batch, nil)
			require.NoError(t, err)
			require.Equal(t, v.Digest, got.String(), v.Why)
			digests[v.Name] = v.Digest
		})
	}
	for _, same := range [][2]string{
		{"int8 42", "int64 42"}, {"int16 42", "int32 42"}, {"float32 42", "int8 42"}, {"float64 42", "int8 42"},
		{"decimal(4,2) 42", "int8 42"}, {"decimal(38,10) 42", "int8 42"}, {"float32 zero", "float64 minus zero"},
		{"float32 NaN", "float64 NaN"}, {"decimal fraction", "decimal fraction wider"}, {"decimal beyond int64", "decimal beyond int64 wider"},
		{"date", "date as timestamp_ntz"}, {"swap rows 1", "row order"}, {"swap rows 1", "column order"}, {"swap rows 1", "widened"},
		{"swap rows 1", "all-NULL column added"}, {"struct", "struct reordered and widened"}, {"struct", "struct with a new NULL field"},
		{"lists", "lists widened"}, {"map", "map in another order"}, {"null type", "null string"}, {"null type", "null map"},
	} {
		requireNames(t, digests, same)
		require.Equal(t, digests[same[0]], digests[same[1]], "%v", same)
	}
	for _, differ := range [][2]string{
		{"null string", "empty string"}, {"empty string", "empty binary"}, {"timestamp", "timestamp_ntz"}, {"float32 0.1", "float64 0.1"},
		{"swap columns 1", "swap columns 2"}, {"swap rows 1", "swap rows 2"}, {"once", "thrice"}, {"twice", "four times"}, {"once", "renamed"},
		{"null struct", "struct of nulls"}, {"dotted name", "field under a column"}, {"null list", "empty list"}, {"empty list", "list of one NULL"},
		{"list of one NULL", "list of two NULLs"}, {"list reversed", "list forward"}, {"null map", "empty map"}, {"map", "map swapped"},
	} {
		requireNames(t, digests, differ)
		require.NotEqual(t, digests[differ[0]], digests[differ[1]], "%v", differ)
	}
}

// requireNames keeps a misspelled name from being compared with nothing.
func requireNames(t *testing.T, digests map[string]string, names [2]string) {
	t.Helper()
	require.Contains(t, digests, names[0])
	require.Contains(t, digests, names[1])
}

func vectorBatch(t *testing.T, mem memory.Allocator, v vector) arrow.RecordBatch {
	fields := vectorFields(t, v.Schema)
	b := array.NewRecordBuilder(mem, arrow.NewSchema(fields, nil))
	defer b.Release()
	for _, row := range v.Rows {
		for i, x := range row {
			appendJSON(t, b.Field(i), x)
		}
	}
	if len(fields) == 0 {
		return array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, int64(len(v.Rows)))
	}
	return b.NewRecordBatch()
}

func vectorFields(t *testing.T, schema [][2]any) []arrow.Field {
	var out []arrow.Field
	for _, f := range schema {
		out = append(out, arrow.Field{Name: f[0].(string), Type: vectorType(t, f[1]), Nullable: true})
	}
	return out
}

var scalarTypes = map[string]arrow.DataType{
	"null": arrow.Null, "int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16, "int32": arrow.PrimitiveTypes.Int32,
	"int64": arrow.PrimitiveTypes.Int64, "float32": arrow.PrimitiveTypes.Float32, "float64": arrow.PrimitiveTypes.Float64,
	"bool": arrow.FixedWidthTypes.Boolean, "date": arrow.FixedWidthTypes.Date32, "string": arrow.BinaryTypes.String,
	"binary": arrow.BinaryTypes.Binary, "timestamp": arrow.FixedWidthTypes.Timestamp_us,
	"timestamp_ntz": &arrow.TimestampType{Unit: arrow.Microsecond},
}

func vectorType(t *testing.T, x any) arrow.DataType {
	switch x := x.(type) {
	case string:
		if p, ok := strings.CutPrefix(x, "decimal("); ok {
			precision, scale, _ := strings.Cut(strings.TrimSuffix(p, ")"), ",")
			return &arrow.Decimal128Type{Precision: atoi(t, precision), Scale: atoi(t, scale)}
		}
		require.Contains(t, scalarTypes, x)
		return scalarTypes[x]
	case map[string]any:
		if l, ok := x["list"]; ok {
			return arrow.ListOf(vectorType(t, l))
		}
		if m, ok := x["map"]; ok {
			kv := m.([]any)
			return arrow.MapOf(vectorType(t, kv[0]), vectorType(t, kv[1]))
		}
		var fields [][2]any
		for _, f := range x["struct"].([]any) {
			fields = append(fields, [2]any(f.([]any)))
		}
		return arrow.StructOf(vectorFields(t, fields)...)
	}
	require.Fail(t, "type", "%v", x)
	return nil
}

func atoi(t *testing.T, s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	require.NoError(t, err)
	return int32(n)
}

// appendJSON appends a value of a vector file.
func appendJSON(t *testing.T, b array.Builder, x any) {
	if x == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(x.(bool))
	case *array.StringBuilder:
		b.Append(x.(string))
	case *array.BinaryBuilder:
		v, err := hex.DecodeString(x.(string))
		require.NoError(t, err)
		b.Append(v)
	case *array.Decimal128Builder:
		typ := b.Type().(*arrow.Decimal128Type)
		d, err := decimal128.FromString(x.(string), typ.Precision, typ.Scale)
		require.NoError(t, err)
		b.Append(d)
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range x.([]any) {
			appendJSON(t, b.FieldBuilder(i), f)
		}
	case *array.MapBuilder:
		b.Append(true)
		for _, e := range x.([]any) {
			appendJSON(t, b.KeyBuilder(), e.([]any)[0])
			appendJSON(t, b.ItemBuilder(), e.([]any)[1])
		}
	case *array.ListBuilder:
		b.Append(true)
		for _, e := range x.([]any) {
			appendJSON(t, b.ValueBuilder(), e)
		}
	default:
		appendNumber(t, b, x)
	}
}

func appendNumber(t *testing.T, b array.Builder, x any) {
	text, isText := x.(string)
	if !isText {
		text = x.(json.Number).String()
	}
	if f, ok := b.(*array.Float32Builder); ok {
		v, err := strconv.ParseFloat(text, 32)
		require.NoError(t, err)
		f.Append(float32(v))
		return
	}
	if f, ok := b.(*array.Float64Builder); ok {
		v, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		f.Append(v)
		return
	}
	v, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	default:
		require.Fail(t, "builder", "%T", b)
	}
}
