package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/inside"
)

// checkpointed makes sure that a version has a checkpoint.
func checkpointed(ctx context.Context, in *inside.Table, snap *delta.Snapshot) error {
	there, err := hasCheckpoint(ctx, in, snap.Version())
	if err != nil || there {
		return err
	}
	return in.Log.Checkpoint(ctx, snap, in.Env.Now())
}

// oldest is the oldest version that the log can tell: 0, or that of the first whole checkpoint.
func oldest(ctx context.Context, in *inside.Table) (int64, error) {
	parts := map[int64]int{}
	for info, err := range in.Env.Store.List(ctx, delta.LogDir, "") {
		if err != nil {
			return 0, fmt.Errorf("list the log: %w", err)
		}
		switch f := delta.ParseLogFile(info.Key); f.Kind {
		case delta.Commit:
			if f.Version == 0 {
				return 0, nil
			}
		case delta.Checkpoint, delta.CheckpointUUID:
			return f.Version, nil
		case delta.CheckpointPart:
			if parts[f.Version]++; parts[f.Version] == f.Parts {
				return f.Version, nil
			}
		}
	}
	return 0, fmt.Errorf("%w: the log has neither version 0 nor a checkpoint", idem.ErrCorrupt)
}

// truncated demands that no version which can be read uses a feature.
func truncated(ctx context.Context, in *inside.Table, snap *delta.Snapshot, feature string) error {
	first, err := oldest(ctx, in)
	if err != nil {
		return err
	}
	last := int64(-1) // the last version that uses it
	then, err := in.Log.LoadAt(ctx, first)
	if err != nil {
		return err
	}
	if usedBy(then, feature) {
		last = first
	}
	err = in.Log.ReadCommits(ctx, first+1, snap.Version(), func(version int64, actions []delta.Action) error {
		for _, a := range actions {
			if usedIn(a, feature) {
				last = version
			}
		}
		return nil
	})
	if err != nil || last < 0 {
		return missed(ctx, in, err)
	}
	return fmt.Errorf("%w: drop the feature %s: versions %d to %d can still be read and use it; they go when they have expired (delta.logRetentionDuration is %s) and a later checkpoint is there: "+
		"call again after that, or without TruncateHistory, which protects them", idem.ErrInput, feature, first, last, snap.LogRetention())
}

// missed says why a commit that a snapshot at hand follows is not there: another table stands in its place, or the log was
// cleaned up while it was read. Other errors it leaves as they are.
func missed(ctx context.Context, in *inside.Table, err error) error {
	if !errors.Is(err, store.ErrNotExist) {
		return err
	}
	if _, gone := in.Newest(ctx); gone != nil {
		return gone
	}
	return fmt.Errorf("%w: the log was cleaned up while it was read (%v); call again", idem.ErrConflict, err)
}

// usedBy says whether a version uses a feature that readers must know.
func usedBy(s *delta.Snapshot, feature string) bool {
	for f := range s.Files() {
		if usedIn(delta.Action{Add: f}, feature) {
			return true
		}
	}
	return usedIn(delta.Action{Metadata: s.Metadata()}, feature)
}

// usedIn says whether an action makes sense to those only who know a feature.
func usedIn(a delta.Action, feature string) bool {
	switch feature {
	case "deletionVectors":
		return a.Add != nil && a.Add.DeletionVector != nil || a.Remove != nil && a.Remove.DeletionVector != nil
	case "columnMapping":
		return a.Metadata != nil && !strings.EqualFold(a.Metadata.Configuration[mappingMode], "none") && a.Metadata.Configuration[mappingMode] != ""
	case "typeWidening", "typeWidening-preview":
		return a.Metadata != nil && strings.Contains(a.Metadata.SchemaString, `"delta.typeChanges"`)
	case "v2Checkpoint":
		return a.Metadata != nil && strings.EqualFold(a.Metadata.Configuration["delta.checkpointPolicy"], "v2")
	}
	return false
}
