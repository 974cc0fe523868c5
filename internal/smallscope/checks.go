package smallscope

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/tabletest"
)

// checks are what must hold at the ends of one pair.
type checks struct {
	names  map[uint64][]string // of the files that a commit adds
	x      *explorer
	base   *version
	err    error
	logs   int
	reruns uint64          // calls that were run again
	clean  map[uint64]bool // disks that keep every rule of the log
	done   map[identity]bool
}

func newChecks(x *explorer) *checks {
	c := &checks{x: x, clean: map[uint64]bool{}, done: map[identity]bool{}, names: map[uint64][]string{}}
	c.base, c.err = c.first()
	return c
}

// end checks a state in which both writers have ended.
func (c *checks) end(s *state) error {
	if c.err != nil {
		return c.err
	}
	tip, err := c.log(s.disk)
	if err != nil {
		return err
	}
	for w := range s.seats {
		if err := c.claim(s, w, tip); err != nil {
			return fmt.Errorf("writer %d (%s): %w", w+1, c.x.jobs[w].op, err)
		}
	}
	if err := c.files(s.disk, tip); err != nil {
		return err
	}
	if len(s.late) > 0 {
		return nil
	}
	return c.finish(s, tip)
}

// own are the versions that a life of a writer committed; life -1 is any.
func (v *version) own(w, life int) (own []int64) {
	for ; v != nil; v = v.before {
		if by := v.object.by; by.writer == w && (life < 0 || by.life == life) {
			own = append([]int64{v.number}, own...)
		}
	}
	return own
}

// claim says what is wrong with what a caller was told.
func (c *checks) claim(s *state, w int, tip *version) error {
	seat, j := s.seats[w], c.x.jobs[w]
	own := tip.own(w, seat.life)
	if len(own) > j.commits() {
		return fmt.Errorf("it committed versions %d", own)
	}
	if seat.dead {
		return nil
	}
	e := seat.at.end
	switch {
	case e.panics != "":
		return errors.New(e.String())
	case errors.Is(e.err, idem.ErrUnknownOutcome):
		return c.excuse(seat, j, tip)
	case e.err != nil:
		if len(own) > 0 && j.op != Vacuum {
			return fmt.Errorf("it was told %q, and its work is version %d", e.err, own)
		}
		return c.excuse(seat, j, tip)
	case j.op == CheckpointCleanUp:
		return c.kept(s.disk, author{w, seat.life}, e, tip)
	case e.outcome == idem.Committed:
		if len(own) != j.commits() || own[len(own)-1] != e.version {
			return fmt.Errorf("it was told %q, and its work is versions %d", e, own)
		}
		return c.maintained(s.disk, e, j, tip.at(e.version))
	case len(own) > 0:
		return fmt.Errorf("it was told %q, and its own work is version %d", e, own)
	}
	return c.skipped(s.disk, e, j, tip)
}

// skipped checks the answers of calls that had nothing to do, at the version that they name.
func (c *checks) skipped(d *disk, e *ending, j *job, tip *version) error {
	if e.version < c.base.number || e.version > tip.number {
		return fmt.Errorf("it was told %q; when it began the newest version was %d, now it is %d", e, c.base.number, tip.number)
	}
	v := tip.at(e.version)
	switch {
	case e.outcome == idem.AlreadyApplied, e.outcome == idem.Superseded:
		return v.model.skips(e, j)
	case e.outcome != idem.Unchanged || j.tag.AppID != "":
		return fmt.Errorf("it was told %q", e)
	case j.op == Optimize || j.op == Vacuum: // rows do not tell whether there was something to do
		return c.maintained(d, e, j, v)
	}
	after := j.apply(v.model, &tip.at(restoredTo).model)
	if !maps.Equal(v.model.Rows, after.Rows) || v.model.note != after.note {
		return fmt.Errorf("it was told %q, and had work to do there:\n%s", e, v.model.Rows.Diff(after.Rows))
	}
	return nil
}

// skips says what is wrong with the answer of a call that was skipped by its tag.
func (m model) skips(e *ending, j *job) error {
	recorded, same := m.Recorded(j.tag.AppID), e.outcome == idem.AlreadyApplied
	switch {
	case j.tag.AppID == "", same && recorded != j.tag.Version, !same && recorded <= j.tag.Version, m.undone[j.tag.AppID]:
		return fmt.Errorf("it was told %q, and there %d is recorded (taken back: %t)", e, recorded, m.undone[j.tag.AppID])
	case same && m.contradicts(j):
		return fmt.Errorf("it was told %q, and other rows are recorded there", e)
	case e.untold != (same && j.tag.VerifyPayload && m.payload == nil):
		return fmt.Errorf("it was told %q, and rows are recorded there: %t", e, m.payload != nil)
	}
	return nil
}

// excuse says whether an error, or an unknown outcome, has its reason.
func (c *checks) excuse(s seat, j *job, tip *version) error {
	err := s.at.end.err
	switch {
	case j.op == Restore && c.x.mayRefuse(err):
		return nil
	case errors.Is(err, idem.ErrRestored):
		if tip.model.undone[j.tag.AppID] {
			return nil
		}
	case errors.Is(err, idem.ErrPayload):
		if tip.model.contradicts(j) {
			return nil
		}
	case s.at.faults == 0:
	case errors.Is(err, idem.ErrUnknownOutcome), errors.Is(err, context.DeadlineExceeded), errors.Is(err, storetest.ErrInjected), errors.Is(err, idem.ErrConflict):
		return nil
	}
	return fmt.Errorf("nothing that it suffered explains the error: %w", err)
}

// files says which file that somebody needs is not in the store: a commit that has not expired, one of the newest
// version, or, where nobody deletes any, one that any version added.
func (c *checks) files(d *disk, tip *version) error {
	for _, o := range d.commits {
		if d.get(o.key) == nil && (commitVersion(o.key) >= c.base.number || !c.x.has(CheckpointCleanUp)) {
			return fmt.Errorf("the commit of version %d was deleted", commitVersion(o.key))
		}
	}
	for f := range tip.snap.Files() {
		if o := d.get(f.Key); o == nil || int64(len(o.data)) != f.Size {
			return fmt.Errorf("file %s of the newest version is not in the store", f.Key)
		}
	}
	if c.x.has(Vacuum) {
		return nil
	}
	for _, o := range d.gone {
		if !strings.HasPrefix(o.key, delta.LogDir) && c.committed(o.key, tip) {
			return fmt.Errorf("file %s, which a version names, was deleted", o.key)
		}
	}
	return nil
}

func (c *checks) committed(key string, tip *version) bool {
	for v := tip; v != nil && v.number > c.base.number; v = v.before {
		if slices.Contains(c.names[v.object.sum], key) {
			return true
		}
	}
	return false
}

// rules holds log and files against every rule of the protocol.
func (c *checks) rules(d *disk) error {
	if c.clean[d.sum] {
		return nil
	}
	m, err := d.mem(func() time.Time { return now })
	if err != nil {
		return err
	}
	report, err := logcheck.Check(tabletest.Codec(context.Background()), m)
	if err == nil {
		err = report.Err()
	}
	if err == nil {
		c.clean[d.sum] = true
	}
	return err
}
