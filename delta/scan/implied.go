package scan

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// implied is what a condition says of generated partition columns: a row for which the condition is
// TRUE has in them values for which the result is TRUE. It is nil if that is nothing.
//
// A partition column g is generated as f(x) of another column. Of a row with x = c it holds that
// g <=> f(c). Where f never falls as x rises, of a row with x <= c it holds that g <= f(c), or that g is
// NULL, which f may be of values that another engine took for none. A timestamp's day is that of the
// zone in which its writer looked at it, which the log does not tell: there c stands for all that is
// within a day of it.
func implied(snap *delta.Snapshot, where expr.Expr) *pred.Predicate {
	m := implier{bases: map[string][]*generator{}}
	for _, name := range snap.PartitionColumns() {
		if g := newGenerator(snap, snap.Schema().Index(name)); g != nil {
			m.bases[strings.ToLower(g.base.Name)] = append(m.bases[strings.ToLower(g.base.Name)], g)
		}
	}
	if len(m.bases) == 0 {
		return nil
	}
	said := m.of(where)
	if said == nil {
		return nil
	}
	p, err := pred.Bind(said, snap.ArrowSchema())
	if err != nil {
		return nil // it is not needed
	}
	return p
}

// generator is a partition column that is computed of one other column.
type generator struct {
	name   string
	base   arrow.Field
	schema *arrow.Schema // of the base alone
	value  *pred.Value
	rises  bool // with the base
	text   bool // it is a text that rises while years have four digits
	zoned  bool // it depends on a time zone
}

// textLayouts are layouts of date_format in which later times have greater texts, as long as years
// have four digits.
var textLayouts = []string{"yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyy-MM-dd-HH", "yyyyMM", "yyyyMMdd", "yyyyMMddHH", "yyyy-MM-dd HH", "yyyy-MM-dd'T'HH"}

// newGenerator is nil for a column of which nothing can be told.
func newGenerator(snap *delta.Snapshot, column int) *generator {
	text, ok, err := snap.Generation(column)
	if !ok || err != nil {
		return nil
	}
	tree, err := expr.Parse(text)
	if err != nil {
		return nil
	}
	field := snap.ArrowSchema().Field(column)
	whole, err := pred.BindValueAs(tree, snap.ArrowSchema(), field.Type)
	if err != nil || len(whole.Columns()) != 1 || whole.Columns()[0] == column {
		return nil
	}
	g := &generator{name: field.Name, base: snap.ArrowSchema().Field(whole.Columns()[0])}
	g.schema = arrow.NewSchema([]arrow.Field{g.base}, nil)
	if g.value, err = pred.BindValueAs(tree, g.schema, field.Type); err != nil {
		return nil
	}
	switch g.base.Type.ID() {
	case arrow.FLOAT32, arrow.FLOAT64, arrow.STRUCT, arrow.LIST, arrow.MAP, arrow.NULL:
		return nil // 0.0 = -0.0, and fields have conditions of their own
	case arrow.TIMESTAMP:
		g.zoned = g.base.Type.(*arrow.TimestampType).TimeZone != ""
	}
	g.text = formats(tree)
	g.rises = g.text || temporal(g.base.Type) && g.value.Rises()
	if g.zoned && !g.rises {
		return nil
	}
	return g
}

func temporal(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.TIMESTAMP }

// formats says whether an expression is date_format of a column in one of the layouts that rise.
func formats(tree expr.Expr) bool {
	c, ok := tree.(*expr.Call)
	if !ok || !strings.EqualFold(c.Name, "date_format") || len(c.Args) != 2 {
		return false
	}
	_, column := c.Args[0].(*expr.Column)
	layout, constant := c.Args[1].(*expr.Literal)
	return column && constant && layout.Value != nil && slices.Contains(textLayouts, layout.Value.String())
}

// implier finds what a condition implies.
type implier struct {
	bases map[string][]*generator // by folded name of the column they are computed of
}

// of is nil for a condition that says nothing of the generated columns.
func (m *implier) of(e expr.Expr) expr.Expr {
	switch e := e.(type) {
	case *expr.Binary:
		switch e.Op {
		case expr.And:
			return m.all(expr.Conjuncts(e)...)
		case expr.Or:
			return m.some(expr.Disjuncts(e)...)
		}
		if said := m.compared(e.L, e.Op, e.R); said != nil {
			return said
		}
		return m.compared(e.R, e.Op.Mirrored(), e.L)
	case *expr.Between:
		if e.Negated {
			return nil
		}
		var list []expr.Expr
		for _, part := range []expr.Expr{m.compared(e.X, expr.Ge, e.Lo), m.compared(e.X, expr.Le, e.Hi)} {
			if part != nil {
				list = append(list, part)
			}
		}
		return joined(expr.AllOf, list)
	case *expr.In:
		if e.Negated {
			return nil
		}
		var list []expr.Expr
		for _, member := range e.List {
			list = append(list, m.compared(e.X, expr.Eq, member))
		}
		return either(list)
	case *expr.IsNull:
		if !e.Negated {
			return m.compared(e.X, expr.NullSafeEq, expr.Lit(nil))
		}
	}
	return nil
}

// all is what any of the parts says.
func (m *implier) all(parts ...expr.Expr) expr.Expr {
	var list []expr.Expr
	for _, part := range parts {
		if said := m.of(part); said != nil {
			list = append(list, said)
		}
	}
	return joined(expr.AllOf, list)
}

// some is what each of the parts says.
func (m *implier) some(parts ...expr.Expr) expr.Expr {
	var list []expr.Expr
	for _, part := range parts {
		list = append(list, m.of(part))
	}
	return either(list)
}

// either is what one of the parts says; nil if a part says nothing.
func either(list []expr.Expr) expr.Expr {
	if slices.Contains(list, nil) {
		return nil
	}
	return joined(expr.AnyOf, list)
}

func joined(join func(...expr.Expr) expr.Expr, list []expr.Expr) expr.Expr {
	if len(list) == 0 {
		return nil
	}
	return join(list...)
}

// compared is what the comparison of a column with a constant says.
func (m *implier) compared(x expr.Expr, op expr.Op, to expr.Expr) expr.Expr {
	column, ok := x.(*expr.Column)
	if !ok || len(column.Path) != 1 || len(expr.Columns(to)) > 0 {
		return nil
	}
	var list []expr.Expr
	for _, g := range m.bases[strings.ToLower(column.Path[0])] {
		c, ok := g.constant(to)
		if !ok {
			continue
		}
		if said := g.says(op, c); said != nil {
			list = append(list, said)
		}
	}
	return joined(expr.AllOf, list)
}

// constant evaluates an expression without columns as a value of the base. Of those of another type it
// takes what a comparison would take, rounded down at most.
func (g *generator) constant(e expr.Expr) (scalar.Scalar, bool) {
	empty := arrow.NewSchema(nil, nil)
	v, err := pred.BindValue(e, empty)
	if err != nil {
		return nil, false
	}
	switch from, to := v.Type(), g.base.Type; {
	case arrow.TypeEqual(from, to):
	case from.ID() == arrow.NULL, arrow.IsInteger(from.ID()) && arrow.IsInteger(to.ID()),
		temporal(to) && (from.ID() == arrow.STRING || from.ID() == arrow.DATE32):
		if v, err = pred.BindValue(expr.Convert(e, to), empty); err != nil {
			return nil, false
		}
	default:
		return nil, false
	}
	one := array.NewRecordBatch(empty, nil, 1)
	defer one.Release()
	return only(v, one)
}

// only is the value of one row.
func only(v *pred.Value, row arrow.RecordBatch) (scalar.Scalar, bool) {
	a, err := v.Eval(memory.DefaultAllocator, row)
	if err != nil {
		return nil, false
	}
	defer a.Release()
	s, err := scalar.GetScalar(a, 0)
	return s, err == nil
}

// of computes the value of the column for one of the base.
func (g *generator) of(c scalar.Scalar) (scalar.Scalar, bool) {
	a, err := scalar.MakeArrayFromScalar(c, 1, memory.DefaultAllocator)
	if err != nil {
		return nil, false
	}
	defer a.Release()
	row := array.NewRecordBatch(g.schema, []arrow.Array{a}, 1)
	defer row.Release()
	return only(g.value, row)
}

// says is what x op c says of the column.
func (g *generator) says(op expr.Op, c scalar.Scalar) expr.Expr {
	if !c.IsValid() {
		if op != expr.NullSafeEq {
			return nil
		}
		return g.equals(scalar.MakeNullScalar(g.base.Type))
	}
	switch op {
	case expr.Eq, expr.NullSafeEq:
		if !g.zoned {
			return g.equals(c)
		}
		lo, hi := g.bound(expr.Ge, c), g.bound(expr.Le, c)
		if lo == nil || hi == nil {
			return nil
		}
		return expr.AllOf(lo, hi)
	case expr.Lt, expr.Le:
		return g.bound(expr.Le, c)
	case expr.Gt, expr.Ge:
		return g.bound(expr.Ge, c)
	}
	return nil
}

func (g *generator) equals(c scalar.Scalar) expr.Expr {
	v, ok := g.of(c)
	if !ok {
		return nil
	}
	if !v.IsValid() {
		return &expr.IsNull{X: expr.Field(g.name), At: -1}
	}
	return expr.Apply(expr.NullSafeEq, expr.Field(g.name), expr.Lit(v))
}

// microsADay is the most by which the clocks of two time zones differ from UTC.
const microsADay = 24 * 60 * 60 * 1_000_000

// bound is that the column is at least, or at most, what it is for c.
func (g *generator) bound(op expr.Op, c scalar.Scalar) expr.Expr {
	if !g.rises {
		return nil
	}
	if g.zoned {
		t, ok := c.(*scalar.Timestamp)
		if !ok || t.Value > 1<<62 || t.Value < -1<<62 {
			return nil
		}
		by := arrow.Timestamp(microsADay)
		if op == expr.Ge {
			by = -by
		}
		c = scalar.NewTimestampScalar(t.Value+by, g.base.Type)
	}
	v, ok := g.of(c)
	if !ok || !v.IsValid() {
		return nil
	}
	column := expr.Field(g.name)
	list := []expr.Expr{expr.Apply(op, column, expr.Lit(v)), &expr.IsNull{X: column, At: -1}}
	if g.text {
		if first := v.String(); first == "" || first[0] < '0' || first[0] > '9' {
			return nil
		}
		if op == expr.Ge { // the texts of years beyond 9999 begin with a plus
			list = append(list, expr.Apply(expr.Lt, column, expr.Lit("0")))
		}
	}
	return expr.AnyOf(list...)
}
