package metamorphic_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"
)

// Cells of the model: nil is NULL; string, int64, float64 and bool are themselves.
type (
	blob   string // bytes
	money  int64  // a decimal, in units of 1/10000 whatever the column's scale
	micros int64  // an instant
	fields []any  // a struct
	items  []any  // a list
)

const units = 4 // digits of money

var (
	timestamps = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	place      = arrow.StructOf(arrow.Field{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "zip", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	words = arrow.ListOf(arrow.BinaryTypes.String)
)

// writeCell is the text of a cell: equal cells have one text. Zero has no sign, and NaN is one value.
func writeCell(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("NULL")
	case string:
		fmt.Fprintf(b, "%q", v)
	case blob:
		fmt.Fprintf(b, "x'%s'", hex.EncodeToString([]byte(v)))
	case money:
		b.WriteString(v.String())
	case micros:
		b.WriteString(time.UnixMicro(int64(v)).UTC().Format("2006-01-02T15:04:05.000000Z"))
	case float64:
		b.WriteString(strconv.FormatFloat(v+0, 'g', -1, 64))
	case fields:
		writeCells(b, "{", v, "}")
	case items:
		writeCells(b, "[", v, "]")
	default:
		fmt.Fprint(b, v)
	}
}

func writeCells(b *strings.Builder, open string, list []any, end string) {
	b.WriteString(open)
	for i, v := range list {
		if i > 0 {
			b.WriteString(" ")
		}
		writeCell(b, v)
	}
	b.WriteString(end)
}

func cellText(v any) string {
	var b strings.Builder
	writeCell(&b, v)
	return b.String()
}

func (m money) String() string {
	return new(big.Rat).SetFrac64(int64(m), 1e4).FloatString(units)
}

// scaled is the unscaled value of money in a decimal of a scale.
func (m money) scaled(scale int32) int64 {
	n := int64(m)
	for s := int32(units); s > scale; s-- {
		n /= 10
	}
	return n
}

func moneyOf(n int64, scale int32) money {
	for ; scale < units; scale++ {
		n *= 10
	}
	return money(n)
}

// drawCell draws a value of a type, NULL among them. The few values of each meet each other often.
func drawCell(t *rapid.T, label string, dt arrow.DataType) any {
	if rapid.IntRange(0, 5).Draw(t, label+" NULL") == 5 {
		return nil
	}
	return drawValue(t, label, dt)
}

func drawValue(t *rapid.T, label string, dt arrow.DataType) any {
	switch dt := dt.(type) {
	case *arrow.StringType:
		return rapid.SampledFrom([]string{"a", "b", "", "c", "é'\\", "\x00z", strings.Repeat("long ", 9)}).Draw(t, label)
	case *arrow.BinaryType:
		return blob(rapid.SampledFrom([]string{"", "\x00", "a\xff", "\xf0\x9f"}).Draw(t, label))
	case *arrow.Int64Type, *arrow.Int32Type:
		return int64(rapid.SampledFrom([]int32{0, 1, 2, 3, -1, 7, math.MaxInt32, math.MinInt32}).Draw(t, label))
	case *arrow.BooleanType:
		return rapid.Bool().Draw(t, label)
	case *arrow.Decimal128Type:
		return moneyOf(rapid.SampledFrom([]int64{0, 1, -1, 150, 9999999999, -100}).Draw(t, label), 2)
	case *arrow.Float64Type:
		return rapid.SampledFrom([]float64{0, 1, math.Copysign(0, -1), math.NaN(), -2.5, math.Inf(1), math.Inf(-1), 1e-300}).Draw(t, label)
	case *arrow.TimestampType:
		return micros(rapid.SampledFrom([]int64{0, -1, 1_700_000_000_000_001, 1_700_000_000_000_000, 1_700_000_000_001_000}).Draw(t, label))
	case *arrow.StructType:
		out := make(fields, dt.NumFields())
		for i, f := range dt.Fields() {
			out[i] = drawCell(t, label+"."+f.Name, f.Type)
		}
		return out
	case *arrow.ListType:
		out := items{}
		for range rapid.IntRange(0, 2).Draw(t, label+" length") {
			out = append(out, drawCell(t, label+" element", dt.Elem()))
		}
		return out
	}
	panic(fmt.Sprintf("no values of %s", dt))
}

// appendCell appends a cell to a builder of the column's type, or of one that holds the value too.
func appendCell(b array.Builder, v any) {
	if v == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.LargeStringBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append([]byte(v.(blob)))
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(v.(string)); err != nil {
			panic(err)
		}
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(micros)))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v.(money).scaled(b.Type().(*arrow.Decimal128Type).Scale)))
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range v.(fields) {
			appendCell(b.FieldBuilder(i), f)
		}
	case *array.ListBuilder:
		b.Append(true)
		for _, e := range v.(items) {
			appendCell(b.ValueBuilder(), e)
		}
	default:
		panic(fmt.Sprintf("no cells of %T", b))
	}
}

// cellOf is the cell of an array.
func cellOf(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.Binary:
		return blob(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Boolean:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Timestamp:
		return micros(a.Value(i))
	case *array.Decimal128:
		return moneyOf(int64(a.Value(i).LowBits()), a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Struct:
		out := make(fields, a.NumField())
		for f := range out {
			out[f] = cellOf(a.Field(f), i)
		}
		return out
	case *array.List:
		out := items{}
		from, to := a.ValueOffsets(i)
		for e := from; e < to; e++ {
			out = append(out, cellOf(a.ListValues(), int(e)))
		}
		return out
	}
	panic(fmt.Sprintf("no cells of %T", a))
}

// literal is a cell as SQL text of a type.
func literal(v any, dt arrow.DataType) string {
	name := map[arrow.Type]string{
		arrow.STRING: "STRING", arrow.INT64: "BIGINT", arrow.INT32: "INT", arrow.FLOAT64: "DOUBLE", arrow.TIMESTAMP: "TIMESTAMP", arrow.BOOL: "BOOLEAN",
	}[dt.ID()]
	if d, ok := dt.(*arrow.Decimal128Type); ok {
		name = fmt.Sprintf("DECIMAL(%d,%d)", d.Precision, d.Scale)
	}
	switch v := v.(type) {
	case nil:
		return "CAST(NULL AS " + name + ")"
	case string:
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`).Replace(v) + "'"
	case blob:
		return "X'" + hex.EncodeToString([]byte(v)) + "'"
	case float64:
		return "CAST('" + map[bool]string{true: "NaN"}[v != v] + map[bool]string{true: strings.TrimPrefix(strings.Replace(fmt.Sprint(v), "Inf", "Infinity", 1), "+")}[v == v] + "' AS DOUBLE)"
	}
	return "CAST('" + cellText(v) + "' AS " + name + ")"
}
