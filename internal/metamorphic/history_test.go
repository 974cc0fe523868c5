package metamorphic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/tabletest"
)

// draw draws an operation of a kind and what the model makes of it; nil if there is none.
func (h *history) draw(t *rapid.T, kind func(draws) *op) *op {
	s := h.now().clone()
	s.ops++
	o := kind(draws{t, h, s})
	if o == nil {
		return nil
	}
	if o.wait == 0 {
		o.wait = time.Duration(rapid.SampledFrom([]int{1, 7, 60, 24 * 60}).Draw(t, "minutes")) * time.Minute
	}
	return o
}

// expect has the model do an operation.
func (h *history) expect(o *op, again bool) answer {
	was := h.now().clone()
	was.ops++
	was.at = was.at.Add(o.wait)
	next := was.clone()
	want := o.model(next)
	if want.err != nil {
		next = was
	}
	next.at = was.at
	for next.keys <= slices.MaxFunc(next.columns, func(a, b column) int { return a.key - b.key }).key {
		next.keys++
	}
	call := o.call
	if again {
		call = "the same again"
	}
	h.states, h.calls = append(h.states, next), append(h.calls, call)
	return want
}

// story is the history as a person reads it.
func (h *history) story() string {
	var b strings.Builder
	for i, c := range h.calls {
		if i > 0 {
			fmt.Fprintf(&b, "%s ", h.states[i].at.Sub(tabletest.Epoch))
		}
		fmt.Fprintf(&b, "%d. %s\n", i, c)
	}
	return b.String()
}

// second is how the same call ends again, by the table of the contract; that of a plain append is made
// again.
func second(o *op, first answer) (idem.Outcome, error) {
	switch {
	case first.err != nil:
		return 0, first.err
	case o.txn != (idem.Txn{}) && first.outcome == idem.Superseded:
		return idem.Superseded, nil
	case o.txn != (idem.Txn{}):
		return idem.AlreadyApplied, nil
	}
	return idem.Unchanged, nil
}

// held is how an answer is not the one wanted.
func held(o *op, want, got answer) error {
	switch {
	case o.loose && got.err == nil:
		return nil
	case o.refuse && errors.Is(got.err, idem.ErrInput):
		return nil
	case want.unknown && got.err == nil && got.outcome == idem.AlreadyApplied:
		return nil
	case want.err != nil && got.err != nil && errors.Is(got.err, want.err):
		return nil
	case want != got:
		return fmt.Errorf("it ends with %s; by the model with %s", got, want)
	}
	return nil
}

// act does an operation in a world, and holds its answer against the model's.
func (w *world) act(h *history, o *op, want answer, first *answer) (answer, error) {
	number := len(h.states) - 1
	w.known = h.states[number-1]
	got, err := w.run(o, number, want.err != nil)
	if got.err == nil && err != nil {
		return got, err
	}
	if o.txn.VerifyPayload || got.outcome == idem.AlreadyApplied || got.outcome == idem.Superseded {
		got.tally.read = want.tally.read // a payload that is compared is read
	}
	if bad := held(o, want, got); bad != nil {
		return got, errors.Join(bad, err)
	}
	if got.err != nil && w.after[number] != w.after[number-1] && !o.refuse {
		return got, fmt.Errorf("refused, and yet version %d was made: %w", w.after[number], err)
	}
	if first != nil && !o.plain && !(o.loose && first.outcome == 0) {
		if outcome, sentinel := second(o, *first); outcome != got.outcome && !(o.loose && got.err == nil && outcome == idem.Unchanged && w.after[number] == w.after[number-1]) || !errors.Is(got.err, sentinel) {
			return got, errors.Join(fmt.Errorf("the second call ends with %s, and the first with %s", got, *first), err)
		}
	}
	ran.note(o.call, got)
	if first != nil && w.after[number] == w.after[number-1] {
		return got, sameModel(h.states[number-1], h.states[number])
	}
	return got, w.check(h, o, got)
}

// sameModel is for a version that was looked at already.
func sameModel(was, is *state) error {
	if diff := differences(texts(was.columns, was.rows), texts(is.columns, is.rows)); diff != "" {
		return fmt.Errorf("no version was made, and by the model there are other rows:\n%s", diff)
	}
	return nil
}

// check holds the table against the model.
func (w *world) check(h *history, o *op, got answer) error {
	s, number := h.now(), len(h.states)-1
	if err := sameRows(w.ctx, w.table, s, true); err != nil {
		return err
	}
	if err := w.sameIDs(s); err != nil {
		return err
	}
	if err := w.bounded(s); err != nil {
		return err
	}
	if err := w.sameChanges(h, number-1, number); err != nil {
		return err
	}
	if o.exact && got.err == nil {
		return w.toldExactly(h, number, got.tally)
	}
	return nil
}

// probes are what is looked at beside the newest rows.
type probes struct {
	where condition
	then  []int // versions after these operations
	since int   // changes since this one; -1 for none
}

func (h *history) drawProbes(t *rapid.T) probes {
	p := probes{where: drawCondition(t, h.now()), since: -1}
	for range rapid.IntRange(0, 3).Draw(t, "earlier versions") {
		p.then = append(p.then, rapid.IntRange(h.floor, len(h.states)-1).Draw(t, "version after call"))
	}
	if h.told < len(h.states) && rapid.Bool().Draw(t, "changes") {
		p.since = rapid.IntRange(h.told, len(h.states)-1).Draw(t, "changes since call")
	}
	return p
}

func (w *world) probe(h *history, p probes) error {
	if err := w.sameSlice(h.now(), p.where); err != nil {
		return err
	}
	for _, op := range p.then {
		if err := w.sameThen(h, op); err != nil {
			return err
		}
	}
	if p.since >= 0 {
		return w.sameChanges(h, p.since, len(h.states)-1)
	}
	return nil
}

// end holds the log against its rules.
func (w *world) end() error { return sameRules(w.ctx, w.store) }

// sameRules holds a log against its rules.
func sameRules(ctx context.Context, st store.Store) error {
	report, err := logcheck.Check(ctx, st)
	if err != nil {
		return err
	}
	return report.Err()
}
