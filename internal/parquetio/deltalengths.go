package parquetio

import (
	"encoding/binary"
	"errors"
)

// maxDeltaBlock is the greatest number of values of a block of the delta encodings; writers use 128 to 2048.
const maxDeltaBlock = 1 << 16

var errDelta = errors.New("a page of a delta encoding is damaged")

// deltaHead is the header of DELTA_BINARY_PACKED data.
type deltaHead struct {
	mini   int // values of a miniblock
	minis  int // miniblocks of a block
	values int
	first  int64
	len    int // bytes of the header
}

// parseDeltaHead checks a header of data for at most limit values: a decoder takes memory by what it states.
func parseDeltaHead(b []byte, limit int) (deltaHead, error) {
	var v [4]uint64
	pos := 0
	for i := range v {
		n := 0
		if v[i], n = binary.Uvarint(b[pos:]); n <= 0 {
			return deltaHead{}, errDelta
		}
		pos += n
	}
	block, minis, values := v[0], v[1], v[2]
	if block == 0 || block > maxDeltaBlock || minis == 0 || minis > block || block%minis != 0 || (block/minis)%8 != 0 ||
		values > uint64(limit) {
		return deltaHead{}, errDelta
	}
	return deltaHead{
		mini: int(block / minis), minis: int(minis), values: int(values),
		first: int64(v[3]>>1) ^ -int64(v[3]&1), len: pos,
	}, nil
}

// deltaInts decodes DELTA_BINARY_PACKED int32 values and calls f for each. It gives the number of bytes that they take.
func deltaInts(b []byte, limit int, f func(v int64)) (int, error) {
	h, err := parseDeltaHead(b, limit)
	if err != nil {
		return 0, err
	}
	pos, left, value := h.len, h.values, h.first
	if left > 0 {
		f(value)
		left--
	}
	for left > 0 {
		u, n := binary.Uvarint(b[pos:])
		if n <= 0 || len(b)-pos-n < h.minis {
			return 0, errDelta
		}
		low := int64(u>>1) ^ -int64(u&1)
		widths := b[pos+n : pos+n+h.minis]
		pos += n + h.minis
		for _, w := range widths {
			if left == 0 {
				break
			}
			size := int(w) * h.mini / 8
			if w > 32 || len(b)-pos < size {
				return 0, errDelta
			}
			r := bitReader{b: b[pos : pos+size]}
			for range min(left, h.mini) {
				value = int64(int32(value + low + int64(r.take(uint(w)))))
				f(value)
			}
			left -= min(left, h.mini)
			pos += size
		}
	}
	return pos, nil
}

// deltaLengths decodes lengths and gives what lies behind them.
func deltaLengths(b []byte, limit int) (lengths []int32, rest []byte, err error) {
	n, err := deltaInts(b, limit, func(v int64) { lengths = append(lengths, int32(v)) })
	if err != nil {
		return nil, nil, err
	}
	return lengths, b[n:], nil
}

// longestDeltaString gives the length of the longest value of a DELTA_BYTE_ARRAY page: values share prefixes, so that
// a small page can stand for much.
func longestDeltaString(b []byte, limit int) (int, error) {
	prefixes, rest, err := deltaLengths(b, limit)
	if err != nil {
		return 0, err
	}
	longest, last, i, bad := int64(0), int64(0), 0, false
	_, err = deltaInts(rest, limit, func(v int64) {
		if i >= len(prefixes) || v < 0 || prefixes[i] < 0 || int64(prefixes[i]) > last {
			bad = true
			return
		}
		last = int64(prefixes[i]) + v
		longest = max(longest, last)
		i++
	})
	if err == nil && (bad || i != len(prefixes) || longest > int64(len(b))) {
		err = errDelta
	}
	return int(longest), err
}

// bitReader reads little-endian packed numbers of at most 32 bits.
type bitReader struct {
	b   []byte
	acc uint64
	n   uint
}

func (r *bitReader) take(width uint) uint32 {
	for r.n < width {
		r.acc |= uint64(r.b[0]) << r.n
		r.b = r.b[1:]
		r.n += 8
	}
	v := r.acc & (1<<width - 1)
	r.acc >>= width
	r.n -= width
	return uint32(v)
}
