package seeded_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Building the tests of a package for each seed anew would take an hour. So all seeds are woven into one
// build: each function with a fault has a twin with the fault in it, and calls it when the environment says
// so. A seed must be in a function, all of whose parameters have names.

// faultVariable of the environment names the seed that is to take effect.
const faultVariable = "IDEM_SEEDED_FAULT"

// weave gives a file with the twins of the functions that seeds change.
func weave(file string, seeds []*seed) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	calls := map[int]string{} // by the place where they are put
	var twins strings.Builder
	for n, s := range seeds {
		from := strings.Index(string(text), s.old)
		decl := enclosing(parsed, at, from, from+len(s.old))
		if from < 0 || decl == nil {
			return nil, fmt.Errorf("%s: the seed %q is in no function", file, s.name)
		}
		name := fmt.Sprintf("%sSeeded%d", decl.Name.Name, n)
		call, err := dispatch(decl, name, s.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		calls[at(decl.Body.Lbrace)+1] += call
		twin := string(text[at(decl.Pos()):at(decl.End())])
		if !strings.Contains(twin, s.old) {
			return nil, fmt.Errorf("%s: the seed %q is not in %s alone", file, s.name, decl.Name.Name)
		}
		twin = strings.Replace(twin, s.old, s.new, 1)
		named := regexp.MustCompile(`^func (\([^)]*\) )?` + decl.Name.Name + `\b`)
		twins.WriteString("\n" + named.ReplaceAllString(twin, "func ${1}"+name) + "\n")
	}
	out := string(text)
	places := make([]int, 0, len(calls))
	for place := range calls {
		places = append(places, place)
	}
	slices.Sort(places)
	for _, place := range slices.Backward(places) {
		out = out[:place] + calls[place] + out[place:]
	}
	return []byte(out + twins.String()), nil
}

// enclosing is the function that a stretch of a file is in.
func enclosing(file *ast.File, at func(token.Pos) int, from, to int) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && at(f.Pos()) <= from && to <= at(f.End()) {
			return f
		}
	}
	return nil
}

// dispatch is the call of a twin, at the beginning of a function.
func dispatch(decl *ast.FuncDecl, twin, seed string) (string, error) {
	call := twin
	if decl.Recv != nil {
		names := decl.Recv.List[0].Names
		if len(names) == 0 || names[0].Name == "_" {
			return "", fmt.Errorf("the receiver of %s has no name", decl.Name.Name)
		}
		call = names[0].Name + "." + twin
	}
	var args []string
	for _, p := range decl.Type.Params.List {
		if len(p.Names) == 0 {
			return "", fmt.Errorf("a parameter of %s has no name", decl.Name.Name)
		}
		for _, name := range p.Names {
			if name.Name == "_" {
				return "", fmt.Errorf("a parameter of %s has no name", decl.Name.Name)
			}
			arg := name.Name
			if _, many := p.Type.(*ast.Ellipsis); many {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	call += "(" + strings.Join(args, ", ") + ")"
	if decl.Type.Results != nil {
		call = "return " + call
	} else {
		call += "\n\t\treturn"
	}
	return fmt.Sprintf("\n\tif seededFault == %s {\n\t\t%s\n\t}\n", strconv.Quote(seed), call), nil
}

// woven are the changed files of some seeds, by their path from the root, and in each package a file
// that says which seed takes effect.
func woven(seeds []*seed) (map[string][]byte, error) {
	byFile := map[string][]*seed{}
	for _, s := range seeds {
		if !slices.Contains(byFile[s.file], s) {
			byFile[s.file] = append(byFile[s.file], s)
		}
	}
	out := map[string][]byte{}
	for file, list := range byFile {
		text, err := weave(file, list)
		if err != nil {
			return nil, err
		}
		out[file] = text
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
		if err != nil {
			return nil, err
		}
		out[filepath.Join(filepath.Dir(file), "seeded_fault.go")] = fmt.Appendf(nil,
			"package %s\n\nimport \"os\"\n\nvar seededFault = os.Getenv(%q)\n", parsed.Name.Name, faultVariable)
	}
	return out, nil
}
