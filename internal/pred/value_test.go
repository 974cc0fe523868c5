package pred_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// values evaluates an expression over rows, as JSON.
func values(t *testing.T, batch arrow.RecordBatch, text string, to arrow.DataType, args ...any) (arrow.DataType, string) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e, err := expr.Parse(text, args...)
	require.NoError(t, err, text)
	v, err := pred.BindValue(e, batch.Schema())
	if to != nil {
		v, err = pred.BindValueAs(e, batch.Schema(), to)
	}
	require.NoError(t, err, text)
	got, err := v.Eval(mem, batch)
	require.NoError(t, err, text)
	defer got.Release()
	require.True(t, arrow.TypeEqual(v.Type(), got.DataType()), "%s is %s, not %s", text, got.DataType(), v.Type())
	require.Equal(t, int(batch.NumRows()), got.Len(), text)
	json, err := got.MarshalJSON()
	require.NoError(t, err)
	return v.Type(), string(json)
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
		typ, got := values(t, batch, c.text, nil)
		require.True(t, arrow.TypeEqual(c.typ, typ), "%s: %s is %s", c.why, c.text, typ)
		require.JSONEq(t, c.want, got, "%s: %s", c.why, c.text)
		_, got = values(t, batch.NewSlice(1, 3), c.text, nil)
		require.NotEmpty(t, got, "a slice")
		_, got = values(t, batch.NewSlice(4, 4), c.text, nil)
		require.Equal(t, "[]", got, "no rows")
	}
}
