package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// do calls the verb.
func (j *job) do(ctx context.Context, wr *writer) (*idem.Result, error) {
	t := wr.table
	tag := j.tag
	if tag.AppID != "" {
		tag.Reapply = wr.call.reapply
	}
	if !wr.quiet {
		if f := wr.w.hooks.Append; f != nil && (j.kind == appendRows || j.kind == appendTxn) {
			return f(ctx, wr.view(), t, j.rows, j.tag)
		}
		if f := wr.w.hooks.Instead[j.kind.String()]; f != nil {
			return f(ctx, wr.view(), t)
		}
	}
	switch j.kind {
	case deleteSlice:
		return t.Delete(ctx, idem.Delete{Where: j.where.text, Args: j.where.args, Txn: tag})
	case updateSlice:
		return maintain.UpdateTable(ctx, t, maintain.Update{Where: j.where.text, Args: j.where.args, Set: map[string]string{"v": fmt.Sprint(j.set)}, Txn: tag})
	case rewind:
		return t.RewindTxn(ctx, j.app, j.to)
	case scanRows:
		return j.scan(ctx, wr)
	case foreign:
		return wr.intrude(j)
	case appendRows, appendTxn, replaceSlice, replaceTable, mergeRows, overwriteParts:
		return j.write(ctx, t, tag)
	}
	return j.maintain(ctx, t)
}

// write calls a verb that takes rows.
func (j *job) write(ctx context.Context, t *idem.Table, tag idem.Txn) (*idem.Result, error) {
	var rows array.RecordReader = tabletest.Once(memory.DefaultAllocator, j.batch, j.rows...)
	if j.again {
		rows = tabletest.Again(memory.DefaultAllocator, j.batch, j.rows...)
	}
	defer rows.Release()
	switch j.kind {
	case appendRows:
		return t.Append(ctx, rows, idem.Append{Reason: fmt.Sprintf("job %d", j.n)})
	case appendTxn:
		return t.AppendWithTxn(ctx, rows, tag)
	case replaceSlice:
		return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: j.where.text, Args: j.where.args, AllowEmpty: true, Txn: tag})
	case replaceTable:
		return t.ReplaceAll(ctx, rows, idem.ReplaceAll{AllowEmpty: true, Txn: tag})
	case mergeRows:
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "v < 0", Txn: tag})
	}
	return maintain.OverwritePartitions(ctx, t, rows, maintain.Overwrite{Txn: tag})
}

// maintain calls an operation of maintain, whose answers are brought into the form of the others.
func (j *job) maintain(ctx context.Context, t *idem.Table) (*idem.Result, error) {
	answer := func(o idem.Outcome, v int64) *idem.Result { return &idem.Result{Outcome: o, Version: v} }
	switch j.kind {
	case optimize:
		r, err := maintain.OptimizeTable(ctx, t, j.layout())
		if err != nil {
			return nil, err
		}
		return answer(r.Outcome, r.Version), nil
	case vacuum:
		r, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{Lite: j.lite})
		if err != nil {
			return nil, err
		}
		return answer(r.Outcome, r.Version), nil
	case restore:
		r, err := maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(j.to)})
		if err != nil {
			return nil, err
		}
		return answer(r.Outcome, r.Version), nil
	case alter, enable:
		r, err := j.redefine(ctx, t)
		if err != nil {
			return nil, err
		}
		return answer(r.Outcome, r.Version), nil
	}
	return j.keepLog(ctx, t)
}

// layout is how an optimize lays files out.
func (j *job) layout() maintain.Optimize {
	if j.sorts {
		return maintain.Optimize{ZOrderBy: []string{"id"}}
	}
	return maintain.Optimize{}
}

func (j *job) redefine(ctx context.Context, t *idem.Table) (*maintain.Altered, error) {
	if j.kind == enable {
		return maintain.EnableFeature(ctx, t, maintain.Enable{Feature: j.what})
	}
	var c maintain.Change
	if name, ok := strings.CutPrefix(j.what, "+"); ok {
		c = maintain.AddColumn{Name: name, Type: arrow.PrimitiveTypes.Int64}
	} else {
		key, value, _ := strings.Cut(j.what, "=")
		c = maintain.SetProperties{Properties: map[string]string{key: value}}
	}
	return maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{c}})
}

func (j *job) keepLog(ctx context.Context, t *idem.Table) (*idem.Result, error) {
	switch j.kind {
	case checkpoint:
		r, err := maintain.Checkpoint(ctx, t)
		if err != nil {
			return nil, err
		}
		return &idem.Result{Outcome: r.Outcome, Version: r.Version}, nil
	case cleanUpLog:
		r, err := maintain.CleanUpLog(ctx, t, maintain.CleanUp{})
		if err != nil {
			return nil, err
		}
		return &idem.Result{Outcome: r.Outcome, Version: -1}, nil
	case compactLog:
		r, err := maintain.CompactLog(ctx, t, j.to, j.to+int64(j.back))
		if err != nil {
			return nil, err
		}
		return &idem.Result{Outcome: r.Outcome, Version: -1}, nil
	}
	return nil, fmt.Errorf("a job of kind %d", j.kind)
}

// scan reads the table and keeps what it was.
func (j *job) scan(ctx context.Context, wr *writer) (*idem.Result, error) {
	if _, err := wr.table.Refresh(ctx); err != nil {
		return nil, err
	}
	v := wr.table.Version()
	view, err := wr.table.At(ctx, v)
	if err != nil {
		return nil, err
	}
	rows, err := tabletest.Scan(ctx, view)
	if err != nil {
		return nil, err
	}
	wr.call.read = rows
	return &idem.Result{Outcome: idem.Unchanged, Version: v}, nil
}

// errNotMine says that a foreign writer does not know the table's features.
var errNotMine = errors.New("the table has features that this engine lacks")
