package delta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits that keep a hostile schema from taking memory or stack. A table beyond them is refused as unsupported.
const (
	maxSchemaBytes  = 16 << 20
	maxSchemaLeaves = 10_000
	maxSchemaDepth  = 64
	maxNameBytes    = 1 << 10
)

// physicalNameKey is the field metadata that holds the name in data files and statistics under column mapping.
const physicalNameKey = "delta.columnMapping.physicalName"

// Type is a column's type: Primitive, Decimal, *Struct, *Array or *Map.
type Type interface {
	// String is the type in one line: "long", "decimal(10,2)", "array<long>", "map<string,long>",
	// "struct<a:long,b:string not null>". Primitives and decimals are spelled as in the schema's JSON.
	String() string
	isType()
}

// Primitive is a type named by a word.
type Primitive string

// The primitive types. Void is never stored and reads as NULL; Variant is held as a struct of two binaries.
const (
	String       Primitive = "string"
	Long         Primitive = "long"
	Integer      Primitive = "integer"
	Short        Primitive = "short"
	Byte         Primitive = "byte"
	Float        Primitive = "float"
	Double       Primitive = "double"
	Boolean      Primitive = "boolean"
	Binary       Primitive = "binary"
	Date         Primitive = "date"
	Timestamp    Primitive = "timestamp"
	TimestampNTZ Primitive = "timestamp_ntz"
	Void         Primitive = "void"
	Variant      Primitive = "variant"
)

// known says whether the word is one of the primitive types.
func (p Primitive) known() bool {
	switch p {
	case String, Long, Integer, Short, Byte, Float, Double, Boolean, Binary, Date, Timestamp, TimestampNTZ, Void, Variant:
		return true
	}
	return false
}

// Decimal is a fixed-point type: 1 ≤ Precision ≤ 38, 0 ≤ Scale ≤ Precision.
type Decimal struct{ Precision, Scale int }

func (d Decimal) valid() bool {
	return d.Precision >= 1 && d.Precision <= 38 && d.Scale >= 0 && d.Scale <= d.Precision
}

// Struct is a schema, or a column of fields.
type Struct struct{ Fields []Field }

// Array is a list of elements.
type Array struct {
	Element      Type
	ContainsNull bool
}

// Map is a list of entries.
type Map struct {
	Key, Value        Type
	ValueContainsNull bool
}

// Field is a named column. Metadata values are kept byte for byte: integers stay integers.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Metadata map[string]json.RawMessage
}

func (Primitive) isType() {}
func (Decimal) isType()   {}
func (*Struct) isType()   {}
func (*Array) isType()    {}
func (*Map) isType()      {}

func (p Primitive) String() string { return string(p) }

func (d Decimal) String() string {
	return "decimal(" + strconv.Itoa(d.Precision) + "," + strconv.Itoa(d.Scale) + ")"
}

func (s *Struct) String() string {
	var b strings.Builder
	b.WriteString("struct<")
	for i, f := range s.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f.Name)
		b.WriteByte(':')
		b.WriteString(f.Type.String())
		if !f.Nullable {
			b.WriteString(" not null")
		}
	}
	b.WriteByte('>')
	return b.String()
}

func (a *Array) String() string { return "array<" + a.Element.String() + ">" }

func (m *Map) String() string { return "map<" + m.Key.String() + "," + m.Value.String() + ">" }

// Index finds a top-level column, ignoring case; -1 if there is none.
func (s *Struct) Index(name string) int {
	if i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return i
	}
	folded := foldName(name)
	return slices.IndexFunc(s.Fields, func(f Field) bool { return foldName(f.Name) == folded })
}

// positions finds columns as Index does, in one step each: for those who look for as many as there are.
type positions struct{ exact, folded map[string]int }

func (s *Struct) positions() positions {
	p := positions{make(map[string]int, len(s.Fields)), make(map[string]int, len(s.Fields))}
	for i := len(s.Fields) - 1; i >= 0; i-- { // of twins the first
		p.exact[s.Fields[i].Name], p.folded[foldName(s.Fields[i].Name)] = i, i
	}
	return p
}

func (p positions) index(name string) int {
	if i, ok := p.exact[name]; ok {
		return i
	}
	if i, ok := p.folded[foldName(name)]; ok {
		return i
	}
	return -1
}

// foldName is the one relation under which column names are equal.
func foldName(name string) string { return strings.ToLower(name) }

// PhysicalName is the column's name in data files and statistics: its own name, unless column mapping gave it another.
func (f Field) PhysicalName() string {
	var name string
	if raw, ok := f.Metadata[physicalNameKey]; ok && json.Unmarshal(raw, &name) == nil && name != "" {
		return name
	}
	return f.Name
}

// JSON is the schemaString. Fields keep their order, metadata its bytes; metadata keys are sorted.
// A schema that was read from JSON reads again as an equal one; a user-defined type is written as its sqlType.
func (s *Struct) JSON() string { return string(appendType(nil, s)) }

func appendType(dst []byte, t Type) []byte {
	switch t := t.(type) {
	case *Struct:
		dst = append(dst, `{"type":"struct","fields":[`...)
		for i := range t.Fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendField(dst, &t.Fields[i])
		}
		return append(dst, "]}"...)
	case *Array:
		dst = append(dst, `{"type":"array","elementType":`...)
		dst = appendType(dst, t.Element)
		dst = append(dst, `,"containsNull":`...)
		return append(strconv.AppendBool(dst, t.ContainsNull), '}')
	case *Map:
		dst = append(dst, `{"type":"map","keyType":`...)
		dst = appendType(dst, t.Key)
		dst = append(dst, `,"valueType":`...)
		dst = appendType(dst, t.Value)
		dst = append(dst, `,"valueContainsNull":`...)
		return append(strconv.AppendBool(dst, t.ValueContainsNull), '}')
	}
	return appendQuoted(dst, t.String())
}

func appendField(dst []byte, f *Field) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendQuoted(dst, f.Name)
	dst = append(dst, `,"type":`...)
	dst = appendType(dst, f.Type)
	dst = append(dst, `,"nullable":`...)
	dst = strconv.AppendBool(dst, f.Nullable)
	dst = append(dst, `,"metadata":{`...)
	keys := make([]string, 0, len(f.Metadata))
	for k := range f.Metadata {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, k), ':')
		dst = append(dst, f.Metadata[k]...)
	}
	return append(dst, "}}"...)
}

// parseTypeName reads a type that is spelled as a string.
func parseTypeName(name string) (Type, error) {
	switch {
	case Primitive(name).known():
		return Primitive(name), nil
	case name == "null":
		return Void, nil
	case name == "decimal":
		return Decimal{10, 0}, nil
	case strings.HasPrefix(name, "decimal("):
		return parseDecimalType(name)
	case strings.HasPrefix(name, "geometry"), strings.HasPrefix(name, "geography"):
		return nil, fmt.Errorf("type %.80q needs the table feature geospatial, which idem lacks: %w", name, ErrUnsupported)
	}
	return nil, fmt.Errorf("type %.80q is not one that idem knows: %w", name, ErrUnsupported)
}

func parseDecimalType(name string) (Type, error) {
	inner, closed := strings.CutSuffix(strings.TrimPrefix(name, "decimal("), ")")
	left, right, comma := strings.Cut(inner, ",")
	precision, errP := strconv.ParseUint(strings.TrimSpace(left), 10, 8)
	scale, errS := strconv.ParseUint(strings.TrimSpace(right), 10, 8)
	d := Decimal{int(precision), int(scale)}
	if !closed || !comma || errP != nil || errS != nil || !d.valid() {
		return nil, fmt.Errorf("type %.80q: a decimal has a precision of 1 to 38 and a scale of 0 to the precision: %w", name, ErrCorrupt)
	}
	return d, nil
}
