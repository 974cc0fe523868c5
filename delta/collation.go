package delta

import "fmt"

// collationsKey is where a column says by which rules its strings are compared, unless that is by their bytes.
const collationsKey = "__COLLATIONS"

// RefuseCollated wraps [ErrUnsupported] if one of the columns compares its strings by other rules than their bytes, which
// idem does not know: a comparison would give other rows than it does elsewhere. Names that are no columns pass.
func (s *Snapshot) RefuseCollated(columns ...[]string) error {
	for _, path := range columns {
		var t Type = s.definition.schema
		for _, name := range path {
			in, ok := t.(*Struct)
			if !ok || in.Index(name) < 0 {
				break
			}
			f := &in.Fields[in.Index(name)]
			if text, ok := f.Metadata[collationsKey]; ok {
				return fmt.Errorf("%w: the table feature collations: the column %s compares its strings by rules of its own, %.80s; it can be read, and tested with IS NULL",
					ErrUnsupported, showPath(path), text)
			}
			t = f.Type
		}
	}
	return nil
}
