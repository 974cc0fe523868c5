package logcheck_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/maintain"
)

// made is a table that idem's verbs made, with every feature that a definition can ask for.
type made struct {
	t     *testing.T
	store *store.Mem
	now   time.Time
	table *idem.Table
}

func (m *made) Now() time.Time { return m.now }

func (m *made) Sleep(ctx context.Context, d time.Duration) error {
	m.now = m.now.Add(d)
	return ctx.Err()
}

// everything asks for every feature that goes with the others.
var everything = idem.Definition{
	Schema: arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "twice", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), Nullable: true},
	}, nil),
	Columns: map[string]idem.Column{
		"name": {Type: "varchar(40)", Default: "'none'"}, "twice": {Generated: "k * 2"}, "n": {Identity: &idem.Identity{Start: 10, Step: 5}},
	},
	ClusterBy:   []string{"k"},
	Constraints: map[string]string{"small": "k < 1000"},
	Properties: map[string]string{
		"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true",
		"delta.enableInCommitTimestamps": "true", "delta.enableTypeWidening": "true", "delta.checkpoint.writeStatsAsStruct": "true",
	},
}

// The versions of the made table.
const (
	appended = 1 // ids 1 to 4
	more     = 2 // ids 5 and 6, with a tag and its payload
	shrunk   = 3 // without id 1: a vector
	changed  = 4 // id 2 has another k, id 7 is new: a merge
	laidOut  = 5 // in one file
)

func newMade(t *testing.T, d idem.Definition) *made {
	m := &made{t: t, now: time.UnixMilli(now)}
	m.store = store.NewMemClock(m.Now)
	var err error
	m.table, _, err = idem.CreateStore(t.Context(), m.store, d, idem.Options{Parallelism: 1, Clock: m})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = m.table.Append(ctx, m.rows(`{"id":1,"k":1,"s":{"x":1}},{"id":2,"k":2},{"id":3,"k":3},{"id":4,"k":4}`), idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, err = m.table.AppendWithTxn(ctx, m.rows(`{"id":5,"k":5},{"id":6,"k":6}`), idem.Txn{AppID: "loader", Version: 3, VerifyPayload: true})
	require.NoError(t, err)
	_, err = m.table.Delete(ctx, idem.Delete{Where: "id = 1"})
	require.NoError(t, err)
	_, err = m.table.Merge(ctx, m.rows(`{"id":2,"k":20},{"id":7,"k":7}`), idem.Merge{On: []string{"id"}, Unguarded: true})
	require.NoError(t, err)
	_, err = maintain.OptimizeTable(ctx, m.table, maintain.Optimize{})
	require.NoError(t, err)
	require.EqualValues(t, laidOut, m.table.Version())
	return m
}

// rows are those of JSON objects with some of the columns id, k, s.
func (m *made) rows(list string) array.RecordReader {
	schema := arrow.NewSchema([]arrow.Field{everything.Schema.Field(0), everything.Schema.Field(1), everything.Schema.Field(6)}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+list+"]"))
	require.NoError(m.t, err)
	out, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	require.NoError(m.t, err)
	return out
}

// copied is a table of its own with the same objects.
func (m *made) copied(t *testing.T) *made {
	c := &made{t: t, now: m.now}
	c.store = store.NewMemClock(c.Now)
	for info, err := range m.store.List(t.Context(), "", "") {
		require.NoError(t, err)
		data, err := m.store.Get(t.Context(), info.Key, 0)
		require.NoError(t, err)
		require.NoError(t, c.store.Put(t.Context(), info.Key, data))
	}
	return c
}

// commit gives the actions of a version.
func (m *made) commit(v int64) []delta.Action {
	data, err := m.store.Get(m.t.Context(), delta.CommitKey(v), 0)
	require.NoError(m.t, err)
	actions, err := delta.DecodeActions("", data)
	require.NoError(m.t, err)
	return actions
}

// edit changes the actions of a version; what was written beside the commits goes.
func (m *made) edit(v int64, f func(actions []delta.Action) []delta.Action) {
	data, err := delta.EncodeActions(f(m.commit(v)))
	require.NoError(m.t, err)
	m.text(v, func(string) string { return string(data) })
}

// text changes the bytes of a version.
func (m *made) text(v int64, f func(string) string) {
	data, err := m.store.Get(m.t.Context(), delta.CommitKey(v), 0)
	require.NoError(m.t, err)
	after := f(string(data))
	require.NotEqual(m.t, string(data), after, "the twin differs")
	require.NoError(m.t, m.store.Put(m.t.Context(), delta.CommitKey(v), []byte(after)))
	for v := range m.versions() {
		require.NoError(m.t, m.store.Delete(m.t.Context(), delta.ChecksumKey(v)))
	}
}

func (m *made) versions() int64 {
	n := int64(0)
	for info, err := range m.store.List(m.t.Context(), delta.LogDir, "") {
		require.NoError(m.t, err)
		if delta.ParseLogFile(info.Key).Kind == delta.Commit {
			n++
		}
	}
	return n
}

// adds changes the adds of a version.
func adds(f func(a *delta.Add)) func([]delta.Action) []delta.Action {
	return func(actions []delta.Action) []delta.Action {
		for _, a := range actions {
			if a.Add != nil {
				f(a.Add)
			}
		}
		return actions
	}
}

func info(f func(*delta.CommitInfo)) func([]delta.Action) []delta.Action {
	return func(actions []delta.Action) []delta.Action {
		f(actions[0].CommitInfo)
		return actions
	}
}

func metadata(f func(m *delta.Metadata)) func([]delta.Action) []delta.Action {
	return func(actions []delta.Action) []delta.Action {
		for _, a := range actions {
			if a.Metadata != nil {
				f(a.Metadata)
			}
		}
		return actions
	}
}

// field changes a top-level field of the schema of a commit that has one.
func field(name string, f func(*delta.Field)) func([]delta.Action) []delta.Action {
	return metadata(func(m *delta.Metadata) {
		s, err := delta.ParseSchema(m.SchemaString)
		if err != nil {
			panic(err)
		}
		f(&s.Fields[s.Index(name)])
		m.SchemaString = s.JSON()
	})
}

// rewritten puts a live file of the newest version in the place of itself, with other values, and of
// the size that the log says from now on. Its commit keeps what was said of the old one.
func (m *made) rewritten(v int64, column string, change func(old arrow.Array) arrow.Array) {
	m.rewrite(v, func(schema *arrow.Schema, columns []arrow.Array) (*arrow.Schema, []arrow.Array) {
		snap := m.snapshot(v)
		name := column
		if path, ok := snap.StoredPath([]string{column}); ok {
			name = path[0]
		} else if ids, versions := snap.MaterialisedRowIDs(); column == delta.RowIDColumn {
			name = ids
		} else if column == delta.RowCommitVersionColumn {
			name = versions
		}
		i := schema.FieldIndices(name)[0]
		columns[i] = change(columns[i])
		return schema, columns
	})
}

func (m *made) snapshot(v int64) *delta.Snapshot {
	r := delta.NewReplay(m.store.URL())
	for i := range v + 1 {
		require.NoError(m.t, r.Commit(i, m.commit(i)))
	}
	snap, err := r.Snapshot(v)
	require.NoError(m.t, err)
	return snap
}

// rewrite writes the file that a version adds anew, statistics and tag left out of the log.
func (m *made) rewrite(v int64, change func(*arrow.Schema, []arrow.Array) (*arrow.Schema, []arrow.Array)) {
	ctx, snap := m.t.Context(), m.snapshot(v)
	m.edit(v, adds(func(a *delta.Add) {
		fields := snap.Stored(snap.DataSchema()).Fields()
		if ids, versions := snap.MaterialisedRowIDs(); ids != "" {
			fields = append(fields, arrow.Field{Name: ids, Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: versions, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
		}
		for i := range fields {
			fields[i].Nullable = true
		}
		schema := arrow.NewSchema(fields, nil)
		r, err := parquetio.Parquet{}.Open(ctx, parquetio.Object(ctx, m.store, a.Path, a.Size), parquetio.ReadOptions{})
		require.NoError(m.t, err)
		defer r.Close()
		for batch, err := range r.Batches(ctx, schema) {
			require.NoError(m.t, err)
			schema, columns := change(schema, batch.Columns())
			a.Size = m.put(a.Path, schema, columns, batch.NumRows())
		}
		a.Tags = nil
		var st map[string]json.RawMessage
		require.NoError(m.t, json.Unmarshal([]byte(a.Stats), &st))
		delete(st, "minValues")
		delete(st, "maxValues")
		text, err := json.Marshal(st)
		require.NoError(m.t, err)
		a.Stats = string(text)
	}))
	m.edit(v, info(func(i *delta.CommitInfo) { i.EngineInfo = "another" }))
}

func (m *made) put(key string, schema *arrow.Schema, columns []arrow.Array, rows int64) int64 {
	require.NoError(m.t, m.store.Delete(m.t.Context(), key))
	w, err := m.store.Create(m.t.Context(), key)
	require.NoError(m.t, err)
	out, err := parquetio.Parquet{}.NewWriter(w, schema, parquetio.WriteOptions{})
	require.NoError(m.t, err)
	require.NoError(m.t, out.Write(array.NewRecordBatch(schema, columns, rows)))
	require.NoError(m.t, out.Close())
	require.NoError(m.t, w.Close())
	object, err := m.store.Head(m.t.Context(), key)
	require.NoError(m.t, err)
	return object.Size
}

// longs makes a column of other numbers.
func longs(f func(i int, old *int64) *int64) func(arrow.Array) arrow.Array {
	return func(old arrow.Array) arrow.Array {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range old.Len() {
			var v *int64
			if a := old.(*array.Int64); a.IsValid(i) {
				n := a.Value(i)
				v = &n
			}
			if v = f(i, v); v == nil {
				b.AppendNull()
			} else {
				b.Append(*v)
			}
		}
		return b.NewArray()
	}
}

func raw(v any) json.RawMessage { return json.RawMessage(fmt.Sprint(v)) }

// copyFile writes a file of the table's columns and _change_type anew.
func (m *made) copyFile(path string, size int64, snap *delta.Snapshot, change func(*arrow.Schema, []arrow.Array, int64) ([]arrow.Array, int64)) int64 {
	ctx := m.t.Context()
	fields := append(snap.Stored(snap.DataSchema()).Fields(), arrow.Field{Name: "_change_type", Type: arrow.BinaryTypes.String, Nullable: true})
	for i := range fields {
		fields[i].Nullable = true
	}
	schema := arrow.NewSchema(fields, nil)
	r, err := parquetio.Parquet{}.Open(ctx, parquetio.Object(ctx, m.store, path, size), parquetio.ReadOptions{})
	require.NoError(m.t, err)
	defer r.Close()
	for batch, err := range r.Batches(ctx, schema) {
		require.NoError(m.t, err)
		columns, n := change(schema, batch.Columns(), batch.NumRows())
		size = m.put(path, schema, columns, n)
	}
	return size
}
