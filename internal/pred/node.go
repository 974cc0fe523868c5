package pred

// node is a condition that was bound. Nodes hold no NOT: negate pushes it to the leaves, so that
// what is proven of a node never rests on negating a proof.
type node interface {
	eval(m *machine) mask
	prove(f *Facts) truth
	negate() node
}

// constant is a condition without a column.
type constant struct{ is truth }

func (n constant) negate() node { return constant{n.is.not()} }

// operand is a column, or a field of a struct, as it is compared.
type operand struct {
	path   []string // as the schema spells it
	column int      // of the schema
	fields []int    // below the column
	stored sqlType  // of the values in the array
	typ    sqlType  // of the expression, after casts
	asDay  bool     // a timestamp cast to its day
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

func (n *versus) negate() node {
	c := *n
	c.lt, c.eq, c.gt, c.one, c.both = n.lt.not(), n.eq.not(), n.gt.not(), n.one.not(), n.both.not()
	return &c
}

// junction is AND or OR of conditions.
type junction struct {
	and  bool
	list []node
}

func (n *junction) negate() node {
	c := &junction{and: !n.and}
	for _, x := range n.list {
		c.list = append(c.list, x.negate())
	}
	return c
}

// mapped gives for TRUE, FALSE and NULL of a condition another value: <=> TRUE, IS NULL.
type mapped struct {
	x  node
	to [3]truth
}

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

func (n *pair) negate() node { return &pair{n.l, n.r, n.table.not()} }
