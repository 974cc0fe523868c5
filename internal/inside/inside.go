// Package inside lets the packages that take a table reach its log and the one path by which every
// commit is made.
//
// Families of operations beside the verbs (package maintain and its neighbours) are packages of
// their own, so that the root does not grow, and no internal type may appear in the root's public
// methods. What they need is handed over here: the root binds one function when the program starts,
// and nothing is changed afterwards.
package inside

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/plan"
)

// Table is the inside of a table.
type Table struct {
	// Store holds the table's objects, as it was given.
	Store store.Store

	// Log reads and writes the log; Log.Store is the store with retries for reads.
	Log *logio.Log

	// Env is what planners need: allocator, budget, clock, ids.
	Env *plan.Env

	// Frozen says that this is a view of one version, which refuses to write.
	Frozen bool

	// Newest is the newest snapshot, looked for in the log; that of a view is its own.
	Newest func(ctx context.Context) (*delta.Snapshot, error)

	// CheckTags says for each of some tags whether its work is in a snapshot of the table.
	CheckTags func(ctx context.Context, snap *delta.Snapshot, tags ...commit.Tag) ([]commit.TagAnswer, error)

	// Write carries out a call on the one path by which every verb commits. Its result is the
	// root's *Result, its error ready to be given to the caller.
	Write func(ctx context.Context, c Call) (any, error)

	// Rows gives the rows of one call to its planner; none, or rows that an earlier call used up, are
	// errors.
	Rows func(rows array.RecordReader) (plan.Input, error)

	// Fail wraps an error as the verbs do: op, table, version, cause. nil stays nil.
	Fail func(op string, err error) error
}

// Planner plans one call, anew for each attempt: see package plan. nil, or a proposal without
// actions, says that there is nothing to do.
type Planner interface {
	Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error)
}

// Call is one call of an operation that commits.
type Call struct {
	// Op is the operation's name for errors: "Optimize".
	Op string

	// Note is kept in the commit.
	Note string

	// Tag, if any, makes the call one that is skipped when the tag is recorded.
	Tag                    *commit.Tag
	Reapply, VerifyPayload bool

	Planner Planner

	// Done is what earlier commits of the same operation did, in words; "" if there was none.
	Done string

	// Counts are taken into the result when the call has committed or had nothing to do; may be nil.
	Counts func() plan.Counts

	// Columns are the table's columns that the rows lacked, and those that the call added; may be nil.
	Columns func() (missing, added []string)
}

// Partly is an error that ended an operation after it had committed something, which stays.
type Partly struct {
	Err error

	// Done is what was committed, in words, and Again what calling again does.
	Done, Again string
}

func (p *Partly) Error() string {
	return fmt.Sprintf("%v (before that %s, and that stays)", p.Err, p.Done)
}

func (p *Partly) Unwrap() error { return p.Err }

// GoesOn is what calling again does of an operation that finds what is done.
const GoesOn = "call again when what failed works, and it goes on from there"

// After marks an error of an operation that committed something before it: done says what, "" if nothing.
func After(done string, err error) error {
	if err == nil || done == "" {
		return err
	}
	return &Partly{Err: err, Done: done, Again: GoesOn}
}

var open func(table any) *Table

// Bind is called once, by the root's init.
func Bind(f func(table any) *Table) { open = f }

// Of gives the inside of an *idem.Table; nil if that is nil, or the zero Table.
func Of(table any) *Table { return open(table) }
