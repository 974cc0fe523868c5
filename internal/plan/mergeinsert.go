package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// insertSet is the files written for new rows, and for changed rows that left their partition.
type insertSet struct {
	changed []string // the files whose moved rows are in it
	files   []*delta.Add
}

// insert writes the new rows, and the changed rows that moved. Files written by an earlier attempt
// are used again when the same rows are to be written.
func (p *Merge) insert(ctx context.Context, snap *delta.Snapshot, changed []*touched, others bool) error {
	names := make([]string, len(changed))
	for i, t := range changed {
		names[i] = identity(t.add)
	}
	if p.inserts != nil && !others && slices.Equal(p.inserts.changed, names) {
		return nil
	}
	p.inserts = nil
	set, err := NewFileSet(ctx, p.Env, snap, NewRows)
	if err != nil {
		return err
	}
	check, err := NewValidator(snap)
	if err != nil {
		return err
	}
	done := &insertSet{changed: names}
	if err = p.fill(ctx, set, check, changed); err == nil {
		done.files, err = set.Finish()
	}
	if err != nil {
		set.Abort()
		return err
	}
	p.inserts = done
	p.wrote(done.files)
	return nil
}

func (p *Merge) fill(ctx context.Context, set *FileSet, check *Validator, changed []*touched) error {
	if err := writeMoved(set, changed); err != nil {
		return err
	}
	for _, s := range p.sources {
		if err := p.insertPart(ctx, set, check, s); err != nil {
			return err
		}
	}
	return p.again.verdict()
}

// writeMoved writes the changed rows that left their partition, of all files together.
func writeMoved(set *FileSet, changed []*touched) error {
	for _, t := range changed {
		if t.moved == nil {
			continue
		}
		for batch, err := range t.moved.Batches() {
			if err == nil {
				err = set.Write(batch)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Merge) insertPart(ctx context.Context, set *FileSet, check *Validator, s *source) error {
	if s.todo.Rows() == 0 {
		return nil
	}
	if err := p.load(ctx, s); err != nil {
		return err
	}
	defer p.unload(s)
	step := p.pieceOf(s.batch)
	for batch, err := range s.todo.Batches() {
		if err != nil {
			return err
		}
		from, which := batch.Column(0).(*array.Int32).Int32Values(), batch.Column(1).(*array.Int32).Int32Values()
		for lo := 0; lo < len(from); lo += step {
			hi := min(lo+step, len(from))
			if err := p.insertPiece(set, check, s, from[lo:hi], which[lo:hi]); err != nil {
				return err
			}
		}
	}
	return nil
}

// pieceOf is the number of rows like those of a batch that are put together at once.
func (p *Merge) pieceOf(batch arrow.RecordBatch) int {
	perRow := max(1, rows.Bytes(batch)/max(1, batch.NumRows()))
	return int(min(pieceRows, max(1, p.Env.share()/4/perRow)))
}

func (p *Merge) insertPiece(set *FileSet, check *Validator, s *source, from, which []int32) error {
	mem := p.Env.Allocator
	all := &pairs{source: s.batch, from: from}
	columns, err := p.shape.notMatched.apply(mem, all, which, p.shape.everyColumn, p.keyOf(s.batch, p.shape.key, from))
	if err != nil {
		return err
	}
	defer release(columns)
	batch := array.NewRecordBatch(p.shape.table, columns, int64(len(from)))
	defer batch.Release()
	if err := p.proveInserts(s, from, batch); err != nil {
		return err
	}
	if err := check.Check(mem, batch, 0); err != nil {
		return err
	}
	return set.Write(batch)
}
