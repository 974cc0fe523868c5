package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// features are those that a table may be made with, beside partitions.
var features = []string{
	"delta.enableDeletionVectors", "delta.enableChangeDataFeed", "delta.enableRowTracking", "delta.enableInCommitTimestamps",
	"delta.columnMapping.mode", "delta.checkpointPolicy",
}

// numberColumn and sumColumn are the columns of a table that makes some itself, which writers do not bring: one numbers
// the rows, one is generated from what updates and merges change.
const (
	numberColumn = "number"
	sumColumn    = "sum"
)

// MostWriters is how many writers a history has at most.
const MostWriters = 16

// scenario is what the dice say of a history before it begins.
type scenario struct {
	writers     int
	most        int // jobs of a writer
	partitioned bool
	features    []string // that the table is made with
	makes       bool     // the table makes columns itself
	parquet     bool     // data files are Parquet
	race        bool     // the writers make the table, each of them
	twins       bool     // the first two writers run the same jobs with the same input
	foreign     bool     // one of the writers is no idem
	byPriority  bool
	interval    int           // commits between checkpoints
	rate        float64       // of faults at an operation
	cancels     float64       // of ends of the caller's context
	outages     float64       // of a network, or credentials, that end in the put of a commit
	sleeps      float64       // of a process that sleeps while hours or days pass
	clocks      bool          // the writers' clocks differ, and step
	budget      time.Duration // of one commit
	fileAge     time.Duration // that vacuum leaves a file
	logAge      time.Duration // that a clean-up leaves a commit
	palette     []kind        // of jobs
	create      *job
	jobs        []*job
}

func newScenario(dice *rand.Rand, hooks Hooks) *scenario {
	s := &scenario{
		writers:     2,
		most:        1 + dice.IntN(2),
		partitioned: dice.IntN(2) == 0,
		parquet:     dice.IntN(10) == 0,
		race:        dice.IntN(10) == 0,
		twins:       dice.IntN(4) == 0,
		foreign:     dice.IntN(8) == 0,
		byPriority:  dice.IntN(5) < 2,
		interval:    2 + dice.IntN(5),
		rate:        []float64{0, 0.02, 0.04, 0.08}[dice.IntN(4)],
		cancels:     []float64{0, 0, 0.008}[dice.IntN(3)],
		outages:     []float64{0, 0, 0.15}[dice.IntN(3)],
		sleeps:      []float64{0, 0, 0, 0.02}[dice.IntN(4)],
		clocks:      dice.IntN(4) == 0,
		budget:      []time.Duration{0, 20 * time.Second}[dice.IntN(2)],
		fileAge:     []time.Duration{2 * time.Hour, 7 * 24 * time.Hour}[dice.IntN(2)],
		logAge:      []time.Duration{12 * time.Hour, 30 * 24 * time.Hour}[dice.IntN(2)],
	}
	if dice.IntN(12) == 0 {
		s.writers, s.most = 2+min(dice.IntN(4), dice.IntN(4)), 3
	}
	if dice.IntN(150) == 0 {
		s.writers, s.most = 2+dice.IntN(MostWriters-1), 3
	}
	if dice.IntN(2) == 0 {
		for _, f := range features {
			if dice.IntN(4) == 0 {
				s.features = append(s.features, f)
			}
		}
	}
	s.choose(dice)
	if dice.IntN(12) == 0 { // long sleeps, while others clean up
		s.sleeps, s.fileAge, s.outages, s.most = 0.06, 2*time.Hour, 0, 2
		s.palette = []kind{appendTxn, appendRows, mergeRows, replaceSlice, deleteSlice, optimize, restore, vacuum, vacuum, vacuum, cleanUpLog}
	}
	if hooks.bare() {
		s.features, s.parquet, s.foreign = nil, false, false
	}
	s.create = s.newJob(createTable)
	return s
}

// choose draws the kinds of jobs: all of them, or a few, which then meet more often.
func (s *scenario) choose(dice *rand.Rand) {
	s.palette = weights
	if dice.IntN(2) == 0 {
		return
	}
	s.palette = nil
	for range 2 + dice.IntN(3) {
		s.palette = append(s.palette, weights[dice.IntN(len(weights))])
	}
}

func (s *scenario) String() string {
	short := make([]string, len(s.features))
	for i, f := range s.features {
		short[i] = strings.TrimPrefix(f, "delta.")
	}
	return fmt.Sprintf("%d writers, partitioned=%t features=%v makes=%t parquet=%t race=%t twins=%t foreign=%t priorities=%t checkpoint every %d, "+
		"faults %g, cancels %g, outages %g, sleeps %g, clocks=%t, budget %s, files %s, log %s",
		s.writers, s.partitioned, short, s.makes, s.parquet, s.race, s.twins, s.foreign, s.byPriority, s.interval,
		s.rate, s.cancels, s.outages, s.sleeps, s.clocks, s.budget, s.fileAge, s.logAge)
}

func (s *scenario) scheduler(dice *rand.Rand, writers int, cut Cut) picker {
	switch {
	case cut.calm:
		return calm(dice)
	case s.byPriority:
		return priorities(dice, writers)
	}
	return uniform(dice)
}

func (s *scenario) has(feature string) bool {
	for _, f := range s.features {
		if f == feature {
			return true
		}
	}
	return false
}

func (s *scenario) definition() idem.Definition {
	by := []string(nil)
	if s.partitioned {
		by = []string{"day"}
	}
	hours := func(d time.Duration) string { return fmt.Sprintf("interval %d hours", int(d.Hours())) }
	props := map[string]string{
		"delta.checkpointInterval":           fmt.Sprint(s.interval),
		"delta.deletedFileRetentionDuration": hours(s.fileAge),
		"delta.logRetentionDuration":         hours(s.logAge),
	}
	for _, f := range s.features {
		switch f {
		case "delta.columnMapping.mode":
			props[f] = "name"
		case "delta.checkpointPolicy":
			props[f] = "v2"
		default:
			props[f] = "true"
		}
	}
	d := tabletest.Definition(by, props)
	if s.makes {
		fields := slices.Clone(d.Schema.Fields())
		for _, name := range []string{numberColumn, sumColumn} {
			fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
		}
		d.Schema = arrow.NewSchema(fields, nil)
		d.Columns = map[string]idem.Column{numberColumn: {Identity: &idem.Identity{Start: 1}}, sumColumn: {Generated: "seq + coalesce(v, 0)"}}
	}
	return d
}

// wrongBytes says whether wrong bytes without an error can be told where they are read.
func (s *scenario) wrongBytes(c storetest.Call) bool {
	f := logFile(c.Key)
	switch {
	case strings.HasPrefix(c.Key, delta.LogDir) && strings.HasSuffix(c.Key, ".json"), f.Kind == delta.Checksum, strings.HasSuffix(c.Key, "_last_checkpoint"):
		return true
	case strings.HasSuffix(c.Key, ".bin"): // a deletion vector has a checksum
		return true
	}
	return !s.parquet
}

// fault says what goes wrong with an operation. Puts of commits are what it is about; lists are few, and a compaction is one
// put.
func (s *scenario) fault(dice *rand.Rand, c storetest.Call) (trouble, storetest.Fault) {
	p := s.rate
	switch {
	case isCommitPut(c), c.Op == storetest.OpPutIfAbsent && logFile(c.Key).Kind == delta.Compaction:
		p *= 5
	case c.Op == storetest.OpList:
		p *= 4
	}
	may := byOp[c.Op]
	if dice.Float64() >= p || len(may) == 0 {
		return trouble{}, storetest.Fault{}
	}
	t := may[dice.IntN(len(may))]
	f := storetest.Fault{Kind: t.kind, K: 1 + dice.IntN(4), Err: t.err}
	switch {
	case t.wrong() && !s.wrongBytes(c):
		return trouble{}, storetest.Fault{}
	case t.kind == storetest.LateEffect && dice.IntN(2) == 0:
		f.K = 1 << 30 // it lands when the scheduler says so
	case t.kind == storetest.BitFlip && strings.HasPrefix(c.Key, delta.LogDir):
		f.K = dice.IntN(8)
	case t.kind == storetest.BitFlip:
		f.K = dice.IntN(1 << 20)
	}
	return t, f
}

func isCommitPut(c storetest.Call) bool {
	return c.Op == storetest.OpPutIfAbsent && logFile(c.Key).Kind == delta.Commit
}

// outage says how long nothing gets through, why, and what becomes of the put in which that begins.
func (s *scenario) outage(dice *rand.Rand) (time.Duration, trouble, storetest.Fault) {
	long := time.Duration(dice.Int64N(int64(4 * time.Minute)))
	if dice.IntN(2) == 0 {
		return long, expired, storetest.Fault{Kind: []storetest.Kind{storetest.Denied, storetest.LostAnswer}[dice.IntN(2)], K: 1}
	}
	kinds := []storetest.Kind{storetest.Timeout, storetest.LostAnswer, storetest.LateEffect}
	return long, offline, storetest.Fault{Kind: kinds[dice.IntN(len(kinds))], K: 1 << 30}
}

// newJob makes a job that the scenario knows.
func (s *scenario) newJob(k kind) *job {
	j := &job{n: len(s.jobs), kind: k}
	s.jobs = append(s.jobs, j)
	return j
}
