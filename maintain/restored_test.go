package maintain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/maintain"
)

// A version that a restore made holds the batches up to the one that it went back to, although its record
// is of a later one: who goes back to it must not lose the later one in silence.
func TestRestoreOfAVersionThatARestoreMade(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2)
	restored := f.restore(maintain.Version(1)).Version
	_, err := f.table.AppendWithTxn(t.Context(), rowsOf(row{"a", 2, "x"}), idem.Txn{AppID: "loader", Version: 2, Reapply: true})
	require.NoError(t, err)

	res := f.restore(maintain.Version(restored))
	require.Equal(t, []string{"loader"}, res.Undone)
	require.Equal(t, []string{"a/1/x"}, f.rows())
	_, err = f.load(2)
	require.ErrorIs(t, err, idem.ErrRestored)
	again, err := f.load(1)
	require.NoError(t, err)
	require.NotEqual(t, idem.Committed, again.Outcome)
	require.Equal(t, idem.Unchanged, f.restore(maintain.Version(restored)).Outcome)
}

func TestARestoreForwardTakesNoTagBack(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.loaded(1)
	f.loaded(2) // version 2
	require.Equal(t, []string{"loader"}, f.restore(maintain.Version(1)).Undone)
	require.Empty(t, f.restore(maintain.Version(2)).Undone)
	record, _ := f.other().Snapshot().Txn("idem/v1/undone/loader")
	require.EqualValues(t, int64(1<<63-1), record.Version, "the record says that nothing is undone")
}

// A tag that the table has forgotten since (delta.setTransactionRetentionDuration) comes back with the rows
// of its batches: they must not be written a second time.
func TestRestoreBringsForgottenTagsBack(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.setTransactionRetentionDuration": "interval 1 day"}})
	f.loaded(1) // version 1
	f.delete("id = 1")
	f.clock.now = f.clock.now.Add(2 * day)
	_, err := maintain.Checkpoint(t.Context(), f.table)
	require.NoError(t, err)
	f.table = f.other()
	_, known := f.table.Snapshot().Txn("loader")
	require.False(t, known)

	f.restore(maintain.Version(1))
	require.Equal(t, []string{"a/1/x"}, f.rows())
	res, err := f.load(1)
	require.NoError(t, err)
	require.Equal(t, idem.AlreadyApplied, res.Outcome)
	require.Equal(t, []string{"a/1/x"}, f.rows())
}

// Others leave records with an empty app id: they are read, and never written.
func TestRestoreWritesNoRecordWithoutAnAppID(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"}) // version 1
	f.commit("WRITE", delta.Action{Txn: &delta.Txn{AppID: "", Version: 3}})
	f.table = f.other()
	f.append(row{"a", 2, "x"})
	res := f.restore(maintain.Version(1))
	require.Empty(t, res.Undone)
	for app := range f.other().Snapshot().Txns() {
		require.NotContains(t, app.AppID, "undone")
	}
}

// What a restore brings back is a change of data, also where the file came by an optimize, which was none:
// whoever follows the table must see the rows come.
func TestARestoreSaysThatItChangesData(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "x"})
	optimized := f.optimize(maintain.Optimize{}).Version
	f.delete("id > 0")
	f.restore(maintain.Version(optimized))
	files := f.files()
	require.Len(t, files, 1)
	require.True(t, files[0].DataChange)
}

func TestRestoreOfADefinitionOfAnAppendOnlyTable(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.appendOnly": "true", "owner": "a"}})
	f.append(row{"a", 1, "x"}) // version 1
	alter(f, f.table, maintain.SetProperties{Properties: map[string]string{"owner": "b"}})
	res := f.restore(maintain.Version(1))
	require.Equal(t, idem.Committed, res.Outcome, "no file goes")
	require.Equal(t, "a", f.other().Snapshot().Metadata().Configuration["owner"])
}

// A version without a schema, as others have made tables, is none to go back to.
func TestRestoreOfAVersionWithoutASchema(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.unchecked = true
	whole := *f.other().Snapshot().Metadata()
	bare := whole
	bare.SchemaString = ""
	f.commit("WRITE", delta.Action{Metadata: &bare})  // version 1
	f.commit("WRITE", delta.Action{Metadata: &whole}) // version 2
	f.table = f.other()
	_, err := maintain.RestoreTable(t.Context(), f.table, maintain.Restore{To: maintain.Version(1)})
	require.ErrorIs(t, err, idem.ErrCorrupt)
	require.ErrorContains(t, err, "no schema")
	require.EqualValues(t, 2, f.other().Version())
}

// A file under another deletion vector is another file, whichever way a restore goes.
func TestRestoreBringsBackRowsThatAVectorDeleted(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
	f.append(row{"a", 1, "x"}, row{"a", 2, "y"}, row{"a", 3, "z"}) // version 1
	f.delete("id = 1")
	require.NotNil(t, f.files()[0].DeletionVector)
	res := f.restore(maintain.Version(1))
	require.EqualValues(t, 1, res.FilesRestored)
	require.Equal(t, []string{"a/1/x", "a/2/y", "a/3/z"}, f.rows())
	f.restore(maintain.Version(2))
	require.Equal(t, []string{"a/2/y", "a/3/z"}, f.rows())
}
