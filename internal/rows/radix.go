package rows

import "math/bits"

// Rows are grouped in partitions small enough that a partition's table stays in the cache. A hash is used in three parts: its low bits
// choose the partition, its high half is the tag, and the low bits of the tag the first slot. Tables are flat and hold no pointers.
const (
	partitionRows    = 4096
	maxPartitionBits = 10
)

// item is a row in its partition.
type item struct{ tag, row uint32 }

// slot of a table: row is one more than a row's number, 0 is vacant.
type slot struct{ tag, row uint32 }

// partitions are rows in the order of their partitions, ascending within each.
type partitions struct {
	bits  int
	items []item
	start []int // of each partition in items, and the end
}

func partitionOf(h uint64, bits int) int { return int(h & (1<<bits - 1)) }

func tagOf(h uint64) uint32 { return uint32(h >> 32) }

func partition(hashes []uint64) partitions {
	p := partitions{bits: min(bits.Len(uint(len(hashes)/partitionRows)), maxPartitionBits)}
	p.items = make([]item, len(hashes))
	p.start = make([]int, 1<<p.bits+1)
	for _, h := range hashes {
		p.start[partitionOf(h, p.bits)+1]++
	}
	next := make([]int, 1<<p.bits)
	for k := range next {
		next[k] = p.start[k]
		p.start[k+1] += p.start[k]
	}
	for row, h := range hashes {
		k := partitionOf(h, p.bits)
		p.items[next[k]] = item{tagOf(h), uint32(row)}
		next[k]++
	}
	return p
}

func (p *partitions) of(k int) []item { return p.items[p.start[k]:p.start[k+1]] }

// tableSize is a power of two that is filled to two thirds at most.
func tableSize(rows int) int {
	return 1 << bits.Len(uint(rows+rows/2))
}
