package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEnginesReadWhatEachVerbWrote: one table, one verb after the other; after each all engines read
// the rows that idem reads.
func TestEnginesReadWhatEachVerbWrote(t *testing.T) {
	needEngines(t)
	w := create(t, wide, "day")
	w.agree(t, "created", "", everyEngine...)
	w.appendWide(t, wideRows("2024-01-01", 1, 5))
	w.agree(t, "first rows", "", everyEngine...)
	for _, c := range conditions {
		w.agree(t, "where "+c, c, everyEngine...)
	}
	for _, v := range verbs {
		w.apply(t, v)
		w.agree(t, v.name, "", everyEngine...)
	}
	for range 4 {
		w.appendWide(t, wideRows("9999-12-31", 1, 5))
	}
	w.agree(t, "with a checkpoint", "", everyEngine...)
	t.Run("every version", func(t *testing.T) { everyVersion(t, w) })
	t.Run("checkpoint alone", func(t *testing.T) { checkpointAlone(t, w) })
}

// everyVersion holds time travel against the engines'. DuckDB's reader has none.
func everyVersion(t *testing.T, w *world) {
	for v := range w.table.Version() + 1 {
		old, err := w.table.At(t.Context(), v)
		require.NoError(t, err)
		ours, err := scan(t.Context(), old, "")
		require.NoError(t, err)
		engines := []engine{deltaRS}
		if v%4 == 0 {
			engines = writers
		}
		for _, e := range engines {
			theirs, err := e.read(w.path, "", v)
			settle(t, e, fmt.Sprintf("version %d", v), differ(ours, theirs, err))
		}
	}
}

// checkpointAlone takes away the commits that our checkpoint stands for: the engines must start
// from it, and its statistics answer conditions.
func checkpointAlone(t *testing.T, w *world) {
	checkpoints, err := filepath.Glob(filepath.Join(w.path, "_delta_log", "*.checkpoint*.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, checkpoints, "no checkpoint after %d commits", w.table.Version()+1)
	version := filepath.Base(checkpoints[len(checkpoints)-1])[:20]
	path := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(path, os.DirFS(w.path)))
	commits, err := filepath.Glob(filepath.Join(path, "_delta_log", "*.json"))
	require.NoError(t, err)
	gone := 0
	for _, c := range commits {
		if filepath.Base(c)[:20] < version {
			require.NoError(t, os.Remove(c))
			gone++
		}
	}
	require.NotZero(t, gone)
	c := at(t, path)
	c.agree(t, "checkpoint alone", "", everyEngine...)
	for _, cond := range conditions {
		c.agree(t, "checkpoint alone, where "+cond, cond, everyEngine...)
	}
}

// TestEnginesReadPartitionsOfEachType: a partition column of each type, with the values that paths
// and the log must escape.
func TestEnginesReadPartitionsOfEachType(t *testing.T) {
	needEngines(t)
	for _, c := range []struct {
		kind   string
		values []any
		where  string
	}{
		{"string", []any{"a b", "x=y/z", "%41:?#", "é\u4e2d\U0001f600", "a\tb\x01\"c\\", "'", "NULL", "__HIVE_DEFAULT_PARTITION__", " ", "a.b*c[d]{e}|^~`", "\x7f\r\n"}, "p = 'x=y/z'"},
		{"boolean", []any{true, false}, "p = TRUE"},
		{"byte", []any{-128, 127, 0}, "p < 0"},
		{"short", []any{-32768, 32767}, "p < 0"},
		{"integer", []any{-1 << 31, 1<<31 - 1}, "p < 0"},
		{"long", []any{"-9223372036854775808", "9223372036854775807"}, "p < 0"},
		{"decimal(5,2)", []any{"-999.99", "0.10", "0.00"}, "p = 0.1"},
		{"decimal(38,10)", []any{"-9999999999999999999999999999.9999999999", "0.0000000001", "10.0000000000"}, "p < 0"},
		{"date", []any{"0001-01-01", "1582-10-10", "1969-12-31", "9999-12-31"}, "p = DATE '9999-12-31'"},
		{"timestamp", []any{"0001-01-01T00:00:00.000001Z", "1969-12-31T23:59:59.999999Z", "2024-02-29T12:00:00.000000Z", "9999-12-31T23:59:59.999999Z"}, "p < TIMESTAMP '1970-01-01 00:00:00'"},
		{"timestamp_ntz", []any{"0001-01-01T00:00:00.000001", "1969-12-31T23:59:59.999999", "2024-02-29T12:00:00.000000", "9999-12-31T23:59:59.999999"}, "p IS NOT NULL"},
		{"binary", []any{"base64:YWJj", "base64:JScv", "base64:w6k="}, "p IS NOT NULL"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			s := source{Schema: []column{{"id", "long"}, {"p", c.kind}}, Rows: []row{{0, nil}}}
			for i, v := range c.values {
				s.Rows = append(s.Rows, row{i + 1, v}, row{i + 101, v})
			}
			w := create(t, s.Schema, "p")
			w.appendWide(t, s)
			all := w.agree(t, "partitioned by "+c.kind, "", everyEngine...)
			require.Len(t, all.rows, len(s.Rows))
			w.agree(t, "partitioned by "+c.kind+", NULL", "p IS NULL", everyEngine...)
			w.agree(t, "partitioned by "+c.kind+", where "+c.where, c.where, everyEngine...)
		})
	}
}
