package maintain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/internal/plan"
	"github.com/idemtable/idem/internal/pred"
)

// told is a change in the words of commitInfo, which are Spark's as far as it has any. Its parameters
// are texts, lists and objects in them being JSON.
type told struct {
	operation  string
	parameters map[string]any

	// listed is what the change adds to the parameter "columns" of the operation several, by which other
	// engines tell of some such changes at once; nil if they cannot.
	listed  any
	several string
}

func operations(list []told) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.operation
	}
	return out
}

// inWords is the operation and its parameters. Changes of several kinds in one commit are none of
// Spark's: they are an ALTER TABLE that tells each of them.
func inWords(list []told) (string, map[string]any) {
	if len(list) == 1 {
		return list[0].operation, list[0].parameters
	}
	type change struct {
		Operation  string         `json:"operation"`
		Parameters map[string]any `json:"operationParameters"`
	}
	var columns []any
	var changes []change
	several := list[0].several
	for _, t := range list {
		columns, changes = append(columns, t.listed), append(changes, change{t.operation, t.parameters})
		if t.several != several {
			several = ""
		}
	}
	if several != "" {
		return several, map[string]any{"columns": jsonOf(columns)}
	}
	return "ALTER TABLE", map[string]any{"changes": jsonOf(changes)}
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a commitInfo parameter: %v", err))
	}
	return string(text)
}

// columnTold is a column as commitInfo shows it.
type columnTold struct {
	Name     string                     `json:"name"`
	Type     json.RawMessage            `json:"type"`
	Nullable bool                       `json:"nullable"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

type placedTold struct {
	Column   columnTold `json:"column"`
	Position string     `json:"position,omitempty"`
}

// column shows a column of a definition by its path.
func column(s *delta.Snapshot, path []string) columnTold {
	out := columnTold{Name: expr.Field(path...).String(), Type: json.RawMessage(`"void"`), Metadata: map[string]json.RawMessage{}}
	f := fieldAt(s.Schema(), path)
	if f == nil {
		return out
	}
	var one struct{ Fields []columnTold }
	if json.Unmarshal([]byte((&delta.Struct{Fields: []delta.Field{*f}}).JSON()), &one) == nil && len(one.Fields) == 1 {
		name := out.Name
		out = one.Fields[0]
		out.Name = name
	}
	return out
}

// fieldAt is the last field of a struct on a path.
func fieldAt(s *delta.Struct, path []string) *delta.Field {
	for n := len(path) - 1; n >= 0; n-- {
		if in, ok := pred.TypeAt(s, path[:n]).(*delta.Struct); ok {
			if i := in.Index(path[n]); i >= 0 {
				return &in.Fields[i]
			}
			return nil
		}
	}
	return nil
}

func position(first bool, after string) string {
	switch {
	case first:
		return "FIRST"
	case after != "":
		return "AFTER " + after
	}
	return ""
}

func (c AddColumn) told(_, after *delta.Snapshot) told {
	path, _ := c.path(after.Schema()) // found before
	one := placedTold{Column: column(after, path), Position: position(c.First, c.After)}
	shown := map[string]json.RawMessage{}
	if text, ok := one.Column.Metadata[delta.CommentKey]; ok { // ids are the table's own matter
		shown[delta.CommentKey] = text
	}
	one.Column.Metadata = shown
	if c.Lengths != "" {
		one.Column.Type, _ = json.Marshal(c.Lengths)
	}
	return told{operation: "ADD COLUMNS", several: "ADD COLUMNS", parameters: map[string]any{"columns": jsonOf([]any{one})}, listed: one}
}

func (c RenameColumn) told(before, _ *delta.Snapshot) told {
	from, _ := c.path(before.Schema())
	to := append(slices.Clone(from[:len(from)-1]), c.To)
	return told{operation: "RENAME COLUMN", parameters: map[string]any{
		"oldColumnPath": expr.Field(from...).String(), "newColumnPath": expr.Field(to...).String(),
	}}
}

func (c DropColumn) told(before, _ *delta.Snapshot) told {
	path, _ := pred.PathIn(before.Schema(), c.Name)
	name := expr.Field(path...).String()
	return told{operation: "DROP COLUMNS", several: "DROP COLUMNS", parameters: map[string]any{"columns": jsonOf([]string{name})}, listed: name}
}

// changedColumn tells of a column that is another.
func changedColumn(after *delta.Snapshot, name, position string) told {
	path, _ := pred.PathIn(after.Schema(), name)
	one := placedTold{Column: column(after, path), Position: position}
	parameters := map[string]any{"column": jsonOf(one.Column)}
	if position != "" {
		parameters["position"] = position
	}
	return told{operation: "CHANGE COLUMN", several: "CHANGE COLUMNS", parameters: parameters, listed: one}
}

func (c MoveColumn) told(_, after *delta.Snapshot) told {
	return changedColumn(after, c.Name, position(c.First, c.After))
}
func (c WidenColumn) told(_, after *delta.Snapshot) told { return changedColumn(after, c.Name, "") }
func (c DropNotNull) told(_, after *delta.Snapshot) told { return changedColumn(after, c.Name, "") }
func (c SetComment) told(_, after *delta.Snapshot) told  { return changedColumn(after, c.Name, "") }
func (c SetLengths) told(_, after *delta.Snapshot) told  { return changedColumn(after, c.Name, "") }
func (c SetDefault) told(_, after *delta.Snapshot) told  { return changedColumn(after, c.Name, "") }
func (c DropDefault) told(_, after *delta.Snapshot) told { return changedColumn(after, c.Name, "") }

func (c ClusterBy) told(before, _ *delta.Snapshot) told {
	var is []string
	for _, path := range before.Clustering() {
		is = append(is, logicalName(before, path))
	}
	return told{operation: "CLUSTER BY", parameters: map[string]any{
		"oldClusteringColumns": strings.Join(is, ","), "newClusteringColumns": strings.Join(c.Columns, ","),
	}}
}

// logicalName is a column that the log names as files do, by its own name.
func logicalName(s *delta.Snapshot, stored []string) string {
	var t delta.Type = s.Schema()
	mapped := s.Mapping() != delta.MappingNone
	out := slices.Clone(stored)
	for i, name := range stored {
		at, ok := t.(*delta.Struct)
		if !ok {
			break
		}
		j := slices.IndexFunc(at.Fields, func(f delta.Field) bool { return f.Name == name || mapped && f.PhysicalName() == name })
		if j < 0 {
			break
		}
		out[i], t = at.Fields[j].Name, at.Fields[j].Type
	}
	return expr.Field(out...).String()
}

// properties tells of table properties. Spark keeps a table's comment and, in its catalog, its name as
// such.
func properties(set map[string]string) told {
	return told{operation: "SET TBLPROPERTIES", parameters: map[string]any{"properties": plan.PropertiesParameter(set)}}
}

func (c SetName) told(_, _ *delta.Snapshot) told {
	return properties(map[string]string{"name": c.Name})
}

func (c SetDescription) told(_, _ *delta.Snapshot) told {
	return properties(map[string]string{"comment": c.Description})
}

func (c SetProperties) told(_, _ *delta.Snapshot) told { return properties(c.Properties) }

func (c UnsetProperties) told(_, _ *delta.Snapshot) told {
	return told{operation: "UNSET TBLPROPERTIES", parameters: map[string]any{"properties": plan.NamesParameter(c.Names), "ifExists": true}}
}

func (c AddConstraint) told(_, _ *delta.Snapshot) told {
	return told{operation: "ADD CONSTRAINT", parameters: map[string]any{"name": c.Name, "expr": c.Check}}
}

func (c DropConstraint) told(before, _ *delta.Snapshot) told {
	parameters := map[string]any{"name": c.Name, "existed": "true"}
	for name, condition := range before.Constraints() {
		if strings.EqualFold(name, c.Name) {
			parameters["expr"] = condition
		}
	}
	return told{operation: "DROP CONSTRAINT", parameters: parameters}
}

// AddFeature is a property of Spark's, which is not kept.
func (c AddFeature) told(_, _ *delta.Snapshot) told {
	return properties(map[string]string{"delta.feature." + c.Name: "supported"})
}
