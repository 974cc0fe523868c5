package maintain

import (
	"context"
	"fmt"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/inside"
)

const opCheckpoint = "Checkpoint"

// Checkpointed is what Checkpoint did.
type Checkpointed struct {
	_ struct{}

	// Outcome is Committed if a checkpoint was written, Unchanged if the version had one.
	Outcome idem.Outcome

	// Version is the version of the checkpoint, the newest.
	Version int64
}

// Checkpoint writes a checkpoint of the newest version, so that readers need not read the commits
// before it. Commits write one now and then by themselves (delta.checkpointInterval).
//
// It changes nothing that can be read. A version that has a checkpoint is left as it is: a second
// call is Unchanged. Of two at once either may write it; its bytes say the same.
func Checkpoint(ctx context.Context, t *idem.Table) (*Checkpointed, error) {
	in, err := open(opCheckpoint, t)
	if err != nil {
		return nil, err
	}
	out, err := checkpoint(ctx, in)
	if err != nil {
		return nil, in.Fail(opCheckpoint, err)
	}
	return out, nil
}

func checkpoint(ctx context.Context, in *inside.Table) (*Checkpointed, error) {
	snap, err := in.Newest(ctx)
	if err != nil {
		return nil, err
	}
	out := &Checkpointed{Outcome: idem.Unchanged, Version: snap.Version()}
	there, err := hasCheckpoint(ctx, in, snap.Version())
	if err != nil || there {
		return out, err
	}
	if err := in.Log.Checkpoint(ctx, snap, in.Env.Now()); err != nil {
		return nil, err
	}
	out.Outcome = idem.Committed
	return out, nil
}

// hasCheckpoint sees whether a version has a whole checkpoint.
func hasCheckpoint(ctx context.Context, in *inside.Table, version int64) (bool, error) {
	parts := map[int]int{}
	before := fmt.Sprintf("%s%020d.", delta.LogDir, version)
	for info, err := range in.Env.Store.List(ctx, delta.LogDir, before) {
		if err != nil {
			return false, fmt.Errorf("list the log: %w", err)
		}
		switch f := delta.ParseLogFile(info.Key); {
		case f.Kind == delta.Checkpoint && f.Version == version, f.Kind == delta.CheckpointUUID && f.Version == version:
			return true, nil
		case f.Kind == delta.CheckpointPart && f.Version == version:
			if parts[f.Parts]++; parts[f.Parts] == f.Parts {
				return true, nil
			}
		case f.Kind != delta.Other && f.Version > version:
			return false, nil
		}
	}
	return false, nil
}
