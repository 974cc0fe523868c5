package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

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

// Validator holds the rules that every row of a table must keep: NOT NULL and the lengths of char and
// varchar at every level, column invariants and CHECK constraints. It is immutable and safe for many
// goroutines.
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
		limit, err := f.CharType()
		if err != nil {
			return nil, err
		}
		r, err := requirementOf(f.Type, limit, f.Nullable, f.Name)
		if err != nil {
			return nil, err
		}
		v.required = append(v.required, r)
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
		nulls := breach{test: absent, first: -1}
		if nulls.look(&v.required[c], batch.Column(c), whole); nulls.first >= 0 {
			return fmt.Errorf("%w: column %q is NOT NULL, and %d of %d rows have NULL, the first of them row %d; give every row a value",
				delta.ErrInput, nulls.of.path, nulls.count, batch.NumRows(), firstRow+int64(nulls.first)+1)
		}
		texts := breach{test: overlong, first: -1}
		if texts.look(&v.required[c], batch.Column(c), whole); texts.first >= 0 {
			return fmt.Errorf("%w: column %q is %s, and %d of %d rows have a longer text, the first of them row %d (%s); nothing is cut, and spaces at the end count: shorten it in the rows",
				delta.ErrInput, texts.of.path, texts.of.limit.Name, texts.count, batch.NumRows(), firstRow+int64(texts.first)+1, clip(texts.value))
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

// requirement says where in a column values must not be NULL, and texts not be long.
type requirement struct {
	path     string
	here     bool
	limit    *delta.CharType // of this text; nil for none
	children []requirement   // of a struct, or the one of a list's elements, or a map's key and value
	below    bool            // a child requires something
}

// requirementOf gathers what a type requires. limit is that of the texts in it, nil for none.
func requirementOf(t delta.Type, limit *delta.CharType, nullable bool, path string) (requirement, error) {
	r := requirement{path: path, here: !nullable}
	if limit != nil && limit.Length > 0 {
		r.limit = limit
	}
	var err error
	child := func(t delta.Type, limit *delta.CharType, nullable bool, name string) {
		c, failed := requirementOf(t, limit, nullable, path+"."+name)
		if err == nil {
			err = failed
		}
		r.children = append(r.children, c)
		r.below = r.below || c.here || c.below || c.limit != nil
	}
	switch t := t.(type) {
	case *delta.Struct:
		for _, f := range t.Fields {
			own, failed := f.CharType()
			if failed != nil {
				return r, failed
			}
			if own == nil {
				own = limit.Field(f.Name)
			}
			child(f.Type, own, f.Nullable, f.Name)
		}
	case *delta.Array:
		child(t.Element, limit.Element(), t.ContainsNull, "element")
	case *delta.Map:
		child(t.Key, limit.Key(), false, "key")
		child(t.Value, limit.Value(), t.ValueContainsNull, "value")
	}
	return r, err
}

// breach is what was found: the first value in row order, of the first requirement, that a test
// finds broken.
type breach struct {
	test  func(r *requirement, a arrow.Array) func(i int) bool // nil if a requires nothing
	of    *requirement
	first int
	count int
	value string // the first, if it is a text
}

// absent finds NULLs that must not be.
func absent(r *requirement, a arrow.Array) func(i int) bool {
	if !r.here || a.NullN() == 0 {
		return nil
	}
	return func(i int) bool { return a.IsNull(i) || a.DataType().ID() == arrow.NULL }
}

// overlong finds texts of more characters than their type has.
func overlong(r *requirement, a arrow.Array) func(i int) bool {
	texts, ok := a.(*array.String)
	if r.limit == nil || !ok {
		return nil
	}
	most := r.limit.Length
	return func(i int) bool {
		return texts.IsValid(i) && texts.ValueLen(i) > most && utf8.RuneCountInString(texts.Value(i)) > most
	}
}

// look searches a column. rowOf gives the row of the batch in which value i lies, -1 if a level
// above it is NULL.
func (b *breach) look(r *requirement, a arrow.Array, rowOf func(i int) int) {
	if broken := b.test(r, a); broken != nil {
		b.search(r, a, broken, rowOf)
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

func (b *breach) search(r *requirement, a arrow.Array, broken func(i int) bool, rowOf func(i int) int) {
	last := -1
	for i := range a.Len() {
		if !broken(i) {
			continue
		}
		row := rowOf(i)
		if row < 0 || row == last {
			continue
		}
		if b.first < 0 {
			b.first, b.of = row, r
			if texts, ok := a.(*array.String); ok && texts.IsValid(i) {
				b.value = texts.Value(i)
			}
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
