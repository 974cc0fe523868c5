package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/redact"
)

const opClone = "Clone"

// Clone asks for a copy of a table.
type Clone struct {
	_ struct{}

	// Of is the version to copy. The zero Target is the newest.
	Of Target

	// Note is kept in the commit.
	Note string
}

// Cloned is what Clone did.
type Cloned struct {
	_ struct{}

	// Outcome is Committed, or Unchanged if the copy is there already.
	Outcome idem.Outcome

	// Version is the copy's version; Of is the version of the source.
	Version, Of int64

	// Attempts is the number of commits that were proposed.
	Attempts int

	FilesAdded, FilesRemoved int64 // by the commit
	FilesCopied, BytesCopied int64 // data files and files of deletion vectors that were not there yet
}

// String is one line for a log.
func (r *Cloned) String() string {
	return fmt.Sprintf("%s, version %d is version %d of the source: %d files added, %d removed, %d files copied (%d bytes)",
		r.Outcome, r.Version, r.Of, r.FilesAdded, r.FilesRemoved, r.FilesCopied, r.BytesCopied)
}

// CloneTable makes a deep copy of a version of a table at a URL, a path or a file URL: its data files and
// deletion vectors are copied first, then one commit makes the copy with the source's definition, under
// a table id of its own, its domains, row ids and tags of AppendWithTxn: a batch that the source has is
// applied in the copy, too, and one that a restore took back there is [idem.ErrRestored] here. History and
// change data are not copied, and o are the copy's options.
//
// A second call is Unchanged. A copy of an older version is brought up to the one asked for, by one
// commit that copies what is new only. It keeps the table features that it has, also those that the source dropped since;
// if that dropped row tracking and enabled it again, which gave its rows new ids, those of the copy keep their own.
// Of two calls at once one commits.
//
// A table that is no copy of this one, or one that has been written to since, by any commit but those of a
// vacuum, wraps [delta.ErrDiffers], an [idem.ErrConflict] that calling again cannot mend, and is left as it is. So
// does a copy of a newer version than the one asked for, and a place that has another file under a name of the
// copy's. The source's own root, and a place within its log, is [idem.ErrInput]. A file that the source has lost, as by a vacuum
// of an old version, wraps [idem.ErrInput]. A call that fails leaves files at most that no commit names: a
// later call finds them copied, a vacuum of the copy takes them away.
func CloneTable(ctx context.Context, t *idem.Table, url string, c Clone, o idem.Options) (*idem.Table, *Cloned, error) {
	s, err := store.OpenURL(url)
	if err != nil {
		return nil, nil, inside.Fail(opClone, url, fmt.Errorf("%w: %w", idem.ErrInput, err))
	}
	return CloneTableStore(ctx, t, s, c, o)
}

// CloneTableStore is [CloneTable] into the directory that is a store's root.
func CloneTableStore(ctx context.Context, t *idem.Table, s store.Store, c Clone, o idem.Options) (*idem.Table, *Cloned, error) {
	src, err := inner(ctx, opClone, t)
	if err != nil {
		return nil, nil, err
	}
	if s == nil {
		return nil, nil, src.Fail(opClone, fmt.Errorf("%w: the store is nil", idem.ErrInput))
	}
	if err := apart(src.Store, s); err != nil {
		return nil, nil, src.Fail(opClone, err)
	}
	p := &clone{src: src, to: c.Of}
	if err := p.load(ctx); err != nil {
		return nil, nil, src.Fail(opClone, err)
	}
	opened, _, err := inside.Begin(ctx, s, o)
	if err != nil {
		return nil, nil, inside.Fail(opClone, s.URL(), err)
	}
	dst := opened.(*idem.Table)
	p.dst = inside.Of(dst)
	res, err := write(ctx, p.dst, inside.Call{Op: opClone, Note: c.Note, Planner: p})
	if err != nil {
		return nil, nil, err
	}
	out := p.out
	out.Outcome, out.Version, out.Attempts, out.Of = res.Outcome, res.Version, res.Attempts, p.of.Version()
	return dst, &out, nil
}

// clone plans one call.
type clone struct {
	src, dst *inside.Table
	to       Target
	of       *delta.Snapshot
	files    []clonedFile
	own      bool            // by the plan at hand rows have row ids of the copy's own
	there    map[string]bool // keys that the plan at hand has put into the copy, or seen there
	out      Cloned
}

// load finds the version to copy, as the source is now, and what its files are called in the copy.
func (p *clone) load(ctx context.Context) (err error) {
	switch {
	case !p.to.given:
		p.of, err = p.src.Newest(ctx)
	case p.to.at.IsZero():
		p.of, err = p.src.Log.LoadAt(ctx, p.to.version)
	default:
		var version int64
		if version, err = p.src.Log.VersionAt(ctx, p.to.at, p.of); err == nil {
			p.of, err = p.src.Log.LoadAt(ctx, version)
		}
	}
	if err == nil && !p.of.HasSchema() {
		err = fmt.Errorf("%w: version %d has no schema", idem.ErrCorrupt, p.of.Version())
	}
	if err == nil {
		err = delta.GateWrite(p.of.Protocol(), p.of.Metadata(), p.of.Schema())
	}
	if err == nil {
		p.files, err = clonedFiles(p.src.Store.URL(), p.of)
	}
	return err
}

// Plan implements inside.Planner.
func (p *clone) Plan(ctx context.Context, now *delta.Snapshot) (*plan.Proposal, error) {
	p.out.FilesAdded, p.out.FilesRemoved, p.there = 0, 0, map[string]bool{}
	var actions []delta.Action
	var err error
	if now == nil {
		actions, err = p.first()
	} else {
		var done bool
		if done, err = p.standing(ctx, now); err != nil || done {
			return nil, err
		}
		p.own = p.ownIDs(now)
		actions, err = definitionOnward(now, p.of, p.own, p.dst.Env.NewID)
	}
	if err != nil {
		return nil, err
	}
	fresh := p.missing(now)
	if err := p.copyAll(ctx, fresh); err != nil {
		return nil, err
	}
	adds, err := p.adds(ctx, now, slices.Concat(fresh, p.bare(now)))
	if err != nil {
		return nil, err
	}
	for _, f := range p.gone(now) {
		actions = append(actions, p.dst.Env.Remove(f, true))
		p.out.FilesRemoved++
	}
	tags, err := p.tags(ctx, now)
	if err != nil {
		return nil, err
	}
	actions = append(append(actions, adds...), tags...)
	p.out.FilesAdded = int64(len(fresh))
	return &plan.Proposal{
		Operation: "CLONE",
		Parameters: map[string]any{
			"source": redact.URL(p.src.Store.URL()), "sourceVersion": strconv.FormatInt(p.of.Version(), 10), "isShallow": "false",
		},
		Metrics: map[string]string{
			"sourceNumOfFiles": strconv.Itoa(p.of.NumFiles()), "sourceTableSize": strconv.FormatInt(p.of.SizeInBytes(), 10),
			"numRemovedFiles": strconv.FormatInt(p.out.FilesRemoved, 10), "numCopiedFiles": strconv.FormatInt(p.out.FilesCopied, 10),
			"copiedFilesSize": strconv.FormatInt(p.out.BytesCopied, 10),
		},
		Actions: actions, Reads: commit.Reads{Everything: now != nil},
	}, nil
}

// record is the app id under which a copy says which version of its source it is.
func (p *clone) record() string { return commit.CloneAppID(p.of.Metadata().ID) }

// standing says whether a table is the copy already. One that cannot become it wraps delta.ErrDiffers.
func (p *clone) standing(ctx context.Context, now *delta.Snapshot) (done bool, err error) {
	last, ok, err := p.recorded(ctx, now)
	if err != nil {
		return false, err
	}
	if !ok {
		return false, fmt.Errorf("%w: there is a table at version %d already, which is no copy of %s: choose another place", delta.ErrDiffers, now.Version(), redact.URL(p.src.Store.URL()))
	}
	if last.Version > p.of.Version() { // another call may have copied what has become the newest since this one began
		if err := p.load(ctx); err != nil {
			return false, err
		}
	}
	if last.Version > p.of.Version() {
		return false, fmt.Errorf("%w: the table is a copy of version %d already, and version %d is older: choose another place, or restore the copy", delta.ErrDiffers, last.Version, p.of.Version())
	}
	why, err := p.writtenTo(ctx, now, last.Version)
	if err == nil && why != "" {
		err = fmt.Errorf("%w: the table was a copy of version %d and has been written to since: %s; it is left as it is: choose another place", delta.ErrDiffers, last.Version, why)
	}
	return last.Version == p.of.Version(), err
}

// recorded is the record of a copy. Where it has expired (delta.setTransactionRetentionDuration) and a checkpoint lacks
// it, the log tells, if nothing was written since.
func (p *clone) recorded(ctx context.Context, now *delta.Snapshot) (delta.Txn, bool, error) {
	last, ok := now.Txn(p.record())
	for version := now.Version(); !ok && version >= 0; version-- {
		actions, _, err := p.dst.Log.ReadCommit(ctx, version)
		if errors.Is(err, store.ErrNotExist) {
			break
		}
		if err != nil {
			return last, false, err
		}
		work := false
		for _, a := range actions {
			if a.Txn != nil && a.Txn.AppID == p.record() {
				return *a.Txn, true, nil
			}
			work = work || a.CommitInfo == nil
		}
		if work {
			break
		}
	}
	return last, ok, nil
}

// writtenTo says what was done to a copy since it was made, "" if nothing was. The log tells or, where it
// no longer reaches back, the table itself.
func (p *clone) writtenTo(ctx context.Context, now *delta.Snapshot, of int64) (string, error) {
	for version := now.Version(); version >= 0; version-- {
		actions, _, err := p.dst.Log.ReadCommit(ctx, version)
		if errors.Is(err, store.ErrNotExist) {
			return p.otherThan(ctx, now, of)
		}
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(actions, func(a delta.Action) bool { return a.Txn != nil && a.Txn.AppID == p.record() }) {
			return "", nil
		}
		if slices.ContainsFunc(actions, func(a delta.Action) bool { return a.CommitInfo == nil }) {
			return fmt.Sprintf("version %d is a commit of another kind (%s)", version, operationOf(actions)), nil
		}
	}
	return "", nil
}

func operationOf(actions []delta.Action) string {
	if info := delta.InfoOf(actions); info != nil && info.Operation != "" {
		return info.Operation
	}
	return "no operation is named"
}

// otherThan says how a table differs from the copy that it was of a version, "" if it does not. Features that the source
// does not have may be from a version before.
func (p *clone) otherThan(ctx context.Context, now *delta.Snapshot, of int64) (string, error) {
	then, files := p.of, p.files
	if of < p.of.Version() {
		var err error
		if then, err = p.src.Log.LoadAt(ctx, of); err != nil {
			return "", fmt.Errorf("the version that the copy is of, to see whether it was written to since: %w", err)
		}
		if files, err = clonedFiles(p.src.Store.URL(), then); err != nil {
			return "", err
		}
	}
	definition, err := definitionOnward(now, then, true, p.dst.Env.NewID)
	switch {
	case err != nil:
		return "", err
	case len(definition) > 0:
		return "its definition is another", nil
	case now.NumFiles() != len(files):
		return fmt.Sprintf("it has %d files and not %d", now.NumFiles(), len(files)), nil
	}
	for t := range now.Txns() {
		old, ok := then.Txn(t.AppID)
		if t.Version != old.Version && !commit.Reserved(t.AppID) || !ok && !commit.Reserved(t.AppID) {
			return fmt.Sprintf("the tag of %q is %d", t.AppID, t.Version), nil
		}
	}
	for _, f := range files {
		if live, ok := now.Live(f.data.to); !ok || live.DeletionVector.ID() != f.add.DeletionVector.ID() {
			return fmt.Sprintf("it lacks %s, or has it with other rows deleted", f.data.to), nil
		}
	}
	return "", nil
}

// missing are the files that a table lacks.
func (p *clone) missing(now *delta.Snapshot) []clonedFile {
	if now == nil {
		return p.files
	}
	var out []clonedFile
	for _, f := range p.files {
		if live, ok := now.Live(f.data.to); !ok || live.DeletionVector.ID() != f.add.DeletionVector.ID() {
			out = append(out, f)
		}
	}
	return out
}

// gone are the live files of a table that the copy does not have, or has under another vector.
func (p *clone) gone(now *delta.Snapshot) []*delta.Add {
	if now == nil {
		return nil
	}
	stay := make(map[string]string, len(p.files))
	for _, f := range p.files {
		stay[f.data.to] = f.add.DeletionVector.ID()
	}
	var out []*delta.Add
	for f := range now.Files() {
		if id, ok := stay[f.Key]; !ok || id != f.DeletionVector.ID() {
			out = append(out, f)
		}
	}
	return out
}
