package sim

import (
	"errors"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
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
		if j.kind != createTable && j.kind != foreign && j.kind != appendRows && !j.over && !w.done(j, l) {
			w.finishJob(wr, j)
		}
	}
	w.finishAppends(wr, l)
	w.check(l, "at the end")
	if len(w.broken) == 0 {
		w.compare(wr, l)
		w.once(l)
		w.rules()
		w.feed(wr, l)
	}
}

// rules holds the whole log and every live file against the rules of the protocol.
func (w *world) rules() {
	report, err := logcheck.Check(w.context(), w.truth)
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
		if c.finished() || j.kind == appendRows && len(l.landed(c)) > 0 {
			return true
		}
	}
	return false
}

// repeatable says whether an orchestrator may run a job again that did not end: a plain append only
// when it knows that nothing of it landed, and never a foreign writer's, which we do not know.
func (w *world) repeatable(j *job) bool {
	for _, c := range w.callsOf(j) {
		if j.kind == foreign || j.kind == appendRows && c.unknown() {
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
		if j.over {
			return
		}
		if !wr.run(j) {
			w.fail("job %d does not end when it is run again", j.n)
		} else if c := w.calls[len(w.calls)-1]; c.err == nil && c.res.Outcome == idem.Committed && j.kind != vacuum {
			w.fail("job %d (%s): it commits again right after it ended", j.n, j.kind)
		}
		return
	}
	w.fail("job %d (%s): it does not end over a quiet store", j.n, j.kind)
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
		if c.resolved == nil && !w.cleaned(c) {
			w.fail("call %d cannot be resolved though the log has gone on", c.n)
		}
	}
	if err := l.extend(); err != nil {
		w.fail("before the last appends: the log: %v", err)
		return
	}
	for _, j := range w.plan.jobs {
		if j.kind == appendRows && !j.over && !w.done(j, l) && !wr.run(j) {
			w.fail("job %d (append): it does not end over a quiet store", j.n)
		}
	}
}

// cleaned says whether a version that a call proposed has been cleaned away, so that nobody can tell any
// more whose it was.
func (w *world) cleaned(c *call) bool {
	for _, d := range w.truth.deleted {
		f := logFile(d.key)
		for _, proposed := range c.proposed {
			if _, ours := proposed[f.Version]; ours && f.Kind == delta.Commit {
				return true
			}
		}
	}
	return false
}

// compare reads the table as somebody does who opens it now, by way of its checkpoints.
func (w *world) compare(wr *writer, l *ledger) {
	ctx := w.context()
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
		w.fail("the table at the end, opened anew, is not the model\n%s", diff)
	}
}

// once checks that each job is in the table once: in one commit where a tag or a plain append says
// so, and ended in any case. That a tag is written again only after it was taken back or moved is
// checked version by version.
func (w *world) once(l *ledger) {
	for _, j := range w.plan.jobs {
		if j.over || j.kind == foreign {
			continue
		}
		commits, ended, skipped := 0, false, false
		for _, c := range w.callsOf(j) {
			commits += len(l.landed(c))
			ended = ended || c.finished()
			skipped = skipped || c.finished() && (c.err != nil || c.res.Outcome == idem.Superseded || c.res.Outcome == idem.AlreadyApplied)
		}
		var err error
		switch {
		case j.kind == appendRows || j.kind == createTable:
			if commits != 1 {
				err = errors.New("it must be in the log once")
			}
		case !ended:
			err = errors.New("it did not end")
		case j.tag.AppID != "" && (commits > 1 && !w.moved(l) || commits == 0 && !skipped):
			err = errors.New("its tag must be in the log once")
		}
		if err != nil {
			w.fail("job %d (%s): %v\nit has %d commits", j.n, j.kind, err, commits)
		}
	}
}

// moved says whether a tag was ever taken or moved back.
func (w *world) moved(l *ledger) bool {
	for _, c := range l.by {
		if k := c.job.kind; k == restore || k == rewind || k == foreign && c.job.comes == foreignMoves {
			return true
		}
	}
	return false
}
