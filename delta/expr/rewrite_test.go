package expr_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
)

// qualify puts a name before the path of each column.
func qualify(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Column); ok {
		return expr.Field(append([]string{"t"}, c.Path...)...)
	}
	return e
}

func TestRewriteReachesEveryOperand(t *testing.T) {
	const text = "a + f(b, -c) > d[e].g AND (h LIKE i OR CASE j WHEN k THEN l ELSE m END IN (n, o)) AND NOT p BETWEEN q AND r " +
		"OR CAST(s AS INT) IS NULL OR CASE WHEN u THEN v END = CASE w WHEN x THEN y END"
	e, err := expr.Parse(text)
	require.NoError(t, err)
	got := expr.Rewrite(e, qualify)
	for _, path := range expr.Columns(got) {
		require.Equal(t, "t", path[0])
	}
	require.Len(t, expr.Columns(got), len(expr.Columns(e)))
	require.Len(t, expr.Columns(e), 22)
	back := expr.Rewrite(got, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return expr.Field(c.Path[1:]...)
		}
		return e
	})
	require.True(t, expr.Equal(e, back), "%s", back)
	require.Equal(t, text, e.String(), "the tree that was given is as it was")
}

func TestRewriteSharesWhatStays(t *testing.T) {
	e, err := expr.Parse("a = 1 AND b = 2")
	require.NoError(t, err)
	require.Same(t, e, expr.Rewrite(e, func(e expr.Expr) expr.Expr { return e }))
	got := expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && c.Path[0] == "b" {
			return expr.Col("c")
		}
		return e
	}).(*expr.Binary)
	require.Equal(t, "a = 1 AND c = 2", got.String())
	require.Same(t, e.(*expr.Binary).L, got.L)
	require.Equal(t, e.Pos(), got.Pos())
	require.Nil(t, expr.Rewrite(nil, qualify))
}

// A node is given to the function with the operands that stand in it already.
func TestRewriteIsBottomUp(t *testing.T) {
	e, err := expr.Parse("a + 1 + 1")
	require.NoError(t, err)
	var seen []string
	expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		seen = append(seen, e.String())
		return qualify(e)
	})
	require.Equal(t, []string{"a", "1", "t.a + 1", "1", "t.a + 1 + 1"}, seen)
}

func TestRewriteOfLongChains(t *testing.T) {
	e, err := expr.Parse("a" + strings.Repeat(" OR a", 100_000))
	require.NoError(t, err)
	got := expr.Rewrite(e, qualify)
	require.Len(t, expr.Disjuncts(got), 100_001)
	require.Equal(t, [][]string{{"t", "a"}}, expr.Columns(got))
}

// What is put for every column stands in the text wherever one stood.
func TestRewriteEqualsReplacingText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawTree(t, 4)
		mark := func(with string) func(expr.Expr) expr.Expr {
			return func(e expr.Expr) expr.Expr {
				if _, ok := e.(*expr.Column); ok {
					return expr.Field(with)
				}
				return e
			}
		}
		long, short := expr.Rewrite(e, mark("marked")), expr.Rewrite(e, mark("m_"))
		require.Equal(t, strings.ReplaceAll(long.String(), "marked", "m_"), short.String())
		require.True(t, expr.Equal(e, expr.Rewrite(e, func(e expr.Expr) expr.Expr { return e })))
	})
}
