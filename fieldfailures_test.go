package idem_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
)

// What made users of other systems lose or double rows, and does not here. Each test is named after
// the right behaviour.

// many gives n rows in batches of a size, with ids from first on.
func many(day string, first, n, seq, size int) array.RecordReader {
	var batches []arrow.RecordBatch
	for at := 0; at < n; at += size {
		var list []order
		for i := at; i < min(at+size, n); i++ {
			list = append(list, order{day, int64(first + i), int64(seq), "v"})
		}
		batches = append(batches, batchOf(list))
	}
	r, err := array.NewRecordReader(orders, batches)
	if err != nil {
		panic(err)
	}
	return r
}

// jsonRows reads rows of any schema.
func jsonRows(t *testing.T, schema *arrow.Schema, json string) array.RecordReader {
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
	require.NoError(t, err)
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b})
	require.NoError(t, err)
	return r
}

func TestUniqueKeysAreUniqueAcrossBatchesAndFiles(t *testing.T) {
	const n = 20_000
	f := newFixture(t)
	for i := range 3 {
		_, err := f.table.Append(t.Context(), many("d1", i*n, n, 1, 5000), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	byID := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}}
	res, err := f.table.Merge(t.Context(), many("d1", n/2, 2*n, 2, 8191), byID)
	require.NoError(t, err, "no key is taken for another because batches or files begin anew")
	require.EqualValues(t, 2*n, res.Updated)
	require.Zero(t, res.Inserted)
	p, err := f.table.Fingerprint(t.Context(), idem.Fingerprint{Keys: []string{"id"}})
	require.NoError(t, err)
	require.EqualValues(t, 3*n, p.Rows)
	require.EqualValues(t, 3*n, p.Keys)
}

func TestDuplicatesAreFoundAcrossBatchesAndFiles(t *testing.T) {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), many("d1", 0, 9000, 1, 1000), idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, err = f.table.Append(t.Context(), many("d2", 8999, 10, 1, 1000), idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, err = f.table.Merge(t.Context(), many("d1", 8990, 10, 2, 3), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "id=8999")
}

func TestEveryFileThatAMergeChangedIsRemoved(t *testing.T) {
	f := newFixture(t)
	for i := range 5 {
		_, err := f.table.Append(t.Context(), many(fmt.Sprint("d", i), i*100, 100, 1, 100), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	was := map[string]bool{}
	for a := range f.other().Snapshot().Files() {
		was[a.Key] = true
	}
	res, err := f.table.Merge(t.Context(), rowsOf(order{"d0", 5, 2, "n"}, order{"d3", 305, 2, "n"}, order{"d9", 900, 2, "n"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	left := 0
	for a := range f.other().Snapshot().Files() {
		if was[a.Key] {
			left++
		}
	}
	require.Equal(t, 3, left, "two files hold a match; their other rows are in new files, and the old ones are gone")
	require.EqualValues(t, 2, res.FilesRemoved)
	require.Len(t, f.rows(), 501)
}

func TestDeletesAreCountedByTheRowsThatGo(t *testing.T) {
	_, table := strict(t)
	res, err := table.Merge(t.Context(), rowsOf(order{"d1", 50, 9, "z"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, AllowTargetDuplicates: true, DeleteWhen: "v = 'z'"})
	require.NoError(t, err)
	require.EqualValues(t, 2, res.Deleted, "the key stands twice in the table")
}

// A row that goes is told once, however often its key stands in the source; of a key that stands twice in the table
// both rows go, and are told.
func TestADeleteOfDoubledMatchesIsToldOnce(t *testing.T) {
	whole := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, DeleteWhen: "op = 'd'", AllowTargetDuplicates: true}
	clause := idem.Merge{On: []string{"id"}, Newer: []string{"seq"}, AllowTargetDuplicates: true, Matched: []idem.Clause{{Do: idem.DoDelete}}, NotMatched: []idem.Clause{{Do: idem.DoNothing}}}
	for _, vectors := range []string{"false", "true"} {
		for name, m := range map[string]idem.Merge{"DeleteWhen": whole, "a clause": clause} {
			t.Run(name+", vectors "+vectors, func(t *testing.T) {
				f := newFixture(t, "delta.enableChangeDataFeed", "true", "delta.enableDeletionVectors", vectors)
				for _, part := range [][]order{{{"d1", 1, 1, "a"}, {"d1", 2, 1, "b"}}, {{"d2", 1, 1, "c"}, {"d2", 3, 1, "d"}}} {
					_, err := f.table.Append(t.Context(), rowsOf(part...), idem.Append{Reason: "test"})
					require.NoError(t, err)
				}
				source := []order{{"d1", 1, 6, "x"}, {"d1", 1, 5, "y"}, {"d1", 1, 6, "x"}, {"d1", 9, 6, "x"}, {"d1", 9, 6, "x"}}
				in := rowsOf(source...)
				if m.DeleteWhen != "" {
					in = changes("ddddd", source...)
				}
				res, err := f.table.Merge(t.Context(), in, m)
				require.NoError(t, err)
				require.EqualValues(t, 2, res.Deleted)
				require.ElementsMatch(t, []string{"delete d1/1/1/a", "delete d2/1/1/c"}, fed(t, f.table, res.Version))
				require.Equal(t, []string{"d1/2/1/b", "d2/3/1/d"}, f.rows())
			})
		}
	}
}

func TestAnAmbiguousSourceIsToldByItsKeys(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		why     string
		request idem.Merge
		says    []string
	}{
		{"ties on what orders them", idem.Merge{On: []string{"day", "id"}, Newer: []string{"seq"}}, []string{"2 keys", `(day="d1", id=1, seq=7)`, `(day="d2", id=2, seq=8)`}},
		{"nothing orders them", idem.Merge{On: []string{"id", "day"}, Unguarded: true}, []string{"2 keys", `(id=1, day="d1")`, `(id=2, day="d2")`}},
	} {
		_, err := f.table.Merge(t.Context(), rowsOf(order{"d1", 1, 7, "a"}, order{"d2", 2, 8, "a"}, order{"d1", 1, 7, "b"}, order{"d3", 3, 9, "a"}, order{"d2", 2, 8, "b"}), c.request)
		require.ErrorIs(t, err, idem.ErrInput, c.why)
		for _, text := range c.says {
			require.ErrorContains(t, err, text, c.why)
		}
		require.NotContains(t, err.Error(), "id=3", c.why)
	}
	require.Zero(t, f.other().Version())
}

func TestKeysAreComparedByPartsAndTypes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	const keys = `[{"a": "x;", "b": "y"}, {"a": "x", "b": ";y"}, {"a": "null", "b": "y"}, {"a": null, "b": "y"}, {"a": "", "b": "y"}, {"a": "\\", "b": "y"},
		{"a": "y", "b": null}, {"a": "y", "b": "null"}, {"a": "\u0000", "b": ""}, {"a": "", "b": "\u0000"}, {"a": "é", "b": "y"}, {"a": "e\u0301", "b": "y"}]`
	mem := store.NewMem()
	table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: schema}, idem.Options{})
	require.NoError(t, err)
	m := idem.Merge{On: []string{"a", "b"}, Unguarded: true, NullKeys: idem.MatchNulls}
	res, err := table.Merge(t.Context(), jsonRows(t, schema, keys), m)
	require.NoError(t, err)
	require.EqualValues(t, 12, res.Inserted, "no two keys are one when their parts are put together")
	res, err = table.Merge(t.Context(), jsonRows(t, schema, keys), m)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	checkLog(t, mem)
}

func TestALiteralOfAnotherTypeStillPrunes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "p", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	mem := store.NewMem()
	st := storetest.NewFaulty(mem)
	table, _, err := idem.CreateStore(t.Context(), st, idem.Definition{Schema: schema, PartitionBy: []string{"p"}}, idem.Options{Parallelism: 1})
	require.NoError(t, err)
	for _, where := range []string{"p = 3L", "p = 3.0", "p = 3e0", "p IN (3L, 77)", "P = 3", "p = CAST('3' AS INT)", "p + 1 = 4", "abs(p - 5) = 2", "CAST(p AS STRING) LIKE '3%'"} {
		_, err := table.ReplaceAll(t.Context(), jsonRows(t, schema, `[{"p": 1, "n": 1}, {"p": 2, "n": 2}, {"p": 3, "n": 3}, {"n": 4}]`), idem.ReplaceAll{})
		require.NoError(t, err)
		st.Reset()
		res, err := table.Delete(t.Context(), idem.Delete{Where: where})
		require.NoError(t, err, where)
		require.EqualValues(t, 1, res.FilesRemoved, where)
		require.Zero(t, dataReads(st), "%s: a slice of partitions reads no file", where)
	}
	checkLog(t, mem)
}

func TestAnyTextIsAPartitionValue(t *testing.T) {
	values := []string{"a/b", "50%", "a%2Fb", "a=b", "a:b", "ü", "a b", "..", ".", "#?&", `back\slash`, "quote'\"", "_hidden", "{}", "\t", "__HIVE_DEFAULT_PARTITION__x", "NULL", "日本", strings.Repeat("x", 200)}
	f := newFixture(t)
	var list, now []order
	for i, v := range values {
		list, now = append(list, order{v, int64(i), 1, "v"}), append(now, order{v, int64(i), 2, "w"})
	}
	_, err := f.table.Append(t.Context(), rowsOf(list...), idem.Append{Reason: "test"})
	require.NoError(t, err)
	require.Len(t, f.rows(), len(values))
	for i, v := range values {
		res, err := f.table.ReplaceWhere(t.Context(), rowsOf(list[i]), idem.ReplaceWhere{Where: "day = ?", Args: []any{v}})
		require.NoError(t, err)
		require.Equal(t, idem.Unchanged, res.Outcome, "the slice %q holds its row", v)
	}
	res, err := f.table.Merge(t.Context(), rowsOf(now...), idem.Merge{On: []string{"day", "id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.EqualValues(t, len(values), res.Updated)
	for i, v := range values {
		res, err := f.table.Delete(t.Context(), idem.Delete{Where: "day = ?", Args: []any{v}})
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome, "%q", v)
		require.Len(t, f.rows(), len(values)-i-1)
	}
}

func TestAPartitionColumnOfAnyName(t *testing.T) {
	for _, name := range []string{"_day", "day.of", "tag/x", "ü", "50%", "#", "day:of"} {
		schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
		mem := store.NewMem()
		table, _, err := idem.CreateStore(t.Context(), mem, idem.Definition{Schema: schema, PartitionBy: []string{name}}, idem.Options{})
		require.NoError(t, err, name)
		rows := fmt.Sprintf(`[{%q: "x", "n": 1}, {%q: "y", "n": 2}]`, name, name)
		where := "`" + name + "` IN ('x', 'y')"
		_, err = table.ReplaceWhere(t.Context(), jsonRows(t, schema, rows), idem.ReplaceWhere{Where: where})
		require.NoError(t, err, name)
		res, err := opened(t, mem).ReplaceWhere(t.Context(), jsonRows(t, schema, rows), idem.ReplaceWhere{Where: where})
		require.NoError(t, err, name)
		require.Equal(t, idem.Unchanged, res.Outcome, "%s: the column's values come back from the log", name)
		checkLog(t, mem)
	}
}

func TestAMergeOfManyPartitionsIsOneCommit(t *testing.T) {
	f := newFixture(t)
	var list []order
	for i := range 190 {
		list = append(list, order{fmt.Sprint("d", i), int64(i), 1, "v"})
	}
	res, err := f.table.Merge(t.Context(), rowsOf(list...), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Version)
	require.EqualValues(t, 190, res.Inserted)
	require.Equal(t, 2, f.store.Count(storetest.OpPutIfAbsent), "a commit and its checksum")
}

func TestAMergeReadsTheFilesThatMayHoldItsKeys(t *testing.T) {
	f := newFixture(t)
	for i := range 20 {
		_, err := f.table.Append(t.Context(), many(fmt.Sprint("d", i), i*100, 100, 1, 100), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	for name, on := range map[string][]string{"the partition is in the key": {"day", "id"}, "the key's bounds": {"id"}} {
		f.store.Reset()
		_, err := f.table.Merge(t.Context(), rowsOf(order{"d7", 750, 0, "older"}), idem.Merge{On: on, Newer: []string{"seq"}})
		require.NoError(t, err)
		require.LessOrEqual(t, dataReads(f.store), 2, "%s: one file of 20 is probed", name)
	}
}

// Of a path that is added again the newest statistics count, wherever the log keeps the older ones: those are out of
// use, whether they would bring the file back or leave it out.
func TestAPathThatIsAddedAgainCountsWithItsNewestStatistics(t *testing.T) {
	for _, kept := range []string{"in commits", "the older in a checkpoint", "the newest in a checkpoint"} {
		for _, c := range []struct {
			why           string
			older, newest [2]int // the least and the greatest id
			where         string
			removed       int64
			rows          []string
		}{
			{"the older ones hold what is asked for", [2]int{0, 99}, [2]int{1, 2}, "id > 50", 0, []string{"a/1/1/x", "a/2/1/y"}},
			{"the newest ones hold what is asked for", [2]int{98, 99}, [2]int{1, 2}, "id < 10", 1, []string{}},
			{"as the older ones say, every row goes", [2]int{51, 99}, [2]int{1, 2}, "id > 50", 0, []string{"a/1/1/x", "a/2/1/y"}},
		} {
			t.Run(kept+"/"+c.why, func(t *testing.T) {
				f := newFixture(t)
				f.foreign = true
				_, err := f.table.Append(t.Context(), rowsOf(r1, r2), idem.Append{Reason: "test"})
				require.NoError(t, err)
				f.restated(c.older)
				if kept == "the older in a checkpoint" {
					_, err := maintain.Checkpoint(t.Context(), f.other())
					require.NoError(t, err)
				}
				f.restated(c.newest)
				if kept == "the newest in a checkpoint" {
					_, err := maintain.Checkpoint(t.Context(), f.other())
					require.NoError(t, err)
				}
				table, err := idem.OpenStore(t.Context(), f.store, idem.Options{Parallelism: 1})
				require.NoError(t, err)
				res, err := table.Delete(t.Context(), idem.Delete{Where: c.where})
				require.NoError(t, err)
				require.EqualValues(t, c.removed, res.FilesRemoved)
				require.Zero(t, dataReads(f.store), "the file is inside or outside by its newest statistics, which say all")
				require.Equal(t, c.rows, f.rows())
			})
		}
	}
}

// restated adds the table's one file again, as an engine does that has computed its statistics anew.
func (f *fixture) restated(ids [2]int) {
	var anew delta.Add
	for a := range f.other().Snapshot().Files() {
		anew = *a
	}
	anew.Stats = fmt.Sprintf(`{"numRecords":2,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}}`, ids[0], ids[1])
	anew.StatsDeferred, anew.DataChange = false, false
	f.commit("COMPUTE STATS", delta.Action{Add: &anew})
}

// shifting gives other rows each time that it is read.
type shifting struct{ *rewound }

func (s *shifting) Rewind(context.Context) error {
	s.rewinds++
	s.RecordReader = rowsOf(order{"d9", int64(100 + s.rewinds), 9, "shifted"})
	return nil
}

func TestTheSourceOfAMergeIsReadOnce(t *testing.T) {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), rowsOf(r1, r2, r3), idem.Append{Reason: "test"})
	require.NoError(t, err)
	in := &shifting{again(r1b, order{"d9", 9, 1, "new"})}
	res, err := f.table.Merge(t.Context(), in, idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.Zero(t, in.rewinds)
	require.EqualValues(t, 2, res.RowsRead)
	require.ElementsMatch(t, []string{"a/1/2/X", "a/2/1/y", "b/3/1/z", "d9/9/1/new"}, f.rows())
}

func TestAMergeOfNothingReadsNothing(t *testing.T) {
	f := newFixture(t)
	for i := range 20 {
		_, err := f.table.Append(t.Context(), many(fmt.Sprint("d", i), i*100, 100, 1, 100), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	f.store.Reset()
	res, err := f.table.Merge(t.Context(), rowsOf(), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, res.Outcome)
	require.LessOrEqual(t, f.store.Calls(), 2, "one look whether that is still the newest version, one whether it is the same log")
	for _, line := range f.store.Transcript() {
		require.Contains(t, line, delta.LogDir)
	}
}

func TestALongLogIsOpenedByFewRequests(t *testing.T) {
	oneGoroutine(t)
	const commits = 6000
	f := newFixture(t)
	for v := int64(1); v <= commits; v++ {
		data, err := delta.EncodeCommit([]delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: v, Operation: "WRITE", TxnID: fmt.Sprint(v)}}, {Txn: &delta.Txn{AppID: "job", Version: v}}})
		require.NoError(t, err)
		require.NoError(t, f.mem.PutIfAbsent(t.Context(), delta.CommitKey(v), data))
	}
	open := func() *idem.Table {
		f.store.Reset()
		table, err := idem.OpenStore(t.Context(), f.store, idem.Options{Parallelism: 1})
		require.NoError(t, err)
		require.EqualValues(t, commits, table.Version())
		return table
	}
	table := open()
	require.Equal(t, 1, f.store.Count(storetest.OpList), "one list")
	require.LessOrEqual(t, f.store.Calls(), commits+4, "and each commit once, side by side if Parallelism allows")
	_, err := maintain.Checkpoint(t.Context(), table)
	require.NoError(t, err)
	table = open()
	require.LessOrEqual(t, f.store.Calls(), 8, "with a checkpoint: %v", f.store.Transcript())
	_, err = f.other().AppendWithTxn(t.Context(), rowsOf(r1), idem.Txn{AppID: "job", Version: commits + 1})
	require.NoError(t, err)
	f.store.Reset()
	_, err = table.Refresh(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, f.store.Calls(), 3, "one commit more costs one get more: %v", f.store.Transcript())
}

// What a merge took is given back: what its allocator gave out, and what is on the heap but for the log, which grows by
// a version, and the removed file of it that the snapshot remembers.
func TestAThousandMergesHoldNoMoreThanTheFirst(t *testing.T) {
	oneGoroutine(t)
	const (
		first, merges = 200, 1000
		version       = 2 << 10 // what a version leaves: names of files in the store, a file that is remembered as removed
	)
	gauge := newGauge(1 << 40)
	ctx := tabletest.Codec(t.Context())
	table, _, err := idem.CreateStore(ctx, gauge.store, idem.Definition{Schema: orders}, idem.Options{Parallelism: 1, Allocator: gauge})
	require.NoError(t, err)
	var early, settled int64
	for i := range merges {
		gauge.most.Store(0)
		res, err := table.Merge(ctx, many("d1", 0, 20, i+1, 20), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
		require.NoError(t, err)
		require.EqualValues(t, 20, res.Inserted+res.Updated)
		require.Zero(t, gauge.held.Load(), "merge %d gives everything back", i)
		if i < 20 {
			early = max(early, gauge.most.Load())
		}
		require.LessOrEqual(t, gauge.most.Load(), early, "merge %d takes no more than one of the first", i)
		if i == first-1 {
			settled = gauge.live()
		}
	}
	grown := gauge.live() - settled
	t.Logf("the heap grew by %d bytes a merge", grown/(merges-first))
	require.LessOrEqual(t, grown, int64((merges-first)*version))
	runtime.KeepAlive(table)
}
