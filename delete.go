package idem

import (
	"context"
	"fmt"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/plan"
)

const opDelete = "Delete"

// Delete asks to delete rows.
type Delete struct {
	_ struct{}

	// Where says which rows: those for which it is TRUE. It must name at least one column.
	Where string
	Args  []any

	// Condition is the same as a tree, instead of Where.
	Condition expr.Expr

	Txn  Txn
	Note string
}

// Delete deletes the rows for which the condition is TRUE, in one commit. A second call finds
// nothing and is Unchanged.
//
// A file all of whose rows go is removed. Of others only the columns of the condition are read where
// the table has deletion vectors (delta.enableDeletionVectors): the file stays and a vector beside it
// says which rows are gone, until less than half of them is left. Elsewhere, and then, the rows that
// stay are copied.
func (t *Table) Delete(ctx context.Context, r Delete) (*Result, error) {
	where, err := condition("Where", r.Where, r.Args, r.Condition)
	if err == nil && where == nil {
		err = fmt.Errorf("%w: Delete.Where is empty; to delete every row use ReplaceAll with AllowEmpty", ErrInput)
	}
	if err != nil {
		return nil, t.fail(opDelete, err)
	}
	p := &plan.Replace{Env: &t.env, Where: where, AllowEmpty: true}
	defer p.Close()
	return t.write(ctx, &call{
		op: opDelete, txn: r.Txn, note: r.Note, planner: p,
		report: func(res *Result) { res.take(p.Counts) },
	})
}
