package idem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// TestAnExpressionThatFailsInARowNamesIt: rows count from 1 through all batches of the input, and
// through those of a file.
func TestAnExpressionThatFailsInARowNamesIt(t *testing.T) {
	f := newFixture(t)
	rows := func() *rewound { return &rewound{RecordReader: many("d", 1, 10, 1, 4)} }
	_, err := f.table.ReplaceWhere(t.Context(), rows(), idem.ReplaceWhere{Where: "100 / (id - 7) > -1000"})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "row 7: 100.0 / 0.0 divides by zero", "the third batch's third row")
	classified(t, err)

	before(appendRows(r1, r2, order{"a", 7, 1, "q"}))(f)
	_, err = f.table.Delete(t.Context(), idem.Delete{Where: "100 / (id - 7) > 1000"})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "row 3")
	require.ErrorContains(t, err, ".parquet")
	classified(t, err)
	for _, err := range f.table.Scan(t.Context(), idem.Scan{Where: "100 / (id - 7) > 1000"}) {
		require.ErrorContains(t, err, "row 3")
		require.ErrorIs(t, err, idem.ErrInput)
		break
	}
}
