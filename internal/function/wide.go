package function

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// u128 is an unsigned integer of 128 bits: the digits of a decimal without sign and point.
type u128 struct{ hi, lo uint64 }

// u256 is an unsigned integer of 256 bits, the least word first. The product of two decimals, and
// a decimal moved by 38 digits, fit into it.
type u256 [4]uint64

const maxPrecision = 38

// pow10 are the powers of ten that fit into 128 bits.
var pow10 = func() (p [maxPrecision + 1]u128) {
	p[0] = u128{lo: 1}
	for i := range maxPrecision {
		p[i+1], _ = p[i].times(10).narrow()
	}
	return p
}()

// magnitude takes a number apart into its digits and its sign.
func magnitude(n decimal128.Num) (m u128, neg bool) {
	m = u128{uint64(n.HighBits()), n.LowBits()}
	if n.HighBits() >= 0 {
		return m, false
	}
	lo, borrow := bits.Sub64(0, m.lo, 0)
	hi, _ := bits.Sub64(0, m.hi, borrow)
	return u128{hi, lo}, true
}

// signed puts digits and sign together. The digits have to be fewer than 2^127.
func signed(m u128, neg bool) decimal128.Num {
	if neg {
		lo, borrow := bits.Sub64(0, m.lo, 0)
		hi, _ := bits.Sub64(0, m.hi, borrow)
		m = u128{hi, lo}
	}
	return decimal128.New(int64(m.hi), m.lo)
}

func (a u128) isZero() bool { return a.hi|a.lo == 0 }

func (a u128) less(b u128) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

// add is a+b, which has to fit.
func (a u128) add(b u128) u128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return u128{hi, lo}
}

// sub is a-b, of b that is not greater.
func (a u128) sub(b u128) u128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return u128{hi, lo}
}

func timesWord(a, b uint64) u128 {
	hi, lo := bits.Mul64(a, b)
	return u128{hi, lo}
}

func (a u128) wide() u256 { return u256{a.lo, a.hi} }

func (a u128) times(b uint64) u256 {
	h, lo := bits.Mul64(a.lo, b)
	top, mid := bits.Mul64(a.hi, b)
	mid, carry := bits.Add64(mid, h, 0)
	return u256{lo, mid, top + carry}
}

func (a u128) mul(b u128) u256 {
	if a.hi|b.hi == 0 {
		hi, lo := bits.Mul64(a.lo, b.lo)
		return u256{lo, hi}
	}
	low, high := a.times(b.lo), a.times(b.hi)
	var carry uint64
	low[1], carry = bits.Add64(low[1], high[0], 0)
	low[2], carry = bits.Add64(low[2], high[1], carry)
	low[3] = high[2] + carry
	return low
}

// narrow is a number of at most 128 bits as one of 128.
func (a u256) narrow() (u128, bool) {
	return u128{a[1], a[0]}, a[2]|a[3] == 0
}

// add is a+b; false says that it needs more bits.
func (a u256) add(b u256) (u256, bool) {
	var c uint64
	for i := range a {
		a[i], c = bits.Add64(a[i], b[i], c)
	}
	return a, c == 0
}

// sub is a-b, of b that is not greater.
func (a u256) sub(b u256) u256 {
	var c uint64
	for i := range a {
		a[i], c = bits.Sub64(a[i], b[i], c)
	}
	return a
}

func (a u256) less(b u256) bool {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// shift multiplies by a power of ten; false says that it needs more bits.
func (a u256) shift(digits int32) (u256, bool) {
	for digits > 0 {
		step := min(digits, 19)
		factor, carry := pow10[step].lo, uint64(0)
		for i := range a {
			hi, lo := bits.Mul64(a[i], factor)
			var c uint64
			a[i], c = bits.Add64(lo, carry, 0)
			carry = hi + c
		}
		if carry != 0 {
			return u256{}, false
		}
		digits -= step
	}
	return a, true
}

// div divides by d, which is not 0.
func (a u256) div(d u128) (q u256, r u128) {
	if d.hi != 0 {
		return a.divLong(d)
	}
	i := len(a) - 1
	for i > 0 && a[i] == 0 {
		i--
	}
	for ; i >= 0; i-- {
		q[i], r.lo = bits.Div64(r.lo, a[i], d.lo)
	}
	return q, r
}

// divLong divides by d, which has more than 64 bits, as Knuth's algorithm D does (The Art of
// Computer Programming, 4.3.1) with words as digits.
func (a u256) divLong(d u128) (q u256, r u128) {
	s := uint(bits.LeadingZeros64(d.hi))
	v1, v0 := d.hi<<s|d.lo>>(64-s), d.lo<<s
	var n [5]uint64
	for i := range a {
		n[i] |= a[i] << s
		n[i+1] = a[i] >> (64 - s)
	}
	for j := 2; j >= 0; j-- {
		q[j] = quotientWord(n[j+2], n[j+1], n[j], v1, v0)
		h, lo := bits.Mul64(q[j], v0)
		top, mid := bits.Mul64(q[j], v1)
		var c uint64
		mid, c = bits.Add64(mid, h, 0)
		top += c
		n[j], c = bits.Sub64(n[j], lo, 0)
		n[j+1], c = bits.Sub64(n[j+1], mid, c)
		n[j+2], _ = bits.Sub64(n[j+2], top, c)
	}
	return q, u128{n[1] >> s, n[0]>>s | n[1]<<(64-s)}
}

// quotientWord is the quotient, of one word, of three words by two, the first of which has its highest
// bit set: a guess by the first words that is never too small, and is made smaller until it fits the others.
func quotientWord(u2, u1, u0, v1, v0 uint64) uint64 {
	guess, rest := uint64(math.MaxUint64), u1
	var c uint64
	if u2 < v1 {
		guess, rest = bits.Div64(u2, u1, v1)
	} else if rest, c = bits.Add64(u1, v1, 0); c != 0 {
		return guess
	}
	for {
		hi, lo := bits.Mul64(guess, v0)
		if hi < rest || hi == rest && lo <= u0 {
			return guess
		}
		guess--
		if rest, c = bits.Add64(rest, v1, 0); c != 0 {
			return guess
		}
	}
}

// rounding says what becomes of the digits that are cut off.
type rounding uint8

const (
	halfUp    rounding = iota // away from 0 if they are a half or more
	halfEven                  // to the nearest, a half to the even digit
	toFloor                   // towards minus infinity
	toCeiling                 // towards infinity
	toZero
)

// up says whether the digits before a remainder are made one greater.
func (m rounding) up(odd, neg bool, r, d u128) bool {
	if r.isZero() {
		return false
	}
	rest := d.sub(r)
	switch m {
	case toFloor:
		return neg
	case toCeiling:
		return !neg
	case toZero:
		return false
	case halfEven:
		return rest.less(r) || rest == r && odd
	}
	return !r.less(rest)
}

// divRound divides by d, which is not 0, and rounds.
func (a u256) divRound(d u128, m rounding, neg bool) u256 {
	q, r := a.div(d)
	if m.up(q[0]&1 == 1, neg, r, d) {
		q, _ = q.add(u256{1}) // at most half of all bits are ones: d is 2 or more
	}
	return q
}

// cut divides by a power of ten of at most 76 digits and rounds.
func (a u256) cut(digits int32, m rounding, neg bool) u256 {
	if digits <= 0 {
		return a
	}
	if digits > maxPrecision {
		first, r := a.div(pow10[digits-maxPrecision])
		if !r.isZero() && first[0]%2 == 0 {
			first[0]++ // an odd last digit stands for what was cut first: more than nothing, and never a half
		}
		a, digits = first, maxPrecision
	}
	return a.divRound(pow10[digits], m, neg)
}

// fit is a number of fewer digits than the precision, or an overflow.
func (a u256) fit(precision int32, neg bool) (decimal128.Num, error) {
	m, ok := a.narrow()
	if !ok || !m.less(pow10[precision]) {
		return decimal128.Num{}, overflow
	}
	return signed(m, neg), nil
}

// rescale moves a number from one scale to another and holds it against a precision.
func rescale(n decimal128.Num, from, to, precision int32, m rounding) (decimal128.Num, error) {
	digits, neg := magnitude(n)
	wide := digits.wide()
	if to < from {
		return wide.cut(from-to, m, neg).fit(precision, neg)
	}
	wide, ok := wide.shift(to - from)
	if !ok {
		return decimal128.Num{}, overflow
	}
	return wide.fit(precision, neg)
}
