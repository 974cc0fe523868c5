package changes

import (
	"fmt"
	"slices"

	"github.com/idemtable/idem/delta"
)

// fits says why the files of one version cannot be read in the columns of another; nil if they can.
// Columns may have been added, and widened. They are known by the names that files have them under,
// and must have kept their own, unless renamed says that those are theirs for good.
func fits(was, shape *delta.Snapshot, renamed bool) error {
	if was.Metadata() == shape.Metadata() {
		return nil
	}
	p := pair{was: was.Mapping() != delta.MappingNone, shape: shape.Mapping() != delta.MappingNone, renamed: renamed}
	if !slices.Equal(p.partitions(was, p.was), p.partitions(shape, p.shape)) {
		return fmt.Errorf("the partition columns are %v and not %v", shape.PartitionColumns(), was.PartitionColumns())
	}
	return p.fields(was.Schema(), shape.Schema(), "")
}

// pair says which of two tables has column mapping, and whether it had it ever since: then a column under
// another name is the same column.
type pair struct{ was, shape, renamed bool }

// partitions are the partition columns by the names that a column must have kept.
func (p pair) partitions(snap *delta.Snapshot, mapped bool) []string {
	out := slices.Clone(snap.PartitionColumns())
	for i, name := range out {
		if at := snap.Schema().Index(name); p.renamed && at >= 0 {
			out[i] = stored(&snap.Schema().Fields[at], mapped)
		}
	}
	return out
}

func stored(f *delta.Field, mapped bool) string {
	if mapped {
		return f.PhysicalName()
	}
	return f.Name
}

func (p pair) fields(was, shape *delta.Struct, path string) error {
	known := map[string]bool{}
	for i := range was.Fields {
		f := &was.Fields[i]
		j := slices.IndexFunc(shape.Fields, func(g delta.Field) bool { return stored(f, p.was) == stored(&g, p.shape) })
		if j < 0 {
			return fmt.Errorf("the column %s%s is gone, or another of its name has taken its place", path, f.Name)
		}
		g := &shape.Fields[j]
		known[g.Name] = true
		switch {
		case f.Name != g.Name && !p.renamed:
			return fmt.Errorf("the column %s%s was renamed %s", path, f.Name, g.Name)
		case f.Nullable && !g.Nullable:
			return fmt.Errorf("the column %s%s became NOT NULL", path, f.Name)
		}
		if err := p.types(f.Type, g.Type, path+f.Name); err != nil {
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

func (p pair) types(was, shape delta.Type, path string) error {
	switch a := was.(type) {
	case *delta.Struct:
		if b, ok := shape.(*delta.Struct); ok {
			return p.fields(a, b, path+".")
		}
	case *delta.Array:
		if b, ok := shape.(*delta.Array); ok && (b.ContainsNull || !a.ContainsNull) {
			return p.types(a.Element, b.Element, path+".element")
		}
	case *delta.Map:
		if b, ok := shape.(*delta.Map); ok && (b.ValueContainsNull || !a.ValueContainsNull) {
			if err := p.types(a.Key, b.Key, path+".key"); err != nil {
				return err
			}
			return p.types(a.Value, b.Value, path+".value")
		}
	default: // no file has a column that was void
		if was == shape || was == delta.Void || delta.Widens(was, shape) {
			return nil
		}
	}
	return fmt.Errorf("the column %s was %s and is %s", path, was, shape)
}
