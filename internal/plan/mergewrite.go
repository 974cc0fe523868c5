package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/semaphore"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// rewrite writes anew the files in which a row changes, once for each file, and gives them.
func (p *Merge) rewrite(ctx context.Context, snap *delta.Snapshot, files []candidate) ([]*touched, error) {
	var changed, fresh []*touched
	for _, f := range files {
		if t := p.seen[f.add.Key]; t.changes() {
			changed = append(changed, t)
			if !t.rewritten {
				fresh = append(fresh, t)
			}
		}
	}
	if len(changed) > 0 {
		if err := mutable(snap, "Merge"); err != nil {
			return nil, err
		}
	}
	// A file that is written may hold a quarter of the budget: large ones are written two at a time.
	for _, s := range p.sources {
		s.unload()
	}
	room := semaphore.NewWeighted(2 * p.Env.share())
	err := p.Env.forEach(ctx, len(fresh), func(ctx context.Context, i int) error {
		need := min(p.Env.share(), expansion*fresh[i].add.Size)
		if err := room.Acquire(ctx, need); err != nil {
			return err
		}
		defer room.Release(need)
		return p.rewriteFile(ctx, snap, fresh[i])
	})
	if err == nil {
		err = p.fixed.verdict()
	}
	return changed, err
}

// expansion is how much larger than its file the rows of a file are taken to be.
const expansion = 8

// rewriteFile writes the rows of a file after their changes. One whose rows all go is not read.
func (p *Merge) rewriteFile(ctx context.Context, snap *delta.Snapshot, t *touched) error {
	if t.goes || t.deletes != nil && t.deletes.Rows() == t.rows {
		t.rewritten = true
		return nil
	}
	set, err := NewFileSet(ctx, p.Env, snap)
	if err != nil {
		return err
	}
	if err = p.refill(ctx, snap, t, set); err == nil {
		t.out, err = set.Finish()
	}
	if err != nil {
		set.Abort()
		return err
	}
	p.wrote(t.out)
	t.rewritten = true
	for _, b := range []*spill.Buffer{t.updates, t.deletes} {
		if b != nil {
			if err := b.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Merge) refill(ctx context.Context, snap *delta.Snapshot, t *touched, set *FileSet) error {
	check, err := NewValidator(snap)
	if err != nil {
		return err
	}
	todo, err := p.edits(ctx, t, p.Env.share()/4)
	if err != nil {
		return err
	}
	defer todo.close()
	w := &rewriter{merge: p, set: set, check: check, file: t}
	for _, c := range snap.PartitionColumns() {
		w.partition = append(w.partition, fieldNamed(p.shape.table.Fields(), c))
	}
	first := int64(0)
	for batch, err := range scan.File(ctx, p.Env.table(snap), t.add, nil) {
		if err == nil {
			err = w.batch(batch, first, todo)
		}
		if err != nil {
			return err
		}
		first += batch.NumRows()
	}
	return nil
}

// rewriter writes one file's rows after their changes.
type rewriter struct {
	merge *Merge
	set   *FileSet
	check *Validator
	file  *touched

	partition []int // partition columns
}

func (w *rewriter) batch(batch arrow.RecordBatch, first int64, todo *edits) error {
	for at, end := first, first+batch.NumRows(); at < end; {
		e, to, err := todo.next(at, end)
		if err != nil {
			return err
		}
		piece := batch.NewSlice(at-first, to-first)
		err = w.piece(piece, at, &e)
		piece.Release()
		if err != nil {
			return err
		}
		at = to
	}
	return nil
}

func (w *rewriter) piece(batch arrow.RecordBatch, first int64, e *edit) error {
	if len(e.updated)+len(e.deleted) == 0 {
		return w.set.Write(batch)
	}
	if err := w.taken(batch, e.kept(first, batch.NumRows()), w.set.Write); err != nil {
		return err
	}
	step := w.merge.pieceOf(batch)
	for lo := 0; lo < len(e.updated); lo += step {
		hi := min(lo+step, len(e.updated))
		some := &edit{updated: e.updated[lo:hi], clause: e.clause[lo:hi], from: e.from[lo:hi], source: e.source}
		if err := w.update(batch, first, some); err != nil {
			return err
		}
	}
	return nil
}

// update writes the changed rows of a batch. Key columns keep the table's own bytes; a column that
// the clause does not set keeps its value.
func (w *rewriter) update(batch arrow.RecordBatch, first int64, e *edit) error {
	to := make([]int32, len(e.updated))
	for i, row := range e.updated {
		to[i] = int32(row - first)
	}
	updated, err := w.merge.updated(batch, to, e)
	if err != nil {
		return err
	}
	defer updated.Release()
	if err := w.check.Check(w.merge.Env.Allocator, updated, first); err != nil {
		return err
	}
	return w.put(updated, batch)
}

// updated gives rows after the clauses that change them: those of Matched, or those for rows that no
// source row matches.
func (p *Merge) updated(batch arrow.RecordBatch, to []int32, e *edit) (arrow.RecordBatch, error) {
	mem := p.Env.Allocator
	base := int32(len(p.shape.matched.list))
	var parts []arrow.RecordBatch
	defer func() {
		for _, b := range parts {
			b.Release()
		}
	}()
	for i, l := range []*clauses{p.shape.matched, p.shape.bySource} {
		all, which := &pairs{target: batch}, []int32(nil)
		if i == 0 {
			all.source = e.source
		}
		for k, c := range e.clause {
			if (c >= base) != (i == 1) {
				continue
			}
			all.from, all.to, which = append(all.from, e.from[k]), append(all.to, to[k]), append(which, c-base*int32(i))
		}
		if len(which) == 0 {
			continue
		}
		key := func(k int32) string { return p.keyOfRow(batch, int(all.to[k])) }
		columns, err := l.apply(mem, all, which, p.shape.everyColumn, key)
		if err != nil {
			return nil, err
		}
		part := array.NewRecordBatch(batch.Schema(), columns, int64(len(which)))
		release(columns)
		parts = append(parts, part)
		if err := p.keeps(batch, all.to, part); err != nil {
			return nil, err
		}
	}
	return rows.Concat(mem, parts)
}

// put writes rows that stayed in the file's partition and sets the others aside: those of all files
// are written together, so that a merge that moves rows does not cut every file into one for each
// partition.
func (w *rewriter) put(updated, batch arrow.RecordBatch) error {
	same, err := rows.NewEquality(pick(updated, w.partition), pick(batch, w.partition))
	if err != nil {
		return err
	}
	var stay, move []int32
	for i := range int(updated.NumRows()) {
		if same.Equal(i, 0) { // the partition is that of every row of the file
			stay = append(stay, int32(i))
		} else {
			move = append(move, int32(i))
		}
	}
	if len(move) == 0 {
		return w.set.Write(updated)
	}
	if w.file.moved == nil {
		w.file.moved = w.merge.area.NewBuffer(w.merge.shape.table)
	}
	if err := w.taken(updated, move, w.file.moved.Append); err != nil {
		return err
	}
	return w.taken(updated, stay, w.set.Write)
}

func (w *rewriter) taken(batch arrow.RecordBatch, index []int32, to func(arrow.RecordBatch) error) error {
	if len(index) == 0 {
		return nil
	}
	part, err := rows.Take(w.merge.Env.Allocator, batch, index)
	if err != nil {
		return err
	}
	defer part.Release()
	return to(part)
}
