package idemtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/idemtest"
)

// TestProveRefuses: what makes a proof worthless ends the test, with words that lead out.
func TestProveRefuses(t *testing.T) {
	whole := func(ctx context.Context, table *idem.Table) error {
		return replaceSales(ctx, table, salesOf(t, fourSales...))
	}
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: sales}, idem.Options{})
	require.NoError(t, err)
	require.NoError(t, replaceSales(t.Context(), table, salesOf(t, fourSales[:1]...)))
	view, err := table.At(t.Context(), 0)
	require.NoError(t, err)
	own := func(ctx context.Context) *idem.Table {
		table, err := idem.OpenStore(ctx, mem, idem.Options{})
		require.NoError(t, err)
		return table
	}
	runs := 0
	for _, c := range []struct {
		name  string
		table *idem.Table
		job   idem.Job
		o     idemtest.Options
		says  string
	}{
		{"a job that opens its own table", table, func(ctx context.Context, _ *idem.Table) error { return whole(ctx, own(ctx)) },
			idemtest.Options{}, "the job did nothing with the table that it was handed: it opens one itself"},
		{"a job that reads the table it is handed and writes to its own", table, func(ctx context.Context, table *idem.Table) error {
			if _, err := isEmpty(ctx, table); err != nil {
				return err
			}
			return appendSales(ctx, own(ctx), salesOf(t, fourSales...))
		}, idemtest.Options{}, "was made during the run, but not with the table that the job was handed"},
		{"a job that opens its own table now and then", table, func(ctx context.Context, table *idem.Table) error {
			if runs++; runs == 4 {
				if err := appendSales(ctx, own(ctx), salesOf(t, sale{id: "z"})); err != nil {
					return err
				}
			}
			return whole(ctx, table)
		}, idemtest.Options{}, "was made while the job ran on copies"},
		{"a view", view, whole, idemtest.Options{}, "hand in the table, not a view of it"},
		{"no job", table, nil, idemtest.Options{}, "the job is nil"},
		{"a job that fails", table, func(context.Context, *idem.Table) error { return errors.New("the source is away") },
			idemtest.Options{}, "run 1 of the job: the source is away"},
		{"a job that panics", table, func(ctx context.Context, table *idem.Table) error {
			var res *idem.Result
			return errors.New(res.String())
		}, idemtest.Options{}, "prove_test.go"},
		{"a column that is not there", table, whole, idemtest.Options{Ignore: []string{"loaded"}}, `Options.Ignore names "loaded"`},
		{"a way that is none", table, whole, idemtest.Options{Skip: []idemtest.Way{"thrice"}}, `Options.Skip names "thrice"`},
		{"nothing left", table, whole, idemtest.Options{Skip: []idemtest.Way{idemtest.Twice}}, `Options.Skip names "twice"`},
		{"fewer points than none", table, whole, idemtest.Options{MaxPoints: -1}, "Options.MaxPoints is negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := record(t, func(t testing.TB) { idemtest.Prove(t, c.table, c.job, c.o) })
			require.True(t, r.fatal, r.said())
			require.Contains(t, r.said(), c.says)
			require.NotContains(t, r.said(), "diff: 0 rows")
		})
	}
}

// TestProveReportsRunsThatFail: a job that cannot be run again is told apart from one that changes
// the table.
func TestProveReportsRunsThatFail(t *testing.T) {
	t.Run("the second run", func(t *testing.T) {
		r := prove(t, salesTable(t), func(ctx context.Context, table *idem.Table) error {
			empty, err := isEmpty(ctx, table)
			if err != nil || !empty {
				return errors.Join(err, errors.New("loaded already"))
			}
			return replaceSales(ctx, table, salesOf(t, fourSales...))
		}, idemtest.Options{})
		require.Contains(t, r.said(), "twice: run 2 of the job: loaded already")
	})
	t.Run("the run after a kill", func(t *testing.T) {
		r := prove(t, salesTable(t), func(ctx context.Context, table *idem.Table) error {
			if _, begun := table.Snapshot().Txn("begun"); begun {
				if _, ended := table.Snapshot().Txn("ended"); !ended {
					return errors.New("an earlier run has not ended")
				}
			}
			for _, app := range []string{"begun", "ended"} {
				if err := recordBatch(ctx, t, table, app); err != nil {
					return err
				}
			}
			return nil
		}, idemtest.Options{Skip: []idemtest.Way{idemtest.Faults}})
		require.Contains(t, r.said(), "killed: operation 2 of 6 (PUT-IF-ABSENT _delta_log/00000000000000000001.json) was the last before the process died; "+
			`run again, the job ended in: an earlier run has not ended`)
		require.NotContains(t, r.said(), "faults")
	})
	t.Run("a panic at a fault", func(t *testing.T) {
		r := prove(t, salesTable(t), func(ctx context.Context, table *idem.Table) error {
			res, _ := table.AppendWithTxn(ctx, salesOf(t, fourSales...), idem.Txn{AppID: "loader", Version: 1})
			_ = res.Version
			return nil
		}, idemtest.Options{})
		require.False(t, r.failed, "to a scheduler a panic is an error: %s", r.said())
	})
}

// TestAKilledJobIsTold: what tries again and again ends with its process, by its context.
func TestAKilledJobIsTold(t *testing.T) {
	most := 0
	r := prove(t, salesTable(t), func(ctx context.Context, table *idem.Table) (err error) {
		for tries := range 100 {
			most = max(most, tries)
			if err = replaceSales(ctx, table, salesOf(t, fourSales...)); err == nil || ctx.Err() != nil {
				break
			}
		}
		return err
	}, idemtest.Options{})
	require.False(t, r.failed, r.said())
	require.LessOrEqual(t, most, 1, "the context ends with the call that the process died in")
}

func TestProveBoundsTheStoreOperations(t *testing.T) {
	job := func(ctx context.Context, table *idem.Table) error {
		for i := range 5 {
			txn := idem.Txn{AppID: fmt.Sprint("loader-", i), Version: 1}
			if _, err := table.AppendWithTxn(ctx, salesOf(t, fourSales...), txn); err != nil {
				return err
			}
		}
		return nil
	}
	r := prove(t, salesTable(t), job, idemtest.Options{MaxPoints: 3, Skip: []idemtest.Way{idemtest.AnotherDay}})
	require.False(t, r.failed, r.said())
	require.Contains(t, r.said(), "ran 5 ways")
	require.Contains(t, r.said(), "killed 6, two at once 6")
	require.Contains(t, r.said(), "note: 3 of the 25 store operations of the job were disturbed")
}

func TestProveNotes(t *testing.T) {
	r := prove(t, salesTable(t), func(ctx context.Context, table *idem.Table) error {
		_, err := table.Delete(ctx, idem.Delete{Where: "n < 0"})
		return err
	}, idemtest.Options{})
	require.Contains(t, r.said(), "note: the job changed nothing")

	batch := int64(0)
	r = prove(t, salesTable(t), func(ctx context.Context, table *idem.Table) error {
		batch++
		_, err := table.ReplaceAll(ctx, salesOf(t, fourSales...), idem.ReplaceAll{Txn: idem.Txn{AppID: "loader", Version: batch}})
		return err
	}, idemtest.Options{})
	require.False(t, r.failed, r.said())
	require.Contains(t, r.said(), "note: the second run made 1 versions although no row changed")
}

func prove(t *testing.T, table *idem.Table, job idem.Job, o idemtest.Options) *recorder {
	t.Helper()
	return record(t, func(t testing.TB) { idemtest.Prove(t, table, job, o) })
}
