package idem_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
)

// tenRows is a table with ten rows in one file, ids 1 to 10.
func tenRows(t *testing.T, properties ...string) *fixture {
	f := newFixture(t, properties...)
	var list []order
	for id := range int64(10) {
		list = append(list, order{"d1", id + 1, 1, "v"})
	}
	_, err := f.table.Append(t.Context(), rowsOf(list...), idem.Append{Reason: "test"})
	require.NoError(t, err)
	return f
}

// vectorOf is the vector of the one file that has one.
func (f *fixture) vectorOf() *delta.DeletionVector {
	var found []*delta.DeletionVector
	for add := range f.other().Snapshot().Files() {
		if add.DeletionVector != nil {
			found = append(found, add.DeletionVector)
		}
	}
	require.Len(f.t, found, 1)
	return found[0]
}

// TestAWinnerThatChangedAVector: a file under another vector is another file, and what was planned for
// it is planned anew.
func TestAWinnerThatChangedAVector(t *testing.T) {
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	for _, c := range []struct {
		why    string
		theirs func(o *idem.Table) error
		want   []string
		dead   int64
	}{
		{"another row was deleted: the vectors add up", func(o *idem.Table) error {
			_, err := o.Delete(t.Context(), idem.Delete{Where: "id = 2"})
			return err
		}, []string{"d1/1/2/ours"}, 2},
		{"another row was updated", func(o *idem.Table) error {
			_, err := o.Merge(t.Context(), rowsOf(order{"d1", 2, 2, "theirs"}), byID)
			return err
		}, []string{"d1/1/2/ours", "d1/2/2/theirs"}, 2},
		{"our row was updated to a newer version: ours is skipped", func(o *idem.Table) error {
			_, err := o.Merge(t.Context(), rowsOf(order{"d1", 1, 3, "theirs"}), byID)
			return err
		}, []string{"d1/1/3/theirs", "d1/2/1/v"}, 1},
		{"our row was deleted: ours is inserted", func(o *idem.Table) error {
			_, err := o.Delete(t.Context(), idem.Delete{Where: "id = 1"})
			return err
		}, []string{"d1/1/2/ours", "d1/2/1/v"}, 1},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := tenRows(t, marked...)
			f.raced(func(o *idem.Table) { require.NoError(t, c.theirs(o)) })
			for i := range 2 {
				res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 2, "ours"}), byID)
				require.NoError(t, err)
				require.Equal(t, i == 1 || c.dead == 1 && c.want[0] == "d1/1/3/theirs", res.Outcome == idem.Unchanged)
				want := c.want
				for id := 3; id <= 10; id++ {
					want = append(want, fmt.Sprintf("d1/%d/1/v", id))
				}
				require.ElementsMatch(t, want, f.rows())
				require.Equal(t, c.dead, f.vectorOf().Cardinality)
			}
		})
	}
}

// TestAMergeThatFailsLeavesNoVector: what was written for a commit that was never tried is removed.
func TestAMergeThatFailsLeavesNoVector(t *testing.T) {
	f := tenRows(t, marked...)
	objects := func() (keys []string) {
		for o := range f.mem.List(t.Context(), "", "") {
			keys = append(keys, o.Key)
		}
		return keys
	}
	before := objects()
	f.store.Reset(storetest.Rule{Op: storetest.OpCreate, Nth: 2, Fault: storetest.Fault{Kind: storetest.Denied}}) // the vectors come first
	_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 2, "u"}, order{"d1", 11, 2, "n"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.Error(t, err)
	f.store.Reset()
	require.Equal(t, before, objects())
}
