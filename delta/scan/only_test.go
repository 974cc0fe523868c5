package scan_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
)

// TestOnlyTheRowsThatAreWanted: pieces hold the rows that are wanted and live, and know their places,
// whatever row groups are left out.
func TestOnlyTheRowsThatAreWanted(t *testing.T) {
	schema := schemaJSON(column{"k", "k", 1, `"long"`})
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		n := rapid.Int64Range(1, 23).Draw(rt, "rows")
		f := b.file("f.parquet", arrowColumns(int64Column("k")), numbered("k", 0, n))
		some := rapid.SliceOfDistinct(rapid.Int64Range(0, n-1), rapid.ID)
		deleted, wanted := some.Draw(rt, "deleted"), delta.NewVector()
		wanted.Add(some.Draw(rt, "wanted")...)
		want := []int64{}
		if len(deleted) > 0 {
			f.DeletionVector = b.vector(1, deleted...)
		}
		dead := delta.NewVector()
		dead.Add(deleted...)
		for row := range wanted.Rows() {
			if !dead.Contains(row) {
				want = append(want, row)
			}
		}
		have := []int64{}
		table := b.table(allFeatures, schema, nil, nil, f)
		live, _ := table.Snapshot.Live(f.Path)
		for piece, err := range scan.Live(b.ctx, table, live, nil, scan.LiveOptions{Only: wanted}) {
			require.NoError(rt, err)
			for i, v := range piece.Batch.Column(0).(*array.Int64).Int64Values() {
				require.Equal(rt, piece.Row(i), v)
				have = append(have, v)
			}
		}
		require.Equal(rt, want, have)
		b.mem.AssertSize(rt, 0)
	})
}

// TestRowGroupsWithoutAWantedRowAreNotRead reads one row of a file of many row groups.
func TestRowGroupsWithoutAWantedRowAreNotRead(t *testing.T) {
	b := newBench(t)
	f := b.file("f.parquet", arrowColumns(int64Column("k")), numbered("k", 0, 20))
	table := b.table(allFeatures, schemaJSON(column{"k", "k", 1, `"long"`}), nil, nil, f)
	damaged, _ := table.Snapshot.Live(f.Path)
	data, err := b.st.Get(b.ctx, f.Path, 0)
	require.NoError(t, err)
	for i := 4; i < 40; i++ {
		data[i] = 0xff // in the first row group
	}
	require.NoError(t, b.st.Put(b.ctx, f.Path, data))
	only := delta.NewVector()
	only.Add(12)
	read := func(o scan.LiveOptions) (out []int64, err error) {
		for piece, err := range scan.Live(b.ctx, table, damaged, nil, o) {
			if err != nil {
				return nil, err
			}
			out = append(out, piece.Batch.Column(0).(*array.Int64).Int64Values()...)
		}
		return out, nil
	}
	have, err := read(scan.LiveOptions{Only: only})
	require.NoError(t, err)
	require.Equal(t, []int64{12}, have)
	_, err = read(scan.LiveOptions{})
	require.ErrorIs(t, err, delta.ErrCorrupt)
}
