package metamorphic_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
)

// merge is a merge of the model.
type merge struct {
	in                                  input
	guarded, duplicates, nulls, compare bool
	evolve, empty                       bool
	deletes                             *condition // over the source
	bySource                            *condition // rows without a source row that go
	soft                                bool
	txn                                 idem.Txn
}

func (d draws) merge() *op {
	m := &merge{guarded: !d.rarely(3, "Unguarded"), duplicates: d.flip("AllowTargetDuplicates"), nulls: d.rarely(4, "MatchNulls"), evolve: d.rarely(10, "Evolve"),
		empty: d.flip("AllowEmpty"), txn: d.maybe()}
	m.compare = m.guarded && d.rarely(4, "CompareTies")
	m.in = d.input(8, m.evolve, false)
	if m.nulls && d.flip("a NULL key") && len(m.in.rows) > 0 {
		m.in.rows[0][colID] = nil
	}
	if d.rarely(4, "DeleteWhen") {
		c := drawKeys(d.t, d.s)
		m.deletes = &c
	}
	if m.soft = m.deletes != nil && m.guarded && d.s.has(colGone) && d.flip("SoftDelete"); m.soft {
		m.in.columns = slices.DeleteFunc(m.in.columns, func(c column) bool { return c.key == colGone })
		for _, r := range m.in.rows {
			delete(r, colGone)
		}
	}
	if !m.soft && d.rarely(6, "NotMatchedBySource") {
		c := drawKeys(d.t, d.s)
		c.text = "target." + c.text
		m.bySource = &c
	}
	m.unambiguous()
	request := m.request(d.s)
	o := &op{call: m.String() + " " + written(m.in), exact: true, txn: m.txn,
		model: func(s *state) answer { return s.tagged(m.txn, s.payload(m.in), func() answer { return m.run(s) }) },
		do:    given(m.in, merging(request)),
	}
	if m.txn == (idem.Txn{}) && m.bySource == nil && !m.evolve {
		o.halves = func(even bool) func(*world) (answer, error) {
			half := input{columns: m.in.columns}
			for _, r := range m.in.rows {
				if id, _ := r[colID].(int64); (id%2 == 0) == even {
					half.rows = append(half.rows, r)
				}
			}
			return given(half, merging(request))
		}
	}
	return o
}

func merging(request idem.Merge) func(context.Context, *idem.Table, array.RecordReader) (*idem.Result, error) {
	return func(ctx context.Context, t *idem.Table, r array.RecordReader) (*idem.Result, error) {
		return t.Merge(ctx, r, request)
	}
}

func (m *merge) String() string {
	text := fmt.Sprintf("Merge(On: id, guarded: %t, AllowTargetDuplicates: %t, MatchNulls: %t, CompareTies: %t, Evolve: %t, AllowEmpty: %t, SoftDelete: %t%s",
		m.guarded, m.duplicates, m.nulls, m.compare, m.evolve, m.empty, m.soft, tagText(m.txn))
	if m.deletes != nil {
		text += ", DeleteWhen: " + m.deletes.text
	}
	if m.bySource != nil {
		text += ", NotMatchedBySource: delete when " + m.bySource.text
	}
	return text + ")"
}

func (m *merge) request(s *state) idem.Merge {
	r := idem.Merge{On: []string{s.name(colID)}, Unguarded: !m.guarded, AllowTargetDuplicates: m.duplicates, CompareTies: m.compare, Evolve: m.evolve, AllowEmpty: m.empty, Txn: m.txn}
	if m.guarded {
		r.Newer = []string{s.name(colSeq)}
	}
	if m.nulls {
		r.NullKeys = idem.MatchNulls
	}
	if m.deletes != nil {
		r.DeleteWhen = m.deletes.text
	}
	if m.soft {
		r.SoftDelete = s.name(colGone)
	}
	if m.bySource != nil {
		r.NotMatchedBySource = []idem.Clause{{When: m.bySource.text, Do: idem.DoDelete}}
	}
	return r
}

// unambiguous makes rows equal that no order tells apart.
func (m *merge) unambiguous() {
	seen := map[[2]any]map[int]any{}
	for i, r := range m.in.rows {
		k := [2]any{r[colID], nil}
		if m.guarded {
			k[1] = r[colSeq]
		}
		if was, ok := seen[k]; ok {
			m.in.rows[i] = was
		}
		seen[k] = m.in.rows[i]
	}
}

// newest keeps one row of a key.
func (m *merge) newest(rows []*row, columns []column, t *tally) []*row {
	best := map[any]*row{}
	var order []any
	for _, r := range rows {
		k := r.cells[colID]
		if best[k] == nil {
			order = append(order, k)
		}
		if best[k] == nil || m.guarded && r.cells[colSeq].(int64) > best[k].cells[colSeq].(int64) {
			best[k] = r
		}
	}
	var out []*row
	for _, k := range order {
		out = append(out, best[k])
	}
	for _, r := range rows {
		switch kept := best[r.cells[colID]]; {
		case r == kept:
		case rowText(columns, r.cells) == rowText(columns, kept.cells):
			t.identical++
		default:
			t.older++
		}
	}
	return out
}

// run merges.
func (m *merge) run(s *state) answer {
	given := s.taken(m.in)
	t := tally{read: int64(len(given))}
	if slices.ContainsFunc(given, func(r *row) bool { return r.cells[colID] == nil && !m.nulls }) || len(given) == 0 && m.bySource != nil && !m.empty {
		return refused(idem.ErrInput)
	}
	added := s.evolve(m.in)
	source := map[any]*row{}
	list := m.newest(given, m.in.columns, &t)
	for _, r := range list {
		source[r.cells[colID]] = r
	}
	matched := map[any]int{}
	var next []*row
	for _, old := range s.rows {
		k := old.cells[colID]
		from := source[k]
		if from == nil || k == nil && !m.nulls {
			if m.bySource != nil && m.bySource.is(old) {
				t.deleted++
				t.deletedBySource++
				continue
			}
			next = append(next, old)
			continue
		}
		if matched[k]++; matched[k] > 1 && !m.duplicates {
			return refused(idem.ErrInput)
		}
		if now := m.meet(s, from, old, &t); now != nil {
			next = append(next, now)
		}
	}
	for _, r := range list {
		if matched[r.cells[colID]] == 0 {
			if now := m.insert(s, r, &t); now != nil {
				next = append(next, now)
			}
		}
	}
	return s.settle(next, t.inserted+t.updated+t.deleted > 0 || added, t)
}

func (m *merge) dies(r *row) bool { return m.deletes != nil && m.deletes.is(r) }

// meet is a row of the table that a row of the source has the key of, nil if it goes.
func (m *merge) meet(s *state, from, old *row, t *tally) *row {
	t.matched++
	if seq, ok := old.cells[colSeq].(int64); m.guarded && ok {
		switch is := from.cells[colSeq].(int64); {
		case is < seq:
			t.skippedOlder++
			return old
		case is == seq:
			t.ties++
			return old
		}
	}
	set := map[int]any{}
	switch {
	case m.dies(from) && m.soft:
		set[colSeq], set[colGone] = from.cells[colSeq], true
	case m.dies(from):
		t.deleted++
		return nil
	default:
		for _, c := range m.in.columns {
			if c.key != colID {
				set[c.key] = from.cells[c.key]
			}
		}
		if m.soft {
			set[colGone] = false
		}
	}
	now := old.with(s.ops, set)
	if rowText(s.columns, now.cells) == rowText(s.columns, old.cells) {
		return old
	}
	t.updated++
	return now
}

func (m *merge) insert(s *state, from *row, t *tally) *row {
	switch {
	case m.dies(from) && !m.soft:
		t.unmatched++
		return nil
	case m.soft:
		from = from.with(s.ops, map[int]any{colGone: m.dies(from)})
	}
	t.inserted++
	return from
}
