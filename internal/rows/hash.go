package rows

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"
)

const (
	mixA     = 0xa0761d6478bd642f
	mixB     = 0xe7037ed1a0b428db
	nullWord = 0x8ebc6af09c88c6e3
)

// mix folds a value into the hash so far.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(v^mixA, h^mixB)
	return hi ^ lo
}

// HashKeys writes one 64-bit hash a row by key equality: integers by value whatever their width, -0.0 = 0.0, NaN = NaN,
// decimals by value, timestamps by instant, strings by bytes, NULL = NULL. Columns have equal length, which is len(out).
// Hashes are for one process: they are never stored. A column that cannot be a key adds nothing, so that the equality, which reports it, decides.
func HashKeys(cols []arrow.Array, out []uint64) {
	views := make([]column, 0, len(cols))
	for _, arr := range cols {
		if c, err := newColumn(arr); err == nil {
			views = append(views, c)
		}
	}
	hashRange(views, 0, out)
}

// hashRange hashes rows lo to lo+len(out).
func hashRange(cols []column, lo int, out []uint64) {
	clear(out)
	for i := range cols {
		cols[i].hash(lo, out)
	}
}

func (c *column) hash(lo int, out []uint64) {
	switch c.class {
	case classNull:
		for i, h := range out {
			out[i] = mix(h, nullWord)
		}
	case classDecimal:
		c.hashDecimals(lo, out)
	case classString, classBinary:
		c.hashBytes(lo, out)
	case classStruct, classList, classMap:
	default:
		c.hashWords(lo, out)
	}
}

func (c *column) hashWords(lo int, out []uint64) {
	words := c.words[lo : lo+len(out)]
	if c.valid == nil {
		for i, w := range words {
			out[i] = mix(out[i], uint64(w))
		}
		return
	}
	for i, w := range words {
		v := uint64(w)
		if !bitSet(c.valid, c.off+lo+i) {
			v = nullWord
		}
		out[i] = mix(out[i], v)
	}
}

func (c *column) hashDecimals(lo int, out []uint64) {
	factor := scaleFactor(c.scale)
	for i, d := range c.dec[lo : lo+len(out)] {
		v := uint64(nullWord)
		if !c.null(lo + i) {
			v = decimalResidue(d, factor)
		}
		out[i] = mix(out[i], v)
	}
}

func (c *column) hashBytes(lo int, out []uint64) {
	for i := range out {
		v := uint64(nullWord)
		if !c.null(lo + i) {
			v = xxh3.Hash(c.bytes(lo + i))
		}
		out[i] = mix(out[i], v)
	}
}
