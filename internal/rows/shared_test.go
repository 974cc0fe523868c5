package rows_test

import (
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/rows"
)

const sharedRows = `[
	{"a":1,"s":{"x":1,"y":null},"l":[{"x":2,"y":"two"},null],"m":[{"key":{"x":4,"y":"k"},"value":[{"x":5,"y":null}]}]},
	{"a":null,"s":null,"l":null,"m":[]},
	{"a":3,"s":{"x":null,"y":"seven"},"l":[{"x":8,"y":null}],"m":[{"key":{"x":9,"y":"k9"},"value":null}]},
	{"a":4,"s":{"x":null,"y":null},"l":[],"m":null}
]`

// slicedBatch is a slice of the rows: its arrays have not counted their NULLs.
func slicedBatch(t *testing.T, mem memory.Allocator) arrow.RecordBatch {
	whole := batchOf(t, mem, shape("", true), sharedRows)
	defer whole.Release()
	batch := whole.NewSlice(1, 4)
	require.Positive(t, uncounted(batch))
	return batch
}

// uncounted is how many arrays of a batch, at every level, have not counted their NULLs yet.
func uncounted(batch arrow.RecordBatch) int {
	n := 0
	for _, c := range batch.Columns() {
		n += uncountedIn(c)
	}
	return n
}

func uncountedIn(a arrow.Array) int {
	n := 0
	if a.Data().NullN() < 0 {
		n++
	}
	switch a := a.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			n += uncountedIn(a.Field(i))
		}
	case array.ListLike:
		n += uncountedIn(a.ListValues())
	}
	return n
}

func TestGoroutinesShareACountedBatch(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	batch := slicedBatch(t, mem)
	defer batch.Release()
	rows.CountNulls(batch)
	require.Zero(t, uncounted(batch))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { rows.CountNulls(batch) })
	}
	wg.Wait()
}

// TestOneBatchForTwoCalls: what one call has its arrays note is not written where another reads.
func TestOneBatchForTwoCalls(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	batch := slicedBatch(t, mem)
	defer batch.Release()
	want, err := batch.MarshalJSON()
	require.NoError(t, err)
	before, held := uncounted(batch), mem.CurrentAlloc()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			own := rows.Own(batch)
			defer own.Release()
			rows.CountNulls(own)
			if got, err := own.MarshalJSON(); err != nil || string(got) != string(want) {
				t.Errorf("%s, not %s: %v", got, want, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, before, uncounted(batch), "the batch was written to")
	require.Equal(t, held, mem.CurrentAlloc(), "no rows are copied")
}
