package sim

// mostShrinks bounds the histories that are run to make one shorter.
const mostShrinks = 800

// otherTurns is how many other schedules are tried for each cut: leaving something out moves all that
// comes after it, and what was broken is then broken by another interleaving.
const otherTurns = 4

// Shrink makes a history that fails shorter: it leaves out jobs (and with them writers), and faults, one
// by one and many at once, while some schedule of what is left fails for the same reason. What it gives
// is a history of the same seed.
func Shrink(h *History, hooks func() Hooks) *History {
	s := &shrinker{best: h, reason: h.Reason(), hooks: hooks}
	if s.reason == "" {
		return h
	}
	if !h.Cut.some {
		s.try(Cut{some: true, writers: h.writers, jobs: h.jobs, places: h.places, salt: h.Cut.salt, calm: h.Cut.calm})
	}
	if !s.best.Cut.some {
		return h
	}
	for before := -1; before != s.size() && s.runs < mostShrinks; {
		before = s.size()
		s.parts(s.best.Cut.writers, func(c *Cut, kept []int) { c.writers = kept })
		s.parts(s.best.Cut.jobs, func(c *Cut, kept []int) { c.jobs = kept })
		s.faults()
		s.turns()
	}
	return s.best
}

type shrinker struct {
	best   *History
	reason string
	hooks  func() Hooks
	runs   int
}

func (s *shrinker) size() int { return len(s.best.trace) + len(s.best.Cut.places) }

// try runs a cut under some schedules and keeps it if it fails for the reason and is shorter.
func (s *shrinker) try(c Cut) bool {
	for salt := range uint64(otherTurns) {
		for _, calm := range []bool{true, false} {
			one := c
			if salt > 0 || calm {
				one.salt, one.calm = salt, calm
			}
			if s.runs++; s.runs > mostShrinks {
				return false
			}
			h := RunCut(s.best.Seed, s.hooks(), one)
			if h.Reason() == s.reason && (!s.best.Cut.some || shorter(h, s.best)) {
				s.best = h
				return true
			}
		}
	}
	return false
}

// shorter says whether a history is, or is as long with less that may go wrong in it.
func shorter(a, b *History) bool {
	size := func(h *History) int { return len(h.Cut.writers) + len(h.Cut.jobs) + len(h.Cut.places) }
	return len(a.trace) < len(b.trace) || len(a.trace) == len(b.trace) && size(a) < size(b)
}

// parts leaves out writers, or jobs: halves, then quarters, then one by one.
func (s *shrinker) parts(list []int, set func(c *Cut, kept []int)) {
	for size := (len(list) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(list); {
			c, kept := s.best.Cut, without(list, from, size)
			if set(&c, kept); s.try(c) {
				list = kept
			} else {
				from += size
			}
		}
	}
}

// faults leaves out places at which something goes wrong.
func (s *shrinker) faults() {
	if s.try(s.best.Cut.with(nil)) {
		return
	}
	s.try(s.best.Cut.with(s.best.places)) // those that are reached
	list := s.best.Cut.places
	for size := (len(list) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(list); {
			if kept := without(list, from, size); s.try(s.best.Cut.with(kept)) {
				list = kept
			} else {
				from += size
			}
		}
	}
}

// turns looks for a schedule that is shorter.
func (s *shrinker) turns() {
	for salt := range uint64(40) {
		c := s.best.Cut
		c.calm, c.salt = true, salt
		if s.runs++; s.runs > mostShrinks {
			return
		}
		if h := RunCut(s.best.Seed, s.hooks(), c); h.Reason() == s.reason && len(h.trace) < len(s.best.trace) {
			s.best = h
		}
	}
}

func (c Cut) with(places []place) Cut {
	c.places = places
	return c
}

func without[T any](list []T, from, n int) []T {
	to := min(from+n, len(list))
	return append(append([]T(nil), list[:from]...), list[to:]...)
}
