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
