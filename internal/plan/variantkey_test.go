package plan_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/plan"
)

// TestVariantsAreNoKeys: neither a variant nor what its encoding looks like from outside can tell rows apart.
func TestVariantsAreNoKeys(t *testing.T) {
	variant, err := delta.ArrowType(delta.Variant)
	require.NoError(t, err)
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: variant, Nullable: true}}, nil)
	table, err := delta.FromArrow(schema)
	require.NoError(t, err)
	for _, c := range []struct{ on, newer []string }{
		{on: []string{"v"}}, {on: []string{"id", "v.value"}}, {on: []string{"id"}, newer: []string{"v"}},
	} {
		rows, err := array.NewRecordReader(schema, nil)
		require.NoError(t, err)
		_, _, err = plan.DedupeStream(t.Context(), &plan.Env{Allocator: checked(t)}, table, plan.Input{Reader: rows}, c.on, c.newer, false)
		require.ErrorIs(t, err, delta.ErrInput)
		require.ErrorContains(t, err, `v`)
		rows.Release()
	}
}
