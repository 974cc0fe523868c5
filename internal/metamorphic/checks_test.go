package metamorphic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
)

// read is what a table gives: rows as texts, and ids and versions of rows where they are asked for.
type read struct {
	texts    []string
	ids      []int64
	versions []int64
}

// reads reads batches by the columns of a state, which the batches have in its order.
func reads(columns []column, batches iter.Seq2[arrow.RecordBatch, error], ids bool) (out read, err error) {
	for b, err := range batches {
		if err != nil {
			return out, err
		}
		if err := sameColumns(columns, b.Schema()); err != nil {
			return out, err
		}
		for i := range int(b.NumRows()) {
			out.texts = append(out.texts, rowText(columns, cellsOf(columns, b, i)))
			if ids {
				for c, list := range []*[]int64{&out.ids, &out.versions} {
					col := b.Column(len(columns) + c).(*array.Int64)
					if col.IsNull(i) {
						return out, fmt.Errorf("a row without an id or a version: %s", out.texts[len(out.texts)-1])
					}
					*list = append(*list, col.Value(i))
				}
			}
		}
	}
	return out, nil
}

func cellsOf(columns []column, b arrow.RecordBatch, i int) map[int]any {
	cells := map[int]any{}
	for c, col := range columns {
		cells[col.key] = cellOf(b.Column(c), i)
	}
	return cells
}

func sameColumns(columns []column, schema *arrow.Schema) error {
	for i, c := range columns {
		if i >= schema.NumFields() || schema.Field(i).Name != c.name || !arrow.TypeEqual(schema.Field(i).Type, c.typ) {
			return fmt.Errorf("the columns are %v, and column %d is to be %s %s", schema.Fields(), i, c.name, c.typ)
		}
	}
	return nil
}

// sameRows says how a table is not what a state holds: rows, and fingerprint by tags, by rows and by the
// twin. verify has the rows read for the fingerprint, too.
func sameRows(ctx context.Context, t *idem.Table, s *state, verify ...bool) error {
	if err := sameColumns(s.columns, t.Schema()); err != nil || t.Schema().NumFields() != len(s.columns) {
		return errors.Join(err, fmt.Errorf("%d columns, not %d", t.Schema().NumFields(), len(s.columns)))
	}
	got, err := reads(s.columns, t.Scan(ctx, idem.Scan{}), false)
	if err != nil {
		return err
	}
	slices.Sort(got.texts)
	if diff := differences(texts(s.columns, s.rows), got.texts); diff != "" {
		return fmt.Errorf("version %d: rows that the model lacks (+) or has (-):\n%s", t.Version(), diff)
	}
	want := twin(s.columns, s.rows)
	for _, verify := range append(verify, false) {
		p, err := t.Fingerprint(ctx, idem.Fingerprint{Verify: verify})
		if err != nil {
			return err
		}
		if p.String() != want {
			return fmt.Errorf("version %d: fingerprint %s (Verify: %t), and by the model %s", t.Version(), p, verify, want)
		}
	}
	return nil
}

// sameSlice holds a scan with a condition, and the fingerprint of its slice, against the model: what is
// pruned must not have rows of it.
func (w *world) sameSlice(s *state, where condition) error {
	inside, _ := s.parted(where.is)
	got, err := reads(s.columns, w.table.Scan(w.ctx, idem.Scan{Where: where.text}), false)
	if err != nil {
		return fmt.Errorf("scan where %s: %w", where.text, err)
	}
	slices.Sort(got.texts)
	if diff := differences(texts(s.columns, inside), got.texts); diff != "" {
		return fmt.Errorf("scan where %s:\n%s", where.text, diff)
	}
	p, err := w.table.Fingerprint(w.ctx, idem.Fingerprint{Where: where.text, Keys: []string{s.name(colID)}, Sums: []string{s.name(colSeq)}})
	if err != nil {
		return err
	}
	ids, sum := map[string]bool{}, int64(0)
	for _, r := range inside {
		ids[cellText(r.cells[colID])] = true
		n, _ := r.cells[colSeq].(int64)
		sum += n
	}
	want := strings.Replace(twin(s.columns, inside), " digest", fmt.Sprintf(" keys=%d sum(%s=%d) digest", len(ids), s.name(colSeq), sum), 1)
	if p.String() != want {
		return fmt.Errorf("fingerprint where %s: %s, and by the model %s", where.text, p, want)
	}
	return nil
}

// sameIDs holds the ids of rows against those that are known: a row that stays, is updated or comes back
// keeps its id and what stays its version, and a new row has an id that was never given.
func (w *world) sameIDs(s *state) error {
	if !w.table.Snapshot().TracksRows() {
		clear(w.ids)
		clear(w.seen)
		return nil
	}
	got, err := reads(s.columns, w.table.Scan(w.ctx, idem.Scan{RowIDs: true}), true)
	if err != nil {
		return err
	}
	free, version := map[string][]int64{}, map[int64]int64{}
	for i, text := range got.texts {
		if _, twice := version[got.ids[i]]; twice {
			return fmt.Errorf("row id %d twice", got.ids[i])
		}
		free[text] = append(free[text], got.ids[i])
		version[got.ids[i]] = got.versions[i]
	}
	rows := slices.Clone(s.rows)
	sort.SliceStable(rows, func(i, j int) bool { // those that are known choose first
		_, a := w.ids[rows[i].uid]
		_, b := w.ids[rows[j].uid]
		return a && !b
	})
	for _, r := range rows {
		text := rowText(s.columns, r.cells)
		if err := w.sameID(r, free, text, version); err != nil {
			return fmt.Errorf("the row %s: %w", text, err)
		}
	}
	for id := range version {
		w.seen[id] = true
	}
	return nil
}

func (w *world) sameID(r *row, free map[string][]int64, text string, version map[int64]int64) error {
	id, known := w.ids[r.uid]
	if !known {
		if len(free[text]) == 0 {
			return errors.New("no id is left for it")
		}
		if id = free[text][0]; w.seen[id] {
			return fmt.Errorf("is new, and has the id %d of another", id)
		}
		w.ids[r.uid] = id
	}
	at := slices.Index(free[text], id)
	if at < 0 {
		return fmt.Errorf("had the id %d, and rows like it have %v", id, free[text])
	}
	free[text] = slices.Delete(free[text], at, at+1)
	if !w.sinceTracked(r.op) {
		return nil
	}
	if v := version[id]; v <= w.after[r.op-1] || v > w.after[r.op] {
		return fmt.Errorf("was last changed by call %d, in versions %d to %d, and says %d", r.op, w.after[r.op-1]+1, w.after[r.op], v)
	}
	return nil
}

// sinceTracked says whether rows have had ids all the time since an operation.
func (w *world) sinceTracked(op int) bool {
	return op > 0 && !slices.Contains(w.tracked[op:], false)
}

// sameThen reads an earlier version.
func (w *world) sameThen(h *history, op int) error {
	view, err := w.table.At(w.ctx, w.after[op])
	if err == nil {
		err = sameRows(w.ctx, view, h.states[op])
	}
	if err != nil {
		return fmt.Errorf("the version after call %d: %w", op, err)
	}
	return nil
}

// sameChanges applies the changes since an operation to the rows that it left.
func (w *world) sameChanges(h *history, from, to int) error {
	columns := h.states[to].columns
	for op := from; op <= to; op++ {
		if columnsText(h.states[op].columns) != columnsText(columns) {
			return nil
		}
	}
	for v := w.after[from] + 1; v <= w.after[to]; v++ {
		if !w.feeds[v] {
			return nil
		}
	}
	if w.after[from] == w.after[to] {
		return nil
	}
	counts, kinds := map[string]int{}, map[string]int64{}
	for _, t := range texts(columns, h.states[from].rows) {
		counts[t]++
	}
	err := w.fold(columns, changes.Request{From: changes.Version(w.after[from] + 1), To: changes.Version(w.after[to])}, counts, kinds)
	if err != nil {
		return fmt.Errorf("changes of the versions %d to %d: %w", w.after[from]+1, w.after[to], err)
	}
	got := []string{}
	for _, t := range slices.Sorted(maps.Keys(counts)) {
		for range counts[t] {
			got = append(got, t)
		}
		if counts[t] < 0 {
			return fmt.Errorf("changes of the versions %d to %d take away what is not there: %s", w.after[from]+1, w.after[to], t)
		}
	}
	if diff := differences(texts(columns, h.states[to].rows), got); diff != "" {
		return fmt.Errorf("changes of the versions %d to %d lead to other rows (+) than the table has (-):\n%s", w.after[from]+1, w.after[to], diff)
	}
	return nil
}

// fold adds changes to the counts of rows, and counts them by what they are.
func (w *world) fold(columns []column, r changes.Request, counts map[string]int, kinds map[string]int64) error {
	sign := map[string]int{changes.Insert: 1, changes.UpdatePostimage: 1, changes.Delete: -1, changes.UpdatePreimage: -1}
	for b, err := range changes.Rows(w.ctx, w.table, r) {
		if err != nil {
			return err
		}
		if err := sameColumns(columns, b.Schema()); err != nil {
			return err
		}
		for i := range int(b.NumRows()) {
			kind := b.Column(len(columns)).(*array.String).Value(i)
			if sign[kind] == 0 {
				return fmt.Errorf("a change of type %q", kind)
			}
			counts[rowText(columns, cellsOf(columns, b, i))] += sign[kind]
			kinds[strings.Clone(kind)]++
		}
	}
	return nil
}

// toldExactly says how the feed of one call does not tell the rows that its answer counts.
func (w *world) toldExactly(h *history, op int, t tally) error {
	columns := h.states[op].columns
	for v := w.after[op-1] + 1; v <= w.after[op]; v++ {
		if !w.feeds[v] {
			return nil
		}
	}
	if w.after[op-1] == w.after[op] {
		return nil
	}
	kinds := map[string]int64{}
	if err := w.fold(columns, changes.Request{From: changes.Version(w.after[op-1] + 1), To: changes.Version(w.after[op])}, map[string]int{}, kinds); err != nil {
		return fmt.Errorf("changes of version %d: %w", w.after[op], err)
	}
	want := map[string]int64{changes.Insert: t.inserted, changes.Delete: t.deleted, changes.UpdatePreimage: t.updated, changes.UpdatePostimage: t.updated}
	maps.DeleteFunc(want, func(_ string, n int64) bool { return n == 0 })
	if !maps.Equal(want, kinds) {
		return fmt.Errorf("the changes of version %d are %v, and the answer counts %v", w.after[op], kinds, want)
	}
	return nil
}

// statistics of a file, as the log has them.
type statistics struct {
	NumRecords *int64
	MinValues  map[string]any
	MaxValues  map[string]any
}

// bounded holds the statistics of all files together against the rows: as many, and none outside.
func (w *world) bounded(s *state) error {
	stats, snap := w.stats(), w.table.Snapshot()
	rows, low, high, known := int64(0), int64(1<<62), int64(-1<<62), true
	path, _ := snap.StoredPath([]string{s.name(colSeq)})
	for f := range snap.Files() {
		of, ok := stats[f.Path]
		if !ok || of.NumRecords == nil {
			return nil // the commit is gone
		}
		rows += *of.NumRecords
		if f.DeletionVector != nil {
			rows -= f.DeletionVector.Cardinality
		}
		least, ok1 := of.MinValues[path[0]].(float64)
		most, ok2 := of.MaxValues[path[0]].(float64)
		known = known && ok1 && ok2
		low, high = min(low, int64(least)), max(high, int64(most))
	}
	if rows != int64(len(s.rows)) {
		return fmt.Errorf("%d rows by the statistics, %d by the model", rows, len(s.rows))
	}
	for _, r := range s.rows {
		if seq, ok := r.cells[colSeq].(int64); ok && known && (seq < low || seq > high) {
			return fmt.Errorf("seq %d is outside of the statistics, %d to %d", seq, low, high)
		}
	}
	return nil
}

// stats are the statistics of the commits that are there, by path.
func (w *world) stats() map[string]statistics {
	out := map[string]statistics{}
	for v := range w.table.Version() + 1 {
		data, err := w.store.Get(w.ctx, delta.CommitKey(v), 0)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			var a struct {
				Add *struct{ Path, Stats string }
			}
			var of statistics
			if json.Unmarshal([]byte(line), &a) == nil && a.Add != nil && json.Unmarshal([]byte(a.Add.Stats), &of) == nil {
				out[a.Add.Path] = of
			}
		}
	}
	return out
}
