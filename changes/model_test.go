package changes_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

var modelColumns = arrow.NewSchema([]arrow.Field{
	{Name: "p", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// state is a table's rows by id: "p|v".
type state map[int64]string

// history is a table that the verbs write, and the rows that it must have had at each version.
type history struct {
	t     *rapid.T
	table *idem.Table
	now   state
	at    []state
	exact []bool // by version: nothing is told of rows that did not change
	fresh int64
}

func newHistoryOfVerbs(t *rapid.T, mem memory.Allocator) *history {
	d := idem.Definition{Schema: modelColumns, Properties: map[string]string{"delta.enableChangeDataFeed": "true"}}
	for property, values := range map[string][]string{
		"delta.enableDeletionVectors": {"", "true"}, "delta.enableRowTracking": {"", "true"}, "delta.columnMapping.mode": {"", "name", "id"},
		"delta.enableInCommitTimestamps": {"", "true"},
	} {
		if v := rapid.SampledFrom(values).Draw(t, property); v != "" {
			d.Properties[property] = v
		}
	}
	if rapid.Bool().Draw(t, "partitioned") {
		d.PartitionBy = []string{"p"}
	}
	h := &history{t: t, now: state{}, at: []state{{}}, exact: []bool{true}}
	var err error
	h.table, _, err = idem.CreateStore(t.Context(), store.NewMem(), d, idem.Options{Parallelism: 1, Allocator: mem, TargetFileBytes: rapid.SampledFrom([]int64{0, 2000}).Draw(t, "file size")})
	require.NoError(t, err)
	return h
}

func (h *history) id(name string) int64 { return rapid.Int64Range(0, 12).Draw(h.t, name) }

func (h *history) row() string {
	cells := rapid.SampledFrom([]string{"a", "b", "c", "NULL"})
	return cells.Draw(h.t, "p") + "|" + cells.Draw(h.t, "v")
}

// given makes a source of rows, with op where the rows have one: "p|v|op".
func given(schema *arrow.Schema, rows state) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	text := func(i int, s string) {
		if s == "NULL" {
			b.Field(i).AppendNull()
		} else {
			b.Field(i).(*array.StringBuilder).Append(s)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		cells := strings.Split(rows[id], "|")
		text(0, cells[0])
		b.Field(1).(*array.Int64Builder).Append(id)
		for i, c := range cells[1:] {
			text(i+2, c)
		}
	}
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		panic(err)
	}
	return r
}

// call is one call on the table: the rows that it leaves, and whether it tells of no row but those that
// differ.
type call struct {
	next  state
	run   func() (idem.Outcome, error)
	exact bool
}

func outcomeOf(res *idem.Result, err error) (idem.Outcome, error) {
	if err != nil {
		return 0, err
	}
	return res.Outcome, nil
}

// step does one thing to the table and the model, and then the same again.
func (h *history) step() {
	draw := rapid.SampledFrom([]func() call{
		h.append, h.append, h.replace, h.replace, h.merge, h.merge, h.merge, h.delete, h.update, h.update, h.optimize, h.restore,
	}).Draw(h.t, "call")
	c := draw()
	outcome, err := c.run()
	require.NoError(h.t, err)
	if outcome == idem.Committed {
		h.at = append(h.at, c.next)
		h.exact = append(h.exact, c.exact)
	}
	h.now = c.next
	require.EqualValues(h.t, len(h.at)-1, h.table.Version())
	outcome, err = c.run()
	require.NoError(h.t, err)
	require.NotEqual(h.t, idem.Committed, outcome, "the second call")
}

func (h *history) append() call {
	rows, next := state{}, maps.Clone(h.now)
	for range rapid.IntRange(1, 6).Draw(h.t, "rows") {
		h.fresh++
		rows[100+h.fresh] = h.row()
	}
	maps.Copy(next, rows)
	tag := idem.Txn{AppID: "loader", Version: h.fresh}
	return call{next, func() (idem.Outcome, error) {
		res, err := h.table.AppendWithTxn(h.t.Context(), given(modelColumns, rows), tag)
		return outcomeOf(res, err)
	}, true}
}

func (h *history) replace() call {
	first := h.id("first")
	where, in := "p = 'a'", func(_ int64, row string) bool { return row[:2] == "a|" }
	fix := func(row string) string { return "a" + row[strings.Index(row, "|"):] }
	if rapid.Bool().Draw(h.t, "by id") {
		where, fix = fmt.Sprintf("id BETWEEN %d AND %d", first, first+4), func(row string) string { return row }
		in = func(id int64, _ string) bool { return id >= first && id <= first+4 }
	}
	rows, next := state{}, maps.Clone(h.now)
	maps.DeleteFunc(next, in)
	for range rapid.IntRange(0, 4).Draw(h.t, "rows") {
		id := first + rapid.Int64Range(0, 4).Draw(h.t, "id")
		if _, there := next[id]; !there {
			rows[id] = fix(h.row())
		}
	}
	maps.Copy(next, rows)
	return call{next, func() (idem.Outcome, error) {
		res, err := h.table.ReplaceWhere(h.t.Context(), given(modelColumns, rows), idem.ReplaceWhere{Where: where, AllowEmpty: true})
		return outcomeOf(res, err)
	}, false}
}

var withOp = arrow.NewSchema(append(modelColumns.Fields(), arrow.Field{Name: "op", Type: arrow.BinaryTypes.String, Nullable: true}), nil)

func (h *history) merge() call {
	rows, next := state{}, maps.Clone(h.now)
	for range rapid.IntRange(1, 6).Draw(h.t, "rows") {
		id, op := h.id("id"), rapid.SampledFrom([]string{"u", "u", "d"}).Draw(h.t, "op")
		row := h.row()
		if old, there := h.now[id]; there && rapid.Bool().Draw(h.t, "as it is") {
			row = old
		}
		rows[id] = row + "|" + op
		if next[id] = row; op == "d" {
			delete(next, id)
		}
	}
	return call{next, func() (idem.Outcome, error) {
		res, err := h.table.Merge(h.t.Context(), given(withOp, rows), idem.Merge{On: []string{"id"}, Unguarded: true, DeleteWhen: "op = 'd'"})
		return outcomeOf(res, err)
	}, true}
}

func (h *history) delete() call {
	where, gone := "v = 'b'", func(_ int64, row string) bool { return strings.HasSuffix(row, "|b") }
	if rapid.Bool().Draw(h.t, "by id") {
		last := h.id("last")
		where, gone = fmt.Sprintf("id <= %d", last), func(id int64, _ string) bool { return id <= last }
	}
	next := maps.Clone(h.now)
	maps.DeleteFunc(next, gone)
	return call{next, func() (idem.Outcome, error) {
		res, err := h.table.Delete(h.t.Context(), idem.Delete{Where: where})
		return outcomeOf(res, err)
	}, true}
}

func (h *history) update() call {
	next, first := maps.Clone(h.now), h.id("first")
	for id, row := range next {
		if id >= first && id <= first+6 {
			next[id] = row[:strings.Index(row, "|")] + "|b"
		}
	}
	set := maintain.Update{Where: fmt.Sprintf("id BETWEEN %d AND %d", first, first+6), Set: map[string]string{"v": "'b'"}}
	return call{next, func() (idem.Outcome, error) {
		res, err := maintain.UpdateTable(h.t.Context(), h.table, set)
		return outcomeOf(res, err)
	}, true}
}

func (h *history) optimize() call {
	return call{h.now, func() (idem.Outcome, error) {
		res, err := maintain.OptimizeTable(h.t.Context(), h.table, maintain.Optimize{})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}, true}
}

func (h *history) restore() call {
	to := rapid.IntRange(0, len(h.at)-1).Draw(h.t, "to")
	return call{h.at[to], func() (idem.Outcome, error) {
		res, err := maintain.RestoreTable(h.t.Context(), h.table, maintain.Restore{To: maintain.Version(int64(to))})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}, false}
}

// change is a row of the feed.
type change struct {
	id      int64
	row     string
	kind    string
	version int64
}

func (h *history) changes(r changes.Request) []change {
	var out []change
	for batch, err := range changes.Rows(h.t.Context(), h.table, r) {
		require.NoError(h.t, err)
		for i := range int(batch.NumRows()) {
			cell := func(c int) string {
				if batch.Column(c).IsNull(i) {
					return "NULL"
				}
				return batch.Column(c).ValueStr(i)
			}
			out = append(out, change{
				batch.Column(1).(*array.Int64).Value(i), cell(0) + "|" + cell(2), cell(3), batch.Column(4).(*array.Int64).Value(i),
			})
		}
	}
	return out
}

// folded applies the changes of a range to the rows before it. A row that goes must have been there as
// the feed says it was.
func (h *history) folded(from, to int64) {
	rows := state{}
	if from > 0 {
		rows = maps.Clone(h.at[from-1])
	}
	all := h.changes(between(from, to))
	for v := from; v <= to; v++ {
		var ofVersion []change
		for len(all) > 0 && all[0].version == v {
			ofVersion, all = append(ofVersion, all[0]), all[1:]
		}
		h.apply(rows, ofVersion)
		require.Equal(h.t, h.at[v], rows, "version %d", v)
		if h.exact[v] && v > 0 {
			require.Len(h.t, ofVersion, differences(h.at[v-1], h.at[v]), "version %d tells of rows that did not change", v)
		}
	}
	require.Empty(h.t, all, "versions come in order, and none but those of the range")
}

// differences counts the rows that a feed has of two states: an update is two.
func differences(a, b state) (n int) {
	for id, row := range a {
		if next, there := b[id]; !there {
			n++
		} else if next != row {
			n += 2
		}
	}
	for id := range b {
		if _, there := a[id]; !there {
			n++
		}
	}
	return n
}

func (h *history) apply(rows state, list []change) {
	pre, post := state{}, state{}
	for _, c := range list {
		if c.kind == changes.Delete || c.kind == changes.UpdatePreimage {
			was, there := rows[c.id]
			require.True(h.t, there && was == c.row, "%v is not there", c)
			delete(rows, c.id)
		}
		if c.kind == changes.UpdatePreimage {
			pre[c.id] = c.row
		}
	}
	for _, c := range list {
		switch c.kind {
		case changes.Delete, changes.UpdatePreimage:
			continue
		case changes.UpdatePostimage:
			post[c.id] = c.row
			require.NotEqual(h.t, pre[c.id], c.row, "an update that changes nothing")
		default:
			require.Equal(h.t, changes.Insert, c.kind)
		}
		_, there := rows[c.id]
		require.False(h.t, there, "%v comes a second time", c)
		rows[c.id] = c.row
	}
	require.ElementsMatch(h.t, slices.Collect(maps.Keys(pre)), slices.Collect(maps.Keys(post)), "images come in pairs")
}

// TestTheFeedIsTheHistory: whatever the verbs did to tables of every kind, the changes of any range
// lead from the rows before it to the rows after it, version by version.
func TestTheFeedIsTheHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		h := newHistoryOfVerbs(rt, mem)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			h.step()
		}
		last := int64(len(h.at) - 1)
		h.folded(0, last)
		from := rapid.Int64Range(0, last).Draw(rt, "from")
		h.folded(from, rapid.Int64Range(from, last).Draw(rt, "to"))
		mem.AssertSize(t, 0)
	})
}
