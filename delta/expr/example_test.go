package expr_test

import (
	"fmt"
	"time"

	"github.com/idemtable/idem/delta/expr"
)

// Text and builder make the same tree.
func Example() {
	text, err := expr.Parse("EXTRACT(YEAR FROM day) = ? AND price * quantity > 100.50 AND name LIKE 'a%'", 2026)
	if err != nil {
		fmt.Println(err)
		return
	}
	built := expr.AllOf(
		expr.Function("year", expr.Col("day")).Eq(2026),
		expr.Col("price").Times(expr.Col("quantity")).Gt(expr.Decimal("100.50")),
		expr.Col("name").Like("a%"),
	)
	fmt.Println(expr.Equal(text, built))
	fmt.Println(built)
	// Output:
	// true
	// year(day) = 2026L AND price * quantity > 100.50BD AND name LIKE 'a%'
}

func ExampleCaseWhen() {
	age := expr.CaseWhen(expr.Col("seen").Gt(expr.Col("now").Minus(24*time.Hour)), "new").
		When(expr.Col("seen").Gt(expr.Col("now").Minus(expr.Interval(1, 0, 0))), "known").
		Otherwise("old")
	fmt.Println(age)
	// Output:
	// CASE WHEN seen > now - INTERVAL '24:00:00' HOUR TO SECOND THEN 'new' WHEN seen > now - INTERVAL '1' MONTH THEN 'known' ELSE 'old' END
}

func ExampleParse_error() {
	_, err := expr.Parse("name COLLATE de AND day = '2026-10-20'")
	fmt.Println(err)
	// Output:
	// expression, byte 5: COLLATE is not supported: name »COLLATE de AND day = '20…«
}

func ExampleRewrite() {
	e, _ := expr.Parse("id = 7 OR upper(name) IS NULL")
	fmt.Println(expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return expr.Field(append([]string{"source"}, c.Path...)...)
		}
		return e
	}))
	// Output:
	// source.id = 7 OR upper(source.name) IS NULL
}
