package commit_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

// described is a definition of columns, given as JSON, and properties.
func described(columns string, conf map[string]string) *delta.Metadata {
	return metadata(func(m *delta.Metadata) {
		m.SchemaString = `{"type":"struct","fields":[` + columns + `]}`
		m.PartitionColumns = nil
		m.Configuration = conf
	})
}

func column(name, typ, rules string) string {
	return `{"name":"` + name + `","type":"` + typ + `","nullable":true,"metadata":{` + rules + `}}`
}

func numbered(id, physical string) string {
	return `"delta.columnMapping.id":` + id + `,"delta.columnMapping.physicalName":"` + physical + `"`
}

func nested(name, typ string) string {
	return `{"name":"` + name + `","type":` + typ + `,"nullable":true,"metadata":{}}`
}

// What a plan that was made under the one definition stands of the other (§21.5 of the digest of the
// protocol, footnote 2): nothing that its files could have had to obey.
func TestDefinitionChangeOfProperties(t *testing.T) {
	plain := column("a", "long", "")
	named := map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
	second := map[string]string{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
	byID := map[string]string{"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "1"}
	stamped := map[string]string{"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "5", "delta.inCommitTimestampEnablementTimestamp": "9"}
	later := maps.Clone(stamped)
	later["delta.inCommitTimestampEnablementVersion"] = "6"
	vectors := map[string]string{"delta.enableDeletionVectors": "true"}
	for _, c := range []struct {
		why      string
		old, now *delta.Metadata
		want     string
		appends  bool // rows that are added stand it all the same
	}{
		{"mapping by the names that columns have, by ids which our files lack", described(plain, nil), described(column("a", "long", numbered("1", "a")), named), "the property delta.columnMapping.mode changed", false},
		{"mapping off, and then on", described(plain, map[string]string{"delta.columnMapping.mode": "none"}), described(column("a", "long", numbered("1", "a")), named), "the property delta.columnMapping.mode changed", false},
		{"mapping by other names", described(plain, nil), described(column("a", "long", numbered("1", "p")), named), "the property delta.columnMapping.mode changed", false},
		{"mapping by ids, which our files lack", described(plain, nil), described(column("a", "long", numbered("1", "a")), byID), "the property delta.columnMapping.mode changed", false},
		{"mapping gone", described(column("a", "long", numbered("1", "a")), named), described(plain, nil), "the property delta.columnMapping.maxColumnId changed", false},
		{"a column more under mapping", described(column("a", "long", numbered("1", "p")), named),
			described(column("a", "long", numbered("1", "p"))+","+column("b", "long", numbered("2", "q")), second), "", false},
		{"the highest id sinks", described(column("a", "long", numbered("1", "p")), second), described(column("a", "long", numbered("1", "p")), named), "the property delta.columnMapping.maxColumnId changed", false},
		{"another place in files", described(column("a", "long", numbered("1", "p")), named), described(column("a", "long", numbered("1", "q")), named), "the metadata of column a changed", false},
		{"another id", described(column("a", "long", numbered("1", "p")), named), described(column("a", "long", numbered("2", "p")), named), "the metadata of column a changed", false},
		{"the mark of an identity column", described(column("a", "long", `"delta.identity.start":1,"delta.identity.step":1`), nil),
			described(column("a", "long", `"delta.identity.start":1,"delta.identity.step":1,"delta.identity.highWaterMark":7`), nil), "", false},
		{"another step", described(column("a", "long", `"delta.identity.start":1,"delta.identity.step":1`), nil),
			described(column("a", "long", `"delta.identity.start":1,"delta.identity.step":2`), nil), "the metadata of column a changed", false},
		{"the record of changes of type goes", described(column("a", "long", `"delta.typeChanges":[{"fromType":"integer","toType":"long"}]`), nil), described(plain, nil), "", false},
		{"a wider type", described(column("a", "integer", ""), nil), described(column("a", "long", `"delta.typeChanges":[{"fromType":"integer","toType":"long"}]`), nil), "the type of column a changed", false},
		{"elements that may not be NULL any more", described(nested("a", `{"type":"array","elementType":"long","containsNull":true}`), nil),
			described(nested("a", `{"type":"array","elementType":"long","containsNull":false}`), nil), "the type of column a changed", false},
		{"elements of another type", described(nested("a", `{"type":"array","elementType":"integer","containsNull":true}`), nil),
			described(nested("a", `{"type":"array","elementType":"long","containsNull":true}`), nil), "the type of column a changed", false},
		{"values that may not be NULL any more", described(nested("a", `{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true}`), nil),
			described(nested("a", `{"type":"map","keyType":"string","valueType":"long","valueContainsNull":false}`), nil), "the type of column a changed", false},
		{"keys of another type", described(nested("a", `{"type":"map","keyType":"integer","valueType":"long","valueContainsNull":true}`), nil),
			described(nested("a", `{"type":"map","keyType":"long","valueType":"long","valueContainsNull":true}`), nil), "the type of column a changed", false},
		{"values of another type", described(nested("a", `{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true}`), nil),
			described(nested("a", `{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true}`), nil), "the type of column a changed", false},
		{"a field that may not be NULL any more", described(nested("a", `{"type":"struct","fields":[`+column("b", "long", "")+`]}`), nil),
			described(nested("a", `{"type":"struct","fields":[`+strings.Replace(column("b", "long", ""), "true", "false", 1)+`]}`), nil), "the nullability of column b changed", false},
		{"partition columns in another order", metadata(func(m *delta.Metadata) { m.PartitionColumns = []string{"p", "x"} }),
			metadata(func(m *delta.Metadata) { m.PartitionColumns = []string{"x", "p"} }), "the partition columns changed from [p x] to [x p]", false},
		{"a new column of limited strings", described(plain, nil), described(plain+","+column("b", "string", `"__CHAR_VARCHAR_TYPE_STRING":"char(3)"`), nil), "", false},
		{"a new column with a default", described(plain, nil), described(plain+","+column("b", "string", `"CURRENT_DEFAULT":"1"`), nil), "column b was added and must be filled", false},
		{"a new identity column", described(plain, nil), described(plain+","+column("b", "long", `"delta.identity.start":1,"delta.identity.step":1`), nil), "column b was added and must be filled", false},
		{"vectors may be written now", described(plain, nil), described(plain, vectors), "", false},
		{"vectors may not be written any more", described(plain, vectors), described(plain, nil), "the property delta.enableDeletionVectors changed", true},
		{"timestamps in commits", described(plain, nil), described(plain, stamped), "", false},
		{"timestamps in commits since another version", described(plain, stamped), described(plain, later), "the property delta.inCommitTimestampEnablementVersion changed", true},
		{"no timestamps any more", described(plain, stamped), described(plain, nil), "the property delta.enableInCommitTimestamps changed", true},
		{"changes of rows wanted", described(plain, nil), described(plain, map[string]string{"delta.enableChangeDataFeed": "true"}), "the property delta.enableChangeDataFeed changed", false},
		{"row ids wanted, which copies of rows would have to keep", described(plain, nil), described(plain, map[string]string{"delta.enableRowTracking": "true"}), "the property delta.enableRowTracking changed", true},
		{"types may widen from now on", described(plain, nil), described(plain, map[string]string{"delta.enableTypeWidening": "true"}), "", false},
		{"no row may be taken away any more", described(plain, nil), described(plain, map[string]string{"delta.appendOnly": "true"}), "the property delta.appendOnly changed", true},
	} {
		t.Run(c.why, func(t *testing.T) {
			require.Equal(t, c.want, commit.DefinitionChange(c.old, c.now))
			if c.appends {
				c.want = ""
			}
			require.Equal(t, c.want, commit.DefinitionChangeForAppend(c.old, c.now))
		})
	}
}

func listed(reader int, names ...string) *delta.Protocol {
	p := &delta.Protocol{MinReaderVersion: reader, MinWriterVersion: 7, WriterFeatures: append([]string{"appendOnly", "invariants"}, names...)}
	if reader == 3 {
		p.ReaderFeatures = []string{}
		for _, n := range names {
			if n == "timestampNtz" || n == "deletionVectors" {
				p.ReaderFeatures = append(p.ReaderFeatures, n)
			}
		}
	}
	return p
}

// §21.5, footnote 1: a winner that only adds features which demand nothing of files lets others pass.
// Delta 4.2 (failConcurrentTransactionsAtUpgrade) fails others for v2Checkpoint and
// vacuumProtocolCheck as well, which speak of no commit of data.
func TestChangesOfTheProtocol(t *testing.T) {
	blind := func(actions ...delta.Action) *commit.Intent {
		in := *intents()["append"]
		in.Actions = append(in.Actions, actions...)
		return &in
	}
	add := delta.Action{Add: &delta.Add{Path: "x", Key: "x", DataChange: true}}
	for _, c := range []struct {
		why         string
		in          *commit.Intent
		base        *delta.Protocol
		conf        map[string]string
		winner      []delta.Action
		replan      bool
		says        string
		otherProper map[string]string
	}{
		{why: "a feature that demands nothing", in: blind(), base: listed(1), winner: []delta.Action{{Protocol: listed(3, "timestampNtz")}}},
		{why: "versions spelled out", in: blind(), base: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, winner: []delta.Action{{Protocol: listed(1)}}},
		{why: "a feature that demands", in: blind(), base: listed(1), winner: []delta.Action{{Protocol: listed(1, "checkConstraints")}}, replan: true, says: "checkConstraints was added"},
		{why: "a feature that wakes a property", in: blind(), base: listed(1), conf: map[string]string{"delta.enableRowTracking": "true"},
			winner: []delta.Action{{Protocol: listed(1, "rowTracking", "domainMetadata")}}, replan: true, says: "rowTracking was added"},
		{why: "a feature less", in: blind(), base: listed(3, "timestampNtz"), winner: []delta.Action{{Protocol: listed(1)}}, replan: true, says: "timestampNtz was dropped"},
		{why: "both change it", in: blind(delta.Action{Protocol: listed(1, "checkConstraints")}), base: listed(1),
			winner: []delta.Action{{Protocol: listed(3, "timestampNtz")}}, replan: true, says: "both commits"},
		{why: "we drop a feature and files come in", in: blind(delta.Action{Protocol: listed(1)}), base: listed(3, "timestampNtz"), winner: []delta.Action{add}, replan: true, says: "drops the feature timestampNtz"},
		{why: "we drop a feature and a domain comes in", in: blind(delta.Action{Protocol: listed(1)}), base: listed(3, "timestampNtz"),
			winner: []delta.Action{{Domain: &delta.DomainMetadata{Domain: "d"}}}, replan: true, says: "drops the feature timestampNtz"},
		{why: "we drop a feature and another definition comes in", in: blind(delta.Action{Protocol: listed(1)}), base: listed(3, "timestampNtz"),
			otherProper: map[string]string{"owner": "me"}, replan: true, says: "the winner its definition"},
		{why: "we drop a feature and nothing comes in", in: blind(delta.Action{Protocol: listed(1)}), base: listed(3, "timestampNtz"), winner: nil},
		{why: "we add a feature and files come in", in: blind(delta.Action{Protocol: listed(3, "timestampNtz")}), base: listed(1), winner: []delta.Action{add}},
		{why: "row tracking is turned on beside an append", in: blind(), base: listed(1, "rowTracking", "domainMetadata"), otherProper: map[string]string{"delta.enableRowTracking": "true"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			state := commit.State{Protocol: c.base, Metadata: described(column("a", "long", ""), c.conf)}
			winner := c.winner
			if c.otherProper != nil {
				winner = append(winner, delta.Action{Metadata: described(column("a", "long", ""), c.otherProper)})
			}
			v := commit.Check(c.in, state, &commit.Winner{Version: 5, Actions: winner})
			if v.Kind == commit.Stop { // what idem does not write, it does not write beside others either
				require.ErrorIs(t, v.Err, delta.ErrUnsupported)
				return
			}
			require.Equal(t, c.replan, v.Kind == commit.Replan, "%v", v)
			require.Contains(t, v.Detail, c.says)
		})
	}
}
