package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/spill"
)

// touched is what a merge does to one file. Neither the source nor the file changes, so it stays true
// over attempts.
type touched struct {
	id   int32 // its place in Merge.files
	add  *delta.Add
	rows int64 // that are live
	end  int64 // above the number of every one of them

	goes    bool          // all of it, unread
	updates *spill.Buffer // the rows that change: see Merge.updateSchema; nil is none
	deletes *spill.Buffer // the rows that go: see rowSchema; nil is none
	counts  Counts        // what the changes are

	done  bool          // the changes were carried out, once
	mark  *marking      // of a file that stays; nil of one that is removed
	out   []*delta.Add  // files with the rows that stayed
	moved *spill.Buffer // changed rows that go to the files of new rows: see Merge.keptRows
	feed  *spill.Buffer // what the change data feed tells of the file: see Merge.changedRows
}

func (t *touched) changes() bool { return t.goes || t.updates != nil || t.deletes != nil }

var (
	// matchSchema is a row of a file and the source row that it matches. gone says that the row of the
	// file is deleted.
	matchSchema = arrow.NewSchema([]arrow.Field{
		{Name: "file", Type: arrow.PrimitiveTypes.Int32}, {Name: "from", Type: arrow.PrimitiveTypes.Int32}, {Name: "gone", Type: arrow.FixedWidthTypes.Boolean},
	}, nil)

	// rowSchema is the number of a row in its file.
	rowSchema = arrow.NewSchema([]arrow.Field{{Name: "row", Type: arrow.PrimitiveTypes.Int64}}, nil)

	// placeFields say where a row of the table is from.
	placeFields = []arrow.Field{{Name: "file", Type: arrow.PrimitiveTypes.Int32}, {Name: "row", Type: arrow.PrimitiveTypes.Int64}}
)

// arrivals are rows of the table on their way to the source rows of their keys: the columns that
// decide, and where each row is from.
type arrivals struct {
	batch arrow.RecordBatch // raised
	file  []int32
	row   []int64
}

// probe looks for the source's keys in files that were not looked at yet. Each file is read once: if
// the source has one part, rows meet it as they come; else they are first divided as the source is.
func (p *Merge) probe(ctx context.Context, snap *delta.Snapshot, files []candidate) error {
	var fresh, all []*touched
	for _, f := range files {
		if known := p.seen[identity(f.add)]; known != nil {
			known.add = f.add
			continue
		}
		t := &touched{id: int32(len(p.files)), add: f.add}
		p.files, all = append(p.files, t), append(all, t)
		if t.rows, t.goes = p.goes(snap, f.add, f.stats); t.goes {
			t.counts = Counts{Deleted: t.rows, DeletedBySource: t.rows}
			continue
		}
		fresh = append(fresh, t)
	}
	var err error
	if len(p.sources) == 1 {
		err = p.probeOne(ctx, snap, fresh)
	} else {
		err = p.probeParts(ctx, snap, fresh)
	}
	if err == nil {
		err = p.again.verdict(p.Request.keyless)
	}
	if err != nil {
		return err
	}
	for _, t := range all {
		p.seen[identity(t.add)] = t
	}
	return nil
}

// readBytes is what reading a file is taken to hold.
const readBytes = 8 << 20

// readers are how many files are read side by side, within a share of the budget.
func (e *Env) readers() *Env {
	out := *e
	out.Parallelism = int(min(int64(e.Parallelism), max(1, e.share()/readBytes)))
	return &out
}

// probeOne joins files, side by side, with a source that fits the memory.
func (p *Merge) probeOne(ctx context.Context, snap *delta.Snapshot, fresh []*touched) error {
	if err := p.load(ctx, p.sources[0]); err != nil {
		return err
	}
	return p.Env.readers().forEach(ctx, len(fresh), func(ctx context.Context, i int) error {
		return p.read(ctx, snap, fresh[i], func(a *arrivals) error { return p.join(p.sources[0], a) })
	})
}

// probeParts divides the rows of files by key, then joins part by part.
func (p *Merge) probeParts(ctx context.Context, snap *delta.Snapshot, fresh []*touched) error {
	schema := arrow.NewSchema(append(slices.Clone(p.shape.raise.schema.Fields()), placeFields...), nil)
	parts := p.area.NewPartitions(schema, len(p.sources))
	defer parts.Close()
	route := byPivots(p.pivots)
	deal := func(a *arrivals) error {
		to := make([]uint32, len(a.row))
		if err := route(pick(a.batch, p.shape.at.key), to); err != nil {
			return err
		}
		placed := a.placed(p, schema)
		defer placed.Release()
		return parts.Append(placed, to)
	}
	err := p.Env.readers().forEach(ctx, len(fresh), func(ctx context.Context, i int) error {
		return p.read(ctx, snap, fresh[i], deal)
	})
	if err != nil {
		return err
	}
	for i, s := range p.sources {
		if err := p.joinPart(ctx, s, parts.Partition(i)); err != nil {
			return err
		}
		if err := parts.Partition(i).Close(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Merge) joinPart(ctx context.Context, s *source, part *spill.Buffer) error {
	if part.Rows() == 0 {
		return nil
	}
	if err := p.load(ctx, s); err != nil {
		return err
	}
	defer p.unload(s)
	for batch, err := range part.Batches() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = p.join(s, p.arrived(batch))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read gives the live rows of a file.
func (p *Merge) read(ctx context.Context, snap *delta.Snapshot, t *touched, f func(*arrivals) error) error {
	t.rows, t.end = 0, 0
	for live, err := range p.live(ctx, snap, t.add, p.shape.probe, scan.LiveOptions{}) {
		if err != nil {
			return err
		}
		if err := p.raised(t, live, f); err != nil {
			return err
		}
		if n := len(live.row); n > 0 {
			t.rows, t.end = t.rows+int64(n), live.row[n-1]+1
		}
	}
	return nil
}

func (p *Merge) raised(t *touched, live located, f func(*arrivals) error) error {
	raised, err := p.shape.raise.batch(p.Env.Allocator, live.batch)
	if err != nil {
		return err
	}
	defer raised.Release()
	step := p.pieceOf(raised)
	for lo, n := 0, len(live.row); lo < n; lo += step {
		hi := min(lo+step, n)
		piece := raised.NewSlice(int64(lo), int64(hi))
		a := &arrivals{batch: piece, file: slices.Repeat([]int32{t.id}, hi-lo), row: live.row[lo:hi]}
		err := f(a)
		piece.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// placed puts where the rows are from beside them. The caller releases it.
func (a *arrivals) placed(p *Merge, schema *arrow.Schema) arrow.RecordBatch {
	file, row := int32s(p.Env.Allocator, a.file), int64s(p.Env.Allocator, a.row)
	defer file.Release()
	defer row.Release()
	columns := append(slices.Clone(a.batch.Columns()), file, row)
	return array.NewRecordBatch(schema, columns, a.batch.NumRows())
}

// arrived takes apart what placed put together.
func (p *Merge) arrived(batch arrow.RecordBatch) *arrivals {
	n := p.shape.raise.schema.NumFields()
	return &arrivals{
		batch: batch,
		file:  batch.Column(n).(*array.Int32).Int32Values(),
		row:   batch.Column(n + 1).(*array.Int64).Int64Values(),
	}
}
