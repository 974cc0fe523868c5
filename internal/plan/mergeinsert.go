package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// insertSet is the files written for the source rows that match nothing, and for changed rows that
// left their partition.
type insertSet struct {
	matched [][]bool // what they were written for
	changed []string
	files   []*delta.Add
	rows    int64
	skipped int64 // deletes that match nothing
}

// insert writes the source rows that match nothing, and the changed rows that moved. Files written by an earlier attempt are used
// again when the same rows are to be inserted.
func (p *Merge) insert(ctx context.Context, snap *delta.Snapshot, matched [][]bool, changed []*touched) error {
	names := make([]string, len(changed))
	for i, t := range changed {
		names[i] = t.add.Key
	}
	if p.inserts != nil && slices.EqualFunc(p.inserts.matched, matched, slices.Equal) && slices.Equal(p.inserts.changed, names) {
		p.Counts.Inserted, p.Counts.Unmatched = p.inserts.rows, p.inserts.skipped
		return nil
	}
	set, err := NewFileSet(ctx, p.Env, snap)
	if err != nil {
		return err
	}
	check, err := NewValidator(snap)
	if err != nil {
		return err
	}
	done := &insertSet{matched: matched, changed: names}
	moved, err := writeMoved(set, changed)
	if err != nil {
		set.Abort()
		return err
	}
	for part, s := range p.sources {
		if err := p.insertPart(set, check, s, matched[part], done); err != nil {
			set.Abort()
			return err
		}
	}
	if done.files, err = set.Finish(); err != nil {
		set.Abort()
		return err
	}
	done.rows = set.Rows() - moved
	p.inserts = done
	p.Counts.Inserted, p.Counts.Unmatched = done.rows, done.skipped
	return nil
}

// writeMoved writes the changed rows that left their partition, of all files together.
func writeMoved(set *FileSet, changed []*touched) (int64, error) {
	n := int64(0)
	for _, t := range changed {
		for batch, err := range t.moved.Batches() {
			if err != nil {
				return 0, err
			}
			if err := set.Write(batch); err != nil {
				return 0, err
			}
			n += batch.NumRows()
		}
	}
	return n, nil
}

func (p *Merge) insertPart(set *FileSet, check *Validator, s *source, matched []bool, done *insertSet) error {
	if !slices.Contains(matched, false) {
		return nil
	}
	if err := p.load(s); err != nil {
		return err
	}
	defer p.unload(s)
	var index []int32
	for i, m := range matched {
		switch {
		case m:
		case s.kinds[i] == deletes && p.shape.soft < 0:
			done.skipped++
		default:
			index = append(index, int32(i))
		}
	}
	for piece := range slices.Chunk(index, insertRows) {
		if err := p.insertPiece(set, check, s, piece); err != nil {
			return err
		}
	}
	return nil
}

// insertRows is the number of rows that are put together at once.
const insertRows = 64 << 10

func (p *Merge) insertPiece(set *FileSet, check *Validator, s *source, index []int32) error {
	batch, err := p.inserted(s, index)
	if err != nil {
		return err
	}
	defer batch.Release()
	if err := check.Check(p.Env.Allocator, batch, 0); err != nil {
		return err
	}
	return set.Write(batch)
}

// kindsOf gives the kinds of rows.
func (s *source) kindsOf(index []int32) []rowKind {
	out := make([]rowKind, len(index))
	for i, r := range index {
		out[i] = s.kinds[r]
	}
	return out
}

// inserted gives source rows as rows of the table: what an insert does not set is NULL.
func (p *Merge) inserted(s *source, index []int32) (arrow.RecordBatch, error) {
	mem := p.Env.Allocator
	taken, err := rows.Take(mem, s.batch, index)
	if err != nil {
		return nil, err
	}
	defer taken.Release()
	columns := make([]arrow.Array, p.shape.table.NumFields())
	defer release(columns)
	for c := range columns {
		sc := slices.Index(p.shape.toTable, c)
		switch {
		case c == p.shape.soft:
			if columns[c], err = p.marks(s.batch, index, s.kindsOf(index)); err != nil {
				return nil, err
			}
		case sc >= 0 && slices.Contains(p.shape.insert, sc):
			columns[c] = taken.Column(sc)
			columns[c].Retain()
		default:
			columns[c] = array.MakeArrayOfNull(mem, p.shape.table.Field(c).Type, len(index))
		}
	}
	return array.NewRecordBatch(p.shape.table, columns, int64(len(index))), nil
}
