package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
)

// oneColumn is a schema of one column c with field metadata, and its text.
func oneColumn(t *testing.T, typ, fieldMetadata string) (*delta.Struct, string) {
	t.Helper()
	text := `{"type":"struct","fields":[{"name":"c","type":` + typ + `,"nullable":true,"metadata":` + fieldMetadata + `}]}`
	s, err := delta.ParseSchema(text)
	require.NoError(t, err)
	return s, text
}

func versions(reader, writer int) delta.Protocol {
	return delta.Protocol{MinReaderVersion: reader, MinWriterVersion: writer}
}

// both is a protocol (3,7) with reader features in both lists and writer features in one.
func both(readers []string, writers ...string) delta.Protocol {
	if readers == nil {
		readers = []string{}
	}
	p := versions(3, 7)
	p.ReaderFeatures = readers
	p.WriterFeatures = append(append([]string{}, readers...), writers...)
	return p
}

func writerList(reader int, names ...string) delta.Protocol {
	p := versions(reader, 7)
	p.WriterFeatures = append([]string{}, names...)
	return p
}

type verdict int

const (
	allow verdict = iota
	unsupported
	corrupt
)

func check(t *testing.T, want verdict, err error, says string) {
	t.Helper()
	switch want {
	case allow:
		require.NoError(t, err)
	case unsupported:
		require.ErrorIs(t, err, delta.ErrUnsupported)
		require.NotErrorIs(t, err, delta.ErrCorrupt)
		require.ErrorContains(t, err, says)
	case corrupt:
		require.ErrorIs(t, err, delta.ErrCorrupt)
		require.NotErrorIs(t, err, delta.ErrUnsupported)
	}
}

func TestGates(t *testing.T) {
	type props = map[string]string
	mapped := `{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"p"}`
	nested := `{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{"delta.generationExpression":"1"}}]},"containsNull":true}`
	lists := versions(3, 7)
	lists.WriterFeatures = []string{}
	misplaced := versions(1, 7)
	misplaced.WriterFeatures = []string{"v2Checkpoint"}
	low := versions(2, 7)
	low.ReaderFeatures, low.WriterFeatures = []string{"columnMapping"}, []string{"columnMapping"}
	early := versions(1, 2)
	early.WriterFeatures = []string{"appendOnly"}
	onlyReader := both([]string{"deletionVectors"})
	onlyReader.WriterFeatures = []string{}
	writersName := both(nil, "appendOnly")
	writersName.ReaderFeatures = []string{"appendOnly"}
	empty := versions(1, 2)
	empty.ReaderFeatures, empty.WriterFeatures = []string{}, []string{}
	future := both([]string{})
	future.MinWriterVersion = 8

	for _, c := range []struct {
		why         string
		protocol    delta.Protocol
		typ, field  string
		properties  props
		read, write verdict
		says        string
	}{
		{why: "the default", protocol: versions(1, 2)},
		{why: "the oldest", protocol: versions(1, 1)},
		{why: "below 1", protocol: versions(0, 2), read: corrupt, write: corrupt},
		{why: "writer below 1", protocol: versions(1, 0), read: corrupt, write: corrupt},
		{why: "a reader version to come", protocol: versions(4, 7), read: unsupported, write: unsupported, says: "reader version 4"},
		{why: "a writer version to come does not stop a reader", protocol: versions(1, 8), write: unsupported, says: "writer version 8"},
		{why: "nor with lists", protocol: future, write: unsupported, says: "writer version 8"},

		{why: "no lists at (3,7)", protocol: versions(3, 7), read: corrupt, write: corrupt},
		{why: "no readers' list", protocol: lists, read: corrupt, write: corrupt},
		{why: "no writers' list", protocol: versions(1, 7), read: corrupt, write: corrupt},
		{why: "reader 3 needs writer 7", protocol: versions(3, 6), read: corrupt, write: corrupt},
		{why: "a readers' list below 3", protocol: low, read: corrupt, write: corrupt},
		{why: "a writers' list below 7", protocol: early, read: corrupt, write: corrupt},
		{why: "empty lists say nothing", protocol: empty},
		{why: "a reader's feature in one list", protocol: onlyReader, read: corrupt, write: corrupt},
		{why: "a reader's feature below reader 3", protocol: misplaced, read: corrupt, write: corrupt},
		{why: "a writer's feature among the readers'", protocol: writersName, read: corrupt, write: corrupt},

		{why: "unknown to readers", protocol: both([]string{"foo"}), read: unsupported, write: unsupported, says: "foo"},
		{why: "unknown to writers only", protocol: writerList(1, "foo"), write: unsupported, says: "foo"},
		{why: "vectors", protocol: both([]string{"deletionVectors"})},
		{why: "two that readers lack", protocol: both([]string{"foo", "bar"}), read: unsupported, write: unsupported, says: "bar, foo"},
		{why: "a name to acknowledge", protocol: both([]string{"vacuumProtocolCheck"})},
		{why: "timestampNtz", protocol: both([]string{"timestampNtz"}, "appendOnly"), typ: `"timestamp_ntz"`},
		{why: "timestamp_ntz without the feature", protocol: versions(1, 2), typ: `"timestamp_ntz"`, write: unsupported, says: "timestampNtz"},
		{why: "variant", protocol: both([]string{"variantType"}), typ: `"variant"`},
		{why: "variant under its preview's name, shredded", protocol: both([]string{"variantType-preview", "variantShredding-preview"}), typ: `"variant"`},
		{why: "types widened", protocol: both([]string{"typeWidening"}), field: `{"delta.typeChanges":[{"fromType":"integer","toType":"long"}]}`},
		{why: "variant without the feature", protocol: versions(1, 2), typ: `"variant"`, read: unsupported, write: unsupported, says: "variantType"},
		{why: "void reads as NULL", protocol: versions(1, 2), typ: `"void"`, write: unsupported, says: "void"},

		{why: "a catalog's table", protocol: both([]string{"catalogManaged"}, "inCommitTimestamp"), read: unsupported, write: unsupported, says: "a catalog owns this table"},
		{why: "a catalog's table, and whose", protocol: both([]string{"catalogManaged"}, "inCommitTimestamp"), properties: props{"io.unitycatalog.tableId": "t-1"},
			read: unsupported, write: unsupported, says: `in Unity Catalog the table "t-1"`},
		{why: "under its old name", protocol: both([]string{"catalogOwned-preview"}), read: unsupported, write: unsupported, says: "a catalog owns this table"},

		{why: "mapping by version", protocol: versions(2, 5), field: mapped, properties: props{"delta.columnMapping.mode": "NAME"}},
		{why: "mapping without ids", protocol: versions(2, 5), properties: props{"delta.columnMapping.mode": "name"}, read: corrupt, write: corrupt},
		{why: "mapping off", protocol: versions(2, 5), properties: props{"delta.columnMapping.mode": "none"}},
		{why: "mapping unheard of", protocol: versions(2, 5), field: mapped, properties: props{"delta.columnMapping.mode": "odd"}, read: corrupt, write: corrupt},
		{why: "mapping inert below reader 2", protocol: versions(1, 4), properties: props{"delta.columnMapping.mode": "name"}},
		{why: "mapping in the writers' list only", protocol: both(nil, "columnMapping"), field: mapped, properties: props{"delta.columnMapping.mode": "name"}},
		{why: "which counts", protocol: both(nil, "columnMapping"), properties: props{"delta.columnMapping.mode": "name"}, read: corrupt, write: corrupt},
		{why: "mapping at (1,7)", protocol: writerList(1, "columnMapping"), read: corrupt, write: corrupt},
		{why: "mapping at (2,7)", protocol: writerList(2, "columnMapping"), field: mapped, properties: props{"delta.columnMapping.mode": "id"}},

		{why: "a change feed implied but off", protocol: versions(1, 4)},
		{why: "a change feed listed but off", protocol: writerList(1, "changeDataFeed"), properties: props{"delta.enableChangeDataFeed": "false"}},
		{why: "a change feed on", protocol: versions(1, 4), properties: props{"delta.enableChangeDataFeed": "TRUE"}},
		{why: "a change feed inert", protocol: versions(1, 3), properties: props{"delta.enableChangeDataFeed": "true"}},
		{why: "a generated column deep down", protocol: versions(1, 4), typ: nested},
		{why: "a generated column inert", protocol: versions(1, 3), typ: nested},
		{why: "identity", protocol: versions(1, 6), field: `{"delta.identity.start":1}`},
		{why: "identity inert", protocol: versions(1, 5), field: `{"delta.identity.start":1}`},
		{why: "all of writer 6 unused", protocol: versions(1, 6)},
		{why: "mapping inert at writer 6 when readers need not know it", protocol: versions(1, 6), properties: props{"delta.columnMapping.mode": "name"}},
		{why: "a default", protocol: writerList(1, "allowColumnDefaults"), field: `{"CURRENT_DEFAULT":"1"}`},
		{why: "constraints, invariants and append-only are written", protocol: writerList(1, "appendOnly", "invariants", "checkConstraints"),
			field: `{"delta.invariants":"{}"}`, properties: props{"delta.constraints.a": "c > 1", "delta.appendOnly": "true"}},
		{why: "row tracking", protocol: writerList(1, "rowTracking", "domainMetadata")},
		{why: "collations oblige when listed", protocol: writerList(1, "collations", "domainMetadata"), write: unsupported, says: "collations"},
		{why: "a property that cannot be read", protocol: versions(1, 2), properties: props{"delta.appendOnly": "maybe"}, write: unsupported, says: "delta.appendOnly"},
	} {
		t.Run(c.why, func(t *testing.T) {
			if c.typ == "" {
				c.typ = `"long"`
			}
			if c.field == "" {
				c.field = `{}`
			}
			s, text := oneColumn(t, c.typ, c.field)
			m := &delta.Metadata{Provider: "parquet", SchemaString: text, Configuration: c.properties}
			check(t, c.read, delta.GateRead(&c.protocol, m, s), c.says)
			check(t, c.write, delta.GateWrite(&c.protocol, m, s), c.says)
		})
	}
}

func TestGateOfTheMetadata(t *testing.T) {
	s, text := oneColumn(t, `"long"`, `{}`)
	p := versions(1, 2)
	require.ErrorIs(t, delta.GateRead(&p, &delta.Metadata{Provider: "orc", SchemaString: text}, s), delta.ErrUnsupported)
	require.ErrorIs(t, delta.GateRead(&p, &delta.Metadata{Provider: "parquet"}, &delta.Struct{}), delta.ErrCorrupt, "no schema")
	require.ErrorIs(t, delta.GateRead(nil, &delta.Metadata{}, s), delta.ErrCorrupt)
	require.ErrorIs(t, delta.GateRead(&p, nil, s), delta.ErrCorrupt)
}

func TestSupports(t *testing.T) {
	three, listed := versions(1, 3), writerList(1, "appendOnly")
	require.True(t, three.Supports("checkConstraints"))
	require.False(t, three.Supports("generatedColumns"))
	require.True(t, listed.Supports("appendOnly"))
	require.False(t, listed.Supports("invariants"), "at 7 the list decides")
}

func TestProtocolFor(t *testing.T) {
	for _, c := range []struct {
		why, typ   string
		properties map[string]string
		want       delta.Protocol
	}{
		{"plain", `"long"`, nil, versions(1, 2)},
		{"append-only is of the default", `"long"`, map[string]string{"delta.appendOnly": "true"}, versions(1, 2)},
		{"constraints", `"long"`, map[string]string{"delta.constraints.c": "c > 0"}, versions(1, 3)},
		{"ntz needs lists, which promise the default's features too", `"timestamp_ntz"`, nil,
			both([]string{"timestampNtz"})},
		{"ntz with constraints", `{"type":"array","elementType":"timestamp_ntz","containsNull":true}`, map[string]string{"delta.constraints.c": "1=1"},
			both([]string{"timestampNtz"}, "checkConstraints")},
		{"mapping", `"long"`, map[string]string{"delta.columnMapping.mode": "name"}, versions(2, 5)},
		{"a feature for writers only leaves readers at 1", `"long"`, map[string]string{"delta.enableRowTracking": "true"},
			writerList(1, "domainMetadata", "rowTracking")},
	} {
		t.Run(c.why, func(t *testing.T) {
			s, text := oneColumn(t, c.typ, `{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"p"}`)
			m := &delta.Metadata{Provider: "parquet", SchemaString: text, Configuration: c.properties}
			got := delta.ProtocolFor(m, s)
			require.Equal(t, c.want.MinReaderVersion, got.MinReaderVersion)
			require.Equal(t, c.want.MinWriterVersion, got.MinWriterVersion)
			require.ElementsMatch(t, c.want.ReaderFeatures, got.ReaderFeatures)
			if c.want.WriterFeatures != nil {
				c.want.WriterFeatures = append(c.want.WriterFeatures, "appendOnly", "invariants")
			}
			require.ElementsMatch(t, c.want.WriterFeatures, got.WriterFeatures)
			require.IsIncreasing(t, append(got.WriterFeatures, "~"), "sorted: the same definition gives the same bytes")
			require.NotErrorIs(t, delta.GateRead(&got, m, s), delta.ErrCorrupt)
		})
	}
}
