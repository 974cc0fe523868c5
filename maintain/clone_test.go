package maintain_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/maintain"
)

// manifold is a table with vectors, row ids, mapped columns, commit times and a tag.
func manifold(t *testing.T) *fixture {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}, Properties: map[string]string{
		"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true", "delta.columnMapping.mode": "name", "delta.enableInCommitTimestamps": "true",
	}})
	_, err := f.table.AppendWithTxn(t.Context(), rowsOf(row{"a b", 1, "x"}, row{"a b", 2, "y"}, row{"a b", 3, "z"}, row{"c", 4, "w"}), idem.Txn{AppID: "loader", Version: 7})
	require.NoError(t, err)
	f.delete("id = 2")
	return f
}

func cloned(t *testing.T, from *idem.Table, to store.Store, c maintain.Clone) (*idem.Table, *maintain.Cloned) {
	table, res, err := maintain.CloneTableStore(t.Context(), from, to, c, idem.Options{Parallelism: 1, Clock: &clock{}})
	require.NoError(t, err)
	found, err := logcheck.Check(t.Context(), to)
	require.NoError(t, err)
	require.Empty(t, found.Findings)
	return table, res
}

func TestCloneTwiceAndOnward(t *testing.T) {
	f, to := manifold(t), store.NewMem()
	table, res := cloned(t, f.table, to, maintain.Clone{Of: maintain.Version(1)})
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, 2, res.FilesCopied)
	require.Len(t, allRows(t, table), 4)
	require.NotEqual(t, f.table.Snapshot().Metadata().ID, table.Snapshot().Metadata().ID)
	for file := range table.Snapshot().Files() {
		require.EqualValues(t, table.Version(), *file.CommitVersion, "rows of a copy are as old as its version")
	}
	_, res = cloned(t, f.table, to, maintain.Clone{Of: maintain.Version(1)})
	require.Equal(t, idem.Unchanged, res.Outcome)

	table, res = cloned(t, f.table, to, maintain.Clone{})
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, 1, res.FilesCopied, "the file of the vector")
	require.EqualValues(t, 1, res.FilesAdded)
	require.Equal(t, allRows(t, f.table), allRows(t, table))
	applied, err := table.AppendWithTxn(t.Context(), rowsOf(row{"c", 9, "n"}), idem.Txn{AppID: "loader", Version: 7})
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, applied.Outcome)
	_, res = cloned(t, f.table, to, maintain.Clone{})
	require.Equal(t, idem.Unchanged, res.Outcome)

	_, _, err = maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{Of: maintain.Version(1)}, idem.Options{})
	differs(t, err, "version 1 is older")
	_, err = table.Delete(t.Context(), idem.Delete{Where: "id = 4"})
	require.NoError(t, err)
	f.append(row{"d", 5, "v"})
	_, _, err = maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{})
	differs(t, err, "written to since")
}

// A tag that was moved to -1 says that nothing was applied, in a copy too.
func TestCloneTakesATagThatWasMoved(t *testing.T) {
	for name, before := range map[string]bool{"into a new copy": false, "into one that has the tag": true} {
		f, to := newFixture(t, idem.Definition{}), store.NewMem()
		_, err := f.table.AppendWithTxn(t.Context(), rowsOf(row{"a", 1, "x"}), tagged(0))
		require.NoError(t, err)
		if before {
			cloned(t, f.table, to, maintain.Clone{})
		}
		_, err = f.table.RewindTxn(t.Context(), tagged(0).AppID, -1)
		require.NoError(t, err)
		copy, _ := cloned(t, f.table, to, maintain.Clone{})
		_, res := cloned(t, f.table, to, maintain.Clone{})
		require.Equal(t, idem.Unchanged, res.Outcome, name)
		for range 2 {
			for _, table := range []*idem.Table{f.table, copy} {
				_, err := table.AppendWithTxn(t.Context(), rowsOf(row{"a", 1, "x"}), tagged(0))
				require.NoError(t, err)
			}
			require.Len(t, allRows(t, copy), 2, name)
			require.Equal(t, allRows(t, f.table), allRows(t, copy), name)
		}
	}
}

// differs makes sure that a scheduler is told that calling again cannot help.
func differs(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorIs(t, err, idem.ErrConflict)
	require.ErrorIs(t, err, delta.ErrDiffers)
	require.False(t, idem.SafeToRunAgain(err))
	require.ErrorContains(t, err, says)
}

func TestCloneIntoAnotherTable(t *testing.T) {
	f := manifold(t)
	_, _, err := maintain.CloneTableStore(t.Context(), f.table, f.mem, maintain.Clone{}, idem.Options{})
	differs(t, err, "no copy of")
	other := newFixture(t, idem.Definition{})
	_, _, err = maintain.CloneTableStore(t.Context(), f.table, other.mem, maintain.Clone{}, idem.Options{})
	differs(t, err, "no copy of")
	to := store.NewMem()
	for file := range f.table.Snapshot().Files() {
		require.NoError(t, to.PutIfAbsent(t.Context(), file.Key, []byte("other")))
	}
	_, _, err = maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{})
	differs(t, err, "another file")
}

// Another file that takes a name of the copy's between the look and the write is not taken for the copied one.
func TestCloneWhoseFileIsTakenMeanwhile(t *testing.T) {
	for _, same := range []bool{true, false} {
		f, mem := manifold(t), store.NewMem()
		to := storetest.NewFaulty(mem)
		to.Before = func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpCreate {
				data := []byte("other")
				if same {
					var err error
					data, err = f.mem.Get(t.Context(), c.Key, 0)
					require.NoError(t, err)
				}
				require.NoError(t, mem.PutIfAbsent(t.Context(), c.Key, data))
			}
			return storetest.Fault{}
		}
		table, _, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{})
		if same {
			require.NoError(t, err)
			require.Equal(t, allRows(t, f.table), allRows(t, table))
			continue
		}
		differs(t, err, "another file")
	}
}

// A call that began before the source went on finds the copy of a later version, which is then the newest.
func TestCloneThatAnotherCallOvertook(t *testing.T) {
	f, mem := manifold(t), store.NewMem()
	to := storetest.NewFaulty(mem)
	overtaken := false
	to.Before = func(storetest.Call) storetest.Fault {
		if !overtaken {
			overtaken = true
			other := f.other()
			_, err := other.Append(t.Context(), rowsOf(row{"d", 5, "v"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
			cloned(t, other, mem, maintain.Clone{})
		}
		return storetest.Fault{}
	}
	table, res := cloned(t, f.table, to, maintain.Clone{})
	require.Equal(t, idem.Unchanged, res.Outcome)
	require.Equal(t, f.other().Version(), res.Of)
	require.Equal(t, scanned(t, f.other()), scanned(t, table))
}

func TestCloneOfAVersionWhoseFilesAreGone(t *testing.T) {
	f, to := manifold(t), store.NewMem()
	for file := range f.table.Snapshot().Files() {
		require.NoError(t, f.mem.Delete(t.Context(), file.Key))
	}
	_, _, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "vacuum")
	_, err = idem.OpenStore(t.Context(), to, idem.Options{})
	require.ErrorIs(t, err, idem.ErrNotTable)
	f.unchecked = true
}

func TestCloneOfAFileOfAnotherSize(t *testing.T) {
	for name, change := range map[string]func(data []byte) []byte{
		"cut short":   func(data []byte) []byte { return data[:len(data)-1] },
		"grown since": func(data []byte) []byte { return append(data, 0) },
	} {
		f, to := manifold(t), store.NewMem()
		f.unchecked = true
		for file := range f.table.Snapshot().Files() {
			data, err := f.mem.Get(t.Context(), file.Key, 0)
			require.NoError(t, err)
			require.NoError(t, f.mem.Put(t.Context(), file.Key, change(data)))
		}
		_, _, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{})
		require.ErrorIs(t, err, idem.ErrCorrupt, name)
		require.ErrorContains(t, err, "the log says", name)
		_, err = idem.OpenStore(t.Context(), to, idem.Options{})
		require.ErrorIs(t, err, idem.ErrNotTable, name)
	}
}

func TestCloneByManyAtOnce(t *testing.T) {
	f, to := manifold(t), store.NewMem()
	outcomes := make([]idem.Outcome, 3)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			if _, res, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{}); err == nil {
				outcomes[i] = res.Outcome
			}
		})
	}
	all.Wait()
	require.ElementsMatch(t, []idem.Outcome{idem.Committed, idem.Unchanged, idem.Unchanged}, outcomes)
}

func TestCloneSurvivesFaults(t *testing.T) {
	f := manifold(t)
	want := allRows(t, f.table)
	sweep(t, func(st *storetest.Faulty) error {
		_, _, err := maintain.CloneTableStore(t.Context(), f.table, st, maintain.Clone{}, faultOptions())
		return err
	}, store.NewMem, func(t *testing.T, mem *store.Mem) {
		table, err := idem.OpenStore(t.Context(), mem, idem.Options{})
		require.NoError(t, err)
		require.Zero(t, table.Version())
		require.Equal(t, want, allRows(t, table))
	})
}

// shallowOf is a shallow clone, as Spark writes it, of a table on disk.
func shallowOf(t *testing.T, src *idem.Table, to store.Store) {
	snap := src.Snapshot()
	m := *snap.Metadata()
	m.ID = "0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f"
	actions := []delta.Action{{Protocol: snap.Protocol()}, {Metadata: &m}}
	for f := range snap.Files() {
		a := *f
		a.Path = src.URL() + f.Path
		if dv := f.DeletionVector; dv != nil {
			key, _, err := dv.FileKey(src.URL())
			require.NoError(t, err)
			moved := *dv
			moved.StorageType, moved.PathOrInlineDV = "p", src.URL()+delta.EncodePath(key)
			a.DeletionVector = &moved
		}
		actions = append(actions, delta.Action{Add: &a})
	}
	data, err := delta.EncodeCommit(actions)
	require.NoError(t, err)
	require.NoError(t, to.PutIfAbsent(t.Context(), delta.CommitKey(0), data))
}

func TestShallowClonesAreLookedAfterAndCopied(t *testing.T) {
	src, _, err := idem.Create(t.Context(), t.TempDir(), idem.Definition{Schema: columns, PartitionBy: []string{"p"}, Properties: map[string]string{"delta.enableDeletionVectors": "true"}}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	_, err = src.Append(t.Context(), rowsOf(row{"a", 1, "x"}, row{"a", 2, "y"}, row{"a", 3, "z"}, row{"b", 4, "w"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, err = src.Delete(t.Context(), idem.Delete{Where: "id = 2"})
	require.NoError(t, err)
	want := allRows(t, src)

	at := t.TempDir()
	st, err := store.OpenDir(at)
	require.NoError(t, err)
	shallowOf(t, src, st)
	open := idem.Options{Parallelism: 1, Outside: idem.OutsideBelow(src.URL())}
	table, err := idem.Open(t.Context(), at, open)
	require.NoError(t, err)

	copy, res := cloned(t, table, store.NewMem(), maintain.Clone{})
	require.EqualValues(t, 3, res.FilesCopied)
	require.Equal(t, want, allRows(t, copy))
	require.False(t, copy.Snapshot().HasOutside())

	_, err = table.Delete(t.Context(), idem.Delete{Where: "p = 'a'"})
	require.NoError(t, err)
	_, err = maintain.Checkpoint(t.Context(), table)
	require.NoError(t, err)
	for _, lite := range []bool{false, true} {
		vacuumed, err := maintain.VacuumTable(t.Context(), table, maintain.Vacuum{Retention: 1, AllowShortRetention: true, Lite: lite})
		require.NoError(t, err)
		require.Zero(t, vacuumed.Files)
	}
	require.Equal(t, want, allRows(t, src), "the source has what it had")
	again, err := idem.Open(t.Context(), at, open)
	require.NoError(t, err)
	require.Equal(t, []string{"b|4|w"}, allRows(t, again), "and the checkpoint is read as the commits are")
	_, err = maintain.RestoreTable(t.Context(), table, maintain.Restore{To: maintain.Version(0)})
	require.NoError(t, err)
	require.Equal(t, want, allRows(t, table))
}

// What a restore took back in the source is not in the copy, whose own log has no restore.
func TestCloneOfATableWithBatchesTakenBack(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1) // version 1
	f.loaded(2)
	f.loaded(3)
	early := store.NewMem()
	cloned(t, f.table, early, maintain.Clone{})
	f.restore(maintain.Version(1))
	for _, to := range []store.Store{store.NewMem(), early} {
		copy, _ := cloned(t, f.table, to, maintain.Clone{})
		for _, v := range []int64{2, 3} {
			_, err := copy.AppendWithTxn(t.Context(), rowsOf(row{"a", v, "x"}), tagged(v))
			require.ErrorIs(t, err, idem.ErrRestored, "batch %d", v)
		}
		for v, want := range map[int64]idem.Outcome{1: idem.Superseded, 2: idem.Committed, 3: idem.Committed} {
			if v == 1 {
				res, err := copy.AppendWithTxn(t.Context(), rowsOf(row{"a", v, "x"}), tagged(v))
				require.NoError(t, err)
				require.Equal(t, want, res.Outcome)
			}
		}
		for _, v := range []int64{2, 3} {
			res, err := copy.AppendWithTxn(t.Context(), rowsOf(row{"a", v, "x"}), idem.Txn{AppID: "loader", Version: v, Reapply: true})
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome, "batch %d", v)
		}
		require.Len(t, allRows(t, copy), 3)
	}
	f.loaded(4)
	f.forget()
	copy, _ := cloned(t, f.table, store.NewMem(), maintain.Clone{})
	_, err := copy.AppendWithTxn(t.Context(), rowsOf(row{"a", 2, "x"}), tagged(2))
	require.ErrorIs(t, err, idem.ErrRestored, "of a source whose log was cleaned up")
}

func TestCloneLeavesACopyThatWasWrittenTo(t *testing.T) {
	for why, write := range map[string]func(c *idem.Table) error{
		"a property": func(c *idem.Table) error {
			_, err := maintain.AlterTable(t.Context(), c, maintain.Alter{Changes: []maintain.Change{maintain.SetProperties{Properties: map[string]string{"delta.appendOnly": "true"}}}})
			return err
		},
		"a name": func(c *idem.Table) error {
			_, err := maintain.AlterTable(t.Context(), c, maintain.Alter{Changes: []maintain.Change{maintain.SetName{Name: "mine"}}})
			return err
		},
		"a tag that was moved": func(c *idem.Table) error {
			_, err := c.RewindTxn(t.Context(), "loader", -1)
			return err
		},
		"an append that was restored away": func(c *idem.Table) error {
			if _, err := c.AppendWithTxn(t.Context(), rowsOf(row{"a", 50, "x"}), idem.Txn{AppID: "x", Version: 9}); err != nil {
				return err
			}
			_, err := maintain.RestoreTable(t.Context(), c, maintain.Restore{To: maintain.Version(0)})
			return err
		},
	} {
		for _, cleaned := range []bool{false, true} {
			f, to := newFixture(t, idem.Definition{}), store.NewMem()
			f.loaded(1)
			copy, _ := cloned(t, f.table, to, maintain.Clone{})
			require.NoError(t, write(copy), why)
			version := copy.Version()
			if cleaned {
				_, err := maintain.Checkpoint(t.Context(), copy)
				require.NoError(t, err)
				for v := range version {
					require.NoError(t, to.Delete(t.Context(), delta.CommitKey(v), delta.ChecksumKey(v)))
				}
				require.NoError(t, to.Delete(t.Context(), delta.CommitKey(version), delta.ChecksumKey(version)))
			}
			f.loaded(2)
			_, _, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{})
			differs(t, err, "written to since")
			after, err := idem.OpenStore(t.Context(), to, idem.Options{})
			require.NoError(t, err)
			require.Equal(t, version, after.Version())
		}
	}
}

func TestCloneOntoItsSourceOrIntoItsLog(t *testing.T) {
	at := t.TempDir()
	src, _, err := idem.Create(t.Context(), at, idem.Definition{Schema: columns}, idem.Options{})
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(at, link))
	for _, to := range []string{at, at + "/.", link, at + "/_delta_log", at + "/_delta_log/deeper/still", link + "/_delta_log/x", "file://" + at + "/_delta_log"} {
		_, _, err := maintain.CloneTable(t.Context(), src, to, maintain.Clone{}, idem.Options{})
		require.ErrorIs(t, err, idem.ErrInput, to)
	}
	_, _, err = idem.Create(t.Context(), at+"/_delta_log", idem.Definition{Schema: columns}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	_, _, err = maintain.CloneTable(t.Context(), src, at+"/below", maintain.Clone{}, idem.Options{})
	require.NoError(t, err, "another table below a table's root")
	found, err := os.ReadDir(at + "/_delta_log")
	require.NoError(t, err)
	require.Len(t, found, 2, "version 0 and its checksum")
}

// TestCloneIntoItsOwnStore: a store in memory has no place by which it could be told from another, and is the same one or not.
func TestCloneIntoItsOwnStore(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	_, _, err := maintain.CloneTableStore(t.Context(), f.table, f.table.Store(), maintain.Clone{}, f.options())
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "the source's own")
	_, res, err := maintain.CloneTableStore(t.Context(), f.table, store.NewMem(), maintain.Clone{}, f.options())
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome, "another one is fine")
}
