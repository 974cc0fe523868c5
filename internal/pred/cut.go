package pred

import (
	"math"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// A key is a value of a column in an order in which every value has a next one: integers, days and
// microseconds as they are, a decimal's digits at the column's scale, a float by floatKey, a string
// by its bytes. So a comparison of a column of any type with a constant of any other is a test
// against two keys, and it is exact: see cut.
type key struct {
	n decimal128.Num
	s string
}

func intKey(i int64) key { return key{n: decimal128.FromI64(i)} }

func (k key) compare(other key) int {
	if c := k.n.Cmp(other.n); c != 0 {
		return c
	}
	return strings.Compare(k.s, other.s)
}

// floatKey orders floats as Spark does: -0.0 equals 0.0, NaN follows +Infinity.
func floatKey(f float64) int64 {
	if f != f {
		return floatKey(math.Inf(1)) + 1
	}
	magnitude := int64(math.Float64bits(f) &^ (1 << 63))
	if math.Signbit(f) {
		return -magnitude
	}
	return magnitude
}

// keyFloat is the inverse of floatKey.
func keyFloat(k int64) float64 {
	switch {
	case k > floatKey(math.Inf(1)):
		return math.NaN()
	case k < 0:
		return -math.Float64frombits(uint64(-k))
	}
	return math.Float64frombits(uint64(k))
}

// bound is a key, or what lies beyond all keys.
type bound struct {
	key
	beyond bool
}

// before is the key before a bound that a constant made: of a string, the constant.
func (b bound) before() key {
	if b.s != "" {
		return key{s: b.s[:len(b.s)-1]}
	}
	return key{n: b.n.Sub(decimal128.FromI64(1))}
}

var beyond = bound{beyond: true}

func at(i int64) bound { return bound{key: intKey(i)} }

// after is the key that follows i.
func after(i int64) bound {
	if i == math.MaxInt64 {
		return beyond
	}
	return at(i + 1)
}

// least is the first key of a column's type.
func least(t sqlType) key {
	switch t.kind {
	case kindDecimal:
		return key{n: minDecimal}
	case kindString, kindBinary:
		return key{}
	case kindFloat:
		return intKey(floatKey(math.Inf(-1)))
	}
	return intKey(math.MinInt64)
}

var (
	minDecimal = decimal128.New(math.MinInt64, 0)
	minBig     = minDecimal.BigInt()
	maxBig     = decimal128.New(math.MaxInt64, math.MaxUint64).BigInt()
)

// cut places a constant among the keys of a column of type t: ge is the first key whose value is
// not less than v, gt the first whose value is greater. They are the same where no key equals v.
// The types are comparable.
func cut(t sqlType, v datum) (ge, gt bound) {
	switch t.kind {
	case kindInt:
		if v.kind == kindFloat {
			return cutIntAtFloat(v.f)
		}
		return cutExact(v, 0, math.MinInt64, math.MaxInt64)
	case kindFloat:
		return cutFloat(v)
	case kindDecimal:
		if v.kind == kindFloat {
			return cutDecimalAtFloat(t.scale, v.f)
		}
		return cutUnscaled(v, t.scale, minBig, maxBig)
	case kindString, kindBinary:
		return bound{key: key{s: v.s}}, bound{key: key{s: v.s + "\x00"}}
	case kindDate:
		if v.micros() {
			day := floorDiv(v.i, microsADay)
			if v.i == day*microsADay {
				return at(day), at(day + 1)
			}
			return at(day + 1), at(day + 1)
		}
	case kindTimestamp, kindNTZ:
		if v.kind == kindDate {
			return cutMicrosAtDay(v.i)
		}
	}
	return at(v.i), after(v.i)
}

// dayStart is the first microsecond of a day or later.
func dayStart(day int64) bound {
	switch {
	case day > math.MaxInt64/microsADay:
		return beyond
	case day < math.MinInt64/microsADay:
		return at(math.MinInt64)
	}
	return at(day * microsADay)
}

func cutMicrosAtDay(day int64) (ge, gt bound) {
	ge = dayStart(day)
	if ge.beyond || day < math.MinInt64/microsADay {
		return ge, ge // no timestamp is that midnight
	}
	return ge, after(day * microsADay)
}

func cutExact(v datum, scale int32, lo, hi int64) (ge, gt bound) {
	return cutUnscaled(v, scale, big.NewInt(lo), big.NewInt(hi))
}

// cutUnscaled places an integer or decimal among the numbers k / 10^scale for k of lo to hi.
func cutUnscaled(v datum, scale int32, lo, hi *big.Int) (ge, gt bound) {
	n, s := v.unscaled()
	one := big.NewInt(1)
	if s <= scale {
		n.Mul(n, pow10(scale-s))
		return clamp(n, lo, hi), clamp(new(big.Int).Add(n, one), lo, hi)
	}
	floor, rest := new(big.Int).DivMod(n, pow10(s-scale), new(big.Int))
	next := new(big.Int).Add(floor, one)
	if rest.Sign() == 0 {
		return clamp(floor, lo, hi), clamp(next, lo, hi)
	}
	return clamp(next, lo, hi), clamp(next, lo, hi)
}

func clamp(n, lo, hi *big.Int) bound {
	switch {
	case n.Cmp(hi) > 0:
		return beyond
	case n.Cmp(lo) < 0:
		n = lo
	}
	return bound{key: key{n: decimal128.FromBigInt(n)}}
}

func cutIntAtFloat(f float64) (ge, gt bound) {
	const limit = 1 << 63
	switch {
	case f != f || f >= limit:
		return beyond, beyond
	case f < -limit:
		return at(math.MinInt64), at(math.MinInt64)
	}
	whole := int64(math.Floor(f))
	if float64(whole) == f {
		return at(whole), after(whole)
	}
	return after(whole), after(whole)
}

// cutFloat places a number among the doubles. A decimal becomes the double nearest to it, as in
// Spark, so that 0.1 finds the double of that text; an integer is compared as it is.
func cutFloat(v datum) (ge, gt bound) {
	f := v.float()
	k := floatKey(f)
	if v.kind == kindInt {
		switch compareIntFloat(v.i, f) {
		case -1:
			return at(k), at(k)
		case 1:
			return at(k + 1), at(k + 1)
		}
	}
	if f != f {
		return at(k), beyond
	}
	return at(k), at(k + 1)
}

// cutDecimalAtFloat places a double among the decimals of a scale. They are compared as doubles,
// as in Spark: a run of neighbouring decimals can equal one double.
func cutDecimalAtFloat(scale int32, f float64) (ge, gt bound) {
	return firstDecimal(scale, floatKey(f)), firstDecimal(scale, floatKey(f)+1)
}

// firstDecimal is the first decimal whose nearest double has at least the given key.
func firstDecimal(scale int32, k int64) bound {
	f, before := keyFloat(k), keyFloat(k-1)
	switch {
	case f != f || math.IsInf(f, 1):
		return beyond
	case math.IsInf(f, -1) || math.IsInf(before, -1):
		return bound{key: least(sqlType{kind: kindDecimal})}
	}
	// Decimals round to f from the middle between f and the double before it; the middle itself
	// rounds to the even one of the two.
	middle := new(big.Rat).SetFloat64(f)
	middle.Add(middle, new(big.Rat).SetFloat64(before))
	middle.Mul(middle, new(big.Rat).SetFrac(pow10(scale), big.NewInt(2)))
	first, rest := new(big.Int).DivMod(middle.Num(), middle.Denom(), new(big.Int))
	if rest.Sign() != 0 || math.Float64bits(f)&1 == 1 {
		first.Add(first, big.NewInt(1))
	}
	return clamp(first, minBig, maxBig)
}

// keySet is a set of keys as the bounds at which membership changes, ascending: keys below the
// first bound are outside, those from the first to the second inside, and so on.
type keySet []key

// from is the set of the keys from lo up to hi, hi excluded.
func from(lo, hi bound) keySet {
	switch {
	case lo.beyond:
		return nil
	case hi.beyond:
		return keySet{lo.key}
	case lo.compare(hi.key) >= 0:
		return nil
	}
	return keySet{lo.key, hi.key}
}

// has tells whether a key is in the set.
func (s keySet) has(k key) bool {
	inside := false
	for _, b := range s {
		if b.compare(k) > 0 {
			break
		}
		inside = !inside
	}
	return inside
}

// probe tells what a value between lo and hi, hi excluded, can be: inside, outside.
func (s keySet) probe(lo key, hi bound) (inside, outside bool) {
	inside = s.has(lo)
	for _, b := range s {
		if b.compare(lo) > 0 && (hi.beyond || b.compare(hi.key) < 0) {
			return true, true
		}
	}
	return inside, !inside
}

// shift moves the bounds of a set of days to microseconds.
func (s keySet) shift() keySet {
	var moved keySet
	for _, b := range s {
		day := int64(b.n.LowBits())
		if start := dayStart(day); !start.beyond {
			moved = append(moved, start.key)
		}
	}
	return moved
}
