package expr_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/expr"
)

func TestParseIsBounded(t *testing.T) {
	const most = 2*expr.MaxDepth + 2 // calls of the parser within each other
	_, err := expr.Parse(strings.Repeat("(", 10_000))
	requireSyntax(t, err, most, "nests deeper")
	_, err = expr.Parse(strings.Repeat("NOT ", 10_000) + "a")
	requireSyntax(t, err, 4*most, "nests deeper")
	_, err = expr.Parse(strings.Repeat(" ", expr.MaxLength+1))
	requireSyntax(t, err, 0, "bytes, more than")
	for _, text := range []string{
		"- ", "+(", "a - (", "a = (", "a || (", "CASE ", "CASE WHEN ", "CASE WHEN a THEN ", "CASE WHEN a THEN b ELSE ", "f(", "f(a, ", "a[", "CAST(",
		"a IN (", "a BETWEEN (", "a BETWEEN b AND (", "a LIKE (", "trim(", "trim(both from ", "position(", "position(a in ", "extract(year from ",
		"substr(a from ", "overlay(a placing ", "dateadd(day, ", "a IS DISTINCT FROM (",
	} {
		_, err := expr.Parse(strings.Repeat(text, 20_000))
		requireSyntax(t, err, err.(*expr.SyntaxError).At, "nests deeper")
	}
}

// levels are the ways to put a tree below one more node.
var levels = map[string]func(string) string{
	"NOT":       func(x string) string { return "NOT " + x },
	"sign":      func(x string) string { return "- " + x },
	"left":      func(x string) string { return x + " + a" },
	"right":     func(x string) string { return "a - (" + x + ")" },
	"compare":   func(x string) string { return x + " = a" },
	"concat":    func(x string) string { return x + " || a" },
	"and right": func(x string) string { return "a AND (" + x + ")" },
	"is null":   func(x string) string { return "(" + x + ") IS NULL" },
	"in":        func(x string) string { return "a IN (b, " + x + ")" },
	"between":   func(x string) string { return "a BETWEEN b AND (" + x + ")" },
	"like":      func(x string) string { return "(" + x + ") LIKE a" },
	"case":      func(x string) string { return "CASE WHEN a THEN " + x + " END" },
	"case of":   func(x string) string { return "CASE " + x + " WHEN a THEN b END" },
	"else":      func(x string) string { return "CASE WHEN a THEN b ELSE " + x + " END" },
	"element":   func(x string) string { return x + "[0]" },
	"index":     func(x string) string { return "a[" + x + "]" },
	"member":    func(x string) string { return "(" + x + ").b" },
	"cast":      func(x string) string { return x + "::INT" },
	"call":      func(x string) string { return "f(a, " + x + ")" },
	"trim":      func(x string) string { return "trim(leading a from " + x + ")" },
}

// A tree of MaxDepth levels is read, also from its own text, and one more is refused.
func TestDepthIsThatOfTheTree(t *testing.T) {
	for name, wrap := range levels {
		text := "a"
		for range expr.MaxDepth - 1 {
			text = wrap(text)
		}
		e, err := expr.Parse(text)
		require.NoError(t, err, name)
		again, err := expr.Parse(e.String())
		require.NoError(t, err, name)
		require.True(t, expr.Equal(e, again), name)
		_, err = expr.Parse(wrap(text))
		requireSyntax(t, err, err.(*expr.SyntaxError).At, "nests deeper")
	}
}

// Of a chain of links on the left, the first that is too deep is shown.
func TestDepthOfChains(t *testing.T) {
	_, err := expr.Parse("a" + strings.Repeat("=a", 10_000))
	requireSyntax(t, err, 2*(10_000-expr.MaxDepth)-1, "nests deeper")
	_, err = expr.Parse("a" + strings.Repeat("[0]", 10_000))
	requireSyntax(t, err, 3*(10_000-expr.MaxDepth)-2, "nests deeper")
	_, err = expr.Parse("a" + strings.Repeat("::INT", 10_000))
	require.ErrorContains(t, err, "nests deeper")

	// Of AND and OR in turns each is a level.
	turns := func(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(" OR a) AND b", n) }
	_, err = expr.Parse(turns(expr.MaxDepth/2 - 1))
	require.NoError(t, err)
	_, err = expr.Parse(turns(expr.MaxDepth / 2))
	require.ErrorContains(t, err, "nests deeper")

	// A chain of conditions is no nesting.
	chain, err := expr.Parse("a" + strings.Repeat(" OR a", 100_000))
	require.NoError(t, err)
	require.Len(t, expr.Disjuncts(chain), 100_001)
	require.Equal(t, [][]string{{"a"}}, expr.Columns(chain))
	again, err := expr.Parse(chain.String())
	require.NoError(t, err)
	require.True(t, expr.Equal(chain, again))
}
