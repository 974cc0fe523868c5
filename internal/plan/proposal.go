package plan

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
	"github.com/idemtable/idem/internal/trial"
)

// Proposal is what one attempt wants to change, and what it relied on. It holds no commitInfo and
// no txn: those belong to the call, not to the plan.
type Proposal struct {
	Operation   string
	Parameters  map[string]any
	Metrics     map[string]string
	Actions     []delta.Action
	Reads       commit.Reads
	BlindAppend bool

	// Tags go into commitInfo.tags, e.g. "delta.rowTracking.preserved".
	Tags map[string]string

	// Rearranges says that no row of the table changes, as in a compaction: the commit need not be
	// ordered after files that others add meanwhile.
	Rearranges bool

	// Record says that the commit is wanted also without an action, for what its commitInfo says.
	Record bool
}

// Counts is what a call did to rows.
type Counts struct {
	Read            int64 // rows of the input
	Identical       int64 // source rows dropped because an equal row is kept
	Older           int64 // source rows dropped because a newer source row has their key
	Inserted        int64
	Updated         int64
	Deleted         int64
	UpdatedBySource int64 // of Updated, target rows without a source row
	DeletedBySource int64 // of Deleted, target rows without a source row
	Matched         int64 // target rows with a source row
	SkippedOlder    int64 // matched rows left alone because the source row is older
	Ties            int64 // matched rows left alone because the source row is not newer
	TiesDiffering   int64 // of those: rows that differ elsewhere, counted with CompareTies
	Unmatched       int64 // deletes in the source that match nothing
	FilesAdded      int64
	FilesRemoved    int64
	FilesRewritten  int64 // removed files whose other rows were copied
	BytesAdded      int64
}

// Input is the rows of one call. Rewind is nil for rows that can be read once. Begin, if set, is called
// whenever reading begins instead of the reader's first Next: it may rewind rows that were begun before
// the call, or refuse them.
type Input struct {
	Reader array.RecordReader
	Rewind func(context.Context) error
	Begin  func(context.Context) (more bool, err error)
}

// batches reads the input once. A batch is valid until the next one is asked for.
func (in Input) batches(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return trial.From(ctx).Arrange(in.asGiven(ctx))
}

func (in Input) asGiven(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		more, err := in.begin(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("read the rows given: %w", err))
			return
		}
		for ; more; more = in.Reader.Next() {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			// Some readers hand out the batch in which they failed, what they could not read as NULL.
			if in.Reader.Err() != nil {
				break
			}
			given := in.Reader.RecordBatch()
			if v := reflect.ValueOf(given); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
				yield(nil, fmt.Errorf("read the rows given: %w: the reader says that there is a batch (its Next is true) and gives none (its RecordBatch is nil); nothing was changed: mend the reader", delta.ErrInput))
				return
			}
			batch := rows.Own(given)
			ok := yield(batch, nil)
			batch.Release()
			if !ok {
				return
			}
		}
		if err := in.Reader.Err(); err != nil {
			yield(nil, fmt.Errorf("read the rows given: %w", err))
		}
	}
}

// begin goes to the first batch.
func (in Input) begin(ctx context.Context) (more bool, err error) {
	if in.Begin == nil {
		return in.Reader.Next(), nil
	}
	return in.Begin(ctx)
}

// Table is a snapshot to read rows from.
func (e *Env) Table(snap *delta.Snapshot) scan.Table {
	return scan.Table{Store: e.Store, Snapshot: snap, Stats: e.Stats, Allocator: e.Allocator, Parallelism: max(e.Parallelism, 1)}
}

// memoryBytes is the budget for rows of one call.
func (e *Env) memoryBytes() int64 {
	if e.MemoryBytes > 0 {
		return e.MemoryBytes
	}
	return 512 << 20
}

// area is a place for rows of one call to be set aside in, with its share of the budget.
func (e *Env) area() *spill.Area { return e.Area(e.memoryBytes() / shares) }

// Area is one for as many bytes of rows in memory, at least one.
func (e *Env) Area(bytes int64) *spill.Area {
	a := spill.NewArea(e.TempDir, max(bytes, 1))
	a.Mem, a.Disk = e.Allocator, e.Disk
	return a
}

// forEach calls f for 0..n-1, on up to Parallelism goroutines; with one, in order on the caller's.
func (e *Env) forEach(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	return ForEach(ctx, e.Parallelism, n, f)
}

// ForEach calls f for 0..n-1, on up to parallelism goroutines; with one, in order on the caller's. It
// ends with the first error, and with the context.
func ForEach(ctx context.Context, parallelism, n int, f func(ctx context.Context, i int) error) error {
	if parallelism <= 1 || n < 2 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelism)
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, i)
		})
	}
	return g.Wait()
}

// Remove ends the life of a file as of now. dataChange says that its rows end, too.
func (e *Env) Remove(f *delta.Add, dataChange bool) delta.Action {
	now := e.Now().UnixMilli()
	size := f.Size
	return delta.Action{Remove: &delta.Remove{
		Path: f.Path, Key: f.Key, DeletionTimestamp: &now, DataChange: dataChange, ExtendedMetadata: true,
		PartitionValues: f.PartitionValues, Size: &size, Tags: f.Tags,
		DeletionVector: f.DeletionVector, BaseRowID: f.BaseRowID, CommitVersion: f.CommitVersion,
	}}
}

func adds(files []*delta.Add) []delta.Action {
	out := make([]delta.Action, len(files))
	for i, f := range files {
		out[i] = delta.Action{Add: f}
	}
	return out
}

// keys is the set of files that were read.
func keys(lists ...[]*delta.Add) map[string]struct{} {
	out := map[string]struct{}{}
	for _, l := range lists {
		for _, f := range l {
			out[f.Key] = struct{}{}
		}
	}
	return out
}

// mutable refuses to take rows from an append-only table.
func mutable(snap *delta.Snapshot, verb string) error {
	if snap.AppendOnly() {
		return fmt.Errorf("%w: the table is append-only (delta.appendOnly=true) and %s may remove rows; use AppendWithTxn, or set the property to false", delta.ErrInput, verb)
	}
	return nil
}

// sameDefinition says whether rows checked against one snapshot may be committed on another: what
// rows must look like is unchanged, or grew by nullable columns only. change compares the definitions.
func sameDefinition(was, is *delta.Snapshot, change func(old, now *delta.Metadata) string) error {
	a, b := was.Metadata(), is.Metadata()
	if a.ID != b.ID {
		return fmt.Errorf("%w: the table that was at version %d was dropped and made anew", commit.ErrConflict, was.Version())
	}
	why := ""
	if a != b {
		why = change(a, b)
	}
	if why == "" {
		why = commit.FeatureChange(was.Protocol(), is.Protocol(), a)
	}
	if why != "" {
		return fmt.Errorf("%w: %s between version %d, which the call was planned on, and version %d; call again to check it against the new definition", commit.ErrConflict, why, was.Version(), is.Version())
	}
	return nil
}
