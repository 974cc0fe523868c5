package smallscope

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// Pair is two calls at once. The second writer's handle on the table is old. Two calls of one operation are one job
// that is run twice, but for operations on what is the writer's own.
type Pair struct {
	First, Second Operation
	Apart         bool // two calls of one operation come with other rows each
}

func (p Pair) String() string {
	text := fmt.Sprintf("%s × %s", p.First, p.Second)
	if p.Apart {
		text += ", other rows"
	}
	return text
}

// Pairs are all ordered pairs, and those in which two calls want different things of one slice, one key or one tag.
func Pairs() []Pair {
	var all []Pair
	for _, a := range Operations() {
		for _, b := range Operations() {
			all = append(all, Pair{First: a, Second: b})
		}
	}
	for _, o := range []Operation{TxnSame, TxnVerified, ReplaceSame, MergeSame, Delete} {
		all = append(all, Pair{First: o, Second: o, Apart: true})
	}
	return append(all, Pair{First: TxnVerified, Second: TxnVerified},
		Pair{First: TxnVerified, Second: TxnSame}, Pair{First: TxnSame, Second: TxnVerified},
		Pair{First: TxnSame, Second: TxnNext}, Pair{First: TxnNext, Second: TxnSame})
}

// jobs are the calls with their input.
func (p Pair) jobs() [2]*job {
	first := newJob(p.First, 0)
	if p.First == p.Second && !p.Apart && !p.First.ownInput() {
		return [2]*job{first, first}
	}
	return [2]*job{first, newJob(p.Second, 1)}
}

// Scope bounds what is gone through.
type Scope struct {
	Faults  int  // at most so many
	Vectors bool // the table has deletion vectors
	Full    bool // writers take turns at every operation
}

// Hooks put something broken in place of what is checked, to see that it is found out.
type Hooks struct {
	Lie Lie

	// Append does the appends. A plain append has no tag.
	Append func(ctx context.Context, s store.Store, t *idem.Table, rows []tabletest.Row, tag idem.Txn) (*idem.Result, error)

	// Idle has maintenance do nothing and say that there was nothing to do.
	Idle bool
}

func (h *Hooks) lie() Lie {
	if h == nil {
		return Honest
	}
	return h.Lie
}

// Report is what came of a pair.
type Report struct {
	Pair          Pair
	Interleavings float64 // that the states stand for
	States        int
	Pruned        int // ways into a state that was entered before
	Ends          int // states in which both writers have ended
	Logs          int // versions of different logs, each compared with its model
	Runs          int // of a writer
	Rounds        int // until the operations were known that take turns
	Faults        map[storetest.Kind]int
	Endings       map[string]int // what callers were told, at the ends

	Broken []string // rules that were broken; none: all is well
	Trace  []string // the shortest way to a broken rule

	finals map[identity]bool
}

// SameEnds says whether two reports of one pair ended in the same states.
func (r *Report) SameEnds(o *Report) bool { return maps.Equal(r.finals, o.finals) }

// String is the report as a failing test prints it.
func (r *Report) String() string {
	return fmt.Sprintf("%s: %.6g interleavings, %d states, %d pruned, %d ends, %d versions, %d runs, %d rounds\nfaults %v\nendings %v\n%s\n%s",
		r.Pair, r.Interleavings, r.States, r.Pruned, r.Ends, r.Logs, r.Runs, r.Rounds, r.Faults, r.Endings, strings.Join(r.Trace, "\n"), strings.Join(r.Broken, "\n"))
}

// explorer goes through one pair.
type explorer struct {
	pair  Pair
	scope Scope
	hooks *Hooks
	base  *base
	jobs  [2]*job

	programs map[author]*program
	seen     map[identity]float64
	rel      *relation
	checks   *checks

	pruned, ends int
	faults       map[storetest.Kind]int
	endings      map[string]int
	finals       map[identity]bool
	telling      bool
	trace        []string
}

// Check goes through a pair.
func Check(p Pair, scope Scope, hooks *Hooks) *Report {
	x := &explorer{pair: p, scope: scope, hooks: hooks, programs: map[author]*program{}, rel: newRelation(scope.Full)}
	defer x.close()
	x.jobs = p.jobs()
	r := &Report{Pair: p}
	var err error
	if x.base, err = newBase(scope.Vectors); err != nil {
		r.Broken = []string{fmt.Sprintf("make the table: %v", err)}
		return r
	}
	x.checks = newChecks(x)
	for {
		r.Rounds++
		first, err := x.begin()
		if err == nil {
			r.Interleavings, err = x.visit(first)
		}
		if err != nil {
			r.Broken = []string{err.Error()}
			x.rel.next() // what was met counts as known: each operation is a move of its own
			r.Trace = x.shortest()
			break
		}
		if !x.rel.next() {
			break
		}
	}
	r.States, r.Pruned, r.Ends, r.Faults, r.Endings, r.finals = len(x.seen), x.pruned, x.ends, x.faults, x.endings, x.finals
	r.Logs = x.checks.logs
	for _, pr := range x.programs {
		r.Runs += pr.runs
	}
	return r
}

func (x *explorer) close() {
	for _, pr := range x.programs {
		pr.close()
	}
}

func (x *explorer) program(writer, life int) *program {
	by := author{writer, life}
	pr := x.programs[by]
	if pr == nil {
		pr = newProgram(by, x.jobs[writer], writer == 1, x.hooks)
		x.programs[by] = pr
	}
	return pr
}

// begin is the state in which both have opened the table and nothing else has happened.
func (x *explorer) begin() (*state, error) {
	x.seen, x.finals, x.faults = map[identity]float64{}, map[identity]bool{}, map[storetest.Kind]int{}
	x.pruned, x.ends, x.endings = 0, 0, map[string]int{}
	s := &state{disk: x.base.whole}
	for w := range s.seats {
		pr := x.program(w, 0)
		n := pr.root
		from := x.base.whole
		if pr.stale {
			from = x.base.young
		}
		for n.op != nil && n.op.opening {
			_, a := from.perform(n.op, author{w, 0}, Honest)
			next, err := pr.step(n, a)
			if err != nil {
				return nil, err
			}
			n = next
		}
		s.seats[w].at = n
	}
	for w := range s.seats {
		if err := x.settle(s, w); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// visit goes through everything that can follow a state, and counts the ways to an end.
func (x *explorer) visit(s *state) (float64, error) {
	id := s.identity()
	if ways, ok := x.seen[id]; ok {
		x.pruned++
		return ways, nil
	}
	ways := 0.0
	if s.over() {
		x.ends++
		x.finals[id] = true
		for _, seat := range s.seats {
			x.endings[seat.word()]++
		}
		if err := x.checks.end(s); err != nil {
			return 0, err
		}
		if len(s.late) == 0 {
			ways = 1
		}
	}
	for _, m := range x.moves(s) {
		next, err := x.take(s, m)
		if err != nil {
			return 0, err
		}
		more, err := x.visit(next)
		if err != nil {
			return 0, err
		}
		ways += more
	}
	x.seen[id] = ways
	return ways, nil
}
