package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
)

// Hooks put something broken in place of what is simulated, to see that it is found out.
type Hooks struct {
	// Store wraps the store that all writers share.
	Store func(store.Store) store.Store

	// Options changes the options of every process.
	Options func(*idem.Options)

	// Append does the appends, on the store as the process sees it. A plain append has no tag.
	Append func(ctx context.Context, s store.Store, t *idem.Table, rows []tabletest.Row, tag idem.Txn) (*idem.Result, error)
}

// History is what came of a seed.
type History struct {
	Seed     uint64
	Trace    []string       // one line a step
	Broken   []string       // rules that were broken; none: all is well
	Faults   map[string]int // by kind
	Outcomes map[string]int // of calls
	Verbs    map[string]int // calls, by verb
	Steps    int
	Versions int64
}

// String is the history as a failing test prints it.
func (h *History) String() string {
	return fmt.Sprintf("seed %d (go test ./internal/sim -run TestSeed -sim.seed=%d -v)\n%s\n\n%s",
		h.Seed, h.Seed, strings.Join(h.Trace, "\n"), strings.Join(h.Broken, "\n"))
}

// Run is the history of a seed.
func Run(seed uint64, hooks Hooks) *History {
	w := newWorld(seed, hooks)
	w.log("", "%s", w.plan)
	w.setUp()
	l := newLedger(w)
	for _, stage := range []func(){
		w.run,
		func() { w.check(l, "before anything else lands") },
		w.drain,
		func() { w.check(l, "after all has landed") },
		func() { w.finish(l) },
	} {
		if len(w.broken) == 0 {
			stage()
		}
	}
	h := &History{
		Seed: seed, Trace: w.trace, Broken: w.broken, Faults: w.faults, Steps: w.steps, Versions: w.look() + 1,
		Outcomes: map[string]int{}, Verbs: map[string]int{},
	}
	for _, c := range w.calls {
		h.Outcomes[c.outcome()]++
		h.Verbs[c.job.kind.String()]++
	}
	return h
}

// setUp makes the jobs, the writers, and, unless they race for that, the table.
func (w *world) setUp() {
	m := &maker{dice: w.dice, plan: w.plan}
	if !w.plan.race {
		wr := w.newWriter("set", nil)
		wr.quiet = true
		c := wr.beginCall(w.plan.create)
		_, res, err := idem.CreateStore(c.ctx, wr.view(), w.plan.definition(), wr.options())
		wr.endCall(res, err, false)
		if err != nil {
			w.fail("make the table: %v", err)
		}
		w.writers = nil
	}
	for i := range w.plan.writers {
		jobs := []*job(nil)
		if i == 1 && w.plan.twins {
			jobs = twinOf(w.writers[0].jobs)
		} else {
			jobs = m.series(i + 1)
		}
		w.writers = append(w.writers, w.newWriter(fmt.Sprintf("w%d", i+1), jobs))
	}
	for _, j := range w.plan.jobs {
		w.log("", "%s", j)
	}
}

// twinOf are the jobs that a second process may run beside the first: a plain append doubles.
func twinOf(jobs []*job) []*job {
	var out []*job
	for _, j := range jobs {
		if j.kind != appendRows {
			out = append(out, j)
		}
	}
	return out
}
