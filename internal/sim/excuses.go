package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// excuse says whether an error, or an unknown outcome, has its reason in what the call suffered and in what
// others did meanwhile.
func (l *ledger) excuse(c *call) error {
	switch {
	case !c.ended || c.crashed:
		return nil
	case errors.Is(c.err, idem.ErrConflict):
		return l.conflict(c)
	case errors.Is(c.err, errNotMine):
		return l.strange(c)
	case errors.Is(c.err, idem.ErrInput):
		return l.input(c)
	case !c.explains():
		return fmt.Errorf("nothing that it suffered explains the error %w", c.err)
	}
	return nil
}

// explains says whether what a call suffered explains its error. An older store lacks files, commits, or the
// whole table; wrong bytes and files that were deleted make a log look damaged. Neither ends a context, and neither
// makes rows that fit the table unfit for it.
func (c *call) explains() bool {
	switch {
	case errors.Is(c.err, idem.ErrUnknownOutcome):
		return len(c.txnIDs) > 0 && (c.faults > 0 || c.cancelled || c.outlasts(leastDeadline))
	case errors.Is(c.err, errSpills):
		return c.spoilt != "" && errors.Is(c.err, idem.ErrInterrupted)
	case errors.Is(c.err, context.Canceled):
		return c.cancelled
	case errors.Is(c.err, idem.ErrCorrupt):
		return c.wrong || c.deleted || c.stale
	case errors.Is(c.err, idem.ErrNotTable):
		return c.stale
	case errors.Is(c.err, idem.ErrPayload), errors.Is(c.err, idem.ErrRestored), errors.Is(c.err, idem.ErrUnsupported):
		return false
	case errors.Is(c.err, storetest.ErrInjected), errors.Is(c.err, fs.ErrPermission), errors.Is(c.err, store.ErrExist): // the upload of a data file was sent twice
		return c.faults > 0 || errors.Is(c.err, context.DeadlineExceeded) && c.outlasts(leastDeadline)
	case errors.Is(c.err, context.DeadlineExceeded):
		return c.outlasts(leastDeadline)
	case errors.Is(c.err, store.ErrNotExist):
		return c.deleted || c.stale
	case errors.Is(c.err, idem.ErrInterrupted): // the store contradicts itself, or a spill file has lost its end
		return c.stale || c.wrong || c.spoilt == spillCut.name
	}
	return false
}

// leastDeadline is the shortest time that idem gives the store: to read back.
const leastDeadline = 10 * time.Second

// outlasts says whether a call took so long by its writer's clock, as far as one that stepped can tell.
func (c *call) outlasts(d time.Duration) bool { return c.stepped || c.over.Sub(c.began) >= d }

// input says whether a request is one that the table refuses.
func (l *ledger) input(c *call) error {
	switch j := c.job; j.kind {
	case rewind:
		return l.sometime(c, "the tag stood lower", func(s *state) bool { return s.Recorded(j.app) < j.to })
	case restore:
		if c.stale || c.gone > 0 || c.newest < j.to {
			return nil
		}
	case compactLog:
		if c.stale || c.gone > 0 || c.newest < j.to+int64(j.back) {
			return nil
		}
	case scanRows: // of the version that it saw, which was cleaned away before it read it
		if c.stale || c.deleted && c.last > c.newest {
			return nil
		}
	}
	return fmt.Errorf("the request is one that the table takes: %w", c.err)
}

// strange says whether a foreign writer met a table that it does not know.
func (l *ledger) strange(c *call) error {
	for v := max(c.newest, 0); v <= min(c.last, l.newest()); v++ {
		if c.job.kind == foreign && !knows(l.snaps[v]) {
			return nil
		}
	}
	return fmt.Errorf("the table has no feature that it lacks\nfrom version %d to %d", c.newest, c.last)
}

// A conflict is something that others did, or may have done, between the version that a call began with and
// its end, for which the contract lets it end as one.
type conflict func(l *ledger, c *call) bool

// conflicts are those of each verb. Another table in the place of its own is one for all. That others
// added rows, replaced other slices or rewrote files is none by itself: what rests on them is redone while there is
// time, and a blind append rests on nothing.
var conflicts = map[kind][]conflict{
	createTable:    {outrun},
	appendRows:     {outrun, redefined(true), overdue},
	appendTxn:      {outrun, redefined(true), overdue},
	replaceSlice:   {outrun, redefined(false), overdue, unreadable},
	replaceTable:   {outrun, redefined(false), overdue, unreadable},
	mergeRows:      {outrun, redefined(false), overdue, unreadable},
	deleteSlice:    {outrun, redefined(false), overdue, unreadable},
	updateSlice:    {outrun, redefined(false), overdue, unreadable},
	overwriteParts: {outrun, redefined(false), overdue, unreadable},
	optimize:       {outrun, overdue, unreadable},
	restore:        {outrun, overdue, unreadable, vacuumed, cleaned},
	rewind:         {outrun, tagMoved},
	alter:          {outrun},
	enable:         {outrun, overdue},
	vacuum:         {outrun},
}

func (l *ledger) conflict(c *call) error {
	if c.table != nil {
		return nil // its table was dropped
	}
	for _, is := range conflicts[c.job.kind] {
		if is(l, c) {
			return nil
		}
	}
	return fmt.Errorf("nothing that others did from version %d on explains the conflict: %w", c.saw, c.err)
}

// others says whether a version came after the one that a call began with.
func (c *call) others() bool { return c.last > c.saw }

// outrun: others were first until the time for a commit was over, or seemed to be to a process that was shown another
// store than there is: what it remembers of the log may be wrong.
func outrun(l *ledger, c *call) bool {
	budget := l.w.plan.budget
	if budget == 0 {
		budget = 2 * time.Minute
	}
	return c.outlasts(budget) && (c.others() || c.misled)
}

// redefined: rows that were written do not go with the definition any more. Those of a call that only adds stand more.
func redefined(adds bool) conflict {
	return func(l *ledger, c *call) bool {
		for v := max(c.saw, 0) + 1; v <= min(c.last, l.newest()); v++ {
			if l.voids(v, adds) {
				return true
			}
		}
		return false
	}
}

// Properties, or how their names begin, that rows which were written before stand.
var (
	anyValue = []string{"delta.checkpointPolicy", "delta.columnMapping.maxColumnId"}
	fromThen = []string{"delta.enableDeletionVectors", "delta.enableInCommitTimestamps", "delta.inCommitTimestamp"} // set, or taken back if rows are only added
	whenSet  = []string{"delta.enableRowTracking", "delta.rowTracking."}                                            // if rows are only added: they get ids where they land
)

// voids says whether a version has a definition that rows written for the one before it may not go with: a column is
// gone, or a property changed that binds them. A new column that may be NULL is none.
func (l *ledger) voids(v int64, adds bool) bool {
	was, is := l.snaps[v-1].Metadata().Configuration, l.snaps[v].Metadata().Configuration
	for _, config := range []map[string]string{was, is} {
		for key := range config {
			begins := func(name string) bool { return strings.HasPrefix(key, name) }
			set := was[key] == "" || was[key] == "false"
			switch {
			case was[key] == is[key], !begins("delta."), slices.ContainsFunc(anyValue, begins):
			case slices.ContainsFunc(fromThen, begins) && (set || adds), slices.ContainsFunc(whenSet, begins) && set && adds:
			default:
				return true
			}
		}
	}
	return slices.ContainsFunc(l.states[v-1].columns, func(name string) bool { return l.snaps[v].Schema().Index(name) < 0 })
}

// overdue: the call was under way for so long that a vacuum may have taken what it wrote.
func overdue(l *ledger, c *call) bool {
	if !c.outlasts(l.w.plan.fileAge - l.w.plan.fileAge/8) {
		return false
	}
	for v := max(c.saw, 0) + 1; v <= min(c.last, l.newest()); v++ {
		if l.by[v].job.kind == vacuum {
			return true
		}
	}
	return c.deleted || c.stale
}

// unreadable: a file of a version that was overtaken could not be read.
func unreadable(_ *ledger, c *call) bool { return c.others() && (c.wrong || c.deleted || c.stale) }

// cleaned: a commit between the version that is restored and the newest was not found.
func cleaned(_ *ledger, c *call) bool { return c.deleted || c.stale }

// vacuumed: a vacuum had begun that had not said that it ended.
func vacuumed(l *ledger, c *call) bool {
	for v := int64(0); v <= min(c.last, l.newest()); v++ {
		if by := l.by[v]; by.job.kind == vacuum && l.landed(by)[0] == v && (len(l.landed(by)) == 1 || l.landed(by)[1] > c.saw) {
			return true
		}
	}
	return false
}

// tagMoved: a commit has a record of the tag.
func tagMoved(l *ledger, c *call) bool {
	for v := max(c.saw, 0) + 1; v <= min(c.last, l.newest()); v++ {
		actions, err := delta.DecodeCommit(delta.CommitKey(v), l.bytes[v])
		if err != nil {
			return false
		}
		for _, a := range actions {
			if a.Txn != nil && a.Txn.AppID == c.job.app {
				return true
			}
		}
	}
	return false
}
