package idem

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/plan"
)

const opMerge = "Merge"

// NullKeys says what NULL in a key column means.
type NullKeys int

const (
	// RefuseNulls makes NULL in a key column of the source an error: in SQL such a row never
	// matches, so it would be inserted again by every run.
	RefuseNulls NullKeys = iota

	// MatchNulls makes NULL equal NULL in keys.
	MatchNulls
)

// Merge asks to update, insert and delete rows by key.
type Merge struct {
	_ struct{}

	// On are the key columns.
	On []string

	// Newer are the columns that order versions of one row, most significant first. Of several
	// source rows with one key the greatest wins, and a row of the table is updated only by a
	// strictly greater one. NULL in the table is older than anything. Any type but nested ones will
	// do.
	Newer []string

	// Unguarded is needed when there is no Newer: every matched row that differs is overwritten,
	// also by an older one.
	Unguarded bool

	// GuardPrefix accepts Newer columns that the table lacks: they order the source only. Then two
	// batches and one batch may differ when the columns that the table has tie.
	GuardPrefix bool

	// CompareTies reads the other columns of ties too and counts those that differ.
	CompareTies bool

	// NullKeys says what NULL in a key means. The zero value refuses it.
	NullKeys NullKeys

	// AllowTargetDuplicates updates every row of the table with a key, as SQL does, instead of
	// refusing keys that the table holds more than once.
	AllowTargetDuplicates bool

	// Update and Insert list the columns that an update and an insert set. nil means every column
	// that the source has. A key column is never updated.
	Update []string
	Insert []string

	// DeleteWhen is a condition over the source row, e.g. "op = 'd'": such a row deletes its match
	// if it is newer, and is never inserted (but as a tombstone with SoftDelete). Columns that only
	// it or Newer name need not exist in the table. A deleted key leaves no memory: an older change that comes later inserts the row
	// again, unless SoftDelete keeps it or a Txn orders the batches.
	DeleteWhen string
	DeleteArgs []any

	// DeleteCondition is the same as a tree, instead of DeleteWhen.
	DeleteCondition expr.Expr

	// SoftDelete names a column of the table that marks deleted rows instead of removing them: a
	// boolean column becomes true, one of the type of the first Newer column takes its value; in a
	// row that lives it is false, or NULL. The kept row keeps its last values and guards against
	// older changes. A delete that matches nothing inserts such a row (counted as Inserted), and a
	// newer row brings it back. The source must not have the column: the merge fills it.
	SoftDelete string

	// Evolve adds the columns that the source has and the table lacks: see [ReplaceWhere.Evolve].
	// Columns that only DeleteWhen names, or Newer with GuardPrefix, are not added unless Update or
	// Insert lists them. A row that is not newer is left alone, in the new columns too.
	Evolve bool

	Txn  Txn
	Note string
}

// Merge updates the rows of the table whose key is in rows and inserts the others, in one commit.
//
// Rows are deduplicated first; the answer does not depend on their order or batching. Columns go by
// name, ignoring case; a source may have some of the table's columns only: an update leaves the
// others, an insert makes them NULL. A column that the table lacks is [ErrInput], or
// is added to it with Evolve.
//
// A second call with the same rows, or with older ones, changes nothing: the result is Unchanged
// and no file is touched. The source is read once; when another writer invalidates what was read,
// the merge is redone from what it kept.
//
// Keys are equal by value: integers of any width, NaN = NaN, -0.0 = 0.0, instants at microseconds,
// strings by bytes. Duplicate keys in the table, NULL keys and ties that differ are [ErrInput].
//
// The caller keeps ownership of rows and releases them.
func (t *Table) Merge(ctx context.Context, rows array.RecordReader, r Merge) (*Result, error) {
	if rows == nil {
		return nil, t.fail(opMerge, errNoRows)
	}
	deletes, err := condition("DeleteWhen", r.DeleteWhen, r.DeleteArgs, r.DeleteCondition)
	if err != nil {
		return nil, t.fail(opMerge, err)
	}
	p := &plan.Merge{Env: &t.env, Input: input(rows), KeepSum: r.Txn.given(), Request: plan.MergeRequest{
		On: r.On, Newer: r.Newer, Update: r.Update, Insert: r.Insert, DeleteWhen: deletes, SoftDelete: r.SoftDelete,
		Unguarded: r.Unguarded, GuardPrefix: r.GuardPrefix, CompareTies: r.CompareTies,
		MatchNulls: r.NullKeys == MatchNulls, AllowTargetDuplicates: r.AllowTargetDuplicates,
		Evolve: r.Evolve || r.Txn.Evolve,
	}}
	defer p.Close()
	return t.write(ctx, &call{
		op: opMerge, txn: r.Txn, note: r.Note, planner: p,
		report: func(res *Result) { res.take(p.Counts); res.MissingColumns, res.AddedColumns = p.Missing, p.Added },
	})
}
