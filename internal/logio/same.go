package logio

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// SameFor is how long the log is taken to be the one that was read, once that was seen. A table that is dropped
// and made anew at the same place within that time is told from the old one only by what its log says.
const SameFor = 10 * time.Second

// mark is a commit whose bytes are known; the zero mark is none.
type mark struct {
	version int64
	sum     uint64
	known   bool
}

func markOf(version int64, data []byte) mark {
	h := fnv.New64a()
	h.Write(data)
	return mark{version, h.Sum64(), true}
}

// candidate is a commit that becomes the mark if it turns out to be the newest: of the many that a load reads
// one is summed up.
type candidate struct {
	version int64
	data    []byte // nil if there is none
}

// Same says whether the log is the one that was read or written, by the commit of a version that was seen to be
// the newest. A table that was dropped and made anew has another commit there, or none; one that was cleaned up
// may have none. It is one get if the log was not seen to be the same a short while ago. A commit that was never
// read, because a checkpoint stood in for it, is taken for what is there when it is asked for first.
func (l *Log) Same(ctx context.Context, version int64) (bool, error) {
	l.mu.Lock()
	was, at := l.mark, l.sameAt
	l.mu.Unlock()
	now := l.opts.Clock.Now()
	if now.Sub(at) < SameFor {
		return true, nil
	}
	data, err := l.st.Get(ctx, delta.CommitKey(version), maxCommit)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read commit %d again: %w", version, err)
	}
	is := markOf(version, data)
	if was.known && was.version == version && was.sum != is.sum {
		return false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sameAt = now
	if !l.mark.known || l.mark.version < version {
		l.mark = is
	}
	return true, nil
}

// Knows notes the bytes of a commit that was read or written. They count once the version was seen to be the newest:
// see Saw.
func (l *Log) Knows(version int64, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version >= l.pending.version {
		l.pending = candidate{version, data}
	}
}

// begin forgets what is known of the log, which is read from now on.
func (l *Log) begin(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark, l.pending, l.sameAt = mark{}, candidate{}, now
}
