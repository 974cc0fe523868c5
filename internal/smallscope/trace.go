package smallscope

import (
	"container/heap"
	"fmt"
	"path"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
)

// way is a state and how it came about.
type way struct {
	state *state
	move  move
	from  *way
	cost  int
}

// A way costs most for each fault, then for each change of who goes on, then for each move.
const (
	faultCosts  = 1_000_000
	switchCosts = 1_000
)

type ways []*way

func (q ways) Len() int           { return len(q) }
func (q ways) Less(i, j int) bool { return q[i].cost < q[j].cost }
func (q ways) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *ways) Push(w any)        { *q = append(*q, w.(*way)) }
func (q *ways) Pop() any {
	old := *q
	w := old[len(old)-1]
	*q = old[:len(old)-1]
	return w
}

// shortest is the easiest way to a broken rule, told operation by operation.
func (x *explorer) shortest() []string {
	x.checks = newChecks(x)
	first, err := x.begin()
	if err != nil {
		return []string{err.Error()}
	}
	queue, seen := &ways{{state: first}}, map[identity]bool{}
	for queue.Len() > 0 {
		w := heap.Pop(queue).(*way)
		id := w.state.identity()
		id[0] = mix(id[0], uint64(w.move.actor()))
		if seen[id] {
			continue
		}
		seen[id] = true
		if w.state.over() {
			if err := x.checks.end(w.state); err != nil {
				return x.retell(w, move{}, err)
			}
		}
		for _, m := range x.moves(w.state) {
			next, err := x.take(w.state, m)
			if err != nil {
				return x.retell(w, m, err)
			}
			heap.Push(queue, &way{state: next, move: m, from: w, cost: w.cost + m.cost(w)})
		}
	}
	return []string{"no way to the broken rule was found again"}
}

func (m move) actor() int {
	if m.lands > 0 {
		return network
	}
	return m.who
}

func (m move) cost(w *way) int {
	cost := 1
	if m.fault != storetest.None {
		cost += faultCosts
	}
	if w.from != nil && m.actor() != w.move.actor() {
		cost += switchCosts
	}
	return cost
}

// retell tells a way again from its beginning, with a last move that breaks a rule.
func (x *explorer) retell(w *way, last move, broken error) []string {
	var moves []move
	for at := w; at.from != nil; at = at.from {
		moves = append([]move{at.move}, moves...)
	}
	if last != (move{}) {
		moves = append(moves, last)
	}
	x.trace, x.telling = []string{fmt.Sprintf("%s: writer 1 makes the first call, writer 2 the second, and its handle is two versions old", x.pair)}, true
	defer func() { x.telling = false }()
	s, err := x.begin()
	for _, m := range moves {
		if err != nil {
			break
		}
		s, err = x.take(s, m)
	}
	return append(x.trace, "broken: "+broken.Error())
}

// tell adds a line to the trace.
func (x *explorer) tell(format string, args ...any) {
	if x.telling {
		x.trace = append(x.trace, fmt.Sprintf(format, args...))
	}
}

// tellOp tells an operation, unless it is a read that nobody else could have disturbed.
func (x *explorer) tellOp(m move, n *node, a *answer) {
	reads := n.op.kind == storetest.OpGet || n.op.kind == storetest.OpGetRange || n.op.kind == storetest.OpHead || n.op.kind == storetest.OpList
	if !x.telling || reads && !n.shared && m.fault == storetest.None {
		return
	}
	what := short(n.op.key)
	if n.op.kind == storetest.OpDelete {
		what = fmt.Sprintf("%d objects from %s on", len(n.op.keys), what)
	}
	if n.op.kind == storetest.OpList && n.op.after != "" {
		what += " after " + short(n.op.after)
	}
	word, fault := "dies", ""
	if a != nil {
		word = a.word()
	}
	if m.fault != storetest.None {
		fault = fmt.Sprintf(" (%s)", m.fault)
	}
	if commitVersion(n.op.key) >= 0 && n.op.kind == storetest.OpPutIfAbsent {
		if actions, err := delta.DecodeCommit(n.op.key, n.op.data); err == nil && len(actions) > 0 && actions[0].CommitInfo != nil {
			what += ", a " + actions[0].CommitInfo.Operation
		}
	}
	x.tell("%swriter %d: %s %s -> %s%s", strings.Repeat(" ", 40*m.who), m.who+1, n.op.kind, what, word, fault)
}

// short is a key that a person can read: a commit by its version.
func short(key string) string {
	if v := commitVersion(key); v >= 0 {
		return fmt.Sprintf("commit %d", v)
	}
	if strings.HasPrefix(key, delta.LogDir) && key != delta.LogDir {
		return "log/" + strings.TrimLeft(path.Base(key), "0")
	}
	return key
}
