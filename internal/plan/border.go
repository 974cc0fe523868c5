package plan

import (
	"context"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
)

// cut carries out what becomes of the files across the border of the slice, once for each: they get
// a larger deletion vector, or the rows beside the slice are copied. It says whether rows were
// copied.
func (p *Replace) cut(ctx context.Context, snap *delta.Snapshot, old *oldSlice) (copies bool, err error) {
	var toMark []*deletion
	var marked, toCopy []*fileSlice
	for _, f := range old.files {
		switch {
		case !f.border():
		case !marks(snap, f.add, f.rows, f.deleted):
			copies = true
			if !f.copied {
				toCopy = append(toCopy, f)
			}
		case f.after == nil:
			marked = append(marked, f)
			toMark = append(toMark, &deletion{file: f.add, gone: f.gone, rows: f.rows + dead(f.add), sum: f.sum})
		}
	}
	if err := p.Env.deleteRows(ctx, snap, toMark); err != nil {
		return copies, err
	}
	for i, f := range marked {
		f.after = toMark[i].after
	}
	err = p.Env.forEach(ctx, len(toCopy), func(ctx context.Context, i int) error {
		f := toCopy[i]
		var err error
		f.rest, err = p.copyFile(ctx, snap, f)
		f.copied = err == nil
		return err
	})
	return copies, err
}

// copyFile writes the rows of a file that are not in the slice: those for which the condition is
// FALSE or NULL. They keep their ids.
func (p *Replace) copyFile(ctx context.Context, snap *delta.Snapshot, f *fileSlice) ([]*delta.Add, error) {
	set, err := NewFileSet(ctx, p.Env, snap, CopiedRows)
	if err != nil {
		return nil, err
	}
	files, err := p.pour(ctx, snap, f, set, scan.LiveOptions{RowIDs: snap.TracksRows()}, false, "")
	if err == nil && set.Rows() != f.rows-f.deleted {
		err = conservation(f.add, f.rows, 0, f.deleted, set.Rows())
	}
	if err != nil {
		set.Abort()
	}
	return files, err
}

// feed writes what the commit does to the rows of the table as files of changes: the old slice is
// deleted, the new one inserted. It is needed when rows are copied; else the feed follows from the
// files that are added and removed, and from their vectors.
func (p *Replace) feed(ctx context.Context, snap *delta.Snapshot, old *oldSlice) ([]*delta.Add, error) {
	var all []*fileSlice
	for _, f := range old.files {
		if f.deleted > 0 {
			all = append(all, f)
		}
	}
	if p.fresh == nil {
		for _, add := range p.in.files {
			p.fresh = append(p.fresh, &fileSlice{add: add})
		}
	}
	deleted := len(all)
	all = append(all, p.fresh...)
	err := p.Env.forEach(ctx, len(all), func(ctx context.Context, i int) error {
		f, change := all[i], changeDelete
		if i >= deleted {
			change = changeInsert
		}
		if f.fed {
			return nil
		}
		set, err := NewFileSet(ctx, p.Env, snap, ChangeRows)
		if err != nil {
			return err
		}
		f.changes, err = p.pour(ctx, snap, f, set, scan.LiveOptions{}, true, change)
		f.fed = err == nil
		return err
	})
	var out []*delta.Add
	for _, f := range all {
		out = append(out, f.changes...)
	}
	return out, err
}

// pour writes the rows of a file that are in the slice, or those that are not, into a set, which it
// finishes. change is what the feed says of them, "" for rows of the table.
func (p *Replace) pour(ctx context.Context, snap *delta.Snapshot, f *fileSlice, set *FileSet, o scan.LiveOptions, inside bool, change string) ([]*delta.Add, error) {
	for piece, err := range scan.Live(ctx, p.Env.Table(snap), f.add, nil, o) {
		if err == nil {
			err = p.pourPiece(piece, f, set, inside, change)
		}
		if err != nil {
			set.Abort()
			return nil, err
		}
	}
	return set.Finish()
}

func (p *Replace) pourPiece(piece scan.Piece, f *fileSlice, set *FileSet, inside bool, change string) error {
	batch, err := p.taken(piece, f, inside)
	if err != nil {
		return err
	}
	defer batch.Release()
	if change == "" {
		return set.Write(batch)
	}
	told := toldAs(p.Env.Allocator, batch, set.Schema(), change)
	defer told.Release()
	return set.Write(told)
}
