package idemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/plan"
)

// Way is a way in which a job comes again. Each is a subtest of [Prove].
type Way string

const (
	// Twice runs the job once more, as a scheduler does whose answer was lost; and on a copy of the
	// table as it was before, which must come out the same.
	Twice Way = "twice"

	// AnotherDay does both 25 hours later, by the clock of the table ([idem.Options].Clock); with
	// Options.FakeTime also by time.Now.
	AnotherDay Way = "another day"

	// AnotherOrder runs the job on copies of the table while the rows given to verbs, those of scans
	// and what passes through [Source] or [List] come in other orders and other batches.
	AnotherOrder Way = "another order"

	// Faults fails each store operation in turn: before its effect, and after it, as when an answer
	// is lost; for a commit also with the store away until the call has given up. What the job says
	// is checked against the table at once, then the job is run again.
	Faults Way = "faults"

	// Killed lets no operation through after the first, the second, and so on, as if the process had
	// died, and runs the job again on what is there.
	Killed Way = "killed"

	// TwoAtOnce stops the job at each store operation in turn, while another run of it goes from
	// beginning to end.
	TwoAtOnce Way = "two at once"

	// OlderBetween runs Options.Older, the job, Options.Older again and the job again: an older batch
	// that comes late must not change anything. It is run if there is an Older.
	OlderBetween Way = "older batch between"
)

// Options are what a job is put through. The zero Options are every way but OlderBetween.
type Options struct {
	_ struct{}

	// Older is the job for an earlier batch.
	Older idem.Job

	// Ignore names columns whose values do not count, such as one that tells when or by which run a
	// row was written.
	Ignore []string

	// Skip leaves ways out. Twice is always run.
	Skip []Way

	// MaxPoints bounds how many of the store operations are disturbed in each way; if the job has
	// more they are spread evenly. 0 means each of up to 200, and of more so many that the runs take
	// no longer than those: 80 of 500, 20 of 2000.
	MaxPoints int

	// FakeTime runs AnotherDay in a bubble of testing/synctest, so that time.Now, too, is on another
	// day. It is for jobs that use no network and leave no goroutine behind, and wants a *testing.T.
	FakeTime bool
}

// proof is what is known of a job.
type proof struct {
	table *idem.Table
	job   idem.Job
	o     Options
	opts  idem.Options // of all tables but the first

	clock *clock
	base  time.Time // when every run but the first begins, by the clock

	start, after *store.Mem      // the table before and after the first run
	before       *delta.Snapshot // of start
	begun, done  *state          // of start, and of after
	ops          []storetest.Call
	allTold      bool // every version that the first run made was a call's that told of it
	runs         int
	notes        []string
}

// way is one way as it is run.
type way struct {
	name Way
	run  func(p *proof, t testing.TB) error
}

var ways = []way{
	{Twice, (*proof).twice},
	{AnotherDay, (*proof).anotherDay},
	{AnotherOrder, (*proof).anotherOrder},
	{Faults, (*proof).faults},
	{Killed, (*proof).killed},
	{TwoAtOnce, (*proof).twoAtOnce},
	{OlderBetween, (*proof).olderBetween},
}

// Prove runs a job in every way in which it may come again (see [Way]) and fails the test, printing
// what differs and the likely cause, unless the table is always as after one run. Passing logs
// "diff: 0 rows" and what was run.
//
// The table itself is run on once; all else happens on copies of it in memory, on which no wait
// takes time. The job must write to the table that it is handed, and return its errors rather than
// fail the test. It is run about a hundred times for a job of a few calls, always on the goroutine of
// the test, also within another run of it: one that holds a lock of its own while it calls the table
// would wait for itself, and must skip TwoAtOnce. What it keeps outside of the table is not set back
// between runs.
func Prove(t testing.TB, table *idem.Table, job idem.Job, o Options) {
	t.Helper()
	p, err := newProof(t.Context(), table, job, o)
	if err == nil {
		err = p.first(t.Context())
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	var ran []string
	failed := false
	for _, w := range p.ways() {
		was := p.runs
		if !under(t, w.name, func(t testing.TB) error { return w.run(p, t) }) {
			failed = true
			if w.name == Twice {
				t.Logf("the other ways were not run: mend this first")
				return
			}
		}
		ran = append(ran, fmt.Sprintf("%s %d", w.name, p.runs-was))
	}
	if err := p.untouched(t.Context()); err != nil {
		t.Fatalf("%v", err)
	}
	if !failed {
		t.Logf("diff: 0 rows\nran %d ways, %d runs: %s%s", len(ran), p.runs, strings.Join(ran, ", "), strings.Join(append([]string{""}, p.notes...), "\nnote: "))
	}
}

// note keeps a remark for the end, once.
func (p *proof) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.notes, text) {
		p.notes = append(p.notes, text)
	}
}

// under runs a way as a subtest if there are such, and says whether it passed.
func under(t testing.TB, name Way, f func(testing.TB) error) bool {
	t.Helper()
	if tt, ok := t.(*testing.T); ok {
		return tt.Run(string(name), func(t *testing.T) {
			if err := f(t); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	err := f(t)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return err == nil
}

func newProof(ctx context.Context, table *idem.Table, job idem.Job, o Options) (*proof, error) {
	switch {
	case table == nil:
		return nil, errors.New("the table is nil")
	case job == nil:
		return nil, errors.New("the job is nil")
	}
	version, err := table.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	p := &proof{table: table, job: job, o: o, opts: table.Options()}
	p.base = p.opts.Clock.Now()
	p.clock = &clock{now: p.base}
	p.opts.Clock, p.opts.Random = p.clock, &chance{src: rand.NewPCG(1, 0x1de3)}
	p.opts.Parallelism, p.opts.Logger = 1, nil
	if p.start, err = p.copyOf(ctx, table.Store()); err != nil {
		return nil, err
	}
	began := p.world(p.start)
	if p.before, err = began.log.Load(ctx); err != nil {
		return nil, err
	}
	if p.before.Version() != version {
		return nil, fmt.Errorf("version %d of the table is handed in and version %d is the newest: hand in the table, not a view of it", version, p.before.Version())
	}
	if err := p.o.validate(p.before); err != nil {
		return nil, err
	}
	p.begun, err = began.state(ctx)
	return p, err
}

func (o Options) validate(snap *delta.Snapshot) error {
	for _, name := range o.Ignore {
		if snap.Schema().Index(name) < 0 {
			return fmt.Errorf("Options.Ignore names %q, which the table lacks", name)
		}
	}
	if o.MaxPoints < 0 {
		return errors.New("Options.MaxPoints is negative")
	}
	for _, s := range o.Skip {
		if s == Twice || !slices.ContainsFunc(ways, func(w way) bool { return w.name == s }) {
			return fmt.Errorf("Options.Skip names %q; it takes %s", s, strings.Join(skippable(), ", "))
		}
	}
	return nil
}

// skippable are the ways that can be left out: all but the first.
func skippable() []string {
	var out []string
	for _, w := range ways[1:] {
		out = append(out, fmt.Sprintf("%q", w.name))
	}
	return out
}

func (p *proof) ways() []way {
	var out []way
	for _, w := range ways {
		if !slices.Contains(p.o.Skip, w.name) && (w.name != OlderBetween || p.o.Older != nil) {
			out = append(out, w)
		}
	}
	return out
}

// first runs the job on the table itself, and keeps a copy of what it leaves.
func (p *proof) first(ctx context.Context) error {
	r, err := p.run(ctx, p.table.Store(), p.table.Options(), p.job, circumstances{})
	if err != nil {
		return err
	}
	if r.err != nil {
		return fmt.Errorf("run 1 of the job: %w", r.err)
	}
	version, err := p.table.Refresh(ctx)
	if err != nil {
		return err
	}
	if err := p.usedWhatItGot(r, version); err != nil {
		return err
	}
	committed, _ := r.count()
	p.allTold = version-p.before.Version() == committed
	if version == p.before.Version() {
		p.note("the job changed nothing: was there any input?")
	}
	if p.after, err = p.copyOf(ctx, p.table.Store()); err != nil {
		return err
	}
	p.done, err = p.world(p.after).state(ctx, r)
	return err
}

// usedWhatItGot makes sure that the table handed in is the one that the job works on: another is not
// a copy, and is neither watched nor disturbed.
func (p *proof) usedWhatItGot(r *run, version int64) error {
	const way = "; write the job as func(ctx context.Context, table *idem.Table) error and use this table for all that it does"
	if len(r.ops) == 0 {
		return errors.New("the job did nothing with the table that it was handed: it opens one itself, or there is nothing for it to do" + way)
	}
	for v := p.before.Version() + 1; v <= version; v++ {
		made := func(c storetest.Call) bool { return c.Op == storetest.OpPutIfAbsent && c.Key == delta.CommitKey(v) }
		if !slices.ContainsFunc(r.ops, made) {
			return fmt.Errorf("version %d of the table was made during the run, but not with the table that the job was handed: it opens another itself%s", v, way)
		}
	}
	return nil
}

// untouched makes sure that no run but the first wrote to the table itself.
func (p *proof) untouched(ctx context.Context) error {
	version, err := p.table.Refresh(ctx)
	if err == nil && version != p.done.side.Snapshot.Version() {
		err = fmt.Errorf("version %d of the table was made while the job ran on copies: it does not always use the table that it is handed", version)
	}
	return err
}

// finding is how a table differs.
type finding struct {
	how    plan.How
	what   string // "the second run changed the table"
	titles [2]string
}

var notAsOnce = finding{what: "the table is not as after one run", titles: [2]string{"after one run", "now"}}

func (f finding) by(how plan.How) finding {
	f.how = how
	return f
}

// compare gives an error that explains the difference between two tables, if there is one.
func (p *proof) compare(ctx context.Context, f finding, first, second *state) error {
	if first.same(second) {
		return nil
	}
	d := plan.Diff{Before: p.before, First: first.side, Second: second.side, How: f.how, Ignore: p.o.Ignore}
	found, err := d.Explain(ctx)
	if err != nil {
		return err
	}
	text := found.Text(f.what, f.titles, [2]string{first.String(), second.String()}, "committed:")
	if strings.HasPrefix(found.Cause, "a clock value") && len(p.o.Ignore) == 0 {
		text += "\n  a column that only tells when a row was written may be left out: Options.Ignore"
	}
	return errors.New(text)
}
