package delta

import (
	"fmt"
	"slices"
	"strings"
)

// inStruct edits the struct that holds the column of a path. edit is given the struct, the column's
// name and, for texts, the struct's place ("" or a path with a dot); it returns the struct itself if
// nothing is to change, and a new one otherwise.
func (d *draft) inStruct(path []string, edit func(s *Struct, name, at string) (*Struct, error)) error {
	if len(path) == 0 {
		return fmt.Errorf("no column is named: %w", ErrInput)
	}
	was := d.schema
	t, err := editWithin(was, path, "", edit)
	if err != nil {
		return err
	}
	if d.schema = t.(*Struct); d.schema == was || len(path) == 1 {
		return nil
	}
	return d.relimit(was, path[0])
}

// editWithin gives t with its struct edited, t itself if nothing changed.
func editWithin(t Type, path []string, at string, edit func(*Struct, string, string) (*Struct, error)) (Type, error) {
	switch t := t.(type) {
	case *Struct:
		if len(path) == 1 {
			return edit(t, path[0], at)
		}
		i := t.Index(path[0])
		if i < 0 {
			return nil, fmt.Errorf("there is no column %s%s: %w", at, path[0], ErrInput)
		}
		below, err := editWithin(t.Fields[i].Type, path[1:], at+t.Fields[i].Name+".", edit)
		if err != nil || below == t.Fields[i].Type {
			return t, err
		}
		out := cloneStruct(t)
		out.Fields[i].Type = below
		return out, nil
	case *Array:
		if len(path) > 1 && foldName(path[0]) == "element" {
			below, err := editWithin(t.Element, path[1:], at+"element.", edit)
			if err != nil || below == t.Element {
				return t, err
			}
			return &Array{Element: below, ContainsNull: t.ContainsNull}, nil
		}
	case *Map:
		if len(path) > 1 {
			return editEntries(t, path, at, edit)
		}
	}
	return nil, fmt.Errorf("%s is of type %s, in which there is no column %q: %w", strings.TrimSuffix(at, "."), t, path[0], ErrInput)
}

func editEntries(m *Map, path []string, at string, edit func(*Struct, string, string) (*Struct, error)) (Type, error) {
	out := *m
	var err error
	switch foldName(path[0]) {
	case "key":
		out.Key, err = editWithin(m.Key, path[1:], at+"key.", edit)
	case "value":
		out.Value, err = editWithin(m.Value, path[1:], at+"value.", edit)
	default:
		return nil, fmt.Errorf("%s is a map: name its key or its value, not %q: %w", strings.TrimSuffix(at, "."), path[0], ErrInput)
	}
	if err != nil || out == *m {
		return m, err
	}
	return &out, nil
}

// insideKey says whether a path leads into the key of a map.
func insideKey(t Type, path []string) bool {
	for _, name := range path {
		switch at := t.(type) {
		case *Struct:
			i := at.Index(name)
			if i < 0 {
				return false
			}
			t = at.Fields[i].Type
		case *Array:
			t = at.Element
		case *Map:
			if foldName(name) == "key" {
				return true
			}
			t = at.Value
		}
	}
	return false
}

// placed gives a struct with a field at a place.
func placed(s *Struct, f Field, to Place) (*Struct, error) {
	at := len(s.Fields)
	switch {
	case to.First && to.After != "":
		return nil, fmt.Errorf("a place is first or behind a column, not both: %w", ErrInput)
	case to.First:
		at = 0
	case to.After != "":
		i := s.Index(to.After)
		if i < 0 {
			return nil, fmt.Errorf("there is no column %q to stand behind: %w", to.After, ErrInput)
		}
		at = i + 1
	}
	out := cloneStruct(s)
	out.Fields = slices.Insert(out.Fields, at, f)
	return out, nil
}

func cloneStruct(s *Struct) *Struct { return &Struct{Fields: slices.Clone(s.Fields)} }

func noColumn(path []string) error {
	return fmt.Errorf("there is no column %s: %w", showPath(path), ErrInput)
}

func showPath(path []string) string { return strings.Join(path, ".") }

// samePrefix says whether one of two paths begins with the other, ignoring case.
func samePrefix(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.EqualFunc(a[:n], b[:n], func(x, y string) bool { return foldName(x) == foldName(y) })
}

// sameType compares types with the nullability in them; what fields say beside does not count.
func sameType(a, b Type) bool {
	switch a := a.(type) {
	case *Struct:
		b, ok := b.(*Struct)
		return ok && slices.EqualFunc(a.Fields, b.Fields, func(x, y Field) bool {
			return foldName(x.Name) == foldName(y.Name) && x.Nullable == y.Nullable && sameType(x.Type, y.Type)
		})
	case *Array:
		b, ok := b.(*Array)
		return ok && a.ContainsNull == b.ContainsNull && sameType(a.Element, b.Element)
	case *Map:
		b, ok := b.(*Map)
		return ok && a.ValueContainsNull == b.ValueContainsNull && sameType(a.Key, b.Key) && sameType(a.Value, b.Value)
	}
	switch b.(type) {
	case *Struct, *Array, *Map:
		return false
	}
	return a == b
}
