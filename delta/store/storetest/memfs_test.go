package storetest_test

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store/storetest"
)

func oldest(int) int   { return 0 }
func newest(n int) int { return n - 1 }

// contents is a file's bytes, or "(absent)".
func contents(t *testing.T, m *storetest.MemFS, name string) string {
	t.Helper()
	f, err := m.Open(name)
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
		return "(absent)"
	}
	info, err := f.Stat()
	require.NoError(t, err)
	p := make([]byte, info.Size())
	_, err = f.ReadAt(p, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return string(p)
}

func temp(t *testing.T, m *storetest.MemFS, data string, sync bool) string {
	t.Helper()
	f, err := m.CreateTemp(".")
	require.NoError(t, err)
	_, err = f.Write([]byte(data))
	require.NoError(t, err)
	if sync {
		require.NoError(t, f.Sync())
	}
	require.NoError(t, f.Close())
	return f.Name()
}

func TestPowerCutForgets(t *testing.T) {
	m := storetest.NewMemFS()
	a, b := temp(t, m, "aaaa", true), temp(t, m, "bbbb", false)
	require.Equal(t, "(absent)", contents(t, m.Crash(oldest), a), "the name was not synced")
	require.Equal(t, "aaaa", contents(t, m.Crash(newest), a))
	require.NoError(t, m.SyncDir("."))
	require.Equal(t, "aaaa", contents(t, m.Crash(oldest), a))
	require.Equal(t, "", contents(t, m.Crash(oldest), b), "the bytes were not synced")
	require.Equal(t, "bb", contents(t, m.Crash(func(int) int { return 1 }), b))
	require.Equal(t, "\x00\x00\x00\x00", contents(t, m.Crash(func(int) int { return 2 }), b))
	require.Equal(t, "bbbb", contents(t, m.Crash(newest), b))

	require.NoError(t, m.Link(a, "x"))
	require.NoError(t, m.Remove(a))
	require.NoError(t, m.Rename(b, "x"))
	c := m.Crash(oldest)
	require.Equal(t, "aaaa", contents(t, c, a), "the removal was not synced")
	require.Equal(t, "(absent)", contents(t, c, "x"))
	require.Equal(t, "aaaa", contents(t, m.Crash(func(n int) int { return min(1, n-1) }), "x"), "a state in between")
	require.Equal(t, "(absent)", contents(t, m.Crash(newest), a))
	require.Equal(t, "bbbb", contents(t, m, "x"), "the file system itself goes on")

	require.NoError(t, m.Mkdir("d"))
	require.NoError(t, m.SyncDir("d"))
	_, err := m.Crash(oldest).ReadDir("d")
	require.ErrorIs(t, err, fs.ErrNotExist, "a directory's name is in the one above")
}

func TestFailedSyncLies(t *testing.T) {
	m := storetest.NewMemFS()
	f, err := m.CreateTemp(".")
	require.NoError(t, err)
	require.NoError(t, m.SyncDir("."))
	_, err = f.Write([]byte("data"))
	require.NoError(t, err)
	m.Fail(storetest.FSFault{Op: storetest.FSSync, Nth: 1})
	require.ErrorIs(t, f.Sync(), syscall.EIO)
	require.NoError(t, f.Sync())
	require.Equal(t, "", contents(t, m.Crash(oldest), f.Name()))
}

func TestFSFaults(t *testing.T) {
	m := storetest.NewMemFS()
	name := temp(t, m, "x", true)
	m.Fail(
		storetest.FSFault{Op: storetest.FSLink, Nth: 1, Err: syscall.ENOSPC},
		storetest.FSFault{Op: storetest.FSLink, Nth: 2, When: storetest.After},
	)
	require.ErrorIs(t, m.Link(name, "a"), syscall.ENOSPC)
	require.Equal(t, "(absent)", contents(t, m, "a"))
	require.ErrorIs(t, m.Link(name, "a"), syscall.EIO)
	require.Equal(t, "x", contents(t, m, "a"))
	require.ErrorIs(t, m.Link(name, "a"), fs.ErrExist)

	f, err := m.CreateTemp(".")
	require.NoError(t, err)
	m.Fail(storetest.FSFault{Op: storetest.FSWrite, Nth: 1, When: storetest.Halfway, Crash: true})
	n, err := f.Write([]byte("1234"))
	require.ErrorIs(t, err, storetest.ErrCrashed)
	require.Equal(t, 2, n)
	require.ErrorIs(t, m.Remove("a"), storetest.ErrCrashed, "a dead process does nothing")
	m.Heal()
	require.Equal(t, "12", contents(t, m, f.Name()))
}

func TestDiskLimit(t *testing.T) {
	m := storetest.NewMemFS()
	m.Limit(6)
	a := temp(t, m, "1234", true)
	f, err := m.CreateTemp(".")
	require.NoError(t, err)
	n, err := f.Write([]byte("5678"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 2, n)
	require.NoError(t, m.Link(a, "b"))
	require.NoError(t, m.Remove(a))
	_, err = f.Write([]byte("7"))
	require.ErrorIs(t, err, syscall.ENOSPC, "the file has another name")
	require.NoError(t, m.Remove("b"))
	_, err = f.Write([]byte("78"))
	require.NoError(t, err)
	require.Equal(t, "5678", contents(t, m.Crash(newest), f.Name()))
}

func TestPathErrors(t *testing.T) {
	m := storetest.NewMemFS()
	name := temp(t, m, "x", true)
	require.NoError(t, m.Mkdir("d"))
	for want, err := range map[error]error{
		fs.ErrExist:     m.Mkdir("d"),
		syscall.ENOTDIR: m.Link(name, name+"/x"),
		fs.ErrNotExist:  m.Remove("none"),
		syscall.EISDIR:  m.Rename(name, "d"),
	} {
		require.ErrorIs(t, err, want)
		var pathError *fs.PathError
		require.ErrorAs(t, err, &pathError)
	}
}
