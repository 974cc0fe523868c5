package logcheck_test

import (
	"maps"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	. "github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/maintain"
)

// kind is the definition of everything with other properties; "" takes one away.
func kind(properties map[string]string, change func(*idem.Definition)) idem.Definition {
	d := everything
	d.Properties = maps.Clone(d.Properties)
	for key, value := range properties {
		if d.Properties[key] = value; value == "" {
			delete(d.Properties, key)
		}
	}
	if change != nil {
		change(&d)
	}
	return d
}

func partitioned(d *idem.Definition) { d.ClusterBy, d.PartitionBy = nil, []string{"name"} }

var forIceberg = kind(map[string]string{"delta.enableIcebergCompatV2": "true", "delta.enableDeletionVectors": ""}, partitioned)

func TestIcebergWantsPartitionColumnsInFiles(t *testing.T) {
	m := newMade(t, forIceberg)
	m.cut(appended)
	m.rewrite(appended, func(s *arrow.Schema, columns []arrow.Array) (*arrow.Schema, []arrow.Array) { return s, columns })
	report, err := Check(t.Context(), m.store)
	require.NoError(t, err)
	require.NotEmpty(t, report.Findings)
	for _, f := range report.Findings {
		require.Equal(t, IcebergCompat, f.Rule, "%s", f)
	}
}

// What idem writes keeps every rule, whatever a definition asks for and whatever is done to the table.
func TestTablesOfIdemKeepTheRules(t *testing.T) {
	for _, k := range []struct {
		name       string
		definition idem.Definition
	}{
		{"everything", everything},
		{"no property", kind(map[string]string{"delta.columnMapping.mode": "", "delta.enableDeletionVectors": "", "delta.enableChangeDataFeed": "", "delta.enableRowTracking": "",
			"delta.enableInCommitTimestamps": "", "delta.enableTypeWidening": "", "delta.checkpoint.writeStatsAsStruct": ""}, func(d *idem.Definition) { d.ClusterBy = nil })},
		{"partitions", kind(nil, partitioned)},
		{"no mapping", kind(map[string]string{"delta.columnMapping.mode": ""}, nil)},
		{"ids", kind(map[string]string{"delta.columnMapping.mode": "id"}, nil)},
		{"files are rewritten", kind(map[string]string{"delta.enableDeletionVectors": ""}, partitioned)},
		{"V2 checkpoints", kind(map[string]string{"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2"}, nil)},
		{"checkpoints without text", kind(map[string]string{"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpointInterval": "2"}, partitioned)},
		{"few statistics", kind(map[string]string{"delta.dataSkippingNumIndexedCols": "1", "delta.dataSkippingStringPrefixLength": "2"}, nil)},
		{"listed statistics", kind(map[string]string{"delta.dataSkippingStatsColumns": "s.x,name"}, nil)},
		{"no statistics", kind(map[string]string{"delta.dataSkippingNumIndexedCols": "0"}, partitioned)},
		{"Iceberg", forIceberg},
		{"void", kind(nil, func(d *idem.Definition) {
			d.Schema = arrow.NewSchema(append(d.Schema.Fields(), arrow.Field{Name: "nothing", Type: arrow.Null, Nullable: true}), nil)
		})},
	} {
		t.Run(k.name, func(t *testing.T) {
			m := newMade(t, k.definition)
			keeps(t, m)
			ctx := t.Context()
			_, err := maintain.RestoreTable(ctx, m.table, maintain.Restore{To: maintain.Version(changed)})
			require.NoError(t, err)
			_, err = maintain.UpdateTable(ctx, m.table, maintain.Update{Where: "id = 3", Set: map[string]string{"k": "300"}})
			require.NoError(t, err)
			_, err = m.table.ReplaceWhere(ctx, m.rows(`{"id":4,"k":40},{"id":4,"k":41}`), idem.ReplaceWhere{Where: "id = 4"})
			require.NoError(t, err)
			_, err = maintain.Checkpoint(ctx, m.table)
			require.NoError(t, err)
			_, err = maintain.CompactLog(ctx, m.table, more, changed)
			require.NoError(t, err)
			keeps(t, m)
			_, err = m.table.ReplaceAll(ctx, m.rows(`{"id":9,"k":9}`), idem.ReplaceAll{})
			require.NoError(t, err)
			keeps(t, m)
		})
	}
}

func keeps(t *testing.T, m *made) {
	t.Helper()
	report, err := Check(t.Context(), m.store)
	require.NoError(t, err)
	require.NoError(t, report.Err())
}
