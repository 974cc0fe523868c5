package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// TestEnginesReadWhatEvolved: columns that were added by each verb, at every depth, and rows that
// clauses of a merge made, are read alike by all engines, and those that write go on.
func TestEnginesReadWhatEvolved(t *testing.T) {
	needEngines(t)
	w := create(t, []column{{"id", "long"}, {"day", "string"}, {"n", "integer"}, {"s", "struct<a:long>"}, {"l", "array<struct<x:string>>"}}, "day")
	w.appendWide(t, source{Schema: []column{{"id", "long"}, {"day", "string"}, {"n", "integer"}, {"s", "struct<a:long>"}, {"l", "array<struct<x:string>>"}}, Rows: []row{
		{1, "a", 1, object("a", 1), list(object("x", "p"))}, {2, "a", 2, nil, nil}, {3, "b", 3, object("a", nil), list(nil)}, {4, nil, nil, nil, list()},
	}})
	for _, step := range []struct {
		name string
		rows source
		call func(s source) (*idem.Result, error)
	}{
		{"append with txn", source{Schema: []column{{"id", "long"}, {"day", "string"}, {"price", "decimal(9,2)"}}, Rows: []row{{5, "b", "1.50"}}}, func(s source) (*idem.Result, error) {
			return w.table.AppendWithTxn(t.Context(), s.reader(t, w.mem), idem.Txn{AppID: "evolve", Version: 1, Evolve: true})
		}},
		{"replace", source{Schema: []column{{"day", "string"}, {"id", "long"}, {"s", "struct<b:map<string,date>,A:long>"}}, Rows: []row{{"a", 1, object("b", list(list("k", "2024-02-29")), "A", 7)}, {"a", 6, nil}}},
			func(s source) (*idem.Result, error) {
				return w.table.ReplaceWhere(t.Context(), s.reader(t, w.mem), idem.ReplaceWhere{Where: "day = 'a'", Evolve: true})
			}},
		{"merge", source{Schema: []column{{"id", "long"}, {"l", "array<struct<y:double,x:string>>"}}, Rows: []row{
			{3, list(object("y", 0.5, "x", "q"), nil)}, {7, list()},
		}}, func(s source) (*idem.Result, error) {
			return w.table.Merge(t.Context(), s.reader(t, w.mem), idem.Merge{On: []string{"id"}, Unguarded: true, Evolve: true})
		}},
		{"merge with clauses", source{Schema: []column{{"id", "long"}, {"op", "string"}, {"n", "integer"}}, Rows: []row{{3, "u", 30}, {5, "d", nil}, {8, "i", 80}, {9, "x", 90}}}, func(s source) (*idem.Result, error) {
			return w.table.Merge(t.Context(), s.reader(t, w.mem), idem.Merge{
				On: []string{"id"}, Unguarded: true,
				Matched: []idem.Clause{
					{When: "op = 'd'", Do: idem.DoDelete},
					{Set: map[string]string{"n": "source.n + 1", "s.a": "coalesce(source.n, 0)", "price": "CASE WHEN source.n > 10 THEN 9.99 ELSE target.price END"}},
				},
				NotMatched: []idem.Clause{{When: "op IN ('i', 'u')", Set: map[string]string{"id": "source.id", "day": "concat('d', CAST(source.id AS STRING))",
					"n": "source.n + 1", "s.a": "coalesce(source.n, 0)", "price": "CASE WHEN source.n > 10 THEN 9.99 END"}}},
				NotMatchedBySource: []idem.Clause{{When: "day IS NULL AND n IS NULL", Set: map[string]string{"n": "-1"}}},
			})
		}},
	} {
		res, err := step.call(step.rows)
		require.NoError(t, err, step.name)
		require.Equal(t, idem.Committed, res.Outcome, step.name)
		res, err = step.call(step.rows)
		require.NoError(t, err, "%s again", step.name)
		require.Contains(t, []idem.Outcome{idem.Unchanged, idem.AlreadyApplied}, res.Outcome, "%s again: %s", step.name, res)
		w.agree(t, name("evolved by", step.name), "", everyEngine...)
	}
	spark.do(t, "update", map[string]any{"path": w.path, "where": "id = 3", "set": map[string]string{"s.b": "map('j', DATE '2024-01-01')"}})
	w.agree(t, "evolved, and updated by Spark", "", everyEngine...)
	deltaRS.do(t, "delete", map[string]any{"path": w.path, "where": "id = 7"})
	w.agree(t, "evolved, and deleted from by delta-rs", "", everyEngine...)
}
