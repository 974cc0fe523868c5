package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkCommit is one put of 4 KiB under a new log name on the local disk, beside the bare
// system calls that no commit can do without.
func BenchmarkCommit(b *testing.B) {
	data := make([]byte, 4<<10)
	b.Run("by=Dir", func(b *testing.B) {
		d := openDir(b, b.TempDir())
		v := 0
		for b.Loop() {
			require.NoError(b, d.PutIfAbsent(b.Context(), version(v), data))
			v++
		}
	})
	b.Run("by=floor", func(b *testing.B) {
		dir := b.TempDir()
		v := 0
		for b.Loop() {
			require.NoError(b, bareCommit(dir, v, data))
			v++
		}
	})
}

func bareCommit(dir string, v int, data []byte) error {
	temp := filepath.Join(dir, "temp")
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Link(temp, filepath.Join(dir, fmt.Sprint(v))); err != nil {
		return err
	}
	if err := os.Remove(temp); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
