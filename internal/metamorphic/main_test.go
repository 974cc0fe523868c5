package metamorphic_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The size of a plain run: histories in one world, and steps of each. -rapid.checks and -rapid.steps
// ask for more.
const (
	plainChecks = "5"
	plainSteps  = "10"
)

// share has a test do a part of the histories, since each of them costs more.
func share(t *testing.T, part int) {
	was := flag.Lookup("rapid.checks").Value.String()
	n, err := strconv.Atoi(was)
	require.NoError(t, err)
	require.NoError(t, flag.Set("rapid.checks", strconv.Itoa(max(1, n/part))))
	t.Cleanup(func() { require.NoError(t, flag.Set("rapid.checks", was)) })
}

// ran counts the operations that came about, by how they ended.
var ran = tallies{counts: map[string]int{}}

type tallies struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tallies) note(call string, a answer) {
	end := a.outcome.String()
	if a.err != nil {
		end = a.err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[strings.SplitN(call, "(", 2)[0]+": "+end]++
}

func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": plainChecks, "rapid.steps": plainSteps, "rapid.nofailfile": "true"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	debug.SetGCPercent(400) // many small tables, and nothing stays
	code := m.Run()
	if testing.Verbose() {
		calls := 0
		for _, k := range slices.Sorted(maps.Keys(ran.counts)) {
			fmt.Printf("%7d  %s\n", ran.counts[k], k)
			calls += ran.counts[k]
		}
		fmt.Printf("metamorphic: %d calls of %d kinds and ends\n", calls, len(ran.counts))
	}
	os.Exit(code)
}
