package plan

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func toString(from arrow.DataType) conversion {
	var plain conversion
	switch from.ID() {
	case arrow.STRING:
		plain = same
	case arrow.LARGE_STRING:
		plain = shortOffsets(arrow.BinaryTypes.String)
	case arrow.STRING_VIEW:
		plain = viewStrings
	default:
		return nil
	}
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		out, err := plain(mem, in)
		if err != nil {
			return nil, err
		}
		if err := checkUTF8(out.(*array.String)); err != nil {
			out.Release()
			return nil, err
		}
		return out, nil
	}
}

func toBinary(from arrow.DataType) conversion {
	switch from.ID() {
	case arrow.BINARY:
		return same
	case arrow.LARGE_BINARY:
		return shortOffsets(arrow.BinaryTypes.Binary)
	case arrow.BINARY_VIEW:
		return viewBinary
	case arrow.FIXED_SIZE_BINARY:
		return fixedSizeBinary
	}
	return nil
}

// tooLong refuses a batch whose column exceeds the 2 GiB that 32-bit offsets address.
func tooLong(total int64) error {
	if total <= math.MaxInt32 {
		return nil
	}
	return &cellError{row: -1, why: fmt.Sprintf("%d bytes in one batch are more than 2 GiB; give the rows in smaller batches", total)}
}

// shortOffsets makes 32-bit offsets from 64-bit ones and shares the bytes.
func shortOffsets(to arrow.DataType) conversion {
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		n, d := in.Len(), in.Data()
		buf, out := fixed[int32](mem, n+1)
		if d.Buffers()[1] == nil || d.Buffers()[1].Len() == 0 || d.Buffers()[2] == nil {
			clear(out)
			return finish(mem, in, to, buf, memory.NewBufferBytes(nil)), nil
		}
		offsets := arrow.GetData[int64](d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+n+1]
		if err := tooLong(offsets[n] - offsets[0]); err != nil {
			buf.Release()
			return nil, err
		}
		for i, o := range offsets {
			out[i] = int32(o - offsets[0])
		}
		data := memory.SliceBuffer(d.Buffers()[2], int(offsets[0]), int(offsets[n]-offsets[0]))
		return finish(mem, in, to, buf, data), nil
	}
}

func fixedSizeBinary(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
	width := in.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
	n, d := in.Len(), in.Data()
	if err := tooLong(int64(n) * int64(width)); err != nil {
		return nil, err
	}
	buf, offsets := fixed[int32](mem, n+1)
	for i := range offsets {
		offsets[i] = int32(i * width)
	}
	data := memory.NewBufferBytes(nil)
	if b := d.Buffers()[1]; b != nil && n*width > 0 {
		data = memory.SliceBuffer(b, d.Offset()*width, n*width)
	}
	return finish(mem, in, arrow.BinaryTypes.Binary, buf, data), nil
}

func viewStrings(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
	a := in.(*array.StringView)
	total := int64(0)
	for i := range a.Len() {
		if a.IsValid(i) {
			total += int64(len(a.Value(i)))
		}
	}
	if err := tooLong(total); err != nil {
		return nil, err
	}
	b := array.NewStringBuilder(mem)
	defer b.Release()
	b.Reserve(a.Len())
	b.ReserveData(int(total))
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(a.Value(i))
	}
	return b.NewArray(), nil
}

func viewBinary(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
	a := in.(*array.BinaryView)
	total := int64(0)
	for i := range a.Len() {
		if a.IsValid(i) {
			total += int64(len(a.Value(i)))
		}
	}
	if err := tooLong(total); err != nil {
		return nil, err
	}
	b := array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
	defer b.Release()
	b.Reserve(a.Len())
	b.ReserveData(int(total))
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(a.Value(i))
	}
	return b.NewArray(), nil
}

// checkUTF8 looks at all bytes at once; only what fails that is looked at value by value.
func checkUTF8(a *array.String) error {
	if a.Len() == 0 {
		return nil
	}
	all := a.ValueBytes()
	offsets := a.Data().Buffers()[1]
	if utf8.Valid(all) && offsets != nil {
		starts := arrow.GetData[int32](offsets.Bytes())[a.Data().Offset() : a.Data().Offset()+a.Len()]
		whole := true
		for _, o := range starts {
			at := int(o - starts[0])
			whole = whole && (at >= len(all) || utf8.RuneStart(all[at]))
		}
		if whole {
			return nil
		}
	}
	for i := range a.Len() {
		if a.IsValid(i) && !utf8.ValidString(a.Value(i)) {
			return &cellError{row: i, value: clip(fmt.Sprintf("%q", a.Value(i))),
				why: "is not valid UTF-8, which a string column must hold; decode it in the rows, or store it in a binary column"}
		}
	}
	return nil
}
