package sim

import (
	"context"
	"fmt"
	"iter"
	"path"
	"time"

	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/tabletest"
)

// mostSteps ends a history that does not end by itself.
const mostSteps = 50_000

// atThird is the place where it is decided whether a third writer joins two.
var atThird = place{-1, -1, -1, -2}

// atMakes is the place where it is decided whether the table makes columns itself.
var atMakes = place{-1, -1, -1, -3}

// Hit is a fault that a call of a verb met.
type Hit struct{ Fault, Verb string }

// world is everything that writers share: the store, the time, the dice.
type world struct {
	plan    *scenario
	hooks   Hooks
	cut     Cut
	dice    *dice
	now     time.Time
	truth   *truth
	shared  store.Store // the truth, or what a hook made of it
	writers []*writer
	steps   int
	newest  int64 // the newest version in the store
	over    bool  // nobody goes on
	drop    int   // the step from which on the table is dropped, 0 for never
	ledger  *ledger

	trace     []line
	calls     []*call
	past      []*call         // those that began before the table was dropped
	strangers map[int64]*call // versions that a foreign writer committed
	faults    map[string]int
	hits      map[Hit]int
	places    []place  // where something went wrong
	troubles  int      // that there were
	broken    []string // rules broken while the history ran
}

func newWorld(seed uint64, hooks Hooks, cut Cut) *world {
	w := &world{
		hooks: hooks, cut: cut, dice: newDice(seed, cut.salt), now: tabletest.Epoch, newest: -1,
		strangers: map[int64]*call{}, faults: map[string]int{}, hits: map[Hit]int{},
	}
	w.plan = newScenario(w.dice.plan, hooks)
	if w.plan.writers == 2 && w.dice.at(atThird).IntN(16) == 0 {
		w.plan.writers = 3
	}
	w.plan.makes = !w.plan.foreign && !hooks.bare() && w.dice.at(atMakes).IntN(8) == 0
	w.build()
	w.drop = w.dropStep()
	return w
}

// build makes an empty store.
func (w *world) build() {
	w.truth = newTruth(func() time.Time { return w.now })
	w.shared = w.truth
	if w.hooks.Store != nil {
		w.shared = w.hooks.Store(w.truth)
	}
	w.newest = -1
}

// context carries the codec of the history.
func (w *world) context() context.Context {
	if w.plan.parquet {
		return context.Background()
	}
	return parquetio.WithCodec(context.Background(), Codec())
}

// line is one of a history: text, or an operation of the store, of which there are many and which become text
// only when somebody reads them.
type line struct {
	step                   int
	at                     time.Time
	who                    string
	text                   string
	op, key, answer, fault string
}

func (l line) String() string {
	text := l.text
	if l.op != "" {
		text = l.op + " " + path.Base(l.key) + " -> " + l.answer
		if l.fault != "" {
			text += " (" + l.fault + ")"
		}
	}
	return fmt.Sprintf("%6d %9.3fs %-3s %s", l.step, l.at.Sub(tabletest.Epoch).Seconds(), l.who, text)
}

// log adds a line to the history.
func (w *world) log(who, format string, args ...any) {
	w.trace = append(w.trace, line{step: w.steps, at: w.now, who: who, text: fmt.Sprintf(format, args...)})
}

// logOp adds an operation of the store to the history.
func (w *world) logOp(who, op, key, answer, fault string) {
	w.trace = append(w.trace, line{step: w.steps, at: w.now, who: who, op: op, key: key, answer: answer, fault: fault})
}

// fail notes a rule that the history breaks.
func (w *world) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.broken = append(w.broken, text)
	w.log("!", "%s", text)
}

// hit counts a trouble, and the fault that it is of for the verb that meets it.
func (w *world) hit(t trouble, c *call) {
	w.faults[t.name]++
	w.troubles++
	w.meet(t.id, c)
}

func (w *world) meet(id string, c *call) {
	if c != nil {
		w.hits[Hit{id, c.job.kind.String()}]++
	}
}

// look moves newest to the newest version in the store.
func (w *world) look() int64 {
	for w.has(w.newest + 1) {
		w.newest++
	}
	return w.newest
}

func (w *world) has(version int64) bool {
	_, ok := w.truth.landed[version]
	return ok
}

// run lets the writers go on, one at a time, until all have ended.
func (w *world) run() {
	pick := w.plan.scheduler(w.dice.turns, w.plan.writers, w.cut)
	for _, wr := range w.writers {
		wr.resume, wr.stop = iter.Pull(wr.life)
	}
	for {
		ready := w.ready()
		if len(ready) == 0 && !w.wait() {
			return
		}
		if len(ready) == 0 {
			continue
		}
		if w.steps++; w.steps > mostSteps {
			w.fail("no end after %d steps", mostSteps)
			w.end()
			return
		}
		w.landSome()
		if w.droppable() {
			w.dropTable()
		}
		wr := pick(w.steps, ready)
		if _, more := wr.resume(); !more {
			wr.ended = true
		}
	}
}

// ready are the writers that can go on now.
func (w *world) ready() []*writer {
	var out []*writer
	for _, wr := range w.writers {
		if !wr.ended && !wr.wake.After(w.now) && wr.frozen <= w.steps {
			out = append(out, wr)
		}
	}
	return out
}

// wait moves the time on to when the next sleeper wakes; it is false if there is none.
func (w *world) wait() bool {
	var next *writer
	for _, wr := range w.writers {
		switch {
		case wr.ended:
		case next == nil, next.frozen > w.steps && wr.frozen <= w.steps, wr.frozen <= w.steps && wr.wake.Before(next.wake):
			next = wr
		}
	}
	if next == nil {
		return false
	}
	next.frozen = 0
	if next.wake.After(w.now) {
		w.now = next.wake
	}
	return true
}

// landSome makes, now and then, late effects of one writer take place.
func (w *world) landSome() {
	for _, wr := range w.writers {
		if wr.faulty.Late() > 0 && w.dice.turns.IntN(32) == 0 {
			w.land(wr)
		}
	}
}

// landBy makes land what would else be on its way for longer than a request can be, when it is t.
func (w *world) landBy(t time.Time) {
	for _, wr := range w.writers {
		if wr.faulty.Late() > 0 && t.Sub(wr.lateFrom) > longestWay {
			w.land(wr)
		}
	}
}

// longestWay is how long an effect may be on its way: no connection lasts longer, and for as long no clean-up of a log
// takes a commit.
const longestWay = 30 * time.Minute

func (w *world) land(wr *writer) {
	if n := wr.faulty.Land(context.Background()); n > 0 {
		w.log(wr.name, "%d late effects land", n)
	}
}

// drain makes everything land that is still on its way.
func (w *world) drain() {
	for _, wr := range w.writers {
		w.land(wr)
	}
}

// end stops every writer where it is.
func (w *world) end() {
	w.over = true
	for _, wr := range w.writers {
		wr.stop()
	}
}
