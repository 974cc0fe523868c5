package idem_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
)

// TestRowsThatWereReadAreNotTakenForNone: a caller that tries again with the same reader, as
// SafeToRunAgain says it may, loses no row: what can be read again is, and what cannot is refused.
func TestRowsThatWereReadAreNotTakenForNone(t *testing.T) {
	for _, v := range []struct {
		name string
		run  func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error)
	}{
		{"AppendWithTxn", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
			return t.AppendWithTxn(ctx, rows, tagged)
		}},
		{"Append", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
			return t.Append(ctx, rows, idem.Append{Reason: "test"})
		}},
		{"ReplaceWhere", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
			return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "id > 0", AllowEmpty: true})
		}},
		{"ReplaceAll", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
			return t.ReplaceAll(ctx, rows, idem.ReplaceAll{AllowEmpty: true, Txn: tagged})
		}},
		{"Merge", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
			return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Txn: tagged})
		}},
	} {
		interrupted := func(t *testing.T, rows array.RecordReader) *fixture {
			f := newFixture(t)
			f.store.Reset(storetest.Rule{Op: storetest.OpCreate, Fault: storetest.Fault{Kind: storetest.Denied}})
			_, err := v.run(t.Context(), f.table, rows)
			require.ErrorIs(t, err, idem.ErrInterrupted)
			require.True(t, idem.SafeToRunAgain(err))
			f.store.Reset()
			return f
		}
		t.Run(v.name+"/rows that can be read again", func(t *testing.T) {
			rows := again(r1, r2, r3)
			f := interrupted(t, rows)
			res, err := v.run(t.Context(), f.other(), rows)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.Len(t, f.rows(), 3, "with another handle too")
		})
		t.Run(v.name+"/rows that cannot", func(t *testing.T) {
			rows := rowsOf(r1, r2, r3)
			f := interrupted(t, rows)
			_, err := v.run(t.Context(), f.other(), rows)
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, "make the reader anew")
			classified(t, err)
			require.Empty(t, f.rows())
			require.EqualValues(t, 0, f.other().Version(), "and no tag says that they were written")
			runtime.KeepAlive(rows)
		})
	}
}

func TestNoRowsAtAll(t *testing.T) {
	f := newFixture(t)
	var none *rewound
	_, err := f.table.ReplaceAll(t.Context(), none, idem.ReplaceAll{})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "the rows are nil")
	_, err = f.table.AppendWithTxn(t.Context(), none, tagged)
	require.ErrorIs(t, err, idem.ErrInput)
}
