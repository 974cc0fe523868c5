package delta

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Evolved is the snapshot as a commit that adds to the table's schema the columns that rows have and the table lacks would
// leave it, at the same version, with the names of those columns: dotted paths, in the order of rows. All else of the
// definition is kept. It is s itself if no column is new.
//
// A new column may be a field of a struct at any depth, also of one that is the element of a list or the value of a map. It
// goes to the end of its struct, and it and all below it are nullable, whatever rows say. Columns are found by name,
// ignoring case; those that the table has are left as they are, whatever their type in rows. Under column mapping new columns
// get ids and physical names, which are the same whenever they are worked out again for the same definition.
//
// Two names that differ only in case, a name or a type that the table cannot store, a new field in the key of a map, and a
// schema beyond the limits of [ParseSchema] wrap [ErrInput] and name the column. A table whose definition idem would not write
// back unharmed wraps [ErrUnsupported].
func (s *Snapshot) Evolved(rows *arrow.Schema) (*Snapshot, []string, error) {
	d := s.draft(Fresh{})
	e := evolver{protocol: s.Protocol(), leaves: countLeaves(s.Schema()), rules: newRules{mapped: d.mapped()}}
	var err error
	d.schema, err = e.structure(s.Schema(), rows.Fields(), "", 0)
	switch {
	case err != nil:
		return nil, nil, err
	case len(e.added) == 0:
		return s, nil, nil
	}
	edit, err := d.finish("add the columns " + strings.Join(e.added, ", "))
	if err != nil {
		return nil, nil, err
	}
	evolved, err := s.Edited(edit)
	return evolved, e.added, err
}

// Edited is the snapshot as a commit of an edit of it would leave it, at the same version: for
// further edits in the same commit, and to write files for. A nil edit leaves it as it is.
func (s *Snapshot) Edited(e *Edit) (*Snapshot, error) {
	if e == nil {
		return s, nil
	}
	state := s.state
	if e.Metadata != nil {
		state.metadata = e.Metadata
	}
	if e.Protocol != nil {
		state.protocol = e.Protocol
	}
	for _, x := range e.Domains {
		if x.Removed {
			state.domains = state.domains.without(x.Domain)
		} else {
			state.domains = state.domains.with(x.Domain, x)
		}
	}
	return newSnapshot(s.version, state, s.definition)
}

// evolver adds columns to a schema.
type evolver struct {
	protocol *Protocol
	leaves   int // of the schema so far
	rules    newRules
	added    []string
}

// structure gives s with the fields that it lacks, s itself if it lacks none. path is where the fields are: "" or the name
// of a struct with a dot; depth is that of the fields' types.
func (e *evolver) structure(s *Struct, fields []arrow.Field, path string, depth int) (*Struct, error) {
	if err := refuseArrowTwins(fields, path); err != nil {
		return nil, err
	}
	out, at := s, s.positions()
	for _, f := range fields {
		field, err := Field{}, error(nil)
		i := at.index(f.Name) // rows have no twins: what is added is not asked for again
		if i >= 0 {
			field = out.Fields[i]
			field.Type, err = e.within(field.Type, f.Type, path+field.Name, depth+1)
			if err == nil && field.Type == out.Fields[i].Type {
				continue
			}
		} else {
			field, err = e.add(f, path, depth)
		}
		if err != nil {
			return nil, err
		}
		if out == s {
			out = &Struct{Fields: slices.Clone(s.Fields)}
		}
		if i >= 0 {
			out.Fields[i] = field
		} else {
			out.Fields = append(out.Fields, field)
		}
	}
	return out, nil
}

func refuseArrowTwins(fields []arrow.Field, path string) error {
	seen := make(map[string]string, len(fields))
	for _, f := range fields {
		if first, twice := seen[foldName(f.Name)]; twice {
			return fmt.Errorf("the rows have two columns %q and %q, which are one name to Delta (it ignores case); rename or drop one: %w",
				path+first, path+f.Name, ErrInput)
		}
		seen[foldName(f.Name)] = f.Name
	}
	return nil
}

// within looks for new fields below a column that the table has, and gives its type with them.
func (e *evolver) within(t Type, dt arrow.DataType, path string, depth int) (Type, error) {
	if depth > maxSchemaDepth {
		return t, nil // deeper than any table: the types differ, which is not ours to say
	}
	dt = PlainArrowType(dt)
	switch t := t.(type) {
	case *Struct:
		if st, ok := dt.(*arrow.StructType); ok {
			return e.structure(t, st.Fields(), path+".", depth)
		}
	case *Array:
		list, ok := dt.(arrow.ListLikeType)
		if !ok || dt.ID() == arrow.MAP {
			return t, nil
		}
		element, err := e.within(t.Element, list.Elem(), path+".element", depth+1)
		if err != nil || element == t.Element {
			return t, err
		}
		return &Array{Element: element, ContainsNull: t.ContainsNull}, nil
	case *Map:
		if m, ok := dt.(*arrow.MapType); ok {
			return e.entries(t, m, path, depth)
		}
	}
	return t, nil
}

func (e *evolver) entries(t *Map, m *arrow.MapType, path string, depth int) (Type, error) {
	already := len(e.added)
	if _, err := e.within(t.Key, m.KeyType(), path+".key", depth+1); err != nil {
		return nil, err
	}
	if len(e.added) > already {
		return nil, fmt.Errorf("column %q: the rows have a field that the table lacks in the key of a map, and keys are not evolved: "+
			"drop it from the rows, or store the map in a new column: %w", e.added[already], ErrInput)
	}
	value, err := e.within(t.Value, m.ItemType(), path+".value", depth+1)
	if err != nil || value == t.Value {
		return t, err
	}
	return &Map{Key: t.Key, Value: value, ValueContainsNull: t.ValueContainsNull}, nil
}

// PlainArrowType looks through the encodings of a type: dictionaries, runs and extensions.
func PlainArrowType(dt arrow.DataType) arrow.DataType {
	for {
		switch t := dt.(type) {
		case *arrow.DictionaryType:
			dt = t.ValueType
		case *arrow.RunEndEncodedType:
			dt = t.Encoded()
		case arrow.ExtensionType:
			dt = t.StorageType()
		default:
			return dt
		}
	}
}

// add makes a new field and checks it as ValidateNew checks those of a new table.
func (e *evolver) add(f arrow.Field, path string, depth int) (Field, error) {
	name := path + f.Name
	if path == "" {
		if err := refuseReserved(f.Name); err != nil {
			return Field{}, err
		}
	}
	t, err := fromArrowType(f.Type, name, depth+1)
	if err != nil {
		return Field{}, err
	}
	field := Field{Name: f.Name, Type: nullable(t), Nullable: true}
	if err := validateName(path, &field, e.rules.mapped); err != nil {
		return Field{}, err
	}
	one := &Struct{Fields: []Field{field}}
	if c := columnOfType(one, Void); c != "" {
		return Field{}, fmt.Errorf("column %q is new, and has no type in the rows (Arrow null): give it the type that it shall have, or drop it: %w", path+c, ErrInput)
	}
	if err := e.rules.typ(field.Type, name, depth+1, &e.leaves); err != nil {
		return Field{}, err
	}
	if c := columnOfType(one, TimestampNTZ); c != "" && !e.protocol.Supports("timestampNtz") {
		return Field{}, fmt.Errorf("column %q is new, and is a timestamp without a zone, for which the table needs the feature timestampNtz: "+
			"add the feature to the table, or give the rows' column its time zone: %w", path+c, ErrInput)
	}
	e.added = append(e.added, name)
	return field, nil
}

// nullable gives a type in which nothing is NOT NULL.
func nullable(t Type) Type {
	switch t := t.(type) {
	case *Struct:
		out := &Struct{Fields: slices.Clone(t.Fields)}
		for i := range out.Fields {
			out.Fields[i].Type, out.Fields[i].Nullable = nullable(out.Fields[i].Type), true
		}
		return out
	case *Array:
		return &Array{Element: nullable(t.Element), ContainsNull: true}
	case *Map:
		return &Map{Key: nullable(t.Key), Value: nullable(t.Value), ValueContainsNull: true}
	}
	return t
}

// countLeaves counts leaf columns as newRules.typ does.
func countLeaves(t Type) int {
	n := 0
	switch t := t.(type) {
	case *Struct:
		for i := range t.Fields {
			n += countLeaves(t.Fields[i].Type)
		}
	case *Array:
		n = countLeaves(t.Element)
	case *Map:
		n = countLeaves(t.Key) + countLeaves(t.Value)
	default:
		n = 1
	}
	return n
}
