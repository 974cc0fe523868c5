package pred

import (
	"bytes"
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// matcher is a keySet in the form that the values of an array are tested against.
type matcher struct {
	bounds int
	ints   []int64 // integers, days, microseconds and the keys of floats
	decs   []decimal128.Num
	strs   [][]byte
}

func newMatcher(set keySet, t sqlType) matcher {
	m := matcher{bounds: len(set)}
	for _, b := range set {
		switch t.kind {
		case kindString, kindBinary:
			m.strs = append(m.strs, []byte(b.s))
		case kindDecimal:
			m.decs = append(m.decs, b.n)
		default:
			m.ints = append(m.ints, int64(b.n.LowBits()))
		}
	}
	return m
}

// bits writes a bit for each value of arr that is in the set; those of NULLs mean nothing.
func (m *matcher) bits(dst []byte, arr arrow.Array) {
	if m.bounds == 0 {
		clear(dst)
		return
	}
	switch a := arr.(type) {
	case *array.Boolean:
		m.bools(dst, a)
	case *array.Int8:
		matchInts(m, dst, a.Int8Values(), math.MinInt8, math.MaxInt8)
	case *array.Int16:
		matchInts(m, dst, a.Int16Values(), math.MinInt16, math.MaxInt16)
	case *array.Int32:
		matchInts(m, dst, a.Int32Values(), math.MinInt32, math.MaxInt32)
	case *array.Int64:
		matchInts(m, dst, a.Int64Values(), math.MinInt64, math.MaxInt64)
	case *array.Date32:
		matchInts(m, dst, a.Date32Values(), math.MinInt32, math.MaxInt32)
	case *array.Timestamp:
		matchInts(m, dst, a.TimestampValues(), math.MinInt64, math.MaxInt64)
	case *array.Float32:
		matchFloats(m, dst, a.Float32Values(), least32, most32)
	case *array.Float64:
		matchFloats(m, dst, a.Float64Values(), same, same)
	case *array.Decimal128:
		m.decimals(dst, a.Values())
	case *array.String:
		m.strings(dst, a.ValueOffsets(), a.ValueBytes())
	case *array.Binary:
		m.strings(dst, a.ValueOffsets(), a.ValueBytes())
	}
}

// bit is 1 for true, without a branch.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// odd tells whether the number of bounds that are not above v is odd: v is in the set.
func odd[T cmp.Ordered](bounds []T, v T) bool {
	lo, hi := 0, len(bounds)
	for lo < hi {
		if mid := (lo + hi) / 2; bounds[mid] <= v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo%2 == 1
}

func (m *matcher) bools(dst []byte, a *array.Boolean) {
	n, data := a.Len(), a.Data()
	hasFalse, hasTrue := odd(m.ints, 0), odd(m.ints, 1)
	if hasFalse == hasTrue {
		fill(dst, hasTrue)
		return
	}
	if n > 0 {
		bitutil.CopyBitmap(data.Buffers()[1].Bytes(), data.Offset(), n, dst, 0)
	}
	if hasFalse {
		for i := range dst {
			dst[i] = ^dst[i]
		}
	}
}

func fill(dst []byte, b bool) {
	for i := range dst {
		dst[i] = -bit(b)
	}
}

func matchInts[T ~int8 | ~int16 | ~int32 | ~int64](m *matcher, dst []byte, v []T, least, most int64) {
	if m.bounds > 2 {
		for i := range dst {
			var x byte
			for j, v := range v[i*8 : min(i*8+8, len(v))] {
				x |= bit(odd(m.ints, int64(v))) << j
			}
			dst[i] = x
		}
		return
	}
	lo, hi := m.ints[0], most
	if m.bounds == 2 {
		hi = min(hi, m.ints[1]-1)
	}
	lo = max(lo, least)
	if lo > hi {
		clear(dst)
		return
	}
	within(dst, v, T(lo), T(hi))
}

// within tests lo <= v <= hi.
func within[T ~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64](dst []byte, v []T, lo, hi T) {
	whole := len(v) / 8
	for i := range whole {
		w := v[i*8 : i*8+8 : i*8+8]
		dst[i] = bit(w[0] >= lo && w[0] <= hi) | bit(w[1] >= lo && w[1] <= hi)<<1 |
			bit(w[2] >= lo && w[2] <= hi)<<2 | bit(w[3] >= lo && w[3] <= hi)<<3 |
			bit(w[4] >= lo && w[4] <= hi)<<4 | bit(w[5] >= lo && w[5] <= hi)<<5 |
			bit(w[6] >= lo && w[6] <= hi)<<6 | bit(w[7] >= lo && w[7] <= hi)<<7
	}
	if whole < len(dst) {
		var x byte
		for j, v := range v[whole*8:] {
			x |= bit(v >= lo && v <= hi) << j
		}
		dst[whole] = x
	}
}

// matchFloats tests a range with the processor's order, which knows -0.0 = 0.0. A range without an
// end has NaN in it: it is what is not below its start.
func matchFloats[T float32 | float64](m *matcher, dst []byte, v []T, least func(float64) T, most func(float64) T) {
	switch m.bounds {
	case 1:
		within(dst, v, T(math.Inf(-1)), most(keyFloat(m.ints[0]-1)))
		for i := range dst {
			dst[i] = ^dst[i]
		}
		return
	case 2:
		within(dst, v, least(keyFloat(m.ints[0])), most(keyFloat(m.ints[1]-1)))
		return
	}
	for i := range dst {
		var x byte
		for j, v := range v[i*8 : min(i*8+8, len(v))] {
			x |= bit(odd(m.ints, floatKey(float64(v)))) << j
		}
		dst[i] = x
	}
}

func same(f float64) float64 { return f }

// least32 is the first float32 that is not below f.
func least32(f float64) float32 {
	x := float32(f)
	if float64(x) < f {
		x = math.Nextafter32(x, float32(math.Inf(1)))
	}
	return x
}

// most32 is the last float32 that is not above f.
func most32(f float64) float32 {
	x := float32(f)
	if float64(x) > f {
		x = math.Nextafter32(x, float32(math.Inf(-1)))
	}
	return x
}

func (m *matcher) decimals(dst []byte, v []decimal128.Num) {
	for i := range dst {
		var x byte
		for j, v := range v[i*8 : min(i*8+8, len(v))] {
			x |= bit(m.hasDecimal(v)) << j
		}
		dst[i] = x
	}
}

func (m *matcher) hasDecimal(v decimal128.Num) bool {
	lo, hi := 0, len(m.decs)
	for lo < hi {
		if mid := (lo + hi) / 2; !v.Less(m.decs[mid]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo%2 == 1
}

// strings tests values of which the i-th is data[offsets[i]-offsets[0]:offsets[i+1]-offsets[0]].
func (m *matcher) strings(dst []byte, offsets []int32, data []byte) {
	rows := len(offsets) - 1
	single := m.bounds == 2 && len(m.strs[1]) == len(m.strs[0])+1 && m.strs[1][len(m.strs[0])] == 0 &&
		bytes.HasPrefix(m.strs[1], m.strs[0])
	for i := range dst {
		var x byte
		for j, row := 0, i*8; j < 8 && row < rows; j, row = j+1, row+1 {
			v := data[offsets[row]-offsets[0] : offsets[row+1]-offsets[0]]
			if single {
				x |= bit(bytes.Equal(v, m.strs[0])) << j
			} else {
				x |= bit(m.hasString(v)) << j
			}
		}
		dst[i] = x
	}
}

func (m *matcher) hasString(v []byte) bool {
	lo, hi := 0, len(m.strs)
	for lo < hi {
		if mid := (lo + hi) / 2; bytes.Compare(m.strs[mid], v) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo%2 == 1
}
