package sim_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/sim"
)

var (
	seedFlag = flag.Uint64("sim.seed", 1, "the seed whose history TestSeed prints")
	runsFlag = flag.Uint64("sim.runs", 2000, "number of histories of TestHistories, from seed 1 on")
)

// TestMain lets garbage gather: a history makes much and keeps nothing.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// totals are sums over histories.
type totals struct {
	mu                      sync.Mutex
	faults, outcomes, verbs map[string]int
	steps, versions         int
	failed                  []*sim.History
}

func (s *totals) add(h *sim.History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, n := range h.Faults {
		s.faults[k] += n
	}
	for k, n := range h.Outcomes {
		s.outcomes[k] += n
	}
	for k, n := range h.Verbs {
		s.verbs[k] += n
	}
	s.steps += h.Steps
	s.versions += int(h.Versions)
	if len(h.Broken) > 0 {
		s.failed = append(s.failed, h)
	}
}

// histories runs the seeds first..last on all processors and stops soon after the first failure.
func histories(first, last uint64, hooks sim.Hooks) *totals {
	s := &totals{faults: map[string]int{}, outcomes: map[string]int{}, verbs: map[string]int{}}
	var next atomic.Uint64
	next.Store(first)
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed <= last && !stop.Load(); seed = next.Add(1) - 1 {
				h := sim.Run(seed, hooks)
				s.add(h)
				if len(h.Broken) > 0 {
					stop.Store(true)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(s.failed, func(a, b *sim.History) int { return len(a.Trace) - len(b.Trace) })
	return s
}

func show(title string, counts map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", title)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, " %s %d,", k, counts[k])
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestHistories(t *testing.T) {
	s := histories(1, *runsFlag, sim.Hooks{})
	t.Logf("%d histories, %d steps, %d versions", *runsFlag, s.steps, s.versions)
	t.Log(show("faults", s.faults))
	t.Log(show("outcomes", s.outcomes))
	t.Log(show("verbs", s.verbs))
	if len(s.failed) > 0 {
		t.Fatal(s.failed[0])
	}
	if *runsFlag < 2000 {
		return
	}
	for _, k := range append(sim.Kinds(), "cancel", "time-jump", "outage") {
		require.GreaterOrEqual(t, s.faults[string(k)], 100, "the fault %s is hardly met", k)
	}
	for _, o := range []string{"committed", "already applied", "superseded", "unchanged", "unknown outcome", "crashed", "canceled", "store error"} {
		require.GreaterOrEqual(t, s.outcomes[o], 50, "the outcome %q is hardly met", o)
	}
	require.LessOrEqual(t, s.outcomes["conflict"], s.outcomes["committed"]/50, "writers give up too often")
}

// TestSeed prints one history: with -v, and a seed that failed.
func TestSeed(t *testing.T) {
	h := sim.Run(*seedFlag, sim.Hooks{})
	if len(h.Broken) > 0 {
		t.Fatal(h)
	}
	t.Log(h)
}
