package idem_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/maintain"
)

// commit puts the next version by hand, as another engine would.
func (f *fixture) commit(operation string, actions ...delta.Action) {
	v := f.other().Version() + 1
	info := delta.Action{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: operation, EngineInfo: "another", TxnID: fmt.Sprintf("%s-%d", operation, v)}}
	data, err := delta.EncodeCommit(append([]delta.Action{info}, actions...))
	require.NoError(f.t, err)
	require.NoError(f.t, f.mem.PutIfAbsent(f.t.Context(), delta.CommitKey(v), data))
}

// compact copies every file under another name, in one commit that changes no row.
func (f *fixture) compact() {
	var actions []delta.Action
	for a := range f.other().Snapshot().Files() {
		data, err := f.mem.Get(f.t.Context(), a.Key, 0)
		require.NoError(f.t, err)
		moved := *a
		moved.Key = strings.TrimSuffix(a.Key, ".parquet") + "-compacted.parquet"
		moved.Path, moved.DataChange, moved.Tags = delta.EncodePath(moved.Key), false, nil
		require.NoError(f.t, f.mem.PutIfAbsent(f.t.Context(), moved.Key, data))
		at, size := int64(1), a.Size
		actions = append(actions, delta.Action{Add: &moved}, delta.Action{Remove: &delta.Remove{
			Path: a.Path, DeletionTimestamp: &at, ExtendedMetadata: true, PartitionValues: a.PartitionValues, Size: &size,
		}})
	}
	f.commit("OPTIMIZE", actions...)
}

// metadata commits a change of the table's definition.
func (f *fixture) metadata(change func(m *delta.Metadata)) {
	m := *f.other().Snapshot().Metadata()
	m.Configuration = map[string]string{}
	maps.Copy(m.Configuration, f.other().Snapshot().Metadata().Configuration)
	change(&m)
	f.commit("ALTER TABLE", delta.Action{Metadata: &m})
}

var raced = []struct {
	name string
	run  func(ctx context.Context, t *idem.Table) (*idem.Result, error)
	want []string
}{
	{"Append", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Append(ctx, rowsOf(order{"d3", 9, 9, "i"}), idem.Append{Reason: "test"})
	}, []string{"d1/1/1/a", "d1/2/1/b", "d2/3/1/c", "d3/9/9/i"}},
	{"AppendWithTxn", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.AppendWithTxn(ctx, rowsOf(order{"d3", 9, 9, "i"}), tagged)
	}, []string{"d1/1/1/a", "d1/2/1/b", "d2/3/1/c", "d3/9/9/i"}},
	{"ReplaceWhere", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceWhere(ctx, rowsOf(order{"d1", 2, 5, "B"}), idem.ReplaceWhere{Where: "id = 2"})
	}, []string{"d1/1/1/a", "d1/2/5/B", "d2/3/1/c"}},
	{"ReplaceAll", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.ReplaceAll(ctx, rowsOf(order{"d1", 2, 5, "B"}), idem.ReplaceAll{})
	}, []string{"d1/2/5/B"}},
	{"Merge", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Merge(ctx, rowsOf(order{"d1", 2, 5, "B"}, order{"d4", 4, 1, "d"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	}, []string{"d1/1/1/a", "d1/2/5/B", "d2/3/1/c", "d4/4/1/d"}},
	{"Delete", func(ctx context.Context, t *idem.Table) (*idem.Result, error) {
		return t.Delete(ctx, idem.Delete{Where: "id = 2"})
	}, []string{"d1/1/1/a", "d2/3/1/c"}},
}

func begun(t *testing.T) *fixture {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}, order{"d2", 3, 1, "c"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	return f
}

func TestACompactionLandsFirst(t *testing.T) {
	for _, v := range raced {
		t.Run(v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(func(*idem.Table) { f.compact() })
			res, err := v.run(t.Context(), f.table)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.ElementsMatch(t, v.want, f.rows(), "no row is doubled, none comes back")
		})
	}
}

// A blind append that landed first comes before a write, or after it if the option allows that.
func TestIsolation(t *testing.T) {
	for level, want := range map[idem.Isolation][]string{
		idem.Serializable:      {"d1/1/1/a", "d2/3/1/c"},
		idem.WriteSerializable: {"d1/1/1/a", "d1/2/9/late", "d2/3/1/c"},
	} {
		f := begun(t)
		table, err := idem.OpenStore(t.Context(), f.store, idem.Options{Parallelism: 1, Isolation: level})
		require.NoError(t, err)
		f.raced(func(other *idem.Table) {
			_, err := other.Append(t.Context(), rowsOf(order{"d1", 2, 9, "late"}), idem.Append{Reason: "test"})
			require.NoError(t, err)
		})
		res, err := table.Delete(t.Context(), idem.Delete{Where: "id = 2"})
		require.NoError(t, err)
		require.Equal(t, idem.Committed, res.Outcome)
		require.ElementsMatch(t, want, f.rows())
	}
}

func TestTheDefinitionChangesFirst(t *testing.T) {
	schema := func(change func(s *delta.Struct)) func(*delta.Metadata) {
		return func(m *delta.Metadata) {
			s, err := delta.ParseSchema(m.SchemaString)
			require.NoError(t, err)
			change(s)
			m.SchemaString = s.JSON()
		}
	}
	for _, c := range []struct {
		name     string
		change   func(*delta.Metadata)
		conflict bool
	}{
		{"a nullable column is added", schema(func(s *delta.Struct) {
			s.Fields = append(s.Fields, delta.Field{Name: "extra", Type: delta.Long, Nullable: true})
		}), false},
		{"a column must be filled from now on", schema(func(s *delta.Struct) { s.Fields[s.Index("id")].Nullable = false }), true},
		{"a property changes", func(m *delta.Metadata) { m.Configuration["delta.checkpointInterval"] = "100" }, false},
		{"a comment of the users changes", func(m *delta.Metadata) { m.Configuration["owner"] = "somebody" }, false},
		{"the table is dropped and made anew", func(m *delta.Metadata) { m.ID = "another" }, true},
	} {
		for _, v := range raced {
			t.Run(c.name+"/"+v.name, func(t *testing.T) {
				f := begun(t)
				f.raced(func(*idem.Table) { f.metadata(c.change) })
				res, err := v.run(t.Context(), f.table)
				if c.conflict {
					require.ErrorIs(t, err, idem.ErrConflict)
					require.EqualValues(t, 2, f.other().Version(), "nothing of ours is in the log")
					f.foreign = strings.HasPrefix(c.name, "the table")
					return
				}
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.ElementsMatch(t, v.want, f.rows())
			})
		}
	}
}

// Files that were written before columns had ids are in no commit after: they lack the ids, and their digests do
// not say of which columns they are.
func TestColumnMappingIsTurnedOnFirst(t *testing.T) {
	for _, v := range raced {
		t.Run(v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(func(o *idem.Table) {
				_, err := maintain.EnableFeature(t.Context(), o, maintain.Enable{Feature: "columnMapping"})
				require.NoError(t, err)
			})
			_, err := v.run(t.Context(), f.table)
			require.ErrorIs(t, err, idem.ErrConflict)
			res, err := v.run(t.Context(), f.table)
			require.NoError(t, err)
			require.Equal(t, idem.Committed, res.Outcome)
			require.Equal(t, delta.MappingName, f.other().Snapshot().Mapping())
			require.ElementsMatch(t, v.want, f.rows())
		})
	}
}

// columnsOf are the columns of a data file.
func (f *fixture) columnsOf(a *delta.Add) []string {
	r, err := parquetio.From(f.t.Context()).Open(f.t.Context(), parquetio.Object(f.t.Context(), f.mem, a.Key, a.Size), parquetio.ReadOptions{})
	require.NoError(f.t, err)
	defer r.Close()
	s, _, err := parquetio.Schema(r)
	require.NoError(f.t, err)
	var names []string
	for _, c := range s.Fields() {
		names = append(names, c.Name)
	}
	return names
}

// What a feature asks of files or rows holds for those that were prepared before it came, too.
func TestAFeatureForFilesOrRowsAppearsFirst(t *testing.T) {
	for name, c := range map[string]struct {
		before func(f *fixture)
		add    func(f *fixture, o *idem.Table)
		after  func(f *fixture, before map[string]bool)
	}{
		"partition columns in files": {
			add: func(f *fixture, o *idem.Table) {
				_, err := maintain.EnableFeature(f.t.Context(), o, maintain.Enable{Feature: "materializePartitionColumns"})
				require.NoError(f.t, err)
			},
			after: func(f *fixture, before map[string]bool) {
				for a := range f.other().Snapshot().Files() {
					if !before[a.Key] {
						require.Contains(f.t, f.columnsOf(a), "day", a.Path)
					}
				}
			},
		},
		"a constraint that had slept": {
			before: func(f *fixture) {
				f.metadata(func(m *delta.Metadata) { m.Configuration["delta.constraints.few"] = "seq < 5" })
				_, err := f.table.Refresh(f.t.Context())
				require.NoError(f.t, err)
			},
			add: func(f *fixture, _ *idem.Table) {
				p := *f.other().Snapshot().Protocol()
				require.Equal(f.t, 2, p.MinWriterVersion)
				p.MinWriterVersion = 3
				f.commit("UPGRADE", delta.Action{Protocol: &p})
			},
		},
	} {
		for _, v := range raced {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				f := begun(t)
				if c.before != nil {
					c.before(f)
				}
				before := map[string]bool{}
				for a := range f.other().Snapshot().Files() {
					before[a.Key] = true
				}
				f.raced(func(o *idem.Table) { c.add(f, o) })
				_, err := v.run(t.Context(), f.table)
				require.ErrorIs(t, err, idem.ErrConflict)
				require.ErrorContains(t, err, "was added")
				res, err := v.run(t.Context(), f.table)
				if c.after == nil && v.name != "Delete" {
					require.ErrorIs(t, err, idem.ErrInput, "the row breaks it")
					return
				}
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.ElementsMatch(t, v.want, f.rows())
				if c.after != nil {
					c.after(f, before)
				}
			})
		}
	}
}

// Deletion vectors that go, and times of commits, are nothing to rows that are added.
func TestAPropertyThatIsNothingToAnAppendChangesFirst(t *testing.T) {
	dropped := func(feature string) func(*fixture, *idem.Table) {
		return func(f *fixture, o *idem.Table) {
			_, err := maintain.DropFeature(f.t.Context(), o, maintain.Drop{Feature: feature})
			require.NoError(f.t, err)
		}
	}
	for name, by := range map[string]func(f *fixture, o *idem.Table){
		"vectors are dropped":    dropped("deletionVectors"),
		"timestamps are dropped": dropped("inCommitTimestamp"),
		"no row may be taken away, since": func(f *fixture, _ *idem.Table) {
			f.metadata(func(m *delta.Metadata) { m.Configuration["delta.appendOnly"] = "true" })
		},
	} {
		for _, v := range raced[:2] {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				f := newFixture(t, "delta.enableDeletionVectors", "true", "delta.enableInCommitTimestamps", fmt.Sprint(name == "timestamps are dropped"))
				_, err := f.table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}, order{"d1", 2, 1, "b"}, order{"d2", 3, 1, "c"}), idem.Append{Reason: "test"})
				require.NoError(t, err)
				f.raced(func(o *idem.Table) { by(f, o) })
				res, err := v.run(t.Context(), f.table)
				require.NoError(t, err)
				require.Equal(t, idem.Committed, res.Outcome)
				require.ElementsMatch(t, v.want, f.rows())
			})
		}
	}
}

func TestAWriterFeatureAppearsFirst(t *testing.T) {
	for _, v := range raced {
		t.Run(v.name, func(t *testing.T) {
			f := begun(t)
			f.raced(func(*idem.Table) {
				f.commit("UPGRADE", delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"appendOnly", "invariants", "collations", "domainMetadata"}}})
			})
			_, err := v.run(t.Context(), f.table)
			require.ErrorIs(t, err, idem.ErrUnsupported)
			require.ErrorContains(t, err, "collations")
			require.EqualValues(t, 2, f.other().Version())
		})
	}
}

func TestAPathAddedTwiceCountsOnce(t *testing.T) {
	f := begun(t)
	before := f.fingerprint()
	var again []delta.Action
	for a := range f.other().Snapshot().Files() {
		twice := *a
		again = append(again, delta.Action{Add: &twice})
	}
	f.commit("WRITE", again...) // what another engine leaves after a lost answer
	require.Equal(t, before, f.fingerprint())
	require.Len(t, f.rows(), 3)
	res, err := f.other().Delete(t.Context(), idem.Delete{Where: "id = 1"})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Deleted)
	require.Len(t, f.rows(), 2)
}

func TestAnEmptyStringAsPartitionValueIsNull(t *testing.T) {
	f := newFixture(t)
	_, err := f.table.Append(t.Context(), rowsOf(order{"", 1, 1, "a"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	require.Equal(t, []string{"NULL/1/1/a"}, f.rows())
	f.foreign = true // idem would write null
	empty := ""
	for a := range f.other().Snapshot().Files() { // as another engine writes it
		data, err := f.mem.Get(t.Context(), a.Key, 0)
		require.NoError(t, err)
		theirs := *a
		theirs.Key, theirs.Tags = "theirs.parquet", nil
		theirs.Path, theirs.PartitionValues = theirs.Key, map[string]*string{"day": &empty}
		require.NoError(t, f.mem.PutIfAbsent(t.Context(), theirs.Key, data))
		f.commit("WRITE", delta.Action{Add: &theirs})
	}
	require.Equal(t, []string{"NULL/1/1/a", "NULL/1/1/a"}, f.rows())
	_, err = f.other().ReplaceWhere(t.Context(), rowsOf(order{"", 2, 1, "b"}), idem.ReplaceWhere{Where: "day IS NULL"})
	require.NoError(t, err)
	require.Equal(t, []string{"NULL/2/1/b"}, f.rows(), "both are in the slice")
}
