package plan

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// column is one column of values given as text; "" is NULL.
func column(mem memory.Allocator, typ arrow.DataType, values ...string) arrow.Array {
	b := array.NewBuilder(mem, typ)
	defer b.Release()
	for _, v := range values {
		if v == "" {
			b.AppendNull()
		} else if err := b.AppendValueFromString(v); err != nil {
			panic(err)
		}
	}
	return b.NewArray()
}

// TestSpanHolds: what a job can make of the time at which it runs is known for it, and nothing else.
func TestSpanHolds(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	from := time.Date(2024, 5, 6, 7, 8, 9, 250_000_000, time.UTC)
	span := Span{from, from.Add(100 * time.Millisecond)}
	for _, c := range []struct {
		why   string
		typ   arrow.DataType
		value string
		holds bool
	}{
		{"a timestamp of the run", arrow.FixedWidthTypes.Timestamp_us, "2024-05-06T07:08:09.3Z", true},
		{"cut to the second", arrow.FixedWidthTypes.Timestamp_us, "2024-05-06T07:08:09Z", true},
		{"a minute before", arrow.FixedWidthTypes.Timestamp_us, "2024-05-06T07:07:09Z", false},
		{"the date of the run", arrow.FixedWidthTypes.Date32, "2024-05-06", true},
		{"the day before", arrow.FixedWidthTypes.Date32, "2024-05-04", false},
		{"seconds since 1970", arrow.PrimitiveTypes.Int64, "1714979289", true},
		{"in 32 bits", arrow.PrimitiveTypes.Int32, "1714979289", true},
		{"milliseconds", arrow.PrimitiveTypes.Int64, "1714979289300", true},
		{"microseconds", arrow.PrimitiveTypes.Int64, "1714979289300000", true},
		{"nanoseconds", arrow.PrimitiveTypes.Int64, "1714979289300000000", true},
		{"an hour later", arrow.PrimitiveTypes.Int64, "1714982889", false},
		{"a date as a number", arrow.PrimitiveTypes.Int32, "20240506", true},
		{"a small number", arrow.PrimitiveTypes.Int16, "7", false},
		{"a date as text", arrow.BinaryTypes.String, "2024-05-06", true},
		{"without dashes", arrow.BinaryTypes.String, "20240506", true},
		{"with slashes", arrow.BinaryTypes.String, "2024/05/06", true},
		{"an instant as text", arrow.BinaryTypes.String, "2024-05-06T07:08:09.3Z", true},
		{"in another zone", arrow.BinaryTypes.String, "2024-05-06T09:08:09+02:00", true},
		{"without a zone", arrow.BinaryTypes.String, "2024-05-06 07:08:09", true},
		{"another day as text", arrow.BinaryTypes.String, "2024-05-04", false},
		{"text that is no time", arrow.BinaryTypes.String, "order-7", false},
		{"a float", arrow.PrimitiveTypes.Float64, "1714979289", false},
	} {
		col := column(mem, c.typ, c.value)
		require.Equal(t, c.holds, span.holds(col, 0), c.why)
		col.Release()
	}
}

// twoSides is rows of columns k (text), n (integer) and x (float) of two tables.
func twoSides(t *testing.T, mem memory.Allocator, old, now [3][]string) *contrast {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	side := func(values [3][]string) *picked {
		var cols []arrow.Array
		for i, v := range values {
			cols = append(cols, column(mem, schema.Field(i).Type, v...))
		}
		b := array.NewRecordBatch(schema, cols, int64(len(values[0])))
		for _, c := range cols {
			c.Release()
		}
		return &picked{batches: []arrow.RecordBatch{b}, n: b.NumRows()}
	}
	fields, err := delta.FromArrow(schema)
	require.NoError(t, err)
	c, err := newContrast(fields, side(old), side(now))
	require.NoError(t, err)
	return c
}

// TestContrast: which columns differ, which one has moved, and which rows are versions of one.
func TestContrast(t *testing.T) {
	for _, c := range []struct {
		why      string
		old, now [3][]string
		columns  []string
		moved    string
		rounded  bool
		pairs    []string
	}{
		{"one value is another",
			[3][]string{{"a", "b"}, {"1", "2"}, {"1", "2"}}, [3][]string{{"b", "a"}, {"2", "7"}, {"2", "1"}},
			[]string{"n"}, "", false, []string{`~ k="a": n=1 → 7`}},
		{"a value became NULL",
			[3][]string{{"a"}, {"1"}, {"1"}}, [3][]string{{"a"}, {""}, {"1"}},
			[]string{"n"}, "", false, []string{`~ k="a": n=1 → NULL`}},
		{"numbers on other rows: they moved, not the keys",
			[3][]string{{"a", "b", "c"}, {"0", "1", "2"}, {"5", "5", "5"}}, [3][]string{{"a", "b", "c"}, {"2", "0", "1"}, {"5", "5", "5"}},
			nil, "n", false, []string{`~ k="a": n=0 → 2`}},
		{"floats in their last digits",
			[3][]string{{"a"}, {"1"}, {"0.6"}}, [3][]string{{"a"}, {"1"}, {"0.6000000000000001"}},
			[]string{"x"}, "", true, []string{`~ k="a": x=0.6 → 0.6000000000000001`}},
		{"other floats",
			[3][]string{{"a"}, {"1"}, {"0.6"}}, [3][]string{{"a"}, {"1"}, {"0.7"}},
			[]string{"x"}, "", false, []string{`~ k="a": x=0.6 → 0.7`}},
		{"rows that the rest does not tell apart",
			[3][]string{{"a", "a"}, {"1", "2"}, {"1", "1"}}, [3][]string{{"a", "a"}, {"3", "4"}, {"1", "1"}},
			[]string{"n"}, "", false, nil},
		{"a key of two columns",
			[3][]string{{"a", "a", "b"}, {"1", "2", "1"}, {"1", "2", "3"}}, [3][]string{{"a", "a", "b"}, {"1", "2", "1"}, {"9", "2", "3"}},
			[]string{"x"}, "", false, []string{`~ k="a", n=1: x=1 → 9`}},
		{"nothing in common",
			[3][]string{{"a"}, {"1"}, {"1"}}, [3][]string{{"b"}, {"2"}, {"2"}},
			[]string{"k", "n", "x"}, "", false, nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			got := twoSides(t, mem, c.old, c.now)
			defer got.old.release()
			defer got.new.release()
			require.Equal(t, c.columns, got.columns)
			require.Equal(t, c.moved, got.moved)
			require.Equal(t, c.rounded, got.rounded("x") && len(c.columns) > 0 && c.columns[0] == "x")
			n, shown, err := got.pairs()
			require.NoError(t, err)
			if c.pairs == nil {
				require.Zero(t, n)
				return
			}
			require.EqualValues(t, len(c.old[0]), n)
			for _, p := range c.pairs {
				require.Contains(t, shown, p)
			}
		})
	}
}
