package logio

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// replayFrom makes the snapshot of a version from one checkpoint, version -1 for none.
func (l *Log) replayFrom(ctx context.Context, ls *listing, c checkpoint, version int64) (*delta.Snapshot, error) {
	if gap, ok := ls.missing(c.version+1, version); ok {
		return nil, &unusableError{fmt.Errorf("commit %d is missing from the log, which goes on to version %d: %w", gap, version, delta.ErrCorrupt)}
	}
	r := l.NewReplay()
	if c.version >= 0 {
		if err := l.takeCheckpoint(ctx, r, c); err != nil {
			return nil, err
		}
	}
	if err := l.takeCommits(ctx, r, ls, c.version+1, version); err != nil {
		return nil, err
	}
	snap, err := r.Snapshot(version)
	if err != nil {
		return nil, err
	}
	return snap, gateRead(snap)
}

// gateRead lets a table pass whose metaData has no schema: its log stands, only its rows cannot be
// read.
func gateRead(snap *delta.Snapshot) error {
	m := snap.Metadata()
	if !snap.HasSchema() {
		bare := *m
		bare.SchemaString = snap.Schema().JSON()
		m = &bare
	}
	return delta.GateRead(snap.Protocol(), m, snap.Schema())
}

// takeCommits replays first..last in order.
func (l *Log) takeCommits(ctx context.Context, r *delta.Replay, ls *listing, first, last int64) error {
	segments := ls.segments(first, last)
	return fetch(ctx, l.opts.Parallelism, len(segments),
		func(ctx context.Context, i int) ([]part, error) { return l.readSegment(ctx, segments[i]) },
		func(_ int, parts []part) error {
			for _, p := range parts {
				err := r.CommitRange(p.first, p.last, p.actions)
				if p.last > p.first && errors.Is(err, delta.ErrCorrupt) {
					err = l.takeSingly(ctx, r, p, err)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
}

// takeSingly replays the commits that a compaction stands for, since it contradicts itself.
func (l *Log) takeSingly(ctx context.Context, r *delta.Replay, compaction part, why error) error {
	l.opts.Logger.Warn("idem: stepped over a compaction that breaks the protocol", "table", l.st.URL(), "error", why)
	parts, err := l.readSegment(ctx, segment{first: compaction.first, last: compaction.last})
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := r.Commit(p.first, p.actions); err != nil {
			return err
		}
	}
	return nil
}

// part is what a segment came to: itself, or the commits of a compaction that cannot be read.
type part struct {
	first, last int64
	actions     []delta.Action
}

func (l *Log) readSegment(ctx context.Context, s segment) ([]part, error) {
	if s.compacted != nil {
		actions, err := l.readCompaction(ctx, s.compacted.Key)
		if err == nil {
			return []part{{first: s.first, last: s.last, actions: actions}}, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		l.opts.Logger.Warn("idem: stepped over a compaction that cannot be read", "table", l.st.URL(), "error", err)
	}
	var parts []part
	for v := s.first; v <= s.last; v++ {
		actions, _, err := l.ReadCommit(ctx, v)
		if errors.Is(err, store.ErrNotExist) {
			return nil, fmt.Errorf("%w: %w", errMoved, err)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{first: v, last: v, actions: actions})
	}
	return parts, nil
}

func (l *Log) readCompaction(ctx context.Context, key string) ([]delta.Action, error) {
	data, err := l.st.Get(ctx, key, maxCommit)
	if err != nil {
		return nil, err
	}
	return delta.DecodeActions(key, data)
}

// ReadCommit reads a commit: its actions and its bytes. One that is not there wraps
// store.ErrNotExist. Bytes come also with an error of decoding.
func (l *Log) ReadCommit(ctx context.Context, version int64) ([]delta.Action, []byte, error) {
	key := delta.CommitKey(version)
	data, err := l.st.Get(ctx, key, maxCommit)
	if errors.Is(err, store.ErrTooLarge) {
		return nil, nil, fmt.Errorf("read commit %d: %w; make a checkpoint of it or of a later version with the engine that wrote it: %w",
			version, err, delta.ErrUnsupported)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read commit %d: %w", version, err)
	}
	actions, err := delta.DecodeCommit(key, data)
	if err != nil {
		return nil, data, fmt.Errorf("read commit %d: %w", version, err)
	}
	l.Knows(version, data)
	return actions, data, nil
}

// ReadCommits gives the commits first..last in order, fetched ahead.
func (l *Log) ReadCommits(ctx context.Context, first, last int64, f func(version int64, actions []delta.Action) error) error {
	return fetch(ctx, l.opts.Parallelism, int(last-first+1),
		func(ctx context.Context, i int) ([]delta.Action, error) {
			actions, _, err := l.ReadCommit(ctx, first+int64(i))
			return actions, err
		},
		func(i int, actions []delta.Action) error { return f(first+int64(i), actions) })
}

// fetch gets 0..n-1, up to limit at once, and hands them over in order on the caller's goroutine.
func fetch[T any](ctx context.Context, limit, n int, get func(context.Context, int) (T, error), use func(int, T) error) error {
	if limit <= 1 || n < 2 {
		for i := range n {
			v, err := get(ctx, i)
			if err != nil {
				return err
			}
			if err := use(i, v); err != nil {
				return err
			}
		}
		return nil
	}
	for start := 0; start < n; start += limit {
		window := make([]T, min(limit, n-start))
		g, ctx := errgroup.WithContext(ctx)
		for i := range window {
			g.Go(func() (err error) {
				window[i], err = get(ctx, start+i)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for i, v := range window {
			if err := use(start+i, v); err != nil {
				return err
			}
		}
	}
	return nil
}
