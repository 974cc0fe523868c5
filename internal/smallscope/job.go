package smallscope

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// Operation is what a writer calls.
type Operation int

const (
	Append       Operation = iota
	TxnSame                // AppendWithTxn; two have one tag
	TxnOther               // AppendWithTxn under a tag of its own
	ReplaceSame            // ReplaceWhere on the slice that all write to
	ReplaceOther           // ReplaceWhere on a slice of its own
	MergeSame              // Merge on keys that others write, too
	MergeOther             // Merge on keys of its own
	Delete                 // of rows that others write, too
	Optimize
	Vacuum
	CheckpointCleanUp // Checkpoint, then CleanUpLog
	Restore
	AddColumn   // AlterTable
	TxnVerified // AppendWithTxn with VerifyPayload, under the tag of TxnSame
	TxnNext     // AppendWithTxn under the next version of that tag
)

// Operations are those of which each meets each.
func Operations() []Operation {
	all := make([]Operation, TxnVerified)
	for i := range all {
		all[i] = Operation(i)
	}
	return all
}

func (o Operation) String() string {
	return [...]string{"Append", "AppendWithTxn same tag", "AppendWithTxn other tag", "ReplaceWhere same slice", "ReplaceWhere other slice",
		"Merge same key", "Merge other key", "Delete", "Optimize", "Vacuum", "Checkpoint and clean-up", "Restore", "AlterTable add column",
		"AppendWithTxn same tag, verified", "AppendWithTxn next version"}[o]
}

// ownInput says whether each writer has a slice, keys or a tag of its own.
func (o Operation) ownInput() bool { return o == TxnOther || o == ReplaceOther || o == MergeOther }

// job is a call with its input.
type job struct {
	op   Operation
	n    int // of the writer that it was made for
	rows []tabletest.Row
	day  string // of the slice
	tag  idem.Txn
}

// The rows of a table: the slice s0 is everybody's, s1 and s2 are the writers' own. Ids say which slice
// a row is in, so that ids are unique whatever the order.
const perSlice = 1000

func row(slice int, id, seq, v int64) tabletest.Row {
	return tabletest.Row{Day: fmt.Sprintf("s%d", slice), ID: int64(slice)*perSlice + id, Seq: seq, V: v}
}

func newJob(o Operation, n int) *job {
	j, i, own := &job{op: o, n: n}, int64(n), n+1
	switch o {
	case Append:
		j.rows = []tabletest.Row{row(0, 500+i, 1, 10+i), row(own, 500, 1, 10+i)}
	case TxnSame, TxnVerified, TxnNext:
		j.tag = idem.Txn{AppID: "app-shared", Version: 5, VerifyPayload: o == TxnVerified}
		if o == TxnNext {
			j.tag.Version++
		}
		j.rows = []tabletest.Row{row(0, 600+i, 1, 10+i)}
	case TxnOther:
		j.tag = idem.Txn{AppID: fmt.Sprintf("app-%d", n), Version: 1}
		j.rows = []tabletest.Row{row(0, 610+i, 1, 10+i)}
	case ReplaceSame:
		j.day, j.rows = "s0", []tabletest.Row{row(0, 1, 9, 20+i), row(0, 700+i, 1, 20+i)}
	case ReplaceOther:
		j.day, j.rows = fmt.Sprintf("s%d", own), []tabletest.Row{row(own, 1, 9, 20+i), row(own, 700, 1, 20+i)}
	case MergeSame:
		// One of them is older than the table's; of two different merges each has a newer one, and one is a tie.
		j.rows = []tabletest.Row{row(0, 1, 5+i, 30+i), row(0, 3, 0, 30+i), row(0, 800, 6-i, 30+i), row(0, 810, 5, 30+i)}
	case MergeOther:
		j.rows = []tabletest.Row{row(own, 1, 5, 30+i), row(own, 800, 5, 30+i)}
	}
	return j
}

// restoredTo is the version that Restore goes back to.
const restoredTo = 2

// deleted is the id that Delete deletes: a row of a file of several for the first writer, all of a file for
// the second.
func (j *job) deleted() int64 { return int64(1 + 2*j.n) }

// repeatable says whether the call may be made again by somebody who does not know how it ended.
func (j *job) repeatable() bool { return j.op != Append }

// commits is the most that one call may make.
func (j *job) commits() int {
	switch j.op {
	case Vacuum:
		return 2
	case CheckpointCleanUp:
		return 0
	}
	return 1
}

// do makes the call.
func (j *job) do(ctx context.Context, s store.Store, t *idem.Table, hooks *Hooks) *ending {
	if hooks != nil && hooks.Append != nil && j.appends() {
		res, err := hooks.Append(ctx, s, t, j.rows, j.tag)
		return told(res, err)
	}
	switch j.op {
	case Optimize, Vacuum, CheckpointCleanUp, Restore, AddColumn:
		if hooks != nil && hooks.Idle {
			return j.idle(t)
		}
		return j.maintain(ctx, t)
	case Delete:
		return told(t.Delete(ctx, idem.Delete{Where: "day = 's0' AND id = ?", Args: []any{j.deleted()}}))
	}
	rows := tabletest.Again(memory.DefaultAllocator, 0, j.rows...)
	defer rows.Release()
	switch j.op {
	case Append:
		return told(t.Append(ctx, rows, idem.Append{Reason: "a test"}))
	case TxnSame, TxnOther, TxnVerified, TxnNext:
		return told(t.AppendWithTxn(ctx, rows, j.tag))
	case ReplaceSame, ReplaceOther:
		return told(t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "day = ?", Args: []any{j.day}}))
	}
	return told(t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}))
}

func (j *job) appends() bool { return j.op == Append || j.tag.AppID != "" }

func told(res *idem.Result, err error) *ending {
	if err != nil {
		return &ending{err: err}
	}
	return &ending{outcome: res.Outcome, version: res.Version, untold: res.PayloadUnknown}
}

// idle is the ending of maintenance that does nothing and says that there was nothing to do.
func (j *job) idle(t *idem.Table) *ending {
	e := &ending{outcome: idem.Unchanged, version: t.Version()}
	if j.op == CheckpointCleanUp {
		e.cleaned = &maintain.CleanedUp{Outcome: idem.Unchanged, Oldest: -1}
	}
	return e
}

func (j *job) maintain(ctx context.Context, t *idem.Table) *ending {
	e := &ending{}
	switch j.op {
	case Optimize:
		res, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{})
		if e.err = err; err == nil {
			e.outcome, e.version = res.Outcome, res.Version
		}
	case Vacuum:
		res, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{})
		if e.err = err; err == nil {
			e.outcome, e.version = res.Outcome, res.Version
		}
	case CheckpointCleanUp:
		made, err := maintain.Checkpoint(ctx, t)
		if err == nil {
			e.outcome, e.version = made.Outcome, made.Version
			e.cleaned, err = maintain.CleanUpLog(ctx, t, maintain.CleanUp{})
		}
		e.err = err
	case Restore:
		res, err := maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(restoredTo)})
		if e.err = err; err == nil {
			e.outcome, e.version = res.Outcome, res.Version
		}
	case AddColumn:
		res, err := maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{
			maintain.AddColumn{Name: "note", Type: arrow.BinaryTypes.String}}})
		if e.err = err; err == nil {
			e.outcome, e.version = res.Outcome, res.Version
		}
	}
	return e
}

// model is what a table should hold.
type model struct {
	*tabletest.Model
	note    bool            // there is the column that AddColumn adds
	undone  map[string]bool // tags that a Restore took back
	payload []tabletest.Row // of the tag that has its rows verified, once it is recorded with them
}

// has says whether the tag of a call is recorded, or a later version.
func (m model) has(j *job) bool { return j.tag.AppID != "" && m.Recorded(j.tag.AppID) >= j.tag.Version }

// contradicts says whether the tag of a call that asks for it is recorded with other rows.
func (m model) contradicts(j *job) bool {
	return j.tag.VerifyPayload && m.Recorded(j.tag.AppID) == j.tag.Version && m.payload != nil && !slices.Equal(m.payload, j.rows)
}

// apply does on the model what the call does on the table; then is the version that Restore goes
// back to.
func (j *job) apply(m model, then *model) model {
	m = model{Model: m.Clone(), note: m.note, undone: m.undone, payload: m.payload}
	switch j.op {
	case Append, TxnSame, TxnOther, TxnVerified, TxnNext:
		m.Append(j.rows...)
	case ReplaceSame, ReplaceOther:
		m.Replace(func(r tabletest.Row) bool { return r.Day == j.day }, j.rows...)
	case MergeSame, MergeOther:
		m.Merge(nil, j.rows...)
	case Delete:
		m.Delete(func(r tabletest.Row) bool { return r.Day == "s0" && r.ID == j.deleted() })
	case AddColumn:
		m.note = true
	case Restore:
		m.undone = map[string]bool{}
		for app := range m.Tags {
			m.undone[app] = m.Recorded(app) > then.Recorded(app)
		}
		m.Rows, m.note = then.Clone().Rows, then.note
	}
	if j.tag.AppID != "" {
		m.Tags[j.tag.AppID] = j.tag.Version
	}
	if j.tag.VerifyPayload {
		m.payload = j.rows
	}
	return m
}
