package idem_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
)

// A value of a row is nil, a leaf's Go value, or a list: of a struct's fields in the order of its
// type, of elements, or of a map's pairs.
type pairOf struct{ key, value any }

var leafTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, longs, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, text,
	arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us,
	&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.Decimal128Type{Precision: 20, Scale: 3},
}

// drawType makes a type of at most so many levels.
func drawType(t *rapid.T, depth int) arrow.DataType {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1, 2:
		return arrow.StructOf(drawColumns(t, depth-1)...)
	case 3, 4:
		return arrow.ListOf(drawType(t, depth-1))
	case 5:
		key := rapid.SampledFrom([]arrow.DataType{text, longs, arrow.StructOf(maybe("k", longs), maybe("K2", text))}).Draw(t, "key")
		return arrow.MapOf(key, drawType(t, depth-1))
	}
	return rapid.SampledFrom(leafTypes).Draw(t, "leaf")
}

func drawColumns(t *rapid.T, depth int) []arrow.Field {
	var fields []arrow.Field
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "B", "cC", "d"}), 1, 3, rapid.ID).Draw(t, "names") {
		fields = append(fields, maybe(name, drawType(t, depth)))
	}
	return fields
}

// drawValue makes a value of a type; often NULL, often empty.
func drawValue(t *rapid.T, dt arrow.DataType) any {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return nil
	}
	switch dt := dt.(type) {
	case *arrow.StructType:
		out := make([]any, dt.NumFields())
		for i, f := range dt.Fields() {
			out[i] = drawValue(t, f.Type)
		}
		return out
	case *arrow.MapType:
		out := []any{}
		for n := range rapid.IntRange(0, 3).Draw(t, "pairs") {
			out = append(out, pairOf{drawKey(dt.KeyType(), n), drawValue(t, dt.ItemType())})
		}
		return out
	case *arrow.ListType:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			out = append(out, drawValue(t, dt.Elem()))
		}
		return out
	}
	return drawLeaf(t, dt)
}

// drawKey makes the n-th key of a map.
func drawKey(dt arrow.DataType, n int) any {
	switch dt.ID() {
	case arrow.STRING:
		return strings.Repeat("k", n)
	case arrow.INT64:
		return int64(n)
	}
	return []any{int64(n), nil}
}

func drawLeaf(t *rapid.T, dt arrow.DataType) any {
	n := rapid.Int64Range(-3, 3).Draw(t, "n")
	switch dt.ID() {
	case arrow.FLOAT32, arrow.FLOAT64:
		return rapid.SampledFrom([]float64{0, 0.5, -2, math.NaN(), math.Inf(1)}).Draw(t, "float")
	case arrow.STRING, arrow.BINARY:
		return rapid.SampledFrom([]string{"", "x", "é", strings.Repeat("long ", 20)}).Draw(t, "text")
	case arrow.BOOL:
		return n > 0
	}
	return n
}

// builtOf makes an array with some values before it that are cut off, and with arbitrary values
// below what is NULL.
func builtOf(t *rapid.T, dt arrow.DataType, values []any) arrow.Array {
	return builtAfter(t, dt, func() any { return drawValue(t, dt) }, values)
}

func builtAfter(t *rapid.T, dt arrow.DataType, value func() any, values []any) arrow.Array {
	before := rapid.IntRange(0, 2).Draw(t, "cut off")
	for range before {
		values = append([]any{value()}, values...)
	}
	data := builtData(t, dt, values)
	defer data.Release()
	whole := array.MakeFromData(data)
	defer whole.Release()
	return array.NewSlice(whole, int64(before), int64(len(values)))
}

func builtData(t *rapid.T, dt arrow.DataType, values []any) arrow.ArrayData {
	valid, nulls := validOf(values)
	switch dt := dt.(type) {
	case *arrow.StructType:
		var children []arrow.ArrayData
		for c, f := range dt.Fields() {
			column := make([]any, len(values))
			for i, v := range values {
				if v == nil {
					column[i] = drawValue(t, f.Type)
				} else {
					column[i] = v.([]any)[c]
				}
			}
			children = append(children, builtOf(t, f.Type, column).Data())
		}
		return array.NewData(dt, len(values), []*memory.Buffer{valid}, children, nulls, 0)
	case *arrow.MapType:
		offsets, all := spans(t, values, dt.Elem())
		keys, items := make([]any, len(all)), make([]any, len(all))
		for i, p := range all {
			keys[i], items[i] = p.(pairOf).key, p.(pairOf).value
		}
		key := func() any { return drawKey(dt.KeyType(), 0) }
		children := []arrow.ArrayData{builtAfter(t, dt.KeyType(), key, keys).Data(), builtOf(t, dt.ItemType(), items).Data()}
		entries := array.NewData(dt.Elem(), len(all), []*memory.Buffer{nil}, children, 0, 0)
		return array.NewData(dt, len(values), []*memory.Buffer{valid, offsets}, []arrow.ArrayData{entries}, nulls, 0)
	case *arrow.ListType:
		offsets, all := spans(t, values, dt.Elem())
		return array.NewData(dt, len(values), []*memory.Buffer{valid, offsets}, []arrow.ArrayData{builtOf(t, dt.Elem(), all).Data()}, nulls, 0)
	}
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	for _, v := range values {
		appendLeaf(b, v)
	}
	a := b.NewArray()
	a.Data().Retain()
	return a.Data()
}

func validOf(values []any) (*memory.Buffer, int) {
	bits, nulls := make([]byte, bitutil.BytesForBits(int64(len(values)))), 0
	for i, v := range values {
		bitutil.SetBitTo(bits, i, v != nil)
		if v == nil {
			nulls++
		}
	}
	return memory.NewBufferBytes(bits), nulls
}

// spans lays lists one behind the other; below a NULL there may be elements too.
func spans(t *rapid.T, values []any, element arrow.DataType) (*memory.Buffer, []any) {
	offsets, all := []int32{0}, []any{}
	for _, v := range values {
		list, _ := v.([]any)
		if _, isPairs := element.(*arrow.StructType); v == nil && !isPairs && rapid.Bool().Draw(t, "below NULL") {
			list = []any{drawValue(t, element)}
		}
		all = append(all, list...)
		offsets = append(offsets, int32(len(all)))
	}
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), all
}

func appendLeaf(b array.Builder, v any) {
	if v == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append([]byte(v.(string)))
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(int64)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(int64)))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v.(int64)))
	default:
		panic(fmt.Sprintf("%T", b))
	}
}

// canonical is a value as text, a map's pairs in order of their text.
func canonical(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case pairOf:
		return canonical(v.key) + ":" + canonical(v.value)
	case []any:
		parts, isMap := make([]string, len(v)), false
		for i, e := range v {
			_, isMap = e.(pairOf)
			parts[i] = canonical(e)
		}
		if isMap {
			slices.Sort(parts)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}

// readOf takes a value out of an array, by nothing but the array's own methods.
func readOf(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	out := []any{}
	switch a := a.(type) {
	case *array.Struct:
		for c := range a.NumField() {
			out = append(out, readOf(a.Field(c), i))
		}
		return out
	case *array.Map:
		entries := a.ListValues().(*array.Struct)
		from, to := a.ValueOffsets(i)
		for j := int(from); j < int(to); j++ {
			out = append(out, pairOf{readOf(entries.Field(0), j), readOf(entries.Field(1), j)})
		}
		return out
	case *array.List:
		from, to := a.ValueOffsets(i)
		for j := int(from); j < int(to); j++ {
			out = append(out, readOf(a.ListValues(), j))
		}
		return out
	}
	return readLeaf(a, i)
}

func readLeaf(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return string(a.Value(i))
	case *array.Boolean:
		return a.Value(i)
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Decimal128:
		return int64(a.Value(i).LowBits())
	}
	panic(fmt.Sprintf("%T", a))
}

// variant is a schema for the same rows: columns and fields in another order and case, some left
// out, lists of another layout. value gives a value of the table as one of the variant.
type variant struct {
	dt    arrow.DataType
	value func(v any) any // as the rows give it
	kept  func(v any) any // as the table then has it: what is left out is NULL
}

func drawVariant(t *rapid.T, dt arrow.DataType, leaveOut bool) variant {
	each := func(f func(any) any) func(any) any {
		return func(v any) any {
			if v == nil {
				return nil
			}
			out := []any{}
			for _, e := range v.([]any) {
				out = append(out, f(e))
			}
			return out
		}
	}
	switch dt := dt.(type) {
	case *arrow.StructType:
		return drawStructVariant(t, dt, leaveOut)
	case *arrow.MapType:
		item := drawVariant(t, dt.ItemType(), leaveOut)
		of := func(f func(any) any) func(any) any {
			return each(func(p any) any { return pairOf{p.(pairOf).key, f(p.(pairOf).value)} })
		}
		return variant{arrow.MapOf(dt.KeyType(), item.dt), of(item.value), of(item.kept)}
	case *arrow.ListType:
		e := drawVariant(t, dt.Elem(), leaveOut)
		return variant{arrow.ListOf(e.dt), each(e.value), each(e.kept)}
	}
	same := func(v any) any { return v }
	return variant{dt, same, same}
}

func drawStructVariant(t *rapid.T, dt *arrow.StructType, leaveOut bool) variant {
	order := rapid.Permutation(seq(dt.NumFields())).Draw(t, "order")
	if leaveOut && len(order) > 1 && rapid.Bool().Draw(t, "left out") {
		order = order[1:]
	}
	var fields []arrow.Field
	inner := map[int]variant{}
	for _, i := range order {
		f := dt.Field(i)
		inner[i] = drawVariant(t, f.Type, leaveOut)
		name := f.Name
		if rapid.Bool().Draw(t, "case") {
			name = flipped(name)
		}
		fields = append(fields, maybe(name, inner[i].dt))
	}
	value := func(v any) any {
		if v == nil {
			return nil
		}
		out := []any{}
		for _, i := range order {
			out = append(out, inner[i].value(v.([]any)[i]))
		}
		return out
	}
	kept := func(v any) any {
		if v == nil {
			return nil
		}
		out := make([]any, dt.NumFields())
		for _, i := range order {
			out[i] = inner[i].kept(v.([]any)[i])
		}
		return out
	}
	return variant{arrow.StructOf(fields...), value, kept}
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// givenOf makes a reader of rows: in another order, cut into batches.
func givenOf(t *rapid.T, v variant, rows []any) array.RecordReader {
	rows = rapid.Permutation(rows).Draw(t, "rows")
	st := v.dt.(*arrow.StructType)
	schema := arrow.NewSchema(st.Fields(), nil)
	var batches []arrow.RecordBatch
	for {
		n := min(len(rows), rapid.IntRange(1, 5).Draw(t, "batch"))
		columns := make([]arrow.Array, st.NumFields())
		for c := range columns {
			column := make([]any, n)
			for i := range column {
				column[i] = v.value(rows[i]).([]any)[c]
			}
			columns[c] = builtOf(t, st.Field(c).Type, column)
		}
		batches = append(batches, array.NewRecordBatch(schema, columns, int64(n)))
		if rows = rows[n:]; len(rows) == 0 {
			break
		}
	}
	if rapid.Bool().Draw(t, "rewinds") {
		return readAgain(batches...)
	}
	return readerOf(batches...)
}

// Whatever the columns and their values: a verb writes them as they are, a second call finds them,
// and the fingerprint is one, however they were written.
func TestNestedRowsProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		table := arrow.StructOf(append([]arrow.Field{maybe("id", longs), maybe("seq", longs)}, drawColumns(r, 3)...)...)
		rows := make([]any, rapid.IntRange(1, 9).Draw(r, "rows"))
		for i := range rows {
			row := []any{int64(i), int64(1)}
			for _, f := range table.Fields()[2:] {
				row = append(row, drawValue(r, f.Type))
			}
			rows[i] = row
		}
		first := table2variant(r, table, true)
		var want []string
		kept := make([]any, len(rows))
		for i, row := range rows {
			kept[i] = first.kept(row)
			want = append(want, canonical(kept[i]))
		}
		prints := map[string]bool{}
		for _, n := range rapid.Permutation(seq(len(nestedVerbs))).Draw(r, "verbs")[:2] {
			v := nestedVerbs[n]
			mem := store.NewMem()
			checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
			o := idem.Options{
				Parallelism: rapid.SampledFrom([]int{1, 4}).Draw(r, "parallelism"), TargetFileBytes: rapid.SampledFrom([]int64{0, 1}).Draw(r, "file"),
				MemoryBytes: rapid.SampledFrom([]int64{0, 4096}).Draw(r, "memory"), TempDir: t.TempDir(), Allocator: checked,
			}
			made, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: arrow.NewSchema(table.Fields(), nil)}, o)
			require.NoError(r, err)
			res, err := v.run(t.Context(), made, givenOf(r, first, rows))
			require.NoError(r, err, v.name)
			require.Equal(r, idem.Committed, res.Outcome)
			require.Equal(r, want, sortedRows(r, t, made), v.name)

			again := table2variant(r, table, false)
			res, err = v.run(t.Context(), made, givenOf(r, again, kept))
			require.NoError(r, err, v.name)
			require.NotEqual(r, idem.Committed, res.Outcome, v.name)
			require.Zero(r, res.TiesDiffering)
			for _, verify := range []bool{false, true} {
				p, err := made.Fingerprint(t.Context(), idem.Fingerprint{Verify: verify})
				require.NoError(r, err)
				prints[p.String()] = true
			}
			f := fixture{t: t, mem: mem}
			f.compact()
			p, err := f.other().Fingerprint(t.Context(), idem.Fingerprint{})
			require.NoError(r, err)
			prints[p.String()] = true
			checkLog(t, mem)
			checked.AssertSize(r, 0)
		}
		require.Len(r, prints, 1, "%v", prints)
	})
}

// table2variant draws a variant of the rows that has id and seq.
func table2variant(t *rapid.T, table *arrow.StructType, leaveOut bool) variant {
	for {
		v := drawVariant(t, table, leaveOut)
		st := v.dt.(*arrow.StructType)
		has := func(name string) bool {
			return slices.ContainsFunc(st.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
		}
		if has("id") && has("seq") {
			return v
		}
	}
}

// sortedRows gives the rows of a table as text, by id.
func sortedRows(r *rapid.T, t *testing.T, table *idem.Table) []string {
	byID := map[int64]string{}
	n := 0
	for b, err := range table.Scan(t.Context(), idem.Scan{}) {
		require.NoError(r, err)
		for i := range int(b.NumRows()) {
			row := []any{}
			for _, c := range b.Columns() {
				row = append(row, readOf(c, i))
			}
			byID[row[0].(int64)] = canonical(row)
			n++
		}
	}
	require.Len(r, byID, n)
	out := make([]string, n)
	for id, text := range byID {
		out[id] = text
	}
	return out
}
