package maintain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/plan"
)

// defaultTarget is the size of files to aim at.
const defaultTarget = 128 << 20

// optimize plans one call.
type optimize struct {
	env     *plan.Env
	request Optimize
	where   expr.Expr
	out     Optimized

	base     *delta.Snapshot // the files were written for its definition
	proposed bool

	mu   sync.Mutex
	done []*rewritten
}

// rewritten is a bin and the files with its rows.
type rewritten struct {
	bin  *bin
	adds []*delta.Add
	rows int64
}

// Plan implements inside.Planner. What it wrote for an earlier snapshot serves again as long as the
// files that it was made of are live.
func (p *optimize) Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	order, err := orderingOf(snap, p.request)
	if err != nil {
		return nil, err
	}
	kept := p.keep(snap)
	bins, err := p.bins(ctx, snap, order, kept)
	if err != nil {
		return nil, err
	}
	if len(bins)+len(kept) == 0 {
		return nil, nil
	}
	if err := p.rewrite(ctx, snap, order, bins); err != nil {
		return nil, err
	}
	return p.propose(snap, order), nil
}

// keep drops what was written for files that are live no more, and gives the rest.
func (p *optimize) keep(snap *delta.Snapshot) []*rewritten {
	if p.base != nil && (p.base.Metadata() != snap.Metadata() || p.base.Protocol() != snap.Protocol()) {
		p.done = nil
	}
	p.base = snap
	p.done = slices.DeleteFunc(p.done, func(r *rewritten) bool {
		return slices.ContainsFunc(r.bin.files, func(f *delta.Add) bool {
			live, ok := snap.Live(f.Key)
			return !ok || live.DeletionVector.ID() != f.DeletionVector.ID()
		})
	})
	return p.done
}

// bins are the files to be laid out anew, but for those that were.
func (p *optimize) bins(ctx context.Context, snap *delta.Snapshot, order *ordering, kept []*rewritten) ([]*bin, error) {
	pruned, err := scan.Prune(ctx, p.env.Table(snap), p.where)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, r := range kept {
		for _, f := range r.bin.files {
			taken[f.Key] = true
		}
	}
	files := slices.DeleteFunc(slices.Concat(pruned.Inside, pruned.Across), func(f *delta.Add) bool { return taken[f.Key] })
	partitions, err := byPartition(snap, files)
	if err != nil {
		return nil, err
	}
	var bins []*bin
	for _, partition := range partitions {
		if order == nil {
			bins = append(bins, pack(partition, p.target(snap))...)
		} else if b := order.unordered(partition, p.request.Full); b != nil {
			bins = append(bins, b)
		}
	}
	return bins, nil
}

func (p *optimize) target(snap *delta.Snapshot) int64 {
	for _, n := range []int64{p.request.TargetFileBytes, p.env.TargetFileBytes, snap.TargetFileSize()} {
		if n > 0 {
			return n
		}
	}
	return defaultTarget
}

// rewrite copies the rows of bins, some at a time. Each has its share of the budget.
func (p *optimize) rewrite(ctx context.Context, snap *delta.Snapshot, order *ordering, bins []*bin) error {
	side := min(max(p.env.Parallelism, 1), len(bins))
	if side == 0 {
		return nil
	}
	env := *p.env
	env.MemoryBytes = max(memoryBytes(p.env)/int64(side), 1)
	if side > 1 {
		env.Parallelism = 1
	}
	env.TargetFileBytes = 1 << 60 // a bin becomes one file
	if order != nil {
		env.TargetFileBytes = p.target(snap)
	}
	return plan.ForEach(ctx, side, len(bins), func(ctx context.Context, i int) error {
		c := &copier{ctx: ctx, env: &env, snap: snap, bin: bins[i], order: order}
		out, err := c.run()
		if err != nil {
			return err
		}
		p.tag(snap, order, out.adds)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.done = append(p.done, out)
		return nil
	})
}

// memoryBytes is the budget of a call for rows.
func memoryBytes(env *plan.Env) int64 {
	if env.MemoryBytes > 0 {
		return env.MemoryBytes
	}
	return 512 << 20
}

// tag marks new files, so that the next optimize knows them.
func (p *optimize) tag(snap *delta.Snapshot, order *ordering, adds []*delta.Add) {
	tags := map[string]string{tagTarget: strconv.FormatInt(p.target(snap), 10)}
	if order != nil {
		maps.Copy(tags, order.tags(p.env.NewID()))
	}
	for _, f := range adds {
		f.DataChange = false
		f.Tags = maps.Clone(f.Tags)
		if f.Tags == nil {
			f.Tags = map[string]string{}
		}
		maps.Copy(f.Tags, tags)
		if order != nil && order.clustered {
			f.ClusteredBy = clusterer
		}
	}
}

func (p *optimize) propose(snap *delta.Snapshot, order *ordering) *plan.Proposal {
	slices.SortFunc(p.done, func(a, b *rewritten) int {
		return strings.Compare(a.bin.partition+a.bin.files[0].Key, b.bin.partition+b.bin.files[0].Key)
	})
	p.out = Optimized{}
	out := &plan.Proposal{Operation: "OPTIMIZE", Parameters: p.parameters(order), Rearranges: true, Reads: commit.Reads{Files: map[string]struct{}{}}}
	partitions := map[string]bool{}
	var added []int64
	for _, r := range p.done {
		partitions[r.bin.partition] = true
		p.out.RowsCopied += r.rows
		for _, f := range r.bin.files {
			out.Actions = append(out.Actions, p.env.Remove(f, false))
			out.Reads.Files[f.Key] = struct{}{}
			p.out.FilesRemoved, p.out.BytesRemoved = p.out.FilesRemoved+1, p.out.BytesRemoved+f.Size
			if f.DeletionVector != nil {
				p.out.VectorsRemoved++
			}
		}
		for _, f := range r.adds {
			out.Actions = append(out.Actions, delta.Action{Add: f})
			p.out.FilesAdded, p.out.BytesAdded = p.out.FilesAdded+1, p.out.BytesAdded+f.Size
			added = append(added, f.Size)
		}
	}
	p.out.Partitions = int64(len(partitions))
	out.Metrics = p.metrics(added)
	if snap.TracksRows() {
		out.Tags = map[string]string{"delta.rowTracking.preserved": "true"}
	}
	p.proposed = true
	return out
}

// parameters are as Spark writes them.
func (p *optimize) parameters(order *ordering) map[string]any {
	out := map[string]any{"predicate": "[]", "zOrderBy": "[]", "clusterBy": "[]", "auto": false}
	if p.where != nil {
		out["predicate"] = columnsName([][]string{{p.where.String()}})
	}
	switch {
	case order != nil && order.clustered:
		out["clusterBy"], out["isFull"] = columnsName(order.columns), p.request.Full
	case order != nil:
		out["zOrderBy"] = columnsName(order.columns)
	}
	return out
}

func (p *optimize) metrics(added []int64) map[string]string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	out := map[string]string{
		"numAddedFiles": n(p.out.FilesAdded), "numAddedBytes": n(p.out.BytesAdded),
		"numRemovedFiles": n(p.out.FilesRemoved), "numRemovedBytes": n(p.out.BytesRemoved),
		"numDeletionVectorsRemoved": n(p.out.VectorsRemoved),
	}
	if len(added) > 0 {
		slices.Sort(added)
		at := func(quarters int) string { return n(added[min(len(added)*quarters/4, len(added)-1)]) }
		out["minFileSize"], out["p25FileSize"], out["p50FileSize"], out["p75FileSize"], out["maxFileSize"] = at(0), at(1), at(2), at(3), at(4)
	}
	return out
}

// discardTimeout bounds the removal of files that nothing refers to.
const discardTimeout = 30 * time.Second

// close removes the files that were written, if no commit that names them was ever proposed.
func (p *optimize) close(ctx context.Context) {
	if p.proposed {
		return
	}
	for _, r := range p.done {
		discard(ctx, p.env, r.adds)
	}
}

func discard(ctx context.Context, env *plan.Env, files []*delta.Add) {
	if len(files) == 0 {
		return
	}
	keys := make([]string, len(files))
	for i, f := range files {
		keys[i] = f.Key
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	if err := env.Store.Delete(ctx, keys...); err != nil && env.Logger != nil {
		env.Logger.Warn("idem: unreferenced data files stay behind", "files", len(keys), "error", err)
	}
}

// conserved refuses files that hold other rows than those they are made of.
func conserved(b *bin, read, written tally) error {
	if read == written {
		return nil
	}
	return fmt.Errorf("%w: %d rows were read from %s and %d files more, and %d rows with another fingerprint were written: nothing was committed",
		delta.ErrCorrupt, read.rows, b.files[0].Path, len(b.files)-1, written.rows)
}
