package delta

import (
	"maps"
	"slices"
	"strings"
)

// relimit makes the lengths that a top-level column declares speak of its type as it is now: each goes with its field.
func (d *draft) relimit(was *Struct, column string) error {
	old := was.Fields[was.Index(column)]
	limits, err := old.CharType()
	if err != nil || limits == nil {
		return err
	}
	out := cloneStruct(d.schema)
	f := &out.Fields[out.Index(column)]
	f.Metadata = maps.Clone(f.Metadata)
	delete(f.Metadata, CharTypeKey)
	if limits = limits.follow(old.Type, f.Type); limits != nil {
		err = f.setText(CharTypeKey, declared(f.Type, limits))
	}
	d.schema = out
	return err
}

// follow gives the limits of a type to what it became by an edit of one of its fields.
func (c *CharType) follow(was, is Type) *CharType {
	if c == nil || c.Name != "" {
		return c
	}
	out := &CharType{}
	take := func(key string, limit *CharType) {
		if limit != nil {
			if out.below == nil {
				out.below = map[string]*CharType{}
			}
			out.below[key] = limit
		}
	}
	switch was := was.(type) {
	case *Struct:
		is := is.(*Struct)
		for _, f := range is.Fields {
			if from := formerly(was, is, f.Name); from >= 0 {
				old := was.Fields[from]
				take(foldName(f.Name), c.Field(old.Name).follow(old.Type, f.Type))
			}
		}
	case *Array:
		take("<element>", c.Element().follow(was.Element, is.(*Array).Element))
	case *Map:
		is := is.(*Map)
		take("<key>", c.Key().follow(was.Key, is.Key))
		take("<value>", c.Value().follow(was.Value, is.Value))
	}
	return out.orNil()
}

// formerly is where a field stood in a struct of which one field was edited, -1 if it is new. One that has another
// name now is the only one whose name is gone.
func formerly(was, is *Struct, name string) int {
	has := func(s *Struct, name string) bool {
		return slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Name == name })
	}
	if !has(was, name) && len(was.Fields) == len(is.Fields) {
		return slices.IndexFunc(was.Fields, func(f Field) bool { return !has(is, f.Name) })
	}
	return slices.IndexFunc(was.Fields, func(f Field) bool { return f.Name == name })
}

// declared spells a type in SQL, its strings as long as they may be.
func declared(t Type, c *CharType) string {
	if c != nil && c.Name != "" {
		return c.Name
	}
	switch t := t.(type) {
	case *Struct:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = joinName([]string{f.Name}) + ":" + declared(f.Type, c.Field(f.Name))
		}
		return "struct<" + strings.Join(fields, ",") + ">"
	case *Array:
		return "array<" + declared(t.Element, c.Element()) + ">"
	case *Map:
		return "map<" + declared(t.Key, c.Key()) + "," + declared(t.Value, c.Value()) + ">"
	}
	switch t {
	case Byte:
		return "tinyint"
	case Short:
		return "smallint"
	case Integer:
		return "int"
	case Long:
		return "bigint"
	}
	return t.String()
}
