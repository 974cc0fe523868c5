package interop_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/maintain"
)

// directories are what Spark writes as Parquet, partitioned by its directories.
var directories = []struct {
	name, by, sql string
}{
	{"flat", "", "SELECT 1L AS id, 'x' AS v, DATE '0001-01-01' AS d, CAST(1.5 AS DECIMAL(9,2)) AS n, TIMESTAMP '2024-02-29 12:00:00.5' AS at UNION ALL SELECT 2L, NULL, NULL, NULL, NULL"},
	{"text", "p", "SELECT * FROM VALUES (1L, 'a b'), (2L, 'x=y/z'), (3L, '%41:?#'), (4L, NULL), (5L, 'é'), (6L, '1')  AS t(id, p)"},
	{"numbers", "p", "SELECT * FROM VALUES (1L, -5), (2L, 2147483647), (3L, NULL) AS t(id, p)"},
	{"longs", "p", "SELECT * FROM VALUES (1L, 9223372036854775807L), (2L, 1L) AS t(id, p)"},
	{"days", "p", "SELECT * FROM VALUES (1L, DATE '2024-02-29'), (2L, DATE '1969-12-31'), (3L, NULL) AS t(id, p)"},
	{"two levels", "p, q", "SELECT * FROM VALUES (1L, 'a', 1), (2L, 'a', 2), (3L, 'b', NULL), (4L, NULL, 1) AS t(id, p, q)"},
	{"nested", "", "SELECT 1L AS id, named_struct('a', 1, 'b', array('x', NULL)) AS s, map('k', 2.5D) AS m UNION ALL SELECT 2L, NULL, NULL"},
}

// TestConvertedDirectories: what Spark wrote as Parquet becomes a table where it lies, and every engine reads
// it as idem does, which is what Spark reads of the Parquet files.
func TestConvertedDirectories(t *testing.T) {
	needEngines(t)
	root := t.TempDir()
	var jobs [][]statement
	var names, paths []string
	for i, d := range directories {
		path := filepath.Join(root, fmt.Sprint("dir ", i))
		by := ""
		if d.by != "" {
			by = " PARTITIONED BY (" + d.by + ")"
		}
		jobs = append(jobs, []statement{
			{SQL: fmt.Sprintf("CREATE TABLE made%d USING parquet%s LOCATION '%s' AS %s", i, by, path, d.sql)},
			{SQL: fmt.Sprintf("SELECT * FROM parquet.`%s`", path), Read: true}, {SQL: fmt.Sprintf("DROP TABLE made%d", i)},
		})
		names, paths = append(names, d.name), append(paths, path)
	}
	for i, list := range sparkDoes(t, jobs) {
		for j, o := range list {
			tally(t, spark, o.err, "%s: %s", names[i], jobs[i][j].SQL)
		}
		mem := checked(t)
		table, res, err := maintain.ConvertParquet(t.Context(), paths[i], maintain.Convert{}, idem.Options{Allocator: mem})
		require.NoError(t, err, names[i])
		require.Equal(t, idem.Committed, res.Outcome)
		_, res, err = maintain.ConvertParquet(t.Context(), paths[i], maintain.Convert{}, idem.Options{Allocator: mem})
		require.NoError(t, err, names[i])
		require.Equal(t, idem.Unchanged, res.Outcome)
		ours, err := scan(t.Context(), table, "")
		require.NoError(t, err)
		tally(t, spark, list[1].beside(ours.rows), "%s: as the Parquet files", names[i])
	}
	agreeOnPaths(t, names, paths, func(engine, string) bool { return false })
}

// TestDirectoriesOfMixedSchemasAreNotConverted: two writes to one directory gave a column two types.
func TestDirectoriesOfMixedSchemasAreNotConverted(t *testing.T) {
	needEngines(t)
	path := filepath.Join(t.TempDir(), "mixed")
	for i, o := range sparkDoes(t, [][]statement{{
		{SQL: fmt.Sprintf("INSERT OVERWRITE DIRECTORY '%s/p=1' USING parquet SELECT 1L AS id, 'x' AS v", path)},
		{SQL: fmt.Sprintf("INSERT OVERWRITE DIRECTORY '%s/p=2' USING parquet SELECT 'one' AS id, 'y' AS v", path)},
	}})[0] {
		require.NoError(t, o.err, "statement %d", i+1)
	}
	before := filesBelow(t, path)
	_, _, err := maintain.ConvertParquet(t.Context(), path, maintain.Convert{}, idem.Options{})
	claim(t, spark, err != nil, "it is refused")
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "id")
	require.Equal(t, before, filesBelow(t, path), "nothing is left")
}
