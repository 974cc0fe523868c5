package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// foreign is an operation of another engine on the table that between makes.
type foreign struct {
	name string
	op   string
	args map[string]any
}

// foreigners are the operations that an engine does between our writes. The table holds the rows 1
// to 5 of the first day and 6 to 9 of the second, written in several files.
var foreigners = []foreign{
	{"append", "write", map[string]any{"mode": "append", "source": wideRows("2024-01-02", 100, 104)}},
	{"append of a new partition", "write", map[string]any{"mode": "append", "source": wideRows(nil, 105, 106)}},
	{"delete of rows", "delete", map[string]any{"where": "id = 2 OR id = 7"}},
	{"delete of a partition", "delete", map[string]any{"where": "day = DATE '2024-01-01'"}},
	{"update", "update", map[string]any{"where": "id > 3", "set": map[string]string{"name": "'other'", "seen": "NULL"}}},
	{"merge", "merge", map[string]any{"on": "t.id = s.id", "source": wideRows("2024-01-01", 4, 11)}},
	{"overwrite of a slice", "write", map[string]any{"mode": "overwrite", "where": "day = DATE '2024-01-02'", "source": wideRows("2024-01-02", 200, 203)}},
	{"overwrite", "write", map[string]any{"mode": "overwrite", "source": wideRows("2024-01-02", 210, 214)}},
	{"compaction", "optimize", nil},
	{"checkpoint", "checkpoint", nil},
	{"restore", "restore", map[string]any{"version": 2}},
}

// TestBothWriteInTurn: idem writes, another engine works on the table, idem reads the same rows as it
// does; then every verb of idem writes, and the engine reads the same rows as idem.
func TestBothWriteInTurn(t *testing.T) {
	needEngines(t)
	for _, e := range writers {
		t.Run(string(e), func(t *testing.T) {
			for _, f := range foreigners {
				t.Run(f.name, func(t *testing.T) { between(t, e, f) })
			}
		})
	}
}

func between(t *testing.T, e engine, f foreign) {
	w := create(t, wide, "day")
	w.appendWide(t, wideRows("2024-01-01", 1, 3))
	w.appendWide(t, wideRows("2024-01-01", 4, 5))
	w.appendWide(t, wideRows("2024-01-02", 6, 9))
	w.foreign(t, e, f)
	after := w.agree(t, name(f.name, "by", e), "", everyEngine...)
	require.NotEmpty(t, after.rows)
	if f.op == "delete" || f.op == "update" {
		gone := w.agree(t, name(f.name, "by", e, "where it was"), f.args["where"].(string), e)
		require.Equal(t, f.op == "delete", len(gone.rows) == 0, "rows %v", gone.rows)
	}
	for _, v := range verbs {
		w.apply(t, v)
		w.agree(t, name(v.name, "after", f.name, "by", e), "", e)
	}
	w.foreign(t, e, foreigners[0])
	w.agree(t, name("both, with", f.name, "by", e), "", everyEngine...)
}

// foreign has an engine do its operation.
func (w *world) foreign(t *testing.T, e engine, f foreign) {
	t.Helper()
	args := map[string]any{"path": w.path}
	for k, v := range f.args {
		args[k] = v
	}
	e.do(t, f.op, args)
	w.int96 = w.int96 || e == spark
}
