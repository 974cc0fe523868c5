package idem_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	feeds "github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// made is the schema of a table that makes values of its own: v has a default, n is numbered, up and
// part are generated.
var made = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "seq", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "up", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "part", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// some gives rows with some of the columns.
func some(rows string, columns ...string) array.RecordReader {
	return fromJSON(columnsOf(made, columns...), rows)
}

func columnsOf(s *arrow.Schema, names ...string) *arrow.Schema {
	var fields []arrow.Field
	for _, n := range names {
		at, _ := s.FieldsByName(n)
		fields = append(fields, at...)
	}
	return arrow.NewSchema(fields, nil)
}

func newMade(t *testing.T, properties ...string) *fixture {
	f := &fixture{t: t, mem: store.NewMem()}
	f.store = storetest.NewFaulty(f.mem)
	d := idem.Definition{Schema: made, PartitionBy: []string{"part"}, Properties: map[string]string{}, Columns: map[string]idem.Column{
		"v": {Default: "'none'"}, "n": {Identity: &idem.Identity{Start: 10, Step: 10}},
		"up": {Generated: "upper(v)"}, "part": {Generated: "substring(v, 1, 1)"},
	}}
	for i := 0; i+1 < len(properties); i += 2 {
		d.Properties[properties[i]] = properties[i+1]
	}
	var err error
	f.table, _, err = idem.CreateStore(t.Context(), f.store, d, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	t.Cleanup(func() { checkLog(t, f.mem) })
	return f
}

// TestAMergeMakesWhatClausesLeaveOut: an insert fills defaults, numbers and generated columns; an update
// computes generated columns anew and leaves the rest as it was.
func TestAMergeMakesWhatClausesLeaveOut(t *testing.T) {
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	for _, properties := range [][]string{nil, {"delta.enableDeletionVectors", "true", "delta.enableChangeDataFeed", "true", "delta.enableRowTracking", "true"}} {
		f := newMade(t, properties...)
		for _, c := range []struct {
			why     string
			rows    string
			columns []string
			missing []string
			want    []string
		}{
			{"what rows lack is made", `[{"id": 1, "seq": 1}]`, []string{"id", "seq"}, []string{"v"},
				[]string{`{"id":1,"n":10,"part":"n","seq":1,"up":"NONE","v":"none"}`}},
			{"a NULL stays NULL", `[{"id": 2, "seq": 1, "v": null}]`, []string{"id", "seq", "v"}, nil,
				[]string{`{"id":1,"n":10,"part":"n","seq":1,"up":"NONE","v":"none"}`, `{"id":2,"n":20,"part":null,"seq":1,"up":null,"v":null}`}},
			{"an update computes what is generated, moves the row, and leaves its number", `[{"id": 1, "seq": 2, "v": "abc"}, {"id": 3, "seq": 1, "v": "x"}]`, []string{"id", "seq", "v"}, nil,
				[]string{`{"id":1,"n":10,"part":"a","seq":2,"up":"ABC","v":"abc"}`, `{"id":2,"n":20,"part":null,"seq":1,"up":null,"v":null}`, `{"id":3,"n":30,"part":"x","seq":1,"up":"X","v":"x"}`}},
			{"an update without the column leaves its value and no default", `[{"id": 2, "seq": 2}]`, []string{"id", "seq"}, []string{"v"},
				[]string{`{"id":1,"n":10,"part":"a","seq":2,"up":"ABC","v":"abc"}`, `{"id":2,"n":20,"part":null,"seq":2,"up":null,"v":null}`, `{"id":3,"n":30,"part":"x","seq":1,"up":"X","v":"x"}`}},
			{"generated values that are given are right", `[{"id": 2, "seq": 3, "v": "q", "up": "Q"}]`, []string{"id", "seq", "v", "up"}, nil,
				[]string{`{"id":1,"n":10,"part":"a","seq":2,"up":"ABC","v":"abc"}`, `{"id":2,"n":20,"part":"q","seq":3,"up":"Q","v":"q"}`, `{"id":3,"n":30,"part":"x","seq":1,"up":"X","v":"x"}`}},
		} {
			for i := range 2 {
				res, err := f.table.Merge(t.Context(), some(c.rows, c.columns...), byID)
				require.NoError(t, err, c.why)
				require.Equal(t, i == 1, res.Outcome == idem.Unchanged, c.why)
				require.ElementsMatch(t, c.missing, res.MissingColumns, c.why)
				require.ElementsMatch(t, c.want, tableJSON(t, f.other(), "id", "n", "part", "seq", "up", "v"), c.why)
			}
		}
	}
}

// TestAMergeRefusesWhatTheTableMakes: numbers are not set, and generated columns hold what they are
// generated as.
func TestAMergeRefusesWhatTheTableMakes(t *testing.T) {
	for _, c := range []struct {
		why     string
		rows    string
		columns []string
		request idem.Merge
		message string
	}{
		{"a number that a row brings", `[{"id": 9, "seq": 1, "n": 5}]`, []string{"id", "seq", "n"}, idem.Merge{}, "numbered by the table"},
		{"a number that an update sets", `[{"id": 1, "seq": 2}]`, []string{"id", "seq"}, idem.Merge{Matched: []idem.Clause{{Columns: []string{"seq"}, Set: map[string]string{"n": "7"}}}}, "identity column"},
		{"another value of a generated column, inserted", `[{"id": 9, "seq": 1, "v": "a", "up": "a"}]`, []string{"id", "seq", "v", "up"}, idem.Merge{}, "generated"},
		{"another value of a generated column, updated", `[{"id": 1, "seq": 2, "up": "a"}]`, []string{"id", "seq", "up"}, idem.Merge{}, "generated"},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newMade(t)
			c.request.On, c.request.Newer = []string{"id"}, []string{"seq"}
			_, err := f.table.Merge(t.Context(), some(`[{"id": 1, "seq": 1, "v": "b"}]`, "id", "seq", "v"), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			require.NoError(t, err)
			_, err = f.table.Merge(t.Context(), some(c.rows, c.columns...), c.request)
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, c.message)
		})
	}
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: columnsOf(made, "id", "n"), Columns: map[string]idem.Column{"n": {Identity: &idem.Identity{AllowExplicit: true}}}}, idem.Options{})
	require.NoError(t, err)
	_, err = table.Merge(t.Context(), some(`[{"id": 1, "n": 7}]`, "id", "n"), idem.Merge{On: []string{"id"}, Unguarded: true, Matched: []idem.Clause{}})
	require.NoError(t, err, "rows may bring numbers")
	_, err = table.Merge(t.Context(), some(`[{"id": 1}]`, "id"), idem.Merge{On: []string{"id"}, Unguarded: true, Matched: []idem.Clause{{Set: map[string]string{"n": "8"}}}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "an update must not change its numbers")
}

// TestMergesNumberRowsOnce: clauses share the numbers, and so do writers at once.
func TestMergesNumberRowsOnce(t *testing.T) {
	f := newMade(t)
	request := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, NotMatched: []idem.Clause{{When: "source.id = 1", Columns: []string{"id", "seq"}}, {}}}
	f.raced(func(o *idem.Table) {
		_, err := o.Merge(t.Context(), some(`[{"id": 7, "seq": 1}, {"id": 8, "seq": 1}]`, "id", "seq"), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		require.NoError(t, err)
	})
	for i := range 2 {
		res, err := f.table.Merge(t.Context(), some(`[{"id": 1, "seq": 1, "v": "a"}, {"id": 2, "seq": 1, "v": "b"}, {"id": 3, "seq": 1, "v": "c"}]`, "id", "seq", "v"), request)
		require.NoError(t, err)
		require.Equal(t, i == 1, res.Outcome == idem.Unchanged)
	}
	require.ElementsMatch(t, []string{`{"n":10}`, `{"n":20}`, `{"n":30}`, `{"n":40}`, `{"n":50}`}, tableJSON(t, f.other(), "n"))
}

// The commit that adds a column also says which numbers its rows were given.
func TestNumbersOfRowsThatBringAColumn(t *testing.T) {
	brings := arrow.NewSchema(append(columnsOf(made, "id", "seq", "v").Fields(), arrow.Field{Name: "extra", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), nil)
	for name, write := range map[string]func(table *idem.Table) error{
		"AppendWithTxn": func(table *idem.Table) error {
			_, err := table.AppendWithTxn(t.Context(), fromJSON(brings, `[{"id": 1, "seq": 1, "v": "a", "extra": 7}]`), idem.Txn{AppID: "app", Version: 1, Evolve: true})
			return err
		},
		"ReplaceWhere": func(table *idem.Table) error {
			_, err := table.ReplaceWhere(t.Context(), fromJSON(brings, `[{"id": 1, "seq": 1, "v": "a", "extra": 7}]`), idem.ReplaceWhere{Where: "id = 1", Evolve: true})
			return err
		},
		"Merge": func(table *idem.Table) error {
			_, err := table.Merge(t.Context(), fromJSON(brings, `[{"id": 1, "seq": 1, "v": "a", "extra": 7}]`), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true})
			return err
		},
	} {
		f := newMade(t)
		require.NoError(t, write(f.table), name)
		_, err := f.other().Append(t.Context(), some(`[{"id": 2, "v": "b"}]`, "id", "v"), idem.Append{Reason: "test"})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{`{"extra":7,"id":1,"n":10}`, `{"extra":null,"id":2,"n":20}`}, tableJSON(t, f.other(), "extra", "id", "n"), name)
	}
}

// A replacement that is numbered anew, as another writer took its numbers, tells the feed the numbers that it has then.
func TestAReplacementIsFedAsItIsNumbered(t *testing.T) {
	f := newMade(t, "delta.enableChangeDataFeed", "true")
	add := func(table *idem.Table, rows string) {
		_, err := table.Append(t.Context(), some(rows, "id", "v"), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	add(f.table, `[{"id": 1, "v": "a"}, {"id": 2, "v": "ab"}]`)
	f.raced(func(o *idem.Table) { add(o, `[{"id": 3, "v": "ac"}]`) })
	res, err := f.table.ReplaceWhere(t.Context(), some(`[{"id": 1, "v": "ax"}]`, "id", "v"), idem.ReplaceWhere{Where: "id = 1"})
	require.NoError(t, err)
	require.EqualValues(t, 3, res.Version)
	require.ElementsMatch(t, []string{`{"id":1,"n":40}`, `{"id":2,"n":20}`, `{"id":3,"n":30}`}, tableJSON(t, f.other(), "id", "n"))
	var fed []string
	for batch, err := range feeds.Rows(t.Context(), f.other(), feeds.Request{From: feeds.Version(3)}) {
		require.NoError(t, err)
		for i := range int(batch.NumRows()) {
			at := func(column string) string { return batch.Column(batch.Schema().FieldIndices(column)[0]).ValueStr(i) }
			fed = append(fed, at("id")+" "+at("n")+" "+at(feeds.TypeColumn))
		}
	}
	require.ElementsMatch(t, []string{"1 10 delete", "1 40 insert"}, fed)
}

// TestAMergeJudgesGeneratedColumnsAsTheyWillBe: whether a second call finds something to do is proven
// on the row as it is written, generated columns too.
func TestAMergeJudgesGeneratedColumnsAsTheyWillBe(t *testing.T) {
	for _, c := range []struct {
		set   string
		again bool
	}{{"concat('b', target.v)", false}, {"concat('a', target.v)", true}} {
		f := newMade(t)
		_, err := f.table.Merge(t.Context(), some(`[{"id": 1, "seq": 1, "v": "a"}]`, "id", "seq", "v"), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		require.NoError(t, err)
		request := idem.Merge{On: []string{"id"}, Unguarded: true, Matched: []idem.Clause{{When: "target.part = 'a'", Set: map[string]string{"v": c.set}}}}
		_, err = f.table.Merge(t.Context(), some(`[{"id": 1}]`, "id"), request)
		if c.again {
			require.ErrorContains(t, err, "a second call")
			continue
		}
		require.NoError(t, err)
		res, err := f.table.Merge(t.Context(), some(`[{"id": 1}]`, "id"), request)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	}
}
