package parquetio_test

import (
	"path"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// parsedStats is a checkpoint with an add whose statistics are in typed form only.
func parsedStats(t testing.TB) []byte {
	long := func(name string) schema.Node { return prim(name, optional, parquet.Types.Int64) }
	utc := schema.NewTimestampLogicalType(true, schema.TimeUnitMicros)
	add := group("add", optional,
		logical("path", optional, schema.StringLogicalType{}, parquet.Types.ByteArray, -1),
		group("stats_parsed", optional,
			long("numRecords"),
			group("minValues", optional,
				long("n"),
				logical("s", optional, schema.StringLogicalType{}, parquet.Types.ByteArray, -1),
				logical("d", optional, schema.NewDecimalLogicalType(9, 2), parquet.Types.Int32, -1),
				logical("day", optional, schema.DateLogicalType{}, parquet.Types.Int32, -1),
				logical("ts", optional, utc, parquet.Types.Int64, -1),
				prim("legacy", optional, parquet.Types.Int96),
				prim("gone", optional, parquet.Types.Int32)),
			group("nullCount", optional, long("n"))))
	d := func(n int16) []int16 { return []int16{n} }
	return foreign(t, schema.FieldList{add},
		column{texts("a.parquet"), d(2), nil}, column{[]int64{3}, d(3), nil}, column{[]int64{-1}, d(4), nil},
		column{texts(`é"<`), d(4), nil}, column{[]int32{-5}, d(4), nil}, column{[]int32{1}, d(4), nil},
		column{[]int64{1_500_001}, d(4), nil}, column{[]parquet.Int96{int96(2440588, 1000)}, d(4), nil},
		column{[]int32{}, d(3), nil}, column{[]int64{0}, d(4), nil})
}

func TestStatisticsInTypedForm(t *testing.T) {
	got := readCheckpoint(t, source("c", parsedStats(t)), true)
	require.Len(t, got, 1)
	require.JSONEq(t, `{"numRecords":3,"minValues":{"n":-1,"s":"é\"<","d":-0.05,"day":"1970-01-02","ts":"1970-01-01T00:00:01.500001Z",
		"legacy":"1970-01-01T00:00:00.000001Z"},"nullCount":{"n":0}}`, got[0].Add.Stats)
	require.False(t, got[0].Add.StatsDeferred)

	deferred := readCheckpoint(t, source("c", parsedStats(t)), false)
	require.Empty(t, deferred[0].Add.Stats)
	require.True(t, deferred[0].Add.StatsDeferred)
}

func TestNothingToDefer(t *testing.T) {
	data := foreign(t, schema.FieldList{group("add", optional, logical("path", optional, schema.StringLogicalType{}, parquet.Types.ByteArray, -1))},
		column{texts("a"), []int16{2}, nil})
	require.False(t, readCheckpoint(t, source("c", data), false)[0].Add.StatsDeferred)
}

func TestAddsWithoutPath(t *testing.T) {
	data := foreign(t, schema.FieldList{group("add", optional, prim("size", optional, parquet.Types.Int64))}, column{[]int64{1}, []int16{2}, nil})
	err := parquetio.Parquet{}.ReadCheckpoint(t.Context(), source("c.parquet", data), parquetio.CheckpointOptions{}, func(delta.Action) error { return nil })
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.ErrorContains(t, err, "c.parquet, row 0: an add without a path")
}

func TestErrorsOfTheCallerStayWhatTheyAre(t *testing.T) {
	err := parquetio.Parquet{}.ReadCheckpoint(t.Context(), source("c", parsedStats(t)), parquetio.CheckpointOptions{}, func(delta.Action) error { return errFull })
	require.Equal(t, errFull, err)
}

// TestCorpusTypedStatistics reads the tables whose checkpoints have statistics in typed form only.
func TestCorpusTypedStatistics(t *testing.T) {
	adds := 0
	walkCorpus(t, func(rel string, data []byte) {
		if !isCheckpoint(rel) || !strings.Contains(rel, "struct-stats-only") {
			return
		}
		for _, a := range readCheckpoint(t, source(path.Base(rel), data), true) {
			if a.Add == nil {
				continue
			}
			adds++
			st, ok := delta.ParseStats(a.Add.Stats)
			require.True(t, ok, a.Add.Stats)
			require.NotNil(t, st.NumRecords)
			require.Positive(t, *st.NumRecords)
		}
	})
	require.Positive(t, adds)
}

// TestCorpusCheckpointCounts compares with what DuckDB counts in the same files.
func TestCorpusCheckpointCounts(t *testing.T) {
	type counts struct {
		adds, actions int
		bytes         int64
	}
	want := map[string]counts{
		"delta-golden/checkpoint/_delta_log/00000000000000000010.checkpoint.parquet":                                    {1, 13, 1},
		"kernel-rs/parsed-stats/_delta_log/00000000000000000003.checkpoint.parquet":                                     {4, 6, 11584},
		"kernel-rs/parquet_row_group_skipping/_delta_log/00000000000000000001.checkpoint.0000000004.0000000005.parquet": {1, 1, 4959},
		"delta-golden/multi-part-checkpoint/_delta_log/00000000000000000001.checkpoint.0000000001.0000000002.parquet":   {5, 7, 2458},
		"delta-golden/multi-part-checkpoint/_delta_log/00000000000000000001.checkpoint.0000000002.0000000002.parquet":   {5, 5, 2450},
	}
	got := map[string]counts{}
	walkCorpus(t, func(rel string, data []byte) {
		if _, ok := want[rel]; !ok {
			return
		}
		var c counts
		for _, a := range readCheckpoint(t, source(rel, data), true) {
			c.actions++
			if a.Add != nil {
				c.adds++
				c.bytes += a.Add.Size
			}
		}
		got[rel] = c
	})
	require.Equal(t, want, got)
}
