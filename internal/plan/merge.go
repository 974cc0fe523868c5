package plan

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// MergeRequest is what a merge is told.
type MergeRequest struct {
	On     []string
	Newer  []string
	Update []string // columns an update sets; nil means all that the source has
	Insert []string // columns an insert sets; nil means all that the source has

	DeleteWhen expr.Expr
	SoftDelete string

	Unguarded             bool
	GuardPrefix           bool
	CompareTies           bool
	MatchNulls            bool
	AllowTargetDuplicates bool
	Evolve                bool
}

// Merge updates, inserts and deletes by key. The source is read once, deduplicated, and kept.
type Merge struct {
	Env     *Env
	Input   Input
	Request MergeRequest

	// KeepSum says that the digest of the source will be asked for (Payload).
	KeepSum bool

	Counts         Counts
	Missing, Added []string

	base    *delta.Snapshot
	sum     rows.Digest // of the source, before it is deduplicated
	area    *spill.Area
	shape   *mergeShape
	kept    *arrow.Schema // of the source as it is kept
	refit   *Conformer    // from kept to shape.source, once columns were added to the table
	sources []*source     // parts of the source, split by key, each small enough to be held
	seen    map[string]*touched
	inserts *insertSet
}

// Close removes what was spilled.
func (p *Merge) Close() error {
	if p.area == nil {
		return nil
	}
	for _, s := range p.sources {
		s.close()
	}
	return p.area.Close()
}

// Plan probes the files that may hold a key of the source and proposes to rewrite those in which a
// row changes; no action if there is nothing to do and no column is new.
func (p *Merge) Plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	to, err := p.begin(ctx, snap)
	if err != nil {
		return nil, err
	}
	proposal, err := p.plan(ctx, to.snap)
	return to.amend(proposal), err
}

func (p *Merge) plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	files, err := p.candidates(ctx, snap)
	if err != nil {
		return nil, err
	}
	if err := p.probe(ctx, snap, files); err != nil {
		return nil, err
	}
	matched, err := p.tally(files)
	if err != nil {
		return nil, err
	}
	changed, err := p.rewrite(ctx, snap, files)
	if err != nil {
		return nil, err
	}
	if err := p.insert(ctx, snap, matched, changed); err != nil {
		return nil, err
	}
	return p.propose(snap, files, changed)
}

// begin takes the source in, the first time, and gives the table to merge into.
func (p *Merge) begin(ctx context.Context, snap *delta.Snapshot) (evolved, error) {
	rows, err := p.brings(snap)
	if err != nil {
		return evolved{}, err
	}
	to, err := evolve(snap, rows)
	if err != nil {
		return evolved{}, err
	}
	p.Added = to.added
	if p.base != nil {
		if err := to.follows(p.base, rows); err != nil {
			return evolved{}, err
		}
		return to, p.reshape(to.snap)
	}
	shape, err := newMergeShape(&p.Request, p.Input.Reader.Schema(), to.snap)
	if err != nil {
		return evolved{}, err
	}
	p.shape, p.kept, p.Missing = shape, shape.source, shape.missing
	p.area = p.Env.area()
	p.seen = map[string]*touched{}
	if err := p.take(ctx, to.snap); err != nil {
		return evolved{}, err
	}
	p.base = to.snap
	return to, nil
}

func (p *Merge) propose(snap *delta.Snapshot, files []*delta.Add, changed []*touched) (*Proposal, error) {
	c := &p.Counts
	c.FilesAdded, c.BytesAdded, c.FilesRemoved, c.FilesRewritten = 0, 0, int64(len(changed)), 0
	var actions []delta.Action
	var before, after int64
	for _, t := range changed {
		actions = append(actions, p.Env.remove(t.add))
		before += t.rows
		if len(t.out) > 0 {
			c.FilesRewritten++
		}
	}
	outs := p.inserts.files
	for _, t := range changed {
		outs = append(outs[:len(outs):len(outs)], t.out...)
	}
	for _, f := range outs {
		n, ok := numRecords(f.Stats)
		if !ok {
			return nil, fmt.Errorf("%w: file %s was written without numRecords", delta.ErrCorrupt, f.Path)
		}
		after += n
	}
	if before+c.Inserted-c.Deleted != after {
		return nil, fmt.Errorf("%w: merge: %d rows before + %d inserted - %d deleted is not the %d rows after; nothing was committed",
			delta.ErrCorrupt, before, c.Inserted, c.Deleted, after)
	}
	c.count(outs)
	actions = append(actions, adds(outs)...)
	return &Proposal{
		Operation: "MERGE", Parameters: p.parameters(), Metrics: p.metrics(), Actions: actions,
		Reads: commit.Reads{Files: keys(files), Touches: p.touches(snap)},
	}, nil
}

func (p *Merge) parameters() map[string]any {
	on := ""
	for i, k := range p.shape.keyNames() {
		if i > 0 {
			on += " AND "
		}
		on += "target." + k + " = source." + k
	}
	m := map[string]any{"predicate": jsonText([]string{on}), "notMatchedPredicates": `[{"actionType":"insert"}]`}
	if p.Request.DeleteWhen != nil {
		m["matchedPredicates"] = jsonText([]map[string]string{{"predicate": p.Request.DeleteWhen.String(), "actionType": "delete"}, {"actionType": "update"}})
	} else {
		m["matchedPredicates"] = `[{"actionType":"update"}]`
	}
	return m
}

func (p *Merge) metrics() map[string]string {
	c, n := p.Counts, func(v int64) string { return strconv.FormatInt(v, 10) }
	return map[string]string{
		"numSourceRows": n(c.Read), "numTargetRowsInserted": n(c.Inserted), "numTargetRowsUpdated": n(c.Updated),
		"numTargetRowsDeleted": n(c.Deleted), "numTargetFilesAdded": n(c.FilesAdded), "numTargetFilesRemoved": n(c.FilesRemoved),
	}
}
