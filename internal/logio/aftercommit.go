package logio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemtable/idem/delta"
)

var errReadOnly = fmt.Errorf("the log is open for reading only: %w", delta.ErrInput)

// AfterCommit does what is due when a commit has landed that made a snapshot: the checksum file of
// the version, and at the table's interval a checkpoint, after which what has expired of the log is
// deleted. The commit stands whatever becomes of these: what goes wrong is logged.
func (l *Log) AfterCommit(ctx context.Context, snap *delta.Snapshot, now time.Time) {
	if l.opts.ReadOnly {
		return
	}
	err := l.WriteChecksum(ctx, snap)
	if v := snap.Version(); v > 0 && v%snap.CheckpointInterval() == 0 {
		err = errors.Join(err, l.checkpointAndClean(ctx, snap, now))
	}
	if err != nil {
		l.opts.Logger.Warn("idem: what follows a commit was not done; the commit stands", "table", l.st.URL(), "version", snap.Version(), "error", err)
	}
}

func (l *Log) checkpointAndClean(ctx context.Context, snap *delta.Snapshot, now time.Time) error {
	if err := l.Checkpoint(ctx, snap, now); err != nil {
		return err
	}
	// The commit has only just landed: a clock of ours that is ahead of the store's must not make the
	// log look older than it is.
	landed, err := l.st.Head(ctx, delta.CommitKey(snap.Version()))
	if err != nil {
		return err
	}
	if landed.ModTime.Before(now) {
		now = landed.ModTime
	}
	gone, err := l.CleanUp(ctx, snap, now, false)
	if len(gone.Deleted) > 0 {
		l.opts.Logger.Info("idem: the log was cleaned up", "table", l.st.URL(), "oldest", gone.Oldest, "files", len(gone.Deleted))
	}
	return err
}
