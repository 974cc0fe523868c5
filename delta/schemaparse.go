package delta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ParseSchema reads a schemaString. What is not JSON or has not the shape of a schema wraps ErrCorrupt, and so do two names
// of one struct that differ only in case. A type that idem does not know, or a schema beyond its limits (16 MiB, 10,000 leaves,
// 64 levels, 1 KiB a name), wraps ErrUnsupported. A user-defined type reads as its sqlType.
func ParseSchema(text string) (*Struct, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("schemaString: %d bytes, idem reads at most %d: %w", len(text), maxSchemaBytes, ErrUnsupported)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("schemaString is not UTF-8: %w", ErrCorrupt)
	}
	t, err := newSchemaParser(text).parse()
	if err != nil {
		return nil, fmt.Errorf("schemaString: %w", err)
	}
	s, ok := t.(*Struct)
	if !ok {
		return nil, fmt.Errorf("schemaString is of type %.80q, not a struct: %w", t.String(), ErrCorrupt)
	}
	return s, nil
}

// writesBack says whether all that a schemaString says is in the schema that it reads as: not so with a user-defined type
// or with members that idem does not know.
func writesBack(text string) bool {
	p := newSchemaParser(text)
	_, err := p.parse()
	return err == nil && !p.lost
}

// maxSchemaNesting bounds how deep JSON may nest in a schemaString: three objects and lists a level, and what the metadata
// of fields, which nobody here reads, hold.
const maxSchemaNesting = 1000

// schemaParser reads a schema once, left to right, whatever the order of an object's members. Of a member that stands
// twice the last counts.
type schemaParser struct {
	scanner
	leaves int
	lost   bool // something was read that the schema does not hold
}

func newSchemaParser(text string) *schemaParser {
	return &schemaParser{scanner: scanner{data: []byte(text), deep: maxSchemaNesting}}
}

// parse reads the whole text. What is wrong with it as JSON is ErrCorrupt, or ErrUnsupported beyond a limit.
func (p *schemaParser) parse() (Type, error) {
	t, err := p.parseType(0)
	if err == nil {
		err = p.end()
	}
	switch {
	case errors.Is(err, errLimit):
		return nil, fmt.Errorf("%w: %w", err, ErrUnsupported)
	case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported):
		return nil, fmt.Errorf("not the JSON of a schema: %w: %w", err, ErrCorrupt)
	}
	return t, err
}

// typeNode is an object that describes a type, before it is known which.
type typeNode struct {
	name                         string // the "type" member
	fields                       []Field
	hasFields                    bool
	element, key, value, sqlType Type
	containsNull, valueContNull  *bool
}

func (p *schemaParser) parseType(depth int) (Type, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("types are nested deeper than the %d levels that idem reads: %w", maxSchemaDepth, ErrUnsupported)
	}
	switch p.peek() {
	case '"':
		name, err := p.str()
		if err == nil {
			err = p.countLeaf()
		}
		if err != nil {
			return nil, err
		}
		return parseTypeName(name)
	case '{':
		return p.parseTypeObject(depth)
	}
	return nil, p.another("a type is %.80s, neither a name nor an object")
}

// another reads a value that should not stand there, and says so.
func (p *schemaParser) another(format string) error {
	text, err := p.raw()
	if err != nil {
		return err
	}
	return fmt.Errorf(format+": %w", text, ErrCorrupt)
}

func (p *schemaParser) countLeaf() error {
	if p.leaves++; p.leaves > maxSchemaLeaves {
		return fmt.Errorf("more than the %d leaf columns that idem reads: %w", maxSchemaLeaves, ErrUnsupported)
	}
	return nil
}

func (p *schemaParser) parseTypeObject(depth int) (Type, error) {
	var n typeNode
	err := p.object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			n.name, err = schemaMember(p, "type", n.name, p.str)
		case "fields":
			n.hasFields = true
			n.fields, err = p.parseFields(depth + 1)
		case "elementType":
			n.element, err = p.parseType(depth + 1)
		case "keyType":
			n.key, err = p.parseType(depth + 1)
		case "valueType":
			n.value, err = p.parseType(depth + 1)
		case "sqlType":
			n.sqlType, err = p.parseType(depth + 1)
		case "containsNull":
			n.containsNull, err = schemaMember(p, "containsNull", nil, p.flag)
		case "valueContainsNull":
			n.valueContNull, err = schemaMember(p, "valueContainsNull", nil, p.flag)
		default:
			err = p.unknown()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.build(n)
}

// schemaMember reads the value of a member, which null leaves as it is given.
func schemaMember[T any](p *schemaParser, key string, null T, read func() (T, error)) (T, error) {
	if p.null() {
		return null, nil
	}
	v, err := read()
	if err != nil {
		return v, fmt.Errorf("%q: %w", key, err)
	}
	return v, nil
}

func (p *schemaParser) flag() (*bool, error) {
	b, err := p.boolean()
	return &b, err
}

// unknown reads the value of a member that idem does not know.
func (p *schemaParser) unknown() error {
	p.lost = true
	return p.skip()
}

// build makes the type that the members of an object describe.
func (p *schemaParser) build(n typeNode) (Type, error) {
	switch n.name {
	case "struct":
		if !n.hasFields {
			return nil, fmt.Errorf("a struct without fields: %w", ErrCorrupt)
		}
		if len(n.fields) == 0 {
			return &Struct{}, p.countLeaf()
		}
		return &Struct{Fields: n.fields}, checkTwins(n.fields)
	case "array":
		if n.element == nil || n.containsNull == nil {
			return nil, fmt.Errorf("an array without elementType or containsNull: %w", ErrCorrupt)
		}
		return &Array{Element: n.element, ContainsNull: *n.containsNull}, nil
	case "map":
		if n.key == nil || n.value == nil || n.valueContNull == nil {
			return nil, fmt.Errorf("a map without keyType, valueType or valueContainsNull: %w", ErrCorrupt)
		}
		return &Map{Key: n.key, Value: n.value, ValueContainsNull: *n.valueContNull}, nil
	case "udt":
		if n.sqlType == nil {
			return nil, fmt.Errorf("a user-defined type without sqlType: %w", ErrUnsupported)
		}
		p.lost = true
		return n.sqlType, nil
	case "":
		return nil, fmt.Errorf("an object where a type is expected has no type member: %w", ErrCorrupt)
	}
	return nil, fmt.Errorf("type %.80q is not one that idem knows: %w", n.name, ErrUnsupported)
}

// checkTwins finds two names of one struct that differ only in case.
func checkTwins(fields []Field) error {
	if a, b, ok := caseTwins(fields); ok {
		return fmt.Errorf("columns %q and %q of one struct differ only in case: %w", a, b, ErrCorrupt)
	}
	return nil
}

func caseTwins(fields []Field) (a, b string, found bool) {
	seen := make(map[string]string, len(fields))
	for i := range fields {
		folded := foldName(fields[i].Name)
		if first, ok := seen[folded]; ok {
			return first, fields[i].Name, true
		}
		seen[folded] = fields[i].Name
	}
	return "", "", false
}

func (p *schemaParser) parseFields(depth int) ([]Field, error) {
	if p.peek() != '[' {
		return nil, p.another("fields is %.80s, not a list")
	}
	var fields []Field
	err := p.array(func() error {
		f, err := p.parseField(depth)
		fields = append(fields, f)
		return err
	})
	return fields, err
}

func (p *schemaParser) parseField(depth int) (Field, error) {
	if p.peek() != '{' {
		return Field{}, p.another("a field is %.80s, not an object")
	}
	var name *string
	var nullable *bool
	var f Field
	err := p.object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			name, err = schemaMember(p, "name", nil, func() (*string, error) {
				s, err := p.str()
				return &s, err
			})
		case "type":
			f.Type, err = p.parseType(depth)
		case "nullable":
			nullable, err = schemaMember(p, "nullable", nil, p.flag)
		case "metadata":
			f.Metadata, err = schemaMember(p, "metadata", nil, p.fieldMetadata)
		default:
			err = p.unknown()
		}
		return err
	})
	switch {
	case err != nil && name != nil:
		return Field{}, fmt.Errorf("column %.80q: %w", *name, err)
	case err != nil:
		return Field{}, err
	case name == nil || f.Type == nil || nullable == nil:
		return Field{}, fmt.Errorf("a field without name, type or nullable: %w", ErrCorrupt)
	case len(*name) > maxNameBytes:
		return Field{}, fmt.Errorf("column %.80q… has a name of %d bytes, idem reads at most %d: %w", *name, len(*name), maxNameBytes, ErrUnsupported)
	}
	f.Name, f.Nullable = *name, *nullable
	return f, nil
}

// fieldMetadata reads the metadata of a field, its values byte for byte.
func (p *schemaParser) fieldMetadata() (map[string]json.RawMessage, error) {
	m := map[string]json.RawMessage{}
	err := p.object(func(key []byte) error {
		name := string(key)
		text, err := p.raw()
		m[name] = bytes.Clone(text)
		return err
	})
	return m, err
}
