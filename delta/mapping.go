package delta

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// MappingMode says how a table's columns are found in its data files.
type MappingMode string

// The modes. Under MappingName data files have columns by their physical names; under MappingID the
// field id counts, whatever the name. Log and statistics have physical names in both.
const (
	MappingNone MappingMode = "none"
	MappingName MappingMode = "name"
	MappingID   MappingMode = "id"
)

// FieldIDKey is the metadata of an Arrow field that holds its field id in Parquet, as decimal text.
const FieldIDKey = "PARQUET:field_id"

const (
	mappingFeature = "columnMapping"
	mappingIDKey   = "delta.columnMapping.id"
	nestedIDsKey   = "delta.columnMapping.nested.ids"
)

// mapping is what column mapping makes of a definition. The nil mapping is MappingNone.
type mapping struct {
	mode     MappingMode
	stored   map[string]arrow.Field // top-level columns as files have them, by logical name
	physical map[string]string      // top-level physical names, by logical name
}

// Mapping is the table's mode of column mapping. A mode that the protocol does not support, or that
// nobody defined, is none: the gate refuses the latter.
func (s *Snapshot) Mapping() MappingMode {
	if m := s.definition.mapping; m != nil {
		return m.mode
	}
	return MappingNone
}

// Stored gives columns as data files have them. columns are top-level columns of ArrowSchema, in any
// order; under column mapping they come back with physical names, and with field ids under
// FieldIDKey, at every level. The columns of RowIDColumn and RowCommitVersionColumn get the names
// under which the table materialises them. Without anything to rename it is columns itself.
func (s *Snapshot) Stored(columns *arrow.Schema) *arrow.Schema {
	ids, versions := s.MaterialisedRowIDs()
	m := s.definition.mapping
	if m == nil && ids == "" && versions == "" {
		return columns
	}
	fields := slices.Clone(columns.Fields())
	for i := range fields {
		name := fields[i].Name
		_, ours := s.definition.rows.FieldsByName(name)
		switch {
		case ours && m != nil:
			fields[i] = m.stored[name]
		case ours:
		case name == RowIDColumn && ids != "":
			fields[i].Name = ids
		case name == RowCommitVersionColumn && versions != "":
			fields[i].Name = versions
		}
	}
	return arrow.NewSchema(fields, nil)
}

// PartitionKey is the key of a partition column, named as the schema spells it, in the partition
// values of files: its physical name under column mapping.
func (s *Snapshot) PartitionKey(column string) string {
	if m := s.definition.mapping; m != nil {
		if name, ok := m.physical[column]; ok {
			return name
		}
	}
	return column
}

// StoredPath gives the names that statistics and clustering use for a column, whose names from the
// top are given as the schema spells them: physical ones under column mapping. ok is false for what
// is no column.
func (s *Snapshot) StoredPath(column []string) (path []string, ok bool) {
	var t Type = s.definition.schema
	for _, name := range column {
		fields, isStruct := t.(*Struct)
		if !isStruct {
			return nil, false
		}
		i := fields.Index(name)
		if i < 0 {
			return nil, false
		}
		f := &fields.Fields[i]
		stored := f.Name
		if s.definition.mapping != nil {
			stored = f.PhysicalName()
		}
		path, t = append(path, stored), f.Type
	}
	return path, len(path) > 0
}

// remap works out the mapping, or keeps the one that still holds.
func (d *definition) remap(p *Protocol, m *Metadata) {
	mode, _ := effectiveMapping(p, m)
	if mode == MappingNone {
		d.mapping = nil
		return
	}
	if d.mapping != nil && d.mapping.mode == mode {
		return
	}
	d.mapping = &mapping{mode: mode, stored: map[string]arrow.Field{}, physical: map[string]string{}}
	for i := range d.schema.Fields {
		f := &d.schema.Fields[i]
		d.mapping.stored[f.Name] = storedField(f)
		d.mapping.physical[f.Name] = f.PhysicalName()
	}
}

// effectiveMapping reads the mode that a protocol and a metadata give effect to. It is false for a mode
// that is in effect and that nobody defined.
func effectiveMapping(p *Protocol, m *Metadata) (MappingMode, bool) {
	text, set := m.Configuration[propMappingMode]
	if !set || !slices.Contains(readerNames(p), mappingFeature) {
		return MappingNone, true
	}
	switch mode := MappingMode(strings.ToLower(text)); mode {
	case MappingNone, MappingName, MappingID:
		return mode, true
	}
	return MappingNone, false
}

// storedField gives a column of the schema, at any depth, as data files have it.
func storedField(f *Field) arrow.Field {
	nested := map[string]json.Number{}
	if raw, ok := f.Metadata[nestedIDsKey]; ok {
		_ = json.Unmarshal(raw, &nested) // ids of elements are for readers of other formats; without them files are as good
	}
	name := f.PhysicalName()
	w := storedTypes{ids: nested}
	out := arrow.Field{Name: name, Type: w.of(f.Type, name), Nullable: f.Nullable}
	if id, ok := f.mappingID(); ok {
		out.Metadata = fieldID(strconv.FormatInt(int64(id), 10))
	}
	return out
}

func fieldID(text string) arrow.Metadata {
	return arrow.NewMetadata([]string{FieldIDKey}, []string{text})
}

// storedTypes gives the types of one column; ids are those of the elements, keys and values of its
// arrays and maps, by their path from its physical name.
type storedTypes struct{ ids map[string]json.Number }

func (w storedTypes) of(t Type, path string) arrow.DataType {
	switch t := t.(type) {
	case *Struct:
		fields := make([]arrow.Field, len(t.Fields))
		for i := range t.Fields {
			fields[i] = storedField(&t.Fields[i])
		}
		return arrow.StructOf(fields...)
	case *Array:
		return arrow.ListOfField(w.part("element", t.Element, path, t.ContainsNull))
	case *Map:
		return arrow.MapOfFields(w.part("key", t.Key, path, false), w.part("value", t.Value, path, t.ValueContainsNull))
	}
	dt, err := ArrowType(t)
	if err != nil { // a definition has Arrow types throughout
		return arrow.Null
	}
	return dt
}

func (w storedTypes) part(name string, t Type, path string, nullable bool) arrow.Field {
	path += "." + name
	f := arrow.Field{Name: name, Type: w.of(t, path), Nullable: nullable}
	if id, ok := w.ids[path]; ok {
		f.Metadata = fieldID(id.String())
	}
	return f
}

// mappingID is the column's id under column mapping.
func (f *Field) mappingID() (id int32, ok bool) {
	n, err := strconv.ParseInt(string(f.Metadata[mappingIDKey]), 10, 64)
	return int32(n), err == nil && n >= 0 && n <= math.MaxInt32
}

// checkMapping refuses a mode that nobody defined and, under column mapping, a schema in which a
// field at any depth lacks its id or its physical name, or shares them.
func checkMapping(p *Protocol, m *Metadata, s *Struct) error {
	mode, known := effectiveMapping(p, m)
	if !known {
		return fmt.Errorf("%w: the column mapping mode %q is none of none, name and id", ErrCorrupt, m.Configuration[propMappingMode])
	}
	if mode == MappingNone || s == nil {
		return nil
	}
	return mappingRules{ids: map[int32]string{}}.check(s, "")
}

// mappingRules holds the columns by the ids that were met.
type mappingRules struct{ ids map[int32]string }

func (r mappingRules) check(t Type, path string) error {
	switch t := t.(type) {
	case *Struct:
		return r.checkFields(t.Fields, path)
	case *Array:
		return r.check(t.Element, path+"element.")
	case *Map:
		if err := r.check(t.Key, path+"key."); err != nil {
			return err
		}
		return r.check(t.Value, path+"value.")
	}
	return nil
}

func (r mappingRules) checkFields(fields []Field, path string) error {
	names := make(map[string]string, len(fields))
	for i := range fields {
		f := &fields[i]
		column := path + f.Name
		id, ok := f.mappingID()
		if !ok {
			return fmt.Errorf("%w: column mapping is on, but the column %s has no %s that is an id", ErrCorrupt, column, mappingIDKey)
		}
		if other, twice := r.ids[id]; twice {
			return fmt.Errorf("%w: the columns %s and %s share the %s %d", ErrCorrupt, other, column, mappingIDKey, id)
		}
		r.ids[id] = column
		var name string
		if json.Unmarshal(f.Metadata[physicalNameKey], &name) != nil || name == "" {
			return fmt.Errorf("%w: column mapping is on, but the column %s has no %s", ErrCorrupt, column, physicalNameKey)
		}
		if other, twice := names[name]; twice {
			return fmt.Errorf("%w: the columns %s and %s share the %s %q", ErrCorrupt, other, column, physicalNameKey, name)
		}
		names[name] = column
		if err := r.check(f.Type, column+"."); err != nil {
			return err
		}
	}
	return nil
}
