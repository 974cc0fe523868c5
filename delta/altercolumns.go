package delta

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NewColumn is a column to add to a table. It is nullable: rows that exist have no value for it.
type NewColumn struct {
	_ struct{}

	// Path is the column's name, after the names of the structs that it is in. "element" leads into
	// an array, "key" and "value" into a map.
	Path []string

	// Type is the column's type. What is in it is nullable, whatever it says.
	Type Type

	// Declared is a SQL type with the lengths of its strings, e.g. "varchar(10)" or
	// "array<char(3)>", of a top-level column; "" if no string in it has one.
	Declared string

	Comment string // "" if it has none
	Place   Place  // the end of its struct, unless told otherwise
}

// AddColumns adds columns. One that is there with the type wanted is left as it is; one that is there
// with another wraps [ErrConflict]. A column cannot be added to the key of a map.
func (s *Snapshot) AddColumns(fresh Fresh, columns ...NewColumn) (*Edit, error) {
	d := s.draft(fresh)
	for i := range columns {
		if err := d.addColumn(&columns[i]); err != nil {
			return nil, fmt.Errorf("add the column %s: %w", showPath(columns[i].Path), err)
		}
	}
	if err := d.checkLimits(); err != nil {
		return nil, fmt.Errorf("add columns: %w", err)
	}
	return d.finish("add columns")
}

func (d *draft) addColumn(c *NewColumn) error {
	f, err := c.field(d.mapped())
	if err != nil {
		return err
	}
	return d.inStruct(c.Path, func(s *Struct, name, _ string) (*Struct, error) {
		f.Name = name
		if i := s.Index(name); i >= 0 {
			if !sameType(s.Fields[i].Type, f.Type) {
				return nil, fmt.Errorf("the table has it already, as %s and not as %s: %w", s.Fields[i].Type, f.Type, ErrDiffers)
			}
			return s, nil
		}
		if insideKey(d.schema, c.Path) {
			return nil, fmt.Errorf("it would change the key of a map, and keys are not evolved: %w", ErrInput)
		}
		d.useType(f.Type)
		return placed(s, f, c.Place)
	})
}

// useType supports the features that a type of a column needs.
func (d *draft) useType(t Type) {
	one := &Struct{Fields: []Field{{Type: t}}}
	for _, p := range []Primitive{TimestampNTZ, Variant} {
		if name := map[Primitive]string{TimestampNTZ: "timestampNtz", Variant: "variantType"}[p]; columnOfType(one, p) != "" && !supportsAny(&d.protocol, name) {
			d.features = append(d.features, name)
		}
	}
}

// field is the column as it will stand in the schema.
func (c *NewColumn) field(mapped bool) (Field, error) {
	if len(c.Path) == 0 || c.Type == nil {
		return Field{}, fmt.Errorf("a column needs a name and a type: %w", ErrInput)
	}
	f := Field{Name: c.Path[len(c.Path)-1], Type: nullable(withoutMapping(c.Type)), Nullable: true, Metadata: map[string]json.RawMessage{}}
	if len(c.Path) == 1 {
		if err := refuseReserved(f.Name); err != nil {
			return f, err
		}
	}
	if c.Declared != "" {
		if err := c.checkDeclared(); err != nil {
			return f, err
		}
	}
	if err := errors.Join(f.setText(CommentKey, c.Comment), f.setText(CharTypeKey, c.Declared)); err != nil {
		return f, err
	}
	if err := refuseMadeValues(f.Type); err != nil {
		return f, err
	}
	leaves := 0
	err := newRules{mapped: mapped, void: true}.structure(&Struct{Fields: []Field{f}}, "", len(c.Path)-1, &leaves)
	return f, err
}

func (c *NewColumn) checkDeclared() error {
	if len(c.Path) > 1 {
		return fmt.Errorf("the lengths of strings are declared for top-level columns: %w", ErrInput)
	}
	return checkDeclared(c.Declared, c.Type)
}

// refuseMadeValues refuses rules by which values are made, which rows that exist would not follow.
func refuseMadeValues(t Type) error {
	one := &Struct{Fields: []Field{{Name: "", Type: t}}}
	for _, key := range []string{GenerationKey, DefaultKey, "delta.identity.", "delta.invariants"} {
		if fieldKey(key)(nil, one) {
			return fmt.Errorf("%s cannot be given with a new column of a table that exists: %w", key, ErrInput)
		}
	}
	return nil
}

func (d *draft) mapped() bool {
	mode, _ := effectiveMapping(&d.protocol, &d.meta)
	return mode != MappingNone
}

// checkLimits holds the limits of a schema against the draft's.
func (d *draft) checkLimits() error {
	if countLeaves(d.schema) > maxSchemaLeaves {
		return fmt.Errorf("the schema would have more than %d leaf columns: %w", maxSchemaLeaves, ErrInput)
	}
	return nil
}

// RenameColumn gives a column another name; its data, its comment and its defaults stay. It needs
// column mapping. path names the column as in [NewColumn]. A table that has the new name and lacks
// the old one is taken to be renamed. A column that a constraint or a generated column names, and a
// name that is taken, wrap [ErrInput].
func (s *Snapshot) RenameColumn(path []string, to string) (*Edit, error) {
	d, what := s.draft(Fresh{}), fmt.Sprintf("rename the column %s to %s", showPath(path), to)
	renamed := ""
	err := d.inStruct(path, func(in *Struct, name, at string) (*Struct, error) {
		i, j := in.Index(name), in.Index(to)
		switch {
		case i < 0 && j >= 0:
			return in, nil
		case i < 0:
			return nil, noColumn(path)
		case in.Fields[i].Name == to:
			return in, nil
		case j >= 0 && j != i:
			return nil, fmt.Errorf("the name is taken: %w", ErrInput)
		}
		renamed = in.Fields[i].Name
		out := cloneStruct(in)
		out.Fields[i].Name = to
		return out, validateName(at, &out.Fields[i], d.mapped())
	})
	if err == nil && renamed != "" {
		err = d.renamed(path, renamed, to)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d.finish(what)
}

// renamed checks what else names the column and follows where it may.
func (d *draft) renamed(path []string, from, to string) error {
	if !d.mapped() {
		return needsMapping("renaming a column", "rename it")
	}
	if err := d.refuseUsed(path, from); err != nil {
		return err
	}
	d.followStatsColumns(path, to)
	if len(path) > 1 {
		return nil
	}
	if err := refuseReserved(to); err != nil {
		return err
	}
	d.meta.PartitionColumns = slices.Clone(d.meta.PartitionColumns)
	for i, name := range d.meta.PartitionColumns {
		if foldName(name) == foldName(from) {
			d.meta.PartitionColumns[i] = to
		}
	}
	return nil
}

func needsMapping(doing, without string) error {
	return fmt.Errorf("%s needs column mapping, without which data files would have to be rewritten: set delta.columnMapping.mode to name, then %s: %w", doing, without, ErrInput)
}

// DropColumn takes a column out of the schema; its data stays in the files and is never shown again.
// It needs column mapping. Nothing is done if there is no such column. A column that partitions or
// clusters the table, or that a constraint or a generated column names, the last column of a struct, and
// the last one that is not a partition column wrap [ErrInput].
func (s *Snapshot) DropColumn(path []string) (*Edit, error) {
	d, what := s.draft(Fresh{}), "drop the column "+showPath(path)
	dropped := ""
	err := d.inStruct(path, func(in *Struct, name, _ string) (*Struct, error) {
		i := in.Index(name)
		if i < 0 {
			return in, nil
		}
		if len(in.Fields) == 1 {
			return nil, fmt.Errorf("it is the only column of its struct: %w", ErrInput)
		}
		dropped = in.Fields[i].Name
		out := cloneStruct(in)
		out.Fields = slices.Delete(out.Fields, i, i+1)
		return out, nil
	})
	if err == nil && dropped != "" {
		err = d.dropped(path, dropped)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d.finish(what)
}

func (d *draft) dropped(path []string, name string) error {
	if !d.mapped() {
		return needsMapping("dropping a column", "drop it")
	}
	if len(path) == 1 && slices.Contains(d.was.PartitionColumns(), name) {
		return fmt.Errorf("the table is partitioned by it: write the rows to a table with other partitions: %w", ErrInput)
	}
	if err := d.refuseUsed(path, name); err != nil {
		return err
	}
	if stored, ok := d.was.StoredPath(path); ok {
		for _, c := range d.was.clusteringPaths() {
			if samePrefix(c, stored) {
				return fmt.Errorf("the table is clustered by it: cluster it by other columns first: %w", ErrInput)
			}
		}
	}
	d.followStatsColumns(path, "")
	if err := validateStored(d.schema, ""); err != nil {
		return err
	}
	if !storesColumns(&d.meta, d.schema) {
		return fmt.Errorf("it is the last column that files hold, the others are those of the partitions, and rows without one cannot be stored: %w", ErrInput)
	}
	return nil
}

// MoveColumn gives a column another place in its struct. Data files find their columns by name.
func (s *Snapshot) MoveColumn(path []string, to Place) (*Edit, error) {
	d, what := s.draft(Fresh{}), "move the column "+showPath(path)
	err := d.inStruct(path, func(in *Struct, name, _ string) (*Struct, error) {
		i := in.Index(name)
		if i < 0 {
			return nil, noColumn(path)
		}
		if to.After != "" && in.Index(to.After) == i {
			return nil, fmt.Errorf("a column cannot stand behind itself: %w", ErrInput)
		}
		rest := cloneStruct(in)
		rest.Fields = slices.Delete(rest.Fields, i, i+1)
		out, err := placed(rest, in.Fields[i], to)
		if err == nil && slices.EqualFunc(out.Fields, in.Fields, func(a, b Field) bool { return a.Name == b.Name }) {
			return in, nil
		}
		return out, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d.finish(what)
}

// SetNullable lets a column be NULL. The opposite needs every row looked at and is not an edit.
func (s *Snapshot) SetNullable(path []string) (*Edit, error) {
	return s.editField("let NULL into the column", path, func(f *Field) error {
		f.Nullable = true
		return nil
	})
}

// SetComment gives a column a comment; "" takes it away.
func (s *Snapshot) SetComment(path []string, text string) (*Edit, error) {
	return s.editField("comment on the column", path, func(f *Field) error {
		delete(f.Metadata, CommentKey)
		return f.setText(CommentKey, text)
	})
}

// SetDefault gives a column the SQL expression whose value it has in rows that lack it; rows that
// exist stay as they are. Whether the expression can be evaluated and fits the column is for the
// caller to say. It supports the feature allowColumnDefaults. Generated and identity columns have no
// default; a variant's is NULL.
func (s *Snapshot) SetDefault(path []string, expression string) (*Edit, error) {
	if len(path) > 1 {
		return nil, fmt.Errorf("give a default to the column %s: idem fills the columns of a table, not the fields of structs: %w", showPath(path), ErrUnsupported)
	}
	return s.editField("give a default to the column", path, func(f *Field) error {
		if err := checkDefault(f, expression); err != nil {
			return err
		}
		return f.setText(DefaultKey, expression)
	}, defaultsFeature)
}

func checkDefault(f *Field, expression string) error {
	switch {
	case strings.TrimSpace(expression) == "":
		return fmt.Errorf("the expression is empty: %w", ErrInput)
	case f.Type == Variant && !strings.EqualFold(strings.TrimSpace(expression), "null"):
		return fmt.Errorf("the default of a variant can only be NULL: %w", ErrInput)
	case hasKey(f, GenerationKey):
		return fmt.Errorf("it is a generated column: %w", ErrInput)
	case hasKey(f, IdentityStartKey):
		return fmt.Errorf("it is an identity column: %w", ErrInput)
	}
	return nil
}

func hasKey(f *Field, key string) bool { _, ok := f.Metadata[key]; return ok }

// DropDefault takes a column's default away: rows that lack the column have NULL.
func (s *Snapshot) DropDefault(path []string) (*Edit, error) {
	return s.editField("drop the default of the column", path, func(f *Field) error {
		delete(f.Metadata, DefaultKey)
		return nil
	})
}

// editField edits one field, of which f is a copy with a map of its own, and supports the features that
// the result needs.
func (s *Snapshot) editField(what string, path []string, edit func(f *Field) error, uses ...string) (*Edit, error) {
	d := s.draft(Fresh{})
	d.features = uses
	what += " " + showPath(path)
	err := d.inStruct(path, func(in *Struct, name, _ string) (*Struct, error) {
		i := in.Index(name)
		if i < 0 {
			return nil, noColumn(path)
		}
		f := in.Fields[i]
		if f.Metadata = maps.Clone(f.Metadata); f.Metadata == nil {
			f.Metadata = map[string]json.RawMessage{}
		}
		if err := edit(&f); err != nil {
			return nil, err
		}
		if sameField(&f, &in.Fields[i]) {
			return in, nil
		}
		out := cloneStruct(in)
		out.Fields[i] = f
		return out, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d.finish(what)
}

func sameField(a, b *Field) bool {
	return a.Name == b.Name && a.Nullable == b.Nullable && sameType(a.Type, b.Type) &&
		maps.EqualFunc(a.Metadata, b.Metadata, func(x, y json.RawMessage) bool { return string(x) == string(y) })
}
