package idem_test

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// nestedKeys is a table whose key and version are fields of structs.
var nestedKeys = arrow.NewSchema([]arrow.Field{
	{Name: "k", Nullable: true, Type: arrow.StructOf(
		arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	)},
	{Name: "meta", Nullable: true, Type: arrow.StructOf(
		arrow.Field{Name: "at", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "by", Type: arrow.BinaryTypes.String, Nullable: true},
	)},
	{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// fromJSON gives rows as a one-pass reader.
func fromJSON(schema *arrow.Schema, rows string) array.RecordReader {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		panic(err)
	}
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	if err != nil {
		panic(err)
	}
	return r
}

// tableJSON gives the rows of a table, one text a row.
func tableJSON(t *testing.T, table *idem.Table, columns ...string) []string {
	out := []string{}
	for b, err := range table.Scan(t.Context(), idem.Scan{Columns: columns}) {
		require.NoError(t, err)
		text, err := b.MarshalJSON()
		require.NoError(t, err)
		for line := range strings.Lines(strings.Trim(string(text), "[]\n")) {
			out = append(out, strings.Trim(line, ",\n"))
		}
	}
	return out
}

func newNested(t *testing.T, rows ...string) (*idem.Table, *storetest.Faulty) {
	faulty := storetest.NewFaulty(store.NewMem())
	table, _, err := idem.CreateStore(t.Context(), faulty, idem.Definition{Schema: nestedKeys}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	for _, r := range rows {
		_, err := table.Append(t.Context(), fromJSON(nestedKeys, r), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	faulty.Reset()
	t.Cleanup(func() { checkLog(t, faulty) })
	return table, faulty
}

func TestKeysAndVersionsThatAreFields(t *testing.T) {
	byID := idem.Merge{On: []string{"k.id"}, Newer: []string{"META.at"}}
	base := `[{"k":{"id":1,"x":0.0},"meta":{"at":1,"by":"a"},"v":"a"},{"k":{"id":2,"x":1.5},"meta":null,"v":"b"}]`
	t.Run("update, insert, and a second call", func(t *testing.T) {
		table, _ := newNested(t, base)
		source := `[{"k":{"id":1,"x":9.0},"meta":{"at":2,"by":"s"},"v":"A"},{"k":{"id":1,"x":9.0},"meta":{"at":1,"by":"s"},"v":"older"},
			{"k":{"id":2,"x":1.5},"meta":{"at":1,"by":null},"v":"B"},{"k":{"id":3,"x":null},"meta":{"at":1,"by":"s"},"v":"n"}]`
		res, err := table.Merge(t.Context(), fromJSON(nestedKeys, source), byID)
		require.NoError(t, err)
		require.Equal(t, []int64{2, 1, 1}, []int64{res.Updated, res.Inserted, res.Older}, "a NULL struct is older than anything")
		want := []string{`{"k":{"id":1,"x":9},"meta":{"at":2,"by":"s"},"v":"A"}`, `{"k":{"id":2,"x":1.5},"meta":{"at":1,"by":null},"v":"B"}`,
			`{"k":{"id":3,"x":null},"meta":{"at":1,"by":"s"},"v":"n"}`}
		require.ElementsMatch(t, want, tableJSON(t, table))
		res, err = table.Merge(t.Context(), fromJSON(nestedKeys, source), byID)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.EqualValues(t, 3, res.Ties)
	})
	t.Run("NULL keys", func(t *testing.T) {
		source := `[{"k":null,"meta":{"at":5},"v":"N"},{"k":{"id":7},"meta":{"at":5},"v":"n"},{"k":{"id":null,"x":2.0},"meta":{"at":4},"v":"older"}]`
		table, _ := newNested(t, `[{"k":{"id":null,"x":1.0},"meta":{"at":1},"v":"null"}]`)
		_, err := table.Merge(t.Context(), fromJSON(nestedKeys, source), byID)
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "2 of 3 rows have NULL in a key column")
		require.ErrorContains(t, err, "row 1 (k.id=NULL)")
		matching := byID
		matching.NullKeys = idem.MatchNulls
		for i := range 2 {
			res, err := table.Merge(t.Context(), fromJSON(nestedKeys, source), matching)
			require.NoError(t, err)
			require.Equal(t, i == 0, res.Outcome == idem.Committed)
		}
		require.ElementsMatch(t, []string{`{"k":null,"meta":{"at":5,"by":null},"v":"N"}`, `{"k":{"id":7,"x":null},"meta":{"at":5,"by":null},"v":"n"}`}, tableJSON(t, table),
			"NULL and a struct whose field is NULL are one key")
	})
	t.Run("what lies below a NULL struct is no key", func(t *testing.T) {
		table, _ := newNested(t)
		ids := array.NewInt64Builder(memory.DefaultAllocator)
		ids.AppendValues([]int64{1, 2}, nil)
		xs := array.NewFloat64Builder(memory.DefaultAllocator)
		xs.AppendNulls(2)
		below := []arrow.ArrayData{ids.NewArray().Data(), xs.NewArray().Data()}
		k := array.NewStructData(array.NewData(nestedKeys.Field(0).Type, 2, []*memory.Buffer{memory.NewBufferBytes([]byte{0b01})}, below, 1, 0))
		schema := arrow.NewSchema(nestedKeys.Fields()[:1], nil)
		in, err := array.NewRecordReader(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{k}, 2)})
		require.NoError(t, err)
		_, err = table.Merge(t.Context(), in, idem.Merge{On: []string{"k.id"}, Unguarded: true})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "1 of 2 rows have NULL in a key column")
		require.ErrorContains(t, err, "row 2")
	})
	t.Run("the table's own key bytes are kept", func(t *testing.T) {
		table, _ := newNested(t, base)
		zero := math.Copysign(0, -1)
		b := array.NewRecordBuilder(memory.DefaultAllocator, nestedKeys)
		defer b.Release()
		b.Field(0).(*array.StructBuilder).Append(true)
		b.Field(0).(*array.StructBuilder).FieldBuilder(0).(*array.Int64Builder).Append(77)
		b.Field(0).(*array.StructBuilder).FieldBuilder(1).(*array.Float64Builder).Append(zero)
		b.Field(1).(*array.StructBuilder).AppendNull()
		b.Field(2).(*array.StringBuilder).Append("A")
		in, err := array.NewRecordReader(nestedKeys, []arrow.RecordBatch{b.NewRecordBatch()})
		require.NoError(t, err)
		res, err := table.Merge(t.Context(), in, idem.Merge{On: []string{"k.x"}, Unguarded: true})
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Updated, "-0.0 = 0.0")
		for batch, err := range table.Scan(t.Context(), idem.Scan{Columns: []string{"k"}, Where: "v = 'A'"}) {
			require.NoError(t, err)
			k := batch.Column(0).(*array.Struct)
			require.EqualValues(t, 77, k.Field(0).(*array.Int64).Value(0), "the field beside the key is set")
			require.False(t, math.Signbit(k.Field(1).(*array.Float64).Value(0)), "the key is not")
		}
	})
	t.Run("files are pruned by the statistics of fields", func(t *testing.T) {
		table, calls := newNested(t, base,
			`[{"k":{"id":10},"meta":{"at":1},"v":"x"}]`, `[{"k":{"id":20},"meta":{"at":1},"v":"y"}]`, `[{"k":{"id":30},"meta":{"at":1},"v":"z"}]`)
		res, err := table.Merge(t.Context(), fromJSON(nestedKeys, `[{"k":{"id":20},"meta":{"at":2},"v":"Y"},{"k":{"id":25},"meta":{"at":2},"v":"n"}]`), byID)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 1}, []int64{res.Updated, res.Inserted})
		require.Equal(t, 2, dataReads(calls), "one file is probed and rewritten, no other is read")
	})
	t.Run("duplicates", func(t *testing.T) {
		table, _ := newNested(t, base, `[{"k":{"id":2},"v":"twin"},{"k":null,"v":"c"},{"k":{"id":null},"v":"d"}]`)
		_, err := table.Merge(t.Context(), fromJSON(nestedKeys, `[{"k":{"id":2},"meta":{"at":9}}]`), byID)
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "the key k.id=2")
		found, err := table.Duplicates(t.Context(), idem.Duplicates{On: []string{"k.id"}})
		require.NoError(t, err)
		require.Equal(t, []int64{5, 3, 2}, []int64{found.Rows, found.Keys, found.Extra})
		require.ElementsMatch(t, []idem.DuplicateKey{{Key: "k.id=2", Count: 2}, {Key: "k.id=NULL", Count: 2}}, found.Samples)
		p, err := table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"k.id", "v"}})
		require.NoError(t, err)
		require.True(t, p.Grain())
	})
	t.Run("what is no key", func(t *testing.T) {
		table, _ := newNested(t, base)
		for on, says := range map[string]string{"k": "no order", "k.nosuch": `"k.nosuch"`, "v.x": `"v"`, "k.id.x": `"k.id"`} {
			_, err := table.Merge(t.Context(), fromJSON(nestedKeys, `[]`), idem.Merge{On: []string{on}, Unguarded: true})
			require.ErrorIs(t, err, idem.ErrInput, on)
			require.ErrorContains(t, err, says)
		}
	})
	t.Run("an update must leave the key and set the guard", func(t *testing.T) {
		table, _ := newNested(t, base)
		for says, clause := range map[string]idem.Clause{
			`key column "k.id"`:     {Columns: []string{"meta"}, Set: map[string]string{"k": "NULL"}},
			`must set "meta.at"`:    {Columns: []string{"k", "v"}},
			`sets "meta" and "meta`: {Columns: []string{"meta", "meta.by"}},
		} {
			_, err := table.Merge(t.Context(), fromJSON(nestedKeys, `[]`), idem.Merge{On: []string{"k.id"}, Newer: []string{"meta.at"}, Matched: []idem.Clause{clause}})
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, says)
		}
	})
}

func TestDedupeRowsByFields(t *testing.T) {
	in := fromJSON(nestedKeys, `[{"k":{"id":1},"meta":{"at":1},"v":"a"},{"k":{"id":1},"meta":{"at":3},"v":"c"},{"k":{"id":2},"meta":{"at":1},"v":"b"}]`)
	out, stats, err := idem.DedupeRows(t.Context(), in, idem.Dedupe{On: []string{"k.id"}, Newer: []string{"meta.at"}})
	require.NoError(t, err)
	require.Equal(t, idem.DedupeStats{Read: 3, Kept: 2, Older: 1}, stats)
	require.True(t, out.Schema().Equal(nestedKeys), "the rows come out as they came in")
	for out.Next() {
		require.EqualValues(t, 3, out.RecordBatch().NumCols())
	}
	require.NoError(t, out.Err())
	out.Retain()
	out.Release()
	require.False(t, out.Next())
	require.NoError(t, out.Err(), "there is a reference left")
	out.Release()
	require.False(t, out.Next())
	require.ErrorIs(t, out.Err(), idem.ErrInput, "rows that were released are not none")
	_, _, err = idem.DedupeRows(t.Context(), fromJSON(nestedKeys, `[{"k":null,"v":"a"}]`), idem.Dedupe{On: []string{"k.id"}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "k.id=NULL")
}

// TestKeysWithDots are read as expressions read names: see TestNamesWithDotsAreReadAsExpressionsReadThem.
func TestKeysWithDots(t *testing.T) {
	nullable := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	inner := nullable("x", arrow.StructOf(nullable("y", longs)))
	both := arrow.NewSchema([]arrow.Field{nullable("x.y", longs), inner, nullable("v", longs)}, nil)
	flat := arrow.NewSchema([]arrow.Field{nullable("x.y", longs), nullable("v", longs)}, nil)
	deep := arrow.NewSchema([]arrow.Field{inner, nullable("v", longs)}, nil)
	const base, source = `[{"x.y":1,"x":{"y":2},"v":0}]`, `[{"x.y":1,"x":{"y":1},"v":5}]`
	for _, c := range []struct {
		why, on       string
		table, source *arrow.Schema
		want          []int64 // updated, inserted
		says          string
	}{
		{"the column", "`x.y`", both, both, []int64{1, 0}, ""},
		{"the field", "x.`y`", both, both, []int64{0, 1}, ""},
		{"either", "x.y", both, both, nil, "write `x.y` for the column, `x`.`y` for the field"},
		{"either, of the table alone", "x.y", both, deep, nil, "write `x.y` for the column"},
		{"a column", "x.y", flat, flat, []int64{1, 0}, ""},
		{"a column of rows that have the field too", "x.y", flat, flat, []int64{1, 0}, ""},
		{"a field", "x.y", deep, deep, []int64{0, 1}, ""},
		{"a field that the rows have as a column", "x.y", deep, flat, nil, `must set "x.y" from the source`},
		{"a column that the rows have as a field", "x.y", flat, deep, nil, `must set "x.y" from the source`},
	} {
		for _, as := range []string{"On", "Newer"} {
			if as == "Newer" && c.says == "" {
				continue
			}
			t.Run(c.why+" "+as, func(t *testing.T) {
				st := store.NewMem()
				table, _, err := idem.CreateStore(t.Context(), st, idem.Definition{Schema: c.table, Properties: map[string]string{"delta.columnMapping.mode": "name"}}, idem.Options{Parallelism: 1})
				require.NoError(t, err)
				_, err = table.Append(t.Context(), fromJSON(c.table, base), idem.Append{Reason: "test"})
				require.NoError(t, err)
				request := idem.Merge{On: []string{c.on}, Unguarded: true}
				if as == "Newer" {
					request = idem.Merge{On: []string{"v"}, Newer: []string{c.on}}
				}
				res, err := table.Merge(t.Context(), fromJSON(c.source, source), request)
				if c.says != "" {
					require.ErrorIs(t, err, idem.ErrInput)
					require.ErrorContains(t, err, c.says)
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.want, []int64{res.Updated, res.Inserted})
			})
		}
	}
	t.Run("of rows, and duplicates", func(t *testing.T) {
		_, _, err := idem.DedupeRows(t.Context(), fromJSON(both, base), idem.Dedupe{On: []string{"x.y"}})
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, "for the field")
		table, _, err := idem.CreateStore(t.Context(), store.NewMem(), idem.Definition{Schema: both, Properties: map[string]string{"delta.columnMapping.mode": "name"}}, idem.Options{Parallelism: 1})
		require.NoError(t, err)
		_, err = table.Duplicates(t.Context(), idem.Duplicates{On: []string{"x.y"}})
		require.ErrorContains(t, err, "for the field")
		_, err = table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"x.y"}})
		require.ErrorContains(t, err, "for the field")
	})
	t.Run("of a definition", func(t *testing.T) {
		for _, d := range []idem.Definition{{ClusterBy: []string{"x.y"}}, {Columns: map[string]idem.Column{"x.y": {Comment: "c"}}}} {
			d.Schema, d.Properties = both, map[string]string{"delta.columnMapping.mode": "name"}
			_, _, err := idem.CreateStore(t.Context(), store.NewMem(), d, idem.Options{Parallelism: 1})
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, "write `x.y` for the column, `x`.`y` for the field")
		}
	})
}
