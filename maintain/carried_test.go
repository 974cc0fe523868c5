package maintain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/maintain"
)

// What a log says of files from before a change of the definition is carried over it; the log is checked after each test.

// The statistics of a checkpoint without their text are those of the columns that the table chooses now.
func TestCheckpointAfterAColumnLeftThoseWithStatistics(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{
		"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true", "delta.dataSkippingNumIndexedCols": "2",
	}})
	f.loaded(2)
	before := allRows(t, f.table)
	_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.MoveColumn{Name: "id", After: "v"}}})
	require.NoError(t, err)
	_, err = maintain.Checkpoint(t.Context(), f.table)
	require.NoError(t, err)
	again, err := idem.OpenStore(t.Context(), f.store, f.options())
	require.NoError(t, err)
	require.Len(t, allRows(t, again), len(before))
}

// The digest in a file's tag is of columns under their names: one from before a column was dropped is void, and stays when
// the file is written into the log again.
func TestDigestsFromBeforeADropOfAColumn(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true"}})
	f.loaded(2)
	_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.DropColumn{Name: "v"}}})
	require.NoError(t, err)
	_, err = maintain.DropFeature(t.Context(), f.table, maintain.Drop{Feature: "rowTracking"})
	require.NoError(t, err)
	_, err = f.table.Delete(t.Context(), idem.Delete{Where: "id >= 0"})
	require.NoError(t, err)
}
