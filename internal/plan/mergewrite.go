package plan

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
)

// rewrite writes anew the files in which a row changes, once for each file, and gives them.
func (p *Merge) rewrite(ctx context.Context, snap *delta.Snapshot, files []*delta.Add) ([]*touched, error) {
	var changed, fresh []*touched
	for _, f := range files {
		if t := p.seen[f.Key]; t.effective() {
			changed = append(changed, t)
			if !t.rewritten {
				fresh = append(fresh, t)
			}
		}
	}
	if len(fresh) == 0 {
		return changed, nil
	}
	if err := mutable(snap, "Merge"); err != nil {
		return nil, err
	}
	for part, s := range p.sources {
		if err := p.load(s); err != nil {
			return nil, err
		}
		err := p.Env.forEach(ctx, len(fresh), func(ctx context.Context, i int) error {
			return p.rewriteFile(ctx, snap, fresh[i], part)
		})
		p.unload(s)
		if err != nil {
			return nil, err
		}
	}
	for _, t := range fresh {
		t.rewritten = true
	}
	return changed, nil
}

// rewriteFile writes the rows of a file that a part of the source updates; with the first part also
// those that no part changes.
func (p *Merge) rewriteFile(ctx context.Context, snap *delta.Snapshot, t *touched, part int) error {
	if part > 0 && len(t.changes[part]) == 0 {
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
	w := &rewriter{merge: p, set: set, check: check, source: p.sources[part], todo: t.changes[part]}
	if part == 0 {
		w.gone = t.changedRows()
	}
	first := int64(0)
	for batch, err := range scan.File(ctx, p.Env.table(snap), t.add, nil) {
		if err == nil {
			err = w.write(batch, first, part == 0)
		}
		if err != nil {
			set.Abort()
			return err
		}
		first += batch.NumRows()
	}
	out, err := set.Finish()
	if err != nil {
		set.Abort()
		return err
	}
	t.out = append(t.out, out...)
	return nil
}

// changedRows are the rows of the file that some part changes, ascending.
func (t *touched) changedRows() []int64 {
	var out []int64
	for _, list := range t.changes {
		for _, c := range list {
			out = append(out, c.row)
		}
	}
	slices.Sort(out)
	return out
}

// rewriter writes one file's rows after the changes of one part.
type rewriter struct {
	merge  *Merge
	set    *FileSet
	check  *Validator
	source *source
	todo   []change // by row; shrinks as rows pass
	gone   []int64  // rows that some part changes; shrinks as rows pass
}

func (w *rewriter) write(batch arrow.RecordBatch, first int64, keep bool) error {
	if keep {
		if err := w.keep(batch, first); err != nil {
			return err
		}
	}
	end := first + batch.NumRows()
	n := 0
	for n < len(w.todo) && w.todo[n].row < end {
		n++
	}
	now := w.todo[:n]
	w.todo = w.todo[n:]
	updated, err := w.merge.updated(w.source, batch, first, now)
	if err != nil || updated == nil {
		return err
	}
	defer updated.Release()
	if err := w.check.Check(w.merge.Env.Allocator, updated, first); err != nil {
		return err
	}
	return w.set.Write(updated)
}

// keep writes the rows that nothing changes, as they are.
func (w *rewriter) keep(batch arrow.RecordBatch, first int64) error {
	n := batch.NumRows()
	index := make([]int32, 0, n)
	for i := range n {
		if len(w.gone) > 0 && w.gone[0] == first+i {
			w.gone = w.gone[1:]
			continue
		}
		index = append(index, int32(i))
	}
	if int64(len(index)) == n {
		return w.set.Write(batch)
	}
	kept, err := rows.Take(w.merge.Env.Allocator, batch, index)
	if err != nil {
		return err
	}
	defer kept.Release()
	return w.set.Write(kept)
}

// updated gives the rows of a batch after their updates, nil if there is none. Key columns keep the
// target's own bytes; a column that the source row does not set keeps its value.
func (p *Merge) updated(s *source, batch arrow.RecordBatch, first int64, list []change) (arrow.RecordBatch, error) {
	var to, from []int32
	for _, c := range list {
		if c.kind == deletes && p.shape.soft < 0 {
			continue
		}
		to = append(to, int32(c.row-first))
		from = append(from, c.from)
	}
	if len(to) == 0 {
		return nil, nil
	}
	columns := make([]arrow.Array, batch.NumCols())
	defer release(columns)
	for c := range columns {
		var err error
		if columns[c], err = p.updatedColumn(s, batch, c, to, from); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(batch.Schema(), columns, int64(len(to))), nil
}

func (p *Merge) updatedColumn(s *source, batch arrow.RecordBatch, c int, to, from []int32) (arrow.Array, error) {
	mem := p.Env.Allocator
	if c == p.shape.soft {
		return p.marks(s, from)
	}
	sc := slices.Index(p.shape.toTable, c)
	if sc < 0 || !slices.Contains(p.shape.update, sc) {
		return takeColumn(mem, batch, c, to)
	}
	which := make([]int32, len(to))
	index := make([]int32, len(to))
	for i := range to {
		if s.kinds[from[i]] == deletes && !slices.Contains(p.shape.guard, sc) {
			index[i] = to[i] // a soft delete keeps the last values
			continue
		}
		which[i], index[i] = 1, from[i]
	}
	schema := arrow.NewSchema([]arrow.Field{batch.Schema().Field(c)}, nil)
	target := array.NewRecordBatch(schema, []arrow.Array{batch.Column(c)}, batch.NumRows())
	defer target.Release()
	source := array.NewRecordBatch(schema, []arrow.Array{s.batch.Column(sc)}, s.batch.NumRows())
	defer source.Release()
	out, err := rows.TakeFrom(mem, []arrow.RecordBatch{target, source}, which, index)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	column := out.Column(0)
	column.Retain()
	return column, nil
}

// takeColumn gives rows of one column.
func takeColumn(mem memory.Allocator, batch arrow.RecordBatch, c int, index []int32) (arrow.Array, error) {
	schema := arrow.NewSchema([]arrow.Field{batch.Schema().Field(c)}, nil)
	one := array.NewRecordBatch(schema, []arrow.Array{batch.Column(c)}, batch.NumRows())
	defer one.Release()
	out, err := rows.Take(mem, one, index)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	column := out.Column(0)
	column.Retain()
	return column, nil
}

// marks fills the column that marks deleted rows: true, or the first Newer value, for a row that
// deletes; false, or NULL, for a row that upserts.
func (p *Merge) marks(s *source, from []int32) (arrow.Array, error) {
	mem := p.Env.Allocator
	if p.shape.table.Field(p.shape.soft).Type.ID() == arrow.BOOL {
		b := array.NewBooleanBuilder(mem)
		defer b.Release()
		for _, f := range from {
			b.Append(s.kinds[f] == deletes)
		}
		return b.NewBooleanArray(), nil
	}
	index := make([]int32, len(from))
	for i, f := range from {
		index[i] = -1
		if s.kinds[f] == deletes {
			index[i] = f
		}
	}
	return takeColumn(mem, s.batch, p.shape.newer[0], index)
}

func release(columns []arrow.Array) {
	for _, c := range columns {
		if c != nil {
			c.Release()
		}
	}
}
