package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/idemtable/idem/delta/store/storetest"
)

// before is the hook ahead of each operation: the others go on, time passes, and the dice say what
// goes wrong.
func (wr *writer) before(c storetest.Call) storetest.Fault {
	wr.trust = trouble{}
	if wr.quiet {
		return storetest.Fault{}
	}
	wr.pause()
	w := wr.w
	if w.over {
		return storetest.Fault{Kind: storetest.CrashBefore}
	}
	wr.at.op++
	dice := w.dice.at(wr.at)
	w.now = w.now.Add(time.Duration(1+dice.IntN(30)) * time.Millisecond)
	before := w.troubles
	var f storetest.Fault
	if w.cut.keepsPlace(wr.at) {
		wr.suffer(c, dice)
		wr.trust, f = wr.fate(c, dice)
	} else if w.now.Before(wr.cutOff) && c.Op != storetest.OpAbort {
		wr.trust, f = wr.cut, storetest.Fault{Kind: wr.cut.kind, Err: wr.cut.err}
	}
	if wr.trust.name != "" {
		w.hit(wr.trust, wr.call)
		wr.misled = wr.misled || wr.trust.wrong() || wr.trust.stale()
		if wr.trust.kind == storetest.LateEffect {
			wr.lateFrom = w.now
		}
		for _, c := range []*call{wr.call, wr.opening} {
			if c != nil {
				c.suffer(wr.trust)
			}
		}
	}
	if before != w.troubles {
		w.places = append(w.places, wr.at)
	}
	if wr.frozen > w.steps {
		wr.pause() // all dice have been thrown: others throw theirs
	}
	return f
}

// suffer is what befalls the process, whatever the operation: it sleeps while time passes, its clock
// steps, its context ends.
func (wr *writer) suffer(c storetest.Call, dice *rand.Rand) {
	w := wr.w
	p := w.plan.sleeps
	if isCommitPut(c) {
		p *= 5
	}
	if p > 0 && dice.Float64() < p {
		d := []time.Duration{15 * time.Minute, 3 * time.Hour, 26 * time.Hour, 8 * 24 * time.Hour}[dice.IntN(4)]
		t := timeGoes
		if dice.IntN(2) == 0 {
			t, wr.frozen = asleep, w.steps+10+dice.IntN(80)
		}
		w.landBy(w.now.Add(d))
		w.now = w.now.Add(d)
		w.hit(t, wr.call)
		w.log(wr.name, "%s: %s pass", t.name, d)
	}
	if w.plan.clocks && dice.IntN(50) == 0 {
		wr.skew = time.Duration(dice.Int64N(int64(2*most))) - most
		w.hit(stepped, wr.call)
		if wr.call != nil {
			wr.call.stepped = true // its deadlines are not what they were
		}
		w.log(wr.name, "the clock is off by %s", wr.skew)
	}
	if wr.call != nil && w.plan.cancels > 0 && dice.Float64() < w.plan.cancels {
		wr.cancel()
		wr.call.cancelled = true
		w.hit(cancelled, wr.call)
		w.log(wr.name, "the context ends")
	}
}

// fate says what goes wrong with an operation.
func (wr *writer) fate(c storetest.Call, dice *rand.Rand) (trouble, storetest.Fault) {
	w := wr.w
	if w.now.Before(wr.cutOff) && c.Op != storetest.OpAbort {
		return wr.cut, storetest.Fault{Kind: wr.cut.kind, Err: wr.cut.err}
	}
	if w.plan.outages > 0 && isCommitPut(c) && dice.Float64() < w.plan.outages {
		d, t, f := w.plan.outage(dice)
		wr.cutOff, wr.cut = w.now.Add(d), t
		w.log(wr.name, "%s for %s", t.name, d)
		t.kind = f.Kind
		return t, f
	}
	t, f := w.plan.fault(dice, c)
	if !w.tells(t, c) {
		return trouble{}, storetest.Fault{}
	}
	if t.id == "F13" {
		wr.pages.turn, wr.pages.directory = wr.pause, t.name == "directory"
	}
	return t, f
}

// tells says whether a trouble makes a difference to what is answered: nothing is missing from an empty list, and what is
// not there has no bytes to be wrong.
func (w *world) tells(t trouble, c storetest.Call) bool {
	least := 0
	switch t.kind {
	case storetest.TornRead, storetest.ShortRead, storetest.BitFlip, storetest.StaleMissing:
		info, err := w.shared.Head(context.Background(), c.Key)
		return err == nil && (info.Size > 0 || t.kind == storetest.StaleMissing)
	case storetest.StaleList, storetest.DuplicateList:
		least = 1
	}
	if t.id == "F13" {
		least = pageKeys
	}
	if least == 0 {
		return true
	}
	for range w.shared.List(context.Background(), c.Key, c.After) {
		if least--; least == 0 {
			return true
		}
	}
	return false
}
