package pred

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
	"github.com/idemtable/idem/internal/rows"
)

// calc is a computation of values. It is evaluated over all rows of a batch, whether or not a row
// needs the value: errors are failures beside the values until one is needed.
type calc interface {
	// eval gives a value a row, or a constant, which the caller releases. The value of a row that
	// failed, or that m.live excludes, means nothing.
	eval(m *machine) (function.Arg, failures)

	// operands visits the columns that the values are made of.
	operands(visit func(*operand))
}

// fixedCalc is a constant: one value, of memory that nobody releases.
type fixedCalc struct{ arr arrow.Array }

func (c fixedCalc) operands(func(*operand)) {}

func (c fixedCalc) eval(*machine) (function.Arg, failures) {
	c.arr.Retain()
	return function.Arg{Array: c.arr, Constant: true}, nil
}

// operandCalc is the values of a column as they are stored, or those of a computed operand that
// has several uses.
type operandCalc struct{ op *operand }

func (c operandCalc) operands(visit func(*operand)) { c.op.operands(visit) }

func (op *operand) operands(visit func(*operand)) {
	if op.calc != nil {
		op.calc.operands(visit)
		return
	}
	visit(op)
}

func (c operandCalc) eval(m *machine) (function.Arg, failures) {
	if c.op.calc != nil {
		arr, errs := m.compute(c.op)
		return function.Arg{Array: arr}, errs
	}
	if m.live == nil && len(c.op.fields) == 0 {
		arr := m.columns[c.op.column]
		arr.Retain()
		return function.Arg{Array: arr}, nil
	}
	arr, valid := m.stored(c.op)
	if m.live != nil {
		valid = m.join(valid, m.live)
	}
	if valid == nil {
		arr.Retain()
		return function.Arg{Array: arr}, nil
	}
	defer m.give(valid)
	return function.Arg{Array: withValidity(m.mem, arr, valid)}, nil
}

// withValidity is an array with other NULLs: those where a row has no bit.
func withValidity(mem memory.Allocator, arr arrow.Array, valid []byte) arrow.Array {
	if arr.DataType().ID() == arrow.NULL {
		arr.Retain()
		return arr
	}
	old := arr.Data()
	bits := memory.NewResizableBuffer(mem)
	defer bits.Release()
	bits.Resize(int(bitutil.BytesForBits(int64(old.Offset() + old.Len()))))
	clear(bits.Bytes())
	bitutil.CopyBitmap(valid, 0, old.Len(), bits.Bytes(), old.Offset())
	buffers := append([]*memory.Buffer{bits}, old.Buffers()[1:]...)
	nulls := old.Len() - bitutil.CountSetBits(valid, 0, old.Len())
	data := array.NewData(arr.DataType(), old.Len(), buffers, old.Children(), nulls, old.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// truthCalc is a condition as a value.
type truthCalc struct{ node node }

func (c truthCalc) operands(visit func(*operand)) { c.node.operands(visit) }

func (c truthCalc) eval(m *machine) (function.Arg, failures) {
	r := c.node.eval(m)
	errs := r.errs
	return function.Arg{Array: m.result(r)}, errs
}

// callCalc applies a function. at is the part of the expression that its errors are about.
type callCalc struct {
	at   expr.Expr
	name string
	fn   *function.Function
	args []calc

	// nullStops says that behind an argument that is NULL no other is evaluated, so that its errors
	// do not matter: so it is with operators.
	nullStops bool

	rightFirst bool // the last argument is evaluated first
}

func (c *callCalc) operands(visit func(*operand)) {
	for _, a := range c.args {
		a.operands(visit)
	}
}

func (c *callCalc) eval(m *machine) (function.Arg, failures) {
	args, errs, constant := m.arguments(c)
	defer func() {
		for _, a := range args {
			a.Release()
		}
	}()
	count := m.rows
	if constant {
		count = 1
	}
	var own failures
	result := c.fn.Eval(&function.Call{Mem: m.mem, Rows: count, Args: args, Fail: func(row int, err error) {
		own = append(own, failure{row, c.at, err})
	}})
	return function.Arg{Array: result, Constant: constant}, errs.and(own.sorted())
}

// arguments evaluates the arguments of a function, as if from left to right or from the right. They
// are constant if all are.
func (m *machine) arguments(c *callCalc) (args []function.Arg, errs failures, constant bool) {
	each := make([]failures, len(c.args))
	constant = true
	for i, a := range c.args {
		arg, e := a.eval(m)
		args, each[i] = append(args, arg), e
		constant = constant && arg.Constant
	}
	for n := range each {
		i, earlier := n, args[:n]
		if c.rightFirst {
			i = len(each) - 1 - n
			earlier = args[i+1:]
		}
		e := each[i]
		if args[i].Constant && !constant {
			e = e.spread(m.rows)
		}
		if c.nullStops {
			e = e.behindValues(earlier)
		}
		errs = errs.and(e)
	}
	return args, errs, constant
}

// behindValues are the failures in rows in which no earlier argument is NULL.
func (f failures) behindValues(earlier []function.Arg) failures {
	if len(f) == 0 || len(earlier) == 0 {
		return f
	}
	var kept failures
next:
	for _, x := range f {
		for _, a := range earlier {
			if isNullAt(a.Array, a.At(x.row)) {
				continue next
			}
		}
		kept = append(kept, x)
	}
	return kept
}

// isNullAt says whether a value is NULL, also in an array of the type null, which has no bits.
func isNullAt(arr arrow.Array, i int) bool { return arr.DataType().ID() == arrow.NULL || arr.IsNull(i) }

// compute evaluates a computed operand; a shared one once a batch, for all rows.
func (m *machine) compute(op *operand) (arrow.Array, failures) {
	if !op.shared {
		return m.spreadOut(op.calc.eval(m))
	}
	known, ok := m.memo[op]
	if !ok {
		live := m.live
		m.live = nil
		known.arr, known.errs = m.spreadOut(op.calc.eval(m))
		m.live = live
		if m.memo == nil {
			m.memo = map[*operand]computed{}
		}
		m.memo[op] = known
	}
	known.arr.Retain()
	return known.arr, known.errs
}

// computed is what a shared operand came to.
type computed struct {
	arr  arrow.Array
	errs failures
}

// spreadOut gives a constant to each row. It takes the argument over.
func (m *machine) spreadOut(a function.Arg, errs failures) (arrow.Array, failures) {
	if !a.Constant {
		return a.Array, errs
	}
	defer a.Release()
	return m.choose(a.DataType(), []function.Arg{a}, make([]int32, m.rows)), errs.spread(m.rows)
}

// choose gives for each row the value of one of several arguments of one type; -1 chooses NULL.
func (m *machine) choose(t arrow.DataType, from []function.Arg, which []int32) arrow.Array {
	index := make([]int32, len(which))
	arrays := make([]arrow.Array, len(from))
	for i, a := range from {
		arrays[i] = a.Array
	}
	for row, w := range which {
		index[row] = int32(row)
		switch {
		case w < 0:
			which[row], index[row] = 0, -1
		case from[w].Constant:
			index[row] = 0
		}
	}
	return m.gather(t, arrays, which, index)
}

func (m *machine) gather(t arrow.DataType, from []arrow.Array, which, index []int32) arrow.Array {
	if len(from) == 0 {
		return array.MakeArrayOfNull(m.mem, t, len(which))
	}
	schema := arrow.NewSchema([]arrow.Field{{Type: t, Nullable: true}}, nil)
	batches := make([]arrow.RecordBatch, len(from))
	for i, a := range from {
		batches[i] = array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len()))
		defer batches[i].Release()
	}
	taken, err := rows.TakeFrom(m.mem, batches, which, index)
	if err != nil { // more bytes than an array holds
		m.err = err
		return array.MakeArrayOfNull(m.mem, t, len(which))
	}
	defer taken.Release()
	taken.Column(0).Retain()
	return taken.Column(0)
}
