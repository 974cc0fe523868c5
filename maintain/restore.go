package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

const opRestore = "Restore"

// Target is a version of a table, by number or by time. The zero Target is none.
type Target struct {
	given   bool
	version int64
	at      time.Time
}

// Version is the target with a number.
func Version(v int64) Target { return Target{given: true, version: v} }

// Time is the newest version whose commit is not after an instant. One before the first version or
// after the last, in the future say, is [idem.ErrInput].
func Time(at time.Time) Target { return Target{given: true, version: -1, at: at} }

// Restore asks for an earlier version to be made the newest.
type Restore struct {
	_ struct{}

	// To is the version to go back to, or forward again: it is required.
	To Target

	// Note is kept in the commit.
	Note string
}

// Restored is what Restore did.
type Restored struct {
	_ struct{}

	// Outcome is Committed or Unchanged.
	Outcome idem.Outcome

	// Version is the version committed, or the newest version looked at; To is the version restored.
	Version, To int64

	// Attempts is the number of commits that were proposed.
	Attempts int

	FilesRestored, FilesRemoved int64
	BytesRestored, BytesRemoved int64 // sizes of data files

	// Undone are the app ids, sorted, whose last tag was taken back: AppendWithTxn with it is
	// [idem.ErrRestored] from now on.
	Undone []string
}

// String is one line for a log.
func (r *Restored) String() string {
	return fmt.Sprintf("%s, version %d as version %d was: %d files restored, %d removed, %d tags taken back",
		r.Outcome, r.Version, r.To, r.FilesRestored, r.FilesRemoved, len(r.Undone))
}

// RestoreTable makes the newest version what an earlier version was: its files, its definition and
// its clustering columns, in one commit that readers and other engines see as a RESTORE. History
// stays, so that a later call can go forward again.
//
// What must not go back stays as it is: the protocol keeps every feature that the table has since, and has those again
// that were dropped; ids of columns and row ids are not given out again, identity columns go on where they were, also
// those that were dropped since, and the table's timestamps and column mapping stay on: by names, where the files of the
// version restored have no ids of columns. Rows come back with their row ids, also when row tracking was dropped
// since; where it was dropped and enabled again they get those that they had last since then, or new ones. Domains of users (of metadata that idem and Spark do not know)
// stay as they are, as under Spark, whose RESTORE brings back the clustering alone.
//
// Tags of AppendWithTxn and its like that were recorded after the version restored are taken back:
// a repeat of such a batch is [idem.ErrRestored], not skipped, however long ago and whatever later batch was
// written since, until it is written again with Txn.Reapply or its tag is moved with RewindTxn. A batch that is
// written again supersedes those before it that the same restore took back: write them again in order. A tag
// that RewindTxn moved back since goes forward again to where it was. Batches below the tag that the version restored
// has count as they did there: one that it had passed over is superseded again, also if it was written since.
//
// A second call is Unchanged. Of two calls at once with one target one commits and the other is
// Unchanged; with two targets one of them is the last. A write of others that lands meanwhile is taken
// away by the restore, or comes after it.
//
// Every file that would come back is looked for first: if one is missing, as after a vacuum, the error
// wraps [idem.ErrInput] and names files, and nothing is changed. While a vacuum is under way that may
// delete one, it is [idem.ErrConflict]: call again when the vacuum has ended. A version that the log no longer
// reaches back to is [idem.ErrInput], too, and so is an append-only table that would lose files.
func RestoreTable(ctx context.Context, t *idem.Table, r Restore) (*Restored, error) {
	in, err := open(ctx, opRestore, t)
	if err != nil {
		return nil, err
	}
	if !r.To.given || r.To.at.IsZero() && r.To.version < 0 {
		return nil, in.Fail(opRestore, fmt.Errorf("%w: Restore.To is not given, or a version below 0: set it to Version(n) or Time(t)", idem.ErrInput))
	}
	p := &restore{in: in, to: r.To, found: map[string]bool{}}
	res, err := write(ctx, in, inside.Call{Op: opRestore, Note: r.Note, Planner: p})
	if err != nil {
		return nil, err
	}
	out := p.out
	out.Outcome, out.Version, out.Attempts = res.Outcome, res.Version, res.Attempts
	return &out, nil
}

// restore plans one call.
type restore struct {
	in    *inside.Table
	to    Target
	then  *delta.Snapshot // the version to go back to
	found map[string]bool // keys of files that are known to be there
	cuts  vacuums
	out   Restored
}

// Plan implements inside.Planner.
func (p *restore) Plan(ctx context.Context, now *delta.Snapshot) (*plan.Proposal, error) {
	if err := p.load(ctx, now); err != nil {
		return nil, err
	}
	p.out = Restored{To: p.then.Version()}
	if p.then.Version() == now.Version() {
		return nil, nil
	}
	back, gone := changed(now, p.then), changed(p.then, now)
	if len(gone) > 0 && now.AppendOnly() {
		return nil, fmt.Errorf("%w: the table is append-only (delta.appendOnly=true) and version %d lacks %d of its files; set the property to false first",
			idem.ErrInput, p.then.Version(), len(gone))
	}
	back, err := p.complete(ctx, now, back)
	if err != nil {
		return nil, err
	}
	bare, err := p.bare(ctx, now)
	if err != nil {
		return nil, err
	}
	actions, err := p.definition(ctx, now, slices.Concat(back, bare))
	if err != nil {
		return nil, err
	}
	actions = append(actions, p.files(gone, back, bare)...)
	actions = append(actions, p.tagsBack(now)...)
	if len(actions) == 0 {
		return nil, nil
	}
	return &plan.Proposal{
		Operation: "RESTORE", Parameters: p.parameters(), Metrics: p.metrics(), Actions: actions,
		Reads: commit.Reads{Everything: true},
	}, nil
}

// definition are the actions that give the table the definition that it had. The files that come back, and those that
// were bare, get their row ids.
func (p *restore) definition(ctx context.Context, now *delta.Snapshot, adds []*delta.Add) ([]delta.Action, error) {
	given, err := givenSince(ctx, p.in, p.then, now, adds)
	if err != nil {
		return nil, err
	}
	out, err := definitionBack(now, p.then, given, given.ids.anew, p.in.Env.NewID)
	if err != nil {
		return nil, err
	}
	given.ids.give(adds, now)
	mark, err := commit.RowIDMark(now)
	if given.ids.mark > mark && (now.Protocol().Supports(trackingFeature) || p.then.Protocol().Supports(trackingFeature)) {
		d := commit.RowIDDomainOf(given.ids.mark)
		out = append(out, delta.Action{Domain: &d})
	}
	return out, err
}

// files are the actions of files. That of one that was bare brings nothing back: it was there.
func (p *restore) files(gone, back, bare []*delta.Add) (out []delta.Action) {
	for _, f := range gone {
		out = append(out, p.in.Env.Remove(f, true))
		p.out.FilesRemoved, p.out.BytesRemoved = p.out.FilesRemoved+1, p.out.BytesRemoved+f.Size
	}
	for _, f := range back {
		out = append(out, delta.Action{Add: f})
		p.out.FilesRestored, p.out.BytesRestored = p.out.FilesRestored+1, p.out.BytesRestored+f.Size
	}
	for _, f := range bare {
		out = append(out, delta.Action{Add: f})
	}
	return out
}

// load finds the version to go back to, once: it never changes.
func (p *restore) load(ctx context.Context, now *delta.Snapshot) error {
	if p.then != nil {
		return nil
	}
	version := p.to.version
	if !p.to.at.IsZero() {
		var err error
		if version, err = p.in.Log.VersionAt(ctx, p.to.at, now); err != nil {
			return err
		}
	}
	if version == now.Version() {
		p.then = now
		return nil
	}
	then, err := p.in.Log.LoadAt(ctx, version)
	if err == nil && !then.HasSchema() {
		err = fmt.Errorf("%w: version %d has no schema, which a table cannot go back to", idem.ErrCorrupt, version)
	}
	if err != nil {
		return err
	}
	p.then = then
	return nil
}

// changed gives the files of b that a lacks, or has under another deletion vector.
func changed(a, b *delta.Snapshot) []*delta.Add {
	var out []*delta.Add
	for f := range b.Files() {
		if live, ok := a.Live(f.Key); !ok || live.DeletionVector.ID() != f.DeletionVector.ID() {
			out = append(out, f)
		}
	}
	return out
}

// complete makes adds of files that come back: they are there, and have their statistics.
func (p *restore) complete(ctx context.Context, now *delta.Snapshot, files []*delta.Add) ([]*delta.Add, error) {
	old := p.longGone(now, files)
	if err := p.vacuumed(ctx, now, old); err != nil {
		return nil, err
	}
	if err := p.look(ctx, files); err != nil {
		return nil, err
	}
	if err := p.wary(now, old); err != nil {
		return nil, err
	}
	return p.adds(ctx, files, true)
}

// bare are the files that stay and lack the row ids that they are to have, as after a drop of row tracking.
func (p *restore) bare(ctx context.Context, now *delta.Snapshot) ([]*delta.Add, error) {
	var files []*delta.Add
	for f := range p.then.Files() {
		live, ok := now.Live(f.Key)
		if ok && live.DeletionVector.ID() == f.DeletionVector.ID() && untracked(live, f, p.then) {
			files = append(files, f)
		}
	}
	return p.adds(ctx, files, false)
}

// adds are the adds of files of the version, with their statistics.
func (p *restore) adds(ctx context.Context, files []*delta.Add, dataChange bool) ([]*delta.Add, error) {
	stats, err := p.in.Log.Stats(ctx, p.then, files)
	if err != nil {
		return nil, err
	}
	out := make([]*delta.Add, len(files))
	for i, f := range files {
		add := *f
		add.Stats, add.StatsDeferred, add.DataChange = stats[i], false, dataChange
		out[i] = &add
	}
	return out, nil
}

// mostNamed is the number of files that an error names.
const mostNamed = 10

// look sees whether every data file and every file of deletion vectors is there.
func (p *restore) look(ctx context.Context, files []*delta.Add) error {
	var keys []string
	want := func(key string) {
		if _, known := p.found[key]; !known {
			p.found[key] = false
			keys = append(keys, key)
		}
	}
	for _, f := range files {
		want(f.Key)
		key, err := vectorKey(p.in.Store.URL(), f.DeletionVector)
		if err != nil {
			return fmt.Errorf("file %s: %w", f.Path, err)
		}
		if key != "" {
			want(key)
		}
	}
	there := make([]bool, len(keys))
	err := plan.ForEach(ctx, p.in.Env.Parallelism, len(keys), func(ctx context.Context, i int) error {
		_, err := p.in.Env.Store.Head(ctx, keys[i])
		there[i] = err == nil
		if errors.Is(err, store.ErrNotExist) {
			return nil
		}
		return err
	})
	for i, key := range keys {
		p.found[key] = there[i]
	}
	if err != nil {
		return err
	}
	return p.missing(keys)
}

func (p *restore) missing(keys []string) error {
	var gone []string
	for _, key := range keys {
		if !p.found[key] {
			gone = append(gone, key)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	named := strings.Join(gone[:min(len(gone), mostNamed)], ", ")
	if len(gone) > mostNamed {
		named += ", …"
	}
	return fmt.Errorf("%w: version %d needs %d files that are not in the store any more, deleted by a vacuum most likely: %s; nothing was changed: restore a later version",
		idem.ErrInput, p.then.Version(), len(gone), named)
}

// vectorKey is the key, or the spelling outside the root, of the file that holds a deletion vector; ""
// if none does.
func vectorKey(root string, v *delta.DeletionVector) (string, error) {
	if v == nil || v.StorageType == "i" {
		return "", nil
	}
	key, _, err := v.Locate(root)
	return key, err
}

func (p *restore) parameters() map[string]any {
	out := map[string]any{"version": p.then.Version(), "timestamp": nil}
	if !p.to.at.IsZero() {
		out["timestamp"] = p.to.at.UTC().Format("2006-01-02 15:04:05.999999")
	}
	return out
}

func (p *restore) metrics() map[string]string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return map[string]string{
		"tableSizeAfterRestore": n(p.then.SizeInBytes()), "numOfFilesAfterRestore": strconv.Itoa(p.then.NumFiles()),
		"numRestoredFiles": n(p.out.FilesRestored), "restoredFilesSize": n(p.out.BytesRestored),
		"numRemovedFiles": n(p.out.FilesRemoved), "removedFilesSize": n(p.out.BytesRemoved),
	}
}

// tagsBack are the records that say how far each tag was taken back, or forward again. The records
// of the tags themselves stay, as for every engine, but for one that was moved back since: the rows of
// its later versions come back, and must not be written a second time.
func (p *restore) tagsBack(now *delta.Snapshot) []delta.Action {
	at := p.in.Env.Now().UnixMilli()
	var out []delta.Action
	for _, app := range taggedApps(now, p.then) {
		is, then := commit.RecordsOf(now, app), commit.RecordsOf(p.then, app)
		to := is.Restore(then)
		if to.Recorded != is.Recorded {
			out = append(out, delta.Action{Txn: &delta.Txn{AppID: app, Version: to.Recorded, LastUpdated: &at}})
		}
		changes := is.Changes(to, app, at)
		out = append(out, changes...)
		if len(changes) > 0 && (to.Undone != commit.Cleared || len(to.Gaps) > 0) {
			p.out.Undone = append(p.out.Undone, app)
		}
	}
	return out
}

// taggedApps are the app ids of tags in snapshots, sorted: others leave empty ones, which are never
// written.
func taggedApps(snaps ...*delta.Snapshot) []string {
	var out []string
	for _, snap := range snaps {
		for t := range snap.Txns() {
			if t.AppID != "" && !commit.Reserved(t.AppID) {
				out = append(out, t.AppID)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
