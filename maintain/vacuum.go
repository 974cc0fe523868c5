package maintain

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

const opVacuum = "Vacuum"

// Vacuum asks for files to be deleted that nothing needs any more.
type Vacuum struct {
	_ struct{}

	// Retention is the age from which a file may be deleted: time travel, readers that still use an
	// older version, and writers that have not committed yet need younger ones. 0 means the table's
	// delta.deletedFileRetentionDuration, or 7 days; one that cannot be read as a time keeps every file.
	Retention time.Duration

	// AllowShortRetention lets Retention be shorter than the table's: no reader and no writer may be at
	// work that began before the files that remain.
	AllowShortRetention bool

	// DryRun deletes nothing and names what would be deleted.
	DryRun bool

	// Lite looks at the log alone instead of listing the store: it finds the files that were removed
	// in commits that the log still has, not those that no commit ever named, nor change data.
	Lite bool
}

// Vacuumed is what Vacuum did.
type Vacuumed struct {
	_ struct{}

	// Outcome is Committed if there were files to delete, else Unchanged; a dry run is Unchanged always.
	Outcome idem.Outcome

	// Version is the version committed at the end, or the newest version looked at.
	Version int64

	// Files and Bytes were deleted or, in a dry run, would be.
	Files, Bytes int64

	// Names are the keys of those files below the table's root, sorted; in a dry run only.
	Names []string

	// Before is the time before which a file must have been written, and removed, to be deleted.
	Before time.Time
}

// String is one line for a log.
func (v *Vacuumed) String() string {
	text := fmt.Sprintf("%s, version %d: %d files, %d bytes, older than %s", v.Outcome, v.Version, v.Files, v.Bytes, v.Before.UTC().Format(time.RFC3339))
	if len(v.Names) > 0 {
		text += " would be deleted"
	}
	return text
}

// VacuumTable deletes the files below the table's root that the newest version does not refer to, that
// no removal younger than the retention refers to, and that were written before it: data files, files
// of deletion vectors, change data (by age alone) and what a writer that died left behind. The files of a
// commit whose outcome is unknown are protected by their age, which the store's clock tells: that ours
// is ahead of it makes no file older.
//
// A symbolic link in a directory on disk is not followed, and what one leads to stays if the table needs it under the
// link's name. One that leads to a directory or outside the root is left where it is; an unneeded one to a file goes as a file of its age
// does, without that file.
//
// It never touches the log, names that begin with _ or . (but for change data and the directories of
// partition columns), directories of another table below the root, Iceberg's metadata, or anything
// outside the root. The newest version is looked at again before every batch that is deleted.
//
// As Spark does, it commits VACUUM START before and VACUUM END after it deleted, which change nothing
// that can be read. In between, a Restore that needs files which may be among those deleted is
// refused. A second call deletes nothing, commits nothing and is Unchanged; so does one that
// finds nothing to delete. Two calls at once delete the same files, which is no error. After a call
// that failed the rest of the files is still there, and calling again deletes it.
//
// Time travel and Restore to versions older than the retention end here.
//
// Errors: [idem.ErrInput] for a retention that is negative or too short; [idem.ErrUnsupported] for a
// table that idem does not write: what must stay may then be unknown.
func VacuumTable(ctx context.Context, t *idem.Table, r Vacuum) (*Vacuumed, error) {
	in, err := open(ctx, opVacuum, t)
	if err != nil {
		return nil, err
	}
	v := &vacuum{in: in, request: r}
	if err := v.run(ctx); err != nil {
		return nil, in.Fail(opVacuum, err)
	}
	return &v.out, nil
}

// vacuum is one call.
type vacuum struct {
	in      *inside.Table
	request Vacuum
	snap    *delta.Snapshot
	keep    *keepers
	older   map[string]struct{} // files that removals refer to which no checkpoint remembers
	links   map[string]string   // symbolic links below the root, and the keys of what they lead to
	out     Vacuumed
}

// doomed is a file to be deleted.
type doomed struct {
	key  string
	size int64
	at   time.Time // when it was written, by the store's clock
}

func (v *vacuum) run(ctx context.Context) error {
	snap, err := v.in.Newest(ctx)
	if err != nil {
		return err
	}
	if err := delta.GateWrite(snap.Protocol(), snap.Metadata(), snap.Schema()); err != nil {
		return fmt.Errorf("which files must stay is for a client to say that writes the table: %w", err)
	}
	retention, err := v.retention(snap)
	if err != nil {
		return err
	}
	v.out = Vacuumed{Outcome: idem.Unchanged, Version: snap.Version(), Before: v.in.Env.Now().Add(-retention)}
	if err := v.protect(ctx, snap); err != nil {
		return err
	}
	var files []doomed
	if v.request.Lite {
		files, err = v.logged(ctx)
	} else {
		files, err = v.listed(ctx)
	}
	if err != nil {
		return err
	}
	if v.request.DryRun || len(files) == 0 {
		v.count(files)
		return nil
	}
	return v.carryOut(ctx, files, retention)
}

// retention is the age from which files may go.
func (v *vacuum) retention(snap *delta.Snapshot) (time.Duration, error) {
	own, asked := snap.TombstoneRetention(), v.request.Retention
	switch {
	case asked < 0:
		return 0, fmt.Errorf("%w: Vacuum.Retention is negative", idem.ErrInput)
	case asked == 0:
		return own, nil
	case asked < own && !v.request.AllowShortRetention:
		return 0, fmt.Errorf("%w: Vacuum.Retention is %s and the table's is %s: readers of older versions and writers that are at work may still need files that young; set AllowShortRetention if there are none",
			idem.ErrInput, asked, own)
	}
	return asked, nil
}

// count takes files into the result.
func (v *vacuum) count(files []doomed) {
	for _, f := range files {
		v.out.Files, v.out.Bytes = v.out.Files+1, v.out.Bytes+f.size
		if v.request.DryRun {
			v.out.Names = append(v.out.Names, f.key)
		}
	}
}

// carryOut deletes files between two commits that say so.
func (v *vacuum) carryOut(ctx context.Context, files []doomed, retention time.Duration) error {
	total := int64(0)
	for _, f := range files {
		total += f.size
	}
	start := &note{operation: vacuumStart, parameters: map[string]any{
		"retentionCheckEnabled": !v.request.AllowShortRetention, "defaultRetentionMillis": v.snap.TombstoneRetention().Milliseconds(),
	}, metrics: map[string]string{"numFilesToDelete": strconv.Itoa(len(files)), "sizeOfDataToDelete": strconv.FormatInt(total, 10)}}
	if v.request.Retention > 0 {
		start.parameters["specifiedRetentionMillis"] = retention.Milliseconds()
	}
	begun, err := write(ctx, v.in, inside.Call{Op: opVacuum, Planner: start})
	if err != nil {
		return err
	}
	if files, err = v.byTheStore(ctx, files, begun.Version, retention); err == nil {
		err = v.delete(ctx, files)
	}
	status := vacuumCompleted
	if err != nil {
		status = "FAILED"
	}
	end := &note{operation: vacuumEnd, parameters: map[string]any{"status": status, startVersion: strconv.FormatInt(begun.Version, 10)},
		metrics: map[string]string{"numDeletedFiles": strconv.FormatInt(v.out.Files, 10), "numVacuumedDirectories": strconv.Itoa(directories(files))}}
	done := fmt.Sprintf("the start of the vacuum was committed as version %d and %d files were deleted", begun.Version, v.out.Files)
	res, ended := write(ctx, v.in, inside.Call{Op: opVacuum, Done: done, Planner: end})
	switch {
	case err != nil:
		return inside.After(done, err)
	case ended != nil:
		return ended
	}
	v.out.Outcome, v.out.Version = idem.Committed, res.Version
	return nil
}

// byTheStore leaves out files that are too young by the store's clock, which the commit of a version was
// written by just now: files have its times, and ours may be ahead of it.
func (v *vacuum) byTheStore(ctx context.Context, files []doomed, version int64, retention time.Duration) ([]doomed, error) {
	info, err := v.in.Env.Store.Head(ctx, delta.CommitKey(version))
	if err != nil {
		return nil, err
	}
	before := info.ModTime.Add(-retention)
	if !before.Before(v.out.Before) {
		return files, nil
	}
	v.out.Before, v.snap, v.older = before, nil, nil
	return slices.DeleteFunc(files, func(f doomed) bool { return !f.at.Before(before) }), nil
}

// note is a commit of nothing but its commitInfo.
type note struct {
	operation  string
	parameters map[string]any
	metrics    map[string]string
}

// Plan implements inside.Planner.
func (n *note) Plan(context.Context, *delta.Snapshot) (*plan.Proposal, error) {
	return &plan.Proposal{Operation: n.operation, Parameters: n.parameters, Metrics: n.metrics, Record: true, Rearranges: true, BlindAppend: true}, nil
}

// batch is the number of files that are deleted by one call of the store.
const batch = 500

// delete removes files in batches, some at a time, each round on the newest snapshot: a file that
// came back to the table meanwhile stays.
func (v *vacuum) delete(ctx context.Context, files []doomed) error {
	round := batch * max(v.in.Env.Parallelism, 1)
	for len(files) > 0 {
		part := files[:min(round, len(files))]
		files = files[len(part):]
		snap, err := v.in.Newest(ctx)
		if err != nil {
			return err
		}
		if err := v.protect(ctx, snap); err != nil {
			return err
		}
		var now []doomed
		for _, f := range part {
			if !v.keep.has(f.key) {
				now = append(now, f)
			}
		}
		if err := v.deleteRound(ctx, now); err != nil {
			return err
		}
		v.count(now)
	}
	return nil
}

func (v *vacuum) deleteRound(ctx context.Context, files []doomed) error {
	n := (len(files) + batch - 1) / batch
	return plan.ForEach(ctx, v.in.Env.Parallelism, n, func(ctx context.Context, i int) error {
		part := files[i*batch : min((i+1)*batch, len(files))]
		keys := make([]string, len(part))
		for j, f := range part {
			keys[j] = f.key
		}
		if err := v.in.Env.Store.Delete(ctx, keys...); err != nil {
			return fmt.Errorf("delete %d files from %s on: %w", len(keys), keys[0], err)
		}
		return nil
	})
}
