package sim_test

import (
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/idemtable/idem/internal/sim"
)

// totals are sums over histories.
type totals struct {
	faults, outcomes, verbs map[string]int
	hits                    map[sim.Hit]int
	writers                 map[int]int // histories, by how many writers they have
	parquet                 int         // histories
	histories, steps        int
	versions                int64
	failed                  []*sim.History
}

func newTotals() *totals {
	return &totals{faults: map[string]int{}, outcomes: map[string]int{}, verbs: map[string]int{}, hits: map[sim.Hit]int{}, writers: map[int]int{}}
}

func addAll[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

func (s *totals) add(h *sim.History) {
	addAll(s.faults, h.Faults)
	addAll(s.outcomes, h.Outcomes)
	addAll(s.verbs, h.Verbs)
	addAll(s.hits, h.Hits)
	s.writers[h.Writers]++
	if h.Parquet {
		s.parquet++
	}
	s.histories++
	s.steps += h.Steps
	s.versions += h.Versions
	if len(h.Broken) > 0 {
		s.failed = append(s.failed, h)
	}
}

func (s *totals) join(o *totals) {
	addAll(s.faults, o.faults)
	addAll(s.outcomes, o.outcomes)
	addAll(s.verbs, o.verbs)
	addAll(s.hits, o.hits)
	addAll(s.writers, o.writers)
	s.parquet += o.parquet
	s.histories += o.histories
	s.steps += o.steps
	s.versions += o.versions
	s.failed = append(s.failed, o.failed...)
}

// histories runs seeds from first on, on all processors, for as long as more says so, and stops soon
// after the first failure. more is asked from many goroutines.
func histories(first uint64, more func(seed uint64) bool, hooks sim.Hooks) *totals {
	all := newTotals()
	var mu sync.Mutex
	var next atomic.Uint64
	next.Store(first)
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			own := newTotals()
			for seed := next.Add(1) - 1; !stop.Load() && more(seed); seed = next.Add(1) - 1 {
				h := sim.Run(seed, hooks)
				if own.add(h); len(h.Broken) > 0 {
					stop.Store(true)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.join(own)
		})
	}
	wg.Wait()
	slices.SortFunc(all.failed, func(a, b *sim.History) int { return len(a.Trace()) - len(b.Trace()) })
	return all
}

func show[K cmp.Ordered](title string, counts map[K]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", title)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, " %v %d,", k, counts[k])
	}
	return strings.TrimSuffix(b.String(), ",")
}

// print writes the sums to the test's log.
func (s *totals) print(t *testing.T) {
	t.Logf("%d histories, %d steps, %d versions", s.histories, s.steps, s.versions)
	t.Log(show("faults", s.faults))
	t.Log(show("outcomes", s.outcomes))
	t.Log(show("verbs", s.verbs))
	t.Log(show("histories by writers", s.writers) + fmt.Sprintf("; with Parquet: %d", s.parquet))
	t.Log(s.matrix())
}

// matrix is how often a call of each verb met each fault.
func (s *totals) matrix() string {
	var b strings.Builder
	b.WriteString("calls that met a fault, by verb\n    ")
	for _, v := range sim.Verbs() {
		fmt.Fprintf(&b, " %8.8s", v)
	}
	for _, f := range sim.Faults {
		if f.Where != "" {
			continue
		}
		fmt.Fprintf(&b, "\n%-4s", f.ID)
		for _, v := range sim.Verbs() {
			fmt.Fprintf(&b, " %8d", s.hits[sim.Hit{Fault: f.ID, Verb: v}])
		}
		fmt.Fprintf(&b, "  %s", f.Name)
	}
	return b.String()
}

// revision is the commit of the product that ran, with "-dirty" if files differ from it.
func revision() string {
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	changed, err := exec.Command("git", "status", "--porcelain").Output()
	if err != nil || len(changed) > 0 {
		return strings.TrimSpace(string(commit)) + "-dirty"
	}
	return strings.TrimSpace(string(commit))
}

// fail stops the test with the shortest failing history, made shorter.
func (s *totals) fail(t *testing.T, hooks func() sim.Hooks) {
	t.Helper()
	if len(s.failed) == 0 {
		return
	}
	h := s.failed[0]
	t.Fatalf("commit %s\n%s", revision(), sim.Shrink(h, hooks))
}

// enough fails when histories of which there were many hardly met what they are for: a trouble, an
// outcome, a verb, and, in the long run, each verb with each fault that it can meet, each number of writers, and Parquet.
func (s *totals) enough(t *testing.T) {
	t.Helper()
	least := func(what string, counts map[string]int, names []string, n int) {
		for _, name := range names {
			if counts[name] < n {
				t.Errorf("%s %q was met %d times by %d histories, and not %d", what, name, counts[name], s.histories, n)
			}
		}
	}
	thousands := s.histories / 1000
	if thousands < 2 {
		return
	}
	least("the trouble", s.faults, sim.Troubles(), thousands/2)
	least("the verb", s.verbs, sim.Verbs(), 20*thousands)
	least("the outcome", s.outcomes, []string{"committed", "already applied", "superseded", "unchanged", "unknown outcome", "crashed", "canceled",
		"store error", "spill error", "restored", "conflict", "input", "corrupt"}, thousands/2)
	each := thousands / 25 // 0 of few thousands: a compaction is one put, and few histories have so many writers
	for n := 2; n <= sim.MostWriters; n++ {
		if s.writers[n] < each {
			t.Errorf("%d of %d histories have %d writers", s.writers[n], s.histories, n)
		}
	}
	if percent := 100 * s.parquet / s.histories; thousands >= 10 && (percent < 8 || percent > 12) {
		t.Errorf("%d of %d histories have Parquet, and a tenth should", s.parquet, s.histories)
	}
	for _, f := range sim.Faults {
		if f.Where != "" {
			continue
		}
		sum := 0
		for _, v := range sim.Verbs() {
			n := s.hits[sim.Hit{Fault: f.ID, Verb: v}]
			if sum += n; n < each && sim.Never(f.ID, v) == "" {
				t.Errorf("%s met %s (%s) %d times in %d histories", v, f.ID, f.Name, n, s.histories)
			}
		}
		if sum < 5*thousands {
			t.Errorf("%s (%s) was met %d times in %d histories", f.ID, f.Name, sum, s.histories)
		}
	}
	if s.outcomes["conflict"] > s.outcomes["committed"]/30 {
		t.Errorf("writers give up too often: %d conflicts, %d commits", s.outcomes["conflict"], s.outcomes["committed"])
	}
}
