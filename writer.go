// Package idem makes Delta Lake tables that you can write to twice.
//
// Every layer re-executes work: orchestrators retry, pods die after the commit and before the
// answer, people backfill. Exactly-once delivery does not exist; a write that can be repeated does.
// Each verb of this package changes a table in exactly one commit or not at all, and a second call
// with the same rows leaves the table as one call does:
//
//   - [Table.ReplaceWhere] makes a slice equal to the rows given ([Table.ReplaceAll]: the table).
//   - [Table.Merge] updates, inserts and deletes by key, deduplicated and guarded against older data.
//   - [Table.AppendWithTxn] appends once for each (application, version).
//   - [Table.Append] appends, and wants a reason, since it is the one that doubles.
//   - [Table.Delete] deletes rows.
//
// [Table.Fingerprint] identifies the rows of a table and [RunTwice] proves that running a job twice
// equals running it once.
//
// Tables are Delta tables: Spark, delta-rs and DuckDB read and write them beside us. There is no
// CGO, no JVM and no lock service; a store needs put-if-absent (package delta/store).
//
// # Rows
//
// Rows come in as Arrow record batches, from a reader that nobody has read of yet: one that was begun is
// rewound, or refused ([Rewinder]). Columns go by name, ignoring case, at every level; those that
// the rows lack become NULL, or what the table makes them: a default, a generated value, a number (an
// update of a merge leaves them, but for generated values, which follow). Those that the table lacks
// are an error, or are added to it by the same commit (Evolve). Numbers of identity columns, and
// defaults that tell the time, do not count where rows are compared: a second call with the same rows
// changes nothing. Nested columns may be 64 levels deep; a map
// has a key once, and the order of its pairs does not count. A value is stored only if nothing of it is lost: integers and decimals of
// any width if the value fits, floats and integers into wider ones, timestamps of any unit if no digit
// below the microsecond is cut, strings and binary of any layout and dictionaries of them. Strings do
// not become numbers, floats not decimals, and an instant (with a zone) no local time (without one).
//
// # Names
//
// Where a request takes columns and fields of structs by name (keys, what is set, what a definition
// says of them) it reads the name as an expression does, ignoring case: "a.b" is the field b of the struct a,
// and backticks keep a name with dots together: "`a.b`". Where there is no such field it is the column
// whose very name is "a.b"; where there are both, a name without backticks is ErrInput. Where only whole
// columns are taken ([Scan].Columns, PartitionBy, Sums), they go by their names as they are.
//
// # Outcomes
//
// A call ends in a [Result] (Committed, AlreadyApplied, Superseded, Unchanged) or in an error that
// wraps one of the sentinels ([ErrConflict] and its neighbours) and says what to do. A lost answer
// of the store is resolved by looking, never by guessing.
//
// # Concurrency
//
// A [Table] is safe for many goroutines, and any number of processes may write to one table.
package idem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/engine"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/trial"
)

// planner plans one call of a verb: nil, or a proposal without actions, says that there is nothing
// to do. The reads of such a proposal are what that rests on.
type planner interface {
	Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error)
}

// payloader is a planner that can tell the number and the digest of the rows given.
type payloader interface {
	Payload(ctx context.Context, snap *delta.Snapshot) (int64, rows.Digest, error)
}

// fitter is a planner that can tell, without reading a row, whether its call goes with a table.
type fitter interface {
	Fits(snap *delta.Snapshot) error
}

// call is one call of a verb, on the one path by which every verb commits.
type call struct {
	op      string
	txn     Txn
	rewind  *commit.Tag // the tag is moved back on purpose
	note    string
	done    string // by earlier commits of the same operation
	planner planner
	report  func(*Result) // adds what the plan did

	table   *Table
	txnID   string
	planned *delta.Snapshot // what the last plan was made on
}

// addedSince are the columns that another writer added while a call was under way, which its rows
// lack too: a call whose rows have them is planned anew.
func addedSince(was, is *delta.Struct, path string) []string {
	if was == is {
		return nil
	}
	var out []string
	for _, f := range is.Fields {
		i := was.Index(f.Name)
		if i < 0 {
			out = append(out, path+f.Name)
			continue
		}
		before, ok := was.Fields[i].Type.(*delta.Struct)
		if now, struc := f.Type.(*delta.Struct); ok && struc {
			out = append(out, addedSince(before, now, path+f.Name+".")...)
		}
	}
	return out
}

// write carries out a call, and tells a trial how it ended.
func (t *Table) write(ctx context.Context, c *call) (*Result, error) {
	if t.trial == nil {
		return t.carryOut(ctx, c)
	}
	res, err := t.carryOut(trial.With(ctx, t.trial), c)
	told := trial.Call{Op: c.op, Err: err}
	if err == nil {
		told.Outcome = res.Outcome.String()
	}
	t.trial.Tell(told)
	return res, err
}

// carryOut does it: validate, plan, commit, report.
func (t *Table) carryOut(ctx context.Context, c *call) (*Result, error) {
	if err := t.ready(ctx); err != nil {
		return nil, t.fail(c.op, err)
	}
	if t.frozen {
		return nil, t.fail(c.op, fmt.Errorf("%w: this is a view of version %d; write to the table itself", ErrInput, t.Version()))
	}
	if c.txn.given() {
		if err := c.txn.validate(); err != nil {
			return nil, t.fail(c.op, err)
		}
	}
	if !utf8.ValidString(c.note) {
		return nil, t.fail(c.op, fmt.Errorf("%w: the note or reason %q is not UTF-8, and the log could not keep it", ErrInput, c.note))
	}
	c.table, c.txnID = t, t.opts.newTxnID()
	snap, err := t.fitting(ctx, c)
	if err != nil {
		return nil, t.fail(c.op, inside.After(c.done, err))
	}
	out, err := t.engine.Commit(ctx, snap, c)
	t.saw(out.Snapshot)
	if err != nil {
		return nil, wrap(c.op, t.store.URL(), versionOf(snap), out.Attempts, inside.After(c.done, err))
	}
	res := &Result{Outcome: outcomes[out.Kind], Version: out.Version, Attempts: out.Attempts, Recorded: out.Recorded, TxnHorizon: -1}
	if out.Kind == engine.Committed || out.Kind == engine.Unchanged {
		c.report(res)
		if _, ok := c.planner.(fitter); ok && c.planned != nil && out.Snapshot != nil {
			theirs := slices.DeleteFunc(addedSince(c.planned.Schema(), out.Snapshot.Schema(), ""), func(column string) bool { return slices.Contains(res.AddedColumns, column) })
			res.MissingColumns = append(res.MissingColumns, theirs...)
		}
	}
	if c.txn.given() {
		if err := t.reportTxn(ctx, c, out, res); err != nil {
			return nil, wrap(c.op, t.store.URL(), versionOf(snap), out.Attempts, err)
		}
	}
	t.opts.Logger.Debug("idem: "+c.op, "table", t.store.URL(), "outcome", res.Outcome.String(), "version", res.Version, "attempts", res.Attempts)
	return res, nil
}

// fitting is the snapshot at hand or, if the call does not go with it, the newest: another writer
// may have added the column that it seems to lack.
func (t *Table) fitting(ctx context.Context, c *call) (*delta.Snapshot, error) {
	snap := t.current()
	if f, ok := c.planner.(fitter); ok && f.Fits(snap) != nil {
		return t.newest(ctx)
	}
	return snap, nil
}

var outcomes = map[engine.Kind]Outcome{
	engine.Committed: Committed, engine.AlreadyApplied: AlreadyApplied,
	engine.Superseded: Superseded, engine.Unchanged: Unchanged,
}

func versionOf(s *delta.Snapshot) int64 {
	if s == nil {
		return -1
	}
	return s.Version()
}

// reportTxn says what the tag did, and compares the rows of a skipped call with those recorded.
func (t *Table) reportTxn(ctx context.Context, c *call, out engine.Outcome, res *Result) error {
	res.TxnHorizon = out.Tag.Horizon
	if out.Kind == engine.Committed {
		res.TxnHorizon = out.Version
	}
	if out.Snapshot != nil {
		res.TxnRetention, _ = out.Snapshot.TxnRetention()
	}
	switch out.Kind {
	case engine.Superseded:
		t.opts.Logger.Warn("idem: a batch is superseded by a later one of its app id: is the app id shared by two loaders?",
			"table", t.store.URL(), "app", c.txn.AppID, "version", c.txn.Version, "recorded", out.Recorded)
		return nil
	case engine.AlreadyApplied:
		if c.txn.VerifyPayload {
			return c.verify(ctx, out.Snapshot, out.Tag.At, res)
		}
	}
	return nil
}

// Tag implements engine.Tagged: a call whose tag is recorded reads no row.
func (c *call) Tag() (commit.Tag, bool, bool) {
	tag := c.txn.tag()
	if tag == nil {
		return commit.Tag{}, false, false
	}
	return *tag, c.txn.Reapply, true
}

// Plan implements engine.Planner.
func (c *call) Plan(ctx context.Context, snap *delta.Snapshot) (*commit.Intent, error) {
	c.planned = snap
	p, err := c.planner.Plan(ctx, snap)
	if err != nil {
		return nil, err
	}
	tag := c.txn.tag()
	if c.rewind != nil {
		tag = c.rewind
	}
	nothing := p == nil || len(p.Actions) == 0 && !p.Record && c.rewind == nil
	if nothing && (tag == nil || c.rewind != nil) {
		return nil, nil
	}
	if p == nil {
		p = &plan.Proposal{Operation: "WRITE", Parameters: map[string]any{"mode": "Append"}, BlindAppend: c.appends()}
	}
	in := &commit.Intent{
		TxnID: c.txnID, ReadVersion: -1, Actions: p.Actions, Reads: p.Reads, Tag: tag,
		Reapply: c.txn.Reapply, Rewind: c.rewind != nil, Isolation: c.table.opts.Isolation.level(),
		BlindAppend: p.BlindAppend, DataChange: !p.Rearranges,
		Info: delta.CommitInfo{
			Timestamp: c.table.opts.Clock.Now().UnixMilli(), Operation: p.Operation, OperationParameters: p.Parameters,
			OperationMetrics: p.Metrics, EngineInfo: commit.Engine, UserMetadata: c.note, Tags: p.Tags,
		},
	}
	if snap != nil {
		in.ReadVersion, in.TableID = snap.Version(), snap.Metadata().ID
	}
	if c.keepsPayload(snap) {
		in.Actions, err = c.withPayload(ctx, snap, in.Actions)
	}
	return in, err
}

func (c *call) appends() bool { return c.op == opAppend || c.op == opAppendWithTxn }

// keepsPayload says whether rows and digest are recorded: when the call asks for it, and when an
// earlier one did, so that the records never tell of rows that the tag has no more.
func (c *call) keepsPayload(snap *delta.Snapshot) bool {
	if !c.txn.given() || snap == nil {
		return false
	}
	_, kept := snap.Txn(payloadAt + c.txn.AppID)
	return kept || c.txn.VerifyPayload
}

// withPayload adds the records of rows and digest that travel beside the tag. All carry one
// lastUpdated: a tag that another engine wrote since has another.
func (c *call) withPayload(ctx context.Context, snap *delta.Snapshot, actions []delta.Action) ([]delta.Action, error) {
	n, d, err := c.payload(ctx, snap)
	if err != nil {
		return nil, err
	}
	now := c.table.opts.Clock.Now().UnixMilli()
	record := func(name string, v int64) delta.Action {
		return delta.Action{Txn: &delta.Txn{AppID: name + c.txn.AppID, Version: v, LastUpdated: &now}}
	}
	return append(actions[:len(actions):len(actions)], record("", c.txn.Version),
		record(payloadAt, c.txn.Version), record(payloadRows, n), record(payloadBits, lowBits(d))), nil
}

func (c *call) payload(ctx context.Context, snap *delta.Snapshot) (int64, rows.Digest, error) {
	p, ok := c.planner.(payloader)
	if !ok {
		return 0, rows.Digest{}, nil
	}
	return p.Payload(ctx, snap)
}

// lowBits are the low 63 bits of a digest, which fit the version of a txn action.
func lowBits(d rows.Digest) int64 { return int64(d.Lo & math.MaxInt64) }

// verify compares the rows of a skipped call with those that its tag was recorded with, by the commit of a version.
func (c *call) verify(ctx context.Context, snap *delta.Snapshot, version int64, res *Result) error {
	at, known := snap.Txn(payloadAt + c.txn.AppID)
	tag, _ := snap.Txn(c.txn.AppID)
	if !known || at.Version != c.txn.Version || tag.Version != at.Version || !sameTime(tag.LastUpdated, at.LastUpdated) {
		res.PayloadUnknown = true
		return nil
	}
	n, d, err := c.payload(ctx, snap)
	res.RowsRead = n
	wrote, _ := snap.Txn(payloadRows + c.txn.AppID)
	bits, _ := snap.Txn(payloadBits + c.txn.AppID)
	switch {
	case err == nil && wrote.Version == n && bits.Version == lowBits(d):
		return nil
	case err != nil && !errors.Is(err, ErrInput) && !errors.Is(err, ErrUnsupported):
		return err
	}
	changed, failed := c.table.definedOtherwise(ctx, snap, version)
	switch {
	case failed != nil:
		return failed
	case changed:
		res.PayloadUnknown = true
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: %s@%d was written with %d rows (digest …%016x) and comes again with %d rows (…%016x); nothing was changed: find out which are right, "+
		"then write the others under a new version or move the tag back with RewindTxn", ErrPayload, c.txn.AppID, c.txn.Version, wrote.Version, bits.Version, n, lowBits(d))
}

// definedOtherwise says whether the table is known to have had another definition at a version, by which it took rows
// otherwise: those cannot be compared with rows that it takes by this one. The log may not reach back so far.
func (t *Table) definedOtherwise(ctx context.Context, now *delta.Snapshot, version int64) (bool, error) {
	then, err := t.log.LoadAt(ctx, version)
	switch {
	case errors.Is(err, ErrInput):
		return false, nil
	case err != nil:
		return false, err
	}
	same, err := plan.TakesAlike(then, now)
	return err == nil && !same, err
}

func sameTime(a, b *int64) bool { return a != nil && b != nil && *a == *b }

// Resolution is what became of a call whose outcome was unknown.
type Resolution struct {
	_ struct{}

	// Committed says that the commit is in the table, at Version. Otherwise it is not and never
	// will be.
	Committed bool
	Version   int64
}

// Resolve finds out what became of a call that ended in [ErrUnknownOutcome]: err is its error. If
// the store still cannot say, the error wraps [ErrUnknownOutcome] again: ask later.
func (t *Table) Resolve(ctx context.Context, err error) (*Resolution, error) {
	const op = "Resolve"
	u := (*engine.UnknownError)(nil)
	if !errors.As(err, &u) {
		return nil, t.fail(op, fmt.Errorf("%w: the error given does not wrap ErrUnknownOutcome: there is nothing to resolve", ErrInput))
	}
	if err := t.ready(ctx); err != nil {
		return nil, t.fail(op, err)
	}
	out, err := t.engine.Resolve(ctx, u)
	if err != nil {
		return nil, t.fail(op, err)
	}
	t.saw(out.Snapshot)
	return &Resolution{Committed: out.Kind != engine.NotCommitted, Version: out.Version}, nil
}
