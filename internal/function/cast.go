package function

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Cast is the conversion of one type to another by the rules of CAST in Spark's ANSI mode. What a type
// cannot hold fails the row: a number beyond it, a text that is none of its values, and also what Spark
// changes in silence or makes NULL: NaN as a decimal, 2^63 as a BIGINT, seconds beyond a TIMESTAMP,
// bytes that are no UTF-8 as a STRING. Digits after the point that do not fit are rounded, half away
// from zero, or cut off on the way to an integer; doubles become infinite.
//
// The zone of the session is UTC, always. A DATE becomes the first microsecond of its day.
//
// Texts: doubles as Java writes them since version 19, the shortest that is read back (1.0E10, NaN,
// Infinity, -0.0); decimals without an exponent; times with the digits of the second that are not
// zeros at the end. Space and control characters around a text are no part of it. Zones that are the
// names of regions are not read: their rules are not part of the text; nor are times without a day.
//
// Lists, maps and structs are cast element by element and field by field, whose names do not matter.
// The error says that there is no such conversion.
func Cast(from, to arrow.DataType) (*Function, error) {
	eval := castEval(from, to)
	if eval == nil {
		return nil, fmt.Errorf("there is no CAST from %s to %s", sqlName(from), sqlName(to))
	}
	return &Function{Name: "cast", Params: []arrow.DataType{from}, Result: to, Eval: func(c *Call) arrow.Array {
		if c.Args[0].Constant && c.Rows != 1 {
			return castConstant(c, eval)
		}
		return eval(c)
	}}, nil
}

// castNamed resolves a CAST that is written as a function: int(x).
func castNamed(to arrow.DataType) resolver {
	return func(name string, args []Param) (*Function, error) {
		if err := counted(name, args, 1); err != nil {
			return nil, err
		}
		fn, err := Cast(args[0].Type, to)
		if err != nil {
			return nil, err
		}
		fn.Name = name
		return fn, nil
	}
}

// castConstant casts the one value of a constant, and repeats what became of it.
func castConstant(c *Call, eval func(*Call) arrow.Array) arrow.Array {
	var failed error
	one := *c
	one.Rows, one.Fail = 1, func(_ int, err error) { failed = err }
	v := eval(&one)
	defer v.Release()
	if failed != nil {
		for row := range c.Rows {
			c.Fail(row, failed)
		}
	}
	return broadcast(c, v)
}

// castEval is nil if there is no conversion.
func castEval(from, to arrow.DataType) func(*Call) arrow.Array {
	if isUntyped(from) {
		return func(c *Call) arrow.Array { return allNull(c, to) }
	}
	if !isCastable(from) || !isCastable(to) {
		return nil
	}
	if arrow.TypeEqual(from, to) {
		return same
	}
	switch from.ID() {
	case arrow.STRING:
		return castText(to)
	case arrow.BINARY:
		if to.ID() == arrow.STRING {
			return bytesToText
		}
		return nil
	case arrow.BOOL:
		return castBool(to)
	case arrow.DATE32, arrow.TIMESTAMP:
		return castTime(from, to)
	case arrow.DECIMAL128:
		return castDecimal(from.(*arrow.Decimal128Type), to)
	case arrow.FLOAT32, arrow.FLOAT64:
		return castFloat(from, to)
	}
	if isInteger(from) {
		return castInteger(from, to)
	}
	return castNested(from, to)
}

// isCastable says whether a type is one of those that columns of tables have.
func isCastable(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.BINARY, arrow.BOOL, arrow.DATE32, arrow.LIST, arrow.MAP, arrow.STRUCT:
		return true
	}
	return isNumber(t) || isMicros(t)
}

// lossy makes errors of rows of a value that a type does not hold.
func lossy(c *Call, to arrow.DataType) func(row int, err error) error {
	return func(row int, err error) error {
		if err == overflow {
			return fmt.Errorf("%s does not fit into %s", shown(c.Args[0], row), sqlName(to))
		}
		return fmt.Errorf("%s %w %s", shown(c.Args[0], row), err, sqlName(to))
	}
}

// noValue is what is wrong with a value that is none of a type.
const noValue fault = "is no"
