package maintain_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/maintain"
)

// A live file that the log names by a link, or below one, is not deleted under its other name.
func TestVacuumKeepsALiveFileThatHasAnotherName(t *testing.T) {
	for _, c := range []struct {
		why  string
		link func(key string) (at, to string) // what is moved, and leaves a link
	}{
		{"a link to a file", func(key string) (string, string) { return key, "real.parquet" }},
		{"a link to the directory of a file", func(key string) (string, string) { return "p=a", "moved" }},
	} {
		for _, lite := range []bool{false, true} {
			t.Run(c.why, func(t *testing.T) {
				root, clock := t.TempDir(), &clock{now: time.Now()}
				table, _, err := idem.Create(t.Context(), root, idem.Definition{Schema: columns, PartitionBy: []string{"p"}}, idem.Options{Parallelism: 1, Clock: clock})
				require.NoError(t, err)
				_, err = table.Append(t.Context(), rowsOf(row{"a", 1, "x"}), idem.Append{Reason: "test"})
				require.NoError(t, err)
				var key string
				for f := range table.Snapshot().Files() {
					key = f.Key
				}
				at, to := c.link(key)
				require.NoError(t, os.Rename(filepath.Join(root, at), filepath.Join(root, to)))
				there, err := filepath.Rel(filepath.Dir(at), to)
				require.NoError(t, err)
				require.NoError(t, os.Symlink(there, filepath.Join(root, at)))
				require.Equal(t, []string{"a/1/x"}, scanned(t, table), "a link within the root is read")
				clock.now = clock.now.Add(8 * day)
				require.NoError(t, os.WriteFile(filepath.Join(root, "dead.parquet"), []byte("left behind"), 0o644))
				require.NoError(t, os.Symlink("dead.parquet", filepath.Join(root, "dead-link.parquet")))
				for _, name := range []string{"dead.parquet", to} {
					require.NoError(t, os.Chtimes(filepath.Join(root, name), time.Unix(1, 0), time.Unix(1, 0)))
				}
				res, err := maintain.VacuumTable(t.Context(), table, maintain.Vacuum{Lite: lite})
				require.NoError(t, err)
				if !lite {
					require.EqualValues(t, 2, res.Files, "a dead file and the link to it")
				}
				require.Equal(t, []string{"a/1/x"}, scanned(t, table))

				_, err = table.Delete(t.Context(), idem.Delete{Where: "id = 1"})
				require.NoError(t, err)
				require.Equal(t, []string{}, scanned(t, table))
				clock.now = clock.now.Add(8 * day)
				_, err = maintain.VacuumTable(t.Context(), table, maintain.Vacuum{Lite: lite})
				require.NoError(t, err, "and it goes when nothing needs it any more, or is left: the run ends well")
			})
		}
	}
}

// Two names of one file: that the log removed the one does not delete what it has under the other.
func TestVacuumOfARemovedNameOfALiveFile(t *testing.T) {
	for _, lite := range []bool{false, true} {
		root, clock := t.TempDir(), &clock{now: time.Now()}
		table, _, err := idem.Create(t.Context(), root, idem.Definition{Schema: columns}, idem.Options{Parallelism: 1, Clock: clock})
		require.NoError(t, err)
		for id := range int64(2) {
			_, err = table.Append(t.Context(), rowsOf(row{"a", id, "x"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
		}
		var keys []string
		for f := range table.Snapshot().Files() {
			keys = append(keys, f.Key)
		}
		_, err = table.Delete(t.Context(), idem.Delete{Where: "id = 0"})
		require.NoError(t, err)
		live, dead := keys[0], keys[1]
		if _, ok := table.Snapshot().Live(live); !ok {
			live, dead = dead, live
		}
		want := scanned(t, table)
		data, err := os.ReadFile(filepath.Join(root, live))
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(root, live)))
		require.NoError(t, os.WriteFile(filepath.Join(root, dead), data, 0o644))
		require.NoError(t, os.Symlink(dead, filepath.Join(root, live)))
		require.NoError(t, os.Chtimes(filepath.Join(root, dead), time.Unix(1, 0), time.Unix(1, 0)))
		clock.now = clock.now.Add(8 * day)
		res, err := maintain.VacuumTable(t.Context(), table, maintain.Vacuum{Lite: lite})
		require.NoError(t, err)
		require.Zero(t, res.Files)
		require.Equal(t, want, scanned(t, table))
	}
}

// beside is all that lies in a directory but below one of its own.
func beside(t *testing.T, dir, root string) (out []string) {
	require.NoError(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		if name == root {
			return filepath.SkipDir
		}
		info, err := e.Info()
		require.NoError(t, err)
		out = append(out, fmt.Sprint(name, info.Mode(), info.ModTime()))
		return nil
	}))
	return out
}

// The log removed files of any names, and files elsewhere that are called the same, in every spelling of a place: a
// vacuum deletes those below the root and touches none of the others.
func TestVacuumTouchesNothingOutsideItsRoot(t *testing.T) {
	for _, lite := range []bool{false, true} {
		base, clock := t.TempDir(), &clock{now: time.Now()}
		root := filepath.Join(base, "t")
		table, _, err := idem.Create(t.Context(), root, idem.Definition{Schema: columns}, idem.Options{Parallelism: 1, Clock: clock})
		require.NoError(t, err)
		r, at, names := rand.New(rand.NewPCG(9, 9)), int64(1), map[string]bool{}
		actions := []delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: "DELETE", TxnID: "a"}}}
		for len(names) < 100 {
			name := "n" + strings.ReplaceAll(drawnKey(r), "/", "_")
			if names[name] || !nameable(name) {
				continue
			}
			names[name] = true
			for _, dir := range []string{root, base, base + "/t2", base + "/other/t"} {
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
				require.NoError(t, os.Chtimes(filepath.Join(dir, name), time.Unix(1, 0), time.Unix(1, 0)))
			}
			path := delta.EncodePath(name)
			elsewhere := []string{"file://" + base + "/" + path, "file:" + base + "/t2/" + path, base + "/other/t/" + path, "FILE://localhost" + base + "/t2/" + path, "s3://t/" + path}[r.IntN(5)]
			for _, path := range []string{path, elsewhere} {
				actions = append(actions, delta.Action{Remove: &delta.Remove{Path: path, DeletionTimestamp: &at, DataChange: true}})
			}
		}
		data, err := delta.EncodeCommit(actions)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, delta.CommitKey(1)), data, 0o644))
		before := beside(t, base, root)
		require.Len(t, before, 3*len(names)+4, "every name three times, and the directories")
		clock.now = clock.now.Add(60 * day)
		res, err := maintain.VacuumTable(t.Context(), table, maintain.Vacuum{Lite: lite})
		require.NoError(t, err)
		require.EqualValues(t, len(names), res.Files, "lite %t", lite)
		require.Equal(t, before, beside(t, base, root), "lite %t", lite)
		for name := range names {
			require.NoFileExists(t, filepath.Join(root, name))
		}
	}
}
