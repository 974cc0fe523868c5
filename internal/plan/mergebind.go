package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// bind binds the clauses to the types of both sides.
func (s *mergeShape) bind(m *mergeDrafts) error {
	if err := s.restoreKeys(m.matched); err != nil {
		return err
	}
	var err error
	if s.matched, err = s.clauses(m.matched); err != nil {
		return err
	}
	if s.notMatched, err = s.clauses(m.notMatched); err != nil {
		return err
	}
	if s.bySource, err = s.clauses(m.bySource); err != nil {
		return err
	}
	s.steady = len(s.matched.conditions.target) == 0 && len(s.matched.values.target) == 0
	s.settled = s.findsWhatItInserted()
	return s.prunes(m.bySource)
}

func (s *mergeShape) clauses(d *drafts) (*clauses, error) {
	l := &clauses{
		table: s.table, partition: s.partition,
		conditions: newPairing(s.conform.Schema(), s.table, d.conditions),
		values:     newPairing(s.conform.Schema(), s.table, d.values),
	}
	for _, one := range d.list {
		c := clause{draft: one}
		var err error
		if one.condition != nil {
			if c.when, err = pred.Bind(one.condition, l.conditions.schema); err != nil {
				return nil, fmt.Errorf("%s: %w", one.name, err)
			}
		}
		for _, set := range one.sets {
			if err := s.assign(&c, l, set); err != nil {
				return nil, fmt.Errorf("%s sets %s: %w", one.name, set.at.name(s.table), err)
			}
			l.targets = append(l.targets, set.at[0])
		}
		l.list = append(l.list, c)
	}
	slices.Sort(l.targets)
	l.targets = slices.Compact(l.targets)
	return l, nil
}

// assign adds a set to a clause: several fields of one column make one assignment.
func (s *mergeShape) assign(c *clause, l *clauses, set draftSet) error {
	column := c.set(set.at[0])
	if column == nil {
		c.sets = append(c.sets, assignment{column: set.at[0]})
		column = &c.sets[len(c.sets)-1]
	}
	if set.copy != "" {
		f := s.table.Field(set.at[0])
		column.plain, column.lacks = f.Name, lackedIn(typeGiven(s.conform.input, set.copy), f.Type)
		return nil
	}
	v, err := pred.BindValueAs(set.value, l.values.schema, set.at.field(s.table).Type)
	if err != nil {
		return err
	}
	if len(set.at) == 1 {
		column.value = v
		return nil
	}
	column.fields = append(column.fields, fieldValue{below: set.at[1:], value: v})
	return nil
}

// restoreKeys keeps the bytes of keys that lie in structs that an update copies: 0.0 stays 0.0 when
// the source says -0.0.
func (s *mergeShape) restoreKeys(d *drafts) error {
	for i := range d.list {
		c := &d.list[i]
		for _, set := range slices.Clone(c.sets) {
			for _, k := range s.keyPlaces {
				if set.copy == "" || len(k) == 1 || !k.within(set.at) || !isFloat(k.field(s.table).Type) {
					continue
				}
				own, err := d.values.qualify(c.name, expr.Field(append([]string{targetSide}, k.path(s.table)...)...), sides{target: true})
				if err != nil {
					return err
				}
				c.sets = append(c.sets, draftSet{at: k, value: own})
			}
		}
	}
	return nil
}

func isFloat(t arrow.DataType) bool { return t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64 }

// findsWhatItInserted says whether matched clauses find in every row that was inserted what they would
// set: copies of the source columns that the insert copied too.
func (s *mergeShape) findsWhatItInserted() bool {
	for i := range s.matched.list {
		switch u := &s.matched.list[i]; u.Do {
		case MergeDelete:
			return false
		case MergeSet:
			for k := range u.sets {
				if !s.notMatched.allCopy(&u.sets[k]) {
					return false
				}
			}
		}
	}
	return true
}

// allCopy says whether every clause that sets columns copies what a set does.
func (l *clauses) allCopy(set *assignment) bool {
	if set.plain == "" || set.fields != nil {
		return false
	}
	for i := range l.list {
		if l.list[i].Do != MergeSet {
			continue
		}
		if in := l.list[i].set(set.column); in == nil || in.plain != set.plain || in.fields != nil {
			return false
		}
	}
	return true
}

// prunes binds the conditions of the clauses for rows without a source row to the table, to prove by
// them that files hold no such row.
func (s *mergeShape) prunes(d *drafts) error {
	for _, c := range d.list {
		var where *pred.Predicate
		if c.condition != nil {
			var err error
			if where, err = pred.Bind(unqualified(c.condition), s.table); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		s.outside = append(s.outside, where)
	}
	return nil
}

// text is a list of clauses as other engines put them into commitInfo.
func (d *clauses) text(setAction string) string {
	out := []map[string]string{}
	for _, c := range d.list {
		m := map[string]string{"actionType": setAction}
		switch c.Do {
		case MergeDelete:
			m["actionType"] = "delete"
		case MergeNothing:
			m["actionType"] = "nothing"
		}
		if c.condition != nil {
			m["predicate"] = c.condition.String()
		}
		out = append(out, m)
	}
	return jsonText(out)
}

// keyText shows the equality of keys.
func (s *mergeShape) keyText() string {
	var parts []string
	for _, k := range s.keyPlaces {
		path := k.path(s.table)
		parts = append(parts, expr.Field(append([]string{targetSide}, path...)...).String()+" = "+expr.Field(append([]string{sourceSide}, path...)...).String())
	}
	return strings.Join(parts, " AND ")
}
