package delta

import (
	"cmp"
	"iter"
	"slices"
)

// tree is a map with string keys in order. It is persistent: with and without give a new tree that
// shares all but the path to the change, so a snapshot costs what its commit changed. It is an AVL
// tree, whose depth no choice of keys can spoil. The zero tree is empty.
type tree[V any] struct {
	root *node[V]
	n    int
}

type node[V any] struct {
	key         string
	value       V
	left, right *node[V]
	height      int
}

// pair is a key and its value.
type pair[V any] struct {
	key   string
	value V
}

// sortPairs sorts by key; pairs with one key keep their order.
func sortPairs[V any](pairs []pair[V]) {
	slices.SortStableFunc(pairs, func(a, b pair[V]) int { return cmp.Compare(a.key, b.key) })
}

// newTree builds a balanced tree. Of pairs with one key the last counts. It uses up the slice.
func newTree[V any](pairs []pair[V]) tree[V] {
	sortPairs(pairs)
	kept := pairs[:0]
	for _, p := range pairs {
		if n := len(kept); n > 0 && kept[n-1].key == p.key {
			kept[n-1] = p
			continue
		}
		kept = append(kept, p)
	}
	return tree[V]{root: build(kept), n: len(kept)}
}

func build[V any](pairs []pair[V]) *node[V] {
	if len(pairs) == 0 {
		return nil
	}
	mid := len(pairs) / 2
	return newNode(pairs[mid].key, pairs[mid].value, build(pairs[:mid]), build(pairs[mid+1:]))
}

func (t tree[V]) get(key string) (v V, ok bool) {
	for n := t.root; n != nil; {
		switch c := cmp.Compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n.value, true
		}
	}
	return v, false
}

func (t tree[V]) with(key string, v V) tree[V] {
	root, added := t.root.with(key, v)
	if added {
		t.n++
	}
	t.root = root
	return t
}

func (t tree[V]) without(key string) tree[V] {
	root, removed := t.root.without(key)
	if removed {
		t.n--
		t.root = root
	}
	return t
}

// values yields the values in the order of their keys.
func (t tree[V]) values() iter.Seq[V] {
	return func(yield func(V) bool) { t.root.each(yield) }
}

func (n *node[V]) each(yield func(V) bool) bool {
	return n == nil || n.left.each(yield) && yield(n.value) && n.right.each(yield)
}

func (n *node[V]) tall() int {
	if n == nil {
		return 0
	}
	return n.height
}

func newNode[V any](key string, v V, left, right *node[V]) *node[V] {
	return &node[V]{key: key, value: v, left: left, right: right, height: 1 + max(left.tall(), right.tall())}
}

func (n *node[V]) with(key string, v V) (root *node[V], added bool) {
	if n == nil {
		return newNode(key, v, nil, nil), true
	}
	switch c := cmp.Compare(key, n.key); {
	case c < 0:
		left, added := n.left.with(key, v)
		return balanced(n.key, n.value, left, n.right), added
	case c > 0:
		right, added := n.right.with(key, v)
		return balanced(n.key, n.value, n.left, right), added
	}
	return newNode(n.key, v, n.left, n.right), false
}

func (n *node[V]) without(key string) (root *node[V], removed bool) {
	if n == nil {
		return nil, false
	}
	switch c := cmp.Compare(key, n.key); {
	case c < 0:
		left, removed := n.left.without(key)
		if !removed {
			return n, false
		}
		return balanced(n.key, n.value, left, n.right), true
	case c > 0:
		right, removed := n.right.without(key)
		if !removed {
			return n, false
		}
		return balanced(n.key, n.value, n.left, right), true
	case n.left == nil:
		return n.right, true
	case n.right == nil:
		return n.left, true
	}
	next := n.right
	for next.left != nil {
		next = next.left
	}
	right, _ := n.right.without(next.key)
	return balanced(next.key, next.value, n.left, right), true
}

// balanced joins two trees whose heights differ by at most two.
func balanced[V any](key string, v V, l, r *node[V]) *node[V] {
	switch {
	case l.tall() > r.tall()+1:
		if l.left.tall() >= l.right.tall() {
			return newNode(l.key, l.value, l.left, newNode(key, v, l.right, r))
		}
		m := l.right
		return newNode(m.key, m.value, newNode(l.key, l.value, l.left, m.left), newNode(key, v, m.right, r))
	case r.tall() > l.tall()+1:
		if r.right.tall() >= r.left.tall() {
			return newNode(r.key, r.value, newNode(key, v, l, r.left), r.right)
		}
		m := r.left
		return newNode(m.key, m.value, newNode(key, v, l, m.left), newNode(r.key, r.value, m.right, r.right))
	}
	return newNode(key, v, l, r)
}
