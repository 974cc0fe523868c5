package rows_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
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
