package maintain_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/maintain"
)

func maybe(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

var (
	longType  = arrow.PrimitiveTypes.Int64
	structXYZ = maybe("x", arrow.StructOf(maybe("y", longType), maybe("z", longType)))
	bothNamed = arrow.NewSchema([]arrow.Field{maybe("id", longType), maybe("x.y", longType), structXYZ}, nil)
	dotsNamed = arrow.NewSchema([]arrow.Field{maybe("id", longType), maybe("x.y", longType), maybe("x", arrow.StructOf(maybe("z", longType)))}, nil)
	pathNamed = arrow.NewSchema([]arrow.Field{maybe("id", longType), structXYZ}, nil)
	mapped    = map[string]string{"delta.columnMapping.mode": "name"}
)

// TestNamesWithDotsAreReadAsExpressionsReadThem by every request that takes columns and fields by name: a path; else a
// column of that very name; and where there are both, neither without backticks.
func TestNamesWithDotsAreReadAsExpressionsReadThem(t *testing.T) {
	const both = `[{"id":1,"x.y":10,"x":{"y":100,"z":1}}]`
	calls := map[string]func(table *idem.Table, schema *arrow.Schema, name string) error{
		"update": func(table *idem.Table, _ *arrow.Schema, name string) error {
			_, err := maintain.UpdateTable(t.Context(), table, maintain.Update{Where: "id = 1", Set: map[string]string{name: "7"}})
			return err
		},
		"merge set": func(table *idem.Table, schema *arrow.Schema, name string) error {
			_, err := table.Merge(t.Context(), jsonRows(t, schema, both), idem.Merge{On: []string{"id"}, Unguarded: true, Matched: []idem.Clause{{Set: map[string]string{name: "7"}}}})
			return err
		},
		"comment": func(table *idem.Table, _ *arrow.Schema, name string) error {
			_, err := maintain.AlterTable(t.Context(), table, maintain.Alter{Changes: []maintain.Change{maintain.SetComment{Name: name, Comment: "7"}}})
			return err
		},
	}
	// what says of a table which was hit.
	hit := func(f *fixture) string {
		out := ""
		for b, err := range f.other().Scan(t.Context(), idem.Scan{}) {
			require.NoError(t, err)
			line, err := b.MarshalJSON()
			require.NoError(t, err)
			out += string(line)
		}
		s := f.other().Snapshot().Schema()
		for _, column := range s.Fields {
			if string(column.Metadata["comment"]) == `"7"` {
				out += " " + column.Name
			}
			if in, ok := column.Type.(*delta.Struct); ok && string(in.Fields[0].Metadata["comment"]) == `"7"` {
				out += " field " + in.Fields[0].Name
			}
		}
		return out
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			column, field := `"x.y":7`, `"y":7`
			if name == "comment" {
				column, field = " x.y", " field y"
			}
			for _, c := range []struct {
				schema        *arrow.Schema
				asked, is, no string
			}{
				{bothNamed, "`x.y`", column, field},
				{bothNamed, "x.`y`", field, column},
				{bothNamed, "X.`Y`", field, column},
				{pathNamed, "x.y", field, column},
				{dotsNamed, "x.y", column, " field"},
				{dotsNamed, "X.Y", column, " field"},
			} {
				f := newFixture(t, idem.Definition{Schema: c.schema, Properties: mapped})
				_, err := f.table.Append(t.Context(), jsonRows(t, c.schema, both), idem.Append{Reason: "test"})
				require.NoError(t, err)
				require.NoError(t, call(f.table, c.schema, c.asked), c.asked)
				require.Contains(t, hit(f), c.is, c.asked)
				require.NotContains(t, hit(f), c.no, c.asked)
			}
			f := newFixture(t, idem.Definition{Schema: bothNamed, Properties: mapped})
			err := call(f.table, bothNamed, "X.y")
			require.ErrorIs(t, err, idem.ErrInput)
			require.ErrorContains(t, err, "write `X.y` for the column, `X`.`y` for the field")
			require.EqualValues(t, 0, f.other().Version())
		})
	}
}

// TestNamesOfTwoColumnsAreRefused by every change of a definition, and by what orders rows.
func TestNamesOfTwoColumnsAreRefused(t *testing.T) {
	const says = "write `x.y` for the column, `x`.`y` for the field"
	f := newFixture(t, idem.Definition{Schema: bothNamed, Properties: mapped})
	for _, c := range []maintain.Change{
		maintain.AddColumn{Name: "x.y", Type: longType}, maintain.RenameColumn{Name: "x.y", To: "w"}, maintain.DropColumn{Name: "x.y"},
		maintain.MoveColumn{Name: "x.y", First: true}, maintain.WidenColumn{Name: "x.y", Type: longType}, maintain.DropNotNull{Name: "x.y"},
		maintain.SetComment{Name: "x.y", Comment: "c"}, maintain.SetLengths{Name: "x.y", Lengths: "char(1)"}, maintain.SetDefault{Name: "x.y", Default: "1"},
		maintain.DropDefault{Name: "x.y"}, maintain.ClusterBy{Columns: []string{"x.y"}},
	} {
		_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{c}})
		require.ErrorIs(t, err, idem.ErrInput, "%T", c)
		require.ErrorContains(t, err, says, "%T", c)
	}
	_, err := maintain.OptimizeTable(t.Context(), f.table, maintain.Optimize{ZOrderBy: []string{"x.y"}})
	require.ErrorContains(t, err, says)

	add := newFixture(t, idem.Definition{Schema: dotsNamed, Properties: mapped})
	_, err = maintain.AlterTable(t.Context(), add.table, maintain.Alter{Changes: []maintain.Change{maintain.AddColumn{Name: "x.y", Type: longType}}})
	require.ErrorIs(t, err, idem.ErrInput, "there is the column, and there may be the field")
	require.ErrorContains(t, err, says)
}

// TestColumnsWithDotsAreChangedTwice: the second call finds what the first left, whichever way the name is written.
func TestColumnsWithDotsAreChangedTwice(t *testing.T) {
	for _, c := range []struct {
		why    string
		schema *arrow.Schema
		change maintain.Change
		want   string
	}{
		{"drop the column", bothNamed, maintain.DropColumn{Name: "`x.y`"}, "id x{y z}"},
		{"drop the field", bothNamed, maintain.DropColumn{Name: "x.`y`"}, "id x.y x{z}"},
		{"drop without backticks", dotsNamed, maintain.DropColumn{Name: "x.y"}, "id x{z}"},
		{"rename the column", bothNamed, maintain.RenameColumn{Name: "`x.y`", To: "w"}, "id w x{y z}"},
		{"rename the field", bothNamed, maintain.RenameColumn{Name: "x.`y`", To: "w"}, "id x.y x{w z}"},
		{"rename without backticks", dotsNamed, maintain.RenameColumn{Name: "x.y", To: "w"}, "id w x{z}"},
		{"rename to a name with a dot", pathNamed, maintain.RenameColumn{Name: "id", To: "x.y"}, "x.y x{y z}"},
		{"add a field", pathNamed, maintain.AddColumn{Name: "x.w", Type: longType}, "id x{y z w}"},
		{"add a column", dotsNamed, maintain.AddColumn{Name: "`x.w`", Type: longType}, "id x.y x{z} x.w"},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newFixture(t, idem.Definition{Schema: c.schema, Properties: mapped})
			for _, want := range []idem.Outcome{idem.Committed, idem.Unchanged} {
				res, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{c.change}})
				require.NoError(t, err)
				require.Equal(t, want, res.Outcome)
			}
			got := ""
			for i, column := range f.other().Snapshot().Schema().Fields {
				if i > 0 {
					got += " "
				}
				got += column.Name
				if in, ok := column.Type.(*delta.Struct); ok {
					got += "{"
					for i, field := range in.Fields {
						if i > 0 {
							got += " "
						}
						got += field.Name
					}
					got += "}"
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
