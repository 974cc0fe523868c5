package rows

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/zeebo/xxh3"
)

// A value's tag is hashed into the seed of its hash, after the path of its column. See docs/fingerprint.md, which these never leave.
const (
	tagInteger   = 'i' // any number that is an integer within int64
	tagDecimal   = 'n' // any other decimal
	tagFloat     = 'f' // any other float
	tagBool      = 'b'
	tagLocal     = 'l' // timestamp without zone; date at midnight
	tagFarDate   = 'd' // date whose midnight is no timestamp
	tagTimestamp = 't'
	tagString    = 's'
	tagBinary    = 'x'
	tagStruct    = 'r'
	tagList      = 'a'
	tagMap       = 'm'
)

// Steps of a path that no field name can be: their length would be 4 GiB.
const (
	stepElement = math.MaxUint32 - iota
	stepKey
	stepValue
)

var (
	rowSeed   = xxh3.HashString("idem1:row")
	entrySeed = xxh3.HashString("idem1:entry")
)

func fieldPath(parent []byte, name string) []byte {
	p := append([]byte(nil), parent...)
	return append(binary.LittleEndian.AppendUint32(p, uint32(len(name))), name...)
}

func stepPath(parent []byte, step uint32) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte(nil), parent...), step)
}

// cells digests the values of one column.
type cells struct {
	col   *column
	path  []byte
	seed  uint64 // of the class, or of integers for numbers
	other uint64 // of the numbers that are no integers, and of far dates
	child []*cells

	sums []Digest // of child rows, used again
	buf  []byte
}

var tagOfClass = [...]struct{ seed, other byte }{
	classInt: {seed: tagInteger}, classFloat: {tagInteger, tagFloat}, classDecimal: {tagInteger, tagDecimal},
	classBool: {seed: tagBool}, classDate: {tagLocal, tagFarDate}, classTimestamp: {seed: tagTimestamp}, classTimestampNTZ: {seed: tagLocal},
	classString: {seed: tagString}, classBinary: {seed: tagBinary},
	classStruct: {seed: tagStruct}, classList: {seed: tagList}, classMap: {seed: tagMap},
}

func newCells(c *column, path []byte) *cells {
	tags := tagOfClass[c.class]
	x := &cells{col: c, path: path, seed: tagSeed(path, tags.seed), other: tagSeed(path, tags.other)}
	for i := range c.child {
		x.child = append(x.child, newCells(&c.child[i], x.childPath(i)))
	}
	return x
}

func tagSeed(path []byte, tag byte) uint64 {
	return xxh3.Hash(append(append([]byte(nil), path...), tag))
}

func (x *cells) childPath(i int) []byte {
	switch x.col.class {
	case classList:
		return stepPath(x.path, stepElement)
	case classMap:
		return stepPath(x.path, [...]uint32{stepKey, stepValue}[i])
	default:
		return fieldPath(x.path, x.col.names[i])
	}
}

// add adds the hash of each value of rows lo to lo+len(out); NULL adds nothing.
func (x *cells) add(lo int, out []Digest) {
	switch x.col.class {
	case classNull:
	case classFloat:
		x.addFloats(lo, out)
	case classDecimal:
		x.addDecimals(lo, out)
	case classDate:
		x.addDates(lo, out)
	case classBool:
		x.addBools(lo, out)
	case classString, classBinary:
		x.addBytes(lo, out)
	case classStruct:
		x.addStructs(lo, out)
	case classList, classMap:
		x.addLists(lo, out)
	default:
		x.addWords(lo, out)
	}
}

func (x *cells) addWords(lo int, out []Digest) {
	words, key := x.col.words[lo:lo+len(out)], key8(x.seed)
	if x.col.valid == nil {
		for i, w := range words {
			out[i] = out[i].Add(hash8(uint64(w), key))
		}
		return
	}
	for i, w := range words {
		if !x.col.null(lo + i) {
			out[i] = out[i].Add(hash8(uint64(w), key))
		}
	}
}

func (x *cells) addFloats(lo int, out []Digest) {
	integer, float := key8(x.seed), key8(x.other)
	for i, w := range x.col.words[lo : lo+len(out)] {
		if x.col.null(lo + i) {
			continue
		}
		f := wordFloat(w)
		if f >= math.MinInt64 && f < -math.MinInt64 && f == math.Trunc(f) {
			out[i] = out[i].Add(hash8(uint64(int64(f)), integer))
		} else {
			out[i] = out[i].Add(hash8(math.Float64bits(f), float))
		}
	}
}

func (x *cells) addDecimals(lo int, out []Digest) {
	integer := key8(x.seed)
	for i, d := range x.col.dec[lo : lo+len(out)] {
		if x.col.null(lo + i) {
			continue
		}
		coefficient, scale := stripZeros(d, x.col.scale)
		if v, ok := decimalInt(coefficient, scale); ok {
			out[i] = out[i].Add(hash8(uint64(v), integer))
			continue
		}
		var b [20]byte
		binary.LittleEndian.PutUint64(b[:], coefficient.LowBits())
		binary.LittleEndian.PutUint64(b[8:], uint64(coefficient.HighBits()))
		binary.LittleEndian.PutUint32(b[16:], uint32(scale))
		out[i] = out[i].Add(hashBytes(b[:], x.other))
	}
}

// decimalInt is d*10^-scale if that is an integer within int64. d has no trailing zeros.
func decimalInt(d decimal128.Num, scale int32) (int64, bool) {
	if scale > 0 {
		return 0, false
	}
	hi, lo, neg := magnitude(d)
	hi, lo, ok := times10(hi, lo, -int64(scale))
	if !ok || hi != 0 || lo > 1<<63 || lo == 1<<63 && !neg {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

const dayMicros = 24 * 60 * 60 * 1_000_000

func (x *cells) addDates(lo int, out []Digest) {
	local, far := key8(x.seed), key8(x.other)
	for i, days := range x.col.words[lo : lo+len(out)] {
		if x.col.null(lo + i) {
			continue
		}
		if us := days * dayMicros; us/dayMicros == days {
			out[i] = out[i].Add(hash8(uint64(us), local))
		} else {
			out[i] = out[i].Add(hash8(uint64(days), far))
		}
	}
}

func (x *cells) addBools(lo int, out []Digest) {
	hashes := [2]Digest{hashBytes([]byte{0}, x.seed), hashBytes([]byte{1}, x.seed)}
	for i, w := range x.col.words[lo : lo+len(out)] {
		if !x.col.null(lo + i) {
			out[i] = out[i].Add(hashes[w])
		}
	}
}

func (x *cells) addBytes(lo int, out []Digest) {
	for i := range out {
		if !x.col.null(lo + i) {
			out[i] = out[i].Add(hashBytes(x.col.bytes(lo+i), x.seed))
		}
	}
}

func (x *cells) addStructs(lo int, out []Digest) {
	marker := hashBytes(nil, x.seed)
	sums := x.room(len(out))
	for _, field := range x.child {
		field.add(lo, sums)
	}
	for i := range out {
		if !x.col.null(lo + i) {
			out[i] = out[i].Add(marker).Add(sums[i])
		}
	}
}

func (x *cells) addLists(lo int, out []Digest) {
	if len(out) == 0 {
		return
	}
	first, _ := x.col.span(lo)
	_, end := x.col.span(lo + len(out) - 1)
	var sums []Digest
	if x.col.class == classMap {
		sums = x.entries(first, end)
	} else {
		sums = x.room(end - first)
		x.child[0].add(first, sums)
	}
	for i := range out {
		if x.col.null(lo + i) {
			continue
		}
		a, b := x.col.span(lo + i)
		if x.col.class == classMap {
			out[i] = out[i].Add(x.hashMap(sums[a-first : b-first]))
		} else {
			out[i] = out[i].Add(x.hashList(sums[a-first : b-first]))
		}
	}
}

// entries are the digests of a map's pairs, child rows lo to hi.
func (x *cells) entries(lo, hi int) []Digest {
	sums := x.room(hi - lo)
	x.child[0].add(lo, sums)
	x.child[1].add(lo, sums)
	for i, d := range sums {
		sums[i] = finish(d, entrySeed)
	}
	return sums
}

func (x *cells) hashList(elements []Digest) Digest {
	x.buf = binary.LittleEndian.AppendUint64(x.buf[:0], uint64(len(elements)))
	for _, d := range elements {
		x.buf = appendDigest(x.buf, d)
	}
	return hashBytes(x.buf, x.seed)
}

func (x *cells) hashMap(entries []Digest) Digest {
	var sum Digest
	for _, d := range entries {
		sum = sum.Add(d)
	}
	x.buf = binary.LittleEndian.AppendUint64(x.buf[:0], uint64(len(entries)))
	x.buf = appendDigest(x.buf, sum)
	return hashBytes(x.buf, x.seed)
}

// room gives n zero digests.
func (x *cells) room(n int) []Digest {
	x.sums = slices.Grow(x.sums[:0], n)[:n]
	clear(x.sums)
	return x.sums
}

func appendDigest(b []byte, d Digest) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, d.Lo), d.Hi)
}
