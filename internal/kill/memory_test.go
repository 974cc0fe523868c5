package kill_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// scarce is an allocator that gives a number of buffers and then fails as allocators do: by a panic.
type scarce struct {
	memory.Allocator
	left int // before the panic; -1: no limit
	made int
}

var errScarce = errors.New("the allocator has nothing left")

func (s *scarce) take() {
	if s.left == 0 {
		panic(errScarce)
	}
	s.left--
	s.made++
}

func (s *scarce) Allocate(n int) []byte { s.take(); return s.Allocator.Allocate(n) }

func (s *scarce) Reallocate(n int, b []byte) []byte { s.take(); return s.Allocator.Reallocate(n, b) }

// caught makes a call and gives what it panicked with as an error.
func caught(f func() (idem.Outcome, error)) (outcome idem.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return f()
}

var errPanic = fmt.Errorf("a panic went through the call: %w", storetest.ErrCrashed)

// TestSweepScarceAllocator lets Options.Allocator fail at each of its buffers. Its panic goes through
// the call, or comes back as an error from where files are coded; either way it is as if the process
// had died there: the table is what it was, or holds the whole work, and the call made again is well.
func TestSweepScarceAllocator(t *testing.T) {
	tried, panics := 0, 0
	everyCall(t, func(t *testing.T, b *base, c call) {
		tr := newTrials(t, b, c)
		whole := &scarce{Allocator: memory.DefaultAllocator, left: -1}
		_, err := tr.scarcely(whole, tr.fresh())
		require.NoError(t, err)
		step := 1 + whole.made/40
		if *everything {
			step = 1
		}
		for n := 0; n < whole.made; n += step {
			mem := tr.fresh()
			outcome, err := tr.scarcely(&scarce{Allocator: memory.DefaultAllocator, left: n}, mem)
			tried++
			switch {
			case errors.Is(err, errPanic):
				panics++
			case err != nil:
				require.ErrorContains(t, err, errScarce.Error())
				err = fmt.Errorf("%w: %w", storetest.ErrInjected, err)
			}
			tr.again(t, mem, tr.claim(t, mem, outcome, err))
		}
	})
	require.Positive(t, tried)
	fmt.Printf("allocators: %d failures, %d of them panics of the call\n", tried, panics)
}

func (tr *trials) scarcely(mem memory.Allocator, st store.Store) (idem.Outcome, error) {
	o := tr.b.options()
	o.Allocator = mem
	return caught(func() (idem.Outcome, error) { return tr.run(tr.b.ctx, tr.b, st, o) })
}

// TestSweepTinyBudget makes each call within a budget of one byte, and of a few: it does the same.
func TestSweepTinyBudget(t *testing.T) {
	everyCall(t, func(t *testing.T, b *base, c call) {
		tr := newTrials(t, b, c)
		for _, budget := range []int64{1, 100, 4096} {
			mem, dir := tr.fresh(), t.TempDir()
			outcome, err := tr.tightly(tr.b.ctx, mem, budget, dir)
			require.NoError(t, err, "a budget of %d bytes", budget)
			tr.again(t, mem, tr.claim(t, mem, outcome, err))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left, "spill files go with the call")
		}
	})
}

func (tr *trials) tightly(ctx context.Context, st store.Store, budget int64, dir string) (idem.Outcome, error) {
	o := tr.b.options()
	o.MemoryBytes, o.TempDir = budget, dir
	return tr.run(ctx, tr.b, st, o)
}
