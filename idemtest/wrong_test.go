package idemtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/idemtest"
	"github.com/idemtable/idem/maintain"
)

// sales is a table with numbers, and a float, beside the key.
var sales = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.BinaryTypes.String},
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "total", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "seq", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
}, nil)

// sale is a row of sales.
type sale struct {
	id    string
	n     int64
	total float64
	seq   int64
}

// fourSales are two versions of a, and one of b and of c.
var fourSales = []sale{{"a", 1, 0.1, 1}, {"b", 2, 0.2, 1}, {"c", 3, 0.3, 1}, {"a", 10, 1e16, 1}}

func salesOf(t testing.TB, list ...sale) array.RecordReader {
	var rows [][]any
	for _, s := range list {
		rows = append(rows, []any{s.id, s.n, s.total, s.seq})
	}
	return idemtest.Rows(t, sales, rows...)
}

func salesTable(t *testing.T, list ...sale) *idem.Table {
	t.Helper()
	table := idemtest.NewTable(t, idem.Definition{Schema: sales})
	if len(list) > 0 {
		require.NoError(t, replaceSales(t.Context(), table, salesOf(t, list...)))
	}
	return table
}

func replaceSales(ctx context.Context, table *idem.Table, rows array.RecordReader) error {
	_, err := table.ReplaceAll(ctx, rows, idem.ReplaceAll{})
	return err
}

func appendSales(ctx context.Context, table *idem.Table, rows array.RecordReader) error {
	_, err := table.Append(ctx, rows, idem.Append{Reason: "the job under test"})
	return err
}

// scanned gives the sales of a table in the order in which a scan does.
func scanned(ctx context.Context, table *idem.Table) ([]sale, error) {
	var out []sale
	for b, err := range table.Scan(ctx, idem.Scan{}) {
		if err != nil {
			return nil, err
		}
		id, n := b.Column(0).(*array.String), b.Column(1).(*array.Int64)
		total, seq := b.Column(2).(*array.Float64), b.Column(3).(*array.Int64)
		for i := range int(b.NumRows()) {
			out = append(out, sale{id.Value(i), n.Value(i), total.Value(i), seq.Value(i)})
		}
	}
	return out, nil
}

func deleteFirst(ctx context.Context, table *idem.Table, txn idem.Txn) error {
	left, err := scanned(ctx, table)
	if err == nil {
		_, err = table.Delete(ctx, idem.Delete{Where: "n = ?", Args: []any{left[0].n}, Txn: txn})
	}
	return err
}

// exhibit is a job, and the table that it is for.
type exhibit struct {
	table *idem.Table
	job   idem.Job
	o     idemtest.Options
}

func onOrders(job func(*testing.T) idem.Job) func(*testing.T) exhibit {
	return func(t *testing.T) exhibit { return exhibit{table: ordersTable(t), job: job(t)} }
}

func onSales(job func(*testing.T) idem.Job, list ...sale) func(*testing.T) exhibit {
	return func(t *testing.T) exhibit { return exhibit{table: salesTable(t, list...), job: job(t)} }
}

// batches is a job for batch 2 that batch 1 comes late for.
func batches(job func(t *testing.T, batch int) idem.Job) func(*testing.T) exhibit {
	return func(t *testing.T) exhibit {
		return exhibit{table: salesTable(t), job: job(t, 2), o: idemtest.Options{Older: job(t, 1)}}
	}
}

// wrongJobs is a gallery: what is wrong, the way that shows it, and the words that lead to it.
var wrongJobs = []struct {
	name string
	make func(t *testing.T) exhibit
	way  idemtest.Way
	says []string
}{
	{"an append without a tag", onOrders(plainAppend), idemtest.Twice, []string{
		"+6 rows, -0 rows", "appends without a tag", "all 6 rows are copies", "AppendWithTxn"}},
	{"an append of rows that carry the time of the run", onOrders(appendedClock), idemtest.Twice, []string{
		"appends without a tag", "but for a clock value in column loaded_at"}},
	{"an append of rows that carry the time of the run, which is left out", func(t *testing.T) exhibit {
		return exhibit{table: ordersTable(t), job: appendedClock(t), o: idemtest.Options{Ignore: []string{"loaded_at"}}}
	}, idemtest.Twice, []string{"all 6 rows are copies", `+ day=2013-01-02, id="order-0", n=0` + "\n"}},
	{"the time of the run in a column", onOrders(clockColumn), idemtest.Twice, []string{
		"of which 6 are other versions of the same row", `~ id="order-0": loaded_at=2013-01-03T02:14:00Z → 2013-01-03T03:14:00Z`,
		"a clock value in column loaded_at", "Options.Ignore"}},
	{"the time of the run as a number", onSales(clockNumber), idemtest.Twice, []string{
		"a clock value in column seq", "logical date"}},
	{"the time of the run under a tag", onOrders(clockUnderTag), idemtest.Twice, []string{
		"a run on a copy of the table as it was gives another table", "a clock value in column loaded_at"}},
	{"a key that every run makes anew", onOrders(generatedKey), idemtest.Twice, []string{
		"a generated key", "column id", "derive the key from the row"}},
	{"a key that every run makes anew, in a slice that is replaced", onOrders(replacedKey), idemtest.Twice, []string{
		"column id differs from run to run", "a generated value"}},
	{"random numbers", onSales(randomColumn), idemtest.Twice, []string{
		"column n differs from run to run", "randomness"}},
	{"rows numbered in the order of a Go map", onSales(mapOrder), idemtest.Twice, []string{
		"map iteration order", "column n holds the same values on other rows"}},
	{"a batch number from a counter", onSales(countedTag), idemtest.Twice, []string{
		"another tag in every run", "loader@2"}},
	{"an update under a tag from the clock", onSales(clockTag(func(ctx context.Context, table *idem.Table, txn idem.Txn) error {
		return updateSales(ctx, table, maintain.Update{Where: "TRUE", Set: map[string]string{"n": "n + 1"}, Txn: txn})
	}), sale{id: "a", n: 1}), idemtest.Twice, []string{
		"another tag in every run", "changed column n,", "under the tag loader@", "a tag must be the same on every run"}},
	{"a clock value, set under a tag from the clock", onSales(clockTag(func(ctx context.Context, table *idem.Table, txn idem.Txn) error {
		return updateSales(ctx, table, maintain.Update{Where: "TRUE", Set: map[string]string{"seq": fmt.Sprint(txn.Version)}, Txn: txn})
	}), sale{id: "a", n: 1}), idemtest.Twice, []string{
		"another tag in every run", "changed a clock value in column seq,", "a tag must be the same on every run over the same rows, and take the logical date of the run"}},
	{"a delete of the first row that is left, under a tag from the clock", onSales(clockTag(deleteFirst), fourSales...), idemtest.Twice, []string{
		"another tag in every run", "added 0 rows and removed 1"}},
	{"the same, by a vector of a file that stays", func(t *testing.T) exhibit {
		table := idemtest.NewTable(t, idem.Definition{Schema: sales, Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
		require.NoError(t, replaceSales(t.Context(), table, salesOf(t, fourSales...)))
		return exhibit{table: table, job: clockTag(deleteFirst)(t)}
	}, idemtest.Twice, []string{
		"another tag in every run", "added 0 rows and removed 1"}},
	{"the rows since the job's cursor", onOrders(sinceCursor), idemtest.Twice, []string{
		"a partial source", "4 rows fewer"}},
	{"a cursor outside of the table, with a tag", onSales(outsideCursor), idemtest.Twice, []string{
		"a run on a copy of the table as it was", "a partial source", "3 rows fewer"}},
	{"a marker outside of the table", onSales(outsideMarker), idemtest.Twice, []string{
		"a run on a copy of the table as it was", "a state outside of the table", "the job did nothing"}},
	{"a counter in the table that is read and written", onSales(readsOwnOutput, sale{id: "a"}), idemtest.Twice, []string{
		"the job reads its own output", "column n", `id="a": n=1 → 2`}},
	{"a delete that goes by how often it ran", onSales(deletesMore, fourSales...), idemtest.Twice, []string{
		"a delete that finds more the second time"}},
	{"today by the clock of the table", onSales(today), idemtest.AnotherDay, []string{
		"a clock value in column id", "the second run wrote its rows under another value", "after run 2, a day later"}},
	{"today by the clock of the table, under a tag", onSales(todayUnderTag), idemtest.AnotherDay, []string{
		"a day later the job makes another table of the same", "+1 rows, -1 rows"}},
	{"the last row of a key is kept", onSales(keepsLast), idemtest.AnotherOrder, []string{
		"with its input in another order the job makes another table", "a tie without order", "n=10 → 1"}},
	{"the first rows are taken", onSales(takesFirst), idemtest.AnotherOrder, []string{
		"a tie without order", "name a total order"}},
	{"the last row of a scan is kept", onSales(keepsLastOfScan, fourSales...), idemtest.AnotherOrder, []string{
		"a tie without order"}},
	{"the first row is remembered, and another one taken for news", onSales(remembersFirst), idemtest.AnotherOrder, []string{
		"run again with its input in another order the job changes the table", "n=0 → 1"}},
	{"rows numbered as they come", onSales(rowNumber), idemtest.AnotherOrder, []string{
		"a key from the row number", "column n holds the same values on other rows"}},
	{"floats added as they come", onSales(floatSum), idemtest.AnotherOrder, []string{
		"float sums that depend on order", "column total", "sum decimals or integers"}},
	{"an error that is not returned", onSales(ignoresError), idemtest.Faults, []string{
		"the job ignores an error", "Merge ended in", "the job returned nil", "operation ", "failed before it had an effect"}},
	{"a tag recorded before the rows", onSales(tagBeforeRows), idemtest.Faults, []string{
		"progress is recorded before the rows", "4 rows are missing", "it was run again"}},
	{"an append that is tried again when its outcome is unknown", onSales(retriesAppend), idemtest.Faults, []string{
		"retries an append after ErrUnknownOutcome", "Table.Resolve", "AppendWithTxn", "+4 rows", "the store was away"}},
	{"progress in a second commit", onSales(tagAfterRows), idemtest.Faults, []string{
		"appends without a tag", "running again wrote 4 rows once more"}},
	{"progress in a second commit, and no fault but the end", func(t *testing.T) exhibit {
		return exhibit{table: salesTable(t), job: tagAfterRows(t), o: idemtest.Options{Skip: []idemtest.Way{idemtest.Faults}}}
	}, idemtest.Killed, []string{
		"operation 4 of 8 (PUT-IF-ABSENT _delta_log/00000000000000000001.json) was the last before the process died", "appends without a tag"}},
	{"one of several times wins by chance", onOrders(timeByChance), idemtest.Twice, []string{
		"column loaded_at differs from run to run in 1 of the 6 rows", "a tie without order"}},
	{"looks, and then appends", onSales(looksThenAppends), idemtest.TwoAtOnce, []string{
		"the job looks and then appends", "another run of the job went from beginning to end"}},
	{"deletes, and then appends", onSales(deletesThenAppends), idemtest.TwoAtOnce, []string{
		"the job deletes and then appends, in two commits", "ReplaceWhere"}},
	{"a merge without a guard", batches(unguardedMerge), idemtest.OlderBetween, []string{
		"an unguarded merge", "Merge.Newer", "n=2 → 1"}},
	{"a slice that is replaced without a fence", batches(unfencedReplace), idemtest.OlderBetween, []string{
		"an unfenced replacement", "give ReplaceWhere a Txn"}},
	{"an update without a fence", func(t *testing.T) exhibit {
		set := func(batch string) idem.Job {
			return func(ctx context.Context, table *idem.Table) error {
				return updateSales(ctx, table, maintain.Update{Where: "id = 'a'", Set: map[string]string{"n": batch}})
			}
		}
		return exhibit{table: salesTable(t, sale{id: "a"}), job: set("2"), o: idemtest.Options{Older: set("1")}}
	}, idemtest.OlderBetween, []string{
		"an unfenced update", "n=2 → 1", "give both a Txn"}},
	{"how often the older batch came, in a row", func(t *testing.T) exhibit {
		return exhibit{table: salesTable(t), job: countsOlder(t), o: idemtest.Options{Older: olderTag(t)}}
	}, idemtest.OlderBetween, []string{
		"after the older batch and the job", "after both once more", "n=1 → 2"}},
	{"a deleted key without a memory", batches(deletedKey), idemtest.OlderBetween, []string{
		"brought back 1 rows that a later one had deleted", "Merge.SoftDelete"}},
}

func TestProveCatches(t *testing.T) {
	for _, c := range wrongJobs {
		t.Run(c.name, func(t *testing.T) {
			x := c.make(t)
			r := record(t, func(t testing.TB) { idemtest.Prove(t, x.table, x.job, x.o) })
			require.True(t, r.failed)
			require.False(t, r.fatal, r.said())
			require.Contains(t, r.said(), string(c.way)+": ")
			for _, s := range c.says {
				require.Contains(t, r.said(), s)
			}
			require.NotContains(t, r.said(), "diff: 0 rows")
		})
	}
}

func clockNumber(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		return replaceSales(ctx, table, salesOf(t, sale{id: "a", seq: time.Now().UnixNano()}))
	}
}

func timeByChance(t *testing.T) idem.Job {
	run := 0
	return func(ctx context.Context, table *idem.Table) error {
		run++
		rows := sixRows()
		rows[3][3] = time.Date(2013, 1, 2, run, 0, 0, 0, time.UTC)
		return replaceDay(ctx, table, idemtest.Rows(t, orders, rows...))
	}
}

// today replaces the slice of today.
func today(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		date := table.Options().Clock.Now().Format(time.DateOnly)
		_, err := table.ReplaceWhere(ctx, salesOf(t, sale{id: date, n: 1}), idem.ReplaceWhere{Where: "id = ?", Args: []any{date}})
		return err
	}
}

func todayUnderTag(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		date := table.Options().Clock.Now().Format(time.DateOnly)
		_, err := table.AppendWithTxn(ctx, salesOf(t, sale{id: date, n: 1}), idem.Txn{AppID: "loader", Version: 1})
		return err
	}
}

// remembersFirst writes the same rows in whatever order they come, and records the first; run again, it holds another
// first row for a source that changed.
func remembersFirst(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		first := idemtest.List(ctx, fourSales)[0].n
		known, ok := table.Snapshot().Txn("first")
		news := int64(0)
		if ok && known.Version != first {
			news = 1
		}
		if err := replaceSales(ctx, table, salesOf(t, sale{id: "a", n: news})); err != nil || ok {
			return err
		}
		_, err := table.AppendWithTxn(ctx, salesOf(t), idem.Txn{AppID: "first", Version: first})
		return err
	}
}

// olderTag records how often it ran, and no row.
func olderTag(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.AppendWithTxn(ctx, salesOf(t), idem.Txn{AppID: "older", Version: ran(table, "older") + 1})
		return err
	}
}

// countsOlder writes how often olderTag ran.
func countsOlder(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		return replaceSales(ctx, table, salesOf(t, sale{id: "a", n: ran(table, "older")}))
	}
}

// ran is the version that is recorded for an application, 0 for none.
func ran(table *idem.Table, app string) int64 {
	t, _ := table.Snapshot().Txn(app)
	return t.Version
}

func clockUnderTag(t *testing.T) idem.Job {
	source := stamped()
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.AppendWithTxn(ctx, idemtest.Rows(t, orders, source()...), idem.Txn{AppID: "loader", Version: 1})
		return err
	}
}

func randomColumn(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		return replaceSales(ctx, table, salesOf(t, sale{id: "a", n: rand.Int64()}, sale{id: "b", n: rand.Int64()}))
	}
}

func mapOrder(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		source := map[string]bool{}
		for i := range 100 {
			source[fmt.Sprint("key-", i)] = true
		}
		var list []sale
		for id := range source {
			list = append(list, sale{id: id, n: int64(len(list))})
		}
		return replaceSales(ctx, table, salesOf(t, list...))
	}
}

func countedTag(t *testing.T) idem.Job {
	batch := int64(0)
	return func(ctx context.Context, table *idem.Table) error {
		batch++
		_, err := table.AppendWithTxn(ctx, salesOf(t, fourSales...), idem.Txn{AppID: "loader", Version: batch})
		return err
	}
}

// clockTag is a job whose one call has the time as the version of its tag.
func clockTag(call func(context.Context, *idem.Table, idem.Txn) error) func(*testing.T) idem.Job {
	return func(*testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			return call(ctx, table, idem.Txn{AppID: "loader", Version: time.Now().UnixNano()})
		}
	}
}

func updateSales(ctx context.Context, table *idem.Table, u maintain.Update) error {
	_, err := maintain.UpdateTable(ctx, table, u)
	return err
}

// outsideCursor reads what is new, and moves on when it is written.
func outsideCursor(t *testing.T) idem.Job {
	cursor := 0
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.AppendWithTxn(ctx, salesOf(t, fourSales[cursor:]...), idem.Txn{AppID: "loader", Version: 1})
		if err == nil {
			cursor = 3
		}
		return err
	}
}

func outsideMarker(t *testing.T) idem.Job {
	done := false
	return func(ctx context.Context, table *idem.Table) error {
		if done {
			return nil
		}
		err := appendSales(ctx, table, salesOf(t, fourSales...))
		done = err == nil
		return err
	}
}

func readsOwnOutput(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		list, err := scanned(ctx, table)
		if err != nil {
			return err
		}
		for i := range list {
			list[i].n++
		}
		_, err = table.Merge(ctx, salesOf(t, list...), idem.Merge{On: []string{"id"}, Unguarded: true})
		return err
	}
}

func deletesMore(*testing.T) idem.Job {
	run := 0
	return func(ctx context.Context, table *idem.Table) error {
		run++
		_, err := table.Delete(ctx, idem.Delete{Where: "n <= ?", Args: []any{run}})
		return err
	}
}

// lastOf keeps the last row of each key, in the order of keys.
func lastOf(list []sale) []sale {
	last := map[string]sale{}
	for _, s := range list {
		last[s.id] = s
	}
	return []sale{last["a"], last["b"], last["c"]}
}

func keepsLast(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		return replaceSales(ctx, table, salesOf(t, lastOf(idemtest.List(ctx, fourSales))...))
	}
}

func takesFirst(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.AppendWithTxn(ctx, salesOf(t, idemtest.List(ctx, fourSales)[:2]...), idem.Txn{AppID: "loader", Version: 1})
		return err
	}
}

func keepsLastOfScan(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		list, err := scanned(ctx, table)
		if err != nil {
			return err
		}
		return replaceSales(ctx, table, salesOf(t, lastOf(list)...))
	}
}

// numbered puts the number of a row into it, as it comes.
type numbered struct {
	array.RecordReader
	t    *testing.T
	next int64
}

func (r *numbered) RecordBatch() arrow.RecordBatch {
	b := r.RecordReader.RecordBatch()
	var list []sale
	for i := range int(b.NumRows()) {
		list = append(list, sale{id: b.Column(0).(*array.String).Value(i), n: r.next})
		r.next++
	}
	rows := salesOf(r.t, list...)
	rows.Next()
	return rows.RecordBatch()
}

func rowNumber(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		source := idemtest.Source(ctx, salesOf(t, fourSales[:3]...))
		// Not a Rewinder: what it gives again would have other numbers.
		return replaceSales(ctx, table, &numbered{RecordReader: source, t: t})
	}
}

func floatSum(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		sum := 0.0
		for _, s := range idemtest.List(ctx, fourSales[:3]) {
			sum += s.total
		}
		return replaceSales(ctx, table, salesOf(t, sale{id: "all", total: sum}))
	}
}

func ignoresError(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		_, _ = table.Merge(ctx, salesOf(t, fourSales[:3]...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		return nil
	}
}

// recorded says whether a batch is recorded, and record records it.
func recorded(table *idem.Table, app string) bool {
	_, ok := table.Snapshot().Txn(app)
	return ok
}

func recordBatch(ctx context.Context, t *testing.T, table *idem.Table, app string) error {
	_, err := table.AppendWithTxn(ctx, salesOf(t), idem.Txn{AppID: app, Version: 1})
	return err
}

func tagBeforeRows(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		if recorded(table, "progress") {
			return nil
		}
		if err := recordBatch(ctx, t, table, "progress"); err != nil {
			return err
		}
		return appendSales(ctx, table, salesOf(t, fourSales...))
	}
}

func tagAfterRows(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		if recorded(table, "progress") {
			return nil
		}
		if err := appendSales(ctx, table, salesOf(t, fourSales...)); err != nil {
			return err
		}
		return recordBatch(ctx, t, table, "progress")
	}
}

// isEmpty says whether a table holds no row.
func isEmpty(ctx context.Context, table *idem.Table) (bool, error) {
	found, err := table.Fingerprint(ctx, idem.Fingerprint{})
	return err == nil && found.Rows == 0, err
}

func retriesAppend(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		empty, err := isEmpty(ctx, table)
		if err != nil || !empty {
			return err
		}
		for range 3 {
			if err = appendSales(ctx, table, salesOf(t, fourSales...)); !errors.Is(err, idem.ErrUnknownOutcome) {
				break
			}
		}
		return err
	}
}

func looksThenAppends(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		empty, err := isEmpty(ctx, table)
		if err != nil || !empty {
			return err
		}
		return appendSales(ctx, table, salesOf(t, fourSales...))
	}
}

func deletesThenAppends(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		if _, err := table.Delete(ctx, idem.Delete{Where: "n >= 0"}); err != nil {
			return err
		}
		return appendSales(ctx, table, salesOf(t, fourSales...))
	}
}

func unguardedMerge(t *testing.T, batch int) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.Merge(ctx, salesOf(t, sale{id: "a", n: int64(batch)}), idem.Merge{On: []string{"id"}, Unguarded: true})
		return err
	}
}

func unfencedReplace(t *testing.T, batch int) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		return replaceSales(ctx, table, salesOf(t, sale{id: "a", n: int64(batch)}))
	}
}

// deletedKey inserts a and b in batch 1 and deletes a in batch 2.
func deletedKey(t *testing.T, batch int) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		list := []sale{{id: "a", n: 1, seq: 1}, {id: "b", n: 1, seq: 1}}
		if batch == 2 {
			list = []sale{{id: "a", n: -1, seq: 2}}
		}
		_, err := table.Merge(ctx, salesOf(t, list...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "n < 0"})
		return err
	}
}
