package pred_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/pred"
)

// TestVariantsAreOpaque: a condition can tell whether a variant is NULL, and a value can be one; nothing looks into it.
func TestVariantsAreOpaque(t *testing.T) {
	variant, err := delta.ArrowType(delta.Variant)
	require.NoError(t, err)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "v", Type: variant, Nullable: true},
		{Name: "l", Type: arrow.ListOf(variant), Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "v", Type: variant, Nullable: true}, arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), Nullable: true},
	}, nil)
	for _, text := range []string{"v IS NULL", "v IS NOT NULL", "s.v IS NULL", "(s).x = 1 OR (s).v IS NULL"} {
		e, err := expr.Parse(text)
		require.NoError(t, err, text)
		_, err = pred.Bind(e, schema)
		require.NoError(t, err, text)
	}
	for _, text := range []string{"v = v", "v.value = x'00'", "(v).metadata IS NULL", "l = l", "s = s", "v IN (v)", "l[0] IS NULL", "coalesce(v, v) IS NULL", "s.v.value IS NULL"} {
		e, err := expr.Parse(text)
		require.NoError(t, err, text)
		_, err = pred.Bind(e, schema)
		require.ErrorIs(t, err, delta.ErrInput, text)
		require.ErrorContains(t, err, "variant", text)
	}

	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	require.NoError(t, b.UnmarshalJSON([]byte(`{"v":{"value":"AA==","metadata":"AQAA"}} {"v":null}`)))
	batch := b.NewRecordBatch()
	defer batch.Release()
	value, err := pred.BindValueAs(expr.Col("v"), schema, variant)
	require.NoError(t, err)
	got, err := value.Eval(mem, batch)
	require.NoError(t, err)
	defer got.Release()
	require.True(t, array.Equal(batch.Column(0), got))
}
