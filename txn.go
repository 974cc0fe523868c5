package idem

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/plan"
)

const (
	opAppend        = "Append"
	opAppendWithTxn = "AppendWithTxn"
	opRewindTxn     = "RewindTxn"
)

// Txn tags a write with a version of an application, in the same commit: the table itself
// remembers what was written. Use one AppID for each ordered stream of batches. Two parallel
// loaders that share one make each other's batches look superseded.
type Txn struct {
	_ struct{}

	// AppID names the stream of batches, in UTF-8. It must be the same in every run and every retry.
	AppID string

	// Version is the batch, at least 0: the same on every retry of the same rows, and higher for
	// every later batch.
	Version int64

	// VerifyPayload keeps a digest of the rows beside the tag. A repeat then reads its rows and
	// compares: other rows under a recorded tag are [ErrPayload]. Where the table's definition changed since
	// and the rows are not the same by the new one, nobody can tell: [Result.PayloadUnknown].
	VerifyPayload bool

	// Reapply writes the rows again when the tag is recorded but a RESTORE took its rows away. If a later
	// batch was written since, its record stays (and no digest of these rows is kept). Batches before this
	// one that the same RESTORE took away are superseded by it: write them again in order.
	Reapply bool

	// Evolve also adds the columns that the rows have and the table lacks, as [ReplaceWhere.Evolve]
	// does. It stands here for [Table.AppendWithTxn], which takes nothing but a Txn; with another
	// verb it does the same as the Evolve of that verb.
	Evolve bool
}

func (x Txn) given() bool { return x != Txn{} }

func (x Txn) validate() error {
	switch {
	case x.AppID == "":
		return fmt.Errorf("%w: Txn.AppID is empty: a tag needs both AppID and Version", ErrInput)
	case x.Version < 0:
		return fmt.Errorf("%w: Txn.Version is %d; it is at least 0", ErrInput, x.Version)
	case !utf8.ValidString(x.AppID):
		return fmt.Errorf("%w: Txn.AppID %q is not UTF-8: the log could not keep it, and no retry would find it again", ErrInput, x.AppID)
	case commit.Reserved(x.AppID):
		return fmt.Errorf("%w: Txn.AppID %q: names under %q are idem's own", ErrInput, x.AppID, reservedApps)
	}
	return nil
}

func (x Txn) tag() *commit.Tag {
	if !x.given() {
		return nil
	}
	return &commit.Tag{AppID: x.AppID, Version: x.Version}
}

// Names of the records that travel beside a tag, in txn actions of idem's own name space.
const (
	reservedApps = "idem/v1/"
	payloadAt    = reservedApps + "at/"     // the tagged version that rows and digest belong to
	payloadRows  = reservedApps + "rows/"   // number of rows
	payloadBits  = reservedApps + "digest/" // low 63 bits of the digest
)

// AppendWithTxn appends rows once for each (AppID, Version).
//
// If the table records this version of AppID, or a later one, no row is read and nothing is
// written: the result is AlreadyApplied, or Superseded, which is also what two loaders that share
// one AppID look like. Rows that are none commit the tag, so that a repeat is recognised.
//
// If a RESTORE took the recorded rows away the error is [ErrRestored]; that is known while the log
// still has the commits since the tag ([Result.TxnHorizon]). If the table sets
// delta.setTransactionRetentionDuration it forgets tags after that time, and the guard ends there
// ([Result.TxnRetention]).
//
// A column that the table lacks is [ErrInput], or is added to it with Txn.Evolve, by the commit that
// has the rows and the tag; a skipped call adds none.
//
// The caller keeps ownership of rows and releases them.
func (t *Table) AppendWithTxn(ctx context.Context, rows array.RecordReader, txn Txn) (*Result, error) {
	in, err := taken(rows)
	if err != nil {
		return nil, t.fail(opAppendWithTxn, err)
	}
	if err := txn.validate(); err != nil {
		return nil, t.fail(opAppendWithTxn, err)
	}
	p := &plan.Append{Env: &t.env, Input: in, Evolve: txn.Evolve}
	return t.write(ctx, t.appendCall(opAppendWithTxn, p, txn, ""))
}

// Append asks for a plain append.
type Append struct {
	_ struct{}

	// Reason says why duplicates are acceptable. It is required and kept in the log.
	Reason string

	// Evolve adds the columns that the rows have and the table lacks: see [ReplaceWhere.Evolve].
	Evolve bool
}

// Append appends rows. A second call appends them again: use it only where that is accepted, and
// say why in Reason. Rows that are none are Unchanged, unless they bring a column (Evolve).
//
// An unknown outcome ([ErrUnknownOutcome]) must not be answered by calling again: [Table.Resolve]
// finds out what became of it.
func (t *Table) Append(ctx context.Context, rows array.RecordReader, r Append) (*Result, error) {
	in, err := taken(rows)
	if err != nil {
		return nil, t.fail(opAppend, err)
	}
	if strings.TrimSpace(r.Reason) == "" {
		return nil, t.fail(opAppend, fmt.Errorf("%w: Append.Reason is empty: a plain append doubles its rows when it is repeated; say why that is acceptable, or use AppendWithTxn", ErrInput))
	}
	p := &plan.Append{Env: &t.env, Input: in, Evolve: r.Evolve}
	return t.write(ctx, t.appendCall(opAppend, p, Txn{}, r.Reason))
}

func (t *Table) appendCall(op string, p *plan.Append, txn Txn, note string) *call {
	return &call{
		op: op, txn: txn, note: note, planner: p,
		report: func(r *Result) { r.take(p.Counts); r.MissingColumns, r.AddedColumns = p.Missing, p.Added },
	}
}

// RewindTxn moves the tag of an application back to a version on purpose, in a commit of its own;
// to = -1 means that nothing was ever applied. Versions after it will be written again when they
// come; those up to it count as written, also if a RESTORE took them away. A tag that stands there
// already is Unchanged; one that stands lower is [ErrInput].
func (t *Table) RewindTxn(ctx context.Context, appID string, to int64) (*Result, error) {
	if appID == "" || to < -1 || commit.Reserved(appID) || !utf8.ValidString(appID) {
		return nil, t.fail(opRewindTxn, fmt.Errorf("%w: RewindTxn(%q, %d): the app id is a name in UTF-8 outside %q and the version at least -1", ErrInput, appID, to, reservedApps))
	}
	if !t.frozen && standsAt(t.current(), appID) < to { // the snapshot at hand may be too old to say so
		if _, err := t.newest(ctx); err != nil {
			return nil, t.fail(opRewindTxn, err)
		}
	}
	return t.write(ctx, &call{op: opRewindTxn, planner: &rewind{appID: appID, to: to}, rewind: &commit.Tag{AppID: appID, Version: to}, report: func(*Result) {}})
}
