package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/maintain"
)

// TestFoundByHistories are the shortest forms of what histories of idem alone have found. The rules of
// the log are checked at the end of each.
func TestFoundByHistories(t *testing.T) {
	rows := source{Schema: []column{{"id", "long"}, {"day", "string"}}, Rows: []row{{1, "a"}, {2, "a"}, {3, "a"}}}
	for _, c := range []struct {
		name, why     string
		before, after maintain.Change
		where         string
	}{
		{name: "a column of partitions gets another name", why: "the digest in the tag of a file is of the names as they were",
			before: properties("delta.columnMapping.mode", "name"), after: maintain.RenameColumn{Name: "day", To: "date"}},
		{name: "a vector for a file from before the mapping", why: "a file that is added again has no field ids if it had none",
			before: properties("delta.enableDeletionVectors", "true"), after: properties("delta.columnMapping.mode", "name"), where: "id = 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := create(t, rows.Schema, "day")
			w.alter(t, c.before)
			_, err := w.table.Append(t.Context(), rows.reader(t, w.mem), idem.Append{Reason: "rows"})
			require.NoError(t, err)
			w.alter(t, c.after)
			if c.where != "" {
				_, err := w.table.Delete(t.Context(), idem.Delete{Where: c.where})
				require.NoError(t, err, c.why)
			}
		})
	}
}

func properties(name, value string) maintain.Change {
	return maintain.SetProperties{Properties: map[string]string{name: value}}
}

func (w *world) alter(t *testing.T, c maintain.Change) {
	t.Helper()
	_, err := maintain.AlterTable(t.Context(), w.table, maintain.Alter{Changes: []maintain.Change{c}})
	require.NoError(t, err)
}
