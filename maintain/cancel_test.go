package maintain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

var operations = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table) (idem.Outcome, error)
	want []string
}{
	{"restore", func(ctx context.Context, t *idem.Table) (idem.Outcome, error) {
		res, err := maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(2)})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}, []string{"a/1/x", "a/2/y"}},
	{"vacuum", func(ctx context.Context, t *idem.Table) (idem.Outcome, error) {
		res, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}, []string{"a/2/y", "a/3/z"}},
	{"optimize", func(ctx context.Context, t *idem.Table) (idem.Outcome, error) {
		res, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}, []string{"a/2/y", "a/3/z"}},
	{"order", func(ctx context.Context, t *idem.Table) (idem.Outcome, error) {
		res, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{ZOrderBy: []string{"id"}})
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}, []string{"a/2/y", "a/3/z"}},
	{"checkpoint", func(ctx context.Context, t *idem.Table) (idem.Outcome, error) {
		res, err := maintain.Checkpoint(ctx, t)
		if err != nil {
			return 0, err
		}
		return res.Outcome, nil
	}, []string{"a/2/y", "a/3/z"}},
}

func worn(t *testing.T) *fixture {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "y"}) // version 2
	f.append(row{"a", 3, "z"})
	f.delete("id = 1")
	f.clock.now = f.clock.now.Add(8 * day)
	f.store.Reset()
	return f
}

// cancelledAt is a context that ends with an operation of the store.
func (f *fixture) cancelledAt(i int) context.Context {
	ctx, cancel := context.WithCancel(f.t.Context())
	f.t.Cleanup(cancel)
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Index == i {
			cancel()
		}
		return storetest.Fault{}
	}
	return ctx
}

func TestContextCancelledAtEveryStoreOperation(t *testing.T) {
	for _, op := range operations {
		set := worn(t).copies()
		f := set(t)
		_, err := op.run(t.Context(), f.table)
		require.NoError(t, err)
		for i := 1; i <= f.store.Calls(); i++ {
			t.Run(fmt.Sprintf("%s/%d", op.name, i), func(t *testing.T) {
				f := set(t)
				before := f.rows()
				_, err := op.run(f.cancelledAt(i), f.table)
				if err != nil && !errors.Is(err, idem.ErrUnknownOutcome) {
					require.ErrorIs(t, err, context.Canceled)
				}
				if err != nil && op.name != "restore" {
					require.Equal(t, before, f.rows())
				}
				f.table = f.other()
				_, err = op.run(t.Context(), f.table)
				require.NoError(t, err)
				require.Equal(t, op.want, f.rows())
				again, err := op.run(t.Context(), f.table)
				require.NoError(t, err)
				require.Equal(t, idem.Unchanged, again)
			})
		}
	}
}

// Two of one operation on different goroutines, without anybody to stop them: whoever is first, both end
// well and the table is as after one.
func TestTwoAtOnceOfEachOperation(t *testing.T) {
	for _, op := range operations {
		f := worn(t)
		var tables [2]*idem.Table
		for i := range tables {
			var err error
			tables[i], err = idem.OpenStore(t.Context(), f.mem, idem.Options{Parallelism: 2, Clock: still{f.clock}})
			require.NoError(t, err)
		}
		errs := make(chan error, len(tables))
		for _, table := range tables {
			go func() { _, err := op.run(t.Context(), table); errs <- err }()
		}
		for range tables {
			require.NoError(t, <-errs, op.name)
		}
		require.Equal(t, op.want, f.rows(), op.name)
		f.table = f.other()
		again, err := op.run(t.Context(), f.table)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, again, op.name)
	}
}

// still is a clock that several goroutines may ask: it stands, and does not wait.
type still struct{ *clock }

func (c still) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func TestVacuumDeletesInBatches(t *testing.T) {
	f := worn(t)
	for i := range 1200 {
		f.put(fmt.Sprintf("orphan-%04d", i))
	}
	f.clock.now = f.clock.now.Add(8 * day)
	require.EqualValues(t, 1201, f.vacuum(maintain.Vacuum{}).Files)
	require.Equal(t, 3, f.store.Count(storetest.OpDelete))
	require.Len(t, f.dataFiles(), 2)
}

// several are the operations that make more than one commit, with the tables that they are for.
var several = []struct {
	name       string
	properties map[string]string
	run        func(ctx context.Context, t *idem.Table) error
}{
	{"turn row tracking on", nil, func(ctx context.Context, t *idem.Table) error {
		_, err := maintain.EnableFeature(ctx, t, maintain.Enable{Feature: "rowTracking"})
		return err
	}},
	{"drop row tracking", map[string]string{"delta.enableRowTracking": "true"}, func(ctx context.Context, t *idem.Table) error {
		_, err := maintain.DropFeature(ctx, t, maintain.Drop{Feature: "rowTracking"})
		return err
	}},
	{"drop deletion vectors", map[string]string{"delta.enableDeletionVectors": "true"}, func(ctx context.Context, t *idem.Table) error {
		_, err := maintain.DropFeature(ctx, t, maintain.Drop{Feature: "deletionVectors"})
		return err
	}},
	{"drop column mapping", map[string]string{"delta.columnMapping.mode": "name"}, func(ctx context.Context, t *idem.Table) error {
		_, err := maintain.DropFeature(ctx, t, maintain.Drop{Feature: "columnMapping"})
		return err
	}},
	{"vacuum", nil, func(ctx context.Context, t *idem.Table) error {
		_, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{})
		return err
	}},
}

// TestOperationsOfSeveralCommitsSayWhatIsDone: one that was cut short says that nothing was committed only if that is so,
// and calling again goes on.
func TestOperationsOfSeveralCommitsSayWhatIsDone(t *testing.T) {
	for _, op := range several {
		f := newFixture(t, idem.Definition{Properties: op.properties})
		f.append(row{"a", 1, "x"}, row{"a", 2, "y"}, row{"a", 3, "y"}, row{"a", 4, "y"})
		f.delete("id = 1")
		f.append(row{"b", 7, "x"})
		f.delete("id = 7")
		f.clock.now = f.clock.now.Add(8 * day)
		begin := f.copies()
		f = begin(t)
		require.NoError(t, op.run(t.Context(), f.table))
		moved := 0
		for i := 1; i <= f.store.Calls(); i++ {
			t.Run(fmt.Sprintf("%s/%d", op.name, i), func(t *testing.T) {
				f := begin(t)
				before := f.other().Version()
				err := op.run(f.cancelledAt(i), f.table)
				if err == nil {
					return
				}
				require.True(t, idem.SafeToRunAgain(err))
				if !errors.Is(err, idem.ErrUnknownOutcome) {
					require.ErrorIs(t, err, idem.ErrInterrupted)
					done := f.other().Version() > before
					require.Equal(t, !done, strings.Contains(err.Error(), "nothing was committed"), err)
					require.Equal(t, done, strings.Contains(err.Error(), "and that stays): interrupted: call again when what failed works, and it goes on from there"), err)
					if done {
						moved++
					}
				}
				f.table = f.other()
				require.NoError(t, op.run(t.Context(), f.table))
			})
		}
		require.NotZero(t, moved, op.name)
	}
}
