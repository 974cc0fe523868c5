package changes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/vectors"
)

// start is when version 0 of a hand-made log was committed; the others follow by the minute.
var start = time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)

// world is a hand-made table in memory, as any engine may have left it.
type world struct {
	t       *testing.T
	st      *store.Mem
	mem     *memory.CheckedAllocator
	now     time.Time
	version int64 // of the next commit
	vectors int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, mem: memory.NewCheckedAllocator(memory.NewGoAllocator()), now: start}
	w.st = store.NewMemClock(func() time.Time { return w.now })
	t.Cleanup(func() { w.mem.AssertSize(t, 0) })
	return w
}

// commit makes the next version.
func (w *world) commit(actions ...delta.Action) {
	at := w.now.UnixMilli()
	info := delta.Action{CommitInfo: &delta.CommitInfo{Timestamp: at, InCommitTimestamp: &at, Operation: "by hand", TxnID: fmt.Sprint(w.version)}}
	data, err := delta.EncodeCommit(append([]delta.Action{info}, actions...))
	require.NoError(w.t, err)
	require.NoError(w.t, w.st.PutIfAbsent(w.t.Context(), delta.CommitKey(w.version), data))
	w.version++
	w.now = w.now.Add(time.Minute)
}

// column is a column of a hand-made table: "long", or any other type's JSON, quoted or not.
type column struct {
	name, typ string
	physical  string // "": not mapped
	id        int
	notNull   bool
}

// definition is that of a table with a feed; properties may turn it off.
func definition(columns []column, by []string, properties ...string) []delta.Action {
	var fields []string
	for _, c := range columns {
		meta := "{}"
		if c.physical != "" {
			meta = fmt.Sprintf(`{"delta.columnMapping.id":%d,"delta.columnMapping.physicalName":%q}`, c.id, c.physical)
		}
		typ, _ := json.Marshal(c.typ)
		if strings.HasPrefix(c.typ, "{") {
			typ = []byte(c.typ)
		}
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%s,"nullable":%t,"metadata":%s}`, c.name, typ, !c.notNull, meta))
	}
	conf := map[string]string{"delta.enableChangeDataFeed": "true"}
	for i := 0; i < len(properties); i += 2 {
		conf[properties[i]] = properties[i+1]
	}
	return []delta.Action{protocol("deletionVectors", "columnMapping", "typeWidening"), {Metadata: &delta.Metadata{
		ID: "0", Provider: "parquet", SchemaString: `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`, PartitionColumns: by, Configuration: conf,
	}}}
}

// protocol is one with features of readers, and those of writers that hand-made tables use.
func protocol(readers ...string) delta.Action {
	writers := append(slices.Clone(readers), "changeDataFeed", "inCommitTimestamp", "appendOnly", "invariants")
	return delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: readers, WriterFeatures: writers}}
}

var plain = []column{{name: "id", typ: "long"}, {name: "v", typ: "string"}}

// file writes a Parquet file of the columns that are named, "id:long".
func (w *world) file(key string, columns string, rows string) *delta.Add {
	var fields []arrow.Field
	for c := range strings.SplitSeq(columns, " ") {
		name, typ, _ := strings.Cut(c, ":")
		id := ""
		if i := strings.Index(typ, "#"); i >= 0 {
			typ, id = typ[:i], typ[i+1:]
		}
		f := arrow.Field{Name: name, Nullable: true, Type: map[string]arrow.DataType{
			"long": arrow.PrimitiveTypes.Int64, "int": arrow.PrimitiveTypes.Int32, "string": arrow.BinaryTypes.String,
		}[typ]}
		if id != "" {
			f.Metadata = arrow.NewMetadata([]string{delta.FieldIDKey}, []string{id})
		}
		fields = append(fields, f)
	}
	schema := arrow.NewSchema(fields, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	require.NoError(w.t, err)
	out, err := w.st.Create(w.t.Context(), key)
	require.NoError(w.t, err)
	p, err := parquetio.Parquet{}.NewWriter(out, schema, parquetio.WriteOptions{RowGroupRows: 2})
	require.NoError(w.t, err)
	for at := int64(0); at < batch.NumRows(); at += 2 {
		require.NoError(w.t, p.Write(batch.NewSlice(at, min(at+2, batch.NumRows()))))
	}
	require.NoError(w.t, p.Close())
	require.NoError(w.t, out.Close())
	info, err := w.st.Head(w.t.Context(), key)
	require.NoError(w.t, err)
	return &delta.Add{Path: key, PartitionValues: map[string]*string{}, Size: info.Size, DataChange: true}
}

// numbered are the rows {id, "v"+id}.
func numbered(ids ...int) string {
	var rows []string
	for _, id := range ids {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"v":"v%d"}`, id, id))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// rows writes a file of rows that numbered makes.
func (w *world) rows(key string, ids ...int) *delta.Add {
	return w.file(key, "id:long v:string", numbered(ids...))
}

// vector writes a vector in a file of its own.
func (w *world) vector(rows ...int64) *delta.DeletionVector {
	w.vectors++
	out := vectors.New(w.t.Context(), w.st, func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", w.vectors) })
	v := delta.NewVector()
	v.Add(rows...)
	dv, err := out.Put(v)
	require.NoError(w.t, err)
	require.NoError(w.t, out.Close())
	return dv
}

// under is a file with another vector, nil for none.
func under(f *delta.Add, v *delta.DeletionVector) *delta.Add {
	out := *f
	out.DeletionVector = v
	return &out
}

// quiet is a file of a commit that changes no data.
func quiet(f *delta.Add) *delta.Add {
	out := *f
	out.DataChange = false
	return &out
}

func add(f *delta.Add) delta.Action { return delta.Action{Add: f} }

func remove(f *delta.Add) delta.Action {
	size := f.Size
	return delta.Action{Remove: &delta.Remove{Path: f.Path, DataChange: f.DataChange, ExtendedMetadata: true,
		PartitionValues: f.PartitionValues, Size: &size, DeletionVector: f.DeletionVector}}
}

// bare is a remove that says no more than it must.
func bare(f *delta.Add) delta.Action {
	return delta.Action{Remove: &delta.Remove{Path: f.Path, DataChange: f.DataChange, DeletionVector: f.DeletionVector}}
}

func cdc(f *delta.Add) delta.Action {
	return delta.Action{CDC: &delta.CDC{Path: f.Path, PartitionValues: f.PartitionValues, Size: f.Size}}
}

func (w *world) open() *idem.Table {
	table, err := idem.OpenStore(w.t.Context(), w.st, idem.Options{Parallelism: 1, Allocator: w.mem})
	require.NoError(w.t, err)
	return table
}

// feed reads changes: "id|v|insert|2", the times aside, sorted within a version.
func (w *world) feed(r changes.Request) ([]string, error) { return feed(w.t.Context(), w.open(), r) }

func feed(ctx context.Context, t *idem.Table, r changes.Request) ([]string, error) {
	out := []string{}
	for batch, err := range changes.Rows(ctx, t, r) {
		if err != nil {
			return out, err
		}
		n := int(batch.NumCols())
		for i := range int(batch.NumRows()) {
			var cells []string
			for c := range n - 1 {
				cells = append(cells, batch.Column(c).ValueStr(i))
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	last := func(s string) string { return s[strings.LastIndex(s, "|"):] }
	for i := 0; i < len(out); { // versions come one after the other
		j := i
		for j < len(out) && last(out[j]) == last(out[i]) {
			j++
		}
		slices.Sort(out[i:j])
		i = j
	}
	return out, nil
}

func between(from, to int64) changes.Request {
	return changes.Request{From: changes.Version(from), To: changes.Version(to)}
}

// renamed gives the columns of rows their names under column mapping.
func renamed(rows string) string {
	return strings.NewReplacer(`"id":`, `"col-id":`, `"v":`, `"col-v":`).Replace(rows)
}

// still is a clock on which waiting costs nothing.
type still struct{}

func (still) Now() time.Time { return start }

func (still) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
