package function

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/rows"
)

// nested are the functions of arrays and maps. Keys are compared as they are: an integer is looked for
// among integers of any width, and not among decimals.
var nested = map[string]resolver{
	"size":             args(wantArrayOrMap).gives(typeInt, size),
	"cardinality":      args(wantArrayOrMap).gives(typeInt, size),
	"array_size":       args(wantArray).gives(typeInt, size),
	"array_contains":   arrayContains,
	"map_contains_key": mapContainsKey,
	"element_at":       element(true),
	"element":          element(false),
	"map_keys":         mapPart(0),
	"map_values":       mapPart(1),
}

var (
	wantArray      = want{words: "an array", takes: only(arrow.LIST), null: arrow.ListOf(arrow.Null)}
	wantMap        = want{words: "a map", takes: only(arrow.MAP), null: arrow.MapOf(arrow.Null, arrow.Null)}
	wantArrayOrMap = want{words: "an array or a map", takes: only(arrow.LIST, arrow.MAP), null: arrow.ListOf(arrow.Null)}
)

// lists are the values of an argument of arrays or maps, by row.
type lists struct {
	array.ListLike
	arg Arg
}

func listsOf(a Arg) lists { return lists{a.Array.(array.ListLike), a} }

// span is where the elements of a row are in ListValues.
func (l lists) span(row int) (start, end int) {
	s, e := l.ValueOffsets(l.arg.At(row))
	return int(s), int(e)
}

// entries are the keys and the values of all maps.
func (l lists) entries(which int) arrow.Array {
	return l.ListValues().(*array.Struct).Field(which)
}

func size(c *Call) arrow.Array {
	l := listsOf(c.Args[0])
	return buildFixed(nullsOf(c, c.Args[0]), typeInt, func(row int) (int32, error) {
		start, end := l.span(row)
		return int32(end - start), nil
	})
}

// canEqual says whether values of two types are compared without a conversion: integers of any width,
// decimals of any scale, FLOAT and DOUBLE, and what is of one type.
func canEqual(a, b arrow.DataType) bool {
	return arrow.TypeEqual(a, b) || isInteger(a) && isInteger(b) || isDecimal(a) && isDecimal(b) || isFloat(a) && isFloat(b)
}

// arrayContains takes an array and a value; both are brought to the type that they have in common. It is
// NULL where either is, and where the value is not among the elements but NULL is.
func arrayContains(name string, list []Param) (*Function, error) {
	types, err := args(wantArray, wantAny("a value that its elements can equal")).bind(name, list)
	if err != nil {
		return nil, err
	}
	if elem := types[0].(*arrow.ListType).Elem(); !canEqual(elem, types[1]) {
		t, err := Common(elem, types[1])
		if err != nil {
			return nil, fmt.Errorf("%s: a value of the type %s is looked for among elements of the type %s: CAST it", name, expr.TypeName(types[1]), expr.TypeName(elem))
		}
		types[0], types[1] = arrow.ListOf(t), t
	}
	return &Function{Name: name, Params: types, Result: typeBool, Eval: containsValue}, nil
}

// wantAny is a value of any type.
func wantAny(words string) want {
	return want{words: words, takes: func(p Param) arrow.DataType { return p.Type }, null: arrow.Null}
}

func containsValue(c *Call) arrow.Array {
	l, value := listsOf(c.Args[0]), c.Args[1]
	n := nullsOf(c, c.Args...)
	elements := l.ListValues()
	equal, err := rows.NewEquality([]arrow.Array{elements}, []arrow.Array{value.Array})
	return buildBool(n, func(row int) (bool, error) {
		if err != nil {
			return false, err
		}
		unknown := false
		start, end := l.span(row)
		for i := start; i < end; i++ {
			if equal.Equal(i, value.At(row)) {
				return true, nil
			}
			unknown = unknown || elements.IsNull(i)
		}
		if unknown {
			return false, errNull
		}
		return false, nil
	})
}

// keyTypes binds a map and a key of it.
func keyTypes(name string, list []Param) ([]arrow.DataType, error) {
	types, err := args(wantMap, wantAny("a key of it")).bind(name, list)
	if err != nil {
		return nil, err
	}
	key := types[0].(*arrow.MapType).KeyType()
	if isUntyped(types[1]) {
		types[1] = key
	}
	if !canEqual(key, types[1]) {
		return nil, fmt.Errorf("%s: the keys are %s, the one that is looked for is %s: CAST it", name, expr.TypeName(key), expr.TypeName(types[1]))
	}
	return types, nil
}

func mapContainsKey(name string, list []Param) (*Function, error) {
	types, err := keyTypes(name, list)
	if err != nil {
		return nil, err
	}
	return &Function{Name: name, Params: types, Result: typeBool, Eval: func(c *Call) arrow.Array {
		find := finder(c)
		return buildBool(nullsOf(c, c.Args...), func(row int) (bool, error) {
			i, err := find(row)
			return i >= 0, err
		})
	}}, nil
}

// finder looks keys up: it gives the place of a row's key among all entries, -1 if its map lacks it. Of
// a key that is there twice, which maps should not have, the first counts.
func finder(c *Call) func(row int) (int, error) {
	l, key := listsOf(c.Args[0]), c.Args[1]
	equal, err := rows.NewEquality([]arrow.Array{l.entries(0)}, []arrow.Array{key.Array})
	return func(row int) (int, error) {
		if err != nil {
			return -1, err
		}
		start, end := l.span(row)
		for i := start; i < end; i++ {
			if equal.Equal(i, key.At(row)) {
				return i, nil
			}
		}
		return -1, nil
	}
}

// element takes an array and an integer, or a map and a key. The value of a key that is not there is
// NULL; a place beyond an array fails the row. x[i] counts from 0, element_at from 1 and by negative
// numbers from the end.
func element(at bool) resolver {
	return func(name string, list []Param) (*Function, error) {
		if len(list) == 2 && !isUntyped(list[0].Type) && list[0].Type.ID() == arrow.MAP {
			return mapElement(name, list)
		}
		types, err := args(wantArrayOrMap, wantInt).bind(name, list)
		if err != nil {
			return nil, err
		}
		place := fromZero
		if at {
			place = fromOne
		}
		elem := types[0].(*arrow.ListType).Elem()
		return &Function{Name: name, Params: types, Result: elem, Eval: func(c *Call) arrow.Array {
			l, index := listsOf(c.Args[0]), columnOf[int64](c.Args[1])
			return taken(c, elem, l.ListValues(), func(row int) (int, error) {
				start, end := l.span(row)
				i, err := place(index.at(row), int64(end-start))
				return start + int(i), err
			})
		}}, nil
	}
}

func fromZero(i, size int64) (int64, error) {
	if i < 0 || i >= size {
		return 0, fmt.Errorf("there is no element %d in an array of %d: places count from 0", i, size)
	}
	return i, nil
}

func fromOne(i, size int64) (int64, error) {
	switch {
	case i > 0 && i <= size:
		return i - 1, nil
	case i < 0 && i >= -size:
		return size + i, nil
	}
	return 0, fmt.Errorf("there is no element %d in an array of %d: places count from 1, or from the end by negative numbers", i, size)
}

func mapElement(name string, list []Param) (*Function, error) {
	types, err := keyTypes(name, list)
	if err != nil {
		return nil, err
	}
	item := types[0].(*arrow.MapType).ItemType()
	return &Function{Name: name, Params: types, Result: item, Eval: func(c *Call) arrow.Array {
		return taken(c, item, listsOf(c.Args[0]).entries(1), finder(c))
	}}, nil
}

// taken takes values by their places; -1 is none.
func taken(c *Call, t arrow.DataType, values arrow.Array, place func(row int) (int, error)) arrow.Array {
	places := buildFixed(nullsOf(c, c.Args...), typeInt, func(row int) (int32, error) {
		i, err := place(row)
		return int32(i), err
	}).(*array.Int32)
	defer places.Release()
	index := make([]int32, c.Rows)
	for row := range index {
		index[row] = -1
		if places.IsValid(row) {
			index[row] = places.Value(row)
		}
	}
	return gather(c, t, values, index)
}

func gather(c *Call, t arrow.DataType, values arrow.Array, index []int32) arrow.Array {
	schema := arrow.NewSchema([]arrow.Field{{Name: "element", Type: t, Nullable: true}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{values}, int64(values.Len()))
	defer batch.Release()
	out, err := rows.Take(c.Mem, batch, index)
	if err != nil {
		for row, i := range index {
			if i >= 0 {
				c.Fail(row, err)
			}
		}
		return array.MakeArrayOfNull(c.Mem, t, c.Rows)
	}
	defer out.Release()
	column := out.Column(0)
	column.Retain()
	return column
}

// mapPart is the keys of a map, or its values, as an array. It shares the map's memory.
func mapPart(which int) resolver {
	return func(name string, list []Param) (*Function, error) {
		types, err := args(wantMap).bind(name, list)
		if err != nil {
			return nil, err
		}
		entry := types[0].(*arrow.MapType).Elem().(*arrow.StructType).Field(which)
		result := arrow.ListOfField(arrow.Field{Name: "element", Type: entry.Type, Nullable: entry.Nullable})
		return &Function{Name: name, Params: types, Result: result, Eval: func(c *Call) arrow.Array {
			return partOfMaps(c, result, which)
		}}, nil
	}
}

func partOfMaps(c *Call, result arrow.DataType, which int) arrow.Array {
	if c.Args[0].Constant {
		return constantPart(c, result, which)
	}
	l := listsOf(c.Args[0])
	data := l.Data()
	part := array.NewData(result, c.Rows, data.Buffers(), []arrow.ArrayData{l.entries(which).Data()}, data.NullN(), data.Offset())
	defer part.Release()
	return array.MakeFromData(part)
}

// constantPart repeats the keys or values of one map.
func constantPart(c *Call, result arrow.DataType, which int) arrow.Array {
	one := *c
	one.Rows, one.Args = 1, []Arg{{Array: c.Args[0].Array}}
	v := partOfMaps(&one, result, which)
	defer v.Release()
	return broadcast(c, v)
}
