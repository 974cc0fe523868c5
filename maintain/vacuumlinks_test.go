package maintain_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
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
