package pred_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// rowsOf reads one column of rows from JSON.
func rowsOf(t *testing.T, dt arrow.DataType, json string) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt, Nullable: true}}, nil)
	arr, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader(json))
	require.NoError(t, err)
	return array.NewRecordBatch(schema, []arrow.Array{arr}, int64(arr.Len()))
}

func floats(values ...float64) arrow.RecordBatch {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	b.AppendNull()
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Float64, Nullable: true}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(len(values)+1))
}

func moments(t *testing.T, dt *arrow.TimestampType, texts ...string) arrow.RecordBatch {
	t.Helper()
	b := array.NewTimestampBuilder(memory.DefaultAllocator, dt)
	for _, text := range texts {
		v, _, err := expr.ParseTimestamp(text)
		require.NoError(t, err)
		b.Append(v)
	}
	b.AppendNull()
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt, Nullable: true}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(len(texts)+1))
}

// eval gives a letter a row: T, F or N.
func eval(t *testing.T, batch arrow.RecordBatch, text string, args ...any) string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e, err := expr.Parse(text, args...)
	require.NoError(t, err, text)
	p, err := pred.Bind(e, batch.Schema())
	require.NoError(t, err, text)
	got, err := p.Eval(mem, batch)
	require.NoError(t, err, text)
	defer got.Release()
	var b strings.Builder
	for row := range got.Len() {
		b.WriteString(show(at(got, row))[:1])
	}
	return b.String()
}

func TestConditionsMeanWhatTheyMeanInSpark(t *testing.T) {
	longs := rowsOf(t, arrow.PrimitiveTypes.Int64, `[1, 2, null, 9007199254740993]`)
	numbers := floats(1, math.NaN(), math.Copysign(0, -1), math.Inf(1), 0.1)
	decimals := rowsOf(t, decSmall, `["0.30", "-1.00", null]`)
	edges := rowsOf(t, arrow.PrimitiveTypes.Int64, `[9223372036854775805, 9223372036854775806, 9223372036854775807, -9223372036854775808]`)
	exact := floats(9007199254740992, 9007199254740994)
	singles := rowsOf(t, arrow.PrimitiveTypes.Float32, `[0.1, 0.7, null]`)
	ties := rowsOf(t, decLarge, `["9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995"]`)
	texts := rowsOf(t, arrow.BinaryTypes.String, `["a", "", "é", null]`)
	days := rowsOf(t, arrow.FixedWidthTypes.Date32, `["2024-02-29", "2024-03-01", null]`)
	bools := rowsOf(t, arrow.FixedWidthTypes.Boolean, `[true, false, null]`)
	instants := moments(t, tsType, "2024-02-29 00:00:00", "2024-02-29 12:00:00")
	readings := moments(t, ntzType, "2024-03-31 02:30:00.123456", "1500-01-01 00:00:00")
	binaries := rowsOf(t, arrow.BinaryTypes.Binary, `["YQ==", "/w==", null]`)
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rows arrow.RecordBatch
		text string
		want string
		why  string
	}{
		{longs, "c = 1", "TFNF", "NULL compares to NULL"},
		{longs, "c IN (1, NULL)", "TNNN", "a NULL in the list leaves open what is not found"},
		{longs, "c NOT IN (1, NULL)", "FNNN", "so NOT IN is never TRUE"},
		{longs, "c NOT IN (1, 2)", "FFNT", "without NULL it is"},
		{longs, "c <=> NULL", "FFTF", "null-safe"},
		{longs, "NOT (c <=> 1)", "FTTT", "null-safe is never NULL"},
		{longs, "c = 9007199254740992D", "FFNF", "a bigint is not rounded to a double"},
		{longs, "c > 9007199254740992D", "FFNT", "nor in an order"},
		{longs, "c > 1.5", "FTNT", "a decimal between two integers"},
		{longs, "c = 1.5", "FFNF", "equals none"},
		{longs, "c < 1e300", "TTNT", "a double beyond all integers"},
		{longs, "c < CAST('NaN' AS DOUBLE)", "TTNT", "NaN is greater than all"},
		{longs, "c BETWEEN 2 AND 1", "FFNF", "an empty range"},
		{longs, "c NOT BETWEEN 1 AND NULL", "NNNN", "FALSE only where one end decides"},
		{longs, "c BETWEEN 5 AND NULL", "FFNN", "here it does"},
		{longs, "5 >= c", "TTNF", "the constant on the left"},
		{longs, "C = 1", "TFNF", "names ignore case"},
		{longs, "CAST(c AS DECIMAL(25, 2)) = 1.00", "TFNF", "a cast that loses nothing"},
		{longs, "c = NULL", "NNNN", "= NULL is no test for NULL"},
		{longs, "NULL", "NNNN", "NULL is a condition"},
		{longs, "1 = 1.0 AND 'a' < 'b' AND DATE '2024-01-01' < TIMESTAMP '2024-01-01 00:00:01'", "TTTT", "constants are folded"},
		{longs, "c = 1 OR NULL", "TNNN", "OR with NULL"},
		{longs, "c = 1 AND NULL", "NFNF", "AND with NULL"},
		{longs, "c = 1 IS NULL", "FFTF", "a condition can be NULL"},
		{longs, "(c = 1) = (c = 2)", "FFNT", "conditions compare"},
		{numbers, "c = CAST('NaN' AS DOUBLE)", "FTFFFN", "NaN equals itself"},
		{numbers, "c > 1e308", "FTFTFN", "and is greater than Infinity"},
		{numbers, "c > CAST('Infinity' AS DOUBLE)", "FTFFFN", "and than Infinity"},
		{numbers, "c <= CAST('NaN' AS DOUBLE)", "TTTTTN", "nothing is greater than NaN"},
		{numbers, "c < CAST('NaN' AS DOUBLE)", "TFTTTN", "NaN is not less than itself"},
		{numbers, "c = 0", "FFTFFN", "-0.0 is 0"},
		{numbers, "c = -0.0D", "FFTFFN", "0.0 is -0.0"},
		{numbers, "c < 0", "FFFFFN", "-0.0 is not less"},
		{numbers, "c = 0.1", "FFFFTN", "a decimal is compared with a double as a double"},
		{numbers, "c IN (1, CAST('NaN' AS DOUBLE), NULL)", "TTNNNN", "NaN in a list"},
		{edges, "c IN (9223372036854775806, 9223372036854775807)", "FTTF", "the last two of all integers"},
		{edges, "c > 9223372036854775807", "FFFF", "there is nothing above"},
		{edges, "c < -9223372036854775808L", "FFFF", "nor below"},
		{edges, "c <= 9223372036854775808", "TTTT", "a decimal above all"},
		{exact, "c = 9007199254740993L", "FFN", "a double is not rounded to meet a bigint"},
		{exact, "c < 9007199254740993L", "TFN", "a bigint between two doubles"},
		{exact, "c >= 9007199254740993L", "FTN", "a bigint between two doubles"},
		{exact, "c > 9007199254740995L", "FFN", "a bigint above a double that it would round away from"},
		{singles, "c = 0.1", "FFN", "a float is compared with a decimal as doubles"},
		{singles, "c = 0.1F", "TFN", "a float with a float"},
		{singles, "c >= 0.1D", "TTN", "the float of 0.1 is above the double"},
		{singles, "c BETWEEN 0 AND 0.1D", "FFN", "the float of 0.1 is above the double"},
		{singles, "c BETWEEN 0.7D AND 1", "FFN", "the float of 0.7 is below the double"},
		{ties, "c = 9007199254740992D", "FTTFF", "halfway decimals round to the even double"},
		{ties, "c = 9007199254740996D", "FFFFT", "halfway decimals round to the even double"},
		{ties, "c < 9007199254740994D", "TTTFF", "halfway decimals round to the even double"},
		{decimals, "c = 0.3", "TFN", "decimals of another scale"},
		{decimals, "c = 0.3D", "TFN", "a decimal as a double"},
		{decimals, "c IS NULL", "FFT", "NULL of a decimal"},
		{decimals, "c > 0.299999999999999999999999", "TFN", "more digits than the column has"},
		{decimals, "c < -0.5D", "FTN", "a double between two decimals"},
		{texts, "c = ''", "FTFN", "the empty string is a value"},
		{texts, "c > 'z'", "FFTN", "strings are ordered by their bytes"},
		{texts, "c IN ('', NULL)", "NTNN", "IN of strings"},
		{texts, "c >= ''", "TTTN", "nothing is less than the empty string"},
		{days, "c = '2024-02-29'", "TFN", "a string becomes a date"},
		{days, "c IN ('2024-02-29', '1999-01-01')", "TFN", "in a list too"},
		{days, "c > TIMESTAMP '2024-02-29 12:00:00'", "FTN", "a date is its midnight"},
		{days, "c = TIMESTAMP_NTZ '2024-02-29 00:00:00'", "TFN", "in either kind of timestamp"},
		{instants, "c = '2024-02-29'", "TFN", "a string becomes a timestamp"},
		{instants, "c = '2024-02-29 13:00:00+01:00'", "FTN", "with its zone"},
		{instants, "CAST(c AS DATE) = '2024-02-29'", "TTN", "the day of a timestamp"},
		{instants, "CAST(c AS DATE) > DATE '2024-02-29'", "FFN", "the day of a timestamp"},
		{instants, "CAST(CAST(c AS DATE) AS TIMESTAMP) = TIMESTAMP '2024-02-29 00:00:00'", "TTN", "a day made a timestamp again"},
		{instants, "c > DATE '2024-02-29'", "FTN", "a date is its midnight"},
		{readings, "c = timestamp_ntz'2024-03-31 02:30:00.123456'", "TFN", "no zone, no gap in spring"},
		{readings, "c < timestamp_ntz'1582-10-15 00:00:00'", "FTN", "before the calendar's change"},
		{binaries, "c = X'FF'", "FTN", "binary"},
		{binaries, "c = 'a'", "TFN", "a string becomes binary"},
		{bools, "c", "TFN", "a column is a condition"},
		{bools, "NOT c", "FTN", "NOT NULL is NULL"},
		{bools, "c = false", "FTN", "compared with a constant"},
		{bools, "c IS NOT TRUE", "FTT", "never NULL"},
		{bools, "c IN (true, NULL)", "TNN", "IN of booleans"},
		{bools, "c > false", "TFN", "FALSE is less than TRUE"},
		{bools, "c IS NULL OR c", "TFT", "OR"},
	} {
		require.Equal(t, c.want, eval(t, c.rows, c.text), "%s: %s", c.text, c.why)
	}
	require.Equal(t, "FTN", eval(t, instants, "c = ?", noon), "an argument")
	require.Equal(t, "TFN", eval(t, days, "c = ?", expr.Date(2024, 2, 29)), "an argument")
}

func TestEvalHonoursSlicesAndStructs(t *testing.T) {
	st := arrow.StructOf(arrow.Field{Name: "Inner", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	batch := rowsOf(t, st, `[{"Inner": 9}, {"Inner": 1}, null, {"Inner": null}, {"Inner": 2}, {"Inner": 9}]`)
	slice := batch.NewSlice(1, 5)
	require.Equal(t, "TNNF", eval(t, slice, "c.inner = 1"))
	require.Equal(t, "FTTF", eval(t, slice, "c.inner IS NULL"), "a field of a NULL struct is NULL")
	require.Equal(t, "FTFF", eval(t, slice, "c IS NULL"), "a struct is tested for NULL")
	require.Empty(t, eval(t, batch.NewSlice(3, 3), "c.inner = 1"))

	// Values below a NULL are none.
	ints, _, err := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32, strings.NewReader(`[1, 1, null]`))
	require.NoError(t, err)
	valid := memory.NewBufferBytes([]byte{0b101})
	hidden, err := array.NewStructArrayWithNulls([]arrow.Array{ints}, []string{"Inner"}, valid, 1, 0)
	require.NoError(t, err)
	below := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: hidden.DataType(), Nullable: true}}, nil), []arrow.Array{hidden}, 3)
	for _, text := range []string{"c.inner = 1", "(c).inner = 1", "coalesce(c, c).inner = 1", "c.inner + 0 = 1", "coalesce(c.inner, 1) = c.inner"} {
		require.Equal(t, "TNN", eval(t, below, text), text)
	}
	require.Equal(t, "NN", eval(t, below.NewSlice(1, 3), "coalesce(c, c).inner + c.inner = 2"))
	lists := array.NewListData(array.NewData(arrow.ListOf(hidden.DataType()), 3, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1, 2, 3}))},
		[]arrow.ArrayData{hidden.Data()}, 0, 0))
	within := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: lists.DataType(), Nullable: true}}, nil), []arrow.Array{lists}, 3)
	require.Equal(t, "TNN", eval(t, within, "c[0].inner = 1"))

	// Rows beyond a byte and beyond a block of two columns.
	var json []string
	for i := range 1000 {
		json = append(json, fmt.Sprintf(`{"Inner": %d}`, i))
	}
	long := rowsOf(t, st, "["+strings.Join(json, ",")+"]").NewSlice(7, 907)
	require.Equal(t, 300, strings.Count(eval(t, long, "c.inner < 307"), "T"))
	require.Equal(t, 900, strings.Count(eval(t, long, "c.inner = c.inner"), "T"))
}

func TestEvalFindsColumnsByName(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "B", Type: arrow.PrimitiveTypes.Int64}, {Name: "c", Type: arrow.BinaryTypes.String},
	}, nil)
	e, err := expr.Parse("b = 1 AND c = 'x' OR B = 2")
	require.NoError(t, err)
	p, err := pred.Bind(e, schema)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, p.Columns())
	require.Equal(t, []string{"B", "c"}, p.ColumnNames())
	require.Equal(t, "b = 1 AND c = 'x' OR B = 2", p.String())

	_, err = p.Eval(memory.DefaultAllocator, rowsOf(t, arrow.PrimitiveTypes.Int64, "[1]"))
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, `the rows have 0 columns named "B"`)

	other := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Int64}, {Name: "B", Type: arrow.PrimitiveTypes.Int32}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, other, strings.NewReader(`[{"c": 1, "B": 1}]`))
	require.NoError(t, err)
	_, err = p.Eval(memory.DefaultAllocator, batch)
	require.ErrorContains(t, err, `column "B" of the rows is int32, not int64`)
}

func TestBindRefuses(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "day", Type: arrow.FixedWidthTypes.Date32}, {Name: "amount", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "ts", Type: tsType}, {Name: "ntz", Type: ntzType}, {Name: "ok", Type: arrow.FixedWidthTypes.Boolean}, {Name: "st", Type: nested},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)}, {Name: "Twin", Type: arrow.BinaryTypes.String}, {Name: "twin", Type: arrow.BinaryTypes.String},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64}, {Name: "ns", Type: arrow.FixedWidthTypes.Timestamp_ns},
	}, nil)
	for _, c := range []struct{ text, says string }{
		{"amount", "byte 0, at amount: a condition must be TRUE or FALSE, this is BIGINT"},
		{"ok AND s", "byte 7, at s: a condition must be TRUE or FALSE, this is STRING"},
		{"NOT 5", "this is INT"},
		{"amuont = 1", `there is no column "amuont", is it "amount"?`},
		{"zzzzzzzzz = 1", `there is no column "zzzzzzzzz"; the columns are "day", "amount"`},
		{"TWIN = 'x'", `"TWIN" could be "Twin" or "twin"`},
		{"st.y = 1", `there is no column "y"`},
		{"s.y = 1", `"s" is STRING and has no fields`},
		{"st = 1", "is compared by = <> <=> with a value of the same type only"},
		{"l IN (1)", "is compared by = <> <=> with a value of the same type only"},
		{"st < st", "is compared by = <> <=> with a value of the same type only"},
		{"ns = 1", "IS NULL only"},
		{"s = 1", "byte 2, at s = 1: STRING is not compared with INT"},
		{"amount = '1'", "'1', '01' and '1.0' would all be 1"},
		{"amount IN (1, 'x')", "byte 14, at 'x': BIGINT is not compared with STRING"},
		{"amount = DATE '2024-01-01'", "BIGINT is not compared with DATE"},
		{"ok = 1", "BOOLEAN is not compared with INT"},
		{"s = DATE '2024-01-01'", "STRING is not compared with DATE"},
		{"s = X'00'", "STRING is not compared with BINARY"},
		{"ts = ntz", "TIMESTAMP is not compared with TIMESTAMP_NTZ"},
		{"ntz > TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP is not compared with TIMESTAMP_NTZ"},
		{"day = 'yesterday'", `"yesterday" is no day`},
		{"day = '2024-02-29 10:00:00'", "is no day"},
		{"ts = '2024-02-30'", "is no timestamp"},
		{"ntz = '2024-02-29 10:00:00Z'", "has a zone"},
		{"CAST(l AS INT) = 1", "at CAST(l AS INT): there is no CAST from"},
		{"amount + s = 1", "byte 7, at amount + s: + takes numbers; the second argument is STRING, and a text becomes a number only by a CAST"},
		{"amount + '1' = 1", "a text becomes a number only by a CAST"},
		{"length(amount) = 1", "byte 0, at length(amount): length takes a STRING or BINARY; the first argument is BIGINT"},
		{"upper() = 'A'", "upper takes a STRING; no argument is given"},
		{"year('yesterday') = 1", `byte 5, at 'yesterday': "yesterday" is no day`},
		{"date_add(s, 1) = day", "date_add takes"},
		{"coalesce(amount, 'x') = 1", "BIGINT and STRING have no type in common"},
		{"coalesce(day, 'x') = day", `at 'x': "x" is no day`},
		{"CASE WHEN ok THEN 1 ELSE 'a' END = 1", "INT and STRING have no type in common"},
		{"CASE WHEN amount THEN 1 END = 1", "byte 10, at amount: a condition must be TRUE or FALSE, this is BIGINT"},
		{"CASE s WHEN 1 THEN 1 END = 1", "STRING is not compared with INT"},
		{"coalesce() = 1", "the function coalesce takes 1 argument or more, it is given 0"},
		{"nullif(s) = 's'", "the function nullif takes 2 arguments, it is given 1"},
		{"if(ok, 1) = 1", "the function if takes 3 arguments, it is given 2"},
		{"isnull(1, 2)", "the function isnull takes 1 argument, it is given 2"},
		{"s LIKE 5", "like takes"},
		{"s[0] = 'a'", "element"},
		{"(amount).x = 1", "amount is BIGINT and has no fields"},
		{"(st).y = 1", `there is no column "y"`},
		{"l[s] = 1", "element"},
		{"amount > rand()", "byte 9, at rand(): the function rand gives another value at each run"},
		{"day = current_date()", "the function current_date gives another value"},
		{"now() > ts", "byte 0, at now(): the function now gives another value at each run: compute it once and give it as an argument"},
		{"uuid() = s", "the function uuid gives another value"},
		{"unix_timestamp() > 1", "the function unix_timestamp gives another value"},
		{"lenght(s) = 1", "byte 0, at lenght(s): there is no function lenght, is it length?"},
		{"coalesc(s) = 's'", "there is no function coalesc, is it coalesce?"},
		{"zzzzzzzzzzzzzz(s) = 's'", "there is no function zzzzzzzzzzzzzz: the"},
	} {
		e, err := expr.Parse(c.text)
		require.NoError(t, err, c.text)
		_, err = pred.Bind(e, schema)
		require.ErrorIs(t, err, delta.ErrInput, c.text)
		require.ErrorContains(t, err, c.says, c.text)
	}
	for _, c := range []struct {
		tree expr.Expr
		says string
	}{
		{nil, "there is none"},
		{expr.Col("amount").Eq(struct{}{}), "a value of the Go type struct {} is no literal"},
		{&expr.Not{}, "an operand is missing"},
		{&expr.In{X: expr.Col("amount"), At: -1}, "the list of IN is empty"},
		{expr.Field().Eq(1), "the column has no name"},
		{expr.Col("amount").Cast(arrow.ListOf(arrow.PrimitiveTypes.Int64)).Eq(1), "there is no CAST from"},
		{expr.Col("amount").Cast(nil).Eq(1), "the CAST has no type"},
		{&expr.Case{At: -1}, "the CASE has no WHEN"},
		{&expr.Case{Whens: []expr.When{{}}, At: -1}, "an operand is missing"},
		{expr.Col("amount").Eq(&expr.Literal{Value: scalar.NewMonthIntervalScalar(1), At: -1}), "this constant is no literal"},
	} {
		_, err := pred.Bind(c.tree, schema)
		require.ErrorIs(t, err, delta.ErrInput, c.says)
		require.ErrorContains(t, err, c.says)
	}
}

func TestConstantsAreComputed(t *testing.T) {
	one := rowsOf(t, arrow.PrimitiveTypes.Int64, `[1]`)
	for _, text := range []string{
		"CAST('1' AS INT) = c", "CAST(1.00 AS BIGINT) = c", "CAST(' 1 ' AS DECIMAL(3, 1)) = c", "CAST(1e0 AS INT) = c", "CAST(1 AS STRING) = '1'",
		"CAST('2024-02-29' AS DATE) = DATE '2024-02-29'", "CAST(TIMESTAMP '2024-02-29 23:00:00' AS DATE) = DATE '2024-02-29'",
		"CAST(DATE '2024-02-29' AS TIMESTAMP_NTZ) = TIMESTAMP_NTZ '2024-02-29 00:00:00'", "CAST('true' AS BOOLEAN)", "CAST(0.5 AS FLOAT) = 0.5F",
		"CAST(TIMESTAMP '2024-02-29 01:02:03.5' AS STRING) = '2024-02-29 01:02:03.5'", "CAST(NULL AS INT) IS NULL", "CAST('0.5' AS DOUBLE) = 0.5",
		"CAST(TIMESTAMP_NTZ '2024-02-29 00:00:00' AS TIMESTAMP) = TIMESTAMP '2024-02-29 00:00:00Z'", "CAST('a' AS BINARY) = X'61'",
		"CAST(0.25D AS DECIMAL(3, 2)) = 0.25", "CAST(true AS STRING) = 'true'", "CAST(1.5 AS INT) = c", "c = 2 - 1", "1 + 1 = 2", "-(-1) = c",
		"upper('a') = 'A'", "date_add('2024-02-28', 1) = DATE '2024-02-29'", "year('2024-02-29') = 2024", "c IN (2 - 1, NULL)",
		"DATE '2024-02-28' + INTERVAL '1' DAY = '2024-02-29'", "coalesce(NULL, c) = 1", "CAST(NULL AS INT) + 1 IS NULL", "NULL + c IS NULL",
		"c BETWEEN 0 + 1 AND 1 * 1", "if(1 = 1, c, 1 DIV 0) = 1", "'abc' LIKE 'a%' AND c = 1", "length('äö') = 2 * c",
	} {
		require.Equal(t, "T", eval(t, one, text), text)
	}
}
