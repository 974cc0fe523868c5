package logio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// slowLoad is how long a load may last before the log is looked at once more: one that was dropped and made anew
// meanwhile is two logs.
const slowLoad = 10 * time.Second

// markBytes are the bytes of a commit by which a log is known. Ids of what the commit did stand in them: those of the
// transaction, the table, the files.
const markBytes = 4 << 10

// mark is how a log is known: the beginning of a commit of it, the newest that was seen; or, where a checkpoint
// stands in for a commit that was cleaned away, what the store says of that file. The zero mark is none.
type mark struct {
	table   string // the id that its table has
	version int64
	begin   []byte
	standIn store.Info
}

// Same says whether the log is still the one that a snapshot is of: it has the newest commit that was seen. A log that
// was dropped has not, nor has one that was made anew at its place, nor one that was cleaned up to beyond that commit:
// then it is to be loaded. It is one read of at most 4 KiB. Of a log that nothing was read of nothing is known.
func (l *Log) Same(ctx context.Context, snap *delta.Snapshot) (bool, error) {
	l.mu.Lock()
	was := l.mark
	l.mu.Unlock()
	switch {
	case was.table != "" && was.table != snap.Metadata().ID:
		return false, nil // another was loaded since
	case was.standIn.Key != "":
		return l.stands(ctx, was.standIn)
	case len(was.begin) == 0:
		return true, nil
	}
	begin := make([]byte, len(was.begin))
	err := l.st.GetRange(ctx, delta.CommitKey(was.version), 0, begin)
	switch {
	case errors.Is(err, store.ErrNotExist), errors.Is(err, io.ErrUnexpectedEOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read commit %d again: %w", was.version, err)
	}
	return bytes.Equal(begin, was.begin), nil
}

// stands says whether a file of the log is there as it was listed.
func (l *Log) stands(ctx context.Context, was store.Info) (bool, error) {
	is, err := l.st.Head(ctx, was.Key)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look at %s again: %w", was.Key, err)
	}
	return is.Size == was.Size && is.ModTime.Unix() == was.ModTime.Unix(), nil // of a list and of a head times may be of other precision
}

// Knows notes how a commit begins that was read or written. It counts once the version was seen to be the newest:
// see Saw.
func (l *Log) Knows(version int64, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version >= l.pending.version {
		l.pending = mark{version: version, begin: bytes.Clone(data[:min(len(data), markBytes)])}
	}
}

// begin forgets which commits were read, as they are read again.
func (l *Log) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = mark{}
}

// settle ends a load: from now on it is known which log was read.
func (l *Log) settle(ctx context.Context, ls *listing, snap *delta.Snapshot, began time.Time) error {
	is, err := l.markAt(ctx, ls, snap)
	if err != nil {
		return err
	}
	if l.opts.Clock.Now().Sub(began) >= slowLoad {
		if there, err := l.stands(ctx, ls.newestFile()); err != nil {
			return err
		} else if !there {
			return errMoved
		}
	}
	l.mu.Lock()
	l.mark, l.pending = is, mark{}
	l.mu.Unlock()
	l.Saw(snap, began)
	return nil
}

// markAt is the mark of what was loaded. The commit is read if a checkpoint stood in for it.
func (l *Log) markAt(ctx context.Context, ls *listing, snap *delta.Snapshot) (mark, error) {
	table, version := snap.Metadata().ID, snap.Version()
	l.mu.Lock()
	read := l.pending
	l.mu.Unlock()
	if read.begin != nil && read.version == version {
		read.table = table
		return read, nil
	}
	info, there := ls.commits[version]
	if !there {
		return mark{table: table, version: version, standIn: ls.newestFile()}, nil
	}
	begin := make([]byte, min(info.Size, markBytes))
	err := l.st.GetRange(ctx, info.Key, 0, begin)
	if errors.Is(err, store.ErrNotExist) {
		return mark{}, errMoved
	}
	if err != nil {
		return mark{}, fmt.Errorf("commit %d: %w", version, err)
	}
	return mark{table: table, version: version, begin: begin}, nil
}
