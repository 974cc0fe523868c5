package maintain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/pred"
)

// Change is one change of a table's definition. A column in it is given by its name, which is read as
// package idem says under Names: a field of a struct is "address.city", and a name with dots stands in
// backticks. Besides, "element" leads into an array, "key" and "value" into a map.
type Change interface {
	// edit works it out: nil if there is nothing to do.
	edit(now *delta.Snapshot, fresh delta.Fresh) (*delta.Edit, error)

	// told is how other engines call it in commitInfo.
	told(before, after *delta.Snapshot) told
}

// edited makes an edit of the column that has a name.
func edited(now *delta.Snapshot, name string, edit func(path []string) (*delta.Edit, error)) (*delta.Edit, error) {
	path, err := pred.PathIn(now.Schema(), name)
	if err != nil {
		return nil, err
	}
	return edit(path)
}

// typeOf is the type of a column.
func typeOf(name string, t arrow.DataType) (delta.Type, error) {
	switch {
	case name == "":
		return nil, fmt.Errorf("%w: a column needs a name", idem.ErrInput)
	case t == nil:
		return nil, fmt.Errorf("%w: the column %s is given no type", idem.ErrInput, name)
	}
	s, err := delta.FromArrow(arrow.NewSchema([]arrow.Field{{Name: name, Type: t, Nullable: true}}, nil))
	if err != nil {
		return nil, err
	}
	return s.Fields[0].Type, nil
}

// AddColumn adds a column, which is NULL in the rows that are there.
type AddColumn struct {
	_ struct{}

	Name string

	// Type is the Arrow type, as in [idem.Definition]; what is in it is nullable.
	Type arrow.DataType

	// Lengths is the SQL type of strings with a length, "varchar(10)", "array<char(2)>"; "" if none has
	// one.
	Lengths string

	Comment string

	// First and After say where it goes among the columns of its struct; neither is at the end.
	First bool
	After string
}

func (c AddColumn) edit(now *delta.Snapshot, fresh delta.Fresh) (*delta.Edit, error) {
	t, err := typeOf(c.Name, c.Type)
	if err != nil {
		return nil, err
	}
	path, err := c.path(now.Schema())
	if err != nil {
		return nil, err
	}
	return now.AddColumns(fresh, delta.NewColumn{
		Path: path, Type: t, Declared: c.Lengths, Comment: c.Comment, Place: delta.Place{First: c.First, After: c.After},
	})
}

// path is where the column goes: "a.b" may be a new field of a struct a that is there.
func (c AddColumn) path(s *delta.Struct) ([]string, error) {
	if c.Name == "" {
		return nil, nil
	}
	return pred.Path(c.Name, func(path []string) bool {
		_, goes := pred.TypeAt(s, path[:len(path)-1]).(*delta.Struct)
		return pred.TypeAt(s, path) != nil || goes && len(path) > 1
	})
}

// RenameColumn gives a column another name: To is a name, not a path. It needs column mapping
// (delta.columnMapping.mode=name). What a constraint or a generated column names cannot be renamed.
type RenameColumn struct {
	_ struct{}

	Name, To string
}

func (c RenameColumn) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	if c.To == "" {
		return nil, fmt.Errorf("%w: rename the column %s: RenameColumn.To is empty", idem.ErrInput, c.Name)
	}
	path, err := c.path(now.Schema())
	if err != nil {
		return nil, err
	}
	return now.RenameColumn(path, c.To)
}

// path is what is renamed. Where that is gone it is what the new name stands for.
func (c RenameColumn) path(s *delta.Struct) ([]string, error) {
	path, err := pred.PathIn(s, c.Name)
	if err != nil || pred.TypeAt(s, path) != nil || len(path) == 1 {
		return path, err
	}
	if renamed := append(slices.Clone(path[:len(path)-1]), c.To); pred.TypeAt(s, renamed) == nil && s.Index(c.To) >= 0 {
		return []string{c.Name}, nil
	}
	return path, nil
}

// DropColumn takes a column out of the schema. It needs column mapping; the data stay in the files until
// their rows are copied. A column that partitions or clusters the table, and one that a constraint
// or a generated column names, stays.
type DropColumn struct {
	_ struct{}

	Name string
}

func (c DropColumn) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return edited(now, c.Name, now.DropColumn)
}

// MoveColumn gives a column another place in its struct: first, behind another, or at the end.
type MoveColumn struct {
	_ struct{}

	Name  string
	First bool
	After string
}

func (c MoveColumn) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return edited(now, c.Name, func(path []string) (*delta.Edit, error) {
		return now.MoveColumn(path, delta.Place{First: c.First, After: c.After})
	})
}

// WidenColumn gives a column a type that holds all values of its own: int32 becomes int64, say. It needs
// delta.enableTypeWidening=true. Files keep what they have.
type WidenColumn struct {
	_ struct{}

	Name string
	Type arrow.DataType
}

func (c WidenColumn) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	t, err := typeOf(c.Name, c.Type)
	if err != nil {
		return nil, err
	}
	return edited(now, c.Name, func(path []string) (*delta.Edit, error) { return now.WidenColumn(path, t) })
}

// DropNotNull lets a column be NULL. The opposite is a constraint: [AddConstraint] with "c IS NOT
// NULL".
type DropNotNull struct {
	_ struct{}

	Name string
}

func (c DropNotNull) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return edited(now, c.Name, now.SetNullable)
}

// SetComment describes a column; "" takes the comment away.
type SetComment struct {
	_ struct{}

	Name, Comment string
}

func (c SetComment) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return edited(now, c.Name, func(path []string) (*delta.Edit, error) { return now.SetComment(path, c.Comment) })
}

// SetLengths gives a top-level column the SQL type of strings with a length, "varchar(20)"; "" lifts all
// limits. They can be lifted or raised, not lowered.
type SetLengths struct {
	_ struct{}

	Name, Lengths string
}

func (c SetLengths) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return edited(now, c.Name, func(path []string) (*delta.Edit, error) { return now.SetDeclared(path, c.Lengths) })
}

// SetDefault gives a top-level column the SQL expression of its value in rows that lack it; rows that
// are there stay as they are.
type SetDefault struct {
	_ struct{}

	Name, Default string
}

func (c SetDefault) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return edited(now, c.Name, func(path []string) (*delta.Edit, error) { return now.SetDefault(path, c.Default) })
}

// DropDefault takes a column's default away.
type DropDefault struct {
	_ struct{}

	Name string
}

func (c DropDefault) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return edited(now, c.Name, now.DropDefault)
}

// ClusterBy says by which columns [OptimizeTable] brings rows together; none ends it. Files stay as they
// are until then. It does not go with partitions.
type ClusterBy struct {
	_ struct{}

	Columns []string
}

func (c ClusterBy) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	paths := make([][]string, len(c.Columns))
	for i, name := range c.Columns {
		var err error
		if paths[i], err = pred.PathIn(now.Schema(), name); err != nil {
			return nil, err
		}
	}
	return now.ClusterBy(paths...)
}

// SetName gives the table the name that stands in its log; "" takes it away.
type SetName struct {
	_ struct{}

	Name string
}

func (c SetName) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return now.SetName(c.Name)
}

// SetDescription describes the table in words; "" takes the description away.
type SetDescription struct {
	_ struct{}

	Description string
}

func (c SetDescription) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return now.SetDescription(c.Description)
}

// AddConstraint adds a CHECK constraint: a SQL condition that is TRUE of every row, FALSE and NULL
// breaking it. The rows that are there are checked in the call: files of which partition values or
// statistics prove it are not read, and of the others only the columns that the condition names. Files
// that come while the call is under way are checked, too.
type AddConstraint struct {
	_ struct{}

	// Name ignores case.
	Name string

	// Check is the condition as Spark SQL text. It is kept word by word.
	Check string
}

func (c AddConstraint) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return now.AddConstraint(c.Name, c.Check)
}

// DropConstraint takes a CHECK constraint away.
type DropConstraint struct {
	_ struct{}

	Name string
}

func (c DropConstraint) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return now.DropConstraint(c.Name)
}

// SetProperties sets table properties, with what follows from them: "delta.columnMapping.mode": "name"
// gives every column an id, "delta.enableRowTracking": "true" every row, and the features that they
// need are supported. Names under "delta." that Delta does not have are refused.
type SetProperties struct {
	_ struct{}

	Properties map[string]string
}

func (c SetProperties) edit(now *delta.Snapshot, fresh delta.Fresh) (*delta.Edit, error) {
	return now.SetProperties(fresh, c.Properties)
}

// UnsetProperties takes table properties away, so that their defaults hold. Those that are not set are
// passed over.
type UnsetProperties struct {
	_ struct{}

	Names []string
}

func (c UnsetProperties) edit(now *delta.Snapshot, _ delta.Fresh) (*delta.Edit, error) {
	return now.UnsetProperties(c.Names...)
}

// AddFeature supports a table feature, and those that it needs, in the protocol, and turns nothing on:
// see [EnableFeature].
type AddFeature struct {
	_ struct{}

	Name string
}

func (c AddFeature) edit(now *delta.Snapshot, fresh delta.Fresh) (*delta.Edit, error) {
	return now.EnableFeature(fresh, c.Name)
}

// newConstraints are the conditions that a definition has and the one before had not, by name.
func newConstraints(was, now *delta.Snapshot) map[string]string {
	old := was.Constraints()
	out := maps.Clone(now.Constraints())
	maps.DeleteFunc(out, func(name, condition string) bool {
		before, ok := old[name]
		return ok && before == condition && was.Protocol().Supports("checkConstraints")
	})
	return out
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
