package maintain_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

func (f *fixture) vacuum(r maintain.Vacuum) *maintain.Vacuumed {
	res, err := maintain.VacuumTable(f.t.Context(), f.table, r)
	require.NoError(f.t, err)
	return res
}

// put leaves an object that no commit names.
func (f *fixture) put(keys ...string) {
	for _, key := range keys {
		require.NoError(f.t, f.mem.PutIfAbsent(f.t.Context(), key, []byte("left behind")))
	}
}

func (f *fixture) has(key string) bool {
	_, err := f.mem.Head(f.t.Context(), key)
	return err == nil
}

func TestVacuumDeletesWhatNothingNeeds(t *testing.T) {
	for _, lite := range []bool{false, true} {
		t.Run(fmt.Sprintf("lite=%t", lite), func(t *testing.T) {
			f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
			f.append(row{"a", 1, "x"}, row{"b", 2, "y"})
			f.delete("id = 1") // a file of version 1 is removed
			f.put("p=a/part-dead.parquet")
			f.clock.now = f.clock.now.Add(8 * day)
			before := f.dataFiles()

			dry := f.vacuum(maintain.Vacuum{DryRun: true, Lite: lite})
			require.Equal(t, idem.Unchanged, dry.Outcome)
			require.Equal(t, before, f.dataFiles(), "a dry run deletes nothing")
			require.EqualValues(t, 2, f.other().Version())

			res := f.vacuum(maintain.Vacuum{Lite: lite})
			require.Equal(t, idem.Committed, res.Outcome)
			require.Equal(t, dry.Files, res.Files)
			require.Equal(t, dry.Bytes, res.Bytes)
			for _, key := range dry.Names {
				require.False(t, f.has(key), key)
			}
			if lite {
				require.EqualValues(t, 1, res.Files, "what no commit named is not found")
				require.True(t, f.has("p=a/part-dead.parquet"))
			} else {
				require.EqualValues(t, 2, res.Files)
				require.Len(t, f.dataFiles(), 1)
			}
			require.Equal(t, []string{"b/2/y"}, f.rows())
			require.EqualValues(t, 4, res.Version)
			require.Equal(t, "VACUUM END", f.last().Operation)
			require.Equal(t, map[string]any{"status": "COMPLETED", "startVersion": "3"}, f.last().OperationParameters)

			again := f.vacuum(maintain.Vacuum{Lite: lite})
			require.Equal(t, idem.Unchanged, again.Outcome, "the second call")
			require.Zero(t, again.Files)
			require.EqualValues(t, 4, f.other().Version(), "and commits nothing")
		})
	}
}

func TestVacuumKeepsByAge(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.clock.now = f.clock.now.Add(8 * day)
	f.delete("id = 1") // an old file, removed just now
	f.put("part-of-a-writer-at-work.parquet")
	require.Zero(t, f.vacuum(maintain.Vacuum{}).Files)
	require.Zero(t, f.vacuum(maintain.Vacuum{Lite: true}).Files)
	f.clock.now = f.clock.now.Add(7*day + hour)
	require.EqualValues(t, 2, f.vacuum(maintain.Vacuum{}).Files)
}

// TestVacuumAtTheAge: what is just as old as the retention stays, what is a millisecond older goes.
func TestVacuumAtTheAge(t *testing.T) {
	for _, lite := range []bool{false, true} {
		f := newFixture(t, idem.Definition{})
		f.append(row{"a", 1, "x"})
		removed, at := f.dataFiles()[0], f.clock.now
		f.put("part-dead.parquet")
		f.delete("id = 1")
		f.clock.now = at.Add(7 * day)
		require.Zero(t, f.vacuum(maintain.Vacuum{Lite: lite}).Files)
		f.clock.now = f.clock.now.Add(time.Millisecond)
		f.vacuum(maintain.Vacuum{Lite: lite})
		require.False(t, f.has(removed))
		require.Equal(t, lite, f.has("part-dead.parquet"), "the log knows nothing of it")
	}
}

func TestVacuumRetention(t *testing.T) {
	for _, c := range []struct {
		why     string
		own     string // of the table
		request maintain.Vacuum
		age     time.Duration
		files   int64
		err     string
	}{
		{"shorter than the default is refused", "", maintain.Vacuum{Retention: hour}, 2 * hour, 0, "AllowShortRetention"},
		{"a dry run with it, too", "", maintain.Vacuum{Retention: hour, DryRun: true}, 2 * hour, 0, "AllowShortRetention"},
		{"negative", "", maintain.Vacuum{Retention: -1}, 2 * hour, 0, "negative"},
		{"short on purpose", "", maintain.Vacuum{Retention: hour, AllowShortRetention: true}, 2 * hour, 1, ""},
		{"short on purpose, but a file is younger", "", maintain.Vacuum{Retention: 3 * hour, AllowShortRetention: true}, 2 * hour, 0, ""},
		{"nothing asked is the table's, whatever is allowed", "", maintain.Vacuum{AllowShortRetention: true}, 2 * hour, 0, ""},
		{"the table's own", "interval 1 hour", maintain.Vacuum{}, 2 * hour, 1, ""},
		{"shorter than the table's own", "interval 30 days", maintain.Vacuum{Retention: 8 * day}, 9 * day, 0, "AllowShortRetention"},
		{"longer than the table's own", "interval 1 hour", maintain.Vacuum{Retention: day}, 2 * hour, 0, ""},
		{"longer than the table's own, and over", "interval 1 hour", maintain.Vacuum{Retention: day}, 26 * hour, 1, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			d := idem.Definition{Properties: map[string]string{"delta.checkpointInterval": "2"}}
			if c.own != "" {
				d.Properties["delta.deletedFileRetentionDuration"] = c.own
			}
			f := newFixture(t, d)
			f.append(row{"a", 1, "x"})
			f.delete("id = 1")
			f.clock.now = f.clock.now.Add(c.age)
			for range 4 { // checkpoints that forget what is older than the table's retention
				f.append(row{"a", 1, "x"})
			}
			f.table = f.other()
			res, err := maintain.VacuumTable(t.Context(), f.table, c.request)
			if c.err != "" {
				require.ErrorIs(t, err, idem.ErrInput)
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.files, res.Files)
		})
	}
}

func TestVacuumLeavesNamesThatAreNotItsOwn(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	f.append(row{"a", 1, "x"})
	kept := []string{
		"_delta_log/.hidden", "_delta_log/_staged_commits/00000000000000000009.0f.json", "_delta_log/zz/part.parquet",
		"_tmp/part-1.parquet", ".hidden/part-1.parquet", "p=a/_SUCCESS", "p=a/.part-1.parquet.crc", "metadata/v1.metadata.json",
		"nested/_change_data/cdc-1.parquet", "other/_delta_log/00000000000000000000.json", "other/part-1.parquet", "other/p=a/part-1.parquet",
		"_p=a/part-1.parquet",
	}
	gone := []string{"_change_data/cdc-1.parquet", "_change_data/p=a/cdc-2.parquet", "p=a/part-1.parquet", "orphan.parquet", "ab/part-1.parquet",
		"deletion_vector_0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f.bin", "another/part-1.parquet", "p=a/anything.txt"}
	f.put(kept...)
	f.put(gone...)
	f.clock.now = f.clock.now.Add(8 * day)
	res := f.vacuum(maintain.Vacuum{})
	require.EqualValues(t, len(gone), res.Files)
	for _, key := range kept {
		require.True(t, f.has(key), key)
	}
	for _, key := range gone {
		require.False(t, f.has(key), key)
	}
	for _, key := range kept {
		require.NoError(t, f.mem.Delete(t.Context(), key))
	}
}

func TestVacuumKnowsEscapedNames(t *testing.T) {
	values := []string{"a b", "a%20b", "ü", "a/b", "a:b", "x=y", "#?&", `a\b`, "100%", "%25", "_hidden", ".dot"}
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	var list []row
	for i, v := range values {
		list = append(list, row{v, int64(i), "x"})
	}
	f.append(list...)
	want := f.rows()
	f.clock.now = f.clock.now.Add(8 * day)
	require.Zero(t, f.vacuum(maintain.Vacuum{}).Files, "no live file is taken for another")
	f.delete("id >= 0")
	f.clock.now = f.clock.now.Add(8 * day)
	require.EqualValues(t, len(values), f.vacuum(maintain.Vacuum{}).Files, "and each dead one is found")
	require.Len(t, want, len(values))
}

func TestVacuumOfAPartitionColumnThatLooksHidden(t *testing.T) {
	hidden := columnsNamed("_p", "id", ".v")
	f := newFixture(t, idem.Definition{Schema: hidden, PartitionBy: []string{"_p"}})
	_, err := f.table.Append(t.Context(), named(hidden, row{"a", 1, "x"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	f.delete("id = 1")
	f.put("_q=a/part-1.parquet")
	f.clock.now = f.clock.now.Add(8 * day)
	require.EqualValues(t, 1, f.vacuum(maintain.Vacuum{}).Files)
	require.Equal(t, []string{"_q=a/part-1.parquet"}, f.dataFiles())
}

func TestVacuumKeepsAFileThatComesBackMeanwhile(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"}) // version 1
	f.delete("id = 1")
	f.clock.now = f.clock.now.Add(8 * day)
	f.raced(func(other *idem.Table) { // after the files were listed, before one is deleted
		_, err := maintain.RestoreTable(t.Context(), other, maintain.Restore{To: maintain.Version(1)})
		require.NoError(t, err)
	})
	res := f.vacuum(maintain.Vacuum{})
	require.Zero(t, res.Files)
	require.Equal(t, []string{"a/1/x"}, f.rows())
}

func TestTwoVacuumsAtOnce(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "y"})
	f.delete("id = 1")
	f.clock.now = f.clock.now.Add(8 * day)
	f.raced(func(other *idem.Table) {
		_, err := maintain.VacuumTable(t.Context(), other, maintain.Vacuum{})
		require.NoError(t, err)
	})
	f.vacuum(maintain.Vacuum{})
	require.Equal(t, []string{"a/2/y"}, f.rows())
	require.Len(t, f.dataFiles(), 1)
}

func TestVacuumRefusesATableThatItCannotWrite(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.delete("id = 1")
	f.commit("UPGRADE", delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"appendOnly", "invariants", "collations"}}})
	f.clock.now = f.clock.now.Add(8 * day)
	for _, dry := range []bool{true, false} {
		_, err := maintain.VacuumTable(t.Context(), f.table, maintain.Vacuum{DryRun: dry})
		require.ErrorIs(t, err, idem.ErrUnsupported)
		require.ErrorContains(t, err, "collations")
	}
	require.Len(t, f.dataFiles(), 1)
}

// TestWhatAVacuumSaysInTheLog: a Restore goes by it.
func TestWhatAVacuumSaysInTheLog(t *testing.T) {
	for _, c := range []struct {
		why     string
		request maintain.Vacuum
		fails   bool
		start   map[string]any
		status  string
	}{
		{"of the table's retention", maintain.Vacuum{}, false, map[string]any{"retentionCheckEnabled": true, "defaultRetentionMillis": 7 * day.Milliseconds()}, "COMPLETED"},
		{"of its own", maintain.Vacuum{Retention: hour, AllowShortRetention: true}, false,
			map[string]any{"retentionCheckEnabled": false, "defaultRetentionMillis": 7 * day.Milliseconds(), "specifiedRetentionMillis": hour.Milliseconds()}, "COMPLETED"},
		{"that cannot delete", maintain.Vacuum{}, true, map[string]any{"retentionCheckEnabled": true, "defaultRetentionMillis": 7 * day.Milliseconds()}, "FAILED"},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newFixture(t, idem.Definition{})
			f.append(row{"a", 1, "x"})
			f.delete("id = 1")
			f.clock.now = f.clock.now.Add(8 * day)
			f.store.Before = func(call storetest.Call) storetest.Fault {
				if c.fails && call.Op == storetest.OpDelete {
					return storetest.Fault{Kind: storetest.Denied}
				}
				return storetest.Fault{}
			}
			_, err := maintain.VacuumTable(t.Context(), f.table, c.request)
			require.Equal(t, c.fails, err != nil, "%v", err)
			var told []*delta.CommitInfo
			for commit, err := range f.other().History(t.Context()) {
				require.NoError(t, err)
				if told = append(told, commit.Info); len(told) == 2 {
					break
				}
			}
			end, start := told[0], told[1]
			require.Equal(t, "VACUUM START", start.Operation)
			want, err := json.Marshal(c.start)
			require.NoError(t, err)
			got, err := json.Marshal(start.OperationParameters)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
			require.Equal(t, "VACUUM END", end.Operation)
			require.Equal(t, c.status, end.OperationParameters["status"])
			require.Equal(t, "3", end.OperationParameters["startVersion"])
		})
	}
}

func TestVacuumFaultSweep(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "y"})
	f.delete("id = 1")
	f.clock.now = f.clock.now.Add(8 * day)
	set := f.copies()
	f = set(t)
	f.vacuum(maintain.Vacuum{})
	for i := 1; i <= f.store.Calls(); i++ {
		for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.Timeout, storetest.LostAnswer, storetest.Denied, storetest.CrashBefore, storetest.CrashAfter} {
			f := set(t)
			f.store.Before = func(c storetest.Call) storetest.Fault {
				if c.Index == i {
					return storetest.Fault{Kind: kind}
				}
				return storetest.Fault{}
			}
			_, err := maintain.VacuumTable(t.Context(), f.table, maintain.Vacuum{})
			require.Equal(t, []string{"a/2/y"}, f.rows(), "operation %d, %s: %v", i, kind, err)
			f.table = f.other()
			f.vacuum(maintain.Vacuum{})
			require.Equal(t, []string{"a/2/y"}, f.rows())
			require.Len(t, f.dataFiles(), 1)
		}
	}
}

// drawnKey gives a key of one or two elements of characters that paths are known to trip over.
func drawnKey(r *rand.Rand) string {
	letters := []rune("ab%25 20=+&?#:\\~^üß😀._-\"'<>[]{}|`")
	var elements [2]string
	for i := range elements {
		for range 1 + r.IntN(5) {
			elements[i] += string(letters[r.IntN(len(letters))])
		}
	}
	if r.IntN(2) == 0 {
		return elements[0]
	}
	return elements[0] + "/" + elements[1]
}

// A vacuum never deletes a live file, and every dead one, whatever files are called.
func TestVacuumNeverDeletesALiveFile(t *testing.T) {
	names, none := 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := &clock{now: time.Unix(1_700_000_000, 0)}
		st := store.NewMemClock(c.Now)
		live, dead := map[string]bool{}, map[string]bool{}
		actions := []delta.Action{
			{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: "WRITE", TxnID: "a"}},
			{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
			{Metadata: &delta.Metadata{ID: "a", Provider: "parquet", SchemaString: `{"type":"struct","fields":[]}`}},
		}
		for range 1500 {
			key := drawnKey(r)
			path := delta.EncodePath(key)
			if r.IntN(4) == 0 {
				path = st.URL() + path
			}
			at, err := delta.ResolvePath(st.URL(), path)
			if !nameable(key) {
				require.True(t, err != nil || key == "./"+at, "seed %d: %q is no name below the root, but was taken for %q", seed, path, at)
				none++
				continue
			}
			require.NoError(t, err, "seed %d: %q", seed, path)
			require.Equal(t, key, at, "seed %d: %q is a spelling of it", seed, path)
			if live[key] || dead[key] {
				continue
			}
			require.NoError(t, st.PutIfAbsent(t.Context(), key, []byte("x")))
			if r.IntN(2) == 0 {
				dead[key] = true
				continue
			}
			live[key] = true
			actions = append(actions, delta.Action{Add: &delta.Add{Path: path, Size: 1, DataChange: true, PartitionValues: map[string]*string{}}})
		}
		names += len(live) + len(dead)
		data, err := delta.EncodeCommit(actions)
		require.NoError(t, err)
		require.NoError(t, st.PutIfAbsent(t.Context(), delta.CommitKey(0), data))
		c.now = c.now.Add(30 * day)
		table, err := idem.OpenStore(t.Context(), st, idem.Options{Parallelism: 1, Clock: c})
		require.NoError(t, err)
		_, err = maintain.VacuumTable(t.Context(), table, maintain.Vacuum{})
		require.NoError(t, err)
		there := map[string]bool{}
		for info, err := range st.List(t.Context(), "", "") {
			require.NoError(t, err)
			there[info.Key] = true
		}
		for key := range live {
			require.True(t, there[key], "seed %d: the live file %q is there", seed, key)
		}
		for key := range dead {
			hidden := strings.ContainsAny(key[:1], "_.") || strings.Contains(key, "/_") || strings.Contains(key, "/.")
			require.Equal(t, hidden, there[key], "seed %d: the dead file %q", seed, key)
		}
	}
	require.Greater(t, names, 100_000)
	require.Less(t, none, names/5, "most are names")
}

// nameable is the naive twin of what a key below a root is.
func nameable(key string) bool {
	for _, element := range strings.Split(key, "/") {
		if element == "." || slices.Contains(strings.Split(element, `\`), "..") {
			return false
		}
	}
	return !strings.HasPrefix(key, `\`)
}

func TestVacuumWithALongerRetentionKnowsRemovalsThatCheckpointsForgot(t *testing.T) {
	for _, lite := range []bool{false, true} {
		f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.checkpointInterval": "2", "delta.deletedFileRetentionDuration": "interval 1 hour"}})
		f.append(row{"a", 1, "x"})
		f.clock.now = f.clock.now.Add(10 * day)
		f.delete("id = 1") // an old file
		f.clock.now = f.clock.now.Add(2 * hour)
		for range 4 {
			f.append(row{"a", 2, "y"})
		}
		f.table = f.other()
		for r := range f.table.Snapshot().Tombstones() {
			t.Fatalf("the newest checkpoint remembers %s", r.Path)
		}
		require.Zero(t, f.vacuum(maintain.Vacuum{Retention: day, DryRun: true, Lite: lite}).Files, "it was removed two hours ago")
		require.EqualValues(t, 1, f.vacuum(maintain.Vacuum{DryRun: true, Lite: lite}).Files, "which is enough for the table")
		require.NoError(t, f.mem.Delete(t.Context(), delta.CommitKey(0), delta.CommitKey(1), delta.CommitKey(2), delta.ChecksumKey(0), delta.ChecksumKey(1), delta.ChecksumKey(2)))
		_, err := maintain.VacuumTable(t.Context(), f.table, maintain.Vacuum{Retention: day, Lite: lite})
		require.ErrorIs(t, err, idem.ErrInput, "the log does not tell any more")
		require.ErrorContains(t, err, "reaches back to version 3")
	}
}

func TestVacuumGoesByTheStoresClock(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.put("part-dead.parquet")
	f.clock.now = f.clock.now.Add(day)
	f.put("part-as-old-as-the-retention.parquet")
	f.clock.now = f.clock.now.Add(7 * day)
	f.put("part-of-a-writer-at-work.parquet")
	ahead := f.options()
	ahead.Clock = &clock{now: f.clock.now.Add(30 * day)}
	var err error
	f.table, err = idem.OpenStore(t.Context(), f.mem, ahead)
	require.NoError(t, err)
	require.EqualValues(t, 1, f.vacuum(maintain.Vacuum{}).Files)
	require.True(t, f.has("part-of-a-writer-at-work.parquet"), "it is a moment old, whatever our clock says")
	require.True(t, f.has("part-as-old-as-the-retention.parquet"), "by the clock that is not ahead")
	require.False(t, f.has("part-dead.parquet"))
}

// A directory that was a partition may be another table's by now: what the log removed there is not ours to
// delete, whether the store is listed or the log is asked.
func TestVacuumLeavesFilesOfAnotherTableThatTheLogRemoved(t *testing.T) {
	for _, lite := range []bool{false, true} {
		f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
		f.append(row{"a", 1, "x"}, row{"b", 2, "y"})
		f.delete("id >= 1")
		f.put("p=a/_delta_log/00000000000000000000.json")
		f.clock.now = f.clock.now.Add(8 * day)
		res := f.vacuum(maintain.Vacuum{Lite: lite})
		require.EqualValues(t, 1, res.Files, "lite: %t", lite)
		left := 0
		for _, key := range f.dataFiles() {
			if strings.HasPrefix(key, "p=a/part-") {
				left++
			}
			require.False(t, strings.HasPrefix(key, "p=b/"), key)
		}
		require.Equal(t, 1, left)
		require.NoError(t, f.mem.Delete(t.Context(), "p=a/_delta_log/00000000000000000000.json"))
	}
}
