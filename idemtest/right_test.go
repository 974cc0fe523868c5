package idemtest_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/idemtest"
)

// once makes a reader that cannot be read again.
func once(rows array.RecordReader) array.RecordReader { return struct{ array.RecordReader }{rows} }

// rightJobs are jobs that may come again in every way.
var rightJobs = []struct {
	name string
	make func(t *testing.T) exhibit
}{
	{"an append with a tag", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.AppendWithTxn(ctx, salesOf(t, fourSales...), idem.Txn{AppID: "loader", Version: 1})
			return err
		}
	})},
	{"an append with a tag and its payload, after older batches", batches(func(t *testing.T, batch int) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			rows := salesOf(t, sale{id: "a", n: int64(batch)}, sale{id: "b", n: int64(batch)})
			_, err := table.AppendWithTxn(ctx, rows, idem.Txn{AppID: "loader", Version: int64(batch), VerifyPayload: true})
			return err
		}
	})},
	{"an append without rows, for its tag", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error { return recordBatch(ctx, t, table, "loader") }
	}, fourSales...)},
	{"a slice that is replaced", onOrders(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			return replaceDay(ctx, table, idemtest.Source(ctx, idemtest.Rows(t, orders, sixRows()...)))
		}
	})},
	{"a slice that is replaced, by rows that can be read once", onOrders(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			return replaceDay(ctx, table, once(idemtest.Source(ctx, once(idemtest.Rows(t, orders, sixRows()...)))))
		}
	})},
	{"a slice across the border of a file", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.ReplaceWhere(ctx, once(salesOf(t, sale{id: "b", n: 20})), idem.ReplaceWhere{Where: "id = 'b'"})
			return err
		}
	}, fourSales...)},
	{"slices of two batches", batches(func(t *testing.T, batch int) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.ReplaceWhere(ctx, salesOf(t, sale{id: "a", n: int64(batch)}), idem.ReplaceWhere{Where: "n = ?", Args: []any{batch}})
			return err
		}
	})},
	{"the whole table, fenced by a tag", batches(func(t *testing.T, batch int) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.ReplaceAll(ctx, salesOf(t, sale{id: "a", n: int64(batch)}), idem.ReplaceAll{Txn: idem.Txn{AppID: "loader", Version: int64(batch)}})
			return err
		}
	})},
	{"a merge with a guard", batches(func(t *testing.T, batch int) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			rows := salesOf(t, sale{id: "a", n: int64(batch), seq: int64(batch)}, sale{id: fmt.Sprint(batch)}, sale{id: fmt.Sprint(batch), n: 1, seq: 1})
			_, err := table.Merge(ctx, once(rows), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			return err
		}
	})},
	{"a merge that deletes and remembers", func(t *testing.T) exhibit {
		job := func(list ...sale) idem.Job {
			return func(ctx context.Context, table *idem.Table) error {
				_, err := table.Merge(ctx, salesOf(t, list...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "n < 0", SoftDelete: "deleted"})
				return err
			}
		}
		schema := arrow.NewSchema(append(sales.Fields(), arrow.Field{Name: "deleted", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), nil)
		return exhibit{
			table: idemtest.NewTable(t, idem.Definition{Schema: schema}),
			job:   job(sale{id: "a", n: -1, seq: 2}),
			o:     idemtest.Options{Older: job(sale{id: "a", n: 1, seq: 1}, sale{id: "b", n: 1, seq: 1})},
		}
	}},
	{"a merge that overwrites", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.Merge(ctx, salesOf(t, fourSales[:3]...), idem.Merge{On: []string{"id"}, Unguarded: true})
			return err
		}
	}, sale{id: "a", n: 7}, sale{id: "z", n: 7})},
	{"a delete", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.Delete(ctx, idem.Delete{Where: "n <= 2"})
			return err
		}
	}, fourSales...)},
	{"several calls, each of which can be repeated", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			if _, err := table.Delete(ctx, idem.Delete{Where: "id = 'old'"}); err != nil {
				return err
			}
			if _, err := table.AppendWithTxn(ctx, salesOf(t, fourSales...), idem.Txn{AppID: "loader", Version: 1}); err != nil {
				return err
			}
			_, err := table.Merge(ctx, salesOf(t, sale{id: "m", seq: 1}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			return err
		}
	}, sale{id: "old"}, sale{id: "kept"})},
	{"calls that are tried again where that is safe", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) (err error) {
			for range 3 {
				if err = replaceSales(ctx, table, salesOf(t, fourSales...)); !idem.SafeToRunAgain(err) {
					break
				}
			}
			return err
		}
	})},
	{"a dedupe with a total order, of a source in any", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			list := idemtest.List(ctx, fourSales)
			slices.SortFunc(list, func(a, b sale) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.n, b.n)) })
			return replaceSales(ctx, table, salesOf(t, lastOf(list)...))
		}
	})},
	{"rows deduplicated on the way", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			rows, _, err := idem.DedupeRows(ctx, idemtest.Source(ctx, salesOf(t, fourSales...)), idem.Dedupe{On: []string{"id"}, Newer: []string{"n"}})
			if err != nil {
				return err
			}
			defer rows.Release()
			return replaceSales(ctx, table, rows)
		}
	})},
	{"a job that looks up what is in the table", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			list, err := scanned(ctx, table)
			if err != nil {
				return err
			}
			known := slices.ContainsFunc(list, func(s sale) bool { return s.id == "a" })
			if !known {
				return fmt.Errorf("a is not there")
			}
			_, err = table.Merge(ctx, salesOf(t, sale{id: "a", n: 5, seq: 9}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			return err
		}
	}, fourSales[:3]...)},
	{"an append with a tag that a RESTORE does not stop", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.AppendWithTxn(ctx, salesOf(t, fourSales...), idem.Txn{AppID: "loader", Version: 1, Reapply: true})
			return err
		}
	})},
	{"a column that tells when a row was written, left out", func(t *testing.T) exhibit {
		return exhibit{table: ordersTable(t), job: clockUnderTag(t), o: idemtest.Options{Ignore: []string{"Loaded_At"}}}
	}},
	{"nothing to do", onSales(func(t *testing.T) idem.Job {
		return func(ctx context.Context, table *idem.Table) error {
			_, err := table.Delete(ctx, idem.Delete{Where: "n < 0"})
			return err
		}
	})},
}

func TestProvePasses(t *testing.T) {
	for _, c := range rightJobs {
		t.Run(c.name, func(t *testing.T) {
			x := c.make(t)
			r := record(t, func(t testing.TB) { idemtest.Prove(t, x.table, x.job, x.o) })
			require.False(t, r.failed, r.said())
			t.Log(r.said())
			require.Contains(t, r.said(), "diff: 0 rows\nran ")
		})
	}
}

// TestProveAsSubtests: with a *testing.T every way is a subtest, and the table on disk is as after
// one run of the job.
func TestProveAsSubtests(t *testing.T) {
	table, _, err := idem.Create(t.Context(), t.TempDir(), idem.Definition{Schema: sales}, idem.Options{})
	require.NoError(t, err)
	for i := range 12 { // beyond a checkpoint
		require.NoError(t, appendSales(t.Context(), table, salesOf(t, sale{id: fmt.Sprint("kept-", i)})))
	}
	idemtest.Prove(t, table, func(ctx context.Context, table *idem.Table) error {
		_, err := table.Merge(ctx, salesOf(t, fourSales[:3]...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		return err
	}, idemtest.Options{FakeTime: true})
	found, err := table.Fingerprint(t.Context(), idem.Fingerprint{})
	require.NoError(t, err)
	require.EqualValues(t, 15, found.Rows)
	require.EqualValues(t, 13, table.Version())
}

// TestProveLeaksNothing: what a job reads through Source is released, also when calls fail.
func TestProveLeaksNothing(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	table := salesTable(t)
	idemtest.Prove(t, table, func(ctx context.Context, table *idem.Table) error {
		b := array.NewRecordBuilder(mem, sales)
		defer b.Release()
		for i := range 20 {
			b.Field(0).(*array.StringBuilder).Append(fmt.Sprint("id-", i))
			for c := 1; c < 4; c++ {
				b.Field(c).AppendNull()
			}
		}
		batch := b.NewRecordBatch()
		defer batch.Release()
		none := batch.NewSlice(0, 0)
		defer none.Release()
		rows, err := array.NewRecordReader(sales, []arrow.RecordBatch{batch, none})
		if err != nil {
			return err
		}
		source := idemtest.Source(ctx, rows)
		defer source.Release()
		return replaceSales(ctx, table, source)
	}, idemtest.Options{})
}
