package plan_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/plan"
)

// appended appends rows and gives the key of the one file that they are in.
func (f *featured) appended(list ...entry) string {
	f.append(list...)
	var keys []string
	for _, a := range f.last {
		if a.Add != nil {
			keys = append(keys, f.key(a.Add.Path))
		}
	}
	require.Len(f.t, keys, 1)
	return keys[0]
}

// foreign is a file of another writer, with ids in a range; without statistics if there is none.
func foreign(day string, ids ...int) *delta.Add {
	a := &delta.Add{Path: "foreign", Key: "foreign", Size: 1, PartitionValues: map[string]*string{"day": &day}}
	if len(ids) > 0 {
		a.Stats = fmt.Sprintf(`{"numRecords":2,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}}`, ids[0], ids[1])
	}
	return a
}

// TestWhatAReplacementSaysItRead: the files that it looked at, whether or not a row of them was in the
// slice, and those of others that may hold rows of it. So it is also where nothing is to be done, since a
// tag is committed for that.
func TestWhatAReplacementSaysItRead(t *testing.T) {
	mem := checked(t)
	at2 := []entry{{"mon", 2, "x", 1}, {"mon", 2, "y", 2}}
	lies, placeless := foreign("mon", 4, 9), foreign("mon")
	lies.Stats = `{"numRecords":`
	placeless.PartitionValues = nil
	for _, c := range []struct {
		why         string
		partitioned bool
		where       string
		dynamic     bool
		given       []entry // nil: a delete
		files       []int
		whole, acts bool
		with        []*delta.Add // may hold rows of the slice
		without     []*delta.Add
	}{
		{"a slice", false, "id = 2", false, week[1:2], []int{0, 1, 2}, false, true,
			[]*delta.Add{foreign("mon", 2, 2), foreign("mon", 1, 3), foreign("mon"), lies}, []*delta.Add{foreign("mon", 3, 9), foreign("mon", 0, 1)}},
		{"a slice that holds the rows", false, "id = 2", false, at2, []int{0, 1, 2}, false, false,
			[]*delta.Add{foreign("mon", 2, 2), foreign("mon", 1, 3), foreign("mon"), lies}, []*delta.Add{foreign("mon", 3, 9)}},
		{"rows that go", false, "id = 2", false, nil, []int{0, 1, 2}, false, true,
			[]*delta.Add{foreign("mon", 2, 2), foreign("mon")}, []*delta.Add{foreign("mon", 3, 9)}},
		{"no rows that go", false, "id = 4", false, nil, nil, false, false,
			[]*delta.Add{foreign("mon", 4, 4), foreign("mon")}, []*delta.Add{foreign("mon", 2, 3)}},
		{"a partition", true, "day = 'mon'", false, week[:1], []int{0, 1, 2}, false, true,
			[]*delta.Add{foreign("mon", 7, 7), foreign("mon"), placeless}, []*delta.Add{foreign("tue")}},
		{"the table", false, "", false, week[:1], []int{0, 1, 2, 3}, true, true, nil, nil},
		{"the table that holds the rows", false, "", false, append(slices.Clone(at2), entry{"mon", 1, "x", 1}, entry{"mon", 1, "x", 1}, entry{"mon", 3, "x", 1}, entry{"mon", 3, "x", 1},
			entry{"tue", 5, "x", 5}, entry{"tue", 6, "y", -1}), []int{0, 1, 2, 3}, true, false, nil, nil},
		{"the partitions of the rows", true, "", true, week[:1], []int{0, 1, 2}, false, true,
			[]*delta.Add{foreign("mon", 7, 7), foreign("mon"), placeless}, []*delta.Add{foreign("tue")}},
		{"the partitions of the rows that hold them", true, "", true, week[4:6], []int{3}, false, false,
			[]*delta.Add{foreign("tue", 7, 7), foreign("tue")}, []*delta.Add{foreign("mon")}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newFeatured(t, mem, features{partitioned: c.partitioned})
			keys := []string{
				f.appended(entry{"mon", 1, "x", 1}, at2[0], entry{"mon", 3, "x", 1}), f.appended(entry{"mon", 1, "x", 1}, entry{"mon", 3, "x", 1}), f.appended(at2[1]), f.appended(week[4:6]...),
			}
			p := &plan.Replace{Env: f.env, Dynamic: c.dynamic}
			if c.where != "" {
				p.Where = where(t, c.where)
			}
			if c.given != nil {
				p.Input.Reader = f.reader(c.given)
			}
			proposal, err := p.Plan(t.Context(), f.snap)
			require.NoError(t, err)
			defer p.Close()
			require.Equal(t, c.acts, len(proposal.Actions) > 0)
			var read []string
			for key := range proposal.Reads.Files {
				read = append(read, key)
			}
			var want []string
			for _, i := range c.files {
				want = append(want, keys[i])
			}
			require.ElementsMatch(t, want, read)
			require.Equal(t, c.whole, proposal.Reads.WholeTable)
			for _, a := range c.with {
				require.True(t, proposal.Reads.Touches(a), "%v", a)
			}
			for _, a := range c.without {
				require.False(t, proposal.Reads.Touches(a), "%v", a)
			}
		})
	}
}

// TestWhatAMergeSaysItRead: every file that may hold a key of the source, also one in which no row changes since
// the table's is newer: were it taken away meanwhile, the row of the source would be due.
func TestWhatAMergeSaysItRead(t *testing.T) {
	mem := checked(t)
	for _, c := range []struct {
		why   string
		given []entry
		files []int
		acts  bool
	}{
		{"a newer row and an older one", []entry{{"mon", 1, "y", 1}, {"mon", 5, "a", 1}}, []int{0, 1}, true},
		{"an older row", []entry{{"mon", 5, "a", 1}}, []int{1}, false},
		{"a new row between others", []entry{{"mon", 6, "a", 1}}, []int{1}, true},
		{"a new row beside all others", []entry{{"mon", 50, "a", 1}}, nil, true},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newFeatured(t, mem, features{})
			keys := []string{
				f.appended(entry{"mon", 1, "x", 1}, entry{"mon", 2, "x", 1}), f.appended(entry{"mon", 5, "x", 1}, entry{"mon", 7, "x", 1}), f.appended(entry{"mon", 100, "x", 1}),
			}
			p := &plan.Merge{Env: f.env, Input: plan.Input{Reader: f.reader(c.given)}, Request: plan.MergeRequest{On: []string{"id"}, Newer: []string{"v"}}}
			defer func() { require.NoError(t, p.Close()) }()
			proposal, err := p.Plan(t.Context(), f.snap)
			require.NoError(t, err)
			require.Equal(t, c.acts, len(proposal.Actions) > 0)
			var read, want []string
			for key := range proposal.Reads.Files {
				read = append(read, key)
			}
			for _, i := range c.files {
				want = append(want, keys[i])
			}
			require.ElementsMatch(t, want, read)
			last := int(c.given[len(c.given)-1].id)
			for _, a := range []*delta.Add{foreign("mon", last, last), foreign("tue", last-1, last+1), foreign("mon")} {
				require.True(t, proposal.Reads.Touches(a), "%v", a)
			}
			require.False(t, proposal.Reads.Touches(foreign("mon", 200, 300)))
		})
	}
}

// TestARowCountThatShrinks: MaxShrink is the fraction that is too much, and no row less.
func TestARowCountThatShrinks(t *testing.T) {
	mem := checked(t)
	for _, c := range []struct {
		why     string
		most    float64
		given   int // of four rows
		refused bool
	}{
		{"off", 0, 1, false},
		{"just that fraction", 0.5, 2, true},
		{"a row less of it", 0.5, 3, false},
		{"more than it", 0.5, 1, true},
		{"a fraction that is no row", 0.2, 3, true},
		{"as many rows", 0.2, 4, false},
		{"more rows", 0.2, 6, false},
		{"all but none", 1, 1, false},
		{"none, which is all", 1, 0, true},
	} {
		for _, slice := range []expr.Expr{nil, mustParse("id >= 0")} {
			t.Run(fmt.Sprintf("%s, whole=%t", c.why, slice == nil), func(t *testing.T) {
				f := newFeatured(t, mem, features{})
				f.append(week[:4]...)
				given := make([]entry, c.given)
				for i := range given {
					given[i] = entry{"sun", int64(i), "n", 1}
				}
				p := &plan.Replace{Env: f.env, Where: slice, AllowEmpty: true, MaxShrink: c.most, Input: plan.Input{Reader: f.reader(given)}}
				proposal, err := p.Plan(t.Context(), f.snap)
				p.Close()
				if c.refused {
					require.ErrorIs(t, err, delta.ErrInput)
					require.ErrorContains(t, err, fmt.Sprintf("has 4 rows and the input only %d", c.given))
					require.Len(t, f.objects(), 1, "what was written is removed")
					return
				}
				require.NoError(t, err)
				require.True(t, f.land(proposal))
				require.Len(t, f.rows(), c.given)
			})
		}
	}
	f := newFeatured(t, mem, features{})
	empty, p := f.replace(&plan.Replace{Where: mustParse("id >= 0"), MaxShrink: 1, Input: plan.Input{Reader: f.reader(nil)}})
	require.False(t, empty, "of no rows none are lost")
	require.Zero(t, p.Counts.Inserted)
}

// TestRowsForWhichAConditionIsNullStay: a slice is the rows for which its condition is TRUE.
func TestRowsForWhichAConditionIsNullStay(t *testing.T) {
	mem := checked(t)
	null := []entry{{"mon", -1, "x", 2}, {"mon", -1, "y", 4}}
	for _, what := range everyTable() {
		f := newFeatured(t, mem, what)
		f.append(entry{"mon", 1, "x", 1}, null[0], entry{"mon", 6, "x", 3}, null[1])
		landed, p := f.replace(&plan.Replace{Where: where(t, "id >= 5")})
		require.True(t, landed)
		require.EqualValues(t, 1, p.Counts.Deleted)
		want := bag{}
		want.add(append(null, entry{"mon", 1, "x", 1})...)
		require.Equal(t, want, f.rows(), "%s", what)

		landed, p = f.replace(&plan.Replace{Where: where(t, "id < 5"), Input: plan.Input{Reader: f.reader([]entry{{"mon", 2, "z", 2}})}})
		require.True(t, landed)
		require.EqualValues(t, 1, p.Counts.Deleted)
		want = bag{}
		want.add(append(null, entry{"mon", 2, "z", 2})...)
		require.Equal(t, want, f.rows(), "%s", what)
		f.check()
	}
}

// TestRowsThatDifferWhenTheyAreReadAgainAreRefused: what was compared with the slice is what is written, or
// nothing is.
func TestRowsThatDifferWhenTheyAreReadAgainAreRefused(t *testing.T) {
	mem := checked(t)
	first := []entry{{"sun", 1, "n", 1}, {"sun", 2, "n", 2}}
	for _, c := range []struct {
		why     string
		again   []entry
		refused bool
	}{
		{"the same rows", first, false},
		{"in another order", []entry{first[1], first[0]}, false},
		{"another value", []entry{first[0], {"sun", 2, "o", 2}}, true},
		{"a row less", first[:1], true},
		{"a row more", append(slices.Clone(first), first[0]), true},
		{"no row", nil, true},
	} {
		for _, slice := range []expr.Expr{nil, mustParse("day = 'sun'")} {
			t.Run(fmt.Sprintf("%s, whole=%t", c.why, slice == nil), func(t *testing.T) {
				f := newFeatured(t, mem, features{})
				f.append(week...)
				in := f.reader(first)
				given := &struct{ array.RecordReader }{in}
				p := &plan.Replace{Env: f.env, Where: slice, Input: plan.Input{Reader: given, Rewind: func(context.Context) error {
					given.RecordReader = f.reader(c.again)
					return nil
				}}}
				proposal, err := p.Plan(t.Context(), f.snap)
				p.Close()
				if c.refused {
					require.ErrorIs(t, err, delta.ErrInput)
					require.ErrorContains(t, err, "must repeat itself")
					require.Len(t, f.objects(), 1, "what was written is removed")
					return
				}
				require.NoError(t, err)
				require.True(t, f.land(proposal))
			})
		}
	}
}
