// Package layers holds the law of imports as a test.
package layers_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/idemtable/idem"

// room is one line of the law: the row that a package stands in, and what it may use from outside
// the standard library beside Arrow's arrays.
type room struct {
	row     int
	outside []string
	pure    bool
}

const (
	compute  = "github.com/apache/arrow-go/v18/arrow/compute"
	ipc      = "github.com/apache/arrow-go/v18/arrow/ipc"
	parquet  = "github.com/apache/arrow-go/v18/parquet"
	parquetG = "github.com/parquet-go/parquet-go"
	xxh3     = "github.com/zeebo/xxh3"
	errgroup = "golang.org/x/sync"
	roaring  = "github.com/RoaringBitmap/roaring/v2"
)

// law says, for every package, what it may import: packages of rows above its own, Arrow's arrays,
// and what is listed.
var law = map[string]room{
	"delta":                 {row: 0, pure: true, outside: []string{compute, roaring}},
	"delta/expr":            {row: 0, pure: true, outside: []string{compute}},
	"internal/trial":        {row: 0, pure: true},
	"internal/redact":       {row: 0},
	"internal/hostile":      {row: 0, pure: true},
	"internal/fuzzing":      {row: 0},
	"internal/rows":         {row: 0, pure: true, outside: []string{xxh3}},
	"internal/function":     {row: 1, pure: true, outside: []string{compute}},
	"delta/store":           {row: 1},
	"internal/pred":         {row: 2, pure: true, outside: []string{compute}},
	"internal/commit":       {row: 2, pure: true},
	"internal/parquetio":    {row: 2, outside: []string{parquet, parquetG}},
	"internal/vectors":      {row: 2},
	"internal/spill":        {row: 2, outside: []string{ipc}},
	"delta/store/storetest": {row: 2},
	"internal/logio":        {row: 3, outside: []string{errgroup}},
	"delta/scan":            {row: 3, outside: []string{compute}},
	"internal/plan":         {row: 4, outside: []string{compute, errgroup}},
	"internal/engine":       {row: 4},
	"internal/logcheck":     {row: 4},
	"internal/inside":       {row: 5},
	"":                      {row: 6},
	"idemtest":              {row: 7},
	"maintain":              {row: 7},
	"records":               {row: 7, outside: []string{compute}},
	"changes":               {row: 7},
	"internal/tabletest":    {row: 7},
	"internal/sim":          {row: 8},
	"internal/smallscope":   {row: 8},
	"internal/kill":         {row: 8},
	"internal/metamorphic":  {row: 8},
	"internal/conformance":  {row: 8, outside: []string{parquet}},
	"internal/interop":      {row: 8},
	"internal/seeded":       {row: 8},
	"internal/layers":       {row: 8},
	"examples/0214":         {row: 8},
}

// arrays may be used everywhere.
var arrays = []string{"", "/array", "/memory", "/scalar", "/decimal", "/decimal128", "/decimal256", "/bitutil", "/float16"}

// impure are the packages that pure ones do without: no disk, network, clock, lock or chance.
var impure = []string{"os", "net", "sync", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "syscall", "os/exec"}

// interfaces that row 0 and 1 share are named by the same tests; these need no row.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestGoFiles  []string
	XTestGoFiles []string
	GoFiles      []string
}

func packages(t *testing.T) []pkg {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p pkg
		require.NoError(t, d.Decode(&p))
		all = append(all, p)
	}
	require.NotEmpty(t, all)
	return all
}

func TestEveryImportIsInTheLaw(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		seen[name] = true
		r, ok := law[name]
		if !ok {
			t.Errorf("package %q has no line in the law", name)
			continue
		}
		for _, imp := range p.Imports {
			if why := forbidden(name, r, imp); why != "" {
				t.Errorf("%s imports %s: %s", name, imp, why)
			}
		}
	}
	for name := range law {
		if !seen[name] {
			t.Errorf("the law has a line for %q, which does not exist", name)
		}
	}
}

func forbidden(name string, r room, imp string) string {
	if rest, ours := strings.CutPrefix(imp, module); ours {
		other, ok := law[strings.TrimPrefix(rest, "/")]
		switch {
		case !ok:
			return "it has no line in the law"
		case other.row >= r.row:
			return fmt.Sprintf("it stands in row %d, and %s in row %d", other.row, name, r.row)
		}
		return ""
	}
	if !strings.Contains(strings.Split(imp, "/")[0], ".") {
		if r.pure && slices.Contains(impure, imp) {
			return "a pure package does without it"
		}
		return ""
	}
	if rest, arrow := strings.CutPrefix(imp, "github.com/apache/arrow-go/v18/arrow"); arrow && slices.Contains(arrays, rest) {
		return ""
	}
	for _, allowed := range r.outside {
		if imp == allowed || strings.HasPrefix(imp, allowed+"/") {
			return ""
		}
	}
	return "its line in the law does not list it"
}

func TestTheLawForbids(t *testing.T) {
	for _, c := range []struct{ why, from, to string }{
		{"a row may not import its own", "delta", module + "/delta/expr"},
		{"nor a lower one", "internal/pred", module + "/internal/plan"},
		{"pure packages read no disk", "internal/commit", "os"},
		{"a library that is not listed", "internal/plan", "github.com/parquet-go/parquet-go"},
	} {
		require.NotEmpty(t, forbidden(c.from, law[c.from], c.to), c.why)
	}
}
