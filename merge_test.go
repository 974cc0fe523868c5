package idem_test

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
)

// changes is rows of orders with an op beside them, which the table lacks.
func changes(ops string, list ...order) array.RecordReader {
	return typed(append(orders.Fields(), arrow.Field{Name: "op", Type: arrow.BinaryTypes.String, Nullable: true}), func(b *array.RecordBuilder) {
		for i, o := range list {
			b.Field(0).(*array.StringBuilder).Append(o.day)
			b.Field(1).(*array.Int64Builder).Append(o.id)
			b.Field(2).(*array.Int64Builder).Append(o.seq)
			b.Field(3).(*array.StringBuilder).Append(o.v)
			b.Field(4).(*array.StringBuilder).Append(ops[i : i+1])
		}
	})
}

func TestMergeDeletes(t *testing.T) {
	cdc := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "op = 'd'"}
	begin := func(t *testing.T) *fixture {
		f := newFixture(t)
		_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 5, "a"}, order{"d1", 2, 5, "b"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		require.NoError(t, err)
		return f
	}
	t.Run("a newer delete deletes its match and is never inserted", func(t *testing.T) {
		f := begin(t)
		for i := range 2 {
			res, err := f.table.Merge(t.Context(), changes("dd", order{"d1", 1, 6, ""}, order{"d1", 9, 6, ""}), cdc)
			require.NoError(t, err)
			if i == 0 {
				require.EqualValues(t, 1, res.Deleted)
				require.EqualValues(t, 1, res.UnmatchedDeletes)
			} else {
				require.Equal(t, idem.Unchanged, res.Outcome)
			}
			require.Equal(t, []string{"d1/2/5/b"}, f.rows())
		}
	})
	t.Run("an older delete is skipped", func(t *testing.T) {
		f := begin(t)
		res, err := f.table.Merge(t.Context(), changes("d", order{"d1", 1, 4, ""}), cdc)
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome)
		require.EqualValues(t, 1, res.SkippedOlder)
	})
	t.Run("a delete and a later insert of one key in one batch: the later wins", func(t *testing.T) {
		f := begin(t)
		_, err := f.table.Merge(t.Context(), changes("du", order{"d1", 1, 6, ""}, order{"d1", 1, 7, "back"}), cdc)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"d1/1/7/back", "d1/2/5/b"}, f.rows())
	})
	t.Run("a deleted key leaves no memory", func(t *testing.T) {
		f := begin(t)
		_, err := f.table.Merge(t.Context(), changes("d", order{"d1", 1, 7, ""}), cdc)
		require.NoError(t, err)
		_, err = f.table.Merge(t.Context(), changes("u", order{"d1", 1, 6, "old"}), cdc)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"d1/1/6/old", "d1/2/5/b"}, f.rows(), "as the documentation says; SoftDelete keeps one")
	})
	t.Run("SoftDelete keeps a row that guards", func(t *testing.T) {
		soft := cdc
		soft.SoftDelete = "deleted"
		mem := store.NewMem()
		table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{
			Schema: arrow.NewSchema(append(orders.Fields(), arrow.Field{Name: "deleted", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), nil),
		}, idem.Options{})
		require.NoError(t, err)
		live := func() []string {
			out := []string{}
			for b, err := range table.Scan(t.Context(), idem.Scan{Columns: []string{"id", "v"}, Where: "deleted <=> false"}) {
				require.NoError(t, err)
				for i := range int(b.NumRows()) {
					out = append(out, b.Column(0).ValueStr(i)+b.Column(1).ValueStr(i))
				}
			}
			return out
		}
		for _, step := range []struct {
			op   string
			row  order
			want []string
		}{
			{"u", order{"d1", 1, 1, "a"}, []string{"1a"}},
			{"d", order{"d1", 1, 5, ""}, []string{}},
			{"u", order{"d1", 1, 4, "late"}, []string{}},      // older than the delete
			{"d", order{"d1", 2, 5, ""}, []string{}},          // deleted before it was ever seen
			{"u", order{"d1", 2, 4, "late"}, []string{}},      // and its older insert comes late
			{"u", order{"d1", 1, 6, "new"}, []string{"1new"}}, // a newer one brings it back
		} {
			for range 2 {
				_, err := table.Merge(t.Context(), changes(step.op, step.row), soft)
				require.NoError(t, err)
				require.Equal(t, step.want, live())
			}
		}
		checkLog(t, mem)
	})
}

func TestMergeOfAnyOrderOfBatchesGivesOneTable(t *testing.T) {
	batches := [][]order{
		{{"d1", 1, 1, "a"}, {"d1", 2, 1, "b"}, {"d1", 1, 3, "c"}},
		{{"d2", 1, 2, "older"}, {"d1", 3, 1, "x"}},
		{{"d2", 2, 4, "moved"}, {"d1", 3, 1, "x"}},
	}
	var want string
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1, 0, 2, 1}} {
		f := newFixture(t)
		for _, b := range order {
			_, err := f.table.Merge(t.Context(), rowsOf(batches[b]...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			require.NoError(t, err)
		}
		if want == "" {
			want = f.fingerprint()
			require.ElementsMatch(t, []string{"d1/1/3/c", "d2/2/4/moved", "d1/3/1/x"}, f.rows())
		}
		require.Equal(t, want, f.fingerprint(), "batches in the order %v", order)
	}
}

func TestMergeColumns(t *testing.T) {
	f := newFixture(t)
	byID := idem.Merge{On: []string{"ID"}, Newer: []string{"Seq"}}
	_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), byID)
	require.NoError(t, err)
	some := func(id, seq int64) array.RecordReader {
		return typed([]arrow.Field{{Name: "SEQ", Type: arrow.PrimitiveTypes.Int32}, {Name: "iD", Type: arrow.PrimitiveTypes.Int16}}, func(b *array.RecordBuilder) {
			b.Field(0).(*array.Int32Builder).Append(int32(seq))
			b.Field(1).(*array.Int16Builder).Append(int16(id))
		})
	}
	res, err := f.table.Merge(t.Context(), some(1, 2), byID)
	require.NoError(t, err)
	require.Equal(t, []string{"d1/1/2/a"}, f.rows(), "by name, ignoring case; columns that the source lacks keep their values")
	require.ElementsMatch(t, []string{"day", "v"}, res.MissingColumns)
	_, err = f.table.Merge(t.Context(), some(7, 2), byID)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"d1/1/2/a", "NULL/7/2/NULL"}, f.rows(), "an insert makes them NULL")

	only := byID
	only.Update = []string{"seq"}
	_, err = f.table.Merge(t.Context(), rowsOf(order{"d9", 1, 3, "ignored"}, order{"d1", 8, 1, "n"}), only)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"d1/1/3/a", "NULL/7/2/NULL", "d1/8/1/n"}, f.rows(), "Update lists what an update sets")

	bad := byID
	bad.Update = []string{"v"}
	_, err = f.table.Merge(t.Context(), rowsOf(order{"d9", 1, 9, "x"}), bad)
	require.ErrorIs(t, err, idem.ErrInput, "an update that leaves the guard behind would be repeated")
}

func TestMergeKeysThatAreHardToCompare(t *testing.T) {
	fields := []arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	keys := func(n int64, ks ...float64) array.RecordReader {
		return typed(fields, func(b *array.RecordBuilder) {
			for _, k := range ks {
				b.Field(0).(*array.Float64Builder).Append(k)
				b.Field(1).(*array.Int64Builder).Append(n)
			}
		})
	}
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: arrow.NewSchema(fields, nil)}, idem.Options{})
	require.NoError(t, err)
	byK := idem.Merge{On: []string{"k"}, Newer: []string{"n"}}
	_, err = table.Merge(t.Context(), keys(1, 0, math.NaN(), math.Inf(1), 2.5), byK)
	require.NoError(t, err)
	res, err := table.Merge(t.Context(), keys(2, math.Copysign(0, -1), math.Float64frombits(0x7ff8000000000123), math.Inf(1)), byK)
	require.NoError(t, err)
	require.EqualValues(t, 3, res.Updated, "-0.0 = 0.0, NaN = NaN")
	require.Zero(t, res.Inserted)
	for b, err := range table.Scan(t.Context(), idem.Scan{Where: "k = 0"}) {
		require.NoError(t, err)
		require.False(t, math.Signbit(b.Column(0).(*array.Float64).Value(0)), "an update keeps the target's own key bytes")
	}
	checkLog(t, mem)
}

func TestMergeNullKeys(t *testing.T) {
	f := newFixture(t)
	m := idem.Merge{On: []string{"id", "seq"}, Unguarded: true, NullKeys: idem.MatchNulls}
	for range 3 {
		_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, -1, "a"}, order{"d1", 2, -1, "b"}), m)
		require.NoError(t, err)
		require.Len(t, f.rows(), 2)
	}
	res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, -1, "A"}), m)
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Updated)
}

func TestMergeGuardPrefix(t *testing.T) {
	f := newFixture(t)
	with := func(seq, lsn int64, v string) array.RecordReader {
		return typed(append(orders.Fields(), arrow.Field{Name: "lsn", Type: arrow.PrimitiveTypes.Int64}), func(b *array.RecordBuilder) {
			for i := range int64(2) {
				b.Field(0).(*array.StringBuilder).Append("d1")
				b.Field(1).(*array.Int64Builder).Append(1)
				b.Field(2).(*array.Int64Builder).Append(seq)
				b.Field(3).(*array.StringBuilder).Append(v)
				b.Field(4).(*array.Int64Builder).Append(lsn)
				_ = i
			}
		})
	}
	m := idem.Merge{On: []string{"id"}, Newer: []string{"seq", "lsn"}}
	_, err := f.table.Merge(t.Context(), with(1, 1, "a"), m)
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "GuardPrefix")
	m.GuardPrefix = true
	res, err := f.table.Merge(t.Context(), with(1, 1, "a"), m)
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Identical, "identical rows collapse")
	res, err = f.table.Merge(t.Context(), with(1, 2, "b"), idem.Merge{On: []string{"id"}, Newer: []string{"seq", "lsn"}, GuardPrefix: true, CompareTies: true})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	require.EqualValues(t, 1, res.TiesDiffering, "what ties with the table is skipped, and counted")
}

func TestMergeRowThatMovedToAnotherPartition(t *testing.T) {
	f := newFixture(t)
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d2", 2, 1, "b"}), byID)
	require.NoError(t, err)
	_, err = f.table.Merge(t.Context(), rowsOf(order{"d2", 1, 2, "moved"}), byID)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"d2/1/2/moved", "d2/2/1/b"}, f.rows(), "one row, in its new partition")
}

func TestMergeTouchesOnlyWhatChanges(t *testing.T) {
	f := newFixture(t)
	for i := range int64(4) {
		_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 10 * i, 1, "a"}, order{"d1", 10*i + 5, 1, "b"}), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	f.store.Reset()
	res, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 10, 2, "A"}, order{"d1", 25, 0, "older"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.FilesRemoved, "a file without an effective change is not rewritten")
	require.LessOrEqual(t, dataReads(f.store), 3, "files that hold no key are not read: two are probed, one is read to be rewritten")
}

func TestMergeUpdatesDuplicatesOfTheTargetWhenAllowed(t *testing.T) {
	mem, table := strict(t)
	res, err := table.Merge(t.Context(), rowsOf(order{"d1", 50, 9, "z"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, AllowTargetDuplicates: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, res.Updated)
	d, err := opened(t, mem).Duplicates(t.Context(), idem.Duplicates{On: []string{"id"}})
	require.NoError(t, err)
	require.EqualValues(t, 1, d.Extra)
	require.Equal(t, "id=50", d.Samples[0].Key)
	require.EqualValues(t, 2, d.Samples[0].Count)
}

func TestMergeLargerThanItsMemory(t *testing.T) {
	mem := store.NewMem()
	checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer checked.AssertSize(t, 0)
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders, PartitionBy: []string{"day"}},
		idem.Options{MemoryBytes: 256 << 10, TempDir: t.TempDir(), Allocator: checked})
	require.NoError(t, err)
	var first, second []order
	for i := range int64(20_000) {
		first = append(first, order{"d1", i, 1, "first value of the row"})
		if i%2 == 0 {
			second = append(second, order{"d2", i, 2, "second"}, order{"d2", i, 1, "older"})
		}
	}
	second = append(second, order{"d3", 1_000_000, 1, "new"})
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	_, err = table.Merge(t.Context(), rowsOf(first...), byID)
	require.NoError(t, err)
	for i := range 2 {
		res, err := table.Merge(t.Context(), rowsOf(second...), byID)
		require.NoError(t, err)
		if i == 1 {
			require.Equal(t, idem.Unchanged, res.Outcome)
			continue
		}
		require.EqualValues(t, 10_000, res.Updated)
		require.EqualValues(t, 1, res.Inserted)
		require.EqualValues(t, 10_000, res.Older)
		require.LessOrEqual(t, res.FilesAdded, 20+res.FilesRemoved, "a file is rewritten once, however many parts the source has")
	}
	p, err := table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"id"}, Sums: []string{"seq"}})
	require.NoError(t, err)
	require.True(t, p.Grain())
	require.Equal(t, "seq=30001", p.Sums[0].String())
	checkLog(t, mem)
}

func TestDedupeRows(t *testing.T) {
	list := []order{{"d1", 1, 1, "a"}, {"d1", 1, 3, "c"}, {"d1", 1, 3, "c"}, {"d1", 2, 1, "b"}, {"d1", 1, 2, "b"}}
	out, stats, err := idem.DedupeRows(t.Context(), rowsOf(list...), idem.Dedupe{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.Equal(t, idem.DedupeStats{Read: 5, Kept: 2, Identical: 1, Older: 2}, stats)
	var got []string
	for out.Next() {
		for i := range int(out.RecordBatch().NumRows()) {
			got = append(got, out.RecordBatch().Column(3).ValueStr(i))
		}
	}
	require.NoError(t, out.Err())
	out.Release()
	require.ElementsMatch(t, []string{"b", "c"}, got)
	_, _, err = idem.DedupeRows(context.Background(), rowsOf(list...), idem.Dedupe{On: []string{"id"}})
	require.ErrorIs(t, err, idem.ErrInput)

	untyped := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.Null, Nullable: true}, {Name: "seq", Type: arrow.PrimitiveTypes.Int64}}, nil)
	_, _, err = idem.DedupeRows(t.Context(), fromJSON(untyped, `[{"id": null, "seq": 1}, {"id": null, "seq": 2}]`), idem.Dedupe{On: []string{"id"}, Newer: []string{"seq"}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "On names id, which is null")
}

func TestATinyBudgetIsSlowAtMost(t *testing.T) {
	oneGoroutine(t)
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: orders}, idem.Options{MemoryBytes: 1, TempDir: t.TempDir()})
	require.NoError(t, err)
	var first, second []order
	for i := range int64(500) {
		first, second = append(first, order{"d", i, 1, "a"}), append(second, order{"d", i, 2, "b"})
	}
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	for _, list := range [][]order{first, second} {
		_, err = table.Merge(t.Context(), rowsOf(list...), byID)
		require.NoError(t, err)
	}
	p, err := table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"id"}, Sums: []string{"seq"}})
	require.NoError(t, err)
	require.Equal(t, "seq=1000", p.Sums[0].String())
	require.True(t, p.Grain())
}

func TestMergeOfRowsThatMoveDoesNotCutFilesUp(t *testing.T) {
	f := newFixture(t)
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	for i := range 6 {
		var list []order
		for k := range int64(1024) {
			list = append(list, order{[]string{"d0", "d1", "d2", "d3"}[k>>(2*i)%4], k, int64(i), "x"})
		}
		_, err := f.table.Merge(t.Context(), rowsOf(list...), byID)
		require.NoError(t, err)
		require.LessOrEqual(t, f.table.Snapshot().NumFiles(), 4*(i+1), "merge %d: a file for each partition at most, beside those that rows stay in", i)
	}
	p, err := f.table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"id"}, Sums: []string{"seq"}})
	require.NoError(t, err)
	require.True(t, p.Grain())
	require.Equal(t, "seq=5120", p.Sums[0].String())
}

func TestMergeWhoseRowsMoveIsRedone(t *testing.T) {
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	f := newFixture(t)
	_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d2", 2, 1, "b"}, order{"d2", 3, 1, "c"}), byID)
	require.NoError(t, err)
	f.raced(func(o *idem.Table) {
		_, err := o.Merge(t.Context(), rowsOf(order{"d9", 3, 9, "theirs"}), byID)
		require.NoError(t, err)
	})
	_, err = f.table.Merge(t.Context(), rowsOf(order{"d3", 1, 5, "A"}, order{"d3", 2, 5, "B"}, order{"d3", 3, 5, "C"}, order{"d3", 4, 5, "D"}), byID)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"d3/1/5/A", "d3/2/5/B", "d9/3/9/theirs", "d3/4/5/D"}, f.rows())
}

func TestMergeGuardsByAPrefixOnly(t *testing.T) {
	f := newFixture(t)
	in := typed(append(orders.Fields(), arrow.Field{Name: "lsn", Type: arrow.PrimitiveTypes.Int64}), func(*array.RecordBuilder) {})
	_, err := f.table.Merge(t.Context(), in, idem.Merge{On: []string{"id"}, Newer: []string{"lsn", "seq"}, GuardPrefix: true})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "must come first")
}

// What was set aside for kept rows goes with the last reference to them, however much of them was read.
func TestSpilledRowsGoWithTheLastRelease(t *testing.T) {
	var list []order
	for i := range int64(2000) {
		list = append(list, order{"d1", i, 1, "a"})
	}
	for name, batches := range map[string]int{"not read": 0, "begun": 1, "read to the end": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer checked.AssertSize(t, 0)
			dir := t.TempDir()
			out, _, err := idem.DedupeRows(t.Context(), rowsOf(list...),
				idem.Dedupe{On: []string{"id"}, Options: idem.Options{MemoryBytes: 1, TempDir: dir, Allocator: checked}})
			require.NoError(t, err)
			spilled, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.NotEmpty(t, spilled)
			out.Retain()
			out.Release()
			for n := 0; n < batches && out.Next(); n++ {
			}
			require.NoError(t, out.Err())
			out.Release()
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestAKeyWithMostOfTheRowsIsCutFromTheOthers: rows are divided by keys that were looked at here and
// there, and one key may stand at most of those places.
func TestAKeyWithMostOfTheRowsIsCutFromTheOthers(t *testing.T) {
	for many := range 30 {
		var list []order
		for i := range many {
			list = append(list, order{"d", 1, int64(i), ""})
		}
		list = append(list, order{"d", 1, 100, "a"}, order{"d", 1, 101, "a"}, order{"d", 1, 102, ""})
		out, stats, err := idem.DedupeRows(t.Context(), rowsOf(list...), idem.Dedupe{On: []string{"id", "v"}, Newer: []string{"seq"}, Options: idem.Options{MemoryBytes: 1}})
		require.NoError(t, err)
		require.EqualValues(t, 2, stats.Kept)
		out.Release()
	}
}
