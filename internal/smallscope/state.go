package smallscope

import (
	"errors"
	"fmt"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
)

// seat is where a writer stands.
type seat struct {
	life int
	at   *node
	dead bool // it died in a call that nobody may repeat
}

func (s seat) ended() bool { return s.dead || s.at.op == nil }

// word is what the caller was told, in a word.
func (s seat) word() string {
	if s.dead {
		return "crashed"
	}
	e := s.at.end
	if e.err == nil {
		return e.outcome.String()
	}
	for _, k := range []error{idem.ErrUnknownOutcome, idem.ErrConflict, idem.ErrRestored, idem.ErrPayload, idem.ErrInput, storetest.ErrInjected} {
		if errors.Is(e.err, k) {
			return k.Error()
		}
	}
	return "another error"
}

// state is everything at one moment.
type state struct {
	disk   *disk
	seats  [2]seat
	late   []late
	faults int
}

// identity tells states apart. There are tens of millions of some pairs: it is as short as can be.
type identity [2]uint64

func (s *state) identity() identity {
	var at [2]uint64
	for i, w := range s.seats {
		at[i] = w.at.id
		if w.dead {
			at[i] = mix(w.at.id, uint64(w.life))
		}
	}
	rest := uint64(s.faults)
	for _, l := range s.late {
		rest += mix(newObject(l.op.key, l.op.data, now, l.by).sum, 2) << 8
	}
	return s.disk.identity(at, rest)
}

// identity tells apart where two writers are on a disk, and what else there is.
func (d *disk) identity(at [2]uint64, rest uint64) identity {
	return identity{mix(d.sum, at[0], at[1], rest), mix(rest, at[1], at[0], d.sum)}
}

func (s *state) over() bool { return s.seats[0].ended() && s.seats[1].ended() }

// move is one choice: whose operation, and what becomes of it; or that an effect lands.
type move struct {
	who   int
	fault storetest.Kind
	lands int // 1 + the place of the effect that lands
}

// moves are the choices that there are. A writer that waits for a fault alone goes first: what becomes of its
// operation is nothing to anybody else, so that the order does not matter.
func (x *explorer) moves(s *state) []move {
	var out []move
	for w, seat := range s.seats {
		if seat.ended() {
			continue
		}
		own := []move{{who: w}}
		if s.faults < x.scope.Faults {
			for _, k := range seat.at.mayFail() {
				if k == storetest.LateEffect {
					x.rel.sent(seat.at.op)
				}
				own = append(own, move{who: w, fault: k})
			}
		}
		if !x.rel.turns(w, seat.at) {
			return own
		}
		out = append(out, own...)
	}
	for i := range s.late {
		out = append(out, move{lands: i + 1})
	}
	return out
}

// waits says whether a writer stops before its operation for others, or for a fault.
func (x *explorer) waits(s *state, w int) bool {
	at := s.seats[w].at
	return x.rel.turns(w, at) || s.faults < x.scope.Faults && at.mayFail() != nil
}

// take is the state after a move, each writer before an operation for which it waits.
func (x *explorer) take(s *state, m move) (*state, error) {
	next := &state{disk: s.disk, seats: s.seats, late: s.late, faults: s.faults}
	if m.lands > 0 {
		l := s.late[m.lands-1]
		next.late = append(append([]late(nil), s.late[:m.lands-1]...), s.late[m.lands:]...)
		var a *answer
		next.disk, a = s.disk.perform(l.op, l.by, x.hooks.lie())
		x.tell("what writer %d sent lands: %s %s -> %s", l.by.writer+1, l.op.kind, short(l.op.key), a.word())
		return next, nil
	}
	if m.fault != storetest.None {
		next.faults++
		x.faults[m.fault]++
	}
	if err := x.operate(next, m); err != nil {
		return nil, err
	}
	for w := range next.seats { // also the other one, if it waited for a fault that cannot come any more
		if err := x.settle(next, w); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// settle lets a writer go on up to where it waits.
func (x *explorer) settle(s *state, w int) error {
	for !s.seats[w].ended() && !x.waits(s, w) {
		if err := x.operate(s, move{who: w}); err != nil {
			return err
		}
	}
	return nil
}

// operate carries out one operation of a writer.
func (x *explorer) operate(s *state, m move) error {
	seat := &s.seats[m.who]
	n, by := seat.at, author{m.who, seat.life}
	if rule := n.protocol(s.disk); rule != "" {
		x.tellOp(m, n, nil)
		return fmt.Errorf("writer %d: %s", m.who+1, rule)
	}
	var a *answer
	switch m.fault {
	case storetest.None:
		s.disk, a = s.disk.perform(n.op, by, x.hooks.lie())
	case storetest.CrashBefore, storetest.CrashAfter:
		if m.fault == storetest.CrashAfter {
			s.disk, _ = s.disk.perform(n.op, by, x.hooks.lie())
		}
		x.tellOp(m, n, nil)
		return x.restart(seat, m.who)
	case storetest.LateEffect:
		s.late = append(s.late[:len(s.late):len(s.late)], late{n.op, by})
		fallthrough
	default:
		s.disk, a = s.disk.befall(m.fault, n.op, by, x.hooks.lie())
	}
	return x.goOn(seat, m, a)
}

func (x *explorer) goOn(seat *seat, m move, a *answer) error {
	n := seat.at
	next, err := x.program(m.who, seat.life).step(n, a)
	if err != nil {
		return err
	}
	x.tellOp(m, n, a)
	if seat.at = next; next.op == nil {
		x.tell("%swriter %d ends: %s", strings.Repeat(" ", 40*m.who), m.who+1, next.end)
	}
	return nil
}

// restart is what follows a crash.
func (x *explorer) restart(seat *seat, w int) error {
	if !x.jobs[w].repeatable() {
		seat.dead = true
		return nil
	}
	seat.life++
	seat.at = x.program(w, seat.life).root
	x.tell("%swriter %d starts again", strings.Repeat(" ", 40*w), w+1)
	return nil
}
