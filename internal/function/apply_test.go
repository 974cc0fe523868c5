package function_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// bench makes arrays, applies functions to them, and frees all.
type bench struct {
	t   rapid.TB
	mem *memory.CheckedAllocator
	all []arrow.Array
}

func newBench(t rapid.TB) *bench {
	return &bench{t: t, mem: memory.NewCheckedAllocator(memory.NewGoAllocator())}
}

// close frees the arrays; nothing is left then.
func (b *bench) close() {
	for _, a := range b.all {
		a.Release()
	}
	b.mem.AssertSize(b.t, 0)
}

func (b *bench) keep(a arrow.Array) arrow.Array {
	b.all = append(b.all, a)
	return a
}

var (
	timestamp = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	ntz       = &arrow.TimestampType{Unit: arrow.Microsecond}
)

// strs is a column of strings; it lies in a slice of an array.
func (b *bench) strs(values ...string) arrow.Array {
	build := array.NewStringBuilder(b.mem)
	defer build.Release()
	build.Append("before")
	build.AppendValues(values, nil)
	return b.cut(build.NewArray())
}

func (b *bench) ints(values ...int64) arrow.Array {
	build := array.NewInt64Builder(b.mem)
	defer build.Release()
	build.Append(99)
	build.AppendValues(values, nil)
	return b.cut(build.NewArray())
}

func (b *bench) days(values ...arrow.Date32) arrow.Array {
	build := array.NewDate32Builder(b.mem)
	defer build.Release()
	build.Append(99)
	build.AppendValues(values, nil)
	return b.cut(build.NewArray())
}

func (b *bench) times(values ...arrow.Timestamp) arrow.Array {
	build := array.NewTimestampBuilder(b.mem, timestamp)
	defer build.Release()
	build.Append(99)
	build.AppendValues(values, nil)
	return b.cut(build.NewArray())
}

// cut leaves out the first value.
func (b *bench) cut(a arrow.Array) arrow.Array {
	b.keep(a)
	return b.keep(array.NewSlice(a, 1, int64(a.Len())))
}

// apply gives the values of a function of columns, and the error of each row. An argument that is a
// string in Go is a constant.
func (b *bench) apply(name string, args ...any) (arrow.Array, []error) {
	out, failed, err := b.try(name, args...)
	require.NoError(b.t, err)
	return out, failed
}

func (b *bench) try(name string, args ...any) (arrow.Array, []error, error) {
	c := &function.Call{Mem: b.mem}
	var params []function.Param
	for _, a := range args {
		switch a := a.(type) {
		case string:
			c.Args = append(c.Args, function.Arg{Array: b.strs(a), Constant: true})
			params = append(params, function.Param{Type: arrow.BinaryTypes.String, Value: scalar.NewStringScalar(a)})
		case arrow.Array:
			c.Args, c.Rows = append(c.Args, function.Arg{Array: a}), a.Len()
			params = append(params, function.Param{Type: a.DataType()})
		}
	}
	f, err := function.Find(name, params)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range c.Args {
		require.True(b.t, arrow.TypeEqual(a.DataType(), f.Params[i]), "%s takes %s for %s", name, f.Params[i], a.DataType())
	}
	failed := make([]error, c.Rows)
	c.Fail = func(row int, err error) { failed[row] = err }
	out := b.keep(f.Eval(c))
	require.Equal(b.t, c.Rows, out.Len())
	require.True(b.t, arrow.TypeEqual(f.Result, out.DataType()))
	for row, err := range failed {
		require.True(b.t, err == nil || out.IsNull(row), "a row that failed is NULL")
	}
	return out, failed, nil
}

func intervalParam(i arrow.MonthDayNanoInterval) function.Param {
	return function.Param{Type: arrow.FixedWidthTypes.MonthDayNanoInterval, Value: scalar.NewMonthDayNanoIntervalScalar(i)}
}

// moved is one time moved by an interval.
func (b *bench) moved(name string, at arrow.Array, by arrow.MonthDayNanoInterval) string {
	f, err := function.Find(name, []function.Param{{Type: at.DataType()}, intervalParam(by)})
	require.NoError(b.t, err)
	build := array.NewMonthDayNanoIntervalBuilder(b.mem)
	defer build.Release()
	build.Append(by)
	c := &function.Call{Mem: b.mem, Rows: 1, Args: []function.Arg{{Array: at}, {Array: b.keep(build.NewArray()), Constant: true}}}
	c.Fail = func(_ int, err error) { require.NoError(b.t, err) }
	return expr.FormatTimestamp(b.keep(f.Eval(c)).(*array.Timestamp).Value(0))
}

// texts are the values of strings; "NULL" and "!" stand for NULL and an error.
func texts(out arrow.Array, failed []error) []string {
	values := make([]string, out.Len())
	for i := range values {
		switch {
		case failed[i] != nil:
			values[i] = "!"
		case out.IsNull(i):
			values[i] = "NULL"
		default:
			values[i] = out.ValueStr(i)
		}
	}
	return values
}

// A value that a function puts together is bounded, whatever the arguments are.
func TestValuesAreBounded(t *testing.T) {
	b := newBench(t)
	defer b.close()
	long := b.strs(string(make([]byte, 16<<20)), "b")
	for name, args := range map[string][]any{
		"concat": {long, long}, "concat_ws": {"-", long, long}, "repeat": {long, b.ints(2, 2)}, "lpad": {long, b.ints(17<<20, 1)},
		"rpad": {long, b.ints(17<<20, 1)}, "replace": {long, "\x00", "ab"}, "overlay": {long, long, b.ints(2, 1)},
	} {
		_, failed := b.apply(name, args...)
		require.ErrorContains(t, failed[0], "makes a value of more than 16 MiB, which is the most", name)
		require.NoError(t, failed[1], name)
	}
}
