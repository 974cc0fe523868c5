package logio_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/logio"
)

func collect(t *testing.T, l *logio.Log) (versions []int64, times []time.Time, operations []string) {
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	for c, err := range l.History(t.Context(), snap) {
		require.NoError(t, err)
		versions = append(versions, c.Version)
		times = append(times, c.Timestamp)
		operations = append(operations, c.Info.Operation)
	}
	return versions, times, operations
}

func TestHistory(t *testing.T) {
	tb := newHistory(t)
	l, _ := tb.log(logio.Options{})
	versions, times, operations := collect(t, l)
	require.Equal(t, []int64{4, 3, 2, 1, 0}, versions)
	require.Equal(t, []string{"OP 4", "OP 3", "OP 2", "OP 1", "OP 0"}, operations)
	require.Equal(t, newClock().now.Add(4*time.Second), times[0])

	tb.checkpoint(2)
	tb.cleanTo(2)
	versions, _, _ = collect(t, l)
	require.Equal(t, []int64{4, 3, 2}, versions, "what is cleaned away is no part of it")
}

// The times of files may go backwards or stand still; those of versions ascend.
func TestTimesAscend(t *testing.T) {
	tb := newTable(t)
	tb.commit()
	tb.clock.now = tb.clock.now.Add(-time.Hour)
	tb.commit()
	tb.commit()
	l, _ := tb.log(logio.Options{})
	_, times, _ := collect(t, l)
	start := newClock().now
	require.Equal(t, []time.Time{
		start.Add(time.Second + 2*time.Millisecond), start.Add(time.Second + time.Millisecond), start.Add(time.Second), start,
	}, times)
}

func TestVersionAt(t *testing.T) {
	tb := newHistory(t)
	l, _ := tb.log(logio.Options{})
	start := newClock().now
	for name, c := range map[string]struct {
		at   time.Time
		want int64
	}{
		"exactly the first":  {start, 0},
		"between":            {start.Add(1500 * time.Millisecond), 1},
		"just before":        {start.Add(3*time.Second - time.Nanosecond), 2},
		"exactly":            {start.Add(3 * time.Second), 3},
		"exactly the newest": {start.Add(4 * time.Second), 4},
		"in another zone":    {start.Add(3 * time.Second).In(time.FixedZone("x", 7200)), 3},
	} {
		v, err := l.VersionAt(t.Context(), c.at)
		require.NoError(t, err, name)
		require.Equal(t, c.want, v, name)
	}
	for _, at := range []time.Time{start.Add(-time.Nanosecond), start.Add(4*time.Second + time.Nanosecond), {}} {
		_, err := l.VersionAt(t.Context(), at)
		require.ErrorIs(t, err, delta.ErrInput)
	}
	tb.cleanTo(5)
	_, err := l.VersionAt(t.Context(), start)
	require.ErrorIs(t, err, delta.ErrNotTable)
}

// The greatest version that a name can have has none after it to stop at.
func TestVersionAtTheLastOfAllVersions(t *testing.T) {
	tb := newTable(t)
	tb.tail = math.MaxInt64
	at := tb.clock.now
	tb.commit()
	l, _ := tb.log(logio.Options{})
	v, err := l.VersionAt(t.Context(), at)
	require.NoError(t, err)
	require.EqualValues(t, math.MaxInt64, v)
	_, err = l.Load(t.Context())
	require.ErrorIs(t, err, delta.ErrCorrupt, "what lies between is missing")
}

// Commits that carry their own time count by that, those before them by their files'.
func TestVersionAtByCommitTimestamps(t *testing.T) {
	tb := newTable(t)
	start := newClock().now
	for i := range int64(3) {
		at := start.Add(time.Duration(i+1) * time.Hour).UnixMilli()
		data, err := delta.EncodeCommit([]delta.Action{{CommitInfo: &delta.CommitInfo{Operation: "WRITE", InCommitTimestamp: &at}}})
		require.NoError(t, err)
		tb.put(delta.CommitKey(tb.tail), data)
		tb.tail++
	}
	l, _ := tb.log(logio.Options{})
	for at, want := range map[time.Duration]int64{0: 0, 59 * time.Minute: 0, time.Hour: 1, 150 * time.Minute: 2, 3 * time.Hour: 3} {
		v, err := l.VersionAt(t.Context(), start.Add(at))
		require.NoError(t, err)
		require.Equal(t, want, v, "%s", at)
	}
	_, times, _ := collect(t, l)
	require.Equal(t, start.Add(3*time.Hour), times[0])
}
