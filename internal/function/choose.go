package function

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// extreme resolves greatest and least: of the arguments that are not NULL, in the type that they have
// in common. NaN is the greatest; of equal values, as -0.0 and 0.0 are, the first is taken.
func extreme(greatest bool) resolver {
	return func(name string, args []Param) (*Function, error) {
		if len(args) < 2 {
			return nil, fmt.Errorf("%s takes 2 arguments or more; %s", name, given(len(args)))
		}
		fn := &Function{Name: name, Params: make([]arrow.DataType, len(args))}
		types := make([]arrow.DataType, len(args))
		for i, a := range args {
			types[i] = a.Type
		}
		t, err := Common(types...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i := range args {
			fn.Params[i] = t
		}
		fn.Result = t
		if fn.Eval = extremeEval(t, greatest); fn.Eval == nil {
			return nil, fmt.Errorf("%s: values of the type %s have no order", name, sqlName(t))
		}
		return fn, nil
	}
}

func extremeEval(t arrow.DataType, greatest bool) func(*Call) arrow.Array {
	switch t.ID() {
	case arrow.NULL:
		return func(c *Call) arrow.Array { return allNull(c, t) }
	case arrow.INT8:
		return extremeOf(t, greatest, lessInt[int8])
	case arrow.INT16:
		return extremeOf(t, greatest, lessInt[int16])
	case arrow.INT32, arrow.DATE32:
		return extremeOf(t, greatest, lessInt[int32])
	case arrow.INT64, arrow.TIMESTAMP:
		return extremeOf(t, greatest, lessInt[int64])
	case arrow.FLOAT32:
		return extremeOf(t, greatest, lessFloat[float32])
	case arrow.FLOAT64:
		return extremeOf(t, greatest, lessFloat[float64])
	case arrow.DECIMAL128:
		return extremeOf(t, greatest, func(a, b decimal128.Num) bool { return a.Less(b) })
	case arrow.BOOL:
		return extremeBool(greatest)
	case arrow.STRING, arrow.BINARY:
		return extremeText(t, greatest)
	}
	return nil
}

func lessInt[T integer](a, b T) bool { return a < b }

func lessFloat[T float](a, b T) bool { return a < b || b != b && a == a }

// beats says whether v takes the place of best.
func beats[T any](greatest bool, less func(a, b T) bool, v, best T) bool {
	if greatest {
		return less(best, v)
	}
	return less(v, best)
}

func extremeOf[T fixed](t arrow.DataType, greatest bool, less func(a, b T) bool) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		columns, none := make([]column[T], len(c.Args)), make([]*nulls, len(c.Args))
		for i, a := range c.Args {
			columns[i], none[i] = columnOf[T](a), nullsOf(c, a)
			defer none[i].release()
		}
		return buildFixed(nullsOf(c), t, func(row int) (best T, err error) {
			err = errNull
			for i, v := range columns {
				if none[i].at(row) {
					continue
				}
				if v := v.at(row); err != nil || beats(greatest, less, v, best) {
					best, err = v, nil
				}
			}
			return best, err
		})
	}
}

func extremeBool(greatest bool) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		return buildBool(nullsOf(c), func(row int) (best bool, err error) {
			err = errNull
			for _, a := range c.Args {
				at := a.At(row)
				if a.IsNull(at) {
					continue
				}
				v := a.Array.(*array.Boolean).Value(at)
				if err != nil || v == greatest {
					best, err = v, nil
				}
			}
			return best, err
		})
	}
}

func extremeText(t arrow.DataType, greatest bool) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		texts := make([]text, len(c.Args))
		for i, a := range c.Args {
			texts[i] = textOf(a)
		}
		less := func(a, b string) bool { return a < b }
		return buildText(nullsOf(c), t, func(dst []byte, row int) ([]byte, error) {
			best, err := "", errNull
			for i, a := range c.Args {
				at := a.At(row)
				if a.IsNull(at) {
					continue
				}
				if v := texts[i].Value(at); err != nil || beats(greatest, less, v, best) {
					best, err = v, nil
				}
			}
			return append(dst, best...), err
		})
	}
}

// isNaN resolves isnan, which is FALSE of NULL.
func isNaN(name string, args []Param) (*Function, error) {
	types, err := numbers(name, args, 1)
	if err != nil {
		return nil, err
	}
	t := types[0]
	if t.ID() != arrow.FLOAT32 {
		t = arrow.PrimitiveTypes.Float64
	}
	fn := &Function{Name: name, Params: []arrow.DataType{t}, Result: arrow.FixedWidthTypes.Boolean}
	fn.Eval = func(c *Call) arrow.Array {
		a := c.Args[0]
		if t.ID() == arrow.FLOAT32 {
			return testNaN(c, columnOf[float32](a))
		}
		return testNaN(c, columnOf[float64](a))
	}
	return fn, nil
}

func testNaN[T float](c *Call, v column[T]) arrow.Array {
	a := c.Args[0]
	return buildBool(nullsOf(c), func(row int) (bool, error) {
		return !a.IsNull(a.At(row)) && math.IsNaN(float64(v.at(row))), nil
	})
}

// nanvl resolves the second argument where the first is NaN.
func nanvl(name string, args []Param) (*Function, error) {
	types, err := numbers(name, args, 2)
	if err != nil {
		return nil, err
	}
	t := arrow.PrimitiveTypes.Float64
	if types[0].ID() == arrow.FLOAT32 && types[1].ID() == arrow.FLOAT32 {
		t = arrow.PrimitiveTypes.Float32
		return ofTwo(name, t, t, nanvlEval[float32](t)), nil
	}
	return ofTwo(name, t, t, nanvlEval[float64](t)), nil
}

func nanvlEval[T float](t arrow.DataType) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		a, b := columnOf[T](c.Args[0]), columnOf[T](c.Args[1])
		other := c.Args[1]
		return buildFixed(nullsOf(c, c.Args[0]), t, func(row int) (T, error) {
			v := a.at(row)
			switch {
			case v == v:
				return v, nil
			case other.IsNull(other.At(row)):
				return 0, errNull
			}
			return b.at(row), nil
		})
	}
}
