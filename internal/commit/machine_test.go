package commit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/commit"
)

// The model: a log of at most maxVersion versions, in which others commit, in which our late
// proposals land, and which is cleaned up, all of it between any two steps. Every answer that the
// world can give to a step is tried. The states are finite, so the search is complete.
const maxVersion = 3

type slot byte

const (
	vacant slot = iota
	foreign
	ours
)

type world struct {
	slots   [maxVersion + 1]slot
	pending [maxVersion + 1]bool // our proposal may still land here
	sent    [maxVersion + 1]bool // we have proposed here
	read    [maxVersion + 1]bool // we have read a foreign commit here
	cleaned int                  // versions below it are gone, and a checkpoint at or after them exists
	snap    int                  // the version that the engine's snapshot is of
	landed  int                  // how often our commit was created
}

func (w world) newest() int {
	n := 0
	for n < maxVersion && w.slots[n+1] != vacant {
		n++
	}
	return n
}

func (w world) gone(v int) bool { return v < w.cleaned }

// drift gives every world that others, late effects and clean-up can make of w, w among them.
func (w world) drift(mayClean bool) []world {
	out := []world{w}
	for i := 0; i < len(out); i++ {
		x := out[i]
		add := func(y world) {
			if !slices.Contains(out, y) {
				out = append(out, y)
			}
		}
		if n := x.newest(); n < maxVersion {
			y := x
			y.slots[n+1] = foreign
			add(y)
		}
		for v, p := range x.pending {
			if p && x.slots[v] == vacant {
				y := x
				y.slots[v], y.pending[v] = ours, false
				y.landed++
				add(y)
			}
		}
		if n := x.newest(); mayClean && x.cleaned == 0 && n > 0 {
			y := x
			y.cleaned = n + 1
			add(y)
		}
	}
	return out
}

type answer struct {
	event   commit.Event
	version int64
	world   world
}

// answers are all that can come of a step in a world.
func answers(t *testing.T, m commit.Machine, s commit.Step, w world, trace string) []answer {
	var out []answer
	tell := func(e commit.Event, version int, w world) { out = append(out, answer{e, int64(version), w}) }
	if s.Kind != commit.StepDecide && !(s.Kind == commit.StepInspect && m.Halted()) {
		tell(commit.EventHalt, 0, w)
	}
	switch s.Kind {
	case commit.StepPlan:
		if s.Refresh {
			w.snap = w.newest()
		}
		if w.snap < maxVersion {
			tell(commit.EventPlanned, w.snap+1, w)
		}
		tell(commit.EventNothing, 0, w)
		tell(commit.EventSkip, 0, w)
		tell(commit.EventFailed, 0, w)
	case commit.StepProve:
		if w.snap == w.newest() {
			tell(commit.EventFresh, 0, w)
		} else {
			tell(commit.EventBehind, 0, w)
		}
		tell(commit.EventFailed, 0, w)
	case commit.StepPropose:
		out = append(out, proposed(t, s, w, trace)...)
	case commit.StepInspect:
		tell(commit.EventUnreadable, 0, w)
		tell(commit.EventBlind, 0, w)
		v := int(s.Version)
		switch {
		case w.gone(v), w.slots[v] == vacant && w.newest() > v:
			tell(commit.EventOvertaken, 0, w)
		case w.slots[v] == ours:
			tell(commit.EventOurs, 0, w)
		case w.slots[v] == foreign:
			w.read[v] = true
			tell(commit.EventTheirs, 0, w)
		default:
			tell(commit.EventAbsent, 0, w)
		}
	case commit.StepRebase:
		tell(commit.EventFailed, 0, w)
		if w.gone(int(s.Version)) {
			tell(commit.EventBehind, 0, w)
			break
		}
		for v := int(s.Version); v <= w.newest(); v++ {
			require.NotEqual(t, ours, w.slots[v], "a rebase over our own commit\n%s", trace)
			w.read[v] = true
		}
		w.snap = w.newest()
		if w.snap < maxVersion {
			tell(commit.EventRebased, w.snap+1, w)
		}
		tell(commit.EventInvalid, 0, w)
		tell(commit.EventSkip, 0, w)
	case commit.StepDecide:
		tell(commit.EventTagFound, 0, w)
		tell(commit.EventTagMissing, 0, w)
	}
	return out
}

func proposed(t *testing.T, s commit.Step, w world, trace string) []answer {
	v := int(s.Version)
	for u := range v {
		require.False(t, w.sent[u] && !w.read[u] && !w.gone(u), "version %d is proposed and %d was not read as foreign\n%s", v, u, trace)
	}
	require.Equal(t, w.sent[v], s.Again, "bytes of one version must not change\n%s", trace)
	out := []answer{{commit.EventRefused, 0, w}}
	if !s.Again && w.gone(v) { // the engine looks before a first proposal on an old snapshot
		return append(out, answer{commit.EventBehind, 0, w})
	}
	w.sent[v] = true
	out = append(out, answer{commit.EventUnsettled, 0, w}) // no effect, or taken
	if w.slots[v] == vacant {
		require.LessOrEqual(t, w.newest(), v-1, "below a newer version\n%s", trace)
		late := w
		late.pending[v] = true
		out = append(out, answer{commit.EventUnsettled, 0, late})
		w.slots[v] = ours
		w.landed++
		out = append(out, answer{commit.EventCreated, 0, w}, answer{commit.EventUnsettled, 0, w})
	}
	return out
}

// checkEnd holds the claim of an end against the world, and against every world that may follow.
func checkEnd(t *testing.T, s commit.Step, w world, trace string) {
	for _, later := range w.drift(false) {
		require.LessOrEqual(t, later.landed, 1, "two versions hold our transaction\n%s", trace)
		switch s.Result {
		case commit.Committed:
			require.Equal(t, ours, later.slots[s.Version], "%s\n%s", s, trace)
		case commit.Nothing, commit.Failed, commit.Halted:
			require.Zero(t, later.landed, "%s, and the commit is there\n%s", s, trace)
		case commit.Unknown:
			require.True(t, w.sent[s.Version], "unknown, and nothing was sent\n%s", trace)
		}
	}
}

func TestMachineExhaustively(t *testing.T) {
	type state struct {
		m commit.Machine
		s commit.Step
		w world
	}
	m, s := commit.Start()
	queue := []state{{m, s, world{}}}
	trace := map[state]string{queue[0]: ""}
	ends := map[commit.Result]int{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at.s.Kind == commit.StepDone {
			ends[at.s.Result]++
			checkEnd(t, at.s, at.w, trace[at])
			continue
		}
		// The log's retention is far longer than the pause before a second proposal.
		mayClean := !(at.s.Kind == commit.StepPropose && at.s.Again)
		for _, w := range at.w.drift(mayClean) {
			for _, a := range answers(t, at.m, at.s, w, trace[at]) {
				m, s := at.m.Next(a.event, a.version)
				to := state{m, s, a.world}
				if _, seen := trace[to]; !seen {
					trace[to] = fmt.Sprintf("%s%s -> %s %v\n", trace[at], at.s, a.event, a.world)
					queue = append(queue, to)
				}
			}
		}
	}
	t.Logf("%d states, ends %v", len(trace), ends)
	for r := commit.Committed; r <= commit.Unknown; r++ {
		require.NotZero(t, ends[r], "no history ends in %s: the model does not reach it", r)
	}
}

// An event that answers another step is a mistake of the engine. It must not make a claim that is
// false: with a proposal under way the end is unknown.
func TestMachineTakesNoForeignEvent(t *testing.T) {
	m, _ := commit.Start()
	m, s := m.Next(commit.EventPlanned, 7)
	require.Equal(t, commit.Step{Kind: commit.StepPropose, Version: 7}, s)
	_, s = m.Next(commit.EventOurs, 0)
	require.Equal(t, commit.Failed, s.Result)

	m, s = m.Next(commit.EventUnsettled, 0)
	require.Equal(t, commit.StepInspect, s.Kind)
	_, s = m.Next(commit.EventCreated, 0)
	require.Equal(t, commit.Unknown, s.Result)

	m, _ = m.Next(commit.EventTheirs, 0)
	_, s = m.Next(commit.EventRebased, 7)
	require.Equal(t, commit.Failed, s.Result, "a version that another writer has is never proposed again")
}

func TestNamesOfTheMachine(t *testing.T) {
	require.Equal(t, "propose 3 again=true refresh=false committed", commit.Step{Kind: commit.StepPropose, Version: 3, Again: true}.String())
	for e := commit.EventPlanned; e <= commit.EventHalt; e++ {
		require.NotEmpty(t, strings.TrimSpace(e.String()))
	}
	require.Equal(t, "halt", commit.EventHalt.String())
}
