package changes

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/vectors"
)

// version is one version of the range.
type version struct {
	feed          *feed
	number        int64
	actions       []delta.Action
	before, after *delta.Snapshot
}

// part is a file whose rows, or some of them, changed.
type part struct {
	file *delta.Add
	kind string // what happened to the rows; "" is what the file says of each

	// within, if not nil, is the vector whose rows are the ones that changed.
	within *delta.DeletionVector
}

// rows gives the changes of the version.
func (v *version) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		parts, err := v.parts()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, p := range parts {
			for batch, err := range v.read(ctx, p) {
				if !yield(batch, err) || err != nil {
					return
				}
			}
		}
	}
}

// parts are the files to read: those in which the writer wrote the changes down or, if there are
// none, those that it added and removed.
func (v *version) parts() ([]part, error) {
	var written []part
	for _, a := range v.actions {
		if a.CDC != nil {
			f := &delta.Add{Path: a.CDC.Path, PartitionValues: a.CDC.PartitionValues, Size: a.CDC.Size}
			if err := v.locate(f); err != nil {
				return nil, err
			}
			written = append(written, part{file: f})
		}
	}
	if len(written) > 0 {
		return written, nil
	}
	return v.derived()
}

func (v *version) locate(f *delta.Add) (err error) {
	if f.Key, err = delta.ResolvePath(v.feed.in.Store.URL(), f.Path); err != nil {
		return fmt.Errorf("file %s: %w", f.Path, err)
	}
	return nil
}

// derived compares what was live with what is: a file that is there before and after under other
// vectors lost and won the rows in which the vectors differ.
func (v *version) derived() ([]part, error) {
	var out []part
	added := map[string]*delta.Add{}
	for _, a := range v.actions {
		if a.Add == nil || !a.Add.DataChange {
			continue
		}
		f := *a.Add
		if err := v.locate(&f); err != nil {
			return nil, err
		}
		added[f.Key] = &f
	}
	paired := map[string]bool{}
	for _, a := range v.actions {
		if a.Remove == nil || !a.Remove.DataChange {
			continue
		}
		f, live, err := v.removed(a.Remove)
		if err != nil {
			return nil, err
		}
		if !live {
			continue
		}
		to, again := added[f.Key]
		if !again {
			out = append(out, part{file: f, kind: Delete})
			continue
		}
		paired[f.Key] = true
		if to.DeletionVector != nil {
			out = append(out, part{file: f, kind: Delete, within: to.DeletionVector})
		}
		if f.DeletionVector != nil {
			out = append(out, part{file: to, kind: Insert, within: f.DeletionVector})
		}
	}
	for _, a := range v.actions {
		if a.Add == nil || !a.Add.DataChange {
			continue
		}
		f := added[keyOf(v, a.Add.Path)]
		if !paired[f.Key] && !v.wasLive(f) {
			out = append(out, part{file: f, kind: Insert})
		}
	}
	return out, nil
}

func keyOf(v *version, path string) string {
	key, _ := delta.ResolvePath(v.feed.in.Store.URL(), path)
	return key
}

// wasLive is true of a file that is added again as it was: no row of it is new.
func (v *version) wasLive(f *delta.Add) bool {
	if v.before == nil {
		return false
	}
	live, ok := v.before.Live(f.Key)
	return ok && live.DeletionVector.ID() == f.DeletionVector.ID()
}

// removed gives the file that a remove ends, as it was live. live is false for one that was not.
func (v *version) removed(r *delta.Remove) (f *delta.Add, live bool, err error) {
	f = &delta.Add{Path: r.Path, PartitionValues: r.PartitionValues, DeletionVector: r.DeletionVector}
	if err := v.locate(f); err != nil {
		return nil, false, err
	}
	if v.before != nil {
		was, ok := v.before.Live(f.Key)
		if !ok || was.DeletionVector.ID() != r.DeletionVector.ID() {
			return nil, false, nil
		}
		return was, true, nil
	}
	if !r.ExtendedMetadata || r.Size == nil {
		return nil, false, fmt.Errorf("%w: the remove of %s tells neither size nor partition values, and the version before it is no longer in the log: ask for changes from the next version on",
			delta.ErrInput, r.Path)
	}
	f.Size = *r.Size
	return f, true, nil
}

// read gives the changed rows of a file.
func (v *version) read(ctx context.Context, p part) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		f := v.feed
		var within *delta.Vector
		if p.within != nil {
			var err error
			if within, err = vectors.Read(ctx, f.in.Log.Store(), f.in.Store.URL(), p.within, -1); err != nil {
				yield(nil, fmt.Errorf("deletion vector of %s: %w", p.file.Path, err))
				return
			}
		}
		options := scan.LiveOptions{}
		if p.kind == "" {
			options.Extra = []arrow.Field{{Name: TypeColumn, Type: arrow.BinaryTypes.String, Nullable: true}}
		}
		table := scan.Table{Store: f.in.Log.Store(), Snapshot: f.shape, Allocator: f.env.Allocator, Parallelism: 1}
		for piece, err := range scan.Live(ctx, table, p.file, f.columns, options) {
			if err != nil {
				yield(nil, err)
				return
			}
			batch, err := v.change(piece, p, within)
			if err != nil {
				yield(nil, err)
				return
			}
			more := batch.NumRows() == 0 || yield(batch, nil)
			batch.Release()
			if !more {
				return
			}
		}
	}
}

// change puts the columns of the feed beside rows, those of within only.
func (v *version) change(piece scan.Piece, p part, within *delta.Vector) (arrow.RecordBatch, error) {
	f, batch := v.feed, piece.Batch
	if within != nil {
		var keep []int32
		for i := range int(batch.NumRows()) {
			if within.Contains(piece.Row(i)) {
				keep = append(keep, int32(i))
			}
		}
		some, err := rows.Take(f.env.Allocator, batch, keep)
		if err != nil {
			return nil, err
		}
		defer some.Release()
		batch = some
	}
	n := int(batch.NumRows())
	constants := []scalar.Scalar{
		scalar.NewStringScalar(p.kind), scalar.NewInt64Scalar(v.number),
		scalar.NewTimestampScalar(arrow.Timestamp(f.times[v.number].UnixMicro()), feedFields[2].Type),
	}
	columns := batch.Columns()
	if p.kind == "" {
		constants = constants[1:]
		if err := v.known(columns[len(columns)-1]); err != nil {
			return nil, fmt.Errorf("file %s: %w", p.file.Path, err)
		}
	}
	columns = columns[:len(columns):len(columns)]
	for _, c := range constants {
		a, err := scalar.MakeArrayFromScalar(c, n, f.env.Allocator)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		columns = append(columns, a)
	}
	return array.NewRecordBatch(f.out, columns, int64(n)), nil
}

// known refuses a written change that does not say what it is. What an engine says beyond the four
// kinds is passed on.
func (v *version) known(kinds arrow.Array) error {
	if kinds.NullN() > 0 {
		return fmt.Errorf("%w: %d of %d rows have no %s", delta.ErrCorrupt, kinds.NullN(), kinds.Len(), TypeColumn)
	}
	return nil
}
