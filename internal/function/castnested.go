package function

import (
	"errors"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// castNested casts lists, maps and structs.
func castNested(from, to arrow.DataType) func(*Call) arrow.Array {
	switch from := from.(type) {
	case *arrow.ListType:
		if to, ok := to.(*arrow.ListType); ok {
			if elem, err := Cast(from.Elem(), to.Elem()); err == nil {
				return castLists(to, []*Function{elem})
			}
		}
	case *arrow.MapType:
		if to, ok := to.(*arrow.MapType); ok {
			key, errKey := Cast(from.KeyType(), to.KeyType())
			item, errItem := Cast(from.ItemType(), to.ItemType())
			if errKey == nil && errItem == nil {
				return castLists(to, []*Function{key, item})
			}
		}
	case *arrow.StructType:
		if to, ok := to.(*arrow.StructType); ok {
			return castStructs(from, to)
		}
	}
	return nil
}

// castStructs casts fields by their places.
func castStructs(from, to *arrow.StructType) func(*Call) arrow.Array {
	if from.NumFields() != to.NumFields() {
		return nil
	}
	fields := make([]*Function, to.NumFields())
	for i := range fields {
		var err error
		if fields[i], err = Cast(from.Field(i).Type, to.Field(i).Type); err != nil {
			return nil
		}
	}
	return func(c *Call) arrow.Array {
		n := nullsOf(c, c.Args[0])
		children := make([]arrow.ArrayData, len(fields))
		for i, f := range fields {
			field := c.Args[0].Array.(*array.Struct).Field(i)
			v := f.Eval(&Call{Mem: c.Mem, Rows: c.Rows, Args: []Arg{{Array: field}}, Fail: n.inside(func(row int) int { return row })})
			defer v.Release()
			children[i] = v.Data()
		}
		return n.nested(to, nil, children)
	}
}

// inside takes errors of values that lie in rows: they fail the row, unless it is NULL and means nothing,
// or has failed before.
func (n *nulls) inside(rowOf func(at int) int) func(at int, err error) {
	return func(at int, err error) {
		if row := rowOf(at); !n.at(row) {
			n.fail(row, err)
		}
	}
}

// nested makes the result of a type with children, which stay the caller's. It takes n and the offsets over.
func (n *nulls) nested(t arrow.DataType, offsets *memory.Buffer, children []arrow.ArrayData) arrow.Array {
	buffers := []*memory.Buffer{n.valid}
	if offsets != nil {
		buffers = append(buffers, offsets)
	}
	data := array.NewData(t, n.c.Rows, buffers, children, n.count, 0)
	defer data.Release()
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}

// castLists casts the values in lists, or the keys and values in maps.
func castLists(to arrow.DataType, parts []*Function) func(*Call) arrow.Array {
	return func(c *Call) arrow.Array {
		n := nullsOf(c, c.Args[0])
		list := c.Args[0].Array.(array.ListLike)
		offsets, first, last := rebased(c, list)
		ends := arrow.GetData[int32](offsets.Bytes())
		rowOf := func(at int) int { return sort.Search(c.Rows, func(row int) bool { return int(ends[row+1]) > at }) }
		inside := Call{Mem: c.Mem, Rows: int(last - first), Fail: n.inside(rowOf)}
		values := valuesOf(list)
		for i, f := range parts {
			part := array.NewSlice(values[i], first, last)
			inside.Args = []Arg{{Array: part}}
			v := f.Eval(&inside)
			part.Release()
			defer v.Release()
			values[i] = v
		}
		t, ok := to.(*arrow.MapType)
		if !ok {
			return n.nested(to, offsets, []arrow.ArrayData{values[0].Data()})
		}
		n.refuseTwins(values[0], ends)
		values[0] = withoutNulls(values[0])
		defer values[0].Release()
		entries := array.NewData(t.Elem(), values[0].Len(), []*memory.Buffer{nil}, []arrow.ArrayData{values[0].Data(), values[1].Data()}, 0, 0)
		defer entries.Release()
		return n.nested(to, offsets, []arrow.ArrayData{entries})
	}
}

// withoutNulls gives the NULLs of an array the values that lie under them: keys that failed, in maps that
// are NULL themselves.
func withoutNulls(a arrow.Array) arrow.Array {
	old := a.Data()
	buffers := append([]*memory.Buffer{nil}, old.Buffers()[1:]...)
	data := array.NewData(old.DataType(), old.Len(), buffers, old.Children(), 0, old.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// rebased is the offsets of lists, from 0, and which values they are about, those of lists that are NULL among
// them.
func rebased(c *Call, list array.ListLike) (offsets *memory.Buffer, first, last int64) {
	offsets = newBuffer(c, (c.Rows+1)*4)
	ends := arrow.GetData[int32](offsets.Bytes())
	ends[0] = 0
	if c.Rows == 0 {
		return offsets, 0, 0
	}
	first, _ = list.ValueOffsets(0)
	for row := range c.Rows {
		_, last = list.ValueOffsets(row)
		ends[row+1] = int32(last - first)
	}
	return offsets, first, last
}

// valuesOf is the values of lists, or the keys and the values of maps.
func valuesOf(list array.ListLike) []arrow.Array {
	values := list.ListValues()
	if entries, ok := values.(*array.Struct); ok && list.DataType().ID() == arrow.MAP {
		return []arrow.Array{entries.Field(0), entries.Field(1)}
	}
	return []arrow.Array{values}
}

var errTwins = errors.New("two keys of a map become the same")

// refuseTwins fails the rows whose maps have a key twice.
func (n *nulls) refuseTwins(keys arrow.Array, ends []int32) {
	for row := range n.c.Rows {
		from, to := int(ends[row]), int(ends[row+1])
		if n.at(row) || to-from < 2 {
			continue
		}
		seen := make(map[string]bool, to-from)
		for i := from; i < to; i++ {
			key := keys.ValueStr(i)
			if seen[key] {
				n.fail(row, errTwins)
				break
			}
			seen[key] = true
		}
	}
}
