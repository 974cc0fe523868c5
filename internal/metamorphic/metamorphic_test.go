package metamorphic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// TestOperations does random operations on a table under random options, each twice, and holds what
// the table is after each against a model.
func TestOperations(t *testing.T) { rapid.Check(t, inOneWorld(t.TempDir(), nil)) }

// inOneWorld is a history of a table against the model. wrong makes operations of a kind wrong, for tests
// of this test.
func inOneWorld(dir string, wrong *mistake) func(t *rapid.T) {
	return func(t *rapid.T) {
		d := demands{mapped: rapid.Bool().Draw(t, "mapped"), widening: rapid.Bool().Draw(t, "widening"), partitioned: rapid.Bool().Draw(t, "partitions")}
		d.flat = !d.partitioned
		how := drawHanding(t)
		how.halves = false
		run(t, dir, d, []layout{drawLayout(t, d)}, []handing{how}, wrong)
	}
}

// TestOptionsDoNotMatter does one history under several sets of options: after each operation every table
// holds the same rows, and every call ends in the same way.
func TestOptionsDoNotMatter(t *testing.T) {
	share(t, worlds)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := drawDemands(t)
		var all []layout
		var how []handing
		for i := range worlds {
			all, how = append(all, drawLayout(t, d)), append(how, handing{batch: i, again: i > 0})
		}
		run(t, dir, d, all, how, nil)
	})
}

// TestInputDoesNotMatter does one history with rows that are handed in in several ways.
func TestInputDoesNotMatter(t *testing.T) {
	share(t, worlds)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := drawDemands(t)
		l := drawLayout(t, d)
		how := []handing{{}}
		for range worlds - 1 {
			how = append(how, drawHanding(t))
		}
		run(t, dir, d, []layout{l, l, l}, how, nil)
	})
}

// worlds is the number of tables of one history.
const worlds = 3

func drawDemands(t *rapid.T) demands {
	d := demands{mapped: rapid.Bool().Draw(t, "mapped"), widening: rapid.Bool().Draw(t, "widening")}
	switch rapid.IntRange(0, 2).Draw(t, "partitions") { // of all, of none, of some
	case 0:
		d.partitioned = true
	case 1:
		d.flat = true
	}
	return d
}

// run draws a history and does it in all worlds.
func run(t *rapid.T, dir string, d demands, all []layout, how []handing, wrong *mistake) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	h := &history{states: []*state{firstState(d)}, calls: []string{"Create"}, demand: d}
	for i, l := range all {
		w, err := newWorld(t.Context(), dir, mem, l, how[i])
		if err != nil {
			t.Fatalf("create: %v\n%s", err, l)
		}
		h.worlds = append(h.worlds, w)
	}
	h.sync()
	t.Repeat(h.actions(wrong))
	for _, w := range h.worlds {
		h.fail(t, w, w.end())
	}
	mem.AssertSize(t, 0)
}

// fail ends a history with its story.
func (h *history) fail(t *rapid.T, w *world, err error) {
	if err == nil {
		return
	}
	others := ""
	for _, o := range h.worlds {
		if o != w {
			others += fmt.Sprintf("\nand beside it: %s\nrows handed in: %s", o.layout, o.handing)
		}
	}
	t.Fatalf("call %d: %v\n\ntable: %s\nrows handed in: %s%s\n%s", len(h.states)-1, err, w.layout, w.handing, others, h.story())
}

// sync has the model know what every table can do.
func (h *history) sync() {
	s := h.now()
	s.mapped, s.widening = true, true
	for _, w := range h.worlds {
		s.mapped, s.widening = s.mapped && w.mapped(), s.widening && w.is("delta.enableTypeWidening")
	}
}

// actions are the kinds of operations, each as often as it weighs; beside a mistake there are appends.
func (h *history) actions(wrong *mistake) map[string]func(*rapid.T) {
	out := map[string]func(*rapid.T){}
	for _, v := range verbs {
		if wrong != nil && v.name != wrong.kind && v.name != "append" {
			continue
		}
		for i := range v.weight {
			out[fmt.Sprint(v.name, " ", i)] = func(t *rapid.T) {
				o := h.draw(t, v.draw)
				if o == nil {
					t.Skip()
				}
				if wrong != nil && v.name == wrong.kind {
					wrong.spoil(o)
				}
				h.step(t, o)
			}
		}
	}
	return out
}

// step does an operation, and then the same again.
func (h *history) step(t *rapid.T, o *op) {
	firsts := h.both(t, o, nil)
	again := *o
	if again.wait = time.Minute; o.floor != nil {
		again.wait = 0 // nothing more expires
	}
	h.both(t, &again, firsts)
	p := h.drawProbes(t)
	for _, w := range h.worlds {
		h.fail(t, w, w.probe(h, p))
	}
}

// both does an operation in the model and in all worlds.
func (h *history) both(t *rapid.T, o *op, firsts []answer) (got []answer) {
	want := h.expect(o, firsts != nil)
	columns := ""
	for i, w := range h.worlds {
		var first *answer
		if firsts != nil {
			first = &firsts[i]
		}
		w.columns = ""
		a, err := w.act(h, o, want, first)
		h.fail(t, w, err)
		if got = append(got, a); i == 0 {
			columns = w.columns
		}
		if w.columns != columns {
			h.fail(t, w, fmt.Errorf("it names the columns %s, and beside it %s", w.columns, columns))
		}
	}
	h.sync()
	if o.floor != nil {
		o.floor(h)
	}
	return got
}
