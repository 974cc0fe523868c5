package spill_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/spill"
)

var errDisk = errors.New("the disk fails")

// failing is a disk on which the nth operation of a kind fails, once, a write after half of its bytes. With short
// set a read gives half and says that there is no more, instead.
type failing struct {
	spill.Disk
	op    string
	nth   int
	short bool
}

func (d *failing) fails(op string) error {
	if op != d.op {
		return nil
	}
	if d.nth--; d.nth != 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", op, errDisk)
}

func (d *failing) MkdirTemp(dir, pattern string) (string, error) {
	if err := d.fails("mkdir"); err != nil {
		return "", err
	}
	return d.Disk.MkdirTemp(dir, pattern)
}

func (d *failing) CreateTemp(dir, pattern string) (spill.File, error) {
	if err := d.fails("create"); err != nil {
		return nil, err
	}
	f, err := d.Disk.CreateTemp(dir, pattern)
	return failingFile{f, d}, err
}

type failingFile struct {
	spill.File
	disk *failing
}

func (f failingFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.disk.fails("write"); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	return f.File.WriteAt(p, at)
}

func (f failingFile) ReadAt(p []byte, at int64) (int, error) {
	err := f.disk.fails("read")
	switch {
	case err == nil:
		return f.File.ReadAt(p, at)
	case f.disk.short:
		n, _ := f.File.ReadAt(p[:len(p)/2], at)
		return n, io.EOF
	}
	return 0, err
}

// TestADiskThatFailsOnceLosesNothing lets each operation of the disk fail: it is told, the batch that met it is not part of the
// buffer, what came before and what comes behind is.
func TestADiskThatFailsOnceLosesNothing(t *testing.T) {
	for _, op := range []string{"mkdir", "create", "write", "read"} {
		for _, budget := range []int64{1, 20_000} {
			failed := 0
			for nth := 1; ; nth++ {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				d := &failing{Disk: spill.Machine, op: op, nth: nth, short: op == "read" && nth%2 == 0}
				told := d.appendAndRead(t, mem, budget)
				mem.AssertSize(t, 0)
				if d.nth > 0 { // there is no nth
					require.NoError(t, told, "%s %d", op, nth)
					break
				}
				failed++
				require.Error(t, told, "%s %d within %d bytes", op, nth, budget)
				require.Equal(t, !d.short, errors.Is(told, errDisk), "%s %d: %v", op, nth, told)
			}
			require.Positive(t, failed, "%s within %d bytes", op, budget)
		}
	}
}

// appendAndRead fills two buffers and reads them twice, and gives the error that it was told.
func (d *failing) appendAndRead(t *testing.T, mem memory.Allocator, budget int64) (told error) {
	dir := t.TempDir()
	area := spill.NewArea(dir, budget)
	area.Mem, area.Disk = mem, d
	buffers, want := []*spill.Buffer{area.NewBuffer(schema), area.NewBuffer(schema)}, make([][]string, 2)
	for i := range 16 {
		b := batch(t, mem, 1+4*i, 4)
		if err := buffers[i%2].Append(b); err != nil {
			told = errors.Join(told, err)
		} else {
			want[i%2] = append(want[i%2], texts(t, b)...)
		}
		b.Release()
	}
	for _, b := range buffers {
		told = errors.Join(told, readError(b))
	}
	d.op = "" // nothing fails any more
	for i, b := range buffers {
		require.Equal(t, want[i], read(t, b))
	}
	require.NoError(t, area.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	return told
}
