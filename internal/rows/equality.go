package rows

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// Equality compares rows i of a and j of b by key equality. a and b have equal, or losslessly widened, types. Nested columns are
// compared to any depth: a NULL struct differs from a struct of NULLs, lists are ordered, maps are not.
type Equality struct {
	a, b []column
}

// NewEquality fails if a column of a cannot be compared with b's.
func NewEquality(a, b []arrow.Array) (*Equality, error) {
	left, err := newColumns(a)
	if err != nil {
		return nil, fmt.Errorf("compare rows: %w", err)
	}
	right := left
	if !sameArrays(a, b) {
		if right, err = newColumns(b); err != nil {
			return nil, fmt.Errorf("compare rows: %w", err)
		}
	}
	return newEquality(left, right)
}

func newEquality(a, b []column) (*Equality, error) {
	if err := checkAllComparable(a, b); err != nil {
		return nil, fmt.Errorf("compare rows: %w", err)
	}
	return &Equality{a: a, b: b}, nil
}

// sameArrays spares the second view where rows of one batch are compared with each other.
func sameArrays(a, b []arrow.Array) bool {
	return len(a) == len(b) && slices.EqualFunc(a, b, func(x, y arrow.Array) bool { return x == y })
}

// Equal reports whether row i of a equals row j of b.
func (e *Equality) Equal(i, j int) bool {
	for k := range e.a {
		if !equalAt(&e.a[k], &e.b[k], i, j) {
			return false
		}
	}
	return true
}

func equalAt(a, b *column, i, j int) bool {
	if an, bn := a.null(i), b.null(j); an || bn {
		return an && bn
	}
	switch a.class {
	case classDecimal:
		return compareDecimals(a.dec[i], a.scale, b.dec[j], b.scale) == 0
	case classString, classBinary:
		return bytes.Equal(a.bytes(i), b.bytes(j))
	case classStruct:
		for k := range a.child {
			if !equalAt(&a.child[k], &b.child[k], i, j) {
				return false
			}
		}
		return true
	case classList:
		return equalSpans(a, b, i, j)
	case classMap:
		return equalSpans(a, b, i, j) || equalMaps(a, b, i, j)
	default:
		return a.words[i] == b.words[j]
	}
}

// equalSpans compares the child rows of two lists or maps in order.
func equalSpans(a, b *column, i, j int) bool {
	alo, ahi := a.span(i)
	blo, bhi := b.span(j)
	if ahi-alo != bhi-blo {
		return false
	}
	for k := range a.child {
		for n := range ahi - alo {
			if !equalAt(&a.child[k], &b.child[k], alo+n, blo+n) {
				return false
			}
		}
	}
	return true
}

// equalMaps compares two maps as multisets of pairs: equal pairs have equal digests, so both are brought into the order of
// their digests and then compared pair by pair.
func equalMaps(a, b *column, i, j int) bool {
	alo, ahi := a.span(i)
	blo, bhi := b.span(j)
	if ahi-alo != bhi-blo {
		return false
	}
	left, right := entryOrder(a, alo, ahi), entryOrder(b, blo, bhi)
	for n := range left {
		if left[n].digest != right[n].digest ||
			!equalAt(&a.child[0], &b.child[0], left[n].row, right[n].row) ||
			!equalAt(&a.child[1], &b.child[1], left[n].row, right[n].row) {
			return false
		}
	}
	return true
}

type entryRow struct {
	digest Digest
	row    int
}

func entryOrder(m *column, lo, hi int) []entryRow {
	digests := newCells(m, nil).entries(lo, hi)
	out := make([]entryRow, len(digests))
	for k, d := range digests {
		out[k] = entryRow{d, lo + k}
	}
	slices.SortFunc(out, func(x, y entryRow) int {
		return compare128(x.digest.Hi, x.digest.Lo, y.digest.Hi, y.digest.Lo)
	})
	return out
}
