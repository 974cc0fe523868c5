package idem

import (
	"errors"
	"fmt"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/redact"
)

// One sentinel for each decision that a caller can take. Every error of this package wraps exactly
// one of them; docs/errors.md shows each. Only what a job returned to [RunTwice] is handed on with what
// it wraps itself, and nothing beside. A call that ends in an error gives no Result.
var (
	// ErrConflict: another writer changed what this call relied on. Compute the rows anew and call
	// again.
	ErrConflict = commit.ErrConflict

	// ErrUnknownOutcome: the store could not say whether the commit landed. Call again: that is safe
	// for every verb but Append, for which [Table.Resolve] finds the answer.
	ErrUnknownOutcome = commit.ErrUnknownOutcome

	// ErrInput: the rows or the request break a rule. Fix them.
	ErrInput = delta.ErrInput

	// ErrPayload: the tag is recorded with other rows. Find out which are right.
	ErrPayload = commit.ErrPayload

	// ErrRestored: the tag is recorded, but a RESTORE took its rows away. Set Txn.Reapply to write
	// them again, or move the tag back with [Table.RewindTxn].
	ErrRestored = commit.ErrRestored

	// ErrUnsupported: the table uses a feature that idem does not read or does not write. The text
	// names it.
	ErrUnsupported = delta.ErrUnsupported

	// ErrCorrupt: the log or a file breaks the protocol. The text names file and position.
	ErrCorrupt = delta.ErrCorrupt

	// ErrNotTable: there is no Delta table at the place. Verbs never create one in passing.
	ErrNotTable = delta.ErrNotTable

	// ErrInterrupted: something that the call depends on failed before anything was committed: the
	// store, the disk for spill files, the rows' own reader, or the context ended. The error wraps that
	// one's own too. Nothing was committed; call again when it works. Of a call that makes several
	// commits, as some of package maintain do, the text says which were made: they stay, and calling
	// again goes on from there.
	ErrInterrupted = errors.New("interrupted: nothing was committed; call again when what failed works")
)

// sentinels are all of them, in the order of the documentation.
var sentinels = [...]error{
	ErrConflict, ErrUnknownOutcome, ErrInput, ErrPayload, ErrRestored, ErrUnsupported, ErrCorrupt, ErrNotTable, ErrInterrupted,
}

// Error is what every failed call returns. errors.Is finds its sentinel.
type Error struct {
	_ struct{}

	// Op is the verb, e.g. "ReplaceWhere".
	Op string

	// Table is the table's URL, without secrets.
	Table string

	// Version is the version that the call had planned on, -1 if there was none.
	Version int64

	// Attempts is the number of commits that were proposed.
	Attempts int

	cause error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "idem: %s %s", e.Op, e.Table)
	if e.Version >= 0 {
		fmt.Fprintf(&b, " at version %d", e.Version)
	}
	fmt.Fprintf(&b, ": %v", e.cause)
	return b.String()
}

// Unwrap gives the cause. One that spoke of a URL with a secret in it says it without; what that one wrapped is
// found by errors.Is and errors.As only.
func (e *Error) Unwrap() error { return e.cause }

// interruptedAfter is the sentinel ErrInterrupted of a call that had committed something.
type interruptedAfter struct{ again string }

func (i interruptedAfter) Error() string { return "interrupted: " + i.again }

func (i interruptedAfter) Is(target error) bool { return target == ErrInterrupted }

// classified gives a cause that wraps one sentinel: an error that is none of ours came from what the
// call depends on. An outcome that is unknown has a sentinel already, so nothing was committed, but for
// what the call did before. What a job returned is its own.
func classified(cause error) error {
	if j := (*afterJob)(nil); errors.As(cause, &j) && j.returned {
		return cause
	}
	if errors.Is(cause, ErrUnknownOutcome) { // whatever kept us from looking
		return decided(cause, ErrUnknownOutcome)
	}
	for _, s := range sentinels {
		if errors.Is(cause, s) {
			return decided(cause, s)
		}
	}
	if p := (*inside.Partly)(nil); errors.As(cause, &p) {
		return fmt.Errorf("%w: %w", cause, interruptedAfter{p.Again})
	}
	return fmt.Errorf("%w: %w", cause, ErrInterrupted)
}

// decided is an error that wraps a sentinel and no other one: what failed on the way may have had its own.
func decided(err, sentinel error) error {
	for _, s := range sentinels {
		if s != sentinel && errors.Is(err, s) {
			return &decision{error: err, sentinel: sentinel}
		}
	}
	return err
}

type decision struct {
	error
	sentinel error
}

func (d *decision) Is(target error) bool {
	for _, s := range sentinels {
		if s == target {
			return s == d.sentinel
		}
	}
	return errors.Is(d.error, target)
}

func (d *decision) As(target any) bool { return errors.As(d.error, target) }

// wrap puts a cause into an Error, once. No secret of a URL gets past it: what a store, the rows' reader or a
// path in the log said of one is left out.
func wrap(op, table string, version int64, attempts int, cause error) error {
	if cause == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(cause, &e) {
		return redact.Error(cause)
	}
	return &Error{Op: op, Table: redact.URL(table), Version: version, Attempts: attempts, cause: redact.Error(classified(cause))}
}

// SafeToRunAgain says whether a scheduler may call again with the same arguments: that cannot double
// the work, and may help. It is false for a nil error, for a plain [Table.Append] whose outcome is
// unknown, for the sentinels that calling again cannot mend, and for an [ErrConflict] of a table that was
// defined otherwise than the call says (by Create, maintain.AlterTable and their like), or is no copy that
// maintain.CloneTable could bring up to its source, and for an error of [RunTwice] once its job was
// started: whether that may run again is what was to be found out. Of [ErrInterrupted] it says true:
// whether what failed will pass is not for idem to know.
func SafeToRunAgain(err error) bool {
	if j := (*afterJob)(nil); err == nil || errors.As(err, &j) {
		return false
	}
	if errors.Is(err, ErrUnknownOutcome) {
		e := (*Error)(nil)
		return !errors.As(err, &e) || e.Op != opAppend
	}
	for _, final := range []error{ErrInput, ErrPayload, ErrRestored, ErrUnsupported, ErrCorrupt, ErrNotTable, delta.ErrDiffers} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}
