package pred

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// rising are the functions that never fall where the value of one argument rises, which is the first,
// and all others are constant: bounds of the value bound the function. One that neither fails nor is
// NULL at the bounds does neither between them.
var rising = []string{
	"+", "-", "positive", "cast", "floor", "ceil", "ceiling", "round", "bround",
	"year", "date", "to_date", "trunc", "last_day", "date_add", "date_sub", "unix_date", "unix_seconds", "unix_millis", "unix_micros",
}

// risingInSecond are those that never fall where the second argument rises.
var risingInSecond = []string{"+", "date_trunc", "date_add"}

// source is the column that a computation rises with, nil if there is none. Floats are left out:
// beyond their bounds there may be NaN.
func source(c calc) *operand {
	switch c := c.(type) {
	case operandCalc:
		switch k := c.op.stored.kind; {
		case c.op.calc != nil:
			return source(c.op.calc)
		case len(c.op.fields) == 0 && (k == kindInt || k == kindDecimal || c.op.stored.temporal()):
			return c.op
		}
	case *callCalc:
		return c.source()
	}
	return nil
}

// Rises says whether the value never falls where the one column that it is of rises: of two rows in
// which it has a value, the one with the greater value in the column has no smaller one.
func (v *Value) Rises() bool { return source(v.root) != nil }

func (c *callCalc) source() *operand {
	at := -1 // the argument that varies
	for i, a := range c.args {
		switch _, fixed := a.(fixedCalc); {
		case !fixed && at >= 0:
			return nil
		case !fixed:
			at = i
		}
	}
	rises := at == 0 && slices.Contains(rising, c.name) || at == 1 && slices.Contains(risingInSecond, c.name)
	if !rises || !ordered(c.fn.Result) {
		return nil
	}
	return source(c.args[at])
}

// ordered says whether a result has the order of what it was computed from: that of numbers and of
// times. A CAST to a string has not.
func ordered(t arrow.DataType) bool { return typeOf(t).numeric() || typeOf(t).temporal() }

// risen is the reach of a computed operand, if it rises with a column whose bounds are known.
func (f *Facts) risen(op *operand) (reach, bool) {
	from := source(op.calc)
	if from == nil {
		return reach{}, false
	}
	c, ok := f.column(from.path)
	if !ok || !isBound(c.Min, from) || !isBound(c.Max, from) {
		return reach{}, false
	}
	m := newMachine(memory.DefaultAllocator, 2)
	defer m.close()
	b := array.NewBuilder(m.mem, from.base)
	defer b.Release()
	if scalar.Append(b, c.Min) != nil || scalar.Append(b, c.Max) != nil {
		return reach{}, false
	}
	bounds := b.NewArray()
	defer bounds.Release()
	m.columns[from.column] = bounds
	arr, errs := m.compute(op)
	defer arr.Release()
	if len(errs) > 0 || m.err != nil || arr.NullN() > 0 {
		return reach{}, false
	}
	r := f.reach(from)
	return reach{nulls: r.nulls, values: r.values, lo: least(op.stored), end: beyond}.between(op.stored, arr), true
}

func isBound(s scalar.Scalar, op *operand) bool {
	return s != nil && s.IsValid() && arrow.TypeEqual(s.DataType(), op.base)
}

// between narrows the values to those from the first of an array to the second.
func (r reach) between(t sqlType, arr arrow.Array) reach {
	lo, errLo := scalar.GetScalar(arr, 0)
	hi, errHi := scalar.GetScalar(arr, 1)
	if errLo != nil || errHi != nil {
		return r
	}
	return r.within(t, ColumnFacts{Min: lo, Max: hi, Exact: true})
}
