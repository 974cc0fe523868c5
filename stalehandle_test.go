package idem_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// A process that keeps a table open does not see what others do until it writes. What its old snapshot
// says must not keep it from working for good.
func TestATableThatWasLeftOpen(t *testing.T) {
	row := tabletest.Row{Day: "d", ID: 1, Seq: 1, V: 1}
	rows := func() tabletest.Rereader { return tabletest.Again(memory.DefaultAllocator, 0, row) }
	merge := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}

	t.Run("reads files that a vacuum took since: the next call succeeds", func(t *testing.T) {
		f := tabletest.New(t, 1, tabletest.Definition(nil, nil))
		_, err := f.Table.Append(f.Context, rows(), idem.Append{Reason: "test"})
		require.NoError(t, err)
		old, err := idem.OpenStore(f.Context, f.Store, f.Options)
		require.NoError(t, err)
		_, err = f.Table.ReplaceAll(f.Context, rows2(), idem.ReplaceAll{})
		require.NoError(t, err)
		f.Clock.Advance(8 * 24 * time.Hour)
		v, err := maintain.VacuumTable(f.Context, f.Table, maintain.Vacuum{})
		require.NoError(t, err)
		require.EqualValues(t, 1, v.Files)

		_, err = old.Merge(f.Context, rows(), merge)
		require.ErrorIs(t, err, idem.ErrConflict)
		require.NotErrorIs(t, err, idem.ErrCorrupt)
		res, err := old.Merge(f.Context, rows(), merge)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
	})

	t.Run("appends under a definition of long ago: it says since when", func(t *testing.T) {
		f := tabletest.New(t, 5, tabletest.Definition(nil, nil))
		old, err := idem.OpenStore(f.Context, f.Store, f.Options)
		require.NoError(t, err)
		_, err = maintain.AlterTable(f.Context, f.Table, maintain.Alter{Changes: []maintain.Change{maintain.AddConstraint{Name: "some", Check: "id > 0"}}})
		require.NoError(t, err)
		_, err = old.Append(f.Context, rows(), idem.Append{Reason: "test"})
		require.ErrorIs(t, err, idem.ErrConflict)
		require.ErrorContains(t, err, "the property delta.constraints.some changed between version 0, which the call was planned on, and version 1; call again")
		require.True(t, idem.SafeToRunAgain(err))
		_, err = old.Append(f.Context, rows(), idem.Append{Reason: "test"})
		require.NoError(t, err)
	})

	t.Run("moves back a tag that was recorded since", func(t *testing.T) {
		f := tabletest.New(t, 2, tabletest.Definition(nil, nil))
		old, err := idem.OpenStore(f.Context, f.Store, f.Options)
		require.NoError(t, err)
		_, err = f.Table.AppendWithTxn(f.Context, rows(), idem.Txn{AppID: "a", Version: 5})
		require.NoError(t, err)
		res, err := old.RewindTxn(f.Context, "a", 2)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		_, err = old.RewindTxn(f.Context, "a", 3)
		require.ErrorIs(t, err, idem.ErrInput)
	})

	t.Run("is of a table that was dropped and made anew since: it writes nothing, and one that is opened begins afresh", func(t *testing.T) {
		f := tabletest.New(t, 3, tabletest.Definition(nil, nil))
		tag := idem.Txn{AppID: "a", Version: 5}
		_, err := f.Table.AppendWithTxn(f.Context, rows(), tag)
		require.NoError(t, err)
		dropTable(t, f)
		anew, _, err := idem.CreateStore(f.Context, f.Store, tabletest.Definition(nil, nil), tabletest.Options(4, f.Clock))
		require.NoError(t, err)
		f.Clock.Advance(time.Minute)
		for name, write := range map[string]func(*idem.Table) (*idem.Result, error){
			"AppendWithTxn": func(table *idem.Table) (*idem.Result, error) { return table.AppendWithTxn(f.Context, rows(), tag) },
			"Append": func(table *idem.Table) (*idem.Result, error) {
				return table.Append(f.Context, rows(), idem.Append{Reason: "test"})
			},
			"ReplaceAll": func(table *idem.Table) (*idem.Result, error) {
				return table.ReplaceAll(f.Context, rows2(), idem.ReplaceAll{})
			},
			"Merge": func(table *idem.Table) (*idem.Result, error) { return table.Merge(f.Context, rows(), merge) },
		} {
			_, err = write(f.Table)
			require.ErrorIs(t, err, idem.ErrConflict, name)
			require.ErrorContains(t, err, "open it again", name)
		}
		v, err := anew.Refresh(f.Context)
		require.NoError(t, err)
		require.Zero(t, v)
		res, err := anew.AppendWithTxn(f.Context, rows(), tag)
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		f.Check(t, tabletest.Of(row))
	})
}

// TestATableThatWasDropped: no call on a table that somebody took away says that it did something, whether it writes
// files or reads those that are gone.
// A call that looked at the log before another call of the same Table committed does not take its table back.
func TestATableThatTwoCallsUse(t *testing.T) {
	places := 0
	for within := true; within; places++ {
		f := newFixture(t)
		_, err := f.other().Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
		calls, want := 0, int64(1)
		within = false
		f.store.Before = func(storetest.Call) storetest.Fault {
			if calls++; calls == places+1 {
				within, want = true, 2
				_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 2, 1, "b"}), idem.Append{Reason: "test"})
				require.NoError(t, err)
			}
			return storetest.Fault{}
		}
		_, err = f.table.Refresh(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, f.table.Version(), "after operation %d", places)
	}
	require.Greater(t, places, 3)
}

func TestATableThatWasDropped(t *testing.T) {
	row := tabletest.Row{Day: "d", ID: 1, Seq: 1, V: 1}
	rows := func() tabletest.Rereader { return tabletest.Again(memory.DefaultAllocator, 0, row) }
	for name, call := range map[string]func(context.Context, *idem.Table) error{
		"Refresh":                            func(ctx context.Context, table *idem.Table) error { _, err := table.Refresh(ctx); return err },
		"At":                                 func(ctx context.Context, table *idem.Table) error { _, err := table.At(ctx, 1); return err },
		"At, a version that one of them has": func(ctx context.Context, table *idem.Table) error { _, err := table.At(ctx, 5); return err },
		"AtTime": func(ctx context.Context, table *idem.Table) error {
			_, err := table.AtTime(ctx, time.Now())
			return err
		},
		"Append": func(ctx context.Context, table *idem.Table) error {
			_, err := table.Append(ctx, rows(), idem.Append{Reason: "test"})
			return err
		},
		"AppendWithTxn, a new version": func(ctx context.Context, table *idem.Table) error {
			_, err := table.AppendWithTxn(ctx, rows(), idem.Txn{AppID: "a", Version: 6})
			return err
		},
		"AppendWithTxn, an applied version": func(ctx context.Context, table *idem.Table) error {
			_, err := table.AppendWithTxn(ctx, rows(), idem.Txn{AppID: "a", Version: 5})
			return err
		},
		"ReplaceWhere": func(ctx context.Context, table *idem.Table) error {
			_, err := table.ReplaceWhere(ctx, rows(), idem.ReplaceWhere{Where: "id = 1"})
			return err
		},
		"ReplaceAll": func(ctx context.Context, table *idem.Table) error {
			_, err := table.ReplaceAll(ctx, rows2(), idem.ReplaceAll{})
			return err
		},
		"Merge": func(ctx context.Context, table *idem.Table) error {
			_, err := table.Merge(ctx, tabletest.Again(memory.DefaultAllocator, 0, tabletest.Row{Day: "d", ID: 1, Seq: 2, V: 2}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			return err
		},
		"Delete": func(ctx context.Context, table *idem.Table) error {
			_, err := table.Delete(ctx, idem.Delete{Where: "v = 1"})
			return err
		},
		"RewindTxn": func(ctx context.Context, table *idem.Table) error { _, err := table.RewindTxn(ctx, "a", 4); return err },
		"UpdateTable": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.UpdateTable(ctx, table, maintain.Update{Where: "id = 1", Set: map[string]string{"v": "7"}})
			return err
		},
		"OptimizeTable": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.OptimizeTable(ctx, table, maintain.Optimize{})
			return err
		},
		"VacuumTable": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.VacuumTable(ctx, table, maintain.Vacuum{})
			return err
		},
		"Checkpoint": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.Checkpoint(ctx, table)
			return err
		},
		"CompactLog": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.CompactLog(ctx, table, 0, 1)
			return err
		},
		"CleanUpLog": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.CleanUpLog(ctx, table, maintain.CleanUp{})
			return err
		},
		"EnableFeature": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.EnableFeature(ctx, table, maintain.Enable{Feature: "deletionVectors"})
			return err
		},
		"RestoreTable": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.RestoreTable(ctx, table, maintain.Restore{To: maintain.Version(1)})
			return err
		},
		"AlterTable": func(ctx context.Context, table *idem.Table) error {
			_, err := maintain.AlterTable(ctx, table, maintain.Alter{Changes: []maintain.Change{maintain.SetProperties{Properties: map[string]string{"a": "b"}}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := tabletest.New(t, 1, tabletest.Definition(nil, nil))
			_, err := f.Table.AppendWithTxn(f.Context, rows(), idem.Txn{AppID: "a", Version: 5})
			require.NoError(t, err)
			_, err = f.Table.Append(f.Context, rows2(), idem.Append{Reason: "test"})
			require.NoError(t, err)
			dropTable(t, f)
			require.ErrorIs(t, call(f.Context, f.Table), idem.ErrNotTable)
			for info, err := range f.Store.List(f.Context, delta.LogDir, "") {
				require.NoError(t, err)
				t.Errorf("%s was written", info.Key)
			}
		})
	}
}

// A view is of the table that was opened, never of one that was made anew at its place.
func TestViewsOfATableThatWasMadeAnew(t *testing.T) {
	f := tabletest.New(t, 1, tabletest.Definition(nil, nil))
	_, err := f.Table.Append(f.Context, rows2(), idem.Append{Reason: "test"})
	require.NoError(t, err)
	view, err := f.Table.At(f.Context, 1)
	require.NoError(t, err)
	dropTable(t, f)
	other, _, err := idem.CreateStore(f.Context, f.Store, tabletest.Definition(nil, nil), f.Table.Options())
	require.NoError(t, err)
	for v := range int64(3) {
		_, err = other.Append(f.Context, rows2(), idem.Append{Reason: "test"})
		require.NoError(t, err)
		for of, table := range map[string]*idem.Table{"the table": f.Table, "a view": view} {
			_, err = table.At(f.Context, v)
			require.ErrorIs(t, err, idem.ErrConflict, of)
			require.ErrorContains(t, err, "dropped and made anew")
			_, err = table.AtTime(f.Context, f.Clock.Now())
			require.ErrorIs(t, err, idem.ErrConflict, of)
		}
	}
}

// dropTable deletes all that a store holds.
func dropTable(t *testing.T, f *tabletest.Fixture) {
	for info, err := range f.Store.List(f.Context, "", "") {
		require.NoError(t, err)
		require.NoError(t, f.Store.Delete(f.Context, info.Key))
	}
}

func rows2() tabletest.Rereader {
	return tabletest.Again(memory.DefaultAllocator, 0, tabletest.Row{Day: "d", ID: 2, Seq: 1, V: 2})
}
