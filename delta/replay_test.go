package delta_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
)

const rootURL = "file:///lake/orders"

const plainSchema = `{"type":"struct","fields":[{"name":"Day","type":"date","nullable":true,"metadata":{}},{"name":"c","type":"long","nullable":true,"metadata":{}}]}`

func protocolAction() delta.Action { return delta.Action{Protocol: ptr(versions(1, 2))} }

func metadataAction(configuration map[string]string) delta.Action {
	return delta.Action{Metadata: &delta.Metadata{ID: "i", Provider: "parquet", SchemaString: plainSchema, PartitionColumns: []string{"day"}, Configuration: configuration}}
}

func base() []delta.Action { return []delta.Action{protocolAction(), metadataAction(nil)} }

func snapshotWith(t *testing.T, configuration map[string]string) *delta.Snapshot {
	t.Helper()
	return replayed(t, []delta.Action{protocolAction(), metadataAction(configuration)})
}

// replayed is the snapshot after commits 0, 1, …
func replayed(t require.TestingT, commits ...[]delta.Action) *delta.Snapshot {
	r := delta.NewReplay(rootURL)
	for v, actions := range commits {
		require.NoError(t, r.Commit(int64(v), actions))
	}
	s, err := r.Snapshot(int64(len(commits) - 1))
	require.NoError(t, err)
	return s
}

func add(path string) delta.Action {
	return delta.Action{Add: &delta.Add{Path: path, Size: 1, DataChange: true, PartitionValues: map[string]*string{"Day": nil}}}
}

func remove(path string) delta.Action {
	return delta.Action{Remove: &delta.Remove{Path: path, DataChange: true, DeletionTimestamp: ptr(int64(1000))}}
}

func vector(id string) *delta.DeletionVector {
	if id == "" {
		return nil
	}
	return &delta.DeletionVector{StorageType: "u", PathOrInlineDV: id}
}

func addWith(path, id string) delta.Action {
	a := add(path)
	a.Add.DeletionVector = vector(id)
	return a
}

func removeWith(path, id string) delta.Action {
	a := remove(path)
	a.Remove.DeletionVector = vector(id)
	return a
}

// describe puts a snapshot's files into words.
func describe(s *delta.Snapshot) (live, dead []string) {
	for a := range s.Files() {
		live = append(live, a.Key+"|"+a.DeletionVector.ID())
	}
	for r := range s.Tombstones() {
		dead = append(dead, r.Key+"|"+r.DeletionVector.ID())
	}
	return live, dead
}

func TestReconciliation(t *testing.T) {
	type commits = [][]delta.Action
	for _, c := range []struct {
		why        string
		commits    commits
		live, dead []string
	}{
		{"files are sorted by key", commits{{add("b"), add("a")}}, []string{"a|", "b|"}, nil},
		{"a remove leaves a tombstone", commits{{add("a")}, {remove("a")}}, nil, []string{"a|"}},
		{"add, remove, add: the last counts", commits{{add("a")}, {remove("a")}, {add("a")}}, []string{"a|"}, nil},
		{"a remove of what is not live", commits{{remove("a")}}, nil, []string{"a|"}},
		{"one path added twice counts once", commits{{add("a")}, {add("a")}}, []string{"a|"}, nil},
		{"a new vector, add before remove", commits{{add("a")}, {addWith("a", "x"), remove("a")}}, []string{"a|ux"}, []string{"a|"}},
		{"a new vector, remove before add", commits{{add("a")}, {remove("a"), addWith("a", "x")}}, []string{"a|ux"}, []string{"a|"}},
		{"a new vector without a remove replaces", commits{{add("a")}, {addWith("a", "x")}}, []string{"a|ux"}, nil},
		{"a remove under another vector leaves the file live", commits{{addWith("a", "x")}, {removeWith("a", "y")}}, []string{"a|ux"}, []string{"a|uy"}},
		{"tombstones of several vectors", commits{{add("a")}, {remove("a"), addWith("a", "x")}, {removeWith("a", "x")}}, nil, []string{"a|", "a|ux"}},
		{"back to an old vector", commits{{addWith("a", "x")}, {removeWith("a", "x"), addWith("a", "y")}, {removeWith("a", "y"), addWith("a", "x")}}, []string{"a|ux"}, []string{"a|uy"}},
		{"paths are equal once decoded", commits{{add("a%20b")}, {remove("a b")}}, nil, []string{"a b|"}},
		{"relative and absolute are one", commits{{add("a")}, {remove("file:/lake/orders/a")}}, nil, []string{"a|"}},
		{"a file elsewhere that is gone", commits{{add("/x/a")}, {remove("file:///x/a")}}, nil, []string{"|"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.commits[0] = append(c.commits[0], base()...)
			s := replayed(t, c.commits...)
			live, dead := describe(s)
			require.Equal(t, c.live, live)
			require.Equal(t, c.dead, dead)
			require.Equal(t, len(c.live), s.NumFiles())
			require.EqualValues(t, len(c.live), s.SizeInBytes())
		})
	}
}

func TestReplayRefuses(t *testing.T) {
	for _, c := range []struct {
		why     string
		is      error
		actions []delta.Action
	}{
		{"no protocol", delta.ErrCorrupt, []delta.Action{metadataAction(nil)}},
		{"no metaData", delta.ErrCorrupt, []delta.Action{protocolAction()}},
		{"two metaData", delta.ErrCorrupt, append(base(), metadataAction(nil))},
		{"two adds of one file spelled differently", delta.ErrCorrupt, append(base(), add("a b"), add("a%20b"))},
		{"two removes of one file", delta.ErrCorrupt, append(base(), remove("a b"), remove("a%20b"))},
		{"add and remove of one file", delta.ErrCorrupt, append(base(), add("a b"), remove("a%20b"))},
		{"two txns", delta.ErrCorrupt, append(base(), delta.Action{Txn: &delta.Txn{}}, delta.Action{Txn: &delta.Txn{}})},
		{"a path that climbs", delta.ErrCorrupt, append(base(), add("../a"))},
		{"a file of the log", delta.ErrCorrupt, append(base(), remove("_delta_log/00000000000000000000.json"))},
		{"a file of the log, absolutely", delta.ErrCorrupt, append(base(), add("file:/lake/orders/_delta%5Flog/x"))},
		{"a live file elsewhere", delta.ErrUnsupported, append(base(), add("s3://other/a"))},
		{"a partition column that is no column", delta.ErrCorrupt, []delta.Action{protocolAction(),
			{Metadata: &delta.Metadata{Provider: "parquet", SchemaString: plainSchema, PartitionColumns: []string{"x"}}}}},
		{"a partition column twice", delta.ErrCorrupt, []delta.Action{protocolAction(),
			{Metadata: &delta.Metadata{Provider: "parquet", SchemaString: plainSchema, PartitionColumns: []string{"day", "DAY"}}}}},
		{"a schema that is no JSON", delta.ErrCorrupt, []delta.Action{protocolAction(), {Metadata: &delta.Metadata{SchemaString: "{"}}}},
		{"the feature is the reason, not the type that it brings", delta.ErrUnsupported, []delta.Action{
			{Protocol: ptr(both([]string{"geospatial"}))}, {Metadata: &delta.Metadata{SchemaString: strings.Replace(plainSchema, `"long"`, `"geometry(4326)"`, 1)}}}},
	} {
		t.Run(c.why, func(t *testing.T) {
			r := delta.NewReplay(rootURL)
			err := r.Commit(0, c.actions)
			if err == nil {
				_, err = r.Snapshot(0)
			}
			require.ErrorIs(t, err, c.is)
		})
	}
}

func TestVersionsAscendWithoutGap(t *testing.T) {
	r := delta.NewReplay(rootURL)
	r.CheckpointAt(7)
	require.ErrorIs(t, r.Checkpoint(delta.Action{CheckpointMetadata: &delta.CheckpointMetadata{Version: 6}}), delta.ErrCorrupt, "of another version")

	r = delta.NewReplay(rootURL)
	_, err := r.Snapshot(0)
	require.ErrorIs(t, err, delta.ErrNotTable, "nothing was seen")
	require.ErrorIs(t, r.Commit(1, base()), delta.ErrCorrupt, "a log begins at 0")
	require.NoError(t, r.Commit(0, base()))
	require.ErrorIs(t, r.Commit(0, nil), delta.ErrCorrupt, "not twice")
	require.ErrorIs(t, r.Commit(2, nil), delta.ErrCorrupt, "not over a gap")
	require.ErrorIs(t, r.CommitRange(2, 5, nil), delta.ErrCorrupt)
	require.NoError(t, r.CommitRange(1, 4, nil))
	_, err = r.Snapshot(3)
	require.ErrorIs(t, err, delta.ErrCorrupt)
	s, err := r.Snapshot(4)
	require.NoError(t, err)
	_, err = s.Advance(6, nil)
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.Error(t, r.Checkpoint(add("a")), "checkpoints come first")

	r = delta.NewReplay(rootURL)
	r.CheckpointAt(7)
	require.NoError(t, r.Checkpoint(delta.Action{CheckpointMetadata: &delta.CheckpointMetadata{Version: 7}}))
	for _, a := range base() {
		require.NoError(t, r.Checkpoint(a))
	}
	require.ErrorIs(t, r.Commit(9, nil), delta.ErrCorrupt)
	require.NoError(t, r.Commit(8, nil))
	s, err = r.Snapshot(8)
	require.NoError(t, err)
	require.EqualValues(t, 8, s.Version())
}

func TestAFailedCommitChangesNothing(t *testing.T) {
	r := delta.NewReplay(rootURL)
	require.NoError(t, r.Commit(0, append(base(), add("a"))))
	require.Error(t, r.Commit(1, []delta.Action{add("b"), add("../c")}))
	s, err := r.Snapshot(0)
	require.NoError(t, err)
	live, _ := describe(s)
	require.Equal(t, []string{"a|"}, live)
}

func TestCheckpointRefuses(t *testing.T) {
	for _, c := range []struct {
		why     string
		actions []delta.Action
	}{
		{"no metaData: older ones are no substitute", []delta.Action{protocolAction()}},
		{"two protocols", append(base(), protocolAction())},
		{"two vectors of one file", append(base(), add("a"), add("b"), addWith("a", "x"), add("c"))},
		{"both live and removed", append(base(), add("a"), remove("a"))},
		{"climbs", append(base(), remove("../a"))},
	} {
		r := delta.NewReplay(rootURL)
		var err error
		for _, a := range c.actions {
			if err == nil {
				err = r.Checkpoint(a)
			}
		}
		if err == nil {
			_, err = r.Snapshot(3)
		}
		require.ErrorIs(t, err, delta.ErrCorrupt, c.why)
		_, err = r.Snapshot(3)
		require.ErrorIs(t, err, delta.ErrCorrupt, "asking again does not help: "+c.why)
	}
}

func TestTxnsAndDomains(t *testing.T) {
	txn := func(app string, v int64) delta.Action { return delta.Action{Txn: &delta.Txn{AppID: app, Version: v}} }
	domain := func(name, text string, removed bool) delta.Action {
		return delta.Action{Domain: &delta.DomainMetadata{Domain: name, Configuration: text, Removed: removed}}
	}
	s := replayed(t,
		append(base(), txn("b", 5), txn("a", 9), domain("x", "1", false), domain("y", "2", false)),
		[]delta.Action{txn("a", 3), domain("x", "1", true), domain("y", "3", false)})
	got, ok := s.Txn("a")
	require.True(t, ok)
	require.EqualValues(t, 3, got.Version, "the last record counts, also a lower one")
	_, ok = s.Txn("c")
	require.False(t, ok)
	require.Equal(t, []delta.Txn{{AppID: "a", Version: 3}, {AppID: "b", Version: 5}}, slices.Collect(s.Txns()))
	require.Equal(t, []delta.DomainMetadata{{Domain: "y", Configuration: "3"}}, slices.Collect(s.Domains()))
}

func TestDefinition(t *testing.T) {
	s := replayed(t, append(base(), add("a")))
	require.True(t, s.HasSchema())
	require.Equal(t, []string{"Day"}, s.PartitionColumns(), "as the schema spells it")
	require.Len(t, s.ArrowSchema().Fields(), 2)
	require.Equal(t, "c", s.DataSchema().Field(0).Name)
	require.Len(t, s.DataSchema().Fields(), 1)
	next, err := s.Advance(1, []delta.Action{metadataAction(map[string]string{"k": "v"})})
	require.NoError(t, err)
	require.Same(t, s.Schema(), next.Schema(), "the schema is parsed once")
	_, changed := next.Property("k")
	require.True(t, changed)

	bare := replayed(t, []delta.Action{protocolAction(), {Metadata: &delta.Metadata{Provider: "parquet"}}, add("a")})
	require.False(t, bare.HasSchema())
	require.Empty(t, bare.Schema().Fields)
	require.Equal(t, 1, bare.NumFiles(), "the state stands without a schema")
}

func TestPartitionValue(t *testing.T) {
	s := replayed(t, base())
	for _, c := range []struct {
		why    string
		values map[string]*string
		want   *string
		err    error
	}{
		{"a value", map[string]*string{"Day": ptr("2024-01-02")}, ptr("2024-01-02"), nil},
		{"as the metadata spells it", map[string]*string{"day": ptr("2024-01-02")}, ptr("2024-01-02"), nil},
		{"NULL", map[string]*string{"Day": nil}, nil, nil},
		{"empty is NULL", map[string]*string{"Day": ptr("")}, nil, nil},
		{"absent", map[string]*string{"other": nil}, nil, delta.ErrCorrupt},
	} {
		got, err := s.PartitionValue(&delta.Add{Path: "a", PartitionValues: c.values}, "Day")
		require.ErrorIs(t, err, c.err, c.why)
		require.Equal(t, c.want, got, c.why)
	}
}

func TestCheckpointActions(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	ago := func(d time.Duration) *int64 { return ptr(now.Add(-d).UnixMilli()) }
	dead := func(path string, at *int64) delta.Action {
		return delta.Action{Remove: &delta.Remove{Path: path, DeletionTimestamp: at, DataChange: true, Stats: "{}", Tags: map[string]string{"t": "1"}}}
	}
	meta := metadataAction(map[string]string{"delta.deletedFileRetentionDuration": "interval 1 day", "delta.setTransactionRetentionDuration": "interval 1 hour"})
	s := replayed(t, []delta.Action{
		protocolAction(), meta, add("live"),
		dead("young", ago(time.Hour)), dead("on the day", ago(24*time.Hour)), dead("without a time", nil),
		{Txn: &delta.Txn{AppID: "fresh", LastUpdated: ago(time.Minute)}},
		{Txn: &delta.Txn{AppID: "expired", LastUpdated: ago(time.Hour)}},
		{Txn: &delta.Txn{AppID: "without a time"}},
		{Domain: &delta.DomainMetadata{Domain: "d"}},
	})
	var got []string
	for a := range s.CheckpointActions(now) {
		switch {
		case a.Protocol != nil:
			got = append(got, "protocol")
		case a.Metadata != nil:
			got = append(got, "metaData")
		case a.Txn != nil:
			got = append(got, "txn "+a.Txn.AppID)
		case a.Domain != nil:
			got = append(got, "domain "+a.Domain.Domain)
		case a.Add != nil:
			require.False(t, a.Add.DataChange)
			got = append(got, "add "+a.Add.Path)
		case a.Remove != nil:
			require.False(t, a.Remove.DataChange)
			require.Empty(t, a.Remove.Stats)
			require.Empty(t, a.Remove.Tags)
			got = append(got, "remove "+a.Remove.Path)
		}
	}
	require.Equal(t, []string{"protocol", "metaData", "txn fresh", "txn without a time", "domain d", "add live", "remove young"}, got)
	for a := range s.Files() {
		require.True(t, a.DataChange, "the snapshot itself is as the log has it")
	}
	for n := range len(got) { // a caller may leave early
		seen := 0
		for range s.CheckpointActions(now) {
			if seen++; seen > n {
				break
			}
		}
		require.Equal(t, n+1, seen)
	}
}

// model is the naive twin of a snapshot.
type model struct {
	live map[string]string // vector by path
	dead map[string]bool   // path|vector
}

func (m model) clone() model { return model{maps.Clone(m.live), maps.Clone(m.dead)} }

func (m model) apply(actions []delta.Action) {
	for _, a := range actions {
		if r := a.Remove; r != nil {
			m.dead[r.Path+"|"+r.DeletionVector.ID()] = true
			if v, ok := m.live[r.Path]; ok && v == r.DeletionVector.ID() {
				delete(m.live, r.Path)
			}
		}
	}
	for _, a := range actions {
		if a.Add != nil {
			m.live[a.Add.Path] = a.Add.DeletionVector.ID()
			delete(m.dead, a.Add.Path+"|"+a.Add.DeletionVector.ID())
		}
	}
}

func (m model) equals(t require.TestingT, s *delta.Snapshot) {
	live, dead := describe(s)
	var want []string
	for _, path := range slices.Sorted(maps.Keys(m.live)) {
		want = append(want, path+"|"+m.live[path])
		_, ok := s.Live(path)
		require.True(t, ok)
	}
	require.Equal(t, want, live)
	require.ElementsMatch(t, slices.Collect(maps.Keys(m.dead)), dead)
	require.Equal(t, len(want), s.NumFiles())
	require.EqualValues(t, len(want), s.SizeInBytes())
}

// drawCommit draws the file actions of a legal commit, in any order.
func drawCommit(t *rapid.T) []delta.Action {
	var actions []delta.Action
	ids := rapid.SampledFrom([]string{"", "x", "y"})
	for i := range rapid.IntRange(0, 6).Draw(t, "paths") {
		path, id, other := strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "path")+10*i), ids.Draw(t, "vector"), ids.Draw(t, "old vector")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			actions = append(actions, addWith(path, id))
		case 1:
			actions = append(actions, removeWith(path, id))
		default:
			actions = append(actions, addWith(path, id))
			if other != id {
				actions = append(actions, removeWith(path, other))
			}
		}
	}
	return rapid.Permutation(actions).Draw(t, "order")
}

func TestSnapshotEqualsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commits := [][]delta.Action{base()}
		m := model{map[string]string{}, map[string]bool{}}
		snapshots, models := []*delta.Snapshot{replayed(t, base())}, []model{m.clone()}
		for v := 1; v <= rapid.IntRange(1, 8).Draw(t, "commits"); v++ {
			actions := drawCommit(t)
			commits = append(commits, actions)
			m.apply(actions)
			next, err := snapshots[v-1].Advance(int64(v), actions)
			require.NoError(t, err)
			snapshots, models = append(snapshots, next), append(models, m.clone())
		}
		for v, s := range snapshots {
			models[v].equals(t, s) // later commits left it as it was
			models[v].equals(t, replayed(t, commits[:v+1]...))
		}
		cut := rapid.IntRange(0, len(commits)-1).Draw(t, "checkpoint")
		r := delta.NewReplay(rootURL)
		r.CheckpointAt(int64(cut))
		for a := range snapshots[cut].CheckpointActions(time.UnixMilli(1500)) {
			if a.Add != nil {
				a.Add = ptr(*a.Add)
			}
			require.NoError(t, r.Checkpoint(a))
		}
		for v := cut + 1; v < len(commits); v++ {
			require.NoError(t, r.Commit(int64(v), commits[v]))
		}
		s, err := r.Snapshot(int64(len(commits) - 1))
		require.NoError(t, err)
		m.equals(t, s)
	})
}

// legal gives each add that changes a live file's vector the remove that the protocol asks for, and
// applies the commit to the model.
func (m model) legal(actions []delta.Action) []delta.Action {
	removes := map[string]*delta.Remove{}
	for _, a := range actions {
		if a.Remove != nil {
			removes[a.Remove.Path] = a.Remove
		}
	}
	for _, a := range actions {
		if a.Add == nil {
			continue
		}
		old, live := m.live[a.Add.Path]
		if !live || old == a.Add.DeletionVector.ID() {
			continue
		}
		id := strings.TrimPrefix(old, "u")
		if r := removes[a.Add.Path]; r != nil {
			r.DeletionVector = vector(id)
		} else {
			actions = append(actions, removeWith(a.Add.Path, id))
		}
	}
	m.apply(actions)
	return actions
}

func TestACompactionEqualsItsCommits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := model{map[string]string{}, map[string]bool{}}
		before := append(base(), m.legal(drawCommit(t))...)
		one, two := m.legal(drawCommit(t)), m.legal(drawCommit(t))
		latest := map[string]delta.Action{} // by logical file: what a compaction holds
		for _, a := range append(slices.Clone(one), two...) {
			switch {
			case a.Remove != nil:
				latest[a.Remove.Path+"|"+a.Remove.DeletionVector.ID()] = a
			case a.Add != nil:
				latest[a.Add.Path+"|"+a.Add.DeletionVector.ID()] = a
			}
		}
		r := delta.NewReplay(rootURL)
		require.NoError(t, r.Commit(0, before))
		require.NoError(t, r.CommitRange(1, 2, slices.Collect(maps.Values(latest))))
		got, err := r.Snapshot(2)
		require.NoError(t, err)
		m.equals(t, got)
		m.equals(t, replayed(t, before, one, two))
	})
}

func TestReplayLeavesTheCallersActionsAlone(t *testing.T) {
	actions := append(base(), add("a%20b"), remove("c"))
	before := *actions[2].Add
	replayed(t, actions)
	require.Equal(t, before, *actions[2].Add)
	require.Empty(t, actions[3].Remove.Key)
}

// BenchmarkAdvance shows that a commit costs what it holds, whatever the table holds.
func BenchmarkAdvance(b *testing.B) {
	for _, files := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			r := delta.NewReplay(rootURL)
			for _, a := range base() {
				require.NoError(b, r.Checkpoint(a))
			}
			for i := range files {
				require.NoError(b, r.Checkpoint(add(fmt.Sprintf("day=1/part-%08d", i))))
			}
			s, err := r.Snapshot(1)
			require.NoError(b, err)
			actions := []delta.Action{add("day=1/new"), remove("day=1/part-00000500")}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Advance(2, actions)
			}
		})
	}
}
