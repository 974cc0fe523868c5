package logio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/logio"
)

const partitionedSchema = `{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}},` +
	`{"name":"s","type":"string","nullable":true,"metadata":{}},{"name":"day","type":"date","nullable":true,"metadata":{}}]}`

// definition is that of a table which takes checkpoints of every kind.
func definition(properties map[string]string) []delta.Action {
	readers := []string{"deletionVectors", "v2Checkpoint"}
	return []delta.Action{
		{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: readers, WriterFeatures: append([]string{"domainMetadata"}, readers...)}},
		{Metadata: &delta.Metadata{ID: "table", Provider: "parquet", FormatOptions: map[string]string{}, SchemaString: partitionedSchema, PartitionColumns: []string{"day"}, Configuration: properties}},
	}
}

// newV2Table is a table that asks for V2 checkpoints, with some files.
func newV2Table(t require.TestingT) *table {
	tb := newTable(t)
	tb.commit(append(definition(map[string]string{"delta.checkpointPolicy": "v2"}), dayFile("a", 1), dayFile("bb", 2), dayFile("ccc", 3))...)
	tb.commit(remove("a"), dayFile("dddd", 4))
	return tb
}

func dayFile(path string, day int) delta.Action {
	a := add(path)
	text := fmt.Sprintf("2024-01-%02d", day)
	a.Add.PartitionValues = map[string]*string{"day": &text}
	return a
}

// keysOf are the names of the objects in the log, without UUIDs.
func (tb *table) keysOf(prefix string) (keys []string) {
	for info, err := range tb.mem.List(context.Background(), prefix, "") {
		require.NoError(tb.t, err)
		keys = append(keys, info.Key)
	}
	return keys
}

func TestV2CheckpointsAreWritten(t *testing.T) {
	tb := newV2Table(t)
	l, _ := tb.log(logio.Options{})
	l.SetSidecarRows(2)
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.Checkpoint(t.Context(), snap, tb.clock.now))
	require.Len(t, tb.keysOf(delta.SidecarDir), 2, "three files and a tombstone, two in each")
	top := slices.DeleteFunc(tb.keysOf(delta.LogDir), func(k string) bool { return delta.ParseLogFile(k).Kind != delta.CheckpointUUID })
	require.Len(t, top, 1)

	data, err := tb.mem.Get(t.Context(), delta.LastCheckpointKey, 0)
	require.NoError(t, err)
	hint, err := delta.DecodeLastCheckpoint(data)
	require.NoError(t, err)
	require.Equal(t, "_delta_log/"+hint.V2.Path, top[0])
	info, err := tb.mem.Head(t.Context(), top[0])
	require.NoError(t, err)
	require.Equal(t, info.Size, hint.V2.SizeInBytes)
	require.EqualValues(t, 3, hint.NumOfAddFiles)
	require.Greater(t, hint.SizeInBytes, info.Size)

	tb.cleanTo(3)
	snap, err = l.Load(t.Context())
	require.NoError(t, err)
	requireTable(t, snap, 2, "bb", "ccc", "dddd")
	requireStats(t, l, snap)
}

// Now and then old clients must see a classic checkpoint, or they read a table without end.
func TestEveryTenthCheckpointIsClassic(t *testing.T) {
	tb := newTable(t)
	tb.commit(definition(map[string]string{"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "1"})...)
	var classic, v2 int
	for v := int64(1); v <= 20; v++ {
		if v > 1 {
			tb.commit()
		}
		l, _ := tb.log(logio.Options{})
		snap, err := l.LoadAt(t.Context(), v)
		require.NoError(t, err)
		l.AfterCommit(t.Context(), snap, tb.clock.now)
	}
	for _, key := range tb.keysOf(delta.LogDir) {
		switch delta.ParseLogFile(key).Kind {
		case delta.Checkpoint:
			classic++
		case delta.CheckpointUUID:
			v2++
		}
	}
	require.Equal(t, []int{2, 18}, []int{classic, v2})
}

func TestTableWithoutTheFeatureHasNoV2Checkpoints(t *testing.T) {
	tb := newTable(t)
	m := metadata()
	m.Metadata.Configuration["delta.checkpointPolicy"] = "v2"
	tb.commit(m, add("a"))
	tb.checkpoint(1)
	_, err := tb.mem.Head(t.Context(), delta.CheckpointKey(1))
	require.NoError(t, err, "a property without its feature does nothing")
}

func TestFormsOfStatistics(t *testing.T) {
	for _, c := range []struct {
		text, typed         string
		wantText, wantTyped bool
	}{
		{"", "", true, false}, {"true", "true", true, true}, {"false", "", false, true}, {"false", "true", false, true}, {"FALSE", "false", false, false}, {"true", "false", true, false},
	} {
		conf := map[string]string{}
		if c.text != "" {
			conf["delta.checkpoint.writeStatsAsJson"] = c.text
		}
		if c.typed != "" {
			conf["delta.checkpoint.writeStatsAsStruct"] = c.typed
		}
		tb := newTable(t)
		vector := dayFile("bb", 2)
		vector.Add.DeletionVector = &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Cardinality: 1, SizeInBytes: 1}
		tb.commit(append(definition(conf), dayFile("a", 1), vector)...)
		tb.checkpoint(1)
		data, err := tb.mem.Get(t.Context(), delta.CheckpointKey(1), 0)
		require.NoError(t, err)
		require.Equal(t, c.wantTyped, strings.Contains(string(data), "stats_parsed"), c)
		require.Equal(t, c.wantTyped, strings.Contains(string(data), "partitionValues_parsed"), c)

		tb.cleanTo(2)
		l, _ := tb.log(logio.Options{})
		snap, err := l.Load(t.Context())
		require.NoError(t, err)
		got, err := l.Stats(t.Context(), snap, live(snap))
		require.NoError(t, err)
		want := []string{`{"numRecords":1}`, `{"numRecords":2}`}
		if !c.wantText && !c.wantTyped {
			want[0] = "" // a vector's file keeps the number of its rows
		}
		require.Equal(t, want, got, c)
	}
}

// state is all that a checkpoint must keep, as text that can be compared.
func state(t require.TestingT, l *logio.Log, snap *delta.Snapshot) string {
	text := func(v any) string {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return string(data) + "\n"
	}
	m := *snap.Metadata()
	if len(m.FormatOptions) == 0 { // none and no mention of any are one
		m.FormatOptions = nil
	}
	out := text(snap.Version()) + text(snap.Protocol()) + text(m)
	for v := range snap.Txns() {
		out += text(v)
	}
	for v := range snap.Domains() {
		out += text(v)
	}
	stats, err := l.Stats(context.Background(), snap, live(snap))
	require.NoError(t, err)
	for i, f := range live(snap) {
		kept := *f
		kept.DataChange, kept.StatsDeferred, kept.Stats = false, false, ""
		var tree any
		if stats[i] != "" {
			require.NoError(t, json.Unmarshal([]byte(stats[i]), &tree))
		}
		out += text(kept) + text(tree)
	}
	for r := range snap.Tombstones() {
		kept := *r
		kept.DataChange = false
		out += text(kept)
	}
	return out
}

// drawFile is an add with every field that a checkpoint keeps.
func drawFile(t *rapid.T, path string) delta.Action {
	a := dayFile(path, rapid.IntRange(1, 28).Draw(t, "day"))
	if rapid.Bool().Draw(t, "null day") {
		a.Add.PartitionValues = map[string]*string{"day": nil}
	}
	small := rapid.Int64Range(0, 99)
	a.Add.Size, a.Add.ModificationTime = small.Draw(t, "size"), small.Draw(t, "time")
	a.Add.Stats = rapid.SampledFrom([]string{"", `{"numRecords":7}`, `{"numRecords":7,"minValues":{"x":-9007199254740993,"s":"a\"é"},"maxValues":{"x":5},"nullCount":{"x":0,"s":7}}`}).Draw(t, "stats")
	if rapid.Bool().Draw(t, "more") {
		id, version := small.Draw(t, "row id"), small.Draw(t, "row version")
		a.Add.BaseRowID, a.Add.CommitVersion, a.Add.ClusteredBy = &id, &version, "liquid"
		a.Add.Tags = map[string]string{"b": "1", "a": "", "c": "x"}
		offset := int32(1)
		a.Add.DeletionVector = &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Offset: &offset, SizeInBytes: 3, Cardinality: 2}
		a.Add.Stats = `{"numRecords":7,"tightBounds":false}`
	}
	return a
}

// Whatever a table holds, a checkpoint of every kind brings it back.
func TestCheckpointsBringTheTableBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conf := map[string]string{"x": "y"}
		for _, key := range []string{"delta.checkpoint.writeStatsAsJson", "delta.checkpoint.writeStatsAsStruct"} {
			if v := rapid.SampledFrom([]string{"", "true", "false"}).Draw(t, key); v != "" {
				conf[key] = v
			}
		}
		if conf["delta.checkpoint.writeStatsAsJson"] == "false" {
			conf["delta.checkpoint.writeStatsAsStruct"] = "true" // else nothing is kept
		}
		conf["delta.checkpointPolicy"] = rapid.SampledFrom([]string{"classic", "v2"}).Draw(t, "policy")
		tb := newTable(t)
		tb.commit(definition(conf)...)
		there := map[string]delta.Action{}
		for range rapid.IntRange(0, 4).Draw(t, "commits") {
			actions := []delta.Action{{Txn: &delta.Txn{AppID: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "app"), Version: rapid.Int64Range(0, 9).Draw(t, "version")}}}
			actions = append(actions, delta.Action{Domain: &delta.DomainMetadata{Domain: "d", Configuration: "{}", Removed: rapid.Bool().Draw(t, "removed")}})
			for _, path := range []string{"a", "b", "c", "d"} {
				old, ok := there[path]
				switch gone := rapid.Bool().Draw(t, "change"); {
				case gone && ok:
					r := remove(path)
					r.Remove.DeletionVector = old.Add.DeletionVector
					actions = append(actions, r)
					delete(there, path)
				case gone:
					there[path] = drawFile(t, path)
					actions = append(actions, there[path])
				}
			}
			tb.commit(actions...)
		}
		l, _ := tb.log(logio.Options{})
		l.SetSidecarRows(rapid.IntRange(1, 4).Draw(t, "rows of a sidecar"))
		snap, err := l.Load(context.Background())
		require.NoError(t, err)
		want := state(t, l, snap)
		require.NoError(t, l.Checkpoint(context.Background(), snap, newClock().now.Add(time.Hour)))
		tb.cleanTo(tb.tail)

		back, err := l.Load(context.Background())
		require.NoError(t, err)
		require.Equal(t, want, state(t, l, back))

		again := newClock().now.Add(2 * time.Hour) // and from one checkpoint to the next
		tb.commit()
		next, err := l.Load(context.Background())
		require.NoError(t, err)
		require.NoError(t, l.Checkpoint(context.Background(), next, again))
		for _, key := range tb.keysOf(delta.LogDir) {
			if f := delta.ParseLogFile(key); f.Version < next.Version() && f.Kind != delta.Other {
				tb.delete(key)
			}
		}
		other, _ := tb.log(logio.Options{})
		back, err = other.Load(context.Background())
		require.NoError(t, err)
		require.Equal(t, strings.SplitN(want, "\n", 2)[1], strings.SplitN(state(t, other, back), "\n", 2)[1])
	})
}

// Each operation of a V2 checkpoint may fail, with its effect or without: the table is readable,
// from the commits and, where the checkpoint says that it is there, from it alone.
func TestV2CheckpointFaults(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.FailBefore, storetest.FailAfter, storetest.LostAnswer, storetest.Duplicate} {
		for n := 1; ; n++ {
			tb := newV2Table(t)
			l, faulty := tb.log(logio.Options{})
			l.SetSidecarRows(2)
			snap, err := l.Load(t.Context())
			require.NoError(t, err)
			faulty.Reset(storetest.Rule{Nth: n, Fault: storetest.Fault{Kind: kind}})
			err = l.Checkpoint(t.Context(), snap, tb.clock.now)
			if len(faulty.Hits()) == 0 {
				require.NoError(t, err)
				require.Greater(t, n, 4)
				break
			}
			back, loadErr := tb.load()
			require.NoError(t, loadErr)
			requireTable(t, back, 2, "bb", "ccc", "dddd")
			if err != nil {
				continue
			}
			tb.cleanTo(3)
			back, loadErr = tb.load()
			require.NoError(t, loadErr)
			requireTable(t, back, 2, "bb", "ccc", "dddd")
		}
	}
}

// An attempt that fails before its checkpoint is there leaves no sidecar.
func TestSidecarsOfAFailedCheckpointAreTakenAway(t *testing.T) {
	tb := newV2Table(t)
	l, faulty := tb.log(logio.Options{})
	l.SetSidecarRows(2)
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	faulty.Reset(storetest.Rule{Op: storetest.OpCreate, Nth: 2, Fault: storetest.Fault{Kind: storetest.FailBefore}})
	require.Error(t, l.Checkpoint(t.Context(), snap, tb.clock.now))
	require.Empty(t, tb.keysOf(delta.SidecarDir))
}

func TestCheckpointOfATableThatWeDoNotWrite(t *testing.T) {
	tb := newV2Table(t)
	p := definition(nil)[0]
	p.Protocol.WriterFeatures = append(slices.Clone(p.Protocol.WriterFeatures), "newFeature")
	tb.commit(p)
	l, faulty := tb.log(logio.Options{})
	snap, err := l.Load(t.Context())
	require.NoError(t, err)
	faulty.Reset()
	require.ErrorIs(t, l.Checkpoint(t.Context(), snap, tb.clock.now), delta.ErrUnsupported)
	require.Empty(t, slices.Collect(maps.Keys(faulty.Counts())), "state that nobody here knows would be lost")
}
