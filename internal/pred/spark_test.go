package pred_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// sparkRows are three rows that were given to Spark, too.
func sparkRows(t *testing.T) arrow.RecordBatch {
	t.Helper()
	int32s := arrow.PrimitiveTypes.Int32
	null := func(name string, dt arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: dt, Nullable: true}
	}
	schema := arrow.NewSchema([]arrow.Field{
		null("x", int32s), null("n", int32s), null("s", arrow.BinaryTypes.String), null("arr", arrow.ListOf(int32s)),
		null("m", arrow.MapOf(arrow.BinaryTypes.String, int32s)), null("st", arrow.StructOf(null("a", int32s), null("b", arrow.BinaryTypes.String))),
		null("d", arrow.FixedWidthTypes.Date32), null("bo", arrow.FixedWidthTypes.Boolean), null("f", arrow.PrimitiveTypes.Float64),
		null("ls", arrow.ListOf(arrow.StructOf(null("b", int32s)))),
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[
		{"x": 0, "n": null, "s": "x", "arr": [1, 2, 3], "m": [{"key": "a", "value": 1}, {"key": "b", "value": 2}], "st": {"a": 1, "b": "q"}, "d": "2024-02-29", "bo": true, "f": 1.5, "ls": [{"b": 1}]},
		{"x": 2, "n": 5, "s": "abc", "arr": [1], "m": [{"key": "b", "value": 2}], "st": null, "d": null, "bo": false, "f": 0.0, "ls": [{"b": 2}]},
		{"x": 4, "n": 0, "s": null, "arr": null, "m": null, "st": {"a": null, "b": null}, "d": "2020-01-01", "bo": null, "f": null, "ls": null}
	]`))
	require.NoError(t, err)
	return batch
}

// failing is what a case expects where a row of it has no value.
const failing = "fails"

// valueOrFailure evaluates as values does; a row that fails gives failing, the row and the text.
func valueOrFailure(t *testing.T, batch arrow.RecordBatch, text string) string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e, err := expr.Parse(text)
	require.NoError(t, err, text)
	v, err := pred.BindValue(e, batch.Schema())
	require.NoError(t, err, text)
	got, err := v.Eval(mem, batch)
	var row *pred.RowError
	if errors.As(err, &row) {
		require.ErrorIs(t, err, delta.ErrInput)
		return failing
	}
	require.NoError(t, err, text)
	defer got.Release()
	json, err := got.MarshalJSON()
	require.NoError(t, err)
	return strings.ReplaceAll(string(json), "\n", "")
}

func TestElementsAndFields(t *testing.T) {
	batch := sparkRows(t)
	for _, c := range []struct{ text, want, why string }{
		{"arr[0]", `[1,1,null]`, "places count from 0"},
		{"arr[2]", failing, "a place beyond an array"},
		{"arr[-1]", failing, "nor does it count from the end"},
		{"if(x = 0, arr[2], -1)", `[3,-1,-1]`, "unless the row does not need it"},
		{"arr[NULL]", `[null,null,null]`, "a place that is NULL"},
		{"arr[n]", failing, "a place beyond an array"},
		{"arr[0L]", `[1,1,null]`, "whole numbers of any width"},
		{"m['a']", `[1,null,null]`, "a key that a map lacks"},
		{"m['b']", `[2,2,null]`, "a key"},
		{"m[s]", `[null,null,null]`, "a key that differs by row"},
		{"(st).b", `["q",null,null]`, "a field of a column"},
		{"(st).b = 'q'", `[true,null,null]`, "compared"},
		{"ls[0].b", `[1,2,null]`, "a field of an element"},
		{"ls[0].b IS NULL", `[false,false,true]`, "tested"},
		{"ls[0].b IN (2, 3)", `[false,true,null]`, "tested"},
		{"ls[0]", `[{"b":1},{"b":2},null]`, "an element that is nested"},
	} {
		require.Equal(t, c.want, valueOrFailure(t, batch, c.text), "%s: %s", c.text, c.why)
		if c.want != failing {
			require.NotEqual(t, failing, valueOrFailure(t, batch.NewSlice(1, 3), c.text), "a slice")
		}
	}
}

func TestConditionalsAreLazy(t *testing.T) {
	batch := sparkRows(t)
	for _, c := range []struct{ text, want, why string }{
		{"arr[x] > 1", failing, "row 1 has no element 2"},
		{"x <> 2 AND arr[x] > 0", `[true,false,null]`, "FALSE decides before the error"},
		{"arr[x] > 0 AND x <> 2", failing, "the error comes first"},
		{"x = 2 OR arr[x] > 0", `[true,true,null]`, "TRUE decides before the error"},
		{"arr[x] > 0 OR x = 2", failing, "the error comes first"},
		{"if(n IS NULL, arr[9] / n, 0)", `[null,0,0]`, "a division by NULL needs no dividend"},
		{"if(n IS NULL, n % arr[9], 0)", failing, "a division evaluates its divisor first"},
		{"if(n IS NULL, n + arr[9], 0)", `[null,0,0]`, "other operators their left side"},
		{"if(n IS NULL, date_add(if(n > 0, d, NULL), arr[9]), d)", `[null,null,"2020-01-01"]`, "so do functions"},
		{"if(n IS NULL, greatest(n, arr[9]), 0)", failing, "but those that look at every argument"},
		{"NOT (x <> 2 AND arr[x] > 0)", `[false,true,null]`, "negated"},
		{"n > 9 AND arr[x] > 0", `[null,false,false]`, "NULL does not decide, but no row of it fails"},
		{"CAST(NULL AS BOOLEAN) AND arr[x] > 0", failing, "NULL does not decide"},
		{"CASE WHEN x <> 2 THEN arr[x] END", `[1,null,null]`, "a branch that is not taken"},
		{"CASE WHEN x = 2 THEN 7 WHEN arr[x] > 0 THEN 8 ELSE 9 END", `[8,7,9]`, "a condition that is not reached"},
		{"CASE WHEN arr[x] > 0 THEN 8 WHEN x = 2 THEN 7 END", failing, "a condition that is reached"},
		{"CASE x WHEN 0 THEN 'a' WHEN 2 THEN 'b' END", `["a","b",null]`, "CASE of an operand"},
		{"CASE n WHEN NULL THEN 'a' ELSE 'b' END", `["b","b","b"]`, "nothing equals NULL"},
		{"CASE arr[x] WHEN 1 THEN 'a' ELSE 'b' END", failing, "an operand that fails"},
		{"if(x <> 2, arr[x], -1)", `[1,-1,null]`, "a branch that is not taken"},
		{"if(NULL, 1, 2)", `[2,2,2]`, "NULL is not TRUE"},
		{"coalesce(n, x)", `[0,5,0]`, "the first that is not NULL"},
		{"coalesce(if(x = 2, x, NULL), arr[x])", `[1,2,null]`, "what comes behind a value may fail"},
		{"coalesce(arr[x], 1)", failing, "what comes first may not"},
		{"coalesce(NULL, NULL)", `[null,null,null]`, "no type at all"},
		{"coalesce(s, 'y')", `["x","abc","y"]`, "strings"},
		{"coalesce(st, st)", `[{"a":1,"b":"q"},null,{"a":null,"b":null}]`, "nested values"},
		{"coalesce(d, '2024-01-01')", `["2024-02-29","2024-01-01","2020-01-01"]`, "a constant string is a day where it meets days"},
		{"CASE WHEN bo THEN d ELSE '2024-01-01' END", `["2024-02-29","2024-01-01","2024-01-01"]`, "a constant string is a day where it meets days"},
		{"nvl(n, 7)", `[7,5,0]`, "coalesce of two"},
		{"ifnull(n, 7)", `[7,5,0]`, "coalesce of two"},
		{"zeroifnull(n)", `[0,5,0]`, "coalesce with 0"},
		{"nullif(x, 0)", `[null,2,4]`, "NULL where equal"},
		{"nullif(s, 'x')", `[null,"abc",null]`, "NULL where equal"},
		{"nullif(bo, true)", `[null,false,null]`, "NULL where equal"},
		{"nullif(n, arr[9])", failing, "an error where the first is not NULL"},
		{"nullif(if(x = 0, 1, NULL), arr[x])", `[null,null,null]`, "no error where the first is NULL"},
		{"nullifzero(x)", `[null,2,4]`, "NULL where 0"},
		{"nvl2(n, 1, 2)", `[2,1,1]`, "by whether it is NULL"},
		{"nvl2(n, d, '2024-01-01')", `["2024-01-01",null,"2020-01-01"]`, "by whether it is NULL"},
		{"nvl2(if(x = 2, 1, NULL), 0, arr[x])", `[1,0,null]`, "a branch that is not taken"},
		{"isnull(n)", `[true,false,false]`, "a condition"},
		{"isnotnull(n)", `[false,true,true]`, "a condition"},
		{"equal_null(n, 5)", `[false,true,false]`, "a condition"},
		{"decode(x, 0, 'a', 2, 'b', 'c')", `["a","b","c"]`, "with an other"},
		{"decode(n, NULL, 'null', 5, 'five')", `["null","five",null]`, "by <=>, without an other"},
		{"x IN (2, arr[x])", `[false,true,null]`, "an earlier member decides"},
		{"x IN (arr[x], 2)", failing, "a later one does not"},
		{"n IN (5, 0, arr[x])", `[null,true,true]`, "NULL is looked up nowhere"},
		{"x NOT IN (2, arr[x])", `[true,false,null]`, "negated"},
		{"x BETWEEN 1 AND arr[x]", failing, "its upper end"},
		{"x BETWEEN 3 AND arr[x]", `[false,false,null]`, "which is not reached"},
		{"arr[x] BETWEEN 0 AND 5", failing, "an operand that fails"},
		{"if(x = 2, NULL, x) = arr[x]", `[false,null,null]`, "NULL on the left decides"},
		{"arr[x] = n", failing, "one on the right does not"},
		{"if(x = 2, NULL, x) <=> arr[x]", failing, "<=> looks at both"},
		{"(n > 9) = (arr[x] > 0)", failing, "conditions are compared in order"},
		{"if(x = 2, NULL, bo) = (arr[x] > 0)", `[true,null,null]`, "NULL on the left decides"},
		{"if(x = 2, NULL, bo) <=> (arr[x] > 0)", failing, "but not for <=>"},
		{"if(x < 4, NULL, arr) = if(arr[5] = 1, arr, arr)", `[null,null,null]`, "nor of nested values"},
		{"if(x < 4, NULL, arr) <=> if(arr[5] = 1, arr, arr)", failing, "but for <=>"},
		{"x <> 2 AND arr[x] BETWEEN 0 AND 5", `[true,false,null]`, "an operand of several uses"},
		{"if(x <> 2, nullif(arr[x], 7), 0)", `[1,0,null]`, "an operand of several uses"},
		{"coalesce(if(x = 2, 5, NULL), nullif(arr[x], 7))", `[1,5,null]`, "an operand of several uses"},
		{"arr[x] IS NULL", failing, "an error is not NULL"},
		{"arr[x] > 0 IS NULL", failing, "an error is not NULL"},
		{"arr[5]", failing, "in each row"},
		{"if(x > 100, arr[5], 5)", `[5,5,5]`, "in no row"},
		{"arr[x] IN (1, 2)", failing, "a set"},
		{"s LIKE if(x = 2, 'a%', NULL)", `[null,true,null]`, "a pattern that differs by row"},
	} {
		require.Equal(t, c.want, valueOrFailure(t, batch, c.text), "%s: %s", c.text, c.why)
	}
}

// What Spark 4.1 answers over sparkRows, and where it fails.
func TestComputedValuesAreSparks(t *testing.T) {
	batch := sparkRows(t)
	for _, c := range []struct{ text, want, why string }{
		{"x <> 0 AND 1/x > 0.1", `[false,true,true]`, "division by zero is not reached"},
		{"1/x > 0.1 AND x <> 0", failing, "division by zero comes first"},
		{"1/x > 0.1 OR x = 0", failing, "division by zero comes first"},
		{"x = 0 OR 1/x > 0.1", `[true,true,true]`, "division by zero is not reached"},
		{"n > 1 AND 1/x > 0.1", failing, "NULL does not decide"},
		{"CASE WHEN x <> 0 THEN 1/x END", `[null,0.5,0.25]`, "a branch that is not taken"},
		{"if(x <> 0, 1/x, -1)", `[-1,0.5,0.25]`, "a branch that is not taken"},
		{"CASE WHEN x = 0 THEN 0 WHEN 1/x > 0.3 THEN 1 ELSE 2 END", `[0,1,2]`, "a condition that is not reached"},
		{"coalesce(n, 1/x)", failing, "NULL needs the next"},
		{"coalesce(x, 1/0)", `[0,2,4]`, "a constant that fails is not needed"},
		{"nullif(n, 1/x)", `[null,5,0]`, "NULL is compared with nothing"},
		{"n + 1/x", `[null,5.5,0.25]`, "NULL on the left of an operator"},
		{"1/x + n", failing, "NULL on the right"},
		{"n = 1/x", `[null,false,false]`, "NULL on the left of a comparison"},
		{"1/x = n", failing, "NULL on the right"},
		{"n <=> 1/x", failing, "<=> looks at both"},
		{"x IN (0, 1/x)", `[true,false,false]`, "an earlier member"},
		{"x IN (1/x, 0)", failing, "a later one"},
		{"n IN (1, 1/x)", `[null,false,false]`, "NULL is looked up nowhere"},
		{"n BETWEEN 1/x AND 3", `[null,false,false]`, "NULL is between nothing"},
		{"x BETWEEN 1 AND 1/x", `[false,false,false]`, "one end decides"},
		{"greatest(n, 1/x)", failing, "a function looks at each argument"},
		{"concat(CAST(n AS STRING), CAST(1/x AS STRING))", `[null,"50.5","00.25"]`, "but for concat"},
		{"1/0", failing, "a constant that fails"},
		{"if(x > 100, 1/0, 5)", `[5,5,5]`, "a constant that fails is not needed"},
		{"x > 100 AND 1/0 > 1", `[false,false,false]`, "a constant that fails is not needed, where Spark fails nevertheless"},
		{"arr[x] + 1", failing, "of an element"},
		{"st.a + 1", `[2,null,null]`, "of a field"},
		{"coalesce(x, 1L)", `[0,2,4]`, "integers of two widths"},
		{"coalesce(x, 1.5)", `["0","2","4"]`, "an integer and a decimal"},
		{"if(bo, 1, 2.5)", `["1","2.5","2.5"]`, "an integer and a decimal"},
		{"CASE WHEN bo THEN d ELSE TIMESTAMP '2024-01-01 00:00:00' END", `["2024-02-29T00:00:00Z","2024-01-01T00:00:00Z","2024-01-01T00:00:00Z"]`, "a day and an instant"},
		{"CASE n WHEN 5L THEN 'a' ELSE 'b' END", `["b","a","b"]`, "integers of two widths"},
		{"nullif(x, 2L)", `[0,null,4]`, "of the type of the first"},
		{"nvl2(n, 1, 2L)", `[2,1,1]`, "integers of two widths"},
		{"isnan(f)", `[false,false,false]`, "never NULL"},
		{"nanvl(f, 1)", `[1.5,0,null]`, "a function of floats"},
		{"s LIKE concat('a', '%')", `[false,true,null]`, "a pattern that is computed"},
		{"s ILIKE 'A%'", `[false,true,null]`, "of any case"},
		{"startswith(s, 'ab')", `[false,true,null]`, "a range"},
		{"year('2024-01-01')", `[2024,2024,2024]`, "a constant string is a day"},
		{"date_add('2024-01-01', 1)", `["2024-01-02","2024-01-02","2024-01-02"]`, "a constant string is a day"},
		{"d + 1", `["2024-03-01",null,"2020-01-02"]`, "a day and a number"},
		{"d + INTERVAL '1' DAY = '2024-03-01'", `[true,null,false]`, "a day and an interval"},
		{"CAST(1.5 AS INT)", `[1,1,1]`, "digits after the point are cut off"},
		{"CAST('x' AS INT)", failing, "a text that is no number"},
		{"CAST(s AS INT)", failing, "a text that is no number"},
		{"if(s = 'x', 0, CAST(CAST(x AS STRING) AS INT))", `[0,2,4]`, "a text that is one"},
		{"CAST(x AS BOOLEAN)", `[false,true,true]`, "0 is FALSE"},
		{"CAST(bo AS INT) + 1", `[2,1,null]`, "TRUE is 1"},
		{"CAST(x > 1 AS STRING)", `["false","true","true"]`, "a condition"},
		{"CAST(NULL AS INT) + 1", `[null,null,null]`, "NULL with a type"},
		{"NULL + 1", `[null,null,null]`, "NULL without one"},
		{"st = st", `[true,null,true]`, "structs are equal where their fields are"},
		{"st <=> st", `[true,true,true]`, "structs are equal where their fields are"},
		{"st <> st", `[false,null,false]`, "structs are equal where their fields are"},
		{"ls = ls", `[true,true,null]`, "arrays are equal where their elements are"},
		{"if(bo, arr, NULL) = arr", `[true,null,null]`, "of computed arrays"},
		{"arr IN (arr, NULL)", `[true,true,null]`, "in a list"},
		{"m IS NULL OR m = NULL", `[null,null,true]`, "NULL is compared with anything"},
		{"-x", `[0,-2,-4]`, "a sign"},
		{"x % 0 = 1", failing, "a remainder by zero"},
		{"2147483647 + x > 0", failing, "an overflow"},
		{"2147483647L + x", `[2147483647,2147483649,2147483651]`, "of a wider type there is none"},
		{"bo AND x / 0 = 1", failing, "TRUE does not decide"},
		{"x = 4 AND NOT bo", `[false,false,null]`, "conditions of columns as ever"},
	} {
		require.Equal(t, c.want, valueOrFailure(t, batch, c.text), "%s: %s", c.text, c.why)
	}
}

// How many of five rows Spark 4.1 finds.
func TestCountsAreSparks(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a b", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "dd", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "tt", Type: tsType, Nullable: true}, {Name: "str", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[
		{"a b": -1, "dd": "2024-03-01", "tt": "1969-12-31T23:59:59.999999Z", "str": "01"}, {"a b": 1, "dd": "2024-02-29", "tt": "2024-02-29T00:00:00Z", "str": "1"},
		{"a b": 2, "dd": "2024-02-28", "tt": "2024-02-29T23:59:59.999999Z", "str": "10"}, {"a b": 3, "dd": null, "tt": "2024-03-01T00:00:00Z", "str": "2"},
		{"a b": null, "dd": "1999-01-01", "tt": null, "str": null}]`))
	require.NoError(t, err)
	for _, c := range []struct {
		text string
		rows int
	}{
		{"cast(`a b` as string) = '1'", 1}, {"`a b` > 1.5", 2}, {"`a b` < 2147483648", 4}, {"dd = '2024-02-29'", 1}, {"dd > timestamp'2024-02-29 12:00:00'", 1},
		{"cast(tt as date) = '2024-02-29'", 2}, {"tt = '2024-02-29'", 1}, {"tt = '2024-02-29 01:00:00+01:00'", 1}, {"date_format(tt, 'yyyy-MM') = '2024-02'", 2},
		{"cast(str as int) = 10", 1}, {"`A B` = 2", 1}, {"`a b` % 2 = 0", 1}, {"dd + interval 1 day = '2024-03-01'", 1}, {"str BETWEEN '1' AND '2'", 3},
		{"`a b` IS NOT DISTINCT FROM 1", 1}, {"`a b` IS DISTINCT FROM 1", 4}, {"dd IN ('2024-02-29', '1999-01-01')", 2}, {"length(str) > `a b`", 1},
	} {
		require.Equal(t, c.rows, strings.Count(eval(t, batch, c.text), "T"), c.text)
	}
}

func TestLike(t *testing.T) {
	texts := rowsOf(t, arrow.BinaryTypes.String, `["", "a", "abc", "aXc", "a%c", "a\nb", "ab\\c", "😀b", null, "aab", "a_c"]`)
	for _, c := range []struct{ text, want, why string }{
		{"c LIKE ''", "TFFFFFFFNFF", "the empty pattern"},
		{"c LIKE '%'", "TTTTTTTTNTT", "any text"},
		{"c LIKE 'abc'", "FFTFFFFFNFF", "no wild character"},
		{"c LIKE 'a%'", "FTTTTTTFNTT", "a prefix"},
		{"c NOT LIKE 'a%'", "TFFFFFFTNFF", "negated"},
		{"c LIKE '%c'", "FFTTTFTFNFT", "a suffix"},
		{"c LIKE '%b%'", "FFTFFTTTNTF", "within"},
		{"c LIKE 'a_c'", "FFTTTFFFNFT", "one character"},
		{"c LIKE 'a_b'", "FFFFFTFFNTF", "a newline too"},
		{"c LIKE '_b'", "FFFFFFFTNFF", "a character of four bytes"},
		{"c LIKE 'a%b'", "FFFFFTFFNTF", "both ends"},
		{"c LIKE '%a_%'", "FFTTTTTFNTT", "a part with a wild character"},
		{"c LIKE '%_b'", "FFFFFTFTNTF", "which ends"},
		{"c LIKE 'a%_c'", "FFTTTFTFNFT", "which ends"},
		{"c LIKE '%a%a%'", "FFFFFFFFNTF", "parts do not share text"},
		{"c LIKE 'ab%b'", "FFFFFFFFNFF", "parts do not share text"},
		{`c LIKE 'a\\%c'`, "FFFFTFFFNFF", "an escaped %"},
		{`c LIKE 'a\\_c'`, "FFFFFFFFNFT", "an escaped _"},
		{`c LIKE '%\\\\%'`, "FFFFFFTFNFF", "an escaped backslash"},
		{`c LIKE 'a/%c' ESCAPE '/'`, "FFFFTFFFNFF", "another escape character"},
		{`c LIKE '%\\%' ESCAPE '/'`, "FFFFFFTFNFF", "then a backslash is itself"},
		{"c LIKE 'a%%c' ESCAPE '%'", "FFFFTFFFNFF", "which may be a wild character"},
		{"c LIKE 'a%%' ESCAPE '%'", "FFFFFFFFNFF", "and then is none"},
		{"c LIKE NULL", "NNNNNNNNNNN", "no pattern"},
		{"c LIKE c", "TTTTTTFTNTT", "its own pattern, but for the backslash"},
		{"'abc' LIKE 'a%' AND c = 'a'", "FTFFFFFFNFF", "constants"},
	} {
		if c.text == "c LIKE c" {
			c.text = `c = 'ab\\c' OR c LIKE c`
			c.want = "TTTTTTTTNTT"
		}
		require.Equal(t, c.want, eval(t, texts, c.text), "%s: %s", c.text, c.why)
	}
	for _, c := range []struct{ text, says string }{
		{`c LIKE 'a\\b'`, `the escape character \ is before 'b'`},
		{`c LIKE 'a\\'`, `ends with its escape character \`},
		{`c LIKE 5`, `like takes`},
	} {
		e, err := expr.Parse(c.text)
		require.NoError(t, err)
		_, err = pred.Bind(e, texts.Schema())
		require.ErrorIs(t, err, delta.ErrInput)
		require.ErrorContains(t, err, c.says)
	}
	require.Equal(t, failing, valueOrFailure(t, texts, "c LIKE c"), "a pattern of a row that is none")
}

func TestRowErrorsTellWhere(t *testing.T) {
	batch := sparkRows(t)
	e, err := expr.Parse("n = 7 OR arr[x] = 1")
	require.NoError(t, err)
	p, err := pred.Bind(e, batch.Schema())
	require.NoError(t, err)
	_, err = p.Eval(memory.DefaultAllocator, batch)
	var row *pred.RowError
	require.ErrorAs(t, err, &row)
	require.ErrorIs(t, err, delta.ErrInput)
	require.Equal(t, 1, row.Row)
	require.Equal(t, "at arr[x], byte 12: row 2: there is no element 2 in an array of 1: places count from 0", row.Error())
	require.EqualError(t, pred.After(16, row), "at arr[x], byte 12: row 18: there is no element 2 in an array of 1: places count from 0", "what came before the batch counts")
}
