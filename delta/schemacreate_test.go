package delta_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
)

// created is the table that a spec makes.
func created(t require.TestingT, c delta.CreateSpec) *delta.Snapshot {
	e, err := c.Build(fresh())
	require.NoError(t, err)
	r := delta.NewReplay("mem://t/")
	require.NoError(t, r.Commit(0, e.Actions()))
	snap, err := r.Snapshot(0)
	require.NoError(t, err)
	return snap
}

// What Delta 4.2 makes of the same definitions: metadata keys and values, protocol, domain.
func TestCreate(t *testing.T) {
	delta.WriteEverything(t)
	s := schemaOf(field("id", delta.Long), field("a", delta.Integer), field("b", delta.Integer), field("c", delta.String), field("s", schemaOf(field("x", delta.Integer))))
	for _, c := range []struct {
		why      string
		spec     delta.CreateSpec
		protocol delta.Protocol
		conf     map[string]string
		columns  string
		domain   string
	}{
		{why: "plain", spec: delta.CreateSpec{Schema: s, PartitionBy: []string{"B"}}, protocol: versions(1, 2), conf: map[string]string{}},
		{why: "rules of columns", protocol: versions(1, 6), conf: map[string]string{}, spec: delta.CreateSpec{Schema: s, Rules: []delta.ColumnRule{
			{Path: []string{"ID"}, Identity: &delta.Identity{Start: 5, Step: 2}, Comment: "number"}, {Path: []string{"b"}, Generated: "a + 1"},
			{Path: []string{"c"}, Declared: "char(4)"}, {Path: []string{"s", "x"}, Comment: "deep"}}},
			columns: `{"name":"id","type":"long","nullable":true,"metadata":{"comment":"number","delta.identity.allowExplicitInsert":false,"delta.identity.start":5,"delta.identity.step":2}},` +
				col("a", "integer") + "," + col("b", "integer", `"delta.generationExpression":"a + 1"`) + "," + col("c", "string", `"__CHAR_VARCHAR_TYPE_STRING":"char(4)"`) + "," +
				col("s", structType(col("x", "integer", `"comment":"deep"`)))},
		{why: "a default", spec: delta.CreateSpec{Schema: s, Rules: []delta.ColumnRule{{Path: []string{"c"}, Default: "'q'"}}},
			protocol: writerList(1, "appendOnly", "invariants", "allowColumnDefaults"), conf: map[string]string{}},
		{why: "constraints", spec: delta.CreateSpec{Schema: s, Constraints: map[string]string{"Pos": "a > 0"}}, protocol: versions(1, 3), conf: map[string]string{"delta.constraints.pos": "a > 0"}},
		{why: "mapping by id and clusters, in physical names", spec: delta.CreateSpec{Schema: schemaOf(field("a b", delta.Integer), field("s", schemaOf(field("x", delta.Integer)))),
			ClusterBy: [][]string{{"a b"}, {"s", "x"}}, Properties: map[string]string{"delta.columnMapping.mode": "id"}},
			protocol: writerList(2, "appendOnly", "invariants", "columnMapping", "clustering", "domainMetadata"),
			conf:     map[string]string{"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "3"},
			columns:  col("a b", "integer", mappedAs(1, "col-id1")) + "," + col("s", structType(col("x", "integer", mappedAs(3, "col-id3"))), mappedAs(2, "col-id2")),
			domain:   `{"clusteringColumns":[["col-id1"],["col-id2","col-id3"]],"domainName":"delta.clustering"}`},
		{why: "timestamps of commits from the first on: nothing to note", spec: delta.CreateSpec{Schema: s, Properties: map[string]string{"delta.enableInCommitTimestamps": "true"}},
			protocol: writerList(1, "appendOnly", "invariants", "inCommitTimestamp"), conf: map[string]string{"delta.enableInCommitTimestamps": "true"}},
		{why: "row tracking", spec: delta.CreateSpec{Schema: s, Properties: map[string]string{"delta.enableRowTracking": "true"}}, protocol: writerList(1, "appendOnly", "invariants", "rowTracking", "domainMetadata"),
			conf: map[string]string{"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-id1", "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-id2"}},
		{why: "Iceberg brings mapping by name, and ids of elements", spec: delta.CreateSpec{Schema: schemaOf(field("l", &delta.Array{Element: delta.Long, ContainsNull: true})),
			Properties: map[string]string{"delta.enableIcebergCompatV2": "true"}}, protocol: writerList(2, "appendOnly", "invariants", "columnMapping", "icebergCompatV2"),
			conf:    map[string]string{"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
			columns: col("l", arrayType("long"), mappedAs(1, "col-id1", `"delta.columnMapping.nested.ids":{"col-id1.element":2}`))},
		{why: "features and versions that are asked for", spec: delta.CreateSpec{Schema: s, Properties: map[string]string{"delta.feature.deletionVectors": "supported", "delta.minWriterVersion": "3"}},
			protocol: both([]string{"deletionVectors"}, "appendOnly", "invariants", "checkConstraints"), conf: map[string]string{}},
		{why: "ids that a schema brings along are another table's", spec: delta.CreateSpec{Schema: schemaOf(delta.Field{Name: "a", Type: delta.Long, Nullable: true,
			Metadata: map[string]json.RawMessage{"delta.columnMapping.id": json.RawMessage("9"), "delta.columnMapping.physicalName": json.RawMessage(`"p"`)}})},
			protocol: versions(1, 2), conf: map[string]string{}, columns: col("a", "long")},
	} {
		t.Run(c.why, func(t *testing.T) {
			snap := created(t, c.spec)
			got := snap.Protocol()
			require.Equal(t, c.protocol.MinReaderVersion, got.MinReaderVersion)
			require.Equal(t, c.protocol.MinWriterVersion, got.MinWriterVersion)
			require.ElementsMatch(t, c.protocol.WriterFeatures, got.WriterFeatures)
			require.ElementsMatch(t, c.protocol.ReaderFeatures, got.ReaderFeatures)
			require.Equal(t, c.conf, snap.Metadata().Configuration)
			require.Equal(t, "id0", snap.Metadata().ID)
			require.NoError(t, delta.GateWrite(got, snap.Metadata(), snap.Schema()))
			if c.columns != "" {
				require.JSONEq(t, `{"type":"struct","fields":[`+c.columns+`]}`, snap.Metadata().SchemaString)
			}
			for d := range snap.Domains() {
				require.Equal(t, c.domain, d.Configuration)
				c.domain = ""
			}
			require.Empty(t, c.domain)
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	delta.WriteEverything(t)
	s := schemaOf(field("id", delta.Long), field("a", delta.Integer), field("b", delta.Integer), field("c", delta.String), field("s", schemaOf(field("x", delta.Integer))))
	mark := int64(1)
	rules := func(rules ...delta.ColumnRule) delta.CreateSpec { return delta.CreateSpec{Schema: s, Rules: rules} }
	for _, c := range []struct {
		why  string
		spec delta.CreateSpec
		want error
		says string
	}{
		{"no schema", delta.CreateSpec{}, delta.ErrInput, "needs a schema"},
		{"no columns", delta.CreateSpec{Schema: schemaOf()}, delta.ErrInput, "no columns"},
		{"a rule for no column", rules(delta.ColumnRule{Path: []string{"z"}}), delta.ErrInput, "no column z"},
		{"a default of a field", rules(delta.ColumnRule{Path: []string{"s", "x"}, Default: "1"}), delta.ErrInput, "no other rule"},
		{"generated and with a default", rules(delta.ColumnRule{Path: []string{"a"}, Default: "1", Generated: "b"}), delta.ErrInput, "one of the three"},
		{"generated from a generated column", rules(delta.ColumnRule{Path: []string{"a"}, Generated: "b"}, delta.ColumnRule{Path: []string{"b"}, Generated: "id"}), delta.ErrInput, "made as well"},
		{"generated from an identity column", rules(delta.ColumnRule{Path: []string{"a"}, Generated: "id"}, delta.ColumnRule{Path: []string{"id"}, Identity: &delta.Identity{Step: 1}}), delta.ErrInput, "made as well"},
		{"generated from itself", rules(delta.ColumnRule{Path: []string{"a"}, Generated: "a + 1"}), delta.ErrInput, "made as well"},
		{"an integer as identity", rules(delta.ColumnRule{Path: []string{"a"}, Identity: &delta.Identity{Step: 1}}), delta.ErrInput, "is a long"},
		{"no step", rules(delta.ColumnRule{Path: []string{"id"}, Identity: &delta.Identity{}}), delta.ErrInput, "not 0"},
		{"a mark", rules(delta.ColumnRule{Path: []string{"id"}, Identity: &delta.Identity{Step: 1, Mark: &mark}}), delta.ErrInput, "Mark"},
		{"lengths of a number", rules(delta.ColumnRule{Path: []string{"a"}, Declared: "char(3)"}), delta.ErrInput, "char(3)"},
		{"a constraint twice", delta.CreateSpec{Schema: s, Constraints: map[string]string{"c": "1=1", "C": "1=1"}}, delta.ErrInput, "twice"},
		{"partitions and clusters", delta.CreateSpec{Schema: s, PartitionBy: []string{"a"}, ClusterBy: [][]string{{"b"}}}, delta.ErrInput, "partitioned"},
		{"a space without mapping", delta.CreateSpec{Schema: schemaOf(field("a b", delta.Long))}, delta.ErrInput, "column mapping"},
		{"a misspelt property", delta.CreateSpec{Schema: s, Properties: map[string]string{"delta.appendonly": "true"}}, delta.ErrInput, "spelled exactly"},
		{"a catalog's table", delta.CreateSpec{Schema: s, Properties: map[string]string{"delta.feature.catalogManaged": "supported"}}, delta.ErrUnsupported, "catalog"},
		{"an unknown mode of mapping", delta.CreateSpec{Schema: s, Properties: map[string]string{"delta.columnMapping.mode": "odd"}}, delta.ErrInput, "odd"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := c.spec.Build(fresh())
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := delta.CreateSpec{Schema: s}.Build(delta.Fresh{})
	require.ErrorIs(t, err, delta.ErrInput)
}

// Whatever table: an edit and its opposite leave the schema that there was, but for ids and physical
// names, and no id is ever given twice.
func TestEditsAndTheirOpposites(t *testing.T) {
	delta.WriteEverything(t)
	rapid.Check(t, func(t *rapid.T) {
		s := created(t, delta.CreateSpec{Schema: &delta.Struct{Fields: drawFields(t, 2)}, Properties: map[string]string{"delta.columnMapping.mode": "name"}})
		before := s.Schema().String()
		given := map[string]bool{}
		note := func() {
			ids := map[string]bool{}
			collectIDs(s.Schema(), ids)
			for id := range ids {
				given[id] = true
			}
		}
		note()
		name := s.Schema().Fields[rapid.IntRange(0, len(s.Schema().Fields)-1).Draw(t, "column")].Name
		do := func(edit func(*delta.Snapshot) (*delta.Edit, error)) { s = carryOut(t, s, mustEdit(t, s, edit)) }
		switch rapid.IntRange(0, 3).Draw(t, "edit") {
		case 0:
			add := delta.NewColumn{Path: []string{"new"}, Type: drawNested(t, 2), Place: delta.Place{First: rapid.Bool().Draw(t, "first")}}
			for range 2 {
				seen := len(given)
				do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.AddColumns(fresh(), add) })
				ids := map[string]bool{}
				collectIDs(s.Schema().Fields[s.Schema().Index("new")].Type, ids)
				note()
				require.Equal(t, seen+len(ids)+1, len(given), "new ids for a new column and all below it")
				do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.DropColumn([]string{"new"}) })
			}
		case 1:
			do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.RenameColumn([]string{name}, "other name") })
			do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.RenameColumn([]string{"OTHER name"}, name) })
		case 2:
			i := s.Schema().Index(name)
			back := delta.Place{First: i == 0}
			if i > 0 {
				back.After = s.Schema().Fields[i-1].Name
			}
			do(func(s *delta.Snapshot) (*delta.Edit, error) {
				return s.MoveColumn([]string{name}, delta.Place{First: i > 0})
			})
			do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.MoveColumn([]string{name}, back) })
		case 3:
			do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetComment([]string{name}, "x") })
			do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetDefault([]string{name}, "NULL") })
			do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.DropDefault([]string{name}) })
			do(func(s *delta.Snapshot) (*delta.Edit, error) { return s.SetComment([]string{name}, "") })
		}
		require.Equal(t, before, s.Schema().String())
	})
}

func mustEdit(t require.TestingT, s *delta.Snapshot, edit func(*delta.Snapshot) (*delta.Edit, error)) *delta.Edit {
	e, err := edit(s)
	require.NoError(t, err)
	return e
}

// collectIDs gathers the ids of a type and all below it.
func collectIDs(t delta.Type, ids map[string]bool) {
	switch t := t.(type) {
	case *delta.Struct:
		for _, f := range t.Fields {
			ids[string(f.Metadata["delta.columnMapping.id"])] = true
			collectIDs(f.Type, ids)
		}
	case *delta.Array:
		collectIDs(t.Element, ids)
	case *delta.Map:
		collectIDs(t.Key, ids)
		collectIDs(t.Value, ids)
	}
}
