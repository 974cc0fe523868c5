package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// filler gives rows the values that a table makes of its own: those of generated columns, numbers of
// identity columns, and defaults. Generated columns that rows bring are compared with what the table
// would have made (<=>); identity columns that they bring are refused unless the table allows it. It
// is for one call, and for one goroutine: numbers are given in the order of the rows.
type filler struct {
	snap    *delta.Snapshot
	schema  *arrow.Schema
	numbers *numbers
	now     time.Time

	steps    []filling // each after those that it needs
	proofs   []proof
	volatile []bool // by column
}

// making is what a table does for a column that rows lack.
type making int

const (
	makesNothing making = iota // it is NULL
	makesDefault               // it has its default
	makesAlways                // it is generated, or numbered
)

// makings is that of each column of a table, by folded name.
func makings(snap *delta.Snapshot) (map[string]making, error) {
	out := map[string]making{}
	for c, f := range snap.Schema().Fields {
		_, generated, err := snap.Generation(c)
		if err != nil {
			return nil, err
		}
		_, has, err := snap.Default(c)
		if err != nil {
			return nil, err
		}
		id, err := snap.Identity(c)
		if err != nil {
			return nil, err
		}
		switch {
		case generated, id != nil:
			out[foldName(f.Name)] = makesAlways
		case has:
			out[foldName(f.Name)] = makesDefault
		}
	}
	return out, nil
}

// conformer binds rows to the columns of a table, of which it may make some itself.
func conformer(rows *arrow.Schema, snap *delta.Snapshot, evolves bool) (*Conformer, error) {
	makes, err := makings(snap)
	if err != nil {
		return nil, err
	}
	return NewConformer(rows, snap.ArrowSchema(), ConformOptions{Evolve: evolves, Makes: makes})
}

// CheckRules makes sure that idem can keep what a new definition asks of those who write: conditions of
// rows, and expressions of columns, whose types are to be those of the columns, as Spark demands. An
// expression that idem cannot evaluate is an [*UncheckedError] or an [*UncomputedError]. Both wrap
// [delta.ErrUnsupported].
func CheckRules(env *Env, snap *delta.Snapshot) error {
	if _, err := NewValidator(snap); err != nil {
		return err
	}
	if _, err := newFiller(env, snap, nil); err != nil {
		return err
	}
	for c, f := range snap.ArrowSchema().Fields() {
		text, ok, err := snap.Generation(c)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		tree, err := expr.Parse(text)
		if err != nil {
			return err
		}
		v, err := pred.BindValue(tree, snap.ArrowSchema())
		if err == nil && !arrow.TypeEqual(v.Type(), f.Type) {
			err = fmt.Errorf("it is %s and the column %s: CAST it", expr.TypeName(v.Type()), expr.TypeName(f.Type))
		}
		if err != nil {
			return uncomputed("generation expression", f.Name, text, err, "state it in another way")
		}
	}
	return nil
}

// filling computes a column that the rows lack.
type filling struct {
	column int
	values func(mem memory.Allocator, batch arrow.RecordBatch, firstRow int64) (arrow.Array, error)
}

// newFiller is for new rows that have the columns given. A definition of a column that is needed and
// cannot be computed wraps [delta.ErrUnsupported] and names it; identity columns that must not be
// given wrap [delta.ErrInput].
func newFiller(env *Env, snap *delta.Snapshot, given []string) (*filler, error) {
	f := &filler{snap: snap, schema: snap.ArrowSchema(), numbers: newNumbers(), now: env.Now()}
	return f, f.newRows(given)
}

// newRefiller is for rows of the table that change: set are the columns that are given new values.
// Of the others only generated ones are computed, the rest stays as it is. Identity columns cannot be
// set.
func newRefiller(env *Env, snap *delta.Snapshot, set []string) (*filler, error) {
	f := &filler{snap: snap, schema: snap.ArrowSchema(), numbers: newNumbers(), now: env.Now()}
	has := nameSet(set)
	var lacks []int
	for c, field := range f.schema.Fields() {
		id, err := snap.Identity(c)
		switch {
		case err != nil:
			return nil, err
		case has[foldName(field.Name)] && id != nil:
			return nil, fmt.Errorf("%w: column %q is an identity column, and an update must not change its numbers; leave it out", delta.ErrInput, field.Name)
		case !has[foldName(field.Name)]:
			lacks = append(lacks, c)
		}
	}
	f.volatile = make([]bool, f.schema.NumFields())
	return f, f.generated(lacks)
}

// also is a filler for other rows of the same call, which have other columns: the numbers that the two
// give differ.
func (f *filler) also(given []string) (*filler, error) {
	g := &filler{snap: f.snap, schema: f.schema, numbers: f.numbers, now: f.now}
	return g, g.newRows(given)
}

func nameSet(columns []string) map[string]bool {
	has := make(map[string]bool, len(columns))
	for _, name := range columns {
		has[foldName(name)] = true
	}
	return has
}

func (f *filler) newRows(given []string) error {
	f.volatile = make([]bool, f.schema.NumFields())
	has := nameSet(given)
	var lacks []int
	for c, field := range f.schema.Fields() {
		id, err := f.snap.Identity(c)
		if err != nil {
			return err
		}
		switch {
		case has[foldName(field.Name)]:
			if id != nil && !id.AllowExplicit {
				return fmt.Errorf("%w: column %q is numbered by the table (GENERATED ALWAYS AS IDENTITY), and the rows have it too; drop it from the rows", delta.ErrInput, field.Name)
			}
		case id != nil:
			f.number(c, id)
		default:
			lacks = append(lacks, c)
			if err := f.defaults(c); err != nil {
				return err
			}
		}
	}
	return f.generated(lacks)
}

func (f *filler) add(column int, values func(memory.Allocator, arrow.RecordBatch, int64) (arrow.Array, error)) {
	f.steps = append(f.steps, filling{column: column, values: values})
}

// number numbers the rows in an identity column.
func (f *filler) number(column int, id *delta.Identity) {
	name := f.schema.Field(column).Name
	n := f.numbers.of(name, id)
	f.volatile[column] = true
	f.add(column, func(mem memory.Allocator, batch arrow.RecordBatch, _ int64) (arrow.Array, error) {
		return n.take(mem, int(batch.NumRows()))
	})
}

// defaults fills a column with its default, if it has one.
func (f *filler) defaults(column int) error {
	if _, generated, err := f.snap.Generation(column); generated || err != nil {
		return err
	}
	text, ok, err := f.snap.Default(column)
	if !ok || err != nil {
		return err
	}
	d, err := f.constant(column, text)
	if err != nil {
		return err
	}
	if err := f.fits(column, d, text); err != nil {
		return err
	}
	f.add(column, func(mem memory.Allocator, batch arrow.RecordBatch, _ int64) (arrow.Array, error) {
		return d.repeat(mem, int(batch.NumRows()))
	})
	return nil
}

// generated computes the generated columns among those that rows lack, and proves the others.
func (f *filler) generated(lacks []int) error {
	var waiting []*generation
	for c := range f.schema.NumFields() {
		g, err := newGeneration(f.snap, c)
		switch {
		case err != nil:
			return err
		case g == nil:
		case slices.Contains(lacks, c):
			waiting = append(waiting, g)
		default:
			p, err := newProof(g)
			if err != nil {
				return err
			}
			f.proofs = append(f.proofs, p)
		}
	}
	for len(waiting) > 0 {
		ready := slices.IndexFunc(waiting, func(g *generation) bool { return !g.needs(waiting) })
		if ready < 0 {
			return fmt.Errorf("%w: the generated columns %q and %q need each other's values", delta.ErrUnsupported, waiting[0].name, waiting[len(waiting)-1].name)
		}
		g := waiting[ready]
		f.add(g.column, g.compute)
		f.volatile[g.column] = slices.ContainsFunc(g.value.Columns(), func(c int) bool { return f.volatile[c] })
		waiting = slices.Delete(waiting, ready, ready+1)
	}
	return nil
}

// Batch gives a batch of the whole table schema, NULL in the columns that the rows lack, the values
// that the table makes. firstRow is the number of rows before the batch; messages count rows from 1.
// The caller releases the result.
func (f *filler) Batch(mem memory.Allocator, batch arrow.RecordBatch, firstRow int64) (arrow.RecordBatch, error) {
	columns := slices.Clone(batch.Columns())
	for _, a := range columns {
		a.Retain()
	}
	defer func() { release(columns) }()
	out := batch
	out.Retain()
	for _, s := range f.steps {
		a, err := s.values(mem, out, firstRow)
		if err != nil {
			out.Release()
			return nil, err
		}
		columns[s.column].Release()
		columns[s.column] = a
		out.Release()
		out = array.NewRecordBatch(f.schema, columns, batch.NumRows())
	}
	for i := range f.proofs {
		if err := f.proofs[i].check(mem, out, firstRow); err != nil {
			out.Release()
			return nil, err
		}
	}
	return out, nil
}

// Volatile are the columns whose values differ from run to run, ascending: numbers, the time of the
// call, and what is computed of them. They do not tell whether rows changed.
func (f *filler) Volatile() []int {
	var out []int
	for c, v := range f.volatile {
		if v {
			out = append(out, c)
		}
	}
	return out
}

// steady leaves the volatile columns out of digests.
func (f *filler) steady() steady {
	var s steady
	for _, c := range f.Volatile() {
		s.without = append(s.without, f.schema.Field(c).Name)
	}
	return s
}

// proves refuses a slice that rows cannot be proven to be in: their numbers may become others, when
// another writer has given them first.
func (f *filler) proves(where *pred.Predicate) error {
	for _, name := range where.ColumnNames() {
		if f.numbers.columns[name] != nil {
			return fmt.Errorf("%w: the slice %s names the column %q, which the table numbers itself; give the slice by other columns", delta.ErrInput, where, name)
		}
	}
	return nil
}

// Mark is what a commit of the rows must say of identity columns: the last number that each has given,
// by the name of the column. A column that gave none is not in it.
func (f *filler) Mark() map[string]int64 { return f.numbers.marks() }

// UncomputedError is an expression of a table's definition whose value idem cannot compute.
type UncomputedError struct {
	Kind, Column, Text string
	Cause              error
}

func (e *UncomputedError) Error() string {
	cause := e.Cause.Error()
	if row, ok := e.Cause.(*pred.RowError); ok { // it was computed for no row in particular
		cause = row.Alone()
	}
	return fmt.Sprintf("the %s of column %q (%s) cannot be computed: %s", e.Kind, e.Column, e.Text, cause)
}

// uncomputed refuses what rests on such an expression.
func uncomputed(kind, column, text string, cause error, advice string) error {
	return fmt.Errorf("%w: %w; %s", delta.ErrUnsupported, &UncomputedError{kind, column, text, cause}, advice)
}

// constant is a default, evaluated once.
type constant struct {
	column string
	row    arrow.RecordBatch // one row of one column
}

// constant evaluates a default. One that asks for the time of the call makes its column volatile.
func (f *filler) constant(column int, text string) (*constant, error) {
	field := f.schema.Field(column)
	refuse := func(err error) error {
		return uncomputed("default", field.Name, text, err, "give the column a value in every row, or write with an engine that can")
	}
	tree, err := expr.Parse(text)
	if err != nil {
		return nil, refuse(err)
	}
	tree = expr.Rewrite(tree, func(e expr.Expr) expr.Expr {
		at := timeOfCall(e, f.now)
		if at == nil {
			return e
		}
		f.volatile[column] = true
		return at
	})
	value, err := pred.BindValueAs(tree, arrow.NewSchema(nil, nil), field.Type)
	if err != nil { // a constant of another kind is converted if it can be, unlike the values of rows
		if value, _ = pred.BindValueAs(expr.Convert(tree, field.Type), arrow.NewSchema(nil, nil), field.Type); value == nil {
			return nil, refuse(err)
		}
	}
	one := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1)
	defer one.Release()
	// The value lives as long as the filler, which nobody closes: it is not the call's allocator's.
	a, err := value.Eval(memory.DefaultAllocator, one)
	if err != nil {
		return nil, refuse(err)
	}
	defer a.Release()
	field.Nullable = true
	return &constant{column: field.Name, row: array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{a}, 1)}, nil
}

// fits holds a default against the length that its column may have, so that no row is blamed for it.
func (f *filler) fits(column int, d *constant, text string) error {
	field := &f.snap.Schema().Fields[column]
	limit, err := field.CharType()
	if err != nil {
		return err
	}
	r, err := requirementOf(field.Type, limit, true, field.Name)
	if err != nil {
		return err
	}
	long := breach{test: overlong, first: -1}
	if long.look(&r, d.row.Column(0), func(i int) int { return i }); long.first >= 0 {
		return uncomputed("default", field.Name, text, fmt.Errorf("it is longer than %s", long.of.limit.Name), "give the column a shorter default, or a value in every row")
	}
	return nil
}

// repeat gives the value in every row.
func (d *constant) repeat(mem memory.Allocator, n int) (arrow.Array, error) {
	a, err := takeColumn(mem, d.row.Schema().Field(0), d.row.Column(0), make([]int32, n))
	if err != nil {
		return nil, fmt.Errorf("the default of column %q: %w", d.column, err)
	}
	return a, nil
}

// timeOfCall is what a function of the time means in a call that began at now; nil for any other.
func timeOfCall(e expr.Expr, now time.Time) expr.Expr {
	c, ok := e.(*expr.Call)
	if !ok || len(c.Args) > 0 {
		return nil
	}
	now = now.UTC()
	switch strings.ToLower(c.Name) {
	case "current_timestamp", "now":
		return expr.Lit(now)
	case "localtimestamp":
		return expr.Convert(expr.Lit(now), &arrow.TimestampType{Unit: arrow.Microsecond})
	case "current_date", "curdate":
		return expr.Date(now.Date())
	}
	return nil
}
