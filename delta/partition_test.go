package delta_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/fuzzing"
)

func isOneOf(err error, sentinels ...error) bool {
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

func arrowType(t require.TestingT, typ delta.Type) arrow.DataType {
	dt, err := delta.ArrowType(typ)
	require.NoError(t, err)
	return dt
}

func timestampOf(t require.TestingT, typ delta.Type, micros int64) scalar.Scalar {
	return scalar.NewTimestampScalar(arrow.Timestamp(micros), arrowType(t, typ))
}

func decimalOf(t require.TestingT, typ delta.Type, unscaled int64) scalar.Scalar {
	return scalar.NewDecimal128Scalar(decimal128.FromI64(unscaled), arrowType(t, typ))
}

func TestPartitionValues(t *testing.T) {
	dec := delta.Decimal{Precision: 6, Scale: 2}
	const noon = 1704164645678901 // 2024-01-02T03:04:05.678901Z
	for _, c := range []struct {
		t     delta.Type
		text  string
		value scalar.Scalar
		again string // how it is written; "-": as it was read
	}{
		{delta.String, "__HIVE_DEFAULT_PARTITION__", scalar.NewStringScalar("__HIVE_DEFAULT_PARTITION__"), "-"},
		{delta.String, " ", scalar.NewStringScalar(" "), "-"},
		{delta.Long, "+007", scalar.NewInt64Scalar(7), "7"},
		{delta.Long, "-9223372036854775808", scalar.NewInt64Scalar(math.MinInt64), "-"},
		{delta.Integer, "-1", scalar.NewInt32Scalar(-1), "-"},
		{delta.Short, "32767", scalar.NewInt16Scalar(32767), "-"},
		{delta.Byte, "-128", scalar.NewInt8Scalar(-128), "-"},
		{delta.Float, "1.1", scalar.NewFloat32Scalar(1.1), "-"},
		{delta.Float, "1e20", scalar.NewFloat32Scalar(1e20), "1.0E20"},
		{delta.Double, "5", scalar.NewFloat64Scalar(5), "5.0"},
		{delta.Double, "-Infinity", scalar.NewFloat64Scalar(math.Inf(-1)), "-"},
		{delta.Float, "inf", scalar.NewFloat32Scalar(float32(math.Inf(1))), "Infinity"}, // as delta-rs writes it
		{delta.Double, "-INF", scalar.NewFloat64Scalar(math.Inf(-1)), "-Infinity"},
		{delta.Double, "1.0E-5", scalar.NewFloat64Scalar(1e-5), "-"},
		{delta.Double, "-0.0", scalar.NewFloat64Scalar(math.Copysign(0, -1)), "-"},
		{dec, "12.3", decimalOf(t, dec, 1230), "12.30"},
		{dec, "-0.05", decimalOf(t, dec, -5), "-"},
		{dec, "1.2300E1", decimalOf(t, dec, 1230), "12.30"},
		{dec, "0", decimalOf(t, dec, 0), "0.00"},
		{delta.Boolean, "TRUE", scalar.NewBooleanScalar(true), "true"},
		{delta.Boolean, "false", scalar.NewBooleanScalar(false), "-"},
		{delta.Date, "1970-01-01", scalar.NewDate32Scalar(0), "-"},
		{delta.Date, "2024-2-9", scalar.NewDate32Scalar(19762), "2024-02-09"},
		{delta.Date, "0001-01-01", scalar.NewDate32Scalar(-719162), "-"},
		{delta.Date, "9999-12-31", scalar.NewDate32Scalar(2932896), "-"},
		{delta.Timestamp, "2024-01-02T03:04:05.678901Z", timestampOf(t, delta.Timestamp, noon), "-"},
		{delta.Timestamp, "2024-01-02 03:04:05.678901", timestampOf(t, delta.Timestamp, noon), "2024-01-02T03:04:05.678901Z"},
		{delta.Timestamp, "2024-01-02T04:04:05.678901999+01:00", timestampOf(t, delta.Timestamp, noon), "2024-01-02T03:04:05.678901Z"},
		{delta.Timestamp, "2024-01-01 19:04:05.678901-08", timestampOf(t, delta.Timestamp, noon), "2024-01-02T03:04:05.678901Z"},
		{delta.Timestamp, "1970-01-01", timestampOf(t, delta.Timestamp, 0), "1970-01-01T00:00:00.000000Z"},
		{delta.Timestamp, "0001-01-01T00:00:00.000000Z", timestampOf(t, delta.Timestamp, -62135596800000000), "-"},
		{delta.Timestamp, "9999-12-31T23:59:59.999999Z", timestampOf(t, delta.Timestamp, 253402300799999999), "-"},
		{delta.TimestampNTZ, "2024-01-02T03:04:05.678901", timestampOf(t, delta.TimestampNTZ, noon), "2024-01-02 03:04:05.678901"},
		{delta.TimestampNTZ, "1969-12-31 23:59:59.5", timestampOf(t, delta.TimestampNTZ, -500000), "-"},
		{delta.TimestampNTZ, "2020-01-01", timestampOf(t, delta.TimestampNTZ, 1577836800000000), "2020-01-01 00:00:00"}, // widened from date
		{delta.Binary, "a\x00é", scalar.NewBinaryScalar(memory.NewBufferBytes([]byte("a\x00é")), arrow.BinaryTypes.Binary), "-"},
	} {
		t.Run(c.t.String()+" "+c.text, func(t *testing.T) {
			v, err := delta.ParsePartitionValue(c.t, &c.text)
			require.NoError(t, err)
			require.True(t, scalar.Equals(c.value, v), "%s is not %s", v, c.value)
			require.True(t, arrow.TypeEqual(arrowType(t, c.t), v.DataType()))
			if c.again == "-" {
				c.again = c.text
			}
			text, err := delta.FormatPartitionValue(c.t, v)
			require.NoError(t, err)
			require.Equal(t, c.again, *text)
		})
	}
}

func TestPartitionNull(t *testing.T) {
	empty := ""
	for _, typ := range append([]delta.Type{delta.Decimal{Precision: 10, Scale: 2}}, primitives...) {
		for _, text := range []*string{nil, &empty} {
			v, err := delta.ParsePartitionValue(typ, text)
			require.NoError(t, err)
			require.False(t, v.IsValid())
			require.True(t, arrow.TypeEqual(arrowType(t, typ), v.DataType()))
			back, err := delta.FormatPartitionValue(typ, v)
			require.NoError(t, err)
			require.Nil(t, back)
		}
	}
	for _, v := range []scalar.Scalar{nil, scalar.NewStringScalar("")} {
		back, err := delta.FormatPartitionValue(delta.String, v)
		require.NoError(t, err)
		require.Nil(t, back, "an empty string is NULL")
	}
}

func TestPartitionValueRefused(t *testing.T) {
	for typ, texts := range map[delta.Type][]string{
		delta.Long:                            {"abc", "1.0", "9223372036854775808", "1_000", "0x1", " 1"},
		delta.Byte:                            {"128"},
		delta.Float:                           {"1e39", "infi", "-nan", "0x1p3", "1_0"},
		delta.Boolean:                         {"1", "yes"},
		delta.Decimal{Precision: 4, Scale: 2}: {"123.45", "1.234", "1e", "-", ".", "1e99999", "NaN", strings.Repeat("0", 600)},
		delta.Date:                            {"2023-02-29", "2024-13-01", "24-01-01", "2024-01-01 00:00:00", "2024-01", "2024-01-00"},
		delta.Timestamp:                       {"2024-01-02T24:00:00Z", "2024-01-02T03:60:00Z", "2024-01-02T03:04:05.Z", "2024-01-02T03:04:05+19:00", "2024-01-02T03:04:05Zx", "2024-01-02x", "999999-01-01"},
		delta.TimestampNTZ:                    {"2024-01-02T03:04:05+01:00"},
		delta.Void:                            {"x"},
		delta.Variant:                         {"x"},
		&delta.Array{Element: delta.Long}:     {"x"},
	} {
		for _, text := range texts {
			_, err := delta.ParsePartitionValue(typ, &text)
			require.ErrorIs(t, err, delta.ErrCorrupt, "%s %q", typ, text)
			require.ErrorContains(t, err, typ.String())
		}
	}
}

func TestFormatPartitionValueRefuses(t *testing.T) {
	for _, c := range []struct {
		why string
		t   delta.Type
		v   scalar.Scalar
	}{
		{"bytes that are not UTF-8", delta.Binary, scalar.NewBinaryScalar(memory.NewBufferBytes([]byte{0xff}), arrow.BinaryTypes.Binary)},
		{"a string that is not UTF-8", delta.String, scalar.NewStringScalar("\xff")},
		{"year 10000", delta.Date, scalar.NewDate32Scalar(2932897)},
		{"year 0", delta.Timestamp, timestampOf(t, delta.Timestamp, -62135596800000001)},
		{"another type", delta.Long, scalar.NewInt32Scalar(1)},
		{"timestamp for timestamp_ntz", delta.TimestampNTZ, timestampOf(t, delta.Timestamp, 1)},
		{"too many digits", delta.Decimal{Precision: 2, Scale: 1}, decimalOf(t, delta.Decimal{Precision: 2, Scale: 1}, 100)},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := delta.FormatPartitionValue(c.t, c.v)
			require.ErrorIs(t, err, delta.ErrInput)
		})
	}
}

func TestAmbiguousTimestamp(t *testing.T) {
	for text, want := range map[string]bool{
		"":                          false, // NULL
		"2024-01-02T03:04:05Z":      false,
		"2024-01-02 03:04:05+01:00": false,
		"2024-01-02 03:04:05":       true,
		"2024-01-02":                true,
		"nonsense":                  true,
	} {
		require.Equal(t, want, delta.AmbiguousTimestamp(text), text)
	}
}

func TestPartitionDir(t *testing.T) {
	str := func(s string) *string { return &s }
	require.Equal(t, "", delta.PartitionDir(nil, nil))
	require.Equal(t, "day=2013-01-01/c%3Ac=a%2Fb%3D%25%20%C3%BC/", delta.PartitionDir([]string{"day", "c:c"}, map[string]*string{"day": str("2013-01-01"), "c:c": str("a/b=% ü")}))
	require.Equal(t, "a=__HIVE_DEFAULT_PARTITION__/b=__HIVE_DEFAULT_PARTITION__/", delta.PartitionDir([]string{"a", "b"}, map[string]*string{"a": nil, "b": str("")}))
	require.Equal(t, "a=%00%1F%7F%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E/", delta.PartitionDir([]string{"a"}, map[string]*string{"a": str("\x00\x1f\x7f\"#%'*/:=?\\{[]^")}))
}

func TestPartitionDirFitsFileSystems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"é", ":", "a", "😀", "%", "日"}).Draw(t, "unit")
		value := strings.Repeat("x", rapid.IntRange(0, 3).Draw(t, "lead")) + strings.Repeat(unit, rapid.IntRange(0, 400).Draw(t, "n"))
		dir := delta.PartitionDir([]string{"col"}, map[string]*string{"col": &value})
		require.LessOrEqual(t, len(dir), 241)
		require.True(t, utf8.ValidString(dir))
		require.Equal(t, 1, strings.Count(dir, "/"))
		require.Regexp(t, `^([A-Za-z0-9._~=/-]|%[0-9A-F]{2})*$`, dir, "an escape is never cut")
	})
}

func TestPartitionDirsFitStores(t *testing.T) {
	value := strings.Repeat("日本", 40)
	var columns []string
	values := map[string]*string{}
	for i := range 30 {
		name := fmt.Sprintf("column%02d", i)
		columns, values[name] = append(columns, name), &value
		dir := delta.PartitionDir(columns, values)
		require.Less(t, len(dir), 700, "objects have names of 1,024 bytes at most")
		require.Equal(t, min(i+1, 2), strings.Count(dir, "="), "what fits is there")
		key, err := delta.ResolvePath("file:///lake", delta.EncodePath(dir+"part-00000.parquet"))
		require.NoError(t, err, "what is written can be read")
		require.Equal(t, dir+"part-00000.parquet", key)
	}
}

func TestPartitionValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(statTypes).Draw(t, "type")
		v := drawScalar(t, typ)
		text, err := delta.FormatPartitionValue(typ, v)
		if err != nil {
			require.ErrorIs(t, err, delta.ErrInput)
			return
		}
		back, err := delta.ParsePartitionValue(typ, text)
		require.NoError(t, err)
		if text == nil {
			require.False(t, back.IsValid())
			return
		}
		order, ok := delta.CompareScalars(v, back)
		require.True(t, ok)
		require.Zero(t, order, "%s became %s", v, back)
	})
}

func FuzzParsePartitionValue(f *testing.F) {
	for _, text := range []string{"1", "1.5E3", "2024-01-02 03:04:05.123456+05:30", "-0001-1-1", "true", "Infinity", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		delta.AmbiguousTimestamp(text)
		for _, typ := range append([]delta.Type{delta.Decimal{Precision: 38, Scale: 18}, delta.Decimal{Precision: 4, Scale: 4}}, primitives...) {
			var v scalar.Scalar
			var err error
			fuzzing.Bounded(t, len(text), func() { v, err = delta.ParsePartitionValue(typ, &text) })
			if err != nil {
				require.ErrorIs(t, err, delta.ErrCorrupt)
				continue
			}
			again, err := delta.FormatPartitionValue(typ, v)
			if err != nil {
				require.ErrorIs(t, err, delta.ErrInput)
				continue
			}
			back, err := delta.ParsePartitionValue(typ, again)
			require.NoError(t, err)
			require.Equal(t, v.IsValid(), back.IsValid())
			if order, ok := delta.CompareScalars(v, back); v.IsValid() {
				require.True(t, ok)
				require.Zero(t, order)
			}
		}
	})
}
