package pred

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
)

// Bind resolves columns, ignoring case, checks types and folds constants. Every failure wraps
// delta.ErrInput and carries the position in the text: not boolean, unknown column (with the
// nearest names), string against number, timestamp against timestamp_ntz, unknown or
// non-deterministic function by name. A string takes the type of the date, timestamp or binary
// that it is compared with, if it can be read as one and nothing of it is lost.
func Bind(e expr.Expr, schema *arrow.Schema) (*Predicate, error) {
	if e == nil {
		return nil, fmt.Errorf("condition: there is none: %w", delta.ErrInput)
	}
	b := &binder{schema: schema}
	root, err := b.condition(e)
	if err != nil {
		return nil, err
	}
	return &Predicate{binding: b.binding(e), root: root}, nil
}

// BindValue is Bind for an expression of any type. A condition is a value of the type BOOLEAN.
func BindValue(e expr.Expr, schema *arrow.Schema) (*Value, error) {
	return bindValue(e, schema, nil)
}

// BindValueAs is BindValue for an expression whose values are stored in a column of the type to. As
// in Spark's ANSI mode a number is converted to any type of numbers, where one that does not fit is
// an error of the row; else only what loses nothing is converted, and a string and a number never
// into each other.
func BindValueAs(e expr.Expr, schema *arrow.Schema, to arrow.DataType) (*Value, error) {
	return bindValue(e, schema, to)
}

func bindValue(e expr.Expr, schema *arrow.Schema, to arrow.DataType) (*Value, error) {
	if e == nil {
		return nil, fmt.Errorf("expression: there is none: %w", delta.ErrInput)
	}
	b := &binder{schema: schema}
	root, typ, err := b.value(e, to)
	if err != nil {
		var r *refusal
		if errors.As(err, &r) {
			r.noun = "expression"
		}
		return nil, err
	}
	return &Value{binding: b.binding(e), root: root, typ: typ}, nil
}

func (b *binder) value(e expr.Expr, to arrow.DataType) (calc, arrow.DataType, error) {
	t, err := b.bare(e)
	if err != nil {
		return nil, nil, err
	}
	if to == nil {
		c, err := t.calc()
		return c, t.data(), err
	}
	c, err := t.stored(to)
	return c, to, err
}

type binder struct {
	schema  *arrow.Schema
	columns []int
}

func (b *binder) binding(e expr.Expr) binding {
	slices.Sort(b.columns)
	return binding{tree: e, schema: b.schema, columns: slices.Compact(b.columns)}
}

// refusal says why a part of an expression cannot be bound.
type refusal struct {
	noun string
	at   expr.Expr
	text string
}

func (r *refusal) Error() string {
	where := ""
	if r.at.Pos() >= 0 {
		where = fmt.Sprintf(", byte %d", r.at.Pos())
	}
	return fmt.Sprintf("%s%s, at %s: %s: %v", r.noun, where, clip(r.at.String()), r.text, delta.ErrInput)
}

func (r *refusal) Unwrap() error { return delta.ErrInput }

// refuse makes an error about a part of the expression.
func refuse(e expr.Expr, format string, args ...any) error {
	return &refusal{noun: "condition", at: e, text: fmt.Sprintf(format, args...)}
}

// term is a bound part of an expression: a condition, an operand, a constant, or an operand of
// booleans with the condition that it is.
type term struct {
	expr     expr.Expr
	node     node
	op       *operand
	constant *datum
	of       arrow.DataType // of the constant: NULL may have one, too
}

func (t term) typ() sqlType {
	switch {
	case t.node != nil:
		return sqlType{kind: kindBool}
	case t.op != nil:
		return t.op.typ
	}
	return t.constant.sqlType
}

// data is the Arrow type; that of NULL alone is arrow.Null.
func (t term) data() arrow.DataType {
	switch {
	case t.op != nil:
		return t.op.data
	case t.node != nil:
		return arrow.FixedWidthTypes.Boolean
	}
	return t.of
}

func (t term) isNull() bool { return t.constant != nil && t.constant.kind == kindNull }

// condition binds a part that must be TRUE, FALSE or NULL.
func (b *binder) condition(e expr.Expr) (node, error) {
	t, err := b.term(e)
	if err != nil {
		return nil, err
	}
	return t.condition()
}

func (t term) condition() (node, error) {
	switch {
	case t.node != nil:
		return t.node, nil
	case t.isNull():
		return constant{null}, nil
	case t.constant != nil && t.constant.kind == kindBool:
		return constant{truthOf(t.constant.i != 0)}, nil
	}
	return nil, refuse(t.expr, "a condition must be TRUE or FALSE, this is %s", t.typ())
}

func ofNode(e expr.Expr, n node, err error) (term, error) { return term{expr: e, node: n}, err }

// term binds a part whose value is looked at. A variant's is not: how it is encoded is no concern of a condition.
func (b *binder) term(e expr.Expr) (term, error) {
	t, err := b.bare(e)
	if err == nil && holdsVariant(t.data()) {
		return term{}, refuse(e, "it is or holds a variant, which can be tested for NULL and taken as a whole, but not compared nor computed with")
	}
	return t, err
}

func holdsVariant(t arrow.DataType) bool {
	if delta.IsVariant(t) {
		return true
	}
	nested, ok := t.(arrow.NestedType)
	return ok && slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return holdsVariant(f.Type) })
}

// bare binds a part of any type.
func (b *binder) bare(e expr.Expr) (term, error) {
	switch e := e.(type) {
	case *expr.Column:
		return b.column(e)
	case *expr.Literal:
		return literal(e)
	case *expr.Cast:
		return b.cast(e)
	case *expr.Binary:
		return b.binary(e)
	case *expr.Not:
		n, err := b.condition(e.X)
		if err != nil {
			return term{}, err
		}
		return term{expr: e, node: n.negate()}, nil
	case *expr.IsNull:
		return b.isNull(e)
	case *expr.In:
		n, err := b.in(e)
		return ofNode(e, n, err)
	case *expr.Between:
		n, err := b.between(e)
		return ofNode(e, n, err)
	case *expr.Call:
		return b.call(e)
	case *expr.Like:
		return b.like(e)
	case *expr.Element:
		list, err := b.terms(e.X, e.Index)
		if err != nil {
			return term{}, err
		}
		return b.apply(e, "element", list)
	case *expr.Member:
		return b.member(e)
	case *expr.Case:
		return b.caseOf(e)
	case *expr.Invalid:
		return term{}, refuse(e, "%v", e.Err)
	case nil:
		return term{}, fmt.Errorf("condition: an operand is missing: %w", delta.ErrInput)
	}
	return term{}, refuse(e, "%T is not supported in a condition", e)
}

// literal reads a constant.
func literal(e *expr.Literal) (term, error) {
	l, ok := expr.Lit(e.Value).(*expr.Literal) // trees made by hand may hold any scalar
	if !ok {
		return term{}, refuse(e, "this constant is no literal")
	}
	if l.Value == nil {
		return term{expr: e, constant: &datum{}, of: arrow.Null}, nil
	}
	if v, err := datumOf(l.Value); err == nil {
		return term{expr: e, constant: &v, of: l.Value.DataType()}, nil
	}
	arr, err := scalar.MakeArrayFromScalar(l.Value, 1, memory.DefaultAllocator) // an interval
	if err != nil {
		return term{}, refuse(e, "%v", err)
	}
	return fixedTerm(e, arr), nil
}

func (b *binder) column(e *expr.Column) (term, error) {
	op, t, err := b.resolve(e)
	if err != nil {
		return term{}, err
	}
	return columnTerm(e, op, t), nil
}

// columnTerm makes a term of a column of a type. A column of the type null is NULL.
func columnTerm(e expr.Expr, op *operand, t arrow.DataType) term {
	if t.ID() == arrow.NULL {
		return term{expr: e, constant: &datum{}, of: arrow.Null}
	}
	op.is(t)
	return ofOperand(e, op)
}

// ofOperand makes a term of an operand. One of booleans is a condition, too.
func ofOperand(e expr.Expr, op *operand) term {
	t := term{expr: e, op: op}
	if op.typ.kind == kindBool {
		t.node = newLeaf(op, from(at(1), beyond), yes, no, null)
	}
	return t
}

// resolve finds a column, and the fields below it.
func (b *binder) resolve(e *expr.Column) (*operand, arrow.DataType, error) {
	op := &operand{}
	fields := b.schema.Fields()
	var t arrow.DataType
	for depth, name := range e.Path {
		if depth > 0 {
			s, ok := t.(*arrow.StructType)
			if delta.IsVariant(t) {
				return nil, nil, refuse(e, "%q is a variant, into which a condition cannot look", strings.Join(op.path, "."))
			}
			if !ok {
				return nil, nil, refuse(e, "%q is %s and has no fields", strings.Join(op.path, "."), expr.TypeName(t))
			}
			fields = s.Fields()
		}
		i, err := find(fields, name)
		if err != nil {
			return nil, nil, refuse(e, "%v", err)
		}
		op.path, t = append(op.path, fields[i].Name), fields[i].Type
		if depth == 0 {
			op.column = i
			b.columns = append(b.columns, i)
		} else {
			op.fields = append(op.fields, i)
		}
	}
	if t == nil {
		return nil, nil, refuse(e, "the column has no name")
	}
	return op, t, nil
}

// is sets the type of the values that are there, before any cast.
func (op *operand) is(t arrow.DataType) {
	op.base, op.data = t, t
	op.stored = typeOf(t)
	op.typ = op.stored
}

func (b *binder) isNull(e *expr.IsNull) (term, error) {
	x, err := b.bare(e.X)
	if err != nil {
		return term{}, err
	}
	n := isNull(x)
	if e.Negated {
		n = n.negate()
	}
	return term{expr: e, node: n}, nil
}

// isNull tests a term for NULL.
func isNull(x term) node {
	switch {
	case x.op != nil:
		return newLeaf(x.op, nil, no, no, yes)
	case x.node != nil:
		return &mapped{x: x.node, to: [3]truth{no, no, yes}}
	}
	return constant{truthOf(x.isNull())}
}

func (b *binder) binary(e *expr.Binary) (term, error) {
	if e.Op == expr.And || e.Op == expr.Or {
		n, err := b.junction(e)
		return ofNode(e, n, err)
	}
	l, err := b.term(e.L)
	if err != nil {
		return term{}, err
	}
	r, err := b.term(e.R)
	if err != nil {
		return term{}, err
	}
	if name, ok := arithmetic[e.Op]; ok {
		return b.apply(e, name, []term{l, r})
	}
	n, err := compare(e, e.Op, l, r)
	return ofNode(e, n, err)
}

func (b *binder) junction(e *expr.Binary) (node, error) {
	parts := expr.Conjuncts(e)
	if e.Op == expr.Or {
		parts = expr.Disjuncts(e)
	}
	var list []node
	for _, part := range parts {
		x, err := b.condition(part)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return newJunction(e.Op == expr.And, list...), nil
}

func (b *binder) between(e *expr.Between) (node, error) {
	x, err := b.term(e.X)
	if err != nil {
		return nil, err
	}
	lo, err := b.term(e.Lo)
	if err != nil {
		return nil, err
	}
	hi, err := b.term(e.Hi)
	if err != nil {
		return nil, err
	}
	x.share()
	above, err := compare(e, expr.Ge, x, lo)
	if err != nil {
		return nil, err
	}
	below, err := compare(e, expr.Le, x, hi)
	if err != nil {
		return nil, err
	}
	n := meet(above, below)
	if e.Negated {
		n = n.negate()
	}
	return n, nil
}

// meet is AND; of two one-sided ranges of a column it makes one test.
func meet(above, below node) node {
	a, okA := above.(*leaf)
	b, okB := below.(*leaf)
	plain := okA && okB && a.op == b.op && a.in == yes && a.out == no && a.null == null &&
		b.in == no && b.out == yes && b.null == null && len(a.set) == 1 && len(b.set) == 1
	if !plain {
		return newJunction(true, above, below)
	}
	set := from(bound{key: a.set[0]}, bound{key: b.set[0]})
	return &leaf{op: a.op, set: set, match: newMatcher(set, a.op.stored), in: yes, out: no, null: null}
}

// in joins the constants of a list to one set; other members are compared one by one.
func (b *binder) in(e *expr.In) (node, error) {
	x, err := b.term(e.X)
	if err != nil {
		return nil, err
	}
	if len(e.List) == 0 {
		return nil, refuse(e, "the list of IN is empty")
	}
	l := &inList{x: x}
	for _, member := range e.List {
		t, err := b.term(member)
		if err != nil {
			return nil, err
		}
		if err := l.add(member, t); err != nil {
			return nil, err
		}
	}
	n := l.node()
	if e.Negated {
		n = n.negate()
	}
	return n, nil
}

// inList is the list of an IN. Members are tested from left to right, so that one that fails does
// not matter where an earlier one is equal; constants between two such members are one set.
type inList struct {
	x         term
	constants []datum
	tests     []node
}

func (l *inList) add(e expr.Expr, member term) error {
	if l.x.op != nil && l.x.node == nil && l.x.typ().kind != kindOther && member.constant != nil {
		v, err := fit(e, l.x.op, *member.constant)
		l.constants = append(l.constants, v)
		return err
	}
	n, err := compare(e, expr.Eq, l.x, member)
	if err != nil {
		return err
	}
	if computes(n) {
		l.flush()
	}
	l.tests = append(l.tests, n)
	return nil
}

// flush makes one test of the constants so far.
func (l *inList) flush() {
	if len(l.constants) > 0 {
		l.tests = append(l.tests, oneOf(l.x.op, l.constants))
		l.constants = nil
	}
}

func (l *inList) node() node {
	l.flush()
	if len(l.tests) == 1 {
		return l.tests[0]
	}
	l.x.share()
	return newJunction(false, l.tests...)
}

// oneOf tests a column against constants that fit it. With NULL among them no value is proven
// absent.
func oneOf(op *operand, constants []datum) node {
	out := no
	var ranges []keySet
	for _, v := range constants {
		if v.kind == kindNull {
			out = null
			continue
		}
		if set := from(cut(op.measured(), v)); set != nil {
			ranges = append(ranges, set)
		}
	}
	slices.SortFunc(ranges, func(a, b keySet) int { return a[0].compare(b[0]) })
	return newLeaf(op, union(ranges), yes, out, null)
}

// union joins ranges that are sorted by their first key.
func union(ranges []keySet) keySet {
	var all keySet
	for _, r := range ranges {
		switch {
		case len(all)%2 == 1: // the last range has no end
			return all
		case len(all) == 0 || all[len(all)-1].compare(r[0]) < 0:
			all = append(all, r...)
		case len(r) == 1:
			all = all[:len(all)-1]
		case all[len(all)-1].compare(r[1]) < 0:
			all[len(all)-1] = r[1]
		}
	}
	return all
}
