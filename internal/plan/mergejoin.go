package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// join finds the source rows of rows of the table, and settles what becomes of each.
func (p *Merge) join(s *source, a *arrivals) error {
	found := make([]int32, len(a.row))
	if err := s.index.Probe(pick(a.batch, p.shape.at.key), found); err != nil {
		return err
	}
	var matched, others []int32
	for i, from := range found {
		if from < 0 { // so has NULL, unless the source may have it too
			others = append(others, int32(i))
		} else {
			matched = append(matched, int32(i))
		}
	}
	if err := p.joinMatched(s, a, &pairs{source: s.batch, target: a.batch, from: chosen(found, matched), to: matched}); err != nil {
		return err
	}
	if len(p.shape.bySource.list) == 0 || len(others) == 0 {
		return nil
	}
	return p.joinOthers(a, &pairs{target: a.batch, to: others})
}

// joinMatched settles rows of the table that have a source row.
func (p *Merge) joinMatched(s *source, a *arrivals, all *pairs) error {
	if all.len() == 0 {
		return nil
	}
	newer, err := p.newer(a, all)
	if err != nil {
		return err
	}
	key := p.keyOf(all.target, p.shape.at.key, all.to)
	which := slices.Repeat([]int32{none}, all.len())
	if len(newer) > 0 {
		judged, err := p.judged(p.shape.matched, a, all, newer, key)
		if err != nil {
			return err
		}
		for i, k := range newer {
			which[k] = judged[i]
		}
	}
	sets, deletes := p.shape.matched.setting(which)
	for _, i := range sets {
		p.count(a, all.to[i]).Updated++
	}
	for _, i := range deletes {
		p.count(a, all.to[i]).Deleted++
	}
	if err := p.keepMatches(s, a, all, deletes); err != nil {
		return err
	}
	if err := p.keepUpdates(a, all.only(sets), chosen(which, sets), 0); err != nil {
		return err
	}
	return p.keepDeletes(a, chosen(all.to, deletes))
}

// count is the counts of the file that a row is from.
func (p *Merge) count(a *arrivals, row int32) *Counts { return &p.files[a.file[row]].counts }

// newer gives the pairs whose source row may change the row of the table: where there is a guard, the
// newer ones. It counts the others.
func (p *Merge) newer(a *arrivals, all *pairs) ([]int32, error) {
	for _, i := range all.to {
		p.count(a, i).Matched++
	}
	if len(p.shape.guard) == 0 {
		return counting(all.len()), nil
	}
	order, err := rows.NewOrder(pick(all.source, p.shape.guard), pick(all.target, p.shape.at.guard))
	if err != nil {
		return nil, err
	}
	var newer, ties []int32
	for i := range all.from {
		switch c := order.Compare(int(all.from[i]), int(all.to[i])); {
		case c < 0:
			p.count(a, all.to[i]).SkippedOlder++
		case c == 0:
			p.count(a, all.to[i]).Ties++
			ties = append(ties, int32(i))
		default:
			newer = append(newer, int32(i))
		}
	}
	return newer, p.compareTies(a, all, ties)
}

// compareTies counts the ties whose source row would change the row of the table.
func (p *Merge) compareTies(a *arrivals, all *pairs, ties []int32) error {
	if !p.Request.CompareTies || len(ties) == 0 {
		return nil
	}
	some := all.only(ties)
	key := p.keyOf(some.target, p.shape.at.key, some.to)
	which, err := p.shape.matched.judge(p.Env.Allocator, some, key)
	if err != nil {
		return err
	}
	if which, err = p.effective(p.shape.matched, some, which, key); err != nil {
		return err
	}
	for i, k := range which {
		if p.shape.matched.action(k) != MergeNothing {
			p.count(a, some.to[i]).TiesDiffering++
		}
	}
	return nil
}

// judged gives the clause of some pairs, none where nothing would change, and proves that the clauses
// can be repeated.
func (p *Merge) judged(l *clauses, a *arrivals, all *pairs, index []int32, key func(int32) string) ([]int32, error) {
	some := all.only(index)
	keyOf := func(i int32) string { return key(index[i]) }
	which, err := l.judge(p.Env.Allocator, some, keyOf)
	if err != nil {
		return nil, err
	}
	if l == p.shape.matched && !p.shape.unguarded {
		return which, nil // what is newer differs, and ties once it was set
	}
	if which, err = p.effective(l, some, which, keyOf); err != nil {
		return nil, err
	}
	return which, p.prove(l, some, which, keyOf)
}

// effective takes the clause from the pairs whose row would be as it is.
func (p *Merge) effective(l *clauses, all *pairs, which []int32, key func(int32) string) ([]int32, error) {
	sets, _ := l.setting(which)
	if len(sets) == 0 {
		return which, nil
	}
	some := all.only(sets)
	after, err := l.apply(p.Env.Allocator, some, chosen(which, sets), l.targets, func(i int32) string { return key(sets[i]) })
	if err != nil {
		return nil, err
	}
	defer release(after)
	before, err := named(all.target, p.tableNames(l.targets))
	if err != nil {
		return nil, err
	}
	same, err := rows.NewEquality(after, before)
	if err != nil {
		return nil, err
	}
	which = slices.Clone(which)
	for i, k := range sets {
		if same.Equal(i, int(some.to[i])) {
			which[k] = none
		}
	}
	return which, nil
}

func (p *Merge) tableNames(columns []int) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = p.shape.table.Field(c).Name
	}
	return out
}

// joinOthers settles rows of the table that no source row matches.
func (p *Merge) joinOthers(a *arrivals, all *pairs) error {
	key := p.keyOf(all.target, p.shape.at.key, all.to)
	which, err := p.judged(p.shape.bySource, a, all, counting(all.len()), key)
	if err != nil {
		return err
	}
	sets, deletes := p.shape.bySource.setting(which)
	for _, i := range sets {
		c := p.count(a, all.to[i])
		c.Updated++
		c.UpdatedBySource++
	}
	for _, i := range deletes {
		c := p.count(a, all.to[i])
		c.Deleted++
		c.DeletedBySource++
	}
	if err := p.keepUpdates(a, all.only(sets), chosen(which, sets), int32(len(p.shape.matched.list))); err != nil {
		return err
	}
	return p.keepDeletes(a, chosen(all.to, deletes))
}

// keyOf names the rows of pairs by the key of one side, in words; where nothing is a key, by what stands for one.
func (p *Merge) keyOf(batch arrow.RecordBatch, columns []int, index []int32) func(pair int32) string {
	what := "the row with the key "
	if p.Request.keyless {
		what = "a row with "
	}
	return func(i int32) string { return what + p.keyValues(batch, columns, int(index[i])) }
}

// keyValues shows the key of a row.
func (p *Merge) keyValues(batch arrow.RecordBatch, columns []int, row int) string {
	text := ""
	for n, c := range columns {
		if n > 0 {
			text += ", "
		}
		text += p.shape.keyPlaces[n].name(p.shape.table) + "=" + rows.Text(batch.Column(c), row)
	}
	return text
}

// keepMatches remembers which source rows were met.
func (p *Merge) keepMatches(s *source, a *arrivals, all *pairs, deletes []int32) error {
	mem := p.Env.Allocator
	gone := array.NewBooleanBuilder(mem)
	defer gone.Release()
	next := 0
	files := make([]int32, all.len())
	for i, to := range all.to {
		files[i] = a.file[to]
		deleted := next < len(deletes) && deletes[next] == int32(i)
		if deleted {
			next++
		}
		gone.Append(deleted)
	}
	columns := []arrow.Array{int32s(mem, files), int32s(mem, all.from), gone.NewArray()}
	defer release(columns)
	batch := array.NewRecordBatch(matchSchema, columns, int64(all.len()))
	defer batch.Release()
	return s.matches.Append(batch)
}

// keepUpdates sets aside the rows that change, with what their source rows give them. base is added
// to the number of the clause.
func (p *Merge) keepUpdates(a *arrivals, all *pairs, which []int32, base int32) error {
	mem := p.Env.Allocator
	return p.byFile(a, all.to, func(t *touched, index []int32) error {
		some := all.only(index)
		numbers, clauses := make([]int64, len(index)), chosen(which, index)
		for i := range index {
			numbers[i] = a.row[some.to[i]]
			clauses[i] += base
		}
		columns := []arrow.Array{int64s(mem, numbers), int32s(mem, clauses)}
		defer func() { release(columns) }()
		for _, f := range p.shape.updateSchema.Fields()[len(columns):] {
			if some.source == nil {
				columns = append(columns, array.MakeArrayOfNull(mem, f.Type, len(index)))
				continue
			}
			from, err := columnNamed(some.source, f.Name)
			if err != nil {
				return err
			}
			taken, err := takeColumn(mem, f, from, some.from)
			if err != nil {
				return err
			}
			columns = append(columns, taken)
		}
		batch := array.NewRecordBatch(p.shape.updateSchema, columns, int64(len(index)))
		defer batch.Release()
		if t.updates == nil {
			t.updates = p.area.NewBuffer(p.shape.updateSchema)
		}
		return t.updates.Append(batch)
	})
}

// keepDeletes sets aside the rows that go.
func (p *Merge) keepDeletes(a *arrivals, rows []int32) error {
	return p.byFile(a, rows, func(t *touched, index []int32) error {
		numbers := make([]int64, len(index))
		for i, k := range index {
			numbers[i] = a.row[rows[k]]
		}
		column := int64s(p.Env.Allocator, numbers)
		defer column.Release()
		batch := array.NewRecordBatch(rowSchema, []arrow.Array{column}, int64(len(index)))
		defer batch.Release()
		if t.deletes == nil {
			t.deletes = p.area.NewBuffer(rowSchema)
		}
		return t.deletes.Append(batch)
	})
}

// byFile calls f with runs of rows that are from one file; index numbers the rows given.
func (p *Merge) byFile(a *arrivals, rows []int32, f func(t *touched, index []int32) error) error {
	every := counting(len(rows))
	for lo := 0; lo < len(rows); {
		hi := lo + 1
		for hi < len(rows) && a.file[rows[hi]] == a.file[rows[lo]] {
			hi++
		}
		if err := f(p.files[a.file[rows[lo]]], every[lo:hi]); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

func int32s(mem memory.Allocator, values []int32) arrow.Array {
	b := array.NewInt32Builder(mem)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

func int64s(mem memory.Allocator, values []int64) arrow.Array {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

// keyOfRow names a row of the table by its key.
func (p *Merge) keyOfRow(batch arrow.RecordBatch, row int) string {
	one := batch.NewSlice(int64(row), int64(row)+1)
	defer one.Release()
	raised, err := p.shape.raiseAll.batch(p.Env.Allocator, one)
	if err != nil {
		return err.Error()
	}
	defer raised.Release()
	return p.keyOf(raised, p.shape.allKeys, []int32{0})(0)
}

// duplicated is the error of a key that the table holds more than once.
func (p *Merge) duplicated(ctx context.Context, s *source, row int32) error {
	if err := p.load(ctx, s); err != nil {
		return err
	}
	return fmt.Errorf("%w: the table has more than one row with the key %s; nothing was changed: find them with Table.Duplicates and repair them, "+
		"or set AllowTargetDuplicates to update them all", delta.ErrInput, p.keyValues(s.batch, p.shape.key, int(row)))
}
