package metamorphic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
)

// op is an operation of a history.
type op struct {
	call   string // as a person reads it
	wait   time.Duration
	model  func(s *state) answer
	do     func(w *world) (answer, error)
	loose  bool // how it ends depends on how the files lie
	plain  bool // a plain append: it is made again
	exact  bool // the change data feed tells the rows that differ and no others
	refuse bool // it may be refused with ErrInput, and then does nothing
	txn    idem.Txn
	halves func(even bool) func(*world) (answer, error) // the same for the rows of some keys; nil: it cannot be halved
	floor  func(h *history)                             // older versions may be gone
}

// world is a table under one set of options.
type world struct {
	ctx     context.Context
	dir     string
	mem     memory.Allocator
	layout  layout
	handing handing
	clock   *tabletest.Clock
	store   *store.Mem
	table   *idem.Table
	shapes  *reshaper

	after   []int64        // the version after each operation
	of      map[int64]int  // the operation of which a version holds the rows
	feeds   map[int64]bool // versions whose changes are told
	tracked []bool         // by operation: rows had ids before it and after
	ids     map[int]int64  // of rows by their uid, where they are known
	seen    map[int64]bool // ids that were ever given
	known   *state         // what the model had before the call
	columns string         // those that the last call added, and that its rows lacked
}

func newWorld(ctx context.Context, dir string, mem memory.Allocator, l layout, h handing) (*world, error) {
	w := &world{
		ctx: l.codec.in(ctx), dir: dir, mem: mem, layout: l, handing: h, clock: tabletest.NewClock(),
		of: map[int64]int{0: 0}, feeds: map[int64]bool{}, ids: map[int]int64{}, seen: map[int64]bool{},
	}
	w.store = store.NewMemClock(w.clock.Now)
	var err error
	w.table, _, err = idem.CreateStore(w.ctx, w.store, l.definition(), w.options())
	w.after, w.tracked = []int64{0}, []bool{false}
	w.shapes = &reshaper{ctx: w.ctx, mem: w.store, kind: l.checkpoints, done: map[string]bool{}}
	return w, err
}

func (w *world) options() idem.Options {
	return idem.Options{
		Allocator: w.mem, MemoryBytes: w.layout.memory, Parallelism: w.layout.parallelism, TempDir: w.dir, TargetFileBytes: w.layout.target,
		Clock: w.clock, Random: tabletest.Random(uint64(len(w.after))),
	}
}

// open opens the table anew, as another process would.
func (w *world) open() error {
	table, err := idem.OpenStore(w.ctx, w.store, w.options())
	if err == nil {
		w.table = table
	}
	return err
}

func (w *world) is(property string) bool {
	v, _ := w.table.Snapshot().Property(property)
	return v == "true"
}

func (w *world) mapped() bool { return w.table.Snapshot().Mapping() != delta.MappingNone }

// rows makes the reader of rows.
func (w *world) rows(in input) array.RecordReader { return w.handing.reader(w.mem, in) }

// run does an operation, perhaps in halves, notes what came of it, and gives the answer with its sentinel.
func (w *world) run(o *op, number int, whole bool) (answer, error) {
	w.clock.Advance(o.wait)
	before, fed, tracked := w.table.Version(), w.is("delta.enableChangeDataFeed"), w.table.Snapshot().TracksRows()
	do := o.do
	if w.handing.halves && o.halves != nil && !whole {
		do = func(w *world) (answer, error) { return inHalves(w, o) }
	}
	a, cause := do(w)
	if cause != nil {
		if a = refused(sentinel(cause)); a.err == nil {
			return a, cause
		}
	}
	if _, err := w.table.Refresh(w.ctx); err != nil {
		return a, fmt.Errorf("refresh: %w", err)
	}
	w.note(number, before, fed, tracked)
	w.shapes.table = w.table
	changed, err := w.shapes.run()
	if err == nil && changed {
		err = w.open()
	}
	if err != nil {
		return answer{}, err
	}
	return a, cause
}

// inHalves is the merge of some keys and then that of the others.
func inHalves(w *world, o *op) (answer, error) {
	a, err := o.halves(true)(w)
	if err != nil {
		return a, err
	}
	b, err := o.halves(false)(w)
	if err != nil {
		return b, fmt.Errorf("the second half: %w", err)
	}
	b.tally = b.tally.plus(a.tally)
	b.outcome = min(a.outcome, b.outcome) // Committed is the least
	return b, nil
}

// note remembers which versions hold the rows of an operation.
func (w *world) note(number int, before int64, fed, tracked bool) {
	now := w.table.Version()
	w.after = append(w.after, now)
	w.tracked = append(w.tracked, tracked && w.table.Snapshot().TracksRows())
	fed = fed && w.is("delta.enableChangeDataFeed")
	for v := before + 1; v <= now; v++ {
		w.feeds[v] = fed
	}
	w.of[now] = number
}

var sentinels = []error{
	idem.ErrConflict, idem.ErrUnknownOutcome, idem.ErrInput, idem.ErrPayload, idem.ErrRestored, idem.ErrUnsupported, idem.ErrCorrupt, idem.ErrNotTable, idem.ErrInterrupted,
}

// sentinel is the one that an error wraps, if it is one that a caller can mend.
func sentinel(err error) error {
	i := slices.IndexFunc(sentinels, func(s error) bool { return errors.Is(err, s) })
	if i < 0 || sentinels[i] == idem.ErrCorrupt || sentinels[i] == idem.ErrInterrupted || sentinels[i] == idem.ErrUnknownOutcome {
		return nil
	}
	return sentinels[i]
}

// history is what was done, and what the table must have held after each operation.
type history struct {
	states []*state // by operation; 0 is the table just made
	calls  []string
	floor  int // the first operation whose table can be read still
	told   int // the first operation whose changes can be read still
	demand demands
	worlds []*world
}

func (h *history) now() *state { return h.states[len(h.states)-1] }

// firstState is a table just made.
func firstState(d demands) *state {
	return &state{columns: slices.Clone(firstColumns), tags: map[string]tag{}, partitioned: d.partitioned, at: tabletest.Epoch, keys: colFirst}
}
