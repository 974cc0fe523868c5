package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/tabletest"
)

// state is what a version of the table should be: the model.
type state struct {
	*tabletest.Model // rows, and the last record of each tag

	applied map[string]int64  // of each tag, the last version that is in the rows in order
	gaps    map[string][]gap  // of each tag, what restores took back, where a later version was written since
	again   map[string]int64  // of each tag, the version that was written last beside a later one
	columns []string          // that were added
	props   map[string]string // that were set
}

// gap is the versions above from, up to to.
type gap struct{ from, to int64 }

func (g gap) has(v int64) bool { return g.from < v && v <= g.to }

func newState() *state {
	return &state{Model: tabletest.NewModel(), applied: map[string]int64{}, gaps: map[string][]gap{}, again: map[string]int64{}, props: map[string]string{}}
}

func (s *state) clone() *state {
	return &state{Model: s.Model.Clone(), applied: maps.Clone(s.applied), gaps: maps.Clone(s.gaps), again: maps.Clone(s.again),
		columns: slices.Clone(s.columns), props: maps.Clone(s.props)}
}

// inEffect is the last version of a tag whose rows are in the table, -1 if there is none.
func (s *state) inEffect(app string) int64 {
	if v, ok := s.applied[app]; ok {
		return v
	}
	return -1
}

// standing says what a call with a tag finds.
type standing int

const (
	notApplied standing = iota
	applied
	superseded
	restored // recorded, and a restore took it back
)

func (s standing) String() string {
	return [...]string{"not applied", "applied", "superseded", "restored away"}[s]
}

func (s *state) standing(tag idem.Txn) standing {
	effective, v := s.inEffect(tag.AppID), tag.Version
	again, beside := s.again[tag.AppID]
	switch {
	case tag.AppID == "" || s.Recorded(tag.AppID) < v:
		return notApplied
	case effective < v || s.inGap(tag.AppID, v):
		return restored
	case effective == v || beside && again == v:
		return applied
	}
	return superseded
}

func (s *state) inGap(app string, v int64) bool {
	return slices.ContainsFunc(s.gaps[app], func(g gap) bool { return g.has(v) })
}

// tell describes where a tag stands.
func (s *state) tell(tag idem.Txn) string {
	return fmt.Sprintf("%s@%d is %s: %d recorded, %d in effect, %v missing", tag.AppID, tag.Version, s.standing(tag), s.Recorded(tag.AppID), s.inEffect(tag.AppID), s.gaps[tag.AppID])
}

// move sets a tag on purpose: whatever is below is settled.
func (s *state) move(app string, to int64) {
	s.Tags[app], s.applied[app] = to, to
	delete(s.gaps, app)
	delete(s.again, app)
}

// write records a version whose rows were written. What a restore took back stays missing: beside a later
// version the record of that one stays, and below what was recorded the versions above it are missing
// still. Those below it that went with it are superseded.
func (s *state) write(app string, v int64) {
	recorded, effective := s.Recorded(app), s.inEffect(app)
	beside := v <= effective && s.inGap(app, v)
	var gaps []gap
	for _, g := range s.gaps[app] {
		if g.has(v) {
			g.from = v
		}
		if g.from < g.to && !(v < recorded && !beside && g.from >= v) {
			gaps = append(gaps, g)
		}
	}
	switch {
	case beside:
		s.gaps[app], s.again[app] = gaps, v
		return
	case v > recorded && effective < recorded:
		gaps = append(gaps, gap{effective, recorded})
	case v < recorded:
		gaps = append(gaps, gap{v, recorded})
	}
	s.gaps[app], s.Tags[app], s.applied[app] = gaps, v, v
	delete(s.again, app)
}

// restore goes back to what the table was. Records of tags stay, but for those that were moved back
// since, whose rows come again.
func (s *state) restore(then *state) {
	s.Rows, s.columns, s.props = maps.Clone(then.Rows), slices.Clone(then.columns), maps.Clone(then.props)
	s.applied, s.gaps, s.again = maps.Clone(then.applied), maps.Clone(then.gaps), maps.Clone(then.again)
	for app, v := range s.applied {
		if s.Recorded(app) < v {
			s.Tags[app] = v
		}
	}
}

// same says whether nothing differs but tags.
func (s *state) same(o *state) bool {
	return maps.Equal(s.Rows, o.Rows) && slices.Equal(s.columns, o.columns) && maps.Equal(s.props, o.props)
}
