package smallscope_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/smallscope"
	"github.com/idemtable/idem/internal/tabletest"
)

var (
	faultsFlag = flag.Int("smallscope.faults", 0, "all pairs with at most so many faults, and a part of those with one more")
	partsFlag  = flag.Int("smallscope.parts", 52, "the number of parts of what has one fault more, as many as a year has weeks; 0: none of it")
	rotateFlag = flag.Int("smallscope.rotate", -1, "which part; -1: RAPID_SEED, which is the week in CI, decides and, without it, the sources")
	allFlag    = flag.Bool("smallscope.all", false, "all pairs with at most two faults, with and without deletion vectors")
	fromFlag   = flag.Int("smallscope.from", 1, "with -smallscope.all: the first of the numbered pairs, to go on with a run that was ended")
	pairFlag   = flag.String("smallscope.pair", "Append × Append", "the pair that TestPair prints")
)

// TestMain lets garbage gather: a pair makes much and keeps little. Those of vacuum with two faults keep gigabytes.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(8 << 30)
	os.Exit(m.Run())
}

// unit is a pair and how far it is gone through.
type unit struct {
	pair  smallscope.Pair
	scope smallscope.Scope
}

// units are what the flags ask for.
func units(t *testing.T) []unit {
	var out []unit
	for _, p := range smallscope.Pairs() {
		for _, vectors := range []bool{false, true} {
			if *allFlag {
				out = append(out, unit{p, smallscope.Scope{Faults: 2, Vectors: vectors}})
			} else if !vectors {
				out = append(out, unit{p, smallscope.Scope{Faults: *faultsFlag}})
			}
		}
	}
	if *allFlag {
		return out[*fromFlag-1:]
	}
	if *partsFlag == 0 || testing.Short() {
		return out
	}
	part := rotation(t)
	t.Logf("part %d of %d with %d faults", part%*partsFlag, *partsFlag, *faultsFlag+1)
	return append(out, rotated(part)...)
}

// rotation is which part has its turn. The sources alone might never choose some.
func rotation(t *testing.T) int {
	week := os.Getenv("RAPID_SEED")
	switch {
	case *rotateFlag >= 0:
		return *rotateFlag
	case week == "":
		return tabletest.Sources(t)
	}
	n, err := strconv.ParseUint(week, 10, 31)
	require.NoError(t, err, "RAPID_SEED")
	return int(n)
}

// rotated are the pairs of one part, with one fault more. Those of vacuum with two faults take minutes
// each: they are for -smallscope.all.
func rotated(part int) []unit {
	var out []unit
	for i, p := range smallscope.Pairs() {
		if *faultsFlag > 0 && (p.First == smallscope.Vacuum || p.Second == smallscope.Vacuum) {
			continue
		}
		for j, vectors := range []bool{false, true} {
			if (2*i+j)%*partsFlag == part%*partsFlag {
				out = append(out, unit{p, smallscope.Scope{Faults: *faultsFlag + 1, Vectors: vectors}})
			}
		}
	}
	return out
}

// totals are sums over pairs.
type totals struct {
	mu                                       sync.Mutex
	interleavings                            float64
	states, pruned, ends, logs, runs, worked int
	faults                                   map[storetest.Kind]int
	endings                                  map[string]int
	failed                                   []*smallscope.Report
}

func (s *totals) add(r *smallscope.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worked++
	s.interleavings += r.Interleavings
	s.states, s.pruned, s.ends, s.logs, s.runs = s.states+r.States, s.pruned+r.Pruned, s.ends+r.Ends, s.logs+r.Logs, s.runs+r.Runs
	for k, n := range r.Faults {
		s.faults[k] += n
	}
	for k, n := range r.Endings {
		s.endings[k] += n
	}
	if len(r.Broken) > 0 {
		s.failed = append(s.failed, r)
	}
}

// work goes through units on all processors and stops soon after the first failure. What takes hours says how far it is.
func work(t *testing.T, list []unit) *totals {
	s := &totals{faults: map[storetest.Kind]int{}, endings: map[string]int{}}
	var next atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list) && !stop.Load(); i = int(next.Add(1)) - 1 {
				r := smallscope.Check(list[i].pair, list[i].scope, nil)
				s.add(r)
				if *allFlag {
					t.Logf("%d of %d: %s, %+v: %d states, %d ends", *fromFlag+i, *fromFlag-1+len(list), r.Pair, list[i].scope, r.States, r.Ends)
				}
				stop.Store(len(r.Broken) > 0)
			}
		})
	}
	wg.Wait()
	return s
}

func show[K ~string](title string, counts map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return title + ": " + strings.Join(parts, ", ")
}

func TestPairs(t *testing.T) {
	list := units(t)
	s := work(t, list)
	t.Log(show("faults", s.faults))
	t.Log(show("endings", s.endings))
	t.Logf("smallscope: %d pairs, %.4g interleavings, %d states, %d pruned, %d ends, %d versions compared, %d runs of a writer",
		s.worked, s.interleavings, s.states, s.pruned, s.ends, s.logs, s.runs)
	for _, r := range s.failed {
		t.Error(r)
	}
	if t.Failed() {
		return
	}
	require.Equal(t, len(list), s.worked)
	if *fromFlag == 1 {
		require.GreaterOrEqual(t, s.worked, 179)
	}
	require.Greater(t, s.interleavings, float64(s.ends))
	if *faultsFlag == 0 && !*allFlag {
		return // which faults the part of this commit meets depends on the part
	}
	for _, k := range smallscope.Kinds() {
		require.GreaterOrEqual(t, s.faults[k], 1000, "the fault %s is hardly met", k)
	}
	for _, k := range []string{"committed", "already applied", "superseded", "unchanged", "crashed", idem.ErrUnknownOutcome.Error(), idem.ErrRestored.Error(), idem.ErrPayload.Error(), idem.ErrInput.Error(), idem.ErrConflict.Error()} {
		require.GreaterOrEqual(t, s.endings[k], 10, "the ending %q is hardly met", k)
	}
}

// TestPair prints one pair: with -v, and a pair that failed.
func TestPair(t *testing.T) {
	for _, p := range smallscope.Pairs() {
		if p.String() != *pairFlag {
			continue
		}
		r := smallscope.Check(p, smallscope.Scope{Faults: *faultsFlag}, nil)
		if len(r.Broken) > 0 {
			t.Fatal(r)
		}
		t.Log(r)
		return
	}
	t.Fatalf("there is no pair %q", *pairFlag)
}

func TestAPairIsTheSameEveryTime(t *testing.T) {
	p := smallscope.Pair{First: smallscope.MergeSame, Second: smallscope.Delete}
	first, second := smallscope.Check(p, smallscope.Scope{Faults: 1}, nil), smallscope.Check(p, smallscope.Scope{Faults: 1}, nil)
	require.Equal(t, first.String(), second.String())
	require.True(t, first.SameEnds(second))
}
