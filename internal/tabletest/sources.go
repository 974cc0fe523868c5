package tabletest

import (
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sources is a number that changes with the sources of what the suites check: which part of a long suite
// runs may depend on it, so that other commits run other parts. The caller's directory is two below the
// module's.
func Sources(t testing.TB) int {
	t.Helper()
	h := fnv.New32a()
	for _, dir := range []string{"../..", "../../delta", "../commit", "../engine", "../logio", "../plan", "../../maintain"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			data, err := fs.ReadFile(os.DirFS(dir), filepath.Base(f))
			if err != nil {
				t.Fatal(err)
			}
			h.Write(data)
		}
	}
	return int(h.Sum32() >> 1)
}
