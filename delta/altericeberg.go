package delta

import (
	"fmt"
	"slices"
)

// icebergCompat are the properties that keep a table readable as one of Iceberg.
var icebergCompat = []string{"delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2", "delta.enableIcebergCompatV3"}

// CheckIcebergCompat refuses a definition that breaks what an icebergCompat property in it promises.
func CheckIcebergCompat(p *Protocol, m *Metadata, s *Struct) error {
	var on []string
	for _, key := range icebergCompat {
		if isTrue(m, key) {
			on = append(on, key)
		}
	}
	switch {
	case len(on) == 0:
		return nil
	case len(on) > 1:
		return fmt.Errorf("%s and %s cannot both be true: %w", on[0], on[1], ErrInput)
	}
	mode, _ := effectiveMapping(p, m)
	switch key := on[0]; {
	case mode == MappingNone:
		return fmt.Errorf("%s needs column mapping: set delta.columnMapping.mode to name: %w", key, ErrInput)
	case key == icebergCompat[0] && p.Supports("deletionVectors"):
		return fmt.Errorf("%s does not go with the feature deletionVectors: drop the feature: %w", key, ErrInput)
	case key == icebergCompat[1] && isTrue(m, "delta.enableDeletionVectors"):
		return fmt.Errorf("%s does not go with delta.enableDeletionVectors: set that to false, and rewrite the files that have vectors: %w", key, ErrInput)
	}
	if column := findField(s, "", func(f *Field) bool { return !icebergHas(on[0], f.Type) }); column != "" {
		return fmt.Errorf("%s does not go with the type of the column %s: %w", on[0], column, ErrInput)
	}
	return changedTypes(s, func(column string, from, to Type) error {
		if icebergWidens(from, to) {
			return nil
		}
		return fmt.Errorf("%s does not go with the change of the column %s from %s to %s: %w", on[0], column, from, to, ErrInput)
	})
}

// icebergHas says whether a type may stand in a table under an icebergCompat property; the fields of
// structs are asked for by themselves.
func icebergHas(key string, t Type) bool {
	switch t := t.(type) {
	case *Array:
		return key != icebergCompat[0] && icebergHas(key, t.Element)
	case *Map:
		return key != icebergCompat[0] && icebergHas(key, t.Key) && icebergHas(key, t.Value)
	case Primitive:
		return t != Void && (t != Variant || key == icebergCompat[2])
	}
	return true
}

// icebergWidens says whether Iceberg knows a change of type too.
func icebergWidens(from, to Type) bool {
	whole := []Type{Byte, Short, Integer}
	if d, ok := to.(Decimal); ok {
		old, ok := from.(Decimal)
		return ok && old.Scale == d.Scale
	}
	switch to {
	case Double:
		return from == Float
	case TimestampNTZ:
		return false
	}
	return slices.Contains(whole, from) || from == to
}

// refuseVectors refuses files with deletion vectors where the table is to be without them.
func (s *Snapshot) refuseVectors(why string) error {
	for f := range s.Files() {
		if f.DeletionVector != nil {
			return fmt.Errorf("%s: the file %s has a deletion vector: rewrite such files first: %w", why, f.Path, ErrInput)
		}
	}
	return nil
}
