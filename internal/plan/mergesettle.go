package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/internal/spill"
)

// todoSchema is a source row to insert, and the clause that does.
var todoSchema = arrow.NewSchema([]arrow.Field{
	{Name: "from", Type: arrow.PrimitiveTypes.Int32}, {Name: "clause", Type: arrow.PrimitiveTypes.Int32},
}, nil)

// bits is a set of row numbers.
type bits []uint64

func newBits(n int64) bits      { return make(bits, (n+63)/64) }
func (b bits) has(i int32) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bits) add(i int32)      { b[i/64] |= 1 << (i % 64) }

// settle adds up what the source does to the files, and settles which source rows are inserted. It
// says whether those are others than at the last attempt.
func (p *Merge) settle(ctx context.Context, files []candidate) (changed bool, err error) {
	live := make([]bool, len(p.files))
	c := Counts{Read: p.Counts.Read, Identical: p.Counts.Identical, Older: p.Counts.Older}
	for _, f := range files {
		t := p.seen[identity(f.add)]
		live[t.id] = true
		c.addRows(t.counts)
	}
	for _, s := range p.sources {
		todo, err := p.settlePart(ctx, s, live, &c)
		if err != nil {
			return false, err
		}
		same, err := sameRows(s.todo, todo)
		if err != nil {
			return false, err
		}
		if s.todo != nil {
			s.todo.Close()
		}
		s.todo, changed = todo, changed || !same
		c.Inserted += todo.Rows()
	}
	p.Counts = c
	return changed, p.again.verdict(p.Request.keyless)
}

// addRows adds what happens to the rows of a file.
func (c *Counts) addRows(t Counts) {
	c.Matched, c.Updated, c.Deleted = c.Matched+t.Matched, c.Updated+t.Updated, c.Deleted+t.Deleted
	c.UpdatedBySource, c.DeletedBySource = c.UpdatedBySource+t.UpdatedBySource, c.DeletedBySource+t.DeletedBySource
	c.SkippedOlder, c.Ties, c.TiesDiffering = c.SkippedOlder+t.SkippedOlder, c.Ties+t.Ties, c.TiesDiffering+t.TiesDiffering
}

// settlePart gives the rows of a part that are inserted.
func (p *Merge) settlePart(ctx context.Context, s *source, live []bool, c *Counts) (*spill.Buffer, error) {
	todo := p.area.NewBuffer(todoSchema)
	seen, stays, err := p.met(ctx, s, live)
	if err != nil {
		return nil, err
	}
	if !p.shape.notMatched.changes() {
		return todo, nil
	}
	var unmatched, gone []int32
	for i := range int32(s.size()) {
		switch {
		case !seen.has(i):
			unmatched = append(unmatched, i)
		case !stays.has(i):
			gone = append(gone, i)
		}
	}
	if len(unmatched)+len(gone) == 0 {
		return todo, nil
	}
	if err := p.load(ctx, s); err != nil {
		return nil, err
	}
	defer p.unload(s)
	if err := p.proveGone(s, gone); err != nil {
		return nil, err
	}
	return todo, p.choose(s, unmatched, todo, c)
}

// met says which rows of a part match a row of the table, and for which of them such a row stays.
func (p *Merge) met(ctx context.Context, s *source, live []bool) (seen, stays bits, err error) {
	seen, stays = newBits(s.size()), newBits(s.size())
	single := p.shape.matched.changes() && !p.Request.AllowTargetDuplicates
	for batch, err := range s.matches.Batches() {
		if err != nil {
			return nil, nil, err
		}
		file, from := batch.Column(0).(*array.Int32).Int32Values(), batch.Column(1).(*array.Int32).Int32Values()
		gone := batch.Column(2).(*array.Boolean)
		for i, f := range file {
			if !live[f] {
				continue
			}
			if single && seen.has(from[i]) {
				return nil, nil, p.duplicated(ctx, s, from[i])
			}
			seen.add(from[i])
			if !gone.Value(i) {
				stays.add(from[i])
			}
		}
	}
	return seen, stays, nil
}

// choose gives each unmatched row its clause.
func (p *Merge) choose(s *source, unmatched []int32, todo *spill.Buffer, c *Counts) error {
	if len(unmatched) == 0 {
		return nil
	}
	l := p.shape.notMatched
	all := &pairs{source: s.batch, from: unmatched}
	which, err := l.judge(p.Env.Allocator, all, p.keyOf(s.batch, p.shape.key, unmatched))
	if err != nil {
		return err
	}
	for _, k := range which {
		if k != none && l.list[k].deletes {
			c.Unmatched++
		}
	}
	sets, _ := l.setting(which)
	columns := []arrow.Array{int32s(p.Env.Allocator, chosen(unmatched, sets)), int32s(p.Env.Allocator, chosen(which, sets))}
	defer release(columns)
	batch := array.NewRecordBatch(todoSchema, columns, int64(len(sets)))
	defer batch.Release()
	return todo.Append(batch)
}

// sameRows says whether two buffers of int32 columns hold the same rows. A nil buffer holds none.
func sameRows(a, b *spill.Buffer) (bool, error) {
	if a == nil || a.Rows() != b.Rows() {
		return false, nil
	}
	for row := int64(0); row < a.Rows(); {
		n, err := samePiece(a, b, row)
		if err != nil || n == 0 {
			return false, err
		}
		row += n
	}
	return true, nil
}

// samePiece gives the number of rows from row on that were compared and are equal; 0 if some differ.
func samePiece(a, b *spill.Buffer, row int64) (int64, error) {
	x, err := a.At(row)
	if err != nil {
		return 0, err
	}
	defer x.Release()
	y, err := b.At(row)
	if err != nil {
		return 0, err
	}
	defer y.Release()
	n := min(x.NumRows(), y.NumRows())
	for c := range int(x.NumCols()) {
		if !slices.Equal(x.Column(c).(*array.Int32).Int32Values()[:n], y.Column(c).(*array.Int32).Int32Values()[:n]) {
			return 0, nil
		}
	}
	return n, nil
}
