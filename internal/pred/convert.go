package pred

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// calc is a term as a computation of its type.
func (t term) calc() (calc, error) {
	switch {
	case t.op == nil && t.node == nil:
		return fixedCalc{t.constant.array(t.of)}, nil
	case t.op == nil:
		return truthCalc{t.node}, nil
	case t.op.calc != nil && !t.op.shared:
		return t.op.calc, nil
	case arrow.TypeEqual(t.op.base, t.op.data):
		return operandCalc{t.op}, nil
	}
	return castCalc(t.expr, operandCalc{t.op}, t.op.base, t.op.data)
}

// computedTerm makes a term of a computation. One without columns is made a constant, unless it fails:
// then its error is that of the rows that need it.
func computedTerm(e expr.Expr, c calc, t arrow.DataType) (term, error) {
	if arr, ok := known(c); ok {
		return constantTerm(e, arr)
	}
	op := &operand{calc: c}
	op.is(t)
	return ofOperand(e, op), nil
}

// known is the value of a computation without columns, as an array of one, unless it fails.
func known(c calc) (arr arrow.Array, ok bool) {
	if varies(c.operands) {
		return nil, false
	}
	m := newMachine(memory.DefaultAllocator, 1)
	defer m.close()
	v, errs := c.eval(m)
	return v.Array, len(errs) == 0 && m.err == nil
}

// varies tells whether there are columns among operands.
func varies(operands func(visit func(*operand))) bool {
	found := false
	operands(func(*operand) { found = true })
	return found
}

// settled decides a condition without columns, unless it fails.
func settled(n node) node {
	if varies(n.operands) {
		return n
	}
	m := newMachine(memory.DefaultAllocator, 1)
	defer m.close()
	r := n.eval(m)
	if len(r.errs) > 0 || m.err != nil {
		return n
	}
	return constant{r.at(0)}
}

// at is the truth of a row.
func (r mask) at(row int) truth {
	switch {
	case r.t[row/8]>>(row%8)&1 == 1:
		return yes
	case r.f[row/8]>>(row%8)&1 == 1:
		return no
	}
	return null
}

// constantTerm makes a term of a constant of any type.
func constantTerm(e expr.Expr, arr arrow.Array) (term, error) {
	s, err := scalar.GetScalar(arr, 0)
	if err != nil {
		return term{}, refuse(e, "%v", err)
	}
	if v, err := datumOf(s); err == nil {
		return term{expr: e, constant: &v, of: arr.DataType()}, nil
	}
	return fixedTerm(e, arr), nil
}

// fixedTerm makes a term of a constant of a type that is not compared.
func fixedTerm(e expr.Expr, arr arrow.Array) term {
	op := &operand{calc: fixedCalc{arr}}
	op.is(arr.DataType())
	return term{expr: e, op: op}
}

// array is a constant as an array of one value.
func (v datum) array(t arrow.DataType) arrow.Array {
	if v.kind == kindNull {
		return array.MakeArrayOfNull(memory.DefaultAllocator, t, 1) // a variant has no builder that makes one
	}
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	if err := scalar.Append(b, v.scalar(t)); err != nil {
		panic(err) // the scalar was made for the type
	}
	return b.NewArray()
}

// scalar is a constant as a scalar of its type, which is t.
func (v datum) scalar(t arrow.DataType) scalar.Scalar {
	switch v.kind {
	case kindBool:
		return scalar.NewBooleanScalar(v.i != 0)
	case kindInt:
		switch v.bits {
		case 8:
			return scalar.NewInt8Scalar(int8(v.i))
		case 16:
			return scalar.NewInt16Scalar(int16(v.i))
		case 32:
			return scalar.NewInt32Scalar(int32(v.i))
		}
		return scalar.NewInt64Scalar(v.i)
	case kindFloat:
		if v.bits == 32 {
			return scalar.NewFloat32Scalar(float32(v.f))
		}
		return scalar.NewFloat64Scalar(v.f)
	case kindDecimal:
		return scalar.NewDecimal128Scalar(v.d, t)
	case kindString:
		return scalar.NewStringScalar(v.s)
	case kindBinary:
		return scalar.NewBinaryScalar(memory.NewBufferBytes([]byte(v.s)), t)
	case kindDate:
		return scalar.NewDate32Scalar(arrow.Date32(v.i))
	case kindTimestamp, kindNTZ:
		return scalar.NewTimestampScalar(arrow.Timestamp(v.i), t)
	}
	return scalar.MakeNullScalar(t)
}

// as converts a term to a type that a function takes or that values join in: what loses nothing,
// and a constant string that is a date, a timestamp or binary.
func (t term) as(to arrow.DataType) (calc, error) {
	from := t.data()
	switch {
	case arrow.TypeEqual(from, to):
		return t.calc()
	case t.isNull():
		return fixedCalc{t.constant.array(to)}, nil
	case t.constant != nil && t.constant.kind == kindString && takesText(typeOf(to)):
		v, err := readText(t.constant.s, typeOf(to))
		if err != nil {
			return nil, refuse(t.expr, "%v", err)
		}
		return fixedCalc{v.array(to)}, nil
	case function.Implicit(from, to):
		c, err := t.calc()
		if err != nil {
			return nil, err
		}
		return castCalc(t.expr, c, from, to)
	}
	return nil, refuse(t.expr, "%s is not taken for %s; CAST it", expr.TypeName(from), expr.TypeName(to))
}

// into converts a term to the type that it has in common with others, of which some digits may be
// lost.
func (t term) into(to arrow.DataType) (calc, error) {
	c, err := t.as(to)
	if err == nil || t.typ().kind == kindString {
		return c, err
	}
	if c, err = t.calc(); err != nil {
		return nil, err
	}
	return castCalc(t.expr, c, t.data(), to)
}

// takesText says whether a constant string is read as a value of a type that it meets.
func takesText(t sqlType) bool { return t.temporal() || t.kind == kindBinary }

// readText reads a constant string as a value of a type that takes one. Unlike a CAST it refuses what
// would lose something of it in silence, such as the hour of a day.
func readText(s string, to sqlType) (datum, error) {
	v := datum{sqlType: to}
	var err error
	switch to.kind {
	case kindBinary:
		v.s = s
	case kindDate:
		var d arrow.Date32
		d, err = expr.ParseDate(s)
		v.i = int64(d)
	default:
		var t arrow.Timestamp
		var zoned bool
		t, zoned, err = expr.ParseTimestamp(s)
		if err == nil && zoned && to.kind == kindNTZ {
			err = fmt.Errorf("%.60q has a zone, a TIMESTAMP_NTZ has none", s)
		}
		v.i = int64(t)
	}
	return v, err
}

// stored converts a term to the type of the column that it is stored in.
func (t term) stored(to arrow.DataType) (calc, error) {
	if typeOf(t.data()).numeric() && typeOf(to).numeric() && !t.isNull() {
		c, err := t.calc()
		if err != nil || arrow.TypeEqual(t.data(), to) {
			return c, err
		}
		return castCalc(t.expr, c, t.data(), to)
	}
	return t.as(to)
}

// castCalc converts values.
func castCalc(e expr.Expr, c calc, from, to arrow.DataType) (calc, error) {
	fn, err := function.Cast(from, to)
	if err != nil {
		return nil, refuse(e, "%v", err)
	}
	call := &callCalc{at: e, name: "cast", fn: fn, args: []calc{c}}
	if arr, ok := known(call); ok {
		return fixedCalc{arr}, nil
	}
	return call, nil
}
