package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

func TestWithOutsideReadsAndNeverChanges(t *testing.T) {
	home, other := store.NewMem(), t.TempDir()
	dir, err := store.OpenDir(other)
	require.NoError(t, err)
	require.NoError(t, dir.PutIfAbsent(t.Context(), "a b/x%41", []byte("there")))
	require.NoError(t, home.PutIfAbsent(t.Context(), "x", []byte("here")))
	key := dir.URL()[:len(dir.URL())-1] + "/a b/x%41"
	require.True(t, delta.IsOutside(key))

	var asked []string
	s := store.WithOutside(home, func(_ context.Context, url string) (store.Store, error) {
		asked = append(asked, url)
		return dir, nil
	})
	require.True(t, store.ReadsOutside(s))
	require.False(t, store.ReadsOutside(home))
	for range 2 {
		data, err := s.Get(t.Context(), key, 0)
		require.NoError(t, err)
		require.Equal(t, "there", string(data))
	}
	info, err := s.Head(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, key, info.Key)
	p := make([]byte, 2)
	require.NoError(t, s.GetRange(t.Context(), key, 1, p))
	require.Equal(t, "he", string(p))
	require.Equal(t, []string{dir.URL() + "a%20b/"}, asked, "once for a directory")
	data, err := s.Get(t.Context(), "x", 0)
	require.NoError(t, err)
	require.Equal(t, "here", string(data))

	require.Error(t, s.PutIfAbsent(t.Context(), key, nil))
	require.Error(t, s.Put(t.Context(), key, nil))
	require.Error(t, s.Delete(t.Context(), "x", key))
	_, err = s.Create(t.Context(), key)
	require.Error(t, err)
	_, err = s.Head(t.Context(), "x")
	require.NoError(t, err, "nothing was deleted, of those beside it neither")
}

func TestWithOutsideRefuses(t *testing.T) {
	const key = "file:///elsewhere/a"
	for why, open := range map[string]func(context.Context, string) (store.Store, error){
		"an error":              func(context.Context, string) (store.Store, error) { return nil, errors.New("no") },
		"no store":              func(context.Context, string) (store.Store, error) { return nil, nil },
		"a store of other keys": func(context.Context, string) (store.Store, error) { return store.NewMem(), nil },
	} {
		_, err := store.WithOutside(store.NewMem(), open).Get(t.Context(), key, 0)
		require.ErrorIs(t, err, delta.ErrUnsupported, why)
		require.ErrorContains(t, err, key)
	}
}
