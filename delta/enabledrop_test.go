package delta_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
)

// dropAll carries a drop out as a caller does: First, then what it needs (which see does to the
// table's files), then Last, each time asking anew. It returns what was done on the way.
func dropAll(t *testing.T, s *delta.Snapshot, r delta.DropRequest, see func(*delta.Snapshot, delta.Need) *delta.Snapshot) (*delta.Snapshot, []string) {
	var did []string
	for range 6 {
		d, err := s.DropFeature(r)
		require.NoError(t, err)
		if d == nil {
			return s, did
		}
		switch {
		case d.First != nil:
			require.Nil(t, d.Last, "one step at a time")
			did, s = append(did, "first"), carryOut(t, s, d.First)
		case len(d.Needs) > 0:
			require.Nil(t, d.Last)
			did = append(did, string(d.Needs[0]))
			s, r.Met = see(s, d.Needs[0]), append(r.Met, d.Needs[0])
		default:
			did = append(did, "last", string(d.History))
			r.Version = s.Version() + 1
			d, err = s.DropFeature(r)
			require.NoError(t, err)
			s = carryOut(t, s, d.Last)
			require.False(t, s.Protocol().Supports(r.Feature))
		}
	}
	t.Fatal("no end")
	return nil, nil
}

// replaced is the table with other files.
func replaced(t *testing.T, s *delta.Snapshot, files ...*delta.Add) *delta.Snapshot {
	var actions []delta.Action
	for f := range s.Files() {
		actions = append(actions, delta.Action{Remove: &delta.Remove{Path: f.Path, DeletionVector: f.DeletionVector}})
	}
	for _, f := range files {
		actions = append(actions, delta.Action{Add: f})
	}
	next, err := s.Advance(s.Version()+1, actions)
	require.NoError(t, err)
	return next
}

// What Delta 4.2 leaves: no property of the feature, the lowest protocol that says the rest, and
// checkpointProtection with the version of the drop for a feature that readers had to know. Features of
// writers leave at once.
func TestDropFeature(t *testing.T) {
	delta.WriteEverything(t)
	vector := live("a", -1)
	vector.DeletionVector = &delta.DeletionVector{StorageType: "i", PathOrInlineDV: "x", SizeInBytes: 1, Cardinality: 1}
	protected := func(names ...string) delta.Protocol {
		return writerList(1, append(names, "checkpointProtection")...)
	}
	for _, c := range []struct {
		why      string
		table    table
		request  delta.DropRequest
		files    []*delta.Add // that the table has instead when a need was seen to
		did      []string
		protocol delta.Protocol
		conf     map[string]string
		schema   string
	}{
		{why: "vectors", request: delta.DropRequest{Feature: "deletionVectors"},
			table: table{columns: col("a", "integer"), protocol: both([]string{"deletionVectors"}, "appendOnly", "invariants"), conf: map[string]string{"delta.enableDeletionVectors": "true", "owner": "x"}, files: []*delta.Add{vector}},
			files: []*delta.Add{live("b", -1)}, did: []string{"first", "no vectors", "last", "checkpoint"},
			protocol: protected("appendOnly", "invariants"), conf: map[string]string{"owner": "x", "delta.requireCheckpointProtectionBeforeVersion": "3"}},
		{why: "vectors, with the history", request: delta.DropRequest{Feature: "deletionVectors", TruncateHistory: true},
			table: table{columns: col("a", "integer"), protocol: both([]string{"deletionVectors"}, "appendOnly", "invariants")}, did: []string{"last", "truncated"}, protocol: versions(1, 2)},
		{why: "a protection that is there goes up", request: delta.DropRequest{Feature: "vacuumProtocolCheck"},
			table: table{columns: col("a", "integer"), protocol: both([]string{"vacuumProtocolCheck"}, "checkpointProtection"), conf: map[string]string{"delta.requireCheckpointProtectionBeforeVersion": "7"}},
			did:   []string{"last", "checkpoint"}, protocol: protected(), conf: map[string]string{"delta.requireCheckpointProtectionBeforeVersion": "7"}},
		{why: "mapping by the names that columns have", request: delta.DropRequest{Feature: "columnMapping"},
			table: table{columns: col("a", "integer", mappedAs(1, "a", `"comment":"x"`)), protocol: mappingProtocol, files: []*delta.Add{live("a", -1)},
				conf: map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}},
			did: []string{"first", "last", "checkpoint"}, protocol: protected("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"),
			conf: map[string]string{"delta.requireCheckpointProtectionBeforeVersion": "2"}, schema: `{"type":"struct","fields":[` + col("a", "integer", `"comment":"x"`) + `]}`},
		{why: "changes of type", request: delta.DropRequest{Feature: "typeWidening", TruncateHistory: true}, files: []*delta.Add{live("b", -1)},
			table: table{columns: col("a", "long", `"delta.typeChanges":[{"fromType":"integer","toType":"long"}]`), protocol: both([]string{"typeWidening"}), files: []*delta.Add{live("a", -1)},
				conf: map[string]string{"delta.enableTypeWidening": "true"}},
			did: []string{"first", "present types", "last", "truncated"}, protocol: versions(1, 1), schema: `{"type":"struct","fields":[` + col("a", "long") + `]}`},
		{why: "row tracking", request: delta.DropRequest{Feature: "rowTracking"}, files: []*delta.Add{live("b", -1)},
			table: table{columns: col("a", "long"), protocol: writerList(1, "rowTracking", "domainMetadata"), files: []*delta.Add{live("a", 0)},
				conf:    map[string]string{"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_r", "delta.rowTracking.materializedRowCommitVersionColumnName": "_v"},
				domains: []delta.DomainMetadata{{Domain: "delta.rowTracking", Configuration: `{"rowIdHighWaterMark":1}`}, {Domain: "mine", Configuration: "{}"}}},
			did: []string{"first", "no row ids", "last", ""}, protocol: writerList(1, "domainMetadata"), conf: map[string]string{}},
		{why: "domains", request: delta.DropRequest{Feature: "domainMetadata"},
			table: table{columns: col("a", "long"), protocol: writerList(1, "appendOnly", "invariants", "domainMetadata"), domains: []delta.DomainMetadata{{Domain: "mine", Configuration: "{}"}}},
			did:   []string{"first", "last", ""}, protocol: versions(1, 2)},
		{why: "timestamps of commits", request: delta.DropRequest{Feature: "inCommitTimestamp"},
			table: table{columns: col("a", "long"), protocol: writerList(1, "inCommitTimestamp"), conf: map[string]string{"delta.enableInCommitTimestamps": "true",
				"delta.inCommitTimestampEnablementVersion": "3", "delta.inCommitTimestampEnablementTimestamp": "4"}},
			did: []string{"first", "last", ""}, protocol: versions(1, 1), conf: map[string]string{}},
		{why: "checkpoints", request: delta.DropRequest{Feature: "v2Checkpoint"}, table: table{columns: col("a", "long"), protocol: both([]string{"v2Checkpoint"}), conf: map[string]string{"delta.checkpointPolicy": "v2"}},
			did: []string{"first", "last", "checkpoint"}, protocol: protected(), conf: map[string]string{"delta.checkpointPolicy": "classic", "delta.requireCheckpointProtectionBeforeVersion": "2"}},
		{why: "constraints, implied by a version", request: delta.DropRequest{Feature: "checkConstraints"}, table: table{columns: col("a", "long"), protocol: versions(1, 3)},
			did: []string{"last", ""}, protocol: versions(1, 2)},
		{why: "constraints, from the middle of what a version implies", request: delta.DropRequest{Feature: "checkConstraints"}, table: table{columns: col("a", "long"), protocol: versions(1, 4)},
			did: []string{"last", ""}, protocol: writerList(1, "appendOnly", "changeDataFeed", "generatedColumns", "invariants")},
		{why: "protection, when what it protected is gone", request: delta.DropRequest{Feature: "checkpointProtection", TruncateHistory: true, Oldest: 7},
			table: table{columns: col("a", "long"), protocol: writerList(1, "checkpointProtection"), conf: map[string]string{"delta.requireCheckpointProtectionBeforeVersion": "7"}},
			did:   []string{"last", "truncated"}, protocol: versions(1, 1), conf: map[string]string{}},
	} {
		t.Run(c.why, func(t *testing.T) {
			s, did := dropAll(t, c.table.snapshot(t), c.request, func(s *delta.Snapshot, _ delta.Need) *delta.Snapshot { return replaced(t, s, c.files...) })
			require.Equal(t, c.did, did)
			require.Equal(t, c.protocol.MinReaderVersion, s.Protocol().MinReaderVersion)
			require.Equal(t, c.protocol.MinWriterVersion, s.Protocol().MinWriterVersion)
			require.ElementsMatch(t, c.protocol.WriterFeatures, s.Protocol().WriterFeatures)
			require.Empty(t, s.Protocol().ReaderFeatures)
			if c.conf != nil {
				require.Equal(t, c.conf, s.Metadata().Configuration)
			}
			if c.schema != "" {
				require.Equal(t, c.schema, s.Metadata().SchemaString)
			}
			for d := range s.Domains() {
				require.Equal(t, "mine", d.Domain)
			}
		})
	}
}

// While files lose their row ids, no commit may give new ones.
func TestDropOfRowTrackingSuspendsIt(t *testing.T) {
	delta.WriteEverything(t)
	g := table{columns: col("a", "long"), protocol: writerList(1, "rowTracking", "domainMetadata"), files: []*delta.Add{live("a", 0)}}
	d, err := g.snapshot(t).DropFeature(delta.DropRequest{Feature: "rowTracking"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"delta.rowTrackingSuspended": "true"}, d.First.Metadata.Configuration)
	require.Equal(t, []delta.Need{delta.NeedNoRowIDs}, d.Needs)
}

func TestDropOfMappingThatNeedsFilesRewritten(t *testing.T) {
	delta.WriteEverything(t)
	g := mappedTable()
	g.files = []*delta.Add{live("a", -1)}
	d, err := g.snapshot(t).DropFeature(delta.DropRequest{Feature: "columnMapping"})
	require.NoError(t, err)
	require.True(t, d.First.Rewrite, "the files have other names")
	require.Nil(t, d.Last)
	require.Equal(t, "{a:integer s:{x:integer y:string} l:[{e:integer}] d:date}", shape(carryOut(t, g.snapshot(t), d.First).Schema()))

	dropped := table{columns: col("a", "integer", mappedAs(1, "a")), protocol: mappingProtocol, files: g.files,
		conf: map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}}
	d, err = dropped.snapshot(t).DropFeature(delta.DropRequest{Feature: "columnMapping"})
	require.NoError(t, err)
	require.True(t, d.First.Rewrite, "the files may have a column that was dropped, which a new one of its name would show again")

	dropped.conf["delta.enableChangeDataFeed"] = "true"
	_, err = dropped.snapshot(t).DropFeature(delta.DropRequest{Feature: "columnMapping"})
	require.ErrorIs(t, err, delta.ErrInput)
}

func TestDropFeatureRefuses(t *testing.T) {
	delta.WriteEverything(t)
	odd := mappedTable()
	odd.columns = col("a b", "integer", mappedAs(1, "p1"))
	compat := mappedTable()
	compat.protocol = writerList(2, "columnMapping", "icebergCompatV2")
	appendOnly := mappedTable()
	appendOnly.conf = maps.Clone(appendOnly.conf)
	appendOnly.conf["delta.appendOnly"] = "true"
	for _, c := range []struct {
		why     string
		table   table
		request delta.DropRequest
		want    error
		says    string
	}{
		{"unknown", mappedTable(), delta.DropRequest{Feature: "foo"}, delta.ErrUnsupported, "does not know"},
		{"DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE", appendOnly, delta.DropRequest{Feature: "appendOnly"}, delta.ErrInput, "set delta.appendOnly to false"},
		{"one that is not in use", mappedTable(), delta.DropRequest{Feature: "appendOnly"}, delta.ErrInput, "delta.appendOnly is not true"},
		{"one of columns that are not there", mappedTable(), delta.DropRequest{Feature: "generatedColumns"}, delta.ErrInput, "makes no use of it"},
		{"one that nothing ends", table{columns: col("a", "timestamp_ntz"), protocol: both([]string{"timestampNtz"})}, delta.DropRequest{Feature: "timestampNtz"}, delta.ErrInput, "write them to a new table"},
		{"DELTA_FEATURE_DROP_DEPENDENT_FEATURE", compat, delta.DropRequest{Feature: "columnMapping"}, delta.ErrInput, "icebergCompatV2"},
		{"DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE", table{columns: col("a", "long"), protocol: versions(1, 3), conf: map[string]string{"delta.constraints.c": "a > 0"}},
			delta.DropRequest{Feature: "checkConstraints"}, delta.ErrInput, "constraints c"},
		{"names that files cannot have", odd, delta.DropRequest{Feature: "columnMapping"}, delta.ErrInput, `"a b"`},
		{"protection alone", table{columns: col("a", "long"), protocol: writerList(1, "checkpointProtection")}, delta.DropRequest{Feature: "checkpointProtection"}, delta.ErrInput, "truncated"},
		{"protection that is needed", table{columns: col("a", "long"), protocol: writerList(1, "checkpointProtection"), conf: map[string]string{"delta.requireCheckpointProtectionBeforeVersion": "7"}},
			delta.DropRequest{Feature: "checkpointProtection", TruncateHistory: true, Oldest: 6}, delta.ErrInput, "version 6"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := c.table.snapshot(t).DropFeature(c.request)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
	d, err := mappedTable().snapshot(t).DropFeature(delta.DropRequest{Feature: "rowTracking"})
	require.NoError(t, err)
	require.Nil(t, d, "it is not there")
}

// Whatever features a table has: one that comes and goes leaves the others, and its own protocol.
func TestFeaturesComeAndGo(t *testing.T) {
	delta.WriteEverything(t)
	names := []string{"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping", "identityColumns", "deletionVectors", "timestampNtz",
		"v2Checkpoint", "typeWidening", "variantType", "vacuumProtocolCheck", "domainMetadata", "rowTracking", "clustering", "inCommitTimestamp", "allowColumnDefaults", "icebergCompatV1", "icebergCompatV2"}
	removable := []string{"checkConstraints", "columnMapping", "deletionVectors", "v2Checkpoint", "typeWidening", "vacuumProtocolCheck", "domainMetadata", "rowTracking", "inCommitTimestamp"}
	rapid.Check(t, func(t *rapid.T) {
		g := table{columns: col("a", "integer"), protocol: versions(rapid.IntRange(1, 2).Draw(t, "reader"), rapid.IntRange(1, 6).Draw(t, "writer"))}
		if g.protocol.MinWriterVersion < 5 {
			g.protocol.MinReaderVersion = 1
		}
		s := g.snapshot(t)
		has := map[string]bool{}
		for _, n := range s.Protocol().Features() {
			has[n] = true
		}
		needs := map[string][]string{"rowTracking": {"domainMetadata"}, "clustering": {"domainMetadata"}, "icebergCompatV1": {"columnMapping"}, "icebergCompatV2": {"columnMapping"}}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "enable") {
				n := rapid.SampledFrom(names).Draw(t, "name")
				e, err := s.EnableFeature(fresh(), n)
				require.NoError(t, err)
				require.Equal(t, has[n], e == nil)
				s = carryOut(t, s, e)
				for _, n := range append(needs[n], n) {
					has[n] = true
				}
			} else {
				n := rapid.SampledFrom(removable).Draw(t, "name")
				d, err := s.DropFeature(delta.DropRequest{Feature: n, TruncateHistory: true})
				if n == "domainMetadata" && (has["rowTracking"] || has["clustering"]) || n == "columnMapping" && (has["icebergCompatV1"] || has["icebergCompatV2"]) {
					if has[n] {
						require.ErrorIs(t, err, delta.ErrInput)
						continue
					}
				}
				require.NoError(t, err)
				if require.Equal(t, has[n], d != nil); d != nil {
					require.Nil(t, d.First)
					s = carryOut(t, s, d.Last)
					delete(has, n)
				}
			}
			now := map[string]bool{}
			for _, n := range s.Protocol().Features() {
				now[n] = true
			}
			for n := range has {
				require.True(t, now[n], n)
			}
			for n := range now {
				require.True(t, has[n] || s.Protocol().MinWriterVersion < 7, "a version may stand for more than was asked for, a list is exact: %s", n)
			}
			has = now
			p := *s.Protocol()
			require.NoError(t, delta.GateRead(&p, s.Metadata(), s.Schema()), "[PROT-4] the lists go together")
		}
	})
}
