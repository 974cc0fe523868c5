package plan

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// generation is the expression of a generated column, bound to the table.
type generation struct {
	column int
	name   string
	text   string
	value  *pred.Value
}

// newGeneration is nil for a column that is not generated.
func newGeneration(snap *delta.Snapshot, column int) (*generation, error) {
	text, ok, err := snap.Generation(column)
	if !ok || err != nil {
		return nil, err
	}
	field := snap.ArrowSchema().Field(column)
	g := &generation{column: column, name: field.Name, text: text}
	tree, err := expr.Parse(text)
	if err == nil {
		g.value, err = pred.BindValueAs(tree, snap.ArrowSchema(), field.Type)
	}
	if err == nil && slices.Contains(g.value.Columns(), column) {
		err = fmt.Errorf("it names the column itself")
	}
	if err != nil {
		return nil, uncomputed("generation expression", field.Name, text, err, "write with an engine that can, or drop it from the table")
	}
	return g, nil
}

// needs says whether another of these columns must be computed first.
func (g *generation) needs(others []*generation) bool {
	return slices.ContainsFunc(others, func(o *generation) bool { return slices.Contains(g.value.Columns(), o.column) })
}

func (g *generation) compute(mem memory.Allocator, batch arrow.RecordBatch, firstRow int64) (arrow.Array, error) {
	a, err := g.value.Eval(mem, batch)
	if err != nil {
		return nil, fmt.Errorf("column %q is generated as %s: %w", g.name, g.text, pred.After(firstRow, err))
	}
	return a, nil
}

// proof compares a generated column that the rows bring with what the table would make.
type proof struct {
	*generation
	pair *arrow.Schema
	same *pred.Predicate
}

func newProof(g *generation) (proof, error) {
	p := proof{generation: g, pair: arrow.NewSchema([]arrow.Field{
		{Name: "given", Type: g.value.Type(), Nullable: true}, {Name: "made", Type: g.value.Type(), Nullable: true},
	}, nil)}
	var err error
	if p.same, err = pred.Bind(expr.Apply(expr.NullSafeEq, expr.Col("given"), expr.Col("made")), p.pair); err != nil {
		return p, uncomputed("generation expression", g.name, g.text, err, "drop the column from the rows: then the table fills it")
	}
	return p, nil
}

// check refuses rows that bring another value.
func (p *proof) check(mem memory.Allocator, batch arrow.RecordBatch, firstRow int64) error {
	made, err := p.compute(mem, batch, firstRow)
	if err != nil {
		return err
	}
	defer made.Release()
	given := batch.Column(p.column)
	pair := array.NewRecordBatch(p.pair, []arrow.Array{given, made}, batch.NumRows())
	defer pair.Release()
	mask, err := p.same.Eval(mem, pair)
	if err != nil {
		return err
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
	of := describe(batch, p.value.ColumnNames(), first)
	return fmt.Errorf("%w: column %q is generated as %s, and %d of %d rows bring another value, the first of them row %d: %s where that is %s (%s); drop the column from the rows, and the table fills it",
		delta.ErrInput, p.name, p.text, bad, mask.Len(), firstRow+int64(first)+1, rows.Text(given, first), rows.Text(made, first), of)
}
