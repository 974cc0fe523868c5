package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// place is where in a history something is decided: the op-th operation of the run-th run of a job by
// a writer. What happens there depends on the seed and on the place alone, so that a history can be
// run again with parts of it left out.
type place struct{ writer, job, run, op int }

func (p place) String() string { return fmt.Sprintf("%d.%d.%d.%d", p.writer, p.job, p.run, p.op) }

func parsePlace(text string) (p place, err error) {
	fields := strings.Split(text, ".")
	if len(fields) != 4 {
		return p, fmt.Errorf("place %q has %d numbers, not 4", text, len(fields))
	}
	for i, at := range []*int{&p.writer, &p.job, &p.run, &p.op} {
		if *at, err = strconv.Atoi(fields[i]); err != nil {
			return p, fmt.Errorf("place %q: %w", text, err)
		}
	}
	return p, nil
}

// dice give the numbers of a history: one stream for what is drawn before it begins, one for who goes
// on, and one for each place.
type dice struct {
	seed  uint64
	plan  *rand.Rand
	turns *rand.Rand
	src   rand.PCG
	here  *rand.Rand // of the place asked for last
}

func newDice(seed, salt uint64) *dice {
	d := &dice{seed: seed, plan: rand.New(rand.NewPCG(seed, 0x51)), turns: rand.New(rand.NewPCG(seed, 0x7a^salt<<8))}
	d.here = rand.New(&d.src)
	return d
}

// at gives the stream of a place, to be used up before the next place is asked for.
func (d *dice) at(p place) *rand.Rand {
	h := d.seed*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019
	for _, n := range [...]int{p.writer, p.job, p.run, p.op} {
		h ^= uint64(n + 7)
		h *= 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	d.src.Seed(h, d.seed)
	return d.here
}

// Cut says which parts of a history are kept, and which of its schedules is taken. The zero Cut keeps
// all.
type Cut struct {
	some    bool    // what follows counts
	writers []int   // those that are kept, from 0
	jobs    []int   // the jobs that are kept
	places  []place // where something may go wrong
	salt    uint64  // another schedule
	calm    bool    // writers take turns as rarely as they can
}

func (c Cut) keepsJob(n int) bool { return !c.some || slices.Contains(c.jobs, n) }

func (c Cut) keepsWriter(n int) bool { return !c.some || slices.Contains(c.writers, n) }

func (c Cut) keepsPlace(p place) bool { return !c.some || slices.Contains(c.places, p) }

// String is the cut as ParseCut takes it, "" for the zero Cut.
func (c Cut) String() string {
	if !c.some {
		return ""
	}
	at := make([]string, len(c.places))
	for i, p := range c.places {
		at[i] = p.String()
	}
	return fmt.Sprintf("%s/%s/%s/%d/%t", numbers(c.writers), numbers(c.jobs), strings.Join(at, ","), c.salt, c.calm)
}

func numbers(list []int) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, ",")
}

func parseNumbers(text string) (list []int, err error) {
	for _, t := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(t)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// ParseCut reads the text of a cut.
func ParseCut(text string) (Cut, error) {
	if text == "" {
		return Cut{}, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) != 5 {
		return Cut{}, fmt.Errorf("cut %q has %d parts, not 5", text, len(parts))
	}
	c := Cut{some: true, calm: parts[4] == "true"}
	var errs [3]error
	c.writers, errs[0] = parseNumbers(parts[0])
	c.jobs, errs[1] = parseNumbers(parts[1])
	c.salt, errs[2] = strconv.ParseUint(parts[3], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return Cut{}, fmt.Errorf("cut %q: %w", text, err)
	}
	for _, t := range strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' }) {
		p, err := parsePlace(t)
		if err != nil {
			return Cut{}, fmt.Errorf("cut %q: %w", text, err)
		}
		c.places = append(c.places, p)
	}
	return c, nil
}
