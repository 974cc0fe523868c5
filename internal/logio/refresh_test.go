package logio_test

import (
	"testing"

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
	require.Equal(t, map[storetest.Op]int{storetest.OpGet: 1}, faulty.Counts(), "seen a moment ago: one get")

	tb.commit(add("e"))
	tb.commit(add("f"))
	faulty.Reset()
	next, err := l.Refresh(t.Context(), snap)
	require.NoError(t, err)
	requireTable(t, next, 6, "bb", "ccc", "dddd", "e", "f")
	require.Equal(t, map[storetest.Op]int{storetest.OpGet: 3}, faulty.Counts())

	tb.clock.now = tb.clock.now.Add(logio.FreshFor)
	tb.commit(add("g"))
	faulty.Reset()
	next, err = l.Refresh(t.Context(), next)
	require.NoError(t, err)
	require.EqualValues(t, 7, next.Version())
	require.Equal(t, map[storetest.Op]int{storetest.OpGet: 2, storetest.OpList: 1}, faulty.Counts(), "seen long ago: one list, and whether it is the same log")
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
