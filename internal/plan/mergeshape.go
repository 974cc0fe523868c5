package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
)

// mergeShape says which columns of the source and of the table a merge uses, and for what.
type mergeShape struct {
	table   *arrow.Schema
	source  *arrow.Schema // conformed: columns of the table in its order, then helper columns
	conform *Conformer
	missing []string

	key      []int           // columns of source
	newer    []int           // columns of source, most significant first
	guard    []int           // those of newer that the table has
	update   []int           // columns of source that an update sets
	insert   []int           // columns of source that an insert sets
	toTable  []int           // column of table for each column of source, -1 for a helper
	lacks    []*lackedFields // of each column of source: fields of the table's column that an update leaves
	soft     int             // column of table that marks a deleted row, -1 if none
	deletes  *pred.Predicate
	unguided bool // no guard: rows are compared instead
}

func newMergeShape(r *MergeRequest, input *arrow.Schema, snap *delta.Snapshot) (*mergeShape, error) {
	s := &mergeShape{table: snap.ArrowSchema(), soft: -1, unguided: r.Unguarded}
	if len(r.On) == 0 {
		return nil, fmt.Errorf("%w: Merge.On is empty: name the key columns", delta.ErrInput)
	}
	if (len(r.Newer) == 0) != r.Unguarded {
		return nil, fmt.Errorf("%w: a merge needs either Newer (the columns that order versions of a row) or Unguarded: true, which lets an older row overwrite a newer one", delta.ErrInput)
	}
	if err := s.extend(r, input); err != nil {
		return nil, err
	}
	if err := s.columns(r); err != nil {
		return nil, err
	}
	if err := s.softDelete(r); err != nil {
		return nil, err
	}
	return s, s.deleteWhen(r)
}

// extend conforms the source to the table and the helper columns: those that only order or delete.
func (s *mergeShape) extend(r *MergeRequest, input *arrow.Schema) error {
	helpers := map[string]bool{}
	for _, n := range r.Newer {
		helpers[strings.ToLower(n)] = true
	}
	if r.DeleteWhen != nil {
		for _, path := range columnsOf(r.DeleteWhen) {
			helpers[strings.ToLower(path)] = true
		}
	}
	fields := slices.Clone(s.table.Fields())
	for _, f := range input.Fields() {
		if !helpers[strings.ToLower(f.Name)] || fieldIndex(s.table, f.Name) >= 0 {
			continue
		}
		st, err := delta.FromArrow(arrow.NewSchema([]arrow.Field{f}, nil))
		if err != nil {
			return err
		}
		typed, err := delta.ArrowSchema(st)
		if err != nil {
			return err
		}
		fields = append(fields, typed.Field(0))
	}
	var err error
	s.conform, err = NewConformer(input, arrow.NewSchema(fields, nil), ConformOptions{Partial: true, Evolve: r.Evolve})
	if err != nil {
		return err
	}
	s.source = s.conform.Schema()
	for _, f := range s.source.Fields() {
		s.toTable = append(s.toTable, fieldIndex(s.table, f.Name))
		s.lacks = append(s.lacks, lackedIn(typeGiven(input, f.Name), f.Type))
	}
	s.missing = s.conform.Missing()
	return nil
}

func (s *mergeShape) columns(r *MergeRequest) (err error) {
	if s.key, err = s.find("On", r.On); err != nil {
		return err
	}
	for _, c := range s.key {
		if s.toTable[c] < 0 {
			return fmt.Errorf("%w: the table has no key column %q", delta.ErrInput, s.source.Field(c).Name)
		}
	}
	if s.newer, err = s.find("Newer", r.Newer); err != nil {
		return err
	}
	for what, columns := range map[string][]int{"Merge.On": s.key, "Merge.Newer": s.newer} {
		for _, c := range columns {
			if err := comparable(what, s.source.Field(c)); err != nil {
				return err
			}
		}
	}
	for i, c := range s.newer {
		if s.toTable[c] >= 0 {
			if len(s.guard) < i {
				return fmt.Errorf("%w: Newer names %q, which the table has, after columns that it lacks: what the table has must come first to guard (GuardPrefix)", delta.ErrInput, s.source.Field(c).Name)
			}
			s.guard = append(s.guard, c)
		} else if !r.GuardPrefix {
			return fmt.Errorf("%w: the table has no column %q, so it cannot guard against older rows; add it to the table, or set GuardPrefix to order only the source by it", delta.ErrInput, s.source.Field(c).Name)
		}
	}
	if len(s.newer) > 0 && len(s.guard) == 0 {
		return fmt.Errorf("%w: the table has none of the columns of Newer (%s), so nothing guards", delta.ErrInput, strings.Join(r.Newer, ", "))
	}
	if s.update, err = s.chosen("Update", r.Update); err != nil {
		return err
	}
	s.update = slices.DeleteFunc(s.update, func(c int) bool { return slices.Contains(s.key, c) })
	if s.insert, err = s.chosen("Insert", r.Insert); err != nil {
		return err
	}
	for _, c := range s.guard {
		if !slices.Contains(s.update, c) && !slices.Contains(s.key, c) {
			return fmt.Errorf("%w: Update must set %q, the column that guards: a row that keeps its old value would be overwritten again", delta.ErrInput, s.source.Field(c).Name)
		}
	}
	for _, c := range s.key {
		if !slices.Contains(s.insert, c) {
			return fmt.Errorf("%w: Insert must set the key column %q", delta.ErrInput, s.source.Field(c).Name)
		}
	}
	return nil
}

// chosen gives the listed columns, or all that the table has.
func (s *mergeShape) chosen(what string, names []string) ([]int, error) {
	if names != nil {
		return s.find(what, names)
	}
	var all []int
	for c, t := range s.toTable {
		if t >= 0 {
			all = append(all, c)
		}
	}
	return all, nil
}

func (s *mergeShape) find(what string, names []string) ([]int, error) {
	out := make([]int, 0, len(names))
	for _, n := range names {
		c := fieldIndex(s.source, n)
		if c < 0 {
			return nil, fmt.Errorf("%w: Merge.%s names %q, which the source rows lack; they have %s", delta.ErrInput, what, n, strings.Join(fieldNames(s.source), ", "))
		}
		if slices.Contains(out, c) {
			return nil, fmt.Errorf("%w: Merge.%s names %q twice", delta.ErrInput, what, n)
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *mergeShape) softDelete(r *MergeRequest) error {
	if r.SoftDelete == "" {
		return nil
	}
	if s.soft = fieldIndex(s.table, r.SoftDelete); s.soft < 0 {
		return fmt.Errorf("%w: the table has no column %q to mark deleted rows in (SoftDelete)", delta.ErrInput, r.SoftDelete)
	}
	if r.DeleteWhen == nil || r.Unguarded {
		return fmt.Errorf("%w: SoftDelete needs DeleteWhen, which says what row deletes, and Newer, by which the kept row guards", delta.ErrInput)
	}
	if fieldIndex(s.source, r.SoftDelete) >= 0 {
		return fmt.Errorf("%w: the source rows have the column %q, which the merge itself fills (SoftDelete); drop it from the rows", delta.ErrInput, r.SoftDelete)
	}
	s.missing = slices.DeleteFunc(s.missing, func(n string) bool { return strings.EqualFold(n, r.SoftDelete) })
	t := s.table.Field(s.soft).Type
	if t.ID() == arrow.BOOL || (len(s.newer) > 0 && arrow.TypeEqual(t, s.source.Field(s.newer[0]).Type)) {
		return nil
	}
	return fmt.Errorf("%w: SoftDelete column %q must be boolean (it becomes true) or have the type of the first Newer column (it takes its value), not %s", delta.ErrInput, r.SoftDelete, t)
}

func (s *mergeShape) deleteWhen(r *MergeRequest) error {
	if r.DeleteWhen == nil {
		return nil
	}
	var err error
	s.deletes, err = pred.Bind(r.DeleteWhen, s.source)
	if err != nil {
		return fmt.Errorf("DeleteWhen: %w", err)
	}
	return nil
}

func (s *mergeShape) keyNames() []string { return s.names(s.key) }

// names gives the names of columns of the source, as the table spells them.
func (s *mergeShape) names(columns []int) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = s.source.Field(c).Name
	}
	return out
}

// probeColumns are the columns of the table that decide: key, guard, and what is compared.
func (s *mergeShape) probeColumns(compareTies bool) []int {
	out := slices.Concat(s.key, s.guard)
	if s.unguided || compareTies {
		out = append(out, s.update...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func fieldIndex(s *arrow.Schema, name string) int {
	return slices.IndexFunc(s.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
}

func fieldNames(s *arrow.Schema) []string {
	out := make([]string, s.NumFields())
	for i := range out {
		out[i] = s.Field(i).Name
	}
	return out
}
