package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
)

// brings is the schema of the source without the columns that only order or delete: what a merge
// that evolves adds to the table. It is nil for one that does not.
func (p *Merge) brings(snap *delta.Snapshot) (*arrow.Schema, error) {
	rows := p.Input.brings(p.Request.Evolve)
	if rows == nil {
		return nil, nil
	}
	r := &p.Request
	helpers := columnsNamedBy(r)
	fields := slices.Clone(rows.Fields())
	fields = slices.DeleteFunc(fields, func(f arrow.Field) bool {
		return snap.Schema().Index(f.Name) < 0 && holds(helpers, f.Name) && !holds(r.Update, f.Name) && !holds(r.Insert, f.Name)
	})
	for _, f := range fields {
		if r.Update != nil && r.Insert != nil && snap.Schema().Index(f.Name) < 0 && !holds(r.Update, f.Name) && !holds(r.Insert, f.Name) {
			return nil, fmt.Errorf("%w: the table lacks the column %q and neither Merge.Update nor Merge.Insert sets it; list it there, or drop it from the rows",
				delta.ErrInput, f.Name)
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// columnsNamedBy are the columns that a request may use without the table having them.
func columnsNamedBy(r *MergeRequest) []string {
	var out []string
	if r.GuardPrefix {
		out = append(out, r.Newer...)
	}
	if r.DeleteWhen != nil {
		out = append(out, columnsOf(r.DeleteWhen)...)
	}
	return out
}

// Fits says, without reading a row, whether source and request go with a table.
func (p *Merge) Fits(snap *delta.Snapshot) error {
	rows, err := p.brings(snap)
	if err != nil {
		return err
	}
	to, err := evolve(snap, rows)
	if err != nil {
		return err
	}
	_, err = newMergeShape(&p.Request, p.Input.Reader.Schema(), to.snap)
	return err
}

func holds(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// reshape binds the kept source to a table to which columns were added since. What was found in
// files, and written, was for the old columns.
func (p *Merge) reshape(snap *delta.Snapshot) error {
	if p.base.ArrowSchema().Equal(snap.ArrowSchema()) {
		return nil
	}
	shape, err := newMergeShape(&p.Request, p.Input.Reader.Schema(), snap)
	if err != nil {
		return err
	}
	if p.refit, err = NewConformer(p.kept, shape.source, ConformOptions{}); err != nil {
		return err
	}
	for _, s := range p.sources {
		s.unload()
	}
	p.shape, p.Missing, p.base = shape, shape.missing, snap
	p.seen, p.inserts = map[string]*touched{}, nil
	return nil
}

// refitted gives a batch of the kept source the columns of the shape. It takes over the batch.
func (p *Merge) refitted(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	if p.refit == nil {
		return batch, nil
	}
	defer batch.Release()
	return p.refit.Batch(p.Env.Allocator, batch, 0)
}
