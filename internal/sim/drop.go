package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemtable/idem"
)

// atDrop is the place where it is decided whether the table is dropped.
var atDrop = place{-1, -1, -1, -1}

// dropStep draws the step from which on somebody drops the table and makes it anew, 0 for never.
func (w *world) dropStep() int {
	dice := w.dice.at(atDrop)
	if dice.IntN(24) != 0 || w.plan.race || w.plan.foreign || !w.cut.keepsPlace(atDrop) {
		return 0
	}
	return 4 + dice.IntN(60)
}

// droppable says whether somebody drops the table now. They wait until no commit is on its way, or may be, and until
// nobody tidies up: what is put or deleted by name alone, in the moment after the table was dropped, falls upon the new
// table, and no store can tell. They wait for who opens the table, too, who would read a bit of both.
func (w *world) droppable() bool {
	if w.drop == 0 || w.steps < w.drop {
		return false
	}
	for _, wr := range w.writers {
		c := wr.call
		if wr.faulty.Late() > 0 || wr.dead || wr.opening != nil || c != nil && (len(c.txnIDs) > 0 || c.job.kind.does().tidies) {
			return false
		}
	}
	for _, c := range w.calls {
		if c.job.kind == appendRows && c.ended && !c.crashed && c.unknown() {
			return false // somebody may ask what became of it
		}
	}
	return true
}

// dropTable drops the table and makes it anew at its place, with some commits. All jobs begin anew, as none of their
// work is in the new table; what was claimed of the old one is checked against its log.
func (w *world) dropTable() {
	w.check(w.ledger, "before the table is dropped")
	if len(w.broken) > 0 {
		return
	}
	w.drop = 0
	w.hit(dropped, nil)
	w.places = append(w.places, atDrop)
	w.past, w.calls = append(w.past, w.calls...), nil
	for _, wr := range w.writers {
		wr.stays, wr.born = wr.table != nil, 0
		if c := wr.call; c != nil {
			c.table, c.stale = w.ledger, true // what it saw is no more
			w.meet(dropped.id, c)
		}
	}
	w.truth.drop()
	w.newest = -1
	w.log("", "the table is dropped")
	for _, j := range w.plan.jobs {
		if j.kind == restore || j.kind == compactLog {
			j.to = -1
		}
		if j.kind == restore {
			j.over = !w.cut.keepsJob(j.n) || !w.given(j)
		}
	}
	w.makeAnew()
	w.ledger = newLedger(w)
}

// makeAnew makes the table that takes the place of the one that was dropped. It has fewer versions than that, as many,
// or more.
func (w *world) makeAnew() {
	wr := w.newWriter("new", nil)
	wr.quiet, wr.index = true, -2
	if !wr.create() {
		return
	}
	for n := range w.dice.at(atDrop).IntN(8) {
		j := w.plan.newJob(alter)
		j.what = fmt.Sprintf("sim.new=%d", n)
		if !wr.run(j) {
			w.fail("job %d (%s) does not end over a quiet store", j.n, j.kind)
		}
	}
}

// leaves ends a process whose table was dropped, once it was told: who runs the job again opens the table.
func (wr *writer) leaves(c *call) {
	if c.stays && errors.Is(c.err, idem.ErrConflict) {
		wr.table, wr.stays = nil, false
	}
}

// overtaken checks what the calls claimed that were under way when their table was dropped: nothing of theirs was
// on its way, so nothing of theirs is anywhere.
func (w *world) overtaken() {
	for _, c := range w.past {
		if c.table == nil {
			continue
		}
		if err := c.table.claim(c); err != nil {
			w.fail("call %d of %s (%s), whose table was dropped, claims %q: %v", c.n, c.writer, c.job.kind, c.outcome(), err)
		}
	}
}

// stayed says what is wrong with what a process was told that kept a table open which was dropped: it is told to
// open it again, or why it could not see.
func (l *ledger) stayed(c *call, landed []int64) error {
	switch {
	case len(landed) > 0:
		return fmt.Errorf("its table was dropped, and its work is in the log of the new one\nversion %d", landed[0])
	case !c.ended, c.crashed, errors.Is(c.err, idem.ErrConflict):
		return nil
	case c.err == nil:
		return fmt.Errorf("its table was dropped, and it answers as if it were there\n%s", c.res)
	}
	return l.excuse(c)
}

// drop takes everything away, as one who deletes the directory does.
func (t *truth) drop() {
	ctx := context.Background()
	for info := range t.Mem.List(ctx, "", "") {
		_ = t.Mem.Delete(ctx, info.Key) // a store in memory does not fail
	}
	fresh := newTruth(t.now)
	t.gone, t.landed, t.deleted = fresh.gone, fresh.landed, nil
}
