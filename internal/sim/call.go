package sim

import (
	"context"
	"errors"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// call is one call of a verb and what the caller was told.
type call struct {
	n       int
	writer  string
	job     *job
	quiet   bool
	reapply bool
	ctx     context.Context
	began   time.Time
	over    time.Time // when it ended
	saw     int64     // the version that its process had seen when it began, -1 for none
	newest  int64     // the newest version when the call began
	last    int64     // and when it ended
	before  int       // how much had been deleted from the store when it began
	gone    int       // and when it ended

	txnIDs    []string                    // of its proposals, one for each commit
	proposed  map[string]map[int64][]byte // by id and version
	madeAt    map[int64]time.Time         // when it first proposed a version
	faults    int                         // that it suffered
	stale     bool                        // it was shown an older store
	wrong     bool                        // it was given wrong bytes
	misled    bool                        // its process was given one or the other, perhaps before it
	deleted   bool                        // files were deleted while its process lived
	cancelled bool
	spoilt    string  // how its spill files failed it; "" if they did not
	stepped   bool    // its writer's clock stepped
	stays     bool    // its process has opened a table that was dropped since
	table     *ledger // of the table that it began on, which was dropped meanwhile; nil if none was

	ended    bool
	crashed  bool // nobody was told anything
	res      *idem.Result
	err      error
	read     tabletest.Rows // by a scan
	resolved *idem.Resolution
}

func (wr *writer) beginCall(j *job) *call {
	w := wr.w
	ctx, cancel := context.WithCancel(w.context())
	c := &call{
		n: len(w.past) + len(w.calls), writer: wr.name, job: j, quiet: wr.quiet, stays: wr.stays, ctx: ctx, newest: w.look(), last: -1,
		proposed: map[string]map[int64][]byte{}, madeAt: map[int64]time.Time{}, reapply: j.reapply && w.wasRestored(j),
		began: w.now, saw: -1, before: len(w.truth.deleted),
	}
	if wr.table != nil {
		c.saw = wr.table.Version()
	}
	if !wr.quiet {
		if wr.stays {
			w.meet(dropped.id, c)
		}
		if wr.skew != 0 {
			w.hit(skewed, c)
		}
		for _, o := range w.calls {
			if o.job == j && o.writer != c.writer && !o.quiet {
				w.meet("F27", c)
				break
			}
		}
	}
	w.calls = append(w.calls, c)
	wr.call, wr.cancel = c, cancel
	wr.spills.fate = trouble{}
	if wr.tight && j.kind.does().holds {
		wr.squeeze(c)
	}
	w.log(wr.name, "call %d begins: job %d, %s", c.n, j.n, j.kind)
	return c
}

// wasRestored says whether somebody was told that a restore took a job's rows away.
func (w *world) wasRestored(j *job) bool {
	for _, c := range w.calls {
		if c.job == j && errors.Is(c.err, idem.ErrRestored) {
			return true
		}
	}
	return false
}

func (wr *writer) endCall(res *idem.Result, err error, crashed bool) {
	c, w := wr.call, wr.w
	if c == nil {
		return
	}
	wr.cancel()
	wr.call = nil
	c.ended, c.crashed, c.res, c.err, c.last = true, crashed, res, err, w.look()
	c.over, c.gone = w.now, len(w.truth.deleted)
	c.deleted, c.misled = c.gone > wr.born, wr.misled
	if c.table != nil {
		c.last = c.table.newest()
	}
	switch {
	case crashed:
		w.log(wr.name, "call %d ends in a crash", c.n)
	case err != nil:
		w.log(wr.name, "call %d ends: %v", c.n, err)
	default:
		w.log(wr.name, "call %d ends: %s", c.n, res)
	}
	w.disturb(wr, c)
	if n := len(wr.spills.files); n > 0 && !crashed {
		w.fail("call %d leaves spill files: %d with their directory", c.n, n)
	}
}

// disturb counts what a call was to the calls of others that are under way.
func (w *world) disturb(by *writer, c *call) {
	id := ""
	switch c.job.kind {
	case vacuum, checkpoint, cleanUpLog, compactLog:
		id = "F22"
	case optimize, alter, enable:
		id = "F23"
	case foreign:
		id = "F24"
	}
	if id == "" || c.err != nil || c.crashed || c.res.Outcome != idem.Committed {
		return
	}
	for _, wr := range w.writers {
		if wr != by {
			w.meet(id, wr.call)
		}
	}
}

// suffer notes a trouble.
func (c *call) suffer(t trouble) {
	c.faults++
	c.stale = c.stale || t.stale()
	c.wrong = c.wrong || t.wrong()
}

// finished says whether the caller has an answer that ends the job: it is done, or it cannot be done.
func (c *call) finished() bool {
	switch {
	case !c.ended || c.crashed:
		return false
	case c.err == nil, c.resolved != nil && c.resolved.Committed:
		return true
	}
	return c.refused()
}

// refused says whether the table says no, for good: the rows were taken back, the version to restore
// is gone, the tag stands lower.
func (c *call) refused() bool {
	if errors.Is(c.err, idem.ErrRestored) {
		return !c.job.reapply
	}
	switch c.job.kind {
	case restore, rewind, compactLog:
		return errors.Is(c.err, idem.ErrInput)
	case enable, foreign:
		return errors.Is(c.err, errNotMine) || errors.Is(c.err, idem.ErrInput)
	}
	return false
}

// unknown says whether the commit may be in the log, now or later, as far as the caller knows.
func (c *call) unknown() bool {
	return c.crashed || errors.Is(c.err, idem.ErrUnknownOutcome) && c.resolved == nil
}

// outcome is the claim in a word.
func (c *call) outcome() string {
	switch {
	case !c.ended:
		return "not ended"
	case c.crashed:
		return "crashed"
	case c.err == nil:
		return c.res.Outcome.String()
	}
	for _, k := range []struct {
		err  error
		text string
	}{
		{idem.ErrUnknownOutcome, "unknown outcome"}, {idem.ErrRestored, "restored"}, {idem.ErrConflict, "conflict"}, {idem.ErrInput, "input"},
		{idem.ErrCorrupt, "corrupt"}, {idem.ErrNotTable, "not a table"}, {context.Canceled, "canceled"}, {delta.ErrUnsupported, "unsupported"},
		{errNotMine, "unsupported"}, {errSpills, "spill error"}, {storetest.ErrInjected, "store error"}, {store.ErrExist, "store error"},
	} {
		if errors.Is(c.err, k.err) {
			return k.text
		}
	}
	return "other error"
}
