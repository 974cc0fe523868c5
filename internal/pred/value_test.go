package pred_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// values evaluates an expression over rows, as JSON.
func values(t *testing.T, batch arrow.RecordBatch, text string) (arrow.DataType, string) {
	t.Helper()
	e, err := expr.Parse(text)
	require.NoError(t, err, text)
	v, err := pred.BindValue(e, batch.Schema())
	require.NoError(t, err, text)
	got, err := evalJSON(t, v, batch)
	require.NoError(t, err, text)
	return v.Type(), got
}

func TestColumnsLiteralsAndConditionsAreValues(t *testing.T) {
	st := arrow.StructOf(arrow.Field{Name: "Inner", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	batch := rowsOf(t, st, `[{"Inner": 9}, {"Inner": 1}, null, {"Inner": null}]`)
	for _, c := range []struct {
		text, want string
		typ        arrow.DataType
		why        string
	}{
		{"c", `[{"Inner":9},{"Inner":1},null,{"Inner":null}]`, st, "a column of any type"},
		{"c.inner", `[9,1,null,null]`, arrow.PrimitiveTypes.Int32, "a field of a NULL struct is NULL"},
		{"5", `[5,5,5,5]`, arrow.PrimitiveTypes.Int32, "a constant in each row"},
		{"'x'", `["x","x","x","x"]`, arrow.BinaryTypes.String, "a constant in each row"},
		{"NULL", `[null,null,null,null]`, arrow.Null, "NULL alone has no type"},
		{"CAST(NULL AS INT)", `[null,null,null,null]`, arrow.PrimitiveTypes.Int32, "NULL with a type"},
		{"c.inner > 1", `[true,false,null,null]`, arrow.FixedWidthTypes.Boolean, "a condition, three-valued"},
		{"c IS NULL", `[false,false,true,false]`, arrow.FixedWidthTypes.Boolean, "a condition that is never NULL"},
		{"1 = 1", `[true,true,true,true]`, arrow.FixedWidthTypes.Boolean, "a condition without columns"},
	} {
		typ, got := values(t, batch, c.text)
		require.True(t, arrow.TypeEqual(c.typ, typ), "%s: %s is %s", c.why, c.text, typ)
		require.JSONEq(t, c.want, got, "%s: %s", c.why, c.text)
		_, got = values(t, batch.NewSlice(1, 3), c.text)
		require.NotEmpty(t, got, "a slice")
		_, got = values(t, batch.NewSlice(4, 4), c.text)
		require.Equal(t, "[]", got, "no rows")
	}
}

func TestValuesEqualTheTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		batch := drawBatch(t, memory.DefaultAllocator, tableSchema, "")
		defer batch.Release()
		for range 5 {
			name := rapid.SampledFrom([]string{"bo", "i8", "i32", "i64", "f64", "dec", "s", "bin", "d", "ts", "ntz", "st.x"}).Draw(t, "type")
			e := drawTyped(t, name, 3)
			v, err := pred.BindValue(e, tableSchema)
			require.NoError(t, err, "%s", e)
			got, err := v.Eval(mem, batch)
			if err != nil {
				var failed *pred.RowError
				require.ErrorAs(t, err, &failed, "%s", e)
				requireFirstFailure(t, batch, e, failed.Row)
				continue
			}
			defer got.Release()
			require.True(t, arrow.TypeEqual(v.Type(), got.DataType()))
			for row := range got.Len() {
				want := cell(batch, row, e)
				s, err := scalar.GetScalar(got, row)
				require.NoError(t, err)
				have := cellOf(s)
				if s, ok := s.(scalar.Releasable); ok {
					s.Release()
				}
				same := want == nil && have == nil || want != nil && have != nil && compareCells(want, have) == 0
				require.True(t, same, "%s, row %d of %v: %v, not %v", e, row, batch.NewSlice(int64(row), int64(row+1)), have, want)
			}
		}
	})
}

// requireFirstFailure checks by the twin that a row is the first without a value.
func requireFirstFailure(t *rapid.T, batch arrow.RecordBatch, e expr.Expr, row int) {
	for i := range row + 1 {
		func() {
			defer func() {
				_, failed := recover().(rowFailure)
				require.Equal(t, i == row, failed, "%s: row %d of %v", e, i, batch)
			}()
			cell(batch, i, e)
		}()
	}
}

func TestValuesAreStoredInColumns(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "l", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true}, {Name: "st", Type: nested, Nullable: true},
		{Name: "dec", Type: decSmall, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"i": 1, "l": 300, "f": 1.75, "s": "a", "d": "2024-02-29", "st": {"x": 1, "s": "a"}, "dec": "1.75"}, {"i": null, "l": null, "f": null, "s": null, "d": null, "st": null, "dec": null}]`))
	require.NoError(t, err)
	required := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true})
	for _, c := range []struct {
		text string
		to   arrow.DataType
		want string // or what the error says
		why  string
	}{
		{"i", arrow.PrimitiveTypes.Int32, `[1,null]`, "the same type"},
		{"i", arrow.PrimitiveTypes.Int64, `[1,null]`, "a wider type"},
		{"i", arrow.PrimitiveTypes.Float64, `[1,null]`, "a wider type"},
		{"i", decSmall, `["1",null]`, "a wider type"},
		{"l", arrow.PrimitiveTypes.Int16, `[300,null]`, "a number that fits into a narrower type"},
		{"l", arrow.PrimitiveTypes.Int8, "at l, byte 0: row 1: 300 does not fit into TINYINT", "a number that does not"},
		{"f", arrow.PrimitiveTypes.Int32, `[1,null]`, "digits after the point are cut off, as in Spark"},
		{"dec", &arrow.Decimal128Type{Precision: 2, Scale: 1}, `["1.8",null]`, "or rounded"},
		{"dec * 100", &arrow.Decimal128Type{Precision: 2, Scale: 1}, "does not fit into DECIMAL(2, 1)", "but not those before it"},
		{"NULL", arrow.BinaryTypes.String, `[null,null]`, "NULL has any type"},
		{"CAST(NULL AS INT)", arrow.PrimitiveTypes.Int8, `[null,null]`, "NULL has any type"},
		{"'2024-01-01'", arrow.FixedWidthTypes.Date32, `["2024-01-01","2024-01-01"]`, "a constant string is a day"},
		{"'nine'", arrow.FixedWidthTypes.Date32, `expression, byte 0, at 'nine': "nine" is no day`, "or refused"},
		{"d", tsType, `["2024-02-29T00:00:00Z",null]`, "a day is its midnight"},
		{"st", required, `[{"s":"a","x":1},null]`, "fields of equal names"},
		{"i > 0", arrow.FixedWidthTypes.Boolean, `[true,null]`, "a condition"},
		{"s", arrow.PrimitiveTypes.Int32, "expression, byte 0, at s: STRING is not taken for INT", "a string is no number"},
		{"'1'", arrow.PrimitiveTypes.Int32, "at '1': STRING is not taken for INT", "a string is no number"},
		{"i", arrow.BinaryTypes.String, "at i: INT is not taken for STRING; CAST it", "a number is no string"},
		{"s", arrow.FixedWidthTypes.Date32, "at s: STRING is not taken for DATE", "a string of a row is no day"},
		{"i > 0", arrow.PrimitiveTypes.Int32, "BOOLEAN is not taken for INT", "a condition is no number"},
		{"CAST(d AS TIMESTAMP)", arrow.FixedWidthTypes.Date32, "TIMESTAMP is not taken for DATE", "an instant is no day"},
	} {
		e, err := expr.Parse(c.text)
		require.NoError(t, err)
		got := ""
		v, err := pred.BindValueAs(e, schema, c.to)
		if err == nil {
			require.True(t, arrow.TypeEqual(c.to, v.Type()))
			got, err = evalJSON(t, v, batch)
		}
		if err != nil {
			require.ErrorIs(t, err, delta.ErrInput)
			require.ErrorContains(t, err, c.want, "%s as %s: %s", c.text, c.to, c.why)
			continue
		}
		require.Equal(t, c.want, got, "%s as %s: %s", c.text, c.to, c.why)
	}
	_, err = pred.BindValueAs(nil, schema, arrow.PrimitiveTypes.Int32)
	require.ErrorContains(t, err, "expression: there is none")
}

// evalJSON gives the values as JSON, and leaks nothing.
func evalJSON(t *testing.T, v *pred.Value, batch arrow.RecordBatch) (string, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	got, err := v.Eval(mem, batch)
	if err != nil {
		return "", err
	}
	defer got.Release()
	require.True(t, arrow.TypeEqual(v.Type(), got.DataType()), "%s is %s, not %s", v, got.DataType(), v.Type())
	require.Equal(t, int(batch.NumRows()), got.Len())
	json, err := got.MarshalJSON()
	return strings.ReplaceAll(string(json), "\n", ""), err
}

// In arithmetic with decimals a number of the text has the digits that it shows, a computed one those of
// its type, as in Spark.
func TestTypesOfDecimals(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "dec", Type: decSmall}}, nil)
	for text, want := range map[string]arrow.DataType{
		"dec * 10":      &arrow.Decimal128Type{Precision: 13, Scale: 2},
		"dec * (5 + 5)": &arrow.Decimal128Type{Precision: 21, Scale: 2},
	} {
		e, err := expr.Parse(text)
		require.NoError(t, err)
		v, err := pred.BindValue(e, schema)
		require.NoError(t, err)
		require.True(t, arrow.TypeEqual(want, v.Type()), "%s is %s", text, v.Type())
	}
}

func TestValuesKnowTheirColumns(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "B", Type: arrow.PrimitiveTypes.Int64}, {Name: "c", Type: nested}}, nil)
	e, err := expr.Parse("CASE WHEN (c).x > 0 THEN b + 1 END")
	require.NoError(t, err)
	v, err := pred.BindValue(e, schema)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, v.Columns())
	require.Equal(t, []string{"B", "c"}, v.ColumnNames())
	require.Equal(t, e.String(), v.String())

	e, err = expr.Parse("1 / 0")
	require.NoError(t, err)
	v, err = pred.BindValue(e, schema)
	require.NoError(t, err, "a constant that fails is an error of rows")
	require.Empty(t, v.Columns())
	none, err := v.Eval(memory.DefaultAllocator, array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 0))
	require.NoError(t, err, "and of none where there are none")
	none.Release()
}

// A value that is repeated in each row can be more than an array holds.
func TestValuesBeyondAnArrayAreRefused(t *testing.T) {
	e, err := expr.Parse("if(c = 1, repeat('x', 1000000), NULL)")
	require.NoError(t, err)
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Int8}}, nil)
	v, err := pred.BindValue(e, schema)
	require.NoError(t, err)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewInt8Builder(memory.DefaultAllocator)
	for range 3000 {
		b.Append(1)
	}
	_, err = v.Eval(mem, array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 3000))
	require.ErrorIs(t, err, delta.ErrInput)
	require.ErrorContains(t, err, "use smaller batches")
}
