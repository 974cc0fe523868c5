package idem_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
)

const benchRows = 200_000

// lake is a table in a directory with benchRows rows on each of 4 days.
func lake(b *testing.B) (*idem.Table, func(day int, seq int64) array.RecordReader) {
	st, err := store.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	table, _, err := idem.CreateStore(b.Context(), st, idem.Definition{Schema: orders, PartitionBy: []string{"day"}}, idem.Options{})
	if err != nil {
		b.Fatal(err)
	}
	made := map[string]arrow.RecordBatch{}
	rows := func(day int, seq int64) array.RecordReader {
		key := fmt.Sprint(day, seq)
		if made[key] == nil {
			made[key] = dayBatch(day, seq)
		}
		r, err := array.NewRecordReader(orders, []arrow.RecordBatch{made[key]})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	for day := range 4 {
		if _, err := table.Append(b.Context(), rows(day, 1), idem.Append{Reason: "benchmark"}); err != nil {
			b.Fatal(err)
		}
	}
	return table, rows
}

func dayBatch(day int, seq int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, orders)
	defer b.Release()
	name := fmt.Sprintf("2026-10-%02d", day+1)
	for i := range int64(benchRows) {
		b.Field(0).(*array.StringBuilder).Append(name)
		b.Field(1).(*array.Int64Builder).Append(int64(day)*benchRows + i*7919%benchRows)
		b.Field(2).(*array.Int64Builder).Append(seq)
		b.Field(3).(*array.StringBuilder).Append("value of the row " + fmt.Sprint(i%1000))
	}
	return b.NewRecordBatch()
}

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkReplaceWhere(b *testing.B) {
	for _, same := range []bool{false, true} {
		b.Run(fmt.Sprintf("same=%t", same), func(b *testing.B) {
			table, rows := lake(b)
			seq := int64(1)
			for b.Loop() {
				if !same {
					seq = 3 - seq
				}
				res, err := table.ReplaceWhere(b.Context(), rows(1, seq), idem.ReplaceWhere{Where: "day = '2026-10-02'"})
				if err != nil {
					b.Fatal(err)
				}
				if same != (res.Outcome == idem.Unchanged) {
					b.Fatal(res)
				}
			}
			perRow(b, benchRows)
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, part := range []int{100, 2} {
		b.Run(fmt.Sprintf("changed=1/%d", part), func(b *testing.B) {
			table, rows := lake(b)
			seq := int64(1)
			for b.Loop() {
				seq++
				whole := rows(2, seq)
				whole.Next()
				some, err := array.NewRecordReader(orders, []arrow.RecordBatch{whole.RecordBatch().NewSlice(0, int64(benchRows/part))})
				if err != nil {
					b.Fatal(err)
				}
				res, err := table.Merge(b.Context(), some, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
				if err != nil {
					b.Fatal(err)
				}
				if res.Updated != int64(benchRows/part) {
					b.Fatal(res)
				}
			}
			perRow(b, benchRows)
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	for _, verify := range []bool{false, true} {
		b.Run(fmt.Sprintf("verify=%t", verify), func(b *testing.B) {
			table, _ := lake(b)
			for b.Loop() {
				if _, err := table.Fingerprint(b.Context(), idem.Fingerprint{Verify: verify}); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, 4*benchRows)
		})
	}
}

func BenchmarkScan(b *testing.B) {
	table, _ := lake(b)
	for b.Loop() {
		for _, err := range table.Scan(b.Context(), idem.Scan{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	perRow(b, 4*benchRows)
}

func BenchmarkDedupeRows(b *testing.B) {
	_, rows := lake(b)
	for b.Loop() {
		out, _, err := idem.DedupeRows(b.Context(), rows(0, 1), idem.Dedupe{On: []string{"id"}, Newer: []string{"seq"}})
		if err != nil {
			b.Fatal(err)
		}
		for out.Next() {
		}
		out.Release()
	}
	perRow(b, benchRows)
}

func BenchmarkCommit(b *testing.B) {
	table, _ := lake(b)
	version := int64(0)
	for b.Loop() {
		version++
		if _, err := table.AppendWithTxn(b.Context(), rowsOf(), idem.Txn{AppID: "bench", Version: version}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	st := store.NewMem()
	table, _, err := idem.CreateStore(b.Context(), st, idem.Definition{Schema: orders, Properties: map[string]string{"delta.checkpointInterval": "1000000"}}, idem.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range int64(1000) {
		if _, err := table.Append(b.Context(), rowsOf(order{"d", i, i, "x"}), idem.Append{Reason: "benchmark"}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("commits=1000", func(b *testing.B) {
		for b.Loop() {
			if _, err := idem.OpenStore(b.Context(), st, idem.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
