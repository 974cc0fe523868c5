package idemtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemtable/idem/internal/plan"
)

var changedByTheSecond = finding{how: plan.Again, what: "the second run changed the table", titles: [2]string{"after run 1", "after run 2"}}

// twice implements Twice.
func (p *proof) twice(t testing.TB) error {
	ctx := t.Context()
	again := p.world(p.after)
	first, err := again.state(ctx)
	if err != nil {
		return err
	}
	first.side.Runs = p.done.side.Runs
	second, err := again.ran(ctx, circumstances{})
	if err != nil {
		return fmt.Errorf("run 2 of the job: %w", err)
	}
	if err := p.compare(ctx, changedByTheSecond, first, second); err != nil {
		return err
	}
	if second.side.Snapshot.Version() > first.side.Snapshot.Version() {
		p.note("the second run made %d versions although no row changed", second.side.Snapshot.Version()-first.side.Snapshot.Version())
	}
	return p.afresh(ctx)
}

// afresh runs the job on the table as it was.
func (p *proof) afresh(ctx context.Context) error {
	w := p.world(p.start)
	r, err := w.run(ctx, p.job, circumstances{})
	if err != nil {
		return err
	}
	if r.err != nil {
		return fmt.Errorf("on a copy of the table as it was before run 1 the job ended in: %w", r.err)
	}
	p.ops = r.ops
	s, err := w.state(ctx, r)
	if err != nil {
		return err
	}
	f := finding{how: plan.Afresh, what: "a run on a copy of the table as it was gives another table", titles: [2]string{"after run 1", "on the copy"}}
	return p.compare(ctx, f, p.done, s)
}

// ran runs the job and looks at the table; an error of the job is one.
func (w *world) ran(ctx context.Context, c circumstances) (*state, error) {
	r, err := w.run(ctx, w.p.job, c)
	if err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	return w.state(ctx, r)
}

// aDay is long enough for another date in every zone, and not a whole number of days.
const aDay = 25 * time.Hour

// anotherDay implements AnotherDay.
func (p *proof) anotherDay(t testing.TB) error {
	if !p.o.FakeTime {
		if err := p.nextDay(t.Context(), func() {}); err != nil {
			return err
		}
		return p.noteToday(t.Context())
	}
	tt, ok := t.(*testing.T)
	if !ok {
		return fmt.Errorf("Options.FakeTime wants a *testing.T, and this is a %T", t)
	}
	var err error
	synctest.Test(tt, func(t *testing.T) {
		err = p.nextDay(t.Context(), func() { time.Sleep(aDay) })
	})
	return err
}

// nextDay runs the job twice with a day between, and then on the table as it was. sleep moves the
// machine's clock.
func (p *proof) nextDay(ctx context.Context, sleep func()) error {
	w := p.world(p.start)
	first, err := w.ran(ctx, circumstances{})
	if err != nil {
		return fmt.Errorf("run 1 of the job: %w", err)
	}
	p.clock.set(p.base.Add(aDay))
	sleep()
	second, err := w.ran(ctx, circumstances{})
	if err != nil {
		return fmt.Errorf("run 2 of the job, a day later: %w", err)
	}
	f := changedByTheSecond
	f.titles[1] = "after run 2, a day later"
	if err := p.compare(ctx, f, first, second); err != nil {
		return err
	}
	w = p.world(p.start)
	p.clock.set(p.base.Add(aDay))
	late, err := w.ran(ctx, circumstances{})
	if err != nil {
		return fmt.Errorf("a day later, on a copy of the table as it was: %w", err)
	}
	f = finding{how: plan.Afresh, what: "a day later the job makes another table of the same", titles: [2]string{"after run 1", "a day later"}}
	return p.compare(ctx, f, first, late)
}

// noteToday notes columns that hold the date of today. That may be right.
func (p *proof) noteToday(ctx context.Context) error {
	d := plan.Diff{Before: p.before, Second: p.done.side, Ignore: p.o.Ignore}
	columns, err := d.Clocked(ctx)
	if err == nil && len(columns) > 0 {
		p.note("column %s holds today's date in every row that the job wrote: if the job takes it from time.Now, a run after midnight writes another; Options.FakeTime shows it",
			strings.Join(columns, ", "))
	}
	return err
}

// orders is how many other orders of the input are tried.
const orders = 3

// anotherOrder implements AnotherOrder. Run again, the rows come in yet another order.
func (p *proof) anotherOrder(t testing.TB) error {
	ctx := t.Context()
	for seed := range uint64(orders) {
		w := p.world(p.start)
		for run, o := range []*order{newOrder(seed), newOrder(seed + orders)} {
			s, err := w.ran(ctx, circumstances{order: o})
			if err != nil {
				return fmt.Errorf("with its input in another order the job ended in: %w", err)
			}
			f := finding{how: plan.Reordered, what: "with its input in another order the job makes another table", titles: [2]string{"in the order given", "in another order"}}
			if run == 1 {
				f.what = "run again with its input in another order the job changes the table"
			}
			if err := p.compare(ctx, f, p.done, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// olderBetween implements OlderBetween.
func (p *proof) olderBetween(t testing.TB) error {
	ctx := t.Context()
	w := p.world(p.start)
	r, err := w.run(ctx, p.o.Older, circumstances{})
	if err == nil {
		err = r.err
	}
	if err != nil {
		return fmt.Errorf("the older batch, before the job: %w", err)
	}
	first, err := w.ran(ctx, circumstances{})
	if err != nil {
		return fmt.Errorf("the job, after the older batch: %w", err)
	}
	f := finding{how: plan.Older, what: "an older batch that came late changed the table", titles: [2]string{"after the older batch and the job", "after the older batch once more"}}
	late, err := w.run(ctx, p.o.Older, circumstances{}) // its error may say that it is too old
	if err != nil {
		return err
	}
	second, err := w.state(ctx, late)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, f, first, second); err != nil {
		return err
	}
	third, err := w.ran(ctx, circumstances{})
	if err != nil {
		return fmt.Errorf("the job, after the older batch came late: %w", err)
	}
	f = changedByTheSecond
	f.titles = [2]string{"after the older batch and the job", "after both once more"}
	return p.compare(ctx, f, first, third)
}
