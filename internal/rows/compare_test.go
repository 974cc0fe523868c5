package rows_test

import (
	"cmp"
	"math"
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/rows"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestKeyRelation holds hashes, equality and order against their naive twins, between types of one family.
func TestKeyRelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		family := rapid.SampledFrom(families).Draw(t, "family")
		n := rapid.IntRange(0, 8).Draw(t, "rows")
		a := randomBatch(t, mem, n, rapid.SampledFrom(family).Draw(t, "left"))
		defer a.Release()
		b := randomBatch(t, mem, n, rapid.SampledFrom(family).Draw(t, "right"))
		defer b.Release()
		equal, err := rows.NewEquality(a.Columns(), b.Columns())
		require.NoError(t, err)
		order, err := rows.NewOrder(a.Columns(), b.Columns())
		require.NoError(t, err)
		ha, hb := make([]uint64, n), make([]uint64, n)
		rows.HashKeys(a.Columns(), ha)
		rows.HashKeys(b.Columns(), hb)
		for i := range n {
			for j := range n {
				x, y := a.Column(0), b.Column(0)
				want := canon(x, i) == canon(y, j)
				require.Equal(t, want, equal.Equal(i, j), "%s = %s", canon(x, i), canon(y, j))
				require.Equal(t, compareNaive(x, i, y, j), order.Compare(i, j), "%s <=> %s", canon(x, i), canon(y, j))
				if want {
					require.Equal(t, ha[i], hb[j], "hash of %s", canon(x, i))
				}
			}
		}
	})
}

// TestFloatsThatAreOneKey: every NaN is one key, above all numbers, and the two zeros are one.
func TestFloatsThatAreOneKey(t *testing.T) {
	ascending := [][]float64{
		{math.Inf(-1)}, {-1}, {-math.SmallestNonzeroFloat32}, {math.Copysign(0, -1), 0}, {math.SmallestNonzeroFloat32}, {1}, {math.Inf(1)},
		{math.NaN(), -math.NaN(), math.Float64frombits(0x7ff8_0000_2000_0000), math.Float64frombits(0xfff8_0000_2000_0000)},
	}
	wide, narrow := array.NewFloat64Builder(memory.DefaultAllocator), array.NewFloat32Builder(memory.DefaultAllocator)
	defer wide.Release()
	defer narrow.Release()
	var key []int
	for k, list := range ascending {
		for _, x := range list {
			wide.Append(x)
			narrow.Append(float32(x))
			key = append(key, k)
		}
	}
	both := []arrow.Array{wide.NewArray(), narrow.NewArray()}
	for _, x := range both {
		defer x.Release()
		for _, y := range both {
			left, right := []arrow.Array{x}, []arrow.Array{y}
			equal, err := rows.NewEquality(left, right)
			require.NoError(t, err)
			order, err := rows.NewOrder(left, right)
			require.NoError(t, err)
			hx, hy := make([]uint64, len(key)), make([]uint64, len(key))
			rows.HashKeys(left, hx)
			rows.HashKeys(right, hy)
			for i := range key {
				for j := range key {
					require.Equal(t, key[i] == key[j], equal.Equal(i, j), "%s = %s", x.ValueStr(i), y.ValueStr(j))
					require.Equal(t, cmp.Compare(key[i], key[j]), order.Compare(i, j), "%s <=> %s", x.ValueStr(i), y.ValueStr(j))
					require.Equal(t, key[i] == key[j], hx[i] == hy[j], "hashes of %s and %s", x.ValueStr(i), y.ValueStr(j))
				}
			}
		}
	}
}

func TestNestedEquality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		n := rapid.IntRange(0, 8).Draw(t, "rows")
		b := randomBatch(t, mem, n, anyType(2).Draw(t, "type"))
		defer b.Release()
		equal, err := rows.NewEquality(b.Columns(), b.Columns())
		require.NoError(t, err)
		for i := range n {
			for j := range n {
				require.Equal(t, canon(b.Column(0), i) == canon(b.Column(0), j), equal.Equal(i, j))
			}
		}
	})
}

func TestIncomparable(t *testing.T) {
	for _, c := range []struct {
		why         string
		left, right arrow.DataType
	}{
		{"string keys never match integers", arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64},
		{"an instant is no local time", arrow.FixedWidthTypes.Timestamp_us, &arrow.TimestampType{Unit: arrow.Microsecond}},
		{"bytes are no text", arrow.BinaryTypes.String, arrow.BinaryTypes.Binary},
		{"integers and floats differ beyond 2^53", arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64},
		{"milliseconds are not canonical", arrow.FixedWidthTypes.Timestamp_ms, arrow.FixedWidthTypes.Timestamp_ms},
		{"elements of other types", arrow.ListOf(arrow.BinaryTypes.String), arrow.ListOf(arrow.PrimitiveTypes.Int64)},
		{"other fields", arrow.StructOf(), arrow.StructOf(arrow.Field{Name: "a", Type: arrow.Null})},
		{"large strings are not canonical", arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeString},
	} {
		t.Run(c.why, func(t *testing.T) {
			a, b := emptyArray(c.left), emptyArray(c.right)
			_, err := rows.NewEquality([]arrow.Array{a}, []arrow.Array{b})
			require.ErrorContains(t, err, c.left.String())
			_, err = rows.NewOrder([]arrow.Array{a}, []arrow.Array{b})
			require.Error(t, err)
			x, err := rows.NewIndex([]arrow.Array{a}, 0)
			if err == nil {
				require.Error(t, x.Probe([]arrow.Array{b}, nil))
			}
		})
	}
}

// TestDifferentFieldNames: fields are matched by position only where they have one name.
func TestDifferentFieldNames(t *testing.T) {
	a := emptyArray(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64}))
	b := emptyArray(arrow.StructOf(arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64}))
	_, err := rows.NewEquality([]arrow.Array{a}, []arrow.Array{b})
	require.Error(t, err)
}

func TestNestedIsNoKey(t *testing.T) {
	list := emptyArray(arrow.ListOf(arrow.PrimitiveTypes.Int64))
	_, err := rows.NewIndex([]arrow.Array{list}, 0)
	require.ErrorContains(t, err, "cannot be a key")
	_, err = rows.NewOrder([]arrow.Array{list}, []arrow.Array{list})
	require.ErrorContains(t, err, "cannot be a key")
}

// TestWideDecimals: coefficients of up to 38 digits, at any scales, and pairs that are equal though spelled differently.
func TestWideDecimals(t *testing.T) {
	build := func(d decimal128.Num, scale int32) arrow.Array {
		b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 38, Scale: scale})
		b.Append(d)
		return b.NewArray()
	}
	coefficient := rapid.Custom(func(t *rapid.T) decimal128.Num {
		d := decimal128.New(rapid.Int64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo"))
		return decimal128.FromBigInt(new(big.Int).Quo(d.BigInt(), big.NewInt(rapid.Int64Range(2, 1<<62).Draw(t, "divisor"))))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, as := coefficient.Draw(t, "a"), rapid.Int32Range(0, 38).Draw(t, "scale a")
		b, bs := coefficient.Draw(t, "b"), rapid.Int32Range(0, 38).Draw(t, "scale b")
		if more := rapid.Int32Range(0, 18).Draw(t, "zeros"); rapid.Bool().Draw(t, "equal") && a.FitsInPrecision(38-more) {
			b, bs = a.IncreaseScaleBy(more), as+more
		}
		x, y := build(a, as), build(b, bs)
		order, err := rows.NewOrder([]arrow.Array{x}, []arrow.Array{y})
		require.NoError(t, err)
		want := number(x, 0).Cmp(number(y, 0))
		require.Equal(t, want, order.Compare(0, 0))
		if want == 0 {
			var hx, hy [1]uint64
			rows.HashKeys([]arrow.Array{x}, hx[:])
			rows.HashKeys([]arrow.Array{y}, hy[:])
			require.Equal(t, hx, hy)
		}
		require.Equal(t, want == 0, digestOf(t, x) == digestOf(t, y))
	})
}

func digestOf(t require.TestingT, arr arrow.Array) rows.Digest {
	s := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arr.DataType()}}, nil)
	return digest(t, array.NewRecordBatch(s, []arrow.Array{arr}, int64(arr.Len())))
}
