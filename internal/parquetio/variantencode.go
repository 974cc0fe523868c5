package parquetio

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/idemtable/idem/delta"
)

// The headers of variant values that are put together from shredded columns, as the format numbers their types.
const (
	variantNull         = 0 << 2
	variantTrue         = 1 << 2
	variantFalse        = 2 << 2
	variantInt8         = 3 << 2
	variantInt16        = 4 << 2
	variantInt32        = 5 << 2
	variantInt64        = 6 << 2
	variantDouble       = 7 << 2
	variantDecimal4     = 8 << 2
	variantDecimal8     = 9 << 2
	variantDecimal16    = 10 << 2
	variantDate         = 11 << 2
	variantMicros       = 12 << 2
	variantMicrosNTZ    = 13 << 2
	variantFloat        = 14 << 2
	variantBinary       = 15 << 2
	variantString       = 16 << 2
	variantTime         = 17 << 2
	variantNanos        = 18 << 2
	variantNanosNTZ     = 19 << 2
	variantUUID         = 20 << 2
	variantObject       = 2
	variantArray        = 3
	variantShortString  = 1
	longestShortVariant = 63
)

func appendVariantInt(dst []byte, v int64) []byte {
	switch {
	case v == int64(int8(v)):
		return append(dst, variantInt8, byte(v))
	case v == int64(int16(v)):
		return binary.LittleEndian.AppendUint16(append(dst, variantInt16), uint16(v))
	case v == int64(int32(v)):
		return binary.LittleEndian.AppendUint32(append(dst, variantInt32), uint32(v))
	}
	return appendVariant64(dst, variantInt64, uint64(v))
}

func appendVariant64(dst []byte, header byte, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, header), v)
}

func appendVariant32(dst []byte, header byte, v uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, header), v)
}

// appendVariantDecimal takes the width from the type, as the column has it.
func appendVariantDecimal(dst []byte, v decimal128.Num, precision, scale int32) []byte {
	switch {
	case precision <= 9:
		return binary.LittleEndian.AppendUint32(append(dst, variantDecimal4, byte(scale)), uint32(v.LowBits()))
	case precision <= 18:
		return binary.LittleEndian.AppendUint64(append(dst, variantDecimal8, byte(scale)), v.LowBits())
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, variantDecimal16, byte(scale)), v.LowBits())
	return binary.LittleEndian.AppendUint64(dst, uint64(v.HighBits()))
}

func appendVariantString(dst []byte, s string) []byte {
	if len(s) <= longestShortVariant {
		return append(append(dst, byte(len(s))<<2|variantShortString), s...)
	}
	return append(appendVariant32(dst, variantString, uint32(len(s))), s...)
}

func appendVariantBinary(dst, b []byte) []byte {
	return append(appendVariant32(dst, variantBinary, uint32(len(b))), b...)
}

// appendVariantArray makes an array of values.
func appendVariantArray(dst []byte, elements [][]byte) ([]byte, error) {
	total := 0
	for _, e := range elements {
		total += len(e)
	}
	if err := checkTotal(total); err != nil {
		return nil, err
	}
	width, large := bytesFor(total), len(elements) > math.MaxUint8
	header := byte(width-1)<<2 | variantArray
	if large {
		header |= 1 << 4
	}
	dst = appendVariantCount(append(dst, header), len(elements), large)
	at := 0
	for _, e := range elements {
		dst = appendNumber(dst, at, width)
		at += len(e)
	}
	dst = appendNumber(dst, at, width)
	for _, e := range elements {
		dst = append(dst, e...)
	}
	return dst, nil
}

// appendVariantObject makes an object of fields, which it sorts by key. A key that is there twice is an error.
func appendVariantObject(dst []byte, fields []delta.VariantField) ([]byte, error) {
	slices.SortFunc(fields, func(a, b delta.VariantField) int { return cmp.Compare(a.Key, b.Key) })
	total, top := 0, 0
	for i, f := range fields {
		if i > 0 && f.Key == fields[i-1].Key {
			return nil, fmt.Errorf("a variant object with the key %.40q twice", f.Key)
		}
		total, top = total+len(f.Value), max(top, f.ID)
	}
	if err := checkTotal(total); err != nil {
		return nil, err
	}
	idWidth, width, large := bytesFor(top), bytesFor(total), len(fields) > math.MaxUint8
	header := byte(idWidth-1)<<4 | byte(width-1)<<2 | variantObject
	if large {
		header |= 1 << 6
	}
	dst = appendVariantCount(append(dst, header), len(fields), large)
	for _, f := range fields {
		dst = appendNumber(dst, f.ID, idWidth)
	}
	at := 0
	for _, f := range fields {
		dst = appendNumber(dst, at, width)
		at += len(f.Value)
	}
	dst = appendNumber(dst, at, width)
	for _, f := range fields {
		dst = append(dst, f.Value...)
	}
	return dst, nil
}

func appendVariantCount(dst []byte, n int, large bool) []byte {
	if large {
		return appendNumber(dst, n, 4)
	}
	return append(dst, byte(n))
}

// bytesFor is the number of bytes, at least one, that hold n.
func bytesFor(n int) int { return max(1, (bits.Len32(uint32(n))+7)/8) }

func appendNumber(dst []byte, n, width int) []byte {
	for i := range width {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// variantKeys finds the ids of the names of shredded fields in the metadata of one row after the other, which mostly are
// the same.
type variantKeys struct {
	names    map[string]bool
	metadata []byte
	ids      map[string]int
	size     int      // keys in the metadata
	added    []string // names that the metadata lacks and that are in use
}

func (k *variantKeys) reset(metadata []byte) error {
	if k.ids != nil && len(k.added) == 0 && bytes.Equal(k.metadata, metadata) {
		return nil
	}
	k.metadata = append(k.metadata[:0], metadata...)
	k.ids, k.size, k.added = make(map[string]int, len(k.names)), 0, nil
	return delta.VariantKeys(metadata, func(id int, key []byte) bool {
		if k.names[string(key)] {
			if _, twice := k.ids[string(key)]; !twice {
				k.ids[string(key)] = id
			}
		}
		k.size = id + 1
		return true
	})
}

// id gives the id of a name. The format wants each name in the metadata; one that is not there is added.
func (k *variantKeys) id(name string) int {
	id, ok := k.ids[name]
	if !ok {
		id = k.size + len(k.added)
		k.ids[name] = id
		k.added = append(k.added, name)
	}
	return id
}

// extended gives the row's metadata with the names that were added.
func (k *variantKeys) extended() ([]byte, error) {
	if len(k.added) == 0 {
		return k.metadata, nil
	}
	var text []byte
	var ends []int
	err := delta.VariantKeys(k.metadata, func(_ int, key []byte) bool {
		text = append(text, key...)
		ends = append(ends, len(text))
		return true
	})
	for _, name := range k.added {
		text = append(text, name...)
		ends = append(ends, len(text))
	}
	if err == nil {
		err = checkTotal(len(text))
	}
	if err != nil {
		return nil, err
	}
	width := bytesFor(max(len(text), len(ends)))
	out := appendNumber([]byte{byte(width-1)<<6 | 1}, len(ends), width)
	out = appendNumber(out, 0, width)
	for _, end := range ends {
		out = appendNumber(out, end, width)
	}
	return append(out, text...), nil
}
