package logio

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
)

// maxSidecars bounds the sidecars of one checkpoint.
const maxSidecars = 10_000

// takeCheckpoint reads a checkpoint into a replay. What is wrong with its content bars this way
// only; what the store says bars every way, and so does a checkpoint that can be read and lacks the
// table's definition: an older one would be stale.
func (l *Log) takeCheckpoint(ctx context.Context, r *delta.Replay, c checkpoint) error {
	r.CheckpointAt(c.version)
	var protocol, metadata bool
	take := func(a delta.Action) error {
		protocol, metadata = protocol || a.Protocol != nil, metadata || a.Metadata != nil
		return r.Checkpoint(a)
	}
	if err := l.readCheckpoint(ctx, c, false, take); err != nil {
		return err
	}
	if !protocol || !metadata {
		return fmt.Errorf("checkpoint of version %d: it lacks the protocol or the metaData: %w", c.version, delta.ErrCorrupt)
	}
	// Its own rules, before commits hide them. What idem lacks for it may be gone since.
	if _, err := r.Snapshot(c.version); err != nil && !errors.Is(err, delta.ErrUnsupported) {
		return &unusableError{fmt.Errorf("checkpoint of version %d: %w", c.version, err)}
	}
	return nil
}

// readCheckpoint calls f with the actions of a checkpoint: those of its files, and of the sidecars
// that these name. Whatever the file's name, V2 content is known by its actions. What is wrong with
// the checkpoint makes the error an unusableError.
func (l *Log) readCheckpoint(ctx context.Context, c checkpoint, stats bool, f func(delta.Action) error) error {
	m := manifest{of: c}
	for _, part := range c.parts {
		err := l.readPart(ctx, part, stats, func(a delta.Action) error {
			if a.Sidecar != nil {
				return m.name(a.Sidecar)
			}
			if a.CheckpointMetadata != nil {
				m.heads++
			}
			return f(a)
		})
		if err != nil {
			return explain(ctx, part.Key, err)
		}
	}
	if err := m.check(); err != nil {
		return &unusableError{fmt.Errorf("checkpoint %s: %w", c.parts[0].Key, err)}
	}
	for _, s := range m.sidecars {
		if err := l.readSidecar(ctx, s, stats, f); err != nil {
			return explainSidecar(ctx, c.parts[0].Key, err)
		}
	}
	return nil
}

// explain says what an error of a file of a checkpoint means for the checkpoint.
func explain(ctx context.Context, key string, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, store.ErrNotExist):
		return fmt.Errorf("%s: %w: %w", key, errMoved, err)
	case errors.Is(err, delta.ErrCorrupt), errors.Is(err, delta.ErrUnsupported):
		return &unusableError{fmt.Errorf("checkpoint %s: %w", key, err)}
	}
	return fmt.Errorf("read checkpoint %s: %w", key, err)
}

// explainSidecar does it for a sidecar. One that is missing makes the checkpoint unusable, and may
// have been cleaned away together with it.
func explainSidecar(ctx context.Context, manifest string, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, store.ErrNotExist):
		return &unusableError{&movedError{fmt.Errorf("checkpoint %s: a sidecar is missing: %w: %w", manifest, delta.ErrCorrupt, err)}}
	case errors.Is(err, delta.ErrCorrupt), errors.Is(err, delta.ErrUnsupported):
		return &unusableError{fmt.Errorf("checkpoint %s: %w", manifest, err)}
	}
	return fmt.Errorf("read checkpoint %s: %w", manifest, err)
}

// manifest is what the actions of a checkpoint say about the checkpoint itself.
type manifest struct {
	of       checkpoint
	heads    int // checkpointMetadata actions
	sidecars []*delta.Sidecar
}

func (m *manifest) name(s *delta.Sidecar) error {
	if len(m.sidecars) == maxSidecars {
		return fmt.Errorf("more than %d sidecars: %w", maxSidecars, delta.ErrUnsupported)
	}
	m.sidecars = append(m.sidecars, s)
	return nil
}

// check holds a checkpoint against the rules for V1 and V2 content.
func (m *manifest) check() error {
	switch v2 := m.heads > 0 || len(m.sidecars) > 0 || m.of.uuid; {
	case v2 && len(m.of.parts) > 1:
		return fmt.Errorf("the parts of a checkpoint hold V2 content: %w", delta.ErrCorrupt)
	case v2 && m.heads != 1:
		return fmt.Errorf("a V2 checkpoint has one checkpointMetadata, this one has %d: %w", m.heads, delta.ErrCorrupt)
	}
	return nil
}

// readPart reads one file of a checkpoint, in Parquet or in lines of JSON.
func (l *Log) readPart(ctx context.Context, part store.Info, stats bool, f func(delta.Action) error) error {
	if delta.ParseLogFile(part.Key).Ext == "json" {
		return l.readJSON(ctx, part.Key, stats, f)
	}
	src := parquetio.Object(ctx, l.st, part.Key, part.Size)
	o := parquetio.CheckpointOptions{SkipStats: !stats, Allocator: l.opts.Allocator}
	return parquetio.From(ctx).ReadCheckpoint(ctx, src, o, f)
}

func (l *Log) readJSON(ctx context.Context, key string, stats bool, f func(delta.Action) error) error {
	data, err := l.st.Get(ctx, key, maxCommit)
	if errors.Is(err, store.ErrTooLarge) {
		return fmt.Errorf("%w: %w", delta.ErrUnsupported, err)
	}
	if err != nil {
		return err
	}
	actions, err := delta.DecodeActions(key, data)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if a.Add != nil && !stats {
			a.Add.StatsDeferred, a.Add.Stats = a.Add.Stats != "", ""
		}
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}

// readSidecar reads the file actions of a sidecar. Nothing else may be in it.
func (l *Log) readSidecar(ctx context.Context, s *delta.Sidecar, stats bool, f func(delta.Action) error) error {
	key, err := delta.SidecarKey(l.st.URL(), s.Path)
	if err == nil && s.SizeInBytes < 0 {
		err = fmt.Errorf("%s: a sidecar of %d bytes: %w", key, s.SizeInBytes, delta.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	return l.readPart(ctx, store.Info{Key: key, Size: s.SizeInBytes}, stats, func(a delta.Action) error {
		if a.Add == nil && a.Remove == nil {
			return fmt.Errorf("%s: an action in a sidecar that is neither add nor remove: %w", key, delta.ErrCorrupt)
		}
		return f(a)
	})
}
