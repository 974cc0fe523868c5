package logio_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
)

// newHistory is a table of five versions: made, then with the file a, with bb, with ccc in place of
// a, with dddd.
func newHistory(t require.TestingT) *table {
	tb := newTable(t)
	tb.commit(add("a"))
	tb.commit(add("bb"))
	tb.commit(remove("a"), add("ccc"))
	tb.commit(add("dddd"))
	return tb
}

func TestLoad(t *testing.T) {
	all := []string{"bb", "ccc", "dddd"}
	v2 := "_delta_log/00000000000000000004.checkpoint.6374b053-df23-479b-b2cf-c9c550132b49.parquet"
	for name, c := range map[string]struct {
		change func(tb *table)
		err    error
		text   string
	}{
		"commits alone":                       {change: func(tb *table) {}},
		"a checkpoint in the middle":          {change: func(tb *table) { tb.checkpoint(2) }},
		"a checkpoint at the end":             {change: func(tb *table) { tb.checkpoint(4) }},
		"a checkpoint, its past cleaned away": {change: func(tb *table) { tb.checkpoint(2); tb.cleanTo(3) }},
		"a checkpoint without its own commit": {change: func(tb *table) { tb.checkpoint(4); tb.cleanTo(5) }},
		"no hint":                             {change: func(tb *table) { tb.checkpoint(2); tb.cleanTo(2); tb.delete(delta.LastCheckpointKey) }},
		"an empty hint":                       {change: func(tb *table) { tb.checkpoint(2); tb.put(delta.LastCheckpointKey, nil) }},
		"a torn hint":                         {change: func(tb *table) { tb.checkpoint(2); tb.put(delta.LastCheckpointKey, []byte(`{"version":`)) }},
		"a hint to what is not there":         {change: func(tb *table) { tb.put(delta.LastCheckpointKey, delta.LastCheckpoint{Version: 3}.Encode()) }},
		"a hint beyond the end":               {change: func(tb *table) { tb.put(delta.LastCheckpointKey, delta.LastCheckpoint{Version: 99}.Encode()) }},
		"a hint to an older checkpoint":       {change: func(tb *table) { tb.checkpoint(3); tb.checkpoint(1) }},
		"a broken checkpoint, commits there":  {change: func(tb *table) { tb.checkpoint(3); tb.put(delta.CheckpointKey(3), []byte("PAR1 not")) }},
		"a broken one, an older one there": {change: func(tb *table) {
			tb.checkpoint(3)
			tb.checkpoint(1)
			tb.cleanTo(1)
			tb.put(delta.CheckpointKey(3), nil)
		}},
		"a broken one with the hint to it": {change: func(tb *table) {
			tb.checkpoint(1)
			tb.checkpoint(3)
			tb.cleanTo(1)
			tb.put(delta.CheckpointKey(3), nil)
		}},
		"parts, some missing":            {change: func(tb *table) { tb.put(delta.CheckpointPartKey(3, 1, 2), writeCheckpoint(tb.t, add("zzz"))) }},
		"a broken V2 one, commits there": {change: func(tb *table) { tb.put(v2, []byte("whatever it holds")) }},
		"names that mean nothing": {change: func(tb *table) {
			tb.put("_delta_log/5.json", nil)
			tb.put("_delta_log/.00000000000000000005.json.crc", nil)
		}},
		"a checksum makes no version":      {change: func(tb *table) { tb.put(delta.ChecksumKey(9), []byte("{}")) }},
		"a compaction":                     {change: func(tb *table) { tb.compact(1, 3, add("bb"), add("ccc"), remove("a")) }},
		"a compaction before a checkpoint": {change: func(tb *table) { tb.checkpoint(2); tb.compact(0, 1, add("zzz")) }},
		"a compaction beyond the end":      {change: func(tb *table) { tb.compact(3, 5, add("zzz")) }},
		"a compaction that adds twice":     {change: func(tb *table) { tb.compact(1, 3, add("bb"), add("bb")) }},
		"a broken compaction":              {change: func(tb *table) { tb.put(delta.CompactionKey(1, 3), []byte(`{"add":`)) }},
		"a gap below the checkpoint":       {change: func(tb *table) { tb.checkpoint(2); tb.delete(delta.CommitKey(1)) }},

		"no log":                          {func(tb *table) { tb.cleanTo(5) }, delta.ErrNotTable, "create the table first"},
		"a gap":                           {func(tb *table) { tb.delete(delta.CommitKey(3)) }, delta.ErrCorrupt, "commit 3 is missing"},
		"a gap after the checkpoint":      {func(tb *table) { tb.checkpoint(1); tb.delete(delta.CommitKey(2)) }, delta.ErrCorrupt, "commit 2 is missing"},
		"no beginning":                    {func(tb *table) { tb.cleanTo(2) }, delta.ErrCorrupt, "commit 0 is missing"},
		"a torn last commit":              {func(tb *table) { tb.put(delta.CommitKey(4), []byte(`{"add":{"pa`)) }, delta.ErrCorrupt, "00000000000000000004.json"},
		"a broken checkpoint, alone":      {func(tb *table) { tb.checkpoint(3); tb.cleanTo(3); tb.put(delta.CheckpointKey(3), []byte("PAR1 not")) }, delta.ErrCorrupt, "00000000000000000003.checkpoint.parquet"},
		"a checkpoint without a protocol": {func(tb *table) { tb.put(delta.CheckpointKey(3), writeCheckpoint(tb.t, add("zzz"))) }, delta.ErrCorrupt, "lacks the protocol"},
		"a broken V2 checkpoint, alone":   {func(tb *table) { tb.put(v2, []byte("whatever it holds")); tb.cleanTo(4) }, delta.ErrCorrupt, "6374b053"},
		"a version after which there is none": {func(tb *table) {
			tb.put(delta.CommitKey(math.MaxInt64), nil)
			tb.put(delta.CheckpointKey(math.MaxInt64-1), writeCheckpoint(tb.t, metadata()))
		}, delta.ErrUnsupported, "no version can come after"},
		"a checkpoint after which there is none": {func(tb *table) { tb.put(delta.CheckpointKey(math.MaxInt64), writeCheckpoint(tb.t, metadata())) }, delta.ErrUnsupported, "no version can come after"},
		"a feature that idem lacks":              {func(tb *table) { tb.commit(lacking()) }, delta.ErrUnsupported, "newFeature"},
		"a feature, by a checkpoint": {func(tb *table) {
			tb.put(delta.CheckpointKey(4), writeCheckpoint(tb.t, lacking(), metadata()))
			tb.cleanTo(4)
		}, delta.ErrUnsupported, "newFeature"},
		"a feature that came and went": {change: func(tb *table) {
			tb.commit(lacking())
			tb.commit(delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newHistory(t)
			c.change(tb)
			for _, n := range []int{1, 3} {
				l, _ := tb.log(logio.Options{Parallelism: n})
				snap, err := l.Load(t.Context())
				require.ErrorIs(t, err, c.err)
				if c.err == nil {
					require.Equal(t, all, files(snap))
					continue
				}
				require.ErrorContains(t, err, c.text)
				if c.err == delta.ErrUnsupported {
					require.NotErrorIs(t, err, delta.ErrCorrupt)
				}
			}
		})
	}
}

func lacking() delta.Action {
	return delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"newFeature"}, WriterFeatures: []string{"newFeature"}}}
}

func metadata() delta.Action {
	return delta.Action{Metadata: &delta.Metadata{ID: "table", Provider: "parquet", SchemaString: schemaText, Configuration: map[string]string{}}}
}

// cleanTo deletes the commits before a version.
func (tb *table) cleanTo(version int64) {
	for v := range version {
		tb.delete(delta.CommitKey(v))
	}
}

func (tb *table) compact(first, last int64, actions ...delta.Action) {
	var data []byte
	for _, a := range actions { // one by one: together they may break the rules of a commit
		line, err := delta.EncodeCommit([]delta.Action{a})
		require.NoError(tb.t, err)
		data = append(data, line...)
	}
	tb.put(delta.CompactionKey(first, last), data)
}

// Parts of one count make a checkpoint; parts of another count beside them belong to another.
func TestMultiPart(t *testing.T) {
	tb := newHistory(t)
	tb.put(delta.CheckpointPartKey(4, 1, 2), writeCheckpoint(t, delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}, add("bb"), add("ccc")))
	tb.put(delta.CheckpointPartKey(4, 2, 2), writeCheckpoint(t, metadata(), add("dddd")))
	tb.put(delta.CheckpointPartKey(4, 1, 3), writeCheckpoint(t, add("zzz")))
	tb.cleanTo(5)
	snap, err := tb.load()
	require.NoError(t, err)
	requireTable(t, snap, 4, "bb", "ccc", "dddd")
}

func TestRequestsOfALoad(t *testing.T) {
	tb := newHistory(t)
	tb.checkpoint(2)
	l, faulty := tb.log(logio.Options{})
	_, err := l.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[storetest.Op]int{storetest.OpGet: 3, storetest.OpList: 1}, without(faulty, storetest.OpGetRange),
		"the hint and two commits, one list; the checkpoint is fetched by ranges or whole: %q", faulty.Transcript())
}

// without counts operations, the checkpoint's aside.
func without(f *storetest.Faulty, op storetest.Op) map[storetest.Op]int {
	counts := map[storetest.Op]int{}
	for _, line := range f.Transcript() {
		if !strings.Contains(line, "checkpoint.parquet") {
			counts[storetest.Op(strings.Fields(line)[0])]++
		}
	}
	delete(counts, op)
	return counts
}

// waiting is a store that gives out commits when it is told to.
type waiting struct {
	store.Store
	asked atomic.Int64
	open  chan struct{}
}

func (w *waiting) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if delta.ParseLogFile(key).Kind == delta.Commit {
		w.asked.Add(1)
		<-w.open
	}
	return w.Store.Get(ctx, key, limit)
}

// TestCommitsAreFetchedSideBySide: as many are on their way at once as Parallelism says.
func TestCommitsAreFetchedSideBySide(t *testing.T) {
	for _, parallelism := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			tb := newHistory(t)
			for i := range 20 {
				tb.commit(add(fmt.Sprint("more", i)))
			}
			st := &waiting{Store: tb.mem, open: make(chan struct{})}
			l := logio.New(st, logio.Options{Clock: tb.clock, Parallelism: parallelism})
			done := make(chan error)
			go func() {
				snap, err := l.Load(t.Context())
				if err == nil && snap.Version() != tb.tail-1 {
					err = fmt.Errorf("version %d", snap.Version())
				}
				done <- err
			}()
			synctest.Wait()
			require.EqualValues(t, parallelism, st.asked.Load(), "all that can go on wait for the store")
			close(st.open)
			require.NoError(t, <-done)
			require.EqualValues(t, tb.tail, st.asked.Load(), "each commit is fetched once")
		})
	}
}

func TestLoadAt(t *testing.T) {
	tb := newHistory(t)
	want := map[int64][]string{0: nil, 1: {"a"}, 2: {"a", "bb"}, 3: {"bb", "ccc"}, 4: {"bb", "ccc", "dddd"}}
	l, _ := tb.log(logio.Options{})
	check := func(first int64) {
		for v, keys := range want {
			snap, err := l.LoadAt(t.Context(), v)
			if v < first {
				require.ErrorIs(t, err, delta.ErrInput, "version %d", v)
				continue
			}
			require.NoError(t, err)
			requireTable(t, snap, v, keys...)
		}
	}
	check(0)
	tb.checkpoint(2)
	check(0)
	tb.cleanTo(2)
	check(2)
	for _, v := range []int64{-1, 5, 99} {
		_, err := l.LoadAt(t.Context(), v)
		require.ErrorIs(t, err, delta.ErrInput)
	}
}

// The log is cleaned between the list and the reading of what was listed.
func TestLoadWhileTheLogIsCleaned(t *testing.T) {
	for _, on := range []string{"*.json", "*.checkpoint.parquet"} {
		tb := newHistory(t)
		tb.checkpoint(1)
		l, faulty := tb.log(logio.Options{})
		done := false
		faulty.Before = func(c storetest.Call) storetest.Fault {
			if !done && c.Op != storetest.OpList && strings.HasSuffix(c.Key, strings.TrimPrefix(on, "*")) {
				done = true
				tb.checkpoint(3)
				tb.cleanTo(3)
				tb.delete(delta.CheckpointKey(1))
			}
			return storetest.Fault{}
		}
		snap, err := l.Load(t.Context())
		require.NoError(t, err, "%q", faulty.Transcript())
		requireTable(t, snap, 4, "bb", "ccc", "dddd")
		require.True(t, done)
	}
}

// What the store says of a checkpoint is no reason to do without it, and no reason to give up at once.
func TestLoadFaults(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.Throttle, storetest.Timeout, storetest.FailBefore, storetest.TornRead} {
		for nth := 1; nth <= 8; nth++ {
			tb := newHistory(t)
			tb.checkpoint(2)
			tb.cleanTo(2)
			l, faulty := tb.log(logio.Options{}, storetest.Rule{Nth: nth, Fault: storetest.Fault{Kind: kind}})
			snap, err := l.Load(t.Context())
			require.NoError(t, err, "%s at %d: %q", kind, nth, faulty.Transcript())
			requireTable(t, snap, 4, "bb", "ccc", "dddd")
		}
	}
	tb := newHistory(t)
	l, _ := tb.log(logio.Options{}, storetest.Rule{Op: storetest.OpList, Fault: storetest.Fault{Kind: storetest.Denied}})
	_, err := l.Load(t.Context())
	require.ErrorIs(t, err, storetest.ErrInjected)
	require.NotErrorIs(t, err, delta.ErrNotTable, "a list that fails is not an empty list")
}

// A commit that is larger than what is read is no reason to come again, and no damage.
func TestACommitThatIsTooLarge(t *testing.T) {
	tb := newHistory(t)
	l, faulty := tb.log(logio.Options{}, storetest.Rule{Op: storetest.OpGet, Key: "*3.json", Fault: storetest.Fault{Kind: storetest.FailBefore, Err: store.ErrTooLarge}})
	_, err := l.Load(t.Context())
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.ErrorIs(t, err, store.ErrTooLarge)
	require.NotErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, "read commit 3")
	require.Equal(t, 1, faulty.Hits()[storetest.FailBefore], "asking again gives the same answer")
}

// Whatever lies beside the commits, a load is the fold of all commits.
func TestLoadIsTheFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := newTable(t)
		live := map[string]bool{}
		want := []map[string]bool{{}}
		for range rapid.IntRange(0, 7).Draw(t, "commits") {
			var actions []delta.Action
			for i := range rapid.IntRange(0, 3).Draw(t, "actions") {
				key := fmt.Sprintf("f%d", rapid.IntRange(0, 4).Draw(t, "file"))
				if len(actions) > i || seen(actions, key) {
					continue
				}
				if live[key] {
					actions = append(actions, remove(key))
				} else {
					actions = append(actions, add(key))
				}
				live[key] = !live[key]
			}
			tb.commit(actions...)
			now := map[string]bool{}
			for k, v := range live {
				if v {
					now[k] = true
				}
			}
			want = append(want, now)
		}
		base := int64(0)
		for range rapid.IntRange(0, 3).Draw(t, "checkpoints") {
			v := rapid.Int64Range(base, tb.tail-1).Draw(t, "at")
			tb.checkpoint(v)
			if rapid.Bool().Draw(t, "clean") && v > base {
				tb.cleanTo(v)
				base = v
			}
		}
		l, _ := tb.log(logio.Options{Parallelism: rapid.IntRange(1, 3).Draw(t, "parallelism")})
		snap, err := l.LoadAt(t.Context(), base)
		require.NoError(t, err)
		for v := base; v < tb.tail; v++ {
			at, err := l.LoadAt(t.Context(), v)
			require.NoError(t, err)
			require.Len(t, want[v], at.NumFiles())
			for f := range at.Files() {
				require.True(t, want[v][f.Key])
			}
		}
		newest, err := l.Refresh(t.Context(), snap)
		require.NoError(t, err)
		require.Equal(t, tb.tail-1, newest.Version())
		require.Len(t, want[tb.tail-1], newest.NumFiles())
	})
}

func seen(actions []delta.Action, key string) bool {
	for _, a := range actions {
		if a.Add != nil && a.Add.Path == key || a.Remove != nil && a.Remove.Path == key {
			return true
		}
	}
	return false
}

// places is a store whose lists are read as a directory is: what is made while one runs is seen or not, whatever comes
// after it.
type places struct {
	store.Store
	meanwhile func()
	seen      func(key string) bool // of what is made meanwhile
	lists     int
}

func (p *places) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	p.lists++
	before := map[string]bool{}
	for info := range p.Store.List(ctx, prefix, after) {
		before[info.Key] = true
	}
	made := p.meanwhile
	p.meanwhile = func() {}
	made()
	return func(yield func(store.Info, error) bool) {
		for info, err := range p.Store.List(ctx, prefix, after) {
			if (before[info.Key] || p.lists > 1 || p.seen(info.Key)) && !yield(info, err) {
				return
			}
		}
	}
}

// A list of a directory may show a commit and not the one before it, if both are made while it runs. That is no gap in the
// log: what is shown is a version that was there.
func TestAListThatIsNotOfOneMoment(t *testing.T) {
	tb := newHistory(t)
	last := tb.tail - 1
	at := tb.clock.now.Add(2 * time.Second)
	for name, read := range map[string]func(*logio.Log) (int64, error){
		"load": func(l *logio.Log) (int64, error) {
			snap, err := l.Load(t.Context())
			if err != nil {
				return 0, err
			}
			return snap.Version(), nil
		},
		"tail": func(l *logio.Log) (int64, error) {
			tail, err := l.Tail(t.Context(), last)
			if !tail.Whole || !tail.HasNext {
				return 0, fmt.Errorf("%+v", tail)
			}
			return tail.Last, err
		},
		"version at": func(l *logio.Log) (int64, error) {
			v, err := l.VersionAt(t.Context(), at, nil)
			return v, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newHistory(t)
			p := &places{Store: tb.mem, seen: func(key string) bool { return key == delta.CommitKey(last+3) }}
			p.meanwhile = func() {
				for i := range 3 {
					tb.commit(add(fmt.Sprint("new-", i)))
				}
			}
			v, err := read(logio.New(p, logio.Options{Clock: tb.clock}))
			require.NoError(t, err)
			require.Equal(t, last+3, v)
			require.GreaterOrEqual(t, p.lists, 2)
		})
	}
	t.Run("of a table that is being made", func(t *testing.T) {
		tb := &table{t: t, clock: newClock()}
		tb.mem = store.NewMemClock(tb.clock.Now)
		p := &places{Store: tb.mem, seen: func(key string) bool { return key == delta.CommitKey(1) }}
		p.meanwhile = func() {
			tb.create("table")
			tb.commit(add("a"))
			tb.commit(add("bb"))
		}
		snap, err := logio.New(p, logio.Options{Clock: tb.clock}).Load(t.Context())
		require.NoError(t, err)
		requireTable(t, snap, 1, "a")
	})
	t.Run("a gap stays one", func(t *testing.T) {
		tb := newHistory(t)
		tb.delete(delta.CommitKey(2))
		_, err := tb.load()
		require.ErrorIs(t, err, delta.ErrCorrupt)
		require.ErrorContains(t, err, "commit 2 is missing")
	})
}
