package pred

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// member binds (x).name. A field of a column is a column.
func (b *binder) member(e *expr.Member) (term, error) {
	x, err := b.bare(e.X)
	if err != nil {
		return term{}, err
	}
	t, ok := x.data().(*arrow.StructType)
	switch {
	case delta.IsVariant(t):
		return term{}, refuse(e, "%s is a variant, into which a condition cannot look", e.X)
	case !ok:
		return term{}, refuse(e, "%s is %s and has no fields", e.X, expr.TypeName(x.data()))
	}
	i, err := find(t.Fields(), e.Name)
	if err != nil {
		return term{}, refuse(e, "%v", err)
	}
	f := t.Field(i)
	if x.op != nil && x.op.calc == nil {
		op := &operand{column: x.op.column}
		op.path = append(append(op.path, x.op.path...), f.Name)
		op.fields = append(append(op.fields, x.op.fields...), i)
		return columnTerm(e, op, f.Type), nil
	}
	c, err := x.calc()
	if err != nil {
		return term{}, err
	}
	return computedTerm(e, &memberCalc{x: c, field: i}, f.Type)
}

// memberCalc is a field of computed structs.
type memberCalc struct {
	x     calc
	field int
}

func (c *memberCalc) operands(visit func(*operand)) { c.x.operands(visit) }

func (c *memberCalc) eval(m *machine) (function.Arg, failures) {
	arg, errs := c.x.eval(m)
	defer arg.Release()
	field := arg.Array.(*array.Struct).Field(c.field)
	if arg.NullN() == 0 {
		field.Retain()
		return function.Arg{Array: field, Constant: arg.Constant}, errs
	}
	inner := newMachine(m.mem, arg.Len())
	defer inner.close()
	valid := inner.valid(field, inner.valid(arg.Array, nil))
	return function.Arg{Array: withValidity(m.mem, field, valid), Constant: arg.Constant}, errs
}
