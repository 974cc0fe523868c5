package maintain_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/maintain"
)

var (
	idAndV = columnsOf("id", arrow.PrimitiveTypes.Int64, "v", arrow.BinaryTypes.String)
	vThenX = columnsOf("v", arrow.BinaryTypes.String, "x", arrow.PrimitiveTypes.Int32)
)

func columnsOf(of ...any) *arrow.Schema {
	var fields []arrow.Field
	for i := 0; i < len(of); i += 2 {
		fields = append(fields, arrow.Field{Name: of[i].(string), Type: of[i+1].(arrow.DataType), Nullable: i > 0})
	}
	return arrow.NewSchema(fields, nil)
}

// parquetOf is a file of rows as JSON.
func parquetOf(t *testing.T, schema *arrow.Schema, rows string) []byte {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	batch, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(rows))
	require.NoError(t, err)
	defer batch.Release()
	var b bytes.Buffer
	w, err := parquetio.Parquet{}.NewWriter(&b, schema, parquetio.WriteOptions{Allocator: mem})
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	return b.Bytes()
}

func directory(t *testing.T, files map[string][]byte) *store.Mem {
	mem := store.NewMem()
	for key, data := range files {
		require.NoError(t, mem.PutIfAbsent(t.Context(), key, data))
	}
	return mem
}

// converted converts, checks the log and gives all rows, sorted.
func converted(t *testing.T, st store.Store, c maintain.Convert) (*idem.Table, []string) {
	table, res, err := maintain.ConvertParquetStore(t.Context(), st, c, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, table.Snapshot().NumFiles(), res.Files)
	found, err := logcheck.Check(t.Context(), st)
	require.NoError(t, err)
	require.Empty(t, found.Findings)
	return table, allRows(t, table)
}

func allRows(t *testing.T, table *idem.Table) []string {
	out := []string{}
	for b, err := range table.Scan(t.Context(), idem.Scan{}) {
		require.NoError(t, err)
		for i := range int(b.NumRows()) {
			var cells []string
			for c := range int(b.NumCols()) {
				cells = append(cells, b.Column(c).ValueStr(i))
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	slices.Sort(out)
	return out
}

func TestConvertMergesFilesAndPartitions(t *testing.T) {
	one, two := parquetOf(t, idAndV, `[{"id":1,"v":"a"},{"id":2}]`), parquetOf(t, vThenX, `[{"v":"b","x":7}]`)
	files := map[string][]byte{
		"day=2024-05-01/k=a%2Fb%2525/part-1.parquet":              one,
		"day=__HIVE_DEFAULT_PARTITION__/k=100%/part 2%41.parquet": two,
		"day=2024-05-02/k=/part-3.PARQUET":                        one,
		"day=2024-05-02/k=ü:=x/part-4.parquet":                    two,
		"_SUCCESS":                                                nil,
		"_temporary/0/day=2024-05-03/k=a/part-5.parquet":          one,
		"day=2024-05-01/k=c/_temporary/part-6.parquet":            one,
		"day=2024-05-01/k=c/.part-7.parquet.crc":                  nil,
		"day=2024-05-01/k=c/part-8.parquet._COPYING_":             one,
		"_metadata": nil,
		".staging/day=2024-05-01/k=a/part-9.parquet": one,
	}
	st := directory(t, files)
	table, rows := converted(t, st, maintain.Convert{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
	require.Equal(t, []string{
		"(null)|b|7|(null)|100%", "(null)|b|7|2024-05-02|ü:=x",
		"1|a|(null)|2024-05-01|a/b%25", "1|a|(null)|2024-05-02|(null)", "2|(null)|(null)|2024-05-01|a/b%25", "2|(null)|(null)|2024-05-02|(null)",
	}, rows)
	require.Equal(t, "struct<id:long,v:string,x:integer,day:date,k:string>", table.Snapshot().Schema().String())
	for f := range table.Snapshot().Files() {
		require.Contains(t, f.Stats, `"minValues"`)
	}
	again, res, err := maintain.ConvertParquetStore(t.Context(), st, maintain.Convert{}, idem.Options{})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	require.Zero(t, again.Version())
	deleted, err := table.Delete(t.Context(), idem.Delete{Where: "day = DATE '2024-05-01' AND id = 1"})
	require.NoError(t, err)
	require.Equal(t, idem.Committed, deleted.Outcome)
	for key, data := range files {
		got, err := st.Get(t.Context(), key, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got), "%s is as it was", key)
	}
}

// The footer has no bounds of a column in any of its row groups. The bounds of a table's file are those of its rows:
// nothing takes them from a footer, where what is missing could be taken for nothing.
func TestConvertTakesBoundsFromRows(t *testing.T) {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, idAndV, strings.NewReader(`[{"id":1,"v":""},{"id":2,"v":"b"}]`))
	require.NoError(t, err)
	var data bytes.Buffer
	w, err := parquetio.Parquet{}.NewWriter(&data, idAndV, parquetio.WriteOptions{RowGroupRows: 1})
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	footer, err := pqfile.NewParquetReader(bytes.NewReader(data.Bytes()))
	require.NoError(t, err)
	defer footer.Close()
	bounded := []bool{}
	for i := range footer.NumRowGroups() {
		chunk, err := footer.MetaData().RowGroup(i).ColumnChunk(1)
		require.NoError(t, err)
		set, err := chunk.StatsSet()
		require.NoError(t, err)
		bounded = append(bounded, set)
	}
	require.Equal(t, []bool{false, false}, bounded, "the file is as this test wants it")

	table, _ := converted(t, directory(t, map[string][]byte{"part-1.parquet": data.Bytes()}), maintain.Convert{})
	for f := range table.Snapshot().Files() {
		require.JSONEq(t, `{"numRecords":2,"minValues":{"id":1,"v":""},"maxValues":{"id":2,"v":"b"},"nullCount":{"id":0,"v":0}}`, f.Stats)
	}
	res, err := table.Delete(t.Context(), idem.Delete{Where: "v < 'a'"})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Deleted)
	require.Equal(t, []string{"2|b"}, allRows(t, table))
}

func TestConvertInfersPartitionTypesAsSpark(t *testing.T) {
	one := parquetOf(t, idAndV, `[{"id":1,"v":"a"}]`)
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{"1", "-2", "007"}, "integer"},
		{[]string{"1", "2147483648"}, "long"},
		{[]string{"1", "12345678901234567890"}, "decimal(20,0)"},
		{[]string{"9223372036854775807", "12345678901234567890"}, "decimal(20,0)"},
		{[]string{"2147483648", "9999999999999999999"}, "decimal(20,0)"},
		{[]string{"9999999999999999999", "1"}, "decimal(19,0)"},
		{[]string{"2147483648", "1"}, "long"},
		{[]string{"2024-02-29", "__HIVE_DEFAULT_PARTITION__"}, "date"},
		{[]string{"2023-02-29"}, "string"},
		{[]string{"2024-05-01", "2024-05-01 12%3A00%3A00"}, "timestamp"},
		{[]string{"1", "a"}, "string"},
		{[]string{"1", "2024-05-01"}, "string"},
		{[]string{"2147483648", "1.5"}, "string"},
		{[]string{"true"}, "string"},
		{[]string{"__HIVE_DEFAULT_PARTITION__"}, "string"},
		{[]string{"1.5", "2"}, ""},
		{[]string{"NaN"}, ""},
	} {
		t.Run(strings.Join(c.values, " "), func(t *testing.T) {
			files := map[string][]byte{}
			for _, v := range c.values {
				files["p="+v+"/a.parquet"] = one
			}
			st := directory(t, files)
			if c.want == "" {
				_, _, err := maintain.ConvertParquetStore(t.Context(), st, maintain.Convert{}, idem.Options{Parallelism: 1})
				require.ErrorIs(t, err, idem.ErrInput)
				require.ErrorContains(t, err, "PartitionBy")
				return
			}
			table, rows := converted(t, st, maintain.Convert{})
			s := table.Snapshot().Schema()
			require.Equal(t, c.want, s.Fields[s.Index("p")].Type.String())
			require.Len(t, rows, len(c.values))
		})
	}
}

func TestConvertTakesTypesThatAreGiven(t *testing.T) {
	st := directory(t, map[string][]byte{
		"P=01/a.parquet": parquetOf(t, idAndV, `[{"id":1,"v":"a"}]`),
		"P=1/b.parquet":  parquetOf(t, columnsOf("id", arrow.PrimitiveTypes.Int64, "p", arrow.BinaryTypes.String), `[{"id":2,"p":"other"}]`),
	})
	_, _, err := maintain.ConvertParquetStore(t.Context(), st, maintain.Convert{PartitionBy: columnsOf("q", arrow.BinaryTypes.String)}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	_, _, err = maintain.ConvertParquetStore(t.Context(), st, maintain.Convert{PartitionBy: columnsOf("p", arrow.FixedWidthTypes.Date32)}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "P=01/a.parquet")
	_, rows := converted(t, st, maintain.Convert{PartitionBy: columnsOf("p", arrow.BinaryTypes.String), SkipStats: true})
	require.Equal(t, []string{"1|a|01", "2|(null)|1"}, rows)
	_, _, err = maintain.ConvertParquetStore(t.Context(), st, maintain.Convert{PartitionBy: columnsOf("x", arrow.BinaryTypes.String)}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrConflict)
}

func TestConvertRefuses(t *testing.T) {
	one := parquetOf(t, idAndV, `[{"id":1,"v":"a"}]`)
	narrow := parquetOf(t, columnsOf("id", arrow.PrimitiveTypes.Int32), `[{"id":1}]`)
	for _, c := range []struct {
		why     string
		files   map[string][]byte
		request maintain.Convert
		want    error
		says    []string
	}{
		{"no file", map[string][]byte{"_SUCCESS": nil}, maintain.Convert{}, idem.ErrInput, []string{"no Parquet file"}},
		{"a column of two types", map[string][]byte{"a.parquet": one, "b.parquet": narrow}, maintain.Convert{}, idem.ErrInput, []string{"a.parquet", "b.parquet", `"id"`, "long", "integer"}},
		{"names that differ in case", map[string][]byte{"a.parquet": one, "b.parquet": parquetOf(t, columnsOf("ID", arrow.PrimitiveTypes.Int64), `[{"ID":1}]`)}, maintain.Convert{}, idem.ErrInput, []string{"a.parquet", "b.parquet", "ID"}},
		{"another file", map[string][]byte{"a.parquet": one, "b.csv": one}, maintain.Convert{}, idem.ErrInput, []string{"b.csv"}},
		{"a directory of no partition", map[string][]byte{"a.parquet": one, "old/b.parquet": one}, maintain.Convert{}, idem.ErrInput, []string{"old"}},
		{"partitions of one file only", map[string][]byte{"a.parquet": one, "p=1/b.parquet": one}, maintain.Convert{}, idem.ErrInput, []string{"a.parquet", "p=1/b.parquet"}},
		{"partitions in another order", map[string][]byte{"p=1/q=1/a.parquet": one, "q=1/p=1/b.parquet": one}, maintain.Convert{}, idem.ErrInput, []string{"[p q]", "[q p]"}},
		{"a partition column twice", map[string][]byte{"p=1/P=1/a.parquet": one}, maintain.Convert{}, idem.ErrInput, []string{`"P"`}},
		{"no name", map[string][]byte{"=1/a.parquet": one}, maintain.Convert{}, idem.ErrInput, []string{"=1"}},
		{"bytes that are no text", map[string][]byte{"p=%ff/a.parquet": one}, maintain.Convert{}, idem.ErrInput, []string{"UTF-8"}},
		{"a damaged file", map[string][]byte{"a.parquet": one, "b.parquet": one[:len(one)-5]}, maintain.Convert{}, idem.ErrCorrupt, []string{"b.parquet"}},
		{"an empty file", map[string][]byte{"a.parquet": one, "b.parquet": {}}, maintain.Convert{}, idem.ErrCorrupt, []string{"b.parquet"}},
		{"a streaming sink", map[string][]byte{"a.parquet": one, "_spark_metadata/0": one}, maintain.Convert{}, idem.ErrUnsupported, []string{"_spark_metadata"}},
		{"an Iceberg table", map[string][]byte{"data/a.parquet": one, "metadata/v1.metadata.json": one}, maintain.Convert{}, idem.ErrUnsupported, []string{"Iceberg"}},
		{"a Hudi table", map[string][]byte{"a.parquet": one, ".hoodie/hoodie.properties": one}, maintain.Convert{}, idem.ErrUnsupported, []string{"Hudi"}},
		{"a Delta table below", map[string][]byte{"p=1/a.parquet": one, "p=1/_delta_log/00000000000000000000.json": one}, maintain.Convert{}, idem.ErrInput, []string{"p=1"}},
		{"column mapping", map[string][]byte{"a.parquet": one}, maintain.Convert{Properties: map[string]string{"delta.columnMapping.mode": "name"}}, idem.ErrInput, []string{"column mapping"}},
		{"a constraint", map[string][]byte{"a.parquet": one}, maintain.Convert{Properties: map[string]string{"delta.constraints.c": "id > 1"}}, idem.ErrInput, []string{"delta.constraints.c"}},
		{"an unknown property", map[string][]byte{"a.parquet": one}, maintain.Convert{Properties: map[string]string{"delta.nonsense": "1"}}, idem.ErrInput, []string{"delta.nonsense"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			st := directory(t, c.files)
			before := slices.Sorted(maps.Keys(c.files))
			_, _, err := maintain.ConvertParquetStore(t.Context(), st, c.request, idem.Options{Parallelism: 1})
			require.ErrorIs(t, err, c.want)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
			var after []string
			for info, err := range st.List(t.Context(), "", "") {
				require.NoError(t, err)
				after = append(after, info.Key)
			}
			require.Equal(t, before, after, "nothing was left behind")
		})
	}
}

func TestConvertOfATableThatIsThere(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	_, _, err := maintain.ConvertParquetStore(t.Context(), f.mem, maintain.Convert{}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrConflict)
}

func TestConvertAgainWithOtherProperties(t *testing.T) {
	mem := directory(t, map[string][]byte{"a.parquet": parquetOf(t, idAndV, `[{"id":1,"v":"a"}]`)})
	properties := map[string]string{"own": "1"}
	convert := func(c maintain.Convert) (*maintain.Converted, error) {
		_, res, err := maintain.ConvertParquetStore(t.Context(), mem, c, idem.Options{})
		return res, err
	}
	_, err := convert(maintain.Convert{Properties: properties, Name: "x"})
	require.NoError(t, err)
	for _, same := range []maintain.Convert{{}, {Properties: properties, Name: "x"}, {Properties: map[string]string{"delta.appendOnly": "false"}}, {Description: "y"}} {
		res, err := convert(same)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
	}
	for says, other := range map[string]maintain.Convert{
		"property delta.appendOnly is not set there, and true": {Properties: map[string]string{"delta.appendOnly": "true"}},
		"property own is 1 there, and 2":                       {Properties: map[string]string{"own": "2"}},
		`the name is "x" there, and "y"`:                       {Name: "y"},
	} {
		_, err := convert(other)
		require.ErrorIs(t, err, idem.ErrConflict)
		require.ErrorContains(t, err, says)
	}
}

func TestConvertByManyAtOnce(t *testing.T) {
	files := map[string][]byte{}
	for i := range 5 {
		files[fmt.Sprintf("p=%d/a.parquet", i)] = parquetOf(t, idAndV, `[{"id":1,"v":"a"}]`)
	}
	st := directory(t, files)
	outcomes := make([]idem.Outcome, 4)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			if _, res, err := maintain.ConvertParquetStore(t.Context(), st, maintain.Convert{}, idem.Options{}); err == nil {
				outcomes[i] = res.Outcome
			}
		})
	}
	all.Wait()
	n := map[idem.Outcome]int{}
	for _, o := range outcomes {
		n[o]++
	}
	require.Equal(t, map[idem.Outcome]int{idem.Committed: 1, idem.Unchanged: 3}, n)
	table, err := idem.OpenStore(t.Context(), st, idem.Options{})
	require.NoError(t, err)
	require.Zero(t, table.Version())
}

// faultOptions give up soon on a store that is gone for good.
func faultOptions() idem.Options {
	return idem.Options{Parallelism: 1, Clock: &clock{now: time.Unix(1_700_000_000, 0)}, ReadBackTimeout: time.Millisecond, CommitBudget: time.Second}
}

// sweep lets each operation of a call fail in each way, and calls again without faults.
func sweep(t *testing.T, call func(st *storetest.Faulty) error, fresh func() *store.Mem, check func(t *testing.T, mem *store.Mem)) {
	probe := storetest.NewFaulty(fresh())
	require.NoError(t, call(probe))
	n := probe.Calls()
	require.Positive(t, n)
	for i := range n {
		for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.LostAnswer, storetest.CrashBefore, storetest.CrashAfter} {
			mem := fresh()
			st := storetest.NewFaulty(mem)
			var seen atomic.Int64 // the probe of a store asks several times at once
			st.Before = func(storetest.Call) storetest.Fault {
				if seen.Add(1) == int64(i+1) {
					return storetest.Fault{Kind: kind}
				}
				return storetest.Fault{}
			}
			first := call(st)
			if first == nil {
				check(t, mem)
			}
			require.NoError(t, call(storetest.NewFaulty(mem)), "operation %d, kind %v, then again: %v", i, kind, first)
			check(t, mem)
		}
	}
}

func TestConvertSurvivesFaults(t *testing.T) {
	files := map[string][]byte{"p=1/a.parquet": parquetOf(t, idAndV, `[{"id":1,"v":"a"}]`), "p=2/b.parquet": parquetOf(t, idAndV, `[{"id":2,"v":"b"}]`)}
	sweep(t, func(st *storetest.Faulty) error {
		_, _, err := maintain.ConvertParquetStore(t.Context(), st, maintain.Convert{}, faultOptions())
		return err
	}, func() *store.Mem { return directory(t, files) }, func(t *testing.T, mem *store.Mem) {
		table, err := idem.OpenStore(t.Context(), mem, idem.Options{})
		require.NoError(t, err)
		require.Zero(t, table.Version())
		require.Len(t, allRows(t, table), 2)
	})
}

func TestConvertFollowsNoLinkOut(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	one := parquetOf(t, idAndV, `[{"id":1,"v":"a"}]`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.parquet"), one, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(other, "b.parquet"), one, 0o644))
	require.NoError(t, os.Symlink(filepath.Join(other, "b.parquet"), filepath.Join(dir, "b.parquet")))
	_, _, err := maintain.ConvertParquet(t.Context(), dir, maintain.Convert{}, idem.Options{})
	require.Error(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "b.parquet")))
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "p=1")))
	_, _, err = maintain.ConvertParquet(t.Context(), dir, maintain.Convert{}, idem.Options{})
	require.Error(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "p=1")))
	_, res, err := maintain.ConvertParquet(t.Context(), dir, maintain.Convert{}, idem.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Rows)
}
