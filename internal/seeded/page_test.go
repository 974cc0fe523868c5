package seeded_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const pageFile = root + "/docs/seeded.md"

const pageHead = "# Seeded faults\n\n" +
	"Made by `go test ./internal/seeded -seeded.run -seeded.update`; do not edit. Each line is a deliberate fault in the code,\n" +
	"what it breaks, and the tests that failed with it: the test of the tests. The last column, of `-seeded.schedules 300`, is the\n" +
	"first of 300 simulated histories (internal/sim) that it breaks; most are of rooms that histories do not go through.\n\n" +
	"| fault | breaks | file | caught by | first history |\n|---|---|---|---|---|\n"

// cells are what a line says before the tests that failed, and of a second suite.
func (f *finding) cells() string {
	return fmt.Sprintf("| %s | %s | `%s` | %s: ", f.seed.name, f.seed.breaks, f.seed.file, f.suite.where())
}

// where names the place of a suite.
func (s suite) where() string {
	name := "idem"
	if s.pkg != "" {
		name = s.pkg
	}
	return name
}

// known are the lines of a page by their first cells.
func known(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if at := strings.LastIndex(line, ": "); at >= 0 && strings.HasPrefix(line, "| ") {
			out[line[:at+2]] = line
		}
	}
	return out
}

// update writes the page: what was caught now, and of what was not run what the page says.
func update(t *testing.T, findings []*finding) {
	text, err := os.ReadFile(pageFile)
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
		return
	}
	lines := known(string(text))
	for _, f := range findings {
		first := f.first
		if _, was, ok := cutLast(strings.TrimSuffix(strings.TrimPrefix(lines[f.cells()], f.cells()), " |\n"), " | "); ok && first == "" {
			first = was
		}
		delete(lines, f.cells())
		if f.caught() {
			lines[f.cells()] = fmt.Sprintf("%s%s | %s |\n", f.cells(), f.by(), first)
		}
	}
	var b strings.Builder
	b.WriteString(pageHead)
	for _, f := range everySuite() {
		b.WriteString(lines[f.cells()])
	}
	if err := os.WriteFile(pageFile, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// cutLast cuts a text where a separator stands last.
func cutLast(text, separator string) (before, after string, ok bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

func everySuite() []*finding {
	var out []*finding
	for _, s := range all() {
		for _, c := range s.caught {
			out = append(out, &finding{seed: &s, suite: c})
		}
	}
	return out
}

func TestThePageNamesEverySeed(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	rest, ok := strings.CutPrefix(string(text), pageHead)
	require.True(t, ok, "docs/seeded.md begins otherwise: write it anew with -seeded.run -seeded.update")
	for _, f := range everySuite() {
		line, after, _ := strings.Cut(rest, "\n")
		by, ok := strings.CutPrefix(line, f.cells())
		tests, first, _ := cutLast(strings.TrimSuffix(by, " |"), " | ")
		require.True(t, ok && strings.Contains(tests, "Test") && first != "", "docs/seeded.md has not, in its place, what caught %q in %s: write it anew with -seeded.run -seeded.update", f.seed.name, f.suite)
		rest = after
	}
	require.Empty(t, rest, "docs/seeded.md has lines of seeds that are no more")
}
