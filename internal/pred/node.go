package pred

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// node is a condition that was bound. Nodes hold no NOT: negate pushes it to the leaves, so that
// what is proven of a node never rests on negating a proof.
type node interface {
	eval(m *machine) mask
	prove(f *Facts) truth
	negate() node

	// operands visits the columns that the condition is made of.
	operands(visit func(*operand))
}

// constant is a condition without a column.
type constant struct{ is truth }

func (n constant) negate() node            { return constant{n.is.not()} }
func (n constant) operands(func(*operand)) {}

// operand is what is compared: a column, a field of a struct, or a computed value.
type operand struct {
	path   []string // as the schema spells it
	column int      // of the schema
	fields []int    // below the column

	calc   calc // of a computed value; nil for a column
	shared bool // it has several uses: computed once a batch

	base   arrow.DataType // of the values in the array
	data   arrow.DataType // of the expression, after casts
	stored sqlType        // what base is
	typ    sqlType        // what data is
	asDay  bool           // a timestamp cast to its day
}

// leaf tests a column against constants: in for values of the set, out for the others, null for
// NULL.
type leaf struct {
	op            *operand
	set           keySet
	match         matcher
	in, out, null truth
}

func newLeaf(op *operand, set keySet, in, out, null truth) *leaf {
	if op.asDay {
		set = set.shift()
	}
	return &leaf{op: op, set: set, match: newMatcher(set, op.stored), in: in, out: out, null: null}
}

func (n *leaf) operands(visit func(*operand)) { n.op.operands(visit) }

func (n *leaf) negate() node {
	c := *n
	c.in, c.out, c.null = n.in.not(), n.out.not(), n.null.not()
	return &c
}

// versus compares two columns.
type versus struct {
	l, r       *operand
	lt, eq, gt truth
	one, both  truth // one side is NULL, both are
}

func (n *versus) operands(visit func(*operand)) {
	n.l.operands(visit)
	n.r.operands(visit)
}

func (n *versus) negate() node {
	c := *n
	c.lt, c.eq, c.gt, c.one, c.both = n.lt.not(), n.eq.not(), n.gt.not(), n.one.not(), n.both.not()
	return &c
}

// junction is AND or OR of conditions.
type junction struct {
	and    bool
	list   []node
	costly []bool // which of the list compute something
}

func newJunction(and bool, list ...node) *junction {
	n := &junction{and: and, list: list}
	for _, x := range list {
		n.costly = append(n.costly, computes(x))
	}
	return n
}

func (n *junction) operands(visit func(*operand)) {
	for _, x := range n.list {
		x.operands(visit)
	}
}

func (n *junction) negate() node {
	c := &junction{and: !n.and, costly: n.costly}
	for _, x := range n.list {
		c.list = append(c.list, x.negate())
	}
	return c
}

// computes tells whether a condition has computed operands, which take time and may fail.
func computes(n node) bool {
	switch n := n.(type) {
	case *sameNode:
		return true
	case *leaf:
		return n.op.calc != nil
	case *versus:
		return n.l.calc != nil || n.r.calc != nil
	case *junction:
		return slices.Contains(n.costly, true)
	case *mapped:
		return computes(n.x)
	case *pair:
		return computes(n.l) || computes(n.r)
	}
	return false
}

// mapped gives for TRUE, FALSE and NULL of a condition another value: <=> TRUE, IS NULL.
type mapped struct {
	x  node
	to [3]truth
}

func (n *mapped) operands(visit func(*operand)) { n.x.operands(visit) }

func (n *mapped) negate() node {
	c := &mapped{x: n.x}
	for i, t := range n.to {
		c.to[i] = t.not()
	}
	return c
}

// pair compares two conditions.
type pair struct {
	l, r  node
	table table
}

func (n *pair) operands(visit func(*operand)) {
	n.l.operands(visit)
	n.r.operands(visit)
}

func (n *pair) negate() node { return &pair{n.l, n.r, n.table.not()} }
