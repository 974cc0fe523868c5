package logio_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
)

// newDaily is a table with a commit a day, a checkpoint of every tenth version, checksums, and a
// compaction; the tag of "app" is recorded in version 1.
func newDaily(t require.TestingT, days int, properties map[string]string) *table {
	tb := newTable(t)
	conf := map[string]string{"delta.checkpointPolicy": "v2"}
	for k, v := range properties {
		conf[k] = v
	}
	l, _ := tb.log(logio.Options{})
	snap, err := l.Load(context.Background())
	require.NoError(t, err)
	for v := 1; v < days; v++ {
		tb.clock.now = newClock().now.Add(time.Duration(v) * 24 * time.Hour)
		actions := []delta.Action{dayFile(fmt.Sprintf("f%02d", v), 1)}
		if v == 1 {
			actions = append(actions, definition(conf)...)
			actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: "app", Version: 7}})
		}
		tb.commit(actions...)
		snap, err = l.Refresh(context.Background(), snap)
		require.NoError(t, err)
		require.NoError(t, l.WriteChecksum(context.Background(), snap))
		if v%10 == 0 {
			require.NoError(t, l.Checkpoint(context.Background(), snap, tb.clock.now))
		}
	}
	return tb
}

func (tb *table) clean(rules ...storetest.Rule) (logio.CleanedUp, error) {
	l, faulty := tb.log(logio.Options{})
	snap, err := l.Load(context.Background())
	require.NoError(tb.t, err)
	faulty.Reset(rules...)
	return l.CleanUp(context.Background(), snap, tb.clock.now, false)
}

// kinds counts the files of the log below a version.
func (tb *table) kinds(below int64) map[delta.LogFileKind]int {
	out := map[delta.LogFileKind]int{}
	for _, key := range tb.keysOf(delta.LogDir) {
		if f := delta.ParseLogFile(key); f.Kind != delta.Other && f.Version < below {
			out[f.Kind]++
		}
	}
	return out
}

func TestCleanUp(t *testing.T) {
	tb := newDaily(t, 46, nil)
	l, faulty := tb.log(logio.Options{})
	require.NoError(t, l.Compact(t.Context(), 3, 6))
	require.NoError(t, l.Compact(t.Context(), 10, 12))
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	sidecars := len(tb.keysOf(delta.SidecarDir))

	dry, err := l.CleanUp(t.Context(), snap, tb.clock.now, true)
	require.NoError(t, err)
	require.Zero(t, faulty.Count(storetest.OpDelete))
	require.Equal(t, map[delta.LogFileKind]int{delta.Commit: 20, delta.Checksum: 19, delta.CheckpointUUID: 1, delta.Compaction: 2}, tb.kinds(20))

	tb.clock.now = tb.clock.now.Add(10 * 24 * time.Hour) // day 55: what is of day 25 and before has expired
	done, err := tb.clean()
	require.NoError(t, err)
	require.EqualValues(t, 20, done.Oldest)
	require.EqualValues(t, 10, dry.Oldest)
	require.Equal(t, newClock().now.Add(25*24*time.Hour), done.Before)
	require.Equal(t, delta.CommitKey(0), done.Deleted[0], "the oldest commit first")
	require.Empty(t, tb.kinds(20))
	require.Less(t, len(tb.keysOf(delta.SidecarDir)), sidecars, "those of the checkpoint that went")
	_, err = tb.mem.Head(t.Context(), delta.CommitKey(20))
	require.NoError(t, err, "the commit of the checkpoint stays")

	again, err := tb.clean()
	require.NoError(t, err)
	require.Empty(t, again.Deleted)
	for v := int64(20); v <= 45; v++ {
		snap, err = l.LoadAt(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, int(v), snap.NumFiles())
	}
	txn, ok := snap.Txn("app")
	require.True(t, ok, "tags outlive the commits that recorded them")
	require.EqualValues(t, 7, txn.Version)
	_, err = l.LoadAt(t.Context(), 19)
	require.ErrorIs(t, err, delta.ErrInput)
}

func TestCleanUpLeavesAlone(t *testing.T) {
	for name, c := range map[string]struct {
		properties map[string]string
		change     func(tb *table)
		says       string
	}{
		"a log that shall be kept":  {properties: map[string]string{"delta.enableExpiredLogCleanup": "false"}, says: "enableExpiredLogCleanup"},
		"what has not expired":      {properties: map[string]string{"delta.logRetentionDuration": "interval 100 days"}},
		"a checkpoint in retention": {properties: map[string]string{"delta.logRetentionDuration": "interval 3 weeks"}, change: func(tb *table) { tb.clock.now = newClock().now.Add(25 * 24 * time.Hour) }},
		"commits that no checkpoint stands in for": {change: func(tb *table) {
			for _, key := range tb.keysOf(delta.LogDir) {
				if strings.Contains(key, "00010.checkpoint") {
					tb.delete(key)
				}
			}
		}},
		"a checkpoint that cannot be read": {change: func(tb *table) {
			for _, key := range tb.keysOf(delta.LogDir) {
				if strings.Contains(key, "00010.checkpoint") {
					tb.put(key, []byte("PAR1"))
				}
			}
		}},
	} {
		tb := newDaily(t, 46, c.properties)
		if c.change != nil {
			c.change(tb)
		}
		before := tb.keysOf("")
		done, err := tb.clean()
		require.NoError(t, err, name)
		require.Contains(t, done.Skipped, c.says, name)
		require.EqualValues(t, -1, done.Oldest, name)
		require.Equal(t, before, tb.keysOf(""), name)
	}
}

// Commits of the last hour stay, whatever the table's retention: a writer may be about to write
// the version after one of them.
func TestCleanUpLeavesTheLastHour(t *testing.T) {
	tb := newDaily(t, 22, map[string]string{"delta.logRetentionDuration": "interval 0 seconds"})
	tb.clock.now = newClock().now.Add(22 * 24 * time.Hour) // midnight
	at := tb.clock.now
	tb.clock.now = at.Add(-30 * time.Minute)
	tb.commit()
	l, _ := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.Checkpoint(t.Context(), snap, tb.clock.now))
	tb.clock.now = at.Add(time.Minute)
	done, err := tb.clean()
	require.NoError(t, err)
	require.EqualValues(t, 20, done.Oldest, "not that of version 22")
}

func TestCleanUpOfProtectedCheckpoints(t *testing.T) {
	for from, says := range map[string]string{"11": "only the checkpoint of version 10 has expired", "10": "", "5": ""} {
		tb := newDaily(t, 46, map[string]string{"delta.requireCheckpointProtectionBeforeVersion": from})
		p := definition(nil)[0]
		p.Protocol.WriterFeatures = append(slices.Clone(p.Protocol.WriterFeatures), "checkpointProtection")
		tb.commit(p)
		done, err := tb.clean()
		require.NoError(t, err)
		require.Contains(t, done.Skipped, says)
		require.Equal(t, says == "", len(done.Deleted) > 0, from)
	}
}

func TestCleanUpOfAReader(t *testing.T) {
	tb := newDaily(t, 46, nil)
	l, faulty := tb.log(logio.Options{ReadOnly: true})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	_, err = l.CleanUp(t.Context(), snap, tb.clock.now, false)
	require.ErrorIs(t, err, delta.ErrInput)
	_, err = l.CleanUp(t.Context(), snap, tb.clock.now, true)
	require.NoError(t, err)
	require.Zero(t, faulty.Count(storetest.OpDelete))
	require.ErrorIs(t, l.Compact(t.Context(), 1, 2), delta.ErrInput)
}

// Wherever a clean-up is cut short, every version that it was to keep can be read, and the next one
// completes it.
func TestCleanUpFaults(t *testing.T) {
	daily := newDaily(t, 46, nil)
	for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.StaleMissing} {
		for n := 1; ; n++ {
			tb := &table{t: t, mem: daily.mem.Clone(), clock: daily.clock}
			l, faulty := tb.log(logio.Options{})
			snap, err := l.Load(t.Context())
			require.NoError(t, err)
			faulty.Reset(storetest.Rule{Nth: n, Fault: storetest.Fault{Kind: kind}})
			_, _ = l.CleanUp(t.Context(), snap, tb.clock.now, false)
			tb.requireVersions(10, 45)
			if len(faulty.Hits()) == 0 {
				break
			}
			_, err = tb.clean()
			require.NoError(t, err)
			require.Empty(t, tb.kinds(10))
		}
	}
}

// requireVersions reads versions of newDaily.
func (tb *table) requireVersions(versions ...int64) {
	l, _ := tb.log(logio.Options{})
	for _, v := range versions {
		snap, err := l.LoadAt(context.Background(), v)
		require.NoError(tb.t, err)
		require.Equal(tb.t, int(v), snap.NumFiles())
	}
}

// Deletion may end after any file.
func TestCleanUpEndsAnywhere(t *testing.T) {
	daily := newDaily(t, 46, nil)
	l, _ := daily.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	dry, err := l.CleanUp(t.Context(), snap, daily.clock.now, true)
	require.NoError(t, err)
	require.Greater(t, len(dry.Deleted), 15)
	tb := &table{t: t, mem: daily.mem.Clone(), clock: daily.clock}
	for _, key := range dry.Deleted {
		tb.delete(key)
		tb.requireVersions(10, 11, 45)
	}
}

// Sidecars that no checkpoint names go when they are older than a day.
func TestStraySidecars(t *testing.T) {
	tb := newDaily(t, 46, nil)
	tb.put(delta.SidecarDir+"new.parquet", nil)
	done, err := tb.clean()
	require.NoError(t, err)
	require.NotContains(t, done.Deleted, delta.SidecarDir+"new.parquet")

	tb = newDaily(t, 46, nil)
	named := tb.keysOf(delta.SidecarDir)
	tb.clock.now = newClock().now
	tb.put(delta.SidecarDir+"old.parquet", nil)
	tb.clock.now = newClock().now.Add(46 * 24 * time.Hour)
	done, err = tb.clean()
	require.NoError(t, err)
	require.Contains(t, done.Deleted, delta.SidecarDir+"old.parquet")
	require.Equal(t, named, tb.keysOf(delta.SidecarDir), "those of checkpoints that stay")
}

// A checkpoint that was listed and then is not found may be there all the same: the sidecars that it names stay.
func TestSidecarsOfACheckpointThatIsNotFoundStay(t *testing.T) {
	tb := newDaily(t, 46, nil)
	named := tb.keysOf(delta.SidecarDir)
	done, err := tb.clean(storetest.Rule{Key: "*00040.checkpoint.*", Op: storetest.OpGetRange, Fault: storetest.Fault{Kind: storetest.StaleMissing}},
		storetest.Rule{Key: "*00040.checkpoint.*", Op: storetest.OpGet, Fault: storetest.Fault{Kind: storetest.StaleMissing}})
	require.NoError(t, err)
	require.EqualValues(t, 10, done.Oldest)
	require.Equal(t, named, tb.keysOf(delta.SidecarDir))
	tb.requireVersions(10, 45)
}

// A compaction replays as the commits that it stands for, whatever they are.
func TestCompactionsReplayAsTheirCommits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := newTable(t)
		tb.commit(definition(map[string]string{})...)
		there := map[string]delta.Action{}
		for range 6 {
			actions := []delta.Action{{Txn: &delta.Txn{AppID: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "app"), Version: rapid.Int64Range(0, 9).Draw(t, "version")}}}
			actions = append(actions, delta.Action{Domain: &delta.DomainMetadata{Domain: rapid.SampledFrom([]string{"d", "e"}).Draw(t, "domain"), Removed: rapid.Bool().Draw(t, "removed")}})
			for _, path := range []string{"a", "b"} {
				old, ok := there[path]
				next, adds := drawFile(t, path), rapid.Bool().Draw(t, "add")
				other := ok && next.Add.DeletionVector.ID() != old.Add.DeletionVector.ID()
				if ok && (adds && other || !adds && rapid.Bool().Draw(t, "remove")) {
					r := remove(path)
					r.Remove.DeletionVector = old.Add.DeletionVector
					actions = append(actions, r)
					delete(there, path)
				}
				if adds {
					actions = append(actions, next)
					there[path] = next
				}
			}
			tb.commit(actions...)
		}
		l, _ := tb.log(logio.Options{})
		snap, err := l.Load(context.Background())
		require.NoError(t, err)
		want := state(t, l, snap)
		first := rapid.Int64Range(0, 5).Draw(t, "first")
		last := rapid.Int64Range(first+1, 7).Draw(t, "last")
		require.NoError(t, l.Compact(context.Background(), first, last))
		require.NoError(t, l.Compact(context.Background(), first, last), "another one may have been first")
		reader, faulty := tb.log(logio.Options{})
		back, err := reader.Load(context.Background())
		require.NoError(t, err)
		require.Equal(t, want, state(t, reader, back))
		require.NotContains(t, strings.Join(faulty.Transcript(), "\n"), "GET "+delta.CommitKey(last), "the compaction was taken")
	})
}

func TestCompactRefuses(t *testing.T) {
	tb := newHistory(t)
	l, faulty := tb.log(logio.Options{})
	for _, r := range [][2]int64{{-1, 2}, {2, 2}, {3, 1}, {3, 9}} {
		require.ErrorIs(t, l.Compact(t.Context(), r[0], r[1]), delta.ErrInput, "%v", r)
	}
	tb.commit(delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"newFeature"}}})
	tb.commit(protocol())
	require.ErrorIs(t, l.Compact(t.Context(), 4, 6), delta.ErrUnsupported, "a feature that came and went")

	tb = newHistory(t)
	tb.commit(definition(nil)...)
	vector := dayFile("bb", 1)
	vector.Add.DeletionVector = &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Cardinality: 1}
	tb.commit(vector)
	silent, faultySilent := tb.log(logio.Options{})
	require.ErrorIs(t, silent.Compact(t.Context(), 5, 6), delta.ErrCorrupt, "a vector came without the file's remove")
	require.Zero(t, faulty.Count(storetest.OpPutIfAbsent)+faultySilent.Count(storetest.OpPutIfAbsent))
}
