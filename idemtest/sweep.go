package idemtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/trial"
)

// points are the operations that are disturbed, of those from 1 to n: all of them, or limit of them
// evenly spread from the first to the last.
func points(n, limit int) []int {
	if n <= limit {
		limit = n
	}
	out := make([]int, limit)
	for i := range out {
		out[i] = i + 1
		if n > limit {
			out[i] = 1 + i*(n-1)/max(limit-1, 1)
		}
	}
	return out
}

// sweep calls f for each operation that is to be disturbed.
func (p *proof) sweep(f func(i int, op storetest.Op) error) error {
	at := points(len(p.ops), p.o.maxPoints(len(p.ops)))
	for _, i := range at {
		if err := f(i, p.ops[i-1].Op); err != nil {
			return err
		}
	}
	if len(at) < len(p.ops) {
		p.note("%d of the %d store operations of the job were disturbed", len(at), len(p.ops))
	}
	return nil
}

// maxPoints is how many of n operations may be disturbed. Each costs a run of them all.
func (o Options) maxPoints(n int) int {
	const few, least = 200, 10
	if o.MaxPoints > 0 {
		return o.MaxPoints
	}
	return max(min(few, few*few/max(n, 1)), least)
}

// disturbance is what befalls one operation of one run.
type disturbance struct {
	at   int
	kind storetest.Kind
	away bool // the store is away afterwards, until the call has given up
	what string

	mu   sync.Mutex
	hit  *storetest.Call
	gone bool
}

func (d *disturbance) before(c storetest.Call) storetest.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.Index == d.at:
		d.hit, d.gone = &c, d.away
		return storetest.Fault{Kind: d.kind}
	case d.gone:
		return storetest.Fault{Kind: storetest.FailBefore}
	}
	return storetest.Fault{}
}

// told ends the absence of the store.
func (d *disturbance) told(trial.Call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = false
}

// where says what befell.
func (d *disturbance) where(p *proof) string {
	return fmt.Sprintf("operation %d of %d (%s) %s", d.at, len(p.ops), d.hit, d.what)
}

// faults implements Faults.
func (p *proof) faults(t testing.TB) error {
	return p.sweep(func(i int, op storetest.Op) error {
		tries := []*disturbance{
			{at: i, kind: storetest.FailBefore, what: "failed before it had an effect"},
			{at: i, kind: storetest.LostAnswer, what: "had its effect, and the answer was lost"},
		}
		if op == storetest.OpPutIfAbsent {
			tries = append(tries, &disturbance{at: i, kind: storetest.LostAnswer, away: true,
				what: "had its effect, the answer was lost, and the store was away until the call gave up (ErrUnknownOutcome)"})
		}
		for _, d := range tries {
			if d.kind.AppliesTo(op) {
				if err := p.faulted(t.Context(), d); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// faulted runs the job with one fault, holds it to what it says, and runs it again.
func (p *proof) faulted(ctx context.Context, d *disturbance) error {
	w := p.world(p.start)
	r, err := w.run(ctx, p.job, circumstances{before: d.before, told: d.told})
	if err != nil || d.hit == nil {
		return err
	}
	s, err := w.state(ctx, r)
	if err != nil {
		return err
	}
	if err := p.claims(r, s); err != nil {
		return fmt.Errorf("%s; %w", d.where(p), err)
	}
	if r.err == nil {
		if err := p.compare(ctx, notAsOnce.by(plan.Claimed), p.done, s); err != nil {
			return fmt.Errorf("%s; the job returned nil\n%w", d.where(p), err)
		}
	}
	return p.again(ctx, w, d.where(p)+"; "+r.ended(), r)
}

// count is how many calls said that they committed, and how many did not know.
func (r *run) count() (committed, unknown int64) {
	for _, c := range r.seen().Calls {
		if c.Outcome == idem.Committed.String() {
			committed++
		}
		if errors.Is(c.Err, idem.ErrUnknownOutcome) {
			unknown++
		}
	}
	return committed, unknown
}

// claims holds the calls of a run to what they said: what was committed is in the log, and where
// nothing was the table is as before.
func (p *proof) claims(r *run, s *state) error {
	const ours = ": this is a fault of idem, please report it"
	committed, unknown := r.count()
	if made := s.side.Snapshot.Version() - p.before.Version(); made < committed {
		return fmt.Errorf("%d calls said that they committed, and there are %d new versions%s", committed, made, ours)
	}
	if p.allTold && committed+unknown == 0 && !s.same(p.begun) {
		return fmt.Errorf("the calls said that nothing was committed, and the rows are %s and no longer %s%s", s, p.begun, ours)
	}
	return nil
}

// again runs the job once more, as a scheduler would, after what befell other runs of it.
func (p *proof) again(ctx context.Context, w *world, what string, earlier ...*run) error {
	r, err := w.run(ctx, p.job, circumstances{})
	if err != nil {
		return err
	}
	if r.err != nil {
		return fmt.Errorf("%s; run again, the job ended in: %w", what, r.err)
	}
	s, err := w.state(ctx, append(earlier, r)...)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, notAsOnce.by(plan.Rerun), p.done, s); err != nil {
		return fmt.Errorf("%s; it was run again\n%w", what, err)
	}
	return nil
}

// killed implements Killed.
func (p *proof) killed(t testing.TB) error {
	return p.sweep(func(i int, _ storetest.Op) error {
		w := p.world(p.start)
		d := disturbance{at: i, kind: storetest.CrashAfter, what: "was the last before the process died"}
		r, err := w.run(t.Context(), p.job, circumstances{before: d.before})
		if err != nil || d.hit == nil {
			return err
		}
		return p.again(t.Context(), w, d.where(p), r)
	})
}

// twoAtOnce implements TwoAtOnce.
func (p *proof) twoAtOnce(t testing.TB) error {
	return p.sweep(func(i int, _ storetest.Op) error { return p.crossed(t.Context(), i) })
}

// crossed stops a run before an operation while another goes from beginning to end. A run that ends
// in an error is run again.
func (p *proof) crossed(ctx context.Context, i int) error {
	w := p.world(p.start)
	var other *run
	var failed error
	d := disturbance{at: i, what: "waited while another run of the job went from beginning to end"}
	r, err := w.run(ctx, p.job, circumstances{before: func(c storetest.Call) storetest.Fault {
		d.before(c)
		if c.Index == i {
			other, failed = w.run(ctx, p.job, circumstances{})
		}
		return storetest.Fault{}
	}})
	if err == nil {
		err = failed
	}
	if err != nil || other == nil {
		return err
	}
	what := d.where(p)
	runs := []*run{r, other}
	if r.err != nil || other.err != nil {
		what = fmt.Sprintf("%s; the first run: %s; the second: %s; it was run again", what, r.ended(), other.ended())
		last, err := w.run(ctx, p.job, circumstances{})
		if err != nil {
			return err
		}
		if last.err != nil {
			return fmt.Errorf("%s, and ended in: %w", what, last.err)
		}
		runs = append(runs, last)
	}
	s, err := w.state(ctx, runs...)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, notAsOnce.by(plan.Crossed), p.done, s); err != nil {
		return fmt.Errorf("%s\n%w", what, err)
	}
	return nil
}
