package idem_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
)

// gauge is an allocator that knows the most that was held through it, and the most that the whole
// program held: what is on the heap after a collection, above what was there when it began, but for
// the objects of the store.
type gauge struct {
	memory.Allocator
	store      *store.Mem
	held, most atomic.Int64

	mu       sync.Mutex
	since    int64 // bytes allocated since the last look
	every    int64
	base     int64
	mostHeap int64
}

func newGauge(every int64) *gauge {
	g := &gauge{Allocator: memory.NewGoAllocator(), store: store.NewMem(), every: every}
	g.base = g.live()
	return g
}

func (g *gauge) live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	stored := int64(0)
	for o := range g.store.List(context.Background(), "", "") {
		stored += o.Size
	}
	return int64(m.HeapAlloc) - stored
}

func (g *gauge) count(n int) {
	held := g.held.Add(int64(n))
	for most := g.most.Load(); held > most && !g.most.CompareAndSwap(most, held); most = g.most.Load() {
	}
	if n <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.since += int64(n); g.since >= g.every {
		g.since = 0
		g.mostHeap = max(g.mostHeap, g.live()-g.base)
	}
}

func (g *gauge) Allocate(n int) []byte { b := g.Allocator.Allocate(n); g.count(n); return b }
func (g *gauge) Free(b []byte)         { g.count(-len(b)); g.Allocator.Free(b) }
func (g *gauge) Reallocate(n int, b []byte) []byte {
	was := len(b)
	out := g.Allocator.Reallocate(n, b)
	g.count(n - was)
	return out
}

// generated is a reader that makes its rows when they are asked for.
type generated struct {
	schema *arrow.Schema
	rows   int64
	fill   func(b *array.RecordBuilder, row int64)

	at    int64
	batch arrow.RecordBatch
}

func (g *generated) Retain()                        {}
func (g *generated) Release()                       {}
func (g *generated) Schema() *arrow.Schema          { return g.schema }
func (g *generated) RecordBatch() arrow.RecordBatch { return g.batch }
func (g *generated) Record() arrow.RecordBatch      { return g.batch }
func (g *generated) Err() error                     { return nil }

func (g *generated) Next() bool {
	if g.batch != nil {
		g.batch.Release()
		g.batch = nil
	}
	if g.at == g.rows {
		return false
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, g.schema)
	defer b.Release()
	for range min(4096, g.rows-g.at) {
		g.fill(b, g.at)
		g.at++
	}
	g.batch = b.NewRecordBatch()
	return true
}

// wide is a table of rows of about 500 bytes, narrow one of 24.
var (
	narrow = arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}, {Name: "seq", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	wide = arrow.NewSchema(append(narrow.Fields(), arrow.Field{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}), nil)
)

const (
	narrowBytes = 24
	wideBytes   = 500
)

func numbered(schema *arrow.Schema, rows int64, of func(row int64) (a, b, seq int64)) *generated {
	text := strings.Repeat("0123456789", (wideBytes-narrowBytes)/10)
	return &generated{schema: schema, rows: rows, fill: func(out *array.RecordBuilder, row int64) {
		a, b, seq := of(row)
		out.Field(0).(*array.Int64Builder).Append(a)
		out.Field(1).(*array.Int64Builder).Append(b)
		out.Field(2).(*array.Int64Builder).Append(seq)
		if schema == wide {
			out.Field(3).(*array.StringBuilder).Append(text)
		}
	}}
}

// scattered spreads numbers, each once, over all of int64.
func scattered(row int64) int64 { return row * -7046029254386353131 }

// TestMergeWithinItsBudget merges sources that are many times the budget, and looks at all that is
// held meanwhile: what the allocator gave out, and the heap with its tables and lists of rows. What is
// above the budget was spilled. Of the ten million rows that a key may have it takes a twentieth, and a
// budget that is less than that in proportion.
func TestMergeWithinItsBudget(t *testing.T) {
	oneGoroutine(t)
	const (
		budget = 1 << 20
		fixed  = 3 << 20 // the tables of compressors and parsers, which do not grow

		// alike makes the hash of every key (a, alike) the same.
		alike = -0x5f8f5e9b874296d1
	)
	for _, c := range []struct {
		why    string
		schema *arrow.Schema
		rows   int64
		keys   int64
		of     func(row int64) (a, b, seq int64)
	}{
		{"twenty times the budget", wide, 20 * budget / wideBytes, 20 * budget / wideBytes,
			func(row int64) (a, b, seq int64) { return scattered(row), 1, 1 }},
		{"one key has half a million rows", narrow, 500_000, 1,
			func(row int64) (a, b, seq int64) { return 1, 1, row }},
		{"three keys have nine rows of ten", narrow, 125_000, 12_503,
			func(row int64) (a, b, seq int64) {
				if row%10 == 0 {
					return scattered(row + 100), 1, row
				}
				return row % 3, 1, row
			}},
		{"every key hashes alike", narrow, 5_000, 5_000,
			func(row int64) (a, b, seq int64) { return row, alike, 1 }},
	} {
		if testing.Short() && c.rows > 100_000 {
			continue // a merge with so little memory is one goroutine
		}
		t.Run(c.why, func(t *testing.T) {
			g := newGauge(8 * budget)
			table, _, err := idem.CreateStore(t.Context(), g.store, idem.Definition{Schema: c.schema}, idem.Options{
				MemoryBytes: budget, TempDir: t.TempDir(), Allocator: g, Parallelism: 1,
			})
			require.NoError(t, err)
			byKey := idem.Merge{On: []string{"a", "b"}, Newer: []string{"seq"}}
			for i := range 2 {
				res, err := table.Merge(t.Context(), numbered(c.schema, c.rows, c.of), byKey)
				require.NoError(t, err)
				require.Equal(t, i == 1, res.Outcome == idem.Unchanged)
				if i == 0 {
					require.Equal(t, c.keys, res.Inserted)
				}
			}
			newer := func(row int64) (a, b, seq int64) {
				a, b, seq = c.of(row)
				return a, b, seq + c.rows
			}
			res, err := table.Merge(t.Context(), numbered(c.schema, c.rows, newer), byKey)
			require.NoError(t, err)
			require.Equal(t, c.keys, res.Updated)
			require.Zero(t, g.held.Load())
			t.Logf("allocator %.2f of the budget, heap %.2f", float64(g.most.Load())/budget, float64(g.mostHeap)/budget)
			require.LessOrEqual(t, g.most.Load(), int64(budget))
			require.LessOrEqual(t, g.mostHeap, int64(budget+fixed))
		})
	}
}

// TestMergeWithVectorsAndFeedWithinItsBudget: what a merge sets aside for the feed, and the rows that
// leave their files, count too.
func TestMergeWithVectorsAndFeedWithinItsBudget(t *testing.T) {
	oneGoroutine(t)
	const (
		budget = 1 << 20
		fixed  = 3 << 20
		n      = 5 * budget / wideBytes
	)
	g := newGauge(4 * budget)
	table, _, err := idem.CreateStore(t.Context(), g.store, idem.Definition{Schema: wide, Properties: map[string]string{
		"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true",
	}}, idem.Options{MemoryBytes: budget, TempDir: t.TempDir(), Allocator: g, Parallelism: 1})
	require.NoError(t, err)
	for _, c := range []struct {
		why               string
		rows              int64
		seq               int64
		inserted, updated int64
	}{
		{"new rows", n, 1, n, 0},
		{"less than half of each file is marked", n / 3, 2, 0, n / 3},
		{"every file is written anew", n, 3, 0, n},
	} {
		step := n / c.rows
		for i := range 2 {
			res, err := table.Merge(t.Context(), numbered(wide, c.rows, func(row int64) (a, b, seq int64) { return scattered(row * step), 1, c.seq }), idem.Merge{On: []string{"a", "b"}, Newer: []string{"seq"}})
			require.NoError(t, err, c.why)
			require.Equal(t, i == 1, res.Outcome == idem.Unchanged, c.why)
			if i == 0 {
				require.Equal(t, []int64{c.inserted, c.updated}, []int64{res.Inserted, res.Updated}, c.why)
			}
		}
	}
	require.Zero(t, g.held.Load())
	t.Logf("allocator %.2f of the budget, heap %.2f", float64(g.most.Load())/budget, float64(g.mostHeap)/budget)
	require.LessOrEqual(t, g.most.Load(), int64(budget))
	require.LessOrEqual(t, g.mostHeap, int64(budget+fixed))
}
