package sim

import (
	"context"
	"errors"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// call is one call of a verb and what the caller was told.
type call struct {
	n      int
	writer string
	job    *job
	quiet  bool
	ctx    context.Context
	newest int64 // the newest version when the call began

	txnID     string           // of its proposals
	proposed  map[int64][]byte // by version
	faults    int              // that it suffered
	stale     bool             // it was shown an older store
	cancelled bool

	ended    bool
	crashed  bool // nobody was told anything
	res      *idem.Result
	err      error
	resolved *idem.Resolution
}

func (wr *writer) beginCall(j *job) *call {
	w := wr.w
	ctx, cancel := context.WithCancel(tabletest.Codec(context.Background()))
	c := &call{n: len(w.calls), writer: wr.name, job: j, quiet: wr.quiet, ctx: ctx, newest: w.look(), proposed: map[int64][]byte{}}
	w.calls = append(w.calls, c)
	wr.call, wr.cancel = c, cancel
	w.log(wr.name, "call %d begins: job %d, %s", c.n, j.n, j.kind)
	return c
}

func (wr *writer) endCall(res *idem.Result, err error, crashed bool) {
	c := wr.call
	if c == nil {
		return
	}
	wr.cancel()
	wr.call = nil
	c.ended, c.crashed, c.res, c.err = true, crashed, res, err
	switch {
	case crashed:
		wr.w.log(wr.name, "call %d ends in a crash", c.n)
	case err != nil:
		wr.w.log(wr.name, "call %d ends: %v", c.n, err)
	default:
		wr.w.log(wr.name, "call %d ends: %s", c.n, res)
	}
}

// suffer notes a fault.
func (c *call) suffer(k storetest.Kind) {
	c.faults++
	c.stale = c.stale || k == storetest.StaleList || k == storetest.StaleMissing
}

// finished says whether the caller knows that the job is done.
func (c *call) finished() bool {
	return c.ended && !c.crashed && (c.err == nil || c.resolved != nil && c.resolved.Committed)
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
		{idem.ErrUnknownOutcome, "unknown outcome"}, {idem.ErrConflict, "conflict"}, {idem.ErrInput, "input"},
		{idem.ErrCorrupt, "corrupt"}, {idem.ErrNotTable, "not a table"}, {context.Canceled, "canceled"},
		{storetest.ErrInjected, "store error"}, {store.ErrExist, "store error"},
	} {
		if errors.Is(c.err, k.err) {
			return k.text
		}
	}
	return "other error"
}
