package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// rewrite writes anew the files in which a row changes, once for each file, and gives them.
func (p *Merge) rewrite(ctx context.Context, snap *delta.Snapshot, files []*delta.Add) ([]*touched, error) {
	var changed, fresh []*touched
	for _, f := range files {
		if t := p.seen[f.Key]; len(t.changes) > 0 {
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
	return changed, p.Env.forEach(ctx, len(fresh), func(ctx context.Context, i int) error {
		return p.rewriteFile(ctx, snap, fresh[i])
	})
}

// rewriteFile writes the rows of a file after their changes.
func (p *Merge) rewriteFile(ctx context.Context, snap *delta.Snapshot, t *touched) error {
	set, err := NewFileSet(ctx, p.Env, snap)
	if err != nil {
		return err
	}
	check, err := NewValidator(snap)
	if err != nil {
		return err
	}
	news, err := gather(p.Env.Allocator, t.news)
	if err != nil {
		return err
	}
	defer news.Release()
	slices.SortFunc(t.changes, func(a, b change) int { return cmp.Compare(a.row, b.row) })
	t.moved = p.area.NewBuffer(p.shape.table)
	w := &rewriter{merge: p, set: set, check: check, news: news, todo: t.changes, moved: t.moved}
	for _, c := range snap.PartitionColumns() {
		w.partition = append(w.partition, fieldIndex(p.shape.table, c))
	}
	first := int64(0)
	for batch, err := range scan.File(ctx, p.Env.table(snap), t.add, nil) {
		if err == nil {
			err = w.write(batch, first)
		}
		if err != nil {
			set.Abort()
			return err
		}
		first += batch.NumRows()
	}
	if t.out, err = set.Finish(); err != nil {
		set.Abort()
		return err
	}
	t.rewritten = true
	return t.news.Close()
}

// rewriter writes one file's rows after their changes.
type rewriter struct {
	merge *Merge
	set   *FileSet
	check *Validator
	news  arrow.RecordBatch // the source rows that change a row
	todo  []change          // by row; shrinks as rows pass

	partition []int         // partition columns
	moved     *spill.Buffer // takes the rows that left the partition
}

func (w *rewriter) write(batch arrow.RecordBatch, first int64) error {
	end := first + batch.NumRows()
	n := 0
	for n < len(w.todo) && w.todo[n].row < end {
		n++
	}
	now := w.todo[:n]
	w.todo = w.todo[n:]
	if err := w.keep(batch, first, now); err != nil {
		return err
	}
	updated, err := w.merge.updated(w.news, batch, first, now)
	if err != nil || updated == nil {
		return err
	}
	defer updated.Release()
	if err := w.check.Check(w.merge.Env.Allocator, updated, first); err != nil {
		return err
	}
	return w.put(updated, batch)
}

// put writes rows that stayed in the file's partition and sets the others aside: those of all files
// are written together, so that a merge that moves rows does not cut every file into one for each
// partition.
func (w *rewriter) put(updated, batch arrow.RecordBatch) error {
	same, err := rows.NewEquality(pick(updated, w.partition), pick(batch, w.partition))
	if err != nil {
		return err
	}
	var stay, move []int32
	for i := range int(updated.NumRows()) {
		if same.Equal(i, 0) { // the partition is that of every row of the file
			stay = append(stay, int32(i))
		} else {
			move = append(move, int32(i))
		}
	}
	if len(move) == 0 {
		return w.set.Write(updated)
	}
	if err := w.taken(updated, move, w.moved.Append); err != nil {
		return err
	}
	return w.taken(updated, stay, w.set.Write)
}

func (w *rewriter) taken(batch arrow.RecordBatch, index []int32, to func(arrow.RecordBatch) error) error {
	if len(index) == 0 {
		return nil
	}
	part, err := rows.Take(w.merge.Env.Allocator, batch, index)
	if err != nil {
		return err
	}
	defer part.Release()
	return to(part)
}

// keep writes the rows that nothing changes, as they are.
func (w *rewriter) keep(batch arrow.RecordBatch, first int64, changed []change) error {
	if len(changed) == 0 {
		return w.set.Write(batch)
	}
	n := batch.NumRows()
	index := make([]int32, 0, n)
	for i := range n {
		if len(changed) > 0 && changed[0].row == first+i {
			changed = changed[1:]
			continue
		}
		index = append(index, int32(i))
	}
	return w.taken(batch, index, w.set.Write)
}

// updated gives the rows of a batch after their updates, nil if there is none. Key columns keep the
// target's own bytes; a column that the source row does not set keeps its value.
func (p *Merge) updated(news, batch arrow.RecordBatch, first int64, list []change) (arrow.RecordBatch, error) {
	var to, from []int32
	var kinds []rowKind
	for _, c := range list {
		if c.kind == deletes && p.shape.soft < 0 {
			continue
		}
		to = append(to, int32(c.row-first))
		from = append(from, c.from)
		kinds = append(kinds, c.kind)
	}
	if len(to) == 0 {
		return nil, nil
	}
	columns := make([]arrow.Array, batch.NumCols())
	defer release(columns)
	for c := range columns {
		var err error
		if columns[c], err = p.updatedColumn(news, batch, c, to, from, kinds); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(batch.Schema(), columns, int64(len(to))), nil
}

func (p *Merge) updatedColumn(news, batch arrow.RecordBatch, c int, to, from []int32, kinds []rowKind) (arrow.Array, error) {
	mem := p.Env.Allocator
	if c == p.shape.soft {
		return p.marks(news, from, kinds)
	}
	sc := slices.Index(p.shape.toTable, c)
	if sc < 0 || !slices.Contains(p.shape.update, sc) {
		return takeColumn(mem, batch, c, to)
	}
	which := make([]int32, len(to))
	index := make([]int32, len(to))
	for i := range to {
		if kinds[i] == deletes && !slices.Contains(p.shape.guard, sc) {
			index[i] = to[i] // a soft delete keeps the last values
			continue
		}
		which[i], index[i] = 1, from[i]
	}
	given := news.Column(sc)
	if p.shape.lacks[sc] != nil {
		laid, err := p.laidOver(news, batch, c, to, from)
		if err != nil {
			return nil, err
		}
		defer laid.Release()
		given = laid
		for i, w := range which {
			if w == 1 {
				index[i] = int32(i)
			}
		}
	}
	schema := arrow.NewSchema([]arrow.Field{batch.Schema().Field(c)}, nil)
	target := array.NewRecordBatch(schema, []arrow.Array{batch.Column(c)}, batch.NumRows())
	defer target.Release()
	source := array.NewRecordBatch(schema, []arrow.Array{given}, int64(given.Len()))
	defer source.Release()
	return onlyColumn(rows.TakeFrom(mem, []arrow.RecordBatch{target, source}, which, index))
}

// laidOver gives a column of the source rows, with the fields that the source lacks from the rows that
// they update.
func (p *Merge) laidOver(news, batch arrow.RecordBatch, c int, to, from []int32) (arrow.Array, error) {
	sc := slices.Index(p.shape.toTable, c)
	old, err := takeColumn(p.Env.Allocator, batch, c, to)
	if err != nil {
		return nil, err
	}
	defer old.Release()
	given, err := takeColumn(p.Env.Allocator, news, sc, from)
	if err != nil {
		return nil, err
	}
	defer given.Release()
	return p.shape.lacks[sc].over(p.Env.Allocator, given, old), nil
}

// takeColumn gives rows of one column.
func takeColumn(mem memory.Allocator, batch arrow.RecordBatch, c int, index []int32) (arrow.Array, error) {
	schema := arrow.NewSchema([]arrow.Field{batch.Schema().Field(c)}, nil)
	one := array.NewRecordBatch(schema, []arrow.Array{batch.Column(c)}, batch.NumRows())
	defer one.Release()
	return onlyColumn(rows.Take(mem, one, index))
}

// onlyColumn gives the one column of a batch, and lets go of the batch.
func onlyColumn(batch arrow.RecordBatch, err error) (arrow.Array, error) {
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	column := batch.Column(0)
	column.Retain()
	return column, nil
}

// marks fills the column that marks deleted rows: true, or the first Newer value, for a row that
// deletes; false, or NULL, for a row that upserts.
func (p *Merge) marks(news arrow.RecordBatch, from []int32, kinds []rowKind) (arrow.Array, error) {
	mem := p.Env.Allocator
	if p.shape.table.Field(p.shape.soft).Type.ID() == arrow.BOOL {
		b := array.NewBooleanBuilder(mem)
		defer b.Release()
		for _, k := range kinds {
			b.Append(k == deletes)
		}
		return b.NewBooleanArray(), nil
	}
	index := make([]int32, len(from))
	for i, f := range from {
		index[i] = -1
		if kinds[i] == deletes {
			index[i] = f
		}
	}
	return takeColumn(mem, news, p.shape.newer[0], index)
}

func release(columns []arrow.Array) {
	for _, c := range columns {
		if c != nil {
			c.Release()
		}
	}
}
