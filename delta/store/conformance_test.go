package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

func openDir(t testing.TB, path string) *store.Dir {
	t.Helper()
	d, err := store.OpenDir(path)
	require.NoError(t, err)
	return d
}

func TestMem(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return store.NewMem() })
}

func TestDir(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return openDir(t, filepath.Join(t.TempDir(), "not", "yet", "there"))
	})
}

func TestDirOverMemFS(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store {
		return store.OpenFileSystem(storetest.NewMemFS(), "memfs:///")
	})
}

func TestFaultyWithoutRules(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return storetest.NewFaulty(store.NewMem()) })
}

func TestMemClock(t *testing.T) {
	now := time.Unix(100, 0)
	m := store.NewMemClock(func() time.Time { return now })
	require.NoError(t, m.Put(t.Context(), "a", nil))
	now = now.Add(time.Hour)
	require.NoError(t, m.Put(t.Context(), "b", nil))
	info, err := m.Head(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, time.Unix(100, 0), info.ModTime)
	info, err = m.Head(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, now, info.ModTime)
}

func TestMemClone(t *testing.T) {
	m := store.NewMem()
	require.NoError(t, m.Put(t.Context(), "both", []byte("1")))
	c := m.Clone()
	require.NoError(t, c.Put(t.Context(), "both", []byte("2")))
	require.NoError(t, m.Put(t.Context(), "mine", nil))
	data, err := m.Get(t.Context(), "both", 0)
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	_, err = c.Head(t.Context(), "mine")
	require.ErrorIs(t, err, store.ErrNotExist)
}
