package scan_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
)

const (
	files   = 9
	perFile = 50
)

// made is a table of 9 files in 3 partitions, one of them NULL: id ascends over the files.
func made(t *testing.T) (*storetest.Faulty, *delta.Snapshot) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "day", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	st := storetest.NewFaulty(store.NewMem())
	table, _, err := idem.CreateStore(t.Context(), st, idem.Definition{Schema: schema, PartitionBy: []string{"day"}}, idem.Options{})
	require.NoError(t, err)
	for f := range files {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := range perFile {
			b.Field(0).(*array.Int64Builder).Append(int64(f*perFile + i))
			if f%3 == 0 {
				b.Field(1).AppendNull()
			} else {
				b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("d%d", f%3))
			}
			b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("v%d", i%7))
		}
		r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
		require.NoError(t, err)
		_, err = table.Append(t.Context(), r, idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	st.Reset()
	return st, table.Snapshot()
}

// table reads with a checked allocator: whatever happens, nothing is left behind.
func table(t *testing.T, st store.Store, snap *delta.Snapshot, parallelism int) scan.Table {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return scan.Table{Store: st, Snapshot: snap, Stats: logio.New(st, logio.Options{}), Allocator: mem, Parallelism: parallelism}
}

func ids(t *testing.T, rows scan.Batches) []int64 {
	var out []int64
	for b, err := range rows {
		require.NoError(t, err)
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}

func where(t *testing.T, text string) expr.Expr {
	e, err := expr.Parse(text)
	require.NoError(t, err)
	return e
}

func TestRowsAreTheSameHoweverManyReadThem(t *testing.T) {
	st, snap := made(t)
	for _, c := range []struct {
		where string
		want  func(id int64) bool
	}{
		{"true", func(int64) bool { return true }},
		{"id >= 125 AND id < 260", func(id int64) bool { return id >= 125 && id < 260 }},
		{"day = 'd1'", func(id int64) bool { return id/perFile%3 == 1 }},
		{"day IS NULL AND v = 'v3'", func(id int64) bool { return id/perFile%3 == 0 && id%perFile%7 == 3 }},
		{"NOT day = 'd1'", func(id int64) bool { return id/perFile%3 == 2 }}, // NULL is not TRUE
	} {
		var sequence []int64
		for _, parallelism := range []int{1, 2, 8} {
			got := ids(t, scan.Rows(t.Context(), table(t, st, snap, parallelism), scan.Request{Columns: []string{"ID"}, Where: where(t, c.where)}))
			var want []int64
			for id := range int64(files * perFile) {
				if c.want(id) {
					want = append(want, id)
				}
			}
			require.ElementsMatch(t, want, got, "%s, %d at once", c.where, parallelism)
			if parallelism == 1 {
				sequence = got
			}
			require.Equal(t, sequence, got, "the order does not depend on parallelism")
		}
	}
}

func TestColumnsComeInTheOrderAskedFor(t *testing.T) {
	st, snap := made(t)
	for b, err := range scan.Rows(t.Context(), table(t, st, snap, 1), scan.Request{Columns: []string{"v", "DAY"}, Where: where(t, "id = 70")}) {
		require.NoError(t, err)
		require.Equal(t, []string{"v", "day"}, []string{b.ColumnName(0), b.ColumnName(1)})
		require.EqualValues(t, 1, b.NumRows())
		require.Equal(t, "d1", b.Column(1).ValueStr(0), "a partition column comes from the log")
	}
	for _, err := range scan.Rows(t.Context(), table(t, st, snap, 1), scan.Request{Columns: []string{"nosuch"}}) {
		require.ErrorIs(t, err, delta.ErrInput)
	}
}

func TestNoColumnsStillCountRows(t *testing.T) {
	st, snap := made(t)
	n := int64(0)
	for b, err := range scan.Rows(t.Context(), table(t, st, snap, 2), scan.Request{Columns: []string{}}) {
		require.NoError(t, err)
		n += b.NumRows()
	}
	require.EqualValues(t, files*perFile, n)
}

func TestFilesThatCannotHoldARowAreNotRead(t *testing.T) {
	st, snap := made(t)
	require.Len(t, ids(t, scan.Rows(t.Context(), table(t, st, snap, 1), scan.Request{Where: where(t, "id = 70")})), 1)
	require.Equal(t, 1, st.Count(storetest.OpGet)+st.Count(storetest.OpGetRange), "one file of nine")
	pruned, err := scan.Prune(t.Context(), table(t, st, snap, 1), where(t, "id < 75"))
	require.NoError(t, err)
	require.Len(t, pruned.Inside, 1)
	require.Len(t, pruned.Across, 1)
	require.Equal(t, 7, pruned.Outside)
}

func TestTheConsumerMayStopEarly(t *testing.T) {
	st, snap := made(t)
	for _, parallelism := range []int{1, 3} {
		for stop := range files {
			n := 0
			for _, err := range scan.Rows(t.Context(), table(t, st, snap, parallelism), scan.Request{}) {
				require.NoError(t, err)
				if n == stop {
					break
				}
				n++
			}
		}
	}
}

func TestACancelledReadIsAnErrorAndNeverFewerRows(t *testing.T) {
	st, snap := made(t)
	for _, parallelism := range []int{1, 3} {
		for at := range files {
			ctx, cancel := context.WithCancel(t.Context())
			n, rows := 0, int64(0)
			var failed error
			for b, err := range scan.Rows(ctx, table(t, st, snap, parallelism), scan.Request{}) {
				if err != nil {
					failed = err
					break
				}
				rows += b.NumRows()
				if n++; n == at {
					cancel()
				}
			}
			cancel()
			if rows < files*perFile && at > 0 {
				require.ErrorIs(t, failed, context.Canceled)
			}
		}
	}
}

// TestMemoryGrowsWithWhatIsReadAtOnce: files that nobody reads yet cost no more than a pointer.
func TestMemoryGrowsWithWhatIsReadAtOnce(t *testing.T) {
	st, snap := made(t)
	many := slices.Repeat(slices.Collect(snap.Files()), 2000)
	allocs := testing.AllocsPerRun(1, func() {
		for _, err := range scan.Rows(t.Context(), table(t, st, snap, 2), scan.Request{Files: many}) {
			require.NoError(t, err)
			break
		}
	})
	require.Less(t, allocs, float64(len(many)/2))
}

func TestAMissingFileFailsTheRead(t *testing.T) {
	st, snap := made(t)
	all := slices.Collect(snap.Files())
	require.NoError(t, st.Delete(t.Context(), all[4].Key))
	for _, parallelism := range []int{1, 3} {
		var failed error
		for _, err := range scan.Rows(t.Context(), table(t, st, snap, parallelism), scan.Request{}) {
			failed = err
		}
		require.ErrorIs(t, failed, delta.ErrCorrupt)
		require.ErrorContains(t, failed, all[4].Path)
	}
}
