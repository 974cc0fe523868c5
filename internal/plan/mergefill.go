package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// given names the columns that a clause sets.
func (c *clause) given(table *arrow.Schema) []string {
	out := make([]string, len(c.sets))
	for i, set := range c.sets {
		out[i] = table.Field(set.column).Name
	}
	return out
}

// newFillers are those of the clauses that insert, by the number of the clause: each makes the columns
// that its clause leaves out. All give numbers from one count.
func (p *Merge) newFillers(snap *delta.Snapshot) ([]*filler, error) {
	list := p.shape.notMatched.list
	out := make([]*filler, len(list))
	var first *filler
	for i := range list {
		if list[i].Do != MergeSet {
			continue
		}
		var err error
		if given := list[i].given(p.shape.table); first == nil {
			out[i], err = newFiller(p.Env, snap, given)
			first = out[i]
		} else {
			out[i], err = first.also(given)
		}
		if err != nil {
			return nil, list[i].failed(err, nil, nil)
		}
	}
	return out, nil
}

// newRefillers are those of the clauses that update: the clauses of Matched, then those for rows that
// no source row matches. Each computes the generated columns that its clause does not set.
func (p *Merge) newRefillers(snap *delta.Snapshot) ([]*filler, error) {
	list := slices.Concat(p.shape.matched.list, p.shape.bySource.list)
	out := make([]*filler, len(list))
	for i := range list {
		if list[i].Do != MergeSet {
			continue
		}
		var err error
		if out[i], err = newRefiller(p.Env, snap, list[i].given(p.shape.table)); err != nil {
			return nil, list[i].failed(err, nil, nil)
		}
	}
	return out, nil
}

// canFill says, before a row is read, whether the table can make what the clauses leave out.
func (p *Merge) canFill(snap *delta.Snapshot) error {
	if _, err := p.newFillers(snap); err != nil {
		return err
	}
	_, err := p.newRefillers(snap)
	return err
}

// generates finds the generated columns among those that decide. What they are made of decides too: a
// row that changes is judged again as it will be.
func (s *mergeShape) generates(snap *delta.Snapshot, need map[string]bool) error {
	for c, f := range s.table.Fields() {
		if !need[f.Name] {
			continue
		}
		g, err := newGeneration(snap, c)
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		s.remakes = append(s.remakes, g)
		for _, name := range g.value.ColumnNames() {
			need[name] = true
		}
	}
	return nil
}

// remake makes the generated columns among those that decide, of rows that have the others, and has
// what they held before looked at. It takes the columns over.
func (s *mergeShape) remake(mem memory.Allocator, columns []arrow.Array, n int, look func(g *generation, given, made arrow.Array) error) ([]arrow.Array, error) {
	if len(s.remakes) == 0 {
		return columns, nil
	}
	whole := make([]arrow.Array, s.table.NumFields())
	defer func() { release(whole) }()
	for i, c := range s.probeColumns {
		whole[c] = columns[i]
	}
	for c, f := range s.table.Fields() {
		if whole[c] == nil {
			whole[c] = array.MakeArrayOfNull(mem, f.Type, n)
		}
	}
	for _, g := range s.remakes {
		batch := array.NewRecordBatch(s.table, whole, int64(n))
		made, err := g.compute(mem, batch, 0)
		batch.Release()
		if err != nil {
			return nil, err
		}
		given := whole[g.column]
		whole[g.column] = made
		err = look(g, given, made)
		given.Release()
		if err != nil {
			return nil, err
		}
	}
	out := make([]arrow.Array, len(columns))
	for i, c := range s.probeColumns {
		out[i], whole[c] = whole[c], nil
	}
	return out, nil
}

// completion makes whole rows of what clauses set.
type completion struct {
	merge      *Merge
	check      *Validator
	fillers    []*filler // by clause
	partitions []string
}

// complete gives the rows of the table that a clause makes of pairs: what it sets, what the row was, and
// what the table makes. The caller releases them.
func (c *completion) complete(l *clauses, k int32, f *filler, all *pairs, key func(int32) string) (arrow.RecordBatch, error) {
	p := c.merge
	mem, n := p.Env.Allocator, all.len()
	columns, err := l.apply(mem, all, slices.Repeat([]int32{k}, n), p.shape.everyColumn, key)
	if err != nil {
		return nil, err
	}
	set := array.NewRecordBatch(p.shape.table, columns, int64(n))
	release(columns)
	defer set.Release()
	full, err := f.Batch(mem, set, 0)
	if err != nil {
		return nil, l.list[k].failed(err, counting(n), key)
	}
	defer full.Release()
	return NormalisePartitions(mem, full, c.partitions)
}
