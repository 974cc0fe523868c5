package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/idemtable/idem/delta/store"
)

// Faulty is a store whose operations go wrong by rule. It counts them and keeps a transcript, so
// without rules it is a recorder. Set Before before the first operation.
//
// A delayed effect takes place inside a later call, on its goroutine. The Faulty of each
// simulated process wraps one shared store.
type Faulty struct {
	inner store.Store

	// Before, if set, is called ahead of every operation but Write, without a lock: it may yield
	// to other writers, change the store or cancel a context. The fault that it returns comes
	// before the rules; one that does not apply to the operation is no fault.
	Before func(Call) Fault

	mu      sync.Mutex
	rules   []*rule
	calls   int
	counts  map[Op]int
	hits    map[Kind]int
	lines   []*line
	late    []lateEffect
	crashed bool
}

type rule struct {
	Rule
	seen, used int
}

type lateEffect struct {
	due  int // the index of the call before which it takes place
	call Call
	run  effect
}

// line is what the transcript keeps of an operation, which becomes text when it is asked for.
type line struct {
	call   Call
	answer string // "" while it is under way
	fault  Kind
	late   bool // a delayed effect
}

func (l *line) String() string {
	answer := l.answer
	if answer == "" {
		answer = "…"
	}
	text := l.call.String() + " -> " + answer
	if l.late {
		text = "late " + text
	}
	if l.fault != None {
		text += " (" + string(l.fault) + ")"
	}
	return text
}

// effect does an operation on the wrapped store. It is run never, once, twice or later.
type effect func(ctx context.Context, fault Fault) error

// NewFaulty wraps a store.
func NewFaulty(inner store.Store, rules ...Rule) *Faulty {
	f := &Faulty{inner: inner}
	f.Reset(rules...)
	return f
}

// Reset replaces the rules and forgets counts, transcript, crash and delayed effects, which then
// never take place.
func (f *Faulty) Reset(rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.lines, f.late = nil, nil, nil
	f.calls, f.crashed = 0, false
	f.counts, f.hits = map[Op]int{}, map[Kind]int{}
	for _, r := range rules {
		f.rules = append(f.rules, &rule{Rule: r})
	}
}

// Restart lets operations through again after a crash. Delayed effects are still on their way:
// they left the process before it died.
func (f *Faulty) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed = false
}

// Crashed tells whether the process is dead.
func (f *Faulty) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// Land makes all delayed effects take place now and returns their number.
func (f *Faulty) Land(ctx context.Context) int {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, l := range late {
		f.land(ctx, l)
	}
	return len(late)
}

// Late is the number of effects that are on their way.
func (f *Faulty) Late() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.late)
}

// Calls is the number of operations so far, without writes and without those that a crashed
// process tried.
func (f *Faulty) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Count is the number of operations of one kind.
func (f *Faulty) Count(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[op]
}

// Counts is the number of operations by kind.
func (f *Faulty) Counts() map[Op]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// Hits is the number of faults by kind.
func (f *Faulty) Hits() map[Kind]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.hits)
}

// Transcript is one line for each operation in the order in which they began, as
// "PUT-IF-ABSENT _delta_log/00000000000000000001.json -> ok", with the fault in brackets. Writes
// are left out, but for those that a fault hit; so is what a crashed process tried. A list
// counts the objects that were taken from it.
func (f *Faulty) Transcript() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := make([]string, len(f.lines))
	for i, l := range f.lines {
		lines[i] = l.String()
	}
	return lines
}

func (f *Faulty) perform(ctx context.Context, c Call, run effect, answer func(error) string) error {
	_, err := f.performKind(ctx, c, run, answer)
	return err
}

// performKind does one operation, or makes it go wrong and tells how. answer is the transcript's
// word for an error.
func (f *Faulty) performKind(ctx context.Context, c Call, run effect, answer func(error) string) (Kind, error) {
	c, due, ok := f.begin(c)
	if !ok {
		return CrashBefore, fmt.Errorf("%s %q: %w", c.Op, c.Key, ErrCrashed)
	}
	for _, l := range due {
		f.land(ctx, l)
	}
	fault := f.choose(c)
	line := f.open(c, fault)
	err := f.apply(ctx, c, fault, run)
	if line != nil {
		said := answer(err)
		f.mu.Lock()
		line.answer, line.fault = said, fault.Kind
		f.mu.Unlock()
	}
	return fault.Kind, err
}

func (f *Faulty) begin(c Call) (Call, []lateEffect, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return c, nil, false
	}
	f.counts[c.Op]++
	if c.Op == OpWrite {
		return c, nil, true
	}
	f.calls++
	c.Index = f.calls
	var due, late []lateEffect
	for _, l := range f.late {
		if l.due <= f.calls {
			due = append(due, l)
		} else {
			late = append(late, l)
		}
	}
	f.late = late
	return c, due, true
}

// choose picks the fault of a call and counts it.
func (f *Faulty) choose(c Call) Fault {
	var fault Fault
	if f.Before != nil && c.Op != OpWrite {
		fault = f.Before(c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	byRule := f.fromRules(c)
	if !fault.Kind.AppliesTo(c.Op) {
		fault = byRule
	}
	if fault.Kind != None {
		f.hits[fault.Kind]++
	}
	if fault.Kind == CrashBefore || fault.Kind == CrashAfter {
		f.crashed = true
	}
	return fault
}

func (f *Faulty) fromRules(c Call) Fault {
	var fault Fault
	for _, r := range f.rules {
		if !r.matches(c) {
			continue
		}
		r.seen++
		wanted := r.Nth == r.seen || r.Nth == 0 && (r.Times == 0 || r.used < r.Times)
		if wanted && fault.Kind == None {
			r.used++
			fault = r.Fault
		}
	}
	return fault
}

// open reserves the call's line, so that operations inside a list come after it.
func (f *Faulty) open(c Call, fault Fault) *line {
	if c.Op == OpWrite && fault.Kind == None {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &line{call: c}
	f.lines = append(f.lines, l)
	return l
}

func (f *Faulty) apply(ctx context.Context, c Call, fault Fault, run effect) error {
	switch fault.Kind {
	case None, TornRead, ShortRead, BitFlip, StaleList, DuplicateList:
		return run(ctx, fault)
	case FailAfter, LostAnswer, CrashAfter:
		_ = run(ctx, fault)
		return fault.error(c)
	case Duplicate:
		_ = run(ctx, fault)
		return run(ctx, fault)
	case LateEffect:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.late = append(f.late, lateEffect{f.calls + max(fault.K, 1), c, run})
		return fault.error(c)
	case StaleMissing:
		return fmt.Errorf("%s %q: %w", c.Op, c.Key, store.ErrNotExist)
	default:
		return fault.error(c)
	}
}

func (f *Faulty) land(ctx context.Context, l lateEffect) {
	err := l.run(context.WithoutCancel(ctx), Fault{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, &line{call: l.call, answer: word(err), late: true})
}

// word is what a transcript says of an answer.
func word(err error) string {
	for _, w := range []struct {
		err  error
		text string
	}{
		{ErrCrashed, "crashed"},
		{store.ErrExist, "exists"},
		{store.ErrNotExist, "not found"},
		{store.ErrUnfit, "unfit"},
		{store.ErrTooLarge, "too large"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
		{io.ErrUnexpectedEOF, "short"},
	} {
		if errors.Is(err, w.err) {
			return w.text
		}
	}
	if err != nil {
		return "error"
	}
	return "ok"
}
