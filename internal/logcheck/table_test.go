package logcheck_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/rows"
)

// now is the time of every commit and object, in milliseconds.
const now = 1_700_000_000_000

// schemaText has a column that must not be NULL, one under a constraint, a nested one with bounds,
// a list and a partition column.
const schemaText = `{"type":"struct","fields":[
	{"name":"id","type":"long","nullable":false,"metadata":{}},
	{"name":"k","type":"integer","nullable":true,"metadata":{}},
	{"name":"name","type":"string","nullable":true,"metadata":{}},
	{"name":"s","type":{"type":"struct","fields":[{"name":"x","type":"double","nullable":false,"metadata":{}}]},"nullable":true,"metadata":{}},
	{"name":"tags","type":{"type":"array","elementType":"string","containsNull":true},"nullable":true,"metadata":{}},
	{"name":"day","type":"date","nullable":true,"metadata":{}}]}`

// table is a table made by hand: its commits before they are written.
type table struct {
	store      *store.Mem
	commits    [][]delta.Action
	checkpoint int64     // the version that gets one
	taken      time.Time // when the checkpoint is taken
}

// row is a row of the table. A nil id is a NULL where none may be.
type row struct {
	id *int64
	k  int32
}

func id(n int64) *int64 { return &n }

// clean makes a table that keeps every rule: four versions, a checkpoint of version 2.
func clean(t *testing.T) *table {
	b := &table{store: store.NewMemClock(func() time.Time { return time.UnixMilli(now) }), checkpoint: 2, taken: time.UnixMilli(now)}
	metadata := &delta.Metadata{ID: "11111111-2222-3333-4444-555555555555", Provider: "parquet", SchemaString: schemaText,
		PartitionColumns: []string{"day"}, Configuration: map[string]string{"delta.constraints.positive": "k > 0"}}
	a := b.file(t, "day=2013-01-01/a.parquet", "2013-01-01", row{id(1), 1}, row{id(2), 2}, row{id(3), 3})
	c := b.file(t, "day=2013-01-01/c.parquet", "2013-01-01", row{id(1), 1}, row{id(4), 4})
	updated := int64(now)
	b.commits = [][]delta.Action{
		{b.info("CREATE TABLE", "t0"), {Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 3}}, {Metadata: metadata}},
		{b.info("WRITE", "t1"), a, b.file(t, "day=null/b.parquet", "", row{id(5), 5}, row{id(7), 7}),
			{Txn: &delta.Txn{AppID: "loader", Version: 1, LastUpdated: &updated}}},
		{b.info("WRITE", "t2"), removeOf(a), c},
		{b.info("WRITE", "t3"), b.file(t, "day=2013-01-02/d.parquet", "2013-01-02", row{id(8), 8}, row{id(9), 9})},
	}
	return b
}

func (*table) info(operation, txn string) delta.Action {
	return delta.Action{CommitInfo: &delta.CommitInfo{Timestamp: now, Operation: operation, EngineInfo: "idem", TxnID: txn}}
}

// last is the add of version 3.
func (b *table) last() *delta.Add { return b.commits[3][1].Add }

func removeOf(a delta.Action) delta.Action {
	size, at := a.Add.Size, int64(now)
	return delta.Action{Remove: &delta.Remove{Path: a.Add.Path, DeletionTimestamp: &at, DataChange: true, ExtendedMetadata: true,
		PartitionValues: a.Add.PartitionValues, Size: &size}}
}

func schemaOf(t *testing.T) *delta.Struct {
	s, err := delta.ParseSchema(schemaText)
	require.NoError(t, err)
	return s
}

// file writes a data file and gives its add, with statistics and tag.
func (b *table) file(t *testing.T, key, day string, list ...row) delta.Action {
	s := schemaOf(t)
	full, err := delta.ArrowSchema(s)
	require.NoError(t, err)
	fields := full.Fields()
	for i := range fields {
		fields[i].Nullable = true // so that rows can break the rule
	}
	batch := batchOf(arrow.NewSchema(fields, nil), day, list)
	data := array.NewRecordBatch(arrow.NewSchema(fields[:5], nil), batch.Columns()[:5], batch.NumRows())

	w, err := b.store.Create(t.Context(), key)
	require.NoError(t, err)
	out, err := parquetio.Parquet{}.NewWriter(w, data.Schema(), parquetio.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, out.Write(data))
	require.NoError(t, out.Close())
	require.NoError(t, w.Close())

	stats := delta.NewStatsBuilder(s, []string{"day"}, nil)
	require.NoError(t, stats.Add(data))
	digest, err := rows.DigestRows(batch, nil)
	require.NoError(t, err)
	info, err := b.store.Head(t.Context(), key)
	require.NoError(t, err)
	value := &day
	if day == "" {
		value = nil
	}
	return delta.Action{Add: &delta.Add{
		Path: delta.EncodePath(key), PartitionValues: map[string]*string{"day": value}, Size: info.Size,
		ModificationTime: now, DataChange: true, Stats: stats.JSON(),
		Tags: map[string]string{"idem.fingerprint": fmt.Sprintf("idem1:%d:%s:", len(list), digest)},
	}}
}

// batchOf makes rows. Names of even ids are NULL, and every third struct.
func batchOf(schema *arrow.Schema, day string, list []row) arrow.RecordBatch {
	r := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, each := range list {
		if each.id == nil {
			r.Field(0).AppendNull()
		} else {
			r.Field(0).(*array.Int64Builder).Append(*each.id)
		}
		r.Field(1).(*array.Int32Builder).Append(each.k)
		if each.k%2 == 0 {
			r.Field(2).AppendNull()
		} else {
			r.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("name %d", each.k))
		}
		if each.k%3 == 0 {
			r.Field(3).AppendNull()
		} else {
			s := r.Field(3).(*array.StructBuilder)
			s.Append(true)
			s.FieldBuilder(0).(*array.Float64Builder).Append(float64(each.k) / 4)
		}
		tags := r.Field(4).(*array.ListBuilder)
		tags.Append(true)
		for range i {
			tags.ValueBuilder().(*array.StringBuilder).Append("x")
		}
		if day == "" {
			r.Field(5).AppendNull()
		} else {
			at, _ := time.Parse(time.DateOnly, day)
			r.Field(5).(*array.Date32Builder).Append(arrow.Date32FromTime(at))
		}
	}
	return r.NewRecordBatch()
}

// write puts the log in the store: the commits, the checkpoint if the commits replay, the hint.
func (b *table) write(t *testing.T) {
	replay := delta.NewReplay(b.store.URL())
	for v, actions := range b.commits {
		data, err := delta.EncodeCommit(actions)
		require.NoError(t, err)
		require.NoError(t, b.store.PutIfAbsent(t.Context(), delta.CommitKey(int64(v)), data))
		if replay == nil || replay.Commit(int64(v), actions) != nil {
			replay = nil
			continue
		}
		if snap, err := replay.Snapshot(int64(v)); err == nil && int64(v) == b.checkpoint {
			b.putCheckpoint(t, snap, b.checkpoint)
		}
	}
}

func (b *table) putCheckpoint(t *testing.T, snap *delta.Snapshot, version int64) {
	b.putCheckpointAs(t, snap, version, parquetio.CheckpointLayout{})
}

// putJSON puts a checkpoint that is named by a UUID beside the other one.
func (b *table) putJSON(t *testing.T, actions []delta.Action, more ...string) {
	data, err := delta.EncodeActions(actions)
	require.NoError(t, err)
	for _, line := range more {
		data = append(data, line+"\n"...)
	}
	key := delta.CheckpointUUIDKey(2, "61d16c75-6994-46b7-a15b-8b538852e50e")
	b.put(t, strings.TrimSuffix(key, "parquet")+"json", data)
}

func (b *table) putCheckpointAs(t *testing.T, snap *delta.Snapshot, version int64, layout parquetio.CheckpointLayout) {
	var buf bytes.Buffer
	n, adds, err := parquetio.Parquet{}.WriteCheckpoint(&buf, snap.CheckpointActions(b.taken), layout)
	require.NoError(t, err)
	require.NoError(t, b.store.Put(t.Context(), delta.CheckpointKey(version), buf.Bytes()))
	hint := delta.LastCheckpoint{Version: version, Size: n, SizeInBytes: int64(buf.Len()), NumOfAddFiles: adds}
	require.NoError(t, b.store.Put(t.Context(), delta.LastCheckpointKey, hint.Encode()))
}

// snapshot replays the first versions.
func (b *table) snapshot(t *testing.T, version int64) *delta.Snapshot {
	replay := delta.NewReplay(b.store.URL())
	for v, actions := range b.commits[:version+1] {
		require.NoError(t, replay.Commit(int64(v), slices.Clone(actions)))
	}
	snap, err := replay.Snapshot(version)
	require.NoError(t, err)
	return snap
}

func (b *table) get(t *testing.T, key string) []byte {
	data, err := b.store.Get(t.Context(), key, 0)
	require.NoError(t, err)
	return data
}

func (b *table) put(t *testing.T, key string, data []byte) {
	require.NoError(t, b.store.Put(t.Context(), key, data))
}
