package logio_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
)

// loud is a log whose warnings are kept.
func (tb *table) loud(rules ...storetest.Rule) (*logio.Log, *storetest.Faulty, *bytes.Buffer) {
	var said bytes.Buffer
	l, faulty := tb.log(logio.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))}, rules...)
	return l, faulty, &said
}

func TestChecksumsAreWrittenOnceAndHold(t *testing.T) {
	tb := newHistory(t)
	l, faulty, said := tb.loud()
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	faulty.Reset()
	require.NoError(t, l.WriteChecksum(t.Context(), snap))
	require.Equal(t, []string{"PUT-IF-ABSENT _delta_log/00000000000000000004.crc -> ok"}, faulty.Transcript(), "one put, nothing read")
	require.NoError(t, l.WriteChecksum(t.Context(), snap), "another one may have been first")

	_, err = l.Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, said.String())
}

// The log is what counts: a checksum that is wrong, or none at all, changes nothing and is told.
func TestChecksumsThatDisagree(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"another number of files": {`{"numFiles":9,"tableSizeBytes":9}`, "numFiles is 9 in the checksum and 3 in the log"},
		"garbage":                 {`{"numFiles":`, "00000000000000000004.crc"},
		"an empty file":           {``, "00000000000000000004.crc"},
		"of another version":      {`{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}`, "the protocol is another one"},
	} {
		tb := newHistory(t)
		tb.put(delta.ChecksumKey(4), []byte(c.text))
		l, _, said := tb.loud()
		snap, err := l.Load(t.Context())
		require.NoError(t, err, name)
		requireTable(t, snap, 4, "bb", "ccc", "dddd")
		require.Contains(t, said.String(), c.says, name)

		said.Reset()
		_, err = l.LoadAt(t.Context(), 3)
		require.NoError(t, err)
		require.Empty(t, said.String(), "it is about version 4 only")
	}
	tb := newHistory(t)
	tb.put(delta.ChecksumKey(4), []byte(`{"numFiles":9}`))
	l, _, said := tb.loud(storetest.Rule{Op: storetest.OpGet, Key: "*.crc", Fault: storetest.Fault{Kind: storetest.FailBefore}})
	_, err := l.Load(t.Context())
	require.NoError(t, err, "whoever cannot read it does without")
	require.Empty(t, said.String())
}

// A checksum is exact or it is not written.
func TestChecksumsNeedTheCommitsTime(t *testing.T) {
	tb := newTable(t)
	at := int64(5)
	m := metadata()
	m.Metadata.Configuration["delta.enableInCommitTimestamps"] = "true"
	data, err := delta.EncodeCommit([]delta.Action{
		{CommitInfo: &delta.CommitInfo{InCommitTimestamp: &at}}, m,
		{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"inCommitTimestamp"}}},
	})
	require.NoError(t, err)
	tb.put(delta.CommitKey(1), data)
	l, _ := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.WriteChecksum(t.Context(), snap))
	written, err := tb.mem.Get(t.Context(), delta.ChecksumKey(1), 0)
	require.NoError(t, err)
	require.Contains(t, string(written), `"inCommitTimestampOpt":5`)

	tb.put(delta.CheckpointKey(1), writeCheckpoint(t, delta.Action{Protocol: snap.Protocol()}, delta.Action{Metadata: snap.Metadata()}))
	snap, err = l.Load(t.Context())
	require.NoError(t, err)
	require.Nil(t, snap.CommitInfo())
	require.ErrorIs(t, l.WriteChecksum(t.Context(), snap), delta.ErrInput)
}

// Whatever fails after a commit, the table is readable and the next commits go on.
func TestAfterCommitFaults(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.LostAnswer, storetest.Duplicate} {
		for n := range 6 {
			tb := newHistory(t)
			for tb.tail <= 10 {
				tb.commit()
			}
			l, faulty, said := tb.loud()
			snap, err := l.Load(t.Context())
			require.NoError(t, err)
			faulty.Reset(storetest.Rule{Nth: n + 1, Fault: storetest.Fault{Kind: kind}})
			l.AfterCommit(t.Context(), snap, tb.clock.now)
			snap, err = tb.load()
			require.NoError(t, err)
			requireTable(t, snap, 10, "bb", "ccc", "dddd")
			if n > 3 {
				require.Empty(t, said.String(), "there is no such operation")
			}
		}
	}
}

func TestAfterCommitOfAReader(t *testing.T) {
	tb := newHistory(t)
	l, faulty := tb.log(logio.Options{ReadOnly: true})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	faulty.Reset()
	l.AfterCommit(t.Context(), snap, time.Time{})
	require.ErrorIs(t, l.WriteChecksum(t.Context(), snap), delta.ErrInput)
	require.Zero(t, faulty.Calls())
	_, err = tb.mem.Head(t.Context(), delta.ChecksumKey(4))
	require.ErrorIs(t, err, store.ErrNotExist)
}
