package idem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/engine"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/redact"
	"github.com/idemtable/idem/internal/trial"
)

// Table is a Delta table. Its methods may be called by several goroutines at once.
//
// It remembers the newest snapshot that it has seen and refreshes it when a read or a conflict
// asks for it.
type Table struct {
	store  store.Store
	log    *logio.Log
	engine *engine.Engine
	env    plan.Env
	opts   Options
	frozen bool // a view of one version: it refreshes never and refuses to write
	trial  *trial.Trial

	mu   sync.Mutex
	snap *delta.Snapshot
}

// Open opens the table at a URL: a path, or file://… . Tables in object stores are opened with
// [OpenStore] and an implementation of [store.Store]; idem has none for them yet.
//
// Errors: [ErrNotTable] if there is no table, [ErrUnsupported] if it cannot be read.
func Open(ctx context.Context, url string, o Options) (*Table, error) {
	s, err := store.OpenURL(url)
	if err != nil {
		return nil, wrap("Open", redact.URL(url), -1, 0, inputError(err))
	}
	return OpenStore(ctx, s, o)
}

// OpenStore opens the table whose root is the store's.
func OpenStore(ctx context.Context, s store.Store, o Options) (*Table, error) {
	t, err := newTable(ctx, s, o)
	if err != nil {
		return nil, wrap("Open", urlOf(s), -1, 0, err)
	}
	t.trial = trial.From(ctx)
	if t.snap, err = t.log.Load(ctx); err != nil {
		return nil, t.fail("Open", err)
	}
	return t, nil
}

func newTable(ctx context.Context, s store.Store, o Options) (*Table, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: the store is nil", ErrInput)
	}
	if ctx == nil {
		return nil, errNoContext
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.filled()
	t := &Table{store: s, opts: o}
	t.log = logio.New(s, logio.Options{Allocator: o.Allocator, Parallelism: o.Parallelism, Clock: o.Clock, Random: o.Random, Logger: o.Logger, Outside: o.Outside})
	t.engine = &engine.Engine{
		Log: t.log, Store: s, Clock: o.Clock, Rand: o.Random, Logger: o.Logger,
		CommitBudget: o.CommitBudget, ReadBackTimeout: o.ReadBackTimeout,
	}
	t.env = newEnv(t.log.Store(), t.log, o)
	return t, nil
}

func newEnv(s store.Store, stats plan.Stats, o Options) plan.Env {
	return plan.Env{
		Store: s, Stats: stats, Allocator: o.Allocator, MemoryBytes: o.MemoryBytes, Parallelism: o.Parallelism,
		TempDir: o.TempDir, TargetFileBytes: o.TargetFileBytes, Now: o.Clock.Now, NewID: o.newUUID, Logger: o.Logger,
	}
}

func (t *Table) fail(op string, err error) error {
	version := int64(-1)
	if s := t.current(); s != nil {
		version = s.Version()
	}
	return wrap(op, urlOf(t.store), version, 0, err)
}

// urlOf is the URL of a store, "" of none.
func urlOf(s store.Store) string {
	if s == nil {
		return ""
	}
	return s.URL()
}

var errNoContext = fmt.Errorf("%w: the context is nil: give context.Background() if there is none", ErrInput)

// ready refuses a Table that no call of idem gave, and a context that is nil: every verb asks it.
func (t *Table) ready(ctx context.Context) error {
	switch {
	case t.store == nil:
		return fmt.Errorf("%w: this Table is the zero one: Open, Create and their like give tables", ErrInput)
	case ctx == nil:
		return errNoContext
	}
	return nil
}

func (t *Table) current() *delta.Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.snap
}

// saw remembers a snapshot if it is newer.
func (t *Table) saw(s *delta.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s != nil && (t.snap == nil || s.Version() > t.snap.Version()) {
		t.snap = s
	}
}

// newest is the newest snapshot of the table, or the one version of a view.
func (t *Table) newest(ctx context.Context) (*delta.Snapshot, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	s := t.current()
	if t.frozen {
		return s, nil
	}
	newer, err := t.after(ctx, s)
	if err != nil {
		return nil, err
	}
	t.saw(newer)
	return newer, nil
}

// after is the newest snapshot of the table that an earlier one is of.
func (t *Table) after(ctx context.Context, s *delta.Snapshot) (*delta.Snapshot, error) {
	newer, err := t.log.Refresh(ctx, s)
	if err != nil {
		return nil, err
	}
	return newer, engine.Stays(s, newer)
}

// URL names the table's root, without secrets.
func (t *Table) URL() string { return redact.URL(urlOf(t.store)) }

// Store holds the table's objects.
func (t *Table) Store() store.Store { return t.store }

// Options are those that the table was opened with, every default in place.
func (t *Table) Options() Options { return t.opts }

// Version is the version of the newest snapshot seen.
func (t *Table) Version() int64 { return t.current().Version() }

// Schema is the Arrow schema of rows of the newest snapshot seen.
func (t *Table) Schema() *arrow.Schema { return t.current().ArrowSchema() }

// PartitionBy are the partition columns.
func (t *Table) PartitionBy() []string { return slices.Clone(t.current().PartitionColumns()) }

// Snapshot is the newest snapshot seen.
func (t *Table) Snapshot() *delta.Snapshot { return t.current() }

// Refresh looks for newer versions and gives the newest. A table that was dropped and made anew at its place is another
// one: that is [ErrConflict], for every verb, and the table is to be opened again.
func (t *Table) Refresh(ctx context.Context) (int64, error) {
	s, err := t.newest(ctx)
	if err != nil {
		return -1, t.fail("Refresh", err)
	}
	return s.Version(), nil
}

// At is a read-only view of a version.
func (t *Table) At(ctx context.Context, version int64) (*Table, error) {
	if err := t.ready(ctx); err != nil {
		return nil, t.fail("At", err)
	}
	s, err := t.log.LoadAt(ctx, version)
	if err = cmp.Or(t.stays(ctx), err); err != nil {
		return nil, t.fail("At", err)
	}
	return t.view(s), nil
}

// AtTime is a read-only view of the newest version whose commit is not after an instant. An instant
// before the first version, or after the last, is [ErrInput].
func (t *Table) AtTime(ctx context.Context, at time.Time) (*Table, error) {
	if err := t.ready(ctx); err != nil {
		return nil, t.fail("AtTime", err)
	}
	v, err := t.log.VersionAt(ctx, at, t.Snapshot())
	if err != nil {
		return nil, t.fail("AtTime", cmp.Or(t.stays(ctx), err))
	}
	return t.At(ctx, v)
}

// stays says, after something was read, that it is not of this table but of one that was made anew at its place.
func (t *Table) stays(ctx context.Context) error {
	s := t.current()
	if same, err := t.log.Same(ctx, s); err != nil || same {
		return err
	}
	_, err := t.after(ctx, s)
	return err
}

func (t *Table) view(s *delta.Snapshot) *Table {
	return &Table{store: t.store, log: t.log, engine: t.engine, env: t.env, opts: t.opts, frozen: true, trial: t.trial, snap: s}
}

// Scan asks for rows.
type Scan struct {
	_ struct{}

	// Columns are the columns wanted, by their names as they are, without backticks, in this order. nil means
	// all.
	Columns []string

	// Where keeps the rows for which it is TRUE.
	Where string
	Args  []any

	// Condition is the same as a tree, instead of Where.
	Condition expr.Expr

	// RowIDs appends two columns of int64, nullable: [delta.RowIDColumn], the row's stable id, and
	// [delta.RowCommitVersionColumn], the version that last changed it. A table that does not track
	// rows (delta.enableRowTracking) is [ErrInput].
	RowIDs bool
}

// Scan reads rows of the newest version. A batch is valid until the next one is asked for; retain
// it to keep it. Errors: [ErrInput], [ErrCorrupt] for a file that is missing, short or damaged.
func (t *Table) Scan(ctx context.Context, r Scan) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		where, snap, err := t.reads(ctx, r.Where, r.Args, r.Condition)
		if err != nil {
			yield(nil, t.fail("Scan", err))
			return
		}
		src := scan.Table{Store: t.log.Store(), Snapshot: snap, Stats: t.log, Allocator: t.opts.Allocator, Parallelism: t.opts.Parallelism}
		for batch, err := range t.trial.Arrange(scan.Rows(ctx, src, scan.Request{Columns: r.Columns, Where: where, RowIDs: r.RowIDs})) {
			if !yield(batch, t.failIf("Scan", err)) || err != nil {
				return
			}
		}
	}
}

// reads gives what a reading call is about: its condition, and the newest snapshot.
func (t *Table) reads(ctx context.Context, text string, args []any, tree expr.Expr) (expr.Expr, *delta.Snapshot, error) {
	where, err := condition("Where", text, args, tree)
	if err != nil {
		return nil, nil, err
	}
	snap, err := t.newest(ctx)
	if err == nil && where != nil {
		err = snap.RefuseCollated(expr.Compared(where)...)
	}
	t.trial.Tell(trial.Call{Err: err})
	return where, snap, err
}

func (t *Table) failIf(op string, err error) error {
	if err == nil {
		return nil
	}
	return t.fail(op, err)
}

// Commit is one version in a table's history.
type Commit struct {
	_ struct{}

	Version   int64
	Timestamp time.Time

	// Info is what the writer said of itself; nil if it said nothing.
	Info *delta.CommitInfo
}

// History gives the commits that the log still has, newest first.
func (t *Table) History(ctx context.Context) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		snap, err := t.newest(ctx)
		if err != nil {
			yield(Commit{}, t.fail("History", err))
			return
		}
		for c, err := range t.log.History(ctx, snap) {
			if err != nil {
				yield(Commit{}, t.fail("History", err))
				return
			}
			if !yield(Commit{Version: c.Version, Timestamp: c.Timestamp, Info: c.Info}, nil) {
				return
			}
		}
	}
}

// inputError makes an error of a request out of one that says nothing else.
func inputError(err error) error {
	if errors.Is(err, ErrInput) || errors.Is(err, store.ErrUnfit) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInput, err)
}
