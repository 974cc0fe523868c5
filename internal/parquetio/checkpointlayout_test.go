package parquetio_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
)

// everyType is a table with a column of each type, a struct of them, and a partition column of each
// type that can be one.
func everyType(t testing.TB) *delta.Snapshot {
	types := map[string]string{
		"l": `"long"`, "i": `"integer"`, "sh": `"short"`, "by": `"byte"`, "f": `"float"`, "d": `"double"`, "s": `"string"`, "bo": `"boolean"`,
		"da": `"date"`, "ts": `"timestamp"`, "ntz": `"timestamp_ntz"`, "d9": `"decimal(9,2)"`, "d18": `"decimal(18,4)"`, "d38": `"decimal(38,10)"`,
		"a b-é.1": `"long"`, "bin": `"binary"`, "arr": `{"type":"array","elementType":"long","containsNull":true}`,
	}
	fields, partitions := "", []string{}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range types {
			if !yield(n) {
				return
			}
		}
	}) {
		fields += fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}},`, name, types[name])
		if name != "arr" {
			fields += fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}},`, "p_"+name, types[name])
			partitions = append(partitions, "p_"+name)
		}
	}
	fields += `{"name":"st","type":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},{"name":"v","type":"binary","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}`
	r := delta.NewReplay("mem:///")
	require.NoError(t, r.Commit(0, []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"timestampNtz"}, WriterFeatures: []string{"timestampNtz"}}},
		{Metadata: &delta.Metadata{ID: "id", Provider: "parquet", SchemaString: `{"type":"struct","fields":[` + fields + `]}`, PartitionColumns: partitions}},
	}))
	s, err := r.Snapshot(0)
	require.NoError(t, err)
	return s
}

const everyStat = `{"numRecords":3,"tightBounds":true,
	"minValues":{"a b-é.1":7,"by":-8,"d":1.5,"d18":-0.0001,"d38":-9999999999999999999999999999.9999999999,"d9":-1.25,"da":"1970-01-02","f":0.1,"i":-5,"l":-9007199254740993,
		"ntz":"2024-01-02T03:04:05.123000","s":"é\"<","sh":300,"st":{"x":1},"ts":"1969-12-31T23:59:59.999000Z"},
	"maxValues":{"a b-é.1":8,"by":127,"d":1e300,"d18":99999999999999.9999,"d38":0.0000000001,"d9":1234567.89,"da":"9999-12-31","f":3.4028235e38,"i":5,"l":9223372036854775807,
		"ntz":"2024-01-02T03:04:05.124000","s":"é\"<z","sh":301,"st":{"x":2},"ts":"2024-01-02T03:04:05.123456Z"},
	"nullCount":{"a b-é.1":0,"arr":3,"bin":1,"bo":2,"by":0,"d":0,"d18":0,"d38":0,"d9":0,"da":0,"f":0,"i":0,"l":0,"ntz":0,"s":0,"sh":0,"st":{"v":1,"x":0},"ts":0}}`

func everyPartition() map[string]*string {
	return map[string]*string{
		"p_l": ptr("-9007199254740993"), "p_i": ptr("5"), "p_sh": ptr("300"), "p_by": ptr("-8"), "p_f": ptr("0.1"), "p_d": ptr("1.5"), "p_s": ptr("x y"),
		"p_bo": ptr("true"), "p_da": ptr("2024-02-29"), "p_ts": ptr("2024-01-02T03:04:05.678901Z"), "p_ntz": ptr("2024-01-02 03:04:05.5"),
		"p_d9": ptr("-1.25"), "p_d18": ptr("0.0001"), "p_d38": ptr("12345678901234567890.0000000001"), "p_a b-é.1": nil, "p_bin": ptr("ab"),
	}
}

func typedAdds() []delta.Action {
	vector := &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "abc", Cardinality: 1}
	return []delta.Action{
		{Txn: &delta.Txn{AppID: "app", Version: 1}},
		{Add: &delta.Add{Path: "full", PartitionValues: everyPartition(), Stats: everyStat}},
		{Add: &delta.Add{Path: "counted", PartitionValues: everyPartition(), Stats: `{"numRecords":0}`, DeletionVector: vector}},
		{Add: &delta.Add{Path: "bare", PartitionValues: everyPartition(), Tags: map[string]string{"t": "v"}}},
		{Remove: &delta.Remove{Path: "gone"}},
	}
}

func writeLayout(t testing.TB, actions []delta.Action, l parquetio.CheckpointLayout) []byte {
	var out bytes.Buffer
	rows, _, err := parquetio.Parquet{}.WriteCheckpoint(&out, slices.Values(actions), l)
	require.NoError(t, err)
	require.EqualValues(t, len(actions), rows)
	return out.Bytes()
}

// What is written in typed form alone reads as the text did: to the last digit, without what a
// reader allows for.
func TestTypedStatisticsReadAsTheirText(t *testing.T) {
	snap := everyType(t)
	for _, skip := range []bool{false, true} {
		data := writeLayout(t, typedAdds(), parquetio.CheckpointLayout{SkipText: skip, Typed: snap.TypedColumns()})
		require.Equal(t, data, writeLayout(t, typedAdds(), parquetio.CheckpointLayout{SkipText: skip, Typed: snap.TypedColumns()}), "the same bytes each time")
		got := readCheckpoint(t, source("c", data), true)
		require.Len(t, got, 5)
		require.JSONEq(t, everyStat, got[1].Add.Stats)
		require.JSONEq(t, `{"numRecords":0}`, got[2].Add.Stats)
		require.Empty(t, got[3].Add.Stats)
		for i, a := range got {
			if a.Add != nil {
				require.Equal(t, everyPartition(), a.Add.PartitionValues)
				a.Add.Stats = typedAdds()[i].Add.Stats
			}
		}
		require.Equal(t, typedAdds(), got)
	}
}

func TestTypedColumnsOfATableWithout(t *testing.T) {
	r := delta.NewReplay("mem:///")
	require.NoError(t, r.Commit(0, []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
		{Metadata: &delta.Metadata{ID: "id", Provider: "parquet", SchemaString: `{"type":"struct","fields":[]}`}},
	}))
	snap, err := r.Snapshot(0)
	require.NoError(t, err)
	adds := []delta.Action{{Add: &delta.Add{Path: "a", PartitionValues: map[string]*string{}, Stats: `{"numRecords":2}`}}}
	data := writeLayout(t, adds, parquetio.CheckpointLayout{SkipText: true, Typed: snap.TypedColumns()})
	require.JSONEq(t, `{"numRecords":2}`, readCheckpoint(t, source("c", data), true)[0].Add.Stats)
}

// Statistics that are not what their column says are left out, and the rest is kept.
func TestTypedStatisticsThatAreNone(t *testing.T) {
	adds := []delta.Action{{Add: &delta.Add{Path: "a", PartitionValues: everyPartition(),
		Stats: `{"numRecords":2,"minValues":{"l":"7","i":5000000000,"da":"noon","ts":"2024-01-02T03:04:05","ntz":"2024-01-02T03:04:05+01:00","s":7,"f":"NaN","d9":12345678.9,"d":2,"gone":1,"st":3},"nullCount":{"l":-1}}`}}}
	data := writeLayout(t, adds, parquetio.CheckpointLayout{SkipText: true, Typed: everyType(t).TypedColumns()})
	require.JSONEq(t, `{"numRecords":2,"minValues":{"d":2}}`, readCheckpoint(t, source("c", data), true)[0].Add.Stats)

	adds[0].Add.PartitionValues["p_l"] = ptr("seven")
	_, _, err := parquetio.Parquet{}.WriteCheckpoint(&bytes.Buffer{}, slices.Values(adds), parquetio.CheckpointLayout{Typed: everyType(t).TypedColumns()})
	require.ErrorIs(t, err, delta.ErrCorrupt, "NULL in its place would be another partition")
}

func TestContentOfV2Checkpoints(t *testing.T) {
	head := delta.Action{CheckpointMetadata: &delta.CheckpointMetadata{Version: 7, Tags: map[string]string{"a": "b"}}}
	side := delta.Action{Sidecar: &delta.Sidecar{Path: "x.parquet", SizeInBytes: 0, ModificationTime: 3}}
	all := append(checkpointActions(), head, side)
	got := readCheckpoint(t, source("c", writeLayout(t, all, parquetio.CheckpointLayout{Content: parquetio.CheckpointManifest})), true)
	require.Equal(t, all, got)

	files := checkpointActions()[5:]
	got = readCheckpoint(t, source("c", writeLayout(t, files, parquetio.CheckpointLayout{Content: parquetio.CheckpointSidecar})), true)
	require.Equal(t, files, got)

	for _, c := range []struct {
		a       delta.Action
		content parquetio.CheckpointContent
	}{
		{head, parquetio.ClassicCheckpoint}, {side, parquetio.ClassicCheckpoint}, {head, parquetio.CheckpointSidecar}, {checkpointActions()[0], parquetio.CheckpointSidecar},
	} {
		_, _, err := parquetio.Parquet{}.WriteCheckpoint(&bytes.Buffer{}, slices.Values([]delta.Action{c.a}), parquetio.CheckpointLayout{Content: c.content})
		require.ErrorContains(t, err, "does not hold")
	}
}
