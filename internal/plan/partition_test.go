package plan_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/plan"
)

func TestNormalisePartitions(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "day", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "raw", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	mem := checked(t)
	batch := fromRows(t, mem, schema, `[
		{"day": "x", "raw": "AA==", "n": 0, "note": ""},
		{"day": "", "raw": "AA==", "n": 1, "note": "a"},
		{"day": null, "raw": "", "n": null, "note": null}]`)
	defer batch.Release()
	part := batch.NewSlice(1, 3)
	defer part.Release()

	got, err := plan.NormalisePartitions(mem, part, []string{"day", "raw", "n", "elsewhere"})
	require.NoError(t, err)
	defer got.Release()
	require.Equal(t, []string{
		`{"day":null,"n":1,"note":"a","raw":"AA=="}`,
		`{"day":null,"n":null,"note":null,"raw":null}`,
	}, textRows(t, got))
	require.Equal(t, 2, got.Column(0).NullN())
	require.Equal(t, `{"day":"","n":1,"note":"a","raw":"AA=="}`, textRows(t, part)[0], "the input stays as it was")

	same, err := plan.NormalisePartitions(mem, batch, []string{"n"})
	require.NoError(t, err)
	defer same.Release()
	require.Same(t, batch, same, "nothing to do, nothing copied")
}
