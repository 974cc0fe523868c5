package interop_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

var (
	historiesRun  = flag.Int("interop.histories", 40, "histories in which idem, Spark and delta-rs take turns")
	historiesSeed = flag.Uint64("interop.seed", 1, "seed of the first history; each has its own, one after the other")
	historiesCut  = flag.Int("interop.shrink", 2, "failed histories of which those steps are looked for that matter")
	historiesSkip = flag.String("interop.skip", "", "steps to leave out of the histories, by their numbers: 3,7,12")
)

const ours engine = "idem"

const (
	together  = 25 // histories that go on step by step, so that one request to Spark is about all of them; two such batches take turns
	alone     = 10 // histories without the other engines
	atLeast   = 10 // steps of a history
	shrinkMax = 8  // runs of one failed history's shorter ones
)

// TestHistories has idem, Spark and delta-rs take turns on one table: rows, schema, properties, upkeep.
// After each turn of an engine what it reads is held against a model, at the end every version, as idem
// and as Spark read it, the change data, the ids of rows, and the rules of the log.
//
// A history is its seed: a step draws from the seed, its own number and the table that it finds. So a
// failed one can be run again, also without steps that do not matter.
func TestHistories(t *testing.T) {
	needEngines(t)
	mem := checked(t)
	all := histories(t, mem, *historiesRun)
	var done atomic.Int64
	sideBySide(slices.Collect(slices.Chunk(all, together)), func(batch []*history) {
		play(t, batch)
		t.Logf("%d of %d histories", done.Add(int64(len(batch))), len(all))
	})
	require.EqualValues(t, len(all), done.Load(), "histories that came to their end")
	turns := map[engine]int{}
	var failed []*history
	for _, h := range all {
		for who, n := range h.turns {
			turns[who] += n
		}
		if h.err != nil {
			failed = append(failed, h)
		}
	}
	for i, h := range failed {
		if i < *historiesCut {
			h = shrink(t, mem, h)
		}
		tally(t, h.who, h.err, "seed %d\n%s\nagain: go test ./internal/interop -run TestHistories -interop.histories 1 -interop.seed %d -interop.skip %q\n",
			h.seed, strings.Join(h.told, "\n"), h.seed, h.left())
	}
	t.Logf("histories: %d, turns of idem %d, of Spark %d, of delta-rs %d", *historiesRun, turns[ours], turns[spark], turns[deltaRS])
	if *historiesRun >= 20 {
		for _, who := range []engine{ours, spark, deltaRS} {
			require.Positive(t, turns[who], "%s had no turn", who)
		}
	}
}

// histories are those of so many seeds, one after the other.
func histories(t *testing.T, mem memory.Allocator, n int) []*history {
	var out []*history
	for i := range n {
		out = append(out, newHistory(t, mem, *historiesSeed+uint64(i), skipped(t)))
	}
	return out
}

func skipped(t *testing.T) map[int]bool {
	skip := map[int]bool{}
	for _, n := range strings.FieldsFunc(*historiesSkip, func(c rune) bool { return c == ',' }) {
		step, err := strconv.Atoi(n)
		require.NoError(t, err)
		skip[step] = true
	}
	return skip
}

// left are the steps that were left out.
func (h *history) left() string {
	var out []string
	for step := range h.steps + 1 {
		if h.skip[step] {
			out = append(out, strconv.Itoa(step))
		}
	}
	return strings.Join(out, ",")
}

// play runs histories side by side, step by step. Those that fail stop.
func play(t *testing.T, all []*history) {
	going := func() []*history {
		return slices.DeleteFunc(slices.Clone(all), func(h *history) bool { return h.err != nil })
	}
	last := slices.MaxFunc(all, func(a, b *history) int { return a.steps - b.steps }).steps
	for step := range last + 1 {
		var acting []*history
		for _, h := range going() {
			if step <= h.steps && !h.skip[step] {
				h.draw(step)
				acting = append(acting, h)
			}
		}
		if theRun.server != nil {
			askSpark(t, acting, (*history).asked)
		}
		sideBySide(acting, (*history).act)
	}
	if theRun.server != nil {
		askSpark(t, going(), (*history).lastReads)
	}
	sideBySide(going(), (*history).end)
}

// TestHistoriesOfIdem are histories in which idem has every turn. They want no other engine.
func TestHistoriesOfIdem(t *testing.T) {
	if theRun.server != nil {
		t.Skip("TestHistories has them, and the other engines")
	}
	mem := checked(t)
	all := histories(t, mem, alone)
	play(t, all)
	for _, h := range all {
		if h.err != nil {
			t.Errorf("seed %d: %v\n%s", h.seed, h.err, strings.Join(h.told, "\n"))
		}
	}
}

// sideBySide does something to each, two at a time.
func sideBySide[T any](all []T, do func(T)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, 2)
	for _, one := range all {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			do(one)
		})
	}
	wg.Wait()
}

// shrink looks for a history that fails with fewer steps: it runs the failed one without each of its
// steps, then without all of those that alone did not matter, and so on.
func shrink(t *testing.T, mem memory.Allocator, failed *history) *history {
	for range shrinkMax {
		var shorter []*history
		for step := 1; step <= failed.last; step++ {
			if !failed.skip[step] {
				shorter = append(shorter, failed.without(t, mem, step))
			}
		}
		if len(shorter) == 0 {
			break
		}
		play(t, shorter)
		shorter = slices.DeleteFunc(shorter, func(h *history) bool { return h.err == nil })
		if len(shorter) == 0 {
			break
		}
		var idle []int
		for _, h := range shorter {
			idle = append(idle, h.omitted)
		}
		best := shorter[len(shorter)-1]
		if many := failed.without(t, mem, idle...); len(idle) > 1 {
			if play(t, []*history{many}); many.err != nil {
				best = many
			}
		}
		failed = best
	}
	return failed
}

// without is the history with fewer steps, none of them after the one that failed.
func (h *history) without(t *testing.T, mem memory.Allocator, steps ...int) *history {
	skip := map[int]bool{}
	for step := range h.steps + 1 {
		skip[step] = h.skip[step] || step > h.last || slices.Contains(steps, step)
	}
	out := newHistory(t, mem, h.seed, skip)
	out.omitted = steps[0]
	return out
}

// fail notes the first thing that went wrong.
func (h *history) fail(who engine, err error, format string, args ...any) {
	if err != nil && h.err == nil {
		h.who, h.err, h.last = who, fmt.Errorf(format+": %w", append(args, err)...), h.step
		h.t.Logf("seed %d fails at step %d: %v", h.seed, h.step, h.err)
	}
}
