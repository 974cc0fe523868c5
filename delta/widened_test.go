package delta_test

import (
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
)

// drawWidening draws a type and one that it widens to.
func drawWidening(t *rapid.T) (from, to delta.Type) {
	from = rapid.SampledFrom([]delta.Type{delta.Byte, delta.Short, delta.Integer, delta.Long, delta.Float, delta.Date,
		delta.Decimal{Precision: 5, Scale: 2}, delta.Decimal{Precision: 18, Scale: 0}, delta.Decimal{Precision: 30, Scale: 15}}).Draw(t, "from")
	targets := []delta.Type{delta.Short, delta.Integer, delta.Long, delta.Double, delta.TimestampNTZ}
	for p := 1; p <= 38; p++ {
		targets = append(targets, delta.Decimal{Precision: p, Scale: rapid.IntRange(0, p).Draw(t, "scale")})
	}
	var wider []delta.Type
	for _, to := range targets {
		if delta.Widens(from, to) {
			wider = append(wider, to)
		}
	}
	if len(wider) == 0 {
		t.Skip("no wider decimal was drawn")
	}
	return from, rapid.SampledFrom(wider).Draw(t, "to")
}

// drawNarrow draws a value of a narrow type.
func drawNarrow(t *rapid.T, typ delta.Type) scalar.Scalar {
	switch typ {
	case delta.Byte:
		return scalar.NewInt8Scalar(rapid.Int8().Draw(t, "byte"))
	case delta.Short:
		return scalar.NewInt16Scalar(rapid.Int16().Draw(t, "short"))
	case delta.Integer:
		return scalar.NewInt32Scalar(rapid.Int32().Draw(t, "integer"))
	case delta.Long:
		return scalar.NewInt64Scalar(rapid.Int64().Draw(t, "long"))
	case delta.Float:
		return scalar.NewFloat32Scalar(rapid.Float32Range(-1e30, 1e30).Draw(t, "float"))
	case delta.Date:
		return scalar.NewDate32Scalar(arrow.Date32(rapid.Int32Range(-719162, 2932896).Draw(t, "day")))
	}
	d := typ.(delta.Decimal)
	top := decimal128.GetScaleMultiplier(d.Precision)
	_, n := decimal128.New(rapid.Int64().Draw(t, "high"), rapid.Uint64().Draw(t, "low")).Div(top)
	return scalar.NewDecimal128Scalar(n, &arrow.Decimal128Type{Precision: int32(d.Precision), Scale: int32(d.Scale)})
}

// number is a scalar's value: of dates and timestamps in microseconds.
func number(t require.TestingT, v scalar.Scalar) *big.Rat {
	switch v := v.(type) {
	case *scalar.Int8:
		return new(big.Rat).SetInt64(int64(v.Value))
	case *scalar.Int16:
		return new(big.Rat).SetInt64(int64(v.Value))
	case *scalar.Int32:
		return new(big.Rat).SetInt64(int64(v.Value))
	case *scalar.Int64:
		return new(big.Rat).SetInt64(v.Value)
	case *scalar.Float32:
		return new(big.Rat).SetFloat64(float64(v.Value))
	case *scalar.Float64:
		return new(big.Rat).SetFloat64(v.Value)
	case *scalar.Date32:
		return new(big.Rat).SetInt64(int64(v.Value) * 86_400_000_000)
	case *scalar.Timestamp:
		return new(big.Rat).SetInt64(int64(v.Value))
	case *scalar.Decimal128:
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.Type.(*arrow.Decimal128Type).Scale)), nil)
		return new(big.Rat).SetFrac(v.Value.BigInt(), scale)
	}
	require.FailNow(t, "no number", "%T", v)
	return nil
}

// TestStatsOfOlderTypes: what a file's statistics say in its own types bounds its values in the types to which they were
// widened.
func TestStatsOfOlderTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawWidening(t)
		old := schemaOf(field("c", from))
		values := make([]scalar.Scalar, rapid.IntRange(1, 4).Draw(t, "rows"))
		arrowSchema, err := delta.ArrowSchema(old)
		require.NoError(t, err)
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowSchema)
		defer b.Release()
		for i := range values {
			values[i] = drawNarrow(t, from)
			require.NoError(t, scalar.Append(b.Field(0), values[i]))
		}
		batch := b.NewRecordBatch()
		defer batch.Release()
		builder := delta.NewStatsBuilder(old, nil, nil)
		require.NoError(t, builder.Add(batch))
		st, ok := delta.ParseStats(builder.JSON())
		require.True(t, ok)
		least, greatest, nulls := st.Column([]string{"c"}, to)
		require.Zero(t, nulls)
		for _, v := range values {
			n := number(t, v)
			require.NotNil(t, least, "%s of %s as %s", v, from, to)
			require.NotNil(t, greatest, "%s of %s as %s", v, from, to)
			require.LessOrEqual(t, number(t, least).Cmp(n), 0, "%s of %s is below %s of %s", v, from, least, to)
			require.GreaterOrEqual(t, number(t, greatest).Cmp(n), 0, "%s of %s is above %s of %s", v, from, greatest, to)
		}
	})
}

// TestPartitionValuesOfOlderTypes: a partition value that was written before a widening reads as the same value after it.
// A float's text is that of the double, as in Spark: no file holds another.
func TestPartitionValuesOfOlderTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawWidening(t)
		v := drawNarrow(t, from)
		text, err := delta.FormatPartitionValue(from, v)
		require.NoError(t, err)
		got, err := delta.ParsePartitionValue(to, text)
		require.NoError(t, err, "%s of %s as %s", *text, from, to)
		if from == delta.Float {
			want, ok := new(big.Rat).SetString(*text)
			require.True(t, ok)
			f, _ := want.Float64()
			require.InDelta(t, f, got.(*scalar.Float64).Value, 0)
			return
		}
		require.Zero(t, number(t, v).Cmp(number(t, got)), "%s of %s as %s is %s", *text, from, to, got)
	})
}
