package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/trial"
)

// Diff finds what differs between the tables that two runs of a job left, and the likely cause.
//
// The tables are one at two versions, or two that began as copies of one.
type Diff struct {
	// Before is the table with which the first run began.
	Before *delta.Snapshot

	First, Second Side

	// How says what the second run had that the first had not.
	How How

	// Ignore names columns whose values do not count.
	Ignore []string

	made commits
}

// Side is a table that was left, and the runs that left it.
type Side struct {
	Env      *Env
	Log      *logio.Log
	Snapshot *delta.Snapshot

	// Runs are what was seen of the runs, in the order in which they began.
	Runs []Run
}

// Run is what was seen of one run of a job.
type Run struct {
	Calls []trial.Call

	// Spans are when it ran, by each clock that it could read.
	Spans []Span
}

// Span is a stretch of time.
type Span struct{ From, To time.Time }

// How says what a second run had that the first had not.
type How int

const (
	// Again: it came after the first.
	Again How = iota

	// Afresh: it began where the first began, on a copy.
	Afresh

	// Reordered: as Afresh, and its input came in another order.
	Reordered

	// Claimed: as Afresh; a store operation went wrong, and the job said that all is well.
	Claimed

	// Rerun: as Afresh; a store operation went wrong or the process died, and the job was run again.
	Rerun

	// Crossed: as Afresh; another run came between.
	Crossed

	// Older: a run for an earlier batch came after the first.
	Older
)

// Explained is what a Diff finds.
type Explained struct {
	Added, Removed, Changed int64
	Columns                 []string
	Samples                 []string
	Versions                []string
	Cause                   string
}

const (
	// diffRows bounds the differing rows that are looked at for columns and samples.
	diffRows = 10_000

	diffSamples = 5

	// changed begins the sample of a row that is in both tables with other values.
	changed = "~ "
)

// bag is a multiset of rows by digest; a count below zero is a row of the other side.
type bag map[rows.Digest]int64

// Explain compares the tables. Only files that one of them lacks are read.
func (p *Diff) Explain(ctx context.Context) (*Explained, error) {
	change, err := p.between(ctx, p.Second, p.First)
	if err != nil {
		return nil, err
	}
	out := &Explained{}
	for _, n := range change {
		out.Added += max(n, 0)
		out.Removed += max(-n, 0)
	}
	added, err := p.collect(ctx, p.Second, p.First, change, 1)
	if err != nil {
		return nil, err
	}
	defer added.release()
	removed, err := p.collect(ctx, p.First, p.Second, change, -1)
	if err != nil {
		return nil, err
	}
	defer removed.release()
	out.Samples = append(removed.samples("- "), added.samples("+ ")...)
	if p.made, err = p.commits(ctx); err != nil {
		return nil, err
	}
	out.Versions = p.made.lines
	return out, p.judge(ctx, out, change, added, removed)
}

// between is a minus b.
func (p *Diff) between(ctx context.Context, a, b Side) (bag, error) {
	out := bag{}
	if err := p.count(ctx, out, a, b, 1); err != nil {
		return nil, err
	}
	if err := p.count(ctx, out, b, a, -1); err != nil {
		return nil, err
	}
	for d, n := range out {
		if n == 0 {
			delete(out, d)
		}
	}
	return out, nil
}

// only gives the files of a that b lacks. In tables that are copies only what both began with is
// the same file: later ones may have equal names.
func (p *Diff) only(a, b Side) []*delta.Add {
	has := func(s *delta.Snapshot, f *delta.Add) bool {
		other, live := s.Live(f.Key)
		return live && other.DeletionVector.ID() == f.DeletionVector.ID()
	}
	var out []*delta.Add
	for f := range a.Snapshot.Files() {
		if !has(b.Snapshot, f) || a.Log != b.Log && !has(p.Before, f) {
			out = append(out, f)
		}
	}
	return out
}

func (p *Diff) count(ctx context.Context, into bag, a, b Side, sign int64) error {
	return p.each(ctx, a, p.only(a, b), func(_ arrow.RecordBatch, digests []rows.Digest) error {
		for _, d := range digests {
			into[d] += sign
		}
		return nil
	})
}

// counts says whether a column's values count.
func (p *Diff) counts(name string) bool {
	return !slices.ContainsFunc(p.Ignore, func(ignored string) bool { return strings.EqualFold(ignored, name) })
}

// columns are the columns that are read: nil for all.
func (p *Diff) columns(snap *delta.Snapshot) []string {
	if len(p.Ignore) == 0 {
		return nil
	}
	out := []string{}
	for _, f := range snap.Schema().Fields {
		if p.counts(f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// each gives the rows of files with their digests.
func (p *Diff) each(ctx context.Context, s Side, files []*delta.Add, f func(arrow.RecordBatch, []rows.Digest) error) error {
	if len(files) == 0 {
		return nil
	}
	for batch, err := range scan.Rows(ctx, s.Env.Table(s.Snapshot), scan.Request{Files: files, Columns: p.columns(s.Snapshot)}) {
		if err != nil {
			return err
		}
		digests := make([]rows.Digest, batch.NumRows())
		if err := rows.RowDigests(batch, digests); err != nil {
			return err
		}
		if err := f(batch, digests); err != nil {
			return err
		}
	}
	return nil
}

// Digest is the number and the digest of a table's rows without the columns that do not count.
func (p *Diff) Digest(ctx context.Context, s Side) (int64, rows.Digest, error) {
	n, sum := int64(0), rows.Digest{}
	files := slices.Collect(s.Snapshot.Files())
	err := p.each(ctx, s, files, func(_ arrow.RecordBatch, digests []rows.Digest) error {
		for _, d := range digests {
			sum = sum.Add(d)
		}
		n += int64(len(digests))
		return nil
	})
	return n, sum, err
}

// collect gives the rows of a table that the change has beyond the other, at most diffRows.
func (p *Diff) collect(ctx context.Context, s, other Side, change bag, sign int64) (*picked, error) {
	left := bag{}
	for d, n := range change {
		if n*sign > 0 {
			left[d] = n * sign
		}
	}
	out := &picked{}
	err := p.each(ctx, s, p.only(s, other), func(batch arrow.RecordBatch, digests []rows.Digest) error {
		var index []int32
		for i, d := range digests {
			if left[d] > 0 && out.n < diffRows {
				left[d]--
				out.n++
				index = append(index, int32(i))
			}
		}
		if len(index) == 0 {
			return nil
		}
		taken, err := rows.Take(s.Env.Allocator, batch, index)
		if err == nil {
			out.batches = append(out.batches, taken)
		}
		return err
	})
	if err != nil {
		out.release()
	}
	return out, err
}

// Clocked gives the columns in which every row that the second side's runs wrote since Before holds
// the time, or the date, of a run.
func (p *Diff) Clocked(ctx context.Context) ([]string, error) {
	began := Side{Env: p.Second.Env, Log: p.Second.Log, Snapshot: p.Before}
	change, err := p.between(ctx, p.Second, began)
	if err != nil {
		return nil, err
	}
	wrote, err := p.collect(ctx, p.Second, began, change, 1)
	if err != nil {
		return nil, err
	}
	defer wrote.release()
	c := contrast{new: wrote}
	var out []string
	for _, f := range p.Second.Snapshot.Schema().Fields {
		if c.clocked(f.Name, p.Second.Runs) {
			out = append(out, f.Name)
		}
	}
	return out, nil
}

// commits is what the runs of the second side committed.
type commits struct {
	lines   []string // "version 3: WRITE, 2 files added, 0 removed"
	tags    []string // of commits that changed rows, "loader@7"
	tagged  int      // commits that changed rows under a tag
	removed int      // files

	// How many there are of each kind. One that adds no file and removes none is of none.
	appends, overwrites, merges, updates, deletes int
}

func (p *Diff) commits(ctx context.Context) (commits, error) {
	var out commits
	from := p.Before.Version()
	if p.First.Log == p.Second.Log {
		from = p.First.Snapshot.Version()
	}
	for v := from + 1; v <= p.Second.Snapshot.Version(); v++ {
		actions, _, err := p.Second.Log.ReadCommit(ctx, v)
		if err != nil {
			return out, err
		}
		out.take(v, actions)
	}
	return out, nil
}

func (c *commits) take(version int64, actions []delta.Action) {
	var info delta.CommitInfo
	var tags []string
	adds, removes := 0, 0
	for _, a := range actions {
		switch {
		case a.CommitInfo != nil:
			info = *a.CommitInfo
		case a.Add != nil:
			adds++
		case a.Remove != nil:
			removes++
		case a.Txn != nil && !commit.Reserved(a.Txn.AppID):
			tags = append(tags, commit.Tag{AppID: a.Txn.AppID, Version: a.Txn.Version}.String())
		}
	}
	c.removed += removes
	if adds+removes > 0 && len(tags) > 0 {
		c.tags = append(c.tags, tags...)
		c.tagged++
	}
	switch operation := info.Operation; {
	case adds+removes == 0:
	case operation == "MERGE":
		c.merges++
	case operation == "UPDATE":
		c.updates++
	case operation == "DELETE":
		c.deletes++
	case info.OperationParameters["mode"] == "Overwrite" || removes > 0:
		c.overwrites++
	default:
		c.appends++
	}
	name := info.Operation
	if name == "" {
		name = "a commit without commitInfo"
	}
	c.lines = append(c.lines, fmt.Sprintf("version %d: %s, %d files added, %d removed", version, name, adds, removes))
}

// shown is how many rows the samples stand for: a changed one for both of its versions.
func (e *Explained) shown() int64 {
	n := int64(0)
	for _, s := range e.Samples {
		n++
		if strings.HasPrefix(s, changed) {
			n++
		}
	}
	return n
}

// Text is a report: what is different, then both tables under a title, the rows, the commits after
// the word for who made them, and the cause.
func (e *Explained) Text(what string, titles, prints [2]string, made string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "diff: %s: +%d rows, -%d rows", what, e.Added, e.Removed)
	if e.Changed > 0 {
		fmt.Fprintf(&b, ", of which %d are other versions of the same row", e.Changed)
	}
	for i, title := range titles {
		fmt.Fprintf(&b, "\n  %s: %s", title, prints[i])
	}
	if len(e.Columns) > 0 {
		fmt.Fprintf(&b, "\n  columns: %s", strings.Join(e.Columns, ", "))
	}
	for _, s := range e.Samples {
		b.WriteString("\n  " + s)
	}
	if more := e.Added + e.Removed - e.shown(); more > 0 {
		fmt.Fprintf(&b, "\n  … and %d rows more", more)
	}
	for _, v := range e.Versions {
		b.WriteString("\n  " + made + " " + v)
	}
	b.WriteString("\n  cause: " + e.Cause)
	return b.String()
}
