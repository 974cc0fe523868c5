package maintain

import (
	"context"
	"fmt"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/inside"
)

const opOptimize = "Optimize"

// Optimize asks for the files of a table to be laid out anew.
type Optimize struct {
	_ struct{}

	// Where restricts the work to the files that may have rows for which it is TRUE: a condition on
	// partition columns, as a rule. "" and a nil Condition mean the whole table.
	Where string
	Args  []any

	// Condition is the same as a tree, instead of Where.
	Condition expr.Expr

	// TargetFileBytes is the size of files to aim at. 0 means idem.Options.TargetFileBytes, the table's
	// delta.targetFileSize, or 128 MiB.
	TargetFileBytes int64

	// ZOrderBy are columns that conditions name often, and fields of structs ("address.city"). Rows are
	// ordered along a Hilbert curve through them, so that each file spans little of each of them and
	// conditions on any skip files. A clustered table has its own columns for that, and takes none.
	ZOrderBy []string

	// Full also lays out anew what was laid out before by the same columns and has grown large enough to
	// be left alone.
	Full bool

	// Note is kept in the commit.
	Note string
}

// Optimized is what Optimize did.
type Optimized struct {
	_ struct{}

	// Outcome is Committed or Unchanged.
	Outcome idem.Outcome

	// Version is the version committed, or the newest version looked at.
	Version int64

	// Attempts is the number of commits that were proposed.
	Attempts int

	FilesAdded, FilesRemoved int64
	BytesAdded, BytesRemoved int64
	RowsCopied               int64

	// VectorsRemoved is the number of deletion vectors that are gone, with the rows that they deleted.
	VectorsRemoved int64

	// Partitions is the number of partitions in which files were laid out anew.
	Partitions int64
}

// String is one line for a log.
func (o *Optimized) String() string {
	return fmt.Sprintf("%s, version %d: %d files (%d bytes) in place of %d (%d bytes), %d rows copied, %d deletion vectors gone",
		o.Outcome, o.Version, o.FilesAdded, o.BytesAdded, o.FilesRemoved, o.BytesRemoved, o.RowsCopied, o.VectorsRemoved)
}

// OptimizeTable makes small files into larger ones and files with deletion vectors into files without,
// each partition by itself, in one commit that changes no row: a fingerprint stays what it was, and
// that is checked on the rows read and written before anything is committed. Rows keep their ids.
//
// A table that is clustered, and one for which ZOrderBy is given, also has its rows ordered by those
// columns. What was ordered by them before is taken in again with what came since, until it is 100
// GiB large.
//
// A second call finds the files as it would make them and is Unchanged. Of two calls at once one
// commits; the other goes on with what the first one left, which may be nothing. Commits that add rows,
// or remove other files, do not disturb it; after one that removes a file which was being copied,
// that part of the work is done again.
//
// Rows are copied within idem.Options.MemoryBytes; those to be ordered are set aside on disk.
//
// Errors: [idem.ErrInput] for a column or a condition that the table does not have, and for ZOrderBy on
// a partition column or a clustered table; [idem.ErrCorrupt] for a file that does not hold what the
// log says.
func OptimizeTable(ctx context.Context, t *idem.Table, r Optimize) (*Optimized, error) {
	in, err := open(ctx, opOptimize, t)
	if err != nil {
		return nil, err
	}
	where, err := condition(r.Where, r.Args, r.Condition)
	if err == nil && r.TargetFileBytes < 0 {
		err = fmt.Errorf("%w: Optimize.TargetFileBytes is negative", idem.ErrInput)
	}
	if err != nil {
		return nil, in.Fail(opOptimize, err)
	}
	p := &optimize{env: in.Env, request: r, where: where}
	defer p.close(ctx)
	res, err := write(ctx, in, inside.Call{Op: opOptimize, Note: r.Note, Planner: p})
	if err != nil {
		return nil, err
	}
	out := p.out
	if res.Outcome != idem.Committed {
		out = Optimized{}
	}
	out.Outcome, out.Version, out.Attempts = res.Outcome, res.Version, res.Attempts
	return &out, nil
}

// condition reads a condition that is given as text or as a tree.
func condition(text string, args []any, tree expr.Expr) (expr.Expr, error) {
	switch {
	case tree != nil && (text != "" || len(args) > 0):
		return nil, fmt.Errorf("%w: Where is given both as text and as a tree; give one", idem.ErrInput)
	case tree != nil:
		return tree, nil
	case text == "" && len(args) == 0:
		return nil, nil
	case text == "":
		return nil, fmt.Errorf("%w: Args has %d values and Where is empty", idem.ErrInput, len(args))
	}
	e, err := expr.Parse(text, args...)
	if err != nil {
		return nil, fmt.Errorf("%w: Where: %w", idem.ErrInput, err)
	}
	return e, nil
}
