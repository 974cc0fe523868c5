package plan

import (
	"fmt"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
)

// MergeAction is what a clause does with a row.
type MergeAction int

// The actions.
const (
	MergeSet     MergeAction = iota // set columns: of the row of the table, or of a new row
	MergeDelete                     // delete the row of the table
	MergeNothing                    // leave the row alone
)

// MergeClause is one WHEN of a merge. Columns of the source are source.x in its expressions, those of
// the table target.x; a bare name is that of the one side that has it.
type MergeClause struct {
	When    expr.Expr // nil is always
	Do      MergeAction
	Columns []string // set from the source column of the same name; nil without Set is all
	Set     []MergeAssignment

	called string // in messages; "" is by the list that it stands in
}

// MergeAssignment gives a column, or a field of a struct, a value.
type MergeAssignment struct {
	Column string
	Value  expr.Expr
}

// MergeRequest is what a merge is told.
type MergeRequest struct {
	On     []string
	Newer  []string
	Update []string // columns an update sets; nil means all that the source has
	Insert []string // columns an insert sets; nil means all that the source has

	DeleteWhen expr.Expr
	SoftDelete string

	Matched    []MergeClause // nil: what Update, DeleteWhen and SoftDelete say
	NotMatched []MergeClause // nil: what Insert, DeleteWhen and SoftDelete say
	BySource   []MergeClause // for rows of the table whose key the source lacks
	Immutable  []string      // columns of the table that no update may change

	Unguarded             bool
	GuardPrefix           bool
	CompareTies           bool
	MatchNulls            bool
	AllowTargetDuplicates bool
	AllowEmpty            bool
	Evolve                bool

	// Once says that something else keeps the call from being repeated, so that its clauses need
	// not be repeatable.
	Once bool

	// keyless says that the source has no row, so that the key stands for nothing and rows need not
	// keep it.
	keyless bool
}

// asked is a clause with what its fields leave out.
type asked struct {
	MergeClause
	name    string // of the clause, for messages
	listed  string // of the field that lists its columns, for messages
	all     bool   // all columns that the source has are set
	plain   bool   // a bare name is a column of the source, as in DeleteWhen
	deletes bool   // DeleteWhen's: rows that it keeps from being inserted are counted
}

// validate checks what can be checked without the rows and the table.
func (r *MergeRequest) validate() error {
	if len(r.On) == 0 {
		return fmt.Errorf("%w: Merge.On is empty: name the key columns", delta.ErrInput)
	}
	if err := r.exclusive(); err != nil {
		return err
	}
	for _, l := range r.lists() {
		for i := range l.clauses {
			if err := l.clauses[i].validate(l.name, i == len(l.clauses)-1); err != nil {
				return fmt.Errorf("%w: Merge.%s[%d] %w", delta.ErrInput, l.name, i, err)
			}
		}
	}
	return r.guarded()
}

const (
	matchedList    = "Matched"
	notMatchedList = "NotMatched"
	bySourceList   = "NotMatchedBySource"
)

type clauseList struct {
	name    string
	clauses []MergeClause
}

func (r *MergeRequest) lists() []clauseList {
	return []clauseList{{matchedList, r.Matched}, {notMatchedList, r.NotMatched}, {bySourceList, r.BySource}}
}

// exclusive refuses clauses beside the fields that they stand for.
func (r *MergeRequest) exclusive() error {
	for _, f := range []struct {
		given           bool
		name            string
		matched, others bool // the field stands for clauses of Matched, of NotMatched
		instead         string
	}{
		{r.Update != nil, "Update", true, false, "list the columns in Columns of a clause"},
		{r.Insert != nil, "Insert", false, true, "list the columns in Columns of a clause"},
		{r.DeleteWhen != nil, "DeleteWhen", true, true, "write a clause of Matched that deletes, and one of NotMatched that does nothing"},
		{r.SoftDelete != "", "SoftDelete", true, true, "set the column in clauses of Matched and NotMatched"},
	} {
		switch {
		case f.given && f.matched && r.Matched != nil:
			return fmt.Errorf("%w: Merge.Matched and Merge.%s both say what becomes of a matched row; leave %s out and %s", delta.ErrInput, f.name, f.name, f.instead)
		case f.given && f.others && r.NotMatched != nil:
			return fmt.Errorf("%w: Merge.NotMatched and Merge.%s both say what is inserted; leave %s out and %s", delta.ErrInput, f.name, f.name, f.instead)
		}
	}
	return nil
}

// validate checks one clause; the error is told of the clause.
func (c *MergeClause) validate(list string, last bool) error {
	switch {
	case c.Do < MergeSet || c.Do > MergeNothing:
		return fmt.Errorf("has an action that does not exist (Do is %d)", c.Do)
	case c.When == nil && !last:
		return fmt.Errorf("has no condition, so that a clause behind it is never reached; give it one, or put it last")
	case c.Do != MergeSet && (c.Columns != nil || len(c.Set) > 0):
		return fmt.Errorf("sets no column, and has Columns or Set; leave them out, or let it set (DoSet)")
	case c.Do == MergeDelete && list == notMatchedList:
		return fmt.Errorf("deletes, and a source row that matches nothing has no row to delete; keep it from being inserted with DoNothing")
	case c.Do == MergeSet && list == bySourceList && (c.Columns != nil || len(c.Set) == 0):
		return fmt.Errorf("sets columns from the source, and such a row of the table has no source row; give each column a value in Set")
	case c.Do == MergeSet && c.Columns != nil && len(c.Columns)+len(c.Set) == 0:
		return fmt.Errorf("sets no column; DoNothing leaves the row alone")
	}
	return nil
}

// guarded demands Newer or Unguarded of a merge that may change rows that match.
func (r *MergeRequest) guarded() error {
	if r.Unguarded && len(r.Newer) > 0 {
		return fmt.Errorf("%w: Merge has both Newer and Unguarded; leave Unguarded out", delta.ErrInput)
	}
	if r.Matched != nil && !changeRows(r.Matched) {
		return nil
	}
	if (len(r.Newer) == 0) != r.Unguarded {
		return fmt.Errorf("%w: a merge needs either Newer (the columns that order versions of a row) or Unguarded: true, which lets an older row overwrite a newer one", delta.ErrInput)
	}
	return nil
}

// changeRows says whether some clause does something.
func changeRows(list []MergeClause) bool {
	for _, c := range list {
		if c.Do != MergeNothing {
			return true
		}
	}
	return false
}

// asks gives the clauses of a list as they were written.
func asks(list string, clauses []MergeClause) []asked {
	out := make([]asked, len(clauses))
	for i, c := range clauses {
		name := c.called
		if name == "" {
			name = fmt.Sprintf("Merge.%s[%d]", list, i)
		}
		out[i] = asked{MergeClause: c, name: name, listed: name + ".Columns", all: c.Do == MergeSet && c.Columns == nil && len(c.Set) == 0}
	}
	return out
}

// soft is the column that marks deleted rows, and what it holds: nil of a merge without one.
type soft struct {
	column        string
	deleted, live expr.Expr
}

// matched gives the clauses for matched rows. guard are the columns of Newer that the table has.
func (r *MergeRequest) matched(mark *soft, guard []string) []asked {
	if r.Matched != nil {
		return asks(matchedList, r.Matched)
	}
	update := asked{MergeClause: MergeClause{Columns: r.Update}, all: r.Update == nil, name: called("the update", "Merge.Update", r.Update), listed: "Merge.Update"}
	out := []asked{update}
	if r.DeleteWhen == nil {
		return out
	}
	gone := asked{MergeClause: MergeClause{When: r.DeleteWhen, Do: MergeDelete}, name: "Merge.DeleteWhen", plain: true}
	if mark != nil {
		gone.Do, gone.Columns, gone.Set = MergeSet, guard, mark.set(mark.deleted)
		out[0].Set = mark.set(mark.live)
	}
	return append([]asked{gone}, out...)
}

// notMatched gives the clauses for source rows without a match.
func (r *MergeRequest) notMatched(mark *soft) []asked {
	if r.NotMatched != nil {
		return asks(notMatchedList, r.NotMatched)
	}
	insert := asked{MergeClause: MergeClause{Columns: r.Insert}, all: r.Insert == nil, name: called("the insert", "Merge.Insert", r.Insert), listed: "Merge.Insert"}
	if r.DeleteWhen == nil {
		return []asked{insert}
	}
	gone := insert
	gone.name, gone.When, gone.plain = "Merge.DeleteWhen", r.DeleteWhen, true
	if mark != nil {
		gone.Set, insert.Set = mark.set(mark.deleted), mark.set(mark.live)
	} else {
		gone.MergeClause = MergeClause{When: r.DeleteWhen, Do: MergeNothing}
		gone.all, gone.deletes = false, true
	}
	return []asked{gone, insert}
}

// called is how messages call what a field lists, or what happens without it.
func called(otherwise, field string, columns []string) string {
	if columns != nil {
		return field
	}
	return otherwise
}

func (s *soft) set(value expr.Expr) []MergeAssignment {
	return []MergeAssignment{{Column: s.column, Value: value}}
}
