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

	applied map[string]int64  // of each tag, what of it is in the rows
	columns []string          // that were added
	props   map[string]string // that were set
}

func newState() *state {
	return &state{Model: tabletest.NewModel(), applied: map[string]int64{}, props: map[string]string{}}
}

func (s *state) clone() *state {
	return &state{Model: s.Model.Clone(), applied: maps.Clone(s.applied), columns: slices.Clone(s.columns), props: maps.Clone(s.props)}
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
	effective := s.inEffect(tag.AppID)
	switch {
	case tag.AppID == "" || s.Recorded(tag.AppID) < tag.Version:
		return notApplied
	case effective < tag.Version:
		return restored
	case effective == tag.Version:
		return applied
	}
	return superseded
}

// tell describes where a tag stands.
func (s *state) tell(tag idem.Txn) string {
	return fmt.Sprintf("%s@%d is %s: %d recorded, %d in effect", tag.AppID, tag.Version, s.standing(tag), s.Recorded(tag.AppID), s.inEffect(tag.AppID))
}

// move sets a tag.
func (s *state) move(app string, to int64) { s.Tags[app], s.applied[app] = to, to }

// restore goes back to what the table was. Records of tags stay, but for those that were moved back
// since, whose rows come again.
func (s *state) restore(then *state) {
	s.Rows, s.columns, s.props = maps.Clone(then.Rows), slices.Clone(then.columns), maps.Clone(then.props)
	s.applied = maps.Clone(then.applied)
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
