package expr

import "strings"

// Invalid stands for a value or a name that the builder could not take. It lets conditions be
// written without an error at each step: binding such a tree reports Err.
type Invalid struct {
	Err error
	At  int
}

func (e *Invalid) isExpr() {}

func (e *Column) Pos() int  { return e.At }
func (e *Literal) Pos() int { return e.At }
func (e *Binary) Pos() int  { return e.At }
func (e *Not) Pos() int     { return e.At }
func (e *IsNull) Pos() int  { return e.At }
func (e *In) Pos() int      { return e.At }
func (e *Between) Pos() int { return e.At }
func (e *Cast) Pos() int    { return e.At }
func (e *Call) Pos() int    { return e.At }
func (e *Like) Pos() int    { return e.At }
func (e *Case) Pos() int    { return e.At }
func (e *Element) Pos() int { return e.At }
func (e *Member) Pos() int  { return e.At }
func (e *Invalid) Pos() int { return e.At }

// children are the operands of a node, in the order of the text.
func children(e Expr) []Expr {
	switch e := e.(type) {
	case *Binary:
		return []Expr{e.L, e.R}
	case *Not:
		return []Expr{e.X}
	case *IsNull:
		return []Expr{e.X}
	case *In:
		return append([]Expr{e.X}, e.List...)
	case *Between:
		return []Expr{e.X, e.Lo, e.Hi}
	case *Cast:
		return []Expr{e.X}
	case *Call:
		return e.Args
	case *Like:
		return []Expr{e.X, e.Pattern}
	case *Case:
		list := []Expr{e.Operand}
		for _, w := range e.Whens {
			list = append(list, w.If, w.Then)
		}
		return append(list, e.Else)
	case *Element:
		return []Expr{e.X, e.Index}
	case *Member:
		return []Expr{e.X}
	}
	return nil
}

// Columns are the columns that a tree names, each once, in the order of their first use. Names
// that differ in case count as different: only a schema can tell.
func Columns(e Expr) [][]string {
	return columns(e, func(Expr) bool { return true })
}

// Compared are those of which more is asked than whether they are NULL.
func Compared(e Expr) [][]string {
	return columns(e, func(e Expr) bool {
		null, ok := e.(*IsNull)
		if !ok {
			return true
		}
		_, bare := null.X.(*Column)
		return !bare
	})
}

func columns(e Expr, into func(Expr) bool) [][]string {
	var paths [][]string
	seen := map[string]bool{}
	walk(e, func(e Expr) bool {
		c, ok := e.(*Column)
		if !ok {
			return into(e)
		}
		if key := c.String(); !seen[key] {
			seen[key] = true
			paths = append(paths, c.Path)
		}
		return true
	})
	return paths
}

// walk visits e and all nodes below it, operands from left to right, but for those below a node for which visit is
// false. Chains of operators may be long, so the nodes that wait are kept on a list and not on the stack of calls.
func walk(e Expr, visit func(Expr) bool) {
	waiting := []Expr{e}
	for len(waiting) > 0 {
		e := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if e == nil {
			continue
		}
		if !visit(e) {
			continue
		}
		below := children(e)
		for i := len(below) - 1; i >= 0; i-- {
			waiting = append(waiting, below[i])
		}
	}
}

// Conjuncts are the conditions that AND joins at the top of a tree, from left to right: the tree
// is TRUE where all of them are.
func Conjuncts(e Expr) []Expr {
	return operands(e, And)
}

// Disjuncts are the conditions that OR joins at the top of a tree, from left to right: the tree
// is TRUE where one of them is.
func Disjuncts(e Expr) []Expr {
	return operands(e, Or)
}

func operands(e Expr, op Op) []Expr {
	var flat []Expr
	waiting := []Expr{e}
	for len(waiting) > 0 {
		e := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if b, ok := e.(*Binary); ok && b.Op == op {
			waiting = append(waiting, b.R, b.L)
			continue
		}
		flat = append(flat, e)
	}
	return flat
}

// tooDeep finds a node below MaxDepth levels of a tree, or nil. The links of a chain of AND, or of OR,
// are one level.
func tooDeep(e Expr) Expr {
	type place struct {
		e     Expr
		level int
	}
	waiting := []place{{e, 1}}
	for len(waiting) > 0 {
		p := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if p.level > MaxDepth {
			return p.e
		}
		below := children(p.e)
		for i := len(below) - 1; i >= 0; i-- {
			switch x := below[i]; {
			case x == nil:
			case i == 0 && chained(p.e, x):
				waiting = append(waiting, place{x, p.level})
			default:
				waiting = append(waiting, place{x, p.level + 1})
			}
		}
	}
	return nil
}

// chained tells whether an operator and its left operand are links of a chain of AND or OR.
func chained(e, left Expr) bool {
	b, ok := e.(*Binary)
	l, also := left.(*Binary)
	return ok && also && b.Op == l.Op && (b.Op == And || b.Op == Or)
}

// Equal says whether two trees are the same but for positions in a text and the case of functions'
// names.
func Equal(a, b Expr) bool {
	type pair struct{ a, b Expr }
	waiting := []pair{{a, b}}
	for len(waiting) > 0 {
		p := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if p.a == nil || p.b == nil {
			if p.a != p.b {
				return false
			}
			continue
		}
		p.a, p.b = foldNumber(p.a), foldNumber(p.b)
		if !sameNode(p.a, p.b) {
			return false
		}
		below, other := children(p.a), children(p.b)
		if len(below) != len(other) {
			return false
		}
		for i := range below {
			waiting = append(waiting, pair{below[i], other[i]})
		}
	}
	return true
}

// sameNode compares two nodes without their operands.
func sameNode(a, b Expr) bool {
	switch a := a.(type) {
	case *Column:
		b, ok := b.(*Column)
		return ok && samePath(a.Path, b.Path)
	case *Literal:
		b, ok := b.(*Literal)
		return ok && sameScalar(a.Value, b.Value)
	case *Binary:
		b, ok := b.(*Binary)
		return ok && a.Op == b.Op
	case *Not:
		_, ok := b.(*Not)
		return ok
	case *IsNull:
		b, ok := b.(*IsNull)
		return ok && a.Negated == b.Negated
	case *In:
		b, ok := b.(*In)
		return ok && a.Negated == b.Negated
	case *Between:
		b, ok := b.(*Between)
		return ok && a.Negated == b.Negated
	case *Cast:
		b, ok := b.(*Cast)
		return ok && sameType(a.To, b.To)
	case *Call:
		b, ok := b.(*Call)
		return ok && strings.EqualFold(a.Name, b.Name)
	case *Like:
		b, ok := b.(*Like)
		return ok && a.Fold == b.Fold && a.Negated == b.Negated && escapeOf(a) == escapeOf(b)
	case *Case:
		_, ok := b.(*Case) // the branches are among the operands
		return ok
	case *Element:
		_, ok := b.(*Element)
		return ok
	case *Member:
		b, ok := b.(*Member)
		return ok && a.Name == b.Name
	case *Invalid:
		b, ok := b.(*Invalid)
		return ok && a.Err == b.Err
	}
	return false
}

func samePath(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
