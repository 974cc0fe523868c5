//go:build unix

package kill_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
)

// TestSweepFullTempDir makes each call that sets rows aside on disk with files that may not grow:
// it fails with the cause, having changed nothing, or does its whole work, and leaves no spill file.
// The table is in memory, so that the limit of the process meets spill files alone.
func TestSweepFullTempDir(t *testing.T) {
	refused := map[string]bool{}
	everyCall(t, func(t *testing.T, b *base, c call) {
		tr := newTrials(t, b, c)
		for _, bytes := range []uint64{0, 1, 64, 300, 1000, 2000} {
			mem, dir := tr.fresh(), t.TempDir()
			var outcome idem.Outcome
			err := limited(t, bytes, func() (err error) {
				outcome, err = tr.tightly(tr.b.ctx, mem, 1, dir)
				return err
			})
			if err != nil {
				require.ErrorIs(t, err, syscall.EFBIG)
				refused[c.name] = true
				err = fmt.Errorf("%w: %w", storetest.ErrInjected, err)
			}
			tr.again(t, mem, tr.claim(t, mem, outcome, err))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left, "spill files go with the call")
		}
	})
	require.NotEmpty(t, refused, "no call sets rows aside")
	fmt.Printf("full temporary directories: %d calls met one\n", len(refused))
}

// limited does f while files of this process may have so many bytes at most.
func limited(t *testing.T, bytes uint64, f func() error) error {
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	low := was
	low.Cur = bytes
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low))
	err := f()
	return errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
}
