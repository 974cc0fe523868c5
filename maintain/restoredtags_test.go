package maintain_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/maintain"
)

func (f *fixture) reapply(v int64) *idem.Result {
	res, err := f.table.AppendWithTxn(f.t.Context(), rowsOf(row{"a", v, "x"}), idem.Txn{AppID: "loader", Version: v, Reapply: true})
	require.NoError(f.t, err)
	f.clock.now = f.clock.now.Add(time.Minute)
	return res
}

// forget leaves a checkpoint of the newest version, and no commit before it.
func (f *fixture) forget() {
	_, err := maintain.Checkpoint(f.t.Context(), f.table)
	require.NoError(f.t, err)
	for v := range f.table.Version() {
		require.NoError(f.t, f.mem.Delete(f.t.Context(), delta.CommitKey(v), delta.ChecksumKey(v)))
	}
	f.table = f.other()
}

func TestALaterBatchDoesNotSkipThoseThatARestoreTookAway(t *testing.T) {
	for _, forget := range []bool{false, true} {
		t.Run(fmt.Sprintf("the log is cleaned up=%t", forget), func(t *testing.T) {
			f := newFixture(t, idem.Definition{})
			f.loaded(1) // version 1
			f.loaded(2)
			f.loaded(3)
			f.restore(maintain.Version(1))
			f.loaded(4)
			if forget {
				f.forget()
			}
			for _, v := range []int64{2, 3} {
				_, err := f.load(v)
				require.ErrorIs(t, err, idem.ErrRestored, "batch %d", v)
			}
			two := f.reapply(2)
			require.Equal(t, idem.Committed, two.Outcome)
			require.EqualValues(t, 4, two.Recorded, "the record of the later batch stays")
			again, err := f.load(2)
			require.NoError(t, err)
			require.Equal(t, idem.AlreadyApplied, again.Outcome)
			_, err = f.load(3)
			require.ErrorIs(t, err, idem.ErrRestored)
			if forget {
				f.forget()
				_, err = f.load(3)
				require.ErrorIs(t, err, idem.ErrRestored)
			}
			require.Equal(t, idem.Committed, f.reapply(3).Outcome)
			for v := int64(1); v <= 4; v++ {
				require.NotEqual(t, idem.Committed, f.reapply(v).Outcome, "batch %d", v)
			}
			f.loaded(5)
			require.Equal(t, []string{"a/1/x", "a/2/x", "a/3/x", "a/4/x", "a/5/x"}, f.rows())
		})
	}
}

// The batches behind one that was written again are missing still, when a later one comes before them.
func TestALaterBatchDoesNotSkipThoseAfterOneThatWasWrittenAgain(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2)
	f.loaded(3)
	f.restore(maintain.Version(1))
	f.reapply(2)
	f.loaded(4)
	_, err := f.load(3)
	require.ErrorIs(t, err, idem.ErrRestored)
	require.Equal(t, idem.Committed, f.reapply(3).Outcome)
	require.Equal(t, []string{"a/1/x", "a/2/x", "a/3/x", "a/4/x"}, f.rows())
}

// A tag that was moved back, and forward again by a restore to before that, whose log is gone: the record that
// was moved wrote no rows that the restore could have taken away.
func TestATagThatWasMovedBackAndRestoredForward(t *testing.T) {
	for to := int64(1); to <= 3; to++ {
		f := newFixture(t, idem.Definition{})
		f.loaded(1)
		f.loaded(2)
		f.loaded(4)
		before := f.table.Version()
		f.forget()
		_, err := f.table.RewindTxn(t.Context(), "loader", to)
		require.NoError(t, err)
		f.restore(maintain.Version(before))
		for _, v := range []int64{1, 2, 4} {
			require.NotEqual(t, idem.Committed, f.reapply(v).Outcome, "moved to %d, batch %d", to, v)
		}
		require.Equal(t, []string{"a/1/x", "a/2/x", "a/4/x"}, f.rows())
	}
}

func TestARestoreOfAVersionWithBatchesMissing(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2)
	f.restore(maintain.Version(1))
	f.loaded(3)
	four, err := f.load(4)
	require.NoError(t, err)
	f.loaded(5)
	f.restore(maintain.Version(four.Version))
	f.loaded(6)
	for _, v := range []int64{2, 5} {
		_, err := f.load(v)
		require.ErrorIs(t, err, idem.ErrRestored, "batch %d", v)
	}
	for _, v := range []int64{3, 4, 6} {
		require.NotEqual(t, idem.Committed, f.reapply(v).Outcome, "batch %d is there", v)
	}
	f.reapply(2)
	f.reapply(5)
	require.Equal(t, []string{"a/1/x", "a/2/x", "a/3/x", "a/4/x", "a/5/x", "a/6/x"}, f.rows())
}

// A restore by another engine leaves no records: its log tells.
func TestARestoreOfAnotherEngineAndALaterBatch(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1) // version 1
	before := f.files()
	f.loaded(2)
	var gone []delta.Action
	for _, a := range f.files() {
		if !slices.ContainsFunc(before, func(b *delta.Add) bool { return b.Path == a.Path }) {
			at := f.clock.now.UnixMilli()
			gone = append(gone, delta.Action{Remove: &delta.Remove{Path: a.Path, DeletionTimestamp: &at, DataChange: true}})
		}
	}
	f.commitInfo(&delta.CommitInfo{Operation: "RESTORE", OperationParameters: map[string]any{"version": 1, "timestamp": nil}}, gone...)
	f.table = f.other()

	copy, _ := cloned(t, f.table, store.NewMem(), maintain.Clone{})
	_, err := copy.AppendWithTxn(t.Context(), rowsOf(row{"a", 2, "x"}), tagged(2))
	require.ErrorIs(t, err, idem.ErrRestored, "a copy does not have the log that tells")

	f.loaded(3)
	_, err = f.load(2)
	require.ErrorIs(t, err, idem.ErrRestored)
	f.reapply(2)
	require.NotEqual(t, idem.Committed, f.reapply(3).Outcome)
	require.Equal(t, []string{"a/1/x", "a/2/x", "a/3/x"}, f.rows())
}

// commitInfo puts the next version by hand.
func (f *fixture) commitInfo(info *delta.CommitInfo, actions ...delta.Action) {
	info.Timestamp, info.EngineInfo = f.clock.now.UnixMilli(), "another"
	data, err := delta.EncodeCommit(append([]delta.Action{{CommitInfo: info}}, actions...))
	require.NoError(f.t, err)
	require.NoError(f.t, f.mem.PutIfAbsent(f.t.Context(), delta.CommitKey(f.other().Version()+1), data))
	f.clock.now = f.clock.now.Add(time.Minute)
}

// history is what a naive model knows of the batches of a table: which were written, the row of each time,
// and which may be skipped although their rows are not there.
type history struct {
	written, excused map[int64]bool
	rows             map[int64][]string           // of the batches, as far as the tag counts them
	was              map[int64]map[int64][]string // by version of the table
	calls            int
}

// there says whether the table has the row of a batch. A tag that was moved back leaves rows that count no
// more, until a restore brings the tag back as well.
func (h *history) there(f *fixture, v int64) bool {
	now := f.rows()
	return slices.ContainsFunc(h.rows[v], func(r string) bool { return slices.Contains(now, r) })
}

// Whatever restores, repeats and clean-ups come in whatever order: no batch is skipped in silence while its
// rows are missing, and none is written twice.
func TestTagsUnderRestoresAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t, idem.Definition{})
		h := &history{written: map[int64]bool{}, excused: map[int64]bool{}, rows: map[int64][]string{}, was: map[int64]map[int64][]string{0: {}}}
		oldest := int64(0)
		for range rapid.IntRange(3, 14).Draw(rt, "steps") {
			v := rapid.Int64Range(1, 6).Draw(rt, "batch")
			switch rapid.IntRange(0, 9).Draw(rt, "kind") {
			case 0, 1, 2, 3:
				h.load(rt, f, v, false)
			case 4, 5:
				h.load(rt, f, v, true)
			case 6, 7:
				to := rapid.Int64Range(oldest, f.table.Version()).Draw(rt, "version")
				before := recordedTag(f)
				for _, b := range passedOver(f, to) {
					h.excused[b] = h.excused[b] || len(h.was[to][b]) == 0
				}
				f.restore(maintain.Version(to))
				h.rows = maps.Clone(h.was[to])
				if now := recordedTag(f); now > before { // a tag that was moved back goes forward again
					for b := int64(1); b < now; b++ {
						h.excused[b] = true
					}
				}
			case 8:
				to := v - 2
				if _, err := f.table.RewindTxn(t.Context(), "loader", to); err == nil {
					for b := int64(1); b <= 6; b++ { // those up to it count as written, the others as never
						h.excused[b], h.written[b] = b <= to, h.written[b] && b <= to
						if b > to {
							delete(h.rows, b)
						}
					}
				}
			case 9:
				f.forget()
				oldest = f.table.Version()
			}
			h.was[f.table.Version()] = maps.Clone(h.rows)
		}
	})
}

// passedOver are the batches below the one in effect at a version that no restore had taken back: those that are not
// there were never written, as far as that version knows, and are superseded again once it is restored.
func passedOver(f *fixture, version int64) []int64 {
	view, err := f.table.At(f.t.Context(), version)
	require.NoError(f.t, err)
	records := commit.RecordsOf(view.Snapshot(), "loader")
	var out []int64
	for b := int64(1); b < records.Effective(); b++ {
		if !takenBack(records, b) {
			out = append(out, b)
		}
	}
	return out
}

// takenBack says whether a batch is in a range that a restore took back. That it was ever written is not recorded.
func takenBack(r commit.Records, batch int64) bool {
	return r.Undone < batch && batch <= r.Recorded ||
		slices.ContainsFunc(r.Gaps, func(g commit.Gap) bool { return g.From < batch && batch <= g.To })
}

func recordedTag(f *fixture) int64 {
	if x, ok := f.other().Snapshot().Txn("loader"); ok {
		return x.Version
	}
	return -1
}

func (h *history) load(rt *rapid.T, f *fixture, v int64, reapply bool) {
	h.calls++
	there, now := h.there(f, v), row{"a", v, fmt.Sprint(h.calls)}
	again := h.written[v] || reapply || takenBack(commit.RecordsOf(f.other().Snapshot(), "loader"), v)
	txn := tagged(v)
	txn.Reapply = reapply
	res, err := f.table.AppendWithTxn(f.t.Context(), rowsOf(now), txn)
	switch {
	case err != nil:
		require.ErrorIs(rt, err, idem.ErrRestored)
		require.False(rt, reapply)
		require.True(rt, !there || h.excused[v], "batch %d is there, and yet: %v", v, err)
	case res.Outcome == idem.Committed:
		require.False(rt, there && h.written[v], "batch %d is written twice", v)
		if again {
			for b := int64(1); b < v; b++ {
				h.excused[b] = true // superseded by one that was written again
			}
		}
		h.written[v], h.excused[v] = true, false
		h.rows[v] = append(slices.Clip(h.rows[v]), fmt.Sprintf("a/%d/%s", v, now.v))
	default:
		require.True(rt, there || h.excused[v] || !h.written[v], "batch %d is skipped (%s) and its rows are missing", v, res.Outcome)
	}
}
