package maintain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

// kinds are the tables on which every operation must hold.
var kinds = []struct {
	name       string
	definition idem.Definition
}{
	{"plain", idem.Definition{}},
	{"partitioned", idem.Definition{PartitionBy: []string{"p"}}},
	{"deletion vectors", idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}}},
	{"names", idem.Definition{PartitionBy: []string{"p"}, Properties: map[string]string{"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}}},
	{"ids", idem.Definition{Properties: map[string]string{"delta.columnMapping.mode": "id"}}},
	{"row ids", idem.Definition{Properties: map[string]string{"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}}},
	{"change data", idem.Definition{Properties: map[string]string{"delta.enableChangeDataFeed": "true"}}},
	{"commit times", idem.Definition{Properties: map[string]string{"delta.enableInCommitTimestamps": "true"}}},
	{"clustered", idem.Definition{ClusterBy: []string{"id", "v"}, Properties: map[string]string{"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true"}}},
	{"V2 checkpoints", idem.Definition{Properties: map[string]string{"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2"}}},
}

// ids are the rows with their ids and the versions that they are of; nil if the table does not track rows.
func (f *fixture) ids() []string {
	table := f.other()
	if !table.Snapshot().TracksRows() {
		return nil
	}
	var out []string
	for b, err := range table.Scan(f.t.Context(), idem.Scan{Columns: []string{"p", "id", "v"}, RowIDs: true}) {
		require.NoError(f.t, err)
		for i := range int(b.NumRows()) {
			line := ""
			for c := range int(b.NumCols()) {
				line += b.Column(c).ValueStr(i) + "/"
			}
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryOperationOnEveryKindOfTable(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			f := newFixture(t, k.definition)
			for i := range int64(3) {
				f.append(row{"a", 3 * i, "x"}, row{"a", 3*i + 1, "y"}, row{"b", 3*i + 2, "z"})
			}
			three, threeIDs := f.rows(), f.ids() // version 3
			f.delete("id IN (1, 5)")
			rows, ids, print := f.rows(), f.ids(), f.fingerprint()

			res := f.optimize(maintain.Optimize{})
			require.Equal(t, idem.Committed, res.Outcome)
			require.EqualValues(t, 7, res.RowsCopied)
			f.check()
			require.Equal(t, rows, f.rows())
			require.Equal(t, ids, f.ids(), "rows keep their ids")
			require.Equal(t, print, f.fingerprint())
			for _, a := range f.files() {
				require.Nil(t, a.DeletionVector)
			}
			require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{}).Outcome)

			require.Equal(t, idem.Committed, f.restore(maintain.Version(3)).Outcome)
			f.check()
			require.Equal(t, three, f.rows())
			require.Equal(t, threeIDs, f.ids(), "ids come back with their rows")
			require.Equal(t, idem.Unchanged, f.restore(maintain.Version(3)).Outcome)
			require.Equal(t, idem.Committed, f.restore(maintain.Version(4)).Outcome)
			require.Equal(t, rows, f.rows())
			require.Equal(t, idem.Committed, f.restore(maintain.Version(5)).Outcome, "what was laid out anew")
			require.Equal(t, ids, f.ids())
			f.append(row{"c", 100, "new"})
			if ids := f.ids(); ids != nil {
				require.NotContains(t, threeIDs, ids[len(ids)-1], "no id is given twice")
			}

			f.clock.now = f.clock.now.Add(8 * day)
			want, dry := f.rows(), f.vacuum(maintain.Vacuum{DryRun: true})
			require.NotEmpty(t, dry.Names)
			lite := f.vacuum(maintain.Vacuum{Lite: true})
			full := f.vacuum(maintain.Vacuum{})
			require.Equal(t, dry.Files, lite.Files+full.Files)
			require.Equal(t, want, f.rows())
			live := map[string]bool{}
			for _, a := range f.files() {
				live[a.Key] = true
			}
			for _, key := range f.dataFiles() {
				require.True(t, live[key], "%s is left behind", key)
			}
			require.Equal(t, idem.Unchanged, f.vacuum(maintain.Vacuum{}).Outcome)
			_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(3)})
			require.ErrorIs(t, err, idem.ErrInput, "past the vacuum")
			_, err = maintain.Checkpoint(t.Context(), f.table)
			require.NoError(t, err)
			f.table = f.other()
			require.Equal(t, want, f.rows())
		})
	}
}

func TestVacuumKeepsTheVectorsOfLiveFilesAndOfYoungRemovals(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
	var list []row
	for i := range int64(20) {
		list = append(list, row{"a", i, "x"})
	}
	f.append(list...)
	f.delete("id = 1")
	f.clock.now = f.clock.now.Add(8 * day)
	f.delete("id = 2") // the vector of the first delete is removed now
	vectors := func() int {
		n := 0
		for _, key := range f.dataFiles() {
			if len(key) > 4 && key[len(key)-4:] == ".bin" {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, vectors())
	require.Zero(t, f.vacuum(maintain.Vacuum{}).Files)
	require.Zero(t, f.vacuum(maintain.Vacuum{Lite: true}).Files)
	f.clock.now = f.clock.now.Add(8 * day)
	require.EqualValues(t, 1, f.vacuum(maintain.Vacuum{Lite: true}).Files)
	require.Equal(t, 1, vectors())
	require.Zero(t, f.vacuum(maintain.Vacuum{}).Files)
	require.Len(t, f.rows(), 18)
}

func TestRestoreLooksForVectors(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
	f.append(row{"a", 1, "x"}, row{"a", 2, "x"}, row{"a", 3, "x"}, row{"a", 4, "x"}) // version 1
	f.delete("id = 1")
	vector := f.dataFiles()[0]
	require.Contains(t, vector, "deletion_vector_")
	_, err := f.table.ReplaceAll(t.Context(), rowsOf(row{"b", 9, "y"}), idem.ReplaceAll{})
	require.NoError(t, err)
	require.NoError(t, f.mem.Delete(t.Context(), vector))
	_, err = maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(2)})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, vector)
	require.Equal(t, idem.Committed, f.restore(maintain.Version(1)).Outcome, "a version that needs no vector")
	require.Len(t, f.rows(), 4)
}

func TestRestoreBeforeColumnMapping(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	f.append(row{"a", 1, "x"}) // version 1
	edit, err := f.other().Snapshot().SetProperties(delta.Fresh{}, map[string]string{"delta.columnMapping.mode": "name"})
	require.NoError(t, err)
	f.commit("SET TBLPROPERTIES", delta.Action{Protocol: edit.Protocol}, delta.Action{Metadata: edit.Metadata})
	f.table = f.other()
	f.append(row{"b", 2, "y"})
	f.restore(maintain.Version(1))
	now := f.other().Snapshot()
	require.Equal(t, delta.MappingName, now.Mapping(), "mapping is not turned off")
	require.Equal(t, []string{"a/1/x"}, f.rows())
	f.append(row{"b", 3, "z"})
	require.Equal(t, []string{"a/1/x", "b/3/z"}, f.rows())
	require.Equal(t, idem.Unchanged, f.restore(maintain.Version(f.table.Version())).Outcome)
}

func TestRestoreGivesNoNumberTwice(t *testing.T) {
	for _, step := range []int64{1, -1} {
		definition := idem.Definition{Columns: map[string]idem.Column{"id": {Identity: &idem.Identity{Start: 10, Step: step}}}}
		f := newFixture(t, definition)
		given := arrow.NewSchema([]arrow.Field{columns.Field(0), columns.Field(2)}, nil)
		number := func() {
			_, err := f.table.Append(t.Context(), jsonRows(t, given, `[{"p":"a","v":"x"}]`), idem.Append{Reason: "test"})
			require.NoError(t, err)
			f.clock.now = f.clock.now.Add(time.Minute)
		}
		number() // version 1
		number()
		number()
		f.restore(maintain.Version(1))
		number()
		require.ElementsMatch(t, []string{"a/10/x", fmt.Sprintf("a/%d/x", 10+3*step)}, f.rows())
		require.Equal(t, idem.Committed, f.restore(maintain.Version(1)).Outcome)
		require.Equal(t, idem.Unchanged, f.restore(maintain.Version(1)).Outcome)
	}
}

func TestRestoreGivesNoNumberOfADroppedColumnTwice(t *testing.T) {
	for name, c := range map[string]struct {
		mode string
		gone func(f *fixture)
	}{
		"dropped": {"name", func(f *fixture) { alter(f, f.table, maintain.DropColumn{Name: "id"}) }},
		"dropped, and another of its name": {"name", func(f *fixture) {
			alter(f, f.table, maintain.DropColumn{Name: "id"})
			alter(f, f.table, maintain.AddColumn{Name: "id", Type: arrow.PrimitiveTypes.Int64})
		}},
		"renamed": {"name", func(f *fixture) { alter(f, f.table, maintain.RenameColumn{Name: "id", To: "num"}) }},
		"mapped, and dropped": {"none", func(f *fixture) {
			alter(f, f.table, maintain.SetProperties{Properties: map[string]string{"delta.columnMapping.mode": "name"}}, maintain.DropColumn{Name: "id"})
		}},
		"under its own name again": {"name", func(f *fixture) {
			drop(f, f.table, "columnMapping")
		}},
		"by a schema of another writer, and numbered anew": {"none", func(f *fixture) {
			m := *f.table.Snapshot().Metadata()
			schema, err := delta.ParseSchema(m.SchemaString)
			require.NoError(t, err)
			delete(schema.Fields[schema.Index("id")].Metadata, delta.IdentityMarkKey)
			m.SchemaString = schema.JSON()
			f.commit("REPLACE TABLE", delta.Action{Metadata: &m})
		}},
	} {
		for _, step := range []int64{1, -1} {
			t.Run(fmt.Sprint(name, step), func(t *testing.T) {
				f := newFixture(t, idem.Definition{Columns: map[string]idem.Column{"id": {Identity: &idem.Identity{Start: 10, Step: step}}}, Properties: map[string]string{"delta.columnMapping.mode": c.mode}})
				number := func() {
					_, err := f.other().Append(t.Context(), jsonRows(t, arrow.NewSchema([]arrow.Field{columns.Field(0), columns.Field(2)}, nil), `[{"p":"a","v":"x"}]`), idem.Append{Reason: "test"})
					require.NoError(t, err)
					f.clock.now = f.clock.now.Add(time.Minute)
				}
				number() // version 1
				number()
				f.table = f.other()
				c.gone(f)
				f.table = f.other()
				f.restore(maintain.Version(1))
				number()
				require.ElementsMatch(t, []string{"a/10/x", fmt.Sprintf("a/%d/x", 10+2*step)}, f.rows())
				f.table = f.other()
				require.Equal(t, idem.Committed, f.restore(maintain.Version(1)).Outcome)
				number()
				require.ElementsMatch(t, []string{"a/10/x", fmt.Sprintf("a/%d/x", 10+3*step)}, f.rows())
				require.Equal(t, idem.Committed, f.restore(maintain.Version(1)).Outcome)
				require.Equal(t, idem.Unchanged, f.restore(maintain.Version(1)).Outcome)
			})
		}
	}
}

func TestRestoreBringsClusteringColumnsBack(t *testing.T) {
	f := newFixture(t, idem.Definition{ClusterBy: []string{"id"}})
	f.append(row{"a", 1, "x"}) // version 1
	for _, columns := range [][][]string{{{"v"}}, nil} {
		edit, err := f.other().Snapshot().ClusterBy(columns...)
		require.NoError(t, err)
		var actions []delta.Action
		for _, d := range edit.Domains {
			actions = append(actions, delta.Action{Domain: &d})
		}
		f.commit("CLUSTER BY", actions...)
	}
	require.Empty(t, f.other().Snapshot().Clustering())
	f.table = f.other()
	require.Equal(t, idem.Committed, f.restore(maintain.Version(2)).Outcome)
	require.Equal(t, [][]string{{"v"}}, f.other().Snapshot().Clustering())
	f.restore(maintain.Version(1))
	require.Equal(t, [][]string{{"id"}}, f.other().Snapshot().Clustering())
	f.restore(maintain.Version(3))
	require.Empty(t, f.other().Snapshot().Clustering())
	require.Equal(t, idem.Unchanged, f.restore(maintain.Version(3)).Outcome)
}

// A feature that was on when the call began and that a restore takes back meanwhile is turned on, not said to be on.
func TestAFeatureThatARestoreTakesBackMeanwhileIsTurnedOn(t *testing.T) {
	f := newFixture(t, idem.Definition{Schema: columns})
	enable := func() *maintain.Altered {
		done, err := maintain.EnableFeature(t.Context(), f.table, maintain.Enable{Feature: "changeDataFeed"})
		require.NoError(t, err)
		return done
	}
	require.Equal(t, idem.Committed, enable().Outcome)
	next, looked := delta.CommitKey(f.other().Version()+1), 0
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpGet && c.Key == next {
			if looked++; looked == 2 {
				_, err := maintain.RestoreTable(t.Context(), f.other(), maintain.Restore{To: maintain.Version(0)})
				require.NoError(t, err)
			}
		}
		return storetest.Fault{}
	}
	require.Equal(t, idem.Committed, enable().Outcome)
	require.GreaterOrEqual(t, looked, 2)
	on, _ := f.other().Snapshot().Property("delta.enableChangeDataFeed")
	require.Equal(t, "true", on)
	require.Equal(t, idem.Unchanged, enable().Outcome)
}
