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
