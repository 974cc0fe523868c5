package idemtest

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/trial"
)

// copied is a store in memory that goes by the name of the store of which it is a copy: the log may
// hold absolute paths.
type copied struct {
	*store.Mem
	url string
}

func (c copied) URL() string { return c.url }

// copyOf copies every object with its time, which the log may be read by.
func (p *proof) copyOf(ctx context.Context, from store.Store) (*store.Mem, error) {
	to := store.NewMemClock(p.clock.Now)
	defer p.clock.set(p.clock.Now())
	for info, err := range from.List(ctx, "", "") {
		if err != nil {
			return nil, fmt.Errorf("copy the table: %w", err)
		}
		data, err := from.Get(ctx, info.Key, 0)
		if err != nil {
			return nil, fmt.Errorf("copy the table: %w", err)
		}
		p.clock.set(info.ModTime)
		if err := to.PutIfAbsent(ctx, info.Key, data); err != nil {
			return nil, fmt.Errorf("copy the table: %w", err)
		}
	}
	return to, nil
}

// world is a copy of the table in which the job is run under other circumstances.
type world struct {
	p   *proof
	st  store.Store
	log *logio.Log
	env *plan.Env
}

// world makes one, and sets the clock back.
func (p *proof) world(from *store.Mem) *world {
	p.clock.set(p.base)
	w := &world{p: p, st: copied{from.Clone(), p.table.Store().URL()}}
	w.log = logio.New(w.st, logio.Options{ReadOnly: true, Outside: p.opts.Outside, Clock: p.clock, Random: p.opts.Random})
	w.env = &plan.Env{
		Store: w.log.Store(), Stats: w.log, Allocator: memory.DefaultAllocator, MemoryBytes: p.opts.MemoryBytes,
		Parallelism: 1, TempDir: p.opts.TempDir, Now: p.clock.Now, Logger: p.opts.Logger,
	}
	return w
}

// circumstances are what one run has that others have not.
type circumstances struct {
	// before is called ahead of each store operation of the job, which are numbered from 1.
	before func(storetest.Call) storetest.Fault

	// told is called after each call on the table.
	told func(trial.Call)

	// order is the order in which rows come.
	order *order
}

// run is one run of the job.
type run struct {
	err error // what the job returned

	mu    sync.Mutex
	calls []trial.Call
	ops   []storetest.Call
	spans []plan.Span
}

// seen is the run as plan knows it.
func (r *run) seen() plan.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return plan.Run{Calls: slices.Clone(r.calls), Spans: r.spans}
}

// ended says in a line how the job ended.
func (r *run) ended() string {
	if r.err == nil {
		return "the job returned nil"
	}
	const most = 200
	line, _, _ := strings.Cut(r.err.Error(), "\n")
	text := []rune(line)
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return fmt.Sprintf("the job ended in %q", string(text))
}

// run runs the job on a table opened anew.
func (w *world) run(ctx context.Context, job idem.Job, c circumstances) (*run, error) {
	return w.p.run(ctx, w.st, w.p.opts, job, c)
}

// run runs a job on a table that is opened anew, as another process would. The error is not the
// job's.
func (p *proof) run(ctx context.Context, st store.Store, o idem.Options, job idem.Job, c circumstances) (*run, error) {
	p.runs++
	r := &run{}
	disturbed := storetest.NewFaulty(st)
	opened := false
	disturbed.Before = func(call storetest.Call) storetest.Fault {
		if !opened {
			return storetest.Fault{}
		}
		r.mu.Lock()
		r.ops = append(r.ops, call)
		r.mu.Unlock()
		if c.before == nil {
			return storetest.Fault{}
		}
		return c.before(call)
	}
	watch := &trial.Trial{}
	if c.order != nil {
		watch.Order = c.order.arrange
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch.Told = func(call trial.Call) {
		r.mu.Lock()
		r.calls = append(r.calls, call)
		r.mu.Unlock()
		if c.told != nil {
			c.told(call)
		}
		if disturbed.Crashed() {
			cancel() // nothing that it waits for will come
		}
	}
	table, err := idem.OpenStore(trial.With(ctx, watch), disturbed, o)
	if err != nil {
		return nil, err
	}
	ctx = trial.With(ctx, &trial.Trial{Order: watch.Order}) // for Source; a table that the job opens is not watched
	disturbed.Reset()
	opened = true
	from, began := time.Now(), o.Clock.Now()
	r.err = guarded(ctx, job, table)
	r.spans = []plan.Span{{From: from, To: time.Now()}, {From: began, To: o.Clock.Now()}}
	return r, nil
}

// guarded takes a panic for an error: to a scheduler it is one.
func guarded(ctx context.Context, job idem.Job, table *idem.Table) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return job(ctx, table)
}

// state is a table as runs left it.
type state struct {
	side   plan.Side
	rows   int64
	digest rows.Digest
}

// same says whether two tables hold the same rows.
func (s *state) same(other *state) bool { return s.rows == other.rows && s.digest == other.digest }

func (s *state) String() string {
	return fmt.Sprintf("rows=%d digest=%s:%s", s.rows, rows.DigestFormat, s.digest)
}

// state looks at the table.
func (w *world) state(ctx context.Context, runs ...*run) (*state, error) {
	snap, err := w.log.Load(ctx)
	if err != nil {
		return nil, err
	}
	s := &state{side: plan.Side{Env: w.env, Log: w.log, Snapshot: snap}}
	for _, r := range runs {
		s.side.Runs = append(s.side.Runs, r.seen())
	}
	if len(w.p.o.Ignore) > 0 {
		d := plan.Diff{Ignore: w.p.o.Ignore}
		s.rows, s.digest, err = d.Digest(ctx, s.side)
		return s, err
	}
	f := plan.Fingerprint{Env: w.env}
	print, err := f.Of(ctx, snap)
	if err != nil {
		return nil, err
	}
	s.rows, s.digest = print.Rows, print.Digest
	return s, nil
}
