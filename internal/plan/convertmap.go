package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/internal/rows"
)

// toMap binds key to key and value to value; their fields have no names that mean anything. A map
// that has a key twice is refused: other engines read one of the two, and not all the same one.
func toMap(from arrow.DataType, to *arrow.MapType, path string) (conversion, error) {
	f, ok := from.(*arrow.MapType)
	if !ok {
		return nil, nil
	}
	pairs, err := planStruct(f.Elem().(*arrow.StructType), to.Elem().(*arrow.StructType), []int{0, 1}, path)
	if err != nil {
		return nil, err
	}
	convert := listConversion(to, func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		keys := in.(*array.Struct).Field(0)
		for i := range keys.Len() {
			if keys.IsNull(i) {
				return nil, &cellError{row: i, path: ".key", value: "NULL", why: "is no key of a map; drop the pair from the rows"}
			}
		}
		return pairs(mem, in)
	}, "")
	return func(mem memory.Allocator, in arrow.Array) (arrow.Array, error) {
		out, err := convert(mem, in)
		if err != nil {
			return nil, err
		}
		if err := distinctKeys(out.(*array.Map)); err != nil {
			out.Release()
			return nil, err
		}
		return out, nil
	}, nil
}

// distinctKeys refuses maps that have a key twice. Equal keys have equal digests.
func distinctKeys(m *array.Map) error {
	keys := m.ListValues().(*array.Struct).Field(0)
	var digests []rows.Digest // of all keys, once a map has two
	seen := map[rows.Digest]struct{}{}
	for i := range m.Len() {
		from, to := m.ValueOffsets(i)
		if to-from < 2 || m.IsNull(i) {
			continue
		}
		if digests == nil {
			var err error
			if digests, err = digestsOf(keys); err != nil {
				return err
			}
		}
		clear(seen)
		for k := from; k < to; k++ {
			if _, twice := seen[digests[k]]; twice {
				return &cellError{
					row: i, path: ".key", value: clip(rows.Text(keys, int(k))),
					why: "is a key twice in one map, of which other engines read one; make the keys distinct",
				}
			}
			seen[digests[k]] = struct{}{}
		}
	}
	return nil
}

func digestsOf(a arrow.Array) ([]rows.Digest, error) {
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "key", Type: a.DataType()}}, nil), []arrow.Array{a}, int64(a.Len()))
	defer batch.Release()
	out := make([]rows.Digest, a.Len())
	return out, rows.RowDigests(batch, out)
}
