package parquetio_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

func ptr[T any](v T) *T { return &v }

// checkpointActions are one of each kind, with the values that are easily lost: 0, "", empty and NULL.
func checkpointActions() []delta.Action {
	return []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"deletionVectors"}, WriterFeatures: []string{"deletionVectors", "domainMetadata"}}},
		{Metadata: &delta.Metadata{ID: "id", Name: "n", Description: "d", Provider: "parquet", FormatOptions: map[string]string{}, SchemaString: "{}",
			PartitionColumns: []string{"p", "q"}, Configuration: map[string]string{"a": "1", "b": ""}, CreatedTime: ptr(int64(0))}},
		{Txn: &delta.Txn{AppID: "app", Version: 0}},
		{Txn: &delta.Txn{AppID: "app2", Version: 7, LastUpdated: ptr(int64(9))}},
		{Domain: &delta.DomainMetadata{Domain: "x", Configuration: "", Removed: false}},
		{Add: &delta.Add{Path: "p=1/a.parquet", PartitionValues: map[string]*string{"p": ptr("1"), "q": nil}, Size: 1, ModificationTime: 2, DataChange: false,
			Stats: `{"numRecords":3}`, Tags: map[string]string{"t": "v"}, BaseRowID: ptr(int64(0)), CommitVersion: ptr(int64(5)), ClusteredBy: "liquid",
			DeletionVector: &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "abc", Offset: ptr(int32(0)), SizeInBytes: 3, Cardinality: 4}}},
		{Add: &delta.Add{Path: "b.parquet", PartitionValues: map[string]*string{}, Size: 0, ModificationTime: 0, DataChange: true,
			DeletionVector: &delta.DeletionVector{StorageType: "i", PathOrInlineDV: "", SizeInBytes: 0, Cardinality: 0}}},
		{Remove: &delta.Remove{Path: "c.parquet", DeletionTimestamp: ptr(int64(0)), ExtendedMetadata: true, PartitionValues: map[string]*string{"p": ptr("")}, Size: ptr(int64(0))}},
		{Remove: &delta.Remove{Path: "d.parquet", DataChange: true}},
	}
}

func writeCheckpoint(t testing.TB, actions []delta.Action) []byte {
	var out bytes.Buffer
	rows, _, err := parquetio.Parquet{}.WriteCheckpoint(&out, slices.Values(actions), parquetio.CheckpointLayout{})
	require.NoError(t, err)
	require.EqualValues(t, len(actions), rows)
	return out.Bytes()
}

func readCheckpoint(t testing.TB, src parquetio.Source, stats bool) []delta.Action {
	var got []delta.Action
	require.NoError(t, parquetio.Parquet{}.ReadCheckpoint(t.Context(), src, parquetio.CheckpointOptions{SkipStats: !stats}, func(a delta.Action) error {
		got = append(got, a)
		return nil
	}))
	return got
}

func TestCheckpointRoundTrip(t *testing.T) {
	want := checkpointActions()
	data := writeCheckpoint(t, want)
	require.Equal(t, want, readCheckpoint(t, source("c", data), true))

	deferred := readCheckpoint(t, source("c", data), false)
	require.Empty(t, deferred[5].Add.Stats)
	require.True(t, deferred[5].Add.StatsDeferred)
	require.True(t, deferred[6].Add.StatsDeferred, "whether this file has statistics is not known without reading them")
}

func TestCheckpointCounts(t *testing.T) {
	rows, adds, err := parquetio.Parquet{}.WriteCheckpoint(&bytes.Buffer{}, slices.Values(checkpointActions()), parquetio.CheckpointLayout{})
	require.NoError(t, err)
	require.EqualValues(t, 9, rows)
	require.EqualValues(t, 2, adds)
}

func TestCheckpointProtocolLists(t *testing.T) {
	for name, c := range map[string]struct{ in, out delta.Protocol }{
		"legacy versions have no lists":             {delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2, WriterFeatures: []string{"x"}}, delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
		"writer version 7 has its list, also empty": {delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7}, delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{}}},
		"both lists": {delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7}, delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{}, WriterFeatures: []string{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := readCheckpoint(t, source("c", writeCheckpoint(t, []delta.Action{{Protocol: &c.in}})), true)
			require.Equal(t, &c.out, got[0].Protocol)
		})
	}
}

func TestCheckpointBytesAreDeterministic(t *testing.T) {
	first := writeCheckpoint(t, checkpointActions())
	for range 5 {
		require.Equal(t, first, writeCheckpoint(t, checkpointActions()))
	}
}

func TestCheckpointRefusesOtherActions(t *testing.T) {
	_, _, err := parquetio.Parquet{}.WriteCheckpoint(&bytes.Buffer{}, slices.Values([]delta.Action{{CommitInfo: &delta.CommitInfo{}}}), parquetio.CheckpointLayout{})
	require.ErrorContains(t, err, "does not hold")
}

func TestCheckpointSharesPartitionValues(t *testing.T) {
	a := delta.Add{Path: "a", PartitionValues: map[string]*string{"p": ptr("1")}}
	b := delta.Add{Path: "b", PartitionValues: map[string]*string{"p": ptr("1")}}
	got := readCheckpoint(t, source("c", writeCheckpoint(t, []delta.Action{{Add: &a}, {Add: &b}})), true)
	got[0].Add.PartitionValues["x"] = nil // only to see that it is one map
	require.Contains(t, got[1].Add.PartitionValues, "x")
}
