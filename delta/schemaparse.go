package delta

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ParseSchema reads a schemaString. What is not JSON or has not the shape of a schema wraps ErrCorrupt, and so do two names
// of one struct that differ only in case. A type that idem does not know, or a schema beyond its limits (16 MiB, 10,000 leaves,
// 64 levels, 1 KiB a name), wraps ErrUnsupported. A user-defined type reads as its sqlType.
func ParseSchema(text string) (*Struct, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("schemaString: %d bytes, idem reads at most %d: %w", len(text), maxSchemaBytes, ErrUnsupported)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("schemaString is not JSON: %w", ErrCorrupt)
	}
	p := schemaParser{dec: json.NewDecoder(strings.NewReader(text))}
	t, err := p.parseType(0)
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
	p := schemaParser{dec: json.NewDecoder(strings.NewReader(text))}
	_, err := p.parseType(0)
	return err == nil && !p.lost
}

// schemaParser reads a schema's tokens once, left to right, whatever the order of an object's members.
// The text is known to be JSON.
type schemaParser struct {
	dec    *json.Decoder
	leaves int
	lost   bool // something was read that the schema does not hold
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
	tok, err := p.dec.Token()
	if err != nil {
		return nil, brokenSchema(err)
	}
	switch tok := tok.(type) {
	case string:
		if err := p.countLeaf(); err != nil {
			return nil, err
		}
		return parseTypeName(tok)
	case json.Delim:
		if tok == '{' {
			return p.parseTypeObject(depth)
		}
	}
	return nil, fmt.Errorf("a type is %v, neither a name nor an object: %w", tok, ErrCorrupt)
}

func brokenSchema(err error) error { return fmt.Errorf("%v: %w", err, ErrCorrupt) }

func (p *schemaParser) countLeaf() error {
	if p.leaves++; p.leaves > maxSchemaLeaves {
		return fmt.Errorf("more than the %d leaf columns that idem reads: %w", maxSchemaLeaves, ErrUnsupported)
	}
	return nil
}

// members calls member for each key of the object whose brace was read, and reads the closing brace.
func (p *schemaParser) members(member func(key string) error) error {
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return brokenSchema(err)
		}
		if err := member(tok.(string)); err != nil {
			return err
		}
	}
	if _, err := p.dec.Token(); err != nil {
		return brokenSchema(err)
	}
	return nil
}

func (p *schemaParser) parseTypeObject(depth int) (Type, error) {
	var n typeNode
	err := p.members(func(key string) (err error) {
		switch key {
		case "type":
			err = decodeMember(p, key, &n.name)
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
			err = decodeMember(p, key, &n.containsNull)
		case "valueContainsNull":
			err = decodeMember(p, key, &n.valueContNull)
		default:
			err = p.skip()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.build(n)
}

// decodeMember reads the value of a member of a wanted type.
func decodeMember[T any](p *schemaParser, key string, into *T) error {
	if err := p.dec.Decode(into); err != nil {
		return fmt.Errorf("%q: %v: %w", key, err, ErrCorrupt)
	}
	return nil
}

func (p *schemaParser) skip() error {
	p.lost = true
	var ignored json.RawMessage
	if err := p.dec.Decode(&ignored); err != nil {
		return brokenSchema(err)
	}
	return nil
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
	tok, err := p.dec.Token()
	if err != nil {
		return nil, brokenSchema(err)
	}
	if tok != json.Delim('[') {
		return nil, fmt.Errorf("fields is not a list: %w", ErrCorrupt)
	}
	var fields []Field
	for p.dec.More() {
		f, err := p.parseField(depth)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	if _, err := p.dec.Token(); err != nil {
		return nil, brokenSchema(err)
	}
	return fields, nil
}

func (p *schemaParser) parseField(depth int) (Field, error) {
	tok, err := p.dec.Token()
	if err != nil {
		return Field{}, brokenSchema(err)
	}
	if tok != json.Delim('{') {
		return Field{}, fmt.Errorf("a field is %v, not an object: %w", tok, ErrCorrupt)
	}
	var name *string
	var nullable *bool
	var f Field
	err = p.members(func(key string) (err error) {
		switch key {
		case "name":
			err = decodeMember(p, key, &name)
		case "type":
			f.Type, err = p.parseType(depth)
		case "nullable":
			err = decodeMember(p, key, &nullable)
		case "metadata":
			f.Metadata = nil
			err = decodeMember(p, key, &f.Metadata)
		default:
			err = p.skip()
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
