package sim

import (
	"context"
	"errors"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/tabletest"
)

// mostRuns is how often a job is run over a quiet store before it is given up.
const mostRuns = 3

// finish runs what did not end, twice, over a store where nothing goes wrong.
func (w *world) finish(l *ledger) {
	wr := w.newWriter("end", nil)
	wr.quiet = true
	if !wr.start() {
		w.fail("the table cannot be opened at the end")
		return
	}
	for _, j := range w.plan.jobs {
		if j.kind != createTable && !w.done(j, l) && j.kind != appendRows {
			w.finishJob(wr, j)
		}
	}
	w.finishAppends(wr, l)
	w.check(l, "at the end")
	if len(w.broken) == 0 {
		w.compare(wr, l)
		w.once(l)
		w.rules()
	}
}

// rules holds the whole log and every live file against the rules of the protocol.
func (w *world) rules() {
	report, err := logcheck.Check(tabletest.Codec(context.Background()), w.mem)
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		w.fail("at the end: %v", err)
	}
}

func (w *world) callsOf(j *job) []*call {
	var out []*call
	for _, c := range w.calls {
		if c.job == j {
			out = append(out, c)
		}
	}
	return out
}

// done says whether somebody was told that a job is done, or, for a plain append, which nobody may
// repeat, whether it is in the log.
func (w *world) done(j *job, l *ledger) bool {
	for _, c := range w.callsOf(j) {
		_, landed := l.byTxn[c.txnID]
		if c.finished() || j.kind == appendRows && c.txnID != "" && landed {
			return true
		}
	}
	return false
}

// repeatable says whether an orchestrator may run a job again that did not end: a plain append only
// when it knows that nothing of it landed.
func (w *world) repeatable(j *job) bool {
	for _, c := range w.callsOf(j) {
		if j.kind == appendRows && c.unknown() {
			return false
		}
	}
	return true
}

func (w *world) finishJob(wr *writer, j *job) {
	for range mostRuns {
		if !wr.run(j) {
			continue
		}
		if !wr.run(j) {
			w.fail("job %d does not end when it is run again", j.n)
		} else if c := w.calls[len(w.calls)-1]; c.res.Outcome == idem.Committed {
			w.fail("job %d (%s) commits again, right after it ended", j.n, j.kind)
		}
		return
	}
	w.fail("job %d (%s) does not end over a quiet store", j.n, j.kind)
}

// finishAppends appends what is missing, once it is known what became of appends whose outcome was
// unknown: a commit behind all others gives each an answer.
func (w *world) finishAppends(wr *writer, l *ledger) {
	var open []*call
	for _, c := range w.calls {
		if c.job.kind == appendRows && c.unknown() && !c.crashed {
			open = append(open, c)
		}
	}
	if len(open) > 0 {
		barrier := w.plan.newJob(appendTxn)
		barrier.tag = idem.Txn{AppID: "app-end", Version: 1}
		w.finishJob(wr, barrier)
	}
	for _, c := range open {
		wr.resolve(c)
		if c.resolved == nil {
			w.fail("call %d cannot be resolved though the log has gone on", c.n)
		}
	}
	if err := l.extend(); err != nil {
		w.fail("before the last appends: the log: %v", err)
		return
	}
	for _, j := range w.plan.jobs {
		if j.kind == appendRows && !w.done(j, l) && !wr.run(j) {
			w.fail("job %d (append) does not end over a quiet store", j.n)
		}
	}
}

// compare reads the table as somebody does who opens it now, by way of its checkpoints.
func (w *world) compare(wr *writer, l *ledger) {
	ctx := tabletest.Codec(l.ctx)
	t, err := idem.OpenStore(ctx, wr.view(), wr.options())
	if err != nil {
		w.fail("open the table at the end: %v", err)
		return
	}
	got, err := tabletest.Scan(ctx, t)
	if err != nil {
		w.fail("scan the table at the end: %v", err)
		return
	}
	if t.Version() != l.newest() {
		w.fail("the table opens at version %d, the log ends at %d", t.Version(), l.newest())
	}
	if diff := l.rows.Diff(got); diff != "" {
		w.fail("the table at the end, opened anew, is not the model:\n%s", diff)
	}
}

// once checks that each job is in the table once: in one commit where a tag or a plain append says
// so, and ended in any case.
func (w *world) once(l *ledger) {
	for _, j := range w.plan.jobs {
		commits, ended, superseded := 0, false, false
		for _, c := range w.callsOf(j) {
			if _, landed := l.byTxn[c.txnID]; landed && c.txnID != "" {
				commits++
			}
			ended = ended || c.finished()
			superseded = superseded || c.err == nil && c.res != nil && c.res.Outcome == idem.Superseded
		}
		var err error
		switch {
		case j.kind == appendRows || j.kind == createTable:
			if commits != 1 {
				err = errors.New("it must be in the log once")
			}
		case !ended:
			err = errors.New("it did not end")
		case j.tag.AppID != "" && (commits > 1 || commits == 0 && !superseded):
			err = errors.New("its tag must be in the log once")
		}
		if err != nil {
			w.fail("job %d (%s): %v; it has %d commits", j.n, j.kind, err, commits)
		}
	}
}
