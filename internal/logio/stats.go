package logio

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemtable/idem/delta"
)

// errEnough ends the reading of a checkpoint early.
var errEnough = errors.New("enough read")

// Stats gives the statistics of live files of a snapshot as JSON text, "" for a file that has none.
// Those that the snapshot did not keep are read from the checkpoint that they come from, or from a
// later one of the snapshot's past. If there is no such checkpoint any more they count as none.
func (l *Log) Stats(ctx context.Context, snap *delta.Snapshot, files []*delta.Add) ([]string, error) {
	out := make([]string, len(files))
	wanted := make(map[string]int)
	for i, f := range files {
		out[i] = f.Stats
		if f.StatsDeferred && f.Stats == "" {
			wanted[logicalFile(f)] = i
		}
	}
	if len(wanted) == 0 {
		return out, nil
	}
	err := l.readDeferred(ctx, snap, func(a *delta.Add) error {
		id := logicalFile(a)
		if i, ok := wanted[id]; ok {
			out[i] = a.Stats
			delete(wanted, id)
		}
		if len(wanted) == 0 {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("statistics of version %d: %w", snap.Version(), err)
	}
	return fillTwins(files, out), nil
}

// fillTwins gives a file that was asked for twice the same answer twice.
func fillTwins(files []*delta.Add, out []string) []string {
	byFile := make(map[string]string, len(files))
	for i, f := range files {
		if out[i] != "" {
			byFile[logicalFile(f)] = out[i]
		}
	}
	for i, f := range files {
		if out[i] == "" && f.StatsDeferred {
			out[i] = byFile[logicalFile(f)]
		}
	}
	return out
}

func logicalFile(a *delta.Add) string { return delta.LogicalFile(a.Path, a.DeletionVector) }

// readDeferred calls f with the files, statistics included, of the checkpoint that the last Load
// began with if the snapshot may come from it, and then, unless f had enough, of the newest one
// that is not after the snapshot.
func (l *Log) readDeferred(ctx context.Context, snap *delta.Snapshot, f func(*delta.Add) error) error {
	base := l.getBase()
	tried := int64(-1)
	if len(base.parts) > 0 && base.version <= snap.Version() {
		tried = base.version
		err := l.readAdds(ctx, base, f)
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			tried = -1
		}
	}
	ls, err := l.list(ctx, 0)
	if err != nil {
		return err
	}
	for _, c := range ls.upTo(snap.Version()) {
		if c.version == tried {
			return nil
		}
		if err := l.readAdds(ctx, c, f); err != nil && !errors.Is(err, errEnough) {
			if ctx.Err() != nil {
				return err
			}
			l.opts.Logger.Warn("idem: statistics cannot be read", "table", l.st.URL(), "error", err)
			continue
		}
		return nil
	}
	return nil
}

func (l *Log) readAdds(ctx context.Context, c checkpoint, f func(*delta.Add) error) error {
	return l.readCheckpoint(ctx, c, true, func(a delta.Action) error {
		if a.Add == nil {
			return nil
		}
		return f(a.Add)
	})
}
