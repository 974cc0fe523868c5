package expr_test

import (
	"errors"
	"math"
	"strings"
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
		{"f(a, 1L) = g()", &expr.Binary{Op: expr.Eq, L: expr.Function("f", col("a"), 1), R: expr.Function("g")}, "calls are kept"},
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
		{"a IN ()", 6, "expected a value"},
		{"a IN (1 2)", 8, `expected an operator, "," or ")"`},
		{"a NOT = 1", 6, "expected IN, BETWEEN or LIKE"},
		{"a BETWEEN 1 OR 2", 12, "expected AND"},
		{"a = NOT b", 4, "put NOT into parentheses"},
		{"a IS NULL = TRUE", 10, "expected an operator or the end"},
		{"a IS 5", 5, "expected NULL, TRUE"},
		{"s NOT RLIKE 'a'", 6, "RLIKE is not supported"},
		{"EXISTS (SELECT 1)", 0, "EXISTS is not supported"},
		{"a IN (SELECT b FROM c)", 6, "SELECT is not supported"},
		{"d > INTERVAL '1' DAY", 4, "INTERVAL is not supported"},
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
		{"AND = 1", 0, "needs backticks"},
		{"a = '\xff'", 5, "UTF-8"},
		{"a = \"\\ud800\"", 5, "hexadecimal digits of a character"},
	} {
		_, err := expr.Parse(c.text)
		requireSyntax(t, err, c.at, c.says)
	}
}

func TestSyntaxErrorShowsThePlace(t *testing.T) {
	_, err := expr.Parse("day = = 1")
	require.EqualError(t, err, `condition, byte 6: expected a column or a value, found "=": day = »= 1«`)
}

func TestParseIsBounded(t *testing.T) {
	_, err := expr.Parse(strings.Repeat("(", 10_000))
	requireSyntax(t, err, 2*expr.MaxDepth+2, "nests deeper")
	_, err = expr.Parse(strings.Repeat("NOT ", 10_000) + "a")
	requireSyntax(t, err, 4*(2*expr.MaxDepth+2), "nests deeper")
	_, err = expr.Parse(strings.Repeat(" ", expr.MaxLength+1))
	requireSyntax(t, err, 0, "bytes, more than")
	_, err = expr.Parse("a" + strings.Repeat("=a", 10_000))
	requireSyntax(t, err, 2*(10_000-expr.MaxDepth)-1, "nests deeper")

	// A chain of conditions is no nesting.
	chain, err := expr.Parse("a" + strings.Repeat(" OR a", 100_000))
	require.NoError(t, err)
	require.Len(t, expr.Disjuncts(chain), 100_001)
	require.Equal(t, [][]string{{"a"}}, expr.Columns(chain))
	again, err := expr.Parse(chain.String())
	require.NoError(t, err)
	require.True(t, expr.Equal(chain, again))
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
