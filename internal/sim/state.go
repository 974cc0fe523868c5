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

	tags    map[string]tabletest.Tag
	columns []string          // that were added
	props   map[string]string // that were set
}

func newState() *state {
	return &state{Model: tabletest.NewModel(), tags: map[string]tabletest.Tag{}, props: map[string]string{}}
}

func (s *state) clone() *state {
	return &state{Model: s.Model.Clone(), tags: maps.Clone(s.tags), columns: slices.Clone(s.columns), props: maps.Clone(s.props)}
}

// tag is what the table knows of an app id.
func (s *state) tag(app string) tabletest.Tag {
	if t, ok := s.tags[app]; ok {
		return t
	}
	return tabletest.NoTag
}

// inEffect is the last version of a tag whose rows are in the table, -1 if there is none.
func (s *state) inEffect(app string) int64 { return s.tag(app).InEffect }

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
	t, v := s.tag(tag.AppID), tag.Version
	switch {
	case tag.AppID == "" || t.Recorded < v:
		return notApplied
	case t.Missing(v):
		return restored
	case t.InEffect == v || t.Again == v:
		return applied
	}
	return superseded
}

// tell describes where a tag stands.
func (s *state) tell(tag idem.Txn) string {
	return fmt.Sprintf("%s@%d is %s: %d recorded, %d in effect, %v missing", tag.AppID, tag.Version, s.standing(tag), s.Recorded(tag.AppID), s.inEffect(tag.AppID), s.tag(tag.AppID).Gaps)
}

// move sets a tag on purpose.
func (s *state) move(app string, to int64) { s.know(app, tabletest.Moved(to)) }

// write records a version whose rows were written.
func (s *state) write(app string, v int64) { s.know(app, s.tag(app).Written(v)) }

func (s *state) know(app string, t tabletest.Tag) { s.tags[app], s.Tags[app] = t, t.Recorded }

// restore goes back to what the table was.
func (s *state) restore(then *state) {
	s.Rows, s.columns, s.props = maps.Clone(then.Rows), slices.Clone(then.columns), maps.Clone(then.props)
	for app, t := range s.tags {
		s.know(app, t.Restored(then.tag(app)))
	}
}

// same says whether nothing differs but tags.
func (s *state) same(o *state) bool {
	return maps.Equal(s.Rows, o.Rows) && slices.Equal(s.columns, o.columns) && maps.Equal(s.props, o.props)
}
