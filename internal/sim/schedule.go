package sim

import (
	"math/rand/v2"
	"slices"
)

// picker chooses who goes on.
type picker func(step int, ready []*writer) *writer

// uniform gives each writer the same chance at every step.
func uniform(dice *rand.Rand) picker {
	return func(_ int, ready []*writer) *writer { return ready[dice.IntN(len(ready))] }
}

// priorities lets the writer of the highest priority go on, and at a few steps, chosen ahead, puts
// whoever goes on below all others. A bug that needs d such changes is found with a probability
// that does not shrink with the number of interleavings (Burckhardt et al., ASPLOS 2010).
func priorities(dice *rand.Rand, writers int) picker {
	rank := dice.Perm(writers)
	lowest := 0
	var changes []int
	for range dice.IntN(6) {
		changes = append(changes, dice.IntN(40*writers))
	}
	return func(step int, ready []*writer) *writer {
		best := slices.MaxFunc(ready, func(a, b *writer) int { return rank[a.index] - rank[b.index] })
		if slices.Contains(changes, step) {
			lowest--
			rank[best.index] = lowest
		}
		return best
	}
}

// calm lets the writer at hand go on but for a few changes, for histories that people read.
func calm(dice *rand.Rand) picker {
	var last *writer
	return func(_ int, ready []*writer) *writer {
		if last == nil || !slices.Contains(ready, last) || dice.IntN(12) == 0 {
			last = ready[dice.IntN(len(ready))]
		}
		return last
	}
}
