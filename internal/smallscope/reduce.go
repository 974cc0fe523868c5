package smallscope

import (
	"strings"

	"github.com/idemtable/idem/delta/store/storetest"
)

// touched are the names that the operations of one writer, or the effects that come late, touched.
type touched struct {
	reads, writes map[string]bool
	lists         map[[2]string]bool // prefix and where it begins
}

func newTouched() *touched {
	return &touched{reads: map[string]bool{}, writes: map[string]bool{}, lists: map[[2]string]bool{}}
}

// add notes an operation, and tells whether that changes anything.
func (t *touched) add(o *op) (grown bool) {
	note := func(m map[string]bool, key string) {
		grown = grown || !m[key]
		m[key] = true
	}
	switch o.kind {
	case storetest.OpGet, storetest.OpGetRange, storetest.OpHead:
		note(t.reads, o.key)
	case storetest.OpList:
		at := [2]string{o.key, o.after}
		grown = !t.lists[at]
		t.lists[at] = true
	case storetest.OpDelete:
		for _, key := range o.keys {
			note(t.writes, key)
		}
	default:
		note(t.writes, o.key)
	}
	return grown
}

// conflicts says whether an operation does not commute with one of those noted: one of the two
// changes what the other touches.
func (t *touched) conflicts(o *op) bool {
	switch o.kind {
	case storetest.OpGet, storetest.OpGetRange, storetest.OpHead:
		return t.writes[o.key]
	case storetest.OpList:
		for key := range t.writes {
			if listed(o.key, o.after, key) {
				return true
			}
		}
		return false
	case storetest.OpDelete:
		for _, key := range o.keys {
			if t.changes(key) {
				return true
			}
		}
		return false
	}
	return t.changes(o.key)
}

// changes says whether one of the operations noted would see a change of a name, or make one.
func (t *touched) changes(key string) bool {
	if t.reads[key] || t.writes[key] {
		return true
	}
	for l := range t.lists {
		if listed(l[0], l[1], key) {
			return true
		}
	}
	return false
}

func listed(prefix, after, key string) bool { return strings.HasPrefix(key, prefix) && key > after }

// relation says which operations take turns. In one round it does not change.
type relation struct {
	full  bool        // all do
	known [3]*touched // by the writers, and by late effects: what earlier rounds met
	met   [3]*touched // what this round met
	apart [3][]*op    // treated as commuting in this round
	round int
}

const network = 2 // the place of late effects beside the two writers

func newRelation(full bool) *relation {
	r := &relation{full: full, round: 1}
	for i := range r.known {
		r.known[i], r.met[i] = newTouched(), newTouched()
	}
	return r
}

// turns says whether others may come before the operation that a writer asks for.
func (r *relation) turns(writer int, n *node) bool {
	if n.round != r.round {
		n.round = r.round
		r.met[writer].add(n.op)
		n.shared = r.full || r.known[1-writer].conflicts(n.op) || r.known[network].conflicts(n.op)
		if !n.shared {
			r.apart[writer] = append(r.apart[writer], n.op)
		}
	}
	return n.shared
}

// sent notes an effect that may come late.
func (r *relation) sent(o *op) { r.met[network].add(o) }

// next prepares another round; it is false if this one holds: nothing that it treated as commuting
// conflicts with what it met.
func (r *relation) next() bool {
	again := false
	for w := range 2 {
		for _, o := range r.apart[w] {
			again = again || r.met[1-w].conflicts(o) || r.met[network].conflicts(o)
		}
		r.apart[w] = nil
	}
	for i, m := range r.met {
		r.known[i].merge(m)
	}
	r.round++
	return again
}

func (t *touched) merge(m *touched) {
	for key := range m.reads {
		t.reads[key] = true
	}
	for key := range m.writes {
		t.writes[key] = true
	}
	for at := range m.lists {
		t.lists[at] = true
	}
}
