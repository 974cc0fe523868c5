package logio

import (
	"context"
	"fmt"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

// CommitTime gives the time, in milliseconds since the epoch, that a commit after a snapshot must be
// later than: the in-commit timestamp of the snapshot's version where the table keeps such, else the
// time of its file. It reads at most one object.
func (l *Log) CommitTime(ctx context.Context, snap *delta.Snapshot) (int64, error) {
	if !commit.TimestampsInCommits(snap.Protocol(), snap.Metadata()) {
		info, err := l.st.Head(ctx, delta.CommitKey(snap.Version()))
		if err != nil {
			return 0, fmt.Errorf("time of version %d: %w", snap.Version(), err)
		}
		return info.ModTime.UnixMilli(), nil
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
