package logio_test

import (
	"fmt"
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
		v, err := l.VersionAt(t.Context(), c.at, nil)
		require.NoError(t, err, name)
		require.Equal(t, c.want, v, name)
	}
	for _, at := range []time.Time{start.Add(-time.Nanosecond), start.Add(4*time.Second + time.Nanosecond), {}} {
		_, err := l.VersionAt(t.Context(), at, nil)
		require.ErrorIs(t, err, delta.ErrInput)
	}
	tb.cleanTo(5)
	_, err := l.VersionAt(t.Context(), start, nil)
	require.ErrorIs(t, err, delta.ErrNotTable)
}

// The greatest version that a name can have has none after it to stop at: a log that has it is none of ours.
func TestVersionAtTheLastOfAllVersions(t *testing.T) {
	tb := newTable(t)
	tb.tail = math.MaxInt64
	at := tb.clock.now
	tb.commit()
	l, _ := tb.log(logio.Options{})
	_, err := l.VersionAt(t.Context(), at, nil)
	require.ErrorIs(t, err, delta.ErrUnsupported)
	tb.put(delta.CheckpointKey(math.MaxInt64), writeCheckpoint(t, protocol(), metadata()))
	_, err = l.VersionAt(t.Context(), at, nil)
	require.ErrorIs(t, err, delta.ErrUnsupported)
}

func protocol() delta.Action {
	return delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}
}

// Commits of which no table can be made any more are no answer, and the error says what there is.
func TestVersionAtBeforeWhatIsLeft(t *testing.T) {
	tb := newHistory(t)
	tb.checkpoint(3)
	tb.cleanTo(1)
	l, _ := tb.log(logio.Options{})
	start := newClock().now
	v, err := l.VersionAt(t.Context(), start.Add(3*time.Second), nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, v)
	for _, at := range []time.Time{start.Add(2 * time.Second), start.Add(time.Hour)} {
		_, err = l.VersionAt(t.Context(), at, nil)
		require.ErrorIs(t, err, delta.ErrInput)
		require.ErrorContains(t, err, "from version 3, which is of 2024-05-01T00:00:03Z, to version 4, which is of 2024-05-01T00:00:04Z")
	}
	versions, _, _ := collect(t, l)
	require.Equal(t, []int64{4, 3, 2, 1}, versions, "they are history all the same")
}

// timed commits a version with a time of its own, hours after the start, and an hour's file time.
func (tb *table) timed(hours int, actions ...delta.Action) {
	info := &delta.CommitInfo{Operation: "OP"}
	if hours > 0 {
		at := newClock().now.Add(time.Duration(hours) * time.Hour).UnixMilli()
		info.InCommitTimestamp = &at
	}
	data, err := delta.EncodeCommit(append([]delta.Action{{CommitInfo: info}}, actions...))
	require.NoError(tb.t, err)
	tb.put(delta.CommitKey(tb.tail), data)
	tb.clock.now = tb.clock.now.Add(time.Second)
	tb.tail++
}

// timestamps turns timestamps in commits on, from a version that is an hour after the start.
func timestamps(on string, from, hours int64) []delta.Action {
	m := metadata()
	m.Metadata.Configuration["delta.enableInCommitTimestamps"] = on
	if from > 0 {
		m.Metadata.Configuration["delta.inCommitTimestampEnablementVersion"] = fmt.Sprint(from)
		m.Metadata.Configuration["delta.inCommitTimestampEnablementTimestamp"] = fmt.Sprint(newClock().now.Add(time.Duration(hours) * time.Hour).UnixMilli())
	}
	return []delta.Action{m, {Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"inCommitTimestamp"}}}}
}

// Versions from the enablement on count by their own time, those before it by their files', also
// where a commit has both.
func TestVersionAtByCommitTimestamps(t *testing.T) {
	tb := newTable(t)                        // version 0, of the start
	tb.timed(50)                             // 1: a stray timestamp, before they count: a second after the start
	tb.timed(1, timestamps("true", 2, 1)...) // 2: an hour after the start
	tb.timed(2)                              // 3
	tb.timed(3)                              // 4
	l, _ := tb.log(logio.Options{})
	start := newClock().now
	for at, want := range map[time.Duration]int64{
		0: 0, time.Second: 1, 59 * time.Minute: 1, time.Hour: 2, 119 * time.Minute: 2, 150 * time.Minute: 3, 3 * time.Hour: 4,
	} {
		v, err := l.VersionAt(t.Context(), start.Add(at), nil)
		require.NoError(t, err)
		require.Equal(t, want, v, "%s", at)
	}
	_, err := l.VersionAt(t.Context(), start.Add(3*time.Hour+time.Millisecond), nil)
	require.ErrorIs(t, err, delta.ErrInput, "the newest version has a time of its own")
	_, times, _ := collect(t, l)
	require.Equal(t, []time.Time{start.Add(3 * time.Hour), start.Add(2 * time.Hour), start.Add(time.Hour), start.Add(time.Second), start}, times)
}

func TestTimestampsInCommitsFromTheStart(t *testing.T) {
	tb := &table{t: t, mem: newTable(t).mem, clock: newClock()}
	tb.timed(1, timestamps("true", 0, 0)...)
	tb.timed(2)
	l, _ := tb.log(logio.Options{})
	_, err := l.VersionAt(t.Context(), newClock().now, nil)
	require.ErrorIs(t, err, delta.ErrInput, "the time of the file does not count")
	v, err := l.VersionAt(t.Context(), newClock().now.Add(90*time.Minute), nil)
	require.NoError(t, err)
	require.Zero(t, v)
}

// Timestamps that were turned off again count no more.
func TestTimestampsInCommitsTurnedOff(t *testing.T) {
	tb := newTable(t)
	tb.timed(1, timestamps("true", 1, 1)...)
	tb.timed(2, timestamps("false", 0, 0)...)
	l, _ := tb.log(logio.Options{})
	v, err := l.VersionAt(t.Context(), newClock().now.Add(time.Second), nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, v)
}

// There is no falling back to the time of a file where a commit must have one.
func TestCommitsWithoutTheTimestampTheyMustHave(t *testing.T) {
	tb := newTable(t)
	tb.timed(1, timestamps("true", 1, 1)...)
	tb.timed(0)
	tb.timed(2)
	l, _ := tb.log(logio.Options{})
	_, err := l.VersionAt(t.Context(), newClock().now.Add(90*time.Minute), nil)
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, "version 2 has no inCommitTimestamp")
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	for _, err = range l.History(t.Context(), snap) {
		if err != nil {
			break
		}
	}
	require.ErrorIs(t, err, delta.ErrCorrupt)

	tb.timed(0) // the newest
	for _, known := range []*delta.Snapshot{nil, snap} {
		_, err = l.VersionAt(t.Context(), newClock().now, known)
		require.ErrorIs(t, err, delta.ErrCorrupt)
		require.ErrorContains(t, err, "version 4 has no inCommitTimestamp")
	}

	m := timestamps("true", 1, 1)
	m[0].Metadata.Configuration["delta.inCommitTimestampEnablementTimestamp"] = "noon"
	tb.timed(5, m...)
	_, err = l.VersionAt(t.Context(), newClock().now, nil)
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, `"noon"`)
}
