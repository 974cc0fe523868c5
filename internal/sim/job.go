package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	replaceTable
	mergeRows
	deleteSlice
	updateSlice
	overwriteParts
	scanRows
	optimize
	vacuum
	checkpoint
	cleanUpLog
	compactLog
	restore
	rewind
	alter
	enable
	foreign
	kinds
)

func (k kind) String() string {
	return [...]string{"create", "append", "append-txn", "replace", "replace-all", "merge", "delete", "update", "overwrite", "scan",
		"optimize", "vacuum", "checkpoint", "clean-up", "compact", "restore", "rewind", "alter", "enable", "foreign"}[k]
}

// Verbs are the kinds of jobs by name.
func Verbs() []string {
	var names []string
	for k := range kinds {
		names = append(names, k.String())
	}
	return names
}

// weights are the kinds of jobs as often as they are drawn.
var weights = []kind{
	appendRows, appendTxn, appendTxn, appendTxn, replaceSlice, replaceSlice, replaceTable, mergeRows, mergeRows, mergeRows, deleteSlice, deleteSlice,
	updateSlice, overwriteParts, scanRows, optimize, optimize, vacuum, vacuum, checkpoint, cleanUpLog, compactLog, restore, restore, rewind, rewind, alter, enable,
}

// does says what there is to a kind of job.
type does struct {
	rows   bool // it changes rows
	tags   bool // it may have a tag
	commit bool // it commits
	some   bool // it may commit more than once
	still  bool // no row changes, and none gets another id
	holds  bool // it holds rows, and sets aside what is too much for its memory, or writes it out early
	tidies bool // it deletes, or writes to the log other files than commits
}

func (k kind) does() does {
	switch k {
	case appendRows:
		return does{rows: true, commit: true, holds: true}
	case appendTxn, replaceSlice, replaceTable, mergeRows, deleteSlice, updateSlice, overwriteParts:
		return does{rows: true, tags: true, commit: true, holds: true}
	case restore, foreign:
		return does{rows: true, commit: true}
	case createTable, rewind, alter:
		return does{commit: true, still: true}
	case optimize:
		return does{commit: true, still: true, holds: true}
	case enable:
		return does{commit: true, some: true, still: true}
	case vacuum:
		return does{commit: true, some: true, still: true, tidies: true}
	case checkpoint, cleanUpLog, compactLog:
		return does{tidies: true}
	}
	return does{}
}

// job is one call of a verb with its input: every run of it is given the same.
type job struct {
	n       int
	kind    kind
	rows    []tabletest.Row
	where   slice
	tag     idem.Txn
	batch   int   // rows of a batch of the input
	again   bool  // the input can be read again
	back    int   // of a restore: how many versions to go back; of a compaction: how many versions
	to      int64 // of a restore: the version, -1 before the first run; of a rewind: the tag's version
	app     string
	set     int64  // of an update
	what    string // of a change of definition: a column "+x1", a property "k=v"; of a feature: its name
	lite    bool   // of a vacuum
	sorts   bool   // of an optimize: rows are ordered by their ids
	reapply bool   // write again what a restore took back
	comes   int    // of a foreign writer: what it does
	over    bool   // nobody runs it any more
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
	switch j.kind {
	case updateSlice:
		text += fmt.Sprintf(" set v = %d", j.set)
	case restore, compactLog:
		text += fmt.Sprintf(" %d back", j.back)
	case rewind:
		text += fmt.Sprintf(" %s to %d", j.app, j.to)
	case alter, enable:
		text += " " + j.what
	case optimize:
		if j.sorts {
			text += " by id"
		}
	case foreign:
		text += fmt.Sprintf(" no. %d", j.comes)
	}
	if len(j.rows) > 0 {
		text += fmt.Sprintf(", rows %v", j.rows)
	}
	return text
}

// apply does on the model what the verb should do on the table. states are those of the versions
// before.
func (j *job) apply(s *state, states []*state) {
	switch j.kind {
	case appendRows, appendTxn:
		s.Append(j.rows...)
	case replaceSlice:
		s.Replace(j.where.in, j.rows...)
	case replaceTable:
		s.Replace(everyRow, j.rows...)
	case mergeRows:
		s.Merge(negative, j.rows...)
	case deleteSlice:
		s.Delete(j.where.in)
	case updateSlice:
		j.update(s)
	case overwriteParts:
		s.Replace(func(r tabletest.Row) bool {
			return slices.ContainsFunc(j.rows, func(o tabletest.Row) bool { return o.Day == r.Day })
		}, j.rows...)
	case restore:
		s.restore(states[j.to])
	case rewind:
		s.move(j.app, j.to)
	case alter:
		j.define(s)
	case foreign:
		j.intrude(s)
	}
	if j.tag.AppID != "" {
		s.write(j.tag.AppID, j.tag.Version)
	}
}

func everyRow(tabletest.Row) bool { return true }

func (j *job) update(s *state) {
	out := tabletest.Rows{}
	for r, n := range s.Rows {
		if j.where.in(r) {
			r.V, r.NullV = j.set, false
		}
		out[r] += n
	}
	s.Rows = out
}

func (j *job) define(s *state) {
	if name, ok := strings.CutPrefix(j.what, "+"); ok {
		if !slices.Contains(s.columns, name) {
			s.columns = append(s.columns, name)
		}
		return
	}
	key, value, _ := strings.Cut(j.what, "=")
	s.props[key] = value
}

// negative rows delete their match in a merge.
func negative(r tabletest.Row) bool { return !r.NullV && r.V < 0 }

// choose fixes the version that a restore goes back to, or the versions that a compaction takes, when
// the job runs first: it is part of the input. A version is gone back to while no vacuum may have taken
// its files: later the orchestrator gives the job up.
func (j *job) choose(w *world) {
	newest := w.look()
	if j.to < 0 {
		j.to = max(0, newest-int64(j.back))
		for j.kind == restore && j.to < newest && !w.recent(j.to) {
			j.to++
		}
	}
	if j.kind == restore && j.to < newest && !w.recent(j.to) {
		j.over = true
	}
}

// recent says whether a version was the newest a short time ago, for a vacuum.
func (w *world) recent(v int64) bool {
	next, ok := w.truth.landed[v+1]
	return !ok || w.now.Sub(next.at) < w.plan.fileAge/4
}

// most is how far clocks are off.
const most = 5 * time.Minute
