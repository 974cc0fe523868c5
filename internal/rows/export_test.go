package rows

import "github.com/apache/arrow-go/v18/arrow"

// spoiled makes a hash function worse; nil leaves it.
func spoiled(spoil func([]uint64)) hashFunc {
	return func(cols []column, lo int, out []uint64) {
		hashRange(cols, lo, out)
		if spoil != nil {
			spoil(out)
		}
	}
}

func NewIndexHashed(cols []arrow.Array, rows int, spoil func([]uint64)) (*Index, error) {
	return newIndex(cols, rows, spoiled(spoil))
}

func LatestByKeyHashed(b arrow.RecordBatch, key, order, compare []int, spoil func([]uint64)) (*Latest, error) {
	return latestByKey(b, key, order, compare, spoiled(spoil))
}

func Hash8(v, seed uint64) Digest { return hash8(v, key8(seed)) }

func Finish(d Digest, seed uint64) Digest { return finish(d, seed) }
