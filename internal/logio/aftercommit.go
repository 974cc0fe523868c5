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
// the version, and at the table's interval a checkpoint. The commit stands whatever becomes of
// these: what goes wrong is logged.
func (l *Log) AfterCommit(ctx context.Context, snap *delta.Snapshot, now time.Time) {
	if l.opts.ReadOnly {
		return
	}
	err := l.WriteChecksum(ctx, snap)
	if v := snap.Version(); v > 0 && v%snap.CheckpointInterval() == 0 {
		err = errors.Join(err, l.Checkpoint(ctx, snap, now))
	}
	if err != nil {
		l.opts.Logger.Warn("idem: what follows a commit was not done; the commit stands", "table", l.st.URL(), "version", snap.Version(), "error", err)
	}
}
