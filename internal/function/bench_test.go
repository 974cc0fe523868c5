package function_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/function"
)

const benchRows = 1 << 16

// money is a column of decimals, of which every eighth is NULL.
func money(scale int32) arrow.Array {
	b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 18, Scale: scale})
	defer b.Release()
	for i := range benchRows {
		if i%8 == 0 {
			b.AppendNull()
		} else {
			b.Append(decimal128.FromI64(int64(i*7919 + 1)))
		}
	}
	return b.NewArray()
}

func bigints() arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for i := range benchRows {
		b.Append(int64(i*7919 + 1))
	}
	return b.NewArray()
}

func cast(b *testing.B, a arrow.Array, to arrow.DataType) arrow.Array {
	f, err := function.Cast(a.DataType(), to)
	require.NoError(b, err)
	out, _ := evaluated(b, f, a.Len(), memory.DefaultAllocator, function.Arg{Array: a})
	return out
}

func BenchmarkFunctions(b *testing.B) {
	ints, small, large := bigints(), money(2), money(6)
	doubles := cast(b, ints, arrow.PrimitiveTypes.Float64)
	for _, c := range []struct {
		name string
		args []arrow.Array
	}{
		{"+", []arrow.Array{ints, ints}}, {"*", []arrow.Array{ints, ints}}, {"/", []arrow.Array{doubles, doubles}}, {"%", []arrow.Array{ints, ints}},
		{"+", []arrow.Array{small, small}}, {"+", []arrow.Array{small, large}}, {"*", []arrow.Array{small, large}}, {"/", []arrow.Array{small, large}},
		{"%", []arrow.Array{small, large}}, {"round", []arrow.Array{doubles}}, {"floor", []arrow.Array{large}}, {"greatest", []arrow.Array{ints, ints}},
	} {
		var params []function.Param
		var args []function.Arg
		name := "op=" + c.name
		for _, a := range c.args {
			params, args = append(params, function.Param{Type: a.DataType()}), append(args, function.Arg{Array: a})
			name += " " + a.DataType().String()
		}
		f, err := function.Find(c.name, params)
		require.NoError(b, err)
		run(b, name, f, args...)
	}
}

func BenchmarkCasts(b *testing.B) {
	text := arrow.BinaryTypes.String
	ts := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	ints, decimals := bigints(), money(2)
	doubles := cast(b, decimals, arrow.PrimitiveTypes.Float64)
	times := cast(b, ints, ts)
	for _, c := range []struct {
		a  arrow.Array
		to arrow.DataType
	}{
		{ints, arrow.PrimitiveTypes.Int32}, {ints, text}, {ints, &arrow.Decimal128Type{Precision: 20, Scale: 2}},
		{decimals, arrow.PrimitiveTypes.Float64}, {decimals, text}, {decimals, &arrow.Decimal128Type{Precision: 20, Scale: 4}},
		{doubles, text}, {doubles, &arrow.Decimal128Type{Precision: 20, Scale: 2}}, {times, text}, {times, arrow.FixedWidthTypes.Date32},
		{cast(b, ints, text), arrow.PrimitiveTypes.Int64}, {cast(b, decimals, text), decimals.DataType()},
		{cast(b, doubles, text), arrow.PrimitiveTypes.Float64}, {cast(b, times, text), ts},
	} {
		f, err := function.Cast(c.a.DataType(), c.to)
		require.NoError(b, err)
		run(b, fmt.Sprintf("from=%s/to=%s", c.a.DataType(), c.to), f, function.Arg{Array: c.a})
	}
}

func run(b *testing.B, name string, f *function.Function, args ...function.Arg) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		c := &function.Call{Mem: memory.DefaultAllocator, Rows: benchRows, Args: args, Fail: func(_ int, err error) { b.Fatal(err) }}
		for b.Loop() {
			f.Eval(c).Release()
		}
		b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
	})
}
