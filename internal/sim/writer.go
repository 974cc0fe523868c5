package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// writer is one process that runs jobs, and the orchestrator that starts it again.
type writer struct {
	w      *world
	index  int
	name   string
	jobs   []*job
	faulty *storetest.Faulty
	pages  *pager
	quiet  bool // nothing goes wrong, and nobody else goes on

	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	wake     time.Time
	frozen   int // the step before which it does not go on
	ended    bool
	dead     bool          // its process, which has not noticed yet
	opening  *call         // what its process suffers while it reads the log to open the table
	stays    bool          // its process has opened a table that was dropped since
	misled   bool          // its process was shown an older store, or wrong bytes
	lateFrom time.Time     // when an effect that comes late was last called for
	cutOff   time.Time     // no operation gets through before
	cut      trouble       // why
	skew     time.Duration // of its clock

	at     place
	lives  uint64
	table  *idem.Table // of this life
	spills *spills     // of this life
	tight  bool        // its process has little memory for rows
	born   int         // how much had been deleted from the store when the life began
	call   *call       // under way
	cancel context.CancelFunc
	trust  trouble // of the operation under way
}

// crash is what a process dies of.
type crash struct{}

func (w *world) newWriter(name string, jobs []*job) *writer {
	wr := &writer{w: w, index: len(w.writers), name: name, jobs: jobs, wake: w.now, pages: &pager{Store: w.shared}}
	wr.faulty = storetest.NewFaulty(wr.pages)
	wr.faulty.Before = wr.before
	wr.spills = newSpills(wr)
	return wr
}

// life is the coroutine: each job until it ends or the orchestrator gives up.
func (wr *writer) life(yield func(struct{}) bool) {
	wr.yield = yield
	defer func() {
		if p := recover(); p != nil && !wr.w.over {
			wr.w.fail("%s panics: %v\n%s", wr.name, p, debug.Stack())
		}
	}()
	if wr.w.plan.clocks {
		wr.skew = time.Duration(wr.w.dice.at(place{wr.index, -1, 0, 0}).Int64N(int64(2*most))) - most
	}
	wr.pause()
	for _, j := range wr.jobs {
		dice := wr.w.dice.at(place{wr.index, j.n, -1, 0})
		runs, wait := 1+dice.IntN(4), time.Duration(dice.Int64N(int64(20*time.Second)))
		for run := range runs {
			wr.at = place{wr.index, j.n, run, 0}
			if wr.w.over || wr.run(j) || !wr.w.repeatable(j) {
				break
			}
			wr.sleep(wait * time.Duration(run+1))
		}
	}
}

// die ends the process. What reads Parquet recovers from panics and turns them into errors, so that
// there the process dies a little later; nothing of it gets through any more.
func (wr *writer) die() {
	if wr.dead = true; !wr.w.plan.parquet || wr.call == nil {
		panic(crash{})
	}
}

// pause lets the others go on.
func (wr *writer) pause() {
	if wr.quiet || wr.w.over {
		return
	}
	if !wr.yield(struct{}{}) {
		panic(crash{})
	}
}

// sleep lets the others go on for a time.
func (wr *writer) sleep(d time.Duration) {
	if wr.dead {
		panic(crash{})
	}
	wr.wake = wr.w.now.Add(d)
	if wr.quiet {
		wr.w.now = wr.wake
		return
	}
	wr.pause()
}

// run runs a job once, in the process at hand or in a new one, and tells whether it ended.
func (wr *writer) run(j *job) (done bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case crash{}:
			if wr.w.over {
				panic(p)
			}
			wr.dead = false
			wr.w.log(wr.name, "dies")
			wr.endCall(nil, nil, true)
			wr.table = nil
		default:
			panic(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	if wr.table == nil && !wr.start() {
		return false
	}
	if j.choose(wr.w); j.over {
		return true
	}
	c := wr.beginCall(j)
	res, err := j.do(c.ctx, wr)
	if wr.dead {
		panic(crash{})
	}
	wr.endCall(res, err, false)
	wr.leaves(c)
	if j.kind == appendRows && errors.Is(err, idem.ErrUnknownOutcome) {
		return wr.resolve(c)
	}
	return c.finished()
}

// start starts a process: it opens the table, or makes it.
func (wr *writer) start() bool {
	wr.faulty.Restart()
	wr.stays, wr.misled = false, false
	wr.opening = &call{ended: true, began: wr.w.now}
	wr.spills = newSpills(wr) // what a process leaves that dies is left to the system
	defer func() { wr.opening = nil }()
	wr.born = len(wr.w.truth.deleted)
	if wr.w.plan.race {
		c := wr.beginCall(wr.w.plan.create)
		t, res, err := idem.CreateStore(c.ctx, wr.view(), wr.w.plan.definition(), wr.options())
		if wr.dead {
			panic(crash{})
		}
		wr.endCall(res, err, false)
		if wr.takes(t); err == nil || !errors.Is(err, idem.ErrConflict) {
			return err == nil
		}
	} // a table of another definition, which somebody changed since, is opened
	t, err := idem.OpenStore(wr.w.context(), wr.view(), wr.options())
	if err != nil {
		wr.w.log(wr.name, "cannot open the table: %v", err)
		c := wr.opening
		c.err, c.over, c.deleted = err, wr.w.now, len(wr.w.truth.deleted) > wr.born
		if !wr.dead && !c.explains() {
			wr.w.fail("%s cannot open the table, and nothing that it suffered explains it: %v", wr.name, err)
		}
		return false
	}
	wr.takes(t)
	return true
}

func (wr *writer) options() idem.Options {
	wr.lives++
	o := tabletest.Options(wr.w.dice.seed<<20^uint64(wr.index+1)<<10^wr.lives, clock{wr})
	o.CommitBudget, o.MemoryBytes = wr.w.plan.budget, wr.budget()
	wr.tight = o.MemoryBytes > 0
	if f := wr.w.hooks.Options; f != nil {
		f(&o)
	}
	return o
}

// resolve asks what became of an append whose outcome is unknown.
func (wr *writer) resolve(c *call) bool {
	r, err := wr.table.Resolve(wr.w.context(), c.err)
	if err != nil {
		wr.w.log(wr.name, "call %d: resolve: %v", c.n, err)
		return false
	}
	c.resolved = r
	wr.w.log(wr.name, "call %d: resolve: committed=%t version=%d", c.n, r.Committed, r.Version)
	return r.Committed
}

// clock is the world's clock as one writer sees it.
type clock struct{ wr *writer }

func (c clock) Now() time.Time { return c.wr.w.now.Add(c.wr.skew) }

func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok {
		d = max(0, min(d, at.Sub(c.Now())))
	}
	c.wr.sleep(d)
	return ctx.Err()
}

func (c clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return tabletest.WithDeadline(ctx, c.Now, c.Now().Add(d))
}
