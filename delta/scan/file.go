package scan

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/vectors"
)

// Piece is some of a file's live rows, in file order.
type Piece struct {
	_ struct{}

	// Batch holds the rows. It is valid until the next piece is asked for; retain it to keep it.
	Batch arrow.RecordBatch

	first int64   // physical index of the row that kept counts from
	kept  []int32 // nil: every row from first on
}

// Row is the physical index in the file, deleted rows counted, of row i of Batch.
func (p Piece) Row(i int) int64 {
	if p.kept == nil {
		return p.first + int64(i)
	}
	return p.first + int64(p.kept[i])
}

// LiveOptions say what comes beside the columns.
type LiveOptions struct {
	_ struct{}

	// RowIDs appends the columns delta.RowIDColumn and delta.RowCommitVersionColumn. A table that
	// does not track rows, or that has a column of such a name, is an error that wraps
	// delta.ErrInput.
	RowIDs bool

	// Extra appends columns that the file has and the table has not, by the names that they have in
	// the file: _change_type of a file of changes. One that the file lacks is NULL.
	Extra []arrow.Field

	// Only are the physical indices of the rows that are wanted; row groups without any are not
	// read. nil means all.
	Only *delta.Vector
}

// Live reads the live rows of a file of the snapshot: those that its deletion vector does not
// delete. columns nil means all. Errors are those of Rows.
func Live(ctx context.Context, t Table, f *delta.Add, columns []string, o LiveOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		want, err := project(t.Snapshot, columns)
		if err == nil && o.RowIDs {
			want, err = withRowIDs(t.Snapshot, want)
		}
		if err != nil {
			yield(Piece{}, err)
			return
		}
		if len(o.Extra) > 0 {
			want = arrow.NewSchema(slices.Concat(want.Fields(), o.Extra), nil)
		}
		readLive(ctx, t, f, want, o.Only)(yield)
	}
}

// File reads the live rows of a file of the snapshot. columns nil means all.
func File(ctx context.Context, t Table, f *delta.Add, columns []string) Batches {
	return batches(Live(ctx, t, f, columns, LiveOptions{}))
}

func batches(pieces iter.Seq2[Piece, error]) Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for p, err := range pieces {
			if !yield(p.Batch, err) || err != nil {
				return
			}
		}
	}
}

// project gives the schema of the named columns.
func project(snap *delta.Snapshot, columns []string) (*arrow.Schema, error) {
	if !snap.HasSchema() {
		return nil, fmt.Errorf("%w: the table's metaData has no schemaString, so its rows cannot be read", delta.ErrCorrupt)
	}
	full := snap.ArrowSchema()
	if columns == nil {
		return full, nil
	}
	fields := make([]arrow.Field, 0, len(columns))
	for _, name := range columns {
		i := snap.Schema().Index(name)
		if i < 0 {
			return nil, fmt.Errorf("%w: the table has no column %q; its columns are %v", delta.ErrInput, name, names(full))
		}
		fields = append(fields, full.Field(i))
	}
	return arrow.NewSchema(fields, nil), nil
}

func names(s *arrow.Schema) []string {
	out := make([]string, s.NumFields())
	for i := range out {
		out[i] = s.Field(i).Name
	}
	return out
}

// readLive reads the live rows of a file, those of only if it is not nil, in the columns of want: the
// table's, and those of row ids.
func readLive(ctx context.Context, t Table, f *delta.Add, want *arrow.Schema, only *delta.Vector) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		r, err := openLive(ctx, t, f, want, only)
		if err == nil {
			defer r.file.Close()
			err = r.run(ctx, yield)
		}
		if err != nil {
			yield(Piece{}, fmt.Errorf("read %s: %w", f.Path, err))
		}
	}
}

// liveReader reads the live rows of one file.
type liveReader struct {
	layout  *layout
	mem     memory.Allocator
	file    parquetio.Reader
	deleted *delta.Vector // nil: no row
	only    *delta.Vector // the rows that are wanted; nil: every row
	first   int64         // physical index of the first row of the next batch
}

// openLive opens a file and its vector: a file whose vector cannot be had is not read.
func openLive(ctx context.Context, t Table, f *delta.Add, want *arrow.Schema, only *delta.Vector) (*liveReader, error) {
	if f.DeletionVector != nil && !t.Snapshot.Protocol().Supports("deletionVectors") {
		return nil, fmt.Errorf("%w: the file has a deletion vector, but the table's protocol does not list the feature deletionVectors", delta.ErrCorrupt)
	}
	l, err := newLayout(t.Snapshot, f, want)
	if err != nil {
		return nil, err
	}
	r := &liveReader{layout: l, mem: t.allocator(), only: only}
	o := parquetio.ReadOptions{Allocator: t.allocator(), ByID: t.Snapshot.Mapping() == delta.MappingID}
	if only != nil {
		o.Skip = r.skip
	}
	if delta.IsOutside(f.Key) && !store.ReadsOutside(t.Store) {
		return nil, fmt.Errorf("%w: the file lies outside the table's root, which the store that was given does not read", delta.ErrUnsupported)
	}
	src := parquetio.Object(ctx, t.Store, f.Key, f.Size)
	if r.file, err = parquetio.From(ctx).Open(ctx, src, o); err != nil {
		return nil, err
	}
	if f.DeletionVector == nil {
		return r, nil
	}
	if r.deleted, err = vectors.Read(ctx, t.Store, t.Store.URL(), f.DeletionVector, r.file.NumRows()); err != nil {
		r.file.Close()
		return nil, err
	}
	return r, nil
}

// run yields the pieces until the consumer has enough. Pieces without a row are left out.
func (r *liveReader) run(ctx context.Context, yield func(Piece, error) bool) error {
	if r.deleted != nil && r.deleted.Cardinality() == r.file.NumRows() {
		return nil
	}
	for batch, err := range r.file.Batches(ctx, r.layout.stored) {
		if err != nil {
			return err
		}
		p := Piece{first: r.first, kept: r.live(r.first, batch.NumRows())}
		r.first += batch.NumRows()
		if p.kept != nil && len(p.kept) == 0 {
			continue
		}
		if err := r.complete(&p, batch); err != nil {
			return err
		}
		more := yield(p, nil)
		p.Batch.Release()
		if !more {
			return nil
		}
	}
	return nil
}

// skip says whether no row of a row group is wanted. The first row that is not skipped is the next
// that comes.
func (r *liveReader) skip(first, n int64) bool {
	for range r.only.Within(first, first+n) {
		r.first = first
		return false
	}
	return true
}

// live gives the rows of a batch that are wanted and not deleted; nil means all.
func (r *liveReader) live(first, n int64) []int32 {
	if r.only != nil {
		kept := []int32{}
		for row := range r.only.Within(first, first+n) {
			if r.deleted == nil || !r.deleted.Contains(row) {
				kept = append(kept, int32(row-first))
			}
		}
		return kept
	}
	if r.deleted == nil {
		return nil
	}
	var kept []int32
	next := int64(0)
	for row := range r.deleted.Within(first, first+n) {
		if kept == nil {
			kept = make([]int32, 0, n)
		}
		for ; next < row-first; next++ {
			kept = append(kept, int32(next))
		}
		next++
	}
	if kept == nil {
		return nil
	}
	for ; next < n; next++ {
		kept = append(kept, int32(next))
	}
	return kept
}

// complete makes the batch of a piece of the columns that were read.
func (r *liveReader) complete(p *Piece, read arrow.RecordBatch) error {
	named, err := rows.Rename(read, r.layout.data)
	if err != nil {
		return err
	}
	defer named.Release()
	if p.kept == nil {
		p.Batch, err = r.layout.assemble(r.mem, named, *p)
		return err
	}
	taken, err := rows.Take(r.mem, named, p.kept)
	if err != nil {
		return err
	}
	defer taken.Release()
	p.Batch, err = r.layout.assemble(r.mem, taken, *p)
	return err
}
