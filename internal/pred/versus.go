package pred

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// block is how many rows of two columns are compared at a time: their values are brought to one
// form in buffers of that length.
const block = 256

// side is a block of an operand's values.
type side struct {
	op      *operand
	arr     arrow.Array
	ints    [block]int64
	floats  [block]float64
	decs    [block]decimal128.Num
	offsets []int32
	data    []byte
}

func (n *versus) eval(m *machine) mask {
	ll, lr := m.load(n.l), m.load(n.r)
	l, r := &side{op: n.l, arr: ll.arr}, &side{op: n.r, arr: lr.arr}
	out := m.mask()
	clear(out.t)
	clear(out.f)
	order := orderOf(l, r)
	byOrder := [3]truth{n.lt, n.eq, n.gt}
	for start := 0; start < m.rows; start += block {
		count := min(block, m.rows-start)
		l.load(start, count)
		r.load(start, count)
		for i := range count {
			row := start + i
			t := n.both
			switch hasL, hasR := has(ll.valid, row), has(lr.valid, row); {
			case hasL && hasR:
				t = byOrder[order(i, row)+1]
			case hasL || hasR:
				t = n.one
			}
			out.t[row/8] |= bit(t == yes) << (row % 8)
			out.f[row/8] |= bit(t == no) << (row % 8)
		}
	}
	if n.one == null { // NULL on the left decides
		lr.errs = lr.errs.within(ll.valid)
	}
	m.unload(ll)
	m.unload(lr)
	out.errs = ll.errs.and(lr.errs)
	return out
}

func has(valid []byte, row int) bool {
	return valid == nil || valid[row/8]>>(row%8)&1 == 1
}

// load brings values to the buffer of their kind.
func (s *side) load(start, count int) {
	switch a := s.arr.(type) {
	case *array.Int8:
		widen(s.ints[:count], a.Int8Values()[start:])
	case *array.Int16:
		widen(s.ints[:count], a.Int16Values()[start:])
	case *array.Int32:
		widen(s.ints[:count], a.Int32Values()[start:])
	case *array.Int64:
		widen(s.ints[:count], a.Int64Values()[start:])
	case *array.Date32:
		widen(s.ints[:count], a.Date32Values()[start:])
	case *array.Timestamp:
		widen(s.ints[:count], a.TimestampValues()[start:])
	case *array.Float32:
		widen(s.floats[:count], a.Float32Values()[start:])
	case *array.Float64:
		widen(s.floats[:count], a.Float64Values()[start:])
	case *array.Decimal128:
		copy(s.decs[:count], a.Values()[start:])
	case *array.String:
		s.offsets, s.data = a.ValueOffsets(), a.ValueBytes()
	case *array.Binary:
		s.offsets, s.data = a.ValueOffsets(), a.ValueBytes()
	}
	if s.op.asDay {
		for i, v := range s.ints[:count] {
			s.ints[i] = floorDiv(v, microsADay)
		}
	}
}

func widen[T ~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64, W int64 | float64](dst []W, src []T) {
	for i := range dst {
		dst[i] = W(src[i])
	}
}

// days tells whether the buffered values count days.
func (s *side) days() bool { return s.op.asDay || s.op.stored.kind == kindDate }

func (s *side) bytes(row int) []byte {
	return s.data[s.offsets[row]-s.offsets[0] : s.offsets[row+1]-s.offsets[0]]
}

// orderOf gives the comparison of two sides: i is the place in the block, row that in the batch.
func orderOf(l, r *side) func(i, row int) int {
	lk, rk := l.op.stored.kind, r.op.stored.kind
	flip := func(order func(i, row int) int) func(i, row int) int {
		return func(i, row int) int { return -order(i, row) }
	}
	ls, rs := l.op.stored.scale, r.op.stored.scale
	switch {
	case lk == kindString || lk == kindBinary:
		return func(_, row int) int { return bytes.Compare(l.bytes(row), r.bytes(row)) }
	case lk == kindFloat && rk == kindFloat:
		return func(i, _ int) int { return cmp.Compare(floatKey(l.floats[i]), floatKey(r.floats[i])) }
	case lk == kindInt && rk == kindFloat:
		return func(i, _ int) int { return compareIntFloat(l.ints[i], r.floats[i]) }
	case lk == kindDecimal && rk == kindFloat:
		return func(i, _ int) int {
			return cmp.Compare(floatKey(decimalFloat(l.decs[i], ls)), floatKey(r.floats[i]))
		}
	case lk == kindDecimal && rk == kindDecimal:
		return func(i, _ int) int { return compareDecimals(l.decs[i], ls, r.decs[i], rs) }
	case lk == kindInt && rk == kindDecimal:
		return func(i, _ int) int { return compareDecimals(decimal128.FromI64(l.ints[i]), 0, r.decs[i], rs) }
	case lk == kindFloat || lk == kindDecimal:
		return flip(orderOf(r, l))
	case l.days() && !r.days():
		return func(i, _ int) int { return compareDayMicros(l.ints[i], r.ints[i]) }
	case r.days() && !l.days():
		return flip(orderOf(r, l))
	}
	return func(i, _ int) int { return cmp.Compare(l.ints[i], r.ints[i]) }
}

// compareIntFloat compares by value; NaN is greater than every number.
func compareIntFloat(i int64, f float64) int {
	const limit = 1 << 63
	switch {
	case f != f || f >= limit:
		return -1
	case f < -limit:
		return 1
	}
	whole := math.Floor(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 || whole == f {
		return c
	}
	return -1
}

// compareDayMicros compares the midnight of a day with a microsecond.
func compareDayMicros(day, micros int64) int {
	of := floorDiv(micros, microsADay)
	if c := cmp.Compare(day, of); c != 0 || micros == of*microsADay {
		return c
	}
	return -1
}

// decimalFloat is the double nearest to d / 10^scale. Digits that a double holds, over a power of
// ten that a double holds, divide to the nearest double; others take the long way.
func decimalFloat(d decimal128.Num, scale int32) float64 {
	const exact = 1 << 53
	if i := int64(d.LowBits()); scale <= 22 && i <= exact && i >= -exact && decimal128.FromI64(i) == d {
		return float64(i) / powersOfTen[scale]
	}
	return nearestFloat(d.BigInt(), scale)
}

var powersOfTen = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// compareDecimals compares decimals of any two scales without loss.
func compareDecimals(a decimal128.Num, scaleA int32, b decimal128.Num, scaleB int32) int {
	if scaleA == scaleB {
		return a.Cmp(b)
	}
	signA, signB := a.Sign(), b.Sign()
	if a == (decimal128.Num{}) {
		signA = 0
	}
	if b == (decimal128.Num{}) {
		signB = 0
	}
	if signA != signB || signA == 0 {
		return cmp.Compare(signA, signB)
	}
	return signA * compareWide(times(a, scaleB-scaleA), times(b, scaleA-scaleB))
}

// times is |n| * 10^by in 256 bits, least first; by is at most 38, and below 0 counts as 0.
func times(n decimal128.Num, by int32) [4]uint64 {
	n = n.Abs()
	lo, hi := n.LowBits(), uint64(n.HighBits())
	if by <= 0 {
		return [4]uint64{lo, hi}
	}
	f := decimal128.GetScaleMultiplier(int(by))
	f0, f1 := f.LowBits(), uint64(f.HighBits())
	h00, l00 := bits.Mul64(lo, f0)
	h01, l01 := bits.Mul64(lo, f1)
	h10, l10 := bits.Mul64(hi, f0)
	h11, l11 := bits.Mul64(hi, f1)
	p1, c1 := bits.Add64(h00, l01, 0)
	p1, c2 := bits.Add64(p1, l10, 0)
	p2, c3 := bits.Add64(h01, h10, c1)
	p2, c4 := bits.Add64(p2, l11, c2)
	return [4]uint64{l00, p1, p2, h11 + c3 + c4}
}

func compareWide(a, b [4]uint64) int {
	for i := 3; i >= 0; i-- {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}
