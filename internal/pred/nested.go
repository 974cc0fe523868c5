package pred

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/rows"
)

// compareNested binds = <> and <=> of structs and arrays, whose values have no order here; ok says
// whether the terms are some.
func compareNested(e expr.Expr, op expr.Op, l, r term) (n node, ok bool, err error) {
	if l.op == nil || r.op == nil || op != expr.Eq && op != expr.Ne && op != expr.NullSafeEq ||
		!arrow.TypeEqual(l.data(), r.data()) || !hasEquality(l.data()) {
		return nil, false, nil
	}
	same := &sameNode{in: yes, out: no, one: null, both: null}
	if op == expr.Ne {
		same.in, same.out = no, yes
	}
	if op == expr.NullSafeEq {
		same.one, same.both = no, yes
	}
	if same.l, err = l.calc(); err != nil {
		return nil, true, err
	}
	same.r, err = r.calc()
	return same, true, err
}

// hasEquality tells whether values of a nested type are compared: Spark compares no maps.
func hasEquality(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StructType:
		for _, f := range t.Fields() {
			if !hasEquality(f.Type) && typeOf(f.Type).kind == kindOther {
				return false
			}
		}
		return true
	case *arrow.ListType:
		return hasEquality(t.Elem()) || typeOf(t.Elem()).kind != kindOther
	}
	return false
}

// sameNode compares nested values: those within them by <=>.
type sameNode struct {
	l, r      calc
	in, out   truth // they are equal, or not
	one, both truth // one side is NULL, both are
}

func (n *sameNode) negate() node {
	return &sameNode{n.l, n.r, n.in.not(), n.out.not(), n.one.not(), n.both.not()}
}

func (n *sameNode) operands(visit func(*operand)) {
	n.l.operands(visit)
	n.r.operands(visit)
}

func (n *sameNode) prove(f *Facts) truth { return f.decide(n) }

func (n *sameNode) eval(m *machine) mask {
	args, errs, constant := m.arguments(&callCalc{args: []calc{n.l, n.r}, nullStops: n.one == null})
	defer func() {
		for _, a := range args {
			a.Release()
		}
	}()
	if constant {
		errs = errs.spread(m.rows)
	}
	out := m.mask()
	clear(out.t)
	clear(out.f)
	same, err := rows.NewEquality([]arrow.Array{args[0].Array}, []arrow.Array{args[1].Array})
	if err != nil {
		m.err = err
		return out
	}
	for row := range m.rows {
		i, j := args[0].At(row), args[1].At(row)
		t := n.out
		switch nullL, nullR := args[0].IsNull(i), args[1].IsNull(j); {
		case nullL && nullR:
			t = n.both
		case nullL || nullR:
			t = n.one
		case same.Equal(i, j):
			t = n.in
		}
		out.t[row/8] |= bit(t == yes) << (row % 8)
		out.f[row/8] |= bit(t == no) << (row % 8)
	}
	out.errs = errs
	return out
}
