package scan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
)

// Rows reads the rows of a snapshot. Files come in the snapshot's order, rows in file order.
// Errors wrap [delta.ErrInput] (the request), [delta.ErrCorrupt] (a file is missing, short, damaged
// or not what the log says; the text names it) or [delta.ErrUnsupported].
func Rows(ctx context.Context, t Table, r Request) Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		q, err := newQuery(ctx, t, r)
		if err != nil {
			yield(nil, err)
			return
		}
		if t.parallelism() == 1 || len(q.files) < 2 {
			q.sequential(ctx)(yield)
			return
		}
		q.parallel(ctx)(yield)
	}
}

// query is a request bound to a snapshot.
type query struct {
	table  Table
	out    *arrow.Schema
	read   *arrow.Schema // out, and what the condition needs
	where  *pred.Predicate
	files  []*delta.Add
	inside map[*delta.Add]bool // the condition need not be evaluated
}

func newQuery(ctx context.Context, t Table, r Request) (*query, error) {
	out, err := project(t.Snapshot, r.Columns)
	if err != nil {
		return nil, err
	}
	if r.RowIDs {
		if out, err = withRowIDs(t.Snapshot, out); err != nil {
			return nil, err
		}
	}
	q := &query{table: t, out: out, read: out, files: r.Files}
	if q.files == nil {
		q.files = slices.Collect(t.Snapshot.Files())
	}
	if r.Where == nil {
		return q, nil
	}
	if q.where, err = pred.Bind(r.Where, t.Snapshot.ArrowSchema()); err != nil {
		return nil, err
	}
	pruned, err := prune(ctx, t, conditions(t.Snapshot, r.Where, q.where), q.files)
	if err != nil {
		return nil, err
	}
	q.inside = make(map[*delta.Add]bool, len(pruned.Inside))
	for _, f := range pruned.Inside {
		q.inside[f] = true
	}
	keep := make(map[*delta.Add]bool, len(pruned.Across)+len(pruned.Inside))
	for _, f := range pruned.Across {
		keep[f] = true
	}
	q.files = slices.DeleteFunc(slices.Clone(q.files), func(f *delta.Add) bool { return !keep[f] && !q.inside[f] })
	q.read = union(out, t.Snapshot.ArrowSchema(), q.where.Columns())
	return q, nil
}

// union adds the columns of full to out that it lacks.
func union(out, full *arrow.Schema, columns []int) *arrow.Schema {
	fields := slices.Clone(out.Fields())
	for _, c := range columns {
		if !out.HasField(full.Field(c).Name) {
			fields = append(fields, full.Field(c))
		}
	}
	return arrow.NewSchema(fields, nil)
}

// file reads one file and applies the condition.
func (q *query) file(ctx context.Context, f *delta.Add) Batches {
	if q.where == nil || q.inside[f] {
		return batches(readLive(ctx, q.table, f, q.out, nil))
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		for piece, err := range readLive(ctx, q.table, f, q.read, nil) {
			if err != nil {
				yield(nil, err)
				return
			}
			kept, err := q.filter(ctx, piece.Batch)
			if err != nil {
				yield(nil, fmt.Errorf("file %s: %w", f.Path, piece.locate(err)))
				return
			}
			more := kept.NumRows() == 0 || yield(kept, nil)
			kept.Release()
			if !more {
				return
			}
		}
	}
}

// locate counts the row of an error from the beginning of the file.
func (p Piece) locate(err error) error {
	if e, ok := err.(*pred.RowError); ok {
		return pred.After(p.Row(e.Row)-int64(e.Row), err)
	}
	return err
}

// filter keeps the rows for which the condition is TRUE and the columns that were asked for.
func (q *query) filter(ctx context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	mask, err := q.where.Eval(q.table.allocator(), batch)
	if err != nil {
		return nil, err
	}
	defer mask.Release()
	n := q.out.NumFields()
	narrow := array.NewRecordBatch(q.out, batch.Columns()[:n], batch.NumRows())
	defer narrow.Release()
	ctx = compute.WithAllocator(ctx, q.table.allocator())
	return compute.FilterRecordBatch(ctx, narrow, mask, compute.DefaultFilterOptions())
}

func (q *query) sequential(ctx context.Context) Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, f := range q.files {
			for batch, err := range q.file(ctx, f) {
				if !yield(batch, err) || err != nil {
					return
				}
			}
		}
	}
}
