package maintain_test

import (
	"encoding/json"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

var (
	longs = arrow.PrimitiveTypes.Int64
	ints  = arrow.PrimitiveTypes.Int32
	texts = arrow.BinaryTypes.String
)

// wide is the columns of row with more of other kinds.
var wide = arrow.NewSchema(append(columns.Fields(),
	arrow.Field{Name: "n", Type: ints},
	arrow.Field{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "a", Type: ints, Nullable: true}, arrow.Field{Name: "b", Type: texts, Nullable: true}), Nullable: true},
	arrow.Field{Name: "l", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "x", Type: ints, Nullable: true})), Nullable: true},
), nil)

func alter(f *fixture, table *idem.Table, changes ...maintain.Change) *maintain.Altered {
	res, err := maintain.AlterTable(f.t.Context(), table, maintain.Alter{Changes: changes, Note: "why"})
	require.NoError(f.t, err)
	return res
}

// alterations are changes of a table of the columns wide, with column mapping and type widening.
var alterations = []struct {
	name, why string
	changes   []maintain.Change
	operation string
	parameter string // one of its parameters
	value     string // which is a JSON text if it begins so; "" if ids make it random
}{
	{"add", "a place and a comment are told", []maintain.Change{maintain.AddColumn{Name: "x", Type: ints, Comment: "c", After: "id"}},
		"ADD COLUMNS", "columns", `[{"column":{"name":"x","type":"integer","nullable":true,"metadata":{"comment":"c"}},"position":"AFTER id"}]`},
	{"add several", "one operation for all", []maintain.Change{
		maintain.AddColumn{Name: "s.c", Type: texts, First: true}, maintain.AddColumn{Name: "l.element.y", Type: longs}, maintain.AddColumn{Name: "t", Type: texts, Lengths: "varchar(5)"}},
		"ADD COLUMNS", "columns", `[{"column":{"name":"s.c","type":"string","nullable":true,"metadata":{}},"position":"FIRST"},
			{"column":{"name":"l.element.y","type":"long","nullable":true,"metadata":{}}},{"column":{"name":"t","type":"varchar(5)","nullable":true,"metadata":{}}}]`},
	{"add of odd name", "backticks keep it together", []maintain.Change{maintain.AddColumn{Name: "`a.b c`", Type: ints}},
		"ADD COLUMNS", "columns", "[{\"column\":{\"name\":\"`a.b c`\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}}}]"},
	{"rename", "", []maintain.Change{maintain.RenameColumn{Name: "S.B", To: "bb"}}, "RENAME COLUMN", "newColumnPath", "S.bb"},
	{"drop", "", []maintain.Change{maintain.DropColumn{Name: "v"}, maintain.DropColumn{Name: "s.a"}}, "DROP COLUMNS", "columns", `["v","s.a"]`},
	{"move", "", []maintain.Change{maintain.MoveColumn{Name: "n", First: true}}, "CHANGE COLUMN", "position", "FIRST"},
	{"move twice", "the net effect counts, not each step", []maintain.Change{maintain.MoveColumn{Name: "n", First: true}, maintain.MoveColumn{Name: "id", First: true}},
		"CHANGE COLUMNS", "", ""},
	{"widen", "", []maintain.Change{maintain.WidenColumn{Name: "n", Type: longs}}, "CHANGE COLUMN", "", ""},
	{"null", "", []maintain.Change{maintain.DropNotNull{Name: "n"}}, "CHANGE COLUMN", "", ""},
	{"comment", "", []maintain.Change{maintain.SetComment{Name: "s.a", Comment: "hi"}}, "CHANGE COLUMN", "", ""},
	{"default", "", []maintain.Change{maintain.SetDefault{Name: "id", Default: "1 + 1"}}, "CHANGE COLUMN", "", ""},
	{"cluster", "", []maintain.Change{maintain.ClusterBy{Columns: []string{"s.a", "id"}}}, "CLUSTER BY", "newClusteringColumns", "s.a,id"},
	{"name", "", []maintain.Change{maintain.SetName{Name: "orders"}}, "SET TBLPROPERTIES", "properties", `{"name":"orders"}`},
	{"description", "", []maintain.Change{maintain.SetDescription{Description: "words"}}, "SET TBLPROPERTIES", "properties", `{"comment":"words"}`},
	{"constraint", "word by word", []maintain.Change{maintain.AddConstraint{Name: "Pos", Check: "id  > 0"}}, "ADD CONSTRAINT", "expr", "id  > 0"},
	{"properties", "", []maintain.Change{maintain.SetProperties{Properties: map[string]string{"a.b": "1", "delta.appendOnly": "true"}}},
		"SET TBLPROPERTIES", "properties", `{"a.b":"1","delta.appendOnly":"true"}`},
	{"unset", "", []maintain.Change{maintain.UnsetProperties{Names: []string{"delta.enableTypeWidening", "none.such"}}}, "UNSET TBLPROPERTIES", "properties", `["delta.enableTypeWidening","none.such"]`},
	{"feature", "", []maintain.Change{maintain.AddFeature{Name: "deletionVectors"}}, "SET TBLPROPERTIES", "properties", `{"delta.feature.deletionVectors":"supported"}`},
	{"several kinds", "one commit tells of all", []maintain.Change{maintain.SetComment{Name: "id", Comment: "key"}, maintain.AddColumn{Name: "x", Type: ints}, maintain.SetComment{Name: "x", Comment: "later"}},
		"ALTER TABLE", "", ""},
	{"without effect", "what is so already is not told", []maintain.Change{maintain.DropNotNull{Name: "id"}, maintain.RenameColumn{Name: "v", To: "w"}}, "RENAME COLUMN", "oldColumnPath", "v"},
}

func widened(t *testing.T) *fixture {
	return newFixture(t, idem.Definition{Schema: wide, Properties: map[string]string{"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}})
}

func TestAlterTwice(t *testing.T) {
	for _, c := range alterations {
		t.Run(c.name, func(t *testing.T) {
			f := widened(t)
			res := alter(f, f.table, c.changes...)
			require.Equal(t, idem.Committed, res.Outcome)
			require.EqualValues(t, 1, res.Version)
			f.check()
			after := f.other().Snapshot()
			require.Equal(t, idem.Unchanged, alter(f, f.table, c.changes...).Outcome, "a second call")
			require.Equal(t, idem.Unchanged, alter(f, f.other(), c.changes...).Outcome, "from another process")
			require.Equal(t, after.Version(), f.other().Version())

			info := f.last()
			require.Equal(t, c.operation, info.Operation)
			require.Equal(t, "why", info.UserMetadata)
			if c.parameter == "" {
				return
			}
			value, _ := info.OperationParameters[c.parameter].(string)
			if json.Valid([]byte(c.value)) {
				require.JSONEq(t, c.value, value)
			} else {
				require.Equal(t, c.value, value, c.why)
			}
		})
	}
}

// TestAlterOfRows changes the definition of a table with rows that are read and written before, between
// and after.
func TestAlterOfRows(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	f.append(row{"a", 1, "x"}, row{"b", 2, "y"})
	alter(f, f.table, maintain.SetProperties{Properties: map[string]string{"delta.columnMapping.mode": "name"}})
	f.append(row{"a", 3, "z"})
	alter(f, f.table, maintain.RenameColumn{Name: "p", To: "part"}, maintain.RenameColumn{Name: "v", To: "value"}, maintain.AddColumn{Name: "n", Type: ints})
	require.Equal(t, []string{"part", "id", "value", "n"}, fieldNames(f.other().Schema()))
	require.Equal(t, []string{"part"}, f.other().PartitionBy())
	_, err := f.table.Append(t.Context(), named(columnsNamed("part", "id", "value"), row{"b", 4, "w"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	alter(f, f.table, maintain.RenameColumn{Name: "part", To: "p"}, maintain.RenameColumn{Name: "value", To: "v"})
	require.Equal(t, []string{"a/1/x", "a/3/z", "b/2/y", "b/4/w"}, f.rows())
	alter(f, f.table, maintain.DropColumn{Name: "v"})
	alter(f, f.table, maintain.AddColumn{Name: "v", Type: texts})
	require.Equal(t, []string{"a/1/(null)", "a/3/(null)", "b/2/(null)", "b/4/(null)"}, f.rows(), "another column of the same name")

	version := f.other().Version()
	f.restore(maintain.Version(3))
	require.Equal(t, []string{"a/1/x", "a/3/z", "b/2/y"}, f.rows(), "the column is back")
	require.Equal(t, idem.Committed, alter(f, f.table, maintain.DropColumn{Name: "v"}).Outcome, "after a restore it is there to be dropped")
	require.Equal(t, version+2, f.other().Version())
}

func fieldNames(s *arrow.Schema) []string {
	var out []string
	for _, f := range s.Fields() {
		out = append(out, f.Name)
	}
	return out
}

// TestAlterRefuses: nothing is changed.
func TestAlterRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []maintain.Change
		is      error
		text    string
	}{
		{"nothing", nil, idem.ErrInput, "Alter.Changes is empty"},
		{"nil", []maintain.Change{nil}, idem.ErrInput, "nil"},
		{"no name", []maintain.Change{maintain.AddColumn{Type: ints}}, idem.ErrInput, "needs a name"},
		{"no type", []maintain.Change{maintain.AddColumn{Name: "x"}}, idem.ErrInput, "no type"},
		{"no new name", []maintain.Change{maintain.RenameColumn{Name: "v"}}, idem.ErrInput, "To is empty"},
		{"no such column", []maintain.Change{maintain.SetComment{Name: "zz", Comment: "c"}}, idem.ErrInput, "no column zz"},
		{"there with another type", []maintain.Change{maintain.AddColumn{Name: "id", Type: texts}}, idem.ErrConflict, "already"},
		{"narrower", []maintain.Change{maintain.WidenColumn{Name: "id", Type: ints}}, idem.ErrInput, "integer"},
		{"dropped and added", []maintain.Change{maintain.DropColumn{Name: "v"}, maintain.AddColumn{Name: "v", Type: ints}}, idem.ErrInput, "would change the table again (DROP COLUMNS, ADD COLUMNS)"},
		{"renamed, and another in its place", []maintain.Change{maintain.RenameColumn{Name: "v", To: "w"}, maintain.AddColumn{Name: "v", Type: texts}}, idem.ErrInput, "would fail"},
		{"added and widened", []maintain.Change{maintain.AddColumn{Name: "x", Type: ints}, maintain.WidenColumn{Name: "x", Type: longs}}, idem.ErrInput, "would fail"},
		{"second of two", []maintain.Change{maintain.SetName{Name: "x"}, maintain.DropColumn{Name: "s"}, maintain.SetComment{Name: "s", Comment: "c"}}, idem.ErrInput, "no column s"},
		{"default that is none", []maintain.Change{maintain.SetDefault{Name: "id", Default: "no_such(1)"}}, idem.ErrInput, "no_such"},
		{"default of another type", []maintain.Change{maintain.SetDefault{Name: "id", Default: "'x'"}}, idem.ErrInput, "default"},
		{"constraint that cannot be checked", []maintain.Change{maintain.AddConstraint{Name: "c", Check: "no_such(id)"}}, idem.ErrInput, "no_such"},
		{"property of Delta's that it has not", []maintain.Change{maintain.SetProperties{Properties: map[string]string{"delta.nonsense": "1"}}}, idem.ErrInput, "delta.nonsense"},
		{"feature of a catalog", []maintain.Change{maintain.AddFeature{Name: "catalogManaged"}}, idem.ErrUnsupported, "catalog"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := widened(t)
			_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: c.changes})
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.text)
			require.Zero(t, f.other().Version())
		})
	}
}

func TestRenameNeedsMapping(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.RenameColumn{Name: "v", To: "w"}}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "column mapping")
	both := []maintain.Change{maintain.SetProperties{Properties: map[string]string{"delta.columnMapping.mode": "name"}}, maintain.RenameColumn{Name: "v", To: "w"}}
	require.Equal(t, idem.Committed, alter(f, f.table, both...).Outcome, "in one commit")
	require.Equal(t, idem.Unchanged, alter(f, f.table, both...).Outcome)
}

func TestConstraintsHoldForRowsThatAreThere(t *testing.T) {
	for _, vectors := range []string{"false", "true"} {
		f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": vectors}})
		f.append(row{"a", 1, "x"}, row{"a", 2, "y"}, row{"a", 3, "z"}, row{"a", 30, "z"})
		f.append(row{"b", 50, "x"})
		check := maintain.AddConstraint{Name: "small", Check: "id < 10"}
		_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{check}})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, `"small" (id < 10) is not TRUE for 2 rows`)
		_, err = maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.AddConstraint{Name: "c", Check: "if(id = 2, NULL, TRUE)"}}})
		require.ErrorIs(t, err, idem.ErrInput, "NULL breaks it")
		_, err = maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.AddColumn{Name: "x", Type: ints}, maintain.AddConstraint{Name: "c", Check: "x > 0"}}})
		require.ErrorIs(t, err, idem.ErrInput, "and so does a column that is new")
		f.delete("id >= 10")
		require.Equal(t, idem.Committed, alter(f, f.table, check).Outcome, "deleted rows do not count")
		_, err = f.table.Append(t.Context(), rowsOf(row{"a", 11, "x"}), idem.Append{Reason: "test"})
		require.ErrorIs(t, err, idem.ErrInput)
		_, err = maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.AddConstraint{Name: "SMALL", Check: "id < 11"}}})
		require.ErrorIs(t, err, idem.ErrConflict, "it is there and says something else")
		require.Equal(t, idem.Committed, alter(f, f.table, maintain.DropConstraint{Name: "SMALL"}).Outcome)
		require.Equal(t, map[string]any{"name": "SMALL", "expr": "id < 10", "existed": "true"}, f.last().OperationParameters)
		require.Equal(t, idem.Unchanged, alter(f, f.table, maintain.DropConstraint{Name: "small"}).Outcome)
		require.Equal(t, idem.Committed, f.append(row{"a", 11, "x"}).Outcome)
	}
}

// What held for the rows that a vector leaves of a file need not hold once they are all back.
func TestConstraintOfAFileWhoseVectorWent(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
	f.append(row{"a", 1, "x"}, row{"a", 2, "x"}, row{"a", 20, "x"})
	f.delete("id = 20")
	require.EqualValues(t, 1, f.other().Snapshot().NumDeletionVectors())
	f.raced(func(other *idem.Table) {
		_, err := maintain.RestoreTable(t.Context(), other, maintain.Restore{To: maintain.Version(1)})
		require.NoError(t, err)
	})
	_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.AddConstraint{Name: "small", Check: "id < 10"}}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "small")
	require.Len(t, f.rows(), 3)
}

// TestConstraintReadsWhatStatisticsLeaveOpen: files that are proven are not opened.
func TestConstraintReadsWhatStatisticsLeaveOpen(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"}, row{"a", 2, "y"})
	for key := range f.dataFiles() {
		require.NoError(t, f.mem.Delete(t.Context(), f.dataFiles()[key]))
	}
	f.unchecked = true
	require.Equal(t, idem.Committed, alter(f, f.table, maintain.AddConstraint{Name: "c", Check: "id < 10"}).Outcome)
	_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.AddConstraint{Name: "d", Check: "length(v) = 1"}}})
	require.Error(t, err, "this one needs the rows")
}

// TestAlterRaced lets another writer commit first.
func TestAlterRaced(t *testing.T) {
	check := maintain.AddConstraint{Name: "small", Check: "id < 10"}
	add := func(list ...row) func(*idem.Table) {
		return func(o *idem.Table) {
			_, err := o.Append(t.Context(), rowsOf(list...), idem.Append{Reason: "test"})
			require.NoError(t, err)
		}
	}
	also := func(changes ...maintain.Change) func(*idem.Table) {
		return func(o *idem.Table) {
			_, err := maintain.AlterTable(t.Context(), o, maintain.Alter{Changes: changes})
			require.NoError(t, err)
		}
	}
	for _, c := range []struct {
		name   string
		by     func(*idem.Table)
		change maintain.Change
		want   idem.Outcome
		err    error
	}{
		{"the same", also(check), check, idem.Unchanged, nil},
		{"rows that go with it", add(row{"b", 3, "z"}), check, idem.Committed, nil},
		{"rows that break it", add(row{"b", 30, "z"}), check, 0, idem.ErrInput},
		{"another condition of the name", also(maintain.AddConstraint{Name: "small", Check: "id < 20"}), check, 0, idem.ErrConflict},
		{"another change", also(maintain.AddColumn{Name: "y", Type: ints}), maintain.AddColumn{Name: "x", Type: ints}, idem.Committed, nil},
		{"the same column", also(maintain.AddColumn{Name: "x", Type: ints}), maintain.AddColumn{Name: "x", Type: ints}, idem.Unchanged, nil},
		{"the column of another type", also(maintain.AddColumn{Name: "x", Type: texts}), maintain.AddColumn{Name: "x", Type: ints}, 0, idem.ErrConflict},
		{"the column is gone", also(maintain.DropColumn{Name: "v"}), maintain.SetComment{Name: "v", Comment: "c"}, 0, idem.ErrInput},
		{"rows, and a column", add(row{"b", 30, "z"}), maintain.AddColumn{Name: "x", Type: ints}, idem.Committed, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.columnMapping.mode": "name"}})
			f.append(row{"a", 1, "x"})
			f.raced(c.by)
			res, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{c.change}})
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.EqualValues(t, 2, f.other().Version(), "only the other's commit is there")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, res.Outcome)
			require.Equal(t, idem.Unchanged, alter(f, f.table, c.change).Outcome)
		})
	}
}

func TestAlterOfAView(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	view, err := f.table.At(t.Context(), 0)
	require.NoError(t, err)
	_, err = maintain.AlterTable(t.Context(), view, maintain.Alter{Changes: []maintain.Change{maintain.SetName{Name: "x"}}})
	require.ErrorIs(t, err, idem.ErrInput)
}

func TestClusteringSurvivesARename(t *testing.T) {
	f := newFixture(t, idem.Definition{ClusterBy: []string{"id"}, Properties: map[string]string{"delta.columnMapping.mode": "name"}})
	f.append(row{"a", 1, "x"})
	alter(f, f.table, maintain.RenameColumn{Name: "id", To: "key"}, maintain.ClusterBy{Columns: []string{"v", "key"}})
	var told string
	require.NoError(t, json.Unmarshal([]byte(jsonText(f.last().OperationParameters["changes"])), &told))
	require.Contains(t, told, `"oldClusteringColumns":"key"`)
	require.Len(t, f.other().Snapshot().Clustering(), 2)
	require.Equal(t, idem.Committed, alter(f, f.table, maintain.ClusterBy{}).Outcome)
	require.Equal(t, idem.Unchanged, alter(f, f.table, maintain.ClusterBy{}).Outcome)
	require.Equal(t, delta.MappingName, f.other().Snapshot().Mapping())
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	must(err)
	return string(text)
}

// TestAlterLooksAtTheNewest: a handle that has not seen what others did since goes by it all the same.
func TestAlterLooksAtTheNewest(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"}, row{"a", 30, "x"})
	_, err := f.other().Delete(t.Context(), idem.Delete{Where: "id = 30"})
	require.NoError(t, err)
	alter(f, f.other(), maintain.AddColumn{Name: "x", Type: ints})
	require.Equal(t, idem.Committed, alter(f, f.table, maintain.AddConstraint{Name: "c", Check: "id < 10"}, maintain.SetComment{Name: "x", Comment: "c"}).Outcome)
}

// TestEnableRaced: two clients turn row tracking on, the one beginning just before each commit of the
// other.
func TestEnableRaced(t *testing.T) {
	for step := range 3 {
		f := started(t, idem.Definition{})
		puts, within := 0, false
		f.store.Before = func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpPutIfAbsent && !within {
				if puts == step {
					within = true
					enable(f, f.other(), "rowTracking")
					f.append(row{"r", 77, "x"})
					within = false
				}
				puts++
			}
			return storetest.Fault{}
		}
		enable(f, f.table, "rowTracking")
		f.store.Before = nil
		require.Len(t, f.ids(), 12)
		seen := map[int64]bool{}
		for a := range f.other().Snapshot().Files() {
			require.NotNil(t, a.BaseRowID)
			require.False(t, seen[*a.BaseRowID], "an id is given once")
			seen[*a.BaseRowID] = true
		}
		require.Equal(t, idem.Unchanged, enable(f, f.table, "rowTracking").Outcome)
	}
}

func TestConstraintReleasesWhatItReads(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, parallel := range []int{1, 4} {
		f := started(t, idem.Definition{})
		o := f.options()
		o.Allocator, o.Parallelism = mem, parallel
		table, err := idem.OpenStore(t.Context(), f.mem, o)
		require.NoError(t, err)
		for check, is := range map[string]error{"length(v) = 1": nil, "length(v) = 2": idem.ErrInput, "1 / (id - 5) < 9": idem.ErrInput, "TRUE": nil} {
			_, err := maintain.AlterTable(t.Context(), table, maintain.Alter{Changes: []maintain.Change{maintain.AddConstraint{Name: check, Check: check}}})
			if is == nil {
				require.NoError(t, err, check)
			} else {
				require.ErrorIs(t, err, is, check)
			}
		}
	}
}
