package maintain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

func (f *fixture) restore(to maintain.Target) *maintain.Restored {
	res, err := maintain.RestoreTable(f.t.Context(), f.table, maintain.Restore{To: to})
	require.NoError(f.t, err)
	f.clock.now = f.clock.now.Add(time.Minute)
	return res
}

func TestRestoreMakesTheTableWhatItWas(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	f.append(row{"a", 1, "x"}, row{"b", 2, "y"}) // version 1
	at := f.clock.now.Add(-time.Second)
	f.append(row{"a", 3, "z"})
	f.delete("id = 1")
	_, err := f.table.ReplaceAll(t.Context(), rowsOf(row{"c", 9, "w"}), idem.ReplaceAll{})
	require.NoError(t, err)

	res := f.restore(maintain.Version(1))
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, 5, res.Version)
	require.EqualValues(t, 1, res.To)
	require.EqualValues(t, 2, res.FilesRestored)
	require.EqualValues(t, 1, res.FilesRemoved)
	require.Equal(t, []string{"a/1/x", "b/2/y"}, f.rows())
	info := f.last()
	require.Equal(t, "RESTORE", info.Operation)
	require.Equal(t, "2", info.OperationMetrics["numRestoredFiles"])
	require.Equal(t, "2", info.OperationMetrics["numOfFilesAfterRestore"])
	require.Contains(t, info.OperationParameters, "timestamp")
	require.EqualValues(t, "1", info.OperationParameters["version"].(interface{ String() string }).String())

	again := f.restore(maintain.Version(1))
	require.Equal(t, idem.Unchanged, again.Outcome, "the second call")
	require.EqualValues(t, 5, again.Version)
	require.Equal(t, idem.Unchanged, f.restore(maintain.Time(at)).Outcome, "the same version by its time")
	require.Equal(t, idem.Unchanged, f.restore(maintain.Version(5)).Outcome, "the newest version itself")

	forward := f.restore(maintain.Version(3))
	require.Equal(t, idem.Committed, forward.Outcome)
	require.Equal(t, []string{"a/3/z", "b/2/y"}, f.rows(), "forward again")
}

func TestRestoreOfFilesKeepsTheirStatisticsAndTags(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.checkpointInterval": "2"}})
	for i := range int64(5) {
		f.append(row{"a", i, "x"}) // behind the checkpoints their statistics are not kept
	}
	f.table = f.other()
	f.delete("id >= 0")
	f.table = f.other()
	f.restore(maintain.Version(5))
	n := 0
	for a := range f.table.Snapshot().Files() {
		require.Contains(t, a.Stats, `"numRecords":1`)
		require.NotEmpty(t, a.Tags)
		n++
	}
	require.Equal(t, 5, n)
}

func TestRestoreRefuses(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "y"})
	version := f.table.Version()
	for _, c := range []struct {
		why  string
		to   maintain.Target
		text string
	}{
		{"no target", maintain.Target{}, "Restore.To"},
		{"a version below 0", maintain.Version(-1), "below 0"},
		{"a version that does not exist", maintain.Version(99), "does not exist"},
		{"a time before the table", maintain.Time(f.clock.now.Add(-365 * day)), "ask for a time between"},
		{"a time to come", maintain.Time(f.clock.now.Add(day)), "ask for a time between"},
	} {
		_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: c.to})
		require.ErrorIs(t, err, idem.ErrInput, c.why)
		require.ErrorContains(t, err, c.text, c.why)
	}
	view, err := f.table.At(t.Context(), 1)
	require.NoError(t, err)
	_, err = maintain.RestoreTable(t.Context(), view, maintain.Restore{To: maintain.Version(1)})
	require.ErrorIs(t, err, idem.ErrInput, "a view is not written to")
	require.EqualValues(t, version, f.other().Version())
}

func TestRestorePastAVacuumNamesWhatIsMissing(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.delete("id = 1")
	f.append(row{"a", 2, "y"})
	f.clock.now = f.clock.now.Add(8 * day)
	_, err := maintain.VacuumTable(t.Context(), f.table, maintain.Vacuum{})
	require.NoError(t, err)
	version := f.table.Version()
	_, err = maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "version 1 needs 1 files")
	require.ErrorContains(t, err, ".parquet")
	require.EqualValues(t, version, f.other().Version(), "nothing was changed")
}

func TestRestoreOfAnAppendOnlyTable(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.appendOnly": "true"}})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "y"})
	_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "append-only")
}

func tagged(v int64) idem.Txn { return idem.Txn{AppID: "loader", Version: v} }

func (f *fixture) load(v int64) (*idem.Result, error) {
	res, err := f.table.AppendWithTxn(f.t.Context(), rowsOf(row{"a", v, "x"}), tagged(v))
	f.clock.now = f.clock.now.Add(time.Minute)
	return res, err
}

func (f *fixture) loaded(v int64) {
	res, err := f.load(v)
	require.NoError(f.t, err)
	require.Equal(f.t, idem.Committed, res.Outcome)
}

func TestATagThatWasRestoredAwayIsNotSkipped(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1) // version 1
	f.loaded(2)
	f.loaded(3)
	res := f.restore(maintain.Version(1))
	require.Equal(t, []string{"loader"}, res.Undone)

	for _, v := range []int64{2, 3} {
		_, err := f.load(v)
		require.ErrorIs(t, err, idem.ErrRestored, "batch %d is recorded and gone", v)
	}
	same, err := f.load(1)
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, same.Outcome, "batch 1 is there")

	record, ok := f.other().Snapshot().Txn("idem/v1/undone/loader")
	require.True(t, ok)
	require.EqualValues(t, 1, record.Version)

	reapplied, err := f.table.AppendWithTxn(t.Context(), rowsOf(row{"a", 3, "x"}), idem.Txn{AppID: "loader", Version: 3, Reapply: true})
	require.NoError(t, err)
	require.Equal(t, idem.Committed, reapplied.Outcome)
	require.Equal(t, []string{"a/1/x", "a/3/x"}, f.rows())
	again, err := f.load(3)
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, again.Outcome, "written again, it is recorded again")
}

func TestRestoreForwardBringsTagsBack(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2)
	f.loaded(3) // version 3
	f.restore(maintain.Version(1))
	f.restore(maintain.Version(3))
	require.Equal(t, []string{"a/1/x", "a/2/x", "a/3/x"}, f.rows())
	for v := int64(1); v <= 3; v++ {
		res, err := f.load(v)
		require.NoError(t, err)
		require.NotEqual(t, idem.Committed, res.Outcome, "batch %d is there", v)
	}
	require.Len(t, f.rows(), 3)
}

func TestRestoreForwardOverATagThatWasMovedBack(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2) // version 2
	f.restore(maintain.Version(1))
	_, err := f.table.RewindTxn(t.Context(), "loader", 1)
	require.NoError(t, err)
	f.restore(maintain.Version(2))
	require.Equal(t, []string{"a/1/x", "a/2/x"}, f.rows())
	res, err := f.load(2)
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, res.Outcome, "the rows of batch 2 came back: they are not doubled")
}

func TestATagWithoutRowsIsTakenBackToo(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2) // version 2
	f.delete("id = 2")
	res := f.restore(maintain.Version(1))
	require.Equal(t, idem.Committed, res.Outcome, "the same rows, but another state of the loader")
	require.Zero(t, res.FilesRemoved+res.FilesRestored)
	_, err := f.load(2)
	require.ErrorIs(t, err, idem.ErrRestored)
	require.Equal(t, idem.Unchanged, f.restore(maintain.Version(1)).Outcome)
}

func TestTwoRestoresAtOnce(t *testing.T) {
	for _, c := range []struct {
		why  string
		to   maintain.Target
		want []string
	}{
		{"of one version: one of them changes nothing", maintain.Version(1), []string{"a/1/x"}},
		{"of two versions: the last one wins", maintain.Version(2), []string{"a/1/x"}},
	} {
		f := newFixture(t, idem.Definition{})
		f.append(row{"a", 1, "x"})
		f.append(row{"a", 2, "y"})
		f.append(row{"a", 3, "z"})
		f.raced(func(other *idem.Table) {
			_, err := maintain.RestoreTable(t.Context(), other, maintain.Restore{To: c.to})
			require.NoError(t, err)
		})
		res := f.restore(maintain.Version(1))
		require.Equal(t, c.want, f.rows(), c.why)
		if c.to == maintain.Version(1) {
			require.Equal(t, idem.Unchanged, res.Outcome, c.why)
			require.EqualValues(t, 4, f.other().Version())
		}
	}
}

func TestARestoreTakesAwayWhatLandedMeanwhile(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.append(row{"a", 2, "y"})
	f.raced(func(other *idem.Table) {
		_, err := other.AppendWithTxn(t.Context(), rowsOf(row{"a", 7, "w"}), tagged(2))
		require.NoError(t, err)
	})
	res := f.restore(maintain.Version(1))
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, 2, res.FilesRemoved)
	require.Equal(t, []string{"a/1/x"}, f.rows())
	_, err := f.load(2)
	require.ErrorIs(t, err, idem.ErrRestored)
}

func TestRestoreOfADefinition(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"owner": "a"}})
	f.append(row{"a", 1, "x"}) // version 1
	wide := *f.other().Snapshot().Metadata()
	schema, err := delta.ParseSchema(wide.SchemaString)
	require.NoError(t, err)
	schema.Fields = append(schema.Fields, delta.Field{Name: "extra", Type: delta.Long, Nullable: true})
	wide.SchemaString, wide.Configuration = schema.JSON(), map[string]string{"owner": "b", "delta.checkpointInterval": "7"}
	f.commit("ALTER TABLE", delta.Action{Metadata: &wide},
		delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 3}})
	f.restore(maintain.Version(1))
	now := f.other().Snapshot()
	require.Equal(t, map[string]string{"owner": "a"}, now.Metadata().Configuration)
	require.Equal(t, 3, f.other().Schema().NumFields(), "the column is gone again")
	require.Equal(t, 3, now.Protocol().MinWriterVersion, "the protocol never goes down")
	f.restore(maintain.Version(2))
	require.Equal(t, "7", f.other().Snapshot().Metadata().Configuration["delta.checkpointInterval"])
}

// commit puts the next version by hand, as another engine would.
func (f *fixture) commit(operation string, actions ...delta.Action) {
	v := f.other().Version() + 1
	info := delta.Action{CommitInfo: &delta.CommitInfo{Timestamp: f.clock.now.UnixMilli(), Operation: operation, EngineInfo: "another", TxnID: "by hand " + time.Duration(v).String()}}
	data, err := delta.EncodeCommit(append([]delta.Action{info}, actions...))
	require.NoError(f.t, err)
	require.NoError(f.t, f.mem.PutIfAbsent(f.t.Context(), delta.CommitKey(v), data))
	f.clock.now = f.clock.now.Add(time.Minute)
}

func TestATagThatWasRestoredAwayOutlivesTheLog(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1) // version 1
	f.loaded(2)
	f.restore(maintain.Version(1))
	f.append(row{"a", 9, "later"})
	_, err := maintain.Checkpoint(t.Context(), f.table)
	require.NoError(t, err)
	for v := range f.table.Version() { // as a clean-up does after the retention of the log
		require.NoError(t, f.mem.Delete(t.Context(), delta.CommitKey(v), delta.ChecksumKey(v)))
	}
	f.table = f.other()
	_, err = f.load(2)
	require.ErrorIs(t, err, idem.ErrRestored)
	res, err := f.load(1)
	require.NoError(t, err)
	require.NotEqual(t, idem.Committed, res.Outcome)
}

func TestRestoreFaultSweep(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2)
	f.delete("id = 1")
	set := f.copies()
	f = set(t)
	f.restore(maintain.Version(1))
	for i := 1; i <= f.store.Calls(); i++ {
		for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.Timeout, storetest.LostAnswer, storetest.LateEffect, storetest.Conflict, storetest.Throttle, storetest.TornRead, storetest.CrashBefore, storetest.CrashAfter} {
			f := set(t)
			f.store.Before = func(c storetest.Call) storetest.Fault {
				if c.Index == i {
					return storetest.Fault{Kind: kind}
				}
				return storetest.Fault{}
			}
			res, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
			f.store.Land(t.Context())
			landed := f.other().Version() == 4
			if err == nil {
				require.Equal(t, idem.Committed, res.Outcome)
				require.True(t, landed, "operation %d, %s", i, kind)
			}
			if landed {
				require.Equal(t, []string{"a/1/x"}, f.rows())
			}
			f.table = f.other()
			f.restore(maintain.Version(1))
			require.Equal(t, []string{"a/1/x"}, f.rows(), "operation %d, %s: %v", i, kind, err)
			_, err = f.load(2)
			require.ErrorIs(t, err, idem.ErrRestored)
			require.EqualValues(t, 4, f.other().Version(), "two calls are one commit")
		}
	}
}

// A file that had no row ids in the version that is restored, and was given some before it was removed,
// comes back with those: an id is of one row for good.
func TestARestoredFileKeepsTheRowIDsThatItWasGivenSince(t *testing.T) {
	f := newFixture(t, idem.Definition{Schema: columns})
	f.append(row{"a", 1, "x"})
	_, err := maintain.EnableFeature(t.Context(), f.table, maintain.Enable{Feature: "rowTracking", SupportOnly: true})
	require.NoError(t, err)
	supported := f.other().Version()
	_, err = maintain.EnableFeature(t.Context(), f.table, maintain.Enable{Feature: "rowTracking"})
	require.NoError(t, err)
	ids := func() (out []int64) {
		for a := range f.other().Snapshot().Files() {
			require.NotNil(t, a.BaseRowID)
			out = append(out, *a.BaseRowID, *a.CommitVersion)
		}
		return out
	}
	given := ids()
	f.delete("id = 1")
	f.append(row{"a", 2, "y"})
	_, err = maintain.RestoreTable(t.Context(), f.other(), maintain.Restore{To: maintain.Version(supported)})
	require.NoError(t, err)
	require.Equal(t, given, ids())
}

// Spark's RESTORE brings back the clustering and no other domain.
func TestRestoreLeavesTheDomainsOfUsers(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.feature.domainMetadata": "supported"}})
	set := func(domain, text string) {
		f.commit("SET DOMAIN", delta.Action{Domain: &delta.DomainMetadata{Domain: domain, Configuration: text}})
	}
	set("mine", "old") // version 1
	f.append(row{"a", 1, "x"})
	set("mine", "new")
	set("later", "one")
	f.table = f.other()
	f.restore(maintain.Version(1))
	now := f.other().Snapshot()
	require.Zero(t, now.NumFiles())
	for domain, want := range map[string]string{"mine": "new", "later": "one"} {
		is, ok := now.Domain(domain)
		require.True(t, ok, domain)
		require.Equal(t, want, is.Configuration)
	}
}
