package fuzzing_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/fuzzing"
)

// ear takes what a test would have failed with.
type ear struct {
	testing.TB
	said string
}

func (e *ear) Helper() {}

func (e *ear) Fatalf(format string, args ...any) {
	e.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure is what f fails with, "" if it does not.
func failure(t *testing.T, f func(testing.TB)) string {
	e := &ear{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(e)
	}()
	<-done
	return e.said
}

var kept []byte

// TestTime: what takes too long once may have been the machine, what does again is the reader. The time is that of a
// bubble, in which sleeping takes none.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		why   string
		takes []time.Duration // the first time, the second, …
		says  string
		runs  int
	}{
		{"in time", []time.Duration{fuzzing.Longest}, "", 1},
		{"once too long", []time.Duration{fuzzing.Longest + 1, fuzzing.Longest}, "", 2},
		{"too long, twice", []time.Duration{fuzzing.Longest + 1, 2 * fuzzing.Longest}, "twice, of which at most", 2},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				said := failure(t, func(t testing.TB) {
					fuzzing.Bounded(t, 3, func() { time.Sleep(c.takes[runs]); runs++ })
				})
				require.Contains(t, said, c.says)
				require.Equal(t, c.says == "", said == "", said)
				require.Equal(t, c.runs, runs)
			})
		})
	}
}

func TestWhatIsDemanded(t *testing.T) {
	n, errs := 0, 0
	other := func() (int, error) { n++; return n, nil }
	wait := make(chan struct{})
	var left sync.WaitGroup
	defer func() { close(wait); left.Wait() }()
	for why, c := range map[string]struct {
		f    func(testing.TB)
		says string
	}{
		"within the allowance":   {func(t testing.TB) { fuzzing.Bounded(t, 1<<20, func() { kept = make([]byte, 70<<20) }) }, ""},
		"beyond it":              {func(t testing.TB) { fuzzing.Bounded(t, 0, func() { kept = make([]byte, 70<<20) }) }, "were taken to read 0"},
		"beyond it, and dropped": {func(t testing.TB) { fuzzing.Bounded(t, 0, func() { churn(70 << 10) }) }, "were taken to read 0"},
		"the same":               {func(t testing.TB) { _, _ = fuzzing.Read(t, 0, func() ([]int, error) { return []int{1}, nil }) }, ""},
		"the same error": {func(t testing.TB) {
			_, _ = fuzzing.Read(t, 0, func() (int, error) { return 0, errors.New("no") })
		}, ""},
		"another value": {func(t testing.TB) { _, _ = fuzzing.Read(t, 0, other) }, "the second time: 2"},
		"another error": {func(t testing.TB) {
			_, _ = fuzzing.Read(t, 0, func() (int, error) { errs++; return 0, fmt.Errorf("no %d", errs) })
		}, "the first time: no "},
		"an error once": {func(t testing.TB) {
			once := errors.New("no")
			_, _ = fuzzing.Read(t, 0, func() (int, error) { err := once; once = nil; return 0, err })
		}, "the second time: <nil>"},
		"alone": {func(t testing.TB) { fuzzing.Alone(t, func() {}) }, ""},
		"not alone": {func(t testing.TB) {
			fuzzing.Alone(t, func() { left.Go(func() { <-wait }) })
		}, "a goroutine is left behind"},
		"left by one that ended": {func(t testing.TB) {
			fuzzing.Alone(t, func() {
				var one sync.WaitGroup
				one.Go(func() { left.Go(func() { <-wait }) })
				one.Wait()
			})
		}, "a goroutine is left behind"},
		"others come meanwhile": {func(t testing.TB) {
			begin, begun := make(chan struct{}), make(chan struct{})
			left.Go(func() { <-begin; left.Go(func() { <-wait }); close(begun) })
			fuzzing.Alone(t, func() { close(begin); <-begun })
		}, ""},
	} {
		t.Run(why, func(t *testing.T) {
			said := failure(t, c.f)
			require.Contains(t, said, c.says)
			require.Equal(t, c.says == "", said == "", said)
		})
	}
	kept = nil
}

// churn takes and drops kibibytes.
func churn(kib int) {
	for range kib {
		kept = make([]byte, 1<<10)
	}
}

// TestSeeds: they are real files, as many as are asked for.
func TestSeeds(t *testing.T) {
	found := fuzzing.Seeds(t, 3, 1<<20, func(path string) bool {
		return strings.Contains(path, "_delta_log/") && strings.HasSuffix(path, "00000000000000000000.json")
	})
	if found == nil {
		t.Skip("the corpus is missing (set IDEM_CORPUS)")
	}
	require.Len(t, found, 3)
	for _, data := range found {
		require.Contains(t, string(data), "{")
	}
}
