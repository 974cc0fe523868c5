package conformance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/conformance"
)

// canonical gives the text of a row of one column c with one value.
func canonical(t *testing.T, dt arrow.DataType, put func(array.Builder)) string {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt, Nullable: true}}, nil))
	defer b.Release()
	put(b.Field(0))
	batch := b.NewRecordBatch()
	defer batch.Release()
	row, err := conformance.AppendRow(nil, batch, 0)
	require.NoError(t, err)
	text, ok := strings.CutPrefix(string(row), `{"c":`)
	require.True(t, ok, "%s", row)
	return strings.TrimSuffix(text, "}")
}

func TestCanonicalValues(t *testing.T) {
	utc := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	ntz := &arrow.TimestampType{Unit: arrow.Microsecond}
	double := func(f float64) func(array.Builder) {
		return func(b array.Builder) { b.(*array.Float64Builder).Append(f) }
	}
	decimal := func(text string, p, s int32) func(array.Builder) {
		return func(b array.Builder) {
			n, err := decimal128.FromString(text, p, s)
			require.NoError(t, err)
			b.(*array.Decimal128Builder).Append(n)
		}
	}
	text := func(s string) func(array.Builder) {
		return func(b array.Builder) { b.(*array.StringBuilder).Append(s) }
	}
	for _, c := range []struct {
		why  string
		dt   arrow.DataType
		put  func(array.Builder)
		want string
	}{
		{"NULL is null", arrow.PrimitiveTypes.Int64, func(b array.Builder) { b.AppendNull() }, `null`},
		{"void is NULL", arrow.Null, func(b array.Builder) { b.AppendNull() }, `null`},
		{"bytes are numbers", arrow.PrimitiveTypes.Int8, func(b array.Builder) { b.(*array.Int8Builder).Append(-128) }, `-128`},
		{"longs keep every digit", arrow.PrimitiveTypes.Int64, func(b array.Builder) { b.(*array.Int64Builder).Append(1<<53 + 1) }, `9007199254740993`},
		{"a whole double has no point", arrow.PrimitiveTypes.Float64, double(5), `5`},
		{"as ECMAScript: e from 1e21 on", arrow.PrimitiveTypes.Float64, double(1e21), `1e+21`},
		{"and below 1e-6, the exponent without a zero before", arrow.PrimitiveTypes.Float64, double(1e-7), `1e-7`},
		{"the sign of zero stays", arrow.PrimitiveTypes.Float64, double(math.Copysign(0, -1)), `-0`},
		{"NaN is a string", arrow.PrimitiveTypes.Float64, double(math.NaN()), `"NaN"`},
		{"so are the infinities", arrow.PrimitiveTypes.Float64, double(math.Inf(-1)), `"-Infinity"`},
		{"a float has the digits of its width", arrow.PrimitiveTypes.Float32, func(b array.Builder) { b.(*array.Float32Builder).Append(1.1) }, `1.1`},
		{"a decimal has its scale", &arrow.Decimal128Type{Precision: 5, Scale: 2}, decimal("-0.30", 5, 2), `"-0.30"`},
		{"one without scale has no point", &arrow.Decimal128Type{Precision: 5}, decimal("12", 5, 0), `"12"`},
		{"one may be all fraction", &arrow.Decimal128Type{Precision: 3, Scale: 3}, decimal("0.007", 3, 3), `"0.007"`},
		{"one may need 128 bits", &arrow.Decimal128Type{Precision: 38, Scale: 18}, decimal("-99999999999999999999.999999999999999999", 38, 18),
			`"-99999999999999999999.999999999999999999"`},
		{"a date before 1970", arrow.FixedWidthTypes.Date32, func(b array.Builder) { b.(*array.Date32Builder).Append(-1) }, `"1969-12-31"`},
		{"a timestamp has a zone", utc, func(b array.Builder) { b.(*array.TimestampBuilder).Append(-1) }, `"1969-12-31T23:59:59.999999Z"`},
		{"a timestamp_ntz has none", ntz, func(b array.Builder) { b.(*array.TimestampBuilder).Append(253402300799999999) }, `"9999-12-31T23:59:59.999999"`},
		{"binary is base64", arrow.BinaryTypes.Binary, func(b array.Builder) { b.(*array.BinaryBuilder).Append([]byte{0, 255}) }, `"base64:AP8="`},
		{"nothing is escaped for HTML", arrow.BinaryTypes.String, text(`<&>`), `"<&>"`},
		{"quotes and control characters are", arrow.BinaryTypes.String, text("\"\\\n\x01"), `"\"\\\n\u0001"`},
		{"other letters stay", arrow.BinaryTypes.String, text("日本"), `"日本"`},
		{"but line separators do not", arrow.BinaryTypes.String, text("\u2028"), `"\u2028"`},
	} {
		t.Run(c.why, func(t *testing.T) { require.Equal(t, c.want, canonical(t, c.dt, c.put)) })
	}
}

func TestCanonicalNestedValues(t *testing.T) {
	ints := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	require.Equal(t, `[1,null]`, canonical(t, ints, func(b array.Builder) {
		l := b.(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 0}, []bool{true, false})
	}), "lists keep their order and their NULLs")

	pairs := arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)
	require.Equal(t, `[[10,"b"],[9,"a"]]`, canonical(t, pairs, func(b array.Builder) {
		m := b.(*array.MapBuilder)
		m.Append(true)
		m.KeyBuilder().(*array.Int32Builder).AppendValues([]int32{9, 10}, nil)
		m.ItemBuilder().(*array.StringBuilder).AppendValues([]string{"a", "b"}, nil)
	}), "a map is sorted by the texts of its keys")

	point := arrow.StructOf(arrow.Field{Name: "y", Type: ints, Nullable: true}, arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	require.Equal(t, `{"y":null,"x":7}`, canonical(t, point, func(b array.Builder) {
		s := b.(*array.StructBuilder)
		s.Append(true)
		s.FieldBuilder(0).AppendNull()
		s.FieldBuilder(1).(*array.Int32Builder).Append(7)
	}), "a struct keeps the order of its fields")
}

func TestHashIsOfTheSortedRows(t *testing.T) {
	sum := sha256.Sum256([]byte("a\nb\n"))
	require.Equal(t, hex.EncodeToString(sum[:]), conformance.Hash([][]byte{[]byte("b"), []byte("a")}))
	require.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", conformance.Hash(nil), "no row is the hash of nothing")
}
