package plan

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/pred"
)

// Replace makes the slice of the table for which Where is TRUE equal to the rows of the input.
// Without an input reader it deletes the slice. Close ends its use.
type Replace struct {
	Env   *Env
	Input Input

	// Where is the slice. nil is the whole table.
	Where expr.Expr

	// Dynamic makes the slice the partitions that the rows of the input are in, all of each. Rows that
	// are none replace nothing. A table without partition columns, and a Where, wrap
	// [delta.ErrInput].
	Dynamic bool

	// AllowEmpty lets an input without rows empty the slice.
	AllowEmpty bool

	// MaxShrink refuses a new slice that has this fraction fewer rows than the old one. 0 is off.
	MaxShrink float64

	// Evolve adds columns that the table lacks.
	Evolve bool

	Counts Counts

	// Missing are the table's columns that the rows lacked, Added those that the table did.
	Missing, Added []string

	base     *delta.Snapshot
	in       *written // rows of the input; files is nil while they are only hashed
	proposed bool

	partitions *tuples // of the rows, if Dynamic

	fresh   []*fileSlice // the files of the input, for the change data feed
	vectors vectorCounts

	mu     sync.Mutex
	slices map[string]*fileSlice // by identity of the file, which never changes
}

func (p *Replace) deletes() bool { return p.Input.Reader == nil }

// Plan compares the slice with the input, and proposes to replace it when they differ; else it
// proposes no action but that of a new column.
func (p *Replace) Plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	to, err := evolve(snap, p.Input.brings(p.Evolve))
	if err != nil {
		return nil, err
	}
	if err := p.begin(ctx, to); err != nil {
		return nil, err
	}
	p.Added = to.added
	proposal, err := p.plan(ctx, to.snap)
	if err != nil {
		return nil, err
	}
	proposal = to.amend(proposal)
	return proposal, to.number(proposal, p.in.numbers)
}

func (p *Replace) plan(ctx context.Context, snap *delta.Snapshot) (*Proposal, error) {
	files, where, err := p.prune(ctx, snap)
	if err != nil {
		return nil, err
	}
	old, err := p.measure(ctx, snap, files, where)
	if err != nil {
		return nil, err
	}
	same, err := p.unchanged(ctx, snap, old)
	if err != nil {
		return nil, err
	}
	if same {
		return p.nothing(snap, old, where), nil
	}
	if err := p.shrinks(old.rows); err != nil {
		return nil, err
	}
	if err := p.store(ctx, snap, where); err != nil {
		return nil, err
	}
	return p.propose(ctx, snap, old, where)
}

// begin takes the input in, the first time: a re-readable one is hashed, a one-pass one written.
func (p *Replace) begin(ctx context.Context, to evolved) error {
	snap := to.snap
	if p.base != nil {
		if err := to.follows(p.base, p.Input.brings(p.Evolve), commit.DefinitionChange); err != nil {
			return err
		}
		moved, err := p.in.renumber(ctx, p.Env, p.base, snap)
		if moved {
			p.fresh = nil
		}
		return err
	}
	if err := mutable(snap, p.verb()); err != nil {
		return err
	}
	p.slices = map[string]*fileSlice{}
	if p.deletes() {
		p.in, p.base = &written{}, snap
		return nil
	}
	in, inside, err := p.intake(snap)
	if err != nil {
		return err
	}
	p.Missing = in.conform.Missing()
	if p.Input.Rewind != nil {
		p.in, err = in.hash(ctx, inside)
	} else {
		p.in, err = in.write(ctx, inside)
	}
	if err != nil {
		return err
	}
	p.base = snap
	p.Counts.Read = p.in.rows
	if p.in.rows == 0 && !p.AllowEmpty && !p.Dynamic {
		return fmt.Errorf("%w: the input has no rows, and replacing with nothing would empty the slice %s; "+
			"set AllowEmpty if that is meant", delta.ErrInput, p.name())
	}
	return nil
}

func (p *Replace) intake(snap *delta.Snapshot) (*intake, *guard, error) {
	in, err := newIntake(p.Env, snap, p.Input, p.Evolve)
	if err != nil {
		return nil, nil, err
	}
	if p.Dynamic {
		p.partitions = newTuples(snap)
		return in, &guard{parts: p.partitions}, p.dynamic(snap, in)
	}
	where, err := p.bind(snap)
	if err != nil || where == nil {
		return in, nil, err
	}
	return in, &guard{where: where}, in.fill.proves(where)
}

// bind gives the condition on a snapshot's schema, nil for the whole table.
func (p *Replace) bind(snap *delta.Snapshot) (*pred.Predicate, error) {
	if p.Where == nil {
		return nil, nil
	}
	where, err := pred.Bind(p.Where, snap.ArrowSchema())
	if err != nil {
		return nil, err
	}
	if len(where.Columns()) == 0 {
		return nil, fmt.Errorf("%w: the slice %s names no column, so it is everything or nothing; use ReplaceAll for the whole table (a name in \"double quotes\" is a text, as in Spark: columns are written plain or in `backticks`)", delta.ErrInput, where)
	}
	return where, nil
}

func (p *Replace) prune(ctx context.Context, snap *delta.Snapshot) (scan.Pruned, *pred.Predicate, error) {
	if p.Dynamic {
		files, err := p.inPartitions(snap)
		return files, nil, err
	}
	where, err := p.bind(snap)
	if err != nil {
		return scan.Pruned{}, nil, err
	}
	files, err := scan.Prune(ctx, p.Env.Table(snap), p.Where)
	return files, where, err
}

// Close drops what was written if no commit that names it was proposed. It comes after the last Plan:
// what is found equal on one snapshot may be needed on the next.
func (p *Replace) Close() {
	if p.proposed {
		return
	}
	var files, marked []*delta.Add
	for _, f := range p.slices {
		files = append(append(files, f.rest...), f.changes...)
		if f.after != nil {
			marked = append(marked, f.after)
		}
	}
	for _, f := range p.fresh {
		files = append(files, f.changes...)
	}
	if p.in != nil {
		files = append(files, p.in.files...)
	}
	p.Env.discard(files)
	p.Env.discardVectors(marked)
	p.slices, p.fresh, p.in = nil, nil, nil
}

// unchanged says whether the slice already holds exactly the input's rows.
func (p *Replace) unchanged(ctx context.Context, snap *delta.Snapshot, old *oldSlice) (bool, error) {
	if p.deletes() {
		return old.rows == 0, nil
	}
	if old.rows != p.in.rows {
		return false, nil
	}
	if old.rows == 0 {
		return true, nil
	}
	sum, err := p.digest(ctx, snap, old)
	return err == nil && sum == p.in.sum, err
}

func (p *Replace) shrinks(old int64) error {
	if p.MaxShrink <= 0 || old == 0 || p.deletes() {
		return nil
	}
	if lost := float64(old-p.in.rows) / float64(old); lost >= p.MaxShrink {
		return fmt.Errorf("%w: the slice %s has %d rows and the input only %d, %.0f%% fewer (MaxShrink is %.0f%%): "+
			"the input looks partial; read it whole, or raise MaxShrink", delta.ErrInput, p.name(), old, p.in.rows, lost*100, p.MaxShrink*100)
	}
	return nil
}

// store writes an input that was only hashed so far.
func (p *Replace) store(ctx context.Context, snap *delta.Snapshot, where *pred.Predicate) error {
	if p.deletes() || p.in.files != nil || p.in.rows == 0 {
		return nil
	}
	if err := p.Input.Rewind(ctx); err != nil {
		return fmt.Errorf("rewind the rows given: %w", err)
	}
	in, inside, err := p.intake(snap)
	if err != nil {
		return err
	}
	again, err := in.write(ctx, inside)
	if err != nil {
		return err
	}
	if again.rows != p.in.rows || again.sum != p.in.sum {
		p.Env.discard(again.files)
		return fmt.Errorf("%w: the input gave %d rows when first read and other rows (%d) after Rewind; a rewound input must repeat itself", delta.ErrInput, p.in.rows, again.rows)
	}
	p.in = again
	return nil
}

func (p *Replace) propose(ctx context.Context, snap *delta.Snapshot, old *oldSlice, where *pred.Predicate) (*Proposal, error) {
	copies, err := p.cut(ctx, snap, old)
	if err != nil {
		return nil, err
	}
	var told []*delta.Add
	if copies && feedsChanges(snap) {
		if told, err = p.feed(ctx, snap, old); err != nil {
			return nil, err
		}
	}
	actions := p.actions(snap, old)
	actions = append(append(actions, adds(p.in.files)...), Changes(told)...)
	p.Counts.count(p.in.files)
	p.Counts.Inserted, p.Counts.Deleted = p.in.rows, old.rows
	p.proposed = true
	return &Proposal{
		Operation: p.operation(), Parameters: p.parameters(snap), Metrics: p.metrics(), Actions: actions,
		Reads: p.reads(snap, old, where), Tags: preserved(snap),
	}, nil
}

// actions take the old slice out of the table, and count what they do.
func (p *Replace) actions(snap *delta.Snapshot, old *oldSlice) []delta.Action {
	c := &p.Counts
	c.FilesAdded, c.BytesAdded, c.FilesRemoved, c.FilesRewritten, p.vectors = 0, 0, 0, 0, vectorCounts{}
	var actions, left []delta.Action
	for _, f := range old.files {
		if f.deleted == 0 && f.rows > 0 {
			continue // examined, and nothing of it is in the slice
		}
		actions = append(actions, p.Env.Remove(f.add, true))
		switch {
		case !f.border():
			c.FilesRemoved++
			p.vectors.removed += vectorsOf(f.add)
		case marks(snap, f.add, f.rows, f.deleted):
			left = append(left, delta.Action{Add: f.after})
			p.vectors.added++
			p.vectors.updated += vectorsOf(f.add)
		default:
			left = append(left, adds(f.rest)...)
			c.FilesRemoved++
			c.FilesRewritten++
			c.count(f.rest)
			p.vectors.removed += vectorsOf(f.add)
		}
	}
	return append(actions, left...)
}

// nothing proposes no action. What was read still counts: a tag that is committed for it must not
// be ordered after a commit that gives the slice other rows.
func (p *Replace) nothing(snap *delta.Snapshot, old *oldSlice, where *pred.Predicate) *Proposal {
	p.Counts = Counts{Read: p.Counts.Read}
	return &Proposal{Operation: p.operation(), Parameters: p.parameters(snap), Reads: p.reads(snap, old, where)}
}

// reads is the slice: a file that another writer adds disturbs it unless its partition values or
// statistics prove that no row of it is in the slice.
func (p *Replace) reads(snap *delta.Snapshot, old *oldSlice, where *pred.Predicate) commit.Reads {
	var examined []*delta.Add
	for _, f := range old.files {
		examined = append(examined, f.add)
	}
	if p.Dynamic {
		return p.readsPartitions(snap, examined)
	}
	if where == nil {
		return commit.Reads{WholeTable: true, Files: keys(examined)}
	}
	return commit.Reads{Files: keys(examined), Touches: func(f *delta.Add) bool {
		facts, err := pred.FileFacts(snap, f, f.Stats)
		return err != nil || where.Prove(facts) != pred.Outside
	}}
}

func (p *Replace) verb() string {
	switch {
	case p.deletes():
		return "Delete"
	case p.Dynamic:
		return "OverwritePartitions"
	case p.Where == nil:
		return "ReplaceAll"
	}
	return "ReplaceWhere"
}

func (p *Replace) name() string {
	switch {
	case p.Dynamic:
		return "(the partitions of the rows)"
	case p.Where == nil:
		return "(the whole table)"
	}
	return p.Where.String()
}

func (p *Replace) operation() string {
	if p.deletes() {
		return "DELETE"
	}
	return "WRITE"
}

func (p *Replace) parameters(snap *delta.Snapshot) map[string]any {
	if p.deletes() {
		return map[string]any{"predicate": jsonText([]string{p.name()})}
	}
	m := map[string]any{"mode": "Overwrite", "partitionBy": partitionParameter(snap)}
	if p.Where != nil {
		m["predicate"] = p.Where.String()
	}
	if p.Dynamic {
		m["isDynamicPartitionOverwrite"] = true // as Spark says it
	}
	return m
}

func (p *Replace) metrics() map[string]string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	m := map[string]string{"numDeletedRows": n(p.Counts.Deleted), "numRemovedFiles": n(p.Counts.FilesRemoved)}
	if p.deletes() {
		m["numAddedFiles"] = n(p.Counts.FilesAdded)
	} else {
		m["numFiles"], m["numOutputRows"], m["numOutputBytes"] = n(p.Counts.FilesAdded), n(p.in.rows), n(p.Counts.BytesAdded)
	}
	p.vectors.tell(m)
	return m
}
