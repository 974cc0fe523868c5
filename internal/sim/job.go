package sim

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
)

// kind is what a job does.
type kind int

const (
	createTable kind = iota
	appendRows
	appendTxn
	replaceSlice
	mergeRows
	deleteSlice
)

func (k kind) String() string {
	return [...]string{"create", "append", "append with txn", "replace", "merge", "delete"}[k]
}

// job is one call of a verb with its input: every run of it is given the same.
type job struct {
	n     int
	kind  kind
	rows  []tabletest.Row
	where slice
	tag   idem.Txn
	batch int  // rows of a batch of the input
	again bool // the input can be read again
}

// slice is a condition, as text and as a function.
type slice struct {
	text string
	args []any
	in   func(tabletest.Row) bool
}

func (j *job) String() string {
	text := fmt.Sprintf("job %d: %s", j.n, j.kind)
	if j.tag.AppID != "" {
		text += fmt.Sprintf(" %s@%d", j.tag.AppID, j.tag.Version)
	}
	if j.where.text != "" {
		text += fmt.Sprintf(" where %s %v", j.where.text, j.where.args)
	}
	return fmt.Sprintf("%s, rows %v", text, j.rows)
}

// do calls the verb.
func (j *job) do(ctx context.Context, wr *writer) (*idem.Result, error) {
	t := wr.table
	var rows array.RecordReader = tabletest.Once(memory.DefaultAllocator, j.batch, j.rows...)
	if j.again {
		rows = tabletest.Again(memory.DefaultAllocator, j.batch, j.rows...)
	}
	defer rows.Release()
	if f := wr.w.hooks.Append; f != nil && (j.kind == appendRows || j.kind == appendTxn) && !wr.quiet {
		return f(ctx, wr.view(), t, j.rows, j.tag)
	}
	switch j.kind {
	case appendRows:
		return t.Append(ctx, rows, idem.Append{Reason: fmt.Sprintf("job %d", j.n)})
	case appendTxn:
		return t.AppendWithTxn(ctx, rows, j.tag)
	case replaceSlice:
		return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: j.where.text, Args: j.where.args, AllowEmpty: true, Txn: j.tag})
	case mergeRows:
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "v < 0", Txn: j.tag})
	case deleteSlice:
		return t.Delete(ctx, idem.Delete{Where: j.where.text, Args: j.where.args, Txn: j.tag})
	}
	return nil, fmt.Errorf("a job of kind %d", j.kind)
}

// apply does on the model what the verb should do on the table.
func (j *job) apply(m *tabletest.Model) {
	switch j.kind {
	case appendRows, appendTxn:
		m.Append(j.rows...)
	case replaceSlice:
		m.Replace(j.where.in, j.rows...)
	case mergeRows:
		m.Merge(negative, j.rows...)
	case deleteSlice:
		m.Delete(j.where.in)
	}
	if j.tag.AppID != "" {
		m.Tags[j.tag.AppID] = j.tag.Version
	}
}

// negative rows delete their match in a merge.
func negative(r tabletest.Row) bool { return !r.NullV && r.V < 0 }

// A table has a few slices. The rows of slice s have the day "s<s>" and ids from 1000·s on: those
// below 500 are written by replaces and merges, those from 500 on by appends, each id once, so that
// ids are unique in the table whatever the order.
const (
	days     = 4
	perSlice = 1000
	appended = 500
	shared   = 0 // the slice that all writers write to
)

// maker makes the jobs of one history.
type maker struct {
	dice  *rand.Rand
	plan  *scenario
	fresh int64 // appended ids handed out
}

// series are the jobs of one writer. own is the writer's own slice.
func (m *maker) series(own int) []*job {
	app := fmt.Sprintf("app-%d", own)
	version := int64(0)
	var jobs []*job
	for range 1 + m.dice.IntN(3) {
		version += 1 + m.dice.Int64N(2)
		jobs = append(jobs, m.job(own%days, app, version))
	}
	return jobs
}

func (m *maker) job(own int, app string, version int64) *job {
	at := own
	if m.dice.IntN(2) == 0 {
		at = shared
	}
	kinds := []kind{appendRows, appendTxn, appendTxn, replaceSlice, replaceSlice, mergeRows, mergeRows, deleteSlice}
	j := m.plan.newJob(kinds[m.dice.IntN(len(kinds))])
	tag := idem.Txn{AppID: app, Version: version}
	if m.dice.IntN(4) == 0 {
		tag = idem.Txn{AppID: "app-shared", Version: int64(j.n)} // what two loaders do that share an app id
	}
	j.batch, j.again = m.dice.IntN(4), m.dice.IntN(2) == 0
	switch j.kind {
	case appendRows, appendTxn:
		j.rows = m.appends(j, at)
	case replaceSlice:
		m.replace(j, at)
	case mergeRows:
		j.rows = m.merges(j)
	case deleteSlice:
		m.deletes(j, at)
	}
	if j.kind == appendTxn || j.kind != appendRows && m.dice.IntN(4) == 0 {
		j.tag = tag
		j.tag.VerifyPayload = m.dice.IntN(4) == 0
	}
	return j
}

func (m *maker) row(j *job, at int, id int64) tabletest.Row {
	r := tabletest.Row{Day: fmt.Sprintf("s%d", at), ID: int64(at)*perSlice + id, Seq: 1 + m.dice.Int64N(9), V: int64(j.n)}
	if m.dice.IntN(8) == 0 {
		r.V, r.NullV = 0, true
	}
	return r
}

func (m *maker) appends(j *job, at int) []tabletest.Row {
	var rows []tabletest.Row
	for range 1 + m.dice.IntN(3) {
		rows = append(rows, m.row(j, at, appended+m.fresh))
		m.fresh++
	}
	return rows
}

// replace replaces a whole slice, or the lower part of its ids.
func (m *maker) replace(j *job, at int) {
	top := int64(10)
	if m.dice.IntN(2) == 0 {
		j.where = dayIs(at)
	} else {
		top = 1 + m.dice.Int64N(9)
		j.where = idsIn(int64(at)*perSlice, int64(at)*perSlice+top)
	}
	for id := range top {
		if m.dice.IntN(3) == 0 {
			j.rows = append(j.rows, m.row(j, at, id))
		}
	}
}

// merges brings changes to any slices, at times several of one key, some of them deletions.
func (m *maker) merges(j *job) []tabletest.Row {
	var rows []tabletest.Row
	seqs := map[int64]map[int64]bool{}
	for range 1 + m.dice.IntN(5) {
		r := m.row(j, m.dice.IntN(days), m.dice.Int64N(4))
		if !r.NullV && m.dice.IntN(5) == 0 {
			r.V = -r.V
		}
		if seqs[r.ID] == nil {
			seqs[r.ID] = map[int64]bool{}
		}
		if !seqs[r.ID][r.Seq] { // two that tie would be refused
			seqs[r.ID][r.Seq] = true
			rows = append(rows, r)
		}
	}
	return rows
}

func (m *maker) deletes(j *job, at int) {
	switch m.dice.IntN(3) {
	case 0:
		j.where = dayIs(at)
	case 1:
		from := int64(at)*perSlice + m.dice.Int64N(8)
		j.where = idsIn(from, from+1+m.dice.Int64N(4))
	case 2:
		v := m.dice.Int64N(int64(j.n) + 2)
		j.where = slice{"v = ?", []any{v}, func(r tabletest.Row) bool { return !r.NullV && r.V == v }}
	}
}

func dayIs(at int) slice {
	day := fmt.Sprintf("s%d", at)
	return slice{"day = ?", []any{day}, func(r tabletest.Row) bool { return r.Day == day }}
}

func idsIn(from, to int64) slice {
	return slice{"id >= ? AND id < ?", []any{from, to}, func(r tabletest.Row) bool { return r.ID >= from && r.ID < to }}
}
