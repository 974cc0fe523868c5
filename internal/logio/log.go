package logio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// maxHint bounds the hint file; a larger one is no hint.
const maxHint = 1 << 20

// maxCommit bounds a commit file that is read whole.
const maxCommit = 256 << 20

// Options are how a log is worked on. The zero value is safe.
type Options struct {
	// ReadOnly refuses to write.
	ReadOnly bool

	// Allocator is for the buffers of a checkpoint that is read. nil is the Go allocator.
	Allocator memory.Allocator

	// Outside opens the directory of a file outside the table's root: see store.WithOutside. nil means
	// that tables with such files are refused.
	Outside func(ctx context.Context, url string) (store.Store, error)

	// Parallelism is the number of commits fetched at once. 0 means 1.
	Parallelism int

	// Clock and Random pace what is tried again. nil is the machine's.
	Clock  Clock
	Random io.Reader

	// Logger takes what was stepped over. nil discards.
	Logger *slog.Logger
}

// Log is the log of one table.
type Log struct {
	st   store.Store
	opts Options

	sidecarRows int // of one sidecar that is written

	mu     sync.Mutex
	base   checkpoint // the one that the last Load began with; no parts: none
	seen   int64      // a version that was the newest at seenAt
	seenAt time.Time

	mark    mark // by which the log is known
	pending mark // one of a commit that was read since, which is not known to be the newest
}

// New gives the log of the table whose root is the store's.
func New(st store.Store, o Options) *Log {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Parallelism = max(o.Parallelism, 1)
	if o.Outside != nil {
		st = store.WithOutside(st, o.Outside)
	}
	return &Log{st: Retry(st, o.Clock, o.Random), opts: o, sidecarRows: sidecarRows, seen: -1}
}

// Store is the table's store, its reads tried again.
func (l *Log) Store() store.Store { return l.st }

// NewReplay starts a replay of the log, which lets files be outside the root as the options say.
func (l *Log) NewReplay() *delta.Replay {
	r := delta.NewReplay(l.st.URL())
	if l.opts.Outside != nil {
		r.AllowOutside()
	}
	return r
}

// Load gives the newest snapshot: a hint, one list, a checkpoint, the commits after it.
//
// Errors: delta.ErrNotTable, delta.ErrUnsupported, delta.ErrCorrupt, or the store's.
func (l *Log) Load(ctx context.Context) (*delta.Snapshot, error) { return l.load(ctx, -1) }

// LoadAt gives the snapshot of a version. One that does not exist, or that the log does not reach
// back to, is delta.ErrInput.
func (l *Log) LoadAt(ctx context.Context, version int64) (*delta.Snapshot, error) {
	if version < 0 {
		return nil, fmt.Errorf("version %d: versions begin at 0: %w", version, delta.ErrInput)
	}
	return l.load(ctx, version)
}

// errMoved says that a file that was listed is gone: the log was cleaned meanwhile.
var errMoved = errors.New("the log was cleaned up while it was read")

// movedError is of a file that a checkpoint names and that is gone: the log may have been cleaned up
// meanwhile, or the file was lost.
type movedError struct{ err error }

func (e *movedError) Error() string { return e.err.Error() }
func (e *movedError) Unwrap() error { return e.err }

// loadAttempts is how often a load begins anew in a log that is being cleaned up.
const loadAttempts = 3

func (l *Log) load(ctx context.Context, target int64) (*delta.Snapshot, error) {
	var err error
	for range loadAttempts {
		var snap *delta.Snapshot
		began := l.opts.Clock.Now()
		if target < 0 {
			l.begin()
		}
		var ls *listing
		if snap, ls, err = l.loadOnce(ctx, target); err == nil && target < 0 {
			err = l.settle(ctx, ls, snap, began)
		}
		if err == nil {
			return snap, nil
		}
		var moved *movedError
		if !errors.Is(err, errMoved) && !errors.As(err, &moved) {
			break
		}
	}
	return nil, fmt.Errorf("load the table: %w", err)
}

func (l *Log) loadOnce(ctx context.Context, target int64) (*delta.Snapshot, *listing, error) {
	from, err := l.hint(ctx)
	if err != nil {
		return nil, nil, err
	}
	if target >= 0 && from > target {
		from = 0
	}
	ls, err := l.list(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	if from > 0 && ls.covers(from) {
		snap, err := l.build(ctx, ls, target)
		if err == nil || !unusable(err) {
			return snap, ls, err
		}
		l.opts.Logger.Warn("idem: the newest checkpoints cannot be used; reading the whole log", "table", l.st.URL(), "error", err)
	}
	if from > 0 {
		if ls, err = l.list(ctx, 0); err != nil {
			return nil, nil, err
		}
	}
	snap, err := l.build(ctx, ls, target)
	return snap, ls, err
}

// hint is the version to list from: that of the hint file, 0 without a usable one.
func (l *Log) hint(ctx context.Context) (int64, error) {
	data, err := l.st.Get(ctx, delta.LastCheckpointKey, maxHint)
	if err != nil {
		return 0, ctx.Err()
	}
	h, err := delta.DecodeLastCheckpoint(data)
	if err != nil || h.Version < 0 {
		return 0, nil
	}
	return h.Version, nil
}

// covers says whether a list that began at a version holds a checkpoint to begin with.
func (ls *listing) covers(version int64) bool {
	return len(ls.checkpoints) > 0 && ls.checkpoints[len(ls.checkpoints)-1].version >= version
}

// unusableError says that this way to the snapshot is barred and that another may be open.
type unusableError struct{ err error }

func (e *unusableError) Error() string { return e.err.Error() }
func (e *unusableError) Unwrap() error { return e.err }

func unusable(err error) bool {
	var u *unusableError
	return errors.As(err, &u)
}

// build makes the snapshot of a version, -1 for the newest, from the best checkpoint or from the
// commits alone.
func (l *Log) build(ctx context.Context, ls *listing, target int64) (*delta.Snapshot, error) {
	version := ls.newest()
	switch {
	case version < 0:
		return nil, fmt.Errorf("%s has no commit in %s: create the table first: %w", l.st.URL(), delta.LogDir, delta.ErrNotTable)
	case target > version:
		return nil, fmt.Errorf("version %d does not exist: the newest is %d: %w", target, version, delta.ErrInput)
	case target >= 0:
		version = target
	}
	var first error
	for _, c := range append(ls.upTo(version), checkpoint{version: -1}) {
		snap, err := l.replayFrom(ctx, ls, c, version)
		if err == nil {
			if first != nil {
				l.opts.Logger.Warn("idem: stepped over a checkpoint that cannot be used", "table", l.st.URL(), "error", first)
			}
			l.setBase(c)
			l.verify(ctx, ls, snap)
			return snap, nil
		}
		if !unusable(err) {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	if target >= 0 && len(ls.upTo(version)) == 0 && ls.oldest(ls.newest()) > 0 {
		return nil, &unusableError{fmt.Errorf("version %d: the log no longer reaches back to it: %w", target, delta.ErrInput)}
	}
	return nil, first
}

func (ls *listing) upTo(version int64) []checkpoint {
	var out []checkpoint
	for _, c := range ls.checkpoints {
		if c.version <= version {
			out = append(out, c)
		}
	}
	return out
}

// Saw notes that a snapshot was the newest at some time; nil: that there was no table.
func (l *Log) Saw(snap *delta.Snapshot, at time.Time) {
	version := int64(-1)
	if snap != nil {
		version = snap.Version()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.seenAt) || at.Equal(l.seenAt) && version > l.seen {
		l.seen, l.seenAt = version, at
	}
	if snap != nil && l.pending.begin != nil && l.pending.version == version {
		l.mark, l.pending.begin = mark{table: snap.Metadata().ID, version: version, begin: l.pending.begin}, nil
	}
}

// SeenWithin says whether a version was seen to be the newest within the time given. Until the log
// is cleaned up, which takes a newer checkpoint and the retention of the log, the next version can
// only be free or taken.
func (l *Log) SeenWithin(version int64, d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen == version && l.opts.Clock.Now().Sub(l.seenAt) < d
}

func (l *Log) setBase(c checkpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.base = c
}

func (l *Log) getBase() checkpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base
}
