package logio

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// Commit is one version in the history.
type Commit struct {
	Version int64

	// Timestamp is the commit's own where the table keeps such (inCommitTimestamp), else that of
	// the file, made to ascend with the version.
	Timestamp time.Time

	// Info is nil if the writer left none.
	Info *delta.CommitInfo
}

// History gives the commits that the log still has up to a snapshot, newest first.
func (l *Log) History(ctx context.Context, snap *delta.Snapshot) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		ls, err := l.list(ctx, 0)
		if err != nil {
			yield(Commit{}, fmt.Errorf("history: %w", err))
			return
		}
		last := snap.Version()
		first := ls.oldest(last)
		times := ls.modTimes(first, last)
		for v := last; v >= first; v-- {
			actions, _, err := l.ReadCommit(ctx, v)
			if errors.Is(err, store.ErrNotExist) {
				return // cleaned away meanwhile, and all before it
			}
			if err != nil {
				yield(Commit{}, fmt.Errorf("history: %w", err))
				return
			}
			c := Commit{Version: v, Timestamp: times[v-first], Info: delta.InfoOf(actions)}
			if at, ok := ownTime(c.Info); ok {
				c.Timestamp = at
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

func ownTime(info *delta.CommitInfo) (time.Time, bool) {
	if info == nil || info.InCommitTimestamp == nil {
		return time.Time{}, false
	}
	return time.UnixMilli(*info.InCommitTimestamp).UTC(), true
}

// VersionAt gives the newest version whose commit is not after an instant, among the commits that
// the log still has. An instant before the first of them or after the last is delta.ErrInput.
func (l *Log) VersionAt(ctx context.Context, at time.Time) (int64, error) {
	v, err := l.versionAt(ctx, at)
	if err != nil {
		return -1, fmt.Errorf("version at %s: %w", at.UTC().Format(time.RFC3339Nano), err)
	}
	return v, nil
}

func (l *Log) versionAt(ctx context.Context, at time.Time) (int64, error) {
	ls, err := l.list(ctx, 0)
	if err != nil {
		return -1, err
	}
	last := ls.newest()
	first := ls.oldest(last)
	switch {
	case last < 0:
		return -1, fmt.Errorf("%s has no commit in %s: %w", l.st.URL(), delta.LogDir, delta.ErrNotTable)
	case first > last:
		return -1, fmt.Errorf("the commit of version %d is gone, only its checkpoint is left: %w", last, delta.ErrInput)
	}
	t := timeline{l: l, first: first, files: ls.modTimes(first, last)}
	return t.find(ctx, at)
}

// timeline tells the times of commits. It reads them only if the newest has a time of its own.
type timeline struct {
	l     *Log
	first int64
	files []time.Time
	own   bool
}

func (t *timeline) find(ctx context.Context, at time.Time) (int64, error) {
	newest, own, err := t.read(ctx, len(t.files)-1)
	if err != nil {
		return -1, err
	}
	t.own = own
	if at.After(newest) {
		return -1, fmt.Errorf("the newest version, %d, is of %s: ask for that time or an earlier one: %w",
			t.first+int64(len(t.files)-1), newest.Format(time.RFC3339Nano), delta.ErrInput)
	}
	lo, hi := 0, len(t.files) // all before lo are not after the instant; hi and all behind it are
	for lo < hi {
		mid := (lo + hi) / 2
		when, err := t.at(ctx, mid)
		if err != nil {
			return -1, err
		}
		if when.After(at) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo > 0 {
		return t.first + int64(lo) - 1, nil
	}
	oldest, err := t.at(ctx, 0)
	if err != nil {
		return -1, err
	}
	return -1, fmt.Errorf("the oldest version in the log, %d, is of %s: %w", t.first, oldest.Format(time.RFC3339Nano), delta.ErrInput)
}

func (t *timeline) at(ctx context.Context, i int) (time.Time, error) {
	if !t.own {
		return t.files[i], nil
	}
	at, _, err := t.read(ctx, i)
	return at, err
}

func (t *timeline) read(ctx context.Context, i int) (at time.Time, own bool, err error) {
	actions, _, err := t.l.ReadCommit(ctx, t.first+int64(i))
	if err != nil {
		return time.Time{}, false, err
	}
	if at, own = ownTime(delta.InfoOf(actions)); own {
		return at, true, nil
	}
	return t.files[i], false, nil
}
