package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/spill"
)

// brings is the schema of the source without the columns that only order or delete, or that clauses
// only name: what a merge that evolves adds to the table. It is nil for one that does not.
func (p *Merge) brings(snap *delta.Snapshot) (*arrow.Schema, error) {
	rows := p.Input.brings(p.Request.Evolve)
	if rows == nil {
		return nil, nil
	}
	helpers := p.Request.named()
	listed, all := p.Request.copied()
	fields := slices.Clone(rows.Fields())
	fields = slices.DeleteFunc(fields, func(f arrow.Field) bool {
		return snap.Schema().Index(f.Name) < 0 && holds(helpers, f.Name) && !holds(listed, f.Name)
	})
	for _, f := range fields {
		if !all && snap.Schema().Index(f.Name) < 0 && !holds(listed, f.Name) {
			return nil, fmt.Errorf("%w: the table lacks the column %q and neither what the merge updates nor what it inserts sets it (Update, Insert, Columns of a clause); list it there, or drop it from the rows",
				delta.ErrInput, f.Name)
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// named are the columns that a request may use without the table having them.
func (r *MergeRequest) named() []string {
	var out []string
	if r.GuardPrefix {
		out = append(out, r.Newer...)
	}
	if r.DeleteWhen != nil {
		out = append(out, columnsOf(r.DeleteWhen)...)
	}
	for _, l := range r.lists() {
		for _, c := range l.clauses {
			for _, set := range c.Set {
				out = append(out, sourceColumns(set.Value)...)
			}
			out = append(out, sourceColumns(c.When)...)
		}
	}
	return out
}

// sourceColumns are the columns that an expression may mean of the source.
func sourceColumns(e expr.Expr) []string {
	var out []string
	for _, path := range expr.Columns(e) {
		switch {
		case len(path) > 1 && strings.EqualFold(path[0], sourceSide):
			out = append(out, path[1])
		case len(path) == 1 || !strings.EqualFold(path[0], targetSide):
			out = append(out, path[0])
		}
	}
	return out
}

// copied are the columns that some update or insert lists; all says that one copies every column.
func (r *MergeRequest) copied() (listed []string, all bool) {
	listed = slices.Concat(r.Update, r.Insert)
	all = r.Matched == nil && r.Update == nil || r.NotMatched == nil && r.Insert == nil
	for _, l := range r.lists() {
		for _, c := range l.clauses {
			listed = append(listed, c.Columns...)
			all = all || c.Do == MergeSet && c.Columns == nil && len(c.Set) == 0
		}
	}
	return listed, all
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
// files, and written, was for the old columns; what was written was for the old properties too.
func (p *Merge) reshape(snap *delta.Snapshot) error {
	upkeep := upkeepOf(snap)
	if p.upkeep != upkeep {
		p.upkeep = upkeep
		p.forget()
	}
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
	p.forget()
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

// forget drops what was found in files and written for an older definition of the table.
func (p *Merge) forget() {
	p.files, p.seen, p.inserts = nil, map[string]*touched{}, nil
	for _, s := range p.sources {
		for _, b := range []*spill.Buffer{s.matches, s.todo} {
			if b != nil {
				b.Close()
			}
		}
		s.matches, s.todo = p.area.NewBuffer(matchSchema), nil
	}
}
