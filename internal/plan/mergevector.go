package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// marking is what happens to a file that stays as it is, but for a larger vector: rows that change are
// dead in it, as those that are deleted.
type marking struct {
	gone *delta.Vector
	sum  *rows.Digest // of the rows that go; nil if they are not read
	add  *delta.Add   // the file under its new vector
}

// marks says whether the rows of a file that do not change stay where they are. Where most rows go,
// every reader would read what is left of them for nothing: then they are copied.
func (p *Merge) marks(t *touched) bool {
	return p.upkeep.vectors && 2*(t.rows-t.leaving()) >= t.rows+dead(t.add)
}

// leaving is the number of rows that change or go.
func (t *touched) leaving() int64 {
	n := int64(0)
	for _, b := range []*spill.Buffer{t.updates, t.deletes} {
		if b != nil {
			n += b.Rows()
		}
	}
	return n
}

// leaves says that no row stays as it is and none changes.
func (t *touched) leaves() bool { return t.goes || t.deletes != nil && t.deletes.Rows() == t.rows }

// goneRows are the rows of a file that change or go.
func (t *touched) goneRows(ctx context.Context) (*delta.Vector, error) {
	v := delta.NewVector()
	for _, b := range []*spill.Buffer{t.updates, t.deletes} {
		err := each(ctx, b, func(batch arrow.RecordBatch) error {
			v.Add(batch.Column(0).(*array.Int64).Int64Values()...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// mark gives the files of changed that stay their vectors, those that have none yet in one file.
func (p *Merge) mark(ctx context.Context, snap *delta.Snapshot, changed []*touched) error {
	var todo []*deletion
	var marked []*touched
	for _, t := range changed {
		if t.mark != nil && t.mark.add == nil {
			marked = append(marked, t)
			todo = append(todo, &deletion{file: t.add, gone: t.mark.gone, rows: t.rows + dead(t.add), sum: t.mark.sum})
		}
	}
	if err := p.Env.deleteRows(ctx, snap, todo); err != nil {
		return err
	}
	adds := make([]*delta.Add, len(marked))
	for i, t := range marked {
		if adds[i] = todo[i].after; adds[i] == nil {
			return conservation(t.add, t.rows, 0, t.leaving(), 0) // some rows stay
		}
		t.mark.add = adds[i]
	}
	p.vectors = append(p.vectors, p.Env.vectorFiles(adds)...)
	return nil
}

// note adds rows that go, those at some places of a batch of the table, to what is known of them. It does
// nothing for a file that is copied.
func (m *marking) note(mem memory.Allocator, batch arrow.RecordBatch, at []int32) error {
	if m == nil || m.sum == nil {
		return nil
	}
	return taken(mem, batch, at, func(gone arrow.RecordBatch) error {
		d, err := rows.DigestRows(gone, nil)
		*m.sum = m.sum.Add(d)
		return err
	})
}
