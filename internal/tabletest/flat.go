package tabletest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

const stubMagic = "idem stub 1"

// How the values of a type lie in memory.
const (
	bits      = 0  // one bit each
	texts     = -1 // 32-bit ends in bytes
	fixedFrom = 1  // this many bytes each
)

func widthOf(t arrow.DataType) (int, error) {
	switch dt := t.(type) {
	case *arrow.BooleanType:
		return bits, nil
	case *arrow.StringType, *arrow.BinaryType:
		return texts, nil
	case arrow.FixedWidthDataType:
		if dt.BitWidth()%8 == 0 && dt.BitWidth() > 0 {
			return dt.BitWidth() / 8, nil
		}
	}
	return 0, fmt.Errorf("%w: the stub codec does not store %s", delta.ErrUnsupported, t)
}

// flat is a column of a batch: its buffers, from its first row on.
type flat struct {
	valid  []byte // a bitmap; empty: all rows have values
	values []byte // of texts: the ends
	text   []byte
}

type encoder struct{ b []byte }

func (e *encoder) number(n int) { e.b = binary.AppendUvarint(e.b, uint64(n)) }

func (e *encoder) bytes(b []byte) {
	e.number(len(b))
	e.b = append(e.b, b...)
}

func (e *encoder) array(d arrow.ArrayData) error {
	width, err := widthOf(d.DataType())
	if err != nil {
		return err
	}
	off, n := d.Offset(), d.Len()
	valid := []byte(nil)
	if b := d.Buffers()[0]; b != nil && d.NullN() != 0 {
		valid = bitsOf(b.Bytes(), off, n)
	}
	e.bytes(valid)
	values := []byte(nil)
	if b := d.Buffers()[1]; b != nil {
		values = b.Bytes()
	}
	switch width {
	case bits:
		e.bytes(bitsOf(values, off, n))
		e.bytes(nil)
	case texts:
		ends := arrow.Int32Traits.CastFromBytes(values)[off : off+n+1]
		rebased := make([]byte, 0, 4*len(ends))
		for _, end := range ends {
			rebased = binary.LittleEndian.AppendUint32(rebased, uint32(end-ends[0]))
		}
		e.bytes(rebased)
		if b := d.Buffers()[2]; b != nil {
			e.bytes(b.Bytes()[ends[0]:ends[n]])
		} else {
			e.bytes(nil)
		}
	default:
		e.bytes(values[off*width : (off+n)*width])
		e.bytes(nil)
	}
	return nil
}

func bitsOf(b []byte, off, n int) []byte {
	out := make([]byte, bitutil.BytesForBits(int64(n)))
	bitutil.CopyBitmap(b, off, n, out, 0)
	return out
}

type decoder struct {
	b   []byte
	err error
}

var errShort = errors.New("the file ends too early")

func (d *decoder) number() int {
	n, size := binary.Uvarint(d.b)
	if d.err != nil || size <= 0 || n > 1<<31-1 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.number()
	if d.err != nil || n > len(d.b) {
		d.fail()
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = errShort
	}
}

func (d *decoder) flat() flat {
	return flat{valid: d.bytes(), values: d.bytes(), text: d.bytes()}
}

// array makes a column of n rows, after checking that the buffers hold them.
func (f flat) array(t arrow.DataType, n int) (arrow.Array, error) {
	width, err := widthOf(t)
	if err != nil {
		return nil, err
	}
	bitmap := int(bitutil.BytesForBits(int64(n)))
	need := bitmap
	switch {
	case width == texts:
		need = 4 * (n + 1)
	case width >= fixedFrom:
		need = width * n
	}
	if len(f.values) != need || len(f.valid) != 0 && len(f.valid) != bitmap || width == texts && !f.ascending() {
		return nil, fmt.Errorf("%w: a column of %d rows of %s has the wrong size", delta.ErrCorrupt, n, t)
	}
	buffers := []*memory.Buffer{nil, aligned(f.values)}
	nulls := 0
	if len(f.valid) > 0 {
		buffers[0] = aligned(f.valid)
		nulls = n - bitutil.CountSetBits(f.valid, 0, n)
	}
	if width == texts {
		buffers = append(buffers, aligned(f.text))
	}
	data := array.NewData(t, n, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// ascending says whether the ends stay within the text.
func (f flat) ascending() bool {
	last := uint32(0)
	for b := f.values; len(b) >= 4; b = b[4:] {
		end := binary.LittleEndian.Uint32(b)
		if end < last {
			return false
		}
		last = end
	}
	return int64(last) <= int64(len(f.text))
}

// aligned copies bytes to where words may be read.
func aligned(b []byte) *memory.Buffer {
	words := make([]uint64, (len(b)+7)/8)
	out := arrow.Uint64Traits.CastToBytes(words)[:len(b):len(b)]
	copy(out, b)
	return memory.NewBufferBytes(out)
}
