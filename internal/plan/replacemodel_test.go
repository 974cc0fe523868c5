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

// step does one call to table and model. again repeats it, nil where that is meant to change rows.
func step(r *rapid.T, f *featured, model bag, list []entry) (landed bool, again func() bool, told map[string]int) {
	told = map[string]int{}
	tell := func(kind string, rows bag) {
		for e, n := range rows {
			told[kind+" "+e.String()] += n
		}
	}
	inserted := bag{}
	var call func() bool
	verbs := []string{"append", "replace", "delete", "all", "update"}
	if f.what.partitioned {
		verbs = append(verbs, "partitions")
	}
	switch rapid.SampledFrom(verbs).Draw(r, "verb") {
	case "append":
		inserted.add(list...)
		f.append(list...)
		model.add(list...)
		tell("insert", inserted)
		return len(list) > 0, nil, told
	case "replace":
		s := drawSlice(r)
		for _, e := range list {
			if s.in(e) {
				inserted[e]++
			}
		}
		call = func() bool {
			var rows []entry
			for e, n := range inserted {
				for range n {
					rows = append(rows, e)
				}
			}
			landed, _ := f.replace(&plan.Replace{Where: where(f.t, s.text), Input: plan.Input{Reader: f.reader(rows)}})
			return landed
		}
		tell("delete", model.where(s.in))
	case "all":
		inserted.add(list...)
		call = func() bool {
			landed, _ := f.replace(&plan.Replace{Input: plan.Input{Reader: f.reader(list)}})
			return landed
		}
		tell("delete", model.where(func(entry) bool { return true }))
	case "partitions":
		inserted.add(list...)
		days := map[string]bool{}
		for _, e := range list {
			days[e.day] = true
		}
		call = func() bool {
			landed, _ := f.replace(&plan.Replace{Dynamic: true, Input: plan.Input{Reader: f.reader(list)}})
			return landed
		}
		tell("delete", model.where(func(e entry) bool { return days[e.day] }))
	case "update":
		s, u := drawSlice(r), drawUpdate(r)
		call = func() bool {
			landed, p := f.update(&plan.Update{Where: where(f.t, s.text), Set: u.set(f.t)})
			if landed {
				require.Equal(r, countOf(told), 2*p.Counts.Updated)
			}
			return landed
		}
		for e, n := range model.where(s.in) {
			if to := u.to(e); to != e {
				told["update_preimage "+e.String()] += n
				told["update_postimage "+to.String()] += n
				e = to
			}
			model[e] += n
		}
		return call(), call, told
	case "delete":
		s := drawSlice(r)
		call = func() bool {
			landed, p := f.replace(&plan.Replace{Where: where(f.t, s.text)})
			if landed {
				require.Equal(r, countOf(told), p.Counts.Deleted)
			}
			return landed
		}
		tell("delete", model.where(s.in))
	}
	for e, n := range inserted {
		model[e] += n
	}
	tell("insert", inserted)
	return call(), call, told
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
