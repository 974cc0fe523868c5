package expr

import "slices"

// Rewrite copies a tree bottom-up: f gets each node after the nodes below it were rewritten, and gives
// what stands in its place, the node itself to keep it. f must not change the node that it is given,
// and not give nil. Nodes below which nothing changes are shared with the tree that was given.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	// Chains may be long, so the nodes that wait for their operands are kept on a list.
	waiting := []rewriting{{node: e, below: children(e)}}
	for {
		last := &waiting[len(waiting)-1]
		if last.next < len(last.below) {
			x := last.below[last.next]
			if x == nil {
				last.next++
				continue
			}
			waiting = append(waiting, rewriting{node: x, below: children(x)})
			continue
		}
		done := f(last.result())
		waiting = waiting[:len(waiting)-1]
		if len(waiting) == 0 {
			return done
		}
		waiting[len(waiting)-1].put(done)
	}
}

// rewriting is a node whose operands before next are rewritten.
type rewriting struct {
	node    Expr
	below   []Expr
	next    int
	changed bool
}

func (r *rewriting) put(e Expr) {
	if e != r.below[r.next] {
		if !r.changed {
			r.below, r.changed = slices.Clone(r.below), true
		}
		r.below[r.next] = e
	}
	r.next++
}

func (r *rewriting) result() Expr {
	if !r.changed {
		return r.node
	}
	return withChildren(r.node, r.below)
}

// withChildren is a copy of e over other operands, in the order of children.
func withChildren(e Expr, list []Expr) Expr {
	switch e := e.(type) {
	case *Binary:
		return &Binary{Op: e.Op, L: list[0], R: list[1], At: e.At}
	case *Not:
		return &Not{X: list[0], At: e.At}
	case *IsNull:
		return &IsNull{X: list[0], Negated: e.Negated, At: e.At}
	case *In:
		return &In{X: list[0], List: list[1:], Negated: e.Negated, At: e.At}
	case *Between:
		return &Between{X: list[0], Lo: list[1], Hi: list[2], Negated: e.Negated, At: e.At}
	case *Cast:
		return &Cast{X: list[0], To: e.To, At: e.At}
	case *Call:
		return &Call{Name: e.Name, Args: list, At: e.At}
	case *Like:
		copied := *e
		copied.X, copied.Pattern = list[0], list[1]
		return &copied
	case *Case:
		last := len(list) - 1
		copied := &Case{Operand: list[0], Else: list[last], At: e.At}
		for i := 1; i < last; i += 2 {
			copied.Whens = append(copied.Whens, When{If: list[i], Then: list[i+1]})
		}
		return copied
	case *Element:
		return &Element{X: list[0], Index: list[1], At: e.At}
	case *Member:
		return &Member{X: list[0], Name: e.Name, At: e.At}
	}
	return e
}
