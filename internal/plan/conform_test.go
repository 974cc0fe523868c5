package plan_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
)

var (
	utc = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	ntz = &arrow.TimestampType{Unit: arrow.Microsecond}
)

func checked(t *testing.T) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

func fromJSON(t *testing.T, mem memory.Allocator, dt arrow.DataType, text string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(mem, dt, strings.NewReader(text))
	require.NoError(t, err)
	return a
}

// column makes a schema of one nullable column.
func column(name string, dt arrow.DataType) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: name, Type: dt, Nullable: true}}, nil)
}

// convert conforms one column "c"; it takes over in. The first row is the eleventh.
func convert(t *testing.T, mem memory.Allocator, in arrow.Array, to arrow.DataType) (arrow.Array, error) {
	t.Helper()
	defer in.Release()
	schema := column("C", in.DataType())
	c, err := plan.NewConformer(schema, column("c", to), plan.ConformOptions{})
	if err != nil {
		return nil, err
	}
	batch := array.NewRecordBatch(schema, []arrow.Array{in}, int64(in.Len()))
	defer batch.Release()
	out, err := c.Batch(mem, batch, 10)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	require.Equal(t, "c", out.ColumnName(0), "the table's spelling")
	require.True(t, arrow.TypeEqual(to, out.Column(0).DataType()), "%s", out.Column(0).DataType())
	out.Column(0).Retain()
	return out.Column(0), nil
}

func TestConformStores(t *testing.T) {
	p := arrow.PrimitiveTypes
	dec := func(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	dict := func(v arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: p.Int8, ValueType: v}
	}
	person := arrow.StructOf(arrow.Field{Name: "Name", Type: arrow.BinaryTypes.String, Nullable: true}, arrow.Field{Name: "age", Type: p.Int64, Nullable: true})
	for _, c := range []struct {
		why      string
		from, to arrow.DataType
		in, want string
	}{
		{"the same type", p.Int64, p.Int64, `[1, null, -9223372036854775808]`, `[1, null, -9223372036854775808]`},
		{"wider", p.Int8, p.Int64, `[-128, null, 127]`, `[-128, null, 127]`},
		{"narrower, all fit", p.Int64, p.Int8, `[-128, null, 127]`, `[-128, null, 127]`},
		{"unsigned that fits", p.Uint64, p.Int64, `[0, 9223372036854775807]`, `[0, 9223372036854775807]`},
		{"unsigned to a wider signed", p.Uint32, p.Int64, `[4294967295]`, `[4294967295]`},
		{"unsigned to the same width", p.Uint8, p.Int8, `[127]`, `[127]`},
		{"integers that a double holds exactly", p.Int32, p.Float64, `[-2147483648, null]`, `[-2147483648, null]`},
		{"integers that a float holds exactly", p.Int16, p.Float32, `[-32768]`, `[-32768]`},
		{"float to double", p.Float32, p.Float64, `[0.5, null]`, `[0.5, null]`},
		{"half floats", arrow.FixedWidthTypes.Float16, p.Float32, `[0.5, null]`, `[0.5, null]`},
		{"boolean", arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Boolean, `[true, null, false]`, `[true, null, false]`},
		{"decimal, wider", dec(5, 2), dec(38, 2), `["-123.45", null]`, `["-123.45", null]`},
		{"decimal, narrower, all fit", dec(38, 2), dec(5, 2), `["123.45"]`, `["123.45"]`},
		{"decimal, more places", dec(5, 2), dec(10, 4), `["123.45", "-0.01"]`, `["123.4500", "-0.0100"]`},
		{"decimal, fewer places, no digit lost", dec(10, 4), dec(5, 2), `["123.4500", null]`, `["123.45", null]`},
		{"decimal of 38 digits, fewer places", dec(38, 10), dec(38, 2), `["1234567890123456789012345678.1200000000"]`, `["1234567890123456789012345678.12"]`},
		{"zero fits everywhere", dec(38, 0), dec(2, 2), `["0"]`, `["0.00"]`},
		{"integer to decimal", p.Int32, dec(10, 2), `[12345, null]`, `["12345.00", null]`},
		{"unsigned integer to decimal", p.Uint64, dec(20, 0), `[18446744073709551615]`, `["18446744073709551615"]`},
		{"small decimals", &arrow.Decimal32Type{Precision: 5, Scale: 2}, dec(10, 2), `["-1.25", null]`, `["-1.25", null]`},
		{"middle decimals", &arrow.Decimal64Type{Precision: 15, Scale: 2}, dec(10, 3), `["-1.25"]`, `["-1.250"]`},
		{"large decimals that fit", &arrow.Decimal256Type{Precision: 60, Scale: 4}, dec(10, 2), `["-1.2500", null]`, `["-1.25", null]`},
		{"large decimals, more places", &arrow.Decimal256Type{Precision: 60, Scale: 0}, dec(38, 30), `["12345678"]`, `["12345678.000000000000000000000000000000"]`},
		{"seconds", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, utc, `["2013-01-02 03:04:05Z", null]`, `["2013-01-02 03:04:05Z", null]`},
		{"milliseconds", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, utc, `["1969-12-31 23:59:59.999Z"]`, `["1969-12-31 23:59:59.999Z"]`},
		{"nanoseconds without digits to cut", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, utc, `["1969-12-31 23:59:59.999999Z"]`, `["1969-12-31 23:59:59.999999Z"]`},
		{"an instant in another zone", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}, utc, `[0, null]`, `["1970-01-01 00:00:00Z", null]`},
		{"a time without a zone", &arrow.TimestampType{Unit: arrow.Millisecond}, ntz, `["2013-01-02 03:04:05.678"]`, `["2013-01-02 03:04:05.678"]`},
		{"the first and the last day", arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date32, `["0001-01-01", "9999-12-31"]`, `["0001-01-01", "9999-12-31"]`},
		{"the first and the last instant", ntz, ntz, `["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]`, `["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]`},
		{"days in milliseconds", arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date32, `["1969-12-31", null]`, `["1969-12-31", null]`},
		{"strings", arrow.BinaryTypes.String, arrow.BinaryTypes.String, `["", "é€😀", null]`, `["", "é€😀", null]`},
		{"large strings", arrow.BinaryTypes.LargeString, arrow.BinaryTypes.String, `["a", "", null, "😀"]`, `["a", "", null, "😀"]`},
		{"no large strings", arrow.BinaryTypes.LargeString, arrow.BinaryTypes.String, `[]`, `[]`},
		{"string views", arrow.BinaryTypes.StringView, arrow.BinaryTypes.String, `["short", null, "longer than twelve bytes"]`, `["short", null, "longer than twelve bytes"]`},
		{"large binary", arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.Binary, `["AP8=", null]`, `["AP8=", null]`},
		{"binary views", arrow.BinaryTypes.BinaryView, arrow.BinaryTypes.Binary, `["AP8=", null]`, `["AP8=", null]`},
		{"binary of fixed size", &arrow.FixedSizeBinaryType{ByteWidth: 2}, arrow.BinaryTypes.Binary, `["AP8=", null]`, `["AP8=", null]`},
		{"a dictionary of strings", dict(arrow.BinaryTypes.String), arrow.BinaryTypes.String, `["a", "b", null, "a"]`, `["a", "b", null, "a"]`},
		{"a dictionary of numbers", dict(p.Int64), p.Int32, `[7, 7, null, 8]`, `[7, 7, null, 8]`},
		{"runs", arrow.RunEndEncodedOf(p.Int32, arrow.BinaryTypes.String), arrow.BinaryTypes.String, `["a", "a", null, "b"]`, `["a", "a", null, "b"]`},
		{"a column of nothing", arrow.Null, dec(5, 2), `[null, null]`, `[null, null]`},
		{"a void column", arrow.Null, arrow.Null, `[null]`, `[null]`},
		{"a struct by name, another order, a field less",
			arrow.StructOf(arrow.Field{Name: "AGE", Type: p.Int16, Nullable: true}),
			person, `[{"AGE": 7}, null, {"AGE": null}]`, `[{"Name": null, "age": 7}, null, {"Name": null, "age": null}]`},
		{"a list", arrow.LargeListOf(p.Int32), arrow.ListOf(p.Int64), `[[1, null], null, [], [2]]`, `[[1, null], null, [], [2]]`},
		{"a list of fixed size", arrow.FixedSizeListOf(2, p.Int32), arrow.ListOf(p.Int32), `[[1, 2], null, [3, 4]]`, `[[1, 2], null, [3, 4]]`},
		{"a list view", arrow.ListViewOf(p.Int32), arrow.ListOf(p.Int32), `[[1, 2], null, [3]]`, `[[1, 2], null, [3]]`},
		{"a list of structs by name", arrow.ListOf(arrow.StructOf(arrow.Field{Name: "age", Type: p.Int64, Nullable: true}, arrow.Field{Name: "name", Type: dict(arrow.BinaryTypes.String), Nullable: true})),
			arrow.ListOf(person), `[[{"age": 1, "name": "a"}], null]`, `[[{"Name": "a", "age": 1}], null]`},
		{"a map", arrow.MapOf(arrow.BinaryTypes.LargeString, p.Int16), arrow.MapOf(arrow.BinaryTypes.String, p.Int64),
			`[[{"key": "a", "value": 1}], null, []]`, `[[{"key": "a", "value": 1}], null, []]`},
		{"no rows", p.Int32, p.Float64, `[]`, `[]`},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := checked(t)
			want := fromJSON(t, mem, c.to, c.want)
			defer want.Release()
			got, err := convert(t, mem, fromJSON(t, mem, c.from, c.in), c.to)
			require.NoError(t, err)
			defer got.Release()
			require.True(t, array.Equal(want, got), "want %s\ngot  %s", want, got)

			// A slice in the midst of the array gives the same values.
			if want.Len() < 2 {
				return
			}
			whole := fromJSON(t, mem, c.from, c.in)
			part := array.NewSlice(whole, 1, int64(whole.Len()))
			whole.Release()
			cut := array.NewSlice(want, 1, int64(want.Len()))
			defer cut.Release()
			sliced, err := convert(t, mem, part, c.to)
			require.NoError(t, err)
			defer sliced.Release()
			require.True(t, array.Equal(cut, sliced), "want %s\ngot  %s", cut, sliced)
		})
	}
}

func TestConformRefusesValues(t *testing.T) {
	p := arrow.PrimitiveTypes
	dec := func(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	for _, c := range []struct {
		why      string
		from, to arrow.DataType
		in       string
		says     []string
	}{
		{"narrower", p.Int64, p.Int32, `[1, null, 2147483648]`, []string{"row 13", `"c"`, "2147483648", "overflows"}},
		{"unsigned beyond signed", p.Uint64, p.Int64, `[9223372036854775808]`, []string{"row 11", "overflows"}},
		{"unsigned beyond the same width", p.Uint8, p.Int8, `[128]`, []string{"128", "overflows"}},
		{"decimal precision", dec(38, 2), dec(5, 2), `["1000.00"]`, []string{"1000", "overflows", "decimal(5,2)"}},
		{"decimal digits", dec(10, 4), dec(5, 2), `["1.2345"]`, []string{"1.2345", "2 decimal places"}},
		{"decimal digits of 38", dec(38, 30), dec(38, 2), `["12345678.000000000000000000000000000001"]`, []string{"2 decimal places"}},
		{"decimal scaled up beyond the precision", dec(5, 0), dec(5, 2), `["1000"]`, []string{"overflows"}},
		{"integer beyond a decimal", p.Int64, dec(5, 2), `[1000]`, []string{"overflows"}},
		{"large decimal", &arrow.Decimal256Type{Precision: 60, Scale: 0}, dec(38, 0), `["100000000000000000000000000000000000000"]`, []string{"overflows"}},
		{"large decimal digits", &arrow.Decimal256Type{Precision: 60, Scale: 3}, dec(38, 0), `["0.001"]`, []string{"0 decimal places"}},
		{"nanoseconds that would be cut", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, utc, `["2013-01-02 03:04:05.678901234Z"]`, []string{"row 11", "678901234", "microsecond"}},
		{"nanoseconds before 1970 that would be cut", &arrow.TimestampType{Unit: arrow.Nanosecond}, ntz, `["1969-12-31 23:59:59.999999999"]`, []string{"microsecond"}},
		{"seconds beyond 9999", &arrow.TimestampType{Unit: arrow.Second}, ntz, `[253402300800]`, []string{"0001 to 9999"}},
		{"seconds beyond 64 bits of microseconds", &arrow.TimestampType{Unit: arrow.Second}, ntz, `[9223372036854775807]`, []string{"0001 to 9999"}},
		{"microseconds before 0001", ntz, ntz, `[-62135596800000001]`, []string{"0001 to 9999"}},
		{"a day beyond 9999", arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date32, `[0, 2932897]`, []string{"row 12", "0001 to 9999"}},
		{"a day in milliseconds after the year 9999", arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date32, `[0, 253402300800000]`, []string{"row 12", "years 0001 to 9999"}},
		{"a day in milliseconds before the year 1", arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date32, `[-62135683200000]`, []string{"row 11", "years 0001 to 9999"}},
		{"a day with a time", arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date32, `[1]`, []string{"time of day"}},
		{"a dictionary value", &arrow.DictionaryType{IndexType: p.Int8, ValueType: p.Int64}, p.Int8, `[1, 1, 300]`, []string{"row 13", "300"}},
		{"a value in a struct", arrow.StructOf(arrow.Field{Name: "A", Type: p.Int64, Nullable: true}), arrow.StructOf(arrow.Field{Name: "a", Type: p.Int8, Nullable: true}),
			`[{"A": 1}, {"A": 300}]`, []string{"row 12", `"c.a"`, "300"}},
		{"a value in a list", arrow.ListOf(p.Int64), arrow.ListOf(p.Int8), `[[1, 2], null, [], [3, 300]]`, []string{"row 14", `"c.element"`, "300"}},
		{"a value in a map", arrow.MapOf(arrow.BinaryTypes.String, p.Int64), arrow.MapOf(arrow.BinaryTypes.String, p.Int8),
			`[[{"key": "a", "value": 300}]]`, []string{"row 11", `"c.value"`, "300"}},
		{"a key twice in a map", arrow.MapOf(arrow.BinaryTypes.String, p.Int64), arrow.MapOf(arrow.BinaryTypes.String, p.Int64),
			`[[{"key": "a", "value": 1}], [{"key": "a", "value": 1}, {"key": "b", "value": 1}, {"key": "a", "value": 1}]]`, []string{"row 12", `"c.key"`, `"a"`, "key twice"}},
		{"a key twice in a map in a list", arrow.ListOf(arrow.MapOf(p.Float64, p.Int64)), arrow.ListOf(arrow.MapOf(p.Float64, p.Int64)),
			`[[], [[{"key": 0, "value": 1}, {"key": -0.0, "value": 2}]]]`, []string{"row 12", `"c.element.key"`, "key twice"}},
		{"a struct as key twice in a map", arrow.MapOf(arrow.StructOf(arrow.Field{Name: "k", Type: p.Int64, Nullable: true}), p.Int64), arrow.MapOf(arrow.StructOf(arrow.Field{Name: "k", Type: p.Int64, Nullable: true}), p.Int64),
			`[[{"key": {"k": null}, "value": 1}, {"key": {"k": null}, "value": 2}]]`, []string{"row 11", `"c.key"`, "key twice"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := checked(t)
			_, err := convert(t, mem, fromJSON(t, mem, c.from, c.in), c.to)
			require.ErrorIs(t, err, delta.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
}

func TestConformRefusesTypes(t *testing.T) {
	p := arrow.PrimitiveTypes
	dec := &arrow.Decimal128Type{Precision: 10, Scale: 2}
	str := arrow.BinaryTypes.String
	for _, c := range []struct {
		why      string
		from, to arrow.DataType
		says     string
	}{
		{"a string is no number", str, p.Int64, "between kinds"},
		{"a number is no string", p.Int64, str, "between kinds"},
		{"double to float rounds", p.Float64, p.Float32, "not every value would be exact"},
		{"long to double rounds", p.Int64, p.Float64, "not every value would be exact"},
		{"integer to float rounds", p.Int32, p.Float32, "not every value would be exact"},
		{"double is no decimal", p.Float64, dec, "between kinds"},
		{"decimal is no double", dec, p.Float64, "between kinds"},
		{"double is no integer", p.Float64, p.Int64, "between kinds"},
		{"a time without a zone is no instant", ntz, utc, "time zone"},
		{"an instant is no time without a zone", utc, ntz, "without a zone"},
		{"a date is no timestamp", arrow.FixedWidthTypes.Date32, ntz, "between kinds"},
		{"a time of day has no place", arrow.FixedWidthTypes.Time64us, ntz, "between kinds"},
		{"binary is no string", arrow.BinaryTypes.Binary, str, "between kinds"},
		{"a string is no binary", str, arrow.BinaryTypes.Binary, "between kinds"},
		{"a boolean is no number", arrow.FixedWidthTypes.Boolean, p.Int8, "between kinds"},
		{"a value is no void", p.Int8, arrow.Null, "void"},
		{"a list is no value", arrow.ListOf(p.Int8), p.Int8, "between kinds"},
		{"a map is no list", arrow.MapOf(str, str), arrow.ListOf(str), "between kinds"},
		{"inside a dictionary", &arrow.DictionaryType{IndexType: p.Int8, ValueType: str}, p.Int8, "between kinds"},
		{"inside a list", arrow.ListOf(str), arrow.ListOf(p.Int8), `"c.element"`},
		{"a field that the table lacks", arrow.StructOf(arrow.Field{Name: "strret", Type: str}), arrow.StructOf(arrow.Field{Name: "street", Type: str}), `"c.strret" that the table lacks, is it "street"?`},
		{"fields that differ by case", arrow.StructOf(arrow.Field{Name: "a", Type: str}, arrow.Field{Name: "A", Type: str}), arrow.StructOf(arrow.Field{Name: "a", Type: str}), `"c.a" and "c.A"`},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := plan.NewConformer(column("c", c.from), column("c", c.to), plan.ConformOptions{})
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestConformRefusesInvalidUTF8(t *testing.T) {
	for _, c := range []struct {
		why    string
		values [][]byte
	}{
		{"a byte that begins nothing", [][]byte{[]byte("ok"), {0xff}}},
		{"a character cut between two values", [][]byte{[]byte("ok\xe2\x82"), []byte("\xac")}},
		{"a character cut at the end", [][]byte{[]byte("ok"), []byte("a\xe2\x82")}},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := checked(t)
			b := array.NewStringBuilder(mem)
			defer b.Release()
			for _, v := range c.values {
				b.Append(string(v))
			}
			_, err := convert(t, mem, b.NewArray(), arrow.BinaryTypes.String)
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, "UTF-8")
		})
	}
}

// What lies below a NULL is arbitrary: it is neither judged nor kept.
func TestConformIgnoresWhatIsBelowNull(t *testing.T) {
	mem := checked(t)
	child := fromJSON(t, mem, arrow.PrimitiveTypes.Int64, `[1, 300, 2]`)
	defer child.Release()
	valid := memory.NewBufferBytes([]byte{0b101})

	st := array.NewData(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), 3,
		[]*memory.Buffer{valid}, []arrow.ArrayData{child.Data()}, 1, 0)
	in := array.MakeFromData(st)
	st.Release()
	got, err := convert(t, mem, in, arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true}))
	require.NoError(t, err)
	defer got.Release()
	require.Equal(t, `{[1 (null) 2]}`, got.String())

	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1, 2, 3}))
	ls := array.NewData(arrow.ListOf(arrow.PrimitiveTypes.Int64), 3, []*memory.Buffer{valid, offsets}, []arrow.ArrayData{child.Data()}, 1, 0)
	in = array.MakeFromData(ls)
	ls.Release()
	list, err := convert(t, mem, in, arrow.ListOf(arrow.PrimitiveTypes.Int8))
	require.NoError(t, err)
	defer list.Release()
	require.Equal(t, `[[1] (null) [2]]`, list.String())

	runs := array.NewRunEndEncodedArray(fromJSONkept(t, mem, arrow.PrimitiveTypes.Int32, `[1, 2, 3]`), child, 3, 0)
	defer runs.Release()
	rt := array.NewData(arrow.StructOf(arrow.Field{Name: "a", Type: runs.DataType(), Nullable: true}), 3,
		[]*memory.Buffer{valid}, []arrow.ArrayData{runs.Data()}, 1, 0)
	in = array.MakeFromData(rt)
	rt.Release()
	spread, err := convert(t, mem, in, arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true}))
	require.NoError(t, err)
	defer spread.Release()
	require.Equal(t, `{[1 (null) 2]}`, spread.String())
}

func fromJSONkept(t *testing.T, mem memory.Allocator, dt arrow.DataType, text string) arrow.Array {
	a := fromJSON(t, mem, dt, text)
	t.Cleanup(a.Release)
	return a
}

func TestConformIgnoresUnusedDictionaryValues(t *testing.T) {
	mem := checked(t)
	values := fromJSON(t, mem, arrow.PrimitiveTypes.Int64, `[300, 7]`)
	index := fromJSON(t, mem, arrow.PrimitiveTypes.Int8, `[1, null, 1]`)
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}
	in := array.NewDictionaryArray(dt, index, values)
	values.Release()
	index.Release()
	got, err := convert(t, mem, in, arrow.PrimitiveTypes.Int8)
	require.NoError(t, err)
	defer got.Release()
	require.Equal(t, `[7 (null) 7]`, got.String())
}

func TestConformSharesWhatFits(t *testing.T) {
	mem := checked(t)
	in := fromJSON(t, mem, arrow.PrimitiveTypes.Int64, `[1, 2]`)
	in.Retain()
	got, err := convert(t, mem, in, arrow.PrimitiveTypes.Int64)
	require.NoError(t, err)
	defer in.Release()
	defer got.Release()
	require.Same(t, in.Data().Buffers()[1], got.Data().Buffers()[1])
}

func TestConformBindsByName(t *testing.T) {
	mem := checked(t)
	i64, str := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	table := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: i64}, {Name: "Day", Type: str, Nullable: true}, {Name: "note", Type: str, Nullable: true}}, nil)
	input := arrow.NewSchema([]arrow.Field{{Name: "DAY", Type: str, Nullable: true}, {Name: "ID", Type: i64, Nullable: true}}, nil)
	batch, _, err := array.RecordFromJSON(mem, input, strings.NewReader(`[{"DAY": "x", "ID": 7}]`))
	require.NoError(t, err)
	defer batch.Release()

	whole, err := plan.NewConformer(input, table, plan.ConformOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"note"}, whole.Missing())
	require.True(t, whole.Schema().Equal(table))
	out, err := whole.Batch(mem, batch, 0)
	require.NoError(t, err)
	defer out.Release()
	text, err := out.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `[{"id": 7, "Day": "x", "note": null}]`, string(text))

	part, err := plan.NewConformer(input, table, plan.ConformOptions{Partial: true})
	require.NoError(t, err)
	require.Equal(t, []string{"note"}, part.Missing())
	given, err := part.Batch(mem, batch, 0)
	require.NoError(t, err)
	defer given.Release()
	require.Equal(t, 2, part.Schema().NumFields())
	require.Equal(t, "id", given.ColumnName(0), "table order")
	require.Equal(t, "Day", given.ColumnName(1))

	other, _, err := array.RecordFromJSON(mem, column("DAY", str), strings.NewReader(`[{"DAY": "x"}]`))
	require.NoError(t, err)
	defer other.Release()
	_, err = whole.Batch(mem, other, 0)
	require.ErrorIs(t, err, delta.ErrInput, "a batch of another schema than its reader's")
}

func TestConformRefusesColumns(t *testing.T) {
	i64 := arrow.PrimitiveTypes.Int64
	field := func(name string, nullable bool) arrow.Field {
		return arrow.Field{Name: name, Type: i64, Nullable: nullable}
	}
	table := arrow.NewSchema([]arrow.Field{field("id", false), field("amount", true)}, nil)
	for _, c := range []struct {
		why   string
		input []arrow.Field
		says  []string
	}{
		{"a column that the table lacks", []arrow.Field{field("id", true), field("amuont", true)}, []string{`"amuont"`, `is it "amount"?`, "drop it", "set Evolve: true"}},
		{"two columns that differ only by case", []arrow.Field{field("id", true), field("ID", true)}, []string{`"id" and "ID"`}},
		{"the same column twice", []arrow.Field{field("id", true), field("id", true)}, []string{`"id" and "id"`}},
		{"a NOT NULL column is missing", []arrow.Field{field("amount", true)}, []string{`"id"`, "NOT NULL"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := plan.NewConformer(arrow.NewSchema(c.input, nil), table, plan.ConformOptions{})
			require.ErrorIs(t, err, delta.ErrInput)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
	_, err := plan.NewConformer(arrow.NewSchema([]arrow.Field{field("amount", true)}, nil), table, plan.ConformOptions{Partial: true})
	require.NoError(t, err, "an update may leave a NOT NULL column as it is")
}

// Rescaling agrees with arbitrary precision on both sides of every border.
func TestConformDecimalBorders(t *testing.T) {
	mem := checked(t)
	to := &arrow.Decimal128Type{Precision: 10, Scale: 3}
	for scale := int32(0); scale <= 38; scale++ {
		from := &arrow.Decimal256Type{Precision: 76, Scale: scale}
		b := array.NewDecimal256Builder(mem, from)
		one := decimal256.GetScaleMultiplier(int(scale))
		b.Append(one)
		b.Append(one.Negate())
		got, err := convert(t, mem, b.NewArray(), to)
		require.NoError(t, err)
		require.Equal(t, decimal128.FromI64(1000), got.(*array.Decimal128).Value(0))
		require.Equal(t, decimal128.FromI64(-1000), got.(*array.Decimal128).Value(1))
		got.Release()

		b.Append(one.Mul(decimal256.FromI64(10_000_000)))
		_, err = convert(t, mem, b.NewArray(), to)
		require.ErrorIs(t, err, delta.ErrInput, "10,000,000 has more than 7 digits before the point")
		b.Release()
	}
}
