package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
)

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

// first are the jobs that fill the table before the history begins.
func (m *maker) first() []*job {
	var jobs []*job
	for i := range m.dice.IntN(3) {
		j := m.plan.newJob([]kind{appendTxn, mergeRows}[i])
		j.tag = idem.Txn{AppID: fmt.Sprintf("app-%d", m.dice.IntN(3)), Version: int64(i)}
		if j.kind == appendTxn {
			j.rows = append(m.appends(j, shared), m.appends(j, 1)...)
		} else {
			j.rows = m.merges(j)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// series are the jobs of one writer. own is the writer's own slice.
func (m *maker) series(own int) []*job {
	app := fmt.Sprintf("app-%d", own)
	version := int64(1)
	var jobs []*job
	for range 1 + m.dice.IntN(m.plan.most) {
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
	k := m.plan.palette[m.dice.IntN(len(m.plan.palette))]
	if k == overwriteParts && !m.plan.partitioned {
		k = replaceTable
	}
	j := m.plan.newJob(k)
	tag := idem.Txn{AppID: app, Version: version}
	if m.dice.IntN(4) == 0 {
		tag = idem.Txn{AppID: "app-shared", Version: int64(j.n)} // what two loaders do that share an app id
	}
	j.batch, j.again, j.to = m.dice.IntN(4), m.dice.IntN(2) == 0, -1
	m.fill(j, at, app)
	if j.kind == appendTxn || j.kind.does().tags && m.dice.IntN(4) == 0 {
		j.tag = tag
		j.tag.VerifyPayload = m.dice.IntN(4) == 0 && j.kind != updateSlice
		j.reapply = m.dice.IntN(2) == 0
	}
	return j
}

// fill gives a job its input.
func (m *maker) fill(j *job, at int, app string) {
	switch j.kind {
	case appendRows, appendTxn:
		j.rows = m.appends(j, at)
	case replaceSlice:
		m.replace(j, at)
	case replaceTable:
		j.rows = m.some(j, at)
	case overwriteParts:
		j.rows = append(m.some(j, at), m.row(j, at, 2))
	case mergeRows:
		j.rows = m.merges(j)
	case deleteSlice:
		m.deletes(j, at)
	case updateSlice:
		m.deletes(j, at)
		j.set = int64(100 + j.n)
	case optimize:
		j.sorts = j.n%3 == 0
	case vacuum:
		j.lite = m.dice.IntN(3) == 0
	case restore:
		j.back = 1 + m.dice.IntN(4)
	case compactLog:
		j.back = 1 + m.dice.IntN(3)
	case rewind:
		j.app, j.to = app, m.dice.Int64N(4)-1
		if m.dice.IntN(2) == 0 {
			j.app = fmt.Sprintf("app-%d", m.dice.IntN(3))
		}
	case alter:
		j.what = []string{"+x1", "+x2", "sim.a=1", fmt.Sprintf("sim.b=%d", j.n)}[m.dice.IntN(4)]
	case enable:
		j.what = []string{"deletionVectors", "deletionVectors", "changeDataFeed", "inCommitTimestamp", "rowTracking", "v2Checkpoint", "columnMapping", "columnMapping"}[m.dice.IntN(8)]
	}
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

// some are rows of one slice, or none.
func (m *maker) some(j *job, at int) []tabletest.Row {
	var rows []tabletest.Row
	for id := range int64(2) {
		if m.dice.IntN(3) > 0 {
			rows = append(rows, m.row(j, at, id))
		}
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
