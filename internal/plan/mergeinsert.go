package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// insertSet is the files written for new rows and for changed rows that left their files, and those
// that tell of all changes.
type insertSet struct {
	changed []string // what changed: the rows that moved, and the feed, are of these
	files   []*delta.Add
	feed    []*delta.Add // of the change data feed
	numbers *numbers     // that the new rows have
}

// holds says whether the rows may stay as they were written. The numbers of new rows may have been
// given by another writer since.
func (i *insertSet) holds(snap *delta.Snapshot, changed []string) (bool, error) {
	if i == nil || !slices.Equal(i.changed, changed) {
		return false, nil
	}
	moved, err := i.numbers.shifts(snap)
	return len(moved) == 0, err
}

// insert writes the new rows, and the changed rows that moved. Files written by an earlier attempt
// are used again when the same rows are to be written.
func (p *Merge) insert(ctx context.Context, snap *delta.Snapshot, changed []*touched, others bool) error {
	names := make([]string, len(changed))
	for i, t := range changed {
		names[i] = identity(t.add)
	}
	if holds, err := p.inserts.holds(snap, names); err != nil || holds && !others {
		return err
	}
	p.inserts = nil
	out, err := p.newOutlet(ctx, snap, changed)
	if err != nil {
		return err
	}
	done := &insertSet{changed: names, numbers: out.numbers()}
	if err = p.fill(ctx, out, changed); err == nil {
		done.files, done.feed, err = out.finish()
	}
	if err != nil {
		out.abort()
		return err
	}
	p.inserts = done
	p.wrote(done.files)
	p.wrote(done.feed)
	return nil
}

// outlet is where rows go that are in no file that is rewritten.
type outlet struct {
	completion
	rows *FileSet
	feed *FileSet // nil if nothing is told
	ids  bool     // rows have their ids behind them: some are from other files
}

func (p *Merge) newOutlet(ctx context.Context, snap *delta.Snapshot, changed []*touched) (*outlet, error) {
	o := &outlet{completion: completion{merge: p, partitions: snap.PartitionColumns()}}
	var err error
	if o.check, err = NewValidator(snap); err != nil {
		return nil, err
	}
	if o.fillers, err = p.newFillers(snap); err != nil {
		return nil, err
	}
	env := *p.Env
	if p.upkeep.feed && len(changed) > 0 {
		env.MemoryBytes = max(p.Env.memoryBytes()/2, 1) // they are open side by side
		if o.feed, err = NewFileSet(ctx, &env, snap, ChangeRows); err != nil {
			return nil, err
		}
	}
	kind := NewRows
	if o.ids = p.upkeep.ids && len(changed) > 0; o.ids {
		kind = CopiedRows
	}
	o.rows, err = NewFileSet(ctx, &env, snap, kind)
	return o, err
}

// numbers are those that the new rows have.
func (o *outlet) numbers() *numbers {
	for _, f := range o.fillers {
		if f != nil {
			return f.numbers
		}
	}
	return nil
}

func (o *outlet) finish() (files, feed []*delta.Add, err error) {
	if files, err = o.rows.Finish(); err == nil && o.feed != nil {
		feed, err = o.feed.Finish()
	}
	return files, feed, err
}

func (o *outlet) abort() {
	o.rows.Abort()
	if o.feed != nil {
		o.feed.Abort()
	}
}

func (p *Merge) fill(ctx context.Context, out *outlet, changed []*touched) error {
	for _, t := range changed {
		if err := each(ctx, t.moved, out.rows.Write); err != nil {
			return err
		}
		if out.feed == nil {
			continue
		}
		if err := each(ctx, t.feed, out.feed.Write); err != nil {
			return err
		}
	}
	for _, s := range p.sources {
		if err := p.insertPart(ctx, out, s); err != nil {
			return err
		}
	}
	return p.again.verdict(p.Request.keyless)
}

func (p *Merge) insertPart(ctx context.Context, out *outlet, s *source) error {
	if s.todo.Rows() == 0 {
		return nil
	}
	if err := p.load(ctx, s); err != nil {
		return err
	}
	defer p.unload(s)
	step := p.pieceOf(s.batch)
	return each(ctx, s.todo, func(batch arrow.RecordBatch) error {
		from, which := batch.Column(0).(*array.Int32).Int32Values(), batch.Column(1).(*array.Int32).Int32Values()
		for lo := 0; lo < len(from); lo += step {
			hi := min(lo+step, len(from))
			if err := out.insert(s, from[lo:hi], which[lo:hi]); err != nil {
				return err
			}
		}
		return nil
	})
}

// pieceOf is the number of rows like those of a batch that are put together at once. For a change data
// feed each is held twice more, as it was and as it is.
func (p *Merge) pieceOf(batch arrow.RecordBatch) int {
	perRow := max(1, rows.Bytes(batch)/max(1, batch.NumRows()))
	part := int64(4)
	if p.upkeep.feed {
		part = 12
	}
	return int(min(pieceRows, max(1, p.Env.share()/part/perRow)))
}

// insert writes rows of the source that no row of the table matches, as their clauses have them.
func (o *outlet) insert(s *source, from, which []int32) error {
	for k := range o.fillers {
		var rows []int32
		for i, c := range which {
			if int(c) == k {
				rows = append(rows, from[i])
			}
		}
		if err := o.insertBy(int32(k), s, rows); err != nil {
			return err
		}
	}
	return nil
}

func (o *outlet) insertBy(clause int32, s *source, from []int32) error {
	if len(from) == 0 {
		return nil
	}
	p := o.merge
	key := p.keyOf(s.batch, p.shape.key, from)
	batch, err := o.complete(p.shape.notMatched, clause, o.fillers[clause], &pairs{source: s.batch, from: from}, key)
	if err != nil {
		return err
	}
	defer batch.Release()
	if err := p.proveInserts(s, from, batch); err != nil {
		return err
	}
	if err := o.check.Check(p.Env.Allocator, batch, 0); err != nil {
		return err
	}
	return o.put(batch)
}

// put writes new rows, and tells of them.
func (o *outlet) put(batch arrow.RecordBatch) error {
	whole := o.anonymous(batch)
	defer whole.Release()
	if err := o.rows.Write(whole); err != nil || o.feed == nil {
		return err
	}
	told := toldAs(o.merge.Env.Allocator, batch, o.feed.Schema(), changeInsert)
	defer told.Release()
	return o.feed.Write(told)
}
