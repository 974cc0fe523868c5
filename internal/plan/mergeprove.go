package plan

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// A merge is repeatable if a second call finds nothing to do. Keys and guard are set from the source,
// so that a row that was written by a guarded merge ties with its source row and is left alone. What
// no guard covers is proven row by row: the clauses are judged again on the row as it will be, as the
// second call will judge it.

// repeats are the rows that a second call would change again.
type repeats struct {
	mu    sync.Mutex
	n     int64
	first string // the least of what is said about one of them, so that it depends on no order
	guard bool   // a guard would have kept some of them
}

func (r *repeats) add(n int, guard bool, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n += int64(n)
	r.guard = r.guard || guard
	if r.first == "" || what < r.first {
		r.first = what
	}
}

// verdict is the error of a call that cannot be repeated: of an update, or of a merge.
func (r *repeats) verdict(update bool) error {
	if r.n == 0 {
		return nil
	}
	text := r.first
	if r.n > 1 {
		text = fmt.Sprintf("%s, one of %d such rows", text, r.n)
	}
	if update {
		return fmt.Errorf("%w: a second call would change the table again: %s; nothing was changed: give the call a Txn, so that the repeat is skipped; "+
			"or a Where that is not TRUE once it was applied", delta.ErrInput, text)
	}
	guard := ""
	if r.guard {
		guard = "order the versions of a row with Newer, so that a source row that was applied is not newer any more; or "
	}
	return fmt.Errorf("%w: a second call with the same rows would change the table again: %s; nothing was changed: %sgive the call a Txn, so that the repeat is skipped; "+
		"or give the clause a condition that is not TRUE once it was applied", delta.ErrInput, text, guard)
}

// prove judges rows again as they will be.
func (p *Merge) prove(l *clauses, all *pairs, which []int32, key func(int32) string) error {
	if p.Request.Once || (l == p.shape.matched && p.shape.steady) {
		return nil
	}
	sets, _ := l.setting(which)
	if len(sets) == 0 {
		return nil
	}
	some := all.only(sets)
	keyOf := func(i int32) string { return key(sets[i]) }
	after, err := l.apply(p.Env.Allocator, some, chosen(which, sets), p.shape.probeColumns, keyOf)
	if err == nil {
		after, err = p.shape.remake(p.Env.Allocator, after, len(sets), func(g *generation, given, made arrow.Array) error {
			return l.contradicts(g, given, made, chosen(which, sets), keyOf)
		})
	}
	if err != nil {
		return err
	}
	defer release(after)
	fields := make([]arrow.Field, len(after))
	for i, c := range p.shape.probeColumns {
		fields[i] = p.shape.table.Field(c)
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), after, int64(len(sets)))
	defer batch.Release()
	next := &pairs{source: some.source, target: batch, from: some.from, to: counting(len(sets))}
	return p.settles(l, next, "updates", keyOf)
}

// contradicts refuses a generated column that clauses set to another value than the one it is made of: a
// call that says so is wrong whether it comes again or not.
func (l *clauses) contradicts(g *generation, given, made arrow.Array, which []int32, key func(int32) string) error {
	same, err := rows.NewEquality([]arrow.Array{given}, []arrow.Array{made})
	if err != nil {
		return err
	}
	for i, k := range which {
		if c := &l.list[k]; c.set(g.column) != nil && !same.Equal(i, i) {
			return fmt.Errorf("%w: %s sets the column %q, which is generated as %s, to another value in %s: %s where that is %s; nothing was changed: do not set it, and the table computes it",
				delta.ErrInput, c.name, g.name, g.text, key(int32(i)), rows.Text(given, i), rows.Text(made, i))
		}
	}
	return nil
}

// settles demands that clauses leave rows of the table as they are. did is what this call does to
// them.
func (p *Merge) settles(l *clauses, next *pairs, did string, key func(int32) string) error {
	which, err := l.judge(p.Env.Allocator, next, key)
	if err != nil {
		return err
	}
	if which, err = p.effective(l, next, which, key); err != nil {
		return err
	}
	sets, deletes := l.setting(which)
	if len(deletes) > 0 {
		k := deletes[0]
		p.again.add(len(deletes), l == p.shape.matched, fmt.Sprintf("%s, which this call %s, would be deleted by %s", key(k), did, l.list[which[k]].name))
	}
	if len(sets) == 0 {
		return nil
	}
	k := sets[0]
	shown, err := p.shown(l, next, k, which[k], key)
	if err != nil {
		return err
	}
	p.again.add(len(sets), l == p.shape.matched, fmt.Sprintf("%s, which this call %s, would be updated by %s (%s)", key(k), did, l.list[which[k]].name, shown))
	return nil
}

// shown tells what a clause would change in one row.
func (p *Merge) shown(l *clauses, all *pairs, pair, clause int32, key func(int32) string) (string, error) {
	one := all.only([]int32{pair})
	after, err := l.apply(p.Env.Allocator, one, []int32{clause}, l.targets, func(int32) string { return key(pair) })
	if err != nil {
		return "", err
	}
	defer release(after)
	text := ""
	for i, c := range l.targets {
		name := p.shape.table.Field(c).Name
		before, err := columnNamed(one.target, name)
		if err != nil {
			return "", err
		}
		same, err := rows.NewEquality(after[i:i+1], []arrow.Array{before})
		if err != nil {
			return "", err
		}
		if row := int(one.to[0]); !same.Equal(0, row) {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%s: %s to %s", name, rows.Text(before, row), rows.Text(after[i], 0))
		}
	}
	return text, nil
}

// proveInserts judges the rows that are inserted as the second call will find them.
func (p *Merge) proveInserts(s *source, from []int32, inserted arrow.RecordBatch) error {
	if p.Request.Once || !p.shape.unguarded || p.shape.settled {
		return nil
	}
	next := &pairs{source: s.batch, target: inserted, from: from, to: counting(len(from))}
	return p.settles(p.shape.matched, next, "inserts", p.keyOf(s.batch, p.shape.key, from))
}

// proveGone demands that source rows whose matches are all deleted are not inserted by the second
// call.
func (p *Merge) proveGone(s *source, gone []int32) error {
	if p.Request.Once || len(gone) == 0 {
		return nil
	}
	l := p.shape.notMatched
	all := &pairs{source: s.batch, from: gone}
	key := p.keyOf(s.batch, p.shape.key, gone)
	which, err := l.judge(p.Env.Allocator, all, key)
	if err != nil {
		return err
	}
	sets, _ := l.setting(which)
	if len(sets) > 0 {
		k := sets[0]
		p.again.add(len(sets), false, fmt.Sprintf("%s, which this call deletes, would be inserted by %s; a clause of NotMatched that does nothing keeps such rows out",
			key(k), l.list[which[k]].name))
	}
	return nil
}
