package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// mergeShape says which columns of the source and of the table a merge uses, and for what.
type mergeShape struct {
	table   *arrow.Schema
	conform *Conformer
	lift    *lifter
	source  *arrow.Schema // conformed: columns of the table in its order, those that only clauses use, then lifted fields
	missing []string

	key   []int // columns of source
	newer []int // columns of source, most significant first
	guard []int // those of newer by which matched rows of the table are guarded

	keyPlaces   []place // of the table
	guardPlaces []place
	immutable   []place
	partition   map[int]bool // partition columns of the table

	matched    *clauses
	notMatched *clauses
	bySource   *clauses
	outside    []*pred.Predicate // the conditions of bySource over the table; nil is TRUE

	unguarded bool // matched rows are compared with what they would become
	steady    bool // matched clauses depend on the source alone, so that they do the same each time
	settled   bool // a matched clause finds in a row that was inserted what it would set

	probe        []string      // columns of the table that decide
	probeColumns []int         // their numbers
	remakes      []*generation // the generated columns among them
	raise        *lifter       // lifts keys and guard out of them
	at           targetColumns

	updateSchema *arrow.Schema // of the rows that change: row, clause, and what their source rows give them
	everyColumn  []int         // of the table
	raiseAll     *lifter       // lifts the keys out of whole rows of the table
	allKeys      []int
}

// targetColumns are the columns of a probed batch that key and guard it.
type targetColumns struct{ key, guard []int }

func newMergeShape(r *MergeRequest, input *arrow.Schema, snap *delta.Snapshot) (*mergeShape, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	s := &mergeShape{table: snap.ArrowSchema(), unguarded: r.Unguarded, partition: map[int]bool{}}
	for _, c := range snap.PartitionColumns() {
		s.partition[fieldNamed(s.table.Fields(), c)] = true
	}
	var err error
	if s.keyPlaces, err = s.places("On", r.On, "so it can be no key"); err != nil {
		return nil, err
	}
	if err := s.guards(r); err != nil {
		return nil, err
	}
	if err := s.fix(r); err != nil {
		return nil, err
	}
	m, err := s.draft(r, input)
	if err != nil {
		return nil, err
	}
	if err := m.check(r, s); err != nil {
		return nil, err
	}
	if err := s.extend(r, input, m, snap); err != nil {
		return nil, err
	}
	if err := s.order(r); err != nil {
		return nil, err
	}
	if err := s.bind(m); err != nil {
		return nil, err
	}
	return s, s.probes(r, snap)
}

// places finds columns of the table.
func (s *mergeShape) places(field string, names []string, so string) ([]place, error) {
	var out []place
	for _, n := range names {
		at, err := locate(s.table, n)
		if err != nil {
			return nil, lacking(err, "%w: the table has no column %q, %s (Merge.%s): %w", delta.ErrInput, n, so, field, err)
		}
		if slices.ContainsFunc(out, func(p place) bool { return slices.Equal(p, at) }) {
			return nil, fmt.Errorf("%w: Merge.%s names %q twice", delta.ErrInput, field, n)
		}
		out = append(out, at)
	}
	return out, nil
}

// guards finds the columns of Newer that the table has: a prefix of them, by which its rows are
// guarded.
func (s *mergeShape) guards(r *MergeRequest) error {
	if r.Matched != nil && !changeRows(r.Matched) {
		return nil // no row of the table changes
	}
	for i, n := range r.Newer {
		at, err := locate(s.table, n)
		switch {
		case errors.Is(err, delta.ErrInput):
			return err
		case err == nil && len(s.guardPlaces) < i:
			return fmt.Errorf("%w: Newer names %q, which the table has, after columns that it lacks: what the table has must come first to guard (GuardPrefix)", delta.ErrInput, n)
		case err == nil:
			s.guardPlaces = append(s.guardPlaces, at)
		case !r.GuardPrefix:
			return fmt.Errorf("%w: the table has no column %q, so it cannot guard against older rows; add it to the table, or set GuardPrefix to order only the source by it", delta.ErrInput, n)
		}
	}
	if len(r.Newer) > 0 && len(s.guardPlaces) == 0 {
		return fmt.Errorf("%w: the table has none of the columns of Newer (%s), so nothing guards", delta.ErrInput, strings.Join(r.Newer, ", "))
	}
	for i, g := range s.guardPlaces {
		if slices.ContainsFunc(s.guardPlaces[:i], func(p place) bool { return slices.Equal(p, g) }) {
			return fmt.Errorf("%w: Merge.Newer names %q twice", delta.ErrInput, g.name(s.table))
		}
	}
	return nil
}

// fix finds the columns that no update may change.
func (s *mergeShape) fix(r *MergeRequest) (err error) {
	if s.immutable, err = s.places("Immutable", r.Immutable, "so it cannot be kept"); err != nil {
		return err
	}
	for _, at := range s.immutable {
		if slices.ContainsFunc(s.guardPlaces, func(g place) bool { return g.within(at) }) {
			return fmt.Errorf("%w: Merge.Immutable names %q, which is, or holds, a column of Newer: every update changes it", delta.ErrInput, at.name(s.table))
		}
	}
	return nil
}

// mergeDrafts are the clauses of a merge before the types of the source are settled.
type mergeDrafts struct {
	matched, notMatched, bySource *drafts
}

func (m *mergeDrafts) all() []*drafts { return []*drafts{m.matched, m.notMatched, m.bySource} }

func (s *mergeShape) draft(r *MergeRequest, input *arrow.Schema) (*mergeDrafts, error) {
	mark, err := s.soft(r, input)
	if err != nil {
		return nil, err
	}
	d := drafter{input: input, table: s.table}
	m := &mergeDrafts{}
	if m.matched, err = d.drafts(r.matched(mark, r.Newer[:len(s.guardPlaces)]), sides{source: true, target: true}); err != nil {
		return nil, err
	}
	if m.notMatched, err = d.drafts(r.notMatched(mark), sides{source: true}); err != nil {
		return nil, err
	}
	m.bySource, err = d.drafts(asks(bySourceList, r.BySource), sides{target: true})
	return m, err
}

// soft gives the column that marks deleted rows, and its values: true and false, or the value of the
// first Newer column and NULL.
func (s *mergeShape) soft(r *MergeRequest, input *arrow.Schema) (*soft, error) {
	if r.SoftDelete == "" {
		return nil, nil
	}
	c := fieldNamed(s.table.Fields(), r.SoftDelete)
	if c < 0 {
		return nil, fmt.Errorf("%w: the table has no column %q to mark deleted rows in (SoftDelete)", delta.ErrInput, r.SoftDelete)
	}
	if r.DeleteWhen == nil || r.Unguarded {
		return nil, fmt.Errorf("%w: SoftDelete needs DeleteWhen, which says what row deletes, and Newer, by which the kept row guards", delta.ErrInput)
	}
	if fieldNamed(input.Fields(), r.SoftDelete) >= 0 {
		return nil, fmt.Errorf("%w: the source rows have the column %q, which the merge itself fills (SoftDelete); drop it from the rows", delta.ErrInput, r.SoftDelete)
	}
	field := s.table.Field(c)
	name := expr.Field(field.Name).String()
	if field.Type.ID() == arrow.BOOL {
		return &soft{column: name, deleted: expr.Lit(true), live: expr.Lit(false)}, nil
	}
	first := s.guardPlaces[0]
	if arrow.TypeEqual(field.Type, first.field(s.table).Type) {
		path := append([]string{sourceSide}, first.path(s.table)...)
		return &soft{column: name, deleted: expr.Field(path...), live: expr.Lit(nil)}, nil
	}
	return nil, fmt.Errorf("%w: SoftDelete column %q must be boolean (it becomes true) or have the type of the first Newer column (it takes its value), not %s",
		delta.ErrInput, r.SoftDelete, field.Type)
}

// check demands what makes a merge repeatable: rows keep their keys, and what was written does not
// look older than the source row that it is from.
func (m *mergeDrafts) check(r *MergeRequest, s *mergeShape) error {
	if err := m.matched.keepKeys(s.keyPlaces, s.table); err != nil {
		return err
	}
	if !r.keyless {
		if err := m.bySource.keepKeys(s.keyPlaces, s.table); err != nil {
			return err
		}
	}
	guard := slices.DeleteFunc(slices.Clone(s.guardPlaces), func(g place) bool {
		return slices.ContainsFunc(s.keyPlaces, func(k place) bool { return slices.Equal(g, k) })
	})
	const guards = ", since it guards: a row with another value would be changed again by the same source row"
	if err := m.matched.demand(guard, s.table, guards); err != nil {
		return err
	}
	if err := m.notMatched.demand(s.keyPlaces, s.table, ", since it is a key"); err != nil {
		return err
	}
	return m.notMatched.demand(guard, s.table, guards)
}

// extend settles the types of the source. What is copied, and keys and versions, have the type of the
// table's column; a column that only expressions use keeps its own.
func (s *mergeShape) extend(r *MergeRequest, input *arrow.Schema, m *mergeDrafts, snap *delta.Snapshot) error {
	copied, used := m.columns(r)
	var fields, helpers []arrow.Field
	for _, f := range s.table.Fields() {
		if i := fieldNamed(input.Fields(), f.Name); i >= 0 && !copied[foldName(f.Name)] {
			own, err := plainField(input.Field(i))
			if err != nil {
				return err
			}
			own.Name = f.Name
			f = own
		}
		fields = append(fields, f)
	}
	for _, f := range input.Fields() {
		if !used[foldName(f.Name)] || fieldNamed(s.table.Fields(), f.Name) >= 0 {
			continue
		}
		own, err := plainField(f)
		if err != nil {
			return err
		}
		helpers = append(helpers, own)
	}
	makes, err := makings(snap)
	if err != nil {
		return err
	}
	s.conform, err = NewConformer(input, arrow.NewSchema(append(fields, helpers...), nil), ConformOptions{Partial: true, Makes: makes, Evolve: r.Evolve})
	if err != nil {
		return err
	}
	s.missing = slices.DeleteFunc(s.conform.Missing(), m.sets(s.table))
	return nil
}

// plainField gives a column of the source a type that tables have.
func plainField(f arrow.Field) (arrow.Field, error) {
	st, err := delta.FromArrow(arrow.NewSchema([]arrow.Field{f}, nil))
	if err != nil {
		return f, err
	}
	typed, err := delta.ArrowSchema(st)
	if err != nil {
		return f, err
	}
	return typed.Field(0), nil
}

// columns gives the source columns that take the type of the table's, and those that the merge uses
// for anything, by folded name.
func (m *mergeDrafts) columns(r *MergeRequest) (copied, used map[string]bool) {
	copied, used = map[string]bool{}, map[string]bool{}
	for _, name := range slices.Concat(r.On, r.Newer) {
		for _, n := range []string{name, expr.Col(name).Path[0]} {
			copied[foldName(n)], used[foldName(n)] = true, true
		}
	}
	for _, d := range m.all() {
		for name := range d.conditions.usedSource {
			used[name] = true
		}
		for name := range d.values.usedSource {
			used[name] = true
		}
		for _, c := range d.list {
			for _, set := range c.sets {
				if set.copy != "" {
					copied[foldName(set.copy)], used[foldName(set.copy)] = true, true
				}
			}
		}
	}
	return copied, used
}

// sets says of a column of the table whether a clause gives it a value of its own.
func (m *mergeDrafts) sets(table *arrow.Schema) func(name string) bool {
	own := map[string]bool{}
	for _, d := range m.all() {
		for _, c := range d.list {
			for _, set := range c.sets {
				if set.value != nil {
					own[table.Field(set.at[0]).Name] = true
				}
			}
		}
	}
	return func(name string) bool { return own[name] }
}

// order finds the keys and versions in the source, and lifts those that are fields of structs.
func (s *mergeShape) order(r *MergeRequest) error {
	conformed := s.conform.Schema()
	find := func(field string, names []string, known []place) ([]place, error) {
		var out []place
		for i, n := range names {
			at, err := s.inSource(conformed, n, i, known)
			if err != nil {
				return nil, lacking(err, "%w: Merge.%s names %q, which the source rows lack; they have %s", delta.ErrInput, field, n, strings.Join(fieldNames(conformed), ", "))
			}
			if err := comparable("Merge."+field, at.field(conformed)); err != nil {
				return nil, err
			}
			out = append(out, at)
		}
		return out, nil
	}
	keys, err := find("On", r.On, s.keyPlaces)
	if err != nil {
		return err
	}
	newer, err := find("Newer", r.Newer, s.guardPlaces)
	if err != nil {
		return err
	}
	var columns []int
	s.lift, columns = newLifter(conformed, slices.Concat(keys, newer))
	s.source = s.lift.schema
	s.key, s.newer = columns[:len(keys)], columns[len(keys):]
	s.guard = s.newer[:len(s.guardPlaces)]
	return nil
}

// inSource finds a key or a version in the source: what is known of the table by its path there.
func (s *mergeShape) inSource(source *arrow.Schema, name string, i int, known []place) (place, error) {
	if i < len(known) {
		return follow(source, known[i].path(s.table))
	}
	return locate(source, name)
}

// probes finds the columns of the table that decide what becomes of a row.
func (s *mergeShape) probes(r *MergeRequest, snap *delta.Snapshot) error {
	need := s.deciding(r)
	if err := s.generates(snap, need); err != nil {
		return err
	}
	var fields []arrow.Field
	for i, f := range s.table.Fields() {
		s.everyColumn = append(s.everyColumn, i)
		if need[f.Name] {
			s.probe, s.probeColumns, fields = append(s.probe, f.Name), append(s.probeColumns, i), append(fields, f)
		}
	}
	s.updateSchema = s.updates()
	s.raiseAll, s.allKeys = newLifter(s.table, s.keyPlaces)
	probed := arrow.NewSchema(fields, nil)
	var places []place
	for _, p := range slices.Concat(s.keyPlaces, s.guardPlaces) {
		q := slices.Clone(p)
		q[0] = fieldNamed(fields, s.table.Field(p[0]).Name)
		places = append(places, q)
	}
	var columns []int
	s.raise, columns = newLifter(probed, places)
	s.at = targetColumns{key: columns[:len(s.keyPlaces)], guard: columns[len(s.keyPlaces):]}
	return nil
}

// deciding gives the columns of the table that decide: keys, guard, what conditions name and, where
// rows are compared with what they would become, what clauses set and need for that.
func (s *mergeShape) deciding(r *MergeRequest) map[string]bool {
	need := map[string]bool{}
	for _, p := range slices.Concat(s.keyPlaces, s.guardPlaces) {
		need[s.table.Field(p[0]).Name] = true
	}
	for _, l := range []*clauses{s.matched, s.bySource} {
		names := slices.Clone(l.conditions.target)
		if l == s.bySource || s.unguarded || r.CompareTies {
			names = append(names, l.values.target...)
			for _, c := range l.targets {
				names = append(names, s.table.Field(c).Name)
			}
		}
		for _, n := range names {
			need[n] = true
		}
	}
	return need
}

// updates is the schema of rows that change: their number in the file, their clause, and the columns
// of the source that the clauses for matched rows use.
func (s *mergeShape) updates() *arrow.Schema {
	used := map[string]bool{}
	for _, n := range s.matched.values.source {
		used[n] = true
	}
	for _, c := range s.matched.list {
		for _, set := range c.sets {
			used[set.plain] = true
		}
	}
	fields := []arrow.Field{placeFields[1], {Name: "clause", Type: arrow.PrimitiveTypes.Int32}}
	for _, f := range s.conform.Schema().Fields() {
		if used[f.Name] {
			f.Nullable = true
			fields = append(fields, f)
		}
	}
	return arrow.NewSchema(fields, nil)
}

func fieldNames(s *arrow.Schema) []string {
	out := make([]string, s.NumFields())
	for i := range out {
		out[i] = s.Field(i).Name
	}
	return out
}
