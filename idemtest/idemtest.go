// Package idemtest holds what the tests of a job need: tables in memory, rows from Go values, and
// the assertion that matters, that running the job again, in whatever way, leaves the table as
// running it once.
//
//	func TestOrdersLoader(t *testing.T) {
//		table := idemtest.NewTable(t, idem.Definition{Schema: orders, PartitionBy: []string{"day"}})
//		idemtest.Prove(t, table, func(ctx context.Context, table *idem.Table) error {
//			return loadOrders(ctx, table, "2013-01-02")
//		}, idemtest.Options{})
//		idemtest.Grain(t, table, "order_id")
//	}
//
// [Prove] runs the job twice, on another day, with its input in another order, with each store
// operation failing in turn, killed at each, two at once, and with an older batch between (see
// [Way]). [RunTwice] does the first only. It needs no server and no configuration, and for a small
// table some hundredths of a second.
//
// # What a failure says
//
// What befell the job, how many rows are added and missing, the columns that differ, some of the
// rows ("~" stands before one that is there with other values), the commits, and the likely cause in
// words: appends without a tag, another tag in every run, a clock value in a column, a generated
// key, randomness or map iteration order, a tie without order, a key from the row number, float
// sums that depend on order, a partial source, a state outside of the table, the job reads its own
// output, ignores an error, retries an append after ErrUnknownOutcome, records progress before the
// rows, looks and then appends, deletes and then appends, an unguarded merge, an unfenced
// replacement. A cause is found by what differs and by the calls that the job made, and so is likely
// and not certain; that the table differs is certain.
//
// # What it cannot see
//
// Only the table that the job is handed is copied, watched and disturbed; whatever else the job
// writes to is written by every run. The job's own source comes in another order only if it passes
// through [Source] or [List], and time.Now is on another day only with Options.FakeTime.
//
// Every function reports through the testing.TB that it is given and may be called by the test's
// goroutine only.
package idemtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
)

// NewTable makes an empty table in memory, with the default options.
func NewTable(t testing.TB, def idem.Definition) *idem.Table {
	t.Helper()
	table, _, err := idem.CreateStore(t.Context(), store.NewMem(), def, idem.Options{})
	if err != nil {
		t.Fatalf("make a table in memory: %v", err)
	}
	return table
}

// RunTwice runs a job twice on the table and fails the test, printing what the second run changed
// and the likely cause, unless the table is the same after one run and after two. Passing logs
// "diff: 0 rows". An error of the job ends the test.
//
// What was found is returned, for tests that ask more: that the second run made no version, say.
func RunTwice(t testing.TB, table *idem.Table, job idem.Job) *idem.Difference {
	t.Helper()
	d, err := idem.RunTwice(t.Context(), table, job)
	switch {
	case err != nil:
		t.Fatalf("%v", err)
	case !d.Same():
		t.Errorf("%s", d)
	default:
		t.Logf("%s", d)
	}
	return d
}

// Grain fails the test unless the key columns identify a row: as many rows as distinct keys. It
// prints some of the keys that occur more than once.
func Grain(t testing.TB, table *idem.Table, keys ...string) {
	t.Helper()
	if table == nil {
		t.Fatalf("the table is nil")
	}
	if len(keys) == 0 {
		t.Fatalf("Grain needs the key columns of %s", table.URL())
	}
	found, err := table.Fingerprint(t.Context(), idem.Fingerprint{Keys: keys})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if found.Grain() {
		return
	}
	twins, err := table.Duplicates(t.Context(), idem.Duplicates{On: keys})
	if err != nil {
		t.Fatalf("%v", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "grain: %d rows and %d keys (%s): %d rows are beyond the first of their key",
		found.Rows, found.Keys, strings.Join(keys, ", "), twins.Extra)
	for _, s := range twins.Samples {
		fmt.Fprintf(&b, "\n  %d times %s", s.Count, s.Key)
	}
	t.Errorf("%s", b.String())
}
