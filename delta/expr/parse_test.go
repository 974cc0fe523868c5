package expr_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/expr"
)

var ntz = &arrow.TimestampType{Unit: arrow.Microsecond}

func timestampNTZ(micros int64) scalar.Scalar {
	return scalar.NewTimestampScalar(arrow.Timestamp(micros), ntz)
}

// Each text and the tree built in Go are the same tree.
func TestParseEqualsBuilder(t *testing.T) {
	col := expr.Col
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		want expr.Expr
		why  string
	}{
		{"a = 1", col("a").Eq(int32(1)), "an integer that fits is an int"},
		{"a == 1L", col("a").Eq(int64(1)), "== is ="},
		{"a = 1L", col("a").Eq(1), "a Go int is a bigint"},
		{"a = 3000000000", col("a").Eq(int64(3000000000)), "a larger one is a bigint"},
		{"a = 9223372036854775808", col("a").Eq(uint64(1) << 63), "and beyond that a decimal"},
		{"a = -9223372036854775808L", col("a").Eq(int64(math.MinInt64)), "the sign belongs to the number"},
		{"a <> -5Y", col("a").Ne(int8(-5)), "suffix Y is a tinyint"},
		{"a != 5s", col("a").Ne(int16(5)), "suffixes ignore case"},
		{"a < 12.50", col("a").Lt(expr.Decimal("12.50")), "a point makes a decimal and its zeros count"},
		{"a < 12.50BD", col("a").Lt(expr.Decimal("12.50")), "BD too"},
		{"a < .5", col("a").Lt(expr.Decimal("0.5")), "digits before the point may lack"},
		{"a <= 1e3", col("a").Le(1e3), "an exponent makes a double"},
		{"a <= 1E-3BD", col("a").Le(expr.Decimal("0.001")), "or with BD a decimal"},
		{"a <= 2D", col("a").Le(2.0), "suffix D is a double"},
		{"a <= 2.5F", col("a").Le(float32(2.5)), "suffix F is a float"},
		{"a >= -0.0D", col("a").Ge(math.Copysign(0, -1)), "a negative zero keeps its sign"},
		{"a = CAST('NaN' AS DOUBLE)", col("a").Eq(math.NaN()), "NaN has only this text"},
		{`s = 'it''s'`, col("s").Eq("it's"), "a doubled quote is one quote"},
		{`s = "say \"x\""`, col("s").Eq(`say "x"`), "double quotes make strings"},
		{`s = '\t\u00e4\101\\\q'`, col("s").Eq("\täA\\q"), "escapes"},
		{`s = '\%'`, col("s").Eq(`\%`), "kept for LIKE, as Spark keeps it"},
		{`b = X'0aFF'`, col("b").Eq([]byte{10, 255}), "binary"},
		{"d = DATE '2024-02-29'", col("d").Eq(expr.Date(2024, 2, 29)), "date"},
		{"date > '2023-04-13'", col("date").Gt("2023-04-13"), "date is a name where no string follows"},
		{"t = TIMESTAMP '2024-02-29 13:00:00+01:00'", col("t").Eq(noon), "a timestamp is an instant"},
		{"t = timestamp'2024-02-29T12:00:00'", col("t").Eq(noon), "UTC unless it says otherwise"},
		{"t = TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'", col("t").Eq(timestampNTZ(1)), "without zone"},
		{"a.b.`c d` IS NULL", expr.Field("a", "b", "c d").IsNull(), "fields, backticks"},
		{"`a.b` IS NOT NULL", expr.Field("a.b").IsNotNull(), "a dot within backticks"},
		{"`a``b` = TRUE", col("`a``b`").Eq(true), "a backtick within backticks"},
		{"a <=> NULL", col("a").NullSafeEq(nil), "null-safe equality"},
		{"a IN (1L, NULL)", col("a").In(1, nil), "IN with NULL"},
		{"a NOT IN ('x')", col("a").NotIn("x"), "NOT IN"},
		{"a BETWEEN 1L AND 2L AND b", col("a").Between(1, 2).And(col("b")), "the first AND is BETWEEN's"},
		{"a NOT BETWEEN 1L AND 2L", col("a").NotBetween(1, 2), "NOT BETWEEN"},
		{"NOT a = 1L AND b", expr.Negate(col("a").Eq(1)).And(col("b")), "NOT binds looser than = and tighter than AND"},
		{"! a = 1L", expr.Negate(col("a").Eq(1)), "! is NOT"},
		{"a OR b AND c", col("a").Or(col("b").And(col("c"))), "AND before OR"},
		{"(a OR b) AND c", col("a").Or(col("b")).And(col("c")), "parentheses"},
		{"a = 1L IS NULL", &expr.IsNull{X: col("a").Eq(1)}, "a test binds looser than a comparison"},
		{"a IS TRUE", col("a").NullSafeEq(true), "IS TRUE"},
		{"a IS NOT FALSE", expr.Negate(col("a").NullSafeEq(false)), "IS NOT FALSE"},
		{"a IS DISTINCT FROM 1L", expr.Negate(col("a").NullSafeEq(1)), "IS DISTINCT FROM"},
		{"a IS UNKNOWN", col("a").IsNull(), "IS UNKNOWN"},
		{"CAST(a AS decimal(12, 2)) > 1L", col("a").Cast(&arrow.Decimal128Type{Precision: 12, Scale: 2}).Gt(1), "cast"},
		{"cast(a as date) = '2024-02-29'", col("a").Cast(arrow.FixedWidthTypes.Date32).Eq("2024-02-29"), "cast"},
		{"f(a, 1L) = g()", expr.Function("f", col("a"), 1).Eq(expr.Function("g")), "calls are kept"},
		{"F(a)", expr.Function("f", col("a")), "the case of a function's name is nothing"},

		{"a - b - c", col("a").Minus(col("b")).Minus(col("c")), "arithmetic groups from the left"},
		{"a - (b - c)", col("a").Minus(col("b").Minus(col("c"))), "unless it says otherwise"},
		{"a + b * c", col("a").Plus(col("b").Times(col("c"))), "products first"},
		{"a / b DIV c % d", col("a").Div(col("b")).IntDiv(col("c")).Mod(col("d")), "/ DIV % are of one rank"},
		{"a - -5", col("a").Minus(int32(-5)), "a sign after an operator"},
		{"a -5", col("a").Minus(int32(5)), "an operator and not a sign"},
		{"- 5", expr.Lit(int32(-5)), "blanks within a negative number"},
		{"-a * b", expr.Function("negative", col("a")).Times(col("b")), "a sign binds tighter than a product"},
		{"- - a", expr.Function("negative", expr.Function("negative", col("a"))), "signs in a row"},
		{"-(5L)", expr.Function("negative", 5), "only a number right behind the sign is negative itself"},
		{"-a.b[0]", expr.Function("negative", col("a.b").Element(int32(0))), "a sign binds looser than an element"},
		{"+5 + +a", expr.Apply(expr.Add, int32(5), expr.Function("positive", col("a"))), "a plus"},
		{"a + b > c * 2L", col("a").Plus(col("b")).Gt(col("c").Times(2)), "arithmetic before comparison"},
		{"a + b IS NULL", col("a").Plus(col("b")).IsNull(), "and before tests"},
		{"a BETWEEN b + 1L AND c - 1L", col("a").Between(col("b").Plus(1), col("c").Minus(1)), "bounds are sums"},
		{"a || b || 'x'", expr.Function("concat", expr.Function("concat", col("a"), col("b")), "x"), "|| is concat"},
		{"a || b + c", expr.Function("concat", col("a"), col("b")).Plus(col("c")), "|| ranks with +, from the left"},
		{"concat(a, b)", expr.Function("concat", col("a"), col("b")), "or written as one"},

		{"s LIKE 'a%'", col("s").Like("a%"), "LIKE"},
		{"s NOT LIKE '_'", col("s").NotLike("_"), "NOT LIKE"},
		{"s ilike t || '%'", col("s").ILike(expr.Function("concat", col("t"), "%")), "a pattern is any operand"},
		{"s NOT ILIKE 'A'", col("s").NotILike("A"), "NOT ILIKE"},
		{"s LIKE '10!%' ESCAPE '!'", col("s").Like("10!%").EscapedBy('!'), "ESCAPE"},
		{`s LIKE 'a' ESCAPE '\\'`, col("s").Like("a"), "a backslash escapes anyway"},
		{`s LIKE r'\%'`, col("s").Like(`\%`), "raw strings"},
		{"s RLIKE '^a' || t", expr.Function("rlike", col("s"), expr.Function("concat", "^a", col("t"))), "RLIKE is a function"},
		{"s NOT regexp 'a' AND b", expr.Negate(expr.Function("rlike", col("s"), "a")).And(col("b")), "REGEXP, too"},
		{"NOT s LIKE 'a' AND b", expr.Negate(col("s").Like("a")).And(col("b")), "LIKE is a test"},

		{"CASE WHEN a THEN 1L END", expr.CaseWhen(col("a"), 1), "CASE without ELSE"},
		{"case when a = 1L then 'x' when b then 'y' else c end", expr.CaseWhen(col("a").Eq(1), "x").When(col("b"), "y").Otherwise(col("c")), "CASE"},
		{"CASE a WHEN 1L THEN 2L ELSE 3L END + 4L", expr.CaseOf(col("a"), 1, 2).Otherwise(3).Plus(4), "CASE with an operand is an operand itself"},
		{"CASE -a WHEN b OR c THEN d END", expr.CaseOf(expr.Function("negative", col("a")), col("b").Or(col("c")), col("d")), "any expression between the words"},
		{"CASE NOT a WHEN b THEN NULL END", expr.CaseOf(col("a").Not(), col("b"), nil), "NOT behind CASE is no operator"},
		{"CASE WHEN end THEN then ELSE else END", expr.CaseWhen(col("end"), col("then")).Otherwise(col("else")), "words of CASE as columns"},
		{"CASE !a WHEN b THEN 1L END", expr.CaseOf(col("a").Not(), col("b"), 1), "! behind CASE"},
		{"CASE WHEN case THEN select ELSE distinct END", expr.CaseWhen(col("case"), col("select")).Otherwise(col("distinct")), "words that begin something as columns"},
		{"case = 1L OR case NOT IN (case)", col("case").Eq(1).Or(col("case").NotIn(col("case"))), "CASE as a column"},

		{"a[0]", col("a").Element(int32(0)), "an element"},
		{"a.b[c + 1L]", col("a.b").Element(col("c").Plus(1)), "of a field, at an expression"},
		{"m['k']['l'] = 1L", col("m").Element("k").Element("l").Eq(1), "elements of elements"},
		{"a[0].b.`c d`", col("a").Element(int32(0)).Member("b").Member("c d"), "fields of an element"},
		{"f(x).y", expr.Function("f", col("x")).Member("y"), "a field of a call"},
		{"(s).y", col("s").Member("y"), "a field of a column in parentheses"},
		{"(a + b).c[0]", col("a").Plus(col("b")).Member("c").Element(int32(0)), "a field of anything"},
		{"(1L)[0]", &expr.Element{X: expr.Lit(1), Index: expr.Lit(int32(0))}, "an element of a number"},

		{"a::int", col("a").Cast(arrow.PrimitiveTypes.Int32), "the other CAST"},
		{"a.b::DECIMAL(12, 2)::string", col("a.b").Cast(&arrow.Decimal128Type{Precision: 12, Scale: 2}).Cast(arrow.BinaryTypes.String), "one after the other"},
		{"-1L::string", expr.Convert(-1, arrow.BinaryTypes.String), "the sign is the number's"},
		{"-a::string", expr.Function("negative", col("a").Cast(arrow.BinaryTypes.String)), "or the last to be done"},
		{"'NaN'::double", expr.Lit(math.NaN()), "NaN"},

		{"like = 1L AND div > 2L", col("like").Eq(1).And(col("div").Gt(2)), "words of operators as columns"},
		{"user = 'x' AND year = month", col("user").Eq("x").And(col("year").Eq(col("month"))), "words that are none"},
		{"end = 1L AND x = 2L", col("end").Eq(1).And(col("x").Eq(2)), "few words are reserved"},
	} {
		got, err := expr.Parse(c.text)
		require.NoError(t, err, c.why)
		require.True(t, expr.Equal(c.want, got), "%s: %s: got %s, want %s", c.why, c.text, got, c.want)
		again, err := expr.Parse(c.want.String())
		require.NoError(t, err, c.text)
		require.True(t, expr.Equal(c.want, again), "the text %s of %s", c.want, c.text)
	}
}

func TestParseArguments(t *testing.T) {
	day := expr.Date(2024, 1, 2)
	dec := scalar.NewDecimal128Scalar(decimal128.FromI64(1250), &arrow.Decimal128Type{Precision: 10, Scale: 2})
	got, err := expr.Parse("day = ? AND n IN (?, ?) AND amount < ?", day, 1, nil, dec)
	require.NoError(t, err)
	want := expr.AllOf(expr.Col("day").Eq(day), expr.Col("n").In(1, nil), expr.Col("amount").Lt(expr.Decimal("12.50")))
	require.True(t, expr.Equal(want, got), "%s", got)

	for _, c := range []struct {
		text string
		args []any
		at   int
		says string
	}{
		{"a = ?", nil, 4, "no argument for this ?"},
		{"a = ?", []any{1, 2}, 5, "the text has 1 ?, but 2 arguments"},
		{"a = ?", []any{struct{}{}}, 4, "argument 1: a value of the Go type struct {}"},
		{"a = ?", []any{expr.Col("b")}, 4, "argument 1: a value of the Go type *expr.Column"},
		{"a = ?", []any{expr.Date(2023, 2, 29)}, 4, "there is no day 2023-02-29"},
		{"a = ?", []any{"\xff"}, 4, "not valid UTF-8"},
	} {
		_, err := expr.Parse(c.text, c.args...)
		requireSyntax(t, err, c.at, c.says)
	}
}

func requireSyntax(t *testing.T, err error, at int, says string) {
	t.Helper()
	var syntax *expr.SyntaxError
	require.True(t, errors.As(err, &syntax), "%v", err)
	require.Contains(t, syntax.Msg, says)
	require.Equal(t, at, syntax.At, "%v", err)
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		says string
	}{
		{"", 0, "expected a column or a value, found the end"},
		{"day = = 1", 6, `expected a column or a value, found "="`},
		{"a = 1 b", 6, `expected an operator or the end, found "b"`},
		{"(a = 1", 6, `expected an operator or ")", found the end`},
		{"a IN ()", 6, "expected a column or a value"},
		{"a IN (1 2)", 8, `expected an operator, "," or ")"`},
		{"a NOT = 1", 6, "expected IN, BETWEEN or LIKE"},
		{"a BETWEEN 1 OR 2", 12, "expected AND"},
		{"a = NOT b", 4, "put NOT into parentheses"},
		{"a IS NULL = TRUE", 10, "expected an operator or the end"},
		{"a IS 5", 5, "expected NULL, TRUE"},
		{"s NOT RLIKE", 11, "expected a column or a value"},
		{"EXISTS (SELECT 1)", 0, "EXISTS is not supported"},
		{"a IN (SELECT b FROM c)", 6, "SELECT is not supported"},
		{"TRY_CAST(a AS INT) = 1", 0, "TRY_CAST is not supported"},
		{"CAST(a AS ARRAY) = 1", 10, "a CAST to ARRAY is not supported"},
		{"a = 1 -- b", 6, "comments"},
		{"a = /* b */ 1", 4, "comments"},
		{"a = --5", 4, "comments"},
		{"1a = 1", 1, "needs backticks"},
		{"a = 1e999", 4, "beyond the range"},
		{"a = 128Y", 4, "no integer of 8 bits"},
		{"a = 'x", 4, "has no partner"},
		{"`a = 1", 0, "has no partner"},
		{"a = X'0g'", 6, "hexadecimal"},
		{"a = DATE '2024-02-30'", 9, "is no day"},
		{"a = TIMESTAMP_NTZ '2024-02-03 00:00:00Z'", 18, "has no zone"},
		{"a = TIMESTAMP '2024-02-03 00:00:00 Europe/Berlin'", 14, "is no timestamp"},
		{"a = TIME '10:00'", 4, "literals of the type TIME"},
		{"a = ;", 4, "';' has no meaning here"},
		{"AND 1", 0, "needs backticks"},
		{"a = like", 4, "needs backticks"},

		{"a IS NULL IS NULL", 10, "expected an operator or the end"},
		{"b AND a IS NULL IS NULL", 16, "expected an operator or the end"},
		{"b AND a IN (1) = c", 15, "expected an operator or the end"},
		{"NOT a IN (1) + 2", 13, "expected an operator or the end"},
		{"a LIKE b LIKE c", 9, "expected an operator or the end"},

		{"a +", 3, "expected a column or a value, found the end"},
		{"a + * b", 4, `expected a column or a value, found "*"`},
		{"a + NOT b", 4, "put NOT into parentheses"},
		{"a & b", 2, "the operator & is not supported"},
		{"a + b | c", 6, "the operator | is not supported"},
		{"a ^ b", 2, "the operator ^ is not supported"},
		{"a << 1", 2, "the operator << is not supported"},
		{"a >>> 1", 2, "the operator >>> is not supported"},
		{"~a", 0, "the operator ~ is not supported"},
		{"a COLLATE UTF8_LCASE = 'x'", 2, "COLLATE is not supported"},
		{"a:b = 1", 1, "the operator : is not supported"},
		{"f(x -> x + 1)", 4, "the operator -> is not supported"},
		{"f(a => 1)", 4, "the operator => is not supported"},

		{"s LIKE", 6, "expected a column or a value, found the end"},
		{"s LIKE ANY ('a', 'b')", 7, "LIKE ANY is not supported"},
		{"s LIKE some ('a')", 7, "LIKE SOME is not supported"},
		{"s NOT ILIKE all ('a')", 12, "ILIKE ALL is not supported"},
		{"s LIKE 'a' ESCAPE", 17, "expected a string of one character, found the end"},
		{"s LIKE 'a' ESCAPE '!!'", 18, "expected a string of one character"},
		{"s LIKE 'a' ESCAPE ''", 18, "expected a string of one character"},
		{"s LIKE 'a' ESCAPE b", 18, "expected a string of one character"},
		{"s = 'a' ESCAPE '!'", 8, "expected an operator or the end"},

		{"CASE WHEN a THEN b", 18, "expected an operator, WHEN, ELSE or END, found the end"},
		{"CASE WHEN a THEN b ELSE c", 25, "expected an operator or END, found the end"},
		{"CASE WHEN a b END", 12, "expected an operator or THEN"},
		{"CASE a END", 7, "expected an operator or WHEN"},
		{"CASE a THEN b END", 7, "expected an operator or WHEN"},
		{"CASE WHEN a THEN b ELSE c WHEN d THEN e END", 26, "expected an operator or END"},
		{"case - 1", 8, "expected an operator or WHEN, found the end"},

		{"a[", 2, "expected a column or a value, found the end"},
		{"a[]", 2, "expected a column or a value"},
		{"a[1", 3, `expected an operator or "]", found the end`},
		{"a[b AND c]", 4, `expected an operator or "]"`},
		{"a[0].", 5, "expected the name of a field, found the end"},
		{"a[0].1", 4, "expected an operator or the end"},
		{"(a).'b'", 4, "expected the name of a field"},

		{"a::", 3, "expected the name of a type"},
		{"a::interval", 3, "a CAST to interval is not supported"},
		{"CAST(a AS VARCHAR(3))", 10, "a CAST to VARCHAR is not supported"},
		{"CAST(a AS STRUCT<b: INT>)", 10, "a CAST to STRUCT is not supported"},
		{"CAST(a AS DECIMAL(39, 0))", 17, "the precision is 1 to 38"},
		{"r'a", 0, "has no partner"},
		{"a = '\xff'", 5, "UTF-8"},
		{"a = \"\\ud800\"", 5, "hexadecimal digits of a character"},
	} {
		_, err := expr.Parse(c.text)
		requireSyntax(t, err, c.at, c.says)
	}
}

func TestSyntaxErrorShowsThePlace(t *testing.T) {
	_, err := expr.Parse("day = = 1")
	require.EqualError(t, err, `expression, byte 6: expected a column or a value, found "=": day = »= 1«`)
}

func TestColumnsAndConjuncts(t *testing.T) {
	e, err := expr.Parse("a.b = 1 AND (c IN (d, a.b) OR CAST(e AS INT) = f(g)) AND h BETWEEN i AND j AND NOT k IS NULL")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a", "b"}, {"c"}, {"d"}, {"e"}, {"g"}, {"h"}, {"i"}, {"j"}, {"k"}}, expr.Columns(e))
	require.Len(t, expr.Conjuncts(e), 4)
	require.Empty(t, expr.Columns(expr.Lit(true)))
}

func TestPositions(t *testing.T) {
	e, err := expr.Parse("a = 1 AND  b = -2")
	require.NoError(t, err)
	right := expr.Conjuncts(e)[1].(*expr.Binary)
	require.Equal(t, []int{6, 13, 11, 15}, []int{e.Pos(), right.Pos(), right.L.Pos(), right.R.Pos()})
	require.Equal(t, -1, expr.Col("a").Eq(1).Pos())
}

func TestCalendar(t *testing.T) {
	for text, want := range map[string]int32{
		"1970-01-01": 0, "1969-12-31": -1, "2024-2-9": 19762, "2024": 19723, "2024-02": 19754,
		"0001-01-01": -719162, "+10000-01-01": 2932897, "-0001-01-01": -719893,
	} {
		d, err := expr.ParseDate(text)
		require.NoError(t, err, text)
		require.Equal(t, arrow.Date32(want), d, text)
		again, err := expr.ParseDate(expr.FormatDate(d))
		require.NoError(t, err, text)
		require.Equal(t, d, again, text)
	}
	for _, text := range []string{"", "2024-02-30", "2024-13-01", "2024-02-29 00:00:00", "20240229", "24-01-01", "9999999-01-01"} {
		_, err := expr.ParseDate(text)
		require.Error(t, err, text)
	}
	for text, want := range map[string]int64{
		"1970-01-01": 0, "1970-01-01 00:00:00.5": 500_000, "1970-01-01T00:00:01Z": 1_000_000, "1970-01-01 01": 3_600_000_000,
		"1970-01-01 01:00:00 +01:00": 0, "1969-12-31 23:59:59.999999 UTC": -1, "1970-01-01 00:00:00-00:30": 1_800_000_000,
		"1970-01-01 00:00 UTC+1": -3_600_000_000,
	} {
		ts, _, err := expr.ParseTimestamp(text)
		require.NoError(t, err, text)
		require.Equal(t, arrow.Timestamp(want), ts, text)
	}
	for _, text := range []string{"", "2024 10:00", "1970-01-01 24:00:00", "1970-01-01 00:60", "1970-01-01 00:00:00.1234567", "1970-01-01 00:00:00+19:00", "300000-01-01"} {
		_, _, err := expr.ParseTimestamp(text)
		require.Error(t, err, text)
	}
}

func TestEqualTellsTreesApart(t *testing.T) {
	texts := []string{
		"a", "b", "a.b", "(a).b", "(a).c", "a[0]", "a[1]", "a[0].b", "1", "1L", "1Y", "1BD", "1D", "'1'", "NULL", "X'31'", "TRUE",
		"INTERVAL '1' DAY", "INTERVAL '24' HOUR", "INTERVAL '1' MONTH", "DATE '2024-01-01'", "TIMESTAMP '2024-01-01'", "TIMESTAMP_NTZ '2024-01-01'",
		"a + b", "a - b", "a * b", "a / b", "a DIV b", "a % b", "b + a", "a || b", "-a", "a = b", "a <> b", "a AND b", "a OR b", "NOT a",
		"a IS NULL", "a IS NOT NULL", "a IN (b)", "a NOT IN (b)", "a IN (b, b)", "a BETWEEN b AND c", "a NOT BETWEEN b AND c",
		"a LIKE b", "a NOT LIKE b", "a ILIKE b", "a NOT ILIKE b", "a LIKE b ESCAPE '!'", "a LIKE b ESCAPE '#'", "a LIKE c",
		"CASE WHEN a THEN b END", "CASE WHEN a THEN b ELSE NULL END", "CASE WHEN a THEN b WHEN a THEN b END", "CASE a WHEN a THEN b END",
		"CASE WHEN a THEN b ELSE c END", "CAST(a AS INT)", "CAST(a AS DECIMAL(10, 2))", "CAST(a AS DECIMAL(10, 3))", "f(a)", "f(a, a)", "g(a)", "f()",
	}
	trees := make([]expr.Expr, len(texts))
	for i, text := range texts {
		e, err := expr.Parse(text)
		require.NoError(t, err, text)
		trees[i] = e
	}
	for i, a := range trees {
		for j, b := range trees {
			require.Equal(t, i == j, expr.Equal(a, b), "%s and %s", texts[i], texts[j])
		}
	}
	require.False(t, expr.Equal(nil, trees[0]))
}

// A backslash that is named is the one that is meant anyway.
func TestEscapeHasOneForm(t *testing.T) {
	e, err := expr.Parse(`a LIKE b ESCAPE '\\'`)
	require.NoError(t, err)
	require.Zero(t, e.(*expr.Like).Escape)
	require.True(t, expr.Equal(e, expr.Col("a").Like(expr.Col("b")).EscapedBy('\\')))
}
