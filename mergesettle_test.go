package idem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
)

// A merge that changes no matched row has no use for which of two rows of the table is meant.
func TestAMergeThatOnlyInsertsLeavesDuplicatesOfTheTable(t *testing.T) {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 5, "a"}, order{"d1", 1, 6, "b"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	insert := idem.Merge{On: []string{"id"}, Matched: []idem.Clause{}}
	for i := range 2 {
		res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 7, "x"}, order{"d1", 2, 7, "n"}), insert)
		require.NoError(t, err)
		require.Equal(t, i == 1, res.Outcome == idem.Unchanged)
		require.ElementsMatch(t, []string{"d1/1/5/a", "d1/1/6/b", "d1/2/7/n"}, f.rows())
	}
	_, err = f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 7, "x"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.ErrorIs(t, err, idem.ErrInput)
}

// Only source rows that delete and match nothing are deletes without a match: not those that are
// inserted, nor those that do nothing.
func TestUnmatchedDeletesAreCounted(t *testing.T) {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 5, "a"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	res, err := f.table.Merge(t.Context(), changes("uudd", order{"d1", 1, 6, "A"}, order{"d1", 2, 6, "n"}, order{"d1", 3, 6, ""}, order{"d1", 4, 6, ""}),
		idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "op = 'd'"})
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1, 0, 2}, []int64{res.Inserted, res.Updated, res.Deleted, res.UnmatchedDeletes})
}

// What the source rows do is settled anew after a race: a row that was to be updated and is gone is
// inserted, beside those that were inserted already.
func TestAMergeInsertsWhatAnotherWriterDeletedMeanwhile(t *testing.T) {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 5, "a"}, order{"d1", 2, 5, "b"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	f.raced(func(other *idem.Table) {
		_, err := other.Delete(t.Context(), idem.Delete{Where: "id = 2"})
		require.NoError(t, err)
	})
	res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 3, 6, "n"}, order{"d1", 2, 6, "B"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.Equal(t, []int64{2, 0}, []int64{res.Inserted, res.Updated})
	require.ElementsMatch(t, []string{"d1/1/5/a", "d1/2/6/B", "d1/3/6/n"}, f.rows())
}
