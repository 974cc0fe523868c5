package logio

import (
	"context"
	"fmt"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
)

// CommitTime gives the time, in milliseconds since the epoch, that a commit after a snapshot must be
// later than: the in-commit timestamp of the snapshot's version where the table keeps such, else the
// time of its file, made to ascend with the versions as the history has it. It reads at most one object, or
// lists the log.
func (l *Log) CommitTime(ctx context.Context, snap *delta.Snapshot) (int64, error) {
	if !commit.TimestampsInCommits(snap.Protocol(), snap.Metadata()) {
		at, err := l.fileTime(ctx, snap.Version())
		if err != nil {
			return 0, fmt.Errorf("time of version %d: %w", snap.Version(), err)
		}
		return at.UnixMilli(), nil
	}
	info := snap.CommitInfo()
	if info == nil {
		actions, _, err := l.ReadCommit(ctx, snap.Version())
		if err != nil {
			return 0, fmt.Errorf("time of version %d: %w", snap.Version(), err)
		}
		info = delta.InfoOf(actions)
	}
	at, ok := ownTime(info)
	if !ok {
		return 0, fmt.Errorf("%w: version %d has no inCommitTimestamp, though the table keeps such timestamps", delta.ErrCorrupt, snap.Version())
	}
	return at.UnixMilli(), nil
}

// fileTime is the time that the history gives to a version which has none of its own.
func (l *Log) fileTime(ctx context.Context, version int64) (time.Time, error) {
	ls, err := l.list(ctx, 0)
	if err != nil {
		return time.Time{}, err
	}
	first := ls.oldest(version)
	if first > version {
		return time.Time{}, fmt.Errorf("the commit is gone: %w", store.ErrNotExist)
	}
	times := ls.modTimes(first, version)
	return times[len(times)-1], nil
}
