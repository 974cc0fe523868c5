package logio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

const (
	// leastLogAge is the age below which nothing of the log is deleted, whatever the table's
	// retention: a writer that saw the newest version less than FreshFor ago takes the next one to be
	// there or free.
	leastLogAge = time.Hour

	// leastSidecarAge is the age below which a sidecar may be one of a checkpoint that is being
	// written.
	leastSidecarAge = 24 * time.Hour

	deleteBatch = 1000
)

// CleanedUp is what a clean-up of the log did, or would do.
type CleanedUp struct {
	// Skipped says why nothing may be deleted; "" if that is not so.
	Skipped string

	// Before is the time up to which commits have expired.
	Before time.Time

	// Oldest is the version of the checkpoint with which the log begins afterwards; -1 if nothing
	// has expired that a checkpoint stands in for.
	Oldest int64

	// Deleted are the keys, in the order in which they are deleted.
	Deleted []string
}

// CleanUp deletes what has expired: commits older than the table's retention (delta.logRetentionDuration, cut to midnight UTC) that a
// newer checkpoint, expired itself and readable, stands in for, with the checkpoints, checksums and compactions before it, and
// sidecars older than a day that no checkpoint names. That checkpoint and its commit stay. Commits
// go first, the oldest before the others, so that wherever it is cut short the log has no gap above
// a checkpoint. With dryRun nothing is deleted.
//
// Nothing is deleted where delta.enableExpiredLogCleanup is false, or where checkpoints of versions
// that delta.requireCheckpointProtectionBeforeVersion protects would go one by one. A table that
// idem does not write is delta.ErrUnsupported.
//
// What was recorded for a tag stays in the checkpoint; whether a RESTORE undid it is known from the
// oldest version on that is left.
func (l *Log) CleanUp(ctx context.Context, snap *delta.Snapshot, now time.Time, dryRun bool) (CleanedUp, error) {
	out, err := l.cleanUp(ctx, snap, now, dryRun)
	if err != nil {
		return out, fmt.Errorf("clean up the log: %w", err)
	}
	return out, nil
}

func (l *Log) cleanUp(ctx context.Context, snap *delta.Snapshot, now time.Time, dryRun bool) (CleanedUp, error) {
	out := CleanedUp{Oldest: -1}
	if l.opts.ReadOnly && !dryRun {
		return out, errReadOnly
	}
	if err := gateWrite(snap); err != nil {
		return out, err
	}
	if on, ok := snap.Property("delta.enableExpiredLogCleanup"); ok && strings.EqualFold(on, "false") {
		out.Skipped = "delta.enableExpiredLogCleanup is false"
		return out, nil
	}
	out.Before = now.UTC().Add(-snap.LogRetention()).Truncate(24 * time.Hour)
	if latest := now.UTC().Add(-leastLogAge); latest.Before(out.Before) {
		out.Before = latest
	}
	old, err := l.expired(ctx, out.Before)
	if err != nil {
		return out, err
	}
	keep, err := l.standIn(ctx, old)
	if err != nil || keep < 0 {
		return out, err
	}
	if out.Skipped, err = protection(snap, keep); err != nil || out.Skipped != "" {
		return out, err
	}
	out.Oldest, out.Deleted = keep, old.before(keep)
	sidecars, err := l.straySidecars(ctx, keep, now)
	if err != nil {
		return out, err
	}
	out.Deleted = append(out.Deleted, sidecars...)
	if dryRun {
		return out, nil
	}
	for batch := range slices.Chunk(out.Deleted, deleteBatch) {
		if err := l.st.Delete(ctx, batch...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// expiredFiles is the beginning of the log, up to the last commit that has expired.
type expiredFiles struct {
	listing
	files []delta.LogFile
	last  int64 // the last commit that has expired, -1 if none has
}

// expired lists the log until a commit that has not expired. Times of files ascend as those of
// versions do.
func (l *Log) expired(ctx context.Context, before time.Time) (*expiredFiles, error) {
	old := &expiredFiles{listing: *newListing(), last: -1}
	var at time.Time
	parts := make(map[[2]int64]map[int]store.Info)
	for info, err := range l.st.List(ctx, delta.LogDir, "") {
		if err != nil {
			return nil, fmt.Errorf("list the log: %w", err)
		}
		name := strings.TrimPrefix(info.Key, delta.LogDir)
		if name != "" && name[0] > '9' {
			break
		}
		f := delta.ParseLogFile(name)
		if f.Kind == delta.Other {
			continue
		}
		if f.Kind == delta.Commit {
			if at = later(at, info.ModTime); at.After(before) {
				break
			}
			old.last = f.Version
		}
		old.files = append(old.files, f)
		old.take(f, info, parts)
	}
	old.seal(parts)
	return old, nil
}

// later is the time of a file's version after that of the version before.
func later(before, at time.Time) time.Time {
	at = at.Truncate(time.Millisecond)
	if !at.After(before) {
		return before.Add(time.Millisecond)
	}
	return at
}

// standIn is the version of the newest checkpoint among what has expired that can be read, -1 if
// there is none or nothing before it.
func (l *Log) standIn(ctx context.Context, old *expiredFiles) (int64, error) {
	for _, c := range old.upTo(old.last) {
		if len(old.before(c.version)) == 0 {
			return -1, nil
		}
		err := l.takeCheckpoint(ctx, l.NewReplay(), c)
		if err == nil {
			return c.version, nil
		}
		if !unusable(err) {
			return -1, err
		}
		l.opts.Logger.Warn("idem: a checkpoint that cannot be used stands in for no commit", "table", l.st.URL(), "version", c.version, "error", err)
	}
	return -1, nil
}

// before are the keys of what goes when the log begins with the checkpoint of a version, in the
// order in which it goes.
func (e *expiredFiles) before(keep int64) (keys []string) {
	rank := map[delta.LogFileKind]int{delta.Commit: 0, delta.Compaction: 1, delta.Checksum: 2, delta.Checkpoint: 3, delta.CheckpointPart: 3, delta.CheckpointUUID: 3}
	var gone []delta.LogFile
	for _, f := range e.files {
		if f.Version < keep || f.Kind == delta.Compaction && f.Version == keep {
			gone = append(gone, f)
		}
	}
	slices.SortStableFunc(gone, func(a, b delta.LogFile) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(a.Version, b.Version))
	})
	for _, f := range gone {
		keys = append(keys, delta.LogDir+f.Name)
	}
	return keys
}

// protection says why a table's protection of checkpoints bars a clean-up that leaves the one of a
// version: below the version that it names all history goes at once or none.
func protection(snap *delta.Snapshot, keep int64) (string, error) {
	const key = "delta.requireCheckpointProtectionBeforeVersion"
	text, set := snap.Property(key)
	if !set || !snap.Protocol().Supports("checkpointProtection") {
		return "", nil
	}
	from, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%w: the table property %s has the value %.60q", delta.ErrUnsupported, key, text)
	}
	if keep < from {
		return fmt.Sprintf("%s is %d, and only the checkpoint of version %d has expired", key, from, keep), nil
	}
	return "", nil
}

// straySidecars are those older than a day, cut to midnight, that no checkpoint from a version on
// names. If one of these cannot be read, or is not found, which says little of a file that was listed, nobody knows, and
// none is stray.
func (l *Log) straySidecars(ctx context.Context, keep int64, now time.Time) ([]string, error) {
	limit := now.UTC().Add(-leastSidecarAge).Truncate(24 * time.Hour)
	var stray []string
	for info, err := range l.st.List(ctx, delta.SidecarDir, "") {
		if err != nil {
			return nil, fmt.Errorf("list the sidecars: %w", err)
		}
		if !info.ModTime.After(limit) {
			stray = append(stray, info.Key)
		}
	}
	if len(stray) == 0 {
		return nil, nil
	}
	ls, err := l.list(ctx, keep)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, c := range ls.checkpoints {
		keys, err := l.sidecarsOf(ctx, c)
		if unusable(err) || errors.Is(err, errMoved) {
			l.opts.Logger.Warn("idem: sidecars stay, since it is not known which ones a checkpoint needs", "table", l.st.URL(), "error", err)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			named[key] = true
		}
	}
	return slices.DeleteFunc(stray, func(key string) bool { return named[key] }), nil
}

// sidecarsOf are the keys of the sidecars that the files of a checkpoint name.
func (l *Log) sidecarsOf(ctx context.Context, c checkpoint) (keys []string, err error) {
	for _, part := range c.parts {
		err := l.readPart(ctx, part, false, func(a delta.Action) error {
			if a.Sidecar == nil {
				return nil
			}
			key, err := delta.SidecarKey(l.st.URL(), a.Sidecar.Path)
			keys = append(keys, key)
			return err
		})
		if err != nil {
			return nil, explain(ctx, part.Key, err)
		}
	}
	return keys, nil
}
