package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// Names of the features and of where a table keeps its rules.
const (
	invariantsFeature  = "invariants"
	constraintsFeature = "checkConstraints"
	invariantKey       = "delta.invariants"
	constraintPrefix   = "delta.constraints."
)

// Validator holds the rules that every row of a table must keep: NOT NULL at every level, column
// invariants and CHECK constraints. It is immutable and safe for many goroutines.
type Validator struct {
	required []requirement // one for each column of the table
	rules    []rule
}

// rule is a condition that must be TRUE.
type rule struct {
	kind, name string
	text       string // as the table spells it
	where      *pred.Predicate
}

// NewValidator reads the rules of a table, those whose feature the table's protocol supports. A
// condition that idem cannot evaluate is an error that wraps [delta.ErrUnsupported] and names it:
// rows that nobody checked are not written.
func NewValidator(snap *delta.Snapshot) (*Validator, error) {
	v := &Validator{}
	for _, f := range snap.Schema().Fields {
		v.required = append(v.required, requirementOf(f.Type, f.Nullable, f.Name))
	}
	if snap.Protocol().Supports(invariantsFeature) {
		if err := v.invariants(snap, snap.Schema(), ""); err != nil {
			return nil, err
		}
	}
	if snap.Protocol().Supports(constraintsFeature) {
		if err := v.constraints(snap); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// invariants gathers those of the fields of s and of the structs below it.
func (v *Validator) invariants(snap *delta.Snapshot, s *delta.Struct, path string) error {
	for _, f := range s.Fields {
		name := path + f.Name
		if raw, ok := f.Metadata[invariantKey]; ok {
			text, err := invariantText(raw)
			if err != nil {
				return fmt.Errorf("%w: invariant of column %q: %w", delta.ErrCorrupt, name, err)
			}
			if err := v.add(snap, "invariant of column", name, text); err != nil {
				return err
			}
		}
		if below, ok := f.Type.(*delta.Struct); ok {
			if err := v.invariants(snap, below, name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

// invariantText unpacks {"expression":{"expression":"<SQL>"}}, which stands in a JSON string.
func invariantText(raw json.RawMessage) (string, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		text = string(raw)
	}
	var rule struct {
		Expression struct {
			Expression string `json:"expression"`
		} `json:"expression"`
	}
	if err := json.Unmarshal([]byte(text), &rule); err != nil {
		return "", err
	}
	if rule.Expression.Expression == "" {
		return "", fmt.Errorf("%s holds no expression", clip(text))
	}
	return rule.Expression.Expression, nil
}

func (v *Validator) constraints(snap *delta.Snapshot) error {
	configuration := snap.Metadata().Configuration
	for _, key := range slices.Sorted(maps.Keys(configuration)) {
		if name, ok := strings.CutPrefix(key, constraintPrefix); ok {
			if err := v.add(snap, "CHECK constraint", name, configuration[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *Validator) add(snap *delta.Snapshot, kind, name, text string) error {
	tree, err := expr.Parse(text)
	if err == nil {
		var where *pred.Predicate
		if where, err = pred.Bind(tree, snap.ArrowSchema()); err == nil {
			v.rules = append(v.rules, rule{kind: kind, name: name, text: text, where: where})
			return nil
		}
	}
	return fmt.Errorf("%w: %w; write with an engine that can, or drop it from the table", delta.ErrUnsupported, &UncheckedError{kind, name, text, err})
}

// UncheckedError is a rule of a table that idem cannot evaluate.
type UncheckedError struct {
	Kind, Name, Text string
	Cause            error
}

func (e *UncheckedError) Error() string {
	return fmt.Sprintf("%s %q (%s) cannot be checked: %v",
		e.Kind, e.Name, e.Text, e.Cause)
}

// Check looks at every row of a batch of the whole table schema. A rule that is FALSE or NULL for a
// row is an error that wraps [delta.ErrInput] and names the rule, how many rows break it, and the
// first with its number and values. firstRow is the number of rows before the batch; messages count
// rows from 1.
func (v *Validator) Check(mem memory.Allocator, batch arrow.RecordBatch, firstRow int64) error {
	if int(batch.NumCols()) != len(v.required) {
		return fmt.Errorf("check rows: a batch has %d columns, the table %d", batch.NumCols(), len(v.required))
	}
	whole := func(i int) int { return i }
	for c := range v.required {
		b := breach{first: -1}
		b.look(&v.required[c], batch.Column(c), whole)
		if b.first >= 0 {
			return fmt.Errorf("%w: column %q is NOT NULL, and %d of %d rows have NULL, the first of them row %d; give every row a value",
				delta.ErrInput, b.path, b.count, batch.NumRows(), firstRow+int64(b.first)+1)
		}
	}
	for i := range v.rules {
		if err := v.rules[i].check(mem, batch, firstRow); err != nil {
			return err
		}
	}
	return nil
}

func (r *rule) check(mem memory.Allocator, batch arrow.RecordBatch, firstRow int64) error {
	mask, err := r.where.Eval(mem, batch)
	if err != nil {
		return fmt.Errorf("%s %q: %w", r.kind, r.name, pred.After(firstRow, err))
	}
	defer mask.Release()
	bad := int64(mask.Len()) - countTrue(mask)
	if bad == 0 {
		return nil
	}
	first := 0
	for isTrue(mask, first) {
		first++
	}
	return fmt.Errorf("%w: %s %q (%s) is not TRUE for %d of %d rows, the first of them row %d (%s); NULL breaks it too: fix the rows or leave them out",
		delta.ErrInput, r.kind, r.name, r.text, bad, mask.Len(), firstRow+int64(first)+1, describe(batch, r.where.ColumnNames(), first))
}

// requirement says where in a column values must not be NULL.
type requirement struct {
	path     string
	here     bool
	children []requirement // of a struct, or the one of a list's elements, or a map's key and value
	below    bool          // a child requires something
}

func requirementOf(t delta.Type, nullable bool, path string) requirement {
	r := requirement{path: path, here: !nullable}
	switch t := t.(type) {
	case *delta.Struct:
		for _, f := range t.Fields {
			r.children = append(r.children, requirementOf(f.Type, f.Nullable, path+"."+f.Name))
		}
	case *delta.Array:
		r.children = []requirement{requirementOf(t.Element, t.ContainsNull, path+".element")}
	case *delta.Map:
		r.children = []requirement{
			requirementOf(t.Key, false, path+".key"),
			requirementOf(t.Value, t.ValueContainsNull, path+".value"),
		}
	}
	for _, c := range r.children {
		r.below = r.below || c.here || c.below
	}
	return r
}

// breach is what was found: the first NULL in row order of the first path that has one.
type breach struct {
	path  string
	first int
	count int
}

// look searches a column. rowOf gives the row of the batch in which value i lies, -1 if a level
// above it is NULL.
func (b *breach) look(r *requirement, a arrow.Array, rowOf func(i int) int) {
	if r.here && a.NullN() > 0 {
		b.nulls(r, a, rowOf)
	}
	if b.first >= 0 || !r.below {
		return
	}
	switch a := a.(type) {
	case *array.Struct:
		inside := func(i int) int {
			if a.IsNull(i) {
				return -1
			}
			return rowOf(i)
		}
		for c := range r.children {
			if b.first < 0 {
				b.look(&r.children[c], a.Field(c), inside)
			}
		}
	case *array.Map:
		inside := rowsOfElements(a, rowOf)
		pairs := a.ListValues().(*array.Struct)
		for c := range r.children {
			if b.first < 0 {
				b.look(&r.children[c], pairs.Field(c), inside)
			}
		}
	case *array.List:
		b.look(&r.children[0], a.ListValues(), rowsOfElements(a, rowOf))
	}
}

func (b *breach) nulls(r *requirement, a arrow.Array, rowOf func(i int) int) {
	last := -1
	for i := range a.Len() {
		if a.IsValid(i) && a.DataType().ID() != arrow.NULL {
			continue
		}
		row := rowOf(i)
		if row < 0 || row == last {
			continue
		}
		if b.first < 0 {
			b.first, b.path = row, r.path
		}
		b.count++
		last = row
	}
}

// rowsOfElements maps elements to the rows of their lists.
func rowsOfElements(lists array.ListLike, rowOf func(i int) int) func(i int) int {
	of := make([]int, lists.ListValues().Len())
	for i := range of {
		of[i] = -1
	}
	for i := range lists.Len() {
		if row := rowOf(i); row >= 0 && lists.IsValid(i) {
			from, to := lists.ValueOffsets(i)
			for j := from; j < to; j++ {
				of[j] = row
			}
		}
	}
	return func(i int) int { return of[i] }
}
