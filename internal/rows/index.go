package rows

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// hashFunc is hashRange; tests put worse ones in its place.
type hashFunc func(cols []column, lo int, out []uint64)

// Index maps keys to rows of one batch. Several rows may have one key: Probe gives the first and Next walks the others, in
// ascending order. NULL equals NULL.
type Index struct {
	cols     []column
	hash     hashFunc
	bits     int
	slots    []slot
	start    []int // of each partition's table in slots, and the end
	next     []int32
	distinct int
}

// NewIndex indexes the key columns of a batch of so many rows.
func NewIndex(cols []arrow.Array, rows int) (*Index, error) {
	return newIndex(cols, rows, hashRange)
}

func newIndex(cols []arrow.Array, rows int, hash hashFunc) (*Index, error) {
	if rows < 0 || rows >= math.MaxInt32 {
		return nil, fmt.Errorf("index keys: %d rows in one batch: split it below 2^31", rows)
	}
	for i, c := range cols {
		if c.Len() != rows {
			return nil, fmt.Errorf("index keys: column %d has %d rows, the batch %d", i, c.Len(), rows)
		}
	}
	keys, err := newKeys(cols)
	if err != nil {
		return nil, fmt.Errorf("index keys: %w", err)
	}
	equal, err := newEquality(keys, keys)
	if err != nil {
		return nil, err
	}
	hashes := make([]uint64, rows)
	hash(keys, 0, hashes)
	x := &Index{cols: keys, hash: hash}
	x.build(partition(hashes), equal)
	return x, nil
}

func (x *Index) build(parts partitions, equal *Equality) {
	x.bits = parts.bits
	x.start = make([]int, 1<<x.bits+1)
	for k := range 1 << x.bits {
		x.start[k+1] = x.start[k] + tableSize(len(parts.of(k)))
	}
	x.slots = make([]slot, x.start[1<<x.bits])
	for k := range 1 << x.bits {
		table, items := x.slots[x.start[k]:x.start[k+1]], parts.of(k)
		// Backwards, so that each row is put before those of its key that follow it.
		for n := len(items) - 1; n >= 0; n-- {
			x.insert(table, items[n], equal, len(parts.items))
		}
	}
}

func (x *Index) insert(table []slot, it item, equal *Equality, rows int) {
	mask := uint32(len(table) - 1)
	for pos := it.tag & mask; ; pos = (pos + 1) & mask {
		s := &table[pos]
		if s.row == 0 {
			*s = slot{it.tag, it.row + 1}
			x.distinct++
			return
		}
		if s.tag == it.tag && equal.Equal(int(s.row-1), int(it.row)) {
			if x.next == nil {
				x.next = make([]int32, rows)
			}
			// Like a slot's row, a link is one more than a row's number.
			x.next[it.row] = int32(s.row)
			s.row = it.row + 1
			return
		}
	}
}

// probeBlock is how many rows are hashed before they are looked up.
const probeBlock = 1024

// Probe writes for each row of cols the first indexed row with an equal key, or -1. The types may be losslessly wider or
// narrower than the indexed ones.
func (x *Index) Probe(cols []arrow.Array, out []int32) error {
	for i, c := range cols {
		if c.Len() != len(out) {
			return fmt.Errorf("probe keys: column %d has %d rows, not %d", i, c.Len(), len(out))
		}
	}
	keys, err := newKeys(cols)
	if err != nil {
		return fmt.Errorf("probe keys: %w", err)
	}
	equal, err := newEquality(x.cols, keys)
	if err != nil {
		return fmt.Errorf("probe keys: %w", err)
	}
	var block [probeBlock]uint64
	for lo := 0; lo < len(out); lo += probeBlock {
		hashes := block[:min(probeBlock, len(out)-lo)]
		x.hash(keys, lo, hashes)
		for i, h := range hashes {
			out[lo+i] = x.find(h, lo+i, equal)
		}
	}
	return nil
}

func (x *Index) find(h uint64, row int, equal *Equality) int32 {
	k := partitionOf(h, x.bits)
	table, tag := x.slots[x.start[k]:x.start[k+1]], tagOf(h)
	mask := uint32(len(table) - 1)
	for pos := tag & mask; ; pos = (pos + 1) & mask {
		s := table[pos]
		if s.row == 0 {
			return -1
		}
		if s.tag == tag && equal.Equal(int(s.row-1), row) {
			return int32(s.row - 1)
		}
	}
}

// Next is the next indexed row with the same key as row, or -1.
func (x *Index) Next(row int32) int32 {
	if x.next == nil {
		return -1
	}
	return x.next[row] - 1
}

// Distinct is the number of keys.
func (x *Index) Distinct() int { return x.distinct }
