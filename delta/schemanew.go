package delta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// forbiddenInNames are the characters that other engines cannot write in a column name of a table without column mapping.
const forbiddenInNames = " ,;{}()\n\t="

// reservedNames belong to the change data feed; a table that has them could never turn it on.
var reservedNames = []string{"_change_type", "_commit_version", "_commit_timestamp"}

// ValidateNew checks a schema and partition columns for a new table without column mapping: names, case twins, types,
// limits, and partition columns, which are found ignoring case. What it refuses wraps ErrInput and names the column.
func ValidateNew(s *Struct, partitionBy []string) error {
	return validateNew(s, partitionBy, newRules{})
}

func validateNew(s *Struct, partitionBy []string, rules newRules) error {
	if s == nil || len(s.Fields) == 0 {
		return fmt.Errorf("the schema has no columns, a table needs at least one: %w", ErrInput)
	}
	for i := range s.Fields {
		if err := refuseReserved(s.Fields[i].Name); err != nil {
			return err
		}
	}
	leaves := 0
	if err := rules.structure(s, "", 0, &leaves); err != nil {
		return err
	}
	return validatePartitionBy(s, partitionBy)
}

func refuseReserved(name string) error {
	if slices.Contains(reservedNames, foldName(name)) {
		return fmt.Errorf("column %q: the name is reserved for the change data feed: rename it: %w", name, ErrInput)
	}
	return nil
}

// newRules are what differs between tables in the rules for new columns.
type newRules struct {
	mapped bool // files have other names: any may be given
	void   bool // a void column may stand alone: the struct that it goes to has others
}

func (r newRules) structure(s *Struct, path string, depth int, leaves *int) error {
	if a, b, ok := caseTwins(s.Fields); ok {
		return fmt.Errorf("columns %q and %q differ only in case: rename one: %w", path+a, path+b, ErrInput)
	}
	stored := false
	for i := range s.Fields {
		f := &s.Fields[i]
		if err := validateName(path, f, r.mapped); err != nil {
			return err
		}
		if f.Type == Void {
			if !f.Nullable {
				return fmt.Errorf("column %q is void and cannot be NOT NULL: %w", path+f.Name, ErrInput)
			}
			if err := countLeaf(leaves); err != nil {
				return err
			}
			continue
		}
		stored = true
		if err := r.typ(f.Type, path+f.Name, depth+1, leaves); err != nil {
			return err
		}
	}
	if !stored && !(r.void && path == "") {
		return fmt.Errorf("%s has no column that can be stored (void is not): add one: %w", describeStruct(path), ErrInput)
	}
	return nil
}

// validateStored refuses a struct, at any depth, of which nothing is stored: void is not.
func validateStored(t Type, path string) error {
	switch t := t.(type) {
	case *Struct:
		stored := false
		for i := range t.Fields {
			f := &t.Fields[i]
			stored = stored || f.Type != Void
			if err := validateStored(f.Type, path+f.Name+"."); err != nil {
				return err
			}
		}
		if !stored {
			return fmt.Errorf("%s would have no column that can be stored (void is not): %w", describeStruct(path), ErrInput)
		}
	case *Array:
		return validateStored(t.Element, path+"element.")
	case *Map:
		return validateStored(t.Value, path+"value.")
	}
	return nil
}

func describeStruct(path string) string {
	if path == "" {
		return "the schema"
	}
	return fmt.Sprintf("struct %q", strings.TrimSuffix(path, "."))
}

func validateName(path string, f *Field, mapped bool) error {
	switch {
	case f.Name == "":
		return fmt.Errorf("%s has a column without a name: %w", describeStruct(path), ErrInput)
	case len(f.Name) > maxNameBytes:
		return fmt.Errorf("column %.80q… has a name of %d bytes, at most %d are allowed: %w", path+f.Name, len(f.Name), maxNameBytes, ErrInput)
	case !utf8.ValidString(f.Name):
		return fmt.Errorf("column %q: the name is not UTF-8: %w", path+f.Name, ErrInput)
	case !mapped && strings.ContainsAny(f.Name, forbiddenInNames):
		return fmt.Errorf("column %q: a name must have none of the characters %q: rename it, or turn column mapping on: %w", path+f.Name, forbiddenInNames, ErrInput)
	}
	for key, raw := range f.Metadata {
		if !json.Valid(raw) {
			return fmt.Errorf("column %q: metadata %q is not JSON: %w", path+f.Name, key, ErrInput)
		}
	}
	return nil
}

func (r newRules) typ(t Type, path string, depth int, leaves *int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("column %.80q… is nested deeper than %d levels: %w", path, maxSchemaDepth, ErrInput)
	}
	switch t := t.(type) {
	case *Struct:
		return r.structure(t, path+".", depth, leaves)
	case *Array:
		return r.typ(t.Element, path+".element", depth+1, leaves)
	case *Map:
		if err := r.typ(t.Key, path+".key", depth+1, leaves); err != nil {
			return err
		}
		return r.typ(t.Value, path+".value", depth+1, leaves)
	case Decimal:
		if !t.valid() {
			return fmt.Errorf("column %q: %s has not a precision of 1 to 38 and a scale of 0 to the precision: %w", path, t, ErrInput)
		}
	case Primitive:
		if t == Void {
			return fmt.Errorf("column %q: void cannot be stored in an array or map: %w", path, ErrInput)
		}
		if !t.known() {
			return fmt.Errorf("column %q: type %q is not one that Delta has: %w", path, string(t), ErrInput)
		}
	default:
		return fmt.Errorf("column %q has no type: %w", path, ErrInput)
	}
	return countLeaf(leaves)
}

func countLeaf(leaves *int) error {
	if *leaves++; *leaves > maxSchemaLeaves {
		return fmt.Errorf("the schema has more than %d leaf columns: %w", maxSchemaLeaves, ErrInput)
	}
	return nil
}

func validatePartitionBy(s *Struct, partitionBy []string) error {
	seen := make(map[int]bool, len(partitionBy))
	for _, name := range partitionBy {
		i := s.Index(name)
		if i < 0 {
			return fmt.Errorf("partition column %q is not a top-level column of the schema: %w", name, ErrInput)
		}
		if seen[i] {
			return fmt.Errorf("partition column %q is named twice: %w", name, ErrInput)
		}
		seen[i] = true
		if why := unfitToPartition(s.Fields[i].Type); why != "" {
			return fmt.Errorf("partition column %q is of type %s: %s: %w", name, s.Fields[i].Type, why, ErrInput)
		}
	}
	if len(seen) == len(s.Fields) {
		return fmt.Errorf("all %d columns are partition columns, nothing is left for the files: %w", len(seen), ErrInput)
	}
	return nil
}

// unfitToPartition says why a new table must not be partitioned by a type, "" if it may be.
func unfitToPartition(t Type) string {
	switch t {
	case Float, Double:
		return "NaN and -0.0 make its partitions ambiguous, use decimal or an integer"
	case Void, Variant:
		return "it has no values that a partition can be named by"
	}
	switch t.(type) {
	case Primitive, Decimal:
		return ""
	}
	return "only primitive types can partition a table"
}
