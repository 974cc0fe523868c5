package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/pred"
	"github.com/idemtable/idem/internal/rows"
)

// hold makes sure that every row of the table satisfies new constraints. What was found of a file is
// remembered: another attempt looks at the files that came since.
func (p *alter) hold(ctx context.Context, snap *delta.Snapshot, constraints map[string]string) error {
	for _, name := range sortedNames(constraints) {
		tree, err := expr.Parse(constraints[name])
		if err != nil {
			return fmt.Errorf("%w: constraint %q: %w", idem.ErrInput, name, err)
		}
		c := &constraint{env: p.env, snap: snap, name: name, text: constraints[name], held: p.held}
		if c.where, err = pred.Bind(tree, snap.ArrowSchema()); err != nil {
			return err
		}
		if err := c.check(ctx, tree); err != nil {
			return err
		}
	}
	return nil
}

// constraint is a condition that the rows of a table are held against.
type constraint struct {
	env        *plan.Env
	snap       *delta.Snapshot
	name, text string
	where      *pred.Predicate
	held       map[string]bool
}

// id names a file as it is, and the constraint.
func (c *constraint) id(f *delta.Add) string {
	return strings.Join([]string{c.name, c.text, f.Key, f.DeletionVector.ID()}, "\x00")
}

func (c *constraint) check(ctx context.Context, tree expr.Expr) error {
	pruned, err := scan.Prune(ctx, c.env.Table(c.snap), tree)
	if err != nil {
		return err
	}
	for _, f := range pruned.Inside {
		c.held[c.id(f)] = true
	}
	var files []*delta.Add // not only those across: rows of one that is outside are shown
	for f := range c.snap.Files() {
		if !c.held[c.id(f)] {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b *delta.Add) int { return strings.Compare(a.Key, b.Key) })
	broken := make([]breach, len(files))
	err = plan.ForEach(ctx, c.env.Parallelism, len(files), func(ctx context.Context, i int) error {
		var err error
		broken[i], err = c.file(ctx, files[i])
		return err
	})
	if err != nil {
		return err
	}
	total, first := int64(0), -1
	for i, b := range broken {
		total += b.rows
		switch {
		case b.rows == 0:
			c.held[c.id(files[i])] = true
		case first < 0:
			first = i
		}
	}
	if total == 0 {
		return nil
	}
	return fmt.Errorf("%w: the constraint %q (%s) is not TRUE for %d rows of the table, among them %s in %s; NULL breaks it, too; nothing was changed: mend or delete the rows first",
		idem.ErrInput, c.name, c.text, total, broken[first].shown, files[first].Path)
}

// breach is the rows of a file that break a constraint, one of them shown.
type breach struct {
	rows  int64
	shown string
}

func (c *constraint) file(ctx context.Context, f *delta.Add) (breach, error) {
	var out breach
	for piece, err := range scan.Live(ctx, c.env.Table(c.snap), f, c.columns(), scan.LiveOptions{}) {
		if err != nil {
			return out, err
		}
		if err := c.batch(&out, piece.Batch); err != nil {
			return out, fmt.Errorf("constraint %q, file %s: %w", c.name, f.Path, err)
		}
	}
	return out, nil
}

// columns are those that the condition names, and for one that names none any.
func (c *constraint) columns() []string {
	if names := c.where.ColumnNames(); len(names) > 0 {
		return names
	}
	return []string{c.snap.ArrowSchema().Field(0).Name}
}

func (c *constraint) batch(out *breach, batch arrow.RecordBatch) error {
	mask, err := c.where.Eval(c.env.Allocator, batch)
	if err != nil {
		return err
	}
	defer mask.Release()
	for i := range mask.Len() {
		if mask.IsValid(i) && mask.Value(i) {
			continue
		}
		if out.rows++; out.rows == 1 {
			out.shown = shownRow(batch, i)
		}
	}
	return nil
}

// shownRow is a row in words.
func shownRow(batch arrow.RecordBatch, row int) string {
	parts := make([]string, batch.NumCols())
	for i := range parts {
		parts[i] = batch.ColumnName(i) + "=" + rows.Text(batch.Column(i), row)
	}
	return strings.Join(parts, ", ")
}
