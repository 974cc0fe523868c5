package engine

import (
	"context"
	"errors"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// Resolve looks once more for a commit whose outcome was unknown.
//
// The commit is there: Committed. Another commit has its version: NotCommitted, and it never will
// be. Nothing is there: the same error again, since the proposal may still land; whoever cannot
// wait may put any commit at the version, and then owns the answer. The version was cleaned away:
// AlreadyApplied or Superseded if a tag is recorded, else the same error.
func (e *Engine) Resolve(ctx context.Context, u *UnknownError) (Outcome, error) {
	r := &run{e: e.filled()}
	out := Outcome{Version: u.Version, Attempts: u.Attempts, Recorded: -1}
	_, data, err := e.Log.ReadCommit(ctx, u.Version)
	switch {
	case data != nil && delta.TxnID(data) == u.TxnID:
		out.Kind = Committed
	case err == nil, data != nil && errors.Is(err, delta.ErrUnsupported):
		out.Kind = NotCommitted
	case !errors.Is(err, store.ErrNotExist):
		return out, errors.Join(u, err)
	}
	snap, err := e.Log.Load(ctx)
	if out.Kind != 0 {
		if err == nil {
			out.Snapshot = snap
		}
		if out.Kind == Committed && u.Tag != nil {
			out.Recorded = u.Tag.Version
		}
		return out, nil
	}
	if err != nil {
		return out, errors.Join(u, err)
	}
	out.Snapshot = snap
	cleaned := snap.Version() >= u.Version
	if !cleaned || u.Tag == nil || u.TableID != "" && snap.Metadata().ID != u.TableID {
		return out, u
	}
	found, err := r.skips(ctx, snap, *u.Tag, true)
	if err != nil {
		return out, errors.Join(u, err)
	}
	if !found {
		return out, u
	}
	return r.skipped(out)
}
