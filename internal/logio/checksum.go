package logio

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
)

// maxChecksum bounds a checksum file that is looked at; a larger one, which lists files, is not.
const maxChecksum = 4 << 20

// WriteChecksum writes the checksum file of a snapshot's version: one put, and nothing is read. One
// that is there already stays as it is. The commit of the version must be durable, and the snapshot
// must have been made from it: an in-commit timestamp that the table keeps and the snapshot does
// not know is an error, since a checksum is exact or it is not written.
func (l *Log) WriteChecksum(ctx context.Context, snap *delta.Snapshot) error {
	if err := l.writeChecksum(ctx, snap); err != nil {
		return fmt.Errorf("checksum of version %d: %w", snap.Version(), err)
	}
	return nil
}

func (l *Log) writeChecksum(ctx context.Context, snap *delta.Snapshot) error {
	if l.opts.ReadOnly {
		return errReadOnly
	}
	sum := snap.Checksum()
	switch timed := commit.TimestampsInCommits(snap.Protocol(), snap.Metadata()); {
	case !timed:
		sum.InCommitTimestamp = nil
	case sum.InCommitTimestamp == nil:
		return fmt.Errorf("the commit's timestamp is not known: %w", delta.ErrInput)
	}
	data, err := sum.Encode()
	if err != nil {
		return err
	}
	if err := l.st.PutIfAbsent(ctx, delta.ChecksumKey(snap.Version()), data); err != nil && !errors.Is(err, store.ErrExist) {
		return err
	}
	return nil
}

// verify holds a snapshot against the checksum file of its version, if the list showed one. The log
// is authoritative: what differs is logged and changes nothing.
func (l *Log) verify(ctx context.Context, ls *listing, snap *delta.Snapshot) {
	info, ok := ls.checksums[snap.Version()]
	if !ok || info.Size > maxChecksum {
		return
	}
	data, err := l.st.Get(ctx, info.Key, maxChecksum)
	if err != nil {
		return // it is advice: who cannot have it does without
	}
	sum, err := delta.DecodeChecksum(info.Key, data)
	if err != nil {
		l.opts.Logger.Warn("idem: a checksum file cannot be read; the log is what counts", "table", l.st.URL(), "error", err)
		return
	}
	if differ := sum.Differences(snap); len(differ) > 0 {
		l.opts.Logger.Warn("idem: the table is not what the checksum file of its version says; the log is what counts",
			"table", l.st.URL(), "version", snap.Version(), "differences", strings.Join(differ, "; "))
	}
}
