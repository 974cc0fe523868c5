package logcheck_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	. "github.com/idemtable/idem/internal/logcheck"
)

// twinOfMade is the made table with one rule broken.
type twinOfMade struct {
	rule   Rule
	why    string
	damage func(m *made)
}

func edited(v int64, f func([]delta.Action) []delta.Action) func(m *made) {
	return func(m *made) { m.edit(v, f) }
}

func appendAction(a delta.Action) func([]delta.Action) []delta.Action {
	return func(actions []delta.Action) []delta.Action { return append(actions, a) }
}

func protocol(f func(*delta.Protocol)) func([]delta.Action) []delta.Action {
	return func(actions []delta.Action) []delta.Action {
		for _, a := range actions {
			if a.Protocol != nil {
				f(a.Protocol)
			}
		}
		return actions
	}
}

func without(list []string, name string) []string {
	var out []string
	for _, s := range list {
		if s != name {
			out = append(out, s)
		}
	}
	return out
}

// redefined commits the definition again, changed.
func redefined(f func([]delta.Action) []delta.Action) func(m *made) {
	return func(m *made) {
		is := *m.snapshot(laidOut).Metadata()
		is.Configuration = maps.Clone(is.Configuration)
		is.Configuration["delta.columnMapping.maxColumnId"] = "9"
		m.extend(f([]delta.Action{{Metadata: &is}})...)
	}
}

// everywhere changes every commit that f changes.
func everywhere(f func([]delta.Action) []delta.Action) func(m *made) {
	return func(m *made) {
		for v := range m.versions() {
			for _, a := range m.commit(v) {
				if a.Metadata != nil {
					m.edit(v, f)
				}
			}
		}
	}
}

// extend commits more, as idem does.
func (m *made) extend(actions ...delta.Action) {
	v := m.versions()
	at := int64(now + 1000 + v)
	info := delta.Action{CommitInfo: &delta.CommitInfo{Timestamp: now, InCommitTimestamp: &at, Operation: "TEST", EngineInfo: "idem", TxnID: fmt.Sprint(v)}}
	data, err := delta.EncodeActions(append([]delta.Action{info}, actions...))
	require.NoError(m.t, err)
	require.NoError(m.t, m.store.PutIfAbsent(m.t.Context(), delta.CommitKey(v), data))
}

// vectorFile changes the bytes of the file of vectors of a version.
func vectorFile(f func([]byte) []byte) func(m *made) {
	return func(m *made) {
		for _, a := range m.commit(shrunk) {
			if a.Add == nil {
				continue
			}
			key, _, err := a.Add.DeletionVector.FileKey(m.store.URL())
			require.NoError(m.t, err)
			data, err := m.store.Get(m.t.Context(), key, 0)
			require.NoError(m.t, err)
			require.NoError(m.t, m.store.Put(m.t.Context(), key, f(bytes.Clone(data))))
		}
		m.cut(shrunk)
	}
}

// cut ends the log with a version, so that its files are live.
func (m *made) cut(v int64) {
	for i := v + 1; i < 10; i++ {
		require.NoError(m.t, m.store.Delete(m.t.Context(), delta.CommitKey(i), delta.ChecksumKey(i)))
	}
}

func cutAt(v int64, f func(m *made)) func(m *made) {
	return func(m *made) {
		m.cut(v)
		f(m)
	}
}

var protocolTwins = []twinOfMade{
	{ProtocolLists, "a reader's feature that writers do not have", edited(0, protocol(func(p *delta.Protocol) { p.WriterFeatures = without(p.WriterFeatures, "columnMapping") }))},
	{ProtocolLists, "a writer's feature among the readers'", edited(0, protocol(func(p *delta.Protocol) { p.ReaderFeatures = append(p.ReaderFeatures, "rowTracking") }))},
	{ProtocolLists, "one that needs another", edited(0, protocol(func(p *delta.Protocol) {
		p.WriterFeatures = append(p.WriterFeatures, "variantShredding")
		p.ReaderFeatures = append(p.ReaderFeatures, "variantShredding")
	}))},
	{ProtocolLowered, "a feature is gone", func(m *made) {
		p := *m.snapshot(0).Protocol()
		p.WriterFeatures = without(p.WriterFeatures, "allowColumnDefaults")
		m.edit(changed, appendAction(delta.Action{Protocol: &p}))
	}},
	{FeatureUsed, "domains", edited(0, protocol(func(p *delta.Protocol) {
		for _, name := range []string{"domainMetadata", "rowTracking", "clustering"} {
			p.WriterFeatures = without(p.WriterFeatures, name)
		}
	}))},
	{FeatureUsed, "vectors that the properties do not want", everywhere(metadata(func(m *delta.Metadata) { delete(m.Configuration, "delta.enableDeletionVectors") }))},
	{FeatureUsed, "changes that the properties do not want", everywhere(metadata(func(m *delta.Metadata) { delete(m.Configuration, "delta.enableChangeDataFeed") }))},
	{FeatureUsed, "a type", edited(0, protocol(func(p *delta.Protocol) {
		p.WriterFeatures, p.ReaderFeatures = without(p.WriterFeatures, "timestampNtz"), without(p.ReaderFeatures, "timestampNtz")
	}))},
	{CommitTime, "none", edited(shrunk, info(func(i *delta.CommitInfo) { i.InCommitTimestamp = nil }))},
	{CommitTime, "one that stands still", func(m *made) {
		was := m.commit(more)[0].CommitInfo.InCommitTimestamp
		m.edit(shrunk, info(func(i *delta.CommitInfo) { i.InCommitTimestamp = was }))
	}},
	{CommitTimeSince, "not from the beginning, and nothing says so", func(m *made) {
		for v := range int64(2) {
			m.edit(v, metadata(func(m *delta.Metadata) { delete(m.Configuration, "delta.enableInCommitTimestamps") }))
		}
	}},
	{CommitTimeSince, "of another version", func(m *made) {
		for v := range int64(2) {
			m.edit(v, metadata(func(m *delta.Metadata) { delete(m.Configuration, "delta.enableInCommitTimestamps") }))
		}
		m.edit(more, metadata(func(c *delta.Metadata) {
			c.Configuration["delta.inCommitTimestampEnablementVersion"] = "1"
			c.Configuration["delta.inCommitTimestampEnablementTimestamp"] = fmt.Sprint(*m.commit(more)[0].CommitInfo.InCommitTimestamp)
		}))
	}},
	{MappingIDs, "one of two fields", edited(0, field("k", func(f *delta.Field) { f.Metadata["delta.columnMapping.id"] = raw(1) }))},
	{MappingIDs, "no physical name", edited(0, field("at", func(f *delta.Field) { delete(f.Metadata, "delta.columnMapping.physicalName") }))},
	{MappingMax, "less than an id", edited(0, metadata(func(m *delta.Metadata) { m.Configuration["delta.columnMapping.maxColumnId"] = "7" }))},
	{MappingMax, "it falls", func(m *made) {
		m.edit(0, metadata(func(m *delta.Metadata) { m.Configuration["delta.columnMapping.maxColumnId"] = "12" }))
	}},
	{MappingReuse, "a physical name for another id", redefined(field("at", func(f *delta.Field) {
		f.Metadata["delta.columnMapping.id"] = raw(9)
	}))},
	{MappingReuse, "an id for another physical name", redefined(field("at", func(f *delta.Field) {
		f.Metadata["delta.columnMapping.physicalName"] = raw(`"other"`)
	}))},
	{MappingReuse, "a column that had been dropped", func(m *made) {
		is := *m.snapshot(laidOut).Metadata()
		dropped := is
		s, err := delta.ParseSchema(is.SchemaString)
		require.NoError(m.t, err)
		s.Fields = slices.DeleteFunc(s.Fields, func(f delta.Field) bool { return f.Name == "at" })
		dropped.SchemaString = s.JSON()
		m.extend(delta.Action{Metadata: &dropped})
		m.extend(delta.Action{Metadata: &is})
	}},
	{TypeChanges, "changes that do not follow each other", redefined(field("k", func(f *delta.Field) {
		f.Metadata["delta.typeChanges"] = raw(`[{"fromType":"byte","toType":"integer"},{"fromType":"short","toType":"long"}]`)
	}))},
	{TypeChanges, "a last one to another type", redefined(field("k", func(f *delta.Field) {
		f.Metadata["delta.typeChanges"] = raw(`[{"fromType":"byte","toType":"integer"}]`)
	}))},
	{IdentityMark, "it goes back", edited(more, field("n", func(f *delta.Field) { f.Metadata["delta.identity.highWaterMark"] = raw(20) }))},
	{TxnRecords, "rows of another version", func(m *made) {
		m.edit(more, func(actions []delta.Action) []delta.Action {
			for _, a := range actions {
				if a.Txn != nil && a.Txn.AppID == "idem/v1/at/loader" {
					a.Txn.Version = 9
				}
			}
			return actions
		})
	}},
	{TxnRecords, "no digest", edited(more, func(actions []delta.Action) []delta.Action {
		var out []delta.Action
		for _, a := range actions {
			if a.Txn == nil || a.Txn.AppID != "idem/v1/digest/loader" {
				out = append(out, a)
			}
		}
		return out
	})},
	{ClusterColumns, "a column that is none", edited(0, func(actions []delta.Action) []delta.Action {
		for _, a := range actions {
			if a.Domain != nil && a.Domain.Domain == "delta.clustering" {
				a.Domain.Configuration = `{"clusteringColumns":[["nosuch"]]}`
			}
		}
		return actions
	})},
	{IcebergCompat, "with vectors", edited(0, metadata(func(m *delta.Metadata) { m.Configuration["delta.enableIcebergCompatV2"] = "true" }))},
}

var rowTwins = []twinOfMade{
	{AddVector, "the file is not removed under the vector before", edited(shrunk, func(actions []delta.Action) []delta.Action {
		var out []delta.Action
		for _, a := range actions {
			if a.Remove == nil {
				out = append(out, a)
			}
		}
		return out
	})},
	{VectorForm, "a storage type that is none", cutAt(shrunk, edited(shrunk, adds(func(a *delta.Add) { a.DeletionVector.StorageType = "x" })))},
	{VectorForm, "a name that is none", cutAt(shrunk, edited(shrunk, adds(func(a *delta.Add) { a.DeletionVector.PathOrInlineDV = "short" })))},
	{VectorFile, "other bytes", vectorFile(func(b []byte) []byte { b[len(b)-1]++; return b })},
	{VectorFile, "of another length", vectorFile(func(b []byte) []byte { b[4]++; return b })},
	{VectorFile, "another version", vectorFile(func(b []byte) []byte { b[0] = 2; return b })},
	{VectorFile, "too short", vectorFile(func(b []byte) []byte { return b[:len(b)-1] })},
	{VectorFile, "other rows than the log says", cutAt(shrunk, edited(shrunk, adds(func(a *delta.Add) { a.DeletionVector.Cardinality = 2 })))},
	{VectorStats, "bounds that are said to be tight", cutAt(shrunk, edited(shrunk, adds(func(a *delta.Add) {
		a.Stats = strings.Replace(a.Stats, `"tightBounds":false`, `"tightBounds":true`, 1)
	})))},
	{VectorWhole, "of every row", cutAt(shrunk, func(m *made) {
		m.edit(shrunk, adds(func(a *delta.Add) {
			v := delta.NewVector()
			v.Add(0, 1, 2, 3)
			a.DeletionVector = m.vector(v)
		}))
	})},
	{DataKept, "a merge that says so of itself", cutAt(changed, edited(changed, func(actions []delta.Action) []delta.Action {
		var out []delta.Action
		for _, a := range actions {
			switch {
			case a.Add != nil:
				a.Add.DataChange = false
			case a.Remove != nil:
				a.Remove.DataChange = false
			case a.CDC != nil:
				continue
			}
			out = append(out, a)
		}
		return out
	}))},
	{FeedRows, "a file of changes is missing its rows", cutAt(changed, func(m *made) {
		m.feed(func(schema *arrow.Schema, columns []arrow.Array, n int64) ([]arrow.Array, int64) {
			for i, c := range columns {
				columns[i] = array.NewSlice(c, 0, n-1)
			}
			return columns, n - 1
		})
	})},
	{FeedForm, "a kind that is none", cutAt(changed, func(m *made) {
		m.feed(func(schema *arrow.Schema, columns []arrow.Array, n int64) ([]arrow.Array, int64) {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			for range n {
				b.Append("upsert")
			}
			columns[len(columns)-1] = b.NewArray()
			return columns, n
		})
	})},
	{FeedForm, "dataChange", func(m *made) {
		m.text(changed, func(s string) string {
			before, after, _ := strings.Cut(s, `{"cdc":`)
			return before + `{"cdc":` + strings.Replace(after, `"dataChange":false`, `"dataChange":true`, 1)
		})
	}},
	{RowIDMissing, "an add without", edited(appended, adds(func(a *delta.Add) { a.CommitVersion = nil }))},
	{RowIDRange, "above the mark", cutAt(more, edited(more, adds(func(a *delta.Add) { *a.BaseRowID += 10 })))},
	{RowIDRange, "ids of others", cutAt(more, edited(more, adds(func(a *delta.Add) { *a.BaseRowID -= 4 })))},
	{RowIDMark, "it falls", func(m *made) {
		m.cut(shrunk)
		m.edit(shrunk, appendAction(delta.Action{Domain: &delta.DomainMetadata{Domain: "delta.rowTracking", Configuration: `{"rowIdHighWaterMark":4}`}}))
	}},
	{RowIDVersion, "of a later version", cutAt(more, edited(more, adds(func(a *delta.Add) { *a.CommitVersion = 9 })))},
	{RowIDVersion, "other ids under another vector", cutAt(shrunk, edited(shrunk, adds(func(a *delta.Add) { *a.CommitVersion = 2 })))},
	{RowIDStable, "a row that was copied gets another id", func(m *made) {
		m.rewritten(laidOut, delta.RowIDColumn, longs(func(i int, old *int64) *int64 {
			if i == 0 {
				*old = 0 // that of the deleted row
			}
			return old
		}))
	}},
	{RowIDStable, "a row that was copied gets another version", func(m *made) {
		m.rewritten(laidOut, delta.RowCommitVersionColumn, longs(func(i int, old *int64) *int64 {
			*old = 0
			return old
		}))
	}},
	{RowIDUnique, "one id for all", func(m *made) {
		m.edit(laidOut, info(func(i *delta.CommitInfo) { i.Tags["delta.rowTracking.preserved"] = "false" }))
		m.rewritten(laidOut, delta.RowIDColumn, longs(func(int, *int64) *int64 { one := int64(1); return &one }))
	}},
	{RowGenerated, "another value", cutAt(appended, func(m *made) {
		m.rewritten(appended, "twice", longs(func(_ int, old *int64) *int64 { *old++; return old }))
	})},
	{RowIdentity, "a number between steps", cutAt(appended, func(m *made) {
		m.rewritten(appended, "n", longs(func(i int, old *int64) *int64 { *old += int64(i % 2); return old }))
	})},
	{RowIdentity, "beyond the mark", cutAt(appended, func(m *made) {
		m.rewritten(appended, "n", longs(func(_ int, old *int64) *int64 { *old += 5; return old }))
	})},
	{RowIdentity, "one number for all", cutAt(appended, func(m *made) {
		m.rewritten(appended, "n", longs(func(_ int, old *int64) *int64 { *old = 10; return old }))
	})},
	{RowLength, "a text that is too long", cutAt(appended, func(m *made) {
		m.rewritten(appended, "name", func(old arrow.Array) arrow.Array {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			for range old.Len() {
				b.Append(strings.Repeat("x", 41))
			}
			return b.NewArray()
		})
	})},
	{FileColumns, "another field id", cutAt(appended, func(m *made) {
		var stats string
		m.edit(appended, adds(func(a *delta.Add) { stats, a.Tags = a.Stats, nil }))
		m.rewrite(appended, func(s *arrow.Schema, columns []arrow.Array) (*arrow.Schema, []arrow.Array) {
			fields := s.Fields()
			fields[0].Metadata, fields[3].Metadata = fields[3].Metadata, fields[0].Metadata
			return arrow.NewSchema(fields, nil), columns
		})
		m.edit(appended, info(func(i *delta.CommitInfo) { i.EngineInfo = "idem" }))
		m.edit(appended, adds(func(a *delta.Add) { a.Stats = stats }))
	})},
	{StatsColumns, "none of a column", cutAt(appended, edited(appended, adds(func(a *delta.Add) {
		a.Stats = strings.Replace(a.Stats, `"nullCount":{"`, `"nullCount":{"x`, 1)
	})))},
	{CompactionEqual, "without a remove", func(m *made) {
		data, err := delta.EncodeActions(m.commit(more)[1:])
		require.NoError(m.t, err)
		require.NoError(m.t, m.store.Put(m.t.Context(), delta.CompactionKey(more, shrunk), data))
	}},
}

// vector writes a vector into a file of its own.
func (m *made) vector(v *delta.Vector) *delta.DeletionVector {
	data := v.Bytes()
	key, path, err := delta.NewVectorFile("61d16c75-6994-46b7-a15b-8b538852e50e")
	require.NoError(m.t, err)
	require.NoError(m.t, m.store.Put(m.t.Context(), key, delta.AppendVectorFrame([]byte{delta.VectorFileVersion}, data)))
	one := int32(1)
	return &delta.DeletionVector{StorageType: "u", PathOrInlineDV: path, Offset: &one, SizeInBytes: int32(len(data)), Cardinality: v.Cardinality()}
}

// feed writes the file of changes anew.
func (m *made) feed(change func(*arrow.Schema, []arrow.Array, int64) ([]arrow.Array, int64)) {
	snap := m.snapshot(changed)
	m.edit(changed, func(actions []delta.Action) []delta.Action {
		for _, a := range actions {
			if a.CDC != nil {
				a.CDC.Size = m.copyFile(a.CDC.Path, a.CDC.Size, snap, change)
			}
		}
		return actions
	})
}

func TestEachBrokenRuleOfAFeatureIsCaughtByThatRule(t *testing.T) {
	whole := newMade(t, everything)
	report, err := Check(t.Context(), whole.store)
	require.NoError(t, err)
	require.NoError(t, report.Err(), "the table that is broken below keeps every rule")
	require.Equal(t, &Report{Version: laidOut, Files: report.Files, Rows: 6}, report)
	for _, c := range slices.Concat(protocolTwins, rowTwins, dropTwins) {
		t.Run(string(c.rule)+"/"+c.why, func(t *testing.T) {
			m := whole.copied(t)
			c.damage(m)
			report, err := Check(t.Context(), m.store)
			require.NoError(t, err)
			require.NotEmpty(t, report.Findings)
			for _, f := range report.Findings {
				require.Equal(t, c.rule, f.Rule, "%s", f)
			}
		})
	}
}
