package parquetio

import (
	"encoding/binary"
	"errors"
)

// The wire types of Thrift's compact protocol.
const (
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
	tUUID   = 13
)

// thriftDepth is how deep unknown structures may nest.
const thriftDepth = 32

var (
	errThriftShort = errors.New("metadata ends too early")
	errThriftType  = errors.New("metadata has a field of an unknown type")
	errThriftDeep  = errors.New("metadata nests too deep")
	errThriftSize  = errors.New("metadata states a size beyond its end")
)

// thriftReader reads Thrift's compact protocol from untrusted bytes. Its first error sticks and ends every loop.
// It takes no memory that depends on a stated size.
type thriftReader struct {
	b   []byte
	pos int
	err error
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.pos = len(r.b)
}

func (r *thriftReader) byte() byte {
	if r.pos >= len(r.b) {
		r.fail(errThriftShort)
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

func (r *thriftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b[r.pos:])
	if n <= 0 {
		r.fail(errThriftShort)
		return 0
	}
	r.pos += n
	return v
}

func (r *thriftReader) int() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// binary gives bytes that alias the input.
func (r *thriftReader) binary() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)-r.pos) {
		r.fail(errThriftSize)
		return nil
	}
	b := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// fields calls f for each field of a struct; f must read or skip the value.
func (r *thriftReader) fields(f func(id int16, typ byte)) {
	var last int16
	for r.err == nil {
		head := r.byte()
		if head == 0 {
			return
		}
		if delta := int16(head >> 4); delta != 0 {
			last += delta
		} else {
			last = int16(r.int())
		}
		if r.err == nil {
			f(last, head&15)
		}
	}
}

func (r *thriftReader) listHead() (n int, elem byte) {
	head := r.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = r.uvarint()
	}
	if size > uint64(len(r.b)-r.pos) { // an element takes at least a byte
		r.fail(errThriftSize)
		return 0, 0
	}
	return int(size), head & 15
}

// skip passes over a value.
func (r *thriftReader) skip(typ byte) { r.skipDeep(typ, 0) }

func (r *thriftReader) skipDeep(typ byte, depth int) {
	if depth > thriftDepth {
		r.fail(errThriftDeep)
		return
	}
	switch typ {
	case tTrue, tFalse: // the value is in the type
	case tByte:
		r.byte()
	case tI16, tI32, tI64:
		r.uvarint()
	case tDouble:
		r.advance(8)
	case tUUID:
		r.advance(16)
	case tBinary:
		r.binary()
	case tStruct:
		r.fields(func(_ int16, t byte) { r.skipDeep(t, depth+1) })
	case tList, tSet:
		n, elem := r.listHead()
		for i := 0; i < n && r.err == nil; i++ {
			r.skipElement(elem, depth+1)
		}
	case tMap:
		r.skipMap(depth)
	default:
		r.fail(errThriftType)
	}
}

// skipElement passes over an element of a list or map, where a boolean takes a byte.
func (r *thriftReader) skipElement(typ byte, depth int) {
	if typ == tTrue || typ == tFalse {
		r.byte()
		return
	}
	r.skipDeep(typ, depth)
}

func (r *thriftReader) skipMap(depth int) {
	n := r.uvarint()
	if n == 0 {
		return
	}
	types := r.byte()
	for ; n > 0 && r.err == nil; n-- {
		r.skipElement(types>>4, depth+1)
		r.skipElement(types&15, depth+1)
	}
}

func (r *thriftReader) advance(n int) {
	if n > len(r.b)-r.pos {
		r.fail(errThriftShort)
		return
	}
	r.pos += n
}
