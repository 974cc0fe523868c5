package parquetio

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// decimalFit brings a file's unscaled values to the scale of the table's type and checks its precision.
type decimalFit struct {
	want  *arrow.Decimal128Type
	shift int // powers of ten to multiply with; negative: to divide by, without a rest
}

func (f decimalFit) all(v []decimal128.Num) error {
	top := decimal128.GetScaleMultiplier(int(f.want.Precision))
	low := top.Negate()
	for i, d := range v {
		if f.shift != 0 {
			var ok bool
			if d, ok = rescale(d, f.shift); !ok {
				return fmt.Errorf("a decimal that %s cannot hold: %s with its scale changed by %d", f.want, d.ToString(0), f.shift)
			}
			v[i] = d
		}
		if !d.Less(top) || !low.Less(d) {
			return fmt.Errorf("a decimal that %s cannot hold: unscaled %s", f.want, d.ToString(0))
		}
	}
	return nil
}

// rescale multiplies by a power of ten; ok is false if digits are lost.
func rescale(d decimal128.Num, shift int) (out decimal128.Num, ok bool) {
	if shift < 0 {
		q, rest := d.Div(decimal128.GetScaleMultiplier(-shift))
		return q, rest == decimal128.Num{}
	}
	m := decimal128.GetScaleMultiplier(shift)
	limit, _ := decimal128.GetScaleMultiplier(38).Div(m)
	if !d.Less(limit) || !limit.Negate().Less(d) {
		return d, d == decimal128.Num{}
	}
	return d.Mul(m), true
}

// fromBytes reads big-endian two's complement numbers.
func (f decimalFit) fromBytes(a *assembler, l *leafReader, n int, valid []byte) ([]*memory.Buffer, error) {
	data, ends := takenStrings(l)
	buf := a.buffer(16 * n)
	dst := arrow.GetData[decimal128.Num](buf.Bytes())
	for i := range l.k {
		v, ok := bigEndianDecimal(data[ends[i]:ends[i+1]])
		if !ok {
			return nil, fmt.Errorf("a decimal of %d bytes that %s cannot hold", ends[i+1]-ends[i], f.want)
		}
		dst[i] = v
	}
	if err := f.all(dst[:l.k]); err != nil {
		return nil, err
	}
	spread(dst, l.k, valid)
	return []*memory.Buffer{buf}, nil
}

func bigEndianDecimal(b []byte) (v decimal128.Num, ok bool) {
	sign := byte(0)
	if len(b) > 0 && b[0]&0x80 != 0 {
		sign = 0xff
	}
	for len(b) > 16 { // leading bytes must only carry the sign
		if b[0] != sign || (b[1]^sign)&0x80 != 0 {
			return v, false
		}
		b = b[1:]
	}
	var full [16]byte
	if sign != 0 {
		for i := range full {
			full[i] = sign
		}
	}
	copy(full[16-len(b):], b)
	return decimal128.New(int64(binary.BigEndian.Uint64(full[:8])), binary.BigEndian.Uint64(full[8:])), true
}
