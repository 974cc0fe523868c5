package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/trial"
)

// evidence is what a cause is found by.
type evidence struct {
	added, removed int64
	copies         bool  // nothing but rows that the first run wrote, once more
	wrote          int64 // rows that the first run wrote
	*contrast            // nil if the rows of the two sides do not correspond
}

// judge names the columns that differ and the likely cause.
func (p *Diff) judge(ctx context.Context, out *Explained, change bag, added, removed *picked) error {
	first, err := p.between(ctx, p.First, Side{Env: p.First.Env, Log: p.First.Log, Snapshot: p.Before})
	if err != nil {
		return err
	}
	e := &evidence{added: out.Added, removed: out.Removed}
	copies := int64(0)
	for d, n := range first {
		e.wrote += max(n, 0)
		copies += min(max(n, 0), max(change[d], 0))
	}
	e.copies = out.Removed == 0 && copies == out.Added
	old := removed
	if out.Removed == 0 && !e.copies { // compare with what the first run wrote
		begin := Diff{Before: p.Before, First: Side{Env: p.First.Env, Log: p.First.Log, Snapshot: p.Before}, Second: p.First, Ignore: p.Ignore}
		if old, err = begin.collect(ctx, begin.Second, begin.First, first, 1); err != nil {
			return err
		}
		defer old.release()
	}
	if added.n == old.n && added.n > 0 {
		was, is := old.leaves(), added.leaves()
		defer was.release()
		defer is.release()
		if e.contrast, err = newContrast(leavesOf(p.Second.Snapshot.Schema(), was, is), was, is); err != nil {
			return err
		}
	}
	if err := e.show(out); err != nil {
		return err
	}
	out.Cause = p.cause(e)
	return nil
}

// show puts the columns that differ into the answer, and changed rows beside what they were.
func (e *evidence) show(out *Explained) error {
	if e.contrast == nil {
		return nil
	}
	out.Columns = e.differing()
	if out.Removed == 0 || len(out.Columns) == len(e.schema.Fields) {
		return nil
	}
	n, shown, err := e.pairs()
	if err != nil {
		return err
	}
	out.Changed = min(out.Added, out.Removed)
	if n == out.Added && n == out.Removed {
		out.Samples = shown
	}
	return nil
}

// cause says in words what is likely wrong with the job.
func (p *Diff) cause(e *evidence) string {
	if why := p.retried(); why != "" && e.added > 0 {
		return why
	}
	switch p.How {
	case Claimed:
		return p.claimed(e)
	case Rerun:
		return p.rerun(e)
	case Crossed:
		return p.crossed(e)
	case Older:
		return p.older(e)
	case Afresh:
		if p.Second.Snapshot.Version() == p.Before.Version() {
			return "a state outside of the table: on a copy of the table as it was, the job did nothing; a cursor, a marker or a source that is used up says that the work is done. " +
				"Keep it in the table (a Txn is in the same commit as the rows), or read the whole slice in every run"
		}
	}
	return p.byRows(e)
}

// byRows goes by which rows differ.
func (p *Diff) byRows(e *evidence) string {
	switch {
	case p.How == Again && p.made.tagged > 0 && p.made.tagged == p.made.all():
		return p.otherTag(e)
	case p.How == Reordered && (e.contrast == nil || e.added != e.removed):
		return e.byOrder("the set of rows written")
	case e.removed == 0 && p.How == Again && p.made.removed > 0:
		if p.readsFirst() {
			return p.ownOutput(fmt.Sprintf("the second run wrote %d rows more", e.added))
		}
		return fmt.Sprintf("the input grew: the second run replaced what the first wrote with %d rows more; "+
			"a job that can be repeated reads a source that stands still, such as a closed interval", e.added)
	case e.copies:
		return p.appends(fmt.Sprintf("all %d rows are copies of rows that the first run wrote", e.added), "")
	case p.How == Again && p.made.deletes > 0 && p.made.deletes == p.made.all():
		return fmt.Sprintf("a delete that finds more the second time: the second run deleted %d rows that the first run left or wrote; "+
			"delete by a condition that what the job itself writes does not satisfy", e.removed)
	case e.removed > e.added:
		return fmt.Sprintf("a partial source: the second run wrote %d rows fewer than the first; "+
			"a job that replaces a slice must read all of it, not what is new since its last run", e.removed-e.added)
	case e.contrast == nil && p.readsFirst():
		return p.ownOutput("the second run wrote other rows than the first")
	case e.contrast == nil:
		return "the second run wrote other rows than the first: the input or the job is not the same from run to run"
	}
	return p.byColumns(e)
}

// otherTag is the cause when a second run changed rows under tags only: under those of the first it would
// have changed none, whatever else differs.
func (p *Diff) otherTag(e *evidence) string {
	switch {
	case e.copies:
		return p.appends(fmt.Sprintf("all %d rows are copies of rows that the first run wrote", e.added), "")
	case e.contrast == nil || len(e.columns) == 0:
		return p.appends(fmt.Sprintf("the second run did its work once more, and added %d rows and removed %d", e.added, e.removed), "")
	}
	names, also := strings.Join(e.columns, ", "), ""
	if p.clocks(e) {
		names, also = "a clock value in column "+names, ", and take the logical date of the run"
	} else {
		names = "column " + names
	}
	if e.removed == 0 {
		return p.appends(fmt.Sprintf("but for %s the rows are copies of rows that the first run wrote", names), also)
	}
	return p.appends(fmt.Sprintf("the second run did its work once more, and changed %s", names), also)
}

// byColumns goes by the columns in which the rows differ.
func (p *Diff) byColumns(e *evidence) string {
	names := strings.Join(e.differing(), ", ")
	if len(e.columns) > 0 && !slices.ContainsFunc(e.columns, func(c string) bool { return !e.rounded(c) }) {
		return fmt.Sprintf("float sums that depend on order: column %s differs in its last digits only, and adding floats in another order does that; "+
			"sum decimals or integers, or sort the rows by a unique key first", names)
	}
	if p.clocks(e) {
		return p.clock(e, names)
	}
	if p.How == Reordered {
		return e.byOrder("column " + names)
	}
	switch {
	case e.moved == "" && len(e.columns) == 0:
		return "the same values in other rows: a tie without order, so that which row wins depends on chance (the order of a Go map, goroutines); name a total order (Merge.Newer, or sort by a unique key)"
	case e.moved != "":
		return fmt.Sprintf("map iteration order, or that of goroutines: column %s holds the same values on other rows; take the rows in the order of a unique key", names)
	case p.How == Again && p.readsFirst():
		return p.ownOutput(fmt.Sprintf("column %s is another in the second run", names))
	case e.removed == 0 && len(p.made.tags) > 0:
		return p.appends(fmt.Sprintf("but for column %s the rows are copies of rows that the first run wrote", names), "")
	case e.removed == 0:
		return fmt.Sprintf("a generated key: column %s has new values in every run, so no row of the first run is recognised; derive the key from the row; if it is no key, the job appends without a tag", names)
	case e.added < e.wrote:
		return fmt.Sprintf("column %s differs from run to run in %d of the %d rows that the job writes: a tie without order, so that which row wins depends on chance (the order of a Go map, of a query without ORDER BY); name a total order (Merge.Newer, or sort by a unique key)",
			names, e.added, e.wrote)
	}
	return fmt.Sprintf("column %s differs from run to run: a generated value (randomness, a UUID, map iteration order); derive it from the row", names)
}

// clocks says whether the columns that differ were all read from a clock.
func (p *Diff) clocks(e *evidence) bool {
	return len(e.columns) > 0 && !slices.ContainsFunc(e.columns, func(c string) bool { return !p.isClock(e, c) })
}

// isClock says whether the values of a column were read from a clock. Where nothing but time has
// passed between the runs a column of times that differs in every row is taken for one: the job's
// clock may be its own.
func (p *Diff) isClock(e *evidence, column string) bool {
	presumed := (p.How == Again || p.How == Afresh) && e.added >= e.wrote && e.timed(column)
	return presumed || e.clocked(column, p.Second.Runs)
}

func (p *Diff) clock(e *evidence, names string) string {
	switch {
	case e.removed > 0:
		return fmt.Sprintf("a clock value in column %s: it is another one in every run; take the logical date of the run, or the time from the row", names)
	case p.made.appends == p.made.all():
		return p.appends(fmt.Sprintf("but for a clock value in column %s the rows are copies of rows that the first run wrote", names), ", and take the logical date of the run")
	}
	return fmt.Sprintf("a clock value in column %s: the second run wrote its rows under another value beside those of the first; take the logical date of the run", names)
}

// byOrder goes by columns when nothing but the order of the input was another.
func (e *evidence) byOrder(what string) string {
	if e.contrast != nil && e.moved != "" && e.unrepeated(e.moved) {
		return fmt.Sprintf("a key from the row number: column %s holds the same values on other rows when the input comes in another order; derive it from the row", e.moved)
	}
	return fmt.Sprintf("a tie without order: %s depends on the order in which the input comes, as when the first or the last of several rows is kept; name a total order (Merge.Newer, or sort by a unique key)", what)
}

// unrepeated says whether no value of a column occurs twice in the new rows.
func (e *evidence) unrepeated(column string) bool {
	ok, err := distinct(e.new, []string{column})
	return ok && err == nil
}

// appends is the cause when a run wrote the rows of the first once more.
func (p *Diff) appends(what, also string) string {
	if len(p.made.tags) > 0 {
		return fmt.Sprintf("another tag in every run: %s, under the tag %s; a tag must be the same on every run over the same rows%s", what, strings.Join(p.made.tags, ", "), also)
	}
	return fmt.Sprintf("the job appends without a tag: %s; use AppendWithTxn, or ReplaceWhere for the slice that the job owns%s", what, also)
}

func (p *Diff) ownOutput(what string) string {
	return fmt.Sprintf("the job reads its own output: it read the table before it wrote, and %s; compute the rows from the source alone, or read what an earlier run cannot have written", what)
}

// all is the number of commits that changed rows.
func (c *commits) all() int { return c.appends + c.overwrites + c.merges + c.updates + c.deletes }

// last is the run of the second side that began last.
func (p *Diff) last() Run {
	if n := len(p.Second.Runs); n > 0 {
		return p.Second.Runs[n-1]
	}
	return Run{}
}

// readsFirst says whether the last run read the table before it wrote.
func (p *Diff) readsFirst() bool { return p.last().readsFirst() }

func (r Run) readsFirst() bool { return len(r.Calls) > 1 && r.Calls[0].Reads() }

// verb says whether a call is one of the verbs.
func verb(names ...string) func(trial.Call) bool {
	return func(c trial.Call) bool { return slices.Contains(names, c.Op) }
}

// retried finds a run that appended once more when the outcome of an append was unknown.
func (p *Diff) retried() string {
	for _, r := range p.Second.Runs {
		unknown := slices.IndexFunc(r.Calls, func(c trial.Call) bool { return c.Op == "Append" && errors.Is(c.Err, commit.ErrUnknownOutcome) })
		if unknown >= 0 && slices.ContainsFunc(r.Calls[unknown+1:], verb("Append")) {
			return "the job retries an append after ErrUnknownOutcome, which may have landed and here has: ask Table.Resolve first, or use AppendWithTxn, which may be called again"
		}
	}
	return ""
}

// claimed judges a job that ended well although a store operation went wrong.
func (p *Diff) claimed(e *evidence) string {
	calls := p.last().Calls
	for i := len(calls) - 1; i >= 0; i-- {
		failed := calls[i]
		if failed.Err == nil || slices.ContainsFunc(calls[i+1:], func(c trial.Call) bool { return c.Op == failed.Op && c.Err == nil }) {
			continue
		}
		what := failed.Op
		if failed.Reads() {
			what = "a read of the table"
		}
		return fmt.Sprintf("the job ignores an error: %s ended in %q, and the job returned nil, so that nobody runs it again; return the error", what, short(failed.Err))
	}
	if e.copies {
		return p.appends(fmt.Sprintf("all %d rows are copies of rows that the job wrote", e.added), "")
	}
	return "the job returned nil, but its work is not what one run leaves: it ignores an error, or takes a part of its work for the whole"
}

// short is the beginning of an error's text.
func short(err error) string {
	const most = 200
	text := []rune(err.Error())
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// rerun judges a job that was cut short and run again.
func (p *Diff) rerun(e *evidence) string {
	switch {
	case e.copies:
		return p.appends(fmt.Sprintf("running again wrote %d rows once more: that they are there is recorded in a later commit, or outside of the table", e.added), "")
	case e.added == 0:
		return fmt.Sprintf("progress is recorded before the rows: %d rows are missing, and running again took them for written; record progress in the commit of the rows (a Txn)", e.removed)
	}
	return "the job does its work in several commits, and does not find its way from the middle: make it one commit, or each step one that can be repeated"
}

// crossed judges a job during which another run of it came.
func (p *Diff) crossed(e *evidence) string {
	var calls []trial.Call
	if len(p.Second.Runs) > 0 {
		calls = p.Second.Runs[0].Calls
	}
	at := slices.IndexFunc(calls, verb("Append"))
	switch {
	case at >= 0 && slices.ContainsFunc(calls[:at], verb("Delete", "ReplaceWhere", "ReplaceAll")):
		return "the job deletes and then appends, in two commits: another run came between; ReplaceWhere does both in one"
	case at >= 0 && slices.ContainsFunc(calls[:at], trial.Call.Reads):
		return "the job looks and then appends: another run came between, saw the same, and appended too; AppendWithTxn looks in the commit itself"
	case e.copies:
		return p.appends(fmt.Sprintf("two runs at once wrote %d rows twice", e.added), "")
	}
	return "two runs at once leave another table than one: the job relies on what it read, or on an earlier commit of its own, while another run comes between; do it in one commit, or give it a Txn"
}

// older judges a job for an earlier batch that came late.
func (p *Diff) older(e *evidence) string {
	switch {
	case p.made.merges > 0 && e.removed == 0:
		return fmt.Sprintf("the older batch brought back %d rows that a later one had deleted: a deleted key leaves no memory; keep it with Merge.SoftDelete, or give both batches a Txn of one app id", e.added)
	case p.made.merges > 0:
		return "an unguarded merge: the older batch overwrote newer rows; name the columns that order versions of a row (Merge.Newer), or give both batches a Txn of one app id"
	case p.made.overwrites > 0:
		return "an unfenced replacement: the older run came late and replaced newer rows; give ReplaceWhere a Txn of one app id, the batch as version"
	case p.made.updates > 0:
		return fmt.Sprintf("an unfenced update: the older batch came late and set columns of %d rows of the newer one; update by a condition that newer rows do not satisfy, or give both a Txn of one app id", e.removed)
	case e.copies:
		return p.appends(fmt.Sprintf("the older batch came again and wrote %d rows once more", e.added), "")
	case p.made.deletes > 0:
		return fmt.Sprintf("the older batch deleted %d rows of the newer one; delete by a condition that newer rows do not satisfy, or give both a Txn of one app id", e.removed)
	}
	return "the older batch changed what the newer one left; give both a Txn of one app id, the batch as version"
}
