package maintain_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/maintain"
)

var tracked = idem.Definition{Properties: map[string]string{"delta.enableRowTracking": "true"}}

// replace has other rows take the place of all.
func (f *fixture) replace(list ...row) {
	_, err := f.other().ReplaceAll(f.t.Context(), rowsOf(list...), idem.ReplaceAll{})
	require.NoError(f.t, err)
	f.table = f.other()
}

// idsOf are the ids of the rows of a table, by their column id.
func idsOf(t *testing.T, table *idem.Table) map[string]string {
	out, given := map[string]string{}, map[string]bool{}
	for b, err := range table.Scan(t.Context(), idem.Scan{Columns: []string{"id"}, RowIDs: true}) {
		require.NoError(t, err)
		for i := range int(b.NumRows()) {
			row, id := b.Column(0).ValueStr(i), b.Column(1).ValueStr(i)
			require.False(t, given[id], "the id %s is that of two rows", id)
			out[row], given[id] = id, true
		}
	}
	return out
}

// The files were there all the while, and lost their ids with the feature.
func TestRestoreBringsDroppedRowIDsBack(t *testing.T) {
	f := newFixture(t, tracked)
	f.append(row{"a", 1, "x"}, row{"a", 2, "y"}) // version 1
	ids := idsOf(t, f.table)
	drop(f, f.table, "rowTracking")
	f.table = f.other()
	res := f.restore(maintain.Version(1))
	require.Equal(t, idem.Committed, res.Outcome)
	require.Zero(t, res.FilesRestored, "it was never away")
	f.check()
	require.Equal(t, ids, idsOf(t, f.other()))
	f.table = f.other()
	require.Equal(t, idem.Unchanged, f.restore(maintain.Version(1)).Outcome)
	f.delete("id = 1")
	f.append(row{"a", 3, "z"})
	require.Equal(t, map[string]string{"2": "1", "3": "3"}, idsOf(t, f.other()), "the row that was copied has an id of its own file, too")
}

func TestRestoreGivesNoDroppedRowIDTwice(t *testing.T) {
	for name, since := range map[string]func(f *fixture){
		"dropped":                              func(f *fixture) { drop(f, f.other(), "rowTracking") },
		"dropped after another row":            func(f *fixture) { f.append(row{"a", 3, "z"}); drop(f, f.other(), "rowTracking") },
		"dropped, enabled, dropped":            func(f *fixture) { again(f, 7); drop(f, f.other(), "rowTracking") },
		"dropped and enabled":                  func(f *fixture) { again(f, 7) },
		"dropped and enabled, and all is old":  func(f *fixture) { drop(f, f.other(), "rowTracking"); enable(f, f.other(), "rowTracking") },
		"a drop that was cut short, and again": func(f *fixture) { cutShort(f); drop(f, f.other(), "rowTracking") },
		"a drop that was cut short":            cutShort,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tracked)
			f.append(row{"a", 1, "x"}, row{"a", 2, "y"}) // version 1
			mark := rowIDMark(t, f.other())
			since(f)
			mark = max(mark, rowIDMark(t, f.other()))
			f.replace(row{"b", 9, "w"})
			mark = max(mark, rowIDMark(t, f.other()))
			f.restore(maintain.Version(1))
			f.check()
			f.table = f.other()
			require.Len(t, idsOf(t, f.table), 2)
			require.GreaterOrEqual(t, rowIDMark(t, f.other()), mark)
			f.append(row{"a", 4, "z"}, row{"a", 5, "z"})
			require.Len(t, idsOf(t, f.other()), 4)
			require.Equal(t, idem.Unchanged, f.restore(maintain.Version(f.other().Version())).Outcome)
		})
	}
}

// again drops row tracking and enables it on other rows.
func again(f *fixture, rows int64) {
	drop(f, f.other(), "rowTracking")
	var list []row
	for i := range rows {
		list = append(list, row{"n", 100 + i, "n"})
	}
	f.replace(list...)
	enable(f, f.other(), "rowTracking")
	f.table = f.other()
}

// cutShort ends the use of row tracking and takes the ids away, and leaves the feature.
func cutShort(f *fixture) {
	last := delta.CommitKey(f.other().Version() + 3)
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutIfAbsent && c.Key == last {
			return storetest.Fault{Kind: storetest.FailBefore, Err: errors.ErrUnsupported}
		}
		return storetest.Fault{}
	}
	_, err := maintain.DropFeature(f.t.Context(), f.table, maintain.Drop{Feature: "rowTracking"})
	require.Error(f.t, err)
	f.store.Before = nil
	f.table = f.other()
	require.True(f.t, f.table.Snapshot().Protocol().Supports("rowTracking"))
	require.Nil(f.t, f.files()[0].BaseRowID)
}

func rowIDMark(t *testing.T, table *idem.Table) int64 {
	mark, err := commit.RowIDMark(table.Snapshot())
	require.NoError(t, err)
	return mark
}

// Files that were written when the table had no column mapping have no ids of columns.
func TestRestoreBehindColumnMappingByIDs(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}, Properties: map[string]string{"delta.columnMapping.mode": "id"}})
	f.append(row{"a", 1, "x"}, row{"b", 2, "y"}) // version 1
	drop(f, f.table, "columnMapping")
	f.table = f.other()
	dropped := f.table.Version()
	rows := f.rows()
	for _, c := range []struct {
		to   int64
		mode delta.MappingMode
	}{{1, delta.MappingID}, {2, delta.MappingName}, {1, delta.MappingID}, {dropped, delta.MappingName}, {dropped, delta.MappingName}} {
		f.restore(maintain.Version(c.to))
		f.check()
		require.Equal(t, c.mode, f.other().Snapshot().Mapping())
		require.Equal(t, rows, f.rows())
		f.table = f.other()
	}
	f.append(row{"c", 3, "z"})
	f.delete("id = 1")
	require.Equal(t, []string{"b/2/y", "c/3/z"}, f.rows())
	f.restore(maintain.Version(1))
	require.Equal(t, rows, f.rows())
}

// A table that dropped column mapping and has it again counts its columns anew. Whichever way a restore goes, each
// version's columns are found by what they were then.
func TestRestoreAcrossColumnMappingsOfTwoTimes(t *testing.T) {
	for _, mode := range []string{"name", "id"} {
		f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.columnMapping.mode": mode}})
		f.append(row{"a", 1, "x"}) // version 1
		drop(f, f.table, "columnMapping")
		enable(f, f.other(), "columnMapping")
		f.table = f.other()
		f.append(row{"b", 2, "y"})
		f.check()
		again, rows := f.table.Version(), f.rows()
		for range 2 {
			f.restore(maintain.Version(1))
			f.check()
			require.Equal(t, []string{"a/1/x"}, f.rows())
			f.table = f.other()
			f.restore(maintain.Version(again))
			f.check()
			require.Equal(t, rows, f.rows())
			f.table = f.other()
		}
		alter(f, f.table, maintain.DropColumn{Name: "v"})
		alter(f, f.other(), maintain.AddColumn{Name: "v", Type: columns.Field(2).Type})
		require.Equal(t, []string{"a/1/(null)", "b/2/(null)"}, f.rows())
	}
}

func TestCloneOnwardOfATableThatTracksRowsSince(t *testing.T) {
	f, to := newFixture(t, idem.Definition{}), store.NewMem()
	f.append(row{"a", 1, "x"}, row{"a", 2, "y"})
	cloned(t, f.table, to, maintain.Clone{})
	enable(f, f.table, "rowTracking")
	copy, res := cloned(t, f.table, to, maintain.Clone{})
	require.Equal(t, idem.Committed, res.Outcome)
	require.Zero(t, res.FilesAdded)
	require.Equal(t, idsOf(t, f.other()), idsOf(t, copy))
	f.append(row{"a", 3, "z"})
	copy, _ = cloned(t, f.other(), to, maintain.Clone{})
	require.Equal(t, idsOf(t, f.other()), idsOf(t, copy))
	_, res = cloned(t, f.other(), to, maintain.Clone{})
	require.Equal(t, idem.Unchanged, res.Outcome)
	_, err := copy.Delete(t.Context(), idem.Delete{Where: "id = 1"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"2": "1", "3": "2"}, idsOf(t, copy))
}

func TestCloneOnwardOfATableThatDroppedRowTracking(t *testing.T) {
	f, to := newFixture(t, tracked), store.NewMem()
	f.append(row{"a", 1, "x"}, row{"a", 2, "y"})
	copy, _ := cloned(t, f.table, to, maintain.Clone{})
	ids := idsOf(t, copy)
	f.append(row{"a", 3, "z"})
	drop(f, f.table, "rowTracking")
	copy, res := cloned(t, f.other(), to, maintain.Clone{})
	require.Equal(t, idem.Committed, res.Outcome)
	require.Equal(t, allRows(t, f.other()), allRows(t, copy))
	_, res = cloned(t, f.other(), to, maintain.Clone{})
	require.Equal(t, idem.Unchanged, res.Outcome)

	f.table = f.other()
	f.append(row{"a", 4, "z"})
	enable(f, f.other(), "rowTracking")
	f.table = f.other()
	f.append(row{"a", 5, "z"})
	copy, _ = cloned(t, f.other(), to, maintain.Clone{})
	now := idsOf(t, copy)
	require.Len(t, now, 5)
	for row, id := range ids {
		require.Equal(t, id, now[row], "the copy kept the feature, and its rows their ids")
	}
}

// follow is a table under random operations, what its versions were, and a copy of it.
type follow struct {
	*fixture
	dice   *rand.Rand
	next   int64
	was    map[int64]state
	era    int // counts how often the table lost row tracking
	people [2]map[string]string
	copy   *store.Mem
}

// state is what a version holds.
type state struct {
	rows []string
	ids  map[string]string // nil if it does not track rows
	era  int
}

func (f *follow) rowsNext(n int) []row {
	var out []row
	for range n {
		f.next++
		out = append(out, row{"a", f.next, "x"})
	}
	return out
}

// seen looks at the newest version. A row id is that of one row as long as the table has the feature.
func (f *follow) seen(which int, table *idem.Table) state {
	s := state{rows: scanned(f.t, table), era: f.era}
	if !table.Snapshot().Protocol().Supports("rowTracking") {
		f.people[which] = map[string]string{}
	}
	if !table.Snapshot().TracksRows() {
		return s
	}
	s.ids = idsOf(f.t, table)
	require.Len(f.t, s.ids, len(s.rows))
	for row, id := range s.ids {
		if other, given := f.people[which][id]; given {
			require.Equal(f.t, other, row, "the row id %s is given twice", id)
		}
		f.people[which][id] = row
	}
	return s
}

// step does something, and says what.
func (f *follow) step() string {
	features := []string{"rowTracking", "rowTracking", "deletionVectors", "columnMapping", "inCommitTimestamp"}
	feature := features[f.dice.IntN(len(features))]
	f.table = f.other()
	f.clock.now = f.clock.now.Add(time.Minute)
	switch f.dice.IntN(9) {
	case 0, 1:
		f.append(f.rowsNext(1 + f.dice.IntN(2))...)
		return "append"
	case 2:
		f.delete(fmt.Sprintf("id %% 5 = %d", f.dice.IntN(5)))
		return "delete"
	case 3:
		if f.dice.IntN(2) == 0 {
			f.optimize(maintain.Optimize{})
			return "optimize"
		}
		f.replace(f.rowsNext(2)...)
		return "replace"
	case 4:
		if feature != "rowTracking" || property(f.fixture, "delta.rowTrackingSuspended") == "" {
			enable(f.fixture, f.table, feature)
			return "enable " + feature
		}
		fallthrough
	case 5, 6: // a drop that was cut short must be ended, or taken back by hand, before a feature is enabled
		drop(f.fixture, f.table, feature)
		return "drop " + feature
	}
	to := f.dice.Int64N(f.table.Version() + 1)
	f.restore(maintain.Version(to))
	return fmt.Sprint("restore ", to)
}

// cloneOnward brings the copy up to the table, or begins one.
func (f *follow) cloneOnward() {
	copy, _ := cloned(f.t, f.other(), f.copy, maintain.Clone{})
	require.Equal(f.t, f.rows(), scanned(f.t, copy))
	f.seen(1, copy)
}

func TestRestoreAndCloneWhileFeaturesComeAndGo(t *testing.T) {
	definitions := []idem.Definition{
		tracked,
		{Properties: map[string]string{"delta.enableRowTracking": "true", "delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true"}},
		{Properties: map[string]string{"delta.enableInCommitTimestamps": "true"}},
		{ClusterBy: []string{"id"}, Properties: map[string]string{"delta.enableRowTracking": "true", "delta.columnMapping.mode": "name"}},
	}
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := &follow{fixture: newFixture(t, definitions[seed%4]), dice: rand.New(rand.NewPCG(seed, 1)), was: map[int64]state{}, copy: store.NewMem()}
			f.people = [2]map[string]string{{}, {}}
			f.was[0] = f.seen(0, f.other())
			for range 12 {
				before := f.other()
				what := f.step()
				t.Log(before.Version(), what)
				f.look(before, what)
				if f.dice.IntN(4) == 0 {
					t.Log("clone")
					f.cloneOnward()
				}
			}
		})
	}
}

// look notes what the versions are that a step made, and holds a restore against what the version was.
func (f *follow) look(before *idem.Table, what string) {
	now := f.other()
	for v := before.Version() + 1; v <= now.Version(); v++ {
		at, err := now.At(f.t.Context(), v)
		require.NoError(f.t, err)
		if at.Snapshot().Protocol().Supports("rowTracking") != before.Snapshot().Protocol().Supports("rowTracking") {
			f.era++
		}
		f.was[v] = f.seen(0, at)
		before = at
	}
	found, err := logcheck.Check(f.t.Context(), f.mem)
	require.NoError(f.t, err)
	require.Empty(f.t, found.Findings)
	var to int64
	if n, _ := fmt.Sscanf(what, "restore %d", &to); n == 0 {
		return
	}
	is, was := f.was[now.Version()], f.was[to]
	require.Equal(f.t, was.rows, is.rows)
	if was.era == is.era {
		require.Equal(f.t, was.ids, is.ids, "ids come back with their rows")
	}
	f.table = now
	require.Equal(f.t, idem.Unchanged, f.restore(maintain.Version(to)).Outcome)
}

// A copy keeps the features that its source dropped. That is not writing to it, also where its log no longer tells.
func TestCloneOnwardWhileFeaturesComeAndGo(t *testing.T) {
	for _, c := range toggled {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprint(c.feature, first), func(t *testing.T) {
				f, to := newFixture(t, idem.Definition{}), store.NewMem()
				f.append(row{"a", 1, "x"}, row{"a", 2, "y"})
				onward := func() {
					f.table = f.other()
					f.append(row{"b", int64(f.table.Version()) + 10, "z"})
					copy, res := cloned(t, f.other(), to, maintain.Clone{})
					require.Equal(t, idem.Committed, res.Outcome)
					require.Equal(t, allRows(t, f.other()), allRows(t, copy))
					forget(t, copy, to)
					_, res = cloned(t, f.other(), to, maintain.Clone{})
					require.Equal(t, idem.Unchanged, res.Outcome)
				}
				if first {
					onward()
				}
				enable(f, f.other(), c.feature)
				onward()
				drop(f, f.other(), c.feature)
				onward()
				onward()
				enable(f, f.other(), c.feature)
				onward()
				onward()
			})
		}
	}
}

// forget has a vacuum's commit follow, and no other be left.
func forget(t *testing.T, table *idem.Table, st store.Store) {
	version := table.Version() + 1
	info := delta.CommitInfo{Operation: "VACUUM START", Timestamp: version}
	if on, _ := table.Snapshot().Property("delta.enableInCommitTimestamps"); on == "true" {
		at := 1_800_000_000_000 + version
		info.InCommitTimestamp = &at
	}
	data, err := delta.EncodeCommit([]delta.Action{{CommitInfo: &info}})
	require.NoError(t, err)
	require.NoError(t, st.PutIfAbsent(t.Context(), delta.CommitKey(version), data))
	table, err = idem.OpenStore(t.Context(), st, idem.Options{})
	require.NoError(t, err)
	_, err = maintain.Checkpoint(t.Context(), table)
	require.NoError(t, err)
	for v := range version {
		require.NoError(t, st.Delete(t.Context(), delta.CommitKey(v), delta.ChecksumKey(v)))
	}
}

// A table that is dropped and made anew while a restore reads its log is another: the restore says so, and leaves it alone.
func TestRestoreOfATableThatIsMadeAnewMeanwhile(t *testing.T) {
	met := 0
	for at := 1; ; at++ {
		f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableRowTracking": "true"}})
		for v := range int64(5) {
			f.loaded(v + 1)
		}
		began, dropped := f.store.Calls(), false
		f.store.Before = func(storetest.Call) storetest.Fault {
			if f.store.Calls()-began == at {
				dropped = true
				f.madeAnew()
			}
			return storetest.Fault{}
		}
		_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
		f.store.Before = nil
		if !dropped {
			require.NoError(t, err)
			break
		}
		if err == nil { // it had committed, or put its commit just now: no store tells of that
			f.unchecked = true
			continue
		}
		met++
		require.NotErrorIs(t, err, idem.ErrInterrupted, "operation %d", at)
		require.Equal(t, []string{"new/1/x"}, f.rows(), "operation %d", at)
	}
	require.Greater(t, met, 5)
}

// madeAnew drops the table and makes another in its place.
func (f *fixture) madeAnew() {
	ctx := f.t.Context()
	var keys []string
	for o, err := range f.mem.List(ctx, "", "") {
		require.NoError(f.t, err)
		keys = append(keys, o.Key)
	}
	require.NoError(f.t, f.mem.Delete(ctx, keys...))
	table, _, err := idem.CreateStore(ctx, f.mem, idem.Definition{Schema: columns}, f.options())
	require.NoError(f.t, err)
	_, err = table.Append(ctx, rowsOf(row{"new", 1, "x"}), idem.Append{Reason: "test"})
	require.NoError(f.t, err)
}
