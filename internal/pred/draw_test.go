package pred_test

import (
	"math"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
)

var (
	tsType   = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	ntzType  = &arrow.TimestampType{Unit: arrow.Microsecond}
	decSmall = &arrow.Decimal128Type{Precision: 10, Scale: 2}
	decLarge = &arrow.Decimal128Type{Precision: 38, Scale: 10}
)

var nested = arrow.StructOf(
	arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
)

// tableSchema has a column of every type that conditions compare, and a struct.
var tableSchema = arrow.NewSchema([]arrow.Field{
	{Name: "bo", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "i8", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
	{Name: "i16", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
	{Name: "i32", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "i64", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "f32", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "f64", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "dec", Type: decSmall, Nullable: true},
	{Name: "big", Type: decLarge, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true},
	{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "ts", Type: tsType, Nullable: true},
	{Name: "ntz", Type: ntzType, Nullable: true},
	{Name: "st", Type: nested, Nullable: true},
}, nil)

var strings32 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// drawValue draws a value of a type as a scalar, from few values and the edges of the type, so
// that comparisons are often close. wide allows the edges.
func drawValue(t *rapid.T, dt arrow.DataType, wide bool) scalar.Scalar {
	small := rapid.Int64Range(-3, 3).Draw(t, "value")
	edge := wide && rapid.IntRange(0, 3).Draw(t, "edge") == 0
	switch dt := dt.(type) {
	case *arrow.BooleanType:
		return scalar.NewBooleanScalar(small > 0)
	case *arrow.Int8Type:
		if edge {
			small = rapid.SampledFrom([]int64{math.MinInt8, math.MaxInt8}).Draw(t, "int8")
		}
		return scalar.NewInt8Scalar(int8(small))
	case *arrow.Int16Type:
		if edge {
			small = rapid.SampledFrom([]int64{math.MinInt16, math.MaxInt16, math.MaxInt8 + 1}).Draw(t, "int16")
		}
		return scalar.NewInt16Scalar(int16(small))
	case *arrow.Int32Type:
		if edge {
			small = rapid.SampledFrom([]int64{math.MinInt32, math.MaxInt32, 1<<24 + 1}).Draw(t, "int32")
		}
		return scalar.NewInt32Scalar(int32(small))
	case *arrow.Int64Type:
		if edge {
			small = rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 1<<53 + 1, 1 << 53, -1<<53 - 1}).Draw(t, "int64")
		}
		return scalar.NewInt64Scalar(small)
	case *arrow.Float32Type, *arrow.Float64Type:
		f := float64(small) / 2
		if edge {
			f = rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1 << 53, 0.1, 1e300, 5e-324, 1 << 63, -1 << 63}).Draw(t, "float")
		}
		if dt.ID() == arrow.FLOAT32 {
			return scalar.NewFloat32Scalar(float32(f))
		}
		return scalar.NewFloat64Scalar(f)
	case *arrow.Decimal128Type:
		n := decimal128.FromI64(small * rapid.SampledFrom([]int64{1, 10, 50, 100}).Draw(t, "factor"))
		if edge {
			most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(dt.Precision)), nil)
			n = decimal128.FromBigInt(most.Sub(most, big.NewInt(1)))
			if small < 0 {
				n = n.Negate()
			}
		}
		return scalar.NewDecimal128Scalar(n, dt)
	case *arrow.StringType:
		return scalar.NewStringScalar(drawString(t))
	case *arrow.BinaryType:
		return scalar.NewBinaryScalar(memory.NewBufferBytes([]byte(drawString(t)+"\xff")), dt)
	case *arrow.Date32Type:
		return scalar.NewDate32Scalar(arrow.Date32(small))
	case *arrow.TimestampType:
		v := small*86400e6/2 + rapid.Int64Range(-1, 1).Draw(t, "micros")
		return scalar.NewTimestampScalar(arrow.Timestamp(v), dt)
	}
	panic(dt.String())
}

func drawString(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a", "ab", "b", "\x00", "é", "\U0010ffff", strings32, strings32 + "b", strings32 + "\U0010ffff\U0010ffff", strings32 + "\U0001f600", "z"}).Draw(t, "string")
}

// drawColumn draws rows values of a type; wide and withNulls are the column's habits.
func drawColumn(t *rapid.T, mem memory.Allocator, dt arrow.DataType, rows int, constant bool) arrow.Array {
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	habits := rapid.IntRange(0, 3).Draw(t, "habits")
	wide, nulls := habits&1 == 1, habits&2 == 2
	var first scalar.Scalar
	for range rows {
		drawInto(t, b, dt, wide, nulls, constant, &first)
	}
	return b.NewArray()
}

func drawInto(t *rapid.T, b array.Builder, dt arrow.DataType, wide, nulls, constant bool, first *scalar.Scalar) {
	if st, ok := dt.(*arrow.StructType); ok {
		sb := b.(*array.StructBuilder)
		sb.Append(!nulls || rapid.IntRange(0, 2).Draw(t, "struct") > 0)
		for i, f := range st.Fields() {
			drawInto(t, sb.FieldBuilder(i), f.Type, wide, nulls, false, nil)
		}
		return
	}
	if constant && *first != nil {
		must(scalar.Append(b, *first))
		return
	}
	v := scalar.MakeNullScalar(dt)
	if !nulls || rapid.IntRange(0, 2).Draw(t, "null") > 0 {
		v = drawValue(t, dt, wide)
	}
	if constant {
		*first = v
	}
	must(scalar.Append(b, v))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// drawBatch draws a batch of the schema; the column named partition has one value. The batch may
// be a slice of a larger one.
func drawBatch(t *rapid.T, mem memory.Allocator, schema *arrow.Schema, partition string) arrow.RecordBatch {
	rows := rapid.IntRange(0, 20).Draw(t, "rows")
	var columns []arrow.Array
	for _, f := range schema.Fields() {
		columns = append(columns, drawColumn(t, mem, f.Type, rows, f.Name == partition))
	}
	batch := array.NewRecordBatch(schema, columns, int64(rows))
	for _, c := range columns {
		c.Release()
	}
	from := rapid.IntRange(0, rows).Draw(t, "from")
	if rapid.Bool().Draw(t, "whole") {
		from = 0
	}
	defer batch.Release()
	return batch.NewSlice(int64(from), int64(rows))
}

// families are columns and literal types that are compared with each other.
var families = [][]string{
	{"i8", "i16", "i32", "i64", "f32", "f64", "dec", "big", "st.x"},
	{"s", "st.s"},
	{"bin"},
	{"d", "ts"},
	{"d", "ntz"},
}

func typeNamed(name string) arrow.DataType {
	switch name {
	case "st.x":
		return arrow.PrimitiveTypes.Int32
	case "st.s":
		return arrow.BinaryTypes.String
	}
	f, _ := tableSchema.FieldsByName(name)
	return f[0].Type
}

// drawOperand draws a column, a computed value or a constant of a family; the types of constants are
// mixed too.
func drawOperand(t *rapid.T, family []string, columns bool, depth int) expr.Expr {
	name := rapid.SampledFrom(family).Draw(t, "operand")
	if columns {
		c := expr.Col(name)
		if depth > 0 && rapid.IntRange(0, 3).Draw(t, "computed") == 0 {
			return drawComputed(t, name, depth)
		}
		if (name == "ts" || name == "ntz") && rapid.IntRange(0, 3).Draw(t, "cast") == 0 {
			return c.Cast(arrow.FixedWidthTypes.Date32)
		}
		return c
	}
	if rapid.IntRange(0, 7).Draw(t, "null literal") == 0 {
		return expr.Lit(nil)
	}
	return expr.Lit(drawValue(t, typeNamed(name), true))
}

// drawTyped draws an operand of the type of a column.
func drawTyped(t *rapid.T, name string, depth int) expr.Expr {
	switch rapid.IntRange(0, 2+depth).Draw(t, "typed") {
	case 0, 1:
		return expr.Col(name)
	case 2:
		return expr.Lit(drawValue(t, typeNamed(name), true))
	}
	return drawComputed(t, name, depth)
}

// arithmetic are the operators that give the type of a column.
var arithmetic = map[string][]expr.Op{
	"i8": {expr.Add, expr.Sub, expr.Mul, expr.Mod}, "i16": {expr.Add, expr.Sub, expr.Mul, expr.Mod}, "i32": {expr.Add, expr.Sub, expr.Mul, expr.Mod},
	"i64": {expr.Add, expr.Sub, expr.Mul, expr.IntDiv, expr.Mod}, "f64": {expr.Add, expr.Sub, expr.Mul, expr.Div, expr.Mod},
}

// drawComputed draws a computed value of the type of a column.
func drawComputed(t *rapid.T, name string, depth int) expr.Expr {
	one := func() expr.Expr { return drawTyped(t, name, depth-1) }
	condition := func() expr.Expr { return drawCondition(t, depth-1) }
	if arithmetic[name] != nil && rapid.Bool().Draw(t, "arithmetic") {
		return drawArithmetic(t, name, depth)
	}
	switch rapid.IntRange(0, 4).Draw(t, "compute") {
	case 0:
		return expr.Function("coalesce", one(), one(), one())
	case 1:
		return expr.Function("if", condition(), one(), one())
	case 2:
		return expr.Function("nullif", one(), one())
	case 3:
		return &expr.Case{Whens: []expr.When{{If: condition(), Then: one()}, {If: condition(), Then: one()}}, Else: one(), At: -1}
	}
	return &expr.Case{Operand: one(), Whens: []expr.When{{If: one(), Then: one()}, {If: one(), Then: one()}}, At: -1}
}

func drawArithmetic(t *rapid.T, name string, depth int) expr.Expr {
	op := rapid.SampledFrom(arithmetic[name]).Draw(t, "operator")
	return &expr.Binary{Op: op, L: drawTyped(t, name, depth-1), R: drawTyped(t, name, depth-1), At: -1}
}

// drawRising draws a function that rises with a column, and a constant it is compared with.
func drawRising(t *rapid.T) (x, constant expr.Expr) {
	near := rapid.Int64Range(-3, 3).Draw(t, "near")
	switch rapid.IntRange(0, 4).Draw(t, "rising") {
	case 0:
		return expr.Function("year", expr.Col(rapid.SampledFrom([]string{"d", "ts", "ntz"}).Draw(t, "of"))), expr.Lit(1970 + near/2)
	case 1:
		return expr.Function("date_add", expr.Col("d"), int32(near)), expr.Lit(arrow.Date32(rapid.Int32Range(-6, 6).Draw(t, "day")))
	case 2:
		return expr.Function("floor", expr.Col("dec")), expr.Lit(near)
	case 3:
		return expr.Col("i64").Cast(arrow.PrimitiveTypes.Int32), expr.Lit(near)
	}
	name := rapid.SampledFrom([]string{"i8", "i32", "i64"}).Draw(t, "sum")
	op := rapid.SampledFrom([]expr.Op{expr.Add, expr.Sub}).Draw(t, "operator")
	return &expr.Binary{Op: op, L: expr.Col(name), R: expr.Lit(drawValue(t, typeNamed(name), true)), At: -1}, expr.Lit(near)
}

// drawPattern draws a pattern of LIKE over the letters of drawString.
func drawPattern(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"%", "_", "a", "b", "é", "\\%", "\\_", strings32, "\x00"}), 0, 4).Draw(t, "pattern")
	return strings.Join(parts, "")
}

// drawCondition draws a condition over tableSchema.
func drawCondition(t *rapid.T, depth int) expr.Expr {
	negated := rapid.Bool().Draw(t, "negated")
	if depth > 0 {
		switch rapid.IntRange(0, 8).Draw(t, "node") {
		case 0:
			return &expr.Not{X: drawCondition(t, depth-1)}
		case 1:
			return &expr.Binary{Op: expr.And, L: drawCondition(t, depth-1), R: drawCondition(t, depth-1)}
		case 2:
			return &expr.Binary{Op: expr.Or, L: drawCondition(t, depth-1), R: drawCondition(t, depth-1)}
		case 3:
			op := expr.Op(rapid.IntRange(int(expr.Eq), int(expr.NullSafeEq)).Draw(t, "bool op"))
			return &expr.Binary{Op: op, L: drawCondition(t, depth-1), R: drawCondition(t, depth-1)}
		case 4:
			return &expr.IsNull{X: drawCondition(t, depth-1), Negated: negated}
		case 5:
			return drawComputed(t, "bo", depth)
		}
	}
	family := rapid.SampledFrom(families).Draw(t, "family")
	x := drawOperand(t, family, rapid.IntRange(0, 9).Draw(t, "x") > 0, depth)
	other := func() expr.Expr { return drawOperand(t, family, rapid.IntRange(0, 4).Draw(t, "other") == 0, depth) }
	switch rapid.IntRange(0, 10).Draw(t, "leaf") {
	case 6:
		x, constant := drawRising(t)
		return &expr.Binary{Op: expr.Op(rapid.IntRange(int(expr.Eq), int(expr.NullSafeEq)).Draw(t, "op")), L: x, R: constant}
	case 0:
		return expr.Col("bo")
	case 1:
		return expr.Lit(rapid.SampledFrom([]any{true, false, nil}).Draw(t, "constant"))
	case 2:
		return &expr.IsNull{X: x, Negated: negated}
	case 3:
		list := []expr.Expr{other()}
		for range rapid.IntRange(0, 4).Draw(t, "list") {
			list = append(list, other())
		}
		return &expr.In{X: x, List: list, Negated: negated}
	case 4:
		return &expr.Between{X: x, Lo: other(), Hi: other(), Negated: negated}
	case 5:
		return &expr.Like{X: drawTyped(t, rapid.SampledFrom([]string{"s", "st.s"}).Draw(t, "text"), depth), Pattern: expr.Lit(drawPattern(t)), Negated: negated}
	}
	return &expr.Binary{Op: expr.Op(rapid.IntRange(int(expr.Eq), int(expr.NullSafeEq)).Draw(t, "op")), L: x, R: other()}
}

// mustDecimal is the unscaled value of a decimal's text.
func mustDecimal(text string) decimal128.Num {
	return expr.Decimal(text).(*expr.Literal).Value.(*scalar.Decimal128).Value
}
