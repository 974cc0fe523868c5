package plan_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/plan"
)

// counted is a store that counts the bytes that are read.
type counted struct {
	store.Store
	n int64
}

func (c *counted) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	c.n += int64(len(p))
	return c.Store.GetRange(ctx, key, off, p)
}

func (c *counted) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	b, err := c.Store.Get(ctx, key, limit)
	c.n += int64(len(b))
	return b, err
}

// TestAMergeReadsTheColumnsThatDecide counts the bytes that are read of a table of a hundred columns,
// of which a merge needs two to find out what changes.
func TestAMergeReadsTheColumnsThatDecide(t *testing.T) {
	const columns, n = 100, 12_000 // an object of more than 8 MiB: smaller ones are fetched whole
	fields := []delta.Field{nullable("k", delta.Long), nullable("seq", delta.Long)}
	for i := range columns - 2 {
		fields = append(fields, nullable(fmt.Sprintf("c%d", i), delta.Long))
	}
	for _, vectors := range []bool{false, true} {
		snap := snapshotWith(t, &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"deletionVectors"}, WriterFeatures: []string{"deletionVectors"}},
			fields, nil, traits{vectors: vectors}.configuration())
		st := &counted{Store: store.NewMem()}
		l := &lake{t: t, ctx: t.Context(), env: newEnv(st, memory.DefaultAllocator), snap: snap, replay: delta.NewReplay("mem:///")}
		require.NoError(t, l.replay.Commit(0, []delta.Action{{Protocol: snap.Protocol()}, {Metadata: snap.Metadata()}}))
		merge := func(from, n, seq int64, gone bool) int64 {
			schema := arrow.NewSchema(append(slices.Clone(snap.ArrowSchema().Fields()), arrow.Field{Name: "gone", Type: arrow.FixedWidthTypes.Boolean}), nil)
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			for i := range n {
				for c := range columns {
					b.Field(c).(*array.Int64Builder).Append((from + i + 1) * int64(c+1) * -7046029254386353131)
				}
				b.Field(columns).(*array.BooleanBuilder).Append(gone)
			}
			keys, seqs := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
			for i := range n {
				keys.Append(from + i)
				seqs.Append(seq)
			}
			batch := b.NewRecordBatch()
			set := func(c int, a arrow.Array) { batch = first(batch.SetColumn(c, a)) }
			set(0, keys.NewArray())
			set(1, seqs.NewArray())
			reader := first(array.NewRecordReader(schema, []arrow.RecordBatch{batch}))
			m := &plan.Merge{Env: l.env, Input: plan.Input{Reader: reader}, Request: plan.MergeRequest{On: []string{"k"}, Newer: []string{"seq"}, DeleteWhen: expr.Col("gone")}}
			defer m.Close()
			st.n = 0
			if p := l.plan(m); len(p.Actions) > 0 {
				l.land(p)
			}
			return st.n
		}
		merge(0, n, 5, false)
		size := onlyFile(t, l.snap).Size
		few := size*2/columns + 300<<10 // two columns, and the footer
		require.Greater(t, size, 8*few)
		require.Less(t, merge(0, n, 4, false), few, "older rows: only key and version are read")
		require.Less(t, merge(n, 1, 4, false), few, "a new row: no file is read")
		gone := merge(7, 1, 6, true)
		if vectors {
			require.Less(t, gone, few, "a row that goes is marked unread")
		} else {
			require.Greater(t, gone, size, "the others are copied")
		}
		require.Greater(t, merge(8, 1, 6, false), size, "of a row that changes everything is read")
	}
}

// first is a value that cannot fail.
func first[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
