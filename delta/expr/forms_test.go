package expr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/expr"
)

// Functions with words between their arguments are the calls that stand on the right.
func TestFunctionForms(t *testing.T) {
	x, y := expr.Col("x"), expr.Col("y")
	call := func(name string, args ...any) expr.Expr { return expr.Function(name, args...) }
	one, two := int32(1), int32(2)
	for _, c := range []struct {
		text string
		want expr.Expr
		why  string
	}{
		{"EXTRACT(YEAR FROM x)", call("year", x), "a field with a function"},
		{"extract(qtr from x + y)", call("quarter", x.Plus(y)), "an abbreviation, of any operand"},
		{"EXTRACT(`dow` FROM x)", call("dayofweek", x), "a field in backticks"},
		{"EXTRACT(SECOND FROM x)", call("date_part", "SECOND", x), "the function second has no fraction"},
		{"EXTRACT(dow_iso FROM x)", call("date_part", "DAYOFWEEK_ISO", x), "no function of its own"},
		{"extract('year', x)", call("extract", "year", x), "with a comma it is a call"},
		{"date_part('year', x)", call("date_part", "year", x), "and date_part always"},

		{"SUBSTRING(x FROM 1 FOR 2)", call("substring", x, one, two), "FROM and FOR"},
		{"substr(x from 1)", call("substring", x, one), "FROM alone"},
		{"SUBSTRING(x, 1 FOR 2)", call("substring", x, one, two), "a comma and FOR"},
		{"substr(x, 1, 2)", call("substr", x, one, two), "commas keep the name"},
		{"OVERLAY(x PLACING y FROM 1 FOR 2)", call("overlay", x, y, one, two), "three words"},
		{"overlay(x, y, 1)", call("overlay", x, y, one), "commas"},

		{"TRIM(x)", call("trim", x), "no words"},
		{"trim('a', x)", call("trim", "a", x), "commas"},
		{"TRIM(FROM x)", call("trim", x), "FROM alone"},
		{"TRIM('a' FROM x)", call("btrim", x, "a"), "both sides unless it says otherwise"},
		{"TRIM(BOTH 'a' FROM x)", call("btrim", x, "a"), "BOTH"},
		{"TRIM(BOTH FROM x)", call("trim", x), "blanks"},
		{"TRIM(LEADING 'a' FROM x)", call("ltrim", "a", x), "ltrim takes the characters first, as in Spark"},
		{"TRIM(trailing y || 'a' from x)", call("rtrim", call("concat", y, "a"), x), "characters are any operand"},
		{"TRIM(TRAILING FROM x)", call("rtrim", x), "blanks of one side"},
		{"trim(both)", call("trim", expr.Col("both")), "the words as columns"},
		{"trim(leading, x)", call("trim", expr.Col("leading"), x), "the words as columns"},
		{"trim(from)", call("trim", expr.Col("from")), "the words as columns"},

		{"POSITION('a' IN x)", call("position", "a", x), "IN is no test there"},
		{"position('a', x, 2)", call("position", "a", x, two), "commas"},
		{"position((x IN (y)))", call("position", x.In(y)), "parentheses make it one"},

		{"DATEADD(DAY, 1, x)", call("timestampadd", "DAY", one, x), "a unit is a word"},
		{"date_add(month, 1, x)", call("timestampadd", "MONTH", one, x), "in each of the names"},
		{"timestampdiff(HOUR, x, y)", call("timestampdiff", "HOUR", x, y), "differences"},
		{"date_diff(dayofyear, x, y)", call("timestampdiff", "DAYOFYEAR", x, y), "differences"},
		{"datediff(x, y)", call("datediff", x, y), "of days alone"},
		{"date_add(day, 1)", call("date_add", expr.Col("day"), one), "two arguments have no unit"},
		{"dateadd(`day`, 1, x)", call("dateadd", expr.Col("day"), one, x), "a column in backticks is none"},
		{"dateadd(`DAY`, 1, x)", call("dateadd", expr.Col("DAY"), one, x), "in any case"},
		{"dateadd(day.of, 1, x)", call("dateadd", expr.Col("day.of"), one, x), "nor is a field"},
		{"dateadd(day + 1, 1, x)", call("dateadd", expr.Col("day").Plus(one), one, x), "nor is an expression"},

		{"CURRENT_DATE", call("current_date"), "no parentheses"},
		{"x < current_timestamp", x.Lt(call("current_timestamp")), "no parentheses"},
		{"LocalTimestamp()", call("localtimestamp"), "or some"},
		{"`current_date` = x", expr.Col("current_date").Eq(x), "a column needs backticks"},
		{"current_user.name", expr.Field("current_user", "name"), "a struct does not"},

		{"IF(x, y, NULL)", call("if", x, y, nil), "an ordinary call"},
		{"LEFT(x, 1) || RIGHT(x, 2)", call("concat", call("left", x, one), call("right", x, two)), "words of joins"},
		{"`extract`(x)", call("extract", x), "a name in backticks has no form"},
		{"f()", call("f"), "no arguments"},
	} {
		got, err := expr.Parse(c.text)
		require.NoError(t, err, c.why)
		require.True(t, expr.Equal(c.want, got), "%s: %s: got %s, want %s", c.why, c.text, got, c.want)
		again, err := expr.Parse(c.want.String())
		require.NoError(t, err, c.text)
		require.True(t, expr.Equal(c.want, again), "the text %s of %s", c.want, c.text)
	}
}

func TestFunctionFormsRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		says string
	}{
		{"EXTRACT(CENTURY FROM x)", 8, "expected a field such as YEAR"},
		{"EXTRACT('YEAR' FROM x)", 15, `expected an operator, "," or ")"`},
		{"EXTRACT(YEAR FROM x, y)", 19, `expected an operator or ")"`},
		{"SUBSTRING(x FOR 1)", 12, `expected an operator, "," or ")", found "FOR"`},
		{"SUBSTRING(x FROM 1 FOR 2", 24, `expected an operator, "," or ")", found the end`},
		{"substring(x, )", 13, "expected a column or a value"},
		{"TRIM(BOTH 'a')", 13, "expected an operator or FROM"},
		{"TRIM('a' FROM x, y)", 15, `expected an operator or ")"`},
		{"POSITION('a' IN x, 1)", 17, `expected an operator or ")"`},
		{"position(x OR y, x)", 11, `expected an operator, "," or ")"`},
		{"f(a, b", 6, `expected an operator, "," or ")", found the end`},
		{"f(,)", 2, "expected a column or a value"},
		{"count(*)", 6, "expected a column or a value"},
		{"count(DISTINCT a)", 6, "DISTINCT is not supported"},
		{"sum(a) OVER (PARTITION BY b)", 7, "OVER is not supported"},
		{"sum(a) FILTER (WHERE b)", 7, "FILTER is not supported"},
		{"first(a) IGNORE NULLS", 9, "IGNORE is not supported"},
		{"a.f(b)", 0, "functions with a qualified name"},
	} {
		_, err := expr.Parse(c.text)
		requireSyntax(t, err, c.at, c.says)
	}
}
