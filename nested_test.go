package idem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	feeds "github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// fixtureOf is newFixture for a table of any definition.
func fixtureOf(t *testing.T, d idem.Definition) *fixture {
	f := &fixture{t: t, mem: store.NewMem()}
	f.store = storetest.NewFaulty(f.mem)
	var err error
	f.table, _, err = idem.CreateStore(t.Context(), f.store, d, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	f.store.Reset()
	t.Cleanup(func() {
		if !f.foreign {
			checkLog(t, f.mem)
		}
	})
	return f
}

// maybe makes a nullable Arrow field.
func maybe(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

var (
	longs = arrow.PrimitiveTypes.Int64
	text  = arrow.BinaryTypes.String
	pair  = arrow.StructOf(maybe("a", longs), maybe("B", text))
)

// nestings are the types of nested columns, each with values of which no two are equal: NULL at
// every level, empty, full.
var nestings = []struct {
	name   string
	dt     arrow.DataType
	values []string
}{
	{"struct", pair, []string{`null`, `{"a":null,"B":null}`, `{"a":1,"B":null}`, `{"a":1,"B":"x"}`, `{"a":null,"B":""}`}},
	{"list", arrow.ListOf(longs), []string{`null`, `[]`, `[null]`, `[null,null]`, `[1]`, `[1,2]`, `[2,1]`}},
	{"map", arrow.MapOf(text, longs), []string{`null`, `[]`, `[{"key":"a","value":null}]`, `[{"key":"a","value":1}]`, `[{"key":"a","value":1},{"key":"","value":2}]`}},
	{"struct in list", arrow.ListOf(pair), []string{`null`, `[]`, `[null]`, `[{"a":null,"B":null}]`, `[{"a":1,"B":"x"},null]`, `[null,{"a":1,"B":"x"}]`}},
	{"list in struct", arrow.StructOf(maybe("l", arrow.ListOf(longs)), maybe("n", text)),
		[]string{`null`, `{"l":null,"n":null}`, `{"l":[],"n":null}`, `{"l":[null],"n":null}`, `{"l":[7],"n":"x"}`}},
	{"map of struct", arrow.MapOf(text, pair),
		[]string{`null`, `[]`, `[{"key":"k","value":null}]`, `[{"key":"k","value":{"a":null,"B":null}}]`, `[{"key":"k","value":{"a":1,"B":"x"}}]`}},
	{"map in struct in list", arrow.ListOf(arrow.StructOf(maybe("m", arrow.MapOf(text, arrow.ListOf(longs))), maybe("x", longs))), []string{
		`null`, `[]`, `[null]`, `[{"m":null,"x":null}]`, `[{"m":[],"x":null}]`, `[{"m":[{"key":"k","value":null}],"x":null}]`,
		`[{"m":[{"key":"k","value":[]}],"x":null}]`, `[{"m":[{"key":"k","value":[null]}],"x":null}]`, `[{"m":[{"key":"k","value":[1]}],"x":2},{"m":null,"x":3}]`,
	}},
	{"three structs", arrow.StructOf(maybe("s", arrow.StructOf(maybe("t", arrow.StructOf(maybe("u", longs)))))),
		[]string{`null`, `{"s":null}`, `{"s":{"t":null}}`, `{"s":{"t":{"u":null}}}`, `{"s":{"t":{"u":1}}}`}},
	{"list of lists", arrow.ListOf(arrow.ListOf(longs)), []string{`null`, `[]`, `[null]`, `[[]]`, `[[null]]`, `[[1],[2]]`, `[[1,2]]`, `[[],[1,2]]`}},
	{"map with structs as keys", arrow.MapOf(pair, longs),
		[]string{`null`, `[]`, `[{"key":{"a":null,"B":null},"value":1}]`, `[{"key":{"a":1,"B":"x"},"value":null},{"key":{"a":2,"B":"x"},"value":1}]`}},
}

// nestedRows is rows of id, seq and the column c, given as JSON.
func nestedRows(dt arrow.DataType, seq int, values ...string) arrow.RecordBatch {
	return nestedBatch(arrow.NewSchema([]arrow.Field{maybe("id", longs), maybe("seq", longs), maybe("c", dt)}, nil), seq, values...)
}

func nestedBatch(schema *arrow.Schema, seq int, values ...string) arrow.RecordBatch {
	names := []string{schema.Field(0).Name, schema.Field(1).Name, schema.Field(2).Name}
	var lines []string
	for i, v := range values {
		lines = append(lines, fmt.Sprintf(`{%q:%d,%q:%d,%q:%s}`, names[0], i, names[1], seq, names[2], v))
	}
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(lines, ",")+"]"))
	if err != nil {
		panic(err)
	}
	return batch
}

// respelled gives rows of the same values with the fields of every struct in reverse and in another
// case, and large lists for lists.
func respelled(dt arrow.DataType, seq int, values ...string) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{maybe("ID", longs), maybe("SEQ", longs), maybe("C", respell(dt))}, nil)
	other := make([]string, len(values))
	for i, v := range values {
		d := json.NewDecoder(strings.NewReader(v))
		d.UseNumber()
		var tree any
		if err := d.Decode(&tree); err != nil {
			panic(err)
		}
		out, err := json.Marshal(respellValue(tree, dt))
		if err != nil {
			panic(err)
		}
		other[i] = string(out)
	}
	return nestedBatch(schema, seq, other...)
}

func flipped(name string) string {
	if up := strings.ToUpper(name); up != name {
		return up
	}
	return strings.ToLower(name)
}

func respell(dt arrow.DataType) arrow.DataType {
	switch dt := dt.(type) {
	case *arrow.StructType:
		var fields []arrow.Field
		for i := dt.NumFields() - 1; i >= 0; i-- {
			f := dt.Field(i)
			fields = append(fields, maybe(flipped(f.Name), respell(f.Type)))
		}
		return arrow.StructOf(fields...)
	case *arrow.MapType:
		return arrow.MapOf(respell(dt.KeyType()), respell(dt.ItemType()))
	case *arrow.ListType:
		return arrow.LargeListOf(respell(dt.Elem()))
	}
	return dt
}

func respellValue(v any, dt arrow.DataType) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, f := range dt.(*arrow.StructType).Fields() {
			out[flipped(f.Name)] = respellValue(v[f.Name], f.Type)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if m, ok := dt.(*arrow.MapType); ok {
				entry := e.(map[string]any)
				out[i] = map[string]any{"key": respellValue(entry["key"], m.KeyType()), "value": respellValue(entry["value"], m.ItemType())}
				continue
			}
			out[i] = respellValue(e, dt.(*arrow.ListType).Elem())
		}
		return out
	}
	return v
}

// jsonRows gives the rows of the newest version as JSON, column c only, by id.
func (f *fixture) jsonRows() map[string]string {
	out := map[string]string{}
	for b, err := range f.other().Scan(f.t.Context(), idem.Scan{}) {
		require.NoError(f.t, err)
		for i := range int(b.NumRows()) {
			out[b.Column(0).ValueStr(i)] = jsonCell(f.t, b.Column(2), i)
		}
	}
	return out
}

func jsonCell(t require.TestingT, a arrow.Array, i int) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(a.GetOneForMarshal(i)))
	return strings.TrimSpace(out.String())
}

func asJSON(t *testing.T, dt arrow.DataType, values []string) map[string]string {
	out := map[string]string{}
	batch := nestedRows(dt, 0, values...)
	for i := range values {
		out[fmt.Sprint(i)] = jsonCell(t, batch.Column(2), i)
	}
	return out
}

// nestedVerbs write rows into a table of id, seq and c. old is what the table holds before.
var nestedVerbs = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error)
}{
	{"ReplaceAll", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.ReplaceAll(ctx, rows, idem.ReplaceAll{})
	}},
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "id < 100"})
	}},
	{"Merge, guarded", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, CompareTies: true})
	}},
	{"Merge, unguarded", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Unguarded: true})
	}},
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rows, idem.Txn{AppID: "a", Version: 1, VerifyPayload: true})
	}},
}

func TestNestedColumnsThroughEveryVerb(t *testing.T) {
	for _, n := range nestings {
		want := asJSON(t, n.dt, n.values)
		prints := map[string]string{}
		for _, v := range nestedVerbs {
			t.Run(n.name+"/"+v.name, func(t *testing.T) {
				f := fixtureOf(t, idem.Definition{Schema: nestedRows(n.dt, 1).Schema()})
				if strings.HasPrefix(v.name, "Merge") { // half of the rows are updates
					_, err := f.table.Append(t.Context(), readerOf(nestedRows(n.dt, 0, `null`, `null`, `null`)), idem.Append{Reason: "test"})
					require.NoError(t, err)
				}
				res, err := v.run(t.Context(), f.table, readerOf(nestedRows(n.dt, 1, n.values...)))
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.Equal(t, want, f.jsonRows())
				prints[f.fingerprint()] = v.name

				at := f.other().Version()
				res, err = v.run(t.Context(), f.other(), readerOf(respelled(n.dt, 1, n.values...)))
				require.NoError(t, err)
				require.NotEqual(t, idem.Committed, res.Outcome, "the same rows, spelled in another way")
				require.Zero(t, res.TiesDiffering)
				require.Equal(t, at, f.other().Version())

				g := fixtureOf(t, idem.Definition{Schema: nestedRows(n.dt, 1).Schema()})
				_, err = v.run(t.Context(), g.table, readerOf(respelled(n.dt, 1, n.values...)))
				require.NoError(t, err)
				require.Equal(t, want, g.jsonRows())
				require.Equal(t, f.fingerprint(), g.fingerprint())
			})
		}
		require.LessOrEqual(t, len(prints), 1, "every verb writes the same rows")
	}
}

// No two of the values are equal to a verb: each replaces each other, and to a digest.
func TestNestedValuesDiffer(t *testing.T) {
	for _, n := range nestings {
		t.Run(n.name, func(t *testing.T) {
			f := fixtureOf(t, idem.Definition{Schema: nestedRows(n.dt, 1).Schema()})
			seen := map[string]string{}
			last := ""
			for seq, value := range n.values {
				one := nestedRows(n.dt, 1, value)
				if last != "" {
					res, err := f.table.Merge(t.Context(), readerOf(one), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, CompareTies: true})
					require.NoError(t, err)
					require.EqualValues(t, 1, res.TiesDiffering, "%s is not %s", value, last)
				}
				verb := nestedVerbs[seq%2]
				if seq%3 == 2 {
					verb = nestedVerbs[3] // an unguarded merge
				}
				res, err := verb.run(t.Context(), f.table, readerOf(one))
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome, "%s: %s is not %s", verb.name, value, last)
				require.Equal(t, asJSON(t, n.dt, []string{value}), f.jsonRows())
				require.Empty(t, seen[f.fingerprint()], "%s has the fingerprint of another value", value)
				seen[f.fingerprint()], last = value, value
			}
		})
	}
}

// Changes of nested columns are rows of the feed like others: what was, what is, and no row that stays.
func TestChangesOfNestedColumnsAreTold(t *testing.T) {
	for kind, properties := range map[string]map[string]string{
		"files written anew": {}, "vectors": {"delta.enableDeletionVectors": "true"}, "mapped": {"delta.columnMapping.mode": "name"},
	} {
		for _, n := range nestings {
			t.Run(n.name+"/"+kind, func(t *testing.T) {
				of := map[string]string{"delta.enableChangeDataFeed": "true"}
				maps.Copy(of, properties)
				f := fixtureOf(t, idem.Definition{Schema: nestedRows(n.dt, 1).Schema(), Properties: of})
				was := asJSON(t, n.dt, n.values)
				res, err := f.table.Append(t.Context(), readerOf(nestedRows(n.dt, 1, n.values...)), idem.Append{Reason: "test"})
				require.NoError(t, err)
				want := []string{}
				for id, c := range was {
					want = append(want, "insert "+id+" "+c)
				}
				require.ElementsMatch(t, want, f.told(res.Version))

				moved := append([]string{n.values[0]}, n.values[2:]...) // every row but the first gets the value of its neighbour
				moved = append(moved, n.values[1])
				is := asJSON(t, n.dt, moved)
				res, err = f.table.Merge(t.Context(), readerOf(nestedRows(n.dt, 1, moved...)), idem.Merge{On: []string{"id"}, Unguarded: true})
				require.NoError(t, err)
				want = nil
				for id := range was {
					if id != "0" {
						want = append(want, "update_preimage "+id+" "+was[id], "update_postimage "+id+" "+is[id])
					}
				}
				require.ElementsMatch(t, want, f.told(res.Version))

				res, err = f.table.Delete(t.Context(), idem.Delete{Where: "id = 1"})
				require.NoError(t, err)
				require.Equal(t, []string{"delete 1 " + is["1"]}, f.told(res.Version))
			})
		}
	}
}

// told is the change data feed of a version: kind, id and the column c.
func (f *fixture) told(version int64) (out []string) {
	for b, err := range feeds.Rows(f.t.Context(), f.other(), feeds.Request{From: feeds.Version(version), To: feeds.Version(version)}) {
		require.NoError(f.t, err)
		require.Equal(f.t, feeds.TypeColumn, b.ColumnName(3))
		for i := range int(b.NumRows()) {
			out = append(out, b.Column(3).ValueStr(i)+" "+b.Column(0).ValueStr(i)+" "+jsonCell(f.t, b.Column(2), i))
		}
	}
	return out
}

// A map is no list: the order of its pairs does not count.
func TestTheOrderOfAMapDoesNotCount(t *testing.T) {
	for _, v := range nestedVerbs {
		for name, dt := range map[string]arrow.DataType{"a column": arrow.MapOf(text, longs), "below a list": arrow.ListOf(arrow.MapOf(text, longs))} {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				there, back := `[{"key":"a","value":1},{"key":"b","value":null}]`, `[{"key":"b","value":null},{"key":"a","value":1}]`
				if strings.HasPrefix(name, "below") {
					there, back = "["+there+"]", "["+back+"]"
				}
				f := fixtureOf(t, idem.Definition{Schema: nestedRows(dt, 1).Schema()})
				_, err := v.run(t.Context(), f.table, readerOf(nestedRows(dt, 1, there)))
				require.NoError(t, err)
				res, err := v.run(t.Context(), f.table, readerOf(nestedRows(dt, 1, back)))
				require.NoError(t, err)
				require.NotEqual(t, idem.Committed, res.Outcome)
				require.Zero(t, res.TiesDiffering)
			})
		}
	}
}

// A job from before an evolution does not know of the new fields of a struct, and does not undo them.
func TestAMergeLeavesFieldsThatTheSourceLacks(t *testing.T) {
	full := arrow.StructOf(maybe("x", longs), maybe("y", longs), maybe("s", arrow.StructOf(maybe("u", longs), maybe("v", longs))), maybe("l", arrow.ListOf(pair)))
	less := arrow.StructOf(maybe("S", arrow.StructOf(maybe("U", longs))), maybe("L", arrow.ListOf(arrow.StructOf(maybe("a", longs)))), maybe("X", longs))
	old := []string{
		`{"x":1,"y":10,"s":{"u":1,"v":10},"l":[{"a":1,"B":"x"}]}`, `null`, `{"x":3,"y":30,"s":null,"l":null}`, `{"x":4,"y":40,"s":{"u":4,"v":40},"l":[]}`,
	}
	given := []string{`{"X":2,"S":{"U":2},"L":[{"a":2}]}`, `{"X":2,"S":{"U":2},"L":null}`, `{"X":2,"S":{"U":2},"L":null}`, `null`, `{"X":5,"S":{"U":5},"L":[]}`}
	want := map[string]string{
		"0": `{"l":[{"B":null,"a":2}],"s":{"u":2,"v":10},"x":2,"y":10}`, // of a list nothing is kept
		"1": `{"l":null,"s":{"u":2,"v":null},"x":2,"y":null}`,
		"2": `{"l":null,"s":{"u":2,"v":null},"x":2,"y":30}`,
		"3": `null`, // the source says that the struct is NULL
		"4": `{"l":[],"s":{"u":5,"v":null},"x":5,"y":null}`,
	}
	for name, m := range map[string]idem.Merge{
		"guarded": {On: []string{"id"}, Newer: []string{"seq"}, CompareTies: true}, "unguarded": {On: []string{"id"}, Unguarded: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := fixtureOf(t, idem.Definition{Schema: nestedRows(full, 1).Schema()})
			_, err := f.table.Append(t.Context(), readerOf(nestedRows(full, 1, old...)), idem.Append{Reason: "test"})
			require.NoError(t, err)
			res, err := f.table.Merge(t.Context(), readerOf(nestedRows(less, 2, given...)), m)
			require.NoError(t, err)
			require.Equal(t, []string{"c.y", "c.s.v", "c.l.element.B"}, res.MissingColumns)
			require.EqualValues(t, 4, res.Updated)
			got := f.jsonRows()
			require.Equal(t, want, got)
			res, err = f.table.Merge(t.Context(), readerOf(nestedRows(less, 2, given...)), m)
			require.NoError(t, err)
			require.Equal(t, idem.Unchanged, res.Outcome)
			require.Zero(t, res.TiesDiffering)
		})
	}
	t.Run("a soft delete keeps the last values", func(t *testing.T) {
		schema := arrow.NewSchema([]arrow.Field{maybe("id", longs), maybe("seq", longs), maybe("c", full), maybe("gone", arrow.FixedWidthTypes.Boolean)}, nil)
		f := fixtureOf(t, idem.Definition{Schema: schema})
		_, err := f.table.Append(t.Context(), readerOf(nestedRows(full, 1, old...)), idem.Append{Reason: "test"})
		require.NoError(t, err)
		res, err := f.table.Merge(t.Context(), readerOf(nestedRows(less, 2, given...)), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "id = 0 OR id = 2", SoftDelete: "gone"})
		require.NoError(t, err)
		require.EqualValues(t, 4, res.Updated)
		got := f.jsonRows()
		require.Equal(t, `{"l":[{"B":"x","a":1}],"s":{"u":1,"v":10},"x":1,"y":10}`, got["0"])
		require.Equal(t, want["1"], got["1"])
		require.Equal(t, `{"l":null,"s":null,"x":3,"y":30}`, got["2"])
	})
}

// Fields that the rows lack are NULL and named, in every verb that puts rows.
func TestNestedColumnsThatTheRowsLack(t *testing.T) {
	for _, c := range []struct {
		name        string
		full, less  arrow.DataType
		given, want string
		missing     []string
	}{
		{"a field of a struct", pair, arrow.StructOf(maybe("b", text)), `{"b":"x"}`, `{"B":"x","a":null}`, []string{"c.a"}},
		{"of a struct in a list", arrow.ListOf(pair), arrow.ListOf(arrow.StructOf(maybe("A", longs))), `[{"A":1},null]`, `[{"B":null,"a":1},null]`, []string{"c.element.B"}},
		{"of a map's value", arrow.MapOf(text, pair), arrow.MapOf(text, arrow.StructOf(maybe("A", longs))), `[{"key":"k","value":{"A":1}}]`, `[{"key":"k","value":{"B":null,"a":1}}]`, []string{"c.value.B"}},
		{"of a struct that is NULL", pair, arrow.StructOf(maybe("a", longs)), `null`, `null`, []string{"c.B"}},
		{"a struct of a struct", arrow.StructOf(maybe("s", pair), maybe("n", longs)), arrow.StructOf(maybe("n", longs)), `{"n":1}`, `{"n":1,"s":null}`, []string{"c.s"}},
	} {
		for _, v := range nestedVerbs {
			t.Run(c.name+"/"+v.name, func(t *testing.T) {
				f := fixtureOf(t, idem.Definition{Schema: nestedRows(c.full, 1).Schema()})
				res, err := v.run(t.Context(), f.table, readerOf(nestedRows(c.less, 1, c.given)))
				require.NoError(t, err)
				require.Equal(t, c.missing, res.MissingColumns)
				require.Equal(t, c.want, f.jsonRows()["0"])
				res, err = v.run(t.Context(), f.table, readerOf(nestedRows(c.less, 1, c.given)))
				require.NoError(t, err)
				require.NotEqual(t, idem.Committed, res.Outcome)
			})
		}
	}
}
