package pred

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// changing are the functions whose value changes from one call to the next, or with the session: a
// run that is repeated would ask another question.
var changing = []string{
	"rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "now", "current_timestamp", "current_date", "current_time", "curdate",
	"localtimestamp", "current_timezone", "current_user", "user", "session_user", "current_catalog", "current_database", "current_schema",
	"version", "monotonically_increasing_id", "spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length",
}

// arithmetic are the names of the functions that operators apply.
var arithmetic = map[expr.Op]string{expr.Add: "+", expr.Sub: "-", expr.Mul: "*", expr.Div: "/", expr.IntDiv: "div", expr.Mod: "%"}

func (b *binder) terms(list ...expr.Expr) ([]term, error) {
	terms := make([]term, len(list))
	for i, e := range list {
		t, err := b.term(e)
		if err != nil {
			return nil, err
		}
		terms[i] = t
	}
	return terms, nil
}

// call binds a function.
func (b *binder) call(e *expr.Call) (term, error) {
	name := strings.ToLower(e.Name)
	if slices.Contains(changing, name) || name == "unix_timestamp" && len(e.Args) == 0 {
		return term{}, refuse(e, "the function %s gives another value at each run: compute it once and give it as an argument", e.Name)
	}
	args, err := b.terms(e.Args...)
	if err != nil {
		return term{}, err
	}
	if t, ok, err := b.conditional(e, name, args); ok || err != nil {
		return t, err
	}
	if n := rangeTest(name, args); n != nil {
		return term{expr: e, node: n}, nil
	}
	return b.apply(e, name, args)
}

// apply binds the function of a name to arguments.
func (b *binder) apply(e expr.Expr, name string, args []term) (term, error) {
	params := make([]function.Param, len(args))
	for i, a := range args {
		params[i] = a.param()
	}
	fn, err := function.Find(name, params)
	switch {
	case errors.Is(err, function.ErrNone):
		return term{}, refuse(e, "there is no function %s%s", name, similar(Functions(), name))
	case err != nil:
		return term{}, refuse(e, "%v", err)
	}
	c := &callCalc{at: e, name: name, fn: fn, nullStops: nullStops(name), rightFirst: slices.Contains(divisions, strings.ToLower(name))}
	for i, a := range args {
		arg, err := a.as(fn.Params[i])
		if err != nil {
			return term{}, err
		}
		c.args = append(c.args, arg)
	}
	return computedTerm(e, c, fn.Result)
}

// Functions are the names that can be called, in the order of the alphabet. Operators are not among
// them.
func Functions() []string {
	return slices.Sorted(slices.Values(slices.AppendSeq(function.Names(), maps.Keys(conditionals))))
}

// param is what a function is told of an argument.
func (t term) param() function.Param {
	_, literal := t.expr.(*expr.Literal)
	p := function.Param{Type: t.data(), Computed: !literal}
	switch {
	case t.constant != nil:
		p.Value = t.constant.scalar(t.of)
	case t.op != nil:
		if c, ok := t.op.calc.(fixedCalc); ok {
			p.Value, _ = scalar.GetScalar(c.arr, 0)
		}
	}
	return p
}

// nullStops says whether a function is one of those that Spark evaluates no further where an
// argument is NULL: all but a few.
func nullStops(name string) bool { return !slices.Contains(nullTolerant, strings.ToLower(name)) }

// nullTolerant are the functions that look at every argument.
var nullTolerant = []string{"concat_ws", "greatest", "least", "nanvl", "make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz"}

// divisions are the functions of which Spark evaluates the divisor first.
var divisions = []string{"/", "%", "div", "mod", "pmod"}

// similar names the functions whose names are nearest, as the end of a message.
func similar(names []string, name string) string {
	near := nearest(names, name)
	if len(near) == 0 {
		return ""
	}
	return ", is it " + strings.Join(near, " or ") + "?"
}

// arity says what is wrong with a number of arguments; most is -1 for any.
func arity(e *expr.Call, least, most int) error {
	n := len(e.Args)
	switch {
	case n >= least && (n <= most || most < 0):
		return nil
	case least == most:
		return refuse(e, "the function %s takes %s, it is given %d", e.Name, arguments(least), n)
	case most < 0:
		return refuse(e, "the function %s takes %s or more, it is given %d", e.Name, arguments(least), n)
	}
	return refuse(e, "the function %s takes %d to %s, it is given %d", e.Name, least, arguments(most), n)
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}
