package pred

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// conditionals are the functions that look at an argument only where they need it, and those that
// are conditions, with the number of arguments they take: at least, at most.
var conditionals = map[string][2]int{
	"coalesce": {1, -1}, "nvl": {2, 2}, "ifnull": {2, 2}, "nullif": {2, 2}, "nvl2": {3, 3}, "if": {3, 3}, "decode": {3, -1},
	"zeroifnull": {1, 1}, "nullifzero": {1, 1}, "isnull": {1, 1}, "isnotnull": {1, 1}, "equal_null": {2, 2},
}

// conditional binds one of the conditionals; ok says whether the name is one of them.
func (b *binder) conditional(e *expr.Call, name string, args []term) (t term, ok bool, err error) {
	takes, ok := conditionals[name]
	if !ok || name == "decode" && len(args) == 2 { // that reads a text in a character set
		return term{}, false, nil
	}
	if err := arity(e, takes[0], takes[1]); err != nil {
		return term{}, true, err
	}
	t, err = b.lazy(e, name, args)
	return t, true, err
}

// lazy binds the conditional functions by what they stand for.
func (b *binder) lazy(e expr.Expr, name string, args []term) (term, error) {
	null := term{expr: e, constant: &datum{}, of: arrow.Null}
	zero := term{expr: e, constant: &datum{sqlType: sqlType{kind: kindInt, bits: 32}}, of: arrow.PrimitiveTypes.Int32}
	switch name {
	case "if":
		return b.choice(e, []term{args[0]}, []term{args[1], args[2]})
	case "nvl2":
		return b.choice(e, []term{{expr: e, node: isNull(args[0]).negate()}}, args[1:])
	case "nullif":
		return b.nullIf(e, args[0], args[1])
	case "nullifzero":
		return b.nullIf(e, args[0], zero)
	case "zeroifnull":
		return b.coalesce(e, append(args, zero))
	case "isnull":
		return term{expr: e, node: isNull(args[0])}, nil
	case "isnotnull":
		return term{expr: e, node: isNull(args[0]).negate()}, nil
	case "equal_null":
		n, err := compare(e, expr.NullSafeEq, args[0], args[1])
		return term{expr: e, node: n}, err
	case "decode":
		otherwise := null
		if len(args)%2 == 0 {
			otherwise = args[len(args)-1]
		}
		return b.match(e, expr.NullSafeEq, args[0], args[1:len(args)-1+len(args)%2], otherwise)
	}
	return b.coalesce(e, args)
}

// nullIf is x where it is not equal to other.
func (b *binder) nullIf(e expr.Expr, x, other term) (term, error) {
	x.share()
	n, err := compare(e, expr.Eq, x, other)
	if err != nil {
		return term{}, err
	}
	null := term{expr: e, constant: &datum{}, of: x.data()}
	return b.choice(e, []term{{expr: e, node: n}}, []term{null, x})
}

// match chooses the value behind the first of several that x equals: pairs are those and theirs.
func (b *binder) match(e expr.Expr, by expr.Op, x term, pairs []term, otherwise term) (term, error) {
	x.share()
	var conditions, results []term
	for i := 0; i+1 < len(pairs); i += 2 {
		n, err := compare(pairs[i].expr, by, x, pairs[i])
		if err != nil {
			return term{}, err
		}
		conditions = append(conditions, term{expr: pairs[i].expr, node: n})
		results = append(results, pairs[i+1])
	}
	return b.choice(e, conditions, append(results, otherwise))
}

// share says that an operand has several uses.
func (t term) share() {
	if t.op != nil && t.op.calc != nil {
		t.op.shared = true
	}
}

// caseOf binds CASE.
func (b *binder) caseOf(e *expr.Case) (term, error) {
	otherwise := term{expr: e, constant: &datum{}, of: arrow.Null}
	var list []expr.Expr
	for _, w := range e.Whens {
		list = append(list, w.If, w.Then)
	}
	pairs, err := b.terms(list...)
	if err != nil {
		return term{}, err
	}
	if e.Else != nil {
		if otherwise, err = b.term(e.Else); err != nil {
			return term{}, err
		}
	}
	if len(e.Whens) == 0 {
		return term{}, refuse(e, "the CASE has no WHEN")
	}
	if e.Operand != nil {
		x, err := b.term(e.Operand)
		if err != nil {
			return term{}, err
		}
		return b.match(e, expr.Eq, x, pairs, otherwise)
	}
	var conditions, results []term
	for i := 0; i < len(pairs); i += 2 {
		conditions, results = append(conditions, pairs[i]), append(results, pairs[i+1])
	}
	return b.choice(e, conditions, append(results, otherwise))
}

// choice is the value that belongs to the first condition that is TRUE, or the last value.
func (b *binder) choice(e expr.Expr, conditions, results []term) (term, error) {
	values, t, err := b.joined(e, results)
	if err != nil {
		return term{}, err
	}
	c := &choiceCalc{values: values, typ: t}
	for _, x := range conditions {
		n, err := x.condition()
		if err != nil {
			return term{}, err
		}
		c.conditions = append(c.conditions, n)
	}
	return computedTerm(e, c, t)
}

func (b *binder) coalesce(e expr.Expr, args []term) (term, error) {
	values, t, err := b.joined(e, args)
	if err != nil {
		return term{}, err
	}
	return computedTerm(e, &coalesceCalc{values: values, typ: t}, t)
}

// joined converts values to the type that they have in common.
func (b *binder) joined(e expr.Expr, list []term) ([]calc, arrow.DataType, error) {
	t, err := commonType(e, list)
	if err != nil {
		return nil, nil, err
	}
	var values []calc
	for _, x := range list {
		c, err := x.into(t)
		if err != nil {
			return nil, nil, err
		}
		values = append(values, c)
	}
	return values, t, nil
}

// commonType is the type that values have in common. NULL has none to bring in, and a constant
// string takes that of a date, a timestamp or binary.
func commonType(e expr.Expr, list []term) (arrow.DataType, error) {
	var types, texts []arrow.DataType
	for _, x := range list {
		switch t := x.data(); {
		case t.ID() == arrow.NULL:
		case x.constant != nil && t.ID() == arrow.STRING:
			texts = append(texts, t)
		default:
			types = append(types, t)
		}
	}
	if len(types)+len(texts) == 0 {
		return arrow.Null, nil
	}
	if len(types) > 0 {
		t, err := function.Common(types...)
		if err == nil && takesText(typeOf(t)) {
			return t, nil
		}
	}
	t, err := function.Common(append(types, texts...)...)
	if err != nil {
		return nil, refuse(e, "%v", err)
	}
	return t, nil
}

// choiceCalc gives the value of the first condition that is TRUE; there is one value more than
// conditions. What is not chosen may fail.
type choiceCalc struct {
	conditions []node
	values     []calc
	typ        arrow.DataType
}

func (c *choiceCalc) operands(visit func(*operand)) {
	for _, n := range c.conditions {
		n.operands(visit)
	}
	for _, v := range c.values {
		v.operands(visit)
	}
}

func (c *choiceCalc) eval(m *machine) (function.Arg, failures) {
	p := newPicks(m, c.typ)
	defer p.close()
	for i, n := range c.conditions {
		if none(p.open) {
			break
		}
		m.live = p.open
		r := n.eval(m)
		p.fail(r.errs)
		for j := range r.t {
			r.t[j] &= p.open[j]
		}
		p.take(c.values[i], r.t)
		m.give(r.t, r.f)
	}
	if !none(p.open) {
		p.take(c.values[len(c.conditions)], p.open)
	}
	return p.result()
}

// coalesceCalc gives the first value that is not NULL. What comes behind it may fail.
type coalesceCalc struct {
	values []calc
	typ    arrow.DataType
}

func (c *coalesceCalc) operands(visit func(*operand)) {
	for _, v := range c.values {
		v.operands(visit)
	}
}

func (c *coalesceCalc) eval(m *machine) (function.Arg, failures) {
	p := newPicks(m, c.typ)
	defer p.close()
	for _, v := range c.values {
		if none(p.open) {
			break
		}
		m.live = p.open
		arg, errs := v.eval(m)
		if arg.Constant {
			errs = errs.spread(m.rows)
		}
		p.fail(errs)
		chosen := m.bitmap()
		copy(chosen, p.open)
		p.leaveNulls(chosen, arg)
		p.put(arg, chosen)
		m.give(chosen)
	}
	return p.result()
}

// picks is the choice of a value for each row among several.
type picks struct {
	m     *machine
	typ   arrow.DataType
	outer []byte // what the caller asks for
	open  []byte // the rows that have no value yet
	from  []function.Arg
	which []int32
	errs  failures
}

func newPicks(m *machine, t arrow.DataType) *picks {
	p := &picks{m: m, typ: t, outer: m.live, open: m.open(m.live), which: make([]int32, m.rows)}
	for row := range p.which {
		p.which[row] = -1
	}
	return p
}

func (p *picks) close() {
	p.m.live = p.outer
	p.m.give(p.open)
	for _, a := range p.from {
		a.Release()
	}
}

// fail closes the open rows that failed.
func (p *picks) fail(errs failures) {
	errs = errs.within(p.open)
	p.errs = p.errs.and(errs)
	errs.clear(p.open)
}

// take evaluates a value for chosen rows.
func (p *picks) take(v calc, chosen []byte) {
	if none(chosen) {
		return
	}
	p.m.live = chosen
	arg, errs := v.eval(p.m)
	if arg.Constant {
		errs = errs.spread(p.m.rows)
	}
	p.errs = p.errs.and(errs.within(chosen))
	p.put(arg, chosen)
}

// put makes an argument the value of chosen rows. It takes the argument over.
func (p *picks) put(arg function.Arg, chosen []byte) {
	n := int32(len(p.from))
	p.from = append(p.from, arg)
	for row := range p.which {
		if has(chosen, row) {
			p.which[row] = n
		}
	}
	for i := range chosen {
		p.open[i] &^= chosen[i]
	}
}

// leaveNulls unsets the rows in which an argument is NULL.
func (p *picks) leaveNulls(chosen []byte, arg function.Arg) {
	switch {
	case !arg.Constant:
		if valid := p.m.valid(arg.Array, nil); valid != nil {
			for i := range chosen {
				chosen[i] &= valid[i]
			}
			p.m.give(valid)
		}
	case isNullAt(arg.Array, 0):
		clear(chosen)
	}
}

func (p *picks) result() (function.Arg, failures) {
	if p.typ.ID() == arrow.NULL {
		return function.Arg{Array: array.NewNull(p.m.rows)}, p.errs
	}
	return function.Arg{Array: p.m.choose(p.typ, p.from, p.which)}, p.errs
}
