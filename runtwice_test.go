package idem_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

func TestRunTwiceNamesTheCause(t *testing.T) {
	list := []order{{"d1", 1, 1, "a"}, {"d1", 2, 1, "b"}}
	run := 0
	for _, c := range []struct {
		name string
		job  idem.Job
		says string
	}{
		{"another version under one app id", func(ctx context.Context, table *idem.Table) error {
			run++
			_, err := table.AppendWithTxn(ctx, rowsOf(list...), idem.Txn{AppID: "loader", Version: int64(run)})
			return err
		}, "another tag in every run"},
		{"a delete of what an earlier run left", func(ctx context.Context, table *idem.Table) error {
			run++
			_, err := table.Delete(ctx, idem.Delete{Where: "id <= ?", Args: []any{run}})
			return err
		}, "a delete that finds more the second time"},
		{"another version, and a value that changes", func(ctx context.Context, table *idem.Table) error {
			run++
			_, err := table.AppendWithTxn(ctx, rowsOf(order{"d1", 1, int64(run), "a"}), idem.Txn{AppID: "loader", Version: int64(run)})
			return err
		}, "another tag in every run"},
		{"an input that grows", func(ctx context.Context, table *idem.Table) error {
			run++
			_, err := table.ReplaceAll(ctx, rowsOf(append(list[:1:1], order{"d1", 7, 1, "g"}, order{"d1", 8, 1, "h"})[:run+1]...), idem.ReplaceAll{})
			return err
		}, "the input grew"},
		{"a count that goes by what is in the table", func(ctx context.Context, table *idem.Table) error {
			found, err := table.Fingerprint(ctx, idem.Fingerprint{})
			if err != nil {
				return err
			}
			_, err = table.Merge(ctx, rowsOf(order{"d2", 100 + found.Rows, 1, "n"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			return err
		}, "the job reads its own output"},
		{"a plain append", func(ctx context.Context, table *idem.Table) error {
			_, err := table.Append(ctx, rowsOf(list...), idem.Append{Reason: "test"})
			return err
		}, "appends without a tag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run = 0
			f := newFixture(t)
			_, err := f.table.Append(t.Context(), rowsOf(list...), idem.Append{Reason: "test"})
			require.NoError(t, err)
			d, err := idem.RunTwice(t.Context(), f.table, c.job)
			require.NoError(t, err)
			require.False(t, d.Same())
			require.Contains(t, d.String(), c.says)
		})
	}
	t.Run("a view", func(t *testing.T) {
		f := newFixture(t)
		view, err := f.table.At(t.Context(), 0)
		require.NoError(t, err)
		_, err = idem.RunTwice(t.Context(), view, func(ctx context.Context, table *idem.Table) error {
			t.Fatal("the job would write to the table itself")
			return nil
		})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "this is a view of version 0")
	})
	t.Run("a job that can be repeated", func(t *testing.T) {
		f := newFixture(t)
		d, err := idem.RunTwice(t.Context(), f.table, func(ctx context.Context, table *idem.Table) error {
			_, err := table.ReplaceAll(ctx, rowsOf(list...), idem.ReplaceAll{})
			return err
		})
		require.NoError(t, err)
		require.Equal(t, "diff: 0 rows", d.String())
	})
}
