package plan

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// A lifted field is NULL where a struct above it is, whatever lies below the NULL, also in a slice.
func TestLiftedFieldsAreNullBelowNulls(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	ids := int64s(mem, []int64{1, 2, 3, 4})
	defer ids.Release()
	inner := structWith(t, ids, 0b1011) // the third is NULL
	defer inner.Release()
	outer := structWith(t, inner, 0b1101) // the second is NULL
	defer outer.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "Outer", Type: outer.DataType(), Nullable: true}, {Name: "a.b", Type: arrow.PrimitiveTypes.Int64}}, nil)
	whole := array.NewRecordBatch(schema, []arrow.Array{outer, ids}, 4)
	defer whole.Release()
	batch := whole.NewSlice(1, 4)
	defer batch.Release()

	at, err := locate(schema, "outer.X.x")
	require.NoError(t, err)
	named, err := locate(schema, "A.B")
	require.NoError(t, err)
	require.Equal(t, place{1}, named, "a column whose name has a dot")
	l, columns := newLifter(schema, []place{at, named})
	require.Equal(t, []int{2, 1}, columns)
	lifted, err := l.batch(mem, batch)
	require.NoError(t, err)
	defer lifted.Release()
	require.Equal(t, "Outer.x.x", lifted.ColumnName(2))
	require.Equal(t, "[(null) (null) 4]", lifted.Column(2).String())

	for name, says := range map[string]string{"outer.y": `there is no "outer.y"`, "nosuch": `there is no "nosuch"`, "a.b.c": `there is no "a"`, "outer.x.x.x": `"outer.x.x" is BIGINT and has no fields`} {
		_, err := locate(schema, name)
		require.ErrorContains(t, err, says)
	}
}

// structWith makes a struct of one field x; a bit says which rows are not NULL.
func structWith(t *testing.T, x arrow.Array, valid byte) arrow.Array {
	nulls := 0
	for i := range x.Len() {
		if valid&(1<<i) == 0 {
			nulls++
		}
	}
	typ := arrow.StructOf(arrow.Field{Name: "x", Type: x.DataType(), Nullable: true})
	data := array.NewData(typ, x.Len(), []*memory.Buffer{memory.NewBufferBytes([]byte{valid})}, []arrow.ArrayData{x.Data()}, nulls, 0)
	defer data.Release()
	return array.NewStructData(data)
}
