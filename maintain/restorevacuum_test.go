package maintain_test

import (
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

func TestARestoreTakesBackADefinitionThatChangedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		why    string
		change maintain.Change
	}{
		{"an added column is a rebase for others", maintain.AddColumn{Name: "extra", Type: arrow.PrimitiveTypes.Int64}},
		{"so is a property without effect on rows", maintain.SetProperties{Properties: map[string]string{"delta.checkpointInterval": "7"}}},
	} {
		f := newFixture(t, idem.Definition{})
		f.append(row{"a", 1, "x"})
		was := f.other().Snapshot().Metadata()
		f.append(row{"a", 2, "y"})
		f.raced(func(other *idem.Table) {
			_, err := maintain.AlterTable(t.Context(), other, maintain.Alter{Changes: []maintain.Change{c.change}})
			require.NoError(t, err)
		})
		require.EqualValues(t, 4, f.restore(maintain.Version(1)).Version, c.why)
		now := f.other().Snapshot().Metadata()
		require.Equal(t, was.SchemaString, now.SchemaString, c.why)
		require.Empty(t, now.Configuration["delta.checkpointInterval"], c.why)
	}
}

func TestARestoreTakesBackATagWithoutRowsThatLandedMeanwhile(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.append(row{"a", 2, "y"})
	f.raced(func(other *idem.Table) {
		_, err := other.AppendWithTxn(t.Context(), rowsOf(), tagged(2))
		require.NoError(t, err)
	})
	require.Equal(t, []string{"loader"}, f.restore(maintain.Version(1)).Undone)
	_, err := f.load(2)
	require.ErrorIs(t, err, idem.ErrRestored)
}

// expired is a table of which version 1 has a file that a vacuum would delete.
func expired(t *testing.T) *fixture {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.delete("id = 1")
	f.append(row{"a", 2, "y"})
	f.clock.now = f.clock.now.Add(8 * day)
	return f
}

func TestARestoreLooksAgainForFilesAfterAVacuum(t *testing.T) {
	f := expired(t)
	f.raced(func(other *idem.Table) { // after the files were looked for
		_, err := maintain.VacuumTable(t.Context(), other, maintain.Vacuum{})
		require.NoError(t, err)
	})
	_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
	require.ErrorIs(t, err, idem.ErrInput)
	require.Equal(t, []string{"a/2/y"}, f.rows(), "nothing was changed")
}

func TestARestoreDoesNotComeBetweenAVacuumsLookAndItsDeletion(t *testing.T) {
	f := expired(t)
	tried := false
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpDelete && !tried {
			tried = true
			_, err := maintain.RestoreTable(t.Context(), f.other(), maintain.Restore{To: maintain.Version(1)})
			require.ErrorIs(t, err, idem.ErrConflict)
			require.ErrorContains(t, err, "a vacuum began at version 4")
			res, err := maintain.RestoreTable(t.Context(), f.other(), maintain.Restore{To: maintain.Version(2)})
			require.NoError(t, err, "no file that the vacuum may delete comes back")
			require.Equal(t, idem.Committed, res.Outcome)
		}
		return storetest.Fault{}
	}
	require.EqualValues(t, 1, f.vacuum(maintain.Vacuum{}).Files)
	require.True(t, tried)
	require.Empty(t, f.rows())
	_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
	require.ErrorIs(t, err, idem.ErrInput, "now the file is gone")
}

// vacuumed puts what a vacuum says in the log by hand, and gives the version.
func (f *fixture) vacuumed(operation string, parameters map[string]any) int64 {
	v := f.other().Version() + 1
	info := &delta.CommitInfo{Timestamp: f.clock.now.UnixMilli(), Operation: operation, OperationParameters: parameters, TxnID: strconv.FormatInt(v, 10)}
	data, err := delta.EncodeCommit([]delta.Action{{CommitInfo: info}})
	require.NoError(f.t, err)
	require.NoError(f.t, f.mem.PutIfAbsent(f.t.Context(), delta.CommitKey(v), data))
	f.clock.now = f.clock.now.Add(hour)
	return v
}

func TestWhichVacuumsBarARestore(t *testing.T) {
	retains := func(days int64) map[string]any {
		return map[string]any{"defaultRetentionMillis": days * day.Milliseconds()}
	}
	ends := func(version int64, status string) map[string]any {
		return map[string]any{"status": status, "startVersion": strconv.FormatInt(version, 10)}
	}
	for _, c := range []struct {
		why  string
		do   func(f *fixture)
		bars bool
	}{
		{"one that is at work", func(f *fixture) { f.vacuumed("VACUUM START", retains(7)) }, true},
		{"of a retention that nobody knows", func(f *fixture) { f.vacuumed("VACUUM START", nil) }, true},
		{"not one that leaves such files alone", func(f *fixture) { f.vacuumed("VACUUM START", retains(30)) }, false},
		{"not one that ended", func(f *fixture) { f.vacuumed("VACUUM END", ends(f.vacuumed("VACUUM START", retains(7)), "COMPLETED")) }, false},
		{"not one that failed", func(f *fixture) { f.vacuumed("VACUUM END", ends(f.vacuumed("VACUUM START", retains(7)), "FAILED")) }, false},
		{"not another engine's that ended", func(f *fixture) {
			f.vacuumed("VACUUM START", map[string]any{"defaultRetentionMillis": strconv.FormatInt(7*day.Milliseconds(), 10)})
			f.vacuumed("VACUUM END", map[string]any{"status": "COMPLETED"})
		}, false},
		{"the second of two at once", func(f *fixture) {
			first := f.vacuumed("VACUUM START", retains(7))
			f.vacuumed("VACUUM START", retains(7))
			f.vacuumed("VACUUM END", ends(first, "COMPLETED"))
		}, true},
		{"not one that died and was run again", func(f *fixture) {
			f.vacuumed("VACUUM START", retains(7))
			f.vacuumed("VACUUM END", ends(f.vacuumed("VACUUM START", retains(7)), "COMPLETED"))
		}, false},
		{"one that died, and of which a later one failed", func(f *fixture) {
			f.vacuumed("VACUUM START", retains(7))
			f.vacuumed("VACUUM END", ends(f.vacuumed("VACUUM START", retains(7)), "FAILED"))
		}, true},
		{"one of two of another engine, which does not say which ended", func(f *fixture) {
			f.vacuumed("VACUUM START", retains(7))
			f.vacuumed("VACUUM START", retains(7))
			f.vacuumed("VACUUM END", map[string]any{"status": "COMPLETED"})
		}, true},
		{"not one whose own retention leaves such files alone", func(f *fixture) {
			f.vacuumed("VACUUM START", map[string]any{"defaultRetentionMillis": 7 * day.Milliseconds(), "specifiedRetentionMillis": 30 * day.Milliseconds()})
		}, false},
		{"one that would delete more than the one that ended", func(f *fixture) {
			f.vacuumed("VACUUM START", retains(7))
			f.vacuumed("VACUUM END", ends(f.vacuumed("VACUUM START", retains(8)), "COMPLETED"))
		}, true},
		{"not one that died more than a day ago", func(f *fixture) {
			f.vacuumed("VACUUM START", retains(7))
			f.clock.now = f.clock.now.Add(2 * day)
		}, false},
	} {
		f := expired(t)
		c.do(f)
		_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
		if c.bars {
			require.ErrorIs(t, err, idem.ErrConflict, c.why)
			continue
		}
		require.NoError(t, err, c.why)
		require.Equal(t, []string{"a/1/x"}, f.rows(), c.why)
	}
}
