package rows

import (
	"cmp"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// magnitude is the absolute value of a 128-bit integer, and its sign.
func magnitude(d decimal128.Num) (hi, lo uint64, neg bool) {
	hi, lo = uint64(d.HighBits()), d.LowBits()
	if d.HighBits() >= 0 {
		return hi, lo, false
	}
	lo, carry := bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(0, hi, carry)
	return hi, lo, true
}

func signed(hi, lo uint64, neg bool) decimal128.Num {
	if neg {
		var carry uint64
		lo, carry = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, carry)
	}
	return decimal128.New(int64(hi), lo)
}

// times10 multiplies by 10^k, and reports false if the product needs more than 128 bits.
func times10(hi, lo uint64, k int64) (uint64, uint64, bool) {
	if hi|lo == 0 {
		return 0, 0, true
	}
	for ; k > 0; k-- {
		carry, l := bits.Mul64(lo, 10)
		over, h := bits.Mul64(hi, 10)
		h, c := bits.Add64(h, carry, 0)
		if over != 0 || c != 0 {
			return 0, 0, false
		}
		hi, lo = h, l
	}
	return hi, lo, true
}

func div10(hi, lo uint64) (qhi, qlo, rem uint64) {
	qhi, rem = hi/10, hi%10
	qlo, rem = bits.Div64(rem, lo, 10)
	return qhi, qlo, rem
}

// compareDecimals compares a*10^-as with b*10^-bs.
func compareDecimals(a decimal128.Num, as int32, b decimal128.Num, bs int32) int {
	if as == bs {
		return a.Cmp(b)
	}
	if as > bs {
		return -compareDecimals(b, bs, a, as)
	}
	if sa, sb := signOf(a), signOf(b); sa != sb || sa == 0 {
		return cmp.Compare(sa, sb)
	}
	ahi, alo, neg := magnitude(a)
	bhi, blo, _ := magnitude(b)
	order := 1
	if h, l, ok := times10(ahi, alo, int64(bs)-int64(as)); ok {
		order = compare128(h, l, bhi, blo)
	}
	if neg {
		return -order
	}
	return order
}

func signOf(d decimal128.Num) int {
	if d == (decimal128.Num{}) {
		return 0
	}
	return d.Sign()
}

func compare128(ahi, alo, bhi, blo uint64) int {
	if c := cmp.Compare(ahi, bhi); c != 0 {
		return c
	}
	return cmp.Compare(alo, blo)
}

// stripZeros is the one pair of coefficient and scale, with a coefficient that 10 does not divide, that d*10^-scale has. Zero has scale 0.
func stripZeros(d decimal128.Num, scale int32) (decimal128.Num, int32) {
	hi, lo, neg := magnitude(d)
	if hi|lo == 0 {
		return d, 0
	}
	for {
		qhi, qlo, rem := div10(hi, lo)
		if rem != 0 {
			return signed(hi, lo, neg), scale
		}
		hi, lo = qhi, qlo
		scale--
	}
}

// Decimals are hashed as residues modulo the prime 2^61-1, in which division by 10^scale is multiplication by a constant:
// equal values have equal residues whatever their scales, and no digit is looked at.
const mersenne61 = 1<<61 - 1

func mulMod61(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return mod61(lo&mersenne61 + (hi<<3 | lo>>61))
}

func mod61(x uint64) uint64 {
	x = x&mersenne61 + x>>61
	if x >= mersenne61 {
		x -= mersenne61
	}
	return x
}

// scaleFactor is 10^-scale modulo 2^61-1.
func scaleFactor(scale int32) uint64 {
	base, k := uint64(10), int64(scale)
	if k > 0 {
		base = powMod61(10, mersenne61-2) // the inverse of 10, by Fermat
	} else {
		k = -k
	}
	return powMod61(base, uint64(k))
}

func powMod61(base, k uint64) uint64 {
	out := uint64(1)
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			out = mulMod61(out, base)
		}
		base = mulMod61(base, base)
	}
	return out
}

func decimalResidue(d decimal128.Num, factor uint64) uint64 {
	hi, lo, neg := magnitude(d)
	// 2^64 is 8 modulo 2^61-1.
	r := mod61(mod61(mod61(hi)<<3) + mod61(lo))
	r = mulMod61(r, factor)
	if neg && r != 0 {
		r = mersenne61 - r
	}
	return r
}
