package idemtest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/idemtest"
)

// recorder is a testing.TB that keeps what it is told instead of failing.
type recorder struct {
	testing.TB
	failed bool
	fatal  bool
	text   []string
}

func (r *recorder) Helper() {}

func (r *recorder) Logf(format string, args ...any) {
	r.text = append(r.text, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed, r.fatal = true, true
	r.Logf(format, args...)
	runtime.Goexit()
}

// record runs f with a recorder, and lets a Fatalf end only f.
func record(t *testing.T, f func(t testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

func (r *recorder) said() string { return strings.Join(r.text, "\n") }

func twice(t *testing.T, table *idem.Table, job idem.Job) *recorder {
	t.Helper()
	return record(t, func(t testing.TB) { idemtest.RunTwice(t, table, job) })
}

var orders = arrow.NewSchema([]arrow.Field{
	{Name: "day", Type: arrow.FixedWidthTypes.Date32},
	{Name: "id", Type: arrow.BinaryTypes.String},
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "loaded_at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
}, nil)

func ordersTable(t *testing.T) *idem.Table {
	t.Helper()
	return idemtest.NewTable(t, idem.Definition{Schema: orders, PartitionBy: []string{"day"}})
}

const day = "2013-01-02"

// sixRows are the orders of a day.
func sixRows() [][]any {
	var out [][]any
	for i := range 6 {
		out = append(out, []any{day, fmt.Sprintf("order-%d", i), i, nil})
	}
	return out
}

func replaceDay(ctx context.Context, table *idem.Table, rows array.RecordReader) error {
	_, err := table.ReplaceWhere(ctx, rows, idem.ReplaceWhere{Where: "day = DATE '2013-01-02'"})
	return err
}

func mergeByID(ctx context.Context, table *idem.Table, rows array.RecordReader) error {
	_, err := table.Merge(ctx, rows, idem.Merge{On: []string{"id"}, Unguarded: true})
	return err
}

func TestRunTwicePasses(t *testing.T) {
	table := ordersTable(t)
	var versions []int64
	r := twice(t, table, func(ctx context.Context, table *idem.Table) error {
		res, err := table.ReplaceWhere(ctx, idemtest.Rows(t, orders, sixRows()...), idem.ReplaceWhere{Where: "day = DATE '2013-01-02'"})
		if err == nil {
			versions = append(versions, res.Version)
		}
		return err
	})
	require.False(t, r.failed, r.said())
	require.Equal(t, "diff: 0 rows", r.said())
	require.Equal(t, []int64{1, 1}, versions, "the second run makes no version")
}

// TestRunTwiceCatches: every job that two runs of change the table is caught, and the words lead to
// what is wrong with it.
func TestRunTwiceCatches(t *testing.T) {
	for _, c := range []struct {
		name string
		job  func(t *testing.T) idem.Job
		says []string
	}{
		{"a plain append", plainAppend, []string{
			"+6 rows, -0 rows", "after run 1: rows=6", "after run 2: rows=12", `+ day=2013-01-02, id="order-0", n=0`,
			"version 2: WRITE", "appends without a tag", "all 6 rows are copies", "AppendWithTxn", "ReplaceWhere"}},
		{"a plain append of rows that carry the time of the run", appendedClock, []string{
			"+6 rows, -0 rows", "columns: loaded_at", "appends without a tag", "but for a clock value in column loaded_at", "logical date"}},
		{"the time of the run in a column", clockColumn, []string{
			"+6 rows, -6 rows", "6 are other versions of the same row", "columns: loaded_at", "a clock value in column loaded_at", "logical date"}},
		{"a key that every run makes anew", generatedKey, []string{
			"+6 rows, -0 rows", "columns: id", "a generated key", "column id", "derive the key from the row"}},
		{"a key that every run makes anew, in a day that is replaced", replacedKey, []string{
			"+6 rows, -6 rows", "columns: id", "column id differs from run to run: a generated value", "derive it from the row"}},
		{"which of two rows wins depends on their order", tieWithoutOrder, []string{
			"+1 rows, -1 rows", "columns: n", "a tie without order", "name a total order"}},
		{"a day replaced by the rows since the job's cursor", sinceCursor, []string{
			"+0 rows, -4 rows", "a partial source", "4 rows fewer", "must read all of it, not what is new since its last run"}},
		{"the same when nothing is new", nothingNew, []string{"+0 rows, -6 rows", "a partial source", "6 rows fewer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := twice(t, ordersTable(t), c.job(t))
			require.True(t, r.failed)
			require.False(t, r.fatal, r.said())
			for _, s := range c.says {
				require.Contains(t, r.said(), s)
			}
			require.NotContains(t, r.said(), "diff: 0 rows")
		})
	}
}

func plainAppend(t *testing.T) idem.Job {
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.Append(ctx, idemtest.Rows(t, orders, sixRows()...), idem.Append{Reason: "the job under test"})
		return err
	}
}

// stamped gives the rows with the time of the run, another one in every run.
func stamped() func() [][]any {
	now := time.Date(2013, 1, 3, 2, 14, 0, 0, time.UTC)
	return func() [][]any {
		rows := sixRows()
		for i := range rows {
			rows[i][3] = now
		}
		now = now.Add(time.Hour)
		return rows
	}
}

func appendedClock(t *testing.T) idem.Job {
	source := stamped()
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.Append(ctx, idemtest.Rows(t, orders, source()...), idem.Append{Reason: "the job under test"})
		return err
	}
}

func clockColumn(t *testing.T) idem.Job {
	source := stamped()
	return func(ctx context.Context, table *idem.Table) error {
		return replaceDay(ctx, table, idemtest.Rows(t, orders, source()...))
	}
}

// keyed gives the rows with keys that no run has given before.
func keyed() func() [][]any {
	next := 0
	return func() [][]any {
		rows := sixRows()
		for i := range rows {
			rows[i][1] = fmt.Sprintf("key-%d", next)
			next++
		}
		return rows
	}
}

func generatedKey(t *testing.T) idem.Job {
	source := keyed()
	return func(ctx context.Context, table *idem.Table) error {
		return mergeByID(ctx, table, idemtest.Rows(t, orders, source()...))
	}
}

func replacedKey(t *testing.T) idem.Job {
	source := keyed()
	return func(ctx context.Context, table *idem.Table) error {
		return replaceDay(ctx, table, idemtest.Rows(t, orders, source()...))
	}
}

func nothingNew(t *testing.T) idem.Job {
	source := sixRows()
	return func(ctx context.Context, table *idem.Table) error {
		_, err := table.ReplaceWhere(ctx, idemtest.Rows(t, orders, source...), idem.ReplaceWhere{Where: "day = DATE '2013-01-02'", AllowEmpty: true})
		source = nil
		return err
	}
}

func tieWithoutOrder(t *testing.T) idem.Job {
	run := 0
	return func(ctx context.Context, table *idem.Table) error {
		rows := append(sixRows(), []any{day, "order-3", 33, nil}) // twice in the source
		if run++; run == 2 {
			rows[3], rows[6] = rows[6], rows[3] // which comes in any order
		}
		last := map[any][]any{} // and the job keeps what comes last
		for _, row := range rows {
			last[row[1]] = row
		}
		var kept [][]any
		for i := range 6 {
			kept = append(kept, last[fmt.Sprintf("order-%d", i)])
		}
		return replaceDay(ctx, table, idemtest.Rows(t, orders, kept...))
	}
}

func sinceCursor(t *testing.T) idem.Job {
	cursor := 0
	return func(ctx context.Context, table *idem.Table) error {
		rows := sixRows()[cursor:]
		cursor = 4 // the next run reads what has come since
		return replaceDay(ctx, table, idemtest.Rows(t, orders, rows...))
	}
}

func TestRunTwiceEndsWithTheJobsError(t *testing.T) {
	r := twice(t, ordersTable(t), func(context.Context, *idem.Table) error { return fmt.Errorf("the source is away") })
	require.True(t, r.fatal)
	require.Contains(t, r.said(), "run 1 of the job: the source is away")

	source := sixRows() // the second run finds nothing new, and does not allow an empty day
	r = twice(t, ordersTable(t), func(ctx context.Context, table *idem.Table) error {
		rows := source
		source = nil
		return replaceDay(ctx, table, idemtest.Rows(t, orders, rows...))
	})
	require.True(t, r.fatal)
	require.Contains(t, r.said(), "run 2 of the job: ")
	require.Contains(t, r.said(), "AllowEmpty")
}

func TestGrain(t *testing.T) {
	table := ordersTable(t)
	require.NoError(t, plainAppend(t)(t.Context(), table))
	r := record(t, func(t testing.TB) { idemtest.Grain(t, table, "id") })
	require.False(t, r.failed, r.said())
	require.Empty(t, r.text)

	require.NoError(t, plainAppend(t)(t.Context(), table))
	r = record(t, func(t testing.TB) { idemtest.Grain(t, table, "day", "id") })
	require.True(t, r.failed)
	require.Contains(t, r.said(), "grain: 12 rows and 6 keys (day, id): 6 rows are beyond the first of their key")
	require.Contains(t, r.said(), "2 times ")
	require.Contains(t, r.said(), `id="order-`)

	for name, keys := range map[string][]string{"no key": nil, "a column that is not there": {"order_id"}} {
		r = record(t, func(t testing.TB) { idemtest.Grain(t, table, keys...) })
		require.True(t, r.fatal, name)
	}
}

func TestSameRows(t *testing.T) {
	a, b := ordersTable(t), idemtest.NewTable(t, idem.Definition{Schema: orders}) // other files
	require.NoError(t, plainAppend(t)(t.Context(), a))
	for _, row := range sixRows() {
		require.NoError(t, mergeByID(t.Context(), b, idemtest.Rows(t, orders, row)))
	}
	r := record(t, func(t testing.TB) { idemtest.SameRows(t, a, b) })
	require.False(t, r.failed, r.said())

	require.NoError(t, mergeByID(t.Context(), b, idemtest.Rows(t, orders, []any{day, "order-2", 22, nil})))
	r = record(t, func(t testing.TB) { idemtest.SameRows(t, a, b) })
	require.Contains(t, r.said(), "1 rows are only in the first, 1 only in the second", "as many rows are not the same rows")

	_, err := b.Append(t.Context(), idemtest.Rows(t, orders, sixRows()[0]), idem.Append{Reason: "a row that is there twice"})
	require.NoError(t, err)
	r = record(t, func(t testing.TB) { idemtest.SameRows(t, a, b) })
	require.True(t, r.failed)
	for _, s := range []string{
		"1 rows are only in the first, 2 only in the second", "first:  rows=6", "second: rows=7",
		`- day=2013-01-02, id="order-2", n=2, loaded_at=NULL`,
		`+ day=2013-01-02, id="order-2", n=22`,
		`+ day=2013-01-02, id="order-0", n=0`,
	} {
		require.Contains(t, r.said(), s)
	}
}

func TestRows(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "x", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "t", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
		{Name: "m", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
	}, nil)
	at := time.Date(2013, 1, 2, 3, 4, 5, 6000, time.UTC)
	rows := idemtest.Rows(t, schema,
		[]any{1, 2.5, "three", []byte{4}, true, "2013-01-02", at, "19.90"},
		[]any{nil, 2, "(null)", []byte{}, false, at.Truncate(24 * time.Hour), at, -1},
		make([]any, 8))
	for range 2 { // it can be read again
		require.True(t, rows.Next())
		text, err := rows.RecordBatch().MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, `[
			{"i":1,"f":2.5,"s":"three","x":"BA==","b":true,"d":"2013-01-02","t":"2013-01-02T03:04:05.000006Z","m":"19.9"},
			{"i":null,"f":2,"s":"(null)","x":"","b":false,"d":"2013-01-02","t":"2013-01-02T03:04:05.000006Z","m":"-1"},
			{"i":null,"f":null,"s":null,"x":null,"b":null,"d":null,"t":null,"m":null}]`, string(text))
		require.False(t, rows.Next())
		require.NoError(t, rows.Err())
		require.NoError(t, rows.(interface{ Rewind(context.Context) error }).Rewind(t.Context()))
	}

	full := func() []any { return make([]any, 8) }
	for _, c := range []struct {
		column int
		value  any
		says   string
	}{
		{0, 40_000, "row 1, column i (int16)"},
		{0, 1.5, "row 1, column i (int16)"},
		{2, 7, "7 is a int and not a string"},
		{3, "text", "text is a string and not bytes"},
		{5, at, "is not the midnight of a date"},
		{6, at.Add(time.Nanosecond), "is finer than us"},
		{7, "19.999", "row 1, column m (decimal(9, 2))"},
		{7, "123456789.01", "row 1, column m (decimal(9, 2))"},
		{7, at, "a time goes into a date or a timestamp column"},
	} {
		row := full()
		row[c.column] = c.value
		r := record(t, func(t testing.TB) { idemtest.Rows(t, schema, full(), row) })
		require.True(t, r.fatal, "%v", c.value)
		require.Contains(t, r.said(), c.says)
	}
	r := record(t, func(t testing.TB) { idemtest.Rows(t, schema, []any{1}) })
	require.Contains(t, r.said(), "row 0 has 1 values, the schema has 8 fields")
}

// TestWhatIsNilEndsTheTest: no panic, and words that say what is missing.
func TestWhatIsNilEndsTheTest(t *testing.T) {
	table := idemtest.NewTable(t, idem.Definition{Schema: sales})
	job := func(context.Context, *idem.Table) error { return nil }
	for _, c := range []struct {
		says string
		run  func(t testing.TB)
	}{
		{"the table is nil", func(t testing.TB) { idemtest.RunTwice(t, nil, job) }},
		{"the job is nil", func(t testing.TB) { idemtest.RunTwice(t, table, nil) }},
		{"the table is nil", func(t testing.TB) { idemtest.Prove(t, nil, job, idemtest.Options{}) }},
		{"the job is nil", func(t testing.TB) { idemtest.Prove(t, table, nil, idemtest.Options{}) }},
		{"the table is nil", func(t testing.TB) { idemtest.Grain(t, nil, "id") }},
		{"one of the tables is nil", func(t testing.TB) { idemtest.SameRows(t, table, nil) }},
		{"one of the tables is nil", func(t testing.TB) { idemtest.SameRows(t, nil, table) }},
	} {
		r := record(t, c.run)
		require.True(t, r.fatal)
		require.Contains(t, r.said(), c.says)
	}
}
