package scan

import (
	"context"
	"fmt"
	"slices"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// Pruned says what is proven about the files of a snapshot and a condition.
type Pruned struct {
	_ struct{}

	// Inside are the files all of whose rows satisfy the condition.
	Inside []*delta.Add

	// Across are the files about which nothing is proven.
	Across []*delta.Add

	// Outside is the number of files none of whose rows satisfies it.
	Outside int
}

// Prune sorts the files of a snapshot by what partition values and statistics prove. A nil
// condition has every file inside.
func Prune(ctx context.Context, t Table, where expr.Expr) (Pruned, error) {
	if where == nil {
		return Pruned{Inside: slices.Collect(t.Snapshot.Files())}, nil
	}
	p, err := pred.Bind(where, t.Snapshot.ArrowSchema())
	if err != nil {
		return Pruned{}, err
	}
	return prune(ctx, t, conditions(t.Snapshot, where, p), slices.Collect(t.Snapshot.Files()))
}

// conditioned is a condition, and what it says of generated columns.
type conditioned struct {
	where, said *pred.Predicate // said is nil if that is nothing
}

func conditions(snap *delta.Snapshot, where expr.Expr, bound *pred.Predicate) conditioned {
	return conditioned{where: bound, said: implied(snap, where)}
}

// prune asks partition values and the statistics at hand first, and fetches deferred statistics
// only for the files about which those prove nothing.
func prune(ctx context.Context, t Table, p conditioned, files []*delta.Add) (Pruned, error) {
	var out Pruned
	var deferred []*delta.Add
	for _, f := range files {
		v, err := verdict(t.Snapshot, p, f, f.Stats)
		if err != nil {
			return Pruned{}, err
		}
		if v == pred.Across && f.StatsDeferred && f.Stats == "" && t.Stats != nil {
			deferred = append(deferred, f)
			continue
		}
		out.put(f, v)
	}
	if len(deferred) == 0 {
		return out, nil
	}
	texts, err := t.Stats.Stats(ctx, t.Snapshot, deferred)
	if err != nil {
		return Pruned{}, fmt.Errorf("read statistics: %w", err)
	}
	for i, f := range deferred {
		v, err := verdict(t.Snapshot, p, f, texts[i])
		if err != nil {
			return Pruned{}, err
		}
		out.put(f, v)
	}
	return out, nil
}

func (p *Pruned) put(f *delta.Add, v pred.Verdict) {
	switch v {
	case pred.Inside:
		p.Inside = append(p.Inside, f)
	case pred.Outside:
		p.Outside++
	default:
		p.Across = append(p.Across, f)
	}
}

func verdict(snap *delta.Snapshot, p conditioned, f *delta.Add, stats string) (pred.Verdict, error) {
	facts, err := pred.FileFacts(snap, f, stats)
	if err != nil {
		return pred.Across, err
	}
	v := p.where.Prove(facts)
	if v == pred.Across && p.said != nil && p.said.Prove(facts) == pred.Outside {
		v = pred.Outside
	}
	return v, nil
}
