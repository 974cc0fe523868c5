package logio_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
)

func TestRefresh(t *testing.T) {
	tb := newHistory(t)
	l, faulty := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)

	faulty.Reset()
	same, err := l.Refresh(t.Context(), snap)
	require.NoError(t, err)
	require.Same(t, snap, same)
	require.Equal(t, map[storetest.Op]int{storetest.OpGet: 1, storetest.OpGetRange: 1}, faulty.Counts(), "seen a moment ago: one get, and whether it is the same log")

	tb.commit(add("e"))
	tb.commit(add("f"))
	faulty.Reset()
	next, err := l.Refresh(t.Context(), snap)
	require.NoError(t, err)
	requireTable(t, next, 6, "bb", "ccc", "dddd", "e", "f")
	require.Equal(t, map[storetest.Op]int{storetest.OpGet: 3, storetest.OpGetRange: 1}, faulty.Counts())

	tb.clock.now = tb.clock.now.Add(logio.FreshFor)
	tb.commit(add("g"))
	faulty.Reset()
	next, err = l.Refresh(t.Context(), next)
	require.NoError(t, err)
	require.EqualValues(t, 7, next.Version())
	require.Equal(t, map[storetest.Op]int{storetest.OpGet: 1, storetest.OpGetRange: 1, storetest.OpList: 1}, faulty.Counts(), "seen long ago: one list, and whether it is the same log")
}

// The next version is absent because it was cleaned away: that is not "nothing new".
func TestRefreshAfterCleanUp(t *testing.T) {
	tb := newHistory(t)
	l, _ := tb.log(logio.Options{})
	old, err := l.LoadAt(t.Context(), 1)
	require.NoError(t, err)
	tb.checkpoint(4)
	tb.cleanTo(4)
	tb.clock.now = tb.clock.now.Add(logio.FreshFor)
	snap, err := l.Refresh(t.Context(), old)
	require.NoError(t, err)
	requireTable(t, snap, 4, "bb", "ccc", "dddd")

	tb.cleanTo(5)
	tb.clock.now = tb.clock.now.Add(logio.FreshFor)
	snap, err = l.Refresh(t.Context(), snap)
	require.NoError(t, err, "only the checkpoint is left")
	requireTable(t, snap, 4, "bb", "ccc", "dddd")
}

func TestRefreshGates(t *testing.T) {
	tb := newHistory(t)
	l, _ := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	tb.commit(lacking())
	_, err = l.Refresh(t.Context(), snap)
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.ErrorContains(t, err, "newFeature")
}

func TestTail(t *testing.T) {
	tb := newHistory(t)
	l, _ := tb.log(logio.Options{})
	tail := func(v int64) logio.TailInfo {
		got, err := l.Tail(t.Context(), v)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, logio.TailInfo{Last: 4, Has: true, HasNext: true, Whole: true}, tail(2))
	require.Equal(t, logio.TailInfo{Last: 4, Has: true, Whole: true}, tail(4))
	require.Equal(t, logio.TailInfo{Last: 4}, tail(5), "the version asked for is not there: not whole")
	require.Equal(t, logio.TailInfo{Last: 4, HasNext: true}, tail(-1))
	tb.checkpoint(4)
	tb.cleanTo(5)
	require.Equal(t, logio.TailInfo{Last: 4, Whole: true}, tail(4), "its checkpoint stands for a commit that is gone")
	require.Equal(t, logio.TailInfo{Last: 4}, tail(2), "what followed is gone")
	tb.delete(delta.CheckpointKey(4))
	require.Equal(t, logio.TailInfo{Last: -1}, tail(0))
	require.Equal(t, logio.TailInfo{Last: 3}, tail(4))
}

func TestReadsAreTriedAgainAndPutsAreNot(t *testing.T) {
	tb := newHistory(t)
	l, faulty := tb.log(logio.Options{}, storetest.Rule{Fault: storetest.Fault{Kind: storetest.Throttle}})
	_, _, err := l.ReadCommit(t.Context(), 1)
	require.ErrorIs(t, err, storetest.ErrThrottled)
	require.Equal(t, 4, faulty.Count(storetest.OpGet))
	require.Error(t, l.Store().PutIfAbsent(t.Context(), "k", nil))
	require.Equal(t, 1, faulty.Count(storetest.OpPutIfAbsent))

	faulty.Reset()
	_, _, err = l.ReadCommit(t.Context(), 99)
	require.Error(t, err)
	require.Equal(t, 1, faulty.Count(storetest.OpGet), "an absent object is an answer")
	require.Same(t, l.Store(), logio.Retry(l.Store(), nil, nil), "no retry of retries")
}

// A list that breaks off goes on where it was, without a gap and without a repeat.
func TestListGoesOn(t *testing.T) {
	tb := newHistory(t)
	want, err := tb.load()
	require.NoError(t, err)
	l, _ := tb.log(logio.Options{},
		storetest.Rule{Op: storetest.OpList, Times: 2, Fault: storetest.Fault{Kind: storetest.FailAfter}},
		storetest.Rule{Op: storetest.OpList, Fault: storetest.Fault{Kind: storetest.DuplicateList}})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	requireTable(t, snap, want.Version(), files(want)...)
}

// A table that is dropped and made anew while its log is read, at any operation, is the old one, the new one, or an
// error: never a bit of both.
func TestATableMadeAnewWhileItIsRead(t *testing.T) {
	for name, read := range map[string]func(*table, *logio.Log, *storetest.Faulty) func(context.Context) (*delta.Snapshot, error){
		"opened": func(_ *table, l *logio.Log, _ *storetest.Faulty) func(context.Context) (*delta.Snapshot, error) {
			return l.Load
		},
		"opened by a checkpoint": func(tb *table, l *logio.Log, _ *storetest.Faulty) func(context.Context) (*delta.Snapshot, error) {
			tb.checkpoint(tb.tail - 1)
			return l.Load
		},
		"refreshed": func(tb *table, l *logio.Log, f *storetest.Faulty) func(context.Context) (*delta.Snapshot, error) {
			return refreshes(tb, l, f, 0)
		},
		"refreshed by a list": func(tb *table, l *logio.Log, f *storetest.Faulty) func(context.Context) (*delta.Snapshot, error) {
			return refreshes(tb, l, f, logio.FreshFor)
		},
	} {
		for versions := range int64(8) {
			for at := 1; ; at++ {
				tb := newHistory(t)
				l, faulty := tb.log(logio.Options{})
				load := read(tb, l, faulty)
				old, err := tb.load()
				require.NoError(t, err)
				begun := faulty.Calls()
				dropped := false
				faulty.Before = func(storetest.Call) storetest.Fault {
					if faulty.Calls()-begun == at {
						dropped = true
						tb.dropAndMakeAnew(versions)
					}
					return storetest.Fault{}
				}
				snap, err := load(t.Context())
				if !dropped {
					require.NoError(t, err)
					require.Greater(t, at, 3)
					break
				}
				if err != nil {
					continue
				}
				want := old
				if snap.Metadata().ID != old.Metadata().ID {
					want, err = tb.load()
					require.NoError(t, err)
				}
				requireTable(t, snap, want.Version(), files(want)...)
				faulty.Before = nil
				snap, err = l.Refresh(t.Context(), snap)
				require.NoError(t, err, "%s, %d versions, at %d", name, versions, at)
				require.Equal(t, "another", snap.Metadata().ID, "%s, %d versions, at %d", name, versions, at)
			}
		}
	}
}

// refreshes opens the table, has somebody go on, and lets a time pass before the table is refreshed.
func refreshes(tb *table, l *logio.Log, f *storetest.Faulty, after time.Duration) func(context.Context) (*delta.Snapshot, error) {
	snap, err := l.Load(context.Background())
	require.NoError(tb.t, err)
	tb.commit(add("later"))
	tb.commit(add("last"))
	tb.clock.now = tb.clock.now.Add(after)
	return func(ctx context.Context) (*delta.Snapshot, error) { return l.Refresh(ctx, snap) }
}

// A table of which the newest commit was cleaned away, behind a checkpoint, is known by the checkpoint.
func TestRefreshOfATableWithoutItsNewestCommit(t *testing.T) {
	tb := newHistory(t)
	newest := tb.tail - 1
	tb.checkpoint(newest)
	tb.delete(delta.CommitKey(newest))
	l, faulty := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	opened := faulty.Calls()
	same, err := l.Refresh(t.Context(), snap)
	require.NoError(t, err)
	require.Same(t, snap, same)
	require.Equal(t, 2, faulty.Calls()-opened, "the next commit, and a look at the checkpoint")

	tb.clock.now = tb.clock.now.Add(time.Second)
	data, err := tb.mem.Get(t.Context(), delta.CheckpointKey(newest), 0)
	require.NoError(t, err)
	tb.put(delta.CheckpointKey(newest), data)
	again, err := l.Refresh(t.Context(), snap)
	require.NoError(t, err)
	require.NotSame(t, snap, again, "another checkpoint may be of another table")
	requireTable(t, again, newest, files(snap)...)
}

// A table that was dropped while we slept is not "nothing new".
func TestRefreshOfADroppedTable(t *testing.T) {
	tb := newHistory(t)
	l, _ := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	tb.cleanTo(5)
	tb.clock.now = tb.clock.now.Add(logio.FreshFor)
	_, err = l.Refresh(t.Context(), snap)
	require.ErrorIs(t, err, delta.ErrNotTable)
}
