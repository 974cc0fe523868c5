package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/vectors"
)

// dead is the number of a file's rows that its vector deletes.
func dead(f *delta.Add) int64 {
	if f.DeletionVector == nil {
		return 0
	}
	return f.DeletionVector.Cardinality
}

// liveRows is the number of a file's live rows by its statistics.
func liveRows(f *delta.Add, stats string) (int64, bool) {
	n, ok := delta.NumRecords(stats)
	if !ok || n < dead(f) {
		return 0, false
	}
	return n - dead(f), true
}

// usesVectors says whether the table wants rows deleted by deletion vectors: the protocol supports
// them and the property asks for them.
func usesVectors(snap *delta.Snapshot) bool {
	return snap.Protocol().Supports("deletionVectors") && isSet(snap, "delta.enableDeletionVectors")
}

// marks says whether rows of a file go by a vector, which leaves its bytes as they are, or by copying
// the rows that stay. live and gone count rows that are live now. A file of which less than half is
// left is copied: every reader would read the other half in vain. Where the table has a change data
// feed nothing is copied, since the feed then follows from the vectors alone and no row is written
// for it.
func marks(snap *delta.Snapshot, f *delta.Add, live, gone int64) bool {
	return usesVectors(snap) && (feedsChanges(snap) || 2*(live-gone) >= live+dead(f))
}

// deletion is rows of one file that are deleted by its vector.
type deletion struct {
	file *delta.Add
	gone *delta.Vector // row indices in the file; they were live
	rows int64         // of the file, dead ones included
	sum  *rows.Digest  // of the rows that go; nil if nobody worked it out

	// after is the file under its larger vector; nil if no row is left.
	after *delta.Add
}

// deleteRows gives files larger vectors. The vectors that are new are in one file, which is removed
// again if something fails. A vector that does not add up is a broken invariant or a damaged table,
// and nothing is changed for it.
func (e *Env) deleteRows(ctx context.Context, snap *delta.Snapshot, todo []*deletion) error {
	if len(todo) == 0 {
		return nil
	}
	files := make([]*delta.Add, len(todo))
	for i, d := range todo {
		files[i] = d.file
	}
	stats, err := e.stats(ctx, snap, files)
	if err != nil {
		return err
	}
	w, known := vectors.New(ctx, e.Store, e.NewID), DigestsOf(snap)
	for i, d := range todo {
		if err := e.mark(ctx, w, d, stats[i], known); err != nil {
			w.Abort()
			return fmt.Errorf("delete rows of %s: %w", d.file.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		e.discardKeys([]string{w.Key()}) // it may be visible all the same
		return err
	}
	return nil
}

// mark gives one file its vector.
func (e *Env) mark(ctx context.Context, w *vectors.Writer, d *deletion, stats string, known *Digests) error {
	all := d.gone
	if d.file.DeletionVector != nil {
		old, err := vectors.Read(ctx, e.Store, e.Store.URL(), d.file.DeletionVector, d.rows)
		if err != nil {
			return err
		}
		all = old.Union(d.gone)
	}
	if n := dead(d.file) + d.gone.Cardinality(); all.Cardinality() != n || all.Max() >= d.rows {
		return conservation(d.file, d.rows, 0, n, d.rows-all.Cardinality())
	}
	if n, ok := delta.NumRecords(stats); ok && n != d.rows {
		return fmt.Errorf("%w: the file has %d rows and its statistics say %d", delta.ErrCorrupt, d.rows, n)
	}
	if all.Cardinality() == d.rows {
		return nil
	}
	vector, err := w.Put(all)
	if err != nil {
		return err
	}
	d.after = vectored(d, vector, stats, known)
	return nil
}

// vectored is the add of a file under its new vector: same bytes, same ids, bounds that are outer
// bounds. Its digest is known if those of the file and of the rows that go are.
func vectored(d *deletion, vector *delta.DeletionVector, stats string, known *Digests) *delta.Add {
	f := *d.file
	f.DeletionVector, f.DataChange = vector, true
	f.Stats, f.StatsDeferred = delta.LooseStats(stats, d.rows), false
	f.Tags = maps.Clone(f.Tags)
	delete(f.Tags, TagName)
	if n, sum, ok := known.Of(d.file); ok && d.sum != nil {
		f.Tags[TagName] = FormatFingerprint(n-d.gone.Cardinality(), sum.Sub(*d.sum), vector)
	}
	return &f
}

// vectorFiles are the files, below the root, that hold the vectors of adds.
func (e *Env) vectorFiles(files []*delta.Add) []string {
	keys := map[string]bool{}
	for _, f := range files {
		if f.DeletionVector == nil {
			continue
		}
		if key, _, err := f.DeletionVector.FileKey(e.Store.URL()); err == nil {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// vectorCounts is what a commit does to vectors, counted as other engines count: a vector that
// takes the place of another is added too.
type vectorCounts struct{ added, updated, removed int64 }

// tell puts the counts into the metrics of a commit that has any.
func (c vectorCounts) tell(metrics map[string]string) {
	if c == (vectorCounts{}) {
		return
	}
	for name, n := range map[string]int64{"Added": c.added, "Updated": c.updated, "Removed": c.removed} {
		metrics["numDeletionVectors"+name] = strconv.FormatInt(n, 10)
	}
}

// vectorsOf is the number of vectors of a file, one or none.
func vectorsOf(f *delta.Add) int64 {
	if f.DeletionVector == nil {
		return 0
	}
	return 1
}
