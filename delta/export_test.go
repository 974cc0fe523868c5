package delta

import "slices"

// HintChecksum lets the protocol document's own sample, which is no hint, be tested.
var HintChecksum = hintChecksum

// WriteEverything lets a test edit tables whatever features idem writes, until it ends.
func WriteEverything(t interface{ Cleanup(func()) }) {
	saved := slices.Clone(features)
	for i := range features {
		features[i].read, features[i].write = true, true
	}
	t.Cleanup(func() { copy(features, saved) })
}

// EncodeZ85 writes bytes as descriptors of deletion vectors have them.
var EncodeZ85 = encodeZ85

// Mentions says whether a SQL expression may speak of a column.
var Mentions = mentions

// PropertyValues says in words what values each property can have that may be set.
func PropertyValues() map[string]string {
	out := map[string]string{}
	for _, of := range []map[string]property{properties, otherProperties} {
		for key, p := range of {
			out[key] = p.are
		}
	}
	return out
}

// Positions finds columns as those do that look for many.
func Positions(s *Struct) func(name string) int { return s.positions().index }
