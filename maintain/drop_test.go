package maintain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

func enable(f *fixture, table *idem.Table, feature string) *maintain.Altered {
	res, err := maintain.EnableFeature(f.t.Context(), table, maintain.Enable{Feature: feature})
	require.NoError(f.t, err)
	return res
}

func drop(f *fixture, table *idem.Table, feature string) *maintain.Dropped {
	res, err := maintain.DropFeature(f.t.Context(), table, maintain.Drop{Feature: feature})
	require.NoError(f.t, err)
	return res
}

func property(f *fixture, key string) string {
	v, _ := f.other().Snapshot().Property(key)
	return v
}

// started is a table with some files, of which some rows are deleted.
func started(t *testing.T, definition idem.Definition) *fixture {
	f := newFixture(t, definition)
	for i := range int64(3) {
		f.append(row{"a", 4 * i, "x"}, row{"a", 4*i + 1, "y"}, row{"b", 4*i + 2, "z"}, row{"b", 4*i + 3, "w"})
	}
	f.delete("id = 1")
	return f
}

// toggled are the features that come and go, with what else a table of them has.
var toggled = []struct {
	feature, property, on string
	commits, rewritten    int // of a drop
	protects              bool
}{
	{"deletionVectors", "delta.enableDeletionVectors", "true", 3, 1, true},
	{"columnMapping", "delta.columnMapping.mode", "name", 2, 0, true},
	{"inCommitTimestamp", "delta.enableInCommitTimestamps", "true", 2, 0, false},
	{"rowTracking", "delta.enableRowTracking", "true", 3, 0, false},
	{"typeWidening", "delta.enableTypeWidening", "true", 2, 0, true},
	{"v2Checkpoint", "delta.checkpointPolicy", "v2", 2, 0, true},
	{"vacuumProtocolCheck", "", "", 1, 0, true},
}

func TestFeaturesComeAndGo(t *testing.T) {
	for _, c := range toggled {
		t.Run(c.feature, func(t *testing.T) {
			f := started(t, idem.Definition{})
			rows, files := f.rows(), len(f.files())
			on := enable(f, f.table, c.feature)
			require.Equal(t, idem.Committed, on.Outcome)
			if c.feature == "rowTracking" {
				require.EqualValues(t, files, on.FilesTracked)
				require.Len(t, f.ids(), len(rows), "rows that were there have ids")
			}
			require.True(t, f.other().Snapshot().Protocol().Supports(c.feature))
			require.Equal(t, c.on, property(f, c.property))
			require.Equal(t, idem.Unchanged, enable(f, f.table, c.feature).Outcome)
			require.Equal(t, rows, f.rows())

			f.append(row{"c", 100, "x"}, row{"c", 101, "y"}, row{"c", 102, "y"})
			f.delete("id = 100")
			rows = f.rows()
			version := f.other().Version()
			off := drop(f, f.table, c.feature)
			require.Equal(t, idem.Committed, off.Outcome)
			require.Equal(t, c.commits, off.Commits)
			require.EqualValues(t, c.rewritten, off.FilesRewritten)
			require.EqualValues(t, version+int64(c.commits), off.Version)
			f.check()
			now := f.other().Snapshot()
			require.Equal(t, off.Version, now.Version())
			require.False(t, now.Protocol().Supports(c.feature))
			require.Equal(t, c.protects, now.Protocol().Supports("checkpointProtection"))
			if c.protects {
				require.Equal(t, fmt.Sprint(off.Version), property(f, "delta.requireCheckpointProtectionBeforeVersion"))
				require.True(t, f.has(delta.CheckpointKey(off.Version-1)), "readers that do not know the feature begin there")
			}
			require.Equal(t, rows, f.rows())
			again := drop(f, f.table, c.feature)
			require.Equal(t, idem.Unchanged, again.Outcome)
			require.Equal(t, off.Version, again.Version)
			require.Equal(t, "DROP FEATURE", f.last().Operation)

			f.append(row{"d", 200, "x"})
			f.delete("id = 2")
			require.Len(t, f.rows(), len(rows))
			require.Equal(t, idem.Committed, enable(f, f.table, c.feature).Outcome, "and comes again")
		})
	}
}

func TestEnableKeepsWhatIsOn(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.columnMapping.mode": "id"}})
	require.Equal(t, idem.Unchanged, enable(f, f.table, "columnMapping").Outcome)
	require.Equal(t, "id", property(f, "delta.columnMapping.mode"))
	res, err := maintain.EnableFeature(t.Context(), f.table, maintain.Enable{Feature: "deletionVectors", SupportOnly: true})
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	require.Empty(t, property(f, "delta.enableDeletionVectors"))
	require.Equal(t, idem.Committed, enable(f, f.table, "deletionVectors").Outcome, "supported is not on")
	for feature, is := range map[string]error{"": idem.ErrInput, "deletionvectors": idem.ErrUnsupported, "catalogManaged": idem.ErrUnsupported} {
		_, err := maintain.EnableFeature(t.Context(), f.table, maintain.Enable{Feature: feature})
		require.ErrorIs(t, err, is, feature)
	}
}

func TestDropMappingOfRenamedColumns(t *testing.T) {
	for _, definition := range []idem.Definition{
		{PartitionBy: []string{"p"}},
		{ClusterBy: []string{"p", "id"}},
		{Properties: map[string]string{"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}},
	} {
		f := started(t, definition)
		enable(f, f.table, "columnMapping")
		alter(f, f.table, maintain.RenameColumn{Name: "p", To: "q"}, maintain.DropColumn{Name: "v"})
		alter(f, f.table, maintain.RenameColumn{Name: "q", To: "p"}, maintain.RenameColumn{Name: "id", To: "key"})
		alter(f, f.table, maintain.AddColumn{Name: "v", Type: texts}, maintain.AddColumn{Name: "id", Type: longs})
		before := f.rows()
		res := drop(f, f.table, "columnMapping")
		require.EqualValues(t, len(f.files()), res.FilesRewritten)
		require.Equal(t, 2, res.Commits)
		f.check()
		require.Equal(t, before, f.rows())
		now := f.other().Snapshot()
		require.Equal(t, delta.MappingNone, now.Mapping())
		require.NotContains(t, now.Metadata().SchemaString, "physicalName")
		if len(definition.ClusterBy) > 0 {
			require.Equal(t, [][]string{{"p"}, {"key"}}, now.Clustering(), "by the same columns, not by the one that is called id now")
		}
		require.Equal(t, idem.Unchanged, drop(f, f.table, "columnMapping").Outcome)
	}
}

// TestDropMappingAfterARenameAndBack: files stay, and fingerprints in them that were taken under the other
// name are not trusted.
func TestDropMappingAfterARenameAndBack(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	enable(f, f.table, "columnMapping")
	alter(f, f.table, maintain.RenameColumn{Name: "v", To: "w"})
	for id := range int64(2) {
		_, err := f.table.Append(t.Context(), named(columnsNamed("p", "id", "w"), row{"a", id, "x"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	alter(f, f.table, maintain.RenameColumn{Name: "w", To: "v"})
	require.Zero(t, drop(f, f.table, "columnMapping").FilesRewritten)
	res, err := f.table.ReplaceAll(t.Context(), rowsOf(row{"a", 0, "x"}, row{"a", 1, "x"}), idem.ReplaceAll{})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome, "these are the rows")
	require.Equal(t, idem.Committed, f.optimize(maintain.Optimize{}).Outcome)
}

func TestDropWideningRewritesFilesOfOldTypes(t *testing.T) {
	f := newFixture(t, idem.Definition{Schema: wide, Properties: map[string]string{"delta.enableTypeWidening": "true"}})
	some := maintain.SetProperties{Properties: map[string]string{"a": "b"}}
	alter(f, f.table, maintain.DropNotNull{Name: "n"}, maintain.WidenColumn{Name: "s.a", Type: longs}, some)
	f.append(row{"a", 1, "x"})
	alter(f, f.table, maintain.WidenColumn{Name: "n", Type: longs})
	f.append(row{"a", 2, "x"})
	f.append(row{"a", 3, "x"})
	res := drop(f, f.table, "typeWidening")
	require.EqualValues(t, 1, res.FilesRewritten, "the others have the types of now")
	require.Equal(t, 3, res.Commits)
	require.NotContains(t, f.other().Snapshot().Metadata().SchemaString, "typeChanges")
	require.Equal(t, []string{"a/1/x", "a/2/x", "a/3/x"}, f.rows())
	require.Equal(t, idem.Unchanged, drop(f, f.table, "typeWidening").Outcome)
}

func TestDropTruncatesHistory(t *testing.T) {
	f := started(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true", "delta.logRetentionDuration": "interval 1 days"}})
	request := maintain.Drop{Feature: "deletionVectors", TruncateHistory: true}
	_, err := maintain.DropFeature(t.Context(), f.table, request)
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "can still be read and use it")
	require.Equal(t, "REORG", f.last().Operation, "the steps before stay made")
	f.clock.now = f.clock.now.Add(3 * day)
	for range 12 { // a checkpoint for the clean-up to begin with
		f.append(row{"a", 50, "x"})
	}
	f.clock.now = f.clock.now.Add(3 * day)
	f.append(row{"a", 50, "x"})
	res, err := maintain.DropFeature(t.Context(), f.table, request)
	require.NoError(t, err)
	require.Equal(t, 1, res.Commits)
	require.False(t, f.other().Snapshot().Protocol().Supports("checkpointProtection"))
	f.check()
}

func TestDropRefuses(t *testing.T) {
	f := newFixture(t, idem.Definition{Constraints: map[string]string{"c": "id > 0"}, Properties: map[string]string{"delta.enableRowTracking": "true"}})
	for feature, is := range map[string]error{
		"": idem.ErrInput, "nonsense": idem.ErrUnsupported, "checkConstraints": idem.ErrInput, "domainMetadata": idem.ErrInput, "appendOnly": idem.ErrInput,
	} {
		_, err := maintain.DropFeature(t.Context(), f.table, maintain.Drop{Feature: feature})
		require.ErrorIs(t, err, is, feature)
	}
	require.Zero(t, f.other().Version())
	alter(f, f.table, maintain.DropConstraint{Name: "c"})
	require.Equal(t, 1, drop(f, f.table, "checkConstraints").Commits)
}

// TestDropRaced lets another writer commit before each step.
func TestDropRaced(t *testing.T) {
	more := func(o *idem.Table) error {
		_, err := o.Append(t.Context(), rowsOf(row{"r", 7, "x"}), idem.Append{Reason: "test"})
		return err
	}
	for name, by := range map[string]func(o *idem.Table) error{
		"rows": more,
		"the same": func(o *idem.Table) error {
			_, err := maintain.DropFeature(t.Context(), o, maintain.Drop{Feature: "deletionVectors"})
			return err
		},
		"a delete": func(o *idem.Table) error {
			_, err := o.Delete(t.Context(), idem.Delete{Where: "id = 4"})
			return err
		},
		"a restore": func(o *idem.Table) error {
			_, err := maintain.RestoreTable(t.Context(), o, maintain.Restore{To: maintain.Version(4)})
			return err
		},
	} {
		for step := range 3 {
			t.Run(fmt.Sprintf("%s before %d", name, step), func(t *testing.T) {
				f := started(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
				puts, within := 0, false
				f.store.Before = func(c storetest.Call) storetest.Fault {
					if c.Op == storetest.OpPutIfAbsent && !within {
						if puts == step {
							within = true
							require.NoError(t, by(f.other()))
							within = false
						}
						puts++
					}
					return storetest.Fault{}
				}
				drop(f, f.table, "deletionVectors")
				f.store.Before = nil
				now := f.other().Snapshot()
				require.False(t, now.Protocol().Supports("deletionVectors"))
				for a := range now.Files() {
					require.Nil(t, a.DeletionVector)
				}
				require.Equal(t, idem.Unchanged, drop(f, f.table, "deletionVectors").Outcome)
			})
		}
	}
}

// TestDropAndEnableAtOnce lets another writer turn a feature on before each commit of the call that drops
// it: the property that uses a feature is never on in a table whose protocol lacks it.
func TestDropAndEnableAtOnce(t *testing.T) {
	for _, c := range toggled {
		if c.property == "" {
			continue
		}
		for step := range 4 {
			t.Run(fmt.Sprintf("%s before commit %d", c.feature, step), func(t *testing.T) {
				f := started(t, idem.Definition{})
				enable(f, f.table, c.feature)
				commits, within := 0, false
				f.store.Before = func(call storetest.Call) storetest.Fault {
					name, inLog := strings.CutPrefix(call.Key, delta.LogDir)
					if call.Op == storetest.OpPutIfAbsent && inLog && delta.ParseLogFile(name).Kind == delta.Commit && !within {
						if within = commits == step; within {
							_, err := maintain.EnableFeature(t.Context(), f.other(), maintain.Enable{Feature: c.feature})
							require.True(t, err == nil || errors.Is(err, idem.ErrInput), "%v", err) // row tracking is suspended between the steps
							within = false
						}
						commits++
					}
					return storetest.Fault{}
				}
				_, err := maintain.DropFeature(t.Context(), f.table, maintain.Drop{Feature: c.feature})
				f.store.Before = nil
				require.NoError(t, err)
				now := f.other().Snapshot()
				if !now.Protocol().Supports(c.feature) {
					require.NotEqual(t, c.on, property(f, c.property))
				}
				require.Equal(t, idem.Unchanged, drop(f, f.other(), c.feature).Outcome)
			})
		}
	}
}

// TestTimestampsBeginAfterTheHistory: the clock fell back by hours before the table was told to keep
// timestamps in commits; they go on where the history's times, which ascend, have come to.
func TestTimestampsBeginAfterTheHistory(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "x"})
	f.clock.now = f.clock.now.Add(-5 * hour)
	f.append(row{"a", 3, "x"})
	enable(f, f.table, "inCommitTimestamp")
	f.append(row{"a", 4, "x"})
	var later time.Time
	for c, err := range f.other().History(t.Context()) {
		require.NoError(t, err)
		require.True(t, later.IsZero() || c.Timestamp.Before(later), "version %d is of %s, the next of %s", c.Version, c.Timestamp, later)
		later = c.Timestamp
		at, err := f.other().AtTime(t.Context(), c.Timestamp)
		require.NoError(t, err)
		require.Equal(t, c.Version, at.Version())
	}
}

// TestSweeps fails each operation of the store in turn, before and after its effect: the table is
// readable and has its rows, a call that says committed is, and a second call ends as one does.
func TestSweeps(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(f *fixture) error
		done func(f *fixture) bool
	}{
		{"alter", func(f *fixture) error {
			_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{
				maintain.AddConstraint{Name: "c", Check: "length(v) = 1"}, maintain.AddColumn{Name: "x", Type: ints}}})
			return err
		}, func(f *fixture) bool {
			return len(f.other().Snapshot().Constraints()) == 1 && f.other().Snapshot().Schema().Index("x") == 3
		}},
		{"enable row tracking", func(f *fixture) error {
			_, err := maintain.EnableFeature(t.Context(), f.table, maintain.Enable{Feature: "rowTracking"})
			return err
		}, func(f *fixture) bool { return len(f.ids()) == 11 }},
		{"drop vectors", func(f *fixture) error {
			_, err := maintain.DropFeature(t.Context(), f.table, maintain.Drop{Feature: "deletionVectors"})
			return err
		}, func(f *fixture) bool { return !f.other().Snapshot().Protocol().Supports("deletionVectors") }},
	} {
		set := started(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}}).copies()
		for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.LostAnswer, storetest.CrashAfter} {
			for i := 0; ; i++ {
				f := set(t)
				rows, n, hit := f.rows(), 0, false
				f.store.Before = func(storetest.Call) storetest.Fault {
					n++
					if n-1 != i {
						return storetest.Fault{}
					}
					hit = true
					return storetest.Fault{Kind: kind}
				}
				err := c.run(f)
				f.store.Before = nil
				f.store.Restart()
				f.table = f.other()
				if err == nil {
					require.True(t, c.done(f), "%s, %s of operation %d: it says that it is done", c.name, kind, i)
				}
				require.Equal(t, rows, f.rows())
				require.NoError(t, c.run(f), "%s, %s of operation %d: again", c.name, kind, i)
				require.True(t, c.done(f), "%s, %s of operation %d", c.name, kind, i)
				require.Equal(t, rows, f.rows())
				if !hit {
					break
				}
			}
		}
	}
}
