package idem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/rows"
)

// Rows and digest of a file stand in the log, where anybody may have written them: Verify reads the rows.
func TestVerifyDoesNotBelieveTheLog(t *testing.T) {
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{})
	require.NoError(t, err)
	res, err := table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	is, err := table.Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
	require.NoError(t, err)

	key := delta.CommitKey(res.Version)
	data, err := mem.Get(t.Context(), key, 0)
	require.NoError(t, err)
	actions, err := delta.DecodeCommit(key, data)
	require.NoError(t, err)
	for _, a := range actions {
		if a.Add != nil {
			a.Add.Tags[plan.TagName] = plan.FormatFingerprint(is.Rows, rows.Digest{}, nil)
		}
	}
	data, err = delta.EncodeCommit(actions)
	require.NoError(t, err)
	require.NoError(t, mem.Put(t.Context(), key, data))

	told, err := opened(t, mem).Fingerprint(t.Context(), idem.Fingerprint{})
	require.NoError(t, err)
	require.NotEqual(t, is.Digest, told.Digest)
	_, err = opened(t, mem).Fingerprint(t.Context(), idem.Fingerprint{Verify: true})
	require.ErrorIs(t, err, idem.ErrCorrupt)
	require.ErrorContains(t, err, "holds other rows than its tag")
}

// A key whose rows alone are more than the memory for rows is counted as any other.
func TestDuplicatesOfAKeyThatIsLargerThanItsMemory(t *testing.T) {
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{MemoryBytes: 1, TempDir: t.TempDir()})
	require.NoError(t, err)
	list := []order{{"d1", 2, 1, "b"}, {"d1", 3, 1, "c"}}
	for i := range int64(1000) {
		list = append(list, order{"d1", 1, i, "a"})
	}
	_, err = table.Append(t.Context(), rowsOf(list...), idem.Append{Reason: "test"})
	require.NoError(t, err)
	found, err := table.Duplicates(t.Context(), idem.Duplicates{On: []string{"id"}})
	require.NoError(t, err)
	require.EqualValues(t, 999, found.Extra)
	require.Len(t, found.Samples, 1)
	require.EqualValues(t, 1000, found.Samples[0].Count)
	print, err := table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"id"}})
	require.NoError(t, err)
	require.EqualValues(t, 1002, print.Rows)
	require.EqualValues(t, 3, print.Keys)
}
