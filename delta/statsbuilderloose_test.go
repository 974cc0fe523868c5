package delta_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// TestLooseStats: bounds and counts stay as they were, as outer bounds; the number of rows is there in
// any case, because a file with a vector must say it.
func TestLooseStats(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"nothing is lost", `{"numRecords":3,"minValues":{"a":1},"maxValues":{"a":9},"nullCount":{"a":0}}`,
			`{"numRecords":3,"tightBounds":false,"minValues":{"a":1},"maxValues":{"a":9},"nullCount":{"a":0}}`},
		{"tight bounds become loose", `{"numRecords":3,"tightBounds":true,"nullCount":{"a":3}}`, `{"numRecords":3,"tightBounds":false,"nullCount":{"a":3}}`},
		{"a file without statistics", ``, `{"numRecords":7,"tightBounds":false}`},
		{"statistics without a count", `{"minValues":{"a":1}}`, `{"numRecords":7,"tightBounds":false,"minValues":{"a":1}}`},
		{"no statistics at all", `[1]`, `{"numRecords":7,"tightBounds":false}`},
		{"parts that are no objects are left out", `{"numRecords":3,"minValues":null,"maxValues":4}`, `{"numRecords":3,"tightBounds":false}`},
	} {
		got := delta.LooseStats(c.text, 7)
		require.Equal(t, c.want, got, c.why)
		st, ok := delta.ParseStats(got)
		require.True(t, ok, c.why)
		require.False(t, *st.TightBounds)
		require.Equal(t, got, delta.LooseStats(got, 7), "a second vector changes nothing")
	}
}

// TestStatsOfATable: what the protocol and the domains of a table say of its statistics.
func TestStatsOfATable(t *testing.T) {
	schema := &delta.Struct{Fields: []delta.Field{
		{Name: "a", Type: delta.Long, Nullable: true, Metadata: physical("pa", 1)},
		{Name: "b", Type: &delta.Struct{Fields: []delta.Field{{Name: "c", Type: delta.Long, Nullable: true, Metadata: physical("pc", 3)}}}, Nullable: true, Metadata: physical("pb", 2)},
	}}
	for _, c := range []struct {
		why      string
		features []string
		conf     map[string]string
		domain   string
		want     string
	}{
		{"mapping that the protocol does not support is none", nil, map[string]string{"delta.columnMapping.mode": "name"}, "",
			`{"numRecords":1,"minValues":{"a":1,"b":{"c":2}},"maxValues":{"a":1,"b":{"c":2}},"nullCount":{"a":0,"b":{"c":0}}}`},
		{"mapping in any case", []string{"columnMapping"}, map[string]string{"delta.columnMapping.mode": "Name"}, "",
			`{"numRecords":1,"minValues":{"pa":1,"pb":{"pc":2}},"maxValues":{"pa":1,"pb":{"pc":2}},"nullCount":{"pa":0,"pb":{"pc":0}}}`},
		{"a clustering column beyond the indexed ones, by its parts", []string{"columnMapping"},
			map[string]string{"delta.columnMapping.mode": "name", "delta.dataSkippingNumIndexedCols": "0"}, `{"clusteringColumns":[["pb","pc"]],"domainName":"delta.clustering"}`,
			`{"numRecords":1,"minValues":{"pb":{"pc":2}},"maxValues":{"pb":{"pc":2}},"nullCount":{"pb":{"pc":0}}}`},
		{"a clustering column by its name alone", nil, map[string]string{"delta.dataSkippingNumIndexedCols": "0"}, `{"clusteringColumns":["a"]}`,
			`{"numRecords":1,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{"a":0}}`},
		{"a domain that is no JSON clusters by nothing", nil, map[string]string{"delta.dataSkippingNumIndexedCols": "0"}, `{`, `{"numRecords":1}`},
		{"columns that are neither names nor paths", nil, map[string]string{"delta.dataSkippingNumIndexedCols": "0"}, `{"clusteringColumns":[1,[],["no"]]}`, `{"numRecords":1}`},
		{"files that may get vectors have tight bounds", []string{"deletionVectors"}, map[string]string{"delta.dataSkippingNumIndexedCols": "1"}, "",
			`{"numRecords":1,"tightBounds":true,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{"a":0}}`},
	} {
		r := delta.NewReplay("mem:///")
		actions := []delta.Action{
			{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: append([]string{}, c.features...), WriterFeatures: append([]string{"domainMetadata"}, c.features...)}},
			{Metadata: &delta.Metadata{ID: "t", Provider: "parquet", SchemaString: schema.JSON(), Configuration: c.conf}},
		}
		if c.domain != "" {
			actions = append(actions, delta.Action{Domain: &delta.DomainMetadata{Domain: "delta.clustering", Configuration: c.domain}})
		}
		require.NoError(t, r.Commit(0, actions), c.why)
		snap, err := r.Snapshot(0)
		require.NoError(t, err, c.why)
		b := array.NewRecordBuilder(memory.DefaultAllocator, snap.DataSchema())
		b.Field(0).(*array.Int64Builder).Append(1)
		nest := b.Field(1).(*array.StructBuilder)
		nest.Append(true)
		nest.FieldBuilder(0).(*array.Int64Builder).Append(2)
		stats := snap.StatsBuilder()
		require.NoError(t, stats.Add(b.NewRecordBatch()), c.why)
		require.Equal(t, c.want, stats.JSON(), c.why)
	}
}

// physical is the metadata of a mapped field.
func physical(name string, id int) map[string]json.RawMessage {
	return map[string]json.RawMessage{
		"delta.columnMapping.id":           json.RawMessage(strconv.Itoa(id)),
		"delta.columnMapping.physicalName": json.RawMessage(strconv.Quote(name)),
	}
}
