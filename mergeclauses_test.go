package idem_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// clauseCase is one merge with clauses into a table that holds 1/5/a, 2/5/b and 3/5/c of day d1.
type clauseCase struct {
	why     string
	request idem.Merge
	ops     string // of the source rows; "" leaves the column out
	source  []order
	want    []string
	counts  idem.Result
}

func clausesBegun(t *testing.T) *fixture {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 5, "a"}, order{"d1", 2, 5, "b"}, order{"d1", 3, 5, "c"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	return f
}

func TestMergeClauses(t *testing.T) {
	guarded := func(m idem.Merge) idem.Merge {
		m.On, m.Newer = []string{"id"}, []string{"seq"}
		return m
	}
	unguarded := func(m idem.Merge) idem.Merge {
		m.On, m.Unguarded = []string{"id"}, true
		return m
	}
	for _, c := range []clauseCase{
		{
			"the first clause whose condition is TRUE applies",
			guarded(idem.Merge{Matched: []idem.Clause{
				{When: "op = 'd'", Do: idem.DoDelete},
				{When: "op = 'k'", Do: idem.DoNothing},
				{When: "source.v IS NULL OR source.v <> 'x'", Columns: []string{"seq", "v"}},
			}, NotMatched: []idem.Clause{{When: "op = 'u'"}}}),
			"dkudu", []order{{"d1", 1, 6, ""}, {"d1", 2, 6, "B"}, {"d9", 3, 6, "C"}, {"d1", 8, 6, ""}, {"d1", 9, 6, "n"}},
			[]string{"d1/2/5/b", "d1/3/6/C", "d1/9/6/n"},
			idem.Result{Inserted: 1, Updated: 1, Deleted: 1, Matched: 3},
		},
		{
			"a matched delete deletes no other row",
			guarded(idem.Merge{Matched: []idem.Clause{{Do: idem.DoDelete}}, NotMatched: []idem.Clause{}}),
			"", []order{{"d1", 2, 6, ""}},
			[]string{"d1/1/5/a", "d1/3/5/c"},
			idem.Result{Deleted: 1, Matched: 1},
		},
		{
			"values of both rows, guarded",
			guarded(idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"v": "CASE WHEN source.v = '+' THEN target.v ELSE source.v END"}}}}),
			"", []order{{"d1", 2, 6, "+"}},
			[]string{"d1/1/5/a", "d1/2/6/b", "d1/3/5/c"},
			idem.Result{Updated: 1, Matched: 1},
		},
		{
			"a constant, unguarded",
			unguarded(idem.Merge{Matched: []idem.Clause{{Set: map[string]string{"seq": "7L"}}}}),
			"", []order{{"d1", 2, 6, "+"}, {"d1", 4, 7, "n"}},
			[]string{"d1/1/5/a", "d1/2/7/b", "d1/3/5/c", "d1/4/7/n"},
			idem.Result{Updated: 1, Inserted: 1, Matched: 1},
		},
		{
			"not matched by source: updated, deleted, left alone",
			guarded(idem.Merge{NotMatchedBySource: []idem.Clause{
				{When: "id = 2", Do: idem.DoDelete}, {When: "v = 'c'", Set: map[string]string{"v": "'gone'", "day": "'d7'"}},
			}}),
			"", []order{{"d1", 1, 6, "A"}},
			[]string{"d1/1/6/A", "d7/3/5/gone"},
			idem.Result{Updated: 2, Deleted: 1, UpdatedBySource: 1, DeletedBySource: 1, Matched: 1},
		},
		{
			"insert only",
			idem.Merge{On: []string{"id"}, Matched: []idem.Clause{}, NotMatched: []idem.Clause{{When: "source.seq > 5", Set: map[string]string{"v": "coalesce(source.v, 'none')"}, Columns: []string{"id", "seq"}}}},
			"", []order{{"d1", 1, 9, "x"}, {"d1", 7, 6, "new"}, {"d1", 8, 5, "not"}},
			[]string{"d1/1/5/a", "d1/2/5/b", "d1/3/5/c", "NULL/7/6/new"},
			idem.Result{Inserted: 1, Matched: 1},
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := clausesBegun(t)
			source := func() array.RecordReader {
				if c.ops == "" {
					return rowsOf(c.source...)
				}
				return changes(c.ops, c.source...)
			}
			res, err := f.table.Merge(t.Context(), source(), c.request)
			require.NoError(t, err)
			require.ElementsMatch(t, c.want, f.rows())
			require.Equal(t, c.counts, idem.Result{
				Inserted: res.Inserted, Updated: res.Updated, Deleted: res.Deleted, Matched: res.Matched,
				UpdatedBySource: res.UpdatedBySource, DeletedBySource: res.DeletedBySource,
			})
			files := f.dataFiles()
			res, err = f.table.Merge(t.Context(), source(), c.request)
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
			require.Equal(t, files, f.dataFiles())
		})
	}
}

// TestClausesThatCannotBeRepeated: without a guard and without a tag, what a second call would do to
// the rows that the first one wrote is found before anything is committed.
func TestClausesThatCannotBeRepeated(t *testing.T) {
	unguarded := idem.Merge{On: []string{"id"}, Unguarded: true}
	with := func(m idem.Merge, change func(*idem.Merge)) idem.Merge {
		change(&m)
		return m
	}
	for _, c := range []struct {
		why     string
		request idem.Merge
		source  []order
		says    []string
	}{
		{"a sum", with(unguarded, func(m *idem.Merge) {
			m.Matched = []idem.Clause{{Set: map[string]string{"seq": "target.seq + source.seq"}}}
		}), []order{{"d1", 1, 1, "x"}, {"d1", 2, 0, "x"}, {"d1", 3, 1, "x"}},
			[]string{"id=1", "updates", "updated by Merge.Matched[0]", "seq: 6 to 7", "one of 2 such rows", "Newer", "Txn", "a condition"}},
		{"a chain of states", with(unguarded, func(m *idem.Merge) {
			m.Matched = []idem.Clause{{When: "target.v = 'a'", Set: map[string]string{"v": "'b'"}}, {When: "target.v = 'b'", Set: map[string]string{"v": "'c'"}}}
		}), []order{{"d1", 1, 1, "x"}, {"d1", 2, 1, "x"}, {"d1", 3, 1, "x"}},
			[]string{"id=1", "Merge.Matched[1]", `v: "b" to "c"`}},
		{"an update into what is deleted", with(unguarded, func(m *idem.Merge) {
			m.Matched = []idem.Clause{{When: "target.v = 'a'", Set: map[string]string{"v": "'gone'"}}, {When: "target.v = 'gone'", Do: idem.DoDelete}}
		}), []order{{"d1", 1, 1, "x"}}, []string{"id=1", "updates", "deleted by Merge.Matched[1]"}},
		{"a deleted row that is inserted again", with(unguarded, func(m *idem.Merge) {
			m.Matched = []idem.Clause{{Do: idem.DoDelete}}
		}), []order{{"d1", 1, 1, "x"}, {"d1", 9, 1, "x"}}, []string{"id=1", "deletes", "inserted by the insert", "does nothing"}},
		{"a deleted row that is inserted again, guarded", idem.Merge{On: []string{"id"}, Newer: []string{"seq"},
			Matched: []idem.Clause{{When: "source.v = 'd'", Do: idem.DoDelete}, {}}, NotMatched: []idem.Clause{{When: "id > 0"}}},
			[]order{{"d1", 1, 9, "d"}}, []string{"id=1", "inserted by Merge.NotMatched[0]"}},
		{"an inserted row that is updated", with(unguarded, func(m *idem.Merge) {
			m.NotMatched = []idem.Clause{{Columns: []string{"id", "seq"}}}
		}), []order{{"d1", 9, 1, "x"}}, []string{"id=9", "inserts", `v: NULL to "x"`}},
		{"an inserted row that is updated, by the lists", with(unguarded, func(m *idem.Merge) {
			m.Insert = []string{"id"}
		}), []order{{"d1", 9, 1, "x"}}, []string{"id=9", "inserts"}},
		{"an inserted row that is deleted", with(unguarded, func(m *idem.Merge) {
			m.Matched = []idem.Clause{{When: "source.v = 'x'", Do: idem.DoDelete}}
		}), []order{{"d1", 9, 1, "x"}}, []string{"id=9", "inserts", "deleted by Merge.Matched[0]"}},
		{"a count of absences", with(unguarded, func(m *idem.Merge) {
			m.NotMatchedBySource = []idem.Clause{{Set: map[string]string{"seq": "seq + 1L"}}}
		}), []order{{"d1", 1, 5, "a"}}, []string{"id=2", "Merge.NotMatchedBySource[0]", "seq: 6 to 7"}},
		{"an absence that is marked, then deleted", with(unguarded, func(m *idem.Merge) {
			m.NotMatchedBySource = []idem.Clause{{When: "v = 'gone'", Do: idem.DoDelete}, {Set: map[string]string{"v": "'gone'"}}}
		}), []order{{"d1", 1, 5, "a"}}, []string{"id=2", "deleted by Merge.NotMatchedBySource[0]"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := clausesBegun(t)
			_, err := f.table.Merge(t.Context(), rowsOf(c.source...), c.request)
			require.ErrorIs(t, err, idem.ErrInput)
			for _, s := range append(c.says, "second call", "nothing was changed") {
				require.ErrorContains(t, err, s)
			}
			require.ElementsMatch(t, []string{"d1/1/5/a", "d1/2/5/b", "d1/3/5/c"}, f.rows())
			require.Equal(t, 1, f.dataFiles(), "what was written is removed again")

			tagged := c.request
			tagged.Txn = idem.Txn{AppID: "cdc", Version: 1}
			res, err := f.table.Merge(t.Context(), rowsOf(c.source...), tagged)
			require.NoError(t, err, "the repeat of a tagged call is skipped, so its clauses need not be repeatable")
			require.Equal(t, idem.Committed, res.Outcome)
			rows := f.rows()
			res, err = f.table.Merge(t.Context(), rowsOf(c.source...), tagged)
			require.NoError(t, err)
			require.Equal(t, idem.AlreadyApplied, res.Outcome)
			require.ElementsMatch(t, rows, f.rows())
		})
	}
}

// TestMergeRequestsThatContradictThemselves: each is refused by its name, before a row is read.
func TestMergeRequestsThatContradictThemselves(t *testing.T) {
	some := []idem.Clause{{When: "source.seq > 1"}}
	for _, c := range []struct {
		why     string
		request idem.Merge
		says    []string
	}{
		{"Matched and Update", idem.Merge{Matched: some, Update: []string{"seq"}}, []string{"Merge.Matched and Merge.Update", "Columns"}},
		{"Matched and DeleteWhen", idem.Merge{Matched: some, DeleteWhen: "v = 'd'"}, []string{"Merge.Matched and Merge.DeleteWhen", "a clause of Matched that deletes"}},
		{"Matched and SoftDelete", idem.Merge{Matched: some, SoftDelete: "v"}, []string{"Merge.Matched and Merge.SoftDelete"}},
		{"NotMatched and Insert", idem.Merge{NotMatched: some, Insert: []string{"id"}}, []string{"Merge.NotMatched and Merge.Insert"}},
		{"NotMatched and DeleteWhen", idem.Merge{NotMatched: some, DeleteWhen: "v = 'd'"}, []string{"Merge.NotMatched and Merge.DeleteWhen"}},
		{"a clause that is never reached", idem.Merge{Matched: []idem.Clause{{}, {When: "source.seq > 1"}}}, []string{"Merge.Matched[0]", "never reached"}},
		{"a delete of what is not there", idem.Merge{NotMatched: []idem.Clause{{Do: idem.DoDelete}}}, []string{"Merge.NotMatched[0]", "DoNothing"}},
		{"columns of a delete", idem.Merge{Matched: []idem.Clause{{Do: idem.DoDelete, Columns: []string{"v"}}}}, []string{"Merge.Matched[0]", "DoSet"}},
		{"an action that does not exist", idem.Merge{Matched: []idem.Clause{{Do: 7}}}, []string{"Do is 7"}},
		{"nothing to set", idem.Merge{Matched: []idem.Clause{{Columns: []string{}}}}, []string{"sets no column"}},
		{"source columns where there is no source row", idem.Merge{NotMatchedBySource: []idem.Clause{{Columns: []string{"v"}}}}, []string{"Merge.NotMatchedBySource[0]", "Set"}},
		{"no value where there is no source row", idem.Merge{NotMatchedBySource: []idem.Clause{{When: "v = 'a'"}}}, []string{"Merge.NotMatchedBySource[0]", "Set"}},
		{"a name of both sides", idem.Merge{Matched: []idem.Clause{{When: "v = 'a'"}}}, []string{"source.v or target.v", "Merge.Matched[0]"}},
		{"a name of neither side", idem.Merge{Matched: []idem.Clause{{When: "vv = 'a'"}}}, []string{"vv", `is it "v"`}},
		{"the table's row where there is none", idem.Merge{NotMatched: []idem.Clause{{When: "target.v = 'a'"}}}, []string{"target.v", "matches nothing"}},
		{"the source's row where there is none", idem.Merge{NotMatchedBySource: []idem.Clause{{When: "source.v = 'a'", Do: idem.DoDelete}}}, []string{"source.v", "no source row"}},
		{"a column that the source lacks", idem.Merge{Matched: []idem.Clause{{When: "source.nosuch = 'a'"}}}, []string{"source", "nosuch"}},
		{"a column that the table lacks", idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"nosuch": "1"}}}}, []string{"Merge.Matched[0].Set", "nosuch"}},
		{"a column twice", idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq", "v"}, Set: map[string]string{"V": "'a'"}}}}, []string{`"v"`, "once"}},
		{"a key", idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"id": "source.id + 1L"}}}}, []string{"key column", "id"}},
		{"a key of rows that are not matched", idem.Merge{NotMatchedBySource: []idem.Clause{{Set: map[string]string{"id": "0L"}}}}, []string{"key column", "id"}},
		{"an update that leaves the guard", idem.Merge{Matched: []idem.Clause{{Columns: []string{"v"}}}}, []string{"Merge.Matched[0]", `must set "seq"`, "guards"}},
		{"another value for the guard", idem.Merge{Matched: []idem.Clause{{Set: map[string]string{"seq": "source.seq + 1L"}}}}, []string{`must set "seq" from the source`}},
		{"an insert that leaves the guard", idem.Merge{Insert: []string{"id", "v"}}, []string{"Merge.Insert", `must set "seq"`}},
		{"an insert without its key", idem.Merge{NotMatched: []idem.Clause{{Columns: []string{"seq", "v"}}}}, []string{"Merge.NotMatched[0]", `must set "id"`, "key"}},
		{"a condition that is none", idem.Merge{Matched: []idem.Clause{{When: "source.seq + 1L"}}}, []string{"Merge.Matched[0]", "TRUE or FALSE"}},
		{"a text that is no condition", idem.Merge{Matched: []idem.Clause{{When: "source.seq >"}}}, []string{"Merge.Matched[0].When"}},
		{"a text that is no value", idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"v": "1 +"}}}}, []string{"Merge.Matched[0].Set of v"}},
		{"a value of another type", idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"v": "1"}}}}, []string{"Merge.Matched[0] sets v"}},
		{"a value that changes", idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"v": "uuid()"}}}}, []string{"uuid"}},
		{"an immutable column that is not there", idem.Merge{Immutable: []string{"nosuch"}}, []string{"Merge.Immutable", "nosuch"}},
		{"an immutable guard", idem.Merge{Immutable: []string{"seq"}}, []string{"Merge.Immutable", "seq", "Newer"}},
		{"a key twice", idem.Merge{On: []string{"id", "ID"}}, []string{"Merge.On", "twice"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := clausesBegun(t)
			m := c.request
			if m.On == nil {
				m.On = []string{"id"}
			}
			m.Newer = []string{"seq"}
			in := &counted{RecordReader: rowsOf(order{"d1", 1, 9, "x"})}
			_, err := f.table.Merge(t.Context(), in, m)
			require.ErrorIs(t, err, idem.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
			require.Zero(t, in.reads)
			require.EqualValues(t, 1, f.other().Version())
		})
	}
}
