//go:build unix

package kill_test

import (
	"hash/maphash"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
)

// world is the table as the history checker has it: the version, the rows, and the last job of each
// worker. It is never changed, but copied.
type world struct {
	version int64
	rows    *tabletest.Model
	last    map[int]int
	hash    uint64        // of all of it
	digest  func() string // of the rows, as a read gives it
}

var seed = maphash.MakeSeed()

func newWorld(version int64, rows *tabletest.Model, last map[int]int) *world {
	h := maphash.Comparable(seed, version)
	for r, n := range rows.Rows {
		h += maphash.Comparable(seed, struct {
			tabletest.Row
			n int
		}{r, n})
	}
	for worker, n := range last {
		h += maphash.Comparable(seed, [2]int{worker, n})
	}
	return &world{version, rows, last, h, sync.OnceValue(func() string { return digestOf(rows.Rows) })}
}

// with is the world after a commit of a job.
func (w *world) with(j *job) *world {
	rows, last := w.rows, w.last
	if j.verb.tagged() {
		rows, last = rows.Clone(), maps.Clone(last)
		j.apply(rows)
		last[j.worker] = j.n
	}
	return newWorld(w.version+1, rows, last)
}

// done tells whether the tag of a job is recorded.
func (w *world) done(j *job) bool {
	last, any := w.last[j.worker]
	return any && last >= j.n
}

// step gives the worlds in which a call may have left the table, none if it cannot have gone so. The
// outcome of a call whose process died is unknown: it did its work or not.
func (w *world) step(a asked) []*world {
	switch {
	case a.verb == reads && a.Outcome != "":
		if a.Version == w.version && a.Read == w.digest() {
			return []*world{w}
		}
		return nil
	case a.Outcome == "" && a.verb.tagged() && w.done(a.job), a.Outcome == "" && a.taken[w.version+1]:
		return w.without(a)
	case a.Outcome == "":
		return append(w.without(a), w.with(a.job))
	case a.Outcome == idem.Committed.String():
		if a.Version == w.version+1 && !(a.verb.tagged() && w.done(a.job)) {
			return []*world{w.with(a.job)}
		}
		return nil
	case a.verb.tagged() != w.done(a.job): // AlreadyApplied and Superseded, by the tag
		return nil
	}
	return []*world{w}
}

// without is the world after a call of unknown outcome that did nothing, unless it is known that it did.
func (w *world) without(a asked) []*world {
	if a.did {
		return nil
	}
	return []*world{w}
}

// asked is a call as the checker has it.
type asked struct {
	attempt
	did   bool           // its process died, but it is the only one that can have done what a later one found done
	taken map[int64]bool // the versions that were acknowledged to somebody
}

// model is the specification: what holds of one call after the other.
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{newWorld(0, tabletest.NewModel(), map[int]int{})} },
	Step: func(state, input, _ any) []any {
		var out []any
		for _, w := range state.(*world).step(input.(asked)) {
			out = append(out, w)
		}
		return out
	},
	Equal: func(a, b any) bool { return a.(*world).hash == b.(*world).hash },
	Hash:  func(state any) uint64 { return state.(*world).hash },
}

// check tells whether the calls can be put in an order that keeps real time, in which each ends as
// the specification says.
func check(all []attempt) porcupine.CheckResult {
	var history []porcupine.Operation
	for _, a := range settle(all) {
		history = append(history, porcupine.Operation{ClientId: a.worker, Input: a, Call: a.begin, Return: a.end})
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), history, time.Minute)
}

// settle says of calls what follows from the others, and leaves out those that every world answers
// in one way and that change none. That shortens the search and decides nothing: without it the same
// histories have an order, after trying many more.
func settle(all []attempt) []asked {
	first, died, taken := map[*job]attempt{}, map[*job]int{}, map[int64]bool{}
	for _, a := range all {
		if a.Outcome == idem.Committed.String() && a.verb != checkpoints {
			taken[a.Version] = true
		}
		if known, ok := first[a.job]; a.acknowledged() && (!ok || a.end < known.end) {
			first[a.job] = a
		}
	}
	for _, a := range all {
		if known, ok := first[a.job]; ok && a.Outcome == "" && a.begin < known.end {
			died[a.job]++
		}
	}
	var out []asked
	for _, a := range all {
		known, ok := first[a.job]
		after := ok && known.end < a.begin
		undone := ok && a.Outcome == "" && known.Outcome == idem.Committed.String()
		if a.changesNothing() || undone || after && a.Outcome != idem.Committed.String() {
			continue
		}
		out = append(out, asked{a, ok && a.Outcome == "" && died[a.job] == 1, taken})
	}
	return out
}

// acknowledged tells whether a tagged call was told that its work is in the table.
func (a attempt) acknowledged() bool {
	return a.verb.tagged() && a.Outcome != "" && a.Outcome != conflict
}

// changesNothing tells the calls that leave every world as it is, whatever they find.
func (a attempt) changesNothing() bool {
	switch a.verb {
	case checkpoints, vacuums:
		return true
	case reads:
		return a.Outcome == ""
	case optimizes:
		return a.Outcome == idem.Unchanged.String() || a.Outcome == conflict
	}
	return a.Outcome == conflict
}

// linearizable checks a history and gives its length.
func linearizable(t *testing.T, all []attempt) int {
	began := time.Now()
	require.Equal(t, porcupine.Ok, check(all), "the history of %d calls", len(all))
	t.Logf("the history of %d calls has an order, found in %s", len(all), time.Since(began).Round(time.Millisecond))
	return len(all)
}

// history makes attempts one after the other: each begins when the one before has ended.
type history struct{ all []attempt }

func (h *history) add(j *job, outcome string, version int64, read string) {
	n := int64(len(h.all))
	h.all = append(h.all, attempt{job: j, begin: 2 * n, end: 2*n + 1, line: line{Outcome: outcome, Version: version, Read: read}})
}

func TestTheHistoryCheckerTellsRightFromWrong(t *testing.T) {
	committed, already := idem.Committed.String(), idem.AlreadyApplied.String()
	first := &job{worker: 1, n: 0, verb: appends, rows: []tabletest.Row{row("a", 1, 1, 1)}}
	second := &job{worker: 2, n: 0, verb: merges, rows: []tabletest.Row{row("a", 1, 2, 2)}}
	slice := &job{worker: 3, n: 0, verb: replaces, rows: []tabletest.Row{row("b", 2, 1, 1)}, in: func(r tabletest.Row) bool { return r.Day == "b" }}
	reading := &job{worker: 4, verb: reads}
	none := digestOf(tabletest.Rows{})
	one, both := digestOf(tabletest.Of(first.rows...)), digestOf(tabletest.Of(second.rows...))
	for _, c := range []struct {
		why  string
		want porcupine.CheckResult
		make func(h *history)
	}{
		{"one after the other", porcupine.Ok, func(h *history) {
			h.add(first, committed, 1, "")
			h.add(second, committed, 2, "")
			h.add(first, already, 2, "")
			h.add(reading, "Unchanged", 2, both)
		}},
		{"an acknowledged append is lost", porcupine.Illegal, func(h *history) {
			h.add(first, committed, 1, "")
			h.add(reading, "Unchanged", 1, none)
		}},
		{"a read is stale", porcupine.Illegal, func(h *history) {
			h.add(first, committed, 1, "")
			h.add(reading, "Unchanged", 0, none)
		}},
		{"an append is doubled", porcupine.Illegal, func(h *history) {
			h.add(first, committed, 1, "")
			h.add(first, committed, 2, "")
		}},
		{"a skip of what nobody wrote", porcupine.Illegal, func(h *history) {
			h.add(first, already, 0, "")
		}},
		{"two in one version", porcupine.Illegal, func(h *history) {
			h.add(first, committed, 1, "")
			h.add(slice, committed, 1, "")
		}},
		{"a killed append may have been done", porcupine.Ok, func(h *history) {
			h.add(first, "", 0, "")
			h.add(reading, "Unchanged", 1, one)
		}},
		{"or not", porcupine.Ok, func(h *history) {
			h.add(first, "", 0, "")
			h.add(reading, "Unchanged", 0, none)
			h.add(first, committed, 1, "")
		}},
		{"but not first not and then done", porcupine.Illegal, func(h *history) {
			h.add(first, "", 0, "")
			h.add(reading, "Unchanged", 0, none)
			h.add(reading, "Unchanged", 1, one)
		}},
		{"a compaction changes rows", porcupine.Illegal, func(h *history) {
			h.add(first, committed, 1, "")
			h.add(&job{worker: 5, verb: optimizes}, committed, 2, "")
			h.add(reading, "Unchanged", 2, none)
		}},
		{"calls at once have some order", porcupine.Ok, func(h *history) {
			h.add(second, committed, 2, "")
			h.add(first, committed, 1, "")
			h.all[0].end = 9
			h.add(reading, "Unchanged", 2, both)
			h.all[2].begin, h.all[2].end = 10, 11
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			h := &history{}
			c.make(h)
			require.Equal(t, c.want, check(h.all))
		})
	}
}
