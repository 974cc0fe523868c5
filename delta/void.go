package delta

import (
	"fmt"
	"slices"
)

// checkVoid refuses to write to a table in which void is where no file can leave it out: inside an array or a map, or
// with nothing beside it in its struct or among the columns that files hold. What it refuses wraps ErrUnsupported.
func checkVoid(m *Metadata, s *Struct) error {
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Type != Void {
			if err := checkVoidBelow(f.Type, f.Name); err != nil {
				return err
			}
		}
	}
	if columnOfType(s, Void) != "" && !storesColumns(m, s) {
		return fmt.Errorf("%w: no column is left to store: void is in no file; add a column of a type before writing", ErrUnsupported)
	}
	return nil
}

// storesColumns says whether files hold a column of the table beside those of its partitions.
func storesColumns(m *Metadata, s *Struct) bool {
	return slices.ContainsFunc(s.Fields, func(f Field) bool {
		return f.Type != Void && !slices.ContainsFunc(m.PartitionColumns, func(name string) bool { return foldName(name) == foldName(f.Name) })
	})
}

func checkVoidBelow(t Type, path string) error {
	switch t := t.(type) {
	case *Array:
		return checkVoidInside(t.Element, path+".element")
	case *Map:
		if err := checkVoidInside(t.Key, path+".key"); err != nil {
			return err
		}
		return checkVoidInside(t.Value, path+".value")
	case *Struct:
		stored := len(t.Fields) == 0
		for i := range t.Fields {
			f := &t.Fields[i]
			if f.Type == Void {
				continue
			}
			stored = true
			if err := checkVoidBelow(f.Type, path+"."+f.Name); err != nil {
				return err
			}
		}
		if !stored {
			return fmt.Errorf("%w: the struct %s holds void alone, which no file stores; give a field of it a type before writing", ErrUnsupported, path)
		}
	}
	return nil
}

func checkVoidInside(t Type, path string) error {
	if t == Void {
		return fmt.Errorf("%w: %s is void, which no array or map of a file can hold; give it a type before writing", ErrUnsupported, path)
	}
	return checkVoidBelow(t, path)
}
