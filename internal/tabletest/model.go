package tabletest

import "maps"

// Model is what a table should hold: its rows, and the last version of each tag. Its methods are
// the verbs, written as plainly as they can be.
type Model struct {
	Rows Rows
	Tags map[string]int64
}

// NewModel is an empty table.
func NewModel() *Model { return &Model{Rows: Rows{}, Tags: map[string]int64{}} }

// Clone is a model of its own.
func (m *Model) Clone() *Model {
	return &Model{Rows: maps.Clone(m.Rows), Tags: maps.Clone(m.Tags)}
}

// Recorded is the version recorded for a tag, -1 if none is.
func (m *Model) Recorded(app string) int64 {
	if v, ok := m.Tags[app]; ok {
		return v
	}
	return -1
}

// Append adds rows.
func (m *Model) Append(rows ...Row) { m.Rows.Add(rows...) }

// Delete removes the rows that are in a slice.
func (m *Model) Delete(in func(Row) bool) {
	maps.DeleteFunc(m.Rows, func(r Row, _ int) bool { return in(r) })
}

// Replace makes a slice equal to the rows.
func (m *Model) Replace(in func(Row) bool, rows ...Row) {
	m.Delete(in)
	m.Append(rows...)
}

// Merge updates the rows whose ID is among rows and that are older by Seq, and adds the others. Of
// rows with one ID the one with the greatest Seq counts. A row for which deletes is true removes
// what it would update and is never added; nil deletes nothing.
func (m *Model) Merge(deletes func(Row) bool, rows ...Row) {
	if deletes == nil {
		deletes = func(Row) bool { return false }
	}
	newest := map[int64]Row{}
	for _, r := range rows {
		if have, ok := newest[r.ID]; !ok || r.Seq > have.Seq {
			newest[r.ID] = r
		}
	}
	matched := map[int64]bool{}
	for r, n := range maps.Clone(m.Rows) {
		to, ok := newest[r.ID]
		if !ok {
			continue
		}
		matched[r.ID] = true
		if to.Seq > r.Seq {
			delete(m.Rows, r)
			if !deletes(to) {
				m.Rows[to] += n
			}
		}
	}
	for id, r := range newest {
		if !matched[id] && !deletes(r) {
			m.Append(r)
		}
	}
}
