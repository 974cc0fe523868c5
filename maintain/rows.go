package maintain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

const (
	opUpdate    = "Update"
	opOverwrite = "OverwritePartitions"
)

// Update asks to set columns of rows.
type Update struct {
	_ struct{}

	// Where says which rows: those for which it is TRUE, as Spark SQL text, each ? taking the next of
	// Args. It is required; "TRUE" is every row.
	Where string
	Args  []any

	// Condition is the same as a tree, instead of Where.
	Condition expr.Expr

	// Set gives columns, and fields of structs ("address.city": see Names of package idem), a value: the text of an expression
	// over the columns of the row as it was. It is stored as Spark stores it: see [idem.Clause].
	Set map[string]string

	// SetExpr is the same as trees, beside Set. [expr.Lit] gives a value of the program.
	SetExpr map[string]expr.Expr

	// Txn fences and skips: see [idem.Table.AppendWithTxn]. What would not be so after a second call,
	// SET n = n + 1, needs it.
	Txn idem.Txn

	// Note is kept in the commit.
	Note string
}

// UpdateTable sets columns of the rows for which the condition is TRUE, in one commit. Rows that are as
// they would be already count for nothing and are left where they are, in files that are not
// touched.
//
// A second call finds nothing to do and is Unchanged. That is proven row by row before anything is
// committed, as [idem.Table.Merge] does: a row that the same call would change again is
// [idem.ErrInput], which shows the row and the ways out, unless the call has a Txn by which the
// repeat is skipped. Of two calls at once one wins; the other redoes its work on the table that the first
// one left, or returns [idem.ErrConflict].
//
// Generated columns follow what they are computed of, rows keep their ids, and a change data feed is
// told both versions of a row. Constraints and NOT NULL are checked. Identity columns cannot be set.
//
// Errors: [idem.ErrInput] for a condition, a column or an expression that the table does not take,
// for a value that does not fit its column, and for an append-only table.
func UpdateTable(ctx context.Context, t *idem.Table, r Update) (*idem.Result, error) {
	in, err := open(ctx, opUpdate, t)
	if err != nil {
		return nil, err
	}
	p, err := r.planner(in.Env)
	if err != nil {
		return nil, in.Fail(opUpdate, err)
	}
	defer p.Close()
	return write(ctx, in, tagged(inside.Call{Op: opUpdate, Note: r.Note, Planner: p, Counts: func() plan.Counts { return p.Counts }}, r.Txn))
}

// planner reads the texts of the request.
func (r *Update) planner(env *plan.Env) (*plan.Update, error) {
	where, err := condition(r.Where, r.Args, r.Condition)
	if err == nil && where == nil {
		err = fmt.Errorf("%w: Update.Where is empty; to update every row set it to TRUE", idem.ErrInput)
	}
	if err != nil {
		return nil, err
	}
	p := &plan.Update{Env: env, Where: where, Once: r.Txn != idem.Txn{}}
	for _, column := range slices.Sorted(maps.Keys(r.Set)) {
		value, err := expr.Parse(r.Set[column])
		if err != nil {
			return nil, fmt.Errorf("%w: Update.Set of %s: %w", idem.ErrInput, column, err)
		}
		p.Set = append(p.Set, plan.MergeAssignment{Column: column, Value: value})
	}
	for _, column := range slices.Sorted(maps.Keys(r.SetExpr)) {
		if r.SetExpr[column] == nil {
			return nil, fmt.Errorf("%w: Update.SetExpr of %s is nil; expr.Lit(nil) is NULL", idem.ErrInput, column)
		}
		p.Set = append(p.Set, plan.MergeAssignment{Column: column, Value: r.SetExpr[column]})
	}
	return p, nil
}

// tagged gives a call its tag.
func tagged(c inside.Call, txn idem.Txn) inside.Call {
	if txn != (idem.Txn{}) {
		c.Tag, c.Reapply, c.VerifyPayload = &commit.Tag{AppID: txn.AppID, Version: txn.Version}, txn.Reapply, txn.VerifyPayload
	}
	return c
}

// Overwrite asks to replace the partitions that rows are in.
type Overwrite struct {
	_ struct{}

	// MaxShrink refuses rows that are this fraction, or more, fewer than their partitions hold (0.5:
	// half as many, or less), the sign of a partial source. 0 is off.
	MaxShrink float64

	// Evolve adds the columns that the rows have and the table lacks: see [idem.ReplaceWhere.Evolve].
	Evolve bool

	Txn  idem.Txn
	Note string
}

// OverwritePartitions makes each partition that the rows given have a row in equal to those rows, in
// one commit: what Spark calls a dynamic partition overwrite. Other partitions stay as they are, also
// those that a partial source should have had rows for: where the slice is known
// [idem.Table.ReplaceWhere] is the safer call, which empties what has no rows any more.
//
// A second call with the same rows is Unchanged and writes nothing, and rows that are none change
// nothing. Two calls at once on partitions that differ do not disturb each other; on one partition the
// second redoes its work, or returns [idem.ErrConflict]. Rows are taken as by ReplaceWhere.
//
// Errors: [idem.ErrInput] for a table without partition columns, for rows that lack one which the table
// neither generates nor has a default for, and for rows that the table does not take. The caller keeps ownership of rows and releases them.
func OverwritePartitions(ctx context.Context, t *idem.Table, rows array.RecordReader, r Overwrite) (*idem.Result, error) {
	in, err := open(ctx, opOverwrite, t)
	if err != nil {
		return nil, err
	}
	input, err := in.Rows(rows)
	if err == nil && (r.MaxShrink < 0 || r.MaxShrink > 1 || r.MaxShrink != r.MaxShrink) {
		err = fmt.Errorf("%w: Overwrite.MaxShrink is %v; it is a fraction between 0 (off) and 1", idem.ErrInput, r.MaxShrink)
	}
	if err != nil {
		return nil, in.Fail(opOverwrite, err)
	}
	p := &plan.Replace{Env: in.Env, Input: input, Dynamic: true, MaxShrink: r.MaxShrink, Evolve: r.Evolve || r.Txn.Evolve}
	defer p.Close()
	return write(ctx, in, tagged(inside.Call{
		Op: opOverwrite, Note: r.Note, Planner: p, Counts: func() plan.Counts { return p.Counts },
		Columns: func() (missing, added []string) { return p.Missing, p.Added },
	}, r.Txn))
}
