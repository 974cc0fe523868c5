package function_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// The files under testdata/spark are what Spark 4.1 answers, in ANSI mode and with UTC as the zone of
// the session: an expression, its type, and its value as CAST AS STRING writes it and JSON quotes it;
// a ! instead of a type is an error. Every expression is evaluated with constants and with columns.

func TestTextAsSpark(t *testing.T) { asSpark(t, "text") }

func TestLikeAsSpark(t *testing.T) { asSpark(t, "like") }

func TestTimesAsSpark(t *testing.T) { asSpark(t, "time") }

func TestIntervalsAsSpark(t *testing.T) { asSpark(t, "interval") }

func TestNestedAsSpark(t *testing.T) { asSpark(t, "nested") }

// answer evaluates an expression and gives type and value as the files have them, or ! and the error.
func answer(t *testing.T, text string, constants bool) (typ, value string) {
	e, err := expr.Parse(text)
	require.NoError(t, err)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	v := &evaluation{mem: mem, constants: constants}
	defer v.release()
	got, err := v.value(e)
	if err != nil {
		return "!", err.Error()
	}
	return strings.ReplaceAll(strings.ToLower(typeWord(got.DataType())), ", ", ","), v.shown(got)
}

// evaluation is a tree evaluated by the functions of this package. Each value is an array of one.
type evaluation struct {
	mem       memory.Allocator
	constants bool
	made      []arrow.Array
}

func (v *evaluation) keep(a arrow.Array) arrow.Array {
	v.made = append(v.made, a)
	return a
}

func (v *evaluation) release() {
	for _, a := range v.made {
		a.Release()
	}
}

func (v *evaluation) value(e expr.Expr) (arrow.Array, error) {
	switch e := e.(type) {
	case *expr.Literal:
		if e.Value == nil {
			return v.keep(array.NewNull(1)), nil
		}
		b := array.NewBuilder(v.mem, e.Value.DataType())
		defer b.Release()
		err := scalar.Append(b, e.Value)
		return v.keep(b.NewArray()), err
	case *expr.Cast:
		x, err := v.value(e.X)
		if err != nil {
			return nil, err
		}
		return v.cast(x, e.To)
	case *expr.Binary:
		names := map[expr.Op]string{expr.Add: "+", expr.Sub: "-", expr.Mul: "*", expr.Div: "/", expr.IntDiv: "div", expr.Mod: "%"}
		return v.call(names[e.Op], e.L, e.R)
	case *expr.Element:
		return v.call("element", e.X, e.Index)
	case *expr.Like:
		name, list := "like", []expr.Expr{e.X, e.Pattern}
		if e.Fold {
			name = "ilike"
		}
		if e.Escape != 0 {
			list = append(list, expr.Lit(string(e.Escape)))
		}
		return v.call(name, list...)
	case *expr.Call:
		switch strings.ToLower(e.Name) {
		case "array":
			return v.array(e.Args)
		case "map":
			return v.mapOf(e.Args)
		}
		return v.call(e.Name, e.Args...)
	}
	return nil, fmt.Errorf("%T is not evaluated here", e)
}

func (v *evaluation) values(list []expr.Expr) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(list))
	for i, e := range list {
		a, err := v.value(e)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

// call finds a function, converts its arguments as a caller does, and evaluates it in three rows; those
// of columns lie in slices of arrays, and the second is NULL.
func (v *evaluation) call(name string, list ...expr.Expr) (arrow.Array, error) {
	args, err := v.values(list)
	if err != nil {
		return nil, err
	}
	params := make([]function.Param, len(args))
	for i, a := range args {
		params[i].Type = a.DataType()
		_, literal := list[i].(*expr.Literal)
		params[i].Computed = !literal
		if a.DataType().ID() != arrow.NULL && a.DataType().ID() != arrow.LIST && a.DataType().ID() != arrow.MAP {
			if params[i].Value, err = scalar.GetScalar(a, 0); err != nil {
				return nil, err
			}
			if r, ok := params[i].Value.(scalar.Releasable); ok {
				defer r.Release()
			}
		}
	}
	f, err := function.Find(name, params)
	if err != nil {
		return nil, err
	}
	c := &function.Call{Mem: v.mem, Rows: 3}
	failed := make([]error, c.Rows)
	c.Fail = func(row int, err error) { failed[row] = errors.Join(failed[row], err) }
	for i, a := range args {
		if a, err = v.converted(a, f.Params[i]); err != nil {
			return nil, err
		}
		c.Args = append(c.Args, v.arg(a))
	}
	v.nothing(f)
	out := v.keep(f.Eval(c))
	return v.first(f, out, failed)
}

// nothing evaluates no rows.
func (v *evaluation) nothing(f *function.Function) {
	c := &function.Call{Mem: v.mem}
	for _, t := range f.Params {
		b := array.NewBuilder(v.mem, t)
		c.Args = append(c.Args, function.Arg{Array: v.keep(b.NewArray())})
		b.Release()
	}
	if out := v.keep(f.Eval(c)); out.Len() != 0 || !arrow.TypeEqual(out.DataType(), f.Result) {
		panic(fmt.Sprintf("%s gave %d rows of %s of none", f.Name, out.Len(), out.DataType()))
	}
}

// first checks that all rows agree, and gives one.
func (v *evaluation) first(f *function.Function, out arrow.Array, failed []error) (arrow.Array, error) {
	switch {
	case out.Len() != len(failed):
		panic(fmt.Sprintf("%s gave %d rows of %d", f.Name, out.Len(), len(failed)))
	case !arrow.TypeEqual(out.DataType(), f.Result):
		panic(fmt.Sprintf("%s gave %s, not %s", f.Name, out.DataType(), f.Result))
	}
	for row, err := range failed {
		if err != nil && out.IsValid(row) {
			panic(f.Name + " failed a row and gave a value")
		}
	}
	if a, b := out.ValueStr(0), out.ValueStr(2); a != b || (failed[0] == nil) != (failed[2] == nil) {
		panic(fmt.Sprintf("%s gave %s and %s for the same arguments", f.Name, a, b))
	}
	return v.keep(array.NewSlice(out, 2, 3)), failed[2]
}

// arg is an argument of three rows.
func (v *evaluation) arg(a arrow.Array) function.Arg {
	if v.constants {
		return function.Arg{Array: a, Constant: true}
	}
	null := v.keep(array.MakeArrayOfNull(v.mem, a.DataType(), 1))
	all, err := array.Concatenate([]arrow.Array{null, a, null, a, null}, v.mem)
	if err != nil {
		panic(err)
	}
	v.keep(all)
	return function.Arg{Array: v.keep(array.NewSlice(all, 1, 4))}
}

// converted is an argument as a function takes it.
func (v *evaluation) converted(a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	from := a.DataType()
	switch {
	case arrow.TypeEqual(from, to):
		return a, nil
	case from.ID() == arrow.NULL:
		return v.keep(array.MakeArrayOfNull(v.mem, to, 1)), nil
	case from.ID() == arrow.STRING || function.Implicit(from, to):
		return v.cast(a, to)
	}
	panic(fmt.Sprintf("%s is not taken for %s", from, to))
}

func (v *evaluation) cast(a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if a.DataType().ID() == arrow.BINARY && to.ID() == arrow.STRING { // also what is no UTF-8
		b := array.NewStringBuilder(v.mem)
		defer b.Release()
		b.Append(string(a.(*array.Binary).Value(0)))
		return v.keep(b.NewArray()), nil
	}
	f, err := function.Cast(a.DataType(), to)
	if err != nil {
		return nil, err
	}
	var failed error
	c := &function.Call{Mem: v.mem, Rows: 1, Args: []function.Arg{{Array: a}}, Fail: func(_ int, err error) { failed = err }}
	return v.keep(f.Eval(c)), failed
}

// joined casts values to their common type and joins them.
func (v *evaluation) joined(list []arrow.Array) (arrow.Array, error) {
	types := []arrow.DataType{arrow.Null}
	for _, a := range list {
		types = append(types, a.DataType())
	}
	t, err := function.Common(types...)
	if err != nil || len(list) == 0 {
		return v.keep(array.MakeArrayOfNull(v.mem, t, 0)), err
	}
	for i, a := range list {
		if list[i], err = v.cast(a, t); err != nil {
			return nil, err
		}
	}
	a, err := array.Concatenate(list, v.mem)
	return v.keep(a), err
}

// array is array(…); map is below.
func (v *evaluation) array(list []expr.Expr) (arrow.Array, error) {
	args, err := v.values(list)
	if err != nil {
		return nil, err
	}
	values, err := v.joined(args)
	if err != nil {
		return nil, err
	}
	return v.nested(arrow.ListOf(values.DataType()), values), nil
}

func (v *evaluation) mapOf(list []expr.Expr) (arrow.Array, error) {
	args, err := v.values(list)
	if err != nil {
		return nil, err
	}
	var keys, items []arrow.Array
	for i := 0; i < len(args); i += 2 {
		keys, items = append(keys, args[i]), append(items, args[i+1])
	}
	key, err := v.joined(keys)
	if err != nil {
		return nil, err
	}
	item, err := v.joined(items)
	if err != nil {
		return nil, err
	}
	t := arrow.MapOf(key.DataType(), item.DataType())
	entries := array.NewData(t.Elem(), key.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{key.Data(), item.Data()}, 0, 0)
	defer entries.Release()
	return v.nested(t, v.keep(array.MakeFromData(entries))), nil
}

// nested is one array, or one map, of elements.
func (v *evaluation) nested(t arrow.DataType, elements arrow.Array) arrow.Array {
	offsets := memory.NewResizableBuffer(v.mem)
	defer offsets.Release()
	offsets.Resize(8)
	copy(arrow.Int32Traits.CastFromBytes(offsets.Bytes()), []int32{0, int32(elements.Len())})
	data := array.NewData(t, 1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{elements.Data()}, 0, 0)
	defer data.Release()
	return v.keep(array.MakeFromData(data))
}

// typeWord is a type as Spark's typeof has it.
func typeWord(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.ListType:
		return "array<" + typeWord(t.Elem()) + ">"
	case *arrow.NullType:
		return "void"
	}
	return expr.TypeName(t)
}

// shown is the value of a row as the files have it.
func (v *evaluation) shown(a arrow.Array) string {
	if a.IsNull(0) {
		return "NULL"
	}
	if b, ok := a.(*array.Binary); ok {
		return fmt.Sprintf("X'%X'", b.Value(0))
	}
	return quote(v.text(a, 0))
}

// text is a value as CAST AS STRING writes it.
func (v *evaluation) text(a arrow.Array, row int) string {
	if a.IsNull(row) {
		return "null"
	}
	if l, ok := a.(*array.List); ok {
		var parts []string
		start, end := l.ValueOffsets(row)
		for i := start; i < end; i++ {
			parts = append(parts, v.text(l.ListValues(), int(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	text, err := v.cast(v.keep(array.NewSlice(a, int64(row), int64(row)+1)), arrow.BinaryTypes.String)
	if err != nil {
		panic(err)
	}
	return text.(*array.String).Value(0)
}

// quote quotes as JSON does.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strings.ContainsRune("\n\t\r\b\f", r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		case r < 0x20:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
