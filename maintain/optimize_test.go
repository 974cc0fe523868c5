package maintain_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/expr"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/maintain"
)

func (f *fixture) optimize(r maintain.Optimize) *maintain.Optimized {
	res, err := maintain.OptimizeTable(f.t.Context(), f.table, r)
	require.NoError(f.t, err)
	return res
}

// fingerprint is that of the table, every file read.
func (f *fixture) fingerprint() string {
	p, err := f.other().Fingerprint(f.t.Context(), idem.Fingerprint{Verify: true})
	require.NoError(f.t, err)
	return p.String()
}

func (f *fixture) files() []*delta.Add {
	var out []*delta.Add
	for a := range f.other().Snapshot().Files() {
		out = append(out, a)
	}
	return out
}

func TestOptimizeMakesLargeFilesOfSmallOnes(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	for i := range int64(4) {
		f.append(row{"a", i, "x"}, row{"b", i + 10, "y"}, row{"", i + 20, "z"})
	}
	f.append(row{"c", 1, "alone"})
	before, rows := f.fingerprint(), f.rows()
	res := f.optimize(maintain.Optimize{Note: "nightly"})
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, 12, res.FilesRemoved)
	require.EqualValues(t, 3, res.FilesAdded, "one for each partition, NULL is one; a file alone stays")
	require.EqualValues(t, 3, res.Partitions)
	require.EqualValues(t, 12, res.RowsCopied)
	require.Equal(t, before, f.fingerprint())
	require.Equal(t, rows, f.rows())

	info := f.last()
	require.Equal(t, "OPTIMIZE", info.Operation)
	require.Equal(t, "SnapshotIsolation", info.IsolationLevel)
	require.Equal(t, "nightly", info.UserMetadata)
	require.Equal(t, "12", info.OperationMetrics["numRemovedFiles"])
	require.Equal(t, map[string]any{"predicate": "[]", "zOrderBy": "[]", "clusterBy": "[]", "auto": false}, info.OperationParameters)
	for _, a := range f.files() {
		if !strings.HasPrefix(a.Path, "p=c/") {
			require.False(t, a.DataChange)
		}
	}
	calls := f.store.Count(storetest.OpCreate)
	again := f.optimize(maintain.Optimize{})
	require.Equal(t, idem.Unchanged, again.Outcome, "the second call")
	require.Zero(t, again.FilesAdded)
	require.Equal(t, calls, f.store.Count(storetest.OpCreate), "it writes no file")

	f.append(row{"a", 98, "new"})
	require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{}).Outcome, "one new file is not worth copying the old ones")
	f.append(row{"a", 99, "new"})
	next := f.optimize(maintain.Optimize{})
	require.EqualValues(t, 3, next.FilesRemoved, "two are, and the old one goes along")
	require.EqualValues(t, 1, next.FilesAdded)
}

func TestOptimizeStopsAtTheTargetSize(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	for i := range int64(10) {
		f.append(row{"a", i, strings.Repeat("x", 500)})
	}
	size := f.files()[0].Size
	res := f.optimize(maintain.Optimize{TargetFileBytes: 3*size + 2})
	require.EqualValues(t, 9, res.FilesRemoved, "bins of three; one is left alone")
	require.EqualValues(t, 3, res.FilesAdded)
	require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{TargetFileBytes: 3*size + 2}).Outcome, "though the new files are smaller together")
	require.Equal(t, idem.Committed, f.optimize(maintain.Optimize{}).Outcome, "another target")
	require.Len(t, f.files(), 1)
}

func TestOptimizeWhere(t *testing.T) {
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	for i := range int64(2) {
		f.append(row{"a", i, "x"}, row{"b", i, "y"})
	}
	res := f.optimize(maintain.Optimize{Where: "p = ?", Args: []any{"a"}})
	require.EqualValues(t, 2, res.FilesRemoved)
	require.Len(t, f.files(), 3)
	for _, c := range []struct {
		why     string
		request maintain.Optimize
	}{
		{"a condition that does not parse", maintain.Optimize{Where: "p ="}},
		{"a column that does not exist", maintain.Optimize{Where: "q = 1"}},
		{"a negative size", maintain.Optimize{TargetFileBytes: -1}},
		{"ordering by no column", maintain.Optimize{ZOrderBy: []string{"q"}}},
		{"ordering by a partition column", maintain.Optimize{ZOrderBy: []string{"p"}}},
		{"ordering by a column twice", maintain.Optimize{ZOrderBy: []string{"id", "ID"}}},
		{"ordering by a field of what has none", maintain.Optimize{ZOrderBy: []string{"id.x"}}},
	} {
		_, err := maintain.OptimizeTable(t.Context(), f.table, c.request)
		require.ErrorIs(t, err, idem.ErrInput, c.why)
	}
}

// scattered fills a table with n*n points in no order, in files of n.
func (f *fixture) scattered(n int) {
	r := rand.New(rand.NewPCG(7, 7))
	order := r.Perm(n * n)
	for from := 0; from < n*n; from += n {
		var list []row
		for _, i := range order[from : from+n] {
			list = append(list, row{"a", int64(i / n), fmt.Sprintf("%04d", i%n)})
		}
		f.append(list...)
	}
}

// candidates is the number of files that a condition does not skip.
func (f *fixture) candidates(where string) int {
	e, err := expr.Parse(where)
	require.NoError(f.t, err)
	pruned, err := scan.Prune(f.t.Context(), scan.Table{Store: f.mem, Snapshot: f.other().Snapshot()}, e)
	require.NoError(f.t, err)
	return len(pruned.Inside) + len(pruned.Across)
}

func jsonRows(t *testing.T, schema *arrow.Schema, text string) array.RecordReader {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text))
	require.NoError(t, err)
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	require.NoError(t, err)
	return r
}

func TestZOrderLetsConditionsSkipFiles(t *testing.T) {
	const n = 32
	f := newFixture(t, idem.Definition{})
	f.scattered(n)
	before := f.fingerprint()
	request := maintain.Optimize{ZOrderBy: []string{"id", "v"}, TargetFileBytes: 1 << 10}
	res := f.optimize(request)
	require.Equal(t, idem.Committed, res.Outcome)
	require.EqualValues(t, n*n, res.RowsCopied)
	require.Equal(t, before, f.fingerprint())
	files := len(f.files())
	require.Greater(t, files, 8)
	skipped := map[string]float64{}
	for _, column := range []string{"id", "v"} {
		n := 0
		for v := range 32 {
			where := fmt.Sprintf("id = %d", v)
			if column == "v" {
				where = fmt.Sprintf("v = '%04d'", v)
			}
			n += f.candidates(where)
		}
		skipped[column] = float64(n) / 32 / float64(files)
	}
	require.Less(t, skipped["id"], 0.5, "a condition on either column reads less than half of the files")
	require.Less(t, skipped["v"], 0.5)
	require.Equal(t, idem.Unchanged, f.optimize(request).Outcome, "the second call")
	full := request
	full.Full = true
	require.Equal(t, idem.Unchanged, f.optimize(full).Outcome, "nothing is out of order")
	require.Equal(t, idem.Committed, f.optimize(maintain.Optimize{ZOrderBy: []string{"v"}, TargetFileBytes: 1 << 10}).Outcome, "by other columns")
	require.Equal(t, before, f.fingerprint())
}

func TestZOrderWithinALittleMemory(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.scattered(48)
	before := f.fingerprint()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	o := f.options()
	o.MemoryBytes, o.TempDir, o.Allocator = 64<<10, t.TempDir(), mem
	var err error
	f.table, err = idem.OpenStore(t.Context(), f.mem, o)
	require.NoError(t, err)
	res := f.optimize(maintain.Optimize{ZOrderBy: []string{"id", "v"}})
	require.EqualValues(t, 48*48, res.RowsCopied)
	require.Equal(t, before, f.fingerprint())
	require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{ZOrderBy: []string{"id", "v"}}).Outcome)
}

func TestOptimizeByAFieldOfAStruct(t *testing.T) {
	place := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{{Name: "at", Type: place, Nullable: true}, {Name: "v", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	f := newFixture(t, idem.Definition{Schema: schema})
	for i := range 3 {
		_, err := f.table.Append(t.Context(), jsonRows(t, schema, fmt.Sprintf(`[{"at":{"x":%d},"v":"a"},{"at":null,"v":"b"},{"at":{"x":null},"v":null}]`, 9-i)), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	before := f.fingerprint()
	res := f.optimize(maintain.Optimize{ZOrderBy: []string{"at.x", "v"}})
	require.EqualValues(t, 9, res.RowsCopied)
	require.Equal(t, before, f.fingerprint())
	_, err := maintain.OptimizeTable(t.Context(), f.table, maintain.Optimize{ZOrderBy: []string{"at"}})
	require.ErrorIs(t, err, idem.ErrInput, "a struct has no order")
}

func TestOptimizeRefusesAFileThatIsNotWhatTheLogSays(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"}, row{"a", 2, "x"})
	f.append(row{"a", 3, "x"})
	var files []*delta.Add
	for a := range f.table.Snapshot().Files() {
		files = append(files, a)
	}
	wrong := *files[0]
	wrong.Tags = map[string]string{"idem.fingerprint": "idem1:2:00000000000000000000000000000001:"}
	f.commit("WRITE", delta.Action{Add: &wrong})
	f.table = f.other()
	keys := f.dataFiles()
	_, err := maintain.OptimizeTable(t.Context(), f.table, maintain.Optimize{})
	require.ErrorIs(t, err, idem.ErrCorrupt)
	require.ErrorContains(t, err, "the commit was not made")
	require.Equal(t, keys, f.dataFiles(), "what was written is removed")
	right := *files[0]
	f.commit("WRITE", delta.Action{Add: &right})
}

func TestOptimizeBesideOtherWriters(t *testing.T) {
	for _, c := range []struct {
		why      string
		by       func(t *testing.T, other *idem.Table)
		attempts int
		want     []string
	}{
		{"rows are added", func(t *testing.T, other *idem.Table) {
			_, err := other.Append(t.Context(), rowsOf(row{"a", 9, "new"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
		}, 2, []string{"a/1/x", "a/2/x", "a/9/new", "b/3/x", "b/4/x"}},
		{"another partition is merged into", func(t *testing.T, other *idem.Table) {
			_, err := other.Merge(t.Context(), rowsOf(row{"c", 7, "new"}), idem.Merge{On: []string{"p", "id"}, Unguarded: true})
			require.NoError(t, err)
		}, 2, []string{"a/1/x", "a/2/x", "b/3/x", "b/4/x", "c/7/new"}},
		{"a row is deleted from a file that is copied", func(t *testing.T, other *idem.Table) {
			_, err := other.Delete(t.Context(), idem.Delete{Where: "id = 1"})
			require.NoError(t, err)
		}, 2, []string{"a/2/x", "b/3/x", "b/4/x"}},
		{"a partition is optimized", func(t *testing.T, other *idem.Table) {
			_, err := maintain.OptimizeTable(t.Context(), other, maintain.Optimize{Where: "p = 'a'"})
			require.NoError(t, err)
		}, 2, []string{"a/1/x", "a/2/x", "b/3/x", "b/4/x"}},
		{"the table is emptied", func(t *testing.T, other *idem.Table) {
			_, err := other.Delete(t.Context(), idem.Delete{Where: "id > 0"})
			require.NoError(t, err)
		}, 1, []string{}},
		{"the table is optimized", func(t *testing.T, other *idem.Table) {
			_, err := maintain.OptimizeTable(t.Context(), other, maintain.Optimize{})
			require.NoError(t, err)
		}, 1, []string{"a/1/x", "a/2/x", "b/3/x", "b/4/x"}},
		{"a column is added", func(t *testing.T, other *idem.Table) {
			m := *other.Snapshot().Metadata()
			schema, err := delta.ParseSchema(m.SchemaString)
			require.NoError(t, err)
			schema.Fields = append(schema.Fields, delta.Field{Name: "extra", Type: delta.Long, Nullable: true})
			m.SchemaString = schema.JSON()
			data, err := delta.EncodeCommit([]delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: "ADD COLUMNS", TxnID: "other"}}, {Metadata: &m}})
			require.NoError(t, err)
			require.NoError(t, other.Store().PutIfAbsent(t.Context(), delta.CommitKey(other.Version()+1), data))
		}, 2, []string{"a/1/x", "a/2/x", "b/3/x", "b/4/x"}},
	} {
		for _, by := range [][]string{nil, {"id"}} {
			t.Run(fmt.Sprintf("%s/%v", c.why, by), func(t *testing.T) {
				f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
				for _, r := range []row{{"a", 1, "x"}, {"a", 2, "x"}, {"b", 3, "x"}, {"b", 4, "x"}} {
					f.append(r)
				}
				f.raced(func(other *idem.Table) { c.by(t, other) })
				res := f.optimize(maintain.Optimize{ZOrderBy: by})
				require.Equal(t, c.want, f.rows(), "no row is doubled, none comes back")
				if by == nil {
					require.Equal(t, c.attempts, res.Attempts)
				}
				f.store.Before = nil
				f.optimize(maintain.Optimize{ZOrderBy: by})
				require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{ZOrderBy: by}).Outcome)
				require.Equal(t, c.want, f.rows())
			})
		}
	}
}

// A row that is deleted by a vector leaves its file live, and what was copied of it meanwhile holds the row still.
func TestOptimizeBesideADeleteByVector(t *testing.T) {
	for _, by := range [][]string{nil, {"id"}} {
		f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
		f.append(row{"a", 1, "x"}, row{"a", 2, "x"})
		f.append(row{"a", 3, "x"}, row{"a", 4, "x"})
		f.raced(func(other *idem.Table) {
			_, err := other.Delete(t.Context(), idem.Delete{Where: "id = 1"})
			require.NoError(t, err)
			require.EqualValues(t, 1, other.Snapshot().NumDeletionVectors())
		})
		res := f.optimize(maintain.Optimize{ZOrderBy: by})
		require.Equal(t, idem.Committed, res.Outcome)
		require.Equal(t, []string{"a/2/x", "a/3/x", "a/4/x"}, f.rows())
	}
}

func TestOptimizeFaultSweep(t *testing.T) {
	want := []string{"a/1/x", "a/2/x", "b/3/x"}
	f := newFixture(t, idem.Definition{PartitionBy: []string{"p"}})
	for _, r := range []row{{"a", 1, "x"}, {"a", 2, "x"}, {"b", 3, "x"}} {
		f.append(r)
	}
	set := f.copies()
	f = set(t)
	f.optimize(maintain.Optimize{})
	for i := 1; i <= f.store.Calls(); i++ {
		for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.Timeout, storetest.LostAnswer, storetest.LateEffect, storetest.TornRead, storetest.DiskFull, storetest.CrashBefore, storetest.CrashAfter} {
			f := set(t)
			f.store.Before = func(c storetest.Call) storetest.Fault {
				if c.Index == i {
					return storetest.Fault{Kind: kind}
				}
				return storetest.Fault{}
			}
			res, err := maintain.OptimizeTable(t.Context(), f.table, maintain.Optimize{})
			f.store.Land(t.Context())
			landed := f.other().Version() == 4
			if err == nil {
				require.Equal(t, idem.Committed, res.Outcome)
				require.True(t, landed, "operation %d, %s", i, kind)
			}
			require.Equal(t, want, f.rows(), "operation %d, %s: %v", i, kind, err)
			f.table = f.other()
			f.optimize(maintain.Optimize{})
			require.Equal(t, want, f.rows())
			require.Len(t, f.files(), 2)
		}
	}
}
