package delta

import (
	"fmt"
	"strconv"
	"strings"
)

// CharType says how long texts may be: that of a column declared as char(n) or varchar(n), which the
// schema holds as string, or of a nested column with such below it.
type CharType struct {
	// Name is "char(5)" or "varchar(5)", "" if there is no limit at this level. Length is that in
	// characters (code points), 0 for none.
	Name   string
	Length int

	below map[string]*CharType
}

// Field is that of a field of a struct, found ignoring case. It is nil, as c may be, where nothing is
// limited.
func (c *CharType) Field(name string) *CharType { return c.at(foldName(name)) }

// Element, Key and Value are those of the elements of an array and of the pairs of a map.
func (c *CharType) Element() *CharType { return c.at("<element>") }
func (c *CharType) Key() *CharType     { return c.at("<key>") }
func (c *CharType) Value() *CharType   { return c.at("<value>") }

func (c *CharType) at(key string) *CharType {
	if c == nil {
		return nil
	}
	return c.below[key]
}

// CharType is the limit that stands in the field's metadata, nil if there is none. One that cannot be
// read wraps ErrUnsupported.
func (f Field) CharType() (*CharType, error) {
	text, ok, err := f.Text(CharTypeKey)
	if !ok || err != nil {
		return nil, err
	}
	c, err := ParseCharType(text)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", f.Name, err)
	}
	return c, nil
}

// ParseCharType reads a type as Spark spells it, "varchar(10)" or "struct<a:char(3),b:array<int>>".
// It is nil for a type without a limit. Errors wrap ErrUnsupported.
func ParseCharType(text string) (*CharType, error) {
	p := charParser{rest: text}
	c, ok := p.parse(0)
	if !ok || p.rest != "" || len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("%w: the type %.80q is not one that idem can read", ErrUnsupported, text)
	}
	return c, nil
}

// charParser reads a type from the left.
type charParser struct{ rest string }

func (p *charParser) skip(token string) bool {
	var ok bool
	p.rest, ok = strings.CutPrefix(strings.TrimLeft(p.rest, " "), token)
	return ok
}

func (p *charParser) until(stops string) string {
	end := strings.IndexAny(p.rest, stops)
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return strings.TrimSpace(word)
}

func (p *charParser) parse(depth int) (*CharType, bool) {
	if depth > maxSchemaDepth {
		return nil, false
	}
	switch word := strings.ToLower(p.until("<>,(")); word {
	case "":
		return nil, false
	case "char", "varchar", "character":
		return p.limit(word)
	case "array":
		return p.parts(depth, "<element>")
	case "map":
		return p.parts(depth, "<key>", "<value>")
	case "struct":
		return p.fields(depth)
	default:
		if strings.Contains(word, ":") {
			return nil, false
		}
	}
	if p.skip("(") { // of decimal
		p.until(")")
		return nil, p.skip(")")
	}
	return nil, true
}

func (p *charParser) limit(word string) (*CharType, bool) {
	if !p.skip("(") {
		return nil, false
	}
	digits := p.until(")")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || !p.skip(")") {
		return nil, false
	}
	if word == "character" {
		word = "char"
	}
	return &CharType{Name: word + "(" + digits + ")", Length: n}, true
}

// parts reads the types between the angle brackets of an array or a map.
func (p *charParser) parts(depth int, keys ...string) (*CharType, bool) {
	all := &CharType{}
	for i, key := range keys {
		if !p.skip([]string{"<", ","}[i]) || !p.into(all, key, depth) {
			return nil, false
		}
	}
	return all.orNil(), p.skip(">")
}

func (p *charParser) fields(depth int) (*CharType, bool) {
	all := &CharType{}
	if !p.skip("<") {
		return nil, false
	}
	for !p.skip(">") {
		name, ok := p.name()
		if !ok || !p.into(all, foldName(name), depth) {
			return nil, false
		}
		if !p.skip(",") && !strings.HasPrefix(p.rest, ">") {
			return nil, false
		}
	}
	return all.orNil(), true
}

// into reads the type of a part.
func (p *charParser) into(all *CharType, key string, depth int) bool {
	c, ok := p.parse(depth + 1)
	if c != nil {
		if all.below == nil {
			all.below = map[string]*CharType{}
		}
		all.below[key] = c
	}
	return ok
}

// name reads the name of a field and the colon behind it.
func (p *charParser) name() (string, bool) {
	if !p.skip("`") {
		name := p.until(":")
		return name, name != "" && p.skip(":")
	}
	var name strings.Builder
	for {
		end := strings.IndexByte(p.rest, '`')
		if end < 0 {
			return "", false
		}
		name.WriteString(p.rest[:end])
		if p.rest = p.rest[end+1:]; !strings.HasPrefix(p.rest, "`") {
			return name.String(), p.skip(":")
		}
		name.WriteByte('`')
		p.rest = p.rest[1:]
	}
}

func (c *CharType) orNil() *CharType {
	if c.below == nil {
		return nil
	}
	return c
}
