package maintain_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/maintain"
)

// onTables are all that take a table.
func onTables(ctx context.Context, t *idem.Table) map[string]func() error {
	return map[string]func() error{
		"Alter": func() error {
			_, err := maintain.AlterTable(ctx, t, maintain.Alter{Changes: []maintain.Change{maintain.SetName{Name: "n"}}})
			return err
		},
		"Enable": func() error {
			_, err := maintain.EnableFeature(ctx, t, maintain.Enable{Feature: "appendOnly"})
			return err
		},
		"Drop":       func() error { _, err := maintain.DropFeature(ctx, t, maintain.Drop{Feature: "appendOnly"}); return err },
		"Checkpoint": func() error { _, err := maintain.Checkpoint(ctx, t); return err },
		"CleanUpLog": func() error { _, err := maintain.CleanUpLog(ctx, t, maintain.CleanUp{}); return err },
		"CompactLog": func() error { _, err := maintain.CompactLog(ctx, t, 0, 1); return err },
		"Optimize":   func() error { _, err := maintain.OptimizeTable(ctx, t, maintain.Optimize{}); return err },
		"Restore": func() error {
			_, err := maintain.RestoreTable(ctx, t, maintain.Restore{To: maintain.Version(0)})
			return err
		},
		"Vacuum": func() error { _, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{}); return err },
		"Clone": func() error {
			_, _, err := maintain.CloneTableStore(ctx, t, store.NewMem(), maintain.Clone{}, idem.Options{})
			return err
		},
	}
}

func TestOperationsRefuseWhatIsNil(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	var none context.Context
	for _, c := range []struct {
		why   string
		ctx   context.Context
		table *idem.Table
	}{{"no table", t.Context(), nil}, {"the zero table", t.Context(), &idem.Table{}}, {"no context", none, f.table}} {
		for name, op := range onTables(c.ctx, c.table) {
			err := op()
			require.ErrorIs(t, err, idem.ErrInput, "%s, %s", name, c.why)
			require.ErrorContains(t, err, map[bool]string{true: "context is nil", false: "Open or Create"}[c.ctx == nil], "%s, %s", name, c.why)
		}
	}
	_, _, err := maintain.CloneTableStore(t.Context(), f.table, nil, maintain.Clone{}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	_, _, err = maintain.ConvertParquetStore(t.Context(), nil, maintain.Convert{}, idem.Options{})
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{(*maintain.AddColumn)(nil)}})
	require.ErrorIs(t, err, idem.ErrInput)
	_, err = maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{&maintain.AddConstraint{Name: "c", Check: "no_such_function(id) > 0"}}})
	require.Error(t, err, "a pointer to a change is checked as the change is")
	require.Zero(t, f.other().Version())
}

func TestAlterRefusesTextThatIsNotUTF8(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	const bad = "m\xfcnchen"
	for why, c := range map[string]maintain.Change{
		"a name": maintain.SetName{Name: bad}, "a description": maintain.SetDescription{Description: bad}, "a comment": maintain.SetComment{Name: "v", Comment: bad},
		"a value": maintain.SetProperties{Properties: map[string]string{"owner": bad}}, "a key": maintain.SetProperties{Properties: map[string]string{bad: "x"}},
		"a column": maintain.AddColumn{Name: bad, Type: columns.Field(1).Type}, "a new column's comment": maintain.AddColumn{Name: "n", Type: columns.Field(1).Type, Comment: bad},
		"a default": maintain.SetDefault{Name: "v", Default: "'" + bad + "'"}, "a constraint": maintain.AddConstraint{Name: "c", Check: "v <> '" + bad + "'"},
		"a constraint's name": maintain.AddConstraint{Name: bad, Check: "id > 0"},
	} {
		_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{c}})
		require.ErrorIs(t, err, idem.ErrInput, why)
	}
	_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{maintain.SetName{Name: "n"}}, Note: bad})
	require.ErrorIs(t, err, idem.ErrInput, "a note")
	require.Zero(t, f.other().Version())
}
