package delta

import (
	"errors"
	"fmt"
)

// The binary encoding of variants, as the Parquet project specifies it: metadata is a dictionary of keys, a value is a
// header byte and what its type says. All numbers are little-endian.

// The basic types, in the low two bits of a value's first byte.
const (
	variantPrimitive = iota
	variantShortString
	variantObject
	variantArray
)

// The primitive types, in the upper six bits.
const (
	variantNull = iota
	variantTrue
	variantFalse
	variantInt8
	variantInt16
	variantInt32
	variantInt64
	variantDouble
	variantDecimal4
	variantDecimal8
	variantDecimal16
	variantDate
	variantTimestamp
	variantTimestampNTZ
	variantFloat
	variantBinary
	variantString
	variantTime
	variantTimestampNanos
	variantTimestampNanosNTZ
	variantUUID
)

// variantWidths are the numbers of bytes behind the first of primitives of fixed width.
var variantWidths = [...]int{
	variantNull: 0, variantTrue: 0, variantFalse: 0, variantInt8: 1, variantInt16: 2, variantInt32: 4, variantInt64: 8,
	variantDouble: 8, variantDecimal4: 5, variantDecimal8: 9, variantDecimal16: 17, variantDate: 4, variantTimestamp: 8,
	variantTimestampNTZ: 8, variantFloat: 4, variantBinary: -1, variantString: -1, variantTime: 8, variantTimestampNanos: 8,
	variantTimestampNanosNTZ: 8, variantUUID: 16,
}

var (
	errVariantShort   = errors.New("it ends inside a value")
	errVariantOverlap = errors.New("values overlap")
)

// littleEndian reads a number of up to eight bytes.
func littleEndian(b []byte) uint64 {
	n := uint64(0)
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n
}

// variantDict is the dictionary of keys.
type variantDict struct {
	data  []byte
	width int // of an offset
	size  int
	text  int // where the keys' bytes begin
}

func newVariantDict(metadata []byte) (variantDict, error) {
	d := variantDict{data: metadata}
	if len(metadata) == 0 {
		return d, errors.New("its metadata is empty")
	}
	if version := metadata[0] & 0xf; version != 1 {
		return d, fmt.Errorf("its metadata has version %d, 1 is known", version)
	}
	d.width = int(metadata[0]>>6) + 1
	if len(metadata) < 1+d.width {
		return d, errors.New("its metadata ends early")
	}
	size := littleEndian(metadata[1 : 1+d.width])
	text := uint64(1+d.width) + (size+1)*uint64(d.width)
	if text > uint64(len(metadata)) {
		return d, fmt.Errorf("its metadata states %d keys in %d bytes", size, len(metadata))
	}
	d.size, d.text = int(size), int(text)
	return d, nil
}

func (d variantDict) key(id int) ([]byte, error) {
	if id >= d.size {
		return nil, fmt.Errorf("the key %d of a dictionary of %d", id, d.size)
	}
	at := 1 + d.width*(1+id)
	from, to := littleEndian(d.data[at:at+d.width]), littleEndian(d.data[at+d.width:at+2*d.width])
	if from > to || to > uint64(len(d.data)-d.text) {
		return nil, fmt.Errorf("the key %d lies outside of the metadata", id)
	}
	return d.data[d.text+int(from) : d.text+int(to)], nil
}

// variantBox is an object or array, taken apart.
type variantBox struct {
	object      bool
	n           int
	idWidth     int
	offsetWidth int
	ids         []byte // of an object
	offsets     []byte
	data        []byte // the children
	size        int    // of all of it
}

// openVariantBox takes an object or array apart. There may be bytes behind it.
func openVariantBox(v []byte) (b variantBox, err error) {
	if len(v) == 0 {
		return b, errVariantShort
	}
	info := v[0] >> 2
	large := info>>2&1 != 0
	b.offsetWidth = int(info&3) + 1
	switch v[0] & 3 {
	case variantObject:
		b.object = true
		b.idWidth, large = int(info>>2&3)+1, info>>4&1 != 0
	case variantArray:
	default:
		return b, errors.New("a scalar where an object is expected")
	}
	countWidth := 1
	if large {
		countWidth = 4
	}
	if len(v) < 1+countWidth {
		return b, errVariantShort
	}
	n := littleEndian(v[1 : 1+countWidth])
	ids := uint64(1 + countWidth)
	offsets := ids + n*uint64(b.idWidth)
	data := offsets + (n+1)*uint64(b.offsetWidth)
	if data > uint64(len(v)) {
		return b, errVariantShort
	}
	b.n, b.ids, b.offsets = int(n), v[ids:offsets], v[offsets:data]
	end := b.offset(b.n)
	if end > uint64(len(v))-data {
		return b, errVariantShort
	}
	b.size = int(data + end)
	b.data = v[data:b.size]
	return b, nil
}

func (b *variantBox) id(i int) int { return int(littleEndian(b.ids[i*b.idWidth : (i+1)*b.idWidth])) }

func (b *variantBox) offset(i int) uint64 {
	return littleEndian(b.offsets[i*b.offsetWidth : (i+1)*b.offsetWidth])
}

// child gives the bytes that begin with a child.
func (b *variantBox) child(i int) ([]byte, error) {
	at := b.offset(i)
	if at >= uint64(len(b.data)) {
		return nil, errVariantShort
	}
	return b.data[at:], nil
}

// cutVariant gives the first value of v without what follows it.
func cutVariant(v []byte) ([]byte, error) {
	if len(v) == 0 {
		return nil, errVariantShort
	}
	if kind := v[0] & 3; kind == variantObject || kind == variantArray {
		b, err := openVariantBox(v)
		return v[:b.size], err
	}
	body, err := variantBody(v)
	if err != nil {
		return nil, err
	}
	return v[:len(v)-cap(body)+len(body)], nil
}

// variantBody gives the bytes of a scalar behind its header: of a string or binary its own, of other types those of the
// value. Its capacity ends with v, so that its place can be told.
func variantBody(v []byte) ([]byte, error) {
	if len(v) == 0 {
		return nil, errVariantShort
	}
	v = v[:len(v):len(v)]
	info, n := int(v[0]>>2), 0
	rest := v[1:]
	switch {
	case v[0]&3 == variantShortString:
		n = info
	case info >= len(variantWidths):
		return nil, fmt.Errorf("the primitive type %d, which nobody defined", info)
	case variantWidths[info] >= 0:
		n = variantWidths[info]
	default:
		if len(rest) < 4 {
			return nil, errVariantShort
		}
		size := littleEndian(rest[:4])
		if rest = rest[4:]; size > uint64(len(rest)) {
			return nil, errVariantShort
		}
		n = int(size)
	}
	if n > len(rest) {
		return nil, errVariantShort
	}
	return rest[:n], nil
}
