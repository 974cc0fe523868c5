package changes

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
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
	once := map[string]bool{}
	for _, a := range v.actions {
		if a.CDC == nil {
			continue
		}
		key, err := v.locate(a.CDC.Path)
		if err != nil {
			return nil, err
		}
		if !once[key] {
			once[key] = true
			written = append(written, part{file: &delta.Add{Path: a.CDC.Path, Key: key, PartitionValues: a.CDC.PartitionValues, Size: a.CDC.Size}})
		}
	}
	if len(written) > 0 {
		return written, nil
	}
	return v.derived()
}

// removes is true of a version whose changes are derived from files that it removed.
func (v *version) removes() bool {
	out := false
	for _, a := range v.actions {
		if a.CDC != nil {
			return false
		}
		out = out || a.Remove != nil && a.Remove.DataChange
	}
	return out
}

// locate gives the key of a file. One outside the root is read only where the table's store reads it.
func (v *version) locate(path string) (key string, err error) {
	if key, err = delta.Locate(v.feed.in.Store.URL(), path); err != nil {
		return "", fmt.Errorf("file %s: %w", path, err)
	}
	return key, nil
}

// fate is what a version did with a file.
type fate struct {
	key     string
	remove  *delta.Remove
	changes bool // some action of it says that it changes data
}

// fates are those of the files of a version, in the order of its actions.
func (v *version) fates() ([]*fate, error) {
	var out []*fate
	known := map[string]*fate{}
	of := func(path string, changes bool) (*fate, error) {
		key, err := v.locate(path)
		if err != nil {
			return nil, err
		}
		if known[key] == nil {
			known[key] = &fate{key: key}
			out = append(out, known[key])
		}
		known[key].changes = known[key].changes || changes
		return known[key], nil
	}
	for _, a := range v.actions {
		switch {
		case a.Add != nil:
			if _, err := of(a.Add.Path, a.Add.DataChange); err != nil {
				return nil, err
			}
		case a.Remove != nil:
			f, err := of(a.Remove.Path, a.Remove.DataChange)
			if err != nil {
				return nil, err
			}
			f.remove = a.Remove
		}
	}
	return out, nil
}

// derived compares what was live with what is: a file that is there before and after under other
// vectors lost and won the rows in which the vectors differ, one that was added again as it was
// none.
func (v *version) derived() ([]part, error) {
	all, err := v.fates()
	if err != nil {
		return nil, err
	}
	var out []part
	for _, f := range all {
		if !f.changes {
			continue
		}
		was, err := v.was(f)
		if err != nil {
			return nil, err
		}
		is, _ := v.after.Live(f.key)
		switch {
		case was == nil && is == nil, was != nil && is != nil && was.DeletionVector.ID() == is.DeletionVector.ID():
		case was == nil:
			out = append(out, part{file: is, kind: Insert})
		case is == nil:
			out = append(out, part{file: was, kind: Delete})
		default:
			if is.DeletionVector != nil {
				out = append(out, part{file: was, kind: Delete, within: is.DeletionVector})
			}
			if was.DeletionVector != nil {
				out = append(out, part{file: is, kind: Insert, within: was.DeletionVector})
			}
		}
	}
	return out, nil
}

// was is a file as it was live before the version; nil if it was not. Without the version before
// only a remove tells.
func (v *version) was(f *fate) (*delta.Add, error) {
	r := f.remove
	switch {
	case v.before != nil:
		live, _ := v.before.Live(f.key)
		return live, nil
	case r == nil:
		return nil, nil
	case !r.ExtendedMetadata || r.Size == nil:
		return nil, fmt.Errorf("%w: the remove of %s tells neither size nor partition values, and the version before it is no longer in the log: ask for changes from the next version on",
			delta.ErrInput, r.Path)
	}
	return &delta.Add{Path: r.Path, Key: f.key, PartitionValues: r.PartitionValues, Size: *r.Size, DeletionVector: r.DeletionVector}, nil
}

// read gives the changed rows of a file.
func (v *version) read(ctx context.Context, p part) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		f := v.feed
		options := scan.LiveOptions{}
		if p.within != nil {
			var err error
			if options.Only, err = vectors.Read(ctx, f.in.Log.Store(), f.in.Store.URL(), p.within, -1); err != nil {
				yield(nil, fmt.Errorf("deletion vector of %s: %w", p.file.Path, err))
				return
			}
		}
		if p.kind == "" {
			options.Extra = []arrow.Field{{Name: TypeColumn, Type: arrow.BinaryTypes.String, Nullable: true}}
		}
		table := scan.Table{Store: f.in.Log.Store(), Snapshot: f.shape, Allocator: f.env.Allocator, Parallelism: 1}
		for piece, err := range scan.Live(ctx, table, p.file, f.columns, options) {
			if err != nil {
				yield(nil, err)
				return
			}
			batch, err := v.change(piece.Batch, p)
			if err != nil {
				yield(nil, err)
				return
			}
			more := yield(batch, nil)
			batch.Release()
			if !more {
				return
			}
		}
	}
}

// change puts the columns of the feed beside rows.
func (v *version) change(batch arrow.RecordBatch, p part) (arrow.RecordBatch, error) {
	f := v.feed
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

// explain says which version an error is of. Files that the newest version does not need are gone
// when a vacuum's retention is over.
func (v *version) explain(err error) error {
	if errors.Is(err, store.ErrNotExist) {
		return fmt.Errorf("changes of version %d, of which a vacuum may have deleted files (then ask for later versions): %w", v.number, err)
	}
	return fmt.Errorf("changes of version %d: %w", v.number, err)
}

// known refuses a written change that does not say what it is. What an engine says beyond the four
// kinds is passed on.
func (v *version) known(kinds arrow.Array) error {
	if kinds.NullN() > 0 {
		return fmt.Errorf("%w: %d of %d rows have no %s", delta.ErrCorrupt, kinds.NullN(), kinds.Len(), TypeColumn)
	}
	return nil
}
