package rows_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/idemtable/idem/internal/rows"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fromJSON has columns k, o, v, … of the types.
func fromJSON(t require.TestingT, mem memory.Allocator, text string, types ...arrow.DataType) arrow.RecordBatch {
	var fields []arrow.Field
	for i, typ := range types {
		fields = append(fields, arrow.Field{Name: []string{"k", "o", "v"}[i], Type: typ, Nullable: true})
	}
	return batchOf(t, mem, arrow.NewSchema(fields, nil), text)
}

func batchOf(t require.TestingT, mem memory.Allocator, schema *arrow.Schema, text string) arrow.RecordBatch {
	b, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(text))
	require.NoError(t, err)
	return b
}

// TestTakeFrom holds TakeFrom, Take and Concat against the rows' texts, for types of every kind.
func TestTakeFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		types := []arrow.DataType{anyType(3).Draw(t, "type"), scalarType().Draw(t, "scalar")}
		cols := []int{0, 1}
		var batches []arrow.RecordBatch
		var all, want []string
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			b := randomBatch(t, mem, rapid.IntRange(0, 5).Draw(t, "rows"), types...)
			defer b.Release()
			batches = append(batches, b)
			all = append(all, texts(b, cols)...)
		}
		var which, index []int32
		for range rapid.IntRange(0, 8).Draw(t, "taken") {
			w := rapid.IntRange(0, len(batches)-1).Draw(t, "which")
			i := rapid.IntRange(-1, int(batches[w].NumRows())-1).Draw(t, "index")
			which, index = append(which, int32(w)), append(index, int32(i))
			if i < 0 {
				want = append(want, "NULL|NULL")
			} else {
				want = append(want, canonRow(batches[w], cols, i))
			}
		}
		got, err := rows.TakeFrom(mem, batches, which, index)
		require.NoError(t, err)
		defer got.Release()
		require.Equal(t, want, texts(got, cols))
		checkSound(t, got)

		joined, err := rows.Concat(mem, batches)
		require.NoError(t, err)
		defer joined.Release()
		require.Equal(t, all, texts(joined, cols))

		again, err := rows.Take(mem, joined, ascending(len(all)))
		require.NoError(t, err)
		defer again.Release()
		require.True(t, array.RecordEqual(joined, again) || strings.Contains(fmt.Sprint(all), "NaN"))
	})
}

func texts(b arrow.RecordBatch, cols []int) []string {
	var out []string
	for i := range int(b.NumRows()) {
		out = append(out, canonRow(b, cols, i))
	}
	return out
}

func checkSound(t require.TestingT, b arrow.RecordBatch) {
	for _, c := range b.Columns() {
		if c.DataType().ID() == arrow.NULL {
			continue // IsNull is false for arrays without validity bits, of this type too
		}
		if v, ok := c.(interface{ ValidateFull() error }); ok {
			require.NoError(t, v.ValidateFull())
		}
		nulls := 0
		for i := range c.Len() {
			if c.IsNull(i) {
				nulls++
			}
		}
		require.Equal(t, nulls, c.NullN())
	}
}

func TestTakeRefuses(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	b := fromJSON(t, mem, `[{"k":1}]`, arrow.PrimitiveTypes.Int64)
	defer b.Release()
	other := fromJSON(t, mem, `[{"k":1}]`, arrow.PrimitiveTypes.Int32)
	defer other.Release()
	for _, i := range []int32{-2, 1} {
		_, err := rows.Take(mem, b, []int32{i})
		require.ErrorContains(t, err, "of a batch of 1")
		_, err = rows.TakeFrom(mem, []arrow.RecordBatch{b}, []int32{0}, []int32{i})
		require.ErrorContains(t, err, "of a batch of 1")
	}
	_, err := rows.TakeFrom(mem, []arrow.RecordBatch{b}, []int32{1}, []int32{0})
	require.ErrorContains(t, err, "batch 1 of 1")
	_, err = rows.TakeFrom(mem, []arrow.RecordBatch{b}, nil, []int32{0})
	require.ErrorContains(t, err, "0 batch numbers for 1 row")
	_, err = rows.TakeFrom(mem, nil, nil, nil)
	require.ErrorContains(t, err, "no batch")
	_, err = rows.Concat(mem, []arrow.RecordBatch{b, other})
	require.ErrorContains(t, err, "another schema")
	large := fromJSON(t, mem, `[{"k":"x","o":"y"}]`, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString)
	defer large.Release()
	_, err = rows.Take(mem, large, []int32{0})
	require.ErrorContains(t, err, "take rows: column o: type large_utf8")
}

// TestBytesOfSlices: the shares of the halves of a batch are about the whole.
func TestBytesOfSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		b := randomBatch(t, mem, 16, anyType(2).Draw(t, "type"))
		defer b.Release()
		left, right := b.NewSlice(0, 8), b.NewSlice(8, 16)
		defer left.Release()
		defer right.Release()
		none := b.NewSlice(3, 3)
		defer none.Release()
		whole, sum := rows.Bytes(b), rows.Bytes(left)+rows.Bytes(right)
		require.LessOrEqual(t, whole, sum)
		require.LessOrEqual(t, sum, whole+64, "one more offset, and bits rounded up, for each level")
		require.Zero(t, rows.Bytes(none))
	})
}

func TestBytes(t *testing.T) {
	b := fromJSON(t, memory.DefaultAllocator, `[{"k":1,"o":"abc"},{"k":2,"o":""}]`, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String)
	require.EqualValues(t, 1+16+1+3*4+3, rows.Bytes(b))
}

// TestValuesBeneathNull: what lies beneath a NULL is no value, in a list, a string or a struct.
func TestValuesBeneathNull(t *testing.T) {
	typ := arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true})
	clean := fromJSON(t, memory.DefaultAllocator, `[{"k":{"l":["a","b"]}},{"k":null},{"k":{"l":null}},{"k":{"l":[null]}}]`, typ)
	full := fromJSON(t, memory.DefaultAllocator, `[{"k":{"l":["a","b"]}},{"k":{"l":["x","y"]}},{"k":{"l":["z"]}},{"k":{"l":["w"]}}]`, typ)
	s := full.Column(0).(*array.Struct)
	list := s.Field(0).(*array.List)
	text := list.ListValues()
	elements := masked(text.Data(), text.Data().Children(), 0b011111)
	lists := masked(list.Data(), []arrow.ArrayData{elements}, 0b1011)
	dirty := array.NewRecordBatch(full.Schema(), []arrow.Array{
		array.MakeFromData(masked(s.Data(), []arrow.ArrayData{lists}, 0b1101))}, 4)

	require.Equal(t, texts(clean, []int{0}), texts(dirty, []int{0}))
	require.Equal(t, digest(t, clean), digest(t, dirty))
	equal, err := rows.NewEquality(clean.Columns(), dirty.Columns())
	require.NoError(t, err)
	taken, err := rows.Take(memory.DefaultAllocator, dirty, ascending(4))
	require.NoError(t, err)
	for i := range 4 {
		require.True(t, equal.Equal(i, i))
		require.Equal(t, canon(clean.Column(0), i), canon(taken.Column(0), i))
	}
	kept := taken.Column(0).(*array.Struct).Field(0).(*array.List).ListValues()
	require.NotContains(t, kept.String(), "z", "what is beneath a NULL list is not copied")
	require.NotContains(t, kept.String(), "w", "nor beneath a NULL string")
}

// masked is data with other validity bits.
func masked(d arrow.ArrayData, children []arrow.ArrayData, valid byte) arrow.ArrayData {
	buffers := append([]*memory.Buffer{memory.NewBufferBytes([]byte{valid})}, d.Buffers()[1:]...)
	return array.NewData(d.DataType(), d.Len(), buffers, children, array.UnknownNullCount, d.Offset())
}
