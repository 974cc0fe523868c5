package maintain_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/maintain"
)

// TestEveryResultIsOneLine: what a call of the package gives prints as a line that can be logged.
func TestEveryResultIsOneLine(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	results, printed := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Type.Results == nil {
				continue
			}
			if f.Recv != nil {
				if of, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok && f.Name.Name == "String" {
					printed[of.X.(*ast.Ident).Name] = true
				}
				continue
			}
			for _, r := range f.Type.Results.List {
				if of, ok := r.Type.(*ast.StarExpr); ok {
					if own, ok := of.X.(*ast.Ident); ok {
						results[own.Name] = true
					}
				}
			}
		}
	}
	require.Contains(t, results, "Vacuumed")
	require.Contains(t, results, "Compacted")
	for name := range results {
		require.Contains(t, printed, name)
	}
}

func TestResultsInWords(t *testing.T) {
	before := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for want, result := range map[string]fmt.Stringer{
		"committed, version 6": &maintain.Checkpointed{Outcome: idem.Committed, Version: 6},
		"unchanged":            &maintain.Compacted{Outcome: idem.Unchanged},
		"committed: 2 files of before 2026-01-02T00:00:00Z deleted":                                 &maintain.CleanedUp{Outcome: idem.Committed, Files: 2, Before: before},
		"unchanged: 1 files of before 2026-01-02T00:00:00Z would be deleted":                        &maintain.CleanedUp{Outcome: idem.Unchanged, Files: 1, Names: []string{"a"}, Before: before},
		"unchanged: nothing may be deleted: why":                                                    &maintain.CleanedUp{Outcome: idem.Unchanged, Skipped: "why"},
		"committed, version 3: 2 files, 20 bytes, older than 2026-01-02T00:00:00Z":                  &maintain.Vacuumed{Outcome: idem.Committed, Version: 3, Files: 2, Bytes: 20, Before: before},
		"unchanged, version 3: 1 files, 20 bytes, older than 2026-01-02T00:00:00Z would be deleted": &maintain.Vacuumed{Outcome: idem.Unchanged, Version: 3, Files: 1, Bytes: 20, Before: before, Names: []string{"a"}},
	} {
		require.Equal(t, want, result.String())
	}
}

// TestErrorsInWords: what a text says must be a sentence, and must not advise what would be refused next.
func TestErrorsInWords(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{maybe("id", longType), maybe("n", longType), maybe("g", longType)}, nil)
	f := newFixture(t, idem.Definition{Schema: schema, Columns: map[string]idem.Column{"g": {Generated: "id * 2"}, "n": {Default: "1"}}, Properties: mapped})
	_, err := f.table.Append(t.Context(), jsonRows(t, schema, `[{"id":1,"n":1},{"id":2,"n":2}]`), idem.Append{Reason: "test"})
	require.ErrorIs(t, err, idem.ErrInput, "NULL is another value than the generated one")
	_, err = f.table.Append(t.Context(), jsonRows(t, arrow.NewSchema(schema.Fields()[:2], nil), `[{"id":1,"n":1},{"id":2,"n":2}]`), idem.Append{Reason: "test"})
	require.NoError(t, err)
	update := func(where string, set map[string]string) error {
		_, err := maintain.UpdateTable(t.Context(), f.table, maintain.Update{Where: where, Set: set})
		return err
	}
	alter := func(c maintain.Change) error {
		_, err := maintain.AlterTable(t.Context(), f.table, maintain.Alter{Changes: []maintain.Change{c}})
		return err
	}
	merge := func(c idem.Clause) error {
		ids := arrow.NewSchema(schema.Fields()[:1], nil)
		_, err := f.table.Merge(t.Context(), jsonRows(t, ids, `[{"id":1}]`), idem.Merge{On: []string{"id"}, Unguarded: true, Matched: []idem.Clause{c}})
		return err
	}
	create := func(d idem.Definition) error {
		d.Schema = schema
		_, _, err := idem.CreateStore(t.Context(), f.mem, d, f.options())
		return err
	}
	const generated = `sets the column "g", which is generated as id * 2, to another value in a row with id=1: 7 where that is 2; nothing was changed: do not set it, and the table computes it`
	for _, c := range []struct {
		why, says string
		err       error
		never     string
	}{
		{"a generated column", generated, update("id = 1", map[string]string{"g": "7"}), "Txn"},
		{"a generated column, of one row of two", generated, update("TRUE", map[string]string{"g": "6 + id % 2 - 2 * (id - 1)"}), "Txn"},
		{"a generated column of a merge", `column "g" is generated as id * 2`, merge(idem.Clause{Set: map[string]string{"g": "7"}}), "Txn"},
		{"one column by two names", `Update sets "N" and "n": a column is set once`, update("id = 1", map[string]string{"n": "1", "N": "2"}), ""},
		{"a default that fails", `at CAST('x' AS BIGINT): "x" is no BIGINT`, alter(maintain.SetDefault{Name: "n", Default: "'x'"}), "row 1"},
		{"no name", "a column needs a name", alter(maintain.AddColumn{Type: longType}), "column  "},
		{"no column", "let NULL into the column never: there is no column never", alter(maintain.DropNotNull{Name: "never"}), ""},
		{"another definition", `CURRENT_DEFAULT of column n is "1" there, and not set here;`, create(idem.Definition{Properties: mapped}), "not not"},
	} {
		require.ErrorContains(t, c.err, c.says, c.why)
		if c.never != "" {
			require.NotContains(t, c.err.Error(), c.never, c.why)
		}
	}
	require.NoError(t, update("TRUE", map[string]string{"g": "id * 2"}), "the value that it has")
}
