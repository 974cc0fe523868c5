package pred

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
)

// Path reads a name that a request gives, as an expression reads it: "a.b" is the field b of the struct
// a, and backticks keep a name with dots together. Where nothing is there, it is the column that has
// the whole text as its name, if there is one. There may be both: without backticks that wraps
// delta.ErrInput. there says whether a path leads to something.
func Path(name string, there func(path []string) bool) ([]string, error) {
	path, whole := expr.Col(name).Path, []string{name}
	switch {
	case slices.Equal(path, whole) || !there(whole):
		return path, nil
	case !there(path):
		return whole, nil
	case strings.Contains(name, "`"):
		return path, nil
	}
	return nil, fmt.Errorf("%w: %q is the name of a column, and of a field of a struct: write %s for the column, %s for the field", delta.ErrInput, name, ticked(whole), ticked(path))
}

// ticked writes a path with every name in backticks.
func ticked(path []string) string {
	parts := make([]string, len(path))
	for i, name := range path {
		parts[i] = "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return strings.Join(parts, ".")
}

// PathIn is Path for the columns of a table, where "element" leads into an array, "key" and "value" into
// a map. No name has no path.
func PathIn(s *delta.Struct, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	return Path(name, func(path []string) bool { return TypeAt(s, path) != nil })
}

// TypeAt is the type that a path leads to, nil if there is none.
func TypeAt(t delta.Type, path []string) delta.Type {
	for _, name := range path {
		switch at := t.(type) {
		case *delta.Struct:
			i := at.Index(name)
			if i < 0 {
				return nil
			}
			t = at.Fields[i].Type
		case *delta.Array:
			if t = at.Element; !strings.EqualFold(name, "element") {
				return nil
			}
		case *delta.Map:
			if t = at.Value; strings.EqualFold(name, "key") {
				t = at.Key
			} else if !strings.EqualFold(name, "value") {
				return nil
			}
		default:
			return nil
		}
	}
	return t
}
