package changes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/maintain"
)

// newHistory is a table whose version v, of minute v, adds the row v.
func newHistory(t *testing.T, last int, properties ...string) *world {
	w := newWorld(t)
	w.commit(definition(plain, nil, properties...)...)
	for v := 1; v <= last; v++ {
		w.commit(add(w.rows(fmt.Sprintf("f%d", v), v)))
	}
	return w
}

// inserts are the lines of the versions first to last of newHistory.
func inserts(first, last int) []string {
	out := []string{}
	for v := first; v <= last; v++ {
		out = append(out, fmt.Sprintf("%d|v%d|insert|%d", v, v, v))
	}
	return out
}

func minute(n float64) changes.Bound {
	return changes.Time(start.Add(time.Duration(n * float64(time.Minute))))
}

// TestBounds: the table has the versions 0 to 5; version v is of minute v, and 0 adds no row.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		from, to    changes.Bound
		first, last int
		fails       string
	}{
		"all":                       {first: 1, last: 5},
		"from a version":            {from: changes.Version(3), first: 3, last: 5},
		"to a version":              {to: changes.Version(3), first: 1, last: 3},
		"one version":               {from: changes.Version(2), to: changes.Version(2), first: 2, last: 2},
		"from an exact time":        {from: minute(3), first: 3, last: 5},
		"from between versions":     {from: minute(2.5), first: 3, last: 5},
		"from before the table":     {from: minute(-60), first: 1, last: 5},
		"to an exact time":          {to: minute(3), first: 1, last: 3},
		"to between versions":       {to: minute(3.5), first: 1, last: 3},
		"to the future":             {to: minute(1e6), first: 1, last: 5},
		"times":                     {from: minute(1.5), to: minute(4.5), first: 2, last: 4},
		"a version and a time":      {from: changes.Version(2), to: minute(4), first: 2, last: 4},
		"a time and a version":      {from: minute(2), to: changes.Version(4), first: 2, last: 4},
		"the zero time is no bound": {from: changes.Time(time.Time{}), first: 1, last: 5},

		"from the future":         {from: changes.Version(6), fails: "version 6 is not there yet: the newest is 5"},
		"from a future time":      {from: minute(5.1), fails: "no version was committed at 2024-05-01T00:05:06Z or later: the newest, 5, is of 2024-05-01T00:05:00Z"},
		"to the next version":     {to: changes.Version(6), fails: "version 6 is not there yet"},
		"backwards":               {from: changes.Version(3), to: changes.Version(2), fails: "no version from 3 to 2"},
		"negative":                {from: changes.Version(-1), fails: "versions count from 0"},
		"to a negative":           {to: changes.Version(-1), fails: "versions count from 0"},
		"to before the table":     {to: minute(-1), fails: "no version of the range was committed at 2024-04-30T23:59:00Z or before"},
		"a time without versions": {from: minute(2.2), to: minute(2.8), fails: "was committed"},
	} {
		for _, own := range []string{"false", "true"} {
			t.Run(name+", times in commits "+own, func(t *testing.T) {
				w := newHistory(t, 5, "delta.enableInCommitTimestamps", own)
				if own == "true" { // those of the files are of no account
					w.now = start.Add(240 * time.Hour)
					for v := range w.version {
						data, err := w.st.Get(t.Context(), delta.CommitKey(v), 1<<20)
						require.NoError(t, err)
						require.NoError(t, w.st.Put(t.Context(), delta.CommitKey(v), data))
					}
				}
				got, err := w.feed(changes.Request{From: c.from, To: c.to})
				if c.fails != "" {
					require.ErrorIs(t, err, idem.ErrInput)
					require.ErrorContains(t, err, c.fails)
					return
				}
				require.NoError(t, err)
				require.Equal(t, inserts(c.first, c.last), got)
			})
		}
	}
}

// TestBoundsAroundTheFirstTimestampInACommit: the versions 0 to 2 have no time but that of their files,
// which a copy of the table has made young; 3 and later have their own.
func TestBoundsAroundTheFirstTimestampInACommit(t *testing.T) {
	w := newHistory(t, 2)
	on := definition(plain, nil, "delta.enableInCommitTimestamps", "true", "delta.inCommitTimestampEnablementVersion", "3",
		"delta.inCommitTimestampEnablementTimestamp", fmt.Sprint(start.Add(3*time.Minute).UnixMilli()))
	w.commit(append(on, add(w.rows("f3", 3)))...)
	w.commit(add(w.rows("f4", 4)))
	w.now = start.Add(240 * time.Hour)
	for v := range w.version {
		data, err := w.st.Get(t.Context(), delta.CommitKey(v), 1<<20)
		require.NoError(t, err)
		require.NoError(t, w.st.Put(t.Context(), delta.CommitKey(v), data))
	}
	for name, c := range map[string]struct {
		from, to    changes.Bound
		first, last int
	}{
		"from the first":    {minute(3), changes.Bound{}, 3, 4},
		"from later":        {minute(3.5), changes.Bound{}, 4, 4},
		"from before":       {minute(2), changes.Bound{}, 1, 4},
		"to the first":      {changes.Bound{}, minute(3), 1, 3},
		"to just before it": {changes.Bound{}, minute(2.99999), 1, 2},
	} {
		got, err := w.feed(changes.Request{From: c.from, To: c.to})
		require.NoError(t, err, name)
		require.Equal(t, inserts(c.first, c.last), got, name)
	}
}

func TestTheTimesOfVersions(t *testing.T) {
	for _, own := range []string{"false", "true"} {
		w := newHistory(t, 3, "delta.enableInCommitTimestamps", own)
		seen := 0
		for batch, err := range changes.Rows(t.Context(), w.open(), changes.Request{From: changes.Version(2)}) {
			require.NoError(t, err)
			seen++
			require.Equal(t, start.Add(time.Duration(1+seen)*time.Minute).Format("2006-01-02T15:04:05Z"), batch.Column(4).ValueStr(0))
		}
		require.Equal(t, 2, seen)
	}
}

// TestViewsEndWithTheirVersion: what came later is not there for them.
func TestViewsEndWithTheirVersion(t *testing.T) {
	w := newHistory(t, 5)
	view, err := w.open().At(t.Context(), 3)
	require.NoError(t, err)
	got, err := feed(t.Context(), view, changes.Request{From: changes.Version(2)})
	require.NoError(t, err)
	require.Equal(t, inserts(2, 3), got)
	got, err = feed(t.Context(), view, changes.Request{From: minute(0.5), To: minute(9)})
	require.NoError(t, err)
	require.Equal(t, inserts(1, 3), got)
	_, err = feed(t.Context(), view, changes.Request{To: changes.Version(4)})
	require.ErrorIs(t, err, idem.ErrInput)
}

// TestNewVersionsAreSeen: a table that was opened before they came looks for them.
func TestNewVersionsAreSeen(t *testing.T) {
	w := newHistory(t, 2)
	table := w.open()
	w.commit(add(w.rows("f3", 3)))
	got, err := feed(t.Context(), table, changes.Request{From: changes.Version(2)})
	require.NoError(t, err)
	require.Equal(t, inserts(2, 3), got)
}

// cleaned is newHistory whose log begins with the checkpoint and the commit of version 3.
func cleaned(t *testing.T, third func(w *world) []delta.Action) *world {
	w := newHistory(t, 2)
	w.commit(third(w)...)
	_, err := maintain.Checkpoint(t.Context(), w.open())
	require.NoError(t, err)
	w.commit(add(w.rows("f4", 4)))
	w.commit(add(w.rows("f5", 5)))
	require.NoError(t, w.st.Delete(t.Context(), delta.CommitKey(0), delta.CommitKey(1), delta.CommitKey(2)))
	return w
}

func TestALogThatWasCleanedUp(t *testing.T) {
	third := func(w *world) []delta.Action { return []delta.Action{add(w.rows("f3", 3))} }
	for name, c := range map[string]struct {
		r     changes.Request
		first int
		fails string
	}{
		"from its oldest commit":        {changes.Request{From: changes.Version(3)}, 3, ""},
		"from later":                    {changes.Request{From: changes.Version(4)}, 4, ""},
		"from a time before":            {changes.Request{From: minute(-1)}, 3, ""},
		"the natural beginning":         {changes.Request{}, 0, "the commit of version 0 is no longer in the log, which begins at version 3: ask for changes from there on"},
		"from what is gone":             {changes.Request{From: changes.Version(2)}, 0, "the commit of version 2 is no longer in the log, which begins at version 3"},
		"all that is asked for is gone": {between(1, 2), 0, "is no longer in the log, which begins at version 3"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cleaned(t, third).feed(c.r)
			if c.fails != "" {
				require.ErrorIs(t, err, idem.ErrInput)
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, inserts(c.first, 5), got)
		})
	}
}

// TestTheOldestCommitWithoutTheVersionBefore: a remove then has to tell of its file itself.
func TestTheOldestCommitWithoutTheVersionBefore(t *testing.T) {
	var f *delta.Add
	third := func(actions func(w *world) []delta.Action) func(w *world) []delta.Action {
		return func(w *world) []delta.Action {
			info, err := w.st.Head(t.Context(), "f2")
			require.NoError(t, err)
			f = &delta.Add{Path: "f2", PartitionValues: map[string]*string{}, Size: info.Size, DataChange: true}
			return actions(w)
		}
	}
	w := cleaned(t, third(func(*world) []delta.Action { return []delta.Action{remove(f)} }))
	got, err := w.feed(between(3, 3))
	require.NoError(t, err)
	require.Equal(t, []string{"2|v2|delete|3"}, got)

	w = cleaned(t, third(func(w *world) []delta.Action {
		return []delta.Action{remove(f), add(under(f, w.vector(0)))}
	}))
	got, err = w.feed(between(3, 3))
	require.NoError(t, err)
	require.Equal(t, []string{"2|v2|delete|3"}, got, "a pair is a pair")

	for _, sized := range []bool{false, true} { // a size alone is not what the remove says that it tells
		w = cleaned(t, third(func(*world) []delta.Action {
			untold := bare(f)
			if sized {
				untold.Remove.Size = &f.Size
			}
			return []delta.Action{untold}
		}))
		_, err = w.feed(between(3, 3))
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "f2 tells neither size nor partition values")
	}
	got, err = w.feed(between(4, 5))
	require.NoError(t, err)
	require.Equal(t, inserts(4, 5), got)
}

// TestATableThatWasDroppedAndMadeAnew: a handle from before never tells of versions that are no more.
func TestATableThatWasDroppedAndMadeAnew(t *testing.T) {
	w := newHistory(t, 5)
	before := w.open()
	for info, err := range w.st.List(t.Context(), "", "") {
		require.NoError(t, err)
		require.NoError(t, w.st.Delete(t.Context(), info.Key))
	}
	w.version, w.now = 0, start.Add(time.Hour)
	anew := definition(plain, nil)
	anew[1].Metadata.ID = "1"
	w.commit(anew...)
	w.commit(add(w.rows("g1", 1)))
	got, err := w.feed(changes.Request{})
	require.NoError(t, err)
	require.Equal(t, inserts(1, 1), got)
	got, err = feed(t.Context(), before, changes.Request{})
	require.ErrorIs(t, err, idem.ErrConflict)
	require.Empty(t, got)
}

// reads are the commits that a request reads from a store, and how often, and what it gives.
func reads(t *testing.T, st store.Store, r changes.Request) (map[string]int, []string) {
	faulty := storetest.NewFaulty(st)
	table, err := idem.OpenStore(t.Context(), faulty, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	read := map[string]int{}
	faulty.Before = func(c storetest.Call) storetest.Fault {
		if f := delta.ParseLogFile(c.Key); c.Op == storetest.OpGet && f.Kind == delta.Commit {
			read[c.Key]++
		}
		return storetest.Fault{}
	}
	got, err := feed(t.Context(), table, r)
	require.NoError(t, err)
	delete(read, delta.CommitKey(table.Version()+1)) // is there a newer version?
	return read, got
}

// once are the commits of versions, each read once.
func once(first, last int64) map[string]int {
	out := map[string]int{}
	for v := first; v <= last; v++ {
		out[delta.CommitKey(v)] = 1
	}
	return out
}

// TestOnlyCommitsOfTheRangeAreReadAndOnce: old ranges of long histories do not cost what came after, and what is
// asked for first (columns, times, instants) costs nothing beside the rows.
func TestOnlyCommitsOfTheRangeAreReadAndOnce(t *testing.T) {
	for _, own := range []string{"false", "true"} {
		w := newHistory(t, 40, "delta.enableInCommitTimestamps", own)
		for _, v := range []int64{10, 20, 30, 40} {
			view, err := w.open().At(t.Context(), v)
			require.NoError(t, err)
			in := inside.Of(view)
			require.NoError(t, in.Log.Checkpoint(t.Context(), view.Snapshot(), w.now))
		}
		read, got := reads(t, w.st, between(13, 14))
		require.Equal(t, inserts(13, 14), got)
		require.Equal(t, once(11, 14), read, "the table at 12, and the range")
		read, got = reads(t, w.st, changes.Request{From: changes.Version(21)})
		require.Equal(t, inserts(21, 40), got)
		require.Equal(t, once(21, 40), read)
		read, got = reads(t, w.st, changes.Request{})
		require.Equal(t, inserts(1, 40), got)
		require.Equal(t, once(0, 40), read)
		read, got = reads(t, w.st, changes.Request{From: minute(21), To: minute(22)})
		require.Equal(t, inserts(21, 22), got)
		if own == "true" { // times stand in commits, which are looked through from the newest on
			require.Equal(t, once(20, 40), read)
		} else {
			require.Equal(t, once(21, 22), read)
		}
	}
}

// TestCommitsThatAreTooManyToBeKept are read for the columns and once more for the rows.
func TestCommitsThatAreTooManyToBeKept(t *testing.T) {
	w := newHistory(t, 1)
	for v := 2; v <= 4; v++ {
		f := w.rows(fmt.Sprintf("f%d", v), v)
		f.Stats = `{"pad":"` + strings.Repeat("x", 7<<20) + `"}`
		w.commit(add(f))
	}
	w.commit(add(w.rows("f5", 5)))
	read, got := reads(t, w.st, changes.Request{From: changes.Version(2)})
	require.Equal(t, inserts(2, 5), got)
	want := once(0, 5)
	want[delta.CommitKey(4)] = 2
	require.Equal(t, want, read)
}
