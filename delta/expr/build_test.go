package expr_test

import (
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/expr"
)

func TestBuilder(t *testing.T) {
	col := expr.Col
	for _, c := range []struct {
		built expr.Expr
		text  string
	}{
		{col("a").Plus(1).Gt(5), "a + 1L > 5L"},
		{col("name").Like("a%"), "name LIKE 'a%'"},
		{expr.Function("year", col("d")).Eq(2024), "year(d) = 2024L"},
		{expr.CaseWhen(col("a").Gt(0), "x").When(col("a").Lt(0), "y").Otherwise(nil), "CASE WHEN a > 0L THEN 'x' WHEN a < 0L THEN 'y' ELSE NULL END"},
		{expr.CaseOf(col("a"), 1, "x").When(2, "y").Eq("x"), "CASE a WHEN 1L THEN 'x' WHEN 2L THEN 'y' END = 'x'"},
		{expr.Apply(expr.Sub, 100, col("a")), "100L - a"},
		{col("m").Element("k").Member("f").IsNull().Not(), "NOT m['k'].f IS NULL"},
		{col("s").ILike("a!_").EscapedBy('!').Or(col("b")), "s ILIKE 'a!_' ESCAPE '!' OR b"},
		{col("a").Cast(arrow.PrimitiveTypes.Int64).Mod(2).Between(0, 1), "CAST(a AS BIGINT) % 2L BETWEEN 0L AND 1L"},
		{col("a").Times(col("b").Minus(1)).IntDiv(2).Div(3), "a * (b - 1L) DIV 2L / 3L"},
		{col("a").Lt("x").Plus(1), "(a < 'x') + 1L"},
		{col("a").Eq(col("b")).Eq(col("c")), "(a = b) = c"},
		{expr.Function("timestampadd", "DAY", 1, col("a")), "timestampadd(DAY, 1L, a)"},
		{expr.Function("negative", 1).Eq(expr.Function("negative", col("a"))), "-(1L) = -a"},
		{col("a").Minus(col("b")).Minus(col("c").Plus(1)), "a - b - (c + 1L)"},
	} {
		require.Equal(t, c.text, c.built.String())
		require.Equal(t, -1, c.built.Pos())
		parsed, err := expr.Parse(c.text)
		require.NoError(t, err)
		require.True(t, expr.Equal(c.built, parsed), "%s", parsed)
	}
}

// When and Otherwise leave the node that they are called on as it was.
func TestBuilderCopies(t *testing.T) {
	base := expr.CaseWhen(expr.Col("a"), 1)
	one, two := base.When(expr.Col("b"), 2), base.When(expr.Col("c"), 3)
	three := one.When(expr.Col("d"), 4).Otherwise(5)
	like := expr.Col("s").Like("x")
	require.Equal(t, "s LIKE 'x' ESCAPE '!'", like.EscapedBy('!').String())
	require.Equal(t, []string{
		"CASE WHEN a THEN 1L END", "CASE WHEN a THEN 1L WHEN b THEN 2L END", "CASE WHEN a THEN 1L WHEN c THEN 3L END",
		"CASE WHEN a THEN 1L WHEN b THEN 2L WHEN d THEN 4L ELSE 5L END", "s LIKE 'x'",
	}, []string{base.String(), one.String(), two.String(), three.String(), like.String()})
}

// Every node with a value has the methods of a column, and they make the same trees over it; every
// condition has And, Or and Not.
func TestNodesHaveTheMethodsOfColumns(t *testing.T) {
	column := expr.Col("x")
	values := []expr.Expr{
		column.Plus(1), expr.Function("f"), column.Cast(arrow.BinaryTypes.String), expr.CaseWhen(column, 1), column.Element(1), column.Member("f"),
	}
	conditions := []expr.Expr{column.Not(), column.IsNull(), column.In(1), column.Between(1, 2), column.Like("a")}
	ofColumn := reflect.TypeOf(column)
	for i := range ofColumn.NumMethod() {
		name := ofColumn.Method(i).Name
		if name == "String" || name == "Pos" {
			continue
		}
		over := values
		if name == "And" || name == "Or" || name == "Not" {
			over = append(over, conditions...)
		}
		want := invoke(t, column, name)
		for _, node := range over {
			onNode := expr.Rewrite(want, func(e expr.Expr) expr.Expr {
				if e == expr.Expr(column) {
					return node
				}
				return e
			})
			require.True(t, expr.Equal(onNode, invoke(t, node, name)), "%T.%s: %s", node, name, invoke(t, node, name))
		}
	}
}

// invoke calls a method with arguments that differ from each other.
func invoke(t *testing.T, on expr.Expr, name string) expr.Expr {
	method := reflect.ValueOf(on).MethodByName(name)
	require.True(t, method.IsValid(), "%T has no method %s", on, name)
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		switch method.Type().In(i) {
		case reflect.TypeFor[string]():
			args = append(args, reflect.ValueOf("f"))
		case reflect.TypeFor[arrow.DataType]():
			args = append(args, reflect.ValueOf(arrow.PrimitiveTypes.Int64))
		case reflect.TypeFor[[]any]():
			args = append(args, reflect.ValueOf(i), reflect.ValueOf("v"))
		default:
			args = append(args, reflect.ValueOf(i))
		}
	}
	return method.Call(args)[0].Interface().(expr.Expr)
}
