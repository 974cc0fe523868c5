package idem_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
)

// named is a value as text, fields by name and without those that are NULL.
func named(v any, dt arrow.DataType) string {
	if v == nil {
		return "NULL"
	}
	var parts []string
	switch dt := dt.(type) {
	case *arrow.StructType:
		for i, f := range dt.Fields() {
			if x := v.([]any)[i]; x != nil {
				parts = append(parts, strings.ToLower(f.Name)+"="+named(x, f.Type))
			}
		}
		slices.Sort(parts)
	case *arrow.MapType:
		for _, p := range v.([]any) {
			parts = append(parts, canonical(p.(pairOf).key)+":"+named(p.(pairOf).value, dt.ItemType()))
		}
		slices.Sort(parts)
	case *arrow.ListType:
		for _, e := range v.([]any) {
			parts = append(parts, named(e, dt.Elem()))
		}
	default:
		return canonical(v)
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// Whatever columns, at whatever depth, the rows have beyond those of the table: they are added, old
// and new rows read as they were given, and a second call finds all of it.
func TestEvolveProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		full := arrow.StructOf(append([]arrow.Field{maybe("id", longs), maybe("seq", longs)}, drawColumns(r, 3)...)...)
		before, after := table2variant(r, full, true), table2variant(r, full, false)
		row := func(id, seq int) []any {
			out := []any{int64(id), int64(seq)}
			for _, f := range full.Fields()[2:] {
				out = append(out, drawValue(r, f.Type))
			}
			return out
		}
		old := []any{row(0, 1), row(1, 1)}
		rows := []any{row(1, 2), row(2, 2), row(3, 2)}
		mem, checked := store.NewMem(), memory.NewCheckedAllocator(memory.NewGoAllocator())
		// The column that the rows never have is one for which the table gets the feature timestampNtz.
		schema := append(slices.Clone(before.dt.(*arrow.StructType).Fields()), maybe("local", &arrow.TimestampType{Unit: arrow.Microsecond}))
		made, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: arrow.NewSchema(schema, nil)}, idem.Options{Parallelism: 1, Allocator: checked})
		require.NoError(r, err)
		_, err = made.Append(t.Context(), givenOf(r, before, old), idem.Append{Reason: "test"})
		require.NoError(r, err)
		printed, err := made.Fingerprint(t.Context(), idem.Fingerprint{Where: "id = 0"})
		require.NoError(r, err)

		v := evolvers[rapid.IntRange(0, len(evolvers)-1).Draw(r, "verb")]
		want := map[string]bool{named(before.kept(old[0]), full): true}
		for _, x := range rows {
			want[named(after.kept(x), full)] = true
		}
		res, err := v.run(t.Context(), made, givenOf(r, after, rows))
		require.NoError(r, err, v.name)
		require.Equal(r, len(res.AddedColumns) > 0, made.Snapshot().Metadata().SchemaString != mustAt(t, made, 0).Snapshot().Metadata().SchemaString)
		got := map[string]bool{}
		for b, err := range made.Scan(t.Context(), idem.Scan{}) {
			require.NoError(r, err)
			st := array.RecordToStructArray(b)
			for i := range int(b.NumRows()) {
				if text := named(readOf(st, i), st.DataType()); !strings.Contains(text, "id=1 seq=1") {
					got[text] = true
				}
			}
			st.Release()
		}
		require.Equal(r, want, got, v.name)
		at := made.Version()
		_, err = v.run(t.Context(), made, givenOf(r, table2variant(r, full, false), rows))
		require.NoError(r, err)
		require.Equal(r, at, made.Version(), v.name)
		now, err := made.Fingerprint(t.Context(), idem.Fingerprint{Where: "id = 0", Verify: true})
		require.NoError(r, err)
		require.Equal(r, printed.String(), now.String(), "what was there reads as it did")
		checkLog(t, mem)
		checked.AssertSize(r, 0)
	})
}

// A struct that gets a field stays what it was: NULL stays NULL, and one of NULLs is one of NULLs, in rows that no verb
// writes, in rows that are copied beside others, and in those that come.
func TestANullStructStaysNullWhenAFieldIsAdded(t *testing.T) {
	wide := arrow.StructOf(maybe("a", longs), maybe("B", text), maybe("added", longs))
	for _, c := range []struct {
		why        string
		less, more arrow.DataType
		old, grown []string // values, and what they are with the field
		comes      []string
	}{
		{"a column", pair, wide,
			[]string{`null`, `{"a":null,"B":null}`, `{"a":1,"B":"x"}`},
			[]string{`null`, `{"a":null,"B":null,"added":null}`, `{"a":1,"B":"x","added":null}`},
			[]string{`null`, `{"a":null,"B":null,"added":null}`, `{"a":2,"B":"y","added":3}`}},
		{"below a struct", arrow.StructOf(maybe("s", pair), maybe("n", text)), arrow.StructOf(maybe("s", wide), maybe("n", text)),
			[]string{`null`, `{"s":null,"n":null}`, `{"s":{"a":null,"B":null},"n":null}`},
			[]string{`null`, `{"s":null,"n":null}`, `{"s":{"a":null,"B":null,"added":null},"n":null}`},
			[]string{`{"s":null,"n":"x"}`, `null`, `{"s":{"a":null,"B":null,"added":7},"n":null}`}},
		{"in a list", arrow.ListOf(pair), arrow.ListOf(wide),
			[]string{`null`, `[]`, `[null]`, `[null,{"a":null,"B":null}]`},
			[]string{`null`, `[]`, `[null]`, `[null,{"a":null,"B":null,"added":null}]`},
			[]string{`[null]`, `null`, `[{"a":null,"B":null,"added":1},null]`, `[]`}},
		{"in a map", arrow.MapOf(text, pair), arrow.MapOf(text, wide),
			[]string{`null`, `[]`, `[{"key":"k","value":null}]`, `[{"key":"k","value":{"a":null,"B":null}}]`},
			[]string{`null`, `[]`, `[{"key":"k","value":null}]`, `[{"key":"k","value":{"a":null,"B":null,"added":null}}]`},
			[]string{`[{"key":"k","value":null}]`, `null`, `[{"key":"k","value":{"a":null,"B":null,"added":1}}]`, `[]`}},
	} {
		for _, v := range evolvers {
			for first := range c.old {
				t.Run(fmt.Sprint(c.why, "/", v.name, "/", first), func(t *testing.T) {
					turn := func(values []string) []string { return append(slices.Clone(values[first:]), values[:first]...) }
					old, comes := turn(c.old), turn(c.comes)
					f := fixtureOf(t, idem.Definition{Schema: nestedRows(c.less, 1).Schema()})
					_, err := f.table.Append(t.Context(), readerOf(nestedRows(c.less, 1, old...)), idem.Append{Reason: "test"})
					require.NoError(t, err)
					_, err = v.run(t.Context(), f.table, readerOf(nestedRows(c.more, 2, comes...).NewSlice(1, int64(len(comes)))))
					require.NoError(t, err)
					is, was := asJSON(t, c.more, comes), asJSON(t, c.more, turn(c.grown))
					want := []string{"0 1 " + was["0"]} // its file is written anew, or stays
					for i := 1; i < len(comes); i++ {
						id := strconv.Itoa(i)
						want = append(want, id+" 2 "+is[id])
						if v.name == "AppendWithTxn" {
							want = append(want, id+" 1 "+was[id])
						}
					}
					got := []string{}
					for b, err := range f.other().Scan(t.Context(), idem.Scan{}) {
						require.NoError(t, err)
						for i := range int(b.NumRows()) {
							got = append(got, b.Column(0).ValueStr(i)+" "+b.Column(1).ValueStr(i)+" "+jsonCell(t, b.Column(2), i))
						}
					}
					require.ElementsMatch(t, want, got)
				})
			}
		}
	}
}

func mustAt(t *testing.T, table *idem.Table, version int64) *idem.Table {
	was, err := table.At(t.Context(), version)
	require.NoError(t, err)
	return was
}

// evolvers bring columns; none leaves a row with id 1 and seq 1 but an append.
var evolvers = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error)
}{
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "id > 0", Evolve: true})
	}},
	{"Merge, guarded", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, Evolve: true})
	}},
	{"Merge, unguarded", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Unguarded: true, Evolve: true})
	}},
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table, rows array.RecordReader) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rows, idem.Txn{AppID: "a", Version: 1, Evolve: true})
	}},
}
