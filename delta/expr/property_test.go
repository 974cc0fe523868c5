package expr_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/fuzzing"
)

func drawLiteral(t *rapid.T) expr.Expr {
	var v any
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0:
		v = nil
	case 1:
		v = rapid.Bool().Draw(t, "bool")
	case 2:
		v = rapid.Int8().Draw(t, "int8")
	case 3:
		v = rapid.Int16().Draw(t, "int16")
	case 4:
		v = rapid.Int32().Draw(t, "int32")
	case 5:
		v = rapid.Int64().Draw(t, "int64")
	case 6:
		v = rapid.Float32().Draw(t, "float32")
	case 7:
		v = rapid.Float64().Draw(t, "float64")
	case 8:
		scale := rapid.Int32Range(0, 38).Draw(t, "scale")
		n := decimal128.FromI64(rapid.Int64().Draw(t, "unscaled"))
		v = scalar.NewDecimal128Scalar(n, &arrow.Decimal128Type{Precision: 38, Scale: scale})
	case 9:
		v = rapid.String().Draw(t, "string")
	case 10:
		v = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	case 11:
		v = arrow.Date32(rapid.Int32().Draw(t, "days"))
	case 12:
		micros := rapid.Int64Range(-1<<62, 1<<62).Draw(t, "micros")
		v = time.UnixMicro(micros)
		if rapid.Bool().Draw(t, "ntz") {
			v = timestampNTZ(micros)
		}
	case 13:
		v = drawInterval(t)
	}
	return expr.Lit(v)
}

var castTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32,
	arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String,
	arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us, ntz,
	&arrow.Decimal128Type{Precision: 12, Scale: 2},
}

func drawTree(t *rapid.T, depth int) expr.Expr {
	kind := rapid.IntRange(0, 12).Draw(t, "node")
	if depth == 0 {
		kind %= 2
	}
	below := func() expr.Expr { return drawTree(t, depth-1) }
	list := func() []expr.Expr {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) expr.Expr { return drawTree(t, depth-1) }), 1, 3).Draw(t, "list")
	}
	negated := rapid.Bool().Draw(t, "negated")
	switch kind {
	case 0:
		return expr.Field(rapid.SliceOfN(drawName, 1, 3).Draw(t, "path")...)
	case 1:
		return drawLiteral(t)
	case 2:
		return &expr.Binary{Op: expr.Op(rapid.IntRange(int(expr.Eq), int(expr.Mod)).Draw(t, "op")), L: below(), R: below()}
	case 3:
		return &expr.Not{X: below()}
	case 4:
		return &expr.IsNull{X: below(), Negated: negated}
	case 5:
		return &expr.In{X: below(), List: list(), Negated: negated}
	case 6:
		return &expr.Between{X: below(), Lo: below(), Hi: below(), Negated: negated}
	case 7:
		return &expr.Cast{X: below(), To: rapid.SampledFrom(castTypes).Draw(t, "type")}
	case 8:
		escape := rapid.SampledFrom([]rune{0, '!', '\'', '\\', '%', 'é', '\n'}).Draw(t, "escape")
		return &expr.Like{X: below(), Pattern: below(), Escape: escape, Fold: rapid.Bool().Draw(t, "fold"), Negated: negated}
	case 9:
		return drawCase(t, below)
	case 10:
		return &expr.Element{X: below(), Index: below()}
	case 11:
		return &expr.Member{X: below(), Name: drawName.Draw(t, "field")}
	}
	name := rapid.SampledFrom(functionNames).Draw(t, "name")
	return &expr.Call{Name: name, Args: list()}
}

// drawName draws names of columns and fields, most of them with a meaning of their own somewhere.
var drawName = rapid.SampledFrom([]string{
	"a", "day", "and", "x", "1", "a b", "a.b", "`", "cast", "select", "ä", "date", "\n", "not", "case", "when", "then", "else", "end",
	"escape", "like", "any", "div", "negative", "as", "interval", "both", "from", "for", "placing", "current_date", "year", "over", "r",
})

var functionNames = []string{
	"f", "cast", "or", "date", "negative", "Negative", "positive", "concat", "case", "extract", "trim", "both", "substring", "overlay",
	"position", "Position", "timestampadd", "TIMESTAMPDIFF", "date_add", "current_date", "interval", "if", "in",
}

func drawCase(t *rapid.T, below func() expr.Expr) expr.Expr {
	e := &expr.Case{}
	if rapid.Bool().Draw(t, "operand") {
		e.Operand = below()
	}
	for range rapid.IntRange(1, 3).Draw(t, "whens") {
		e.Whens = append(e.Whens, expr.When{If: below(), Then: below()})
	}
	if rapid.Bool().Draw(t, "else") {
		e.Else = below()
	}
	return e
}

func TestTextOfAnyTreeParsesToIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawTree(t, 4)
		again, err := expr.Parse(e.String())
		require.NoError(t, err, "%s", e)
		require.True(t, expr.Equal(e, again), "%s became %s", e, again)
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"a = 1 AND NOT b <=> NULL", "`a b`.c IN ('x', \"y\", X'00', NULL)", "d BETWEEN DATE '2024-01-01' AND TIMESTAMP '2024-01-01 00:00:00Z'",
		"CAST(a AS DECIMAL(10, 2)) >= -1.5e3", "f(a, 1BD) IS NOT TRUE", "'\\u00e4\\0\\''", "1E5BD = .5D", "((((", "a IS NOT DISTINCT FROM 5Y",
		"-a * (b + c) DIV -(2) || 'x' - - 1 % m['k'][0].f", "a NOT ILIKE b || '%' ESCAPE '!'", "CASE WHEN a = 1 THEN b ELSE -c END::INT",
		"INTERVAL -'1-2' YEAR TO MONTH + INTERVAL 1 DAY -2.5 SECONDS", "INTERVAL '1 day -.5 seconds' * interval", "EXTRACT(dow FROM x)",
		"trim(leading from from from)", "position(a in (b in (c)))", "DATEADD(DAY, 1, INTERVAL '1 2:3' DAY TO MINUTE)", "r'\\' || R\"a\" || current_date",
		"substr(x from 1 for 2) || overlay(x placing y from 1)", "CASE -x WHEN 1 THEN CASE WHEN a THEN b END END[0]", "(a).b.c[i + 1].d", "case - 1", "a LIKE '_' ESCAPE '\\\\'",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := fuzzing.Read(t, len(text), func() (expr.Expr, error) { return expr.Parse(text) })
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := expr.Parse(e.String())
		require.NoError(t, err, "%q gave %q", text, e)
		require.True(t, expr.Equal(e, again), "%q gave %q, and that %q", text, e, again)
	})
}

func BenchmarkParse(b *testing.B) {
	const text = "day >= DATE '2024-01-01' AND (country IN ('de', 'fr', NULL) OR amount BETWEEN 12.50 AND 1e3) AND NOT `a b`.c <=> 5L"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
