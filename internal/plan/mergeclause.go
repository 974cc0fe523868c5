package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
)

// clause is one WHEN of a merge, bound to the columns of both sides.
type clause struct {
	draft
	when *pred.Predicate // nil is always
	sets []assignment
}

// assignment is what a clause makes of one column of the table: a copy of a source column, a value,
// or what it was, and then the fields that are set one by one.
type assignment struct {
	column int           // of the table
	plain  string        // the source column that is copied; "" is none
	lacks  *lackedFields // of a copied struct: fields that the source lacks and an update leaves
	value  *pred.Value   // of the whole column; nil is none
	fields []fieldValue
}

// fieldValue is a field of a struct and what it becomes.
type fieldValue struct {
	below place
	value *pred.Value
}

// clauses are those for one kind of rows, in order: the first whose condition is TRUE applies.
type clauses struct {
	list       []clause
	table      *arrow.Schema
	conditions *pairing
	values     *pairing
	targets    []int        // columns of the table that some clause sets, ascending
	partition  map[int]bool // partition columns, in which an empty text is NULL
}

// none is the clause of a pair to which none applies.
const none = int32(-1)

// judge gives the clause of each pair. key names a pair in an error. A condition is evaluated for the
// pairs that no clause before it took.
func (l *clauses) judge(mem memory.Allocator, p *pairs, key func(pair int32) string) ([]int32, error) {
	out := slices.Repeat([]int32{none}, p.len())
	rest := counting(p.len())
	for k := range l.list {
		if len(rest) == 0 {
			break
		}
		taken, left, err := l.divide(mem, &l.list[k], p, rest, key)
		if err != nil {
			return nil, err
		}
		for _, i := range taken {
			out[i] = int32(k)
		}
		rest = left
	}
	return out, nil
}

// divide gives the pairs for which a clause's condition is TRUE, and the others.
func (l *clauses) divide(mem memory.Allocator, c *clause, p *pairs, rest []int32, key func(int32) string) (taken, left []int32, err error) {
	if c.when == nil {
		return rest, nil, nil
	}
	batch, err := l.conditions.batch(mem, p.only(rest))
	if err != nil {
		return nil, nil, err
	}
	defer batch.Release()
	mask, err := c.when.Eval(mem, batch)
	if err != nil {
		return nil, nil, c.failed(err, rest, key)
	}
	defer mask.Release()
	for i, r := range rest {
		if isTrue(mask, i) {
			taken = append(taken, r)
		} else {
			left = append(left, r)
		}
	}
	return taken, left, nil
}

// failed tells of a row that has no value by its key instead of its number.
func (c *clause) failed(err error, index []int32, key func(int32) string) error {
	row := (*pred.RowError)(nil)
	if !errors.As(err, &row) || row.Row >= len(index) {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return fmt.Errorf("%w: %s, at %s: %s: %w; nothing was changed", delta.ErrInput, c.name, row.Expr, key(index[row.Row]), row.Err)
}

// action is what the clause of a pair does.
func (l *clauses) action(k int32) MergeAction {
	if k == none {
		return MergeNothing
	}
	return l.list[k].Do
}

// changes says whether some clause does something.
func (l *clauses) changes() bool {
	return slices.ContainsFunc(l.list, func(c clause) bool { return c.Do != MergeNothing })
}

// setting gives the pairs whose clause sets columns, and those whose clause deletes.
func (l *clauses) setting(which []int32) (sets, deletes []int32) {
	for i, k := range which {
		switch l.action(k) {
		case MergeSet:
			sets = append(sets, int32(i))
		case MergeDelete:
			deletes = append(deletes, int32(i))
		}
	}
	return sets, deletes
}

// apply gives columns of the table as they are after the clause of each pair, which sets columns. A
// pair without a row of the table is a new row: what is not set is NULL. The caller releases them.
func (l *clauses) apply(mem memory.Allocator, p *pairs, which []int32, columns []int, key func(int32) string) ([]arrow.Array, error) {
	a := &application{clauses: l, mem: mem, pairs: p, which: which, key: key}
	a.group()
	out := make([]arrow.Array, len(columns))
	for i, c := range columns {
		var err error
		if out[i], err = a.column(c); err != nil {
			release(out)
			return nil, err
		}
	}
	return out, nil
}

// application carries clauses out for some pairs.
type application struct {
	*clauses
	mem   memory.Allocator
	pairs *pairs
	which []int32
	key   func(int32) string

	members [][]int32 // the pairs of each clause
	at      []int32   // the place of each pair among those of its clause
}

func (a *application) group() {
	a.members = make([][]int32, len(a.list))
	a.at = make([]int32, len(a.which))
	for i, k := range a.which {
		a.at[i] = int32(len(a.members[k]))
		a.members[k] = append(a.members[k], int32(i))
	}
}

// column puts a column together from the table, from the source, and from what clauses compute.
func (a *application) column(c int) (arrow.Array, error) {
	b := &blender{array: make([]int32, len(a.which)), index: make([]int32, len(a.which))}
	defer func() { release(b.made) }()
	old := none
	if a.pairs.target != nil {
		t, err := columnNamed(a.pairs.target, a.table.Field(c).Name)
		if err != nil {
			return nil, err
		}
		old = b.add(t)
	}
	for k, members := range a.members {
		if len(members) == 0 {
			continue
		}
		if err := a.clauseColumn(b, c, &a.list[k], members, old); err != nil {
			return nil, err
		}
	}
	out, err := blend(a.mem, a.table.Field(c), b.arrays, b.array, b.index)
	if err != nil || !a.partition[c] {
		return out, err
	}
	if empty := emptyValue(out); empty != nil && anyEmpty(out, empty) {
		defer out.Release()
		return masked(a.mem, out, func(i int) bool { return !empty(i) }), nil
	}
	return out, nil
}

// clauseColumn says where the values of a column come from for the pairs of one clause.
func (a *application) clauseColumn(b *blender, c int, k *clause, members []int32, old int32) error {
	set := k.set(c)
	switch {
	case set == nil:
		b.spread(members, old, a.pairs.to)
	case set.plain != "" && set.fields == nil && (set.lacks == nil || a.pairs.target == nil):
		s, err := columnNamed(a.pairs.source, set.plain)
		if err != nil {
			return err
		}
		b.spread(members, b.add(s), a.pairs.from)
	default:
		v, err := a.compute(k, set, members)
		if err != nil {
			return err
		}
		b.made = append(b.made, v)
		b.spread(members, b.add(v), a.at)
	}
	return nil
}

// blender gathers the arrays that a column is made of, and for each row the array and the row in it.
type blender struct {
	arrays       []arrow.Array
	made         []arrow.Array // those of arrays that are its own
	array, index []int32
}

func (b *blender) add(a arrow.Array) int32 {
	b.arrays = append(b.arrays, a)
	return int32(len(b.arrays) - 1)
}

// spread says for some rows of which array they are and of which row of it; array none is NULL.
func (b *blender) spread(members []int32, of int32, rows []int32) {
	for _, i := range members {
		if of == none {
			b.index[i] = -1
			continue
		}
		b.array[i], b.index[i] = of, rows[i]
	}
}

// set is what a clause makes of a column, nil if it leaves it as it is.
func (c *clause) set(column int) *assignment {
	for i := range c.sets {
		if c.sets[i].column == column {
			return &c.sets[i]
		}
	}
	return nil
}

// compute evaluates what a clause sets a column to, for its pairs.
func (a *application) compute(c *clause, set *assignment, members []int32) (arrow.Array, error) {
	some := a.pairs.only(members)
	batch, err := a.values.batch(a.mem, some)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	if set.value != nil {
		v, err := set.value.Eval(a.mem, batch)
		if err != nil {
			return nil, c.failed(err, members, a.key)
		}
		return v, nil
	}
	whole, err := a.before(set, some)
	if err != nil {
		return nil, err
	}
	for _, f := range set.fields {
		v, err := f.value.Eval(a.mem, batch)
		if err != nil {
			whole.Release()
			return nil, c.failed(err, members, a.key)
		}
		next := withField(a.mem, whole, f.below, v)
		v.Release()
		whole.Release()
		whole = next
	}
	return whole, nil
}

// before is a column of which fields will be set: as the source has it, as the table has it, or NULL.
func (a *application) before(set *assignment, p *pairs) (arrow.Array, error) {
	f := a.table.Field(set.column)
	var given, old arrow.Array
	var err error
	if set.plain != "" {
		if given, err = takeNamed(a.mem, f, p.source, set.plain, p.from); err != nil || set.lacks == nil || p.target == nil {
			return given, err
		}
		defer given.Release()
	}
	if p.target == nil {
		return array.MakeArrayOfNull(a.mem, f.Type, p.len()), nil
	}
	if old, err = takeNamed(a.mem, f, p.target, f.Name, p.to); err != nil || given == nil {
		return old, err
	}
	defer old.Release()
	return set.lacks.over(a.mem, given, old), nil
}

func takeNamed(mem memory.Allocator, f arrow.Field, batch arrow.RecordBatch, name string, index []int32) (arrow.Array, error) {
	column, err := columnNamed(batch, name)
	if err != nil {
		return nil, err
	}
	return takeColumn(mem, f, column, index)
}

// withField gives a struct in which a field has other values. It is NULL in no row: setting a field
// of a NULL makes a struct whose other fields are NULL.
func withField(mem memory.Allocator, whole arrow.Array, at place, values arrow.Array) arrow.Array {
	s := whole.(*array.Struct)
	children := make([]arrow.Array, s.NumField())
	defer release(children)
	data := make([]arrow.ArrayData, len(children))
	for i := range children {
		children[i] = fieldOf(mem, s, i)
		if i == at[0] {
			next := values
			if len(at) > 1 {
				next = withField(mem, children[i], at[1:], values)
			} else {
				next.Retain()
			}
			children[i].Release()
			children[i] = next
		}
		data[i] = children[i].Data()
	}
	out := array.NewData(s.DataType(), s.Len(), []*memory.Buffer{nil}, data, 0, 0)
	defer out.Release()
	return array.MakeFromData(out)
}
