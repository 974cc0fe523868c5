package delta

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// depth checks the heights and the balance of every node.
func (n *node[V]) depth(t require.TestingT) int {
	if n == nil {
		return 0
	}
	l, r := n.left.depth(t), n.right.depth(t)
	require.LessOrEqual(t, max(l, r)-min(l, r), 1, "an AVL tree")
	require.Equal(t, 1+max(l, r), n.height)
	return n.height
}

func TestTreeEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Map(rapid.IntRange(0, 40), strconv.Itoa)
		model := map[string]int{}
		var pairs []pair[int]
		for i, k := range rapid.SliceOf(key).Draw(t, "built") {
			pairs = append(pairs, pair[int]{k, i})
			model[k] = i
		}
		tr := newTree(pairs)
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			old, n := slices.Collect(tr.values()), tr.n
			k := key.Draw(t, "key")
			var next tree[int]
			if rapid.Bool().Draw(t, "put") {
				next = tr.with(k, -i)
				model[k] = -i
			} else {
				next = tr.without(k)
				delete(model, k)
			}
			require.Equal(t, old, slices.Collect(tr.values()), "the old tree stands")
			require.Equal(t, n, tr.n)
			tr = next
		}
		tr.root.depth(t)
		require.Equal(t, len(model), tr.n)
		for i := range 41 {
			k := strconv.Itoa(i)
			want, in := model[k]
			got, ok := tr.get(k)
			require.Equal(t, in, ok)
			require.Equal(t, want, got)
		}
	})
}

func TestTreeStaysShallowUnderAscendingKeys(t *testing.T) {
	var tr tree[int]
	for i := range 1 << 12 {
		tr = tr.with(string(rune('a'+i>>8))+strconv.Itoa(100000+i), i)
	}
	require.LessOrEqual(t, tr.root.height, 18)
}
