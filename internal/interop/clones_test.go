package interop_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/maintain"
)

// cloned is a kind of table of which Spark makes shallow clones: its properties, and statements after it was
// made, in which %s is the table.
type cloned struct {
	name       string
	properties string
	sql        []string
}

// Rows have a partition column with the values that paths must escape, and its own escape in them.
const clonedRows = `INSERT INTO %s (id, p, v) VALUES (1, 'a b', 'x'), (2, 'x=y/z', 'y'), (3, '%%41:?#', 'z'), (4, NULL, NULL), (5, 'é', ''), (6, 'a b', 'w')`

var clones = []cloned{
	{"plain", "", nil},
	{"vectors", "'delta.enableDeletionVectors' = 'true'", []string{"DELETE FROM %s WHERE id IN (1, 2)"}},
	{"mapped", "'delta.columnMapping.mode' = 'name'", []string{"ALTER TABLE %s RENAME COLUMN v TO `a name`"}},
	{"tracked", "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'", []string{"UPDATE %s SET v = 'u' WHERE id = 3"}},
}

// cloning is a table, Spark's shallow clone of it and the clone's clone.
type cloning struct {
	cloned
	dir                  string
	source, clone, again string
}

func (c *cloning) paths() []string { return []string{c.source, c.clone, c.again} }

func (c *cloning) outside() idem.Options {
	return idem.Options{Outside: idem.OutsideBelow(c.source, c.clone)}
}

// sparkDoes has Spark do lists of statements side by side and gives the answers to each list.
func sparkDoes(t *testing.T, jobs [][]statement) [][]outcome {
	t.Helper()
	var replies [][]reply
	require.NoError(t, theRun.server.ask(spark, "many", map[string]any{"jobs": jobs}, &replies))
	out := make([][]outcome, len(replies))
	for i, list := range replies {
		for _, r := range list {
			out[i] = append(out[i], r.outcome())
		}
	}
	return out
}

// cloneAll has Spark make the tables, shallow clones, and shallow clones of these.
func cloneAll(t *testing.T) []*cloning {
	var all []*cloning
	var jobs [][]statement
	for _, k := range clones {
		dir := filepath.Join(t.TempDir(), "with a space")
		c := &cloning{k, dir, filepath.Join(dir, "source%41"), filepath.Join(dir, "clone"), filepath.Join(dir, "again")}
		sql := fmt.Sprintf("CREATE TABLE %s (id BIGINT, p STRING, v STRING) USING delta PARTITIONED BY (p)", deltaTable(c.source))
		if c.properties != "" {
			sql += " TBLPROPERTIES (" + c.properties + ")"
		}
		job := []statement{{SQL: sql}, {SQL: fmt.Sprintf(clonedRows, deltaTable(c.source))}}
		for _, s := range c.sql {
			job = append(job, statement{SQL: fmt.Sprintf(s, deltaTable(c.source))})
		}
		job = append(job, statement{SQL: "CREATE TABLE " + deltaTable(c.clone) + " SHALLOW CLONE " + deltaTable(c.source)},
			statement{SQL: "INSERT INTO " + deltaTable(c.clone) + " VALUES (7, 'in the clone', 'c')"},
			statement{SQL: "CREATE TABLE " + deltaTable(c.again) + " SHALLOW CLONE " + deltaTable(c.clone)})
		all, jobs = append(all, c), append(jobs, job)
	}
	for i, list := range sparkDoes(t, jobs) {
		for j, o := range list {
			tally(t, spark, o.err, "%s: %s", all[i].name, jobs[i][j].SQL)
		}
	}
	return all
}

// TestShallowClones: Spark clones tables without copying files. idem reads clones and clones of clones where
// it is allowed to, writes to them so that Spark reads it, and leaves the source alone.
func TestShallowClones(t *testing.T) {
	needEngines(t)
	all := cloneAll(t)
	var before [][]string
	for _, c := range all {
		before = append(before, filesBelow(t, c.source))
		for _, path := range []string{c.clone, c.again} {
			_, err := idem.Open(t.Context(), path, idem.Options{})
			require.ErrorIs(t, err, idem.ErrUnsupported, c.name)
			require.ErrorContains(t, err, "Options.Outside", c.name)
		}
	}
	agreeOnClones(t, all, "cloned")
	for _, c := range all {
		c.write(t)
	}
	agreeOnClones(t, all, "written by idem")
	for i, c := range all {
		require.Equal(t, before[i], filesBelow(t, c.source), "%s: the source is left alone", c.name)
	}
}

// filesBelow gives the files of a directory, with sizes, but for what Spark keeps beside the log.
func filesBelow(t *testing.T, dir string) (out []string) {
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) != ".crc" {
			info, err := d.Info()
			require.NoError(t, err)
			out = append(out, fmt.Sprint(name, " ", info.Size()))
		}
		return err
	}))
	require.NotEmpty(t, out)
	return out
}

// agreeOnClones holds what Spark reads of all the tables against what idem does, and these against the rules
// of the log.
func agreeOnClones(t *testing.T, all []*cloning, what string) {
	t.Helper()
	var jobs [][]statement
	for _, c := range all {
		var job []statement
		for _, path := range c.paths() {
			job = append(job, statement{SQL: "SELECT * FROM " + deltaTable(path), Read: true})
		}
		jobs = append(jobs, job)
	}
	for i, list := range sparkDoes(t, jobs) {
		for j, o := range list {
			path := all[i].paths()[j]
			table, err := idem.Open(t.Context(), path, all[i].outside())
			require.NoError(t, err)
			ours, err := scan(t.Context(), table, "")
			require.NoError(t, err)
			require.NotEmpty(t, ours.rows)
			tally(t, spark, o.beside(ours.rows), "%s, %s: %s", all[i].name, what, filepath.Base(path))
			dir, err := store.OpenDir(path)
			require.NoError(t, err)
			report, err := logcheck.Options{Outside: all[i].outside().Outside}.Check(t.Context(), dir)
			require.NoError(t, err)
			tally(t, spark, report.Err(), "%s, %s: the rules of the log of %s", all[i].name, what, filepath.Base(path))
		}
	}
}

// write has every kind of verb work on both clones, which then are vacuumed.
func (c *cloning) write(t *testing.T) {
	mem := checked(t)
	for _, path := range []string{c.clone, c.again} {
		o := c.outside()
		o.Allocator = mem
		table, err := idem.Open(t.Context(), path, o)
		require.NoError(t, err)
		rows := func(rows ...row) source {
			s := source{Rows: rows}
			for _, f := range table.Snapshot().Schema().Fields {
				s.Schema = append(s.Schema, column{f.Name, fmt.Sprint(f.Type)})
			}
			return s
		}
		for _, call := range []func(ctx context.Context) (*idem.Result, error){
			func(ctx context.Context) (*idem.Result, error) {
				return table.Delete(ctx, idem.Delete{Where: "id = 6"})
			},
			func(ctx context.Context) (*idem.Result, error) {
				return table.Merge(ctx, rows(row{3, "a b", "m"}, row{20, "new", "m"}).reader(t, mem), idem.Merge{On: []string{"id"}, Unguarded: true})
			},
			func(ctx context.Context) (*idem.Result, error) {
				return table.ReplaceWhere(ctx, rows(row{5, "é", "r"}, row{21, "é", "r"}).reader(t, mem), idem.ReplaceWhere{Where: "p = 'é'"})
			},
			func(ctx context.Context) (*idem.Result, error) {
				return table.AppendWithTxn(ctx, rows(row{22, nil, "t"}).reader(t, mem), idem.Txn{AppID: "clones", Version: 1, VerifyPayload: true})
			},
		} {
			for _, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
				res, err := call(t.Context())
				require.NoError(t, err, c.name)
				require.True(t, res.Outcome == want || want == idem.Unchanged && res.Outcome == idem.AlreadyApplied, "%s: %s", c.name, res)
			}
		}
		if path == c.again { // the clone is the source of the other clone: a vacuum would take files from that
			_, err = maintain.VacuumTable(t.Context(), table, maintain.Vacuum{Retention: 1, AllowShortRetention: true})
			require.NoError(t, err, c.name)
		}
	}
}

// TestCloneTable: idem's own clone, which copies the files, is read by every engine and keeps the features of
// its source.
func TestCloneTable(t *testing.T) {
	needEngines(t)
	var names []string
	var paths []string
	for _, c := range []string{"plain", "partitioning", "deletionVectors", "columnMapping(name)", "rowTracking", "changeDataFeed", "v2Checkpoint", "typeWidening"} {
		s := &subject{featureCase: combined(c), t: t, mem: checked(t), path: filepath.Join(t.TempDir(), "source"), was: map[int64][]fact{}}
		s.create()
		if s.widen != "" {
			s.widened()
		}
		s.ours()
		require.Empty(t, s.faults, c)
		to := filepath.Join(t.TempDir(), "a clone")
		clone, res, err := maintain.CloneTable(t.Context(), s.table, to, maintain.Clone{}, idem.Options{Allocator: s.mem})
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		features := clone.Snapshot().Protocol().Features()
		for _, f := range s.table.Snapshot().Protocol().Features() {
			require.True(t, slices.Contains(features, f), "%s: the clone has %v", f, features)
		}
		names, paths = append(names, c), append(paths, to)
	}
	agreeOnPaths(t, names, paths, func(e engine, name string) bool {
		return e == deltaRS && name == "typeWidening"
	})
}

// agreeOnPaths holds what every engine reads of tables against what idem does.
func agreeOnPaths(t *testing.T, names, paths []string, excepted func(e engine, name string) bool) {
	t.Helper()
	var jobs [][]statement
	for _, p := range paths {
		jobs = append(jobs, []statement{{SQL: "SELECT * FROM " + deltaTable(p), Read: true}})
	}
	answers := map[engine][]outcome{}
	for _, list := range sparkDoes(t, jobs) {
		answers[spark] = append(answers[spark], list[0])
	}
	for _, e := range []engine{deltaRS, duckDB} {
		var replies []reply
		require.NoError(t, theRun.server.ask(e, "many", map[string]any{"paths": paths}, &replies))
		for _, r := range replies {
			answers[e] = append(answers[e], r.outcome())
		}
	}
	for i, p := range paths {
		table := at(t, p).table
		ours, err := scan(t.Context(), table, "")
		require.NoError(t, err)
		require.NotEmpty(t, ours.rows)
		for _, e := range everyEngine {
			err := answers[e][i].beside(ours.rows)
			if excepted(e, names[i]) {
				if err == nil {
					err = fmt.Errorf("agrees, although it is excepted")
				} else {
					t.Logf("exception: %s, %s: %.200s", e, names[i], err)
					err = nil
				}
			}
			tally(t, e, err, "%s", names[i])
		}
	}
}

// deltaTable is the name of the table in a directory in Spark's statements.
func deltaTable(path string) string { return "delta." + ticked(path) }
