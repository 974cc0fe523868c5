package conformance_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/conformance"
)

// corpus is the directory of the corpus: that of IDEM_CORPUS, else the one beside the project.
func corpus(t *testing.T) string {
	if dir := os.Getenv("IDEM_CORPUS"); dir != "" {
		return dir
	}
	dir := filepath.Join("..", "..", "..", "shared", "corpus")
	_, err := os.Stat(filepath.Join(dir, conformance.ExpectedFile))
	if errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no corpus in %s: set IDEM_CORPUS to the directory that holds %s", dir, conformance.ExpectedFile)
		}
		t.Skipf("no corpus in %s; IDEM_CORPUS names another directory", dir)
	}
	return dir
}

// summary is the last line of the output, for people and scripts.
var summary string

func TestMain(m *testing.M) {
	code := m.Run()
	if summary != "" {
		fmt.Println(summary)
	}
	os.Exit(code)
}

func TestCorpus(t *testing.T) {
	root, err := filepath.Abs(corpus(t))
	require.NoError(t, err)
	lines, err := conformance.Load(root)
	require.NoError(t, err)

	var mu sync.Mutex
	counts := map[conformance.Verdict]int{}
	t.Run("line", func(t *testing.T) {
		for i := range lines {
			l := &lines[i]
			t.Run(l.Table, func(t *testing.T) {
				t.Parallel()
				verdict := conformance.Wrong
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					counts[verdict]++
				}()
				result, err := conformance.Run(t.Context(), root, l, t.TempDir())
				require.NoError(t, err)
				verdict = result.Verdict
				for _, n := range result.Notes {
					t.Log(n)
				}
				if verdict == conformance.Wrong {
					t.Errorf("wrong (%s):\n%s", l.Why, strings.Join(result.Faults, "\n"))
				}
			})
		}
	})
	summary = fmt.Sprintf("corpus: %d lines, %d read right, %d refused by name, %d wrong", len(lines),
		counts[conformance.Right], counts[conformance.Refused], counts[conformance.Wrong])
	require.Zero(t, counts[conformance.Wrong], summary)
}
