package smallscope

import (
	"fmt"
	"slices"

	"github.com/idemtable/idem/delta/store/storetest"
)

// node is where a life of a writer stands: what it was answered so far. Two ways to one node are one
// list of answers.
type node struct {
	parent *node
	by     *answer // that led here
	op     *op     // asked for next; nil when the call has ended
	end    *ending
	next   map[uint64]*node
	live   *process // one that stands here, if any
	depth  int
	faults int // suffered on the way
	id     uint64

	round  int  // of what follows
	shared bool // op does not commute with some operation of others
}

// program is a life of a writer: a tree of nodes, of which those are known that were met.
type program struct {
	by    author
	job   *job
	stale bool
	hooks *Hooks
	root  *node
	all   []*node

	runs int // processes started
}

func newProgram(by author, j *job, stale bool, hooks *Hooks) *program {
	pr := &program{by: by, job: j, stale: stale, hooks: hooks}
	p, o := pr.start()
	pr.root = pr.add(&node{op: o, id: mix(uint64(by.writer), uint64(by.life))}, p)
	return pr
}

func (pr *program) start() (*process, *op) {
	pr.runs++
	return start(pr.by, pr.job, pr.stale, pr.hooks)
}

func (pr *program) add(n *node, p *process) *node {
	n.next = map[uint64]*node{}
	if n.op == nil {
		n.end = p.end
	} else {
		n.live = p
	}
	pr.all = append(pr.all, n)
	return n
}

// unsteadyError says that the same answers did not lead to the same operation.
type unsteadyError struct{ text string }

func (e *unsteadyError) Error() string { return e.text }

// step is where the writer stands once it has had an answer.
func (pr *program) step(n *node, a *answer) (*node, error) {
	if next := n.next[a.id]; next != nil {
		return next, nil
	}
	p := n.live
	if n.live = nil; p == nil {
		var err error
		if p, err = pr.replay(n); err != nil {
			return nil, err
		}
	}
	next := &node{parent: n, by: a, depth: n.depth + 1, faults: n.faults, id: mix(n.id, a.id)}
	if a.fault != storetest.None {
		next.faults++
	}
	if next.depth > mostOperations {
		return nil, fmt.Errorf("no end after %d operations", mostOperations)
	}
	next.op = p.answer(a)
	n.next[a.id] = pr.add(next, p)
	return next, nil
}

// mostOperations is more than any call makes.
const mostOperations = 2000

// path is the way to a node from the first one.
func (n *node) path() []*node {
	path := make([]*node, n.depth+1)
	for ; n != nil; n = n.parent {
		path[n.depth] = n
	}
	return path
}

// replay runs a process up to a node.
func (pr *program) replay(n *node) (*process, error) {
	p, o := pr.start()
	for _, at := range n.path() {
		if at.parent != nil {
			o = p.answer(at.by)
		}
		if o == nil || !o.equal(at.op) {
			p.stop()
			return nil, &unsteadyError{fmt.Sprintf("writer %d asks for %v after the answers after which it asked for %v: it is no function of them", pr.by.writer+1, o, at.op)}
		}
	}
	return p, nil
}

// close stops all processes.
func (pr *program) close() {
	for _, n := range pr.all {
		if n.live != nil {
			n.live.stop()
			n.live = nil
		}
	}
}

// proposed says whether the version whose commit an operation reads was proposed before.
func (n *node) proposed() bool {
	key := n.op.key
	for at := n.parent; at != nil; at = at.parent {
		if at.op.kind == storetest.OpPutIfAbsent && at.op.key == key {
			return true
		}
	}
	return false
}

// protocol says which rule of the commit protocol a proposal breaks.
func (n *node) protocol(d *disk) string {
	v := commitVersion(n.op.key)
	if n.op.kind != storetest.OpPutIfAbsent || v < 0 {
		return ""
	}
	if !slices.ContainsFunc(d.commits, func(o *object) bool { return commitVersion(o.key) == v-1 }) {
		return fmt.Sprintf("version %d is proposed while version %d is vacant", v, v-1)
	}
	for at := n.parent; at != nil; at = at.parent {
		was := commitVersion(at.op.key)
		switch {
		case at.op.kind != storetest.OpPutIfAbsent || was < 0:
		case was > v:
			return fmt.Sprintf("version %d is proposed after version %d", v, was)
		case was == v && string(at.op.data) != string(n.op.data):
			return fmt.Sprintf("other bytes are proposed for version %d than before", v)
		}
	}
	return ""
}
