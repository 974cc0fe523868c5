package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// made has an engine make a table and gives it as idem opens it.
func made(t *testing.T, e engine, s source, partitionBy ...string) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made")
	e.do(t, "write", map[string]any{"path": path, "source": s, "mode": "error", "partition_by": partitionBy})
	return at(t, path)
}

// TestWeReadTablesThatTheyMade: every type, and floats as partition columns, which idem reads
// although it makes no such table; then idem writes into them.
func TestWeReadTablesThatTheyMade(t *testing.T) {
	needEngines(t)
	for _, e := range writers {
		t.Run(string(e), func(t *testing.T) {
			w := made(t, e, wideRows("2024-01-01", 1, 9), "day")
			w.agree(t, name("made by", e), "", everyEngine...)
			for _, where := range conditions {
				w.agree(t, name("made by", e, "where", where), where, e)
			}
			for _, v := range verbs {
				w.apply(t, v)
				w.agree(t, name(v.name, "in a table made by", e), "", e)
			}
			for _, c := range []struct {
				kind   string
				values []any
			}{
				{"float", []any{0.1, "-0.0", "NaN", "Infinity", 3.4028235e38}},
				{"double", []any{0.1, "-0.0", "NaN", "-Infinity", 1e20, 1e-10}},
				{"timestamp", []any{"0001-01-01T00:00:00.000001Z", "1969-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"}},
				{"string", []any{"a b", "x=y/z", "%41:?#", "\u00e9\u4e2d", "__HIVE_DEFAULT_PARTITION__"}},
				{"binary", []any{"base64:YWJj", "base64:w6k="}},
			} {
				s := source{Schema: []column{{"id", "long"}, {"p", c.kind}}, Rows: []row{{0, nil}}}
				for i, v := range c.values {
					s.Rows = append(s.Rows, row{i + 1, v})
				}
				what := name("partitioned by", c.kind, "by", e)
				p := made(t, e, s, "p")
				p.agree(t, what, "", e)
				p.apply(t, verb{what, func(t *testing.T, w *world) (*idem.Result, error) {
					return w.table.Append(t.Context(), s.reader(t, w.mem), idem.Append{Reason: "the same partitions"})
				}})
				p.agree(t, "ours, "+what, "", e)
			}
		})
	}
}

// TestWeReadNestedColumns: idem writes flat tables; what others nest it reads.
func TestWeReadNestedColumns(t *testing.T) {
	needEngines(t)
	path := filepath.Join(t.TempDir(), "nested")
	require.NoError(t, theRun.server.ask(spark, "sql", map[string]any{"sql": `CREATE TABLE delta.` + "`" + path + "`" + ` USING delta AS SELECT * FROM VALUES
		(1L, named_struct('a', 1, 'b', array('x', NULL, 'z')), array(named_struct('c', DATE '2024-02-29'), NULL), map('k', map(1, 2.50), 'j', NULL)),
		(2L, NULL, NULL, NULL),
		(3L, named_struct('a', NULL, 'b', array()), array(), map())
		AS t(id, s, l, m)`}, nil))
	w := at(t, path)
	w.agree(t, "nested columns", "", everyEngine...)
	w.agree(t, "nested columns, where", "s.a = 1", spark, duckDB)
	require.NoError(t, theRun.server.ask(deltaRS, "delete", map[string]any{"path": path, "where": "id = 2"}, nil))
	w.agree(t, "nested columns that delta-rs rewrote", "", everyEngine...)
}
