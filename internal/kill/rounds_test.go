//go:build unix

package kill_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
)

var (
	roundCount = flag.Int("kill.rounds", 2, "rounds of processes that are killed")
	roundSeed  = flag.Uint64("kill.seed", 1, "the seed of the first round")
)

const (
	workers = 32 // processes at once
	jobs    = 5  // of each
	kills   = 24 // of a round
)

// crowd is a number of processes at work on one table.
type crowd struct {
	t       *testing.T
	ctx     context.Context // carries the codec
	spec    spec
	time    ticks
	events  chan event
	living  map[int]*process
	killed  int
	told    int                  // lines
	deaths  map[[2]int]int64     // by worker and life: the tick after which it was dead for certain
	acked   []attempt            // tagged jobs that were acknowledged, in the order in which that was heard
	kills   func(lines int) bool // asked after each line: is it time to kill one?
	dice    *rand.Rand
	plans   [][]*job
	leftBy  map[string]bool // temporary files that were there when the last process was killed
	pending map[int]bool    // killed, and not yet seen to be dead
}

type process struct {
	cmd    *exec.Cmd
	life   int
	stderr *strings.Builder
}

// event is a line of a process, or its end.
type event struct {
	worker int
	line   *line
	err    error // how it ended
}

// newCrowd makes the table in a directory; ledgers are in another one.
func newCrowd(t *testing.T, table string, seed uint64, n, jobs int) *crowd {
	c := &crowd{t: t, events: make(chan event), living: map[int]*process{}, deaths: map[[2]int]int64{}, pending: map[int]bool{},
		dice: rand.New(rand.NewPCG(seed, 99)), kills: func(int) bool { return false }}
	c.spec = spec{Table: table, Scratch: t.TempDir(), Seed: seed, Jobs: jobs, Parquet: seed%4 == 1}
	c.ctx = c.spec.context(t.Context())
	var err error
	c.time, err = openTicks(filepath.Join(c.spec.Scratch, "ticks"))
	require.NoError(t, err)
	properties := map[string]string{"delta.checkpointInterval": "20"}
	if seed%2 == 0 {
		properties["delta.enableDeletionVectors"] = "true"
	}
	_, _, err = idem.Create(c.ctx, table, tabletest.Definition([]string{"day"}, properties), idem.Options{Parallelism: 1})
	require.NoError(t, err)
	for worker := range n {
		c.plans = append(c.plans, jobsOf(seed, worker, jobs))
	}
	return c
}

// start begins a life of a worker.
func (c *crowd) start(worker, life int) {
	s := c.spec
	s.Worker, s.Life = worker, life
	text, err := json.Marshal(s)
	require.NoError(c.t, err)
	self, err := os.Executable()
	require.NoError(c.t, err)
	p := &process{cmd: exec.CommandContext(c.t.Context(), self), life: life, stderr: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), workerEnv+"="+string(text), "GOMAXPROCS=1")
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, p.cmd.Start())
	c.living[worker] = p
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var l line
			if json.Unmarshal(lines.Bytes(), &l) == nil {
				c.events <- event{worker: worker, line: &l}
			}
		}
		c.events <- event{worker: worker, err: p.cmd.Wait()}
	}()
}

// work lets all workers do their jobs to the end, and kills some on the way.
func (c *crowd) work() {
	for worker := range c.plans {
		c.start(worker, 0)
	}
	for len(c.living) > 0 {
		e := <-c.events
		if e.line == nil {
			c.ended(e)
			continue
		}
		c.told++
		if j := c.plans[e.worker][e.line.Job]; j.verb.tagged() && e.line.Outcome != "" {
			c.acked = append(c.acked, attempt{job: j, line: *e.line})
		}
		if c.kills(c.told) {
			c.killOne()
		}
	}
}

func (c *crowd) killOne() {
	for worker, p := range c.living { // any: the order is chance
		if !c.pending[worker] {
			require.NoError(c.t, ignoreDone(p.cmd.Process.Kill()))
			c.pending[worker] = true
			return
		}
	}
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// ended takes note of the end of a process. One that was killed is started again with the same work.
func (c *crowd) ended(e event) {
	p := c.living[e.worker]
	delete(c.living, e.worker)
	c.deaths[[2]int{e.worker, p.life}] = c.time.next()
	var exit *exec.ExitError
	killed := errors.As(e.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if c.pending[e.worker] {
		c.leftBy = temporaryFiles(c.t, c.spec.Table)
	}
	delete(c.pending, e.worker)
	if killed {
		c.killed++
		c.start(e.worker, p.life+1)
		return
	}
	require.NoError(c.t, e.err, "%s", p.stderr)
}

// attempts are all calls of all processes, from their ledgers.
func (c *crowd) attempts() []attempt {
	var out []attempt
	for worker := range c.plans {
		for life := 0; ; life++ {
			death, lived := c.deaths[[2]int{worker, life}]
			if !lived {
				break
			}
			out = append(out, readLedger(c.t, ledgerPath(c.spec.Scratch, worker, life), c.plans[worker], death)...)
		}
	}
	return out
}

// TestRounds has 32 processes write to one table while some are killed and started again with the
// same work. In the end every acknowledged commit is there once, the table is the model, and what the
// processes saw can be put in an order.
func TestRounds(t *testing.T) {
	t.Parallel()
	began, sum := time.Now(), struct{ kills, acked, lost, doubled, versions, ops, unknown int }{}
	rounds := *roundCount
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		seed := *roundSeed + uint64(i)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			c := newCrowd(t, filepath.Join(t.TempDir(), "table"), seed, workers, jobs)
			next := workers/2 + c.dice.IntN(workers)
			c.kills = func(lines int) bool {
				if lines < next || c.killed+len(c.pending) >= kills {
					return false
				}
				next = lines + 1 + c.dice.IntN(2*workers*jobs/kills)
				return true
			}
			c.work()
			require.Positive(t, c.killed)
			st, err := store.OpenDir(c.spec.Table)
			require.NoError(t, err)
			r := replay(c.ctx, t, st, c.plans)
			all := c.attempts()
			for _, a := range all {
				r.has(t, a)
				if a.verb.tagged() && a.Outcome == idem.Committed.String() {
					sum.acked++
				}
				if a.Outcome == "" {
					sum.unknown++
				}
			}
			sum.lost, sum.doubled = sum.lost+r.lost, sum.doubled+r.doubled
			c.everyJobIsThereOnce(r)
			for name := range temporaryFiles(t, c.spec.Table) {
				require.True(t, c.leftBy[name], "%s was left by a process that was not killed", name)
			}
			sum.ops += linearizable(t, all)
			sum.kills += c.killed
			sum.versions += int(r.version)
		})
	}
	fmt.Printf("rounds: %d of %d processes, %d kills, %d acknowledged commits, %d lost, %d doubled, %d versions; histories of %d operations, %d of unknown outcome (%.0f s)\n",
		rounds, workers, sum.kills, sum.acked, sum.lost, sum.doubled, sum.versions, sum.ops, sum.unknown, time.Since(began).Seconds())
}

func (c *crowd) everyJobIsThereOnce(r *replayed) {
	for worker, list := range c.plans {
		for _, j := range list {
			if j.verb.tagged() {
				require.Contains(c.t, r.at[appOf(worker)], j.n, "worker %d ended well", worker)
			}
		}
	}
}
