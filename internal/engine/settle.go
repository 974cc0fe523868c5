package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logio"
)

// inspect reads what is at the version that was proposed, with a deadline of its own: the outcome
// must be looked for when the caller's context has ended, too.
func (r *run) inspect(ctx context.Context, version int64) commit.Event {
	left := r.e.ReadBackTimeout
	if !r.asked.IsZero() {
		left -= r.e.Clock.Now().Sub(r.asked)
	}
	if left <= 0 {
		return commit.EventBlind
	}
	ctx, cancel := r.e.timeout(context.WithoutCancel(ctx), left)
	defer cancel()
	event, err := r.look(ctx, version)
	if err == nil {
		r.asked = r.e.Clock.Now()
		r.beaten = r.beaten || event == commit.EventTheirs || event == commit.EventOvertaken
		return event
	}
	r.unread = err
	if r.e.Clock.Sleep(ctx, logio.Jitter(r.e.Rand, min(2*firstPause, left))) != nil {
		return commit.EventBlind
	}
	return commit.EventUnreadable
}

// look tells ours from theirs by the transaction id, never by the bytes. A commit that cannot be
// decoded decides nothing: it may be ours, read badly.
func (r *run) look(ctx context.Context, version int64) (commit.Event, error) {
	actions, data, err := r.e.Log.ReadCommit(ctx, version)
	switch {
	case data != nil && delta.TxnID(data) == r.txnID:
		return commit.EventOurs, nil
	case err == nil, errors.Is(err, delta.ErrUnsupported) && data != nil:
		r.theirs, r.pauses = actions, 0
		return commit.EventTheirs, nil
	case !errors.Is(err, store.ErrNotExist):
		return 0, err
	}
	return r.lookAround(ctx, version)
}

// lookAround proves that a version that is absent was not cleaned away.
func (r *run) lookAround(ctx context.Context, version int64) (commit.Event, error) {
	tail, err := r.e.Log.Tail(ctx, version-1)
	switch {
	case err != nil:
		return 0, err
	case tail.HasNext:
		return 0, fmt.Errorf("commit %d is listed and cannot be found", version)
	case tail.Last >= version, version > 0 && !tail.Whole:
		return commit.EventOvertaken, nil
	}
	if same, err := r.same(ctx); err != nil || !same {
		return commit.EventOvertaken, err
	}
	return commit.EventAbsent, nil
}

// rebase reads every winner from a version to the newest and judges what they mean for the plan.
func (r *run) rebase(ctx context.Context, version int64) (commit.Event, int64) {
	if r.snap == nil {
		return r.joinCreated(ctx), 0
	}
	began := r.e.Clock.Now()
	winners, err := r.winners(ctx, version)
	var snap *delta.Snapshot
	var tag commit.TagAnswer
	var advanceErr error
	if err == nil && winners != nil {
		if snap, advanceErr = r.advance(winners); r.in.Tag != nil && !r.in.Rewind && advanceErr == nil {
			tag, err = r.e.CheckTag(ctx, snap, *r.in.Tag)
		}
	}
	same, unseen := r.same(ctx) // asked last: what was read before is of the log that is there now
	switch {
	case unseen == nil && !same, err == nil && winners == nil:
		return commit.EventBehind, 0
	case err != nil || unseen != nil:
		return r.fail(cmp.Or(err, unseen)), 0
	}
	last := winners[len(winners)-1].Version
	base := commit.State{Protocol: r.snap.Protocol(), Metadata: r.snap.Metadata()}
	verdict := commit.Rebase(r.in, base, winners, tag)
	if verdict.Kind == commit.Stop {
		return r.fail(verdict.Err), 0
	}
	if advanceErr != nil {
		return r.fail(advanceErr), 0
	}
	r.e.Log.Saw(snap, began)
	r.snap, r.tag = snap, tag
	r.e.Logger.Debug("idem: another writer was first", "version", version, "newest", last, "verdict", verdict.String())
	switch verdict.Kind {
	case commit.Skip:
		return commit.EventSkip, 0
	case commit.Replan:
		return commit.EventInvalid, 0
	}
	return commit.EventRebased, last + 1
}

// joinCreated takes up the table that another writer made while we were making it.
func (r *run) joinCreated(ctx context.Context) commit.Event {
	snap, err := r.e.Log.Load(ctx)
	if err != nil {
		return r.fail(err)
	}
	r.snap = snap
	return commit.EventInvalid
}

// winners gives the commits from a version to the newest, nil if some were cleaned away.
func (r *run) winners(ctx context.Context, version int64) ([]*commit.Winner, error) {
	tail, err := r.e.Log.Tail(ctx, version)
	if err != nil {
		return nil, err
	}
	if !tail.Has || !tail.Whole {
		return nil, nil
	}
	root := r.e.Store.URL()
	winners := []*commit.Winner{commit.NewWinner(root, version, r.theirs)}
	err = r.e.Log.ReadCommits(ctx, version+1, tail.Last, func(v int64, actions []delta.Action) error {
		winners = append(winners, commit.NewWinner(root, v, actions))
		return nil
	})
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	return winners, err
}

func (r *run) advance(winners []*commit.Winner) (*delta.Snapshot, error) {
	snap := r.snap
	var err error
	for _, w := range winners {
		if snap, err = snap.Advance(w.Version, w.Actions); err != nil {
			return nil, err
		}
	}
	return snap, nil
}

// decide looks for the tag in the newest table, when the version that was proposed was cleaned away.
func (r *run) decide(ctx context.Context) commit.Event {
	tag := r.in.Proof()
	if tag == nil {
		return commit.EventTagMissing
	}
	ctx, cancel := r.e.timeout(context.WithoutCancel(ctx), r.e.ReadBackTimeout)
	defer cancel()
	snap, err := r.e.Log.Load(ctx)
	if err != nil || r.in.TableID != "" && snap.Metadata().ID != r.in.TableID {
		return commit.EventTagMissing
	}
	found, err := r.skips(ctx, snap, *tag, true)
	if err != nil || !found {
		return commit.EventTagMissing
	}
	r.snap = snap
	return commit.EventTagFound
}

// finish turns the end of the machine into an answer.
func (r *run) finish(ctx context.Context, step commit.Step) (Outcome, error) {
	out := Outcome{Attempts: r.attempts, Plans: r.plans, Snapshot: r.snap, Version: -1, Recorded: -1}
	if r.snap != nil {
		out.Version = r.snap.Version()
	}
	switch step.Result {
	case commit.Committed:
		return r.committed(ctx, out, step.Version), nil
	case commit.Nothing:
		out.Kind = Unchanged
		return out, nil
	case commit.Skipped:
		return r.skipped(out)
	case commit.Halted:
		return out, r.halted(ctx)
	case commit.Unknown:
		return out, r.unknown(step.Version)
	}
	if cause := r.causes(); r.err == nil && cause != nil {
		r.err = fmt.Errorf("commit %d was not sent, and what is there cannot be read: %w", step.Version, cause)
	}
	if r.err == nil {
		r.err = fmt.Errorf("commit %d: the machine and the engine disagree at %s", step.Version, step)
	}
	return out, r.err
}

func (r *run) committed(ctx context.Context, out Outcome, version int64) Outcome {
	out.Kind, out.Version, out.Snapshot = Committed, version, r.next
	if r.in.Tag != nil {
		out.Recorded = commit.RecordsOf(r.next, r.in.Tag.AppID).Recorded
	}
	if !r.e.SkipAfterCommit {
		r.e.Log.AfterCommit(ctx, r.next, r.e.Clock.Now())
	}
	return out
}

func (r *run) skipped(out Outcome) (Outcome, error) {
	out.Tag, out.Recorded = r.tag, r.tag.Recorded
	switch r.tag.Status {
	case commit.Applied:
		out.Kind = AlreadyApplied
		return out, nil
	case commit.Superseded:
		out.Kind = Superseded
		r.e.Logger.Warn("idem: skipped, a later version of the tag is recorded; two loaders that share one app id look like this, too",
			"app", r.tag.Tag.AppID, "version", r.tag.Tag.Version, "recorded", r.tag.Recorded)
		return out, nil
	}
	by := "a RESTORE"
	if r.tag.RestoredBy >= 0 {
		by = fmt.Sprintf("the RESTORE at version %d", r.tag.RestoredBy)
	}
	return out, fmt.Errorf("tag %s is recorded (%d), but %s took its rows away: set Reapply to write them again, or move the tag back with RewindTxn: %w",
		r.tag.Tag, r.tag.Recorded, by, commit.ErrRestored)
}

func (r *run) halted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the commit was not made: %w", err)
	}
	if !r.beaten {
		return fmt.Errorf("the commit was not made: nothing was sent, as the store's answers contradict each other for %s: call again, or raise CommitBudget", r.e.CommitBudget)
	}
	return fmt.Errorf("the commit was not made: other writers were first for %s (%d attempts): call again, or raise CommitBudget: %w",
		r.e.CommitBudget, r.attempts, commit.ErrConflict)
}

func (r *run) unknown(version int64) error {
	return &UnknownError{
		Version: version, TxnID: r.txnID, TableID: r.in.TableID, Tag: r.in.Proof(), Files: r.in.Files(),
		Attempts: r.attempts, Cause: r.causes(),
	}
}

// causes are the last answers to the proposal and to reading back.
func (r *run) causes() error { return errors.Join(r.cause, r.unread) }
