package idem_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
)

// never makes an Arrow field that is NOT NULL.
func never(name string, dt arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: dt} }

// ruled is a table of id, seq and a struct c, which may be NULL, of fields that may not.
func ruled() idem.Definition {
	c := arrow.StructOf(never("n", longs), maybe("s", arrow.StructOf(never("m", text))), maybe("l", arrow.ListOf(arrow.StructOf(never("e", longs)))))
	return idem.Definition{
		Schema:      arrow.NewSchema([]arrow.Field{maybe("id", longs), maybe("seq", longs), maybe("c", c)}, nil),
		Constraints: map[string]string{"small": "c IS NULL OR c.n < 100", "named": "c.s.m <> '' OR c.s IS NULL"},
	}
}

func TestRulesOfNestedColumns(t *testing.T) {
	all := arrow.StructOf(maybe("l", arrow.ListOf(arrow.StructOf(maybe("e", longs)))), maybe("s", arrow.StructOf(maybe("m", text))), maybe("n", longs))
	for _, c := range []struct {
		why, value string
		dt         arrow.DataType
		want       []string // nil if the row is taken
	}{
		{"a NULL struct has no field that must be filled", `null`, all, nil},
		{"fields that are filled", `{"n":1,"s":{"m":"x"},"l":[{"e":1}]}`, all, nil},
		{"nothing below what is NULL", `{"n":1,"s":null,"l":[null]}`, all, nil},
		{"an empty list", `{"n":1,"s":null,"l":[]}`, all, nil},
		{"NULL in a field", `{"n":null,"s":null,"l":null}`, all, []string{`"c.n" is NOT NULL`, "row 2"}},
		{"NULL two levels down", `{"n":1,"s":{"m":null},"l":null}`, all, []string{`"c.s.m" is NOT NULL`, "row 2"}},
		{"NULL in a struct in a list", `{"n":1,"s":null,"l":[{"e":1},{"e":null}]}`, all, []string{`"c.l.element.e" is NOT NULL`, "row 2"}},
		{"a field that the rows lack", `{"s":null}`, arrow.StructOf(maybe("s", arrow.StructOf(maybe("m", text)))), []string{`"c.n" is NOT NULL`}},
		{"a field that the rows lack, in a struct that is NULL", `null`, arrow.StructOf(maybe("s", arrow.StructOf(maybe("m", text)))), nil},
		{"a constraint over a field", `{"n":100,"s":null,"l":null}`, all, []string{`"small" (c IS NULL OR c.n < 100)`, "row 2"}},
		{"a constraint two levels down", `{"n":1,"s":{"m":""},"l":null}`, all, []string{`"named"`, "row 2"}},
	} {
		for _, v := range nestedVerbs {
			t.Run(c.why+"/"+v.name, func(t *testing.T) {
				f := fixtureOf(t, ruled())
				files := f.dataFiles()
				rows := nestedRows(c.dt, 1, `null`, c.value)
				_, err := v.run(t.Context(), f.table, readerOf(rows))
				if c.want == nil {
					require.NoError(t, err)
					require.Len(t, f.jsonRows(), 2)
					return
				}
				require.ErrorIs(t, err, idem.ErrInput)
				for _, want := range c.want {
					if strings.HasPrefix(v.name, "Merge") && strings.HasPrefix(want, "row ") {
						continue // rows are put together anew: their numbers are not those of the source
					}
					require.ErrorContains(t, err, want)
				}
				require.EqualValues(t, 0, f.other().Version())
				require.Equal(t, files, f.dataFiles(), "nothing is left")
			})
		}
	}
}

// stated gives the statistics of the one live file.
func (f *fixture) stated() map[string]any {
	var out map[string]any
	for a := range f.other().Snapshot().Files() {
		require.Nil(f.t, out, "one file")
		require.NoError(f.t, json.Unmarshal([]byte(a.Stats), &out))
	}
	return out
}

// The statistics are those that Spark 4.1 with Delta 4.2 wrote for the same rows.
func TestStatisticsOfNestedColumns(t *testing.T) {
	c := arrow.StructOf(maybe("a", longs), maybe("s", arrow.StructOf(maybe("b", text))), maybe("l", arrow.ListOf(longs)))
	schema := arrow.NewSchema([]arrow.Field{maybe("id", longs), maybe("c", c), maybe("m", arrow.MapOf(text, longs)), maybe("arr", arrow.ListOf(arrow.StructOf(maybe("x", longs)))), maybe("z", longs)}, nil)
	rows := `[{"id":1,"c":null,"m":null,"arr":null,"z":1},
		{"id":2,"c":{"a":5,"s":null,"l":[1]},"m":[{"key":"k","value":1}],"arr":[],"z":null},
		{"id":3,"c":{"a":null,"s":{"b":"x"},"l":null},"m":null,"arr":[{"x":1}],"z":3}]`
	for _, p := range []struct {
		why        string
		properties map[string]string
		want       string
	}{
		{"by default, of the first 32 leaves", nil, `{"numRecords":3,"minValues":{"id":1,"c":{"a":5,"s":{"b":"x"}},"z":1},"maxValues":{"id":3,"c":{"a":5,"s":{"b":"x"}},"z":3},` +
			`"nullCount":{"id":0,"c":{"a":2,"s":{"b":2},"l":2},"m":2,"arr":1,"z":1}}`},
		{"of the first three leaves in the order of the schema", map[string]string{"delta.dataSkippingNumIndexedCols": "3"},
			`{"numRecords":3,"minValues":{"id":1,"c":{"a":5,"s":{"b":"x"}}},"maxValues":{"id":3,"c":{"a":5,"s":{"b":"x"}}},"nullCount":{"id":0,"c":{"a":2,"s":{"b":2}}}}`},
		{"of a nested leaf that is named", map[string]string{"delta.dataSkippingStatsColumns": "c.s.b,id"},
			`{"numRecords":3,"minValues":{"id":1,"c":{"s":{"b":"x"}}},"maxValues":{"id":3,"c":{"s":{"b":"x"}}},"nullCount":{"id":0,"c":{"s":{"b":2}}}}`},
		{"of all below a struct that is named", map[string]string{"delta.dataSkippingStatsColumns": "c.s,z"},
			`{"numRecords":3,"minValues":{"c":{"s":{"b":"x"}},"z":1},"maxValues":{"c":{"s":{"b":"x"}},"z":3},"nullCount":{"c":{"s":{"b":2}},"z":1}}`},
	} {
		t.Run(p.why, func(t *testing.T) {
			f := fixtureOf(t, idem.Definition{Schema: schema, Properties: p.properties})
			batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
			require.NoError(t, err)
			_, err = f.table.Append(t.Context(), readerOf(batch), idem.Append{Reason: "test"})
			require.NoError(t, err)
			var want map[string]any
			require.NoError(t, json.Unmarshal([]byte(p.want), &want))
			require.Equal(t, want, f.stated())
		})
	}
}

// Files that the statistics of a nested column prove to be outside are not read.
func TestPruningByNestedColumns(t *testing.T) {
	dt := arrow.StructOf(maybe("n", longs), maybe("s", arrow.StructOf(maybe("b", text))))
	f := fixtureOf(t, idem.Definition{Schema: nestedRows(dt, 1).Schema()})
	for n := range 4 {
		_, err := f.table.Append(t.Context(), readerOf(nestedRows(dt, n, fmt.Sprintf(`{"n":%d,"s":{"b":"b%d"}}`, 10*n, n), `null`)), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	read := func(do func()) int {
		files := map[string]bool{}
		f.store.Before = func(c storetest.Call) storetest.Fault {
			if (c.Op == storetest.OpGet || c.Op == storetest.OpGetRange) && strings.HasSuffix(c.Key, ".parquet") {
				files[c.Key] = true
			}
			return storetest.Fault{}
		}
		do()
		f.store.Before = nil
		return len(files)
	}
	for where, want := range map[string]int{"c.n > 25": 1, "C.S.B = 'b1'": 1, "c.n >= 10 AND c.s.b < 'b2'": 1, "c.n = 7": 0, "c.s.b IS NULL": 4} {
		require.Equal(t, want, read(func() {
			for _, err := range f.table.Scan(t.Context(), idem.Scan{Where: where}) {
				require.NoError(t, err)
			}
		}), where)
	}
	require.Equal(t, 1, read(func() {
		res, err := f.table.ReplaceWhere(t.Context(), readerOf(nestedRows(dt, 9, `{"n":20,"s":null}`)), idem.ReplaceWhere{Where: "c.n BETWEEN 15 AND 25"})
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Deleted)
		require.EqualValues(t, 1, res.FilesRewritten, "the row whose struct is NULL is not in the slice")
	}), "ReplaceWhere")
	require.Equal(t, 1, read(func() {
		res, err := f.table.Delete(t.Context(), idem.Delete{Where: "c.s.b = 'b3'"})
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Deleted)
	}), "Delete")
	require.Equal(t, 0, read(func() {
		res, err := f.table.Delete(t.Context(), idem.Delete{Where: "c.n > 1000"})
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	}), "Delete of nothing")
}

// deepOf nests a type in so many lists, or structs, and a value with it.
func deepOf(levels int, lists bool) (arrow.DataType, string) {
	dt, value := arrow.DataType(longs), "7"
	for range levels {
		if lists {
			dt, value = arrow.ListOf(dt), "["+value+"]"
		} else {
			dt, value = arrow.StructOf(maybe("f", dt)), `{"f":`+value+`}`
		}
	}
	return dt, value
}

func TestDeepNesting(t *testing.T) {
	for name, lists := range map[string]bool{"lists": true, "structs": false} {
		t.Run(name+" as deep as a schema may be", func(t *testing.T) {
			dt, value := deepOf(63, lists)
			f := fixtureOf(t, idem.Definition{Schema: nestedRows(dt, 1).Schema()})
			for n, v := range nestedVerbs {
				res, err := v.run(t.Context(), f.table, readerOf(nestedRows(dt, n+1, value)))
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.Equal(t, value, f.jsonRows()["0"], v.name)
			}
			require.NotEmpty(t, f.fingerprint())
		})
		t.Run(name+" 100 levels deep", func(t *testing.T) {
			dt, value := deepOf(100, lists)
			_, _, err := idem.Create(t.Context(), t.TempDir(), idem.Definition{Schema: nestedRows(dt, 1).Schema()}, idem.Options{})
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, "nested deeper than 64 levels")
			flat := fixtureOf(t, idem.Definition{Schema: arrow.NewSchema([]arrow.Field{maybe("id", longs), maybe("seq", longs)}, nil)})
			for evolve, want := range map[bool]string{true: "nested deeper than 64 levels", false: "Evolve: true"} {
				_, err = flat.table.ReplaceAll(t.Context(), readerOf(nestedRows(dt, 1, value)), idem.ReplaceAll{Evolve: evolve})
				require.ErrorIs(t, err, idem.ErrInput)
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestEmptyStructs(t *testing.T) {
	empty := arrow.NewSchema([]arrow.Field{maybe("id", longs), maybe("c", arrow.ListOf(arrow.StructOf()))}, nil)
	dir := t.TempDir()
	_, _, err := idem.Create(t.Context(), dir, idem.Definition{Schema: empty}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "has no column that can be stored")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	f := fixtureOf(t, idem.Definition{Schema: nestedRows(pair, 1).Schema()})
	_, err = f.table.Append(t.Context(), readerOf(nestedRows(arrow.StructOf(), 1, `{}`, `null`)), idem.Append{Reason: "test"})
	require.NoError(t, err, "rows may lack all fields of a struct")
	require.Equal(t, map[string]string{"0": `{"B":null,"a":null}`, "1": "null"}, f.jsonRows())
}

func TestNestedColumnsAreRefusedAsKeysAndSums(t *testing.T) {
	f := fixtureOf(t, idem.Definition{Schema: nestedRows(pair, 1).Schema()})
	rows := func() array.RecordReader { return readerOf(nestedRows(pair, 1, `null`, `{"a":1,"B":"x"}`)) }
	_, err := f.table.Append(t.Context(), rows(), idem.Append{Reason: "test"})
	require.NoError(t, err)
	for what, call := range map[string]func() error{
		"a key of a merge": func() error {
			_, err := f.table.Merge(t.Context(), rows(), idem.Merge{On: []string{"c"}, Unguarded: true})
			return err
		},
		"an order of a merge": func() error {
			_, err := f.table.Merge(t.Context(), rows(), idem.Merge{On: []string{"id"}, Newer: []string{"c"}})
			return err
		},
		"a key of a fingerprint": func() error {
			_, err := f.table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"c"}})
			return err
		},
		"a sum": func() error {
			_, err := f.table.Fingerprint(t.Context(), idem.Fingerprint{Sums: []string{"c"}})
			return err
		},
		"a key of duplicates": func() error {
			_, err := f.table.Duplicates(t.Context(), idem.Duplicates{On: []string{"c"}})
			return err
		},
		"a key of a dedupe": func() error {
			_, _, err := idem.DedupeRows(t.Context(), rows(), idem.Dedupe{On: []string{"c"}})
			return err
		},
		"a partition column": func() error {
			_, _, err := idem.Create(t.Context(), t.TempDir(), idem.Definition{Schema: nestedRows(pair, 1).Schema(), PartitionBy: []string{"c"}}, idem.Options{})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			err := call()
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, "c")
		})
	}
}

// Rows that differ in a nested column alone are different rows; those that do not are one.
func TestDedupeOfNestedColumns(t *testing.T) {
	dt := arrow.ListOf(arrow.StructOf(maybe("m", arrow.MapOf(text, longs)), maybe("x", longs)))
	there, back := `[{"m":[{"key":"a","value":1},{"key":"b","value":2}],"x":1}]`, `[{"m":[{"key":"b","value":2},{"key":"a","value":1}],"x":1}]`
	rows := func(values ...string) array.RecordReader {
		var batches []arrow.RecordBatch
		for _, v := range values {
			batches = append(batches, nestedRows(dt, 1, v)) // all have the id 0
		}
		return readerOf(batches...)
	}
	for _, budget := range []int64{0, 1} {
		o := idem.Dedupe{On: []string{"id"}, Newer: []string{"seq"}, Options: idem.Options{MemoryBytes: budget, TempDir: t.TempDir()}}
		out, stats, err := idem.DedupeRows(t.Context(), rows(there, back, there), o)
		require.NoError(t, err)
		require.EqualValues(t, 1, stats.Kept)
		require.EqualValues(t, 2, stats.Identical, "the order of a map does not count")
		require.True(t, out.Next())
		require.Equal(t, there, compacted(t, jsonCell(t, out.RecordBatch().Column(2), 0)))
		out.Release()
		_, _, err = idem.DedupeRows(t.Context(), rows(there, `[{"m":null,"x":1}]`), o)
		require.ErrorIs(t, err, idem.ErrInput, "a tie that differs below a list")
	}
}

func compacted(t *testing.T, text string) string {
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

// RunTwice names the leaf of a struct that differs, not the struct.
func TestRunTwiceNamesFieldsOfStructs(t *testing.T) {
	dt := arrow.StructOf(maybe("n", longs), maybe("meta", arrow.StructOf(maybe("loaded", arrow.FixedWidthTypes.Timestamp_us), maybe("by", text))))
	for _, c := range []struct {
		why   string
		value func(run int) string
		want  []string
	}{
		{"a clock value", func(int) string {
			return fmt.Sprintf(`{"n":1,"meta":{"loaded":%q,"by":"x"}}`, time.Now().UTC().Format("2006-01-02 15:04:05.000000Z"))
		}, []string{"columns: c.meta.loaded", "~ id=0: c.meta.loaded=", "cause: a clock value in column c.meta.loaded"}},
		{"another value", func(run int) string { return fmt.Sprintf(`{"n":%d,"meta":null}`, run) },
			[]string{"columns: c.n", "~ id=0: c.n=1 → 2", "column c.n differs from run to run"}},
		{"NULL, then a struct of NULLs", func(run int) string {
			return []string{`{"n":7,"meta":null}`, `{"n":7,"meta":{"loaded":null,"by":null}}`}[run-1]
		},
			[]string{"columns: c.meta", `~ id=0: c.meta=NULL → "{…}"`}},
		{"the same again", func(int) string { return `{"n":1,"meta":{"loaded":null,"by":"x"}}` }, []string{"diff: 0 rows"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := fixtureOf(t, idem.Definition{Schema: nestedRows(dt, 1).Schema()})
			run := 0
			d, err := idem.RunTwice(t.Context(), f.table, func(ctx context.Context, table *idem.Table) error {
				run++
				_, err := table.ReplaceAll(ctx, readerOf(nestedRows(dt, 1, c.value(run), `null`)), idem.ReplaceAll{})
				return err
			})
			require.NoError(t, err)
			for _, want := range c.want {
				require.Contains(t, d.String(), want)
			}
		})
	}
	t.Run("a job that adds a column", func(t *testing.T) {
		f := begun(t)
		d, err := idem.RunTwice(t.Context(), f.table, func(ctx context.Context, table *idem.Table) error {
			_, err := table.ReplaceAll(ctx, brought(`{"day":"d1","id":1,"seq":1,"v":"a","extra":1}`), idem.ReplaceAll{Evolve: true})
			return err
		})
		require.NoError(t, err)
		require.Contains(t, d.String(), "diff: 0 rows")
	})
}
