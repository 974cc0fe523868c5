package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logio"
)

// run is one call of Commit.
type run struct {
	e       *Engine
	planner Planner

	snap   *delta.Snapshot // what the next proposal follows
	next   *delta.Snapshot // snap with the proposal on top
	in     *commit.Intent
	txnID  string
	data   []byte         // the bytes proposed
	theirs []delta.Action // the foreign commit that was read back last

	attempts, plans int
	pauses          int           // since the last settled version
	began           time.Time     // when there first was something to propose
	planning        time.Duration // spent in planners since
	asked           time.Time     // when the proposal was answered
	wrote           time.Time     // when the first plan began, and with it what it wrote
	first           int64         // the version that it was made on
	behind          int           // how often the snapshot turned out to be old
	beaten          bool          // another commit, or another log, was where ours was to go

	tag    commit.TagAnswer
	err    error // why the call failed
	cause  error // the last answer of the store to a proposal
	unread error // why what is there could not be read, the last time
}

// take carries out a step and says what came of it.
func (r *run) take(ctx context.Context, m commit.Machine, step commit.Step) (commit.Event, int64) {
	if r.halt(ctx, m, step) {
		return commit.EventHalt, 0
	}
	switch step.Kind {
	case commit.StepPlan:
		return r.plan(ctx, step.Refresh)
	case commit.StepProve:
		return r.prove(ctx), 0
	case commit.StepPropose:
		return r.propose(ctx, step), 0
	case commit.StepInspect:
		return r.inspect(ctx, step.Version), 0
	case commit.StepRebase:
		return r.rebase(ctx, step.Version)
	}
	return r.decide(ctx), 0
}

// halt says whether the end of context or budget must be told before the step is carried out. The
// time that planners take counts only when a new plan would be asked for: one that was made is
// proposed, whatever it took to make.
func (r *run) halt(ctx context.Context, m commit.Machine, step commit.Step) bool {
	if step.Kind == commit.StepDecide || step.Kind == commit.StepInspect && m.Halted() {
		return false
	}
	if ctx.Err() != nil {
		return true
	}
	if r.began.IsZero() {
		return false
	}
	elapsed := r.e.Clock.Now().Sub(r.began)
	if step.Kind != commit.StepPlan {
		elapsed -= r.planning
	}
	return elapsed >= r.e.CommitBudget
}

func (r *run) fail(err error) commit.Event {
	r.err = err
	return commit.EventFailed
}

func (r *run) plan(ctx context.Context, refresh bool) (commit.Event, int64) {
	if refresh {
		if err := r.refresh(ctx); err != nil {
			return r.fail(err), 0
		}
	}
	if skip, err := r.skipAhead(ctx); err != nil {
		return r.fail(err), 0
	} else if skip {
		return commit.EventSkip, 0
	}
	if err := gateWrite(r.snap); err != nil {
		return r.fail(err), 0
	}
	started := r.e.Clock.Now()
	if r.wrote.IsZero() && r.snap != nil {
		r.wrote, r.first = started, r.snap.Version()
	}
	in, err := r.planner.Plan(ctx, r.snap)
	r.planning += r.e.Clock.Now().Sub(started)
	r.plans++
	if err != nil {
		return r.refused(ctx, refresh, err)
	}
	if in == nil {
		return commit.EventNothing, 0
	}
	return r.accept(ctx, in)
}

// refused ends a call whose plan cannot be made. A file that cannot be read any more may be one that
// a vacuum took since, after the table had moved on from it: then the next call begins with the newest
// table.
func (r *run) refused(ctx context.Context, refreshed bool, err error) (commit.Event, int64) {
	if refreshed || r.snap == nil || ctx.Err() != nil || !errors.Is(err, delta.ErrCorrupt) || r.prove(ctx) != commit.EventBehind {
		return r.fail(err), 0
	}
	old := r.snap.Version()
	switch moved := r.refresh(ctx); {
	case errors.Is(moved, commit.ErrConflict), errors.Is(moved, delta.ErrNotTable):
		return r.fail(moved), 0 // another table is there, or none
	case moved != nil, r.snap.Version() == old:
		return r.fail(err), 0
	}
	return r.fail(fmt.Errorf("version %d, which is not the newest any more, cannot be read as it was (%v): call again: %w", old, err, commit.ErrConflict)), 0
}

// refresh loads what is newest. Another table at the same place is not ours to write to.
func (r *run) refresh(ctx context.Context) error {
	if err := r.outdated(ctx); err != nil {
		return err
	}
	snap, err := r.e.Log.Refresh(ctx, r.snap)
	if errors.Is(err, delta.ErrNotTable) && r.snap == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if err := Stays(r.snap, snap); err != nil {
		return err
	}
	r.snap = snap
	return nil
}

// Stays says whether a snapshot is of the table that an earlier one is of, nil if there is none: a table that was dropped
// and made anew at its place is not, which is commit.ErrConflict.
func Stays(was, is *delta.Snapshot) error {
	if was == nil || was.Metadata().ID == is.Metadata().ID {
		return nil
	}
	return fmt.Errorf("the table was dropped and made anew (id %q, ours was %q): open it again: %w",
		is.Metadata().ID, was.Metadata().ID, commit.ErrConflict)
}

// outdated waits from the second time on, so that a store that contradicts itself does not keep us
// spinning.
func (r *run) outdated(ctx context.Context) error {
	if r.behind++; r.behind > 1 {
		return r.pause(ctx)
	}
	return nil
}

// skipAhead asks the tag before the planner is asked.
func (r *run) skipAhead(ctx context.Context) (bool, error) {
	t, ok := r.planner.(Tagged)
	if !ok || r.snap == nil {
		return false, nil
	}
	tag, reapply, ok := t.Tag()
	if !ok {
		return false, nil
	}
	return r.skips(ctx, r.snap, tag, reapply)
}

func (r *run) skips(ctx context.Context, snap *delta.Snapshot, tag commit.Tag, reapply bool) (bool, error) {
	answer, err := r.e.CheckTag(ctx, snap, tag)
	if err != nil {
		return false, err
	}
	r.tag = answer
	return answer.Skips(reapply), nil
}

// accept takes a plan over, unless the tag makes it superfluous.
func (r *run) accept(ctx context.Context, in *commit.Intent) (commit.Event, int64) {
	kept := *in
	version, tableID := int64(0), ""
	kept.ReadVersion = -1
	if r.snap != nil {
		kept.ReadVersion, version, tableID = r.snap.Version(), r.snap.Version()+1, r.snap.Metadata().ID
	}
	switch {
	case kept.TableID != tableID:
		return r.fail(fmt.Errorf("plan of %s: made for the table %q, not for %q", in.Info.Operation, kept.TableID, tableID)), 0
	case r.txnID != "" && r.txnID != in.TxnID:
		return r.fail(fmt.Errorf("plan of %s: the transaction id changed from %s to %s", in.Info.Operation, r.txnID, in.TxnID)), 0
	}
	if err := kept.Validate(); err != nil {
		return r.fail(err), 0
	}
	if kept.Tag != nil && !kept.Rewind && r.snap != nil {
		if skip, err := r.skips(ctx, r.snap, *kept.Tag, kept.Reapply); err != nil {
			return r.fail(err), 0
		} else if skip {
			return commit.EventSkip, 0
		}
	}
	r.in, r.txnID = &kept, in.TxnID
	return commit.EventPlanned, version
}

// prove sees whether anything follows the snapshot: one get, and one list if the snapshot is so old
// that what followed it may have been cleaned away.
func (r *run) prove(ctx context.Context) commit.Event {
	began := r.e.Clock.Now()
	last := int64(-1)
	if r.snap != nil {
		last = r.snap.Version()
	}
	_, _, err := r.e.Log.ReadCommit(ctx, last+1)
	switch {
	case err == nil, errors.Is(err, delta.ErrCorrupt), errors.Is(err, delta.ErrUnsupported):
		return commit.EventBehind
	case !errors.Is(err, store.ErrNotExist):
		return r.fail(err)
	}
	if r.snap != nil && !r.e.Log.SeenWithin(last, logio.FreshFor) {
		tail, err := r.e.Log.Tail(ctx, last)
		if err != nil {
			return r.fail(err)
		}
		if tail.Last > last || !tail.Whole {
			return commit.EventBehind
		}
	}
	if same, err := r.same(ctx); err != nil {
		return r.fail(err)
	} else if !same {
		return commit.EventBehind
	}
	r.e.Log.Saw(r.snap, began)
	return commit.EventFresh
}

func (r *run) propose(ctx context.Context, step commit.Step) commit.Event {
	if r.began.IsZero() {
		r.began, r.planning = r.e.Clock.Now(), 0
	}
	if step.Again {
		if r.pause(ctx) != nil {
			return commit.EventUnsettled // read back once more: the context has ended
		}
	} else if event, ok := r.prepare(ctx, step.Version); !ok {
		r.asked = r.e.Clock.Now() // the time to read back runs from here: nothing was sent
		return event
	}
	r.attempts++
	putCtx, cancel := r.e.timeout(ctx, r.e.CommitBudget)
	defer cancel()
	began := r.e.Clock.Now()
	err := r.e.Store.PutIfAbsent(putCtx, delta.CommitKey(step.Version), r.data)
	r.asked = r.e.Clock.Now()
	switch {
	case err == nil:
		r.e.Log.Knows(step.Version, r.data)
		r.e.Log.Saw(r.next, began)
		return commit.EventCreated
	case errors.Is(err, store.ErrUnfit):
		r.err = fmt.Errorf("commit %d: %w", step.Version, err)
		return commit.EventRefused
	}
	r.cause, r.unread = err, nil
	return commit.EventUnsettled
}

// prepare makes the bytes for a version and replays them. ok is false if there is nothing to send.
func (r *run) prepare(ctx context.Context, version int64) (event commit.Event, ok bool) {
	if !r.e.Log.SeenWithin(version-1, logio.FreshFor) {
		tail, err := r.e.Log.Tail(ctx, version-1)
		if err != nil {
			return r.refuse(err), false
		}
		if tail.Last >= version || version > 0 && !tail.Whole {
			if err := r.outdated(ctx); err != nil {
				return r.refuse(err), false
			}
			return commit.EventBehind, false
		}
	}
	landing, err := r.landing(ctx, version)
	if same, unseen := r.same(ctx); unseen == nil && !same { // asked last: a drop after this is not told
		if err := r.outdated(ctx); err != nil {
			return r.refuse(err), false
		}
		return commit.EventBehind, false
	} else if err = cmp.Or(err, unseen); err != nil {
		return r.refuse(err), false
	}
	landing.Now = r.e.Clock.Now().UnixMilli()
	body, err := r.in.Body(landing)
	if err != nil {
		return r.refuse(err), false
	}
	if r.data, err = delta.EncodeCommit(body); err != nil {
		return r.refuse(err), false
	}
	if r.next, err = r.replay(version, body); err != nil {
		return r.refuse(fmt.Errorf("plan of %s: %w", r.in.Info.Operation, err)), false
	}
	return 0, true
}

// landing is what the bytes for a version depend on, but for the time. An error says that nothing may be sent.
func (r *run) landing(ctx context.Context, version int64) (commit.Landing, error) {
	landing := commit.Landing{Version: version, Table: r.snap}
	if err := r.vacuumed(ctx); err != nil {
		return landing, err
	}
	if r.in.Tag != nil && !r.in.Rewind {
		landing.Beside = r.tag.Beside // it was asked on this very table
	}
	var err error
	if r.in.NeedsAfter(r.snap) {
		landing.After, err = r.e.Log.CommitTime(ctx, r.snap)
	}
	return landing, err
}

// same says whether the log is the one that was read. One that was dropped and made anew meanwhile would take a commit
// for its own, or have a gap before it.
func (r *run) same(ctx context.Context) (bool, error) {
	if r.snap == nil {
		return true, nil
	}
	return r.e.Log.Same(ctx, r.snap)
}

func (r *run) refuse(err error) commit.Event {
	r.err = err
	return commit.EventRefused
}

// replay gives the snapshot that a commit makes, by the rules that readers apply.
func (r *run) replay(version int64, body []delta.Action) (*delta.Snapshot, error) {
	if r.snap == nil {
		replay := r.e.Log.NewReplay()
		if err := replay.Commit(version, body); err != nil {
			return nil, err
		}
		next, err := replay.Snapshot(version)
		if err != nil {
			return nil, err
		}
		return next, gateWrite(next)
	}
	next, err := r.snap.Advance(version, body)
	if err != nil {
		return nil, err
	}
	if next.Protocol() != r.snap.Protocol() || next.Metadata() != r.snap.Metadata() {
		return next, gateWrite(next)
	}
	return next, nil
}

func gateWrite(snap *delta.Snapshot) error {
	if snap == nil {
		return nil
	}
	return delta.GateWrite(snap.Protocol(), snap.Metadata(), snap.Schema())
}

// pause waits before the same bytes are proposed again. Losers of a race do not wait: the last
// winner is the favourite of the next round already.
func (r *run) pause(ctx context.Context) error {
	d := min(firstPause<<min(r.pauses, 10), longestPause)
	r.pauses++
	return r.e.Clock.Sleep(ctx, logio.Jitter(r.e.Rand, d))
}
