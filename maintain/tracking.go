package maintain

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

// mostRestated is the number of files whose actions are written again in one commit. Spark takes 100,000;
// fewer give way to other writers sooner, and are done again sooner.
const mostRestated = 20_000

// backfill gives ids to the rows of all files that have none: the feature is supported, so that every
// new file has ids, then the actions of the others are written again, with ids that the commits give
// them. It says how many files there were.
func backfill(ctx context.Context, s *steps) (files int64, attempts int, err error) {
	res, err := s.write(ctx, &alter{env: s.in.Env, changes: []Change{AddFeature{Name: "rowTracking"}}})
	if err != nil {
		return 0, 0, err
	}
	n, more, err := restated(ctx, s, &restate{in: s.in, operation: "ROW TRACKING BACKFILL", due: func(f *delta.Add) bool { return f.BaseRowID == nil }})
	return n, res.Attempts + more, err
}

// restated writes the actions of files again, in as many commits as it takes.
func restated(ctx context.Context, s *steps, p *restate) (files int64, attempts int, err error) {
	for ; ; p.batch++ {
		res, err := s.write(ctx, p)
		if err != nil {
			return files, attempts, err
		}
		attempts += res.Attempts
		if res.Outcome != idem.Committed {
			return files, attempts, nil
		}
		files += p.files
	}
}

// restate plans one batch: actions of live files are written again as they shall be. No row changes.
type restate struct {
	in        *inside.Table
	operation string
	due       func(*delta.Add) bool
	amend     func(*delta.Add) // nil: the commit does it
	batch     int
	files     int64
}

// Plan implements inside.Planner.
func (p *restate) Plan(ctx context.Context, snap *delta.Snapshot) (*plan.Proposal, error) {
	var files []*delta.Add
	for f := range snap.Files() {
		if p.due(f) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	slices.SortFunc(files, func(a, b *delta.Add) int { return cmp.Compare(a.Key, b.Key) })
	files = files[:min(len(files), mostRestated)]
	p.files = int64(len(files))
	stats, err := p.in.Log.Stats(ctx, snap, files)
	if err != nil {
		return nil, err
	}
	out := &plan.Proposal{
		Operation: p.operation, Parameters: map[string]any{"batchId": strconv.Itoa(p.batch)}, Rearranges: true,
		Reads: commit.Reads{Files: map[string]struct{}{}},
	}
	for i, f := range files {
		add := *f
		add.Stats, add.StatsDeferred, add.DataChange = stats[i], false, false
		if p.amend != nil {
			p.amend(&add)
		}
		out.Actions = append(out.Actions, delta.Action{Add: &add})
		out.Reads.Files[f.Key] = struct{}{}
	}
	return out, nil
}
