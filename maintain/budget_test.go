package maintain_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/maintain"
)

// gauge is an allocator that knows the most that was held through it.
type gauge struct {
	memory.Allocator
	held, most atomic.Int64
}

func (g *gauge) count(n int) {
	held := g.held.Add(int64(n))
	for most := g.most.Load(); held > most && !g.most.CompareAndSwap(most, held); most = g.most.Load() {
	}
}

func (g *gauge) Allocate(n int) []byte { g.count(n); return g.Allocator.Allocate(n) }
func (g *gauge) Free(b []byte)         { g.count(-len(b)); g.Allocator.Free(b) }
func (g *gauge) Reallocate(n int, b []byte) []byte {
	g.count(n - len(b))
	return g.Allocator.Reallocate(n, b)
}

// Rows that are twenty times the budget are copied, and ordered, within it. What a reader holds of one
// file at a time is beside it.
func TestOptimizeStaysWithinItsBudget(t *testing.T) {
	const (
		budget = 512 << 10
		file   = 1000 // rows of a file, of a kilobyte each
	)
	f := newFixture(t, idem.Definition{})
	for n := range int64(10) {
		var list []row
		for i := range int64(file) {
			id := (i*7919 + n) % 10007
			list = append(list, row{"a", id, fmt.Sprintf("%06d", id*31%10007) + strings.Repeat("x", 1000)})
		}
		f.append(list...)
	}
	before, target := f.fingerprint(), 9*f.files()[0].Size/2 // four files, or two
	for _, by := range [][]string{nil, {"id", "v"}} {
		for _, parallelism := range []int{1, 3} {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			g := &gauge{Allocator: mem}
			o := f.options()
			o.MemoryBytes, o.TempDir, o.Allocator, o.Parallelism = budget, t.TempDir(), g, parallelism
			var err error
			f.table, err = idem.OpenStore(t.Context(), f.mem, o)
			require.NoError(t, err)
			res := f.optimize(maintain.Optimize{ZOrderBy: by, TargetFileBytes: target})
			require.EqualValues(t, 10*file, res.RowsCopied)
			require.Less(t, g.most.Load(), int64(budget+parallelism*3*file*1024), "ordered by %v on %d goroutines", by, parallelism)
			t.Logf("ordered by %v on %d goroutines: %d KiB at most", by, parallelism, g.most.Load()>>10)
			mem.AssertSize(t, 0)
			require.Equal(t, before, f.fingerprint())
			f.restore(maintain.Version(10))
		}
	}
}
