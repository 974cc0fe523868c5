package plan_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/internal/plan"
)

// slice is a condition as the table has it and as the model has it.
type slice struct {
	text string
	in   func(entry) bool
}

func drawSlice(t *rapid.T) slice {
	day := rapid.SampledFrom([]string{"mon", "tue", "wed"}).Draw(t, "day")
	n := rapid.Int64Range(0, 9).Draw(t, "n")
	return rapid.SampledFrom([]slice{
		{fmt.Sprintf("day = '%s'", day), func(e entry) bool { return e.day == day }},
		{fmt.Sprintf("id >= %d", n), func(e entry) bool { return e.id >= 0 && e.id >= n }},
		{fmt.Sprintf("day = '%s' AND id < %d", day, n), func(e entry) bool { return e.day == day && e.id >= 0 && e.id < n }},
		{"v IS NULL", func(e entry) bool { return e.v == "-" }},
		{fmt.Sprintf("nest.a = %d", n), func(e entry) bool { return e.a == n }},
		{"day IS NULL OR id IS NULL", func(e entry) bool { return e.day == "-" || e.id < 0 }},
	}).Draw(t, "slice")
}

func drawEntry(t *rapid.T) entry {
	return entry{
		day: rapid.SampledFrom([]string{"mon", "tue", "wed", "-"}).Draw(t, "day"), id: rapid.Int64Range(-1, 9).Draw(t, "id"),
		v: rapid.SampledFrom([]string{"x", "y", "-"}).Draw(t, "v"), a: rapid.Int64Range(-1, 9).Draw(t, "a"),
	}
}

func drawFeatures(t *rapid.T) features {
	return features{
		mapping: rapid.SampledFrom([]string{"", "name", "id"}).Draw(t, "mapping"), vectors: rapid.Bool().Draw(t, "vectors"),
		feed: rapid.Bool().Draw(t, "feed"), tracking: rapid.Bool().Draw(t, "tracking"), partitioned: rapid.Bool().Draw(t, "partitioned"),
		prefixes: rapid.Bool().Draw(t, "prefixes"), keepPartition: rapid.Bool().Draw(t, "keepPartition"),
	}
}

// update is what becomes of a row.
type update struct {
	column, value string
	to            func(entry) entry
}

func (u update) set(t tester) []plan.MergeAssignment {
	return []plan.MergeAssignment{{Column: u.column, Value: where(t, u.value)}}
}

func drawUpdate(t *rapid.T) update {
	return rapid.SampledFrom([]update{
		{"v", "'z'", func(e entry) entry { e.v = "z"; return e }},
		{"v", "NULL", func(e entry) entry { e.v = "-"; return e }},
		{"day", "'sun'", func(e entry) entry { e.day = "sun"; return e }},
		{"nest.a", "7", func(e entry) entry { e.a = 7; return e }},
	}).Draw(t, "update")
}

// TestVerbsOnEveryTable holds appends, replacements, deletes and updates against a model, on tables
// with every combination of features: the rows, the ids of the rows that stayed, what the change data
// feed tells, and that a second call changes nothing.
func TestVerbsOnEveryTable(t *testing.T) {
	mem := checked(t)
	rapid.Check(t, func(r *rapid.T) {
		f := newFeatured(r, mem, drawFeatures(r))
		f.env.Parallelism = rapid.SampledFrom([]int{1, 4}).Draw(r, "parallelism")
		model := bag{}
		for range rapid.IntRange(1, 5).Draw(r, "calls") {
			was, before := f.snap, maps.Clone(model)
			var ids map[int64]entry
			if f.what.tracking {
				ids = f.ids()
			}
			list := rapid.SliceOfN(rapid.Custom(drawEntry), 0, 12).Draw(r, "rows")
			landed, again, told := step(r, f, model, list)
			require.Equal(r, model, f.rows(), "the rows are the model's")
			if landed && f.what.feed {
				require.Equal(r, told, f.changes(was), "the feed tells what changed")
			} else if !landed {
				require.Equal(r, before, model, "nothing is committed where nothing changes")
			}
			if f.what.tracking {
				stable(r, ids, f.ids(), told)
			}
			if again != nil {
				objects := f.objects()
				require.False(r, again(), "the second call changes nothing")
				require.Equal(r, objects, f.objects(), "and leaves nothing behind")
			}
		}
		f.check()
	})
}

// move is one call, and what the model says of it.
type move struct {
	r     *rapid.T
	f     *featured
	model bag
	told  map[string]int // what the feed should tell
}

func (m *move) tell(kind string, rows bag) {
	for e, n := range rows {
		m.told[kind+" "+e.String()] += n
	}
}

// insert adds rows to the model.
func (m *move) insert(rows bag) {
	for e, n := range rows {
		m.model[e] += n
	}
	m.tell("insert", rows)
}

// step does one call to table and model. again repeats it, nil where that is meant to change rows.
func step(r *rapid.T, f *featured, model bag, list []entry) (landed bool, again func() bool, told map[string]int) {
	m := &move{r: r, f: f, model: model, told: map[string]int{}}
	verbs := []string{"append", "replace", "delete", "all", "update"}
	if f.what.partitioned {
		verbs = append(verbs, "partitions")
	}
	rows := bag{}
	rows.add(list...)
	var call func() bool
	switch rapid.SampledFrom(verbs).Draw(r, "verb") {
	case "append":
		f.append(list...)
		m.insert(rows)
		return len(list) > 0, nil, m.told
	case "replace":
		call = m.replace(rows)
	case "all":
		m.tell("delete", model.where(func(entry) bool { return true }))
		m.insert(rows)
		call = m.calls(func() *plan.Replace { return &plan.Replace{Input: plan.Input{Reader: f.reader(list)}} })
	case "partitions":
		days := map[string]bool{}
		for _, e := range list {
			days[e.day] = true
		}
		m.tell("delete", model.where(func(e entry) bool { return days[e.day] }))
		m.insert(rows)
		call = m.calls(func() *plan.Replace {
			return &plan.Replace{Dynamic: true, Input: plan.Input{Reader: f.reader(list)}}
		})
	case "update":
		call = m.update()
	case "delete":
		s := drawSlice(r)
		m.tell("delete", model.where(s.in))
		call = m.calls(func() *plan.Replace { return &plan.Replace{Where: where(f.t, s.text)} })
	}
	return call(), call, m.told
}

// calls makes a call of a planner that is made anew each time.
func (m *move) calls(p func() *plan.Replace) func() bool {
	return func() bool {
		landed, r := m.f.replace(p())
		if landed {
			require.Equal(m.r, countOf(m.told), r.Counts.Deleted+r.Counts.Inserted)
		}
		return landed
	}
}

func (m *move) replace(rows bag) func() bool {
	s := drawSlice(m.r)
	rows = maps.Clone(rows).where(s.in)
	m.tell("delete", m.model.where(s.in))
	m.insert(rows)
	return m.calls(func() *plan.Replace {
		var list []entry
		for e, n := range rows {
			for range n {
				list = append(list, e)
			}
		}
		return &plan.Replace{Where: where(m.f.t, s.text), Input: plan.Input{Reader: m.f.reader(list)}}
	})
}

func (m *move) update() func() bool {
	s, u := drawSlice(m.r), drawUpdate(m.r)
	for e, n := range m.model.where(s.in) {
		if to := u.to(e); to != e {
			m.told["update_preimage "+e.String()] += n
			m.told["update_postimage "+to.String()] += n
			e = to
		}
		m.model[e] += n
	}
	return func() bool {
		landed, p := m.f.update(&plan.Update{Where: where(m.f.t, s.text), Set: u.set(m.f.t)})
		if landed {
			require.Equal(m.r, countOf(m.told), 2*p.Counts.Updated)
		}
		return landed
	}
}

func countOf(told map[string]int) int64 {
	n := 0
	for _, c := range told {
		n += c
	}
	return int64(n)
}

// stable holds the ids after a commit against those before: a row that was not inserted has the id that
// it had, and no id is given twice.
func stable(r *rapid.T, before, after map[int64]entry, told map[string]int) {
	fresh := map[string]int{}
	for id, e := range after {
		if was, ok := before[id]; ok {
			moved := told["update_preimage "+was.String()] > 0 && told["update_postimage "+e.String()] > 0
			require.True(r, was == e || moved, "the row with the id %d was %s and is %s", id, was, e)
		} else {
			fresh["insert "+e.String()]++
		}
	}
	for change, n := range fresh {
		if strings.HasPrefix(change, "insert ") {
			require.LessOrEqual(r, n, told[change], "only new rows have new ids: %s", change)
		}
	}
}
