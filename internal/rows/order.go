package rows

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Order compares rows by columns, most significant first: NULL is least, NaN greatest, -0.0 = 0.0, false before true,
// strings and binary by bytes.
type Order struct {
	a, b []column
}

// NewOrder fails if a column of a cannot be compared with b's, or is nested.
func NewOrder(a, b []arrow.Array) (*Order, error) {
	left, err := newKeys(a)
	if err != nil {
		return nil, fmt.Errorf("order rows: %w", err)
	}
	right := left
	if !sameArrays(a, b) {
		if right, err = newKeys(b); err != nil {
			return nil, fmt.Errorf("order rows: %w", err)
		}
	}
	if err := checkAllComparable(left, right); err != nil {
		return nil, fmt.Errorf("order rows: %w", err)
	}
	return &Order{a: left, b: right}, nil
}

// Compare is negative if row i of a is before row j of b, positive if after, and 0 if they are equal in every column.
func (o *Order) Compare(i, j int) int {
	for k := range o.a {
		if c := compareAt(&o.a[k], &o.b[k], i, j); c != 0 {
			return c
		}
	}
	return 0
}

func compareAt(a, b *column, i, j int) int {
	an, bn := a.null(i), b.null(j)
	switch {
	case an && bn:
		return 0
	case an:
		return -1
	case bn:
		return 1
	}
	switch a.class {
	case classDecimal:
		return compareDecimals(a.dec[i], a.scale, b.dec[j], b.scale)
	case classString, classBinary:
		return bytes.Compare(a.bytes(i), b.bytes(j))
	default:
		return cmp.Compare(a.words[i], b.words[j])
	}
}
