package idem

import (
	"context"
	"fmt"
	"strings"

	"github.com/idemtable/idem/internal/plan"
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

	// Changed counts keys that are in both with other values; it is known when the table has key
	// columns to go by, and 0 otherwise.
	Changed int64

	// Columns are the columns whose values the second run changed.
	Columns []string

	// Samples are some of the rows, "+ id=7, n=1".
	Samples []string

	// Versions are the commits of the second run, e.g. "version 3: WRITE, 2 files added".
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
	var b strings.Builder
	fmt.Fprintf(&b, "diff: the second run changed the table: +%d rows, -%d rows", d.Added, d.Removed)
	if d.Changed > 0 {
		fmt.Fprintf(&b, ", of which %d are other versions of the same row", d.Changed)
	}
	fmt.Fprintf(&b, "\n  after run 1: %s\n  after run 2: %s", d.First, d.Second)
	if len(d.Columns) > 0 {
		fmt.Fprintf(&b, "\n  columns: %s", strings.Join(d.Columns, ", "))
	}
	for _, s := range d.Samples {
		b.WriteString("\n  " + s)
	}
	for _, v := range d.Versions {
		b.WriteString("\n  second run made " + v)
	}
	b.WriteString("\n  cause: " + d.Cause)
	return b.String()
}

// Job is a load step: what it writes goes into the table that it is handed.
type Job func(ctx context.Context, t *Table) error

// RunTwice runs a job, fingerprints the table, runs the job again and compares. The job gets a
// table opened anew for each run, as two processes would. A difference is no error: ask the result.
// An error of the job ends it.
func RunTwice(ctx context.Context, t *Table, job Job) (*Difference, error) {
	const op = "RunTwice"
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
	first, second := one.current(), two.current()
	if d.First, err = t.print(ctx, first, Fingerprint{}, nil); err != nil {
		return nil, t.fail(op, err)
	}
	if d.Second, err = t.print(ctx, second, Fingerprint{}, nil); err != nil {
		return nil, t.fail(op, err)
	}
	if d.First.Rows == d.Second.Rows && d.First.Digest == d.Second.Digest {
		return d, nil
	}
	diff := plan.Diff{Env: &t.env, Log: t.log, Before: before, First: first, Second: second}
	found, err := diff.Explain(ctx)
	if err != nil {
		return nil, t.fail(op, err)
	}
	d.Added, d.Removed, d.Changed = found.Added, found.Removed, found.Changed
	d.Columns, d.Samples, d.Versions, d.Cause = found.Columns, found.Samples, found.Versions, found.Cause
	return d, nil
}

// runOnce runs the job on a table of its own, and gives the table as the run left it.
func (t *Table) runOnce(ctx context.Context, job Job, run int) (*Table, error) {
	fresh, err := OpenStore(ctx, t.store, t.opts)
	if err != nil {
		return nil, err
	}
	if err := job(ctx, fresh); err != nil {
		return nil, fmt.Errorf("run %d of the job: %w", run, err)
	}
	s, err := t.newest(ctx)
	if err != nil {
		return nil, err
	}
	return t.view(s), nil
}
