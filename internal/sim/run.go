package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/spill"
	"github.com/idemtable/idem/internal/tabletest"
)

// Hooks put something broken in place of what is simulated, to see that it is found out.
type Hooks struct {
	// Store wraps the store that all writers share.
	Store func(store.Store) store.Store

	// Options changes the options of every process.
	Options func(*idem.Options)

	// Spills wraps the disk on which a process sets rows aside.
	Spills func(spill.Disk) spill.Disk

	// Append does the appends, on the store as the process sees it. A plain append has no tag.
	Append func(ctx context.Context, s store.Store, t *idem.Table, rows []tabletest.Row, tag idem.Txn) (*idem.Result, error)

	// Instead does the jobs of a verb, by its name.
	Instead map[string]func(ctx context.Context, s store.Store, t *idem.Table) (*idem.Result, error)

	// ForeignOverwrites has foreign writers put their commits over those of others.
	ForeignOverwrites bool

	// Plain makes tables without features, in which every data file is the stub codec's.
	Plain bool
}

// bare says that the tables are of the simplest kind.
func (h Hooks) bare() bool { return h.Plain || h.Append != nil }

// History is what came of a seed.
type History struct {
	Seed     uint64
	Cut      Cut
	Broken   []string       // rules that were broken; none: all is well
	Faults   map[string]int // by name
	Hits     map[Hit]int    // by number and verb
	Outcomes map[string]int // of calls
	Verbs    map[string]int // calls, by verb
	Writers  int            // that were drawn
	Parquet  bool           // data files are Parquet
	Steps    int
	Versions int64

	jobs    []int
	writers []int
	places  []place
	trace   []line
	truth   *truth
}

// Trace is what happened, a line for each step.
func (h *History) Trace() []string {
	out := make([]string, len(h.trace))
	for i, l := range h.trace {
		out[i] = l.String()
	}
	return out
}

// Store is a digest of the names and the bytes of all that is in the store at the end.
func (h *History) Store() string {
	sum, ctx := sha256.New(), context.Background()
	for info := range h.truth.List(ctx, "", "") {
		data, err := h.truth.Get(ctx, info.Key, 0)
		fmt.Fprintf(sum, "%q %x %v\n", info.Key, data, err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// String is the history as a failing test prints it.
func (h *History) String() string {
	again := fmt.Sprintf("go test ./internal/sim -run 'TestSeed$' -v -sim.seed=%d", h.Seed)
	if cut := h.Cut.String(); cut != "" {
		again += " -sim.cut=" + cut
	}
	return fmt.Sprintf("seed %d (%s)\n%s\n\n%s", h.Seed, again, strings.Join(h.Trace(), "\n"), strings.Join(h.Broken, "\n"))
}

// Reason is what is wrong in words that do not change with versions and names; "" if all is well.
func (h *History) Reason() string {
	if len(h.Broken) == 0 {
		return ""
	}
	line, _, _ := strings.Cut(h.Broken[0], "\n")
	if i := strings.LastIndex(line, ": "); i >= 0 {
		line = line[i+2:]
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, line)
}

// Run is the history of a seed.
func Run(seed uint64, hooks Hooks) *History { return RunCut(seed, hooks, Cut{}) }

// RunCut is the history of a seed of which parts are left out.
func RunCut(seed uint64, hooks Hooks, cut Cut) *History {
	w := newWorld(seed, hooks, cut)
	w.log("", "%s", w.plan)
	w.setUp()
	w.ledger = newLedger(w)
	for _, stage := range []func(){
		w.run,
		w.overtaken,
		func() { w.check(w.ledger, "before anything else lands") },
		w.drain,
		func() { w.check(w.ledger, "after all has landed") },
		func() { w.finish(w.ledger) },
	} {
		if len(w.broken) == 0 {
			stage()
		}
	}
	return w.history()
}

func (w *world) history() *History {
	h := &History{
		Seed: w.dice.seed, Cut: w.cut, trace: w.trace, Broken: w.broken, Faults: w.faults, Hits: w.hits, Steps: w.steps, Versions: w.look() + 1,
		Outcomes: map[string]int{}, Verbs: map[string]int{}, places: w.places,
		Writers: w.plan.writers, Parquet: w.plan.parquet, truth: w.truth,
	}
	for _, c := range slices.Concat(w.past, w.calls) {
		h.Outcomes[c.outcome()]++
		h.Verbs[c.job.kind.String()]++
	}
	for n := range w.plan.writers {
		if w.cut.keepsWriter(n) {
			h.writers = append(h.writers, n)
		}
	}
	for _, j := range w.plan.jobs {
		if w.cut.keepsJob(j.n) {
			h.jobs = append(h.jobs, j.n)
		}
	}
	return h
}

// setUp makes the jobs, the writers, and, unless they race for that, the table with its first rows.
func (w *world) setUp() {
	m := &maker{dice: w.dice.plan, plan: w.plan}
	first := m.first()
	if w.plan.race {
		first = nil
	} else {
		w.makeTable(first)
	}
	var twins []*job
	for i := range w.plan.writers {
		jobs := []*job(nil)
		switch {
		case i == 1 && w.plan.twins:
			jobs = twins
		case i == 1 && w.plan.foreign:
			jobs = m.stranger()
		default:
			jobs = m.series(i + 1)
		}
		if i == 0 {
			twins = twinOf(jobs)
		}
		if !w.cut.keepsWriter(i) {
			continue
		}
		wr := w.newWriter(fmt.Sprintf("w%d", i+1), w.kept(jobs))
		wr.index = i
		w.writers = append(w.writers, wr)
	}
	for _, j := range w.plan.jobs {
		if j.over = !w.cut.keepsJob(j.n) || !w.given(j); !j.over {
			w.log("", "%s", j)
		}
	}
}

// makeTable makes the table and runs the first jobs, with nobody else about.
func (w *world) makeTable(first []*job) {
	wr := w.newWriter("set", nil)
	wr.quiet, wr.index = true, -1
	if !wr.create() {
		return
	}
	for _, j := range w.kept(first) {
		if !wr.run(j) {
			w.fail("job %d (%s) does not end over a quiet store", j.n, j.kind)
		}
	}
	w.writers = nil
}

// create makes the table, and opens it.
func (wr *writer) create() bool {
	c := wr.beginCall(wr.w.plan.create)
	t, res, err := idem.CreateStore(c.ctx, wr.view(), wr.w.plan.definition(), wr.options())
	wr.endCall(res, err, false)
	if err != nil {
		wr.w.fail("make the table: %v", err)
	}
	wr.takes(t)
	return err == nil
}

// kept are the jobs that are not cut away.
func (w *world) kept(jobs []*job) []*job {
	var out []*job
	for _, j := range jobs {
		if w.cut.keepsJob(j.n) {
			out = append(out, j)
		}
	}
	return out
}

// given says whether a job is anybody's.
func (w *world) given(j *job) bool {
	if j.kind == createTable || len(w.callsOf(j)) > 0 {
		return true
	}
	for _, wr := range w.writers {
		if slices.Contains(wr.jobs, j) {
			return true
		}
	}
	return false
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
