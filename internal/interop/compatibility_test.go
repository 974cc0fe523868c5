package interop_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// flags is what delta/features.go says of a feature.
type flags struct{ reader, read, write bool }

// featureFlags reads the one table of features out of its source.
func featureFlags(t *testing.T) map[string]flags {
	t.Helper()
	out := map[string]flags{}
	for _, row := range literal(t, "../../delta/features.go", "features").Elts {
		var name string
		var f flags
		for _, e := range row.(*ast.CompositeLit).Elts {
			kv := e.(*ast.KeyValueExpr)
			yes := false
			if id, ok := kv.Value.(*ast.Ident); ok {
				yes = id.Name == "true"
			}
			switch kv.Key.(*ast.Ident).Name {
			case "name":
				var err error
				name, err = strconv.Unquote(kv.Value.(*ast.BasicLit).Value)
				require.NoError(t, err)
			case "reader":
				f.reader = yes
			case "read":
				f.read = yes
			case "write":
				f.write = yes
			}
		}
		out[name] = f
	}
	require.NotEmpty(t, out)
	return out
}

// literal is the value of a variable of a file.
func literal(t *testing.T, path, variable string) *ast.CompositeLit {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			if v := s.(*ast.ValueSpec); v.Names[0].Name == variable {
				return v.Values[0].(*ast.CompositeLit)
			}
		}
	}
	t.Fatalf("%s has no variable %s", path, variable)
	return nil
}

// TestCompatibilityPage makes docs/compatibility.md from the table of features, the properties that
// there are, and the tests that show what the page says. Each of those must exist.
func TestCompatibilityPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(pageHead)
	writeFeatures(t, &page)
	page.WriteString(propertiesHead)
	for _, p := range toldOfProperties {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", p.key, p.standard, p.honoured, shown(t, p.test))
	}
	kept := slices.Concat([]string{"delta.constraints.*"}, keysIn(t, "managedProperties"))
	for _, p := range toldOfProperties {
		standard := p.standard != "unset" && !slices.Contains(kept, p.key)
		require.Equal(t, standard, delta.IsDefault(p.key, p.standard), "the default of %s", p.key)
	}
	require.Equal(t, propertyKeys(t), keysOf(toldOfProperties), "the properties of delta/properties.go, sorted, and no other")
	const file = "../../docs/compatibility.md"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "run go test ./internal/interop -run TestCompatibilityPage -update, and review what changed")
}

var update = flag.Bool("update", false, "write docs/compatibility.md anew")

const pageHead = `# Compatibility

Which table features and properties idem honours, by which verbs, and which test shows it. A test is named by its package and its
name. This page is made by TestCompatibilityPage from delta/features.go and the tests there are.

Every verb is Append, AppendWithTxn, ReplaceWhere, ReplaceAll, Merge and Delete, and Optimize, Restore and Vacuum of package
maintain. The cases of TestFeatures hold idem beside Spark 4.1 with Delta 4.2 (rows, change data, row ids, history and vacuum, after
idem, after Spark's INSERT, UPDATE, DELETE, MERGE and OPTIMIZE, and after idem again), and beside delta-rs and DuckDB (rows) where
they read the feature. DuckDB refuses reader version 2 beside writer version 7, which is column mapping beside features of writers,
and reads partition columns under column mapping as NULL. Columns of the type void, which Spark 4.1 itself answers neither SELECT * nor
MERGE on, are read as NULL and written around: TestFeatures/void, where DuckDB cannot parse the type.

## Table features

| feature | read | written | beside other engines |
|---|---|---|---|
`

const propertiesHead = `
Any feature that is not in this table is refused by its name, to read if it is a reader's, else to write.

## Table properties

| property | default | honoured by | test |
|---|---|---|---|
`

func writeFeatures(t *testing.T, page *strings.Builder) {
	all, order := featureFlags(t), featureNames(t)
	for name := range toldOfFeatures {
		require.Contains(t, all, name, "a feature of delta/features.go")
	}
	for _, name := range order {
		f, says := all[name], toldOfFeatures[name]
		require.Equal(t, f.write, says.write != "", "%s: the page names a test of writing where delta/features.go says that idem writes it", name)
		read, write := refusal(t), refusal(t)
		switch {
		case says.read != "":
			require.True(t, f.read || !f.reader, "%s: what is told of reading", name)
			read = cmp.Or(says.reading, "yes") + ": " + shown(t, says.read)
		case !f.reader:
			read = noDuty
		default:
			require.False(t, f.read, "%s: no test of reading is told", name)
		}
		if f.write {
			verbs := "every verb"
			if says.verbs != "" {
				verbs = says.verbs
			}
			if says.note != "" {
				verbs += " (" + says.note + ")"
			}
			write = verbs + ": " + shown(t, says.write)
		}
		beside := besides(name)
		require.True(t, !f.write || beside != noCase, "%s is written: TestFeatures has no case of it", name)
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", name, read, write, beside)
	}
}

func refusal(t *testing.T) string { return "refused by its name: " + shown(t, "delta TestGates") }

// besides are the cases of TestFeatures that have a feature alone, with the engines that take part.
func besides(feature string) string {
	var cases []string
	for _, tr := range traits {
		if len(tr.features) == 0 || tr.features[0] != feature {
			continue
		}
		engines := []string{"Spark"}
		for _, e := range []engine{deltaRS, duckDB} {
			if tr.blind[e] == "" {
				engines = append(engines, e.String())
			}
		}
		cases = append(cases, fmt.Sprintf("%s: `internal/interop TestFeatures/%s`", strings.Join(engines, ", "), tr.name))
	}
	if len(cases) == 0 {
		return noCase
	}
	return strings.Join(cases, "; ")
}

const noCase = "–"

var testsOf = map[string]map[string]bool{} // by package

// shown is a test's name as the page has it. The test must exist.
func shown(t *testing.T, test string) string {
	t.Helper()
	dir, name, ok := strings.Cut(test, " ")
	require.True(t, ok, test)
	if testsOf[dir] == nil {
		testsOf[dir] = map[string]bool{}
		files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
		require.NoError(t, err)
		for _, f := range files {
			file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
			require.NoError(t, err)
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					testsOf[dir][fn.Name.Name] = true
				}
			}
		}
	}
	require.True(t, testsOf[dir][name], "package %s has no test %s", dir, name)
	return "`" + strings.TrimPrefix(test, ". ") + "`"
}

func featureNames(t *testing.T) []string {
	var out []string
	for _, row := range literal(t, "../../delta/features.go", "features").Elts {
		out = append(out, text(t, row.(*ast.CompositeLit).Elts[0].(*ast.KeyValueExpr).Value, nil))
	}
	return out
}

// propertyKeys are the keys of the properties in delta, which may be constants.
func propertyKeys(t *testing.T) []string {
	out := slices.Concat([]string{"delta.constraints.*"}, keysIn(t, "properties"), keysIn(t, "otherProperties"), keysIn(t, "managedProperties"))
	slices.Sort(out)
	return out
}

// keysIn are the keys of a table in delta/properties.go.
func keysIn(t *testing.T, variable string) []string {
	var out []string
	constants := constantsOf(t, "../../delta")
	for _, e := range literal(t, "../../delta/properties.go", variable).Elts {
		out = append(out, text(t, e.(*ast.KeyValueExpr).Key, constants))
	}
	return out
}

func keysOf(of []property) []string {
	var out []string
	for _, p := range of {
		out = append(out, p.key)
	}
	return out
}

func text(t *testing.T, e ast.Expr, constants map[string]string) string {
	if id, ok := e.(*ast.Ident); ok {
		require.Contains(t, constants, id.Name)
		return constants[id.Name]
	}
	out, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	require.NoError(t, err)
	return out
}

// constantsOf are the constants of a package that are one text.
func constantsOf(t *testing.T, dir string) map[string]string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range files {
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					out[v.Names[0].Name] = text(t, lit, nil)
				}
			}
			return true
		})
	}
	return out
}
