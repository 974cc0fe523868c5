package rows_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

func decimalType(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }

// families are types whose values can be compared with each other.
var families = [][]arrow.DataType{
	{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64},
	{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64},
	{decimalType(4, 1), decimalType(38, 0), decimalType(38, 30), decimalType(12, 2)},
	{arrow.FixedWidthTypes.Boolean},
	{arrow.FixedWidthTypes.Date32},
	{arrow.FixedWidthTypes.Timestamp_us},
	{&arrow.TimestampType{Unit: arrow.Microsecond}},
	{arrow.BinaryTypes.String},
	{arrow.BinaryTypes.Binary},
}

func scalarType() *rapid.Generator[arrow.DataType] {
	return rapid.Custom(func(t *rapid.T) arrow.DataType {
		return rapid.SampledFrom(rapid.SampledFrom(families).Draw(t, "family")).Draw(t, "type")
	})
}

// anyType is a type of at most so many levels.
func anyType(depth int) *rapid.Generator[arrow.DataType] {
	return rapid.Custom(func(t *rapid.T) arrow.DataType {
		kind := "scalar"
		if depth > 0 {
			kind = rapid.SampledFrom([]string{"scalar", "null", "struct", "list", "map"}).Draw(t, "kind")
		}
		switch kind {
		case "null":
			return arrow.Null
		case "struct":
			return arrow.StructOf(
				arrow.Field{Name: "a", Type: anyType(depth-1).Draw(t, "a"), Nullable: true},
				arrow.Field{Name: "b", Type: anyType(depth-1).Draw(t, "b"), Nullable: true})
		case "list":
			return arrow.ListOf(anyType(depth-1).Draw(t, "element"))
		case "map":
			return arrow.MapOf(scalarType().Draw(t, "key"), anyType(depth-1).Draw(t, "value"))
		}
		return scalarType().Draw(t, "scalar")
	})
}

// appendRandom appends a value of few, so that many are equal.
func appendRandom(t *rapid.T, b array.Builder, nulls bool) {
	if nulls && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.NullBuilder:
		b.AppendNull()
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendRandom(t, b.FieldBuilder(i), true)
		}
	case *array.MapBuilder:
		b.Append(true)
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			appendRandom(t, b.KeyBuilder(), false)
			appendRandom(t, b.ItemBuilder(), true)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			appendRandom(t, b.ValueBuilder(), true)
		}
	default:
		appendScalar(t, b)
	}
}

func appendScalar(t *rapid.T, b array.Builder) {
	floats := []float64{math.Inf(-1), -1.5, -1, math.Copysign(0, -1), 0, 1, 1.5, math.Inf(1), math.NaN(), -math.NaN()}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(rapid.Bool().Draw(t, "bool"))
	case *array.StringBuilder:
		b.Append(rapid.SampledFrom([]string{"", "a", "b", "a\x00", "é"}).Draw(t, "string"))
	case *array.BinaryBuilder:
		b.Append([]byte(rapid.SampledFrom([]string{"", "a", "\xff", "a\x00"}).Draw(t, "binary")))
	case *array.Float32Builder:
		b.Append(float32(rapid.SampledFrom(floats).Draw(t, "float")))
	case *array.Float64Builder:
		b.Append(rapid.SampledFrom(floats).Draw(t, "float"))
	case *array.Decimal128Builder:
		text := rapid.SampledFrom([]string{"-10", "-1.5", "-1", "0", "0.5", "1", "1.5", "10", "100"}).Draw(t, "decimal")
		typ := b.Type().(*arrow.Decimal128Type)
		if d, err := decimal128.FromString(text, typ.Precision, typ.Scale); err == nil {
			b.Append(d)
		} else {
			b.Append(decimal128.FromI64(7))
		}
	default:
		v := rapid.SampledFrom([]int64{-128, -1, 0, 1, 2, 127}).Draw(t, "integer")
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
			panic(fmt.Sprintf("no values for %T", b))
		}
	}
}

// randomBatch has n rows of the types. It is a slice of a longer batch, so that every offset is in play.
func randomBatch(t *rapid.T, mem memory.Allocator, n int, types ...arrow.DataType) arrow.RecordBatch {
	fields := make([]arrow.Field, len(types))
	for i, typ := range types {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: typ, Nullable: true}
	}
	before, after := rapid.IntRange(0, 9).Draw(t, "before"), rapid.IntRange(0, 2).Draw(t, "after")
	b := array.NewRecordBuilder(mem, arrow.NewSchema(fields, nil))
	defer b.Release()
	nulls := rapid.Bool().Draw(t, "nulls")
	for range before + n + after {
		for i := range types {
			appendRandom(t, b.Field(i), nulls)
		}
	}
	whole := b.NewRecordBatch()
	defer whole.Release()
	return whole.NewSlice(int64(before), int64(before+n))
}

// canon is a value as text: two values are equal as their texts are. It is the naive twin of Equality.
func canon(arr arrow.Array, i int) string {
	if arr.IsNull(i) || arr.DataType().ID() == arrow.NULL {
		return "NULL"
	}
	switch a := arr.(type) {
	case *array.String:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.Binary:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.Boolean:
		return fmt.Sprint(a.Value(i))
	case *array.Struct:
		var s []string
		for f := range a.NumField() {
			s = append(s, canon(a.Field(f), i))
		}
		return "{" + strings.Join(s, ",") + "}"
	case *array.Map:
		var s []string
		lo, hi := a.ValueOffsets(i)
		for k := lo; k < hi; k++ {
			s = append(s, canon(a.Keys(), int(k))+":"+canon(a.Items(), int(k)))
		}
		slices.Sort(s)
		return "{" + strings.Join(s, ",") + "}"
	case *array.List:
		var s []string
		lo, hi := a.ValueOffsets(i)
		for k := lo; k < hi; k++ {
			s = append(s, canon(a.ListValues(), int(k)))
		}
		return "[" + strings.Join(s, ",") + "]"
	}
	if f := number(arr, i); f != nil {
		return f.RatString()
	}
	return fmt.Sprint(float(arr, i))
}

func canonRow(batch arrow.RecordBatch, cols []int, i int) string {
	var s []string
	for _, c := range cols {
		s = append(s, canon(batch.Column(c), i))
	}
	return strings.Join(s, "|")
}

// number is an exact number, or nil for NaN and the infinities.
func number(arr arrow.Array, i int) *big.Rat {
	switch a := arr.(type) {
	case *array.Int8:
		return new(big.Rat).SetInt64(int64(a.Value(i)))
	case *array.Int16:
		return new(big.Rat).SetInt64(int64(a.Value(i)))
	case *array.Int32:
		return new(big.Rat).SetInt64(int64(a.Value(i)))
	case *array.Int64:
		return new(big.Rat).SetInt64(a.Value(i))
	case *array.Date32:
		return new(big.Rat).SetInt64(int64(a.Value(i)))
	case *array.Timestamp:
		return new(big.Rat).SetInt64(int64(a.Value(i)))
	case *array.Decimal128:
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(a.DataType().(*arrow.Decimal128Type).Scale)), nil)
		return new(big.Rat).SetFrac(a.Value(i).BigInt(), ten)
	}
	return new(big.Rat).SetFloat64(float(arr, i))
}

func float(arr arrow.Array, i int) float64 {
	switch a := arr.(type) {
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	}
	return 0
}

// compareNaive is the naive twin of Order.
func compareNaive(a arrow.Array, i int, b arrow.Array, j int) int {
	if a.IsNull(i) || b.IsNull(j) {
		return cmp.Compare(rank(a.IsValid(i)), rank(b.IsValid(j)))
	}
	switch x := a.(type) {
	case *array.String:
		return strings.Compare(x.Value(i), b.(*array.String).Value(j))
	case *array.Binary:
		return strings.Compare(string(x.Value(i)), string(b.(*array.Binary).Value(j)))
	case *array.Boolean:
		return cmp.Compare(rank(x.Value(i)), rank(b.(*array.Boolean).Value(j)))
	case *array.Float32, *array.Float64:
		f, g := float(a, i), float(b, j)
		if f != f || g != g {
			return cmp.Compare(rank(f != f), rank(g != g))
		}
		return cmp.Compare(f, g)
	}
	return number(a, i).Cmp(number(b, j))
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}
