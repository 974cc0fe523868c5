package smallscope

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store/storetest"
)

// Operations that are treated as commuting do: each gets the same answer, and the store is the same,
// whichever comes first. All pairs of a few operations on a few names, on all stores that these
// can have made.
func TestOperationsThatDoNotConflictCommute(t *testing.T) {
	var ops []*op
	for _, key := range []string{"a/1", "a/2", "b/1"} {
		for _, k := range []storetest.Op{storetest.OpPutIfAbsent, storetest.OpPut, storetest.OpClose, storetest.OpGet, storetest.OpHead, storetest.OpDelete} {
			ops = append(ops, &op{kind: k, key: key, keys: []string{key}, data: []byte(k)})
		}
	}
	ops = append(ops, &op{kind: storetest.OpList}, &op{kind: storetest.OpList, key: "a/"}, &op{kind: storetest.OpList, key: "a/", after: "a/1"},
		&op{kind: storetest.OpDelete, key: "a/1", keys: []string{"a/1", "b/1"}})
	free, bound := 0, 0
	for mask := range 8 {
		d := &disk{}
		for i, key := range []string{"a/1", "a/2", "b/1"} {
			if mask>>i&1 == 1 {
				d = d.put(newObject(key, []byte("there"), time.Time{}, author{writer: -1}))
			}
		}
		for _, a := range ops {
			for _, b := range ops {
				others := newTouched()
				others.add(b)
				if others.conflicts(a) {
					bound++
					continue
				}
				free++
				one, a1 := d.perform(a, author{0, 0}, Honest)
				one, b1 := one.perform(b, author{1, 0}, Honest)
				two, b2 := d.perform(b, author{1, 0}, Honest)
				two, a2 := two.perform(a, author{0, 0}, Honest)
				require.Equal(t, []uint64{one.sum, a1.id, b1.id}, []uint64{two.sum, a2.id, b2.id}, "%s and %s", a, b)
			}
		}
	}
	require.Greater(t, free, 1000)
	require.Greater(t, bound, 500)
}

// Writers that take turns at some operations only end in the same states as writers that take turns
// at every one.
func TestTurnsAtSomeOperationsReachTheSameEnds(t *testing.T) {
	for _, c := range []struct {
		pair   Pair
		faults int
	}{
		{Pair{First: Append, Second: Append}, 0},
		{Pair{First: TxnSame, Second: TxnSame}, 0},
		{Pair{First: MergeSame, Second: Delete}, 0},
		{Pair{First: Optimize, Second: Delete}, 0},
		{Pair{First: AddColumn, Second: ReplaceSame}, 0},
		{Pair{First: CheckpointCleanUp, Second: Append}, 0},
		{Pair{First: Restore, Second: MergeOther}, 0},
		{Pair{First: Append, Second: TxnOther}, 1},
		{Pair{First: ReplaceSame, Second: ReplaceSame, Apart: true}, 1}, // one deletes files of its own that no commit names
	} {
		some := Check(c.pair, Scope{Faults: c.faults}, nil)
		all := Check(c.pair, Scope{Faults: c.faults, Full: true}, nil)
		require.Empty(t, some.Broken, "%s", some)
		require.Empty(t, all.Broken, "%s", all)
		require.True(t, some.SameEnds(all), "%s", c.pair)
		require.Less(t, some.States, all.States)
		t.Logf("%s, %d faults: %d states and %.4g interleavings stand for %d and %.4g", c.pair, c.faults, some.States, some.Interleavings, all.States, all.Interleavings)
	}
}
