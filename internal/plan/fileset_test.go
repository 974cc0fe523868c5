package plan_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/rows"
)

func nullable(name string, t delta.Type) delta.Field {
	return delta.Field{Name: name, Type: t, Nullable: true}
}

// snapshot is version 0 of an empty table.
func snapshot(t testing.TB, fields []delta.Field, partitionBy []string, configuration map[string]string) *delta.Snapshot {
	t.Helper()
	return snapshotWith(t, &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7,
		ReaderFeatures: []string{"timestampNtz"}, WriterFeatures: []string{"timestampNtz", "invariants", "checkConstraints"}},
		fields, partitionBy, configuration)
}

func snapshotWith(t testing.TB, p *delta.Protocol, fields []delta.Field, partitionBy []string, configuration map[string]string) *delta.Snapshot {
	t.Helper()
	r := delta.NewReplay("mem:///")
	require.NoError(t, r.Commit(0, []delta.Action{
		{Protocol: p},
		{Metadata: &delta.Metadata{ID: "t", Provider: "parquet", SchemaString: (&delta.Struct{Fields: fields}).JSON(),
			PartitionColumns: partitionBy, Configuration: configuration}},
	}))
	s, err := r.Snapshot(0)
	require.NoError(t, err)
	return s
}

func newEnv(st store.Store, mem memory.Allocator) *plan.Env {
	n := 0
	return &plan.Env{
		Store: st, Allocator: mem, Parallelism: 1,
		Now: func() time.Time { return time.UnixMilli(1_700_000_000_123) },
		NewID: func() string {
			n++
			return fmt.Sprintf("%08d-0000-0000-0000-000000000000", n)
		},
	}
}

func fromRows(t testing.TB, mem memory.Allocator, schema *arrow.Schema, text string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(text))
	require.NoError(t, err)
	return batch
}

// textRows is a batch as one JSON text a row.
func textRows(t testing.TB, batch arrow.RecordBatch) []string {
	t.Helper()
	text, err := batch.MarshalJSON()
	require.NoError(t, err)
	var list []json.RawMessage
	require.NoError(t, json.Unmarshal(text, &list))
	out := make([]string, len(list))
	for i, raw := range list {
		out[i] = string(raw)
	}
	return out
}

// check reads every file back and holds what its add says against the rows in it.
func check(t testing.TB, env *plan.Env, snap *delta.Snapshot, adds []*delta.Add) []string {
	t.Helper()
	var all []string
	for _, add := range adds {
		key, err := delta.ResolvePath("mem:///", add.Path)
		require.NoError(t, err)
		require.Equal(t, key, add.Key)
		info, err := env.Store.Head(t.Context(), add.Key)
		require.NoError(t, err)
		require.Equal(t, info.Size, add.Size)
		require.True(t, add.DataChange)
		require.Equal(t, int64(1_700_000_000_123), add.ModificationTime)

		var n int64
		var sum rows.Digest
		for batch, err := range scan.File(t.Context(), scan.Table{Store: env.Store, Snapshot: snap, Allocator: env.Allocator, Parallelism: 1}, add, nil) {
			require.NoError(t, err)
			d, err := rows.DigestRows(batch, nil)
			require.NoError(t, err)
			sum = sum.Add(d)
			n += batch.NumRows()
			all = append(all, textRows(t, batch)...)
		}
		taggedRows, tagged, ok := plan.FileDigest(add)
		require.True(t, ok)
		require.Equal(t, n, taggedRows)
		require.Equal(t, sum, tagged)
		stats, ok := delta.ParseStats(add.Stats)
		require.True(t, ok)
		require.Equal(t, n, *stats.NumRecords)
		require.Positive(t, n, "no file without rows")
	}
	return all
}

var everyType = []delta.Field{
	nullable("id", delta.Long), nullable("s", delta.String), nullable("l", delta.Long), nullable("i", delta.Integer),
	nullable("h", delta.Short), nullable("b", delta.Byte), nullable("f", delta.Float), nullable("d", delta.Double),
	nullable("t", delta.Boolean), nullable("x", delta.Binary), nullable("day", delta.Date), nullable("at", delta.Timestamp),
	nullable("ntz", delta.TimestampNTZ), nullable("dec", delta.Decimal{Precision: 38, Scale: 10}),
}

// one row of every type, and its neighbour; the id is put in.
const (
	someRow = `{"id": %d, "s": "a/b=c %%é", "l": -9223372036854775808, "i": -1, "h": 2, "b": -3, "f": 0.5, "d": -1e300, "t": true, "x": "Li8=",
		"day": "0001-01-01", "at": "2013-01-02 03:04:05.678901Z", "ntz": "9999-12-31 23:59:59.999999", "dec": "-1234567890123456789012345678.0000000001"}`
	nullRow = `{"id": %d}`
)

func TestFileSetKeepsEveryType(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		for _, parallel := range []int{1, 4} {
			t.Run(fmt.Sprintf("partitioned=%v/parallel=%d", partitioned, parallel), func(t *testing.T) {
				mem := checked(t)
				var by []string
				if partitioned {
					for _, f := range everyType[1:] {
						by = append(by, f.Name)
					}
				}
				snap := snapshot(t, everyType, by, nil)
				env := newEnv(store.NewMem(), mem)
				env.Parallelism = parallel
				var list []string
				for i := range 100 {
					list = append(list, fmt.Sprintf([]string{someRow, nullRow}[i%2], i))
				}
				batch := fromRows(t, mem, snap.ArrowSchema(), "["+strings.Join(list, ",")+"]")
				defer batch.Release()
				want := textRows(t, batch)
				sum, err := rows.DigestRows(batch, nil)
				require.NoError(t, err)

				set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
				require.NoError(t, err)
				require.NoError(t, set.Write(batch))
				adds, err := set.Finish()
				require.NoError(t, err)
				require.Len(t, adds, map[bool]int{false: 1, true: 2}[partitioned])
				require.Equal(t, int64(100), set.Rows())
				require.Equal(t, sum, set.Digest())
				require.ElementsMatch(t, want, check(t, env, snap, adds))
				for _, add := range adds {
					require.Len(t, add.PartitionValues, len(by))
					require.Regexp(t, `part-0000\d-[0-9-]{36}\.c000\.snappy\.parquet$`, add.Key)
				}
			})
		}
	}
}

func TestFileSetPartitionValues(t *testing.T) {
	mem := checked(t)
	snap := snapshot(t, []delta.Field{nullable("id", delta.Long), nullable("Day", delta.Date), nullable("r", delta.Double)}, []string{"Day", "r"}, nil)
	env := newEnv(store.NewMem(), mem)
	set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
	require.NoError(t, err)
	b := array.NewRecordBuilder(mem, snap.ArrowSchema())
	defer b.Release()
	for i, r := range []float64{math.Copysign(0, -1), 0, math.NaN(), -math.NaN(), 1.5} {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Date32Builder).Append(arrow.Date32(15707))
		b.Field(2).(*array.Float64Builder).Append(r)
	}
	b.Field(0).(*array.Int64Builder).Append(9)
	b.Field(1).AppendNull()
	b.Field(2).AppendNull()
	batch := b.NewRecordBatch()
	defer batch.Release()
	require.NoError(t, set.Write(batch))
	require.NoError(t, set.Write(batch), "the partitions of an earlier batch are found again")
	adds, err := set.Finish()
	require.NoError(t, err)
	check(t, env, snap, adds)

	var got []string
	for _, add := range adds {
		dir, _, _ := strings.Cut(add.Key, "part-")
		n, _, _ := plan.FileDigest(add)
		got = append(got, fmt.Sprintf("%s %d", dir, n))
		if add.PartitionValues["Day"] != nil {
			require.Equal(t, "2013-01-02", *add.PartitionValues["Day"])
		}
	}
	require.Equal(t, []string{
		"Day=2013-01-02/r=0.0/ 4", // -0.0 is the same value
		"Day=2013-01-02/r=NaN/ 4",
		"Day=2013-01-02/r=1.5/ 2",
		"Day=__HIVE_DEFAULT_PARTITION__/r=__HIVE_DEFAULT_PARTITION__/ 2",
	}, got)
}

func TestFileSetRefusesPartitionValueWithoutText(t *testing.T) {
	mem := checked(t)
	snap := snapshot(t, []delta.Field{nullable("id", delta.Long), nullable("x", delta.Binary)}, []string{"x"}, nil)
	set, err := plan.NewFileSet(t.Context(), newEnv(store.NewMem(), mem), snap, plan.NewRows)
	require.NoError(t, err)
	batch := fromRows(t, mem, snap.ArrowSchema(), `[{"id": 1, "x": "/w=="}]`)
	defer batch.Release()
	err = set.Write(batch)
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, `"x"`)
}

// numbers makes a batch of ids, one partition p in parts, and a text that does not compress.
func numbers(mem memory.Allocator, schema *arrow.Schema, first, n, parts int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int32Builder).Append(int32(i % parts))
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("%x", uint64(i)*0x9e3779b97f4a7c15))
	}
	return b.NewRecordBatch()
}

var numberFields = []delta.Field{nullable("id", delta.Long), nullable("p", delta.Integer), nullable("text", delta.String)}

func TestFileSetClosesFilesAtTheTarget(t *testing.T) {
	const total = 20_000
	for _, c := range []struct {
		why           string
		option        int64
		property      string
		least, atMost int
	}{
		{"one file below the target", 1 << 30, "", 1, 1},
		{"several above it", 64 << 10, "", 4, 24},
		{"the table's property", 0, "64kb", 4, 24},
		{"the caller's wish goes before the table's", 1 << 30, "64kb", 1, 1},
		{"a property that cannot be read counts as absent", 0, "much", 1, 1},
		{"rows larger than the target make files of their own", 1, "", total / 2, total},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := checked(t)
			configuration := map[string]string{}
			if c.property != "" {
				configuration["delta.targetFileSize"] = c.property
			}
			n := total
			if c.option == 1 {
				n, c.least, c.atMost = 50, 50, 50
			}
			snap := snapshot(t, numberFields, nil, configuration)
			env := newEnv(store.NewMem(), mem)
			env.TargetFileBytes = c.option
			set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
			require.NoError(t, err)
			batch := numbers(mem, snap.ArrowSchema(), 0, n, 3)
			defer batch.Release()
			require.NoError(t, set.Write(batch))
			adds, err := set.Finish()
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(adds), c.least)
			require.LessOrEqual(t, len(adds), c.atMost)
			require.Equal(t, textRows(t, batch), check(t, env, snap, adds), "rows stay in order")

			next := 0.0
			for _, add := range adds {
				var bounds struct{ MinValues, MaxValues map[string]any }
				require.NoError(t, json.Unmarshal([]byte(add.Stats), &bounds))
				require.Equal(t, next, bounds.MinValues["id"])
				next = bounds.MaxValues["id"].(float64) + 1
			}
			require.Equal(t, float64(n), next)
		})
	}
}

// However small the budget, every row is written once, and what is held stays near the budget.
func TestFileSetWithinItsBudget(t *testing.T) {
	for _, budget := range []int64{1, 64 << 10, 4 << 20} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			mem := checked(t)
			snap := snapshot(t, numberFields, []string{"p"}, nil)
			env := newEnv(store.NewMem(), mem)
			env.MemoryBytes = budget
			set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
			require.NoError(t, err)
			var want []string
			for i := range 5 {
				batch := numbers(mem, snap.ArrowSchema(), i*300, 300, 60)
				want = append(want, textRows(t, batch)...)
				require.NoError(t, set.Write(batch))
				batch.Release()
				require.LessOrEqual(t, mem.CurrentAlloc(), int(budget)+256<<10)
			}
			adds, err := set.Finish()
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(adds), 60)
			require.ElementsMatch(t, want, check(t, env, snap, adds))
			if budget >= 4<<20 {
				require.Len(t, adds, 60, "one file a partition while they fit")
			}
		})
	}
}

func TestFileSetParallelEqualsSequential(t *testing.T) {
	var results [][]*delta.Add
	for _, parallel := range []int{1, 4} {
		mem := checked(t)
		snap := snapshot(t, numberFields, []string{"p"}, nil)
		env := newEnv(store.NewMem(), mem)
		env.Parallelism, env.TargetFileBytes = parallel, 16<<10
		set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
		require.NoError(t, err)
		for i := range 10 {
			batch := numbers(mem, snap.ArrowSchema(), i*1000, 1000, 3)
			require.NoError(t, set.Write(batch))
			batch.Release()
		}
		adds, err := set.Finish()
		require.NoError(t, err)
		require.Greater(t, len(adds), 6)
		check(t, env, snap, adds)
		results = append(results, adds)
	}
	require.Equal(t, results[0], results[1])
}

func keysOf(t testing.TB, st store.Store) []string {
	var out []string
	for info, err := range st.List(t.Context(), "", "") {
		require.NoError(t, err)
		out = append(out, info.Key)
	}
	return out
}

// Whatever operation fails, the error names a file, and no file is left behind.
func TestFileSetLeavesNothingAfterAFailure(t *testing.T) {
	snap := snapshot(t, numberFields, []string{"p"}, nil)
	for _, op := range []storetest.Op{storetest.OpCreate, storetest.OpWrite, storetest.OpClose} {
		for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.DiskFull} {
			for nth := 1; nth <= 8; nth++ {
				t.Run(fmt.Sprintf("%s/%s/%d", op, kind, nth), func(t *testing.T) {
					inner := store.NewMem()
					faulty := storetest.NewFaulty(inner, storetest.Rule{Op: op, Nth: nth, Fault: storetest.Fault{Kind: kind}})
					env := newEnv(faulty, memory.NewGoAllocator())
					env.TargetFileBytes = 4 << 10
					set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
					require.NoError(t, err)
					batch := numbers(env.Allocator, snap.ArrowSchema(), 0, 2000, 2)
					defer batch.Release()
					err = set.Write(batch)
					if err == nil {
						_, err = set.Finish()
					}
					require.ErrorIs(t, err, storetest.ErrInjected)
					require.ErrorContains(t, err, "write p=")
					require.Empty(t, keysOf(t, inner))
					require.Equal(t, err, set.Write(batch), "a set that failed stays failed")
					set.Abort()
				})
			}
		}
	}
}

func TestFileSetAbort(t *testing.T) {
	mem := memory.NewGoAllocator()
	snap := snapshot(t, numberFields, []string{"p"}, nil)
	for _, finish := range []bool{false, true} {
		env := newEnv(store.NewMem(), mem)
		env.TargetFileBytes = 4 << 10
		set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
		require.NoError(t, err)
		batch := numbers(mem, snap.ArrowSchema(), 0, 2000, 2)
		require.NoError(t, set.Write(batch))
		require.NotEmpty(t, keysOf(t, env.Store), "files were finished on the way")
		if finish {
			_, err = set.Finish()
			require.NoError(t, err)
		}
		set.Abort()
		require.Empty(t, keysOf(t, env.Store))
		require.Error(t, set.Write(batch))
		_, err = set.Finish()
		require.Error(t, err)
	}
}

func TestFileSetStopsWithItsContext(t *testing.T) {
	mem := checked(t)
	snap := snapshot(t, numberFields, nil, nil)
	env := newEnv(store.NewMem(), mem)
	ctx, cancel := context.WithCancel(t.Context())
	set, err := plan.NewFileSet(ctx, env, snap, plan.NewRows)
	require.NoError(t, err)
	batch := numbers(mem, snap.ArrowSchema(), 0, 10, 1)
	defer batch.Release()
	require.NoError(t, set.Write(batch))
	cancel()
	_, err = set.Finish()
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, keysOf(t, env.Store))
}

func TestFileSetOfNothing(t *testing.T) {
	snap := snapshot(t, numberFields, nil, nil)
	set, err := plan.NewFileSet(t.Context(), newEnv(store.NewMem(), checked(t)), snap, plan.NewRows)
	require.NoError(t, err)
	adds, err := set.Finish()
	require.NoError(t, err)
	require.Empty(t, adds)
	require.Zero(t, set.Rows())
	require.Equal(t, rows.Digest{}, set.Digest())
}

func TestFileSetCompression(t *testing.T) {
	mem := checked(t)
	for codec, ext := range map[string]string{"ZSTD": ".zstd.parquet", "uncompressed": ".parquet", "gzip": ".gz.parquet"} {
		snap := snapshot(t, numberFields, nil, map[string]string{"delta.parquet.compression.codec": codec})
		env := newEnv(store.NewMem(), mem)
		set, err := plan.NewFileSet(t.Context(), env, snap, plan.NewRows)
		require.NoError(t, err)
		batch := numbers(mem, snap.ArrowSchema(), 0, 10, 1)
		require.NoError(t, set.Write(batch))
		batch.Release()
		adds, err := set.Finish()
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(adds[0].Key, ".c000"+ext), adds[0].Key)
		check(t, env, snap, adds)
	}
	snap := snapshot(t, numberFields, nil, map[string]string{"delta.parquet.compression.codec": "lzo"})
	_, err := plan.NewFileSet(t.Context(), newEnv(store.NewMem(), mem), snap, plan.NewRows)
	require.ErrorIs(t, err, delta.ErrUnsupported)
	require.ErrorContains(t, err, "lzo")
}

func TestFileSetFormatVersion(t *testing.T) {
	mem := checked(t)
	for version, ok := range map[string]bool{"1.0.0": true, "2.6.0": true, "3.0.0": false, "two": false} {
		snap := snapshot(t, numberFields, nil, map[string]string{"delta.parquet.format.version": version})
		_, err := plan.NewFileSet(t.Context(), newEnv(store.NewMem(), mem), snap, plan.NewRows)
		if ok {
			require.NoError(t, err, version)
			continue
		}
		require.ErrorIs(t, err, delta.ErrUnsupported)
		require.ErrorContains(t, err, version)
	}
}

func TestFileSetRefusesOtherSchemas(t *testing.T) {
	mem := checked(t)
	snap := snapshot(t, numberFields, nil, nil)
	for _, schema := range []*arrow.Schema{
		column("id", arrow.PrimitiveTypes.Int64),
		arrow.NewSchema(append(slices.Clone(snap.ArrowSchema().Fields()[:2]), arrow.Field{Name: "text", Type: arrow.PrimitiveTypes.Int64}), nil),
	} {
		set, err := plan.NewFileSet(t.Context(), newEnv(store.NewMem(), mem), snap, plan.NewRows)
		require.NoError(t, err)
		batch := fromRows(t, mem, schema, `[{"id": 1}]`)
		require.Error(t, set.Write(batch))
		batch.Release()
	}
}

func TestFileDigest(t *testing.T) {
	d := rows.Digest{Hi: 1, Lo: 2}
	offset := int32(4)
	vector := &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Offset: &offset, SizeInBytes: 40, Cardinality: 6}
	tag := func(text string) map[string]string { return map[string]string{plan.TagName: text} }
	n, got, ok := plan.FileDigest(&delta.Add{Tags: tag(plan.FormatFingerprint(7, d, nil))})
	require.True(t, ok)
	require.Equal(t, int64(7), n)
	require.Equal(t, d, got)
	_, _, ok = plan.FileDigest(&delta.Add{Tags: tag(plan.FormatFingerprint(7, d, vector)), DeletionVector: vector})
	require.True(t, ok)
	require.Equal(t, "idem1:7:00000000000000010000000000000002:uab^-aqEH.-t@S}K{vb[*k^@4", plan.FormatFingerprint(7, d, vector))

	for why, add := range map[string]*delta.Add{
		"no tag":                              {},
		"a vector was attached after the tag": {Tags: tag(plan.FormatFingerprint(7, d, nil)), DeletionVector: vector},
		"the tag's vector was taken away":     {Tags: tag(plan.FormatFingerprint(7, d, vector))},
		"a later format":                      {Tags: tag(strings.Replace(plan.FormatFingerprint(7, d, nil), "idem1", "idem2", 1))},
		"rows that are no number":             {Tags: tag("idem1:x:00000000000000010000000000000002:")},
		"negative rows":                       {Tags: tag("idem1:-1:00000000000000010000000000000002:")},
		"a digest that is none":               {Tags: tag("idem1:1:zz:")},
		"too few parts":                       {Tags: tag("idem1:1:00000000000000010000000000000002")},
	} {
		_, _, ok := plan.FileDigest(add)
		require.False(t, ok, why)
	}
}

// countedCodec notes how many columns come to the encoder that have not counted their NULLs.
type countedCodec struct {
	parquetio.Codec
	writes, uncounted atomic.Int64
}

func (c *countedCodec) NewWriter(w io.Writer, schema *arrow.Schema, o parquetio.WriteOptions) (parquetio.Writer, error) {
	inner, err := c.Codec.NewWriter(w, schema, o)
	return &countedBatches{Writer: inner, codec: c}, err
}

type countedBatches struct {
	parquetio.Writer
	codec *countedCodec
}

func (w *countedBatches) Write(batch arrow.RecordBatch) error {
	w.codec.writes.Add(1)
	for _, c := range batch.Columns() {
		if c.Data().NullN() < 0 {
			w.codec.uncounted.Add(1)
		}
	}
	return w.Writer.Write(batch)
}

// TestFilesAreEncodedWhileTheirRowsAreDescribed: the encoder and the statistics look at the same arrays,
// and an array of a slice counts its NULLs when it is first asked, which is a write. So that is done
// before.
func TestFilesAreEncodedWhileTheirRowsAreDescribed(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inner := &delta.Struct{Fields: []delta.Field{nullable("x", delta.Long), nullable("y", delta.String)}}
	snap := snapshot(t, []delta.Field{nullable("id", delta.Long), nullable("s", inner), nullable("l", &delta.Array{Element: inner, ContainsNull: true})}, nil, nil)
	env := newEnv(store.NewMem(), mem)
	env.Parallelism, env.TargetFileBytes = 2, 4096 // rows are not set aside
	codec := &countedCodec{Codec: parquetio.From(t.Context())}
	set, err := plan.NewFileSet(parquetio.WithCodec(t.Context(), codec), env, snap, plan.NewRows)
	require.NoError(t, err)
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf(`{"id": %d, "s": {"x": null, "y": "y%d"}, "l": [{"x": %d, "y": null}, null]}`, i, i, i), `{"id": null, "s": null, "l": null}`)
	}
	batch := fromRows(t, mem, set.Schema(), "["+strings.Join(lines, ",")+"]")
	defer batch.Release()
	for from := range int64(4) {
		part := batch.NewSlice(200*from+1, 200*from+200)
		require.NoError(t, set.Write(part))
		part.Release()
	}
	adds, err := set.Finish()
	require.NoError(t, err)
	require.Len(t, check(t, env, snap, adds), 796)
	require.Greater(t, codec.writes.Load(), int64(4))
	require.Zero(t, codec.uncounted.Load())
}
