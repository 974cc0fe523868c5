package pred

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
	"github.com/idemtable/idem/internal/rows"
)

// member binds (x).name. A field of a column is a column.
func (b *binder) member(e *expr.Member) (term, error) {
	x, err := b.term(e.X)
	if err != nil {
		return term{}, err
	}
	t, ok := x.data().(*arrow.StructType)
	if !ok {
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
	c, err := b.calc(x)
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

// element binds x[i]: an element of an array by its place from 0, the value of a map by its key.
func (b *binder) element(e *expr.Element) (term, error) {
	list, err := b.terms(e.X, e.Index)
	if err != nil {
		return term{}, err
	}
	c := &elementCalc{at: e}
	if c.x, err = b.calc(list[0]); err != nil {
		return term{}, err
	}
	var item arrow.DataType
	switch t := list[0].data().(type) {
	case *arrow.ListType:
		if k := list[1].typ().kind; k != kindInt && k != kindNull {
			return term{}, refuse(e.Index, "the place of an element is a whole number, this is %s", expr.TypeName(list[1].data()))
		}
		item = t.Elem()
		if list[1].isNull() {
			list[1].of = arrow.PrimitiveTypes.Int64
		}
		c.index, err = b.calc(list[1])
	case *arrow.MapType:
		item = t.ItemType()
		c.index, err = b.as(list[1], t.KeyType())
	default:
		return term{}, refuse(e, "%s is %s, which has no elements", e.X, expr.TypeName(list[0].data()))
	}
	if err != nil {
		return term{}, err
	}
	c.item = item
	return computedTerm(e, c, item)
}

// elementCalc takes an element of each row. A place beyond an array is an error, a key that a map
// lacks gives NULL, as in Spark.
type elementCalc struct {
	at       expr.Expr
	x, index calc
	item     arrow.DataType
}

func (c *elementCalc) operands(visit func(*operand)) {
	c.x.operands(visit)
	c.index.operands(visit)
}

func (c *elementCalc) eval(m *machine) (function.Arg, failures) {
	args, errs, constant := m.arguments(&callCalc{args: []calc{c.x, c.index}, nullStops: true})
	defer func() {
		for _, a := range args {
			a.Release()
		}
	}()
	if constant {
		errs = errs.spread(m.rows)
	}
	var own failures
	var items arrow.Array
	var places []int32
	switch x := args[0].Array.(type) {
	case *array.Map:
		items = x.Items()
		var err error
		if places, err = valuesOf(m.rows, args[0], x, args[1]); err != nil {
			m.err = err
		}
	case *array.List:
		items = x.ListValues()
		places = elementsOf(m.rows, args[0], x, args[1], func(row int, err error) {
			own = append(own, failure{row, c.at, err})
		})
	}
	return function.Arg{Array: m.take(c.item, items, places)}, errs.and(own)
}

// elementsOf are the places of elements among those of all rows, -1 for NULL.
func elementsOf(count int, list function.Arg, x *array.List, index function.Arg, fail func(int, error)) []int32 {
	places := make([]int32, count)
	for row := range places {
		places[row] = -1
		i, j := list.At(row), index.At(row)
		if x.IsNull(i) || isNullAt(index.Array, j) {
			continue
		}
		start, end := x.ValueOffsets(i)
		at := integerAt(index.Array, j)
		if at < 0 || at >= end-start {
			fail(row, fmt.Errorf("there is no element %d in an array of %d; they count from 0", at, end-start))
			continue
		}
		places[row] = int32(start + at)
	}
	return places
}

// integerAt is a whole number of any width.
func integerAt(arr arrow.Array, i int) int64 {
	switch a := arr.(type) {
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	}
	return arr.(*array.Int64).Value(i)
}

// valuesOf are the places of the values of keys among those of all rows, -1 for NULL.
func valuesOf(count int, maps function.Arg, x *array.Map, keys function.Arg) ([]int32, error) {
	same, err := rows.NewEquality([]arrow.Array{x.Keys()}, []arrow.Array{keys.Array})
	if err != nil {
		return nil, err
	}
	places := make([]int32, count)
	for row := range places {
		places[row] = -1
		i, j := maps.At(row), keys.At(row)
		if x.IsNull(i) || isNullAt(keys.Array, j) {
			continue
		}
		start, end := x.ValueOffsets(i)
		for at := start; at < end; at++ {
			if same.Equal(int(at), j) {
				places[row] = int32(at)
				break
			}
		}
	}
	return places, nil
}
