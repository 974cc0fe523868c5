package delta

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// The cookies, and the sizes, of 32-bit Roaring bitmaps.
const (
	plainCookie    = 12346
	runCookie      = 12347
	bitmapBytes    = 8192
	arrayMax       = 4096 // the greatest cardinality of an array
	offsetsFromRun = 4    // the number of containers from which on a bitmap with runs has offsets
)

// roaringScan walks the bytes of a vector and keeps nothing. It takes what the format's description
// allows: keys and values ascend, cardinalities are those of the values, offsets lead to the
// containers, no byte is left over.
type roaringScan struct {
	data    []byte
	at      int
	buckets uint64
	vacant  []span // buckets without a row: some writers fill the gaps between buckets with them
}

// span is a part of the bytes.
type span struct{ from, to int }

// filled gives the 64-bit bitmap without its vacant buckets, which the library does not expect.
func (s *roaringScan) filled() []byte {
	const magic = 4
	if len(s.vacant) == 0 {
		return s.data[magic:]
	}
	out := binary.LittleEndian.AppendUint64(nil, s.buckets-uint64(len(s.vacant)))
	from := vectorHeaderBytes
	for _, v := range s.vacant {
		out = append(out, s.data[from:v.from]...)
		from = v.to
	}
	return append(out, s.data[from:]...)
}

func (s *roaringScan) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// take gives the next n bytes, nil if there are not as many.
func (s *roaringScan) take(n int) []byte {
	if n > len(s.data)-s.at {
		return nil
	}
	b := s.data[s.at : s.at+n]
	s.at += n
	return b
}

func (s *roaringScan) u32(what string) (uint32, error) {
	b := s.take(4)
	if b == nil {
		return 0, s.corrupt("it ends within %s", what)
	}
	return binary.LittleEndian.Uint32(b), nil
}

// vector walks all of it.
func (s *roaringScan) vector() error {
	magic, err := s.u32("the magic number")
	switch {
	case err != nil:
		return err
	case magic == nativeVectorMagic:
		return fmt.Errorf("%w: the magic number %d is that of Roaring bitmaps in Spark's native layout; rewrite the vector with OPTIMIZE or REORG", ErrUnsupported, magic)
	case magic != vectorMagic:
		return s.corrupt("the magic number is %d, not %d", magic, vectorMagic)
	}
	b := s.take(8)
	if b == nil {
		return s.corrupt("it ends within the number of buckets")
	}
	buckets := binary.LittleEndian.Uint64(b)
	if most := uint64(len(s.data)-s.at) / 8; buckets > most { // a key and a cookie each
		return s.corrupt("%d buckets, where at most %d have room", buckets, most)
	}
	s.buckets = buckets
	last := int64(-1)
	for range buckets {
		start := s.at
		key, err := s.u32("a bucket's key")
		switch {
		case err != nil:
			return err
		case int64(key) <= last:
			return s.corrupt("the bucket %d follows the bucket %d", key, last)
		case key>>31 != 0:
			return s.corrupt("the bucket %d is of rows beyond 63 bits", key)
		}
		last = int64(key)
		containers, err := s.bitmap()
		if err != nil {
			return err
		}
		if containers == 0 {
			s.vacant = append(s.vacant, span{start, s.at})
		}
	}
	if s.at != len(s.data) {
		return s.corrupt("%d bytes follow the last bucket", len(s.data)-s.at)
	}
	return nil
}

// bitmap walks a 32-bit bitmap and gives the number of its containers.
func (s *roaringScan) bitmap() (n int, err error) {
	start := s.at
	n, hasRuns, err := s.cookie()
	if err != nil {
		return 0, err
	}
	var runs []byte
	if hasRuns {
		if runs = s.take((n + 7) / 8); runs == nil {
			return 0, s.corrupt("it ends within the marks of runs")
		}
	}
	heads := s.take(4 * n)
	if heads == nil {
		return 0, s.corrupt("it ends within the keys of %d containers", n)
	}
	var offsets []byte
	if !hasRuns || n >= offsetsFromRun {
		if offsets = s.take(4 * n); offsets == nil {
			return 0, s.corrupt("it ends within the offsets of %d containers", n)
		}
	}
	return n, s.containers(start, n, heads, runs, offsets)
}

// cookie reads how many containers a bitmap has, and whether some are of runs.
func (s *roaringScan) cookie() (n int, hasRuns bool, err error) {
	cookie, err := s.u32("a bitmap's cookie")
	switch {
	case err != nil:
		return 0, false, err
	case cookie&0xffff == runCookie:
		return int(cookie>>16) + 1, true, nil
	case cookie != plainCookie:
		return 0, false, s.corrupt("the cookie of a bitmap is %d", cookie)
	}
	count, err := s.u32("the number of containers")
	if err == nil && count > 1<<16 {
		err = s.corrupt("a bitmap of %d containers", count)
	}
	return int(count), false, err
}

func (s *roaringScan) containers(start, n int, heads, runs, offsets []byte) error {
	last := -1
	for i := range n {
		key := int(binary.LittleEndian.Uint16(heads[4*i:]))
		cardinality := int(binary.LittleEndian.Uint16(heads[4*i+2:])) + 1
		if key <= last {
			return s.corrupt("the container %d follows the container %d", key, last)
		}
		last = key
		if offsets != nil {
			if off := binary.LittleEndian.Uint32(offsets[4*i:]); uint64(off) != uint64(s.at-start) {
				return s.corrupt("the container %d is at %d of its bitmap, its offset says %d", key, s.at-start, off)
			}
		}
		var err error
		switch {
		case runs != nil && runs[i/8]>>(i%8)&1 != 0:
			err = s.runs(cardinality)
		case cardinality <= arrayMax:
			err = s.array(cardinality)
		default:
			err = s.bits(cardinality)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *roaringScan) array(cardinality int) error {
	b := s.take(2 * cardinality)
	if b == nil {
		return s.corrupt("it ends within an array of %d rows", cardinality)
	}
	last := -1
	for ; len(b) > 0; b = b[2:] {
		v := int(binary.LittleEndian.Uint16(b))
		if v <= last {
			return s.corrupt("an array has %d after %d", v, last)
		}
		last = v
	}
	return nil
}

func (s *roaringScan) bits(cardinality int) error {
	b := s.take(bitmapBytes)
	if b == nil {
		return s.corrupt("it ends within a bitmap of %d bytes", bitmapBytes)
	}
	n := 0
	for ; len(b) > 0; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	if n != cardinality {
		return s.corrupt("a bitmap of %d rows says that it has %d", n, cardinality)
	}
	return nil
}

func (s *roaringScan) runs(cardinality int) error {
	b := s.take(2)
	if b == nil {
		return s.corrupt("it ends within the number of runs")
	}
	count := int(binary.LittleEndian.Uint16(b))
	if b = s.take(4 * count); b == nil {
		return s.corrupt("it ends within %d runs", count)
	}
	next, n := 0, 0
	for ; len(b) > 0; b = b[4:] {
		first, more := int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:]))
		if first < next || first+more > 0xffff {
			return s.corrupt("a run from %d to %d, where rows from %d to 65535 have a place", first, first+more, next)
		}
		next = first + more + 1
		n += more + 1
	}
	if n != cardinality {
		return s.corrupt("runs of %d rows say that they have %d", n, cardinality)
	}
	return nil
}
