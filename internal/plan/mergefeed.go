package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// upkeep is what a table asks of a merge beside its rows.
type upkeep struct {
	feed    bool // what changes is told in the change data feed
	ids     bool // rows keep their ids
	vectors bool // rows that go are deleted by vectors
}

func upkeepOf(snap *delta.Snapshot) upkeep {
	return upkeep{feed: feedsChanges(snap), ids: snap.TracksRows(), vectors: usesVectors(snap)}
}

// idFields are what row tracking keeps of a row that another file had: NULL stands for what the commit
// gives.
var idFields = []arrow.Field{
	{Name: delta.RowIDColumn, Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: delta.RowCommitVersionColumn, Type: arrow.PrimitiveTypes.Int64, Nullable: true},
}

// keptRows is the schema of rows that other files had: the columns of the table and, where rows have
// ids, those.
func (p *Merge) keptRows() *arrow.Schema {
	if !p.upkeep.ids {
		return p.shape.table
	}
	return withFields(p.shape.table, idFields...)
}

// changedRows is the schema of rows of the change data feed.
func (p *Merge) changedRows() *arrow.Schema {
	return withFields(p.shape.table, arrow.Field{Name: ChangeTypeColumn, Type: arrow.BinaryTypes.String, Nullable: true})
}

func withFields(s *arrow.Schema, more ...arrow.Field) *arrow.Schema {
	return arrow.NewSchema(append(slices.Clone(s.Fields()), more...), nil)
}

// identified puts ids behind rows of the table: that of row of[i] of live behind row i. They changed,
// so that their version is this commit's. The caller releases the result.
func (p *Merge) identified(changed arrow.RecordBatch, live located, of []int32) (arrow.RecordBatch, error) {
	if !p.upkeep.ids {
		changed.Retain()
		return changed, nil
	}
	mem, n := p.Env.Allocator, p.shape.table.NumFields()
	ids, err := takeColumn(mem, idFields[0], live.batch.Column(n), of)
	if err != nil {
		return nil, err
	}
	defer ids.Release()
	versions := array.MakeArrayOfNull(mem, idFields[1].Type, len(of))
	defer versions.Release()
	return array.NewRecordBatch(p.keptRows(), append(slices.Clone(changed.Columns()), ids, versions), changed.NumRows()), nil
}

// anonymous puts NULLs for ids behind new rows, where others have some. The caller releases the result.
func (o *outlet) anonymous(batch arrow.RecordBatch) arrow.RecordBatch {
	if !o.ids {
		batch.Retain()
		return batch
	}
	null := array.MakeArrayOfNull(o.merge.Env.Allocator, idFields[0].Type, int(batch.NumRows()))
	defer null.Release()
	return array.NewRecordBatch(o.merge.keptRows(), append(slices.Clone(batch.Columns()), null, null), batch.NumRows())
}

// The change data feed of a merge is told row by row, an update as two rows: as it was and as it is.
// Only what really changes is in it. A merge that only inserts tells nothing: its files are the feed.

// tell sets aside what the feed says of rows of the table.
func (w *rewriter) tell(batch arrow.RecordBatch, change string) error {
	if !w.merge.upkeep.feed {
		return nil
	}
	if w.file.feed == nil {
		w.file.feed = w.merge.area.NewBuffer(w.merge.changedRows())
	}
	told := toldAs(w.merge.Env.Allocator, batch, w.file.feed.Schema(), change)
	defer told.Release()
	return w.file.feed.Append(told)
}

// tellOf tells of some rows of a batch of the table.
func (w *rewriter) tellOf(batch arrow.RecordBatch, at []int32, change string) error {
	if !w.merge.upkeep.feed {
		return nil
	}
	return taken(w.merge.Env.Allocator, batch, at, func(b arrow.RecordBatch) error { return w.tell(b, change) })
}

// taken gives f some rows of a batch, unless there are none.
func taken(mem memory.Allocator, batch arrow.RecordBatch, index []int32, f func(arrow.RecordBatch) error) error {
	if len(index) == 0 {
		return nil
	}
	part, err := rows.Take(mem, batch, index)
	if err != nil {
		return err
	}
	defer part.Release()
	return f(part)
}

// each calls f with the batches of a buffer; there are none if it is nil.
func each(ctx context.Context, b *spill.Buffer, f func(arrow.RecordBatch) error) error {
	if b == nil {
		return nil
	}
	for batch, err := range b.Batches() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f(batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
