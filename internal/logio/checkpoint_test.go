package logio_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
)

func live(snap *delta.Snapshot) (out []*delta.Add) {
	for f := range snap.Files() {
		out = append(out, f)
	}
	return out
}

func requireStats(t *testing.T, l *logio.Log, snap *delta.Snapshot) {
	t.Helper()
	fs := live(snap)
	got, err := l.Stats(t.Context(), snap, fs)
	require.NoError(t, err)
	for i, f := range fs {
		require.Equal(t, stats(f.Key), got[i], f.Key)
	}
}

// Statistics are left in the checkpoint, fetched when asked for, and carried on to the next one.
func TestStatisticsSurviveCheckpoints(t *testing.T) {
	tb := newHistory(t)
	tb.checkpoint(2)
	l, _ := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	deferred := 0
	for _, f := range live(snap) {
		if f.StatsDeferred {
			deferred++
			require.Empty(t, f.Stats)
		}
	}
	require.Equal(t, 1, deferred, "bb comes from the checkpoint")
	requireStats(t, l, snap)

	require.NoError(t, l.Checkpoint(t.Context(), snap, tb.clock.now))
	tb.cleanTo(5)
	tb.delete(delta.CheckpointKey(2))
	snap, err = l.Load(t.Context())
	require.NoError(t, err)
	requireTable(t, snap, 4, "bb", "ccc", "dddd")
	requireStats(t, l, snap)
}

// A checkpoint without the statistics that an earlier one had would lose them for good, once the log is
// cleaned up. While the earlier one cannot be read, as behind a store that says that it is not there,
// none is written.
func TestNoCheckpointLosesStatisticsThatCannotBeRead(t *testing.T) {
	tb := newHistory(t)
	tb.checkpoint(2)
	l, faulty := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	faulty.Reset(storetest.Rule{Key: delta.CheckpointKey(2), Fault: storetest.Fault{Kind: storetest.StaleMissing}})
	require.ErrorContains(t, l.Checkpoint(t.Context(), snap, tb.clock.now), "statistics")
	require.Positive(t, faulty.Hits()[storetest.StaleMissing])
	_, err = tb.mem.Head(t.Context(), delta.CheckpointKey(4))
	require.ErrorIs(t, err, store.ErrNotExist)

	faulty.Reset()
	require.NoError(t, l.Checkpoint(t.Context(), snap, tb.clock.now))
	requireStats(t, l, snap)
}

// The checkpoint that a snapshot came from is gone: a later one of its past serves, an even later
// one does not.
func TestStatisticsFromAnotherCheckpoint(t *testing.T) {
	tb := newHistory(t)
	tb.checkpoint(2)
	l, _ := tb.log(logio.Options{})
	old, err := l.LoadAt(t.Context(), 3)
	require.NoError(t, err)
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.Checkpoint(t.Context(), snap, tb.clock.now))
	tb.delete(delta.CheckpointKey(2))
	requireStats(t, l, snap)

	other, _ := tb.log(logio.Options{})
	requireStats(t, other, snap)
	got, err := other.Stats(t.Context(), old, live(old))
	require.NoError(t, err)
	require.Contains(t, got, "", "nothing before version 3 is left: no statistics is a safe answer")

	require.NoError(t, tb.mem.Put(t.Context(), delta.CheckpointKey(4), []byte("PAR1")))
	got, err = l.Stats(t.Context(), snap, append(live(snap), live(snap)...))
	require.NoError(t, err)
	require.Len(t, got, 6)
}

func TestStatisticsAskedForTwice(t *testing.T) {
	tb := newHistory(t)
	tb.checkpoint(4)
	l, faulty := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	fs := append(live(snap), live(snap)...)
	got, err := l.Stats(t.Context(), snap, fs)
	require.NoError(t, err)
	for i, f := range fs {
		require.Equal(t, stats(f.Key), got[i])
	}
	faulty.Reset()
	_, err = l.Stats(t.Context(), snap, nil)
	require.NoError(t, err)
	require.Zero(t, faulty.Calls())
}

func TestCheckpointIsLeftToWhoWasFirst(t *testing.T) {
	tb := newHistory(t)
	l, faulty := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.Checkpoint(t.Context(), snap, tb.clock.now))
	first, err := tb.mem.Get(t.Context(), delta.CheckpointKey(4), 0)
	require.NoError(t, err)
	require.NoError(t, l.Checkpoint(t.Context(), snap, tb.clock.now.Add(time.Hour)))
	second, err := tb.mem.Get(t.Context(), delta.CheckpointKey(4), 0)
	require.NoError(t, err)
	require.Equal(t, first, second)

	hint, err := tb.mem.Get(t.Context(), delta.LastCheckpointKey, 0)
	require.NoError(t, err)
	decoded, err := delta.DecodeLastCheckpoint(hint)
	require.NoError(t, err)
	require.Equal(t, delta.LastCheckpoint{Version: 4, Size: 6, SizeInBytes: int64(len(first)), NumOfAddFiles: 3}, decoded,
		"protocol, metadata, three files, one tombstone")
	require.Zero(t, faulty.Count(storetest.OpDelete))
}

func TestCheckpointIsRefused(t *testing.T) {
	tb := newHistory(t)
	readOnly, faulty := tb.log(logio.Options{ReadOnly: true})
	snap, err := readOnly.Load(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, readOnly.Checkpoint(t.Context(), snap, tb.clock.now), delta.ErrInput)
	require.Zero(t, faulty.Count(storetest.OpPut)+faulty.Count(storetest.OpPutIfAbsent))

	tb.commit(delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"newFeature"}}})
	l, faulty := tb.log(logio.Options{})
	snap, err = l.Load(t.Context())
	require.NoError(t, err, "only writing is barred")
	require.ErrorIs(t, l.Checkpoint(t.Context(), snap, tb.clock.now), delta.ErrUnsupported)
	require.Zero(t, faulty.Count(storetest.OpPut)+faulty.Count(storetest.OpPutIfAbsent))
}

// counted counts what is taken of it.
type counted struct {
	memory.Allocator
	n int
}

func (c *counted) Allocate(size int) []byte {
	c.n++
	return c.Allocator.Allocate(size)
}

// Who gives an allocator sees what a checkpoint takes, and gets all of it back.
func TestCheckpointsAreReadWithTheAllocatorGiven(t *testing.T) {
	tb := newHistory(t)
	tb.checkpoint(2)
	checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
	mem := &counted{Allocator: checked}
	l, _ := tb.log(logio.Options{Allocator: mem})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	loaded := mem.n
	require.Positive(t, loaded)
	requireStats(t, l, snap)
	require.Greater(t, mem.n, loaded)
	checked.AssertSize(t, 0)
}

// A checkpoint whose answer is lost has no hint, and nobody minds.
func TestCheckpointFaults(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.LostAnswer, storetest.Duplicate} {
		for _, op := range []storetest.Op{storetest.OpPutIfAbsent, storetest.OpPut} {
			tb := newHistory(t)
			l, _ := tb.log(logio.Options{}, storetest.Rule{Op: op, Fault: storetest.Fault{Kind: kind}})
			snap, err := l.Load(t.Context())
			require.NoError(t, err)
			_ = l.Checkpoint(t.Context(), snap, tb.clock.now)
			snap, err = tb.load()
			require.NoError(t, err)
			requireTable(t, snap, 4, "bb", "ccc", "dddd")
		}
	}
}
