package spill_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/spill"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPartitions(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		area := spill.NewArea(dir, rapid.SampledFrom([]int64{1, 800, 1 << 20}).Draw(t, "budget"))
		area.Mem = mem
		defer area.Close()
		parts := area.NewPartitions(schema, 4)
		twins := make([][]string, parts.Len())
		for k := range rapid.IntRange(0, 6).Draw(t, "batches") {
			n := rapid.IntRange(0, 6).Draw(t, "rows")
			x := batch(t, mem, 1+10*k, n)
			part := rapid.SliceOfN(rapid.Uint32Range(0, 3), n, n).Draw(t, "part")
			require.NoError(t, parts.Append(x, part))
			for i, p := range part {
				row := x.NewSlice(int64(i), int64(i+1))
				twins[p] = append(twins[p], texts(t, row)...)
				row.Release()
			}
			x.Release()
		}
		for i, twin := range twins {
			require.Equal(t, twin, read(t, parts.Partition(i)))
		}
		require.NoError(t, parts.Close())
		require.Zero(t, area.HeldBytes())
		require.Empty(t, files(t, dir))
	})
}

func TestPartitionsRefuse(t *testing.T) {
	area := spill.NewArea(t.TempDir(), 0)
	defer area.Close()
	parts := area.NewPartitions(schema, 2)
	x := batch(t, memory.DefaultAllocator, 1, 2)
	require.ErrorContains(t, parts.Append(x, []uint32{0}), "1 partition numbers for 2 rows")
	require.ErrorContains(t, parts.Append(x, []uint32{0, 2}), "partition 2 of 2")
	require.NoError(t, parts.Append(array.NewRecordBatch(schema, x.NewSlice(0, 0).Columns(), 0), nil))
}

// TestSplit: each level looks at the next bits, from the top.
func TestSplit(t *testing.T) {
	h := []uint64{0xA5C0_0000_0000_0001}
	out := make([]uint32, 1)
	for _, c := range []struct {
		level, n int
		want     uint32
	}{
		{0, 1, 0}, {5, 1, 0}, {0, 2, 1}, {1, 2, 0}, {2, 2, 1}, {0, 16, 0xA}, {1, 16, 0x5}, {2, 16, 0xC}, {0, 256, 0xA5}, {1, 256, 0xC0}, {7, 256, 1},
		{15, 16, 1},
	} {
		spill.Split(h, c.level, c.n, out)
		require.Equal(t, c.want, out[0], "level %d of %d", c.level, c.n)
	}
}
