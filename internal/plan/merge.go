package plan

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

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
	kept    *arrow.Schema     // of the source as it is kept
	refit   *Conformer        // from kept to shape.source, once columns were added to the table
	sources []*source         // parts of the source, by ranges of keys, each small enough to be held
	pivots  arrow.RecordBatch // the least key of each part but the first; nil if there is one
	files   []*touched        // every file that was looked at
	seen    map[string]*touched
	inserts *insertSet
	upkeep  upkeep

	again  repeats
	fixed  breaches
	rows   struct{ written, copied int64 } // by the last proposal
	marked vectorCounts                    // by the last proposal

	mu       sync.Mutex
	made     []*delta.Add // every file that was written
	vectors  []string     // keys of the files of vectors that were written
	proposed bool         // some commit may name them
}

// Close removes what was spilled, and the files that were written if no commit was proposed.
func (p *Merge) Close() error {
	if p.area == nil {
		return nil
	}
	if !p.proposed && len(p.made)+len(p.vectors) > 0 {
		p.Env.discard(p.made)
		p.Env.discardKeys(p.vectors)
		p.made, p.vectors = nil, nil
	}
	if p.pivots != nil {
		p.pivots.Release()
		p.pivots = nil
	}
	for _, s := range p.sources {
		s.close()
	}
	p.sources = nil
	return p.area.Close()
}

// wrote remembers files that were written.
func (p *Merge) wrote(files []*delta.Add) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = append(p.made, files...)
}

// Plan probes the files that may hold a key of the source and proposes to rewrite those in which a
// row changes, or to mark those rows in vectors; no action if there is nothing to do and no column is
// new.
func (p *Merge) Plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	to, err := p.begin(ctx, snap)
	if err != nil {
		return nil, err
	}
	proposal, err := p.plan(ctx, to.snap)
	if err != nil {
		return nil, err
	}
	proposal = to.amend(proposal)
	return proposal, to.number(proposal, p.inserts.numbers)
}

func (p *Merge) plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	files, err := p.candidates(ctx, snap)
	if err != nil {
		return nil, err
	}
	if err := p.probe(ctx, snap, files); err != nil {
		return nil, err
	}
	others, err := p.settle(ctx, files)
	if err != nil {
		return nil, err
	}
	changed, err := p.rewrite(ctx, snap, files)
	if err != nil {
		return nil, err
	}
	if err := p.mark(ctx, snap, changed); err != nil {
		return nil, err
	}
	if err := p.insert(ctx, snap, changed, others); err != nil {
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
		if err := to.follows(p.base, rows, commit.DefinitionChange); err != nil {
			return evolved{}, err
		}
		return to, p.reshape(to.snap)
	}
	p.upkeep = upkeepOf(to.snap)
	shape, err := newMergeShape(&p.Request, p.Input.Reader.Schema(), to.snap)
	if err != nil {
		return evolved{}, err
	}
	p.shape, p.kept, p.Missing = shape, shape.source, shape.missing
	if err := p.canFill(to.snap); err != nil {
		return evolved{}, err
	}
	p.area = p.Env.area()
	p.seen = map[string]*touched{}
	if err := p.take(ctx, to.snap); err != nil {
		return evolved{}, err
	}
	p.base = to.snap
	return to, nil
}

func (p *Merge) propose(snap *delta.Snapshot, files []candidate, changed []*touched) (*Proposal, error) {
	outs := p.inserts.files
	for _, t := range changed {
		outs = append(outs[:len(outs):len(outs)], t.out...)
	}
	written, err := p.conserved(changed, outs)
	if err != nil {
		return nil, err
	}
	c := &p.Counts
	p.rows.written, p.rows.copied = written, written-c.Inserted-c.Updated
	actions := p.exchange(changed)
	c.FilesAdded, c.BytesAdded = 0, 0
	c.count(outs)
	actions = append(actions, adds(outs)...)
	actions = append(actions, Changes(p.inserts.feed)...)
	p.proposed = p.proposed || len(actions) > 0
	read := map[string]struct{}{}
	for _, f := range files {
		read[f.add.Key] = struct{}{}
	}
	return &Proposal{
		Operation: "MERGE", Parameters: p.parameters(), Metrics: p.metrics(), Actions: actions,
		Reads: commit.Reads{Files: read, Touches: p.touches(snap)}, Tags: preserved(snap),
	}, nil
}

// exchange removes the files that change, and adds those that stay again, under their vectors.
func (p *Merge) exchange(changed []*touched) []delta.Action {
	c, v := &p.Counts, &p.marked
	c.FilesRemoved, c.FilesRewritten, *v = 0, 0, vectorCounts{}
	var out []delta.Action
	for _, t := range changed {
		out = append(out, p.Env.Remove(t.add, true))
		if t.mark != nil {
			out = append(out, delta.Action{Add: t.mark.add})
			v.added++
			v.updated += vectorsOf(t.add)
			continue
		}
		c.FilesRemoved++
		v.removed += vectorsOf(t.add)
		if len(t.out) > 0 {
			c.FilesRewritten++
		}
	}
	return out
}

// conserved demands that no row came or went but those that were counted, from what the files say of
// themselves, and gives the number of rows of new files.
func (p *Merge) conserved(changed []*touched, outs []*delta.Add) (written int64, err error) {
	for _, f := range outs {
		n, ok := delta.NumRecords(f.Stats)
		if !ok {
			return 0, fmt.Errorf("%w: file %s was written without numRecords", delta.ErrCorrupt, f.Path)
		}
		written += n
	}
	before, after := int64(0), written
	for _, t := range changed {
		before += t.rows
		if t.mark == nil {
			continue
		}
		n, ok := liveRows(t.mark.add, t.mark.add.Stats)
		if !ok {
			return 0, fmt.Errorf("%w: file %s was given a vector and has no numRecords", delta.ErrCorrupt, t.add.Path)
		}
		after += n
	}
	c := &p.Counts
	if before+c.Inserted-c.Deleted != after {
		return 0, fmt.Errorf("%w: merge: %d rows before + %d inserted - %d deleted is not the %d rows after; nothing was committed",
			delta.ErrCorrupt, before, c.Inserted, c.Deleted, after)
	}
	return written, nil
}

func (p *Merge) parameters() map[string]any {
	return map[string]any{
		"predicate":                    jsonText([]string{p.shape.keyText()}),
		"matchedPredicates":            p.shape.matched.text("update"),
		"notMatchedPredicates":         p.shape.notMatched.text("insert"),
		"notMatchedBySourcePredicates": p.shape.bySource.text("update"),
	}
}

func (p *Merge) metrics() map[string]string {
	c, n := p.Counts, func(v int64) string { return strconv.FormatInt(v, 10) }
	return map[string]string{
		"numSourceRows": n(c.Read), "numTargetRowsInserted": n(c.Inserted),
		"numTargetRowsUpdated": n(c.Updated), "numTargetRowsDeleted": n(c.Deleted),
		"numTargetRowsMatchedUpdated":            n(c.Updated - c.UpdatedBySource),
		"numTargetRowsMatchedDeleted":            n(c.Deleted - c.DeletedBySource),
		"numTargetRowsNotMatchedBySourceUpdated": n(c.UpdatedBySource),
		"numTargetRowsNotMatchedBySourceDeleted": n(c.DeletedBySource),
		"numTargetRowsCopied":                    n(p.rows.copied), "numOutputRows": n(p.rows.written),
		"numTargetFilesAdded": n(c.FilesAdded), "numTargetFilesRemoved": n(c.FilesRemoved), "numTargetBytesAdded": n(c.BytesAdded),
		"numTargetChangeFilesAdded":       strconv.Itoa(len(p.inserts.feed)),
		"numTargetDeletionVectorsAdded":   n(p.marked.added),
		"numTargetDeletionVectorsUpdated": n(p.marked.updated),
		"numTargetDeletionVectorsRemoved": n(p.marked.removed),
	}
}

// allowsEmpty refuses a source without rows where every row of the table would then be one that no
// source row matches.
func (p *Merge) allowsEmpty() error {
	if p.Counts.Read > 0 || p.Request.AllowEmpty || !changeRows(p.Request.BySource) {
		return nil
	}
	return fmt.Errorf("%w: the source has no rows, so that no row of the table is matched and NotMatchedBySource would apply to all of them; "+
		"set AllowEmpty if that is meant", delta.ErrInput)
}
