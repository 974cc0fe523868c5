package logcheck_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	. "github.com/idemtable/idem/internal/logcheck"
	"github.com/idemtable/idem/maintain"
)

// dropped commits that a feature goes, as DROP FEATURE of idem says it, and changes the definition.
func (m *made) dropped(feature string, change func(p *delta.Protocol, c *delta.Metadata)) {
	v := m.versions()
	snap := m.snapshot(v - 1)
	p, c := *snap.Protocol(), *snap.Metadata()
	p.WriterFeatures, p.ReaderFeatures = without(p.WriterFeatures, feature), without(p.ReaderFeatures, feature)
	c.Configuration = map[string]string{}
	for key, value := range snap.Metadata().Configuration {
		c.Configuration[key] = value
	}
	change(&p, &c)
	m.extend(delta.Action{Protocol: &p}, delta.Action{Metadata: &c})
	m.edit(v, info(func(i *delta.CommitInfo) {
		i.Operation, i.OperationParameters = "DROP FEATURE", map[string]any{"featureName": feature}
	}))
}

func withoutProperties(keys ...string) func(*delta.Protocol, *delta.Metadata) {
	return func(_ *delta.Protocol, c *delta.Metadata) {
		for _, key := range keys {
			delete(c.Configuration, key)
		}
	}
}

func protects(before string) func(*delta.Protocol, *delta.Metadata) {
	return func(p *delta.Protocol, c *delta.Metadata) {
		p.WriterFeatures = append(p.WriterFeatures, "checkpointProtection")
		c.Configuration["delta.requireCheckpointProtectionBeforeVersion"] = before
		delete(c.Configuration, "delta.enableDeletionVectors")
	}
}

func nothing(*delta.Protocol, *delta.Metadata) {}

// dropTwins are ways in which a feature goes and should not. The made table has no vector any more at its
// newest version, and had some.
var dropTwins = []twinOfMade{
	{FeatureLeft, "a property", func(m *made) { m.dropped("inCommitTimestamp", nothing) }},
	{FeatureLeft, "a field's", func(m *made) { m.dropped("allowColumnDefaults", nothing) }},
	{FeatureLeft, "a constraint", func(m *made) { m.dropped("checkConstraints", nothing) }},
	{FeatureLeft, "ids of rows, and their mark", func(m *made) { m.dropped("rowTracking", withoutProperties("delta.enableRowTracking")) }},
	{FeatureLeft, "a domain", func(m *made) { m.dropped("clustering", nothing) }},
	{FeatureHistory, "versions with vectors, which nothing protects", func(m *made) {
		m.dropped("deletionVectors", withoutProperties("delta.enableDeletionVectors"))
	}},
	{FeatureHistory, "an older version is protected", func(m *made) { m.dropped("deletionVectors", protects("3")) }},
	{FeatureHistory, "no checkpoint to begin with", func(m *made) { m.dropped("deletionVectors", protects("6")) }},
	{ProtocolLowered, "two features by the name of one", func(m *made) {
		m.dropped("vacuumProtocolCheck", func(p *delta.Protocol, _ *delta.Metadata) {
			p.WriterFeatures = without(p.WriterFeatures, "clustering")
		})
	}},
	{ProtocolLowered, "by another engine, which calls it something else and leaves something", func(m *made) {
		m.dropped("allowColumnDefaults", nothing)
		m.edit(laidOut+1, info(func(i *delta.CommitInfo) { i.Operation, i.EngineInfo = "ALTER", "another" }))
	}},
	{CheckpointKept, "one went before the versions that follow it", func(m *made) {
		m.dropFeature("deletionVectors")
		for _, key := range []string{delta.CommitKey(0), delta.CommitKey(1), delta.CommitKey(2)} {
			require.NoError(m.t, m.store.Delete(m.t.Context(), key))
		}
		m.checkpointAlone()
	}},
	{TxnPayload, "another digest", edited(more, txnVersion("idem/v1/digest/loader", func(v int64) int64 { return v ^ 1 }))},
	{TxnPayload, "another number of rows", edited(more, txnVersion("idem/v1/rows/loader", func(v int64) int64 { return v + 1 }))},
	{TagColumns, "of other columns", edited(appended, adds(func(a *delta.Add) { a.Tags["idem.columns"] = "7:0123456789abcdef" }))},
	{TagColumns, "none", edited(appended, adds(func(a *delta.Add) { delete(a.Tags, "idem.columns") }))},
	{TagFingerprint, "of a file that is live no more", edited(more, adds(func(a *delta.Add) {
		a.Tags["idem.fingerprint"] = strings.Replace(a.Tags["idem.fingerprint"], "idem1:2:", "idem1:3:", 1)
	}))},
}

func txnVersion(app string, f func(int64) int64) func([]delta.Action) []delta.Action {
	return func(actions []delta.Action) []delta.Action {
		for _, a := range actions {
			if a.Txn != nil && a.Txn.AppID == app {
				a.Txn.Version = f(a.Txn.Version)
			}
		}
		return actions
	}
}

// open opens a copy, which has no table of its own.
func (m *made) open() *idem.Table {
	table, err := idem.OpenStore(m.t.Context(), m.store, idem.Options{Parallelism: 1, Clock: m})
	require.NoError(m.t, err)
	return table
}

func (m *made) dropFeature(name string) {
	_, err := maintain.DropFeature(m.t.Context(), m.open(), maintain.Drop{Feature: name})
	require.NoError(m.t, err)
}

// checkpointAlone leaves no checkpoint but one of the newest version.
func (m *made) checkpointAlone() {
	_, err := maintain.Checkpoint(m.t.Context(), m.open())
	require.NoError(m.t, err)
	var keys []string
	for info, err := range m.store.List(m.t.Context(), delta.LogDir, "") {
		require.NoError(m.t, err)
		if f := delta.ParseLogFile(info.Key); f.Kind == delta.Checkpoint && f.Version < m.open().Version() {
			keys = append(keys, info.Key)
		}
	}
	require.NotEmpty(m.t, keys)
	require.NoError(m.t, m.store.Delete(m.t.Context(), keys...))
}

// What idem drops it drops as the protocol wants it.
func TestFeaturesThatIdemDropsKeepTheRules(t *testing.T) {
	whole := newMade(t, kind(map[string]string{"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "3"}, nil))
	for _, names := range [][]string{{"deletionVectors"}, {"typeWidening"}, {"inCommitTimestamp"}, {"rowTracking"}, {"v2Checkpoint"},
		{"rowTracking", "inCommitTimestamp", "v2Checkpoint", "deletionVectors"}} {
		t.Run(strings.Join(names, ", "), func(t *testing.T) {
			m := whole.copied(t)
			for _, name := range names {
				m.dropFeature(name)
				keeps(t, m)
			}
			_, err := maintain.Checkpoint(t.Context(), m.open())
			require.NoError(t, err)
			keeps(t, m)
		})
	}
}

// Where more than one rule is broken.
func TestWhatAFeatureLeavesIsFound(t *testing.T) {
	whole := newMade(t, everything)
	for _, c := range []struct {
		feature, what string
		properties    []string
	}{
		{"columnMapping", "delta.columnMapping.physicalName", []string{"delta.columnMapping.mode", "delta.columnMapping.maxColumnId"}},
		{"deletionVectors", "its mark on", []string{"delta.enableDeletionVectors"}},
	} {
		t.Run(c.feature, func(t *testing.T) {
			m := whole.copied(t)
			m.cut(shrunk)
			m.dropped(c.feature, withoutProperties(c.properties...))
			report, err := Check(t.Context(), m.store)
			require.NoError(t, err)
			require.True(t, slices.ContainsFunc(report.Findings, func(f Finding) bool {
				return f.Rule == FeatureLeft && strings.Contains(f.Detail, c.what)
			}), "%v", report.Findings)
		})
	}
}

// Another engine may call the end of a feature what it likes, where nothing is left of it.
func TestAFeatureMayGoByAnotherName(t *testing.T) {
	m := newMade(t, everything)
	m.dropped("vacuumProtocolCheck", nothing) // is not there: only the name of the operation counts
	m.edit(laidOut+1, info(func(i *delta.CommitInfo) { i.OperationParameters = nil }))
	keeps(t, m)
	p := *m.snapshot(laidOut + 1).Protocol()
	p.WriterFeatures = append(without(p.WriterFeatures, ""), "appendOnly")
	m.extend(delta.Action{Protocol: &p})
	q := p
	q.WriterFeatures = without(p.WriterFeatures, "appendOnly")
	m.extend(delta.Action{Protocol: &q})
	m.edit(laidOut+3, info(func(i *delta.CommitInfo) { i.Operation, i.EngineInfo = "ALTER", "another" }))
	keeps(t, m)
}

// A file of the narrow type is left where typeWidening is dropped and nobody rewrites it.
func TestAFileOfANarrowerTypeIsLeft(t *testing.T) {
	m := &made{t: t, now: time.UnixMilli(now)}
	m.store = store.NewMemClock(m.Now)
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true}}, nil)
	table, _, err := idem.CreateStore(t.Context(), m.store, idem.Definition{Schema: schema, Properties: map[string]string{"delta.enableTypeWidening": "true", "delta.checkpointInterval": "1"}},
		idem.Options{Parallelism: 1, Clock: m})
	require.NoError(t, err)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"k":1,"l":[2]}]`))
	require.NoError(t, err)
	rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), rows, idem.Append{Reason: "test"})
	require.NoError(t, err)
	_, err = maintain.AlterTable(t.Context(), table, maintain.Alter{Changes: []maintain.Change{maintain.WidenColumn{Name: "k", Type: arrow.PrimitiveTypes.Int64}}})
	require.NoError(t, err)
	keeps(t, m)

	careless := m.copied(t)
	careless.dropped("typeWidening", func(p *delta.Protocol, c *delta.Metadata) {
		p.WriterFeatures, p.ReaderFeatures, p.MinReaderVersion = append(p.WriterFeatures, "checkpointProtection"), nil, 1
		c.Configuration = map[string]string{"delta.requireCheckpointProtectionBeforeVersion": "4"}
		s, err := delta.ParseSchema(c.SchemaString)
		require.NoError(t, err)
		delete(s.Fields[0].Metadata, "delta.typeChanges")
		c.SchemaString = s.JSON()
	})
	report, err := Check(t.Context(), careless.store)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(report.Findings, func(f Finding) bool {
		return f.Rule == FeatureLeft && strings.Contains(f.Detail, "narrower type")
	}), "%v", report.Findings)

	m.dropFeature("typeWidening")
	keeps(t, m)
}

// A shallow clone is held against the rules where its source may be read.
func TestFilesOutsideTheRoot(t *testing.T) {
	base := t.TempDir()
	dir := func(name string) *store.Dir {
		st, err := store.OpenDir(filepath.Join(base, name))
		require.NoError(t, err)
		return st
	}
	source, clone := dir("a source"), dir("clone")
	from := newMade(t, kind(map[string]string{"delta.enableRowTracking": ""}, nil))
	from.cut(shrunk)
	snap := from.snapshot(shrunk)
	for info, err := range from.store.List(t.Context(), "", "") {
		require.NoError(t, err)
		data, err := from.store.Get(t.Context(), info.Key, 0)
		require.NoError(t, err)
		require.NoError(t, source.Put(t.Context(), info.Key, data))
	}
	m, at := *snap.Metadata(), int64(now)
	m.ID = "0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f"
	actions := []delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: now, InCommitTimestamp: &at, Operation: "CLONE"}}, {Protocol: snap.Protocol()}, {Metadata: &m}}
	for d := range snap.Domains() {
		actions = append(actions, delta.Action{Domain: &d})
	}
	var first *delta.Add
	for f := range snap.Files() {
		a := *f
		a.Path = source.URL() + f.Path
		if dv := f.DeletionVector; dv != nil {
			key, offset, err := dv.FileKey(source.URL())
			require.NoError(t, err)
			moved, at := *dv, int32(offset)
			moved.StorageType, moved.PathOrInlineDV, moved.Offset = "p", source.URL()+delta.EncodePath(key), &at
			a.DeletionVector, first = &moved, f
		}
		actions = append(actions, delta.Action{Add: &a})
	}
	data, err := delta.EncodeCommit(actions)
	require.NoError(t, err)
	require.NoError(t, clone.PutIfAbsent(t.Context(), delta.CommitKey(0), data))

	_, err = Check(t.Context(), clone)
	require.ErrorIs(t, err, delta.ErrUnsupported)
	allowed := Options{Outside: idem.OutsideBelow(source.URL())}
	report, err := allowed.Check(t.Context(), clone)
	require.NoError(t, err)
	require.NoError(t, report.Err())
	require.EqualValues(t, snap.NumFiles(), report.Files)
	require.EqualValues(t, 5, report.Rows)

	require.NoError(t, source.Delete(t.Context(), first.Key))
	report, err = allowed.Check(t.Context(), clone)
	require.NoError(t, err)
	require.Len(t, report.Findings, 1, fmt.Sprint(report.Findings))
	require.Equal(t, FileMissing, report.Findings[0].Rule)
}

// Which rows an overwrite wrote its commit says: those of the partitions that have new ones, or all.
func TestThePayloadOfAnOverwriteIsOfItsPartitionsOrOfAll(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "p", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	rows := func(list string) array.RecordReader {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(list))
		require.NoError(t, err)
		out, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
		require.NoError(t, err)
		return out
	}
	m := &made{t: t, now: time.UnixMilli(now)}
	m.store = store.NewMemClock(m.Now)
	table, _, err := idem.CreateStore(t.Context(), m.store, idem.Definition{Schema: schema, PartitionBy: []string{"p"}}, idem.Options{Parallelism: 1, Clock: m})
	require.NoError(t, err)
	tag := func(v int64) idem.Txn { return idem.Txn{AppID: "loader", Version: v, VerifyPayload: true} }
	_, err = table.ReplaceAll(t.Context(), rows(`[{"p":"a","k":1},{"p":"b","k":2}]`), idem.ReplaceAll{Txn: tag(1)})
	require.NoError(t, err)
	_, err = maintain.OverwritePartitions(t.Context(), table, rows(`[{"p":"b","k":3}]`), maintain.Overwrite{Txn: tag(2)})
	require.NoError(t, err)
	_, err = maintain.OverwritePartitions(t.Context(), table, rows(`[{"p":"b","k":3}]`), maintain.Overwrite{Txn: tag(3)})
	require.NoError(t, err)
	keeps(t, m)
	for v, say := range map[int64]func(*delta.CommitInfo){
		1: func(i *delta.CommitInfo) { i.OperationParameters["isDynamicPartitionOverwrite"] = true },
		2: func(i *delta.CommitInfo) { delete(i.OperationParameters, "isDynamicPartitionOverwrite") },
		3: func(i *delta.CommitInfo) { delete(i.OperationParameters, "isDynamicPartitionOverwrite") },
	} {
		twin := m.copied(t)
		twin.edit(v, info(say))
		report, err := Check(t.Context(), twin.store)
		require.NoError(t, err)
		found := slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Rule == TxnPayload && f.Version == v })
		require.Equal(t, v != 1, found, "version %d: %v; where every partition has new files, both are the same", v, report.Findings)
	}
}
