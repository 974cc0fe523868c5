package maintain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/maintain"
)

// idsByFile are those of the rows of a table's files, each in the order of its rows.
func (f *fixture) idsByFile() [][]int64 {
	var out [][]int64
	snap := f.other().Snapshot()
	for a := range snap.Files() {
		var ids []int64
		for batch, err := range scan.File(f.t.Context(), scan.Table{Store: f.mem, Snapshot: snap}, a, []string{"id"}) {
			require.NoError(f.t, err)
			ids = append(ids, batch.Column(0).(*array.Int64).Int64Values()...)
		}
		out = append(out, ids)
	}
	return out
}

// Without an order to make, rows stay in the one in which they came.
func TestOptimizeKeepsRowsInTheOrderInWhichTheyCame(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	var came []int64
	for i := range int64(8) {
		f.append(row{"a", 7 * (i + 1) % 9, "x"}, row{"a", 100 - i, "x"})
		came = append(came, 7*(i+1)%9, 100-i)
	}
	f.optimize(maintain.Optimize{})
	require.Equal(t, [][]int64{came}, f.idsByFile())
}

// By one column the curve is a line, and rows of one place on it are ordered by the column itself: with more
// values than there are places, and more rows than the memory holds, no file overlaps another.
func TestOptimizeByOneColumnSortsIt(t *testing.T) {
	const n = 3000
	f := newFixture(t, idem.Definition{})
	order := rand.New(rand.NewPCG(3, 3)).Perm(n)
	for part := range slices.Chunk(order, n/3) {
		var list []row
		for _, i := range part {
			list = append(list, row{"a", int64(i), fmt.Sprint(i % 7)})
		}
		f.append(list...)
	}
	f.optimize(maintain.Optimize{ZOrderBy: []string{"id"}, TargetFileBytes: 4 << 10})
	files := f.idsByFile()
	require.Greater(t, len(files), 3)
	slices.SortFunc(files, func(a, b []int64) int { return int(a[0] - b[0]) })
	var sorted []int64
	for i := range int64(n) {
		sorted = append(sorted, i)
	}
	require.Equal(t, sorted, slices.Concat(files...))
}

// The size that is asked for goes before that of the options, and that before the table's own.
func TestOptimizeKnowsThreeTargets(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.targetFileSize": "1"}})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "x"})
	require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{}).Outcome, "every file is larger than the table wants them")
	o := f.options()
	o.TargetFileBytes = 1 << 20
	var err error
	f.table, err = idem.OpenStore(t.Context(), f.store, o)
	require.NoError(t, err)
	require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{TargetFileBytes: 2}).Outcome)
	res := f.optimize(maintain.Optimize{})
	require.EqualValues(t, 2, res.FilesRemoved)
	require.Equal(t, "1048576", f.files()[0].Tags["OPTIMIZE_TARGET_SIZE"])
}

func TestOptimizeByFieldsOfOneStruct(t *testing.T) {
	at := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{{Name: "at", Type: at, Nullable: true}, {Name: "a.b", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	f := newFixture(t, idem.Definition{Schema: schema, Properties: map[string]string{"delta.columnMapping.mode": "name"}})
	for i := range 3 {
		_, err := f.table.Append(t.Context(), jsonRows(t, schema, fmt.Sprintf(`[{"at":{"x":%d,"y":1},"a.b":4},{"at":{"x":1,"y":%d},"a.b":%d}]`, 9-i, i, i)), idem.Append{Reason: "test"})
		require.NoError(t, err)
	}
	before := f.fingerprint()
	for _, by := range [][]string{{"at.x", "AT.Y"}, {"a.b", "at.x"}} {
		request := maintain.Optimize{ZOrderBy: by}
		require.EqualValues(t, 6, f.optimize(request).RowsCopied)
		require.Equal(t, before, f.fingerprint())
		require.Equal(t, idem.Unchanged, f.optimize(request).Outcome, "%v", by)
	}
	for _, file := range f.files() {
		schema := f.other().Snapshot().Schema()
		require.Contains(t, file.Tags["ZCUBE_ZORDER_BY"], schema.Fields[1].PhysicalName(), "a cube is of columns as files name them")
	}
}

func TestOptimizeRefusesOrders(t *testing.T) {
	var fields []arrow.Field
	var all []string
	for i := range 17 {
		name := fmt.Sprintf("c%d", i)
		fields, all = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}), append(all, name)
	}
	f := newFixture(t, idem.Definition{Schema: arrow.NewSchema(fields, nil)})
	_, err := maintain.OptimizeTable(t.Context(), f.table, maintain.Optimize{ZOrderBy: all})
	require.ErrorIs(t, err, idem.ErrInput)
	require.ErrorContains(t, err, "at most 16 columns")
	f.optimize(maintain.Optimize{ZOrderBy: all[1:]})

	clustered := newFixture(t, idem.Definition{ClusterBy: []string{"id"}})
	clustered.append(row{"a", 1, "x"})
	for _, c := range []struct {
		request maintain.Optimize
		text    string
	}{
		{maintain.Optimize{ZOrderBy: []string{"v"}}, "leave Optimize.ZOrderBy empty"},
		{maintain.Optimize{Where: "p = 'a'"}, "leave Optimize.Where empty"},
	} {
		_, err := maintain.OptimizeTable(t.Context(), clustered.table, c.request)
		require.ErrorIs(t, err, idem.ErrInput)
		require.ErrorContains(t, err, c.text)
	}
}

// What a file of a clustered table says of itself, and the commit.
func TestOptimizeOfAClusteredTable(t *testing.T) {
	f := newFixture(t, idem.Definition{ClusterBy: []string{"id"}, Properties: map[string]string{"delta.columnMapping.mode": "name"}})
	f.append(row{"a", 2, "x"})
	f.append(row{"a", 1, "x"})
	f.optimize(maintain.Optimize{Full: true})
	for _, file := range f.files() {
		require.Equal(t, "liquid", file.ClusteredBy)
	}
	require.Equal(t, map[string]any{"predicate": "[]", "zOrderBy": "[]", "clusterBy": `["id"]`, "auto": false, "isFull": true}, f.last().OperationParameters)
}

// A file of which the log says another number of rows is not copied, also where no digest tells.
func TestOptimizeRefusesAFileWithAnotherNumberOfRows(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 1, "x"}, row{"a", 2, "x"})
	f.append(row{"a", 3, "x"})
	right := *f.files()[0]
	wrong := right
	wrong.Tags, wrong.Stats = nil, `{"numRecords":7}`
	f.commit("WRITE", delta.Action{Add: &wrong})
	f.table = f.other()
	keys := f.dataFiles()
	_, err := maintain.OptimizeTable(t.Context(), f.table, maintain.Optimize{})
	require.ErrorIs(t, err, idem.ErrCorrupt)
	require.ErrorContains(t, err, "by the log it has 7: the commit was not made")
	require.Equal(t, keys, f.dataFiles())
	f.commit("WRITE", delta.Action{Add: &right})
}

func TestOptimizeSaysThatRowsKeepTheirIDs(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableRowTracking": "true"}})
	f.append(row{"a", 1, "x"})
	f.append(row{"a", 2, "x"})
	f.optimize(maintain.Optimize{})
	require.Equal(t, "true", f.last().Tags["delta.rowTracking.preserved"])
}

// Files that were written before another writer had the table track its rows hold no ids: they are written
// anew.
func TestOptimizeBesideOneWhoTurnsRowTrackingOn(t *testing.T) {
	f := newFixture(t, idem.Definition{})
	f.append(row{"a", 2, "x"})
	f.append(row{"a", 1, "x"}, row{"a", 3, "x"})
	var given []string
	f.raced(func(other *idem.Table) {
		_, err := maintain.EnableFeature(t.Context(), other, maintain.Enable{Feature: "rowTracking"})
		require.NoError(t, err)
		given = f.ids()
	})
	res := f.optimize(maintain.Optimize{ZOrderBy: []string{"id"}})
	require.EqualValues(t, 2, res.FilesRemoved)
	require.NotEmpty(t, given)
	require.Equal(t, given, f.ids())
}

func TestOptimizeCountsTheVectorsThatGo(t *testing.T) {
	f := newFixture(t, idem.Definition{Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
	f.append(row{"a", 1, "x"}, row{"a", 2, "x"}, row{"a", 3, "x"})
	f.append(row{"a", 4, "x"})
	f.delete("id = 2")
	res := f.optimize(maintain.Optimize{})
	require.EqualValues(t, 1, res.VectorsRemoved)
	require.EqualValues(t, 3, res.RowsCopied)
	require.Equal(t, "1", f.last().OperationMetrics["numDeletionVectorsRemoved"])
	require.Equal(t, []string{"a/1/x", "a/3/x", "a/4/x"}, f.rows())
	require.Equal(t, idem.Unchanged, f.optimize(maintain.Optimize{}).Outcome)
}
