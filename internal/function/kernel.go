package function

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta/expr"
)

// fixed are the Go types of values with a fixed width: also dates and timestamps, which are integers.
type fixed interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64 | decimal128.Num
}

// errNull makes a row NULL without an error.
var errNull = errors.New("NULL")

// nulls are the rows of a result that are NULL: those where an argument is, and those that failed.
type nulls struct {
	c     *Call
	valid *memory.Buffer // a bit a row; nil while no row is NULL
	count int
}

// nullsOf are the rows in which one of the arguments is NULL.
func nullsOf(c *Call, args ...Arg) *nulls {
	n := &nulls{c: c}
	for _, a := range args {
		n.add(a)
	}
	return n
}

func (n *nulls) add(a Arg) {
	switch {
	case a.DataType().ID() == arrow.NULL || a.Constant && a.IsNull(0):
		bitutil.SetBitsTo(n.bits(), 0, int64(n.c.Rows), false)
	case a.Constant || a.NullN() == 0:
		return
	default:
		bits := n.bits()
		bitutil.BitmapAnd(bits, a.NullBitmapBytes(), 0, int64(a.Data().Offset()), bits, 0, int64(n.c.Rows))
	}
	n.count = n.c.Rows - bitutil.CountSetBits(n.bits(), 0, n.c.Rows)
}

// bits are a bit a row, set where the row is not NULL.
func (n *nulls) bits() []byte {
	if n.valid == nil {
		n.valid = newBuffer(n.c, int(bitutil.BytesForBits(int64(n.c.Rows))))
		clear(n.valid.Bytes())
		bitutil.SetBitsTo(n.valid.Bytes(), 0, int64(n.c.Rows), true)
	}
	return n.valid.Bytes()
}

func (n *nulls) at(row int) bool {
	return n.valid != nil && bitutil.BitIsNotSet(n.valid.Bytes(), row)
}

// set makes a row NULL.
func (n *nulls) set(row int) {
	if !n.at(row) {
		bitutil.ClearBit(n.bits(), row)
		n.count++
	}
}

// fail makes a row NULL and reports why, but for errNull.
func (n *nulls) fail(row int, err error) {
	n.set(row)
	if err != errNull {
		n.c.Fail(row, err)
	}
}

// release gives the memory back, of nulls that no array is made of.
func (n *nulls) release() {
	if n.valid != nil {
		n.valid.Release()
	}
}

// array makes the result of the buffers behind the bits of its valid rows. It takes the buffers over, and
// the nulls with them.
func (n *nulls) array(t arrow.DataType, buffers ...*memory.Buffer) arrow.Array {
	all := append([]*memory.Buffer{n.valid}, buffers...)
	data := array.NewData(t, n.c.Rows, all, nil, n.count, 0)
	defer data.Release()
	for _, b := range all {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}

func newBuffer(c *Call, size int) *memory.Buffer {
	b := memory.NewResizableBuffer(c.Mem)
	b.Resize(size)
	return b
}

// newValues is memory for a value a row; the values are not set.
func newValues[T fixed](c *Call) ([]T, *memory.Buffer) {
	b := newBuffer(c, c.Rows*int(reflect.TypeFor[T]().Size()))
	return arrow.GetData[T](b.Bytes()), b
}

// column is the values of an argument with a fixed width.
type column[T fixed] struct {
	values []T
	step   int // from row to row: 0 in a constant
}

// columnOf is the values of an argument, whose type has to be one of those that T is the Go type of.
func columnOf[T fixed](a Arg) column[T] {
	v := column[T]{values: arrow.GetValues[T](a.Data(), 1), step: 1}
	if a.Constant {
		v.step = 0
	}
	return v
}

func (v column[T]) at(row int) T { return v.values[row*v.step] }

// fault is what is wrong with the operands of a row, which its error shows before it.
type fault string

func (f fault) Error() string { return string(f) }

const (
	overflow fault = "does not fit into"
	byZero   fault = "divides by zero"
)

// map1 computes a value with a fixed width of each that is not NULL. Where f gives an error the row
// fails with what explain makes of it; a nil explain takes it as it is.
func map1[A, R fixed](c *Call, t arrow.DataType, f func(A) (R, error), explain func(row int, err error) error) arrow.Array {
	n := nullsOf(c, c.Args[0])
	out, buffer := newValues[R](c)
	a := columnOf[A](c.Args[0])
	var zero R
	for row := range out {
		if n.at(row) {
			out[row] = zero
			continue
		}
		v, err := f(a.at(row))
		if err != nil {
			v = zero
			n.explain(row, err, explain)
		}
		out[row] = v
	}
	return n.array(t, buffer)
}

// map2 is map1 of two operands.
func map2[A, B, R fixed](c *Call, t arrow.DataType, f func(A, B) (R, error), explain func(row int, err error) error) arrow.Array {
	return mapColumns(nullsOf(c, c.Args[0], c.Args[1]), t, columnOf[A](c.Args[0]), columnOf[B](c.Args[1]), f, explain)
}

// mapColumns is map2 of columns; it takes n over.
func mapColumns[A, B, R fixed](n *nulls, t arrow.DataType, a column[A], b column[B], f func(A, B) (R, error), explain func(row int, err error) error) arrow.Array {
	out, buffer := newValues[R](n.c)
	var zero R
	for row := range out {
		if n.at(row) {
			out[row] = zero
			continue
		}
		v, err := f(a.at(row), b.at(row))
		if err != nil {
			v = zero
			n.explain(row, err, explain)
		}
		out[row] = v
	}
	return n.array(t, buffer)
}

func (n *nulls) explain(row int, err error, explain func(row int, err error) error) {
	if explain != nil && err != errNull {
		err = explain(row, err)
	}
	n.fail(row, err)
}

// buildFixed makes a value with a fixed width of each row that is not NULL. An error of f fails the row,
// errNull makes it NULL. It takes n over, as all builders do.
func buildFixed[R fixed](n *nulls, t arrow.DataType, f func(row int) (R, error)) arrow.Array {
	out, buffer := newValues[R](n.c)
	var zero R
	for row := range out {
		out[row] = zero
		if n.at(row) {
			continue
		}
		v, err := f(row)
		if err != nil {
			n.fail(row, err)
			continue
		}
		out[row] = v
	}
	return n.array(t, buffer)
}

// buildBool makes a boolean of each row that is not NULL.
func buildBool(n *nulls, f func(row int) (bool, error)) arrow.Array {
	buffer := newBuffer(n.c, int(bitutil.BytesForBits(int64(n.c.Rows))))
	bits := buffer.Bytes()
	clear(bits)
	for row := range n.c.Rows {
		if n.at(row) {
			continue
		}
		v, err := f(row)
		if err != nil {
			n.fail(row, err)
			continue
		}
		if v {
			bitutil.SetBit(bits, row)
		}
	}
	return n.array(arrow.FixedWidthTypes.Boolean, buffer)
}

var errTooMuchText = errors.New("the texts of these rows need more than 2 GiB together: give fewer rows at once")

// buildText makes a string or a binary of each row that is not NULL: f appends it to dst and gives
// what it got. dst is empty, and used again for the next row.
func buildText(n *nulls, t arrow.DataType, f func(dst []byte, row int) ([]byte, error)) arrow.Array {
	offsets := newBuffer(n.c, (n.c.Rows+1)*4)
	ends := arrow.GetData[int32](offsets.Bytes())
	ends[0] = 0
	data := newBuffer(n.c, 0)
	var dst []byte
	var err error
	size := 0
	for row := range n.c.Rows {
		ends[row+1] = int32(size)
		if n.at(row) {
			continue
		}
		if dst, err = f(dst[:0], row); err == nil && len(dst) > math.MaxInt32-size {
			err = errTooMuchText
		}
		if err != nil {
			n.fail(row, err)
			continue
		}
		if need := size + len(dst); need > data.Len() {
			data.Resize(max(need, data.Len()+data.Len()/2, 1024))
		}
		size += copy(data.Bytes()[size:], dst)
		ends[row+1] = int32(size)
	}
	data.ResizeNoShrink(size)
	return n.array(t, offsets, data)
}

// allNull is a NULL a row.
func allNull(c *Call, t arrow.DataType) arrow.Array { return array.MakeArrayOfNull(c.Mem, t, c.Rows) }

// same is the argument as it is, with a value a row.
func same(c *Call) arrow.Array {
	a := c.Args[0]
	if a.Constant {
		return broadcast(c, a.Array)
	}
	a.Retain()
	return a.Array
}

// broadcast repeats the one value of an array in each row.
func broadcast(c *Call, one arrow.Array) arrow.Array {
	if one.IsNull(0) {
		return allNull(c, one.DataType())
	}
	all := array.NewSlice(one, 0, int64(min(c.Rows, 1)))
	for all.Len() < c.Rows {
		more := array.NewSlice(all, 0, int64(min(all.Len(), c.Rows-all.Len())))
		twice, err := array.Concatenate([]arrow.Array{all, more}, c.Mem)
		more.Release()
		all.Release()
		if err != nil {
			for row := range c.Rows {
				c.Fail(row, errTooMuchText)
			}
			return allNull(c, one.DataType())
		}
		all = twice
	}
	return all
}

// text is the values of a column of strings or binaries, which are not copied: they live as long as
// the array.
type text interface{ Value(i int) string }

type binaryText struct{ *array.Binary }

func (b binaryText) Value(i int) string { return b.ValueString(i) }

// textOf is the values of a string or a binary.
func textOf(a Arg) text {
	if b, ok := a.Array.(*array.Binary); ok {
		return binaryText{b}
	}
	return a.Array.(*array.String)
}

// shown is a value as error texts show it: strings in quotes, cut after 60 characters.
func shown(a Arg, row int) string {
	at := a.At(row)
	if a.DataType().ID() == arrow.NULL || a.IsNull(at) {
		return "NULL"
	}
	switch v := a.Array.(type) {
	case *array.String:
		return shownText(v.Value(at))
	case *array.Binary:
		return fmt.Sprintf("X'%.30x'", v.Value(at))
	case *array.Date32:
		return expr.FormatDate(v.Value(at))
	case *array.Timestamp:
		return expr.FormatTimestamp(v.Value(at))
	case *array.Decimal128:
		return string(appendDecimal(nil, v.Value(at), v.DataType().(*arrow.Decimal128Type).Scale))
	case *array.Float32:
		return string(appendFloat(nil, float64(v.Value(at)), 32))
	case *array.Float64:
		return string(appendFloat(nil, v.Value(at), 64))
	}
	return a.ValueStr(at)
}

// shownText is a string in quotes, cut after 60 characters.
func shownText(s string) string {
	const most = 60
	for at, count := 0, 0; at < len(s); count++ {
		if count == most {
			return strconv.Quote(s[:at]) + "…"
		}
		for at++; at < len(s) && s[at]&0xC0 == 0x80; at++ {
		}
	}
	return strconv.Quote(s)
}
