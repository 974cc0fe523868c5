package idem

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/trial"
)

// Difference is what a second run of a job changed. It prints as a report; without a difference
// that is "diff: 0 rows".
type Difference struct {
	_ struct{}

	// Before, First and Second are the table before, after one and after two runs.
	Before, First, Second *Print

	// Added and Removed count rows that only the second, or only the first run's table has. A row
	// that changed counts in both.
	Added, Removed int64

	// Changed counts rows that are in both with other values in some columns; 0 if the columns that
	// do not differ do not tell.
	Changed int64

	// Columns are the columns whose values the second run changed.
	Columns []string

	// Samples are some of the rows: "+ id=7, n=1" and "- id=7, n=0", or "~ id=7: n=0 → 1" where the
	// columns that do not differ tell the rows apart.
	Samples []string

	// Versions are the commits of the second run, e.g. "version 3: WRITE, 2 files added, 0 removed".
	Versions []string

	// Cause is the likely cause in words.
	Cause string
}

// Same says whether the second run changed nothing.
func (d *Difference) Same() bool { return d.Added == 0 && d.Removed == 0 }

func (d *Difference) String() string {
	if d.Same() {
		return "diff: 0 rows"
	}
	found := plan.Explained{
		Added: d.Added, Removed: d.Removed, Changed: d.Changed,
		Columns: d.Columns, Samples: d.Samples, Versions: d.Versions, Cause: d.Cause,
	}
	return found.Text("the second run changed the table", [2]string{"after run 1", "after run 2"}, [2]string{d.First.String(), d.Second.String()}, "second run made")
}

// Job is a load step: what it writes goes into the table that it is handed.
type Job func(ctx context.Context, t *Table) error

// RunTwice runs a job, fingerprints the table, runs the job again and compares. The job gets a
// table opened anew for each run, as two processes would. A difference is no error: ask the result.
// A view of one version ([Table.At]) is [ErrInput].
//
// An error of the job ends it and is handed on, with the number of the run and with what it wraps itself: no
// sentinel is added. What the job committed before stays; so it does when RunTwice itself fails after a
// run, and [SafeToRunAgain] is false of both.
func RunTwice(ctx context.Context, t *Table, job Job) (*Difference, error) {
	const op = "RunTwice"
	if t == nil {
		return nil, wrap(op, "", -1, 0, fmt.Errorf("%w: the table is nil", ErrInput))
	}
	if t.frozen {
		return nil, t.fail(op, fmt.Errorf("%w: this is a view of version %d, and the job would write to the table itself; hand in the table", ErrInput, t.Version()))
	}
	if job == nil {
		return nil, t.fail(op, fmt.Errorf("%w: the job is nil", ErrInput))
	}
	before, err := t.newest(ctx)
	if err != nil {
		return nil, t.fail(op, err)
	}
	d := &Difference{}
	if d.Before, err = t.print(ctx, before, Fingerprint{}, nil); err != nil {
		return nil, t.fail(op, err)
	}
	one, err := t.runOnce(ctx, job, 1)
	if err != nil {
		return nil, t.fail(op, err)
	}
	two, err := t.runOnce(ctx, job, 2)
	if err != nil {
		return nil, t.fail(op, err)
	}
	if err := t.contrast(ctx, d, plan.Diff{Before: before, First: one, Second: two}); err != nil {
		return nil, t.fail(op, ranBefore(2, err))
	}
	return d, nil
}

// contrast compares the table after two runs.
func (t *Table) contrast(ctx context.Context, d *Difference, runs plan.Diff) (err error) {
	if d.First, err = t.print(ctx, runs.First.Snapshot, Fingerprint{}, nil); err != nil {
		return err
	}
	if d.Second, err = t.print(ctx, runs.Second.Snapshot, Fingerprint{}, nil); err != nil {
		return err
	}
	if d.First.Rows == d.Second.Rows && d.First.Digest == d.Second.Digest {
		return nil
	}
	found, err := runs.Explain(ctx)
	if err != nil {
		return err
	}
	d.Added, d.Removed, d.Changed = found.Added, found.Removed, found.Changed
	d.Columns, d.Samples, d.Versions, d.Cause = found.Columns, found.Samples, found.Versions, found.Cause
	return nil
}

// afterJob is an error that ended RunTwice once its job was started: the job's own, if it returned it.
type afterJob struct {
	error
	returned bool
}

func (e *afterJob) Unwrap() error { return e.error }

// ranBefore marks an error of RunTwice itself that came after runs of the job.
func ranBefore(runs int, err error) error {
	if runs == 0 {
		return err
	}
	done := fmt.Sprintf("the job ran, runs: %d, with what it committed", runs)
	return &afterJob{error: &inside.Partly{Err: err, Done: done, Again: "call again when what failed works if the job may run twice more"}}
}

// runOnce runs the job on a table of its own, and gives the table as the run left it.
func (t *Table) runOnce(ctx context.Context, job Job, run int) (plan.Side, error) {
	var heard ear
	ctx = trial.With(ctx, &trial.Trial{Told: heard.hear})
	fresh, err := OpenStore(ctx, t.store, t.opts)
	if err != nil {
		return plan.Side{}, ranBefore(run-1, err)
	}
	from, began := time.Now(), t.opts.Clock.Now()
	if err := job(ctx, fresh); err != nil {
		return plan.Side{}, &afterJob{error: fmt.Errorf("run %d of the job: %w", run, err), returned: true}
	}
	seen := plan.Run{
		Calls: heard.all(),
		Spans: []plan.Span{{From: from, To: time.Now()}, {From: began, To: t.opts.Clock.Now()}},
	}
	s, err := t.newest(ctx)
	if err != nil {
		return plan.Side{}, ranBefore(run, err)
	}
	return plan.Side{Env: &t.env, Log: t.log, Snapshot: s, Runs: []plan.Run{seen}}, nil
}

// ear keeps the calls that a job makes, on whatever goroutines.
type ear struct {
	mu    sync.Mutex
	calls []trial.Call
}

func (e *ear) hear(c trial.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, c)
}

func (e *ear) all() []trial.Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}
