package sim

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
)

// mostSteps ends a history that does not end by itself.
const mostSteps = 50_000

// world is everything that writers share: the store, the time, the dice.
type world struct {
	plan    *scenario
	hooks   Hooks
	dice    *rand.Rand
	now     time.Time
	mem     *store.Mem
	shared  store.Store // mem, or what a hook made of it
	writers []*writer
	steps   int
	newest  int64 // the newest version in the store
	over    bool  // nobody goes on

	trace  []string
	calls  []*call
	faults map[string]int
	broken []string // rules broken while the history ran
}

func newWorld(seed uint64, hooks Hooks) *world {
	w := &world{
		hooks: hooks, dice: rand.New(rand.NewPCG(seed, 0x51)), now: tabletest.Epoch, newest: -1, faults: map[string]int{},
	}
	w.mem = store.NewMemClock(func() time.Time { return w.now })
	w.shared = w.mem
	if hooks.Store != nil {
		w.shared = hooks.Store(w.mem)
	}
	w.plan = newScenario(w.dice)
	return w
}

// log adds a line to the history.
func (w *world) log(who, format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%6d %9.3fs %-3s %s", w.steps, w.now.Sub(tabletest.Epoch).Seconds(), who, fmt.Sprintf(format, args...)))
}

// fail notes a rule that the history breaks.
func (w *world) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.broken = append(w.broken, text)
	w.log("!", "%s", text)
}

// look moves newest to the newest version in the store.
func (w *world) look() int64 {
	for w.has(w.newest + 1) {
		w.newest++
	}
	return w.newest
}

func (w *world) has(version int64) bool {
	_, err := w.mem.Head(context.Background(), delta.CommitKey(version))
	return err == nil
}

// chance is true with probability p.
func (w *world) chance(p float64) bool { return w.dice.Float64() < p }

// run lets the writers go on, one at a time, until all have ended.
func (w *world) run() {
	pick := w.plan.scheduler(w.dice, len(w.writers))
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
		wr := pick(w.steps, ready)
		if w.plan.jumps > 0 && w.chance(w.plan.jumps) {
			w.now = w.now.Add(15 * time.Minute)
			w.log("", "fifteen minutes pass")
			w.faults["time-jump"]++
		}
		if _, more := wr.resume(); !more {
			wr.ended = true
		}
	}
}

// ready are the writers that can go on now.
func (w *world) ready() []*writer {
	var out []*writer
	for _, wr := range w.writers {
		if !wr.ended && !wr.wake.After(w.now) {
			out = append(out, wr)
		}
	}
	return out
}

// wait moves the time on to when the next sleeper wakes; it is false if there is none.
func (w *world) wait() bool {
	var next *writer
	for _, wr := range w.writers {
		if !wr.ended && (next == nil || wr.wake.Before(next.wake)) {
			next = wr
		}
	}
	if next == nil {
		return false
	}
	w.now = next.wake
	return true
}

// landSome makes, now and then, late effects of one writer take place.
func (w *world) landSome() {
	for _, wr := range w.writers {
		if wr.late > 0 && w.chance(0.03) {
			w.land(wr)
		}
	}
}

func (w *world) land(wr *writer) {
	wr.late = 0
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
