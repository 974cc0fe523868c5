package function_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/function"
)

// everyType is every type of a column that is not nested.
var everyType = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 10, Scale: 2},
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Date32,
	&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, &arrow.TimestampType{Unit: arrow.Microsecond},
}

// typeNamed is the type of a name as SQL has it.
func typeNamed(t require.TestingT, name string) arrow.DataType {
	if name == "VOID" {
		return arrow.Null
	}
	e, err := expr.Parse("CAST(x AS " + name + ")")
	require.NoError(t, err, name)
	return e.(*expr.Cast).To
}

func typeWordOf(t arrow.DataType) string { return expr.TypeName(t) }

// What coalesce makes of two types in Spark.
func TestTypesInCommon(t *testing.T) {
	for _, c := range []struct{ why, left, right, want string }{
		{"NULL takes any type", "VOID", "STRING", "STRING"},
		{"", "VOID", "VOID", "VOID"},
		{"the wider integer", "TINYINT", "SMALLINT", "SMALLINT"},
		{"", "INT", "BIGINT", "BIGINT"},
		{"an integer with a FLOAT loses nothing as a DOUBLE", "TINYINT", "FLOAT", "DOUBLE"},
		{"", "BIGINT", "FLOAT", "DOUBLE"},
		{"", "BIGINT", "DOUBLE", "DOUBLE"},
		{"", "FLOAT", "DOUBLE", "DOUBLE"},
		{"a decimal with either is a DOUBLE", "DECIMAL(5, 2)", "FLOAT", "DOUBLE"},
		{"", "DECIMAL(38, 0)", "DOUBLE", "DOUBLE"},
		{"a TINYINT fits into it", "TINYINT", "DECIMAL(10, 2)", "DECIMAL(10, 2)"},
		{"an INT does not", "INT", "DECIMAL(10, 2)", "DECIMAL(12, 2)"},
		{"a BIGINT has twenty digits", "BIGINT", "DECIMAL(10, 2)", "DECIMAL(22, 2)"},
		{"", "TINYINT", "DECIMAL(2, 0)", "DECIMAL(3, 0)"},
		{"digits of both sides of the point", "DECIMAL(5, 2)", "DECIMAL(5, 4)", "DECIMAL(7, 4)"},
		{"those before it go first", "BIGINT", "DECIMAL(38, 30)", "DECIMAL(38, 18)"},
		{"", "DECIMAL(38, 0)", "DECIMAL(38, 38)", "DECIMAL(38, 0)"},
		{"", "DECIMAL(38, 20)", "DECIMAL(38, 5)", "DECIMAL(38, 5)"},
		{"", "DECIMAL(38, 38)", "DECIMAL(10, 0)", "DECIMAL(38, 28)"},
		{"a day is the start of a time", "DATE", "TIMESTAMP", "TIMESTAMP"},
		{"", "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_NTZ"},
		{"an instant goes first", "TIMESTAMP_NTZ", "TIMESTAMP", "TIMESTAMP"},
		{"what is not read: Spark has BIGINT", "INT", "STRING", ""},
		{"Spark has BOOLEAN", "BOOLEAN", "STRING", ""},
		{"Spark has DATE", "STRING", "DATE", ""},
		{"Spark has BINARY", "STRING", "BINARY", ""},
		{"no number", "INT", "BOOLEAN", ""},
		{"no time", "INT", "DATE", ""},
		{"", "BINARY", "INT", ""},
	} {
		l, r := typeNamed(t, c.left), typeNamed(t, c.right)
		for _, pair := range [][]arrow.DataType{{l, r}, {r, l}} {
			got, err := function.Common(pair...)
			if c.want == "" {
				require.ErrorContains(t, err, "have no type in common: CAST one of them", c.why)
				continue
			}
			require.NoError(t, err, c.why)
			want := typeNamed(t, c.want)
			require.True(t, arrow.TypeEqual(want, got), "%s: %s and %s are %s, not %s", c.why, pair[0], pair[1], got, want)
		}
	}
}

func TestTypesInCommonFromLeftToRight(t *testing.T) {
	got, err := function.Common(typeNamed(t, "TINYINT"), arrow.Null, typeNamed(t, "DECIMAL(2, 1)"), typeNamed(t, "FLOAT"))
	require.NoError(t, err)
	require.Equal(t, arrow.PrimitiveTypes.Float64, got)
	got, err = function.Common()
	require.NoError(t, err)
	require.Equal(t, arrow.Null, got)
	_, err = function.Common(typeNamed(t, "INT"), typeNamed(t, "BIGINT"), typeNamed(t, "STRING"))
	require.EqualError(t, err, "BIGINT and STRING have no type in common: CAST one of them")
}

func TestNestedTypesInCommon(t *testing.T) {
	i, l, s := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	for _, c := range []struct {
		why        string
		a, b, want arrow.DataType
		implicit   bool // a becomes b
		back       bool // b becomes a
	}{
		{"elements", arrow.ListOf(i), arrow.ListOf(l), arrow.ListOf(l), true, false},
		{"NULLs for elements", arrow.ListOf(arrow.Null), arrow.ListOf(s), arrow.ListOf(s), true, false},
		{"no common element", arrow.ListOf(i), arrow.ListOf(s), nil, false, false},
		{"keys and values", arrow.MapOf(i, l), arrow.MapOf(l, i), arrow.MapOf(l, l), false, false},
		{"fields of one name", arrow.StructOf(field("a", i)), arrow.StructOf(field("A", l)), arrow.StructOf(field("a", l)), true, false},
		{"of another", arrow.StructOf(field("a", i)), arrow.StructOf(field("b", i)), nil, false, false},
		{"of another number", arrow.StructOf(field("a", i)), arrow.StructOf(), nil, false, false},
		{"a list and a struct", arrow.ListOf(i), arrow.StructOf(field("a", i)), nil, false, false},
		{"a map and a list", arrow.MapOf(i, i), arrow.ListOf(i), nil, false, false},
	} {
		got, err := function.Common(c.a, c.b)
		require.Equal(t, c.want == nil, err != nil, c.why)
		if err == nil {
			require.True(t, arrow.TypeEqual(c.want, got), "%s: %s", c.why, got)
		}
		require.Equal(t, c.implicit, function.Implicit(c.a, c.b), c.why)
		require.Equal(t, c.back, function.Implicit(c.b, c.a), c.why)
	}
}

// What becomes what without a CAST, of all types that are not nested.
func TestImplicitConversions(t *testing.T) {
	want := map[string]string{
		"VOID":           "TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(10, 2) STRING BINARY BOOLEAN DATE TIMESTAMP TIMESTAMP_NTZ",
		"TINYINT":        "TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(10, 2)",
		"SMALLINT":       "SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(10, 2)",
		"INT":            "INT BIGINT DOUBLE", // ten digits and two more are not ten, and a FLOAT holds seven
		"BIGINT":         "BIGINT DOUBLE",
		"FLOAT":          "FLOAT DOUBLE",
		"DOUBLE":         "DOUBLE",
		"DECIMAL(10, 2)": "DOUBLE DECIMAL(10, 2)",
		"STRING":         "STRING",
		"BINARY":         "BINARY",
		"BOOLEAN":        "BOOLEAN",
		"DATE":           "DATE TIMESTAMP TIMESTAMP_NTZ",
		"TIMESTAMP":      "TIMESTAMP",
		"TIMESTAMP_NTZ":  "TIMESTAMP TIMESTAMP_NTZ",
	}
	for from, names := range want {
		var got []string
		for _, to := range everyType {
			if function.Implicit(typeNamed(t, from), to) {
				got = append(got, typeWordOf(to))
			}
		}
		require.Equal(t, names, strings.Join(got, " "), from)
	}
	require.False(t, function.Implicit(arrow.PrimitiveTypes.Int8, arrow.Null), "NULL has no value")
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"INT", "DECIMAL(12, 2)", true}, {"BIGINT", "DECIMAL(20, 0)", true}, {"BIGINT", "DECIMAL(19, 0)", false},
		{"DECIMAL(10, 2)", "DECIMAL(11, 3)", true}, {"DECIMAL(10, 2)", "DECIMAL(10, 3)", false}, {"DECIMAL(10, 2)", "DECIMAL(38, 1)", false},
		{"DECIMAL(3, 0)", "INT", false}, {"DOUBLE", "DECIMAL(38, 10)", false},
	} {
		require.Equal(t, c.ok, function.Implicit(typeNamed(t, c.from), typeNamed(t, c.to)), "%s to %s", c.from, c.to)
	}
}

// What becomes a type without a CAST is there as a CAST, and fails for no value.
func TestImplicitConversionsHoldEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.OneOf(drawDecimalType, rapid.SampledFrom(integerTypes))
		from, to := types.Draw(t, "from"), rapid.OneOf(types, rapid.SampledFrom(everyType)).Draw(t, "to")
		if !function.Implicit(from, to) {
			return
		}
		f, err := function.Cast(from, to)
		require.NoError(t, err)
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		o := drawOperand(t, from, 5)
		a := o.arg(mem)
		defer a.Release()
		out, errs := evaluated(t, f, 5, mem, a)
		defer out.Release()
		for row := range 5 {
			require.NoError(t, errs[row])
			require.Equal(t, o.at(row).null, out.IsNull(row))
			if _, _, scale := bounds(from); !o.at(row).null && out.DataType().ID() != arrow.FLOAT64 && out.DataType().ID() != arrow.FLOAT32 {
				_, _, toScale := bounds(to)
				got := number{unscaled: unscaledAt(out, row), scale: toScale}
				require.Zero(t, got.rat().Cmp(number{unscaled: o.at(row).unscaled, scale: scale}.rat()))
			}
		}
	})
}
