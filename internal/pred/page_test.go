package pred_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/internal/pred"
)

var update = flag.Bool("update", false, "write docs/functions.md anew")

// TestFunctionsPage makes docs/functions.md from the functions there are.
func TestFunctionsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Functions of expressions

What can be called in conditions (slices, merges, CHECK constraints) and in the values of a merge's clauses, beside the operators,
CASE, CAST, LIKE, IN, BETWEEN, fields and elements that package delta/expr describes. Each means what it means in Spark 4.1 with
spark.sql.ansi.enabled (its default) and the session time zone UTC. Texts and numbers are never converted into each other unless a
CAST says so. Anything else is refused by its name and position; so is what gives another value at each run (rand, uuid, now, …).

Where Spark, in ANSI mode too, gives another value than the right one without a word, idem fails the row instead: floor, ceil and CAST
of a double that BIGINT cannot hold, NaN and the infinities as DECIMAL, days and times added beyond what their types hold.

This page is made by TestFunctionsPage.

`)
	line := ""
	for i, name := range pred.Functions() {
		if i > 0 {
			line += ", "
		}
		if len(line)+len(name) > 130 {
			page.WriteString(strings.TrimSuffix(line, " ") + "\n")
			line = ""
		}
		line += name
	}
	page.WriteString(line + "\n")
	const file = "../../docs/functions.md"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "run go test ./internal/pred -run TestFunctionsPage -update")
}
