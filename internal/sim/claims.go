package sim

import (
	"errors"
	"fmt"
	"maps"

	"github.com/idemtable/idem"
)

// claim says what is wrong with what a caller was told.
func (l *ledger) claim(c *call) error {
	landed := l.landed(c)
	some := c.job.kind.does().some
	switch {
	case c.stays:
		return l.stayed(c, landed)
	case !c.ended || c.unknown():
		return l.excuse(c)
	case c.resolved != nil:
		return l.resolution(c, landed)
	case c.err != nil && len(landed) > 0 && !some:
		return fmt.Errorf("its work is in the log\nversion %d", landed[0])
	case errors.Is(c.err, idem.ErrRestored):
		return l.sometime(c, "its tag was restored away", func(s *state) bool { return s.standing(c.job.tag) == restored })
	case c.err != nil:
		return l.excuse(c)
	case c.job.kind == scanRows:
		return l.scanned(c)
	case c.res.Outcome == idem.Committed:
		return l.committed(c, landed)
	case len(landed) > 0 && !some && !((c.stale || c.wrong) && c.res.Outcome == idem.AlreadyApplied): // true all the same, if its own commit, or its table, looked gone
		return fmt.Errorf("its own work is in the log\nversion %d", landed[0])
	}
	return l.skipped(c)
}

func (l *ledger) committed(c *call, landed []int64) error {
	if !c.job.kind.does().commit {
		return l.kept(c)
	}
	if len(landed) == 0 {
		return fmt.Errorf("it says version %d and nothing is in the log: version %[1]d is not its work, nor is any other", c.res.Version)
	}
	switch at := landed[len(landed)-1]; {
	case at != c.res.Version:
		return fmt.Errorf("it says version %d and its work is another version\nversion %d", c.res.Version, at)
	case at <= c.newest:
		return fmt.Errorf("version %d was there when it began\nversion %d", c.newest, at)
	}
	if c.job.kind == enable {
		return l.enabled(c)
	}
	return nil
}

func (l *ledger) resolution(c *call, landed []int64) error {
	if c.resolved.Committed != (len(landed) > 0) || len(landed) > 0 && c.resolved.Version != landed[0] {
		return fmt.Errorf("resolved wrongly\nto committed=%t version=%d; in the log it is %v", c.resolved.Committed, c.resolved.Version, landed)
	}
	return nil
}

// sometime says whether something was so at a moment between the beginning and the end of a call, or,
// for one that was shown an older store, ever.
func (l *ledger) sometime(c *call, what string, so func(*state) bool) error {
	from := max(c.newest, 0)
	if c.stale {
		from = 0
	}
	for v := from; v <= min(max(c.last, from), l.newest()); v++ {
		if so(l.states[v]) {
			return nil
		}
	}
	return fmt.Errorf("%s at no time\nfrom version %d to %d", what, from, c.last)
}

// looked says whether a version that a call looked at was new enough.
func (l *ledger) looked(c *call) error {
	switch v := c.res.Version; {
	case v < 0 || v > min(c.last, l.newest()):
		return fmt.Errorf("version %d did not exist when it ended", v)
	case v < c.newest && !c.stale:
		return fmt.Errorf("it looked at version %d, and version %d was there when it began", v, c.newest)
	}
	return nil
}

func (l *ledger) scanned(c *call) error {
	if err := l.looked(c); err != nil {
		return err
	}
	if c.table != nil {
		return nil // a version is read as it is there
	}
	if want := l.states[c.res.Version].Rows; !maps.Equal(want, c.read) {
		return fmt.Errorf("it read other rows than the version has\nversion %d:\n%s", c.res.Version, want.Diff(c.read))
	}
	return nil
}

// skipped checks the answers of calls that had nothing to do, at the version that they name.
func (l *ledger) skipped(c *call) error {
	if !c.job.kind.does().commit {
		return l.kept(c)
	}
	if err := l.looked(c); err != nil {
		return err
	}
	s := l.states[c.res.Version]
	switch c.res.Outcome {
	case idem.AlreadyApplied:
		if s.standing(c.job.tag) != applied {
			return fmt.Errorf("it is not applied\nin version %d %s", c.res.Version, s.tell(c.job.tag))
		}
		return nil
	case idem.Superseded:
		if s.standing(c.job.tag) != superseded {
			return fmt.Errorf("it is not superseded\nin version %d %s", c.res.Version, s.tell(c.job.tag))
		}
		return nil
	case idem.Unchanged:
		return l.unchanged(c, s)
	}
	return errors.New("there is no such outcome")
}

func (l *ledger) unchanged(c *call, s *state) error {
	switch j := c.job; {
	case j.kind == foreign:
		return nil
	case j.kind == vacuum:
		return l.unneeded(c)
	case j.kind == optimize:
		return l.untidy(l.snaps[c.res.Version])
	case j.kind == enable:
		return l.enabled(c)
	case j.tag.AppID != "":
		return errors.New("a call with a tag commits it")
	case j.kind == restore && j.to > c.res.Version:
		return fmt.Errorf("it restored a version that was to come\nversion %d", j.to)
	}
	after := s.clone()
	c.job.apply(after, l.states)
	if !s.same(after) || c.job.kind == rewind && s.Recorded(c.job.app) != c.job.to {
		return fmt.Errorf("it has work to do\nat version %d: %s", c.res.Version, s.Rows.Diff(after.Rows))
	}
	return nil
}
