//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store"
)

// TestNamedPipe: reading one would wait for a writer for ever.
func TestNamedPipe(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	_, err := d.Get(t.Context(), "pipe", 0)
	requireUndecided(t, err)
	_, err = d.Head(t.Context(), "pipe")
	requireUndecided(t, err)
	require.Empty(t, keys(t, d))
	require.ErrorIs(t, d.PutIfAbsent(t.Context(), "pipe", nil), store.ErrExist)
}

// TestSparseFile: a size that costs nothing to claim must not cost memory.
func TestSparseFile(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	write(t, root, "huge")
	if err := os.Truncate(filepath.Join(root, "huge"), 1<<43); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	_, err := d.Get(t.Context(), "huge", 1<<20)
	require.ErrorIs(t, err, store.ErrTooLarge)
	p := make([]byte, 7)
	require.NoError(t, d.GetRange(t.Context(), "huge", 0, p))
	require.Equal(t, "content", string(p))
}

// TestNamesThatAreNotUTF8 can be listed, read and deleted like all others.
func TestNamesThatAreNotUTF8(t *testing.T) {
	d := openDir(t, t.TempDir())
	if err := d.PutIfAbsent(t.Context(), "a/\xff\xfe", []byte("x")); err != nil {
		t.Skipf("the file system wants UTF-8: %v", err)
	}
	require.Equal(t, []string{"a/\xff\xfe"}, keys(t, d))
	require.NoError(t, d.Delete(t.Context(), "a/\xff\xfe"))
	require.Empty(t, keys(t, d))
}

// A log may name a file that the file system has no room for in a name: nothing can be there, and a vacuum
// that asks is told so, for good.
func TestANameThatIsTooLongIsOfNoObject(t *testing.T) {
	d := openDir(t, t.TempDir())
	for _, key := range []string{strings.Repeat("n", 300), strings.Repeat("n", 300) + "/a", "a/" + strings.Repeat("n", 300)} {
		_, err := d.Head(t.Context(), key)
		require.ErrorIs(t, err, store.ErrNotExist)
		_, err = d.Get(t.Context(), key, 0)
		require.ErrorIs(t, err, store.ErrNotExist)
		require.ErrorIs(t, d.GetRange(t.Context(), key, 0, make([]byte, 1)), store.ErrNotExist)
		require.NoError(t, d.Delete(t.Context(), key))
		err = d.PutIfAbsent(t.Context(), key, nil)
		require.Error(t, err, "and none can be put there")
		require.NotErrorIs(t, err, store.ErrExist)
	}
}
