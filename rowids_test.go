package idem_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
)

// TestScanGivesRowIDs: ids are of rows, not of places: they stay while other rows come and go.
func TestScanGivesRowIDs(t *testing.T) {
	f := newFixture(t, "delta.enableRowTracking", "true")
	ids := func(where string) map[int64][2]int64 {
		out := map[int64][2]int64{}
		for batch, err := range f.other().Scan(t.Context(), idem.Scan{Columns: []string{"id"}, Where: where, RowIDs: true}) {
			require.NoError(t, err)
			require.Equal(t, []string{"id", delta.RowIDColumn, delta.RowCommitVersionColumn}, []string{batch.ColumnName(0), batch.ColumnName(1), batch.ColumnName(2)})
			id, row, version := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Int64), batch.Column(2).(*array.Int64)
			for i := range int(batch.NumRows()) {
				out[id.Value(i)] = [2]int64{row.Value(i), version.Value(i)}
			}
		}
		return out
	}
	_, err := f.table.Append(t.Context(), rowsOf(r1, r2, r3), idem.Append{Reason: "test"})
	require.NoError(t, err)
	before := ids("")
	require.Len(t, before, 3)
	seen := map[int64]bool{}
	for _, v := range before {
		require.False(t, seen[v[0]], "an id is of one row")
		seen[v[0]] = true
		require.EqualValues(t, 1, v[1])
	}
	_, err = f.table.Delete(t.Context(), idem.Delete{Where: "id = ?", Args: []any{r2.id}})
	require.NoError(t, err)
	after := ids("")
	require.Len(t, after, 2)
	for id, v := range after {
		require.Equal(t, before[id], v, "row %d", id)
	}
	require.Equal(t, map[int64][2]int64{r3.id: before[r3.id]}, ids(fmt.Sprintf("id = %d", r3.id)))
}

func TestRowIDsNeedRowTracking(t *testing.T) {
	f := newFixture(t)
	for _, err := range f.table.Scan(t.Context(), idem.Scan{RowIDs: true}) {
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "delta.enableRowTracking")
	}
}
