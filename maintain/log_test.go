package maintain_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

func TestCheckpointTwice(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	res, err := maintain.Checkpoint(t.Context(), f.table)
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, 1, res.Version)
	require.True(t, f.has(delta.CheckpointKey(1)))
	again, err := maintain.Checkpoint(t.Context(), f.table)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, again.Outcome)
	view, err := f.table.At(t.Context(), 0)
	require.NoError(t, err)
	_, err = maintain.Checkpoint(t.Context(), view)
	require.ErrorIs(t, err, idem.ErrInput)
}

// aged is a table with a checkpoint that has expired, behind commits of which some are older.
func aged(t *testing.T, properties ...string) *fixture {
	d := idem.Definition{Properties: map[string]string{"delta.checkpointInterval": "100"}}
	for i := 0; i+1 < len(properties); i += 2 {
		d.Properties[properties[i]] = properties[i+1]
	}
	f := newFixture(t, d)
	f.loaded(1)
	f.loaded(2)
	f.restore(maintain.Version(1))
	f.append(row{"a", 9, "x"}) // version 4
	_, err := maintain.Checkpoint(t.Context(), f.table)
	require.NoError(t, err)
	f.append(row{"a", 10, "x"})
	f.clock.now = f.clock.now.Add(40 * day)
	f.append(row{"a", 11, "x"})
	return f
}

func TestCleanUpLog(t *testing.T) {
	f := aged(t)
	want := f.rows()
	dry, err := maintain.CleanUpLog(t.Context(), f.table, maintain.CleanUp{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, dry.Outcome)
	require.Contains(t, dry.Names, delta.CommitKey(0))
	require.NotContains(t, dry.Names, delta.CommitKey(4))
	require.True(t, f.has(delta.CommitKey(0)))

	res, err := maintain.CleanUpLog(t.Context(), f.table, maintain.CleanUp{})
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, len(dry.Names), res.Files)
	require.EqualValues(t, 4, res.Oldest)
	for _, key := range dry.Names {
		require.False(t, f.has(key), key)
	}
	f.table = f.other()
	require.Equal(t, want, f.rows())
	again, err := maintain.CleanUpLog(t.Context(), f.table, maintain.CleanUp{})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, again.Outcome, "the second call")

	_, err = f.load(2)
	require.ErrorIs(t, err, idem.ErrRestored, "the restore is forgotten, what it did to the tag is not")
	_, err = maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
	require.ErrorIs(t, err, idem.ErrInput, "the log does not reach back to it")
	require.Equal(t, idem.Committed, f.restore(maintain.Version(4)).Outcome)
}

func TestCleanUpLogThatIsTurnedOff(t *testing.T) {
	f := aged(t, "delta.enableExpiredLogCleanup", "false")
	res, err := maintain.CleanUpLog(t.Context(), f.table, maintain.CleanUp{})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	require.Contains(t, res.Skipped, "enableExpiredLogCleanup")
	require.True(t, f.has(delta.CommitKey(0)))
}

func TestCompactLog(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	for i := range int64(4) {
		f.append(row{"a", i, "x"})
	}
	f.delete("id = 1")
	want := f.rows()
	res, err := maintain.CompactLog(t.Context(), f.table, 1, 4)
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	require.True(t, f.has(delta.CompactionKey(1, 4)))
	again, err := maintain.CompactLog(t.Context(), f.table, 1, 4)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, again.Outcome)
	require.Equal(t, want, f.rows())
	for _, c := range [][2]int64{{-1, 2}, {2, 2}, {3, 2}, {3, 99}, {0, math.MaxInt64}, {1, math.MaxInt64}} {
		_, err := maintain.CompactLog(t.Context(), f.table, c[0], c[1])
		require.ErrorIs(t, err, idem.ErrInput, "%v", c)
	}
	view, err := f.table.At(t.Context(), 2)
	require.NoError(t, err)
	_, err = maintain.CompactLog(t.Context(), view, 0, 1)
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = maintain.CleanUpLog(t.Context(), view, maintain.CleanUp{})
	require.ErrorIs(t, err, idem.ErrInput)
}

func TestFaultSweepOfWhatLooksAfterTheLog(t *testing.T) {
	for name, run := range map[string]func(*idem.Table) error{
		"clean up": func(table *idem.Table) error {
			_, err := maintain.CleanUpLog(t.Context(), table, maintain.CleanUp{})
			return err
		},
		"compact":    func(table *idem.Table) error { _, err := maintain.CompactLog(t.Context(), table, 5, 6); return err },
		"checkpoint": func(table *idem.Table) error { _, err := maintain.Checkpoint(t.Context(), table); return err },
	} {
		old := aged(t)
		want, set := old.rows(), old.copies()
		sound := set(t)
		require.NoError(t, run(sound.table), name)
		for i := 1; i <= sound.store.Calls(); i++ {
			for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.Timeout, storetest.LostAnswer, storetest.TornRead, storetest.CrashBefore, storetest.CrashAfter} {
				f := set(t)
				f.store.Before = func(c storetest.Call) storetest.Fault {
					if c.Index == i {
						return storetest.Fault{Kind: kind}
					}
					return storetest.Fault{}
				}
				err := run(f.table)
				require.Equal(t, want, f.rows(), "%s, operation %d, %s: %v", name, i, kind, err)
				f.table = f.other()
				require.NoError(t, run(f.table))
				require.Equal(t, want, f.rows())
			}
		}
	}
}
