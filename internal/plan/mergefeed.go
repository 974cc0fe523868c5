package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/internal/spill"
)

// upkeep is what a table asks of a merge beside its rows.
type upkeep struct {
	feed bool // what changes is written for the change data feed
}

// The change data feed of a merge is told row by row: an update is two rows, as it was and as it is.
// Only what really changes is in it. A merge that only inserts tells nothing: its files are the feed.
const (
	feedDelete = "delete"
	feedInsert = "insert"
	feedBefore = "update_preimage"
	feedAfter  = "update_postimage"

	changeType = "_change_type"
)

// feedSchema is the columns of the table and what became of the row.
func (s *mergeShape) feedSchema() *arrow.Schema {
	fields := s.table.Fields()
	return arrow.NewSchema(append(fields[:len(fields):len(fields)], arrow.Field{Name: changeType, Type: arrow.BinaryTypes.String, Nullable: true}), nil)
}

// told puts what became of its rows behind the columns of a batch. The caller releases it.
func (s *mergeShape) told(mem memory.Allocator, batch arrow.RecordBatch, change string) arrow.RecordBatch {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	for range batch.NumRows() {
		b.Append(change)
	}
	column := b.NewArray()
	defer column.Release()
	columns := append(append([]arrow.Array(nil), batch.Columns()[:s.table.NumFields()]...), column)
	return array.NewRecordBatch(s.feedSchema(), columns, batch.NumRows())
}

// tell sets aside what the feed says of rows.
func (w *rewriter) tell(batch arrow.RecordBatch, change string) error {
	if !w.merge.upkeep.feed {
		return nil
	}
	told := w.merge.shape.told(w.merge.Env.Allocator, batch, change)
	defer told.Release()
	return w.feed().Append(told)
}

func (w *rewriter) feed() *spill.Buffer {
	if w.file.feed == nil {
		w.file.feed = w.merge.area.NewBuffer(w.merge.shape.feedSchema())
	}
	return w.file.feed
}

// deleted tells of rows that go.
func (w *rewriter) deleted(live located, gone []int64) error {
	if len(gone) == 0 || !w.merge.upkeep.feed {
		return nil
	}
	at, err := places(live.row, gone)
	if err != nil {
		return err
	}
	return w.taken(live.batch, at, func(b arrow.RecordBatch) error { return w.tell(b, feedDelete) })
}

// tellUpdate tells of rows that change: row i of updated was row of[i] of batch.
func (w *rewriter) tellUpdate(batch arrow.RecordBatch, of []int32, updated arrow.RecordBatch) error {
	if !w.merge.upkeep.feed {
		return nil
	}
	if err := w.taken(batch, of, func(b arrow.RecordBatch) error { return w.tell(b, feedBefore) }); err != nil {
		return err
	}
	return w.tell(updated, feedAfter)
}
