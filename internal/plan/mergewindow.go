package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/internal/spill"
)

// edits are the changes of one file, given out by the order of its rows. They were found part by part
// of the source, so they are dealt into windows of rows, each small enough to be sorted in memory.
type edits struct {
	ctx     context.Context
	mem     memory.Allocator
	rows    int64 // above the number of every live row of the file
	windows int64

	updates, deletes []*spill.Buffer // of each window
	dealt            []*spill.Partitions

	window int64 // that is loaded, -1
	now    edit
}

// edit is the changes of some rows, ascending.
type edit struct {
	updated []int64 // rows
	clause  []int32
	from    []int32 // rows of source
	source  arrow.RecordBatch
	deleted []int64
}

// edits divides what changes in a file into windows of at most limit.
func (p *Merge) edits(ctx context.Context, t *touched, limit int64) (*edits, error) {
	e := &edits{ctx: ctx, mem: p.Env.Allocator, rows: t.end, windows: 1, window: -1}
	for _, b := range []*spill.Buffer{t.updates, t.deletes} {
		if b != nil {
			e.windows = max(e.windows, 2*weight(b, b.Schema().NumFields())/limit+1)
		}
	}
	e.windows = min(e.windows, max(t.end, 1))
	var err error
	if e.updates, err = e.deal(p.area, t.updates); err != nil {
		return nil, err
	}
	e.deletes, err = e.deal(p.area, t.deletes)
	return e, err
}

// deal gives the windows of a buffer, whose first column is a row.
func (e *edits) deal(area *spill.Area, b *spill.Buffer) ([]*spill.Buffer, error) {
	out := make([]*spill.Buffer, e.windows)
	if b == nil || e.windows == 1 {
		out[0] = b
		return out, nil
	}
	parts := area.NewPartitions(b.Schema(), int(e.windows))
	e.dealt = append(e.dealt, parts)
	for batch, err := range b.Batches() {
		if err == nil {
			err = e.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		to := make([]uint32, batch.NumRows())
		for i, row := range batch.Column(0).(*array.Int64).Int64Values() {
			to[i] = uint32(e.windowOf(row))
		}
		if err := parts.Append(batch, to); err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i] = parts.Partition(i)
	}
	return out, nil
}

func (e *edits) windowOf(row int64) int64 { return row * e.windows / e.rows }

// windowEnd is the first row behind a window.
func (e *edits) windowEnd(w int64) int64 { return ((w+1)*e.rows + e.windows - 1) / e.windows }

func (e *edits) close() {
	e.drop()
	for _, d := range e.dealt {
		d.Close()
	}
}

func (e *edits) drop() {
	if e.now.source != nil {
		e.now.source.Release()
	}
	e.now, e.window = edit{}, -1
}

// next gives the changes of the rows from first up to some row, at most end.
func (e *edits) next(first, end int64) (edit, int64, error) {
	w := e.windowOf(first)
	if e.window != w {
		if err := e.load(w); err != nil {
			return edit{}, 0, err
		}
	}
	end = min(end, e.windowEnd(w))
	n, _ := slices.BinarySearch(e.now.updated, end)
	m, _ := slices.BinarySearch(e.now.deleted, end)
	part := edit{updated: e.now.updated[:n], clause: e.now.clause[:n], from: e.now.from[:n], source: e.now.source, deleted: e.now.deleted[:m]}
	e.now.updated, e.now.clause, e.now.from, e.now.deleted = e.now.updated[n:], e.now.clause[n:], e.now.from[n:], e.now.deleted[m:]
	return part, end, nil
}

// load brings a window into memory, in the order of rows.
func (e *edits) load(w int64) error {
	e.drop()
	if b := e.updates[w]; b != nil && b.Rows() > 0 {
		batch, err := gather(e.ctx, e.mem, b)
		if err != nil {
			return err
		}
		defer batch.Release()
		row, clause := batch.Column(0).(*array.Int64).Int64Values(), batch.Column(1).(*array.Int32).Int32Values()
		e.now.from = counting(len(row))
		slices.SortFunc(e.now.from, func(i, j int32) int { return int(row[i] - row[j]) })
		for _, i := range e.now.from {
			e.now.updated, e.now.clause = append(e.now.updated, row[i]), append(e.now.clause, clause[i])
		}
		e.now.source = array.NewRecordBatch(arrow.NewSchema(batch.Schema().Fields()[2:], nil), batch.Columns()[2:], batch.NumRows())
	}
	if b := e.deletes[w]; b != nil {
		for batch, err := range b.Batches() {
			if err != nil {
				return err
			}
			e.now.deleted = append(e.now.deleted, batch.Column(0).(*array.Int64).Int64Values()...)
		}
		slices.Sort(e.now.deleted)
	}
	e.window = w
	return nil
}

// kept gives the places of the rows that no change meets.
func (e *edit) kept(rows []int64) []int32 {
	out := make([]int32, 0, len(rows))
	updated, deleted := e.updated, e.deleted
	for i, row := range rows {
		switch {
		case len(updated) > 0 && updated[0] == row:
			updated = updated[1:]
		case len(deleted) > 0 && deleted[0] == row:
			deleted = deleted[1:]
		default:
			out = append(out, int32(i))
		}
	}
	return out
}
