package pred

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta/expr"
)

// String is the type in Spark's words.
func (t sqlType) String() string {
	switch t.kind {
	case kindNull:
		return "NULL"
	case kindBool:
		return "BOOLEAN"
	case kindInt:
		return map[int]string{8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[t.bits]
	case kindFloat:
		return map[int]string{32: "FLOAT", 64: "DOUBLE"}[t.bits]
	case kindDecimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.precision, t.scale)
	case kindString:
		return "STRING"
	case kindBinary:
		return "BINARY"
	case kindDate:
		return "DATE"
	case kindTimestamp:
		return "TIMESTAMP"
	case kindNTZ:
		return "TIMESTAMP_NTZ"
	}
	return "a type that is not compared"
}

// compare binds a comparison of any two terms.
func compare(e expr.Expr, op expr.Op, l, r term) (node, error) {
	nullL, nullR := l.isNull(), r.isNull()
	boolL, boolR := l.typ().kind == kindBool, r.typ().kind == kindBool
	if n, ok, err := compareNested(e, op, l, r); ok {
		return n, err
	}
	switch {
	case (nullL || nullR) && op != expr.NullSafeEq:
		return constant{null}, nil // the other side is not looked at, as in Spark
	case nullL && nullR:
		return constant{yes}, nil
	case boolL && (boolR || nullR), boolR && nullL:
		return compareConditions(op, l, r)
	case nullL:
		return isNull(r), nil
	case nullR:
		return isNull(l), nil
	case l.typ().kind == kindOther:
		return nil, refuseOther(e, l.data())
	case r.typ().kind == kindOther:
		return nil, refuseOther(e, r.data())
	case boolL || boolR:
		return nil, refuse(e, "%s is not compared with %s", l.typ(), r.typ())
	case l.op != nil && r.op != nil:
		return compareColumns(e, op, l.op, r.op)
	case l.op != nil:
		return compareConstant(e, op, l.op, *r.constant)
	case r.op != nil:
		return compareConstant(e, op.Mirrored(), r.op, *l.constant)
	}
	return fold(e, op, *l.constant, *r.constant)
}

func refuseOther(e expr.Expr, t arrow.DataType) error {
	if hasEquality(t) {
		return refuse(e, "%s is compared by = <> <=> with a value of the same type only", expr.TypeName(t))
	}
	return refuse(e, "%s is tested with IS NULL only", expr.TypeName(t))
}

func tableFor(op expr.Op) table {
	switch op {
	case expr.Ne:
		return tableEq.not()
	case expr.Lt:
		return tableLt
	case expr.Le:
		return tableGt.not()
	case expr.Gt:
		return tableGt
	case expr.Ge:
		return tableLt.not()
	case expr.NullSafeEq:
		return tableNS
	}
	return tableEq
}

// compareConditions compares what is TRUE, FALSE or NULL.
func compareConditions(op expr.Op, l, r term) (node, error) {
	a, err := l.condition()
	if err != nil {
		return nil, err
	}
	b, err := r.condition()
	if err != nil {
		return nil, err
	}
	t := tableFor(op)
	knownA, okA := settled(a).(constant)
	knownB, okB := settled(b).(constant)
	switch {
	case op != expr.NullSafeEq && (okA && knownA.is == null || okB && knownB.is == null):
		return constant{null}, nil
	case okA:
		return &mapped{x: b, to: t[knownA.is.index()]}, nil
	case okB:
		i := knownB.is.index()
		return &mapped{x: a, to: [3]truth{t[0][i], t[1][i], t[2][i]}}, nil
	}
	return &pair{l: a, r: b, table: t}, nil
}

// measured is the type whose keys the operand is tested by.
func (op *operand) measured() sqlType {
	if op.asDay {
		return op.typ
	}
	return op.stored
}

// compareConstant makes of a comparison a test of the column's keys.
func compareConstant(e expr.Expr, sign expr.Op, op *operand, v datum) (node, error) {
	v, err := fit(e, op, v)
	if err != nil {
		return nil, err
	}
	ge, gt := cut(op.measured(), v)
	switch sign {
	case expr.Eq:
		return newLeaf(op, from(ge, gt), yes, no, null), nil
	case expr.Ne:
		return newLeaf(op, from(ge, gt), no, yes, null), nil
	case expr.NullSafeEq:
		return newLeaf(op, from(ge, gt), yes, no, no), nil
	case expr.Lt:
		return newLeaf(op, from(ge, beyond), no, yes, null), nil
	case expr.Le:
		return newLeaf(op, from(gt, beyond), no, yes, null), nil
	case expr.Gt:
		return newLeaf(op, from(gt, beyond), yes, no, null), nil
	}
	return newLeaf(op, from(ge, beyond), yes, no, null), nil
}

// fit gives a constant a type that the operand is compared with, or refuses it.
func fit(e expr.Expr, op *operand, v datum) (datum, error) {
	if v.kind == kindNull {
		return v, nil
	}
	v, err := coerce(e, v, op.typ)
	if err != nil {
		return v, err
	}
	if err := comparable(e, op.typ, v.sqlType); err != nil {
		return v, err
	}
	// What was cast to float or double is compared with a decimal as doubles, whatever it was.
	if op.typ.kind == kindFloat && v.kind == kindDecimal {
		v = datum{sqlType: sqlType{kind: kindFloat, bits: 64}, f: v.float()}
	}
	return v, nil
}

// coerce reads a string as the date, timestamp or binary that it is compared with.
func coerce(e expr.Expr, v datum, to sqlType) (datum, error) {
	if v.kind != kindString || !takesText(to) {
		return v, nil
	}
	c, err := readText(v.s, to)
	if err != nil {
		return v, refuse(e, "compared with %s: %v", to, err)
	}
	return c, nil
}

// comparable says whether values of two types are compared.
func comparable(e expr.Expr, a, b sqlType) error {
	switch {
	case a.kind == kindOther || b.kind == kindOther:
		return refuse(e, "%s is not compared with %s", a, b)
	case a.kind == b.kind, a.numeric() && b.numeric():
		return nil
	case a.temporal() && b.temporal() && (a.kind == kindDate || b.kind == kindDate):
		return nil
	case a.micros() && b.micros():
		return refuse(e, "TIMESTAMP is not compared with TIMESTAMP_NTZ: which instant a reading without a zone is depends on the zone; CAST one of them")
	case (a.kind == kindString) != (b.kind == kindString) && (a.numeric() || b.numeric()):
		return refuse(e, "%s is not compared with %s: '1', '01' and '1.0' would all be 1; give the constant the column's type", a, b)
	}
	return refuse(e, "%s is not compared with %s", a, b)
}

func compareColumns(e expr.Expr, op expr.Op, l, r *operand) (node, error) {
	if err := comparable(e, l.typ, r.typ); err != nil {
		return nil, err
	}
	n := &versus{l: l, r: r, lt: no, eq: no, gt: no, one: null, both: null}
	switch op {
	case expr.Eq:
		n.eq = yes
	case expr.Ne:
		n.lt, n.gt = yes, yes
	case expr.Lt:
		n.lt = yes
	case expr.Le:
		n.lt, n.eq = yes, yes
	case expr.Gt:
		n.gt = yes
	case expr.Ge:
		n.gt, n.eq = yes, yes
	case expr.NullSafeEq:
		n.eq, n.one, n.both = yes, no, yes
	}
	return n, nil
}

// fold compares two constants as a column of the type of the one would be with the other.
func fold(e expr.Expr, op expr.Op, l, r datum) (node, error) {
	l, err := coerce(e, l, r.sqlType)
	if err != nil {
		return nil, err
	}
	column := &operand{stored: l.sqlType, typ: l.sqlType}
	if r, err = fit(e, column, r); err != nil {
		return nil, err
	}
	ge, gt := cut(l.sqlType, r)
	own, _ := cut(l.sqlType, l)
	less := ge.beyond || own.compare(ge.key) < 0
	more := !gt.beyond && own.compare(gt.key) >= 0
	switch op {
	case expr.Eq, expr.NullSafeEq:
		return constant{truthOf(!less && !more)}, nil
	case expr.Ne:
		return constant{truthOf(less || more)}, nil
	case expr.Lt:
		return constant{truthOf(less)}, nil
	case expr.Le:
		return constant{truthOf(!more)}, nil
	case expr.Gt:
		return constant{truthOf(more)}, nil
	}
	return constant{truthOf(!less)}, nil
}

// cast binds CAST. One that changes no value in a comparison, or that takes the day of a timestamp,
// leaves the column what it is: it is tested, and pruned by, in its own type.
func (b *binder) cast(e *expr.Cast) (term, error) {
	x, err := b.term(e.X)
	if err != nil {
		return term{}, err
	}
	if e.To == nil {
		return term{}, refuse(e, "the CAST has no type")
	}
	to := typeOf(e.To)
	switch {
	case x.isNull():
		return term{expr: e, constant: x.constant, of: e.To}, nil
	case arrow.TypeEqual(x.data(), e.To):
		x.expr = e
		return x, nil
	case x.op != nil && x.op.calc == nil && keeps(x.op.typ, to) && (!x.op.asDay || to.kind == kindDate):
		op := *x.op
		op.typ, op.data = to, e.To
		op.asDay = op.asDay || op.stored.micros() && to.kind == kindDate
		return term{expr: e, op: &op}, nil
	}
	c, err := x.calc()
	if err != nil {
		return term{}, err
	}
	if c, err = castCalc(e, c, x.data(), e.To); err != nil {
		return term{}, err
	}
	return computedTerm(e, c, e.To)
}

// keeps says whether each value of a type is a value of the other, so that a CAST in each row
// changes nothing in a comparison, or whether the CAST takes the day of a timestamp.
func keeps(t, to sqlType) bool {
	digits := map[int]int32{8: 3, 16: 5, 32: 10, 64: 19}
	switch {
	case t == to:
		return true
	case t.kind == kindInt && to.kind == kindInt, t.kind == kindFloat && to.kind == kindFloat:
		return to.bits >= t.bits
	case t.kind == kindInt && to.kind == kindFloat:
		return to.bits == 64 && t.bits <= 32 || t.bits <= 16
	case t.kind == kindInt && to.kind == kindDecimal:
		return to.precision-to.scale >= digits[t.bits]
	case t.kind == kindDecimal && to.kind == kindDecimal:
		return to.scale >= t.scale && to.precision-to.scale >= t.precision-t.scale
	}
	return t.temporal() && to.temporal()
}
