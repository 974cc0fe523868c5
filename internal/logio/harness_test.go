package logio_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
	"github.com/idemtable/idem/internal/parquetio"
)

// clock is virtual: sleeping is what makes time pass.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

const schemaText = `{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]}`

// table is a log being written by hand.
type table struct {
	t     require.TestingT
	mem   *store.Mem
	clock *clock
	tail  int64
}

func newTable(t require.TestingT) *table {
	c := newClock()
	tb := &table{t: t, mem: store.NewMemClock(c.Now), clock: c}
	tb.create("table")
	return tb
}

func (tb *table) create(id string) {
	tb.commit(
		delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
		delta.Action{Metadata: &delta.Metadata{ID: id, Provider: "parquet", SchemaString: schemaText, Configuration: map[string]string{}}},
	)
}

func (tb *table) put(key string, data []byte) {
	require.NoError(tb.t, tb.mem.Put(context.Background(), key, data))
}

func (tb *table) delete(keys ...string) {
	require.NoError(tb.t, tb.mem.Delete(context.Background(), keys...))
}

// commit writes the next version and lets a second pass.
func (tb *table) commit(actions ...delta.Action) int64 {
	v := tb.tail
	info := &delta.CommitInfo{Operation: fmt.Sprintf("OP %d", v)}
	data, err := delta.EncodeCommit(append([]delta.Action{{CommitInfo: info}}, actions...))
	require.NoError(tb.t, err)
	tb.put(delta.CommitKey(v), data)
	tb.clock.now = tb.clock.now.Add(time.Second)
	tb.tail++
	return v
}

// dropAndMakeAnew takes the table away, puts another with so many commits after the first in its place, and lets so
// much time pass that a load was slow.
func (tb *table) dropAndMakeAnew(versions int64) {
	for info, err := range tb.mem.List(context.Background(), "", "") {
		require.NoError(tb.t, err)
		tb.delete(info.Key)
	}
	tb.tail = 0
	tb.create("another")
	for v := range versions {
		tb.commit(add(fmt.Sprintf("other-%d", v)))
	}
	tb.clock.now = tb.clock.now.Add(10 * time.Second)
}

func stats(key string) string { return fmt.Sprintf(`{"numRecords":%d}`, len(key)) }

func add(key string) delta.Action {
	return delta.Action{Add: &delta.Add{Path: key, PartitionValues: map[string]*string{}, Size: int64(len(key)), DataChange: true, Stats: stats(key)}}
}

func remove(key string) delta.Action {
	at := newClock().now.UnixMilli()
	return delta.Action{Remove: &delta.Remove{Path: key, DeletionTimestamp: &at, DataChange: true}}
}

// log opens the table's log through a store that may fail and keeps a transcript.
func (tb *table) log(o logio.Options, rules ...storetest.Rule) (*logio.Log, *storetest.Faulty) {
	faulty := storetest.NewFaulty(tb.mem, rules...)
	o.Clock = tb.clock
	return logio.New(faulty, o), faulty
}

func (tb *table) load() (*delta.Snapshot, error) {
	l, _ := tb.log(logio.Options{})
	return l.Load(context.Background())
}

// checkpoint writes that of a version.
func (tb *table) checkpoint(version int64) {
	l, _ := tb.log(logio.Options{})
	snap, err := l.LoadAt(context.Background(), version)
	require.NoError(tb.t, err)
	require.NoError(tb.t, l.Checkpoint(context.Background(), snap, tb.clock.now))
}

// writeCheckpoint writes a checkpoint file by hand.
func writeCheckpoint(t require.TestingT, actions ...delta.Action) []byte {
	var buf bytes.Buffer
	_, _, err := parquetio.Parquet{}.WriteCheckpoint(&buf, slices.Values(actions), parquetio.CheckpointLayout{})
	require.NoError(t, err)
	return buf.Bytes()
}

func files(snap *delta.Snapshot) []string {
	var keys []string
	for f := range snap.Files() {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys
}

func requireTable(t *testing.T, snap *delta.Snapshot, version int64, keys ...string) {
	t.Helper()
	require.Equal(t, version, snap.Version())
	require.Equal(t, keys, files(snap))
}
