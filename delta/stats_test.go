package delta_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

// bounds reads the bounds of column c from a text for each.
func bounds(t require.TestingT, typ delta.Type, low, high string) (least, greatest scalar.Scalar) {
	st, ok := delta.ParseStats(fmt.Sprintf(`{"numRecords":3,"minValues":{"c":%s},"maxValues":{"c":%s},"nullCount":{"c":0}}`, low, high))
	require.True(t, ok)
	least, greatest, nulls := st.Column([]string{"c"}, typ)
	require.EqualValues(t, 0, nulls)
	return least, greatest
}

func requireScalar(t *testing.T, want, got scalar.Scalar) {
	t.Helper()
	if want == nil {
		require.Nil(t, got)
		return
	}
	require.NotNil(t, got)
	require.True(t, scalar.Equals(want, got), "%s is not %s", got, want)
}

func TestStatsBounds(t *testing.T) {
	dec := delta.Decimal{Precision: 20, Scale: 2}
	huge, err := decimal128.FromString("123456789012345678.91", 20, 2)
	require.NoError(t, err)
	hugeScalar := scalar.NewDecimal128Scalar(huge, arrowType(t, dec))
	small := delta.Decimal{Precision: 6, Scale: 2}
	ts := func(us int64) scalar.Scalar { return timestampOf(t, delta.Timestamp, us) }
	ntz := func(us int64) scalar.Scalar { return timestampOf(t, delta.TimestampNTZ, us) }
	f64 := func(f float64) scalar.Scalar { return scalar.NewFloat64Scalar(f) }
	for _, c := range []struct {
		why             string
		t               delta.Type
		low, high       string
		least, greatest scalar.Scalar
	}{
		{"integers", delta.Long, `-9223372036854775808`, `9223372036854775807`, scalar.NewInt64Scalar(math.MinInt64), scalar.NewInt64Scalar(math.MaxInt64)},
		{"an integer of another width is unknown", delta.Byte, `-129`, `127`, nil, scalar.NewInt8Scalar(127)},
		{"a fraction is no integer", delta.Integer, `1.5`, `2e0`, nil, nil},
		{"a quoted number is no integer", delta.Long, `"1"`, `2`, nil, scalar.NewInt64Scalar(2)},
		{"ill-typed cells", delta.Long, `{"x":1}`, `true`, nil, nil},
		{"null cells", delta.Long, `null`, `null`, nil, nil},
		{"crossed bounds bound nothing", delta.Long, `2`, `1`, nil, nil},
		{"doubles", delta.Double, `-0.5`, `1.5E300`, f64(-0.5), f64(1.5e300)},
		{"a double that was a float is widened", delta.Double, `0.1`, `0.1`, f64(0.1), f64(float64(float32(0.1)))},
		{"a double of many digits is none", delta.Double, `0.1234567891`, `0.1234567891`, f64(0.1234567891), f64(0.1234567891)},
		{"infinities", delta.Double, `"-Infinity"`, `"Infinity"`, f64(math.Inf(-1)), f64(math.Inf(1))},
		{"NaN bounds nothing", delta.Float, `"NaN"`, `"NaN"`, nil, nil},
		{"a decimal from its text", dec, `0.00`, `123456789012345678.91`, decimalOf(t, dec, 0), hugeScalar},
		{"decimals that a double holds are exact", small, `-12.3`, `12.30`, decimalOf(t, small, -1230), decimalOf(t, small, 1230)},
		{"a decimal that a double may have rounded is widened", dec, `90071992547409.92`, `90071992547409.92`,
			decimalOf(t, dec, 9007199254740992-8), decimalOf(t, dec, 9007199254740992+8)},
		{"a decimal of more digits than the type", small, `0.001`, `99999.00`, nil, nil},
		{"strings", delta.String, `"a"`, `"\u00e9\ud83d\ude00"`, scalar.NewStringScalar("a"), scalar.NewStringScalar("é😀")},
		{"half a surrogate pair bounds nothing", delta.String, `"\ud83d"`, `"z\ufffd"`, nil, nil},
		{"a number is no string", delta.String, `1`, `"z"`, nil, scalar.NewStringScalar("z")},
		{"dates", delta.Date, `"0001-01-01"`, `"9999-12-31"`, scalar.NewDate32Scalar(-719162), scalar.NewDate32Scalar(2932896)},
		{"a year beyond 9999", delta.Date, `"2020-01-01"`, `"+10000-01-01"`, scalar.NewDate32Scalar(18262), nil},
		{"timestamps, the max with the cut millisecond", delta.Timestamp, `"1970-01-01T00:00:00.001Z"`, `"1970-01-01T00:00:00.001Z"`, ts(1000), ts(1999)},
		{"an offset", delta.Timestamp, `"1969-12-31T16:00:00.000-08:00"`, `"1970-01-01T05:30:00.000+05:30"`, ts(0), ts(999)},
		{"no zone is ambiguous", delta.Timestamp, `"1970-01-01T00:00:00.000"`, `"1970-01-01 00:00:00"`, nil, nil},
		{"a year beyond the calendar", delta.Timestamp, `"1970-01-01T00:00:00.000Z"`, `"+48690-01-01T00:00:00.000Z"`, ts(0), nil},
		{"timestamp_ntz", delta.TimestampNTZ, `"1969-12-31T23:59:59.999"`, `"1970-01-01 00:00:00"`, ntz(-1000), ntz(999)},
		{"timestamp_ntz as some write it", delta.TimestampNTZ, `"1970-01-01T00:00:00Z"`, `"1970-01-01T00:00:00+01:00"`, ntz(0), nil},
		{"timestamp_ntz widened from date", delta.TimestampNTZ, `"1970-01-01"`, `"1970-01-02"`, ntz(0), ntz(86400_000_000 + 999)},
		{"booleans", delta.Boolean, `false`, `true`, scalar.NewBooleanScalar(false), scalar.NewBooleanScalar(true)},
		{"binary has none", delta.Binary, `"a"`, `"b"`, nil, nil},
		{"a list has none", &delta.Array{Element: delta.Long}, `1`, `2`, nil, nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			least, greatest := bounds(t, c.t, c.low, c.high)
			requireScalar(t, c.least, least)
			requireScalar(t, c.greatest, greatest)
		})
	}
}

func TestStatsParts(t *testing.T) {
	for _, c := range []struct {
		why, text string
		ok        bool
		records   int64 // -1: unknown
		nulls     int64 // of s.a
	}{
		{"all", `{"numRecords":9,"nullCount":{"s":{"a":2}}}`, true, 9, 2},
		{"exact beyond a float64", `{"numRecords":9007199254740993}`, true, 9007199254740993, -1},
		{"nothing", `{}`, true, -1, -1},
		{"ill-typed parts are unknown", `{"numRecords":"9","tightBounds":1,"minValues":3,"nullCount":[1]}`, true, -1, -1},
		{"a fraction is no count", `{"numRecords":9.5,"nullCount":{"s":{"a":-1}}}`, true, -1, -1},
		{"an object is no count", `{"numRecords":9,"nullCount":{"s":{"a":{"b":1}}}}`, true, 9, -1},
		{"a leaf is no struct", `{"numRecords":9,"nullCount":{"s":1}}`, true, 9, -1},
		{"more NULLs than rows", `{"numRecords":9,"nullCount":{"s":{"a":10}}}`, true, 9, -1},
		{"loose: some says nothing", `{"numRecords":9,"tightBounds":false,"nullCount":{"s":{"a":2}}}`, true, 9, -1},
		{"loose: none", `{"numRecords":9,"tightBounds":false,"nullCount":{"s":{"a":0}}}`, true, 9, 0},
		{"loose: all", `{"numRecords":9,"tightBounds":false,"nullCount":{"s":{"a":9}}}`, true, 9, 9},
		{"loose: rows unknown", `{"tightBounds":false,"nullCount":{"s":{"a":9}}}`, true, -1, -1},
		{"tight as stated", `{"numRecords":9,"tightBounds":true,"nullCount":{"s":{"a":2}}}`, true, 9, 2},
		{"white space and unknown keys", "\n { \"x\" : [ { } ] , \"numRecords\" : 1 } \n", true, 1, -1},
		{"the last of two", `{"numRecords":1,"numRecords":2,"nullCount":{"s":{"a":1,"a":2}}}`, true, 2, 2},
		{"an escaped key", `{"numRecords":2,"nullCount":{"\u0073":{"a":2}}}`, true, 2, 2},
		{"not JSON", `{"numRecords":1`, false, 0, 0},
		{"text after it", `{"numRecords":1}{}`, false, 0, 0},
		{"no object", `[]`, false, 0, 0},
		{"empty", ``, false, 0, 0},
		{"null", `null`, false, 0, 0},
		{"not UTF-8", "{\"a\":\"\xff\"}", false, 0, 0},
		{"too long", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, false, 0, 0},
	} {
		t.Run(c.why, func(t *testing.T) {
			st, ok := delta.ParseStats(c.text)
			require.Equal(t, c.ok, ok)
			if !ok {
				return
			}
			if c.records < 0 {
				require.Nil(t, st.NumRecords)
			} else {
				require.Equal(t, c.records, *st.NumRecords)
			}
			least, greatest, nulls := st.Column([]string{"s", "a"}, delta.Long)
			require.Nil(t, least)
			require.Nil(t, greatest)
			require.Equal(t, c.nulls, nulls)
		})
	}
}

func TestCompareScalars(t *testing.T) {
	f := func(f float64) scalar.Scalar { return scalar.NewFloat64Scalar(f) }
	bin := func(b string) scalar.Scalar {
		return scalar.NewBinaryScalar(memory.NewBufferBytes([]byte(b)), arrow.BinaryTypes.Binary)
	}
	for _, c := range []struct {
		why  string
		a, b scalar.Scalar
		want int // 2: no order
	}{
		{"NaN is greatest", f(math.NaN()), f(math.Inf(1)), 1},
		{"NaN equals NaN", f(math.NaN()), f(math.NaN()), 0},
		{"zeros are equal", f(math.Copysign(0, -1)), f(0), 0},
		{"float32", scalar.NewFloat32Scalar(1), scalar.NewFloat32Scalar(float32(math.NaN())), -1},
		{"strings by bytes, not by UTF-16 units", scalar.NewStringScalar("\uFFFD"), scalar.NewStringScalar("😀"), -1},
		{"binary is unsigned", bin("\x80"), bin("\x7f"), 1},
		{"empty binary", bin(""), bin("\x00"), -1},
		{"booleans", scalar.NewBooleanScalar(false), scalar.NewBooleanScalar(true), -1},
		{"decimals of one scale", decimalOf(t, delta.Decimal{Precision: 5, Scale: 1}, -1), decimalOf(t, delta.Decimal{Precision: 9, Scale: 1}, 1), -1},
		{"decimals of two scales", decimalOf(t, delta.Decimal{Precision: 5, Scale: 1}, -1), decimalOf(t, delta.Decimal{Precision: 5, Scale: 2}, 1), 2},
		{"dates", scalar.NewDate32Scalar(-1), scalar.NewDate32Scalar(1), -1},
		{"timestamps", timestampOf(t, delta.Timestamp, 2), timestampOf(t, delta.Timestamp, 1), 1},
		{"timestamp and timestamp_ntz", timestampOf(t, delta.Timestamp, 2), timestampOf(t, delta.TimestampNTZ, 1), 2},
		{"two types", scalar.NewInt64Scalar(1), scalar.NewInt32Scalar(1), 2},
		{"integers", scalar.NewInt16Scalar(-1), scalar.NewInt16Scalar(1), -1},
		{"bytes", scalar.NewInt8Scalar(3), scalar.NewInt8Scalar(1), 1},
		{"nil", nil, scalar.NewInt64Scalar(1), 2},
		{"NULL", scalar.MakeNullScalar(arrow.PrimitiveTypes.Int64), scalar.NewInt64Scalar(1), 2},
		{"void", scalar.ScalarNull, scalar.ScalarNull, 2},
	} {
		t.Run(c.why, func(t *testing.T) {
			order, ok := delta.CompareScalars(c.a, c.b)
			require.Equal(t, c.want != 2, ok)
			if ok {
				require.Equal(t, c.want, order)
				back, _ := delta.CompareScalars(c.b, c.a)
				require.Equal(t, -c.want, back)
			}
		})
	}
}

// A decimal that a writer passed through a double must still be within the bounds that are read.
func TestDecimalBoundsHoldWhatADoubleRounded(t *testing.T) {
	dec := delta.Decimal{Precision: 38, Scale: 10}
	rapid.Check(t, func(t *rapid.T) {
		v := drawScalar(t, dec).(*scalar.Decimal128)
		lossy := fmt.Sprint(v.Value.ToFloat64(10))
		least, greatest := bounds(t, dec, lossy, lossy)
		if least == nil || greatest == nil {
			return // more digits than the type has: unknown
		}
		below, _ := delta.CompareScalars(least, v)
		above, _ := delta.CompareScalars(greatest, v)
		require.True(t, below <= 0 && above >= 0, "%s is not within %s and %s", v, least, greatest)
	})
}

// corpusStats are statistics that other engines wrote.
func corpusStats(f *testing.F) (texts []string) {
	for _, data := range fuzzing.Seeds(f, 40, 4<<10, isCommit) {
		actions, err := delta.DecodeCommit("f", data)
		for _, a := range actions {
			if err == nil && a.Add != nil {
				texts = append(texts, a.Add.Stats)
			}
		}
	}
	return texts
}

func FuzzParseStats(f *testing.F) {
	f.Add(`{"numRecords":3,"minValues":{"c":1,"s":{"c":"a"}},"maxValues":{"c":"\ud83d"},"nullCount":{"c":0}}`)
	f.Add(`{"minValues":{"c":"2024-01-01T00:00:00.000Z"},"maxValues":{"c":-1e400}}`)
	for _, text := range corpusStats(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var st *delta.Stats
		var ok bool
		fuzzing.Bounded(t, len(text), func() { st, ok = delta.ParseStats(text) })
		var loose, looser string
		fuzzing.Bounded(t, len(text), func() { loose = delta.LooseStats(text, 7) })
		fuzzing.Bounded(t, len(loose), func() { looser = delta.LooseStats(loose, 8) })
		require.Equal(t, loose, looser, "what was made loose stays as it is")
		written, sound := delta.ParseStats(loose)
		require.True(t, sound, loose)
		if !ok {
			return
		}
		if st.NumRecords != nil {
			require.Equal(t, *st.NumRecords, *written.NumRecords)
		}
		for _, typ := range append([]delta.Type{delta.Decimal{Precision: 38, Scale: 18}, schemaOf()}, primitives...) {
			for _, path := range [][]string{{"c"}, {"s", "c"}, nil} {
				var least, greatest scalar.Scalar
				var nulls int64
				fuzzing.Bounded(t, len(text), func() { least, greatest, nulls = st.Column(path, typ) })
				if l, g, _ := written.Column(path, typ); len(path) > 0 {
					require.Equal(t, []bool{least == nil, greatest == nil}, []bool{l == nil, g == nil}, "bounds survive: %s", loose)
				}
				require.GreaterOrEqual(t, nulls, int64(-1))
				if least != nil && greatest != nil {
					order, ok := delta.CompareScalars(least, greatest)
					require.True(t, ok && order <= 0)
				}
			}
		}
	})
}
