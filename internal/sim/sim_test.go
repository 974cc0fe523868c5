package sim_test

import (
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/sim"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 1, "the seed whose history TestSeed prints")
	cutFlag   = flag.String("sim.cut", "", "what of it is kept, as a failure prints it")
	runsFlag  = flag.Uint64("sim.runs", 2000, "number of histories of TestHistories")
	firstFlag = flag.Uint64("sim.first", 1, "the first seed of TestHistories and TestSoak")
	untilFlag = flag.Uint64("sim.until", 20, "number of histories among which TestFirstBroken looks for one that breaks a rule")
	forFlag   = flag.Duration("sim.for", 0, "how long TestSoak runs")
)

// TestMain lets garbage gather: a history makes much and keeps nothing.
func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(512 << 20)
	os.Exit(m.Run())
}

func noHooks() sim.Hooks { return sim.Hooks{} }

func TestHistories(t *testing.T) {
	runs := *runsFlag
	if testing.Short() { // under the race detector, for which a history is one goroutine
		runs = min(runs, 200)
	}
	last := *firstFlag + runs - 1
	s := histories(*firstFlag, func(seed uint64) bool { return seed <= last }, sim.Hooks{})
	s.print(t)
	s.fail(t, noHooks)
	s.enough(t)
}

// TestSoak runs histories until a time is over: go test ./internal/sim -run TestSoak -sim.for 30m
// -timeout 0 -v. It begins at -sim.first.
func TestSoak(t *testing.T) {
	if *forFlag == 0 {
		h := sim.Run(*firstFlag, sim.Hooks{})
		require.Empty(t, h.Broken)
		return
	}
	end := time.Now().Add(*forFlag)
	s := histories(*firstFlag, func(uint64) bool { return time.Now().Before(end) }, sim.Hooks{})
	t.Logf("commit %s, seeds %d to %d", revision(), *firstFlag, *firstFlag+uint64(s.histories)-1)
	s.print(t)
	s.fail(t, noHooks)
	s.enough(t)
}

// TestFirstBroken says which history is the first that breaks a rule, if something in the product is broken on purpose:
// how many schedules that takes.
func TestFirstBroken(t *testing.T) {
	for n := range *untilFlag {
		if h := sim.Run(*firstFlag+n, sim.Hooks{}); len(h.Broken) > 0 {
			t.Fatalf("history %d is the first that is broken: %s", n+1, h.Broken[0])
		}
	}
}

// TestSeed prints one history: with -v, and a seed that failed.
func TestSeed(t *testing.T) {
	cut, err := sim.ParseCut(*cutFlag)
	require.NoError(t, err)
	h := sim.RunCut(*seedFlag, sim.Hooks{}, cut)
	if len(h.Broken) > 0 {
		t.Fatal(h)
	}
	t.Log(h)
}

func TestASeedIsOneHistory(t *testing.T) {
	for seed := range uint64(25) {
		sameTwice(t, func() *sim.History { return sim.Run(seed+1, sim.Hooks{}) })
	}
	one, other := sim.Run(1, sim.Hooks{}), sim.Run(2, sim.Hooks{})
	require.NotEqual(t, one.Trace(), other.Trace())
	require.NotEqual(t, one.Store(), other.Store())
	broken, _ := worlds[0].failing()
	require.NotNil(t, broken)
	sameTwice(t, func() *sim.History { return sim.Run(broken.Seed, worlds[0].hooks()) })
}

// TestFaultsElsewhereNameTheirTests: TestProofNamesTests of the root finds those by their form.
func TestFaultsElsewhereNameTheirTests(t *testing.T) {
	for _, f := range sim.Faults {
		if f.Where != "" {
			require.Regexp(t, "^`[^`: ]+: Test[^`]+`", f.Where, f.ID)
		}
	}
}

// sameTwice holds what a seed gives against what it gives again: each line, what is in the store at the end, what was broken.
func sameTwice(t *testing.T, run func() *sim.History) {
	t.Helper()
	first, second := run(), run()
	require.Equal(t, strings.Join(first.Trace(), "\n"), strings.Join(second.Trace(), "\n"), "seed %d", first.Seed)
	require.Equal(t, first.Store(), second.Store(), "seed %d", first.Seed)
	require.Equal(t, first.Broken, second.Broken, "seed %d", first.Seed)
}
