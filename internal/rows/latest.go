package rows

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxTies is how many ties are shown.
const maxTies = 10

// Latest picks one row a key. Where TieCount is 0, every row that is not kept is counted as Identical or Older.
type Latest struct {
	Keep      []int32    // ascending row numbers
	Identical int        // rows dropped because an equal row is kept; keys with a tie are left out
	Older     int        // rows dropped because a newer row is kept
	Ties      [][2]int32 // pairs of rows that tie on the order columns (or have none) and differ elsewhere, one a key; at most 10
	TieCount  int        // keys with such a tie
}

// LatestByKey keeps for each key the row greatest on the order columns. With no order columns every group must be identical rows.
// compare are the columns in which identical rows must agree (NULL = NULL). Rows that tie among each other but are older than the kept
// row are no tie. The answer does not depend on row order but for which of identical rows is kept: the first.
func LatestByKey(batch arrow.RecordBatch, key, order, compare []int) (*Latest, error) {
	return latestByKey(batch, key, order, compare, hashRange)
}

func latestByKey(batch arrow.RecordBatch, key, order, compare []int, hash hashFunc) (*Latest, error) {
	rows := int(batch.NumRows())
	if rows >= math.MaxInt32 {
		return nil, fmt.Errorf("latest by key: %d rows in one batch: split it below 2^31", rows)
	}
	keyArrs, err := pick(batch, key)
	if err != nil {
		return nil, err
	}
	keys, err := newKeys(keyArrs)
	if err != nil {
		return nil, fmt.Errorf("latest by key: %w", err)
	}
	l := latest{keep: make([]uint64, (rows+63)/64)}
	if l.key, err = newEquality(keys, keys); err != nil {
		return nil, err
	}
	if l.order, l.same, err = orderAndSame(batch, order, compare); err != nil {
		return nil, fmt.Errorf("latest by key: %w", err)
	}
	hashes := make([]uint64, rows)
	hash(keys, 0, hashes)
	parts := partition(hashes)
	for k := range 1 << parts.bits {
		l.add(parts.of(k))
	}
	return l.result(), nil
}

func orderAndSame(batch arrow.RecordBatch, order, compare []int) (*Order, *Equality, error) {
	orderArrs, err := pick(batch, order)
	if err != nil {
		return nil, nil, err
	}
	compareArrs, err := pick(batch, compare)
	if err != nil {
		return nil, nil, err
	}
	o, err := NewOrder(orderArrs, orderArrs)
	if err != nil {
		return nil, nil, err
	}
	same, err := NewEquality(compareArrs, compareArrs)
	return o, same, err
}

func pick(batch arrow.RecordBatch, cols []int) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(cols))
	for i, c := range cols {
		if c < 0 || int64(c) >= batch.NumCols() {
			return nil, fmt.Errorf("latest by key: column %d of %d", c, batch.NumCols())
		}
		out[i] = batch.Column(c)
	}
	return out, nil
}

// latest is LatestByKey under way, partition by partition.
type latest struct {
	key, same *Equality
	order     *Order
	out       Latest
	kept      int
	keep      []uint64 // bits by row

	// Of one partition, and used again for the next.
	table  []slot
	slotOf []uint32 // by item
	equals []uint32 // the slots of rows identical to the kept one
	tied   map[uint32]struct{}
}

func (l *latest) add(items []item) {
	if l.findGreatest(items) == len(items) {
		for _, it := range items {
			l.keepRow(it.row)
		}
		return
	}
	l.equals = l.equals[:0]
	clear(l.tied)
	for n, it := range items {
		l.judge(l.slotOf[n], it.row)
	}
	for _, s := range l.equals {
		if _, tied := l.tied[s]; !tied {
			l.out.Identical++
		}
	}
}

// findGreatest leaves in each key's slot the first of its rows greatest on the order columns, and gives the number of keys.
func (l *latest) findGreatest(items []item) int {
	size := tableSize(len(items))
	l.table = slices.Grow(l.table[:0], size)[:size]
	clear(l.table)
	l.slotOf = slices.Grow(l.slotOf[:0], len(items))[:len(items)]
	mask, distinct := uint32(size-1), 0
	for n, it := range items {
		pos := it.tag & mask
		for {
			s := &l.table[pos]
			if s.row == 0 {
				*s = slot{it.tag, it.row + 1}
				distinct++
				break
			}
			if s.tag == it.tag && l.key.Equal(int(s.row-1), int(it.row)) {
				if l.order.Compare(int(it.row), int(s.row-1)) > 0 {
					s.row = it.row + 1
				}
				break
			}
			pos = (pos + 1) & mask
		}
		l.slotOf[n] = pos
	}
	return distinct
}

// judge counts a row against the kept row of its key.
func (l *latest) judge(pos, row uint32) {
	kept := l.table[pos].row - 1
	switch {
	case kept == row:
		l.keepRow(row)
	case l.order.Compare(int(row), int(kept)) < 0:
		l.out.Older++
	case l.same.Equal(int(row), int(kept)):
		l.equals = append(l.equals, pos)
	default:
		l.tie(pos, int32(kept), int32(row))
	}
}

func (l *latest) keepRow(row uint32) {
	l.keep[row/64] |= 1 << (row % 64)
	l.kept++
}

// tie records the first tie of each key. Those with the lowest rows are shown, whatever the order of partitions.
func (l *latest) tie(pos uint32, kept, row int32) {
	if _, seen := l.tied[pos]; seen {
		return
	}
	if l.tied == nil {
		l.tied = map[uint32]struct{}{}
	}
	l.tied[pos] = struct{}{}
	l.out.TieCount++
	at, _ := slices.BinarySearchFunc(l.out.Ties, kept, func(t [2]int32, row int32) int { return int(t[0]) - int(row) })
	if at == maxTies {
		return
	}
	l.out.Ties = slices.Insert(l.out.Ties, at, [2]int32{kept, row})
	l.out.Ties = l.out.Ties[:min(len(l.out.Ties), maxTies)]
}

func (l *latest) result() *Latest {
	l.out.Keep = make([]int32, 0, l.kept)
	for i, word := range l.keep {
		for ; word != 0; word &= word - 1 {
			l.out.Keep = append(l.out.Keep, int32(i*64+bits.TrailingZeros64(word)))
		}
	}
	return &l.out
}
