package changes_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

// TestADefinitionThatVerbsChange: a column that a merge adds is in the changes of that merge, NULL in
// those from before; one that is renamed has its last name in all of the range.
func TestADefinitionThatVerbsChange(t *testing.T) {
	for _, vectors := range []string{"false", "true"} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: modelColumns, Properties: map[string]string{
			"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": "name", "delta.enableDeletionVectors": vectors,
		}}, idem.Options{Parallelism: 1, Allocator: mem})
		require.NoError(t, err)
		_, err = table.Append(t.Context(), given(modelColumns, state{1: "a|x", 2: "a|y", 3: "b|z"}), idem.Append{Reason: "test"}) // version 1
		require.NoError(t, err)
		wide := arrow.NewSchema(append(modelColumns.Fields(), arrow.Field{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true}), nil)
		for range 2 { // version 2
			_, err = table.Merge(t.Context(), given(wide, state{2: "a|y|new", 4: "c|w|new"}), idem.Merge{On: []string{"id"}, Unguarded: true, Evolve: true})
			require.NoError(t, err)
		}
		before := []string{"a|1|x|(null)|insert|1", "a|2|y|(null)|insert|1", "b|3|z|(null)|insert|1",
			"a|2|y|(null)|update_preimage|2", "a|2|y|new|update_postimage|2", "c|4|w|new|insert|2"}
		got, err := feed(t.Context(), table, changes.Request{})
		require.NoError(t, err)
		require.Equal(t, before, got)
		_, err = maintain.AlterTable(t.Context(), table, maintain.Alter{Changes: []maintain.Change{maintain.RenameColumn{Name: "note", To: "remark"}}}) // version 3
		require.NoError(t, err)
		_, err = table.Delete(t.Context(), idem.Delete{Where: "remark = 'new' AND id = 4"}) // version 4
		require.NoError(t, err)
		got, err = feed(t.Context(), table, changes.Request{})
		require.NoError(t, err)
		require.Equal(t, append(slices.Clone(before), "c|4|w|new|delete|4"), got)
		_, err = feed(t.Context(), table, changes.Request{Columns: []string{"note"}})
		require.ErrorContains(t, err, `no column "note"`)
		got, err = feed(t.Context(), table, between(0, 2))
		require.NoError(t, err)
		require.Equal(t, before, got)
		got, err = feed(t.Context(), table, changes.Request{From: changes.Version(3), Columns: []string{"id", "remark"}})
		require.NoError(t, err)
		require.Equal(t, []string{"4|new|delete|4"}, got)
	}
}

// A restore to before a rename removes rows that were written under the other name, which are the same in
// files. One to before a column was added removes values that its version has no place for.
func TestARestoreOverAChangeOfColumns(t *testing.T) {
	table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: modelColumns, Properties: map[string]string{
		"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": "name",
	}}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	do := func(of ...maintain.Change) {
		_, err := maintain.AlterTable(t.Context(), table, maintain.Alter{Changes: of})
		require.NoError(t, err)
	}
	restore := func() {
		_, err := maintain.RestoreTable(t.Context(), table, maintain.Restore{To: maintain.Version(1)})
		require.NoError(t, err)
	}
	name := modelColumns.Field(2).Name
	_, err = table.Append(t.Context(), given(modelColumns, state{1: "a|x"}), idem.Append{Reason: "test"}) // version 1
	require.NoError(t, err)
	do(maintain.RenameColumn{Name: name, To: "other"}) // version 2
	_, err = maintain.UpdateTable(t.Context(), table, maintain.Update{Where: "id = 1", Set: map[string]string{"other": "'y'"}})
	require.NoError(t, err)
	restore() // version 4
	got, err := feed(t.Context(), table, between(4, 4))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a|1|y|delete|4", "a|1|x|insert|4"}, got)
	do(maintain.AddColumn{Name: "more", Type: arrow.PrimitiveTypes.Int64}) // version 5
	_, err = maintain.UpdateTable(t.Context(), table, maintain.Update{Where: "id = 1", Set: map[string]string{"more": "7"}})
	require.NoError(t, err)
	restore() // version 7
	_, err = feed(t.Context(), table, between(7, 7))
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "the rows that version 7 removed cannot be told in the columns of version 7: the column more is gone")
	require.ErrorContains(t, err, "the table of version 6 (Table.At), and ask for the changes up to that version and from version 8 on")
	_, err = feed(t.Context(), table, between(4, 6))
	require.NoError(t, err)
}
