package idem

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/plan"
)

const (
	opReplaceWhere = "ReplaceWhere"
	opReplaceAll   = "ReplaceAll"
)

// ReplaceWhere asks to make a slice of the table equal to the rows given.
type ReplaceWhere struct {
	_ struct{}

	// Where is the slice as Spark SQL text, each ? taking the next of Args. It must be boolean and
	// name at least one column. Rows for which it is TRUE are replaced; FALSE and NULL are kept.
	Where string
	Args  []any

	// Condition is the slice as a tree, instead of Where.
	Condition expr.Expr

	// AllowEmpty lets rows that are none empty the slice.
	AllowEmpty bool

	// MaxShrink refuses rows that are this fraction, or more, fewer than the slice holds (0.5: half
	// as many, or less), the sign of a partial source. 0 is off.
	MaxShrink float64

	// Evolve adds the columns that the rows have and the table lacks, in the commit that writes the
	// rows; Where may name them. Without it such a column is an error. New columns, and new fields
	// of structs at any depth, go to the end and are nullable; what the table had keeps its
	// spelling, order and type, and rows that were there read the new columns as NULL.
	Evolve bool

	// Txn fences and skips: see [Table.AppendWithTxn]. Optional.
	Txn Txn

	// Note is kept in the commit (userMetadata).
	Note string
}

// ReplaceAll asks to make the whole table equal to the rows given.
type ReplaceAll struct {
	_ struct{}

	AllowEmpty bool    // as in ReplaceWhere
	MaxShrink  float64 // as in ReplaceWhere
	Evolve     bool    // as in ReplaceWhere
	Txn        Txn
	Note       string
}

// ReplaceWhere makes the rows of the table for which the slice is TRUE equal to the rows given, in
// one commit. Every row given must be in the slice. Columns go by name, ignoring case, at every
// level; a column that the rows lack becomes NULL or its default and is named in the result, or is
// what the table makes it ([Column]), and one that the table lacks is an error, or is added to it with
// Evolve.
//
// A second call with the same rows changes nothing and makes no version: the result is Unchanged.
// Rows that implement [Rewinder] are hashed first and then written only if they
// differ; others are written, compared, and dropped again when equal. Two calls at once on one
// slice: one wins, the other compares and redoes its work against the new table, or returns
// [ErrConflict].
//
// Nested values are equal by content: NULL is not a struct of NULLs nor an empty list, lists are
// ordered, and maps are not.
//
// Errors: [ErrInput] for rows outside the slice, rows that the table's columns or constraints do
// not take, an empty replacement without AllowEmpty, a slice that is not a condition.
//
// The caller keeps ownership of rows and releases them.
func (t *Table) ReplaceWhere(ctx context.Context, rows array.RecordReader, r ReplaceWhere) (*Result, error) {
	where, err := condition("Where", r.Where, r.Args, r.Condition)
	if err == nil && where == nil {
		err = fmt.Errorf("%w: ReplaceWhere.Where is empty; use ReplaceAll for the whole table", ErrInput)
	}
	if err == nil {
		err = checkShrink(r.MaxShrink)
	}
	if err != nil {
		return nil, t.fail(opReplaceWhere, err)
	}
	p := &plan.Replace{Env: &t.env, Where: where, AllowEmpty: r.AllowEmpty, MaxShrink: r.MaxShrink, Evolve: r.Evolve || r.Txn.Evolve}
	return t.replace(ctx, opReplaceWhere, rows, p, r.Txn, r.Note)
}

// ReplaceAll makes the whole table equal to the rows given, in one commit, as [Table.ReplaceWhere]
// does for a slice.
func (t *Table) ReplaceAll(ctx context.Context, rows array.RecordReader, r ReplaceAll) (*Result, error) {
	if err := checkShrink(r.MaxShrink); err != nil {
		return nil, t.fail(opReplaceAll, err)
	}
	p := &plan.Replace{Env: &t.env, AllowEmpty: r.AllowEmpty, MaxShrink: r.MaxShrink, Evolve: r.Evolve || r.Txn.Evolve}
	return t.replace(ctx, opReplaceAll, rows, p, r.Txn, r.Note)
}

func (t *Table) replace(ctx context.Context, op string, rows array.RecordReader, p *plan.Replace, txn Txn, note string) (*Result, error) {
	var err error
	if p.Input, err = taken(rows); err != nil {
		return nil, t.fail(op, err)
	}
	defer p.Close()
	return t.write(ctx, &call{
		op: op, txn: txn, note: note, planner: p,
		report: func(r *Result) { r.take(p.Counts); r.MissingColumns, r.AddedColumns = p.Missing, p.Added },
	})
}

func checkShrink(f float64) error {
	if f < 0 || f > 1 || f != f {
		return fmt.Errorf("%w: MaxShrink is %v; it is a fraction between 0 (off) and 1", ErrInput, f)
	}
	return nil
}

// condition makes the tree of a condition given as text or as a tree; nil if neither is given.
func condition(name, text string, args []any, tree expr.Expr) (expr.Expr, error) {
	switch {
	case tree != nil && (text != "" || len(args) > 0):
		return nil, fmt.Errorf("%w: %s is given both as text and as a tree; give one", ErrInput, name)
	case tree != nil:
		return tree, nil
	case text == "" && len(args) == 0:
		return nil, nil
	case text == "":
		return nil, fmt.Errorf("%w: %s is empty, and there are %d arguments for it", ErrInput, name, len(args))
	}
	e, err := expr.Parse(text, args...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInput, name, err)
	}
	return e, nil
}
