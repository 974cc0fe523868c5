package maintain

import (
	"context"
	"fmt"
	"slices"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

const opDrop = "DropFeature"

// Drop asks for a table feature to be taken out of a table.
type Drop struct {
	_ struct{}

	// Feature is its name as the protocol has it, "deletionVectors".
	Feature string

	// TruncateHistory wants the versions that use the feature gone rather than protected: those that have
	// expired (delta.logRetentionDuration) are deleted, and while others are left the call is
	// refused. It matters for features that readers must know.
	TruncateHistory bool

	// Note is kept in the commits.
	Note string
}

// Dropped is what DropFeature did.
type Dropped struct {
	_ struct{}

	// Outcome is Committed, or Unchanged if the table did not have the feature.
	Outcome idem.Outcome

	// Version is the last version committed, or the newest version looked at.
	Version int64

	// Commits is the number of versions that were made, Attempts that of those proposed.
	Commits, Attempts int

	// FilesRewritten are those whose rows were copied into new ones, FilesRestated those whose actions
	// were written again.
	FilesRewritten, FilesRestated int64
}

// String is one line for a log.
func (d *Dropped) String() string {
	return fmt.Sprintf("%s, version %d: %d commits, %d files rewritten, %d restated", d.Outcome, d.Version, d.Commits, d.FilesRewritten, d.FilesRestated)
}

// DropFeature takes a table feature out of a table, in the steps that Delta has for it, each a commit:
//
//  1. The use of the feature ends: its property goes, so that no writer goes on using it.
//  2. Files are brought into the form that they have without it, no row changing: those with deletion
//     vectors are rewritten, and those with columns of a type from before a change of type; the row ids
//     of the others are taken away. (For column mapping both are one commit.)
//  3. The feature leaves the protocol. If readers must know it, a checkpoint of the version before is
//     written first, at which readers that do not know it begin, and the feature checkpointProtection is
//     added, by which no writer removes it. With TruncateHistory there must be no version left that uses the feature
//     instead, and nothing is protected.
//
// A call that was cut short goes on where it ended; a call for a feature that the table has not is
// Unchanged. Of two calls at once each does what the other has not done yet; one makes the last commit.
// A write of rows that comes between the steps is redone by its writer, or looked at by the next step.
//
// What can be dropped: checkConstraints (when there is no constraint), checkpointProtection (with
// TruncateHistory), columnMapping, deletionVectors, domainMetadata, inCommitTimestamp, rowTracking,
// typeWidening, v2Checkpoint and vacuumProtocolCheck. Of others [idem.ErrInput] says how their use ends, as that
// of appendOnly does when delta.appendOnly is set to false; one that idem does not know is [idem.ErrUnsupported].
// [idem.ErrInput] says what is in the way, too: another feature, a constraint, versions that use the feature. Then
// the steps that were made stay made.
func DropFeature(ctx context.Context, t *idem.Table, r Drop) (*Dropped, error) {
	in, err := open(ctx, opDrop, t)
	if err != nil {
		return nil, err
	}
	if r.Feature == "" {
		return nil, in.Fail(opDrop, fmt.Errorf("%w: Drop.Feature is empty: name a table feature", idem.ErrInput))
	}
	d := &dropping{in: in, steps: steps{in: in, op: opDrop, note: r.Note}, request: r, out: Dropped{Outcome: idem.Unchanged}, types: pastTypes{env: in.Env, known: map[[2]string]bool{}}}
	defer func() { d.close(ctx) }()
	for range mostSteps {
		done, err := d.step(ctx)
		if err != nil {
			return nil, d.steps.fail(err)
		}
		if done {
			return &d.out, nil
		}
	}
	return nil, in.Fail(opDrop, fmt.Errorf("%w: %d steps were made and the feature %s is in use again each time: another writer turns it on; end that first", idem.ErrConflict, mostSteps, r.Feature))
}

// mostSteps is more than it takes, unless somebody works against it.
const mostSteps = 24

// dropping is one call.
type dropping struct {
	in      *inside.Table
	steps   steps
	request Drop
	out     Dropped

	types    pastTypes
	rewriter *rewriter // of the step that is under way; nil for another
}

// step does what is due next. done says that nothing is.
func (d *dropping) step(ctx context.Context) (done bool, err error) {
	snap, err := d.in.Newest(ctx)
	if err != nil {
		return false, err
	}
	d.out.Version = snap.Version()
	if d.request.TruncateHistory && snap.Protocol().Supports(d.request.Feature) {
		if _, err := d.in.Log.CleanUp(ctx, snap, d.in.Env.Now(), false); err != nil {
			return false, err
		}
	}
	drop, err := d.due(ctx, snap)
	switch {
	case err != nil:
		return false, err
	case drop == nil:
		return true, nil
	case drop.First != nil || drop.Last != nil:
		p := &dropStep{d: d}
		d.rewriter = &rewriter{env: d.in.Env}
		return false, d.commit(ctx, p, func() { d.out.FilesRewritten += d.rewriter.files })
	}
	return false, d.meet(ctx, drop.Needs[0])
}

// commit makes one commit of a step, or finds that another writer has made it.
func (d *dropping) commit(ctx context.Context, p inside.Planner, counts func()) error {
	defer d.close(ctx)
	res, err := d.steps.write(ctx, p)
	if err != nil {
		return err
	}
	d.out.Attempts += res.Attempts
	if res.Outcome == idem.Committed {
		d.out.Outcome, d.out.Version = idem.Committed, res.Version
		d.out.Commits++
		counts()
	}
	return nil
}

func (d *dropping) close(ctx context.Context) {
	if d.rewriter != nil {
		d.rewriter.close(ctx)
		d.rewriter = nil
	}
}

// meet sees to something that must be true of the files.
func (d *dropping) meet(ctx context.Context, need delta.Need) error {
	switch need {
	case delta.NeedNoRowIDs:
		p := &restate{in: d.in, operation: "ROW TRACKING UNBACKFILL", due: func(f *delta.Add) bool { return f.BaseRowID != nil },
			amend: func(f *delta.Add) { f.BaseRowID, f.CommitVersion = nil, nil }}
		for before := -1; before < d.out.Commits; p.batch++ { // until a batch finds nothing
			before = d.out.Commits
			if err := d.commit(ctx, p, func() { d.out.FilesRestated += p.files }); err != nil {
				return err
			}
		}
		return nil
	case delta.NeedNoVectors:
		d.rewriter = &rewriter{env: d.in.Env, due: func(_ context.Context, _ *delta.Snapshot, f *delta.Add) (bool, error) {
			return f.DeletionVector != nil, nil
		}}
	case delta.NeedPresentTypes:
		d.rewriter = &rewriter{env: d.in.Env, due: d.types.has}
	default:
		return fmt.Errorf("%w: the feature %s needs %q of files, which idem does not know how to bring about", idem.ErrUnsupported, d.request.Feature, need)
	}
	return d.commit(ctx, d.rewriter, func() { d.out.FilesRewritten += d.rewriter.files })
}

// due asks what is to be done, of what cannot be told from the snapshot this only: whether every file has
// the types of now.
func (d *dropping) due(ctx context.Context, snap *delta.Snapshot) (*delta.Drop, error) {
	r := delta.DropRequest{Feature: d.request.Feature, TruncateHistory: d.request.TruncateHistory, Version: snap.Version() + 1}
	if d.request.TruncateHistory {
		var err error
		if r.Oldest, err = oldest(ctx, d.in); err != nil {
			return nil, err
		}
	}
	drop, err := snap.DropFeature(r)
	if err != nil || drop == nil || drop.First != nil || !slices.Contains(drop.Needs, delta.NeedPresentTypes) {
		return drop, err
	}
	for f := range snap.Files() {
		if past, err := d.types.has(ctx, snap, f); past || err != nil {
			return drop, err
		}
	}
	r.Met = []delta.Need{delta.NeedPresentTypes}
	return snap.DropFeature(r)
}

// dropStep plans the first commit, or the last.
type dropStep struct {
	d *dropping
}

// Plan implements inside.Planner.
func (p *dropStep) Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	drop, err := p.d.due(ctx, snap)
	switch {
	case err != nil || drop == nil:
		return nil, err
	case drop.First != nil:
		return p.first(ctx, snap, drop.First)
	case drop.Last != nil:
		return p.last(ctx, snap, drop)
	}
	return nil, nil // another writer has made this step, or undone it: what is next is seen next
}

// first ends the use of the feature.
func (p *dropStep) first(ctx context.Context, snap *delta.Snapshot, edit *delta.Edit) (*plan.Proposal, error) {
	out := &plan.Proposal{Operation: "SET TBLPROPERTIES", Parameters: p.properties(snap, edit), Actions: edit.Actions(), Rearranges: true}
	if p.d.request.Feature == "columnMapping" {
		out.Operation, out.Parameters = "REMOVE COLUMN MAPPING", map[string]any{}
	}
	if !edit.Rewrite {
		return out, nil
	}
	to, err := snap.Edited(edit)
	if err != nil {
		return nil, err
	}
	actions, err := p.d.rewriter.rewrite(ctx, snap, to)
	out.Actions = append(out.Actions, actions...)
	out.Reads, out.Tags = commit.Reads{WholeTable: true}, preserved(snap)
	return out, err
}

// properties are what Spark does to them at this point.
func (p *dropStep) properties(snap *delta.Snapshot, edit *delta.Edit) map[string]any {
	changed := map[string]string{}
	if edit.Metadata == nil {
		return map[string]any{"properties": plan.PropertiesParameter(changed)}
	}
	for key, value := range edit.Metadata.Configuration {
		if old, ok := snap.Property(key); !ok || old != value {
			changed[key] = value
		}
	}
	for key := range snap.Metadata().Configuration {
		if _, stays := edit.Metadata.Configuration[key]; !stays {
			changed[key] = ""
		}
	}
	return map[string]any{"properties": plan.PropertiesParameter(changed)}
}

// last takes the feature out of the protocol. Delta's own clients write some empty commits with checkpoints
// before it, lest one of them be lost; here the commit is worked out anew, with a checkpoint of the
// version before it, until it lands, and the property tells which checkpoints must stay.
func (p *dropStep) last(ctx context.Context, snap *delta.Snapshot, drop *delta.Drop) (*plan.Proposal, error) {
	switch drop.History {
	case delta.HistoryCheckpoint:
		if err := checkpointed(ctx, p.d.in, snap); err != nil {
			return nil, err
		}
	case delta.HistoryTruncated:
		if err := truncated(ctx, p.d.in, snap, p.d.request.Feature); err != nil {
			return nil, err
		}
	}
	return &plan.Proposal{
		Operation: "DROP FEATURE", Parameters: map[string]any{"featureName": p.d.request.Feature, "truncateHistory": p.d.request.TruncateHistory},
		Actions: drop.Last.Actions(), Reads: commit.Reads{Everything: true},
	}, nil
}

// preserved says of a commit that the ids of rows stay.
func preserved(snap *delta.Snapshot) map[string]string {
	if !snap.TracksRows() {
		return nil
	}
	return map[string]string{"delta.rowTracking.preserved": "true"}
}
