package idem_test

import (
	"context"
	"errors"
	"strings"
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

// TestErrorsOfAJobAreItsOwn: a job may have committed before it failed, and RunTwice does not say that nothing was,
// nor that it may be run again.
func TestErrorsOfAJobAreItsOwn(t *testing.T) {
	plain := func(ctx context.Context, table *idem.Table) error {
		_, err := table.Append(ctx, rowsOf(r1), idem.Append{Reason: "test"})
		return err
	}
	for _, c := range []struct {
		name  string
		fails int // the run
		with  func(ctx context.Context, table *idem.Table) error
		want  error
		says  string
	}{
		{"in its first run", 1, func(context.Context, *idem.Table) error { return errBroken }, errBroken, "run 1 of the job: " + errBroken.Error()},
		{"in its second run", 2, func(context.Context, *idem.Table) error { return errBroken }, errBroken, "run 2 of the job: " + errBroken.Error()},
		{"with an error of a verb", 1, func(ctx context.Context, table *idem.Table) error {
			_, err := table.Merge(ctx, rowsOf(r1), idem.Merge{On: []string{"id"}})
			return err
		}, idem.ErrInput, "run 1 of the job: idem: Merge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, run := newFixture(t), 0
			_, err := idem.RunTwice(t.Context(), f.table, func(ctx context.Context, table *idem.Table) error {
				if run++; run < c.fails {
					return plain(ctx, table)
				}
				require.NoError(t, plain(ctx, table))
				return c.with(ctx, table)
			})
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
			var e *idem.Error
			require.ErrorAs(t, err, &e)
			for name, s := range sentinels {
				require.Equal(t, s == c.want, errors.Is(err, s), name)
			}
			require.NotContains(t, err.Error(), "nothing was committed")
			require.False(t, idem.SafeToRunAgain(err), "the job would append once more")
			require.Len(t, f.rows(), c.fails)
		})
	}
}

// TestRunTwiceThatFailsAfterARun says that the job ran.
func TestRunTwiceThatFailsAfterARun(t *testing.T) {
	for fails, says := range []string{"nothing was committed", "runs: 1, with what it committed, and that stays", "runs: 2, with what it committed, and that stays"} {
		f, run := newFixture(t), 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if fails == 0 {
			cancel()
		}
		_, err := idem.RunTwice(ctx, f.table, func(ctx context.Context, table *idem.Table) error {
			_, err := table.Append(ctx, rowsOf(r1), idem.Append{Reason: "test"})
			if run++; run == fails {
				cancel()
			}
			return err
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, idem.ErrInterrupted)
		classified(t, err)
		require.ErrorContains(t, err, says)
		require.Equal(t, fails == 0, idem.SafeToRunAgain(err))
		require.Equal(t, fails == 0, strings.Contains(err.Error(), "nothing was committed"))
		require.Len(t, f.rows(), fails)
	}
}

func TestRunTwiceOfNothing(t *testing.T) {
	f := newFixture(t)
	for says, call := range map[string]func() error{
		"the job is nil":   func() error { _, err := idem.RunTwice(t.Context(), f.table, nil); return err },
		"the table is nil": func() error { _, err := idem.RunTwice(t.Context(), nil, nil); return err },
	} {
		err := call()
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, says)
		classified(t, err)
	}
}
