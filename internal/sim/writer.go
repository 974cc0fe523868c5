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
	quiet  bool // nothing goes wrong, and nobody else goes on

	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	wake   time.Time
	ended  bool
	late   int       // effects that may be on their way
	cutOff time.Time // no operation gets through before

	table  *idem.Table // of this life
	call   *call       // under way
	cancel context.CancelFunc
	hit    storetest.Fault // of the operation under way
}

// crash is what a process dies of.
type crash struct{}

func (w *world) newWriter(name string, jobs []*job) *writer {
	wr := &writer{w: w, index: len(w.writers), name: name, jobs: jobs, wake: w.now}
	wr.faulty = storetest.NewFaulty(w.shared)
	wr.faulty.Before = wr.before
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
	wr.pause()
	for _, j := range wr.jobs {
		for runs := 1 + wr.w.dice.IntN(4); runs > 0 && !wr.w.over; runs-- {
			if wr.run(j) || !wr.w.repeatable(j) {
				break
			}
			wr.sleep(time.Duration(wr.w.dice.Int64N(int64(20 * time.Second))))
		}
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
	c := wr.beginCall(j)
	res, err := j.do(c.ctx, wr)
	wr.endCall(res, err, false)
	if j.kind == appendRows && errors.Is(err, idem.ErrUnknownOutcome) {
		return wr.resolve(c)
	}
	return c.finished()
}

// start starts a process: it opens the table, or makes it.
func (wr *writer) start() bool {
	wr.faulty.Restart()
	ctx := tabletest.Codec(context.Background())
	if wr.w.plan.race {
		c := wr.beginCall(wr.w.plan.create)
		t, res, err := idem.CreateStore(c.ctx, wr.view(), wr.w.plan.definition(), wr.options())
		wr.endCall(res, err, false)
		wr.table = t
		return err == nil
	}
	t, err := idem.OpenStore(ctx, wr.view(), wr.options())
	if err != nil {
		wr.w.log(wr.name, "cannot open the table: %v", err)
		return false
	}
	wr.table = t
	return true
}

func (wr *writer) options() idem.Options {
	seed := wr.w.dice.Uint64()
	o := tabletest.Options(seed, clock{wr})
	o.CommitBudget = wr.w.plan.budget
	if f := wr.w.hooks.Options; f != nil {
		f(&o)
	}
	return o
}

// resolve asks what became of an append whose outcome is unknown.
func (wr *writer) resolve(c *call) bool {
	ctx := tabletest.Codec(context.Background())
	r, err := wr.table.Resolve(ctx, c.err)
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

func (c clock) Now() time.Time { return c.wr.w.now }

func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok {
		d = max(0, min(d, at.Sub(c.wr.w.now)))
	}
	c.wr.sleep(d)
	return ctx.Err()
}

func (c clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return tabletest.WithDeadline(ctx, c.Now, c.Now().Add(d))
}
