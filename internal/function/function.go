// Package function is the functions, operators and casts of Spark SQL over Arrow columns, by ANSI
// rules: overflow, division by zero and a text that is no number are errors of the row, never NULL
// and never another number.
//
// It knows nothing of expressions: a caller finds a function by name and types, converts the
// arguments to what it takes, and calls it. It is pure, and a function without a state: the same
// arguments give the same values in every run, so nothing that is random, asks a clock or depends on
// the session is here.
//
// A number is not taken for a text, nor a text for a number: Spark would CAST it, and so may the caller
// in so many words. A constant STRING is taken for the day or the time that is wanted. Characters are
// code points; upper and lower case are those of Unicode 16. The calendar is the proleptic Gregorian
// one, and the zone of a TIMESTAMP is UTC. Where the answer is not Spark's it is an error, but for the
// few cases that doc comments name.
package function

import (
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// ErrNone says that there is no function of a name.
var ErrNone = errors.New("there is no such function")

// Param is what is known of an argument before there are rows.
type Param struct {
	Type  arrow.DataType
	Value scalar.Scalar // of a constant; nil for what differs by row

	// Computed says that the constant is the value of an expression, such as 1 + 1 or a CAST, and no
	// literal of a text: an INT literal has in decimal arithmetic the digits that it shows.
	Computed bool
}

// Function is a function for arguments of certain types. It is immutable.
type Function struct {
	Name   string
	Params []arrow.DataType // what each argument has to be converted to: Implicit, or a constant STRING that is a day or a time
	Result arrow.DataType

	// Eval gives c.Rows values of the type Result. A row that fails is reported with c.Fail, and NULL
	// there. Arguments stay the caller's; the caller releases the result.
	Eval func(c *Call) arrow.Array
}

// Call is one evaluation over rows.
type Call struct {
	Mem  memory.Allocator
	Rows int
	Args []Arg

	// Fail takes the error of a row. The text says what was wrong with which value: "1000000 * 10000
	// does not fit into INT". It wraps nothing.
	Fail func(row int, err error)
}

// Arg is an argument: a value a row, or one value for all.
type Arg struct {
	arrow.Array
	Constant bool // the array has one value
}

// At is the place of a row's value in the array.
func (a Arg) At(row int) int {
	if a.Constant {
		return 0
	}
	return row
}

// resolver gives the function of a name for arguments of certain types. Its errors say what is wrong
// with number or types of the arguments.
type resolver func(name string, args []Param) (*Function, error)

// Find gives the function of a name, ignoring case, for arguments of certain types. Operators go by
// their signs: + - * / % div, negative, concat, and element for x[i]. An unknown name is ErrNone; so
// are functions without a state only in name, such as now and rand.
func Find(name string, args []Param) (*Function, error) {
	name = strings.ToLower(name)
	if f, ok, err := intervalArithmetic(name, args); ok || err != nil {
		return f, err
	}
	for _, table := range tables() {
		if r := table[name]; r != nil {
			return r(name, args)
		}
	}
	return nil, ErrNone
}

func tables() []map[string]resolver { return []map[string]resolver{numeric, textual, temporal, nested} }

// Names are the names that Find knows, but for those of operators, in order.
func Names() []string {
	var names []string
	for _, table := range tables() {
		for name := range table {
			if name[0] >= 'a' && name[0] <= 'z' && name != "element" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
