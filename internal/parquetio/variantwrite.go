package parquetio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
)

// variantColumns gives the columns that hold variants at any depth.
func variantColumns(s *arrow.Schema) (columns []int) {
	for i, f := range s.Fields() {
		if holdsVariant(f.Type) {
			columns = append(columns, i)
		}
	}
	return columns
}

func holdsVariant(t arrow.DataType) bool {
	if delta.IsVariant(t) {
		return true
	}
	nested, ok := t.(arrow.NestedType)
	if !ok {
		return false
	}
	for _, f := range nested.Fields() {
		if holdsVariant(f.Type) {
			return true
		}
	}
	return false
}

// checkVariants refuses a column with a malformed variant: a file that holds one cannot be read by anyone.
func checkVariants(arr arrow.Array, f arrow.Field) error {
	for i := range arr.Len() {
		if err := checkVariant(arr, f.Type, i); err != nil {
			return fmt.Errorf("write Parquet: column %s, row %d of a batch: %w", f.Name, i, err)
		}
	}
	return nil
}

// checkVariant checks the variants at i of an array. The type is that of the schema, which tells variants from structs.
func checkVariant(arr arrow.Array, t arrow.DataType, i int) error {
	if arr.IsNull(i) || !holdsVariant(t) {
		return nil
	}
	switch a := arr.(type) {
	case *array.Struct:
		if delta.IsVariant(t) {
			return checkBinaries(a, i)
		}
		for k, f := range t.(*arrow.StructType).Fields() {
			if err := checkVariant(a.Field(k), f.Type, i); err != nil {
				return err
			}
		}
	case *array.Map:
		m := t.(*arrow.MapType)
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			if err := checkVariant(a.Keys(), m.KeyType(), k); err != nil {
				return err
			}
			if err := checkVariant(a.Items(), m.ItemType(), k); err != nil {
				return err
			}
		}
	case *array.List:
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			if err := checkVariant(a.ListValues(), t.(*arrow.ListType).Elem(), k); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkBinaries(a *array.Struct, i int) error {
	value, metadata := a.Field(0).(*array.Binary), a.Field(1).(*array.Binary)
	if value.IsNull(i) || metadata.IsNull(i) {
		return fmt.Errorf("%w: a variant without value or metadata; one that is missing is NULL itself", delta.ErrInput)
	}
	return delta.CheckVariant(metadata.Value(i), value.Value(i))
}
