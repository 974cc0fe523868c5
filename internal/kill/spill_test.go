//go:build unix

package kill_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
)

// limitedEnv tells a process that its files may be limited.
const limitedEnv = "IDEM_KILL_LIMITED"

// TestSweepFullTempDir makes each call that sets rows aside on disk with files that may not grow:
// it fails with the cause, having changed nothing, or does its whole work, and leaves no spill file.
// The table is in memory and the calls are made in a process of its own, whose output is a pipe, so that
// the limit of the process meets spill files alone.
func TestSweepFullTempDir(t *testing.T) {
	if os.Getenv(limitedEnv) == "" {
		self, err := os.Executable()
		require.NoError(t, err)
		child := exec.CommandContext(t.Context(), self, "-test.run=^TestSweepFullTempDir$",
			fmt.Sprintf("-test.short=%t", testing.Short()), fmt.Sprintf("-kill.all=%t", *everything))
		child.Env = append(os.Environ(), limitedEnv+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		line := regexp.MustCompile("(?m)^full temporary directories: .*$").Find(out)
		require.NotEmpty(t, line, "%s", out)
		fmt.Printf("%s\n", line)
		return
	}
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
	require.True(t, testing.Short() || len(refused) > 0, "no call sets rows aside") // with -short few calls are made
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
