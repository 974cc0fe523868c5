package plan

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// toStruct binds fields by name. A NULL struct stays NULL, and so do the fields below it.
func toStruct(from arrow.DataType, to *arrow.StructType, path string) (conversion, error) {
	f, ok := from.(*arrow.StructType)
	if !ok {
		return nil, nil
	}
	bound, err := bindFields(f.Fields(), to.Fields(), path+".")
	if err != nil {
		return nil, err
	}
	return planStruct(f, to, bound, path)
}

// planStruct converts the bound fields; those without one are NULL.
func planStruct(from, to *arrow.StructType, bound []int, path string) (conversion, error) {
	fields := make([]conformColumn, to.NumFields())
	for i, t := range to.Fields() {
		fields[i].from = bound[i]
		if bound[i] < 0 {
			continue
		}
		var err error
		if fields[i].convert, err = planConversion(from.Field(bound[i]).Type, t.Type, path+"."+t.Name); err != nil {
			return nil, err
		}
	}
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		return convertStruct(mem, in.(*array.Struct), to, fields)
	}, nil
}

func convertStruct(mem memory.Allocator, in *array.Struct, to *arrow.StructType, fields []conformColumn) (arrow.Array, error) {
	children := make([]arrow.ArrayData, 0, len(fields))
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	for i, f := range fields {
		a, err := convertField(mem, in, to.Field(i), f)
		if err != nil {
			return nil, err
		}
		a.Data().Retain()
		children = append(children, a.Data())
		a.Release()
	}
	valid := validity(mem, in)
	if valid != nil {
		defer valid.Release()
	}
	out := array.NewData(to, in.Len(), []*memory.Buffer{valid}, children, in.NullN(), 0)
	defer out.Release()
	return array.MakeFromData(out), nil
}

func convertField(mem memory.Allocator, in *array.Struct, to arrow.Field, f conformColumn) (arrow.Array, error) {
	if f.from < 0 {
		return array.MakeArrayOfNull(mem, to.Type, in.Len()), nil
	}
	child := in.Field(f.from)
	if in.NullN() > 0 {
		child = masked(mem, child, in.IsValid)
		defer child.Release()
	}
	a, err := f.convert(mem, child)
	if err != nil {
		return nil, below(err, "."+to.Name)
	}
	return a, nil
}

// below adds a step to the path of a cell.
func below(err error, step string) error {
	var cell *cellError
	if errors.As(err, &cell) {
		cell.path = step + cell.path
	}
	return err
}

// masked makes values NULL that lie below a NULL: what they hold is arbitrary and must not be
// judged.
func masked(mem memory.Allocator, in arrow.Array, live func(i int) bool) arrow.Array {
	switch in.DataType().ID() {
	case arrow.NULL:
		in.Retain()
		return in
	case arrow.RUN_END_ENCODED:
		return maskedRuns(mem, in.(*array.RunEndEncoded), live)
	}
	d := in.Data()
	bits := memory.NewResizableBuffer(mem)
	defer bits.Release()
	bits.Resize(int(bitutil.BytesForBits(int64(d.Offset() + d.Len()))))
	clear(bits.Bytes())
	nulls := 0
	for i := range in.Len() {
		if in.IsValid(i) && live(i) {
			bitutil.SetBit(bits.Bytes(), d.Offset()+i)
		} else {
			nulls++
		}
	}
	buffers := append([]*memory.Buffer{bits}, d.Buffers()[1:]...)
	var dictionary *array.Data
	if in, ok := in.(*array.Dictionary); ok {
		dictionary = in.Dictionary().Data().(*array.Data)
	}
	out := array.NewData(d.DataType(), d.Len(), buffers, d.Children(), nulls, d.Offset())
	defer out.Release()
	if dictionary != nil {
		out.SetDictionary(dictionary)
	}
	return array.MakeFromData(out)
}

// maskedRuns masks runs, which have no validity of their own, as a dictionary of their values.
func maskedRuns(mem memory.Allocator, in *array.RunEndEncoded, live func(i int) bool) arrow.Array {
	b := array.NewInt32Builder(mem)
	defer b.Release()
	b.Reserve(in.Len())
	for i := range in.Len() {
		if live(i) {
			b.UnsafeAppend(int32(in.GetPhysicalIndex(i)))
		} else {
			b.UnsafeAppendBoolToBitmap(false)
		}
	}
	index := b.NewArray()
	defer index.Release()
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: in.Values().DataType()}
	return array.NewDictionaryArray(t, index, in.Values())
}

// ---- dictionaries and runs

// planEncoded converts the values once and then spreads them. Only values that some row refers to
// are judged.
func planEncoded(value, to arrow.DataType, path string) (conversion, error) {
	convert, err := planConversion(value, to, path)
	if err != nil {
		return nil, err
	}
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		values, index, err := decodeIndex(in)
		if err != nil {
			return nil, err
		}
		used := make([]bool, values.Len())
		for _, v := range index {
			if v >= 0 {
				used[v] = true
			}
		}
		live := masked(mem, values, func(i int) bool { return used[i] })
		defer live.Release()
		out, err := convert(mem, live)
		if err != nil {
			return nil, atFirst(err, index)
		}
		defer out.Release()
		return takeValues(mem, out, index)
	}, nil
}

// decodeIndex gives the values of an encoded array and which of them each row has, -1 for NULL.
func decodeIndex(in arrow.Array) (arrow.Array, []int32, error) {
	index := make([]int32, in.Len())
	switch in := in.(type) {
	case *array.RunEndEncoded:
		for i := range index {
			index[i] = int32(in.GetPhysicalIndex(i))
		}
		return in.Values(), index, nil
	case *array.Dictionary:
		n := in.Dictionary().Len()
		for i := range index {
			index[i] = -1
			if in.IsNull(i) {
				continue
			}
			v := in.GetValueIndex(i)
			if v < 0 || v >= n {
				return nil, nil, &cellError{row: -1, why: fmt.Sprintf("row %d of a batch refers to value %d of a dictionary of %d values; the batch is damaged", i, v, n)}
			}
			index[i] = int32(v)
		}
		return in.Dictionary(), index, nil
	}
	return nil, nil, fmt.Errorf("%w: %T is no encoded array", delta.ErrInput, in)
}

// atFirst moves a cell error from a value to the first row that has the value.
func atFirst(err error, index []int32) error {
	var cell *cellError
	if !errors.As(err, &cell) {
		return err
	}
	for i, v := range index {
		if int(v) == cell.row {
			cell.row = i
			break
		}
	}
	return err
}

// takeValues gives the values of a by number, NULL for -1.
func takeValues(mem memory.Allocator, a arrow.Array, index []int32) (arrow.Array, error) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "value", Type: a.DataType(), Nullable: true}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len()))
	defer batch.Release()
	out, err := rows.Take(mem, batch, index)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	out.Column(0).Retain()
	return out.Column(0), nil
}

// ---- lists and maps

func toList(from arrow.DataType, to *arrow.ListType, path string) (conversion, error) {
	f, ok := from.(arrow.ListLikeType)
	if !ok || from.ID() == arrow.MAP {
		return nil, nil
	}
	element, err := planConversion(f.Elem(), to.Elem(), path+".element")
	if err != nil {
		return nil, err
	}
	return listConversion(to, element, ".element"), nil
}

// listConversion converts elements and makes 32-bit offsets. Elements that no list refers to are
// not judged and not kept.
func listConversion(to arrow.DataType, element conversion, step string) conversion {
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		lists := in.(array.ListLike)
		buf, offsets := fixed[int32](mem, in.Len()+1)
		defer buf.Release()
		start, contiguous, err := listOffsets(lists, offsets)
		if err != nil {
			return nil, err
		}
		var values arrow.Array
		if contiguous {
			values, err = sliceElements(mem, lists, element, start, int64(offsets[in.Len()]))
		} else {
			values, err = gatherElements(mem, lists, element, int(offsets[in.Len()]))
		}
		if err != nil {
			return nil, below(err, step)
		}
		defer values.Release()
		valid := validity(mem, in)
		if valid != nil {
			defer valid.Release()
		}
		out := array.NewData(to, in.Len(), []*memory.Buffer{valid, buf}, []arrow.ArrayData{values.Data()}, in.NullN(), 0)
		defer out.Release()
		return array.MakeFromData(out), nil
	}
}

// listOffsets fills offsets and says whether the lists lie one behind the other, from start on.
func listOffsets(lists array.ListLike, offsets []int32) (start int64, contiguous bool, err error) {
	offsets[0], contiguous = 0, true
	total, next, first := int64(0), int64(0), true
	for i := range lists.Len() {
		if lists.IsValid(i) {
			from, to := lists.ValueOffsets(i)
			if first {
				start, next, first = from, from, false
			}
			if to > from {
				contiguous = contiguous && from == next
				next = to
				total += to - from
			}
		}
		if total > math.MaxInt32 {
			return 0, false, &cellError{row: -1, why: "the lists of one batch have more than 2,147,483,647 elements; give the rows in smaller batches"}
		}
		offsets[i+1] = int32(total)
	}
	return start, contiguous, nil
}

func sliceElements(mem memory.Allocator, lists array.ListLike, element conversion, start, n int64) (arrow.Array, error) {
	part := array.NewSlice(lists.ListValues(), start, start+n)
	defer part.Release()
	out, err := element(mem, part)
	return out, inList(err, lists, start)
}

func gatherElements(mem memory.Allocator, lists array.ListLike, element conversion, n int) (arrow.Array, error) {
	all := lists.ListValues()
	used := make([]bool, all.Len())
	index := make([]int32, 0, n)
	for i := range lists.Len() {
		if lists.IsNull(i) {
			continue
		}
		from, to := lists.ValueOffsets(i)
		for j := from; j < to; j++ {
			used[j] = true
			index = append(index, int32(j))
		}
	}
	live := masked(mem, all, func(i int) bool { return used[i] })
	defer live.Release()
	out, err := element(mem, live)
	if err != nil {
		return nil, inList(err, lists, 0)
	}
	defer out.Release()
	return takeValues(mem, out, index)
}

// inList moves a cell error from an element to the list that holds it.
func inList(err error, lists array.ListLike, start int64) error {
	var cell *cellError
	if !errors.As(err, &cell) || cell.row < 0 {
		return err
	}
	at := start + int64(cell.row)
	for i := range lists.Len() {
		if lists.IsNull(i) {
			continue
		}
		if from, to := lists.ValueOffsets(i); from <= at && at < to {
			cell.row = i
			break
		}
	}
	return err
}
