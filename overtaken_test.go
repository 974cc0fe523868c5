package idem_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
)

// overtaken calls a verb on a table whose slice "d1" holds old. When the call touches the object
// that touch names for the first time, another writer makes the slice hold meanwhile.
func overtaken(t *testing.T, touch func(storetest.Call) bool, old, meanwhile []tabletest.Row, call func(*tabletest.Fixture, *idem.Table) (*idem.Result, error)) (*tabletest.Fixture, *idem.Result) {
	f := tabletest.New(t, 1, tabletest.Definition([]string{"day"}, nil))
	whole := idem.ReplaceWhere{Where: "day = 'd1'", AllowEmpty: true}
	_, err := f.Table.ReplaceWhere(f.Context, tabletest.Again(memory.DefaultAllocator, 0, old...), whole)
	require.NoError(t, err)

	met := false
	faulty := storetest.NewFaulty(f.Store)
	faulty.Before = func(c storetest.Call) storetest.Fault {
		if !met && touch(c) {
			met = true
			_, err := f.Table.ReplaceWhere(f.Context, tabletest.Again(memory.DefaultAllocator, 0, meanwhile...), whole)
			require.NoError(t, err)
		}
		return storetest.Fault{}
	}
	o := f.Options
	o.Random = tabletest.Random(2)
	table, err := idem.OpenStore(f.Context, faulty, o)
	require.NoError(t, err)
	before := f.Table.Version()
	res, err := call(f, table)
	require.NoError(t, err)
	require.True(t, met)
	require.Greater(t, res.Version, before+1, "the answer comes after the other writer's commit")
	return f, res
}

// next is the first look at, or put of, the version after the one that the tables begin with.
func next(c storetest.Call) bool {
	return c.Key == delta.CommitKey(2) && (c.Op == storetest.OpGet || c.Op == storetest.OpPutIfAbsent)
}

func TestWhatLookedUnchangedIsDoneWhenAnotherWriterWasFirst(t *testing.T) {
	here := []tabletest.Row{{Day: "d1", ID: 1, Seq: 1}, {Day: "d1", ID: 2, Seq: 1}}
	other := []tabletest.Row{{Day: "d1", ID: 1, Seq: 0}, {Day: "d1", ID: 7, Seq: 9}}
	merged := []tabletest.Row{here[0], here[1], other[1]}
	once := func(rows []tabletest.Row) array.RecordReader {
		return tabletest.Once(memory.DefaultAllocator, 0, rows...)
	}
	again := func(rows []tabletest.Row) array.RecordReader {
		return tabletest.Again(memory.DefaultAllocator, 0, rows...)
	}
	tag := idem.Txn{AppID: "app", Version: 1}
	replace := idem.ReplaceWhere{Where: "day = 'd1'"}
	merge := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	for _, c := range []struct {
		name      string // what the slice already holds is what is given; then others change it
		old, want []tabletest.Row
		call      func(*tabletest.Fixture, *idem.Table) (*idem.Result, error)
	}{
		{"a replacement from a reader that gives its rows once", here, here, func(f *tabletest.Fixture, t *idem.Table) (*idem.Result, error) {
			return t.ReplaceWhere(f.Context, once(here), replace)
		}},
		{"a replacement from a reader that can be rewound", here, here, func(f *tabletest.Fixture, t *idem.Table) (*idem.Result, error) {
			return t.ReplaceWhere(f.Context, again(here), replace)
		}},
		{"a tagged replacement", here, here, func(f *tabletest.Fixture, t *idem.Table) (*idem.Result, error) {
			return t.ReplaceWhere(f.Context, once(here), idem.ReplaceWhere{Where: "day = 'd1'", Txn: tag})
		}},
		{"a merge", here, merged, func(f *tabletest.Fixture, t *idem.Table) (*idem.Result, error) {
			return t.Merge(f.Context, once(here), merge)
		}},
		{"a tagged merge", here, merged, func(f *tabletest.Fixture, t *idem.Table) (*idem.Result, error) {
			return t.Merge(f.Context, once(here), idem.Merge{On: merge.On, Newer: merge.Newer, Txn: tag})
		}},
		{"a deletion", nil, nil, func(f *tabletest.Fixture, t *idem.Table) (*idem.Result, error) {
			return t.Delete(f.Context, idem.Delete{Where: "day = 'd1'"})
		}},
		{"a tagged deletion", nil, nil, func(f *tabletest.Fixture, t *idem.Table) (*idem.Result, error) {
			return t.Delete(f.Context, idem.Delete{Where: "day = 'd1'", Txn: tag})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			touch := next
			if c.old == nil { // nothing was there to replace, so the table begins one version earlier
				touch = func(c storetest.Call) bool {
					return c.Key == delta.CommitKey(1) && (c.Op == storetest.OpGet || c.Op == storetest.OpPutIfAbsent)
				}
			}
			armed := false
			f, res := overtaken(t, func(s storetest.Call) bool { return armed && touch(s) }, c.old, other, func(f *tabletest.Fixture, table *idem.Table) (*idem.Result, error) {
				armed = true
				return c.call(f, table)
			})
			require.Equal(t, idem.Committed, res.Outcome)
			f.Check(t, tabletest.Of(c.want...))
		})
	}
}

func TestAReplacementThatIsUnchangedLeavesNoFile(t *testing.T) {
	f := tabletest.New(t, 1, tabletest.Definition([]string{"day"}, nil))
	rows := []tabletest.Row{{Day: "d1", ID: 1, Seq: 1}}
	objects := func() (n int) {
		for _, err := range f.Store.List(t.Context(), "", "") {
			require.NoError(t, err)
			n++
		}
		return n
	}
	for n, outcome := range []idem.Outcome{idem.Committed, idem.Unchanged} {
		res, err := f.Table.ReplaceWhere(f.Context, tabletest.Once(memory.DefaultAllocator, 0, rows...), idem.ReplaceWhere{Where: "day = 'd1'"})
		require.NoError(t, err)
		require.Equal(t, outcome, res.Outcome, "call %d", n+1)
		require.Equal(t, 5, objects(), "two commits, their checksums, and one file")
	}
}
