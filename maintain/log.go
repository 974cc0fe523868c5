package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/inside"
)

const (
	opCheckpoint = "Checkpoint"
	opCleanUpLog = "CleanUpLog"
	opCompactLog = "CompactLog"
)

// Checkpointed is what Checkpoint did.
type Checkpointed struct {
	_ struct{}

	// Outcome is Committed if a checkpoint was written, Unchanged if the version had one.
	Outcome idem.Outcome

	// Version is the version of the checkpoint, the newest.
	Version int64
}

// String is one line for a log.
func (c *Checkpointed) String() string { return fmt.Sprintf("%s, version %d", c.Outcome, c.Version) }

// Checkpoint writes a checkpoint of the newest version, so that readers need not read the commits
// before it. Commits write one now and then by themselves (delta.checkpointInterval).
//
// It changes nothing that can be read. A version that has a checkpoint is left as it is: a second
// call is Unchanged. Of two at once either may write it; its bytes say the same.
func Checkpoint(ctx context.Context, t *idem.Table) (*Checkpointed, error) {
	in, err := open(ctx, opCheckpoint, t)
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

// CleanUp asks for what has expired of the log to be deleted.
type CleanUp struct {
	_ struct{}

	// DryRun deletes nothing and names what would be deleted.
	DryRun bool
}

// CleanedUp is what CleanUpLog did.
type CleanedUp struct {
	_ struct{}

	// Outcome is Committed if files were deleted, else Unchanged; a dry run is Unchanged always.
	Outcome idem.Outcome

	// Files were deleted or, in a dry run, would be.
	Files int64

	// Names are the keys of those files; in a dry run only.
	Names []string

	// Before is the time up to which commits have expired: a midnight in UTC.
	Before time.Time

	// Oldest is the version with whose checkpoint the log begins now, -1 if nothing has expired: earlier
	// ones cannot be read any more.
	Oldest int64

	// Skipped says why nothing may be deleted, "" if that is not so: the table's
	// delta.enableExpiredLogCleanup is false, or its checkpoints are protected.
	Skipped string
}

// String is one line for a log.
func (c *CleanedUp) String() string {
	switch {
	case c.Skipped != "":
		return fmt.Sprintf("%s: nothing may be deleted: %s", c.Outcome, c.Skipped)
	case len(c.Names) > 0:
		return fmt.Sprintf("%s: %d files of before %s would be deleted", c.Outcome, c.Files, c.Before.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s: %d files of before %s deleted", c.Outcome, c.Files, c.Before.UTC().Format(time.RFC3339))
}

// CleanUpLog deletes commits that are older than the table's delta.logRetentionDuration (30 days),
// and the checkpoints and checksums of those versions, where a newer checkpoint stands in for them.
// That age ends at the midnight, UTC, before: what expires in the course of a day is deleted on the next. Commits that write a checkpoint do the same by themselves.
//
// The newest version stays what it is; time travel, Restore and the history begin at Oldest from then
// on, and so does what the log tells of a RESTORE by another engine that took back a tag: that of
// RestoreTable is kept. A second call finds nothing and is Unchanged; two at once delete the same
// files; one that failed leaves a log that can be read, and calling again deletes the rest.
//
// Errors: [idem.ErrUnsupported] for a table that idem does not write.
func CleanUpLog(ctx context.Context, t *idem.Table, r CleanUp) (*CleanedUp, error) {
	in, err := open(ctx, opCleanUpLog, t)
	if err != nil {
		return nil, err
	}
	snap, err := in.Newest(ctx)
	if err != nil {
		return nil, in.Fail(opCleanUpLog, err)
	}
	done, err := in.Log.CleanUp(ctx, snap, in.Env.Now(), r.DryRun)
	if err != nil {
		return nil, in.Fail(opCleanUpLog, err)
	}
	out := &CleanedUp{Outcome: idem.Unchanged, Files: int64(len(done.Deleted)), Before: done.Before, Oldest: done.Oldest, Skipped: done.Skipped}
	switch {
	case r.DryRun:
		out.Names = done.Deleted
	case out.Files > 0:
		out.Outcome = idem.Committed
	}
	return out, nil
}

// Compacted is what CompactLog did.
type Compacted struct {
	_ struct{}

	// Outcome is Committed if a compaction was written, Unchanged if it was there.
	Outcome idem.Outcome
}

// String is one line for a log.
func (c *Compacted) String() string { return c.Outcome.String() }

// CompactLog writes one file that says what the commits of the versions first to last say together,
// so that readers may take it instead of these. The commits stay.
//
// It changes nothing that can be read. One that is there is left as it is: a second call is Unchanged.
// Of two at once either may write it; its bytes say the same. A restore does not concern it.
//
// Errors: [idem.ErrInput] for less than two versions, for versions that the log does not have, and where it
// no longer reaches back to the version before first, which tells what first replaces;
// [idem.ErrUnsupported] if the table needs a feature in one of them that idem does not write.
func CompactLog(ctx context.Context, t *idem.Table, first, last int64) (*Compacted, error) {
	in, err := open(ctx, opCompactLog, t)
	if err != nil {
		return nil, err
	}
	if _, err := in.Newest(ctx); err != nil { // another table may be there
		return nil, in.Fail(opCompactLog, err)
	}
	if first >= 0 && first < last {
		_, err := in.Env.Store.Head(ctx, delta.CompactionKey(first, last))
		if err == nil {
			return &Compacted{Outcome: idem.Unchanged}, nil
		}
		if !errors.Is(err, store.ErrNotExist) {
			return nil, in.Fail(opCompactLog, err)
		}
	}
	if err := in.Log.Compact(ctx, first, last); err != nil {
		return nil, in.Fail(opCompactLog, err)
	}
	return &Compacted{Outcome: idem.Committed}, nil
}
