package rows_test

import (
	"strings"
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

// ask has every array of a batch say how many NULLs it has.
func ask(batch arrow.RecordBatch) {
	for _, c := range batch.Columns() {
		askOf(c)
	}
}

func askOf(a arrow.Array) {
	a.NullN()
	switch a := a.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			askOf(a.Field(i))
		}
	case array.ListLike:
		askOf(a.ListValues())
	}
}

func TestGoroutinesShareACountedBatch(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	whole, _, err := array.RecordFromJSON(mem, shape("", true), strings.NewReader(sharedRows))
	require.NoError(t, err)
	defer whole.Release()
	batch := whole.NewSlice(1, 4)
	defer batch.Release()
	require.Positive(t, uncounted(batch))
	rows.CountNulls(batch)
	require.Zero(t, uncounted(batch))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { ask(batch) })
	}
	wg.Wait()
}

// TestOneBatchForTwoCalls: what one call has its arrays note is not written where another reads.
func TestOneBatchForTwoCalls(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	whole, _, err := array.RecordFromJSON(mem, shape("", true), strings.NewReader(sharedRows))
	require.NoError(t, err)
	defer whole.Release()
	batch := whole.NewSlice(1, 4)
	defer batch.Release()
	want, err := batch.MarshalJSON()
	require.NoError(t, err)
	before, held := uncounted(batch), mem.CurrentAlloc()
	require.Positive(t, before)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			own := rows.Own(batch)
			defer own.Release()
			ask(own)
			if got, err := own.MarshalJSON(); err != nil || string(got) != string(want) {
				t.Errorf("%s, not %s: %v", got, want, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, before, uncounted(batch), "the batch was written to")
	require.Equal(t, held, mem.CurrentAlloc(), "no rows are copied")
}
