package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// visits is a table that makes columns of its own.
func visits() idem.Definition {
	return idem.Definition{
		Schema: arrow.NewSchema([]arrow.Field{
			{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
			{Name: "user", Type: arrow.BinaryTypes.String, Nullable: true},
			{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
			{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
			{Name: "state", Type: arrow.BinaryTypes.String},
			{Name: "loaded", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
			{Name: "place", Type: arrow.StructOf(arrow.Field{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true}), Nullable: true},
		}, nil),
		PartitionBy: []string{"day"},
		Columns: map[string]idem.Column{
			"id":         {Identity: &idem.Identity{Start: 10, Step: 5}},
			"user":       {Type: "varchar(4)", Comment: "who"},
			"day":        {Generated: "CAST(at AS DATE)"},
			"state":      {Default: "'new'"},
			"loaded":     {Default: "current_timestamp()"},
			"place.city": {Comment: "of the visit"},
		},
	}
}

func newVisits(t *testing.T) *fixture {
	f := &fixture{t: t, mem: store.NewMem()}
	f.store = storetest.NewFaulty(f.mem)
	var err error
	f.table, _, err = idem.CreateStore(t.Context(), f.store, visits(), idem.Options{Parallelism: 1})
	require.NoError(t, err)
	f.store.Reset()
	t.Cleanup(func() { checkLog(t, f.mem) })
	return f
}

// visit is a row as jobs give it: what the table makes is not in it.
type visit struct {
	user string
	at   int64 // microseconds
}

const noon = 1_700_049_600_000_000 // 2023-11-15 12:00 UTC

func visitRows(list ...visit) array.RecordReader {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "user", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, v := range list {
		b.Field(0).(*array.StringBuilder).Append(v.user)
		b.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(v.at))
	}
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		panic(err)
	}
	return r
}

// rewindVisits can be read again.
type rewindVisits struct {
	array.RecordReader
	list []visit
}

func (r *rewindVisits) Rewind(context.Context) error {
	r.RecordReader = visitRows(r.list...)
	return nil
}

// visited gives "user id day state" of every row, sorted.
func (f *fixture) visited() []string {
	out := []string{}
	for b, err := range f.other().Scan(f.t.Context(), idem.Scan{Columns: []string{"user", "id", "day", "state"}}) {
		require.NoError(f.t, err)
		for i := range int(b.NumRows()) {
			out = append(out, fmt.Sprintf("%s %s %s %s", b.Column(0).ValueStr(i), b.Column(1).ValueStr(i), b.Column(2).ValueStr(i), b.Column(3).ValueStr(i)))
		}
	}
	slices.Sort(out)
	return out
}

func (f *fixture) mark() int64 {
	id, err := f.other().Snapshot().Identity(0)
	require.NoError(f.t, err)
	require.NotNil(f.t, id.Mark)
	return *id.Mark
}

func TestTheTableMakesColumns(t *testing.T) {
	f := newVisits(t)
	res, err := f.table.Append(t.Context(), visitRows(visit{"a", noon}, visit{"b", noon + 86_400_000_000}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	require.Equal(t, []string{"state", "loaded", "place"}, res.MissingColumns, "what is generated or numbered is not missing")
	require.Equal(t, []string{"a 10 2023-11-15 new", "b 15 2023-11-16 new"}, f.visited())
	require.EqualValues(t, 15, f.mark())
	info := f.other().Snapshot().CommitInfo()
	if info != nil {
		require.Equal(t, "true", info.Tags["delta.identity.schemaUpdate"], "other engines need not give way to such a commit")
	}
	_, err = f.table.Merge(t.Context(), visitRows(visit{"b", noon}, visit{"c", noon}), idem.Merge{On: []string{"user"}, Unguarded: true})
	require.NoError(t, err)
	require.Equal(t, []string{"a 10 2023-11-15 new", "b 15 2023-11-15 new", "c 20 2023-11-15 new"}, f.visited(), "an update keeps the number, and what is generated follows")
	res, err = f.table.Merge(t.Context(), visitRows(visit{"b", noon}, visit{"c", noon}), idem.Merge{On: []string{"user"}, Unguarded: true})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	require.EqualValues(t, 20, f.mark())
}

// TestNumbersAreNoChange: rows that differ only in what the table numbers, or in the time of the call,
// are the same rows.
func TestNumbersAreNoChange(t *testing.T) {
	list := []visit{{"a", noon}, {"b", noon}}
	for name, rows := range map[string]func() array.RecordReader{
		"once":  func() array.RecordReader { return visitRows(list...) },
		"again": func() array.RecordReader { return &rewindVisits{visitRows(list...), list} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newVisits(t)
			for i, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
				res, err := f.table.ReplaceWhere(t.Context(), rows(), idem.ReplaceWhere{Where: "day = DATE '2023-11-15'"})
				require.NoError(t, err)
				require.Equal(t, want, res.Outcome, "call %d", i+1)
			}
			res, err := f.table.ReplaceAll(t.Context(), rows(), idem.ReplaceAll{})
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
			require.Equal(t, []string{"a 10 2023-11-15 new", "b 15 2023-11-15 new"}, f.visited())
			require.EqualValues(t, 15, f.mark(), "calls that change nothing give no number")
			verified := idem.Txn{AppID: "loads", Version: 1, VerifyPayload: true}
			for _, want := range []idem.Outcome{idem.Committed, idem.AlreadyApplied} {
				res, err := f.table.AppendWithTxn(t.Context(), rows(), verified)
				require.NoError(t, err)
				require.Equal(t, want, res.Outcome)
			}
			require.EqualValues(t, 25, f.mark())
		})
	}
}

// numberedVerbs are those that give numbers, to a visit of c.
var numberedVerbs = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error)
	want []string
}{
	{"Append", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Append(ctx, rows, idem.Append{Reason: "test"})
	}, []string{"a 10 2023-11-15 new", "c 20 2023-11-16 new", "them 15 2023-11-15 new"}},
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rows, tagged)
	}, []string{"a 10 2023-11-15 new", "c 20 2023-11-16 new", "them 15 2023-11-15 new"}},
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "day = DATE '2023-11-16'"})
	}, []string{"a 10 2023-11-15 new", "c 20 2023-11-16 new", "them 15 2023-11-15 new"}},
	{"ReplaceAll", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.ReplaceAll(ctx, rows, idem.ReplaceAll{})
	}, []string{"c 20 2023-11-16 new"}},
	{"Merge", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Merge(ctx, rows, idem.Merge{On: []string{"user"}, Newer: []string{"at"}})
	}, []string{"a 10 2023-11-15 new", "c 20 2023-11-16 new", "them 15 2023-11-15 new"}},
}

// TestTwoWritersNumberRows: a number is given once, to whoever commits first; the other gives later ones.
func TestTwoWritersNumberRows(t *testing.T) {
	ours := []visit{{"c", noon + 86_400_000_000}}
	for _, v := range numberedVerbs {
		for kind, rows := range map[string]array.RecordReader{"once": visitRows(ours...), "again": &rewindVisits{visitRows(ours...), ours}} {
			t.Run(v.name+"/"+kind, func(t *testing.T) {
				f := newVisits(t)
				_, err := f.table.Append(t.Context(), visitRows(visit{"a", noon}), idem.Append{Reason: "test"})
				require.NoError(t, err)
				f.raced(func(other *idem.Table) {
					_, err := other.Append(t.Context(), visitRows(visit{"them", noon}), idem.Append{Reason: "test"})
					require.NoError(t, err)
				})
				res, err := v.run(t.Context(), f.table, rows)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.Equal(t, v.want, f.visited())
				require.EqualValues(t, 20, f.mark())
			})
		}
	}
}

// TestTheDefinitionChangesWhileRowsAreNumbered: what another writer changed stays beside our numbers.
func TestTheDefinitionChangesWhileRowsAreNumbered(t *testing.T) {
	for _, v := range numberedVerbs {
		t.Run(v.name, func(t *testing.T) {
			f := newVisits(t)
			f.raced(func(*idem.Table) { f.metadata(func(m *delta.Metadata) { m.Configuration["owner"] = "somebody" }) })
			_, err := v.run(t.Context(), f.table, visitRows(visit{"c", noon + 86_400_000_000}))
			require.NoError(t, err)
			require.Equal(t, []string{"c 10 2023-11-16 new"}, f.visited())
			owner, _ := f.other().Snapshot().Property("owner")
			require.Equal(t, "somebody", owner)
			require.EqualValues(t, 10, f.mark())
		})
	}
}

// TestOtherWritersTakeTheLastNumbers: nothing is written with numbers that do not exist.
func TestOtherWritersTakeTheLastNumbers(t *testing.T) {
	for _, v := range numberedVerbs {
		t.Run(v.name, func(t *testing.T) {
			f := newVisits(t)
			f.raced(func(*idem.Table) {
				f.metadata(func(m *delta.Metadata) {
					marked, err := f.other().Snapshot().Marked(map[string]int64{"id": math.MaxInt64 - 1})
					require.NoError(t, err)
					m.SchemaString = marked.SchemaString
				})
			})
			_, err := v.run(t.Context(), f.table, visitRows(visit{"c", noon + 86_400_000_000}))
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, `"id" has no numbers left`)
			require.Empty(t, f.visited())
		})
	}
}

// TestASliceOfNumbers: the numbers of rows may become others, so no slice is given by them.
func TestASliceOfNumbers(t *testing.T) {
	f := newVisits(t)
	_, err := f.table.ReplaceWhere(t.Context(), visitRows(visit{"a", noon}), idem.ReplaceWhere{Where: "id < 100"})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, `"id"`)
}

func TestRulesOfColumnsAreKept(t *testing.T) {
	f := newVisits(t)
	given := func(name string, dt arrow.DataType, value string) array.RecordReader {
		schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: dt, Nullable: true}}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		require.NoError(t, b.Field(0).AppendValueFromString(value))
		r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
		require.NoError(t, err)
		return r
	}
	for _, c := range []struct {
		why  string
		rows array.RecordReader
		says string
	}{
		{"a number is given", given("id", arrow.PrimitiveTypes.Int64, "7"), `"id" is numbered by the table`},
		{"a text is too long", given("user", arrow.BinaryTypes.String, "longer"), `"user" is varchar(4)`},
		{"spaces count, as in Spark", given("user", arrow.BinaryTypes.String, "abc  "), `"user" is varchar(4)`},
		{"a generated column has another value", given("day", arrow.FixedWidthTypes.Date32, "2020-01-01"), `"day" is generated as CAST(at AS DATE)`},
		{"NULL is given for a default", given("state", arrow.BinaryTypes.String, array.NullValueStr), `"state" is NOT NULL`},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := f.table.Append(t.Context(), c.rows, idem.Append{Reason: "test"})
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, c.says)
			require.Zero(t, f.dataFiles())
		})
	}
	_, err := f.table.Append(t.Context(), given("user", arrow.BinaryTypes.String, "é€ ü"), idem.Append{Reason: "test"})
	require.NoError(t, err, "characters are counted, not bytes")
}

func TestSecondCallOfCreateWithRules(t *testing.T) {
	f := newVisits(t)
	_, err := f.table.Append(t.Context(), visitRows(visit{"a", noon}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, res, err := idem.CreateStore(t.Context(), f.mem, visits(), idem.Options{})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome, "that numbers were given is no other definition")
	quiet := visits()
	quiet.Columns["user"] = idem.Column{Type: "varchar(4)"}
	delete(quiet.Columns, "place.city")
	_, _, err = idem.CreateStore(t.Context(), f.mem, quiet, idem.Options{})
	require.NoError(t, err, "a definition without comments does not ask for none")
	for _, c := range []struct {
		why    string
		change func(d *idem.Definition)
		says   string
	}{
		{"another comment", func(d *idem.Definition) { d.Columns["user"] = idem.Column{Type: "varchar(4)", Comment: "whom"} }, "comment of column user"},
		{"of a field", func(d *idem.Definition) { d.Columns["place.city"] = idem.Column{Comment: "where"} }, "comment of column place.city"},
		{"another length", func(d *idem.Definition) { d.Columns["user"] = idem.Column{Type: "varchar(5)"} }, "column user"},
		{"no length", func(d *idem.Definition) { delete(d.Columns, "user") }, "column user"},
		{"another default", func(d *idem.Definition) { d.Columns["state"] = idem.Column{Default: "'old'"} }, "CURRENT_DEFAULT of column state"},
		{"no default", func(d *idem.Definition) { delete(d.Columns, "loaded") }, "CURRENT_DEFAULT of column loaded"},
		{"another expression", func(d *idem.Definition) { d.Columns["day"] = idem.Column{Generated: "to_date(at)"} }, "generationExpression of column day"},
		{"another step", func(d *idem.Definition) { d.Columns["id"] = idem.Column{Identity: &idem.Identity{Start: 10}} }, "identity.step of column id"},
		{"numbers may be given", func(d *idem.Definition) {
			d.Columns["id"] = idem.Column{Identity: &idem.Identity{Start: 10, Step: 5, AllowExplicit: true}}
		}, "allowExplicitInsert of column id"},
	} {
		t.Run(c.why, func(t *testing.T) {
			d := visits()
			c.change(&d)
			_, _, err := idem.CreateStore(t.Context(), f.mem, d, idem.Options{})
			require.ErrorIs(t, err, idem.ErrConflict)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestCreateRefusesRules(t *testing.T) {
	for _, c := range []struct {
		why    string
		change func(d *idem.Definition)
		says   []string
	}{
		{"of a column that is none", func(d *idem.Definition) { d.Columns["nobody"] = idem.Column{Comment: "x"} }, []string{"nobody"}},
		{"two ways to a value", func(d *idem.Definition) { d.Columns["state"] = idem.Column{Default: "'a'", Generated: "user"} }, []string{"state"}},
		{"a default of a field", func(d *idem.Definition) { d.Columns["place.city"] = idem.Column{Default: "'a'"} }, []string{"place", "city"}},
		{"an expression of another type", func(d *idem.Definition) { d.Columns["day"] = idem.Column{Generated: "year(at)"} }, []string{"day", "year(at)", "CAST"}},
		{"a function that idem lacks", func(d *idem.Definition) { d.Columns["day"] = idem.Column{Generated: "st_point(at)"} }, []string{"day", "st_point"}},
		{"a value that differs at each run", func(d *idem.Definition) { d.Columns["day"] = idem.Column{Generated: "current_date()"} }, []string{"day", "current_date"}},
		{"a column that is none in an expression", func(d *idem.Definition) { d.Columns["day"] = idem.Column{Generated: "CAST(then AS DATE)"} }, []string{"day", "then"}},
		{"a column that is made itself", func(d *idem.Definition) {
			d.Columns["loaded"] = idem.Column{Generated: "CAST(day AS TIMESTAMP)"}
		}, []string{"loaded", "day"}},
		{"a default that names a column", func(d *idem.Definition) { d.Columns["state"] = idem.Column{Default: "user"} }, []string{"state", "user"}},
		{"a default that is none", func(d *idem.Definition) { d.Columns["state"] = idem.Column{Default: "1 +"} }, []string{"state"}},
		{"a default that cannot be converted", func(d *idem.Definition) { d.Columns["loaded"] = idem.Column{Default: "'soon'"} }, []string{"loaded", "soon"}},
		{"numbers in a text", func(d *idem.Definition) { d.Columns["user"] = idem.Column{Identity: &idem.Identity{}} }, []string{"user"}},
		{"a length of a number", func(d *idem.Definition) { d.Columns["id"] = idem.Column{Type: "varchar(3)"} }, []string{"id"}},
		{"one column by two spellings", func(d *idem.Definition) {
			d.Columns["USER"], d.Columns["user"] = idem.Column{Comment: "x"}, idem.Column{Comment: "y"}
		}, []string{"USER", "user", "once"}},
		{"a default longer than its column", func(d *idem.Definition) {
			d.Columns["state"] = idem.Column{Type: "varchar(2)", Default: "'new'"}
		}, []string{"state", "'new'", "varchar(2)"}},
		{"numbers that partition", func(d *idem.Definition) { d.PartitionBy = []string{"ID"} }, []string{`"id"`, "partition"}},
		{"clusters of partitions", func(d *idem.Definition) { d.ClusterBy = []string{"user"} }, []string{"clustering"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			d := visits()
			c.change(&d)
			mem := store.NewMem()
			_, _, err := idem.CreateStore(t.Context(), mem, d, idem.Options{})
			require.ErrorIs(t, err, idem.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
			for info := range mem.List(t.Context(), "", "") {
				t.Fatalf("%s was written", info.Key)
			}
		})
	}
}

// TestCreateWithFeatures: what properties ask for is there, rows go in and come back, and the same
// definition finds the table.
func TestCreateWithFeatures(t *testing.T) {
	for _, c := range []struct {
		why        string
		properties map[string]string
		cluster    []string
		supports   []string
	}{
		{"column mapping by name", map[string]string{"delta.columnMapping.mode": "name"}, nil, []string{"columnMapping"}},
		{"column mapping by id", map[string]string{"delta.columnMapping.mode": "id"}, nil, []string{"columnMapping"}},
		{"clusters", nil, []string{"id", "Place.city"}, []string{"clustering", "domainMetadata"}},
		{"clusters of mapped columns", map[string]string{"delta.columnMapping.mode": "name"}, []string{"place.city"}, []string{"clustering", "columnMapping"}},
		{"deletion vectors", map[string]string{"delta.enableDeletionVectors": "true"}, nil, []string{"deletionVectors"}},
		{"a change data feed", map[string]string{"delta.enableChangeDataFeed": "true"}, nil, []string{"changeDataFeed"}},
		{"row tracking", map[string]string{"delta.enableRowTracking": "true"}, nil, []string{"rowTracking", "domainMetadata"}},
		{"commit times", map[string]string{"delta.enableInCommitTimestamps": "true"}, nil, []string{"inCommitTimestamp"}},
		{"a feature by name", map[string]string{"delta.feature.v2Checkpoint": "supported"}, nil, []string{"v2Checkpoint"}},
		{"many at once", map[string]string{
			"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true",
			"delta.enableInCommitTimestamps": "true", "delta.checkpointPolicy": "v2",
		}, []string{"user"}, []string{"columnMapping", "deletionVectors", "rowTracking", "changeDataFeed", "inCommitTimestamp", "clustering"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := &fixture{t: t, mem: store.NewMem()}
			d := visits()
			d.Properties, d.ClusterBy = c.properties, c.cluster
			if c.cluster != nil {
				d.PartitionBy = nil
			}
			table, res, err := idem.CreateStore(t.Context(), f.mem, d, idem.Options{Parallelism: 1})
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			for _, feature := range c.supports {
				require.True(t, table.Snapshot().Protocol().Supports(feature), feature)
			}
			_, err = table.Append(t.Context(), visitRows(visit{"a", noon}, visit{"b", noon}), idem.Append{Reason: "test"})
			require.NoError(t, err)
			_, err = table.Merge(t.Context(), visitRows(visit{"b", noon + 86_400_000_000}, visit{"c", noon}), idem.Merge{On: []string{"user"}, Newer: []string{"at"}})
			require.NoError(t, err)
			_, err = table.Delete(t.Context(), idem.Delete{Where: "user = 'a'"})
			require.NoError(t, err)
			require.Equal(t, []string{"b 15 2023-11-16 new", "c 20 2023-11-15 new"}, f.visited())
			_, res, err = idem.CreateStore(t.Context(), f.mem, d, idem.Options{})
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
			checkLog(t, f.mem)
			if c.cluster == nil {
				return
			}
			d.ClusterBy = []string{"at"}
			_, _, err = idem.CreateStore(t.Context(), f.mem, d, idem.Options{})
			require.ErrorIs(t, err, idem.ErrConflict)
			require.ErrorContains(t, err, "clustering")
		})
	}
}

// TestMappedColumnsHaveNamesOfTheirOwn: as in a table that Spark makes, files do not know the names of
// columns.
func TestMappedColumnsHaveNamesOfTheirOwn(t *testing.T) {
	mem := store.NewMem()
	d := visits()
	d.Properties = map[string]string{"delta.columnMapping.mode": "name"}
	table, _, err := idem.CreateStore(t.Context(), mem, d, idem.Options{})
	require.NoError(t, err)
	seen := map[string]bool{}
	var look func(s *delta.Struct)
	look = func(s *delta.Struct) {
		for _, f := range s.Fields {
			require.Regexp(t, `^col-[0-9a-f]{8}-[0-9a-f-]{27}$`, f.PhysicalName())
			require.False(t, seen[f.PhysicalName()], "each its own")
			seen[f.PhysicalName()] = true
			if below, ok := f.Type.(*delta.Struct); ok {
				look(below)
			}
		}
	}
	look(table.Snapshot().Schema())
	max, _ := table.Snapshot().Property("delta.columnMapping.maxColumnId")
	require.Equal(t, "8", max)
	odd := idem.Definition{Schema: arrow.NewSchema([]arrow.Field{{Name: "a b, c", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil), Properties: d.Properties}
	_, _, err = idem.CreateStore(t.Context(), store.NewMem(), odd, idem.Options{})
	require.NoError(t, err, "such names may have any characters")
}

// TestManyWritersNumberRows: whatever the order in which commits land, no number is given twice.
func TestManyWritersNumberRows(t *testing.T) {
	f := newVisits(t)
	const writers, calls = 4, 6
	var g sync.WaitGroup
	failed := make([]error, writers)
	for w := range writers {
		g.Go(func() {
			table, err := idem.OpenStore(t.Context(), f.mem, idem.Options{Parallelism: 1})
			for c := 0; c < calls && err == nil; c++ {
				one := visit{fmt.Sprintf("%d-%d", w, c), noon}
				if c%2 == 0 {
					_, err = table.Append(t.Context(), visitRows(one, visit{one.user, noon + 1}), idem.Append{Reason: "test"})
				} else {
					_, err = table.Merge(t.Context(), visitRows(one), idem.Merge{On: []string{"user"}, Newer: []string{"at"}})
				}
			}
			failed[w] = err
		})
	}
	g.Wait()
	require.NoError(t, errors.Join(failed...))
	numbers := map[string]bool{}
	for _, v := range f.visited() {
		numbers[strings.Fields(v)[1]] = true
	}
	const rows = writers * calls / 2 * 3
	require.Len(t, f.visited(), rows)
	require.Len(t, numbers, rows)
	require.EqualValues(t, 10+5*(rows-1), f.mark(), "and none is left out, since nobody gave up")
}
