package delta

import (
	"fmt"
	"strings"
)

// SetDeclared gives a top-level column the SQL type with the lengths of its strings, e.g.
// "varchar(20)" or "array<varchar(3)>"; "" lifts all limits. Limits can only be lifted or raised: a
// varchar becomes a longer one, a char a varchar of its length or more; what rows hold fits then.
func (s *Snapshot) SetDeclared(path []string, declared string) (*Edit, error) {
	if len(path) != 1 {
		return nil, fmt.Errorf("declare the lengths of %s: they are declared for top-level columns: %w", showPath(path), ErrInput)
	}
	return s.editField("declare the lengths of the column", path, func(f *Field) error {
		old, err := f.CharType()
		if err != nil {
			return err
		}
		if declared == "" {
			delete(f.Metadata, CharTypeKey)
			return nil
		}
		if err := checkDeclared(declared, f.Type); err != nil {
			return err
		}
		limits, err := ParseCharType(declared)
		if err != nil {
			return err
		}
		if tightens(old, limits) {
			return fmt.Errorf("rows may hold longer strings than %s takes; limits can be lifted or raised: %w", declared, ErrInput)
		}
		return f.setText(CharTypeKey, declared)
	})
}

// checkDeclared refuses lengths that do not go with a type.
func checkDeclared(declared string, t Type) error {
	limits, err := ParseCharType(declared)
	switch {
	case err != nil:
		return fmt.Errorf("the declared type %q is not one of Spark SQL: %w", declared, ErrInput)
	case limits == nil:
		return fmt.Errorf("the declared type %q limits no string; leave it out: %w", declared, ErrInput)
	case !limits.fits(t):
		return fmt.Errorf("the declared type %q is not that of the column, %s: %w", declared, t, ErrInput)
	}
	return nil
}

// fits says whether there is a string wherever there is a limit.
func (c *CharType) fits(t Type) bool {
	switch {
	case c == nil:
		return true
	case c.Name != "":
		return t == String
	}
	switch t := t.(type) {
	case *Struct:
		for name, below := range c.below {
			i := t.Index(name)
			if i < 0 || !below.fits(t.Fields[i].Type) {
				return false
			}
		}
		return true
	case *Array:
		return c.Element() != nil && c.Element().fits(t.Element)
	case *Map:
		return c.Element() == nil && c.Key().fits(t.Key) && c.Value().fits(t.Value)
	}
	return false
}

// tightens says whether strings that one limit takes may break another.
func tightens(old, now *CharType) bool {
	switch {
	case now == nil:
		return false
	case now.Name != "":
		return old == nil || old.Name != now.Name && (strings.HasPrefix(now.Name, "char(") || now.Length < old.Length)
	}
	for key, below := range now.below {
		if tightens(old.at(key), below) {
			return true
		}
	}
	return false
}
