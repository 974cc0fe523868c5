package interop_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/logcheck"
)

// world is a table and where it lies.
type world struct {
	path  string
	mem   memory.Allocator
	table *idem.Table

	// int96 says that Spark has written rows of wide: it writes timestamps as INT96, which delta-rs
	// reads as nanoseconds and gets wrong before 1677 and after 2262 (exceptions has the case). What
	// delta-rs reads in the column seen is then not compared.
	int96 bool
}

// at opens the table in a directory, with an allocator that must be empty when the test ends.
func at(t *testing.T, path string) *world {
	w := &world{path: path, mem: checked(t)}
	var err error
	w.table, err = idem.Open(t.Context(), path, w.options())
	require.NoError(t, err)
	w.checkAtEnd(t)
	return w
}

// create makes a table in a directory of its own.
func create(t *testing.T, schema []column, partitionBy ...string) *world {
	w := &world{path: t.TempDir(), mem: checked(t)}
	var err error
	w.table, _, err = idem.Create(t.Context(), "file://"+w.path, idem.Definition{
		Schema: source{Schema: schema}.schema(t), PartitionBy: partitionBy,
	}, w.options())
	require.NoError(t, err)
	w.checkAtEnd(t)
	return w
}

// checkAtEnd holds the log against the rules when the test ends.
func (w *world) checkAtEnd(t *testing.T) {
	t.Cleanup(func() {
		dir, err := store.OpenDir(w.path)
		require.NoError(t, err)
		report, err := logcheck.Check(context.Background(), dir)
		require.NoError(t, err)
		require.NoError(t, report.Err())
	})
}

func checked(t *testing.T) memory.Allocator {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

func (w *world) options() idem.Options { return idem.Options{Allocator: w.mem} }

// exception is where an engine, not we, cannot read or answers otherwise. Each is seen to be true
// in every run: an engine that has learnt it fails the test, and its line goes.
type exception struct {
	engine engine
	what   string // the name of the case
	why    string
}

const nanoseconds = "a literal of DataFusion holds nanoseconds, to the year 2262"

var exceptions = []exception{
	{deltaRS, "made by Spark", "delta-rs reads INT96 timestamps as nanoseconds and wraps beyond 1677 to 2262"},
	{deltaRS, "where seen >= TIMESTAMP '9999-12-31 23:59:59.999999'", nanoseconds},
	{deltaRS, "checkpoint alone, where seen >= TIMESTAMP '9999-12-31 23:59:59.999999'", nanoseconds},
	{deltaRS, "made by delta-rs where seen >= TIMESTAMP '9999-12-31 23:59:59.999999'", nanoseconds},
	{deltaRS, "made by delta-rs where f64 > 1e300", "delta-rs prunes by bounds that leave out NaN, which is greater than every number"},
}

func exceptionOf(e engine, what string) (exception, bool) {
	i := slices.IndexFunc(exceptions, func(x exception) bool { return x.engine == e && x.what == what })
	if i < 0 {
		return exception{}, false
	}
	return exceptions[i], true
}

// agree holds what idem reads, of the rows for which a condition is TRUE ("" means all), against
// what engines read. what names the case.
func (w *world) agree(t *testing.T, what, where string, engines ...engine) answer {
	t.Helper()
	_, err := w.table.Refresh(t.Context())
	require.NoError(t, err, what)
	ours, err := scan(t.Context(), w.table, where)
	require.NoError(t, err, what)
	for _, e := range engines {
		theirs, err := e.read(w.path, where, -1)
		mine := ours
		if w.int96 && e == deltaRS {
			mine, theirs = mine.withoutSeen(), theirs.withoutSeen()
		}
		settle(t, e, what, differ(mine, theirs, err))
	}
	return ours
}

// settle counts a case and fails it, unless the engine is excepted from it.
func settle(t *testing.T, e engine, what string, err error) {
	t.Helper()
	x, excepted := exceptionOf(e, what)
	switch {
	case excepted && err == nil:
		err = fmt.Errorf("agrees, although it is excepted (%s): drop the exception", x.why)
	case excepted:
		t.Logf("exception: %s, %s: %s: %.300s", e, what, x.why, err)
		err = nil
	}
	tally(t, e, err, "%s", what)
}

var seenCell = regexp.MustCompile(`"seen":("[^"]*"|null)`)

func (a answer) withoutSeen() answer {
	b := answer{schema: a.schema}
	for _, r := range a.rows {
		b.rows = append(b.rows, seenCell.ReplaceAllString(r, `"seen":"?"`))
	}
	slices.Sort(b.rows)
	return b
}

// differ says how an engine's answer is not ours.
func differ(ours, theirs answer, err error) error {
	if err != nil {
		return err
	}
	var faults []string
	if !slices.Equal(ours.schema, theirs.schema) {
		faults = append(faults, fmt.Sprintf("columns are %v, ours are %v", theirs.schema, ours.schema))
	}
	if !slices.Equal(ours.rows, theirs.rows) {
		faults = append(faults, fmt.Sprintf("%d rows, ours are %d", len(theirs.rows), len(ours.rows)))
		faults = append(faults, without("only ours", ours.rows, theirs.rows)...)
		faults = append(faults, without("only theirs", theirs.rows, ours.rows)...)
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n  "))
	}
	return nil
}

// without lists the first rows of some that the others lack, counting repetitions.
func without(label string, rows, others []string) []string {
	left := map[string]int{}
	for _, r := range others {
		left[r]++
	}
	var out []string
	for _, r := range rows {
		if left[r]--; left[r] < 0 && len(out) < 3 {
			out = append(out, label+": "+r)
		}
	}
	return out
}
