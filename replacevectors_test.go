package idem_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
)

// cutTables are tables on which Delete and ReplaceWhere cut files in other ways than by copying them.
var cutTables = map[string]map[string]string{
	"vectors":        {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
	"vectors, feed":  {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": "name"},
	"feed, tracking": {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true", "delta.columnMapping.mode": "id"},
}

// TestFaultSweepOfCutFiles: with vectors, change files and row ids a call that fails, or whose answer is
// lost, claims nothing that is not so, and two runs are one.
func TestFaultSweepOfCutFiles(t *testing.T) {
	oneGoroutine(t)
	kinds := []storetest.Kind{storetest.FailBefore, storetest.LostAnswer, storetest.LateEffect, storetest.CrashAfter}
	for name, properties := range cutTables {
		for _, v := range verbs {
			if v.name != "Delete" && v.name != "ReplaceWhere" {
				continue
			}
			_, st, table := sweptWith(t, properties)
			_, err := v.run(t.Context(), table)
			require.NoError(t, err)
			for i := 1; i <= st.Calls(); i++ {
				for _, kind := range kinds {
					t.Run(fmt.Sprintf("%s/%s/%d/%s", name, v.name, i, kind), func(t *testing.T) { sweepOnce(t, properties, v.run, v.want, i, kind) })
				}
			}
		}
	}
}

func sweepOnce(t *testing.T, properties map[string]string, run func(context.Context, *idem.Table) (*idem.Result, error), want []string, at int, kind storetest.Kind) {
	mem, st, table := sweptWith(t, properties)
	first := st.Calls()
	st.Before = func(c storetest.Call) storetest.Fault {
		if c.Index == first+at {
			return storetest.Fault{Kind: kind}
		}
		return storetest.Fault{}
	}
	res, err := run(t.Context(), table)
	st.Land(t.Context())
	claim(t, mem, res, err, want)
	_, err = run(t.Context(), opened(t, mem))
	require.NoError(t, err)
	require.ElementsMatch(t, want, scanned(t, opened(t, mem)), "two runs are one")
	res, err = run(t.Context(), opened(t, mem))
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	checkLog(t, mem)
}

// TestCutsOfOneFileAtOnce: another writer cuts the same file just before we do. A file under another
// vector is another file: what was planned for it is planned anew, and both cuts stand.
func TestCutsOfOneFileAtOnce(t *testing.T) {
	for name, properties := range cutTables {
		for _, c := range []struct {
			why    string
			theirs func(o *idem.Table) error
			ours   func(o *idem.Table) (*idem.Result, error)
			want   []string
		}{
			{"two deletes", func(o *idem.Table) error {
				_, err := o.Delete(t.Context(), idem.Delete{Where: "id = 2"})
				return err
			}, func(o *idem.Table) (*idem.Result, error) {
				return o.Delete(t.Context(), idem.Delete{Where: "id = 3"})
			}, []string{"d1/1/1/v", "d1/4/1/v", "d1/5/1/v", "d1/6/1/v", "d1/7/1/v", "d1/8/1/v", "d1/9/1/v", "d1/10/1/v"}},
			{"a replacement and a merge", func(o *idem.Table) error {
				_, err := o.Merge(t.Context(), rowsOf(order{"d1", 9, 2, "theirs"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
				return err
			}, func(o *idem.Table) (*idem.Result, error) {
				return o.ReplaceWhere(t.Context(), rowsOf(order{"d1", 2, 2, "ours"}), idem.ReplaceWhere{Where: "id BETWEEN 2 AND 8"})
			}, []string{"d1/1/1/v", "d1/2/2/ours", "d1/9/2/theirs", "d1/10/1/v"}},
			{"the same delete", func(o *idem.Table) error {
				_, err := o.Delete(t.Context(), idem.Delete{Where: "id > 1"})
				return err
			}, func(o *idem.Table) (*idem.Result, error) {
				return o.Delete(t.Context(), idem.Delete{Where: "id > 1"})
			}, []string{"d1/1/1/v"}},
		} {
			t.Run(name+"/"+c.why, func(t *testing.T) {
				var list []string
				for key, value := range properties {
					list = append(list, key, value)
				}
				f := tenRows(t, list...)
				f.raced(func(o *idem.Table) { require.NoError(t, c.theirs(o)) })
				_, err := c.ours(f.table)
				require.NoError(t, err)
				require.ElementsMatch(t, c.want, f.rows())
				res, err := c.ours(f.table)
				require.NoError(t, err)
				require.Equal(t, idem.Unchanged, res.Outcome)
			})
		}
	}
}
