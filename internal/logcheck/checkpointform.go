package logcheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
)

// content is what a checkpoint holds beside the state.
type content struct {
	heads    int // checkpointMetadata actions
	sidecars []*delta.Sidecar
	inline   int          // file actions that are in no sidecar
	strange  int          // actions in sidecars that are about no file
	adds     int64        // in all files
	parquet  []store.Info // the files in Parquet, sidecars included
}

// load reads a checkpoint.
func (c *checker) load(ctx context.Context, from checkpoint) (*delta.Snapshot, *content, error) {
	r := c.newReplay()
	r.CheckpointAt(from.version)
	in := &content{}
	take := func(a delta.Action) error {
		switch {
		case a.CheckpointMetadata != nil:
			in.heads++
		case a.Sidecar != nil:
			in.sidecars = append(in.sidecars, a.Sidecar)
		case a.Add != nil || a.Remove != nil:
			in.inline++
		}
		return in.take(r, a)
	}
	for _, part := range from.parts {
		if err := c.part(ctx, part, in, take); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", part.Key, err)
		}
	}
	for _, s := range in.sidecars {
		if err := c.sidecar(ctx, s, in, func(a delta.Action) error {
			if a.Add == nil && a.Remove == nil {
				in.strange++
			}
			return in.take(r, a)
		}); err != nil {
			return nil, nil, err
		}
	}
	snap, err := r.Snapshot(from.version)
	return snap, in, err
}

// take counts an action and hands it on.
func (in *content) take(r *delta.Replay, a delta.Action) error {
	if a.Add != nil {
		in.adds++
	}
	return r.Checkpoint(a)
}

func (c *checker) part(ctx context.Context, part store.Info, in *content, take func(delta.Action) error) error {
	if delta.ParseLogFile(part.Key).Ext != "json" {
		in.parquet = append(in.parquet, part)
		src := parquetio.Object(ctx, c.store, part.Key, part.Size)
		return parquetio.From(ctx).ReadCheckpoint(ctx, src, parquetio.CheckpointOptions{}, take)
	}
	data, err := c.store.Get(ctx, part.Key, maxObject)
	if err != nil {
		return err
	}
	actions, err := delta.DecodeActions(part.Key, data)
	for _, a := range actions {
		if err == nil {
			err = take(a)
		}
	}
	return err
}

func (c *checker) sidecar(ctx context.Context, s *delta.Sidecar, in *content, take func(delta.Action) error) error {
	key, err := delta.SidecarKey(c.store.URL(), s.Path)
	if err != nil {
		return err
	}
	info, err := c.store.Head(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return fmt.Errorf("the sidecar %s is missing: %w", key, delta.ErrCorrupt)
	case err != nil:
		return fmt.Errorf("look at %s: %w", key, err)
	case info.Size != s.SizeInBytes:
		return fmt.Errorf("the sidecar %s has %d bytes, not %d: %w", key, info.Size, s.SizeInBytes, delta.ErrCorrupt)
	}
	in.parquet = append(in.parquet, info)
	src := parquetio.Object(ctx, c.store, key, info.Size)
	if err := parquetio.From(ctx).ReadCheckpoint(ctx, src, parquetio.CheckpointOptions{}, take); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// checkpointForm looks at what a checkpoint is, beside what it says.
func (c *checker) checkpointForm(cp checkpoint, in *content) {
	v2 := in.heads > 0 || len(in.sidecars) > 0
	has := supported(c.snap.Protocol())["v2Checkpoint"]
	say := func(is bool, format string, args ...any) {
		if is {
			c.find(CheckpointForm, cp.version, cp.parts[0].Key, format, args...)
		}
	}
	say(v2 && !has, "it is a V2 checkpoint, and the protocol does not support it")
	say(v2 && in.heads != 1 || !v2 && cp.kind == delta.CheckpointUUID, "it has %d checkpointMetadata", in.heads)
	say(cp.kind == delta.CheckpointPart && (v2 || has), "it has several parts where V2 checkpoints are supported")
	say(len(in.sidecars) > 0 && in.inline > 0, "%d file actions are in no sidecar", in.inline)
	say(in.strange > 0, "a sidecar holds what is about no file")
}

// hintEqual holds the hint against a checkpoint of its version.
func (c *checker) hintEqual(cp checkpoint, in *content) {
	h := c.hinting
	if h == nil || h.Version != cp.version || len(c.checkpoints[cp.version]) != 1 {
		return
	}
	say := func(is bool, format string, args ...any) {
		if is {
			c.find(LogHint, cp.version, delta.LastCheckpointKey, format, args...)
		}
	}
	say(h.NumOfAddFiles > 0 && h.NumOfAddFiles != in.adds, "it says %d files, the checkpoint has %d", h.NumOfAddFiles, in.adds)
	say(h.Parts > 0 && h.Parts != len(cp.parts), "it says %d parts, the checkpoint has %d", h.Parts, len(cp.parts))
	say(h.V2 != nil && delta.LogDir+h.V2.Path != cp.parts[0].Key, "it names %s", pathOf(h))
}

func pathOf(h *delta.LastCheckpoint) string {
	if h.V2 == nil {
		return ""
	}
	return h.V2.Path
}
