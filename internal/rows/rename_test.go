package rows_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/rows"
)

// shape is a schema with every way to nest; prefix is before each name, required is its fields' nullability.
func shape(prefix string, nullable bool) *arrow.Schema {
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: prefix + name, Type: t, Nullable: nullable, Metadata: arrow.NewMetadata([]string{"k"}, []string{prefix + name})}
	}
	inner := arrow.StructOf(field("x", arrow.PrimitiveTypes.Int64), field("y", arrow.BinaryTypes.String))
	return arrow.NewSchema([]arrow.Field{
		field("a", arrow.PrimitiveTypes.Int64),
		field("s", inner),
		field("l", arrow.ListOfField(arrow.Field{Name: "element", Type: inner, Nullable: nullable})),
		field("m", arrow.MapOfFields(arrow.Field{Name: "key", Type: inner}, arrow.Field{Name: "value", Type: arrow.ListOf(inner), Nullable: nullable})),
	}, nil)
}

const shapeRows = `[
	{"a":1,"s":{"x":1,"y":"one"},"l":[{"x":2,"y":"two"},{"x":3,"y":"three"}],"m":[{"key":{"x":4,"y":"k"},"value":[{"x":5,"y":"five"}]}]},
	{"a":2,"s":{"x":6,"y":"six"},"l":[],"m":[]},
	{"a":3,"s":{"x":7,"y":"seven"},"l":[{"x":8,"y":"eight"}],"m":[{"key":{"x":9,"y":"k9"},"value":[]}]}
]`

func TestRenameSharesAllMemory(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	whole := batchOf(t, mem, shape("", true), shapeRows)
	defer whole.Release()
	for _, batch := range []arrow.RecordBatch{whole, whole.NewSlice(1, 3), whole.NewSlice(1, 1)} {
		before := mem.CurrentAlloc()
		want := shape("p-", false)
		got, err := rows.Rename(batch, want)
		require.NoError(t, err)
		require.Equal(t, before, mem.CurrentAlloc())
		require.True(t, got.Schema().Equal(want))
		for c := range int(got.NumCols()) {
			require.True(t, arrow.TypeEqual(want.Field(c).Type, got.Column(c).DataType(), arrow.CheckMetadata()), "the arrays say the same as the schema")
		}
		back, err := rows.Rename(got, batch.Schema())
		require.NoError(t, err)
		require.True(t, array.RecordEqual(batch, back))
		got.Release()
		back.Release()
		if batch != whole {
			batch.Release()
		}
	}
}

func TestRenameRefusesAnotherShape(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	batch := batchOf(t, mem, shape("", true), shapeRows)
	defer batch.Release()
	f := batch.Schema().Fields()
	x := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64}
	for why, fields := range map[string][]arrow.Field{
		"fewer columns":     f[:3],
		"another type":      {{Name: "a", Type: arrow.PrimitiveTypes.Int32}, f[1], f[2], f[3]},
		"a type below":      {f[0], {Name: "s", Type: arrow.StructOf(x, x)}, f[2], f[3]},
		"fewer fields":      {f[0], {Name: "s", Type: arrow.StructOf(x)}, f[2], f[3]},
		"a list for a map":  {f[0], f[1], f[2], {Name: "m", Type: arrow.ListOf(f[3].Type.(*arrow.MapType).Elem())}},
		"a struct's fields": {f[0], f[1], {Name: "l", Type: arrow.ListOf(x.Type)}, f[3]},
	} {
		_, err := rows.Rename(batch, arrow.NewSchema(fields, nil))
		require.Error(t, err, why)
	}
	zone := arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.FixedWidthTypes.Timestamp_us}}, nil)
	moments := batchOf(t, mem, zone, `[{"t":"2024-01-01T00:00:00Z"}]`)
	defer moments.Release()
	_, err := rows.Rename(moments, arrow.NewSchema([]arrow.Field{{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Microsecond}}}, nil))
	require.Error(t, err, "a time zone is no name")
}
