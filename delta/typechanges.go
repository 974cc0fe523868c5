package delta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// WidenColumn gives a column, or with a path that ends in "element", "key" or "value" what an array
// or a map holds, a type that holds every value of the old one (see [Widens]). Files keep what they
// have; the change is recorded in the column's metadata. It needs delta.enableTypeWidening=true,
// unless the column is void: no file has it. What is no widening, and a column that a constraint or a
// generated column names, wrap [ErrInput].
func (s *Snapshot) WidenColumn(path []string, to Type) (*Edit, error) {
	d, what := s.draft(Fresh{}), fmt.Sprintf("change the type of the column %s to %s", showPath(path), to)
	column, inner := splitPath(d.schema, path)
	widened := false
	err := d.inStruct(column, func(in *Struct, name, _ string) (*Struct, error) {
		i := in.Index(name)
		if i < 0 {
			return nil, noColumn(path)
		}
		f, err := d.widen(in.Fields[i], inner, to)
		if err != nil || f.Type == in.Fields[i].Type {
			return in, err
		}
		widened = true
		d.useType(to)
		out := cloneStruct(in)
		out.Fields[i] = f
		return out, nil
	})
	if err == nil && widened {
		err = d.refuseUsed(column, column[len(column)-1])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d.finish(what)
}

// splitPath cuts a path behind the last field of a struct in it: what follows leads through arrays
// and maps.
func splitPath(t Type, path []string) (column, inner []string) {
	last := 0
	for i, name := range path {
		switch at := t.(type) {
		case *Struct:
			last = i
			j := at.Index(name)
			if j < 0 {
				return path, nil
			}
			t = at.Fields[j].Type
		case *Array:
			t = at.Element
		case *Map:
			if t = at.Value; foldName(name) == "key" {
				t = at.Key
			}
		default:
			return path, nil
		}
	}
	if len(path) == 0 {
		return nil, nil
	}
	return path[:last+1], path[last+1:]
}

// widen gives a field whose type, or what inner leads to in it, is another.
func (d *draft) widen(f Field, inner []string, to Type) (Field, error) {
	var from Type
	t, err := retype(f.Type, inner, func(old Type) (Type, error) {
		from = old
		return to, d.checkWidening(&f, old, to)
	})
	if err != nil || t == f.Type {
		return f, err
	}
	if f.Type = t; from == Void {
		return f, nil
	}
	f.Metadata, err = withTypeChange(f.Metadata, inner, from, to)
	return f, err
}

// retype replaces the type that a path through arrays and maps leads to.
func retype(t Type, inner []string, edit func(Type) (Type, error)) (Type, error) {
	if len(inner) == 0 {
		return edit(t)
	}
	switch t := t.(type) {
	case *Array:
		if foldName(inner[0]) == "element" {
			element, err := retype(t.Element, inner[1:], edit)
			if err != nil || element == t.Element {
				return t, err
			}
			return &Array{Element: element, ContainsNull: t.ContainsNull}, nil
		}
	case *Map:
		out, err := *t, error(nil)
		switch foldName(inner[0]) {
		case "key":
			out.Key, err = retype(t.Key, inner[1:], edit)
		case "value":
			out.Value, err = retype(t.Value, inner[1:], edit)
		default:
			return t, fmt.Errorf("a map has a key and a value, no %q: %w", inner[0], ErrInput)
		}
		if err != nil || out == *t {
			return t, err
		}
		return &out, nil
	}
	return t, fmt.Errorf("%s has no %q: %w", t, inner[0], ErrInput)
}

func (d *draft) checkWidening(f *Field, from, to Type) error {
	switch {
	case to == nil:
		return fmt.Errorf("no type is given: %w", ErrInput)
	case from == to:
		return nil
	case from == Void:
		return checkLeaf(to)
	case !Widens(from, to):
		return fmt.Errorf("it is %s, and not every value of that is one of %s: only types that hold all old values are taken: %w", from, to, ErrInput)
	case !supportsAny(&d.protocol, "typeWidening") || !isTrue(&d.meta, "delta.enableTypeWidening"):
		return fmt.Errorf("it is %s: set delta.enableTypeWidening to true first: %w", from, ErrInput)
	case hasKey(f, IdentityStartKey):
		return fmt.Errorf("it is an identity column, which is a long: %w", ErrInput)
	case hasKey(f, GenerationKey) && d.protocol.Supports(generatedFeature):
		return fmt.Errorf("it is a generated column, and has the type of its expression: %w", ErrInput)
	}
	return nil
}

// checkLeaf takes the types that a column without files may get in one step.
func checkLeaf(t Type) error {
	leaves := 0
	return newRules{}.typ(t, "", 0, &leaves)
}

// withTypeChange adds a change of type to a field's record of them, which it keeps byte for byte.
func withTypeChange(metadata map[string]json.RawMessage, inner []string, from, to Type) (map[string]json.RawMessage, error) {
	var list []json.RawMessage
	if raw, ok := metadata[typeChangesKey]; ok {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", typeChangesKey, ErrCorrupt, err)
		}
	}
	change := map[string]string{"fromType": from.String(), "toType": to.String()}
	if len(inner) > 0 {
		change["fieldPath"] = strings.ToLower(strings.Join(inner, "."))
	}
	raw, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(metadata)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	out[typeChangesKey], err = json.Marshal(append(slices.Clip(list), raw))
	return out, err
}

// changedTypes yields the recorded changes of type of all columns, each with the column's path.
func changedTypes(s *Struct, yield func(column string, from, to Type) error) error {
	var err error
	findField(s, "", func(f *Field) bool {
		var list []typeChange
		raw, ok := f.Metadata[typeChangesKey]
		if !ok || json.Unmarshal(raw, &list) != nil {
			return false // broken records are refused where they are read
		}
		for _, c := range list {
			if c.From == nil || c.To == nil {
				continue
			}
			from, errFrom := parseTypeName(*c.From)
			to, errTo := parseTypeName(*c.To)
			if errFrom == nil && errTo == nil && err == nil {
				err = yield(f.Name, from, to)
			}
		}
		return err != nil
	})
	return err
}
