package delta_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

func set(pairs ...string) func(*delta.Snapshot) (*delta.Edit, error) {
	properties := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		properties[pairs[i]] = pairs[i+1]
	}
	return func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetProperties(fresh(), properties) }
}

func unset(keys ...string) func(*delta.Snapshot) (*delta.Edit, error) {
	return func(s *delta.Snapshot) (*delta.Edit, error) { return s.UnsetProperties(keys...) }
}

// live makes a file that is live; id is its first row id, -1 for none.
func live(path string, id int64) *delta.Add {
	f := &delta.Add{Path: path, PartitionValues: map[string]*string{}, Size: 1, DataChange: true}
	if id >= 0 {
		f.BaseRowID, f.CommitVersion = &id, new(int64)
	}
	return f
}

func TestSetProperties(t *testing.T) {
	delta.WriteEverything(t)
	plain := table{columns: col("a", "integer") + "," + col("s", structType(col("x", arrayType("long")))), conf: map[string]string{"delta.odd": "kept", "owner": "x"}}
	inert := plain
	inert.columns += "," + col("g", "integer", `"delta.generationExpression":"a"`)
	for _, c := range []struct {
		why      string
		table    table
		edit     func(*delta.Snapshot) (*delta.Edit, error)
		want     map[string]string
		protocol delta.Protocol
	}{
		{"one of the user's", plain, set("Owner", "y", "owner", "z"), map[string]string{"Owner": "y", "owner": "z"}, plainProtocol},
		{"one without a feature", plain, set("delta.checkpointInterval", "20"), map[string]string{"delta.checkpointInterval": "20"}, plainProtocol},
		{"[PROT-11] a pair of versions where one says it", plain, set("delta.enableChangeDataFeed", "true"), map[string]string{"delta.enableChangeDataFeed": "true"}, versions(1, 4)},
		{"[PROT-9] lists name what the versions stood for", plain, set("delta.enableDeletionVectors", "true"), map[string]string{"delta.enableDeletionVectors": "true"},
			both([]string{"deletionVectors"}, "appendOnly", "invariants")},
		{"false turns on nothing", plain, set("delta.enableDeletionVectors", "false"), map[string]string{"delta.enableDeletionVectors": "false"}, plainProtocol},
		{"column mapping: each column its own name in files, ids depth first", plain, set("delta.columnMapping.mode", "name"),
			map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}, versions(2, 5)},
		{"[PROT-8] what had no effect gets none: lists, not versions", inert, set("delta.columnMapping.mode", "name"),
			map[string]string{"delta.columnMapping.maxColumnId": "4"}, writerList(2, "appendOnly", "invariants", "columnMapping")},
		{"in-commit timestamps: since when", plain, set("delta.enableInCommitTimestamps", "true"),
			map[string]string{"delta.inCommitTimestampEnablementVersion": "1", "delta.inCommitTimestampEnablementTimestamp": "1000"}, writerList(1, "appendOnly", "invariants", "inCommitTimestamp")},
		{"row tracking: hidden columns, and the domain's feature", plain, set("delta.enableRowTracking", "true"),
			map[string]string{"delta.rowTracking.materializedRowIdColumnName": "_row-id-col-id0", "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-id1"},
			writerList(1, "appendOnly", "invariants", "rowTracking", "domainMetadata")},
		{"partition columns in files, for all writers", plain, set("delta.enableMaterializePartitionColumnsFeature", "true"),
			map[string]string{"delta.enableMaterializePartitionColumnsFeature": "true"}, writerList(1, "appendOnly", "invariants", "materializePartitionColumns")},
		{"partition columns in files, as a wish", plain, set("delta.writePartitionColumnsToParquet", "true"), map[string]string{"delta.writePartitionColumnsToParquet": "true"}, plainProtocol},
		{"checkpoints", plain, set("delta.checkpointPolicy", "v2"), map[string]string{"delta.checkpointPolicy": "v2"}, both([]string{"v2Checkpoint"}, "appendOnly", "invariants")},
		{"a feature by name, which is not stored", plain, set("delta.feature.allowColumnDefaults", "supported"), nil, writerList(1, "appendOnly", "invariants", "allowColumnDefaults")},
		{"versions, which are not stored", plain, set("delta.minWriterVersion", "5", "delta.minReaderVersion", "2"), nil, versions(2, 5)},
		{"versions that are those of lists, with a feature to list", plain, set("delta.minWriterVersion", "7", "delta.minReaderVersion", "3", "delta.feature.deletionVectors", "supported"), nil,
			both([]string{"deletionVectors"}, "appendOnly", "invariants")},
		{"the writer version alone, as Spark: what it stands for", plain, set("delta.minWriterVersion", "4"), nil, versions(1, 4)},
	} {
		t.Run(c.why, func(t *testing.T) {
			next := edited(t, c.table.snapshot(t), c.edit)
			for key, value := range c.want {
				require.Equal(t, value, next.Metadata().Configuration[key], key)
			}
			require.Equal(t, "kept", next.Metadata().Configuration["delta.odd"], "[META-1] unknown ones stay")
			for _, never := range []string{"delta.minWriterVersion", "delta.minReaderVersion", "delta.feature.allowColumnDefaults"} {
				require.NotContains(t, next.Metadata().Configuration, never)
			}
			got := next.Protocol()
			require.Equal(t, c.protocol.MinReaderVersion, got.MinReaderVersion)
			require.Equal(t, c.protocol.MinWriterVersion, got.MinWriterVersion)
			require.ElementsMatch(t, c.protocol.ReaderFeatures, got.ReaderFeatures)
			require.ElementsMatch(t, c.protocol.WriterFeatures, got.WriterFeatures)
		})
	}
	t.Run("mapping of a table that was mapped before forgets the old names", func(t *testing.T) {
		stale := table{columns: col("a", "integer", mappedAs(7, "old")), conf: map[string]string{"delta.columnMapping.maxColumnId": "7"}}
		next := edited(t, stale.snapshot(t), set("delta.columnMapping.mode", "name"))
		require.Equal(t, "{a#8=a:integer}", shape(next.Schema()))
	})
	t.Run("a feature that wakes a mapping left behind", func(t *testing.T) {
		stale := table{columns: col("a", "integer", mappedAs(7, "old")), conf: map[string]string{"delta.columnMapping.mode": "name"}}
		next := edited(t, stale.snapshot(t), func(s *delta.Snapshot) (*delta.Edit, error) { return s.EnableFeature(fresh(), "columnMapping") })
		require.Equal(t, "{a#8=a:integer}", shape(next.Schema()), "files have their columns' own names")
		stale.conf["delta.columnMapping.mode"] = "id"
		_, err := stale.snapshot(t).EnableFeature(fresh(), "columnMapping")
		require.ErrorIs(t, err, delta.ErrInput)
	})
	t.Run("[PROT-8] what had no effect has none after another edit", func(t *testing.T) {
		inert := table{columns: col("a", "integer", `"CURRENT_DEFAULT":"1"`), conf: map[string]string{"delta.enableInCommitTimestamps": "true", "delta.enableRowTracking": "true"}}
		s := edited(t, inert.snapshot(t), set("owner", "x"))
		require.Equal(t, plainProtocol, *s.Protocol())
		require.Len(t, s.Metadata().Configuration, 3)
		s = edited(t, s, set("delta.enableInCommitTimestamps", "true"))
		require.Equal(t, "1", s.Metadata().Configuration["delta.inCommitTimestampEnablementVersion"], "asked for, it has")
		require.False(t, s.Protocol().Supports("rowTracking"))
		s = edited(t, s, func(s *delta.Snapshot) (*delta.Edit, error) { return s.EnableFeature(fresh(), "rowTracking") })
		require.Equal(t, "_row-id-col-id0", s.Metadata().Configuration["delta.rowTracking.materializedRowIdColumnName"])
		s = edited(t, s, func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{"a"}, "1") })
		require.True(t, s.Protocol().Supports("allowColumnDefaults"), "the same text, with effect now")
	})
	t.Run("row ids of files that lack them", func(t *testing.T) {
		filled := plain
		filled.files = []*delta.Add{live("a", 0), live("b", -1)}
		e, err := set("delta.enableRowTracking", "true")(filled.snapshot(t))
		require.NoError(t, err)
		require.True(t, e.Backfill)
		filled.files = filled.files[:1]
		e, err = set("delta.enableRowTracking", "true")(filled.snapshot(t))
		require.NoError(t, err)
		require.False(t, e.Backfill)
	})
	t.Run("Iceberg: ids of elements, keyed by the physical name", func(t *testing.T) {
		s := edited(t, plain.snapshot(t), set("delta.columnMapping.mode", "name"))
		s = edited(t, s, set("delta.enableIcebergCompatV2", "true"))
		x := s.Schema().Fields[1].Type.(*delta.Struct).Fields[0]
		require.JSONEq(t, `{"x.element":4}`, string(x.Metadata["delta.columnMapping.nested.ids"]))
		require.Equal(t, "4", s.Metadata().Configuration["delta.columnMapping.maxColumnId"])
	})
	t.Run("the list of columns for statistics goes with its columns, as in Spark", func(t *testing.T) {
		s := edited(t, mappedTable().snapshot(t), set("delta.dataSkippingStatsColumns", "d,`s`.x, A ,l"))
		s = edited(t, s, func(s *delta.Snapshot) (*delta.Edit, error) { return s.RenameColumn([]string{"s"}, "t`u") })
		require.Equal(t, "d,`t``u`.x,A,l", s.Metadata().Configuration["delta.dataSkippingStatsColumns"])
		s = edited(t, s, func(s *delta.Snapshot) (*delta.Edit, error) { return s.DropColumn([]string{"a"}) })
		require.Equal(t, "d,`t``u`.x,l", s.Metadata().Configuration["delta.dataSkippingStatsColumns"])
		s = edited(t, s, func(s *delta.Snapshot) (*delta.Edit, error) { return s.DropColumn([]string{"t`u"}) })
		require.Equal(t, "d,l", s.Metadata().Configuration["delta.dataSkippingStatsColumns"])
	})
	t.Run("a description", func(t *testing.T) {
		s := edited(t, plain.snapshot(t), func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDescription("x") })
		require.Equal(t, "x", s.Metadata().Description)
	})
	t.Run("a name", func(t *testing.T) {
		s := edited(t, plain.snapshot(t), func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetName("x") })
		require.Equal(t, "x", s.Metadata().Name)
		e, err := s.SetName("x")
		require.NoError(t, err)
		require.Nil(t, e)
	})
	t.Run("on and off again", func(t *testing.T) {
		s := edited(t, plain.snapshot(t), set("delta.enableInCommitTimestamps", "true", "delta.appendOnly", "true"))
		s = edited(t, s, unset("delta.enableInCommitTimestamps", "delta.appendOnly", "absent"))
		require.Equal(t, plain.conf, s.Metadata().Configuration)
	})
}

func TestAValueThatAPropertyCannotHaveSaysWhichItCan(t *testing.T) {
	plain := table{columns: col("a", "integer")}.snapshot(t)
	for key, are := range delta.PropertyValues() {
		_, err := plain.SetProperties(fresh(), map[string]string{key: "`no value"})
		if are == "any text" {
			require.False(t, err != nil && strings.Contains(err.Error(), "cannot have the value"), key)
			continue
		}
		require.ErrorIs(t, err, delta.ErrInput, key)
		require.ErrorContains(t, err, key+" cannot have the value \"`no value\": it is "+are)
	}
	_, err := plain.SetProperties(fresh(), map[string]string{"delta.deletedFileRetentionDuration": "interval 1 month"})
	require.ErrorContains(t, err, "interval 30 days")
}

func TestSetPropertiesRefuses(t *testing.T) {
	delta.WriteEverything(t)
	vectored := table{columns: col("a", "integer", mappedAs(1, "p")), protocol: both([]string{"deletionVectors", "columnMapping"}),
		conf: map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}}
	f := live("a", -1)
	f.DeletionVector = &delta.DeletionVector{StorageType: "i", PathOrInlineDV: "x", SizeInBytes: 1, Cardinality: 1}
	vectored.files = []*delta.Add{f}
	clean := vectored
	clean.files = nil
	plain := table{columns: col("a", "integer"), conf: map[string]string{"delta.constraints.c": "a > 0"}}
	arrays := table{columns: col("l", arrayType("long"), mappedAs(1, "p")), protocol: mappingProtocol, conf: mappingConf}
	feed := table{columns: col("_change_type", "string")}
	suspended := table{columns: col("a", "integer"), conf: map[string]string{"delta.rowTrackingSuspended": "true"}}
	for _, c := range []struct {
		why   string
		table table
		edit  func(*delta.Snapshot) (*delta.Edit, error)
		want  error
		says  string
	}{
		{"unknown", plain, set("delta.foo", "1"), delta.ErrInput, "delta.foo"},
		{"misspelt in case", plain, set("delta.checkpointinterval", "1"), delta.ErrInput, "spelled exactly"},
		{"a bad value", plain, set("delta.appendOnly", "yes"), delta.ErrInput, `"yes"`},
		{"an isolation level that is none of a table", plain, set("delta.isolationLevel", "SnapshotIsolation"), delta.ErrInput, "WriteSerializable"},
		{"statistics of no column", plain, set("delta.dataSkippingStatsColumns", "a,zz"), delta.ErrInput, "no column zz"},
		{"statistics of no list", plain, set("delta.dataSkippingStatsColumns", "a b"), delta.ErrInput, "dataSkippingStatsColumns"},
		{"months", plain, set("delta.logRetentionDuration", "interval 2 months"), delta.ErrInput, "2 months"},
		{"a constraint", plain, set("delta.constraints.x", "1=1"), delta.ErrInput, "constraint"},
		{"a constraint, unset", plain, unset("delta.constraints.c"), delta.ErrInput, "constraint"},
		{"the count of ids", plain, set("delta.columnMapping.maxColumnId", "4"), delta.ErrInput, "cannot be set"},
		{"the count of ids, unset", arrays, unset("delta.columnMapping.maxColumnId"), delta.ErrInput, "cannot be unset"},
		{"mapping by id on a table that exists", plain, set("delta.columnMapping.mode", "id"), delta.ErrInput, "from none to id"},
		{"another mode", arrays, set("delta.columnMapping.mode", "id"), delta.ErrInput, "from name to id"},
		{"no mode", arrays, unset("delta.columnMapping.mode"), delta.ErrInput, "drop the feature columnMapping"},
		{"a feature's value", plain, set("delta.feature.deletionVectors", "on"), delta.ErrInput, "supported"},
		{"a feature that nobody knows", plain, set("delta.feature.foo", "supported"), delta.ErrUnsupported, "foo"},
		{"a catalog's", plain, set("delta.feature.catalogManaged", "supported"), delta.ErrUnsupported, "catalog"},
		{"a version to come", plain, set("delta.minWriterVersion", "8"), delta.ErrInput, "1 to 7"},
		{"a version that is none", plain, set("delta.minReaderVersion", "x"), delta.ErrInput, "1 to 3"},
		{"a version that lists stand for, and nothing to list", plain, set("delta.minReaderVersion", "3", "delta.minWriterVersion", "7"), delta.ErrInput, "delta.minReaderVersion=3"},
		{"the writers' alone", plain, set("delta.minWriterVersion", "7"), delta.ErrInput, "delta.feature.NAME=supported"},
		{"a name of Delta's in another case", plain, set("DELTA.appendOnly", "true"), delta.ErrInput, `write "delta.appendOnly"`},
		{"a name of Delta's after a space", plain, set(" delta.appendOnly", "true"), delta.ErrInput, `write "delta.appendOnly"`},
		{"no name", plain, set("", "x"), delta.ErrInput, `has the name ""`},
		{"a name of nothing but space", plain, set(" ", "x"), delta.ErrInput, `has the name " "`},
		{"manifests", plain, set("delta.compatibility.symlinkFormatManifest.enabled", "true"), delta.ErrUnsupported, "manifest"},
		{"other formats", plain, set("delta.universalFormat.enabledFormats", "iceberg"), delta.ErrUnsupported, "other formats"},
		{"Iceberg without mapping", plain, set("delta.enableIcebergCompatV2", "true"), delta.ErrInput, "column mapping"},
		{"Iceberg twice", clean, set("delta.enableIcebergCompatV1", "true", "delta.enableIcebergCompatV2", "true"), delta.ErrInput, "both"},
		{"Iceberg with vectors to come", clean, set("delta.enableIcebergCompatV2", "true", "delta.enableDeletionVectors", "true"), delta.ErrInput, "enableDeletionVectors"},
		{"Iceberg with vectors there", vectored, set("delta.enableIcebergCompatV2", "true"), delta.ErrInput, "deletion vector"},
		{"Iceberg 1 with the feature of vectors", clean, set("delta.enableIcebergCompatV1", "true"), delta.ErrInput, "deletionVectors"},
		{"Iceberg 1 with an array", arrays, set("delta.enableIcebergCompatV1", "true"), delta.ErrInput, "column l"},
		{"a change feed beside a column of its name", feed, set("delta.enableChangeDataFeed", "true"), delta.ErrInput, "_change_type"},
		{"row tracking that is suspended", suspended, set("delta.enableRowTracking", "true"), delta.ErrInput, "rowTrackingSuspended"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := c.edit(c.table.snapshot(t))
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// What idem does not write it does not turn on: the error names the feature.
func TestEditsStopAtTheGate(t *testing.T) {
	plain := table{columns: col("a", "integer")}
	for _, name := range []string{"geospatial", "collations", "icebergCompatV3", "redirectReaderWriter-preview"} {
		_, err := plain.snapshot(t).EnableFeature(fresh(), name)
		require.ErrorIs(t, err, delta.ErrUnsupported)
		require.ErrorContains(t, err, name)
	}
	_, err := plain.snapshot(t).EnableFeature(fresh(), "catalogManaged")
	require.ErrorIs(t, err, delta.ErrUnsupported)
	_, err = plain.snapshot(t).EnableFeature(fresh(), "nobody's")
	require.ErrorIs(t, err, delta.ErrUnsupported)
}

func TestEnableFeature(t *testing.T) {
	delta.WriteEverything(t)
	plain := table{columns: col("a", "integer")}
	enable := func(name string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.EnableFeature(fresh(), name) }
	}
	s := edited(t, plain.snapshot(t), enable("clustering"))
	require.Equal(t, writerList(1, "appendOnly", "clustering", "domainMetadata", "invariants"), *s.Protocol(), "with what it needs; sorted")
	require.Equal(t, plain.snapshot(t).Metadata(), s.Metadata())
	s = edited(t, s, enable("typeWidening"))
	require.Equal(t, []string{"typeWidening"}, s.Protocol().ReaderFeatures)
	e, err := s.EnableFeature(fresh(), "typeWidening-preview")
	require.NoError(t, err)
	require.Nil(t, e, "it is there under its final name")

	// Two clients enable one feature at once: the one that comes second looks again and finds it.
	first := edited(t, plain.snapshot(t), enable("deletionVectors"))
	e, err = first.EnableFeature(fresh(), "deletionVectors")
	require.NoError(t, err)
	require.Nil(t, e)

	mapped := mappedTable().snapshot(t)
	s = edited(t, mapped, enable("deletionVectors"))
	require.Equal(t, []string{"columnMapping", "deletionVectors"}, s.Protocol().ReaderFeatures, "[PROT-9] reader version 2 stood for columnMapping")
	require.Equal(t, []string{"appendOnly", "changeDataFeed", "checkConstraints", "columnMapping", "deletionVectors", "generatedColumns", "invariants"}, s.Protocol().WriterFeatures)
}

func TestConstraints(t *testing.T) {
	delta.WriteEverything(t)
	add := func(name, condition string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.AddConstraint(name, condition) }
	}
	drop := func(name string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.DropConstraint(name) }
	}
	plain := table{columns: col("a", "integer")}
	s := edited(t, plain.snapshot(t), add("Pos", "a > 0"))
	require.Equal(t, map[string]string{"pos": "a > 0"}, s.Constraints(), "as Spark keeps them")
	require.Equal(t, versions(1, 3), *s.Protocol())
	e, err := s.AddConstraint("POS", "a > 0")
	require.NoError(t, err)
	require.Nil(t, e)
	_, err = s.AddConstraint("pOS", "a > 1")
	require.ErrorIs(t, err, delta.ErrConflict)
	s = edited(t, s, drop("POS"))
	require.Empty(t, s.Constraints())
	for _, c := range [][2]string{{"", "a > 0"}, {"c", " "}} {
		_, err := s.AddConstraint(c[0], c[1])
		require.ErrorIs(t, err, delta.ErrInput)
	}
	t.Run("one that another engine spells in upper case", func(t *testing.T) {
		other := table{columns: col("a", "integer"), protocol: versions(1, 3), conf: map[string]string{"delta.constraints.Pos": "a > 0"}}
		e, err := other.snapshot(t).AddConstraint("pos", "a > 0")
		require.NoError(t, err)
		require.Nil(t, e)
		require.Empty(t, edited(t, other.snapshot(t), drop("pos")).Constraints())
	})
	t.Run("one without effect gets one", func(t *testing.T) {
		inert := table{columns: col("a", "integer"), conf: map[string]string{"delta.constraints.pos": "a > 0"}}
		require.Equal(t, versions(1, 3), *edited(t, inert.snapshot(t), add("pos", "a > 0")).Protocol())
	})
}

func TestClusterBy(t *testing.T) {
	delta.WriteEverything(t)
	by := func(columns ...[]string) func(*delta.Snapshot) (*delta.Edit, error) {
		return func(s *delta.Snapshot) (*delta.Edit, error) { return s.ClusterBy(columns...) }
	}
	clustering := func(s *delta.Snapshot) string {
		for d := range s.Domains() {
			if d.Domain == "delta.clustering" {
				return d.Configuration
			}
		}
		return ""
	}
	s := edited(t, mappedTable().snapshot(t), by([]string{"A"}, []string{"s", "x"}))
	require.Equal(t, `{"clusteringColumns":[["p1"],["p2","p3"]],"domainName":"delta.clustering"}`, clustering(s), "physical names, as Spark writes them")
	require.True(t, s.Protocol().Supports("clustering") && s.Protocol().Supports("domainMetadata"))
	s = edited(t, s, by())
	require.Equal(t, `{"clusteringColumns":[],"domainName":"delta.clustering"}`, clustering(s), "CLUSTER BY NONE")
	e, err := mappedTable().snapshot(t).ClusterBy()
	require.NoError(t, err)
	require.Nil(t, e)

	partitioned := mappedTable()
	partitioned.partition = []string{"a"}
	for why, c := range map[string]struct {
		table   table
		columns [][]string
	}{
		"a partitioned table": {partitioned, [][]string{{"d"}}},
		"no such column":      {mappedTable(), [][]string{{"zz"}}},
		"twice":               {mappedTable(), [][]string{{"a"}, {"A"}}},
		"a struct":            {mappedTable(), [][]string{{"s"}}},
		"in an array":         {mappedTable(), [][]string{{"l", "element", "e"}}},
		"no name":             {mappedTable(), [][]string{{}}},
	} {
		t.Run(why, func(t *testing.T) {
			_, err := c.table.snapshot(t).ClusterBy(c.columns...)
			require.ErrorIs(t, err, delta.ErrInput)
		})
	}
}
