package idem_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// cdc is a merge with clauses of every kind.
func cdc() idem.Merge {
	return idem.Merge{
		On: []string{"id"}, Newer: []string{"seq"},
		Matched:            []idem.Clause{{When: "op = 'd'", Do: idem.DoDelete}, {}},
		NotMatched:         []idem.Clause{{When: "op = 'd'", Do: idem.DoNothing}, {}},
		NotMatchedBySource: []idem.Clause{{When: "v = 'stale'", Do: idem.DoDelete}},
	}
}

func TestSecondCallOfMergeWithClauses(t *testing.T) {
	begin := func(t *testing.T) *fixture {
		f := newFixture(t)
		_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}, order{"d1", 3, 1, "stale"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
		return f
	}
	run := func(ctx context.Context, table *idem.Table, m idem.Merge) (*idem.Result, error) {
		return table.Merge(ctx, changes("dudu", order{"d1", 1, 5, ""}, order{"d2", 2, 5, "B"}, order{"d1", 9, 5, ""}, order{"d1", 4, 5, "n"}), m)
	}
	want := []string{"d2/2/5/B", "d1/4/5/n"}
	t.Run("same input again", func(t *testing.T) {
		f := begin(t)
		res, err := run(t.Context(), f.table, cdc())
		require.NoError(t, err)
		require.Equal(t, []int64{1, 1, 2, 1}, []int64{res.Inserted, res.Updated, res.Deleted, res.DeletedBySource})
		require.ElementsMatch(t, want, f.rows())
		files := f.dataFiles()
		res, err = run(t.Context(), f.table, cdc())
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.Equal(t, files, f.dataFiles(), "no file is written")
	})
	t.Run("older input", func(t *testing.T) {
		f := begin(t)
		_, err := run(t.Context(), f.table, cdc())
		require.NoError(t, err)
		res, err := f.table.Merge(t.Context(), changes("du", order{"d1", 2, 4, ""}, order{"d1", 4, 4, "old"}), cdc())
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.EqualValues(t, 2, res.SkippedOlder)
	})
	t.Run("empty input", func(t *testing.T) {
		f := begin(t)
		_, err := f.table.Merge(t.Context(), changes(""), cdc())
		require.ErrorIs(t, err, idem.ErrInput, "every row would be unmatched")
		m := cdc()
		m.NotMatchedBySource = nil
		res, err := f.table.Merge(t.Context(), changes(""), m)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	})
	t.Run("with a Txn", func(t *testing.T) {
		f := begin(t)
		m := cdc()
		m.Txn = idem.Txn{AppID: "cdc", Version: 3}
		for _, outcome := range []idem.Outcome{idem.Committed, idem.AlreadyApplied} {
			res, err := run(t.Context(), f.table, m)
			require.NoError(t, err)
			require.Equal(t, outcome, res.Outcome)
			require.ElementsMatch(t, want, f.rows())
		}
		m.Txn.Version = 2
		res, err := run(t.Context(), f.table, m)
		require.NoError(t, err)
		require.Equal(t, idem.Superseded, res.Outcome)
	})
	t.Run("two at once, the same rows", func(t *testing.T) {
		f := begin(t)
		f.raced(func(o *idem.Table) {
			_, err := run(t.Context(), o, cdc())
			require.NoError(t, err)
		})
		res, err := run(t.Context(), f.table, cdc())
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.ElementsMatch(t, want, f.rows())
	})
	t.Run("after RESTORE", func(t *testing.T) {
		f := begin(t)
		_, err := run(t.Context(), f.table, cdc())
		require.NoError(t, err)
		f.restore(1)
		_, err = run(t.Context(), f.other(), cdc())
		require.NoError(t, err)
		require.ElementsMatch(t, want, f.rows(), "it merges again")
	})
}

// marked are the properties of a table whose rows are deleted by vectors.
var marked = []string{"delta.enableDeletionVectors", "true"}

// TestMergesWithClausesAtOnce: whatever another writer does just before our commit, the table is what
// it would be if we had come after it.
func TestMergesWithClausesAtOnce(t *testing.T) {
	ours := func(ctx context.Context, table *idem.Table) (*idem.Result, error) {
		return table.Merge(ctx, changes("dduu", order{"d1", 1, 5, ""}, order{"d1", 20, 5, ""}, order{"d3", 2, 5, "ours"}, order{"d1", 30, 5, "ours"}), cdc())
	}
	for _, c := range []struct {
		why    string
		theirs func(ctx context.Context, table *idem.Table) (*idem.Result, error)
	}{
		{"a merge of the same rows to other values", func(ctx context.Context, o *idem.Table) (*idem.Result, error) {
			return o.Merge(ctx, changes("uud", order{"d1", 1, 9, "theirs"}, order{"d1", 30, 4, "theirs"}, order{"d1", 2, 4, ""}), cdc())
		}},
		{"an insert of a key that we delete", func(ctx context.Context, o *idem.Table) (*idem.Result, error) {
			return o.Append(ctx, rowsOf(order{"d2", 20, 1, "theirs"}), idem.Append{Reason: "test"})
		}},
		{"an insert of a row that no source row of ours matches, and that our clause deletes", func(ctx context.Context, o *idem.Table) (*idem.Result, error) {
			return o.Append(ctx, rowsOf(order{"d2", 77, 1, "stale"}), idem.Append{Reason: "test"})
		}},
		{"an insert of rows that no clause of ours can meet", func(ctx context.Context, o *idem.Table) (*idem.Result, error) {
			return o.Append(ctx, rowsOf(order{"d2", 77, 1, "fresh"}), idem.Append{Reason: "test"})
		}},
		{"a row becomes stale", func(ctx context.Context, o *idem.Table) (*idem.Result, error) {
			return o.Merge(ctx, rowsOf(order{"d1", 8, 9, "stale"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		}},
		{"a slice is replaced", func(ctx context.Context, o *idem.Table) (*idem.Result, error) {
			return o.ReplaceWhere(ctx, rowsOf(order{"d1", 1, 2, "theirs"}, order{"d1", 30, 9, "theirs"}), idem.ReplaceWhere{Where: "day = 'd1'"})
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, asks := range []struct {
				memory     int64
				properties []string
			}{{0, nil}, {1, nil}, {0, marked}, {1, append([]string{"delta.enableChangeDataFeed", "true", "delta.enableRowTracking", "true"}, marked...)}} {
				begin := func() *fixture {
					f := newFixture(t, asks.properties...)
					var err error
					f.table, err = idem.OpenStore(t.Context(), f.store, idem.Options{Parallelism: 1, MemoryBytes: asks.memory, TempDir: t.TempDir()})
					require.NoError(t, err)
					_, err = f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}, order{"d1", 3, 1, "stale"}, order{"d2", 8, 1, "d"}, order{"d2", 9, 1, "e"}), idem.Append{Reason: "test"})
					require.NoError(t, err)
					return f
				}
				alone := begin()
				_, err := c.theirs(t.Context(), alone.table)
				require.NoError(t, err)
				_, err = ours(t.Context(), alone.table)
				require.NoError(t, err)

				f := begin()
				f.raced(func(o *idem.Table) {
					_, err := c.theirs(t.Context(), o)
					require.NoError(t, err)
				})
				res, err := ours(t.Context(), f.table)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.ElementsMatch(t, alone.rows(), f.rows(), "as one after the other")
			}
		})
	}
}

// TestARedoneMergeUsesWhatItWrote: a merge that is overtaken looks only at files that are new to it,
// and writes new rows once.
func TestARedoneMergeUsesWhatItWrote(t *testing.T) {
	f := clausesBegun(t)
	f.raced(func(o *idem.Table) {
		_, err := o.Append(t.Context(), rowsOf(order{"d9", 6, 1, "theirs"}, order{"d9", 9, 1, "theirs"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
	})
	f.store.Reset()
	res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 2, 6, "B"}, order{"d2", 8, 6, "n"}, order{"d9", 7, 1, "new"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.Equal(t, 2, res.Attempts)
	require.Equal(t, 3, f.store.Count("CREATE"), "a file with the changed row, and one for each partition with new ones")
	require.ElementsMatch(t, []string{"d1/1/5/a", "d1/2/6/B", "d1/3/5/c", "d9/6/1/theirs", "d9/9/1/theirs", "d2/8/6/n", "d9/7/1/new"}, f.rows())
}
