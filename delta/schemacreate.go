package delta

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CreateSpec says what a new table shall be.
type CreateSpec struct {
	_ struct{}

	Schema      *Struct
	Rules       []ColumnRule // of columns: what the types do not say
	PartitionBy []string
	ClusterBy   [][]string // not together with PartitionBy
	Properties  map[string]string
	Constraints map[string]string // CHECK constraints: SQL conditions by name
	Name        string
	Description string
}

// ColumnRule is what is said of one column beside its type. Only comments go with fields of structs.
type ColumnRule struct {
	_ struct{}

	Path      []string  // as in [NewColumn]
	Comment   string    // "" if it has none
	Declared  string    // a SQL type with the lengths of strings, as in [NewColumn]
	Default   string    // the SQL expression of the value in rows that lack the column
	Generated string    // the SQL expression that every value is
	Identity  *Identity // the rule by which a long is numbered; without a Mark
}

// Build gives protocol, metadata and domains of version 0. Columns get ids and physical names if the
// properties turn column mapping on; what the definition uses is supported. The metadata's CreatedTime
// is for the caller to set; its ID is made of fresh.ID. Whether SQL expressions can be evaluated is
// for the caller to check.
//
// What breaks a rule wraps [ErrInput] and names the column or the property; what idem does not write
// wraps [ErrUnsupported].
func (c CreateSpec) Build(fresh Fresh) (*Edit, error) {
	if fresh.ID == nil {
		return nil, fmt.Errorf("create a table: no source of ids was given: %w", ErrInput)
	}
	d := emptySnapshot().draft(fresh)
	d.creating = true
	d.meta.ID, d.meta.Name, d.meta.Description = fresh.ID(), c.Name, c.Description
	d.schema = c.Schema
	for _, step := range []func(*draft) error{c.columns, c.conditions, c.settings, c.layout} {
		if err := step(d); err != nil {
			return nil, err
		}
	}
	e, err := d.changes()
	if err == nil && e.Protocol == nil { // the lowest one, which an empty table has
		e.Protocol = &d.protocol
	}
	return e, err
}

// emptySnapshot is what is there before version 0.
func emptySnapshot() *Snapshot {
	return &Snapshot{
		version: -1,
		state: state{
			protocol: &Protocol{MinReaderVersion: 1, MinWriterVersion: 2},
			metadata: &Metadata{Provider: "parquet", FormatOptions: map[string]string{}, PartitionColumns: []string{}},
		},
		definition: &definition{schema: &Struct{}},
	}
}

// columns puts the rules into the schema.
func (c CreateSpec) columns(d *draft) error {
	if c.Schema == nil {
		return fmt.Errorf("a table needs a schema: %w", ErrInput)
	}
	d.schema = withoutMapping(c.Schema).(*Struct)
	for i := range c.Rules {
		r := &c.Rules[i]
		err := d.inStruct(r.Path, func(in *Struct, name, _ string) (*Struct, error) {
			i := in.Index(name)
			if i < 0 {
				return nil, noColumn(r.Path)
			}
			out := cloneStruct(in)
			f := &out.Fields[i]
			if f.Metadata = maps.Clone(f.Metadata); f.Metadata == nil {
				f.Metadata = map[string]json.RawMessage{}
			}
			return out, r.apply(f)
		})
		if err != nil {
			return fmt.Errorf("column %s: %w", showPath(r.Path), err)
		}
	}
	return checkGenerated(d.schema)
}

func (r *ColumnRule) apply(f *Field) error {
	if len(r.Path) > 1 && (r.Declared != "" || r.Default != "" || r.Generated != "" || r.Identity != nil) {
		return fmt.Errorf("a field of a struct can have a comment, and no other rule: %w", ErrInput)
	}
	if made := countTrue(r.Default != "", r.Generated != "", r.Identity != nil); made > 1 {
		return fmt.Errorf("a column has a default, or is generated, or is an identity: one of the three: %w", ErrInput)
	}
	if r.Declared != "" {
		if err := checkDeclared(r.Declared, f.Type); err != nil {
			return err
		}
	}
	if r.Default != "" {
		if err := checkDefault(f, r.Default); err != nil {
			return err
		}
	}
	err := errors.Join(f.setText(CommentKey, r.Comment), f.setText(CharTypeKey, r.Declared), f.setText(GenerationKey, r.Generated), f.setText(DefaultKey, r.Default))
	if err != nil {
		return err
	}
	return r.number(f)
}

// number makes a field an identity column, if the rule says so.
func (r *ColumnRule) number(f *Field) error {
	switch id := r.Identity; {
	case id == nil:
		return nil
	case f.Type != Long:
		return fmt.Errorf("an identity column is a long, not %s: %w", f.Type, ErrInput)
	case id.Step == 0:
		return fmt.Errorf("the step of an identity column is not 0: %w", ErrInput)
	case id.Mark != nil:
		return fmt.Errorf("a new identity column has given no number: leave Mark out: %w", ErrInput)
	default:
		maps.Copy(f.Metadata, id.Metadata())
		return nil
	}
}

func countTrue(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// checkGenerated refuses a generated column that is made of one that is made itself.
func checkGenerated(s *Struct) error {
	for i := range s.Fields {
		expression, ok, err := s.Fields[i].Text(GenerationKey)
		if err != nil {
			return err
		}
		for j := range s.Fields {
			made := hasKey(&s.Fields[j], GenerationKey) || hasKey(&s.Fields[j], IdentityStartKey)
			if ok && made && mentions(expression, []string{s.Fields[j].Name}) {
				return fmt.Errorf("column %s is generated from %s, whose values are made as well: use the columns that rows bring: %w",
					s.Fields[i].Name, s.Fields[j].Name, ErrInput)
			}
		}
	}
	return nil
}

// conditions puts the constraints into the properties.
func (c CreateSpec) conditions(d *draft) error {
	for _, name := range slices.Sorted(maps.Keys(c.Constraints)) {
		key, err := constraintKey(name, c.Constraints[name])
		if err != nil {
			return err
		}
		if _, twice := d.meta.Configuration[key]; twice {
			return fmt.Errorf("the constraint %q is given twice but for case: %w", name, ErrInput)
		}
		d.meta.Configuration[key] = c.Constraints[name]
	}
	return nil
}

// settings puts the properties in, with what follows from them.
func (c CreateSpec) settings(d *draft) error {
	if err := d.setProperties(c.Properties); err != nil {
		return err
	}
	iceberg := slices.ContainsFunc(icebergCompat, func(key string) bool { return isTrue(&d.meta, key) })
	if _, given := d.meta.Configuration[propMappingMode]; iceberg && !given {
		d.meta.Configuration[propMappingMode] = string(MappingName)
	}
	return d.follow()
}

// layout checks the schema and says how rows are laid out in files.
func (c CreateSpec) layout(d *draft) error {
	mode := strings.ToLower(d.meta.Configuration[propMappingMode])
	mapped := mode != "" && mode != string(MappingNone)
	if err := validateNew(d.schema, c.PartitionBy, newRules{mapped: mapped}); err != nil {
		return err
	}
	d.meta.PartitionColumns = make([]string, len(c.PartitionBy))
	for i, name := range c.PartitionBy {
		d.meta.PartitionColumns[i] = d.schema.Fields[d.schema.Index(name)].Name
	}
	if len(c.ClusterBy) == 0 {
		return nil
	}
	if mapped { // the domain holds physical names
		d.features = append(d.features, mappingFeature)
		if err := d.upgrade(); err != nil {
			return err
		}
		if err := d.numberColumns(); err != nil {
			return err
		}
	}
	return d.clusterBy(c.ClusterBy, len(c.PartitionBy) > 0)
}
