package maintain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

// refused makes changes that must be refused, and holds the table against what it was.
func refused(f *fixture, says string, changes ...maintain.Change) {
	f.t.Helper()
	before := f.other().Version()
	_, err := maintain.AlterTable(f.t.Context(), f.other(), maintain.Alter{Changes: changes})
	require.ErrorIs(f.t, err, idem.ErrInput)
	require.ErrorContains(f.t, err, says)
	require.Equal(f.t, before, f.other().Version())
}

// Rows of a table that has the columns of its partitions alone would be in no file.
func TestTheLastColumnThatFilesHoldStays(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}, Properties: map[string]string{"delta.columnMapping.mode": "name"}})
	f.append(row{"a", 1, "x"})
	refused(f, "the last column that files hold", maintain.DropColumn{Name: "id"}, maintain.DropColumn{Name: "v"})
	alter(f, f.table, maintain.DropColumn{Name: "id"})
	f.table = f.other()
	refused(f, "the last column that files hold", maintain.DropColumn{Name: "v"})
	alter(f, f.table, maintain.AddColumn{Name: "nothing", Type: arrow.Null})
	f.table = f.other()
	refused(f, "the last column that files hold", maintain.DropColumn{Name: "v"})
	alter(f, f.table, maintain.AddColumn{Name: "w", Type: longs}, maintain.DropColumn{Name: "v"})
}

// A table of icebergCompatV1 does not go with a feature that came since: neither a restore nor a copy brings them together.
func TestRestoreOfADefinitionThatDoesNotGoWithAFeatureSince(t *testing.T) {
	compat := maintain.SetProperties{Properties: map[string]string{"delta.enableIcebergCompatV1": "true"}}
	definition := idem.Definition{Properties: map[string]string{"delta.columnMapping.mode": "name"}}
	t.Run("restore", func(t *testing.T) {
		f := newFixture(t, definition)
		alter(f, f.table, compat)
		f.append(row{"a", 1, "x"}) // version 2
		alter(f, f.table, maintain.SetProperties{Properties: map[string]string{"delta.enableIcebergCompatV1": "false"}})
		enable(f, f.table, "deletionVectors")
		before := f.other().Version()
		_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(2)})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "deletionVectors")
		require.Equal(t, before, f.other().Version())
		drop(f, f.table, "deletionVectors")
		f.restore(maintain.Version(2))
	})
	t.Run("clone", func(t *testing.T) {
		f, to := newFixture(t, definition), store.NewMem()
		enable(f, f.table, "deletionVectors")
		f.append(row{"a", 1, "x"})
		cloned(t, f.table, to, maintain.Clone{})
		drop(f, f.table, "deletionVectors")
		alter(f, f.table, compat)
		f.table = f.other()
		_, _, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, idem.Options{})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "deletionVectors")
	})
}

// The columns that a table is clustered by are those that it has, whoever names them meanwhile.
func TestADefinitionChangesWhileTheTableIsClustered(t *testing.T) {
	by := func(name string) maintain.ClusterBy { return maintain.ClusterBy{Columns: []string{name}} }
	mapped := idem.Definition{ClusterBy: []string{"id"}, Properties: map[string]string{"delta.columnMapping.mode": "name"}}
	f := newFixture(t, mapped)
	f.append(row{"a", 1, "x"})
	f.raced(func(o *idem.Table) { alter(f, o, by("v")) })
	_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.DropColumn{Name: "v"}}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "clustered by it")

	f = newFixture(t, mapped)
	f.append(row{"a", 1, "x"})
	f.raced(func(o *idem.Table) { alter(f, o, by("v")) })
	drop(f, f.table, "columnMapping")
	f.store.Before = nil
	f.table = f.other()
	require.Equal(t, idem.Committed, f.optimize(maintain.Optimize{}).Outcome)
}

// Where column mapping goes and comes, the place of a column in files is another one, and its numbers are its own.
func TestRestoreAcrossTwoTimesOfMappingGivesNoNumberTwice(t *testing.T) {
	for _, step := range []int64{1, -1} {
		f := newFixture(t, idem.Definition{Columns: map[string]idem.Column{"id": {Identity: &idem.Identity{Start: 10, Step: step}}}, Properties: map[string]string{"delta.columnMapping.mode": "name"}})
		number := func() {
			_, err := f.other().Append(t.Context(), jsonRows(t, arrow.NewSchema([]arrow.Field{columns.Field(0), columns.Field(2)}, nil), `[{"p":"a","v":"x"}]`), idem.Append{Reason: "test"})
			require.NoError(t, err)
			f.table = f.other()
		}
		number() // version 1
		drop(f, f.table, "columnMapping")
		number()
		enable(f, f.other(), "columnMapping")
		number()
		f.restore(maintain.Version(1))
		number()
		require.ElementsMatch(t, []string{"a/10/x", fmt.Sprintf("a/%d/x", 10+3*step)}, f.rows())
	}
}

// A copy that was made while the source had the feature and no row ids has ids of its own, also for rows that the source
// copied with theirs.
func TestCloneOnwardOfATableThatOnlySupportedRowTracking(t *testing.T) {
	for _, where := range []string{"id = 1", "id = 2", "id = 3", "id = 4"} {
		f, to := newFixture(t, idem.Definition{}), store.NewMem()
		f.append(row{"a", 1, "x"}, row{"a", 2, "x"})
		f.append(row{"b", 3, "x"}, row{"b", 4, "x"})
		_, err := maintain.EnableFeature(t.Context(), f.table, maintain.Enable{Feature: "rowTracking", SupportOnly: true})
		require.NoError(t, err)
		f.table = f.other()
		cloned(t, f.table, to, maintain.Clone{})
		f.append(row{"c", 5, "x"})
		enable(f, f.other(), "rowTracking")
		f.table = f.other()
		f.delete(where)
		f.table = f.other()
		require.Len(t, idsOf(t, f.table), 4)
		copy, _ := cloned(t, f.table, to, maintain.Clone{})
		require.Len(t, idsOf(t, copy), 4, where)
	}
}

// What was learned of files while a feature is dropped holds for the types that were looked at alone.
func TestDropWideningWhileAnotherWidensAgain(t *testing.T) {
	f := newFixture(t, idem.Definition{Schema: wide, Properties: map[string]string{"delta.enableTypeWidening": "true"}})
	alter(f, f.table, maintain.DropNotNull{Name: "n"}, maintain.WidenColumn{Name: "s.a", Type: longs})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "x"})
	last, within := delta.CommitKey(f.other().Version()+2), false
	f.store.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutIfAbsent && !within && c.Key == last {
			within = true
			alter(f, f.other(), maintain.SetProperties{Properties: map[string]string{"delta.enableTypeWidening": "true"}}, maintain.WidenColumn{Name: "n", Type: longs})
		}
		return storetest.Fault{}
	}
	drop(f, f.table, "typeWidening")
	require.True(t, within)
	f.store.Before = nil
	require.Equal(t, []string{"a/1/x", "a/2/x"}, f.rows())
	now := f.other().Snapshot()
	require.False(t, now.Protocol().Supports("typeWidening"))
	require.NotContains(t, now.Metadata().SchemaString, "typeChanges")
}

// Where a field of a struct goes, the length that is declared of it goes, too.
func TestLengthsGoWithTheirFields(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		columns.Field(0), columns.Field(1), columns.Field(2),
		{Name: "s", Nullable: true, Type: arrow.StructOf(
			arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true},
			arrow.Field{Name: "b", Nullable: true, Type: arrow.ListOf(arrow.BinaryTypes.String)},
			arrow.Field{Name: "n", Nullable: true, Type: longs},
		)},
	}, nil)
	f := newFixture(t, idem.Definition{Schema: schema, Properties: map[string]string{"delta.columnMapping.mode": "name"},
		Columns: map[string]idem.Column{"s": {Type: "struct<a:varchar(3),b:array<char(2)>,n:bigint>"}}})
	declared := func() string {
		text, _, err := f.other().Snapshot().Schema().Fields[3].Text(delta.CharTypeKey)
		require.NoError(t, err)
		return text
	}
	wanted := func(text string, changes ...maintain.Change) {
		t.Helper()
		alter(f, f.other(), changes...)
		require.Equal(t, text, declared())
	}
	write := func(name, value string) error {
		s := f.other().Snapshot().ArrowSchema()
		_, err := f.other().Append(t.Context(), jsonRows(t, arrow.NewSchema([]arrow.Field{s.Field(3)}, nil), fmt.Sprintf(`[{"s":{%q:%s}}]`, name, value)), idem.Append{Reason: "test"})
		return err
	}
	require.ErrorIs(t, write("a", `"four"`), idem.ErrInput)
	wanted("struct<`x y`:varchar(3),b:array<char(2)>,n:bigint>", maintain.RenameColumn{Name: "s.a", To: "x y"})
	require.ErrorIs(t, write("x y", `"four"`), idem.ErrInput)
	require.NoError(t, write("x y", `"fou"`))
	wanted("struct<`x y`:varchar(3),b:array<char(2)>,n:bigint,m:int>", maintain.AddColumn{Name: "s.m", Type: arrow.PrimitiveTypes.Int32})
	wanted("struct<n:bigint,`x y`:varchar(3),b:array<char(2)>,m:int>", maintain.MoveColumn{Name: "s.n", First: true})
	wanted("struct<n:bigint,b:array<char(2)>,m:int>", maintain.DropColumn{Name: "s.`x y`"})
	alter(f, f.other(), maintain.AddColumn{Name: "s.`x y`", Type: arrow.BinaryTypes.String})
	require.NoError(t, write("x y", `"any length"`), "it is another column")
	require.ErrorIs(t, write("b", `["abc"]`), idem.ErrInput)
	wanted("", maintain.DropColumn{Name: "s.b"})
}

func TestACloneWhoseRecordHasExpired(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.setTransactionRetentionDuration": "interval 1 day"}})
	f.append(row{"a", 1, "x"})
	to := store.NewMemClock(func() time.Time { return f.clock.now })
	options := idem.Options{Parallelism: 1, Clock: f.clock}
	copy, _, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, options)
	require.NoError(t, err)
	f.clock.now = f.clock.now.Add(2 * day)
	_, err = maintain.Checkpoint(t.Context(), copy)
	require.NoError(t, err)
	_, res, err := maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, options)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	f.append(row{"a", 2, "x"})
	copy, res, err = maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, options)
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	require.Equal(t, []string{"a/1/x", "a/2/x"}, scanned(t, copy))
	f.clock.now = f.clock.now.Add(2 * day)
	_, err = maintain.Checkpoint(t.Context(), copy)
	require.NoError(t, err)
	_, err = copy.Append(t.Context(), rowsOf(row{"a", 3, "x"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, _, err = maintain.CloneTableStore(t.Context(), f.table, to, maintain.Clone{}, options)
	differs(t, err, "")
}

func TestClusteringByMoreColumnsThanRowsAreOrderedBy(t *testing.T) {
	fields := columns.Fields()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("c", i))
		fields = append(fields, arrow.Field{Name: names[i], Type: longs, Nullable: true})
	}
	f := newFixture(t, idem.Definition{Schema: arrow.NewSchema(fields, nil)})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "x"})
	refused(f, "at most 16", maintain.ClusterBy{Columns: names[:17]})
	alter(f, f.table, maintain.ClusterBy{Columns: names[:16]})
	_, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: arrow.NewSchema(fields, nil), ClusterBy: names}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)

	d, _ := f.other().Snapshot().Domain(delta.ClusteringDomain) // of another engine
	d.Configuration = `{"clusteringColumns":[["id"]`
	for _, name := range names {
		d.Configuration += fmt.Sprintf(`,[%q]`, name)
	}
	d.Configuration += `],"domainName":"delta.clustering"}`
	f.commit("CLUSTER BY", delta.Action{Domain: &d})
	f.table = f.other()
	require.Equal(t, idem.Committed, f.optimize(maintain.Optimize{}).Outcome)
	require.Equal(t, []string{"a/1/x", "a/2/x"}, f.rows())
}
