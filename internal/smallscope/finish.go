package smallscope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
)

// rerun is the life in which a call that did not end is run again, over a quiet store.
const rerun = 8

// stand is how a job ended at last.
type stand struct {
	done bool  // somebody was told, or nobody may try again
	none bool  // it cannot be done any more, and was not
	at   int64 // the version that it is, or that it found and had nothing to do
	idle bool  // it made no version
}

// before says which of two comes first in the log: one that found a version comes after it.
func (st stand) before(o stand) int {
	return cmp.Or(cmp.Compare(st.at, o.at), cmp.Compare(b2u(st.idle), b2u(o.idle)))
}

// found notes the version of a call that ended well.
func (st *stand) found(own []int64, e *ending) {
	st.done, st.idle, st.at = true, len(own) == 0, e.version
	if !st.idle {
		st.at = own[len(own)-1]
	}
}

// finish runs what did not end, and compares the table with one run of each call.
func (c *checks) finish(s *state, tip *version) error {
	stands := [2]stand{}
	for w := range s.seats {
		stands[w] = c.stand(s.seats[w], w, tip)
	}
	var at [2]uint64
	for w, st := range stands {
		at[w] = mix(uint64(st.at+1), b2u(st.idle)<<2|b2u(st.done)<<1|b2u(st.none))
		if !st.done {
			at[w] = mix(s.seats[w].at.id, 3)
		}
	}
	key := s.disk.identity(at, 0)
	if c.done[key] {
		return nil
	}
	c.done[key] = true
	d := s.disk
	if !stands[0].done || !stands[1].done {
		var err error
		if d, tip, err = c.runAgain(s, &stands); err != nil {
			return fmt.Errorf("run again: %w", err)
		}
	}
	if err := c.once(stands, tip); err != nil {
		return err
	}
	if err := c.reopened(d, tip); err != nil {
		return err
	}
	return c.rules(d)
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// stand is how a job ended as far as its caller knows.
func (c *checks) stand(s seat, w int, tip *version) stand {
	j := c.x.jobs[w]
	own := tip.own(w, -1)
	st := stand{}
	if len(own) > 0 {
		st.at = own[len(own)-1]
	}
	switch e := s.at.end; {
	case s.dead:
		st.done = len(own) > 0
	case e.err == nil:
		st.found(own, e)
	case errors.Is(e.err, idem.ErrRestored):
		st.done = true
	case errors.Is(e.err, idem.ErrPayload), j.op == Restore && errors.Is(e.err, idem.ErrInput):
		st.done, st.none = true, len(own) == 0
	}
	return st
}

// quiet runs calls over a store where nothing goes wrong.
type quiet struct {
	c     *checks
	mem   *store.Mem
	clock *tabletest.Clock
	known *disk
}

// runAgain runs the calls that did not end, and each of them once more.
func (c *checks) runAgain(s *state, stands *[2]stand) (*disk, *version, error) {
	q := &quiet{c: c, clock: tabletest.NewClock(), known: s.disk}
	q.clock.Advance(now.Add(time.Hour).Sub(tabletest.Epoch))
	var err error
	if q.mem, err = s.disk.mem(q.clock.Now); err != nil {
		return nil, nil, err
	}
	for w := range stands {
		if stands[w].done {
			continue
		}
		if err := q.finish(w, s.seats[w], &stands[w]); err != nil {
			return nil, nil, fmt.Errorf("writer %d (%s): %w", w+1, c.x.jobs[w].op, err)
		}
	}
	tip, err := c.log(q.known)
	return q.known, tip, err
}

// call runs a call, and takes what it wrote for the writer's.
func (q *quiet) call(w int, run func(context.Context, *idem.Table) *ending) (*ending, error) {
	ctx := tabletest.Codec(context.Background())
	q.c.reruns++
	t, err := idem.OpenStore(ctx, q.mem, tabletest.Options(1000+q.c.reruns, q.clock))
	if err != nil {
		return nil, err
	}
	e := run(ctx, t)
	return e, q.look(author{w, rerun})
}

// look learns what is in the store now.
func (q *quiet) look(by author) error {
	next := &disk{commits: q.known.commits, gone: q.known.gone}
	for i, err := range q.mem.List(context.Background(), "", "") {
		if err != nil {
			return err
		}
		data, err := q.mem.Get(context.Background(), i.Key, 0)
		if err != nil {
			return err
		}
		o := q.known.get(i.Key)
		if o == nil || !bytesEqual(o.data, data) {
			o = newObject(i.Key, data, i.ModTime, by)
			if commitVersion(o.key) >= 0 {
				next.commits = append(next.commits[:len(next.commits):len(next.commits)], o)
			}
		}
		next.objects, next.sum = append(next.objects, o), next.sum+o.sum
	}
	for _, o := range q.known.objects {
		if commitVersion(o.key) < 0 && next.get(o.key) == nil {
			next.gone = append(next.gone[:len(next.gone):len(next.gone)], o)
		}
	}
	q.known = next
	return nil
}

func bytesEqual(a, b []byte) bool { return string(a) == string(b) }

// finish runs the call of a writer to its end, and once more.
func (q *quiet) finish(w int, s seat, st *stand) error {
	j := q.c.x.jobs[w]
	if j.op == Append && !s.dead && errors.Is(s.at.end.err, idem.ErrUnknownOutcome) {
		if landed, err := q.resolve(w, s.at.end.err); err != nil || landed {
			st.done = true
			return err
		}
	}
	do := func(ctx context.Context, t *idem.Table) *ending { return j.do(ctx, q.mem, t, nil) }
	e, err := q.call(w, do)
	if err != nil {
		return err
	}
	if tip, err := q.c.log(q.known); err != nil {
		return err
	} else if e.err != nil {
		return q.cannot(j, e, st, tip, w)
	} else {
		st.found(tip.own(w, -1), e)
	}
	if !j.repeatable() {
		return nil
	}
	if e, err = q.call(w, do); err != nil || e.err != nil {
		return errors.Join(err, e.err)
	}
	if e.outcome == idem.Committed || e.cleaned != nil && e.cleaned.Outcome == idem.Committed {
		return fmt.Errorf("it commits again, right after it ended: %s", e)
	}
	return nil
}

// cannot says whether a call may end in an error over a quiet store.
func (q *quiet) cannot(j *job, e *ending, st *stand, tip *version, w int) error {
	own := tip.own(w, -1)
	switch {
	case j.op == Restore && q.c.x.mayRefuse(e.err), errors.Is(e.err, idem.ErrPayload) && tip.model.contradicts(j):
		st.done, st.none = true, len(own) == 0
		return nil
	case errors.Is(e.err, idem.ErrRestored) && tip.model.undone[j.tag.AppID]:
		st.done = true
		return nil
	}
	return e.err
}

// mayRefuse says whether a restore may end in an error: the version was cleaned away; its files were
// deleted; a vacuum that is at work, or died within the day, may be deleting them.
func (x *explorer) mayRefuse(err error) bool {
	return errors.Is(err, idem.ErrInput) && (x.has(CheckpointCleanUp) || x.has(Vacuum)) || errors.Is(err, idem.ErrConflict) && x.has(Vacuum)
}

func (x *explorer) has(o Operation) bool { return x.pair.First == o || x.pair.Second == o }

// resolve asks what became of a plain append whose outcome is unknown; a commit behind all others
// makes sure of an answer.
func (q *quiet) resolve(w int, cause error) (landed bool, err error) {
	var r *idem.Resolution
	_, err = q.call(w, func(ctx context.Context, t *idem.Table) *ending {
		r, err = t.Resolve(ctx, cause)
		return &ending{err: err}
	})
	if err != nil {
		return false, err
	}
	tip, err := q.c.log(q.known)
	if err != nil {
		return false, err
	}
	if own := tip.own(w, -1); r != nil && r.Committed != (len(own) > 0) {
		return false, fmt.Errorf("it was resolved to committed=%t, and its work is versions %d", r.Committed, own)
	}
	return r != nil && r.Committed, nil
}

// once compares the table with one run of each call, in the order of the log.
func (c *checks) once(stands [2]stand, tip *version) error {
	order := []int{0, 1}
	slices.SortStableFunc(order, func(a, b int) int { return stands[a].before(stands[b]) })
	if c.x.jobs[0] == c.x.jobs[1] && c.x.jobs[0].op != Append {
		order = order[:1]
	}
	m := c.base.model
	for _, w := range order {
		if j := c.x.jobs[w]; !stands[w].none && !m.has(j) {
			m = j.apply(m, &tip.at(restoredTo).model)
		}
	}
	if !maps.Equal(m.Rows, tip.model.Rows) || m.note != tip.model.note {
		return fmt.Errorf("the table is not what one run of each leaves:\n%s", m.Rows.Diff(tip.model.Rows))
	}
	return nil
}

// reopened reads the table as somebody does who opens it now, by way of its checkpoints.
func (c *checks) reopened(d *disk, tip *version) error {
	m, err := d.mem(func() time.Time { return now })
	if err != nil {
		return err
	}
	ctx := tabletest.Codec(context.Background())
	t, err := idem.OpenStore(ctx, m, tabletest.Options(7, tabletest.NewClock()))
	if err != nil {
		return fmt.Errorf("open the table at the end: %w", err)
	}
	got, err := tabletest.Scan(ctx, t)
	switch {
	case err != nil:
		return fmt.Errorf("scan the table at the end: %w", err)
	case t.Version() != tip.number:
		return fmt.Errorf("the table opens at version %d, the log ends at %d", t.Version(), tip.number)
	case !maps.Equal(got, tip.model.Rows):
		return fmt.Errorf("the table at the end, opened anew, is not the model:\n%s", tip.model.Rows.Diff(got))
	}
	return nil
}
