package changes

import (
	"fmt"
	"slices"

	"github.com/idemtable/idem/delta"
)

// fits says why the files of one version cannot be read in the columns of another; nil if they can.
// Columns may have been added, and widened; under column mapping they are known by their physical
// names, and must have kept their own.
func fits(was, shape *delta.Snapshot) error {
	if was.Metadata() == shape.Metadata() {
		return nil
	}
	if !slices.Equal(was.PartitionColumns(), shape.PartitionColumns()) {
		return fmt.Errorf("the partition columns are %v and not %v", shape.PartitionColumns(), was.PartitionColumns())
	}
	return fieldsFit(was.Schema(), shape.Schema(), shape.Mapping() != delta.MappingNone, "")
}

func fieldsFit(was, shape *delta.Struct, mapped bool, path string) error {
	known := map[string]bool{}
	for i := range was.Fields {
		f := &was.Fields[i]
		j := slices.IndexFunc(shape.Fields, func(g delta.Field) bool {
			if mapped {
				return stored(f) == stored(&g)
			}
			return f.Name == g.Name
		})
		if j < 0 {
			return fmt.Errorf("the column %s%s is gone", path, f.Name)
		}
		g := &shape.Fields[j]
		known[g.Name] = true
		switch {
		case f.Name != g.Name:
			return fmt.Errorf("the column %s%s was renamed %s", path, f.Name, g.Name)
		case f.Nullable && !g.Nullable:
			return fmt.Errorf("the column %s%s became NOT NULL", path, f.Name)
		}
		if err := typesFit(f.Type, g.Type, mapped, path+f.Name); err != nil {
			return err
		}
	}
	for _, g := range shape.Fields {
		if !known[g.Name] && !g.Nullable {
			return fmt.Errorf("the column %s%s is new and NOT NULL", path, g.Name)
		}
	}
	return nil
}

// stored is the name by which files have a column: its own, until it is mapped to another.
func stored(f *delta.Field) string { return f.PhysicalName() }

func typesFit(was, shape delta.Type, mapped bool, path string) error {
	switch a := was.(type) {
	case *delta.Struct:
		if b, ok := shape.(*delta.Struct); ok {
			return fieldsFit(a, b, mapped, path+".")
		}
	case *delta.Array:
		if b, ok := shape.(*delta.Array); ok && (b.ContainsNull || !a.ContainsNull) {
			return typesFit(a.Element, b.Element, mapped, path+".element")
		}
	case *delta.Map:
		if b, ok := shape.(*delta.Map); ok && (b.ValueContainsNull || !a.ValueContainsNull) {
			if err := typesFit(a.Key, b.Key, mapped, path+".key"); err != nil {
				return err
			}
			return typesFit(a.Value, b.Value, mapped, path+".value")
		}
	default:
		if was == shape || delta.Widens(was, shape) {
			return nil
		}
	}
	return fmt.Errorf("the column %s was %s and is %s", path, was, shape)
}
