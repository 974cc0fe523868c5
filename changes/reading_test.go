package changes_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// TestColumns: those of the feed follow what is asked for, with the types that the package promises.
func TestColumns(t *testing.T) {
	w := newHistory(t, 1)
	for _, c := range []struct {
		columns []string
		want    []string
	}{
		{nil, []string{"id", "v"}},
		{[]string{"V", "id"}, []string{"v", "id"}},
		{[]string{"v"}, []string{"v"}},
		{[]string{"id", "v", "ID"}, []string{"id", "v", "id"}},
		{[]string{}, nil},
	} {
		n := 0
		for batch, err := range changes.Rows(t.Context(), w.open(), changes.Request{Columns: c.columns}) {
			require.NoError(t, err)
			n++
			require.EqualValues(t, 1, batch.NumRows())
			var names []string
			for _, f := range batch.Schema().Fields() {
				names = append(names, f.Name)
			}
			require.Equal(t, append(c.want, changes.TypeColumn, changes.VersionColumn, changes.TimestampColumn), names)
			k := len(c.want)
			require.Equal(t, arrow.STRING, batch.Column(k).DataType().ID())
			require.Equal(t, arrow.INT64, batch.Column(k+1).DataType().ID())
			require.Equal(t, "timestamp[us, tz=UTC]", batch.Column(k+2).DataType().String())
			require.Equal(t, changes.Insert, batch.Column(k).ValueStr(0))
		}
		require.Equal(t, 1, n)
	}
	_, err := w.feed(changes.Request{Columns: []string{"nope"}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, `the table of version 1 has no column "nope"`)
}

// TestOnlyTheColumnsAskedForAreRead: of a wide file a projection costs what it gives.
func TestOnlyTheColumnsAskedForAreRead(t *testing.T) {
	w := newWorld(t)
	w.commit(definition(plain, nil)...)
	long := ""
	for i := range 3000 {
		long += fmt.Sprintf(`,{"id":%d,"v":"%0100d"}`, i, i*7919)
	}
	f := w.file("a", "id:long v:string", "["+long[1:]+"]")
	w.commit(add(f))
	faulty := storetest.NewFaulty(w.st)
	table, err := idem.OpenStore(t.Context(), faulty, idem.Options{Parallelism: 1, Allocator: w.mem})
	require.NoError(t, err)
	bytes := func(columns ...string) (n int64) {
		faulty.Reset()
		w.mem.AssertSize(t, 0)
		for batch, err := range changes.Rows(t.Context(), table, changes.Request{Columns: columns}) {
			require.NoError(t, err)
			n = max(n, int64(w.mem.CurrentAlloc()))
			require.NotZero(t, batch.NumRows())
		}
		return n
	}
	require.Less(t, bytes("id"), bytes("v"))
}

// many is a table with some versions of several files and batches.
func many(t *testing.T) *world {
	w := newWorld(t)
	w.commit(definition(plain, nil)...)
	for v := range 4 {
		a, b := w.rows(fmt.Sprintf("a%d", v), 1, 2, 3, 4, 5), w.rows(fmt.Sprintf("b%d", v), 6, 7, 8)
		w.commit(add(a), add(b))
		w.commit(remove(a), add(under(a, w.vector(1, 3))))
	}
	return w
}

// TestTheConsumerMayStopAnywhere: then nothing more is read, and nothing is left behind.
func TestTheConsumerMayStopAnywhere(t *testing.T) {
	w := many(t)
	all := 0
	for _, err := range changes.Rows(t.Context(), w.open(), changes.Request{}) {
		require.NoError(t, err)
		all++
	}
	require.Greater(t, all, 8)
	for stop := 1; stop <= all; stop++ {
		n := 0
		for _, err := range changes.Rows(t.Context(), w.open(), changes.Request{}) {
			require.NoError(t, err)
			if n++; n == stop {
				break
			}
		}
		require.Equal(t, stop, n)
		w.mem.AssertSize(t, 0)
	}
}

// TestTheEndOfTheContextIsAnError: what came so far is never taken for all.
func TestTheEndOfTheContextIsAnError(t *testing.T) {
	w := many(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for batch, err := range changes.Rows(ctx, w.open(), changes.Request{}) {
		if last = err; err == nil {
			require.NotZero(t, batch.NumRows())
			n++
		}
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, 1, n)
}

// TestFailingReads: each operation of the store fails in turn, for good. The rows that came are the first of
// all rows, and an error follows, or all of them came.
func TestFailingReads(t *testing.T) {
	w := many(t)
	whole, err := w.feed(changes.Request{})
	require.NoError(t, err)
	table, st := func() (*idem.Table, *storetest.Faulty) {
		st := storetest.NewFaulty(w.st)
		table, err := idem.OpenStore(t.Context(), st, idem.Options{Parallelism: 1, Allocator: w.mem, Clock: still{}})
		require.NoError(t, err)
		return table, st
	}()
	first := st.Calls()
	_, err = feed(t.Context(), table, changes.Request{})
	require.NoError(t, err)
	n := st.Calls() - first
	require.Greater(t, n, 20)
	failed := 0
	for i := 1; i <= n; i++ {
		at := st.Calls() + i
		st.Before = func(c storetest.Call) storetest.Fault {
			if c.Index >= at {
				return storetest.Fault{Kind: storetest.FailBefore}
			}
			return storetest.Fault{}
		}
		got, err := feed(t.Context(), table, changes.Request{})
		st.Before = nil
		if err == nil {
			require.Equal(t, whole, got)
			continue
		}
		failed++
		require.Less(t, len(got), len(whole))
		require.NotErrorIs(t, err, idem.ErrInput)
		require.NotErrorIs(t, err, idem.ErrCorrupt)
		w.mem.AssertSize(t, 0)
	}
	require.Greater(t, failed, n/2)
}

// TestReadingTwiceIsTheSame: a sequence may be ranged over again.
func TestReadingTwiceIsTheSame(t *testing.T) {
	w := many(t)
	rows := changes.Rows(t.Context(), w.open(), changes.Request{})
	var counts [2]int64
	for i := range counts {
		for batch, err := range rows {
			require.NoError(t, err)
			counts[i] += batch.NumRows()
		}
	}
	require.EqualValues(t, 4*(8+2), counts[0])
	require.Equal(t, counts[0], counts[1])
}

// TestFilesOutsideTheRoot: those of a shallow clone are read where the caller allows it.
func TestFilesOutsideTheRoot(t *testing.T) {
	base := t.TempDir()
	source, clone := filepath.Join(base, "source"), filepath.Join(base, "clone")
	src, _, err := idem.Create(t.Context(), source, idem.Definition{Schema: modelColumns}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	_, err = src.Append(t.Context(), given(modelColumns, state{1: "a|x", 2: "b|y"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	w := newWorld(t)
	made := definition([]column{{name: "p", typ: "string"}, {name: "id", typ: "long"}, {name: "v", typ: "string"}}, nil)
	for f := range src.Snapshot().Files() {
		there := *f
		there.Path = src.URL() + f.Path
		w.commit(append(made, add(&there))...)
		w.commit(remove(&there))
	}
	dir, err := store.OpenDir(clone)
	require.NoError(t, err)
	for v := range w.version {
		data, err := w.st.Get(t.Context(), delta.CommitKey(v), 1<<20)
		require.NoError(t, err)
		require.NoError(t, dir.PutIfAbsent(t.Context(), delta.CommitKey(v), data))
	}
	table, err := idem.Open(t.Context(), clone, idem.Options{Parallelism: 1, Outside: idem.OutsideBelow(source)})
	require.NoError(t, err)
	got, err := feed(t.Context(), table, changes.Request{})
	require.NoError(t, err)
	require.Equal(t, []string{"a|1|x|insert|0", "b|2|y|insert|0", "a|1|x|delete|1", "b|2|y|delete|1"}, got)
	table, err = idem.Open(t.Context(), clone, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	_, err = feed(t.Context(), table, changes.Request{})
	require.ErrorIs(t, err, idem.ErrUnsupported)
	require.ErrorContains(t, err, "Options.Outside")
}
