package kill_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// keysOf are the names of what is in a store.
func keysOf(t *testing.T, st store.Store) map[string]bool {
	keys := map[string]bool{}
	for info, err := range st.List(t.Context(), "", "") {
		require.NoError(t, err)
		keys[info.Key] = true
	}
	return keys
}

func isThere(t *testing.T, st store.Store, key string) bool {
	_, err := st.Head(t.Context(), key)
	if errors.Is(err, store.ErrNotExist) {
		return false
	}
	require.NoError(t, err)
	return true
}

// swept tells whether all is gone that a run deletes.
func swept(t *testing.T, tr *trials, st store.Store) bool {
	for key := range tr.gone {
		if isThere(t, st, key) {
			return false
		}
	}
	return true
}

// vacuumed tells whether a vacuum has deleted everything and says so.
func vacuumed(t *testing.T, tr *trials, st store.Store) bool {
	version := versionOf(t, st)
	data, err := st.Get(t.Context(), delta.CommitKey(version), 0)
	require.NoError(t, err)
	actions, err := delta.DecodeCommit(delta.CommitKey(version), data)
	require.NoError(t, err)
	info := delta.InfoOf(actions)
	require.NotNil(t, info)
	said := info.Operation == "VACUUM END" && info.OperationParameters["status"] == "COMPLETED"
	if said {
		require.True(t, swept(t, tr, st), "a vacuum that says that it has completed has deleted everything")
	}
	return said
}

// checkpointed tells whether the newest version has a checkpoint and the hint names it. A hint never names one that
// is not there.
func checkpointed(t *testing.T, tr *trials, st store.Store) bool {
	data, err := st.Get(t.Context(), delta.LastCheckpointKey, 0)
	if errors.Is(err, store.ErrNotExist) {
		return false
	}
	require.NoError(t, err)
	hint, err := delta.DecodeLastCheckpoint(data)
	require.NoError(t, err)
	key := delta.CheckpointKey(hint.Version)
	if hint.V2 != nil {
		key = delta.LogDir + hint.V2.Path
	}
	require.True(t, isThere(t, st, key), "the hint names a checkpoint that is there")
	return hint.Version == tr.version
}

// What CompactLog puts together.
const compactedFrom, compactedTo = 1, 4

func compacted(t *testing.T, _ *trials, st store.Store) bool {
	return isThere(t, st, delta.CompactionKey(compactedFrom, compactedTo))
}

// has makes a question of whether a table has a feature, or has it no more.
func has(feature string, want bool) func(*testing.T, *trials, store.Store) bool {
	return func(t *testing.T, tr *trials, st store.Store) bool {
		table, err := idem.OpenStore(tr.b.ctx, st, tr.b.options())
		require.NoError(t, err)
		return table.Snapshot().Protocol().Supports(feature) == want
	}
}
