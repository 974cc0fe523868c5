package plan

import (
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
)

// evolved is the table that a call writes to: as the snapshot has it or, for a call that evolves,
// with the columns that its rows bring. It is worked out anew for each attempt, so that a winner's
// definition is never overwritten: what the winner added is found, what it changed is kept.
type evolved struct {
	snap     *delta.Snapshot // to plan on
	metadata *delta.Metadata // to commit with the rows; nil if no column is new
	added    []string        // dotted paths of the new columns
}

// brings is the schema of the rows of a call that evolves; nil if it does not, or has no rows.
func (in Input) brings(evolves bool) *arrow.Schema {
	if !evolves || in.Reader == nil {
		return nil
	}
	return in.Reader.Schema()
}

// evolve gives the table that rows are written to. Without rows it is the snapshot.
func evolve(snap *delta.Snapshot, rows *arrow.Schema) (evolved, error) {
	if rows == nil {
		return evolved{snap: snap}, nil
	}
	to, added, err := snap.Evolved(rows)
	if err != nil {
		return evolved{}, err
	}
	e := evolved{snap: to, added: added}
	if len(added) > 0 {
		e.metadata = to.Metadata()
	}
	return e, nil
}

// follows says whether what was prepared for one definition may be committed to this one, as change
// compares them. When a winner gave a column that the rows bring another type, it is the rows that do not fit.
func (e evolved) follows(base *delta.Snapshot, rows *arrow.Schema, change func(old, now *delta.Metadata) string) error {
	err := sameDefinition(base, e.snap, change)
	if err == nil || rows == nil {
		return err
	}
	if _, unfit := NewConformer(rows, e.snap.ArrowSchema(), ConformOptions{Partial: true, Evolve: true}); unfit != nil {
		return unfit
	}
	return err
}

// amend puts the new definition into a proposal: one commit has both the columns and the rows.
func (e evolved) amend(p *Proposal) *Proposal {
	if p != nil && e.metadata != nil {
		p.Actions = append(p.Actions, delta.Action{Metadata: e.metadata})
	}
	return p
}

// number puts the last numbers that were given to rows into a proposal: the commit that adds files
// raises the marks of their identity columns.
func (e evolved) number(p *Proposal, n *numbers) error {
	if p == nil || n == nil || len(n.marks()) == 0 || !slices.ContainsFunc(p.Actions, func(a delta.Action) bool { return a.Add != nil }) {
		return nil
	}
	m, err := e.snap.Marked(n.marks())
	if err != nil {
		return err
	}
	for i := range p.Actions {
		if p.Actions[i].Metadata != nil {
			p.Actions[i].Metadata = m
			return nil
		}
	}
	p.Actions = append(p.Actions, delta.Action{Metadata: m})
	p.Tags = maps.Clone(p.Tags)
	if p.Tags == nil {
		p.Tags = map[string]string{}
	}
	p.Tags[marksOnly] = "true"
	return nil
}

// marksOnly is the tag of commitInfo which says that the definition in the commit differs from the one
// before in marks alone, so that commits beside it which give no numbers need not give way.
const marksOnly = "delta.identity.schemaUpdate"

// Fits says, without reading a row, whether the rows go with a table.
func (p *Append) Fits(snap *delta.Snapshot) error {
	_, err := fits(snap, p.Input, p.Evolve)
	return err
}

// Fits says, without reading a row, whether rows and slice go with a table.
func (p *Replace) Fits(snap *delta.Snapshot) error {
	to, err := fits(snap, p.Input, p.Evolve)
	if err == nil {
		_, err = p.bind(to.snap)
	}
	return err
}

func fits(snap *delta.Snapshot, in Input, evolves bool) (evolved, error) {
	to, err := evolve(snap, in.brings(evolves))
	if err != nil || in.Reader == nil {
		return to, err
	}
	_, err = conformer(in.Reader.Schema(), to.snap, evolves)
	return to, err
}
