package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// check holds the log against the model and every claim against the log.
func (w *world) check(l *ledger, when string) {
	if err := l.extend(); err != nil {
		w.fail("%s: the log: %v", when, err)
		return
	}
	if err := l.filesExist(); err != nil {
		w.fail("%s: %v", when, err)
	}
	for _, c := range w.calls {
		if err := l.claim(c); err != nil {
			w.fail("%s: call %d of %s (%s) claims %q: %v", when, c.n, c.writer, c.job.kind, c.outcome(), err)
		}
	}
}

// claim says what is wrong with what a caller was told.
func (l *ledger) claim(c *call) error {
	at, landed := l.byTxn[c.txnID]
	landed = landed && c.txnID != ""
	switch {
	case !c.ended || c.unknown():
		return l.excuse(c)
	case c.resolved != nil:
		return l.resolution(c, at, landed)
	case c.err != nil && landed:
		return fmt.Errorf("its work is version %d", at)
	case c.err != nil:
		return l.excuse(c)
	case c.res.Outcome == idem.Committed:
		return l.committed(c, at, landed)
	case landed && !(c.stale && c.res.Outcome == idem.AlreadyApplied): // true all the same, if its own commit looked cleaned away
		return fmt.Errorf("its own work is version %d", at)
	}
	return l.skipped(c)
}

func (l *ledger) committed(c *call, at int64, landed bool) error {
	switch {
	case !landed:
		return fmt.Errorf("version %d is not its work, nor is any other", c.res.Version)
	case at != c.res.Version:
		return fmt.Errorf("version %d, and its work is version %d", c.res.Version, at)
	case at <= c.newest:
		return fmt.Errorf("version %d, and version %d was there when it began", at, c.newest)
	}
	return nil
}

func (l *ledger) resolution(c *call, at int64, landed bool) error {
	if c.resolved.Committed != landed || landed && c.resolved.Version != at {
		return fmt.Errorf("resolved to committed=%t version=%d; landed=%t version=%d", c.resolved.Committed, c.resolved.Version, landed, at)
	}
	return nil
}

// skipped checks the answers of calls that had nothing to do, at the version that they name.
func (l *ledger) skipped(c *call) error {
	v := c.res.Version
	switch {
	case v < 0 || v > l.newest():
		return fmt.Errorf("version %d does not exist", v)
	case v < c.newest && !c.stale:
		return fmt.Errorf("it looked at version %d, and version %d was there when it began", v, c.newest)
	}
	m := l.models[v]
	recorded := m.Recorded(c.job.tag.AppID)
	switch c.res.Outcome {
	case idem.AlreadyApplied:
		if c.job.tag.AppID == "" || recorded != c.job.tag.Version {
			return fmt.Errorf("version %d records %d for %s@%d", v, recorded, c.job.tag.AppID, c.job.tag.Version)
		}
		return nil
	case idem.Superseded:
		if c.job.tag.AppID == "" || recorded <= c.job.tag.Version {
			return fmt.Errorf("version %d records %d for %s@%d", v, recorded, c.job.tag.AppID, c.job.tag.Version)
		}
		return nil
	case idem.Unchanged:
		after := m.Clone()
		c.job.apply(after)
		if c.job.tag.AppID != "" || !maps.Equal(m.Rows, after.Rows) {
			return fmt.Errorf("at version %d it has work to do:\n%s", v, m.Rows.Diff(after.Rows))
		}
		return nil
	}
	return errors.New("there is no such outcome")
}

// excuse says whether an error, or an unknown outcome, has its reason in what the call suffered.
func (l *ledger) excuse(c *call) error {
	switch {
	case !c.ended || c.crashed, c.stale:
		return nil
	case errors.Is(c.err, idem.ErrUnknownOutcome), errors.Is(c.err, context.DeadlineExceeded):
		if c.faults > 0 || c.cancelled || l.w.plan.jumps > 0 {
			return nil
		}
	case errors.Is(c.err, idem.ErrConflict):
		return nil
	case errors.Is(c.err, context.Canceled):
		if c.cancelled {
			return nil
		}
	case errors.Is(c.err, storetest.ErrInjected), errors.Is(c.err, store.ErrExist): // the upload of a data file was sent twice
		if c.faults > 0 {
			return nil
		}
	}
	return fmt.Errorf("nothing that it suffered explains the error %w", c.err)
}
