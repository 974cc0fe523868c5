package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// Kinds are the faults of the store that histories suffer. Left out are the two of a store that
// breaks its contract by giving wrong bytes without an error.
func Kinds() []storetest.Kind {
	var kinds []storetest.Kind
	for _, k := range storetest.Kinds() {
		if k != storetest.ShortRead && k != storetest.BitFlip {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// scenario is what the dice say of a history before it begins.
type scenario struct {
	writers     int
	partitioned bool
	race        bool // the writers make the table, each of them
	twins       bool // the first two writers run the same jobs with the same input
	byPriority  bool
	interval    int           // commits between checkpoints
	rate        float64       // of faults at an operation
	cancels     float64       // of ends of the caller's context
	jumps       float64       // of fifteen minutes that pass at once
	outages     float64       // of a network that breaks in the put of a commit, and stays broken
	budget      time.Duration // of one commit
	create      *job
	jobs        []*job
	may         map[storetest.Op][]storetest.Kind
}

func newScenario(dice *rand.Rand) *scenario {
	s := &scenario{
		writers:     2 + min(dice.IntN(7), dice.IntN(7)),
		partitioned: dice.IntN(2) == 0,
		race:        dice.IntN(8) == 0,
		twins:       dice.IntN(4) == 0,
		byPriority:  dice.IntN(5) < 2,
		interval:    2 + dice.IntN(4),
		rate:        []float64{0, 0.01, 0.03, 0.08}[dice.IntN(4)],
		cancels:     []float64{0, 0, 0.004}[dice.IntN(3)],
		jumps:       []float64{0, 0, 0, 0.005}[dice.IntN(4)],
		outages:     []float64{0, 0, 0.1}[dice.IntN(3)],
		budget:      []time.Duration{0, 20 * time.Second}[dice.IntN(2)],
		may:         map[storetest.Op][]storetest.Kind{},
	}
	for _, op := range storetest.Ops() {
		for _, k := range Kinds() {
			if k.AppliesTo(op) {
				s.may[op] = append(s.may[op], k)
			}
		}
	}
	s.create = s.newJob(createTable)
	return s
}

func (s *scenario) String() string {
	return fmt.Sprintf("%d writers, partitioned=%t race=%t twins=%t priorities=%t checkpoint every %d, faults %g, cancels %g, jumps %g, outages %g, budget %s",
		s.writers, s.partitioned, s.race, s.twins, s.byPriority, s.interval, s.rate, s.cancels, s.jumps, s.outages, s.budget)
}

func (s *scenario) scheduler(dice *rand.Rand, writers int) picker {
	if s.byPriority {
		return priorities(dice, writers)
	}
	return uniform(dice)
}

func (s *scenario) definition() idem.Definition {
	by := []string(nil)
	if s.partitioned {
		by = []string{"day"}
	}
	return tabletest.Definition(by, map[string]string{"delta.checkpointInterval": fmt.Sprint(s.interval)})
}

// fault says what goes wrong with an operation. Puts of commits are what it is about; lists are few.
func (s *scenario) fault(dice *rand.Rand, c storetest.Call) storetest.Fault {
	p := s.rate
	switch {
	case isCommitPut(c):
		p *= 6
	case c.Op == storetest.OpList:
		p *= 4
	}
	may := s.may[c.Op]
	if dice.Float64() >= p || len(may) == 0 {
		return storetest.Fault{}
	}
	f := storetest.Fault{Kind: may[dice.IntN(len(may))], K: 1 + dice.IntN(4)}
	if f.Kind == storetest.LateEffect && dice.IntN(2) == 0 {
		f.K = 1 << 30 // it lands when the scheduler says so
	}
	return f
}

func isCommitPut(c storetest.Call) bool {
	return c.Op == storetest.OpPutIfAbsent && logFile(c.Key).Kind == delta.Commit
}

// outage says how long a network stays broken that breaks now, and what becomes of the put in which
// it does.
func (s *scenario) outage(dice *rand.Rand) (time.Duration, storetest.Fault) {
	kinds := []storetest.Kind{storetest.Timeout, storetest.LostAnswer, storetest.LateEffect}
	return time.Duration(dice.Int64N(int64(4 * time.Minute))), storetest.Fault{Kind: kinds[dice.IntN(len(kinds))], K: 1 << 30}
}

// newJob makes a job that the scenario knows.
func (s *scenario) newJob(k kind) *job {
	j := &job{n: len(s.jobs), kind: k}
	s.jobs = append(s.jobs, j)
	return j
}
