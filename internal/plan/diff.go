package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/rows"
)

// Diff finds what a second run of a job changed, and the likely cause.
type Diff struct {
	Env                   *Env
	Log                   *logio.Log
	Before, First, Second *delta.Snapshot

	tags    []string // that the second run wrote, "loader@7"
	deletes bool     // the second run did nothing but delete
	removed int      // files that the second run removed
}

// Explained is what it finds.
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
)

// bag is a multiset of rows by digest; a count below zero is a row of the other side.
type bag map[rows.Digest]int64

// Explain compares the tables after one and after two runs. Only files that one of them lacks are
// read.
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
	added, err := p.collect(ctx, p.Second, change, 1)
	if err != nil {
		return nil, err
	}
	defer added.release()
	removed, err := p.collect(ctx, p.First, change, -1)
	if err != nil {
		return nil, err
	}
	defer removed.release()
	out.Samples = append(removed.samples("- "), added.samples("+ ")...)
	if out.Versions, err = p.versions(ctx); err != nil {
		return nil, err
	}
	return out, p.judge(ctx, out, change, added, removed)
}

// between is a minus b.
func (p *Diff) between(ctx context.Context, a, b *delta.Snapshot) (bag, error) {
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

// only gives the files of a that b lacks.
func only(a, b *delta.Snapshot) []*delta.Add {
	var out []*delta.Add
	for f := range a.Files() {
		if other, live := b.Live(f.Key); !live || other.DeletionVector != f.DeletionVector {
			out = append(out, f)
		}
	}
	return out
}

func (p *Diff) count(ctx context.Context, into bag, a, b *delta.Snapshot, sign int64) error {
	return p.each(ctx, a, only(a, b), func(_ arrow.RecordBatch, digests []rows.Digest) error {
		for _, d := range digests {
			into[d] += sign
		}
		return nil
	})
}

// each gives the rows of files with their digests.
func (p *Diff) each(ctx context.Context, snap *delta.Snapshot, files []*delta.Add, f func(arrow.RecordBatch, []rows.Digest) error) error {
	if len(files) == 0 {
		return nil
	}
	for batch, err := range scan.Rows(ctx, p.Env.table(snap), scan.Request{Files: files}) {
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

// picked are rows that differ.
type picked struct {
	batches []arrow.RecordBatch
	n       int64
}

func (b *picked) release() {
	for _, x := range b.batches {
		x.Release()
	}
}

// samples shows some of the rows.
func (b *picked) samples(prefix string) []string {
	var out []string
	for _, batch := range b.batches {
		for i := range int(batch.NumRows()) {
			if len(out) == diffSamples {
				return out
			}
			out = append(out, prefix+describe(batch, fieldNames(batch.Schema()), i))
		}
	}
	return out
}

// digest is the digest of some columns of the rows.
func (b *picked) digest(columns ...string) (rows.Digest, error) {
	var sum rows.Digest
	for _, batch := range b.batches {
		var fields []arrow.Field
		var arrays []arrow.Array
		for c, f := range batch.Schema().Fields() {
			if slices.Contains(columns, f.Name) {
				fields, arrays = append(fields, f), append(arrays, batch.Column(c))
			}
		}
		part := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, batch.NumRows())
		d, err := rows.DigestRows(part, nil)
		part.Release()
		if err != nil {
			return sum, err
		}
		sum = sum.Add(d)
	}
	return sum, nil
}

// collect gives the rows of a snapshot that the change has beyond the other, at most diffRows.
func (p *Diff) collect(ctx context.Context, snap *delta.Snapshot, change bag, sign int64) (*picked, error) {
	other := p.First
	if sign < 0 {
		other = p.Second
	}
	left := bag{}
	for d, n := range change {
		if n*sign > 0 {
			left[d] = n * sign
		}
	}
	out := &picked{}
	err := p.each(ctx, snap, only(snap, other), func(batch arrow.RecordBatch, digests []rows.Digest) error {
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
		taken, err := rows.Take(p.Env.Allocator, batch, index)
		if err == nil {
			out.batches = append(out.batches, taken)
		}
		return err
	})
	return out, err
}

// versions says what the second run committed.
func (p *Diff) versions(ctx context.Context) ([]string, error) {
	var out []string
	p.deletes = true
	for v := p.First.Version() + 1; v <= p.Second.Version(); v++ {
		actions, _, err := p.Log.ReadCommit(ctx, v)
		if err != nil {
			return nil, err
		}
		operation, adds, removes := "a commit without commitInfo", 0, 0
		for _, a := range actions {
			switch {
			case a.CommitInfo != nil:
				operation = a.CommitInfo.Operation
			case a.Add != nil:
				adds++
			case a.Remove != nil:
				removes++
				p.removed++
			case a.Txn != nil && !commit.Reserved(a.Txn.AppID):
				p.tags = append(p.tags, commit.Tag{AppID: a.Txn.AppID, Version: a.Txn.Version}.String())
			}
		}
		p.deletes = p.deletes && operation == "DELETE"
		out = append(out, fmt.Sprintf("version %d: %s, %d files added, %d removed", v, operation, adds, removes))
	}
	return out, nil
}

// judge names the columns that differ and the likely cause.
func (p *Diff) judge(ctx context.Context, out *Explained, change bag, added, removed *picked) error {
	twin := removed
	if out.Removed == 0 && p.removed > 0 {
		out.Cause = fmt.Sprintf("the input grew: the second run replaced what the first wrote with %d rows more; "+
			"a job that can be repeated reads a source that stands still, such as a closed interval", out.Added)
		return nil
	}
	if out.Removed == 0 { // compare with what the first run wrote
		first, err := p.between(ctx, p.First, p.Before)
		if err != nil {
			return err
		}
		copies := int64(0)
		for d, n := range change {
			copies += min(max(n, 0), max(first[d], 0))
		}
		if copies == out.Added {
			out.Cause = p.appends(fmt.Sprintf("all %d rows are copies of rows that the first run wrote", copies), "")
			return nil
		}
		sub := Diff{Env: p.Env, Log: p.Log, Before: p.Before, First: p.Before, Second: p.First}
		if twin, err = sub.collect(ctx, p.First, first, 1); err != nil {
			return err
		}
		defer twin.release()
	}
	if p.deletes {
		out.Cause = fmt.Sprintf("a delete that finds more the second time: the second run deleted %d rows that the first run left or wrote; "+
			"delete by a condition that what the job itself writes does not satisfy", out.Removed)
		return nil
	}
	if out.Removed > out.Added {
		out.Cause = fmt.Sprintf("a partial source: the second run replaced what the first wrote with %d rows fewer; "+
			"a job that replaces a slice must read all of it, not what is new since its last run", out.Removed-out.Added)
		return nil
	}
	if added.n != twin.n || added.n == 0 {
		out.Cause = "the second run wrote other rows than the first: the input or the job is not the same from run to run"
		return nil
	}
	if err := out.differing(p.Second.Schema(), added, twin); err != nil {
		return err
	}
	if out.Removed > 0 && len(out.Columns) < len(p.Second.Schema().Fields) {
		out.Changed = min(out.Added, out.Removed)
	}
	out.Cause = p.cause(out.Columns, out.Removed == 0)
	return nil
}

// differing finds the columns in which two sets of rows differ.
func (out *Explained) differing(schema *delta.Struct, a, b *picked) error {
	for _, f := range schema.Fields {
		x, err := a.digest(f.Name)
		if err != nil {
			return err
		}
		y, err := b.digest(f.Name)
		if err != nil {
			return err
		}
		if x != y {
			out.Columns = append(out.Columns, f.Name)
		}
	}
	return nil
}

func (p *Diff) cause(columns []string, inserted bool) string {
	if len(columns) == 0 {
		return "the same values in other rows: a tie without order, so that which row wins depends on chance; name a total order (Merge.Newer, or sort by a unique key)"
	}
	var clocks, others []string
	for _, c := range columns {
		switch schema := p.Second.Schema(); schema.Fields[schema.Index(c)].Type {
		case delta.Timestamp, delta.TimestampNTZ, delta.Date:
			clocks = append(clocks, c)
		default:
			others = append(others, c)
		}
	}
	switch {
	case len(others) == 0 && inserted:
		return p.appends(fmt.Sprintf("but for a clock value in column %s the rows are copies of rows that the first run wrote", strings.Join(clocks, ", ")),
			", and take the logical date of the run")
	case len(others) == 0:
		return fmt.Sprintf("a clock value in column %s: it is another one in every run; take the logical date of the run, or the time from the row", strings.Join(clocks, ", "))
	case inserted && len(p.tags) > 0:
		return p.appends(fmt.Sprintf("but for column %s the rows are copies of rows that the first run wrote", strings.Join(others, ", ")), "")
	case inserted:
		return fmt.Sprintf("a generated key: column %s has new values in every run, so no row of the first run is recognised; derive the key from the row; if it is no key, the job appends without a tag", strings.Join(others, ", "))
	}
	return fmt.Sprintf("column %s differs from run to run: a generated value, or a tie without order; derive it from the row, and name a total order", strings.Join(columns, ", "))
}

// appends is the cause when the second run wrote the rows of the first once more.
func (p *Diff) appends(what, also string) string {
	if len(p.tags) > 0 {
		return fmt.Sprintf("another tag in every run: %s, under the tag %s; a tag must be the same on every run over the same rows%s", what, strings.Join(p.tags, ", "), also)
	}
	return fmt.Sprintf("the job appends without a tag: %s; use AppendWithTxn, or ReplaceWhere for the slice that the job owns%s", what, also)
}
