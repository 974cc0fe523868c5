package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/semaphore"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// rewrite carries out what changes in files, once for each file, and gives those that change.
func (p *Merge) rewrite(ctx context.Context, snap *delta.Snapshot, files []candidate) ([]*touched, error) {
	var changed, fresh []*touched
	for _, f := range files {
		if t := p.seen[identity(f.add)]; t.changes() {
			changed = append(changed, t)
			if !t.done {
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

// rewriteFile carries out what changes in a file: its other rows are copied, or stay where they are. A
// file whose rows all go, and one that stays and of which none changes, is read for the change data
// feed only.
func (p *Merge) rewriteFile(ctx context.Context, snap *delta.Snapshot, t *touched) error {
	var err error
	switch {
	case t.leaves():
		err = p.refill(ctx, snap, t, nil)
	case p.marks(t):
		err = p.markFile(ctx, snap, t)
	default:
		err = p.copyFile(ctx, snap, t)
	}
	if err != nil {
		return err
	}
	t.done = true
	for _, b := range []*spill.Buffer{t.updates, t.deletes} {
		if b != nil {
			if err := b.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Merge) markFile(ctx context.Context, snap *delta.Snapshot, t *touched) error {
	gone, err := t.goneRows(ctx)
	if err != nil {
		return err
	}
	t.mark = &marking{gone: gone}
	if p.reads(t, nil) {
		t.mark.sum = &rows.Digest{}
	}
	return p.refill(ctx, snap, t, nil)
}

func (p *Merge) copyFile(ctx context.Context, snap *delta.Snapshot, t *touched) error {
	set, err := NewFileSet(ctx, p.Env, snap, CopiedRows)
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
	return nil
}

// refill reads a file for what is written anew because of it: into set the rows that stay, if it is
// not nil, and aside those that leave the file and what the change data feed tells of it.
func (p *Merge) refill(ctx context.Context, snap *delta.Snapshot, t *touched, set *FileSet) error {
	if !p.reads(t, set) {
		return nil
	}
	w, err := p.newRewriter(snap, t, set)
	if err != nil {
		return err
	}
	todo, err := p.edits(ctx, t, p.Env.share()/4)
	if err != nil {
		return err
	}
	defer todo.close()
	o := scan.LiveOptions{RowIDs: p.upkeep.ids}
	if t.mark != nil {
		o.Only = t.mark.gone
	}
	for live, err := range p.live(ctx, snap, t.add, nil, o) {
		if err == nil {
			err = w.rows(live, todo)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reads says whether rows of a file are needed as a whole.
func (p *Merge) reads(t *touched, set *FileSet) bool {
	return set != nil || t.updates != nil || p.upkeep.feed
}

// rewriter writes what becomes of one file's rows.
type rewriter struct {
	completion
	set  *FileSet // nil if the rows that do not change are left where they are
	file *touched

	partition []int // partition columns
}

func (p *Merge) newRewriter(snap *delta.Snapshot, t *touched, set *FileSet) (*rewriter, error) {
	w := &rewriter{completion: completion{merge: p, partitions: snap.PartitionColumns()}, set: set, file: t}
	for _, c := range w.partitions {
		w.partition = append(w.partition, fieldNamed(p.shape.table.Fields(), c))
	}
	var err error
	if w.check, err = NewValidator(snap); err != nil {
		return nil, err
	}
	w.fillers, err = p.newRefillers(snap)
	return w, err
}

func (w *rewriter) rows(live located, todo *edits) error {
	if w.file.goes {
		batch := live.table(w.merge.shape.table)
		defer batch.Release()
		return w.tell(batch, changeDelete)
	}
	for lo, n := 0, len(live.row); lo < n; {
		e, end, err := todo.next(live.row[lo], live.row[n-1]+1)
		if err != nil {
			return err
		}
		behind, _ := slices.BinarySearch(live.row[lo:], end)
		piece := live.slice(lo, lo+behind)
		err = w.piece(piece, &e)
		piece.release()
		if err != nil {
			return err
		}
		lo += behind
	}
	return nil
}

func (w *rewriter) piece(live located, e *edit) error {
	if w.set != nil {
		if len(e.updated)+len(e.deleted) == 0 {
			return w.set.Write(live.batch)
		}
		if err := w.taken(live.batch, e.kept(live.row), w.set.Write); err != nil {
			return err
		}
	}
	if err := w.deleted(live, e.deleted); err != nil {
		return err
	}
	step := w.merge.pieceOf(live.batch)
	for lo := 0; lo < len(e.updated); lo += step {
		hi := min(lo+step, len(e.updated))
		some := &edit{updated: e.updated[lo:hi], clause: e.clause[lo:hi], from: e.from[lo:hi], source: e.source}
		if err := w.update(live, some); err != nil {
			return err
		}
	}
	return nil
}

// deleted looks at rows that go.
func (w *rewriter) deleted(live located, gone []int64) error {
	if len(gone) == 0 {
		return nil
	}
	at, err := places(live.row, gone)
	if err != nil {
		return err
	}
	batch := live.table(w.merge.shape.table)
	defer batch.Release()
	if err := w.file.mark.note(w.merge.Env.Allocator, batch, at); err != nil {
		return err
	}
	return w.tellOf(batch, at, changeDelete)
}

// update writes the changed rows of a batch. Key columns keep the table's own bytes; a column that
// the clause does not set keeps its value.
func (w *rewriter) update(live located, e *edit) error {
	to, err := places(live.row, e.updated)
	if err != nil {
		return err
	}
	batch := live.table(w.merge.shape.table)
	defer batch.Release()
	updated, of, err := w.updated(batch, to, e)
	if err != nil {
		return err
	}
	defer updated.Release()
	if err := w.check.Check(w.merge.Env.Allocator, updated, live.row[0]); err != nil {
		return err
	}
	if err := w.file.mark.note(w.merge.Env.Allocator, batch, of); err != nil {
		return err
	}
	if err := w.tellOf(batch, of, changePreimage); err != nil {
		return err
	}
	if err := w.tell(updated, changePostimage); err != nil {
		return err
	}
	whole, err := w.merge.identified(updated, live, of)
	if err != nil {
		return err
	}
	defer whole.Release()
	return w.put(whole, batch)
}

// updated gives rows after the clauses that change them: those of Matched, or those for rows that no
// source row matches; and for each of them the row of the batch that it was.
func (w *rewriter) updated(batch arrow.RecordBatch, to []int32, e *edit) (arrow.RecordBatch, []int32, error) {
	p := w.merge
	base := len(p.shape.matched.list)
	var parts []arrow.RecordBatch
	defer func() {
		for _, b := range parts {
			b.Release()
		}
	}()
	of := make([]int32, 0, len(to))
	for c := range w.fillers {
		all, l, k := &pairs{target: batch, source: e.source}, p.shape.matched, c
		if c >= base {
			all.source, l, k = nil, p.shape.bySource, c-base
		}
		for i, clause := range e.clause {
			if int(clause) == c {
				all.from, all.to = append(all.from, e.from[i]), append(all.to, to[i])
			}
		}
		if len(all.to) == 0 {
			continue
		}
		key := func(i int32) string { return p.keyOfRow(batch, int(all.to[i])) }
		part, err := w.complete(l, int32(k), w.fillers[c], all, key)
		if err != nil {
			return nil, nil, err
		}
		parts, of = append(parts, part), append(of, all.to...)
		if err := p.keeps(batch, all.to, part); err != nil {
			return nil, nil, err
		}
	}
	all, err := rows.Concat(p.Env.Allocator, parts)
	return all, of, err
}

// put writes rows that stayed in the file's partition and sets the others aside: those of all files
// are written together, so that a merge that moves rows does not cut every file into one for each
// partition, and one that only marks what it changes does not write a small file for each.
func (w *rewriter) put(updated, batch arrow.RecordBatch) error {
	if w.set == nil {
		return w.moved().Append(updated)
	}
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
	if err := w.taken(updated, move, w.moved().Append); err != nil {
		return err
	}
	return w.taken(updated, stay, w.set.Write)
}

func (w *rewriter) moved() *spill.Buffer {
	if w.file.moved == nil {
		w.file.moved = w.merge.area.NewBuffer(w.merge.keptRows())
	}
	return w.file.moved
}

func (w *rewriter) taken(batch arrow.RecordBatch, index []int32, f func(arrow.RecordBatch) error) error {
	return taken(w.merge.Env.Allocator, batch, index, f)
}
