package idem

import (
	"context"
	"fmt"
	"maps"
	"slices"

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

func (n NullKeys) validate(verb string) error {
	if n != RefuseNulls && n != MatchNulls {
		return fmt.Errorf("%w: %s.NullKeys is %d; it is RefuseNulls or MatchNulls", ErrInput, verb, n)
	}
	return nil
}

// Action is what a clause of a merge does with a row.
type Action int

const (
	// DoSet sets columns: of the row of the table, or of a new row.
	DoSet Action = iota

	// DoDelete deletes the row of the table.
	DoDelete

	// DoNothing leaves the row alone, and no further clause is looked at.
	DoNothing
)

// Clause is a WHEN of a [Merge]: what is done with the rows for which a condition is TRUE and no
// clause before it was.
//
// In conditions and values the columns of the source row are source.x and those of the row of the
// table target.x, also if a column is itself called source or target; a bare name stands for the one
// side that has the column, and is an error if both have it. Clauses of Matched see both rows, those of NotMatched the source row, those of
// NotMatchedBySource the row of the table. A source column that conditions and values name and no
// clause copies keeps its own type, and need not exist in the table.
//
// With Newer a clause that sets columns has to take those of Newer from the source, and one that
// inserts the key too: they are what makes the second call find nothing to do. Columns lists them
// beside what Set computes.
type Clause struct {
	_ struct{}

	// When is the condition: FALSE and NULL look at the next clause. Empty is always, which only the
	// last clause of a list may be.
	When string
	Args []any

	// Condition is the same as a tree, instead of When.
	Condition expr.Expr

	// Do is what is done.
	Do Action

	// Columns are set from the source columns of the same names. nil, without Set, is every column
	// that the source has. A field of a struct is "a.b".
	Columns []string

	// Set gives columns, and fields of structs, a value: the text of an expression, "target.n +
	// source.n". It is stored as Spark stores it: a decimal is rounded half up to the column's scale, a
	// fraction cut off for a column of integers; what does not fit is an error, and so is a text for a
	// number. Round or CAST it yourself to say otherwise. Every value
	// is computed from the rows as they were. A field that is set in a NULL struct makes a struct whose
	// other fields are NULL.
	Set map[string]string

	// SetExpr is the same as trees, beside Set. [expr.Lit] gives a value of the program.
	SetExpr map[string]expr.Expr
}

// Merge asks to update, insert and delete rows by key.
type Merge struct {
	_ struct{}

	// On are the key columns. A field of a struct is "a.b" (see Names of the package); in a NULL struct it is NULL.
	On []string

	// Newer are the columns that order versions of one row, most significant first. Of several
	// source rows with one key the greatest wins, and a row of the table is updated only by a
	// strictly greater one. NULL in the table is older than anything. Any type but nested ones will
	// do; a field of a struct is "a.b". What is updated or inserted has to take these columns from
	// the source row.
	Newer []string

	// Unguarded is needed when there is no Newer: every matched row that differs is overwritten,
	// also by an older one. A merge that changes no matched row needs neither.
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
	// that the source has. A key column is never updated. Matched and NotMatched say more.
	Update []string
	Insert []string

	// Matched are the clauses for a source row and the row of the table with its key, of which it is
	// newer: the first whose condition is TRUE applies, none leaves the row alone. nil means: delete
	// by DeleteWhen, else update. An empty list changes no row of the table. Identity columns cannot be
	// set.
	Matched []Clause

	// NotMatched are the clauses for source rows without a match: the first whose condition is TRUE
	// inserts, or does nothing; none inserts nothing. nil means: insert, but for DeleteWhen. What is
	// not set is NULL, or what the table makes it.
	NotMatched []Clause

	// NotMatchedBySource are the clauses for rows of the table whose key no source row has. nil
	// leaves them alone. Every file that may hold a row for which one is TRUE is looked at. No guard
	// applies to them.
	NotMatchedBySource []Clause

	// AllowEmpty lets a source without rows be merged with NotMatchedBySource: every row of the table
	// is then one that it does not match. Otherwise that is [ErrInput], since an empty source is the
	// sign of a job that went wrong before.
	AllowEmpty bool

	// Immutable are columns of the table that no update may change: a source row that would change
	// one is [ErrInput], which shows the row and both values and counts them.
	Immutable []string

	// DeleteWhen is a condition over the source row, e.g. "op = 'd'": such a row deletes its match
	// if it is newer, and is never inserted (but as a tombstone with SoftDelete). Columns that only
	// it or Newer name need not exist in the table. A deleted key leaves no memory: an older change
	// that comes later inserts the row again, unless SoftDelete keeps it or a Txn orders the batches.
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

// Merge updates the rows of the table whose key is in rows and inserts the others, or does what the
// request's clauses say, in one commit.
//
// Rows are deduplicated first; the answer does not depend on their order or batching. Columns go by
// name, ignoring case; a source may have some of the table's columns only: an update leaves the
// others, but for generated columns, which follow, and an insert makes them NULL, or their default, or
// what the table makes them ([Column]). So it is with fields of structs; a struct that is NULL in the
// source becomes NULL, and lists and maps are replaced whole. A column that the table lacks is
// [ErrInput], or is added to it with Evolve.
//
// Files without a row that changes are not touched. Of the others the rows that stay are copied, with
// their row ids where the table tracks them; in a table with deletion vectors
// (delta.enableDeletionVectors) a file of which at least half is left keeps its bytes, and what changes
// in it is written elsewhere. A change data feed (delta.enableChangeDataFeed) is told exactly the rows
// that change.
//
// A second call with the same rows, or with older ones, changes nothing: the result is Unchanged
// and no file is touched. With Newer that is so because an applied row ties. What no guard covers is
// proven row by row, unless the call has a Txn, which skips the repeat: a clause that a second call
// would apply again to a row that this one wrote (n = target.n + source.n, say), or a deleted row that
// it would insert again, is [ErrInput] that shows the row and the ways out. The source is read once;
// when another writer invalidates what was read, the merge is redone from what it kept.
//
// Keys are equal by value: integers of any width, NaN = NaN, -0.0 = 0.0, instants at microseconds,
// strings by bytes. Duplicate keys in the table, NULL keys and ties that differ are [ErrInput], and so
// is a row for which a condition or a value cannot be computed.
//
// The caller keeps ownership of rows and releases them.
func (t *Table) Merge(ctx context.Context, rows array.RecordReader, r Merge) (*Result, error) {
	in, err := taken(rows)
	if err != nil {
		return nil, t.fail(opMerge, err)
	}
	request, err := r.plan()
	if err != nil {
		return nil, t.fail(opMerge, err)
	}
	p := &plan.Merge{Env: &t.env, Input: in, KeepSum: r.Txn.given(), Request: request}
	defer p.Close()
	return t.write(ctx, &call{
		op: opMerge, txn: r.Txn, note: r.Note, planner: p,
		report: func(res *Result) { res.take(p.Counts); res.MissingColumns, res.AddedColumns = p.Missing, p.Added },
	})
}

func (r *Merge) plan() (plan.MergeRequest, error) {
	p := plan.MergeRequest{
		On: r.On, Newer: r.Newer, Update: r.Update, Insert: r.Insert, SoftDelete: r.SoftDelete, Immutable: r.Immutable,
		Unguarded: r.Unguarded, GuardPrefix: r.GuardPrefix, CompareTies: r.CompareTies,
		MatchNulls: r.NullKeys == MatchNulls, AllowTargetDuplicates: r.AllowTargetDuplicates, AllowEmpty: r.AllowEmpty,
		Evolve: r.Evolve || r.Txn.Evolve, Once: r.Txn.given(),
	}
	err := r.NullKeys.validate("Merge")
	if err != nil {
		return p, err
	}
	if p.DeleteWhen, err = condition("DeleteWhen", r.DeleteWhen, r.DeleteArgs, r.DeleteCondition); err != nil {
		return p, err
	}
	for _, l := range []struct {
		name string
		from []Clause
		to   *[]plan.MergeClause
	}{{"Matched", r.Matched, &p.Matched}, {"NotMatched", r.NotMatched, &p.NotMatched}, {"NotMatchedBySource", r.NotMatchedBySource, &p.BySource}} {
		if l.from == nil {
			continue
		}
		*l.to = make([]plan.MergeClause, len(l.from))
		for i := range l.from {
			if (*l.to)[i], err = l.from[i].plan(fmt.Sprintf("Merge.%s[%d]", l.name, i)); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// plan reads the texts of a clause; name is that of the clause in errors.
func (c *Clause) plan(name string) (plan.MergeClause, error) {
	out := plan.MergeClause{Do: plan.MergeAction(c.Do), Columns: c.Columns}
	var err error
	if out.When, err = condition(name+".When", c.When, c.Args, c.Condition); err != nil {
		return out, err
	}
	for _, column := range slices.Sorted(maps.Keys(c.Set)) {
		value, err := expr.Parse(c.Set[column])
		if err != nil {
			return out, fmt.Errorf("%w: %s.Set of %s: %w", ErrInput, name, column, err)
		}
		out.Set = append(out.Set, plan.MergeAssignment{Column: column, Value: value})
	}
	for _, column := range slices.Sorted(maps.Keys(c.SetExpr)) {
		if c.SetExpr[column] == nil {
			return out, fmt.Errorf("%w: %s.SetExpr of %s is nil; expr.Lit(nil) is NULL", ErrInput, name, column)
		}
		out.Set = append(out.Set, plan.MergeAssignment{Column: column, Value: c.SetExpr[column]})
	}
	return out, nil
}
