package kill_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// clock is one that can be set back: each trial begins at the same time. Waiting costs nothing. The
// probe of a store asks it from several goroutines.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.set(c.Now().Add(d))
	return ctx.Err()
}

// born is when tables are made: soon after the times that a MemFS gives its files, which count
// seconds from 1970.
var born = time.Unix(20_000, 0).UTC()

// flavour is a kind of table that calls are made on.
type flavour struct {
	name       string
	parquet    bool // files are Parquet, and not those of the stub, which cost next to nothing
	properties map[string]string
	calls      []string // the names of those that it is there for; nil: all
}

// has says whether a call is made on tables of this kind.
func (f flavour) has(c call) bool {
	return c.only == f.name || c.only == "" && !f.parquet && (f.calls == nil || slices.Contains(f.calls, c.name))
}

// Every third version has a checkpoint, so that a call which makes version 6 writes one.
var flavours = []flavour{
	{name: "plain", properties: map[string]string{"delta.checkpointInterval": "3"}},
	{name: "featured", properties: map[string]string{
		"delta.checkpointInterval": "3", "delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true",
		"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true",
	}},
	{name: "parquet", parquet: true},
	{name: "v2 checkpoints", calls: []string{"Append", "Checkpoint", "CleanUpLog"}, properties: map[string]string{
		"delta.checkpointInterval": "3", "delta.checkpointPolicy": "v2",
	}},
}

// base is a table with a history, which trials are copies of.
type base struct {
	flavour
	ctx     context.Context // carries the codec
	clock   *clock
	mem     *store.Mem
	model   *tabletest.Model
	version int64
	opened  uint64 // for the seed of ids: no two openings make the same
}

const baseVersion = 5

func row(day string, id, seq, v int64) tabletest.Row {
	return tabletest.Row{Day: day, ID: id, Seq: seq, V: v}
}

func once(rows ...tabletest.Row) array.RecordReader {
	return tabletest.Once(memory.DefaultAllocator, 0, rows...)
}

// newBase makes the table: rows of three days, one of them merged, one deleted, and a tag.
func newBase(t *testing.T, f flavour) *base {
	b := &base{flavour: f, ctx: t.Context(), clock: &clock{now: born}, model: tabletest.NewModel()}
	if !f.parquet {
		b.ctx = tabletest.Codec(b.ctx)
	}
	b.mem = store.NewMemClock(b.clock.Now)
	table, _, err := idem.CreateStore(b.ctx, b.mem, tabletest.Definition([]string{"day"}, f.properties), b.options())
	require.NoError(t, err)
	next := func(_ *idem.Result, err error) {
		require.NoError(t, err)
		b.clock.set(b.clock.Now().Add(time.Minute))
	}
	first := []tabletest.Row{row("d1", 1, 1, 10), row("d1", 2, 1, 20), row("d1", 3, 1, 30), row("d2", 4, 1, 40), row("d2", 5, 1, 50), row("d3", 6, 1, 60)}
	next(table.ReplaceAll(b.ctx, once(first...), idem.ReplaceAll{}))
	b.model.Append(first...)
	tagged := []tabletest.Row{row("d2", 7, 1, 70), row("d3", 8, 1, 80)}
	next(table.AppendWithTxn(b.ctx, once(tagged...), idem.Txn{AppID: "base", Version: 5}))
	b.model.Append(tagged...)
	merged := []tabletest.Row{row("d1", 2, 2, 21), row("d2", 4, 2, 41)}
	next(table.Merge(b.ctx, once(merged...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}))
	b.model.Merge(nil, merged...)
	next(table.Delete(b.ctx, idem.Delete{Where: "id = 5 OR id = 3"}))
	b.model.Delete(func(r tabletest.Row) bool { return r.ID == 5 || r.ID == 3 })
	late := []tabletest.Row{row("d1", 9, 1, 90)}
	next(table.Append(b.ctx, once(late...), idem.Append{Reason: "test"}))
	b.model.Append(late...)
	b.version = table.Version()
	require.EqualValues(t, baseVersion, b.version)
	sidecars := 0
	for key := range keysOf(t, b.mem) {
		if strings.HasPrefix(key, delta.SidecarDir) {
			sidecars++
		}
	}
	require.Equal(t, f.properties["delta.checkpointPolicy"] == "v2", sidecars > 0)
	return b
}

func (b *base) options() idem.Options {
	b.opened++
	return idem.Options{Parallelism: 1, Clock: b.clock, Random: tabletest.Random(b.opened)}
}

// directory is the table's newest files without its log: what a conversion begins with.
func (b *base) directory(t *testing.T) *store.Mem {
	mem := store.NewMemClock(b.clock.Now)
	from := b.mem.Clone()
	table, err := idem.OpenStore(b.ctx, from, b.options())
	require.NoError(t, err)
	_, err = maintain.OptimizeTable(b.ctx, table, maintain.Optimize{})
	require.NoError(t, err)
	for f := range table.Snapshot().Files() {
		require.Nil(t, f.DeletionVector)
		data, err := from.Get(t.Context(), f.Key, 0)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(f.Key, "day="))
		require.NoError(t, mem.PutIfAbsent(t.Context(), f.Key, data))
	}
	return mem
}

// versionOf is the newest version in a store by its list, -1 if there is no table. Versions follow
// each other, but for those that a clean-up was about to take away, which a checkpoint stands for.
func versionOf(t *testing.T, st store.Store) int64 {
	var commits []int64
	checkpoint := int64(-1)
	for info, err := range st.List(t.Context(), delta.LogDir, "") {
		require.NoError(t, err)
		switch f := delta.ParseLogFile(info.Key); f.Kind {
		case delta.Commit:
			commits = append(commits, f.Version)
		case delta.Checkpoint, delta.CheckpointUUID:
			checkpoint = max(checkpoint, f.Version)
		}
	}
	if len(commits) == 0 {
		return -1
	}
	for i, v := range commits[1:] {
		require.True(t, v == commits[i]+1 || v <= checkpoint+1, "version %d follows %d", v, commits[i])
	}
	return commits[len(commits)-1]
}
