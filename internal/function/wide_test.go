package function

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// word draws words among which those that carry and guess wrong are many.
var word = rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 2, 1 << 63, 1<<63 - 1, math.MaxUint64, math.MaxUint64 - 1}), rapid.Uint64())

func draw256(t *rapid.T, label string) u256 {
	return u256{word.Draw(t, label), word.Draw(t, label), word.Draw(t, label), word.Draw(t, label)}
}

func draw128(t *rapid.T, label string) u128 {
	return u128{word.Draw(t, label), word.Draw(t, label)}
}

func (a u256) big() *big.Int {
	var b []byte
	for _, w := range slices.Backward(a[:]) {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return new(big.Int).SetBytes(b)
}

func (a u128) big() *big.Int { return a.wide().big() }

func bigPow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

var two256 = new(big.Int).Lsh(big.NewInt(1), 256)

func TestWideNumbersAreBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, d := draw256(t, "a"), draw256(t, "b"), draw128(t, "d")
		sum, ok := a.add(b)
		want := new(big.Int).Add(a.big(), b.big())
		require.Equal(t, want.Cmp(two256) < 0, ok)
		require.Equal(t, want.Mod(want, two256).String(), sum.big().String())

		require.Equal(t, a.big().Cmp(b.big()) < 0, a.less(b))
		if !a.less(b) {
			require.Equal(t, new(big.Int).Sub(a.big(), b.big()).String(), a.sub(b).big().String())
		}

		c := draw128(t, "c")
		require.Equal(t, new(big.Int).Mul(c.big(), d.big()).String(), c.mul(d).big().String())

		if !d.isZero() {
			q, r := a.div(d)
			wantQ, wantR := new(big.Int).QuoRem(a.big(), d.big(), new(big.Int))
			require.Equal(t, wantQ.String()+" "+wantR.String(), q.big().String()+" "+r.big().String())
		}
	})
}

func TestWideNumbersMoveByPowersOfTen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, digits := draw256(t, "a"), rapid.Int32Range(0, mostCut).Draw(t, "digits")
		if rapid.Bool().Draw(t, "short") {
			a[3], a[2] = 0, 0
		}
		up, ok := a.shift(digits)
		want := new(big.Int).Mul(a.big(), bigPow10(digits))
		require.Equal(t, want.Cmp(two256) < 0, ok)
		if ok {
			require.Equal(t, want.String(), up.big().String())
		}

		neg := rapid.Bool().Draw(t, "neg")
		m := rapid.SampledFrom([]rounding{halfUp, halfEven, toFloor, toCeiling, toZero}).Draw(t, "rounding")
		require.Equal(t, naiveCut(a.big(), digits, m, neg).String(), a.cut(digits, m, neg).big().String())
	})
}

// naiveCut is cut of a big integer.
func naiveCut(a *big.Int, digits int32, m rounding, neg bool) *big.Int {
	q, r := new(big.Int).QuoRem(a, bigPow10(digits), new(big.Int))
	half := new(big.Int).Lsh(r, 1).Cmp(bigPow10(digits))
	up := map[rounding]bool{
		halfUp: half >= 0, halfEven: half > 0 || half == 0 && q.Bit(0) == 1, toFloor: neg && r.Sign() != 0, toCeiling: !neg && r.Sign() != 0,
	}
	if digits > 0 && up[m] {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func TestHalvesThatAreCutTwice(t *testing.T) {
	for _, c := range []struct {
		why    string
		digits string
		m      rounding
		want   string
	}{
		{"half of 10^40 is up", "5" + zeros(39), halfUp, "1"},
		{"and even to 0", "5" + zeros(39), halfEven, "0"},
		{"a digit behind it, in the part that is cut first, is more than a half", "5" + zeros(38) + "1", halfEven, "1"},
		{"one less is less than a half", "4" + nines(39), halfUp, "0"},
		{"the least digit is not nothing", zeros(39) + "1", toCeiling, "1"},
		{"15 halves: even is 2", "15" + zeros(39), halfEven, "2"},
	} {
		n, _ := new(big.Int).SetString(c.digits, 10)
		var a u256
		for i := range a {
			a[i] = new(big.Int).Rsh(n, uint(64*i)).Uint64()
		}
		require.Equal(t, c.want, a.cut(40, c.m, false).big().String(), c.why)
	}
}

func zeros(n int) string { return bigPow10(int32(n)).String()[1:] }

func nines(n int) string { return new(big.Int).Sub(bigPow10(int32(n)), big.NewInt(1)).String() }

func TestMagnitudeAndSign(t *testing.T) {
	for _, v := range []decimal128.Num{{}, decimal128.FromI64(-1), decimal128.FromI64(math.MinInt64), decimal128.New(math.MinInt64+1, 0), decimal128.GetMaxValue(38)} {
		m, neg := magnitude(v)
		require.Equal(t, new(big.Int).Abs(v.BigInt()).String(), m.big().String())
		require.Equal(t, v, signed(m, neg))
	}
	least, neg := magnitude(decimal128.New(math.MinInt64, 0))
	require.True(t, neg)
	require.Equal(t, new(big.Int).Lsh(big.NewInt(1), 127).String(), least.big().String(), "no decimal, but bytes may hold it")
}
