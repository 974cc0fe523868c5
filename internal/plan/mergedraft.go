package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
)

// draft is a clause whose columns were found, before the rows' types are settled.
type draft struct {
	asked
	condition expr.Expr // qualified; nil is always
	sets      []draftSet
}

// draftSet gives a place in the table a copy of a source column, or a value.
type draftSet struct {
	asked string // the name, as the request has it
	at    place
	copy  string    // of the source; "" is none
	value expr.Expr // qualified
}

// drafts are the clauses of one kind, and the columns that they name.
type drafts struct {
	list       []draft
	conditions *namer
	values     *namer
}

// drafter finds the columns of clauses in the rows as they are given and in the table.
type drafter struct {
	input, table *arrow.Schema
}

func (d drafter) drafts(asks []asked, in sides) (*drafts, error) {
	out := &drafts{conditions: newNamer(d.input, d.table), values: newNamer(d.input, d.table)}
	for _, a := range asks {
		in := in
		if a.plain {
			in = sides{source: true, plain: true}
		}
		one := draft{asked: a}
		var err error
		if one.condition, err = out.conditions.qualify(a.name, a.When, in); err != nil {
			return nil, err
		}
		if one.sets, err = d.sets(out, &a, in); err != nil {
			return nil, err
		}
		out.list = append(out.list, one)
	}
	return out, nil
}

// sets finds what a clause sets, each place once.
func (d drafter) sets(out *drafts, a *asked, in sides) ([]draftSet, error) {
	var sets []draftSet
	columns := a.Columns
	if a.all {
		columns = columns[:0:0]
		for _, f := range d.input.Fields() {
			if fieldNamed(d.table.Fields(), f.Name) >= 0 {
				columns = append(columns, expr.Field(f.Name).String())
			}
		}
	}
	for _, name := range columns {
		s, err := d.copied(out, a, name)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	for _, as := range a.Set {
		at, err := d.target(a.name+".Set", as.Column)
		if err != nil {
			return nil, err
		}
		v, err := out.values.qualify(a.name+".Set of "+as.Column, as.Value, in)
		if err != nil {
			return nil, err
		}
		sets = append(sets, draftSet{asked: as.Column, at: at, value: v})
	}
	return sets, d.once(a, sets)
}

// copied sets a column, or a field, from that of the same name.
func (d drafter) copied(out *drafts, a *asked, name string) (draftSet, error) {
	from, err := locate(d.input, name)
	if err != nil {
		return draftSet{}, lacking(err, "%w: %s names %q, which the source rows lack; they have %s", delta.ErrInput, a.listed, name, strings.Join(fieldNames(d.input), ", "))
	}
	at, err := d.target(a.listed, name)
	if err != nil {
		return draftSet{}, err
	}
	if len(at) == 1 && len(from) == 1 {
		return draftSet{asked: name, at: at, copy: d.input.Field(from[0]).Name}, nil
	}
	path := append([]string{sourceSide}, from.path(d.input)...)
	v, err := out.values.qualify(a.listed, expr.Field(path...), sides{source: true})
	return draftSet{asked: name, at: at, value: v}, err
}

func (d drafter) target(what, name string) (place, error) {
	at, err := locate(d.table, name)
	if err != nil {
		return nil, lacking(err, "%w: %s names %q, which the table lacks: %w", delta.ErrInput, what, name, err)
	}
	return at, nil
}

// once refuses to set a place twice, or a struct and a field of it.
func (d drafter) once(a *asked, sets []draftSet) error {
	for i, s := range sets {
		for _, t := range sets[:i] {
			if s.at.within(t.at) || t.at.within(s.at) {
				return fmt.Errorf("%w: %s sets %q and %q: a column is set once", delta.ErrInput, a.name, t.asked, s.asked)
			}
		}
	}
	return nil
}

// within says whether a place is another one or lies below it.
func (p place) within(above place) bool {
	return len(p) >= len(above) && slices.Equal(p[:len(above)], above)
}

// copies says whether a set leaves the place equal to the source's column of that name.
func (s *draftSet) copies(at place, table *arrow.Schema) bool {
	if s.copy != "" {
		return at.within(s.at)
	}
	c, ok := s.value.(*expr.Column)
	return ok && slices.Equal(s.at, at) && len(c.Path) == len(at)+1 && c.Path[0] == sourceSide &&
		slices.EqualFunc(c.Path[1:], at.path(table), strings.EqualFold)
}

// keepKeys takes the keys out of what updates set: they are equal, and the table's own bytes stay.
// Anything but the source's own key cannot be set.
func (d *drafts) keepKeys(keys []place, table *arrow.Schema) error {
	for i := range d.list {
		c := &d.list[i]
		for _, k := range keys {
			for _, s := range c.sets {
				if (k.within(s.at) || s.at.within(k)) && !s.copies(k, table) {
					return fmt.Errorf("%w: %s sets the key column %q; a row keeps its key", delta.ErrInput, c.name, k.name(table))
				}
			}
			c.sets = slices.DeleteFunc(c.sets, func(s draftSet) bool { return slices.Equal(s.at, k) })
		}
	}
	return nil
}

// demand requires that every clause that sets columns copies some places from the source. why says
// what else would happen.
func (d *drafts) demand(places []place, table *arrow.Schema, why string) error {
	for _, c := range d.list {
		if c.Do != MergeSet {
			continue
		}
		for _, p := range places {
			if slices.ContainsFunc(c.sets, func(s draftSet) bool { return s.copies(p, table) }) {
				continue
			}
			return fmt.Errorf("%w: %s must set %q from the source%s; name it in Columns", delta.ErrInput, c.name, p.name(table), why)
		}
	}
	return nil
}
