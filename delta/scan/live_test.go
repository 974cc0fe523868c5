package scan_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/vectors"
)

// column is a column of a hand-made table: its name in the schema, in files, and its id.
type column struct {
	name, physical string
	id             int
	typ            string // JSON
}

func (c column) json() string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{"delta.columnMapping.id":%d,"delta.columnMapping.physicalName":%q}}`,
		c.name, c.typ, c.id, c.physical)
}

func schemaJSON(columns ...column) string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		fields[i] = c.json()
	}
	return `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`
}

// bench makes hand-made tables in a store.
type bench struct {
	t   require.TestingT
	ctx context.Context
	st  store.Store
	mem *memory.CheckedAllocator
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, ctx: t.Context(), st: store.NewMem(), mem: memory.NewCheckedAllocator(memory.NewGoAllocator())}
}

// file writes a data file in row groups of five rows. Its columns are called as the schema says.
func (b *bench) file(key string, schema *arrow.Schema, rows string) *delta.Add {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	require.NoError(b.t, err)
	w, err := b.st.Create(b.ctx, key)
	require.NoError(b.t, err)
	out, err := parquetio.Parquet{}.NewWriter(w, schema, parquetio.WriteOptions{RowGroupRows: 5})
	require.NoError(b.t, err)
	for at := int64(0); at < batch.NumRows(); at += 5 {
		require.NoError(b.t, out.Write(batch.NewSlice(at, min(at+5, batch.NumRows()))))
	}
	require.NoError(b.t, out.Close())
	require.NoError(b.t, w.Close())
	info, err := b.st.Head(b.ctx, key)
	require.NoError(b.t, err)
	return &delta.Add{Path: key, PartitionValues: map[string]*string{}, Size: info.Size, DataChange: true}
}

// vector writes a vector in a file of its own.
func (b *bench) vector(n int, rows ...int64) *delta.DeletionVector {
	w := vectors.New(b.ctx, b.st, func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) })
	v := delta.NewVector()
	v.Add(rows...)
	dv, err := w.Put(v)
	require.NoError(b.t, err)
	require.NoError(b.t, w.Close())
	return dv
}

var allFeatures = []string{"deletionVectors", "columnMapping"}

// table is a table of some files.
func (b *bench) table(features []string, schema string, by []string, properties map[string]string, files ...*delta.Add) scan.Table {
	p := delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: features, WriterFeatures: append(slices.Clone(features), "rowTracking", "domainMetadata")}
	actions := []delta.Action{{Protocol: &p}, {Metadata: &delta.Metadata{ID: "0", Provider: "parquet", SchemaString: schema, PartitionColumns: by, Configuration: properties}}}
	for _, f := range files {
		actions = append(actions, delta.Action{Add: f})
	}
	r := delta.NewReplay(b.st.URL())
	require.NoError(b.t, r.Commit(0, actions))
	snap, err := r.Snapshot(0)
	require.NoError(b.t, err)
	require.NoError(b.t, delta.GateRead(snap.Protocol(), snap.Metadata(), snap.Schema()))
	return scan.Table{Store: b.st, Snapshot: snap, Allocator: b.mem, Parallelism: 1}
}

// lines are the rows as JSON, and the error that ended them.
func lines(batches scan.Batches) (out []string, err error) {
	for batch, err := range batches {
		if err != nil {
			return out, err
		}
		for i := range int(batch.NumRows()) {
			cells := make([]string, batch.NumCols())
			for c := range cells {
				cells[c] = batch.Column(c).ValueStr(i)
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	return out, nil
}

func arrowColumns(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func int64Column(name string, id ...int) arrow.Field {
	f := arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	if len(id) > 0 {
		f.Metadata = arrow.NewMetadata([]string{delta.FieldIDKey}, []string{fmt.Sprint(id[0])})
	}
	return f
}

// numbered are n rows of {"name": first, first+1, …}.
func numbered(name string, first, n int64) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{%q:%d}`, name, first+int64(i))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

func expression(text string) expr.Expr {
	e, err := expr.Parse(text)
	if err != nil {
		panic(err)
	}
	return e
}

var oneColumn = schemaJSON(column{"n", "p-n", 1, `"long"`})

// TestLiveRows: files with vectors of every shape against a list, with conditions, projections and
// row ids, on one goroutine and on several.
func TestLiveRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &bench{t: t, ctx: context.Background(), st: store.NewMem(), mem: memory.NewCheckedAllocator(memory.NewGoAllocator())}
		mode := rapid.SampledFrom([]string{"none", "name", "id"}).Draw(t, "mode")
		tracked := rapid.Bool().Draw(t, "tracked")
		physical := "n"
		if mode != "none" {
			physical = "p-n"
		}
		var files []*delta.Add
		var want, below []string
		next := int64(0)
		for f := range rapid.IntRange(0, 4).Draw(t, "files") {
			n := rapid.Int64Range(0, 23).Draw(t, "rows")
			add := b.file(fmt.Sprintf("f%d.parquet", f), arrowColumns(int64Column(physical, 1)), numbered(physical, next, n))
			base, version := rapid.Int64Range(0, 1000).Draw(t, "base"), rapid.Int64Range(0, 9).Draw(t, "version")
			add.BaseRowID, add.CommitVersion = &base, &version
			deleted := rapid.SliceOfNDistinct(rapid.Int64Range(0, max(n-1, 0)), 0, int(n), rapid.ID).Draw(t, "deleted")
			if len(deleted) > 0 {
				add.DeletionVector = b.vector(f, deleted...)
			}
			for i := range n {
				if slices.Contains(deleted, i) {
					continue
				}
				line := fmt.Sprint(next + i)
				if tracked {
					line += fmt.Sprintf("|%d|%d", base+i, version)
				}
				want = append(want, line)
				if next+i < 20 {
					below = append(below, line)
				}
			}
			next += n
			files = append(files, add)
		}
		properties := map[string]string{"delta.columnMapping.mode": mode, "delta.enableRowTracking": fmt.Sprint(tracked)}
		table := b.table(allFeatures, oneColumn, nil, properties, files...)
		table.Parallelism = rapid.IntRange(1, 3).Draw(t, "parallelism")

		got, err := lines(scan.Rows(b.ctx, table, scan.Request{RowIDs: tracked}))
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = lines(scan.Rows(b.ctx, table, scan.Request{RowIDs: tracked, Where: expression("n < 20")}))
		require.NoError(t, err)
		require.Equal(t, below, got)
		count := 0
		for batch, err := range scan.Rows(b.ctx, table, scan.Request{Columns: []string{}}) {
			require.NoError(t, err)
			count += int(batch.NumRows())
		}
		require.Len(t, want, count, "without columns rows are counted")
		require.Zero(t, b.mem.CurrentAlloc())
	})
}

// TestPiecesKnowTheirRows: the physical index of each row, whatever was deleted before it.
func TestPiecesKnowTheirRows(t *testing.T) {
	b := newBench(t)
	add := b.file("f.parquet", arrowColumns(int64Column("n")), numbered("n", 0, 23))
	add.DeletionVector = b.vector(1, 0, 3, 5, 6, 7, 8, 9, 22)
	table := b.table(allFeatures, oneColumn, nil, nil, add)
	var rows []int64
	for file := range table.Snapshot.Files() {
		for p, err := range scan.Live(t.Context(), table, file, nil, scan.LiveOptions{}) {
			require.NoError(t, err)
			require.NotZero(t, p.Batch.NumRows(), "a piece has rows")
			for i, n := range p.Batch.Column(0).(*array.Int64).Int64Values() {
				require.Equal(t, n, p.Row(i))
				rows = append(rows, n)
			}
		}
	}
	require.Equal(t, []int64{1, 2, 4, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}, rows)
	b.mem.AssertSize(t, 0)
}

// TestDeletedRowsNeverComeBack: whatever is wrong with a vector, the read fails.
func TestDeletedRowsNeverComeBack(t *testing.T) {
	for _, c := range []struct {
		why      string
		features []string
		change   func(b *bench, f *delta.Add)
		says     string
	}{
		{"the protocol does not know vectors", []string{"columnMapping"}, nil, "does not list the feature deletionVectors"},
		{"the file of vectors is gone", allFeatures, func(b *bench, f *delta.Add) {
			key, _, _ := f.DeletionVector.FileKey(b.st.URL())
			require.NoError(b.t, b.st.Delete(b.ctx, key))
		}, "not in the store"},
		{"the vector has a row too few", allFeatures, func(_ *bench, f *delta.Add) { f.DeletionVector.Cardinality++ }, "has 2 rows, the log says 3"},
		{"the vector reaches beyond the file", allFeatures, func(b *bench, f *delta.Add) { f.DeletionVector = b.vector(2, 1, 7) }, "deletes the row 7 of a file of 7 rows"},
	} {
		t.Run(c.why, func(t *testing.T) {
			b := newBench(t)
			add := b.file("f.parquet", arrowColumns(int64Column("n")), numbered("n", 0, 7))
			add.DeletionVector = b.vector(1, 1, 2)
			if c.change != nil {
				c.change(b, add)
			}
			table := b.table(c.features, oneColumn, nil, nil, add)
			for _, columns := range [][]string{nil, {}, {"n"}} {
				got, err := lines(scan.Rows(t.Context(), table, scan.Request{Columns: columns}))
				require.ErrorIs(t, err, delta.ErrCorrupt)
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, err, "f.parquet")
				require.Empty(t, got)
			}
			b.mem.AssertSize(t, 0)
		})
	}
}

// TestAFailingRowIsNamedByItsPlaceInTheFile: deleted rows count, as they do in the file.
func TestAFailingRowIsNamedByItsPlaceInTheFile(t *testing.T) {
	b := newBench(t)
	add := b.file("f.parquet", arrowColumns(int64Column("n")), numbered("n", -8, 12))
	add.DeletionVector = b.vector(1, 0, 6)
	table := b.table(allFeatures, oneColumn, nil, nil, add)
	_, err := lines(scan.Rows(t.Context(), table, scan.Request{Where: where(t, "1 / n > 0")}))
	require.ErrorContains(t, err, "row 9")
	b.mem.AssertSize(t, 0)
}

// nestedColumns are the columns of a table that was renamed at every level: dropped, the column that
// was dropped, has given its name to one that no file has.
var nestedColumns = schemaJSON(
	column{"key", "p-key", 1, `"long"`},
	column{"inner", "p-inner", 2, schemaJSON(column{"left", "p-left", 3, `"long"`}, column{"right", "p-right", 4, `"string"`})},
	column{"list", "p-list", 5, `{"type":"array","elementType":` + schemaJSON(column{"x", "p-x", 6, `"long"`}) + `,"containsNull":true}`},
	column{"pairs", "p-pairs", 7, `{"type":"map","keyType":"string","valueType":` + schemaJSON(column{"y", "p-y", 8, `"long"`}) + `,"valueContainsNull":true}`},
	column{"dropped", "p-again", 10, `"long"`},
	column{"day", "p-day", 11, `"string"`})

func withID(f arrow.Field, id int) arrow.Field {
	f.Metadata = arrow.NewMetadata([]string{delta.FieldIDKey}, []string{fmt.Sprint(id)})
	f.Nullable = true
	return f
}

// nestedFile is a file of such a table; name says what it calls a column.
func nestedFile(name func(string) string) (*arrow.Schema, string) {
	inner := arrow.StructOf(withID(int64Column(name("p-right-old")), 99), withID(arrow.Field{Name: name("p-right"), Type: arrow.BinaryTypes.String}, 4), int64Column(name("p-left"), 3))
	x := arrow.StructOf(int64Column(name("p-x"), 6))
	y := arrow.StructOf(int64Column(name("p-y"), 8))
	schema := arrowColumns(
		int64Column(name("p-dropped"), 9), // not of the table any more
		withID(arrow.Field{Name: name("p-inner"), Type: inner}, 2),
		withID(arrow.Field{Name: name("p-list"), Type: arrow.ListOfField(arrow.Field{Name: "element", Type: x, Nullable: true})}, 5),
		withID(arrow.Field{Name: name("p-pairs"), Type: arrow.MapOf(arrow.BinaryTypes.String, y)}, 7),
		int64Column(name("p-key"), 1))
	row := fmt.Sprintf(`[{%q:100,%q:{%q:5,%q:"r",%q:2},%q:[{%q:3},null],%q:[{"key":"k","value":{%q:4}}],%q:1}]`,
		name("p-dropped"), name("p-inner"), name("p-right-old"), name("p-right"), name("p-left"), name("p-list"), name("p-x"), name("p-pairs"), name("p-y"), name("p-key"))
	return schema, row
}

func TestRenamedColumnsAtEveryLevel(t *testing.T) {
	const want = `1|{"left":2,"right":"r"}|[{"x":3},null]|[{"key":"k","value":{"y":4}}]|(null)|monday`
	same := func(s string) string { return s }
	scrambled := func(s string) string { return "old-" + s }
	for _, c := range []struct {
		why, mode string
		name      func(string) string
	}{
		{"by physical names", "name", same},
		{"by ids", "id", same},
		{"by ids, whatever the names", "id", scrambled},
	} {
		t.Run(c.why, func(t *testing.T) {
			b := newBench(t)
			schema, rows := nestedFile(c.name)
			add := b.file("f.parquet", schema, rows)
			monday, tuesday := "monday", "tuesday"
			add.PartitionValues = map[string]*string{"p-day": &monday, "day": &tuesday}
			table := b.table(allFeatures, nestedColumns, []string{"day"}, map[string]string{"delta.columnMapping.mode": c.mode}, add)
			got, err := lines(scan.Rows(t.Context(), table, scan.Request{}))
			require.NoError(t, err)
			require.Equal(t, []string{want}, got)
			for batch, err := range scan.Rows(t.Context(), table, scan.Request{Columns: []string{"PAIRS", "day", "inner"}, Where: where(t, "inner.right = 'r' AND day = 'monday'")}) {
				require.NoError(t, err)
				require.True(t, batch.Schema().Field(2).Equal(table.Snapshot.ArrowSchema().Field(1)), "names are the table's at every level")
				require.True(t, arrow.TypeEqual(batch.Column(2).DataType(), table.Snapshot.ArrowSchema().Field(1).Type, arrow.CheckMetadata()))
				require.EqualValues(t, 1, batch.NumRows())
			}
			b.mem.AssertSize(t, 0)
		})
	}
}

func TestAFileWithoutIDsIsNotReadByID(t *testing.T) {
	b := newBench(t)
	add := b.file("f.parquet", arrowColumns(int64Column("p-n")), numbered("p-n", 0, 3))
	table := b.table(allFeatures, oneColumn, nil, map[string]string{"delta.columnMapping.mode": "id"}, add)
	_, err := lines(scan.Rows(t.Context(), table, scan.Request{}))
	require.ErrorIs(t, err, delta.ErrCorrupt)
	b.mem.AssertSize(t, 0)
}

func TestStatisticsArePrunedUnderPhysicalNames(t *testing.T) {
	b := newBench(t)
	low := b.file("a.parquet", arrowColumns(int64Column("p-n")), numbered("p-n", 0, 3))
	low.Stats = `{"numRecords":3,"minValues":{"p-n":0,"n":100},"maxValues":{"p-n":2,"n":200},"nullCount":{"p-n":0,"n":0}}`
	low.DeletionVector = b.vector(1, 2)
	high := b.file("b.parquet", arrowColumns(int64Column("p-n")), numbered("p-n", 10, 3))
	high.Stats = `{"numRecords":3,"minValues":{"p-n":10},"maxValues":{"p-n":12},"nullCount":{"p-n":0}}`
	table := b.table(allFeatures, oneColumn, nil, map[string]string{"delta.columnMapping.mode": "name"}, low, high)
	for _, c := range []struct {
		where                   string
		inside, across, outside int
	}{
		{"n < 5", 1, 0, 1},
		{"n = 2", 0, 1, 1}, // the row is deleted, which statistics do not tell
		{"n >= 0", 2, 0, 0},
		{"n IS NULL", 0, 0, 2},
	} {
		got, err := scan.Prune(t.Context(), table, where(t, c.where))
		require.NoError(t, err)
		require.Equal(t, []int{c.inside, c.across, c.outside}, []int{len(got.Inside), len(got.Across), got.Outside}, c.where)
	}
	got, err := lines(scan.Rows(t.Context(), table, scan.Request{Where: where(t, "n <= 10")}))
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1", "10"}, got)
	b.mem.AssertSize(t, 0)
}

func TestRowIDsOfFilesThatHoldSome(t *testing.T) {
	properties := map[string]string{"delta.enableRowTracking": "true", "delta.columnMapping.mode": "id",
		"delta.rowTracking.materializedRowIdColumnName": "_id", "delta.rowTracking.materializedRowCommitVersionColumnName": "_version"}
	b := newBench(t)
	schema := arrowColumns(int64Column("_id"), int64Column("p-n", 1), int64Column("_version"))
	moved := b.file("a.parquet", schema, `[{"p-n":1,"_id":7,"_version":3},{"p-n":2,"_id":8,"_version":3},{"p-n":3},{"p-n":4,"_id":9},{"p-n":5,"_version":1}]`)
	moved.DeletionVector = b.vector(1, 0)
	fresh := b.file("b.parquet", arrowColumns(int64Column("p-n", 1)), numbered("p-n", 6, 2))
	base, version, other, zero := int64(100), int64(5), int64(200), int64(0)
	moved.BaseRowID, moved.CommitVersion, fresh.BaseRowID, fresh.CommitVersion = &base, &version, &other, &zero
	table := b.table(allFeatures, oneColumn, nil, properties, moved, fresh)
	got, err := lines(scan.Rows(t.Context(), table, scan.Request{RowIDs: true}))
	require.NoError(t, err)
	require.Equal(t, []string{"2|8|3", "3|102|5", "4|9|5", "5|104|1", "6|200|0", "7|201|0"}, got)
	got, err = lines(scan.Rows(t.Context(), table, scan.Request{RowIDs: true, Columns: []string{}, Where: where(t, "n = 4")}))
	require.NoError(t, err)
	require.Equal(t, []string{"9|5"}, got, "the columns come without others, and with a condition on others")
	got, err = lines(scan.Rows(t.Context(), table, scan.Request{}))
	require.NoError(t, err)
	require.Len(t, got, 6)
	require.NotContains(t, got[0], "|", "only on request")
	b.mem.AssertSize(t, 0)
}

func TestRowIDsThatThereAreNot(t *testing.T) {
	b := newBench(t)
	on := map[string]string{"delta.enableRowTracking": "true"}
	base := int64(1)
	bare := b.file("a.parquet", arrowColumns(int64Column("n")), numbered("n", 0, 2))
	half := *bare
	half.BaseRowID = &base
	named := schemaJSON(column{delta.RowIDColumn, "p", 1, `"long"`})
	for _, c := range []struct {
		why   string
		table scan.Table
		want  error
		says  string
	}{
		{"rows are not tracked", b.table(allFeatures, oneColumn, nil, nil, bare), delta.ErrInput, "delta.enableRowTracking"},
		{"the table has a column of the name", b.table(allFeatures, named, nil, on, bare), delta.ErrInput, delta.RowIDColumn},
		{"a file has no base", b.table(allFeatures, oneColumn, nil, on, bare), delta.ErrCorrupt, "no baseRowId"},
		{"a file has no version", b.table(allFeatures, oneColumn, nil, on, &half), delta.ErrCorrupt, "no defaultRowCommitVersion"},
	} {
		_, err := lines(scan.Rows(t.Context(), c.table, scan.Request{RowIDs: true}))
		require.ErrorIs(t, err, c.want, c.why)
		require.ErrorContains(t, err, c.says, c.why)
		_, err = lines(scan.Rows(t.Context(), c.table, scan.Request{}))
		require.NoError(t, err, "%s: rows are read all the same", c.why)
	}
	b.mem.AssertSize(t, 0)
}

// counting counts the bytes that are read.
type counting struct {
	store.Store
	bytes *int64
}

func (c counting) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := c.Store.Get(ctx, key, limit)
	*c.bytes += int64(len(data))
	return data, err
}

func (c counting) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	*c.bytes += int64(len(p))
	return c.Store.GetRange(ctx, key, off, p)
}

// TestTwoColumnsOfAHundred: a projection reads the bytes of its columns and the footer.
func TestTwoColumnsOfAHundred(t *testing.T) {
	const columns, rows = 100, 16_000
	b := newBench(t)
	var fields []arrow.Field
	var named []column
	for i := range columns {
		fields = append(fields, int64Column(fmt.Sprintf("p%d", i), i+1))
		named = append(named, column{fmt.Sprintf("c%d", i), fmt.Sprintf("p%d", i), i + 1, `"long"`})
	}
	schema := arrowColumns(fields...)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range columns {
		for row := range uint64(rows) { // numbers that do not compress
			x := (row + 1) * uint64(i+1) * 0x9e3779b97f4a7c15
			builder.Field(i).(*array.Int64Builder).Append(int64(x ^ x>>29*0x94d049bb133111eb))
		}
	}
	w, err := b.st.Create(t.Context(), "f.parquet")
	require.NoError(t, err)
	out, err := parquetio.Parquet{}.NewWriter(w, schema, parquetio.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, out.Write(builder.NewRecordBatch()))
	require.NoError(t, out.Close())
	require.NoError(t, w.Close())
	info, err := b.st.Head(t.Context(), "f.parquet")
	require.NoError(t, err)
	require.Greater(t, info.Size, int64(8<<20), "small files are fetched whole")

	for _, mode := range []string{"name", "id"} {
		table := b.table(allFeatures, schemaJSON(named...), nil, map[string]string{"delta.columnMapping.mode": mode},
			&delta.Add{Path: "f.parquet", PartitionValues: map[string]*string{}, Size: info.Size, DataChange: true})
		var read int64
		table.Store = counting{b.st, &read}
		got, err := lines(scan.Rows(t.Context(), table, scan.Request{Columns: []string{"c7", "c93"}}))
		require.NoError(t, err)
		require.Len(t, got, rows)
		require.Less(t, read, info.Size/25+300<<10, "two hundredths and the footer, of %d bytes", info.Size)
	}
	b.mem.AssertSize(t, 0)
}
