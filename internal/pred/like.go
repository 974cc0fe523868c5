package pred

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// like binds LIKE and ILIKE. A constant pattern that is a text, or a text and %, is a test of a
// range of strings; one that begins with a text is that test and another, so that it prunes too.
func (b *binder) like(e *expr.Like) (term, error) {
	list, err := b.terms(e.X, e.Pattern)
	if err != nil {
		return term{}, err
	}
	if e.Fold {
		for i := range list {
			if list[i], err = b.apply(list[i].expr, "lower", list[i:i+1]); err != nil {
				return term{}, err
			}
		}
	}
	n, err := b.matching(e, list[0], list[1])
	if err != nil {
		return term{}, err
	}
	if e.Negated {
		n = n.negate()
	}
	return term{expr: e, node: n}, nil
}

func (b *binder) matching(e *expr.Like, x, p term) (node, error) {
	n := &likeNode{at: e, escape: e.Escape, in: yes, out: no}
	if n.escape == 0 {
		n.escape = '\\'
	}
	var err error
	if n.x, err = b.as(x, arrow.BinaryTypes.String); err != nil {
		return nil, err
	}
	if n.pattern, err = b.as(p, arrow.BinaryTypes.String); err != nil {
		return nil, err
	}
	if p.constant == nil || p.isNull() {
		return settled(n), nil
	}
	fixed, err := newPattern(p.constant.s, n.escape)
	if err != nil {
		return nil, refuse(p.expr, "%v", err)
	}
	n.fixed = &fixed
	if x.op == nil || x.op.typ.kind != kindString {
		return settled(n), nil
	}
	prefix, whole, any := fixed.prefix()
	switch {
	case whole:
		return newLeaf(x.op, from(cut(x.op.typ, datum{sqlType: x.op.typ, s: prefix})), yes, no, null), nil
	case any:
		return newLeaf(x.op, beginning(prefix), yes, no, null), nil
	case prefix != "" && x.op.calc == nil:
		return newJunction(true, newLeaf(x.op, beginning(prefix), yes, no, null), n), nil
	}
	return settled(n), nil
}

// settled decides a condition without columns, unless it fails.
func settled(n node) node {
	varies := false
	n.operands(func(*operand) { varies = true })
	if varies {
		return n
	}
	m := newMachine(memory.DefaultAllocator, 1)
	defer m.close()
	r := n.eval(m)
	if len(r.errs) > 0 || m.err != nil {
		return n
	}
	return constant{r.at(0)}
}

// at is the truth of a row.
func (r mask) at(row int) truth {
	switch {
	case r.t[row/8]>>(row%8)&1 == 1:
		return yes
	case r.f[row/8]>>(row%8)&1 == 1:
		return no
	}
	return null
}

// likeNode matches strings with patterns.
type likeNode struct {
	at         *expr.Like
	x, pattern calc
	fixed      *pattern // if it is constant
	escape     rune
	in, out    truth // of what matches, and what does not; NULL gives NULL
}

func (n *likeNode) negate() node {
	c := *n
	c.in, c.out = n.out, n.in
	return &c
}

func (n *likeNode) operands(visit func(*operand)) {
	n.x.operands(visit)
	n.pattern.operands(visit)
}

func (n *likeNode) eval(m *machine) mask {
	args, errs, constant := m.arguments(&callCalc{args: []calc{n.x, n.pattern}, nullStops: true})
	defer func() {
		for _, a := range args {
			a.Release()
		}
	}()
	if constant {
		errs = errs.spread(m.rows)
	}
	r := m.mask()
	clear(r.t)
	clear(r.f)
	x, p := args[0], args[1]
	patterns := patternCache{fixed: n.fixed, escape: n.escape}
	var own failures
	for row := range m.rows {
		i, j := x.At(row), p.At(row)
		if x.IsNull(i) || p.IsNull(j) {
			continue
		}
		pattern, err := patterns.of(p, j)
		if err != nil {
			own = append(own, failure{row, n.at, err})
			continue
		}
		t := n.out
		if pattern.match(x.Array.(*array.String).Value(i)) {
			t = n.in
		}
		r.t[row/8] |= bit(t == yes) << (row % 8)
		r.f[row/8] |= bit(t == no) << (row % 8)
	}
	return r.fail(errs.and(own))
}

// patternCache reads a pattern again only where it is another than in the row before.
type patternCache struct {
	fixed   *pattern
	escape  rune
	text    string
	pattern pattern
	err     error
}

func (c *patternCache) of(p function.Arg, i int) (pattern, error) {
	if c.fixed != nil {
		return *c.fixed, nil
	}
	if text := p.Array.(*array.String).Value(i); text != c.text || c.pattern.parts == nil {
		c.text = text
		c.pattern, c.err = newPattern(text, c.escape)
	}
	return c.pattern, c.err
}
