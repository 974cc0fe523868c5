package seeded_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pkg is what the go command says of a package.
type pkg struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// built are the packages that the module is made of, compiled.
func built(t *testing.T) map[string]pkg {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	packages := map[string]pkg{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p pkg
		require.NoError(t, d.Decode(&p))
		packages[p.ImportPath] = p
	}
	return packages
}

func importPath(dir string) string {
	if dir == "" || dir == "." {
		return module
	}
	return module + "/" + dir
}

// checker looks at the types of packages of the module.
type checker struct {
	packages map[string]pkg
	fset     *token.FileSet
	imports  types.Importer
	parsed   map[string]*ast.File // as they are
}

func newChecker(t *testing.T) *checker {
	c := &checker{packages: built(t), fset: token.NewFileSet(), parsed: map[string]*ast.File{}}
	c.imports = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.packages[path].Export) })
	return c
}

// check says what is wrong with the types of a package in which the file of a seed is another.
func (c *checker) check(s *seed, changed []byte) error {
	p, ok := c.packages[importPath(filepath.Dir(s.file))]
	if !ok || !slices.Contains(p.GoFiles, filepath.Base(s.file)) {
		return fmt.Errorf("%s is not built", s.file)
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		f, text := c.parsed[path], any(nil)
		if name == filepath.Base(s.file) {
			f, text = nil, changed
		}
		if f == nil {
			var err error
			if f, err = parser.ParseFile(c.fset, path, text, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		if text == nil {
			c.parsed[path] = f
		}
		files = append(files, f)
	}
	config := types.Config{Importer: c.imports}
	_, err := config.Check(p.ImportPath, c.fset, files, nil)
	return err
}

func TestEverySeedApplies(t *testing.T) {
	c := newChecker(t)
	names := map[string]bool{}
	require.GreaterOrEqual(t, len(all()), 45)
	for _, s := range all() {
		t.Run(s.name, func(t *testing.T) {
			require.False(t, names[s.name], "two seeds have this name")
			names[s.name] = true
			require.NotEmpty(t, s.breaks)
			require.NotEmpty(t, s.caught)
			require.NotEqual(t, s.old, s.new)
			changed, err := s.changed()
			require.NoError(t, err)
			require.NoError(t, c.check(&s, changed))
			_, err = weave(s.file, []*seed{&s})
			require.NoError(t, err)
			for _, by := range s.caught {
				require.NoError(t, exists(c.packages, by))
			}
		})
	}
}

// exists says whether the tests of a suite are there.
func exists(packages map[string]pkg, c suite) error {
	p, ok := packages[importPath(c.pkg)]
	if !ok {
		return fmt.Errorf("there is no package %q", c.pkg)
	}
	var text strings.Builder
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		b, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		text.Write(b)
	}
	for test := range strings.SplitSeq(strings.Trim(c.run, "^$()"), "|") {
		name, _, _ := strings.Cut(test, "/")
		name = strings.Trim(name, "^$")
		if !strings.Contains(text.String(), "func "+name+"(") {
			return fmt.Errorf("%s has no test %s", importPath(c.pkg), name)
		}
	}
	return nil
}

func TestASeedThatDoesNotApplyIsFound(t *testing.T) {
	s := seed{file: "internal/seeded/doc.go", old: "no such text", new: "x"}
	_, err := s.changed()
	require.ErrorContains(t, err, "0 times")
	s = seed{file: "internal/seeded/doc.go", old: "package seeded\n", new: "package seeded\n\nvar x int = true\n"}
	changed, err := s.changed()
	require.NoError(t, err)
	c := newChecker(t)
	require.ErrorContains(t, c.check(&s, changed), "cannot use true")
	require.ErrorContains(t, exists(c.packages, in("", "TestThatIsNot")), "has no test TestThatIsNot")
}
