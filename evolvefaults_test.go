package idem_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// sweptEvolving are calls on a swept table that bring a column: with rows, and alone.
var sweptEvolving = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table) (*idem.Result, error)
	want []string
}{
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, brought(`{"day":"d1","id":2,"seq":2,"v":"B","extra":7}`), idem.ReplaceWhere{Where: "id = 2", Evolve: true})
	}, []string{"d1/1/1/a/NULL", "d1/2/2/B/7", "d2/3/1/c/NULL"}},
	{"Merge", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Merge(ctx, brought(`{"day":"d1","id":2,"seq":2,"v":"B","extra":7}`), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true})
	}, []string{"d1/1/1/a/NULL", "d1/2/2/B/7", "d2/3/1/c/NULL"}},
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, brought(`{"day":"d1","id":4,"seq":2,"v":"D","extra":7}`), idem.Txn{AppID: "sweep", Version: 1, Evolve: true})
	}, []string{"d1/1/1/a/NULL", "d1/2/1/b/NULL", "d2/3/1/c/NULL", "d1/4/2/D/7"}},
	{"a column alone", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, brought(`{"day":"d1","id":2,"seq":1,"v":"b","extra":null}`), idem.ReplaceWhere{Where: "id = 2", Evolve: true})
	}, []string{"d1/1/1/a/NULL", "d1/2/1/b/NULL", "d2/3/1/c/NULL"}},
}

func brought(line string) array.RecordReader {
	return readerOf(wider("extra", arrow.PrimitiveTypes.Int64, line))
}

// A reader sees the table without the column, or with it and all rows, whatever fails; and two runs
// are one.
func TestFaultsWhileAColumnIsAdded(t *testing.T) {
	oneGoroutine(t)
	kinds := []storetest.Kind{
		storetest.FailBefore, storetest.LostAnswer, storetest.Timeout, storetest.LateEffect, storetest.Conflict, storetest.TornUpload, storetest.CrashBefore, storetest.CrashAfter,
	}
	before := []string{"d1/1/1/a", "d1/2/1/b", "d2/3/1/c"}
	for _, v := range sweptEvolving {
		for i := 1; i <= operations(t, v.run); i++ {
			for _, kind := range kinds {
				t.Run(fmt.Sprintf("%s/%d/%s", v.name, i, kind), func(t *testing.T) {
					mem, st, table := swept(t)
					first := st.Calls()
					st.Before = func(c storetest.Call) storetest.Fault {
						if c.Index == first+i {
							return storetest.Fault{Kind: kind}
						}
						return storetest.Fault{}
					}
					res, err := v.run(t.Context(), table)
					st.Land(t.Context())
					landed := opened(t, mem).Version() == 2
					if landed {
						require.ElementsMatch(t, v.want, allCells(t, mem))
					} else {
						require.ElementsMatch(t, before, allCells(t, mem))
					}
					if err == nil {
						require.Equal(t, idem.Committed, res.Outcome)
						require.Equal(t, []string{"extra"}, res.AddedColumns)
						require.True(t, landed)
					}
					_, err = v.run(t.Context(), opened(t, mem))
					require.NoError(t, err)
					require.ElementsMatch(t, v.want, allCells(t, mem))
					require.EqualValues(t, 2, opened(t, mem).Version(), "two runs are one")
					checkLog(t, mem)
				})
			}
		}
	}
}

func allCells(t *testing.T, mem *store.Mem) []string { return (&fixture{t: t, mem: mem}).cells() }

// A file in which rows leave their partition, and which nobody else touched, is written anew when a
// column of another writer comes in between.
func TestAMergeThatMovesRowsIsRedoneWithAColumnOfOthers(t *testing.T) {
	f := begun(t)
	f.raced(func(o *idem.Table) {
		theirs := readerOf(wider("extra", arrow.PrimitiveTypes.Int64, `{"day":"d2","id":3,"seq":9,"v":"z","extra":1}`, `{"day":"d4","id":4,"seq":9,"v":"z","extra":2}`))
		_, err := o.Merge(t.Context(), theirs, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true})
		require.NoError(t, err)
	})
	ours := rowsOf(order{"d3", 2, 5, "B"}, order{"d2", 3, 0, "old"}, order{"d4", 4, 1, "d"})
	res, err := f.table.Merge(t.Context(), ours, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.EqualValues(t, 2, res.SkippedOlder)
	require.ElementsMatch(t, []string{"d1/1/1/a/NULL", "d3/2/5/B/NULL", "d2/3/9/z/1", "d4/4/9/z/2"}, f.cells())
}
