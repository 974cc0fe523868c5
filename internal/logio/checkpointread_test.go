package logio_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/logio"
)

const (
	manifestJSON = "_delta_log/%020d.checkpoint.6374b053-df23-479b-b2cf-c9c550132b49.json"
	sidecarOne   = delta.SidecarDir + "one.parquet"
	sidecarTwo   = delta.SidecarDir + "two.parquet"
)

// v2 is the manifest of a V2 checkpoint of version 3 of newHistory, as lines of JSON that a case may
// change, with its two sidecars.
type v2 struct {
	head, sidecars, rest []string
}

func newV2(tb *table) *v2 {
	tb.put(sidecarOne, writeCheckpoint(tb.t, add("bb"), remove("a")))
	tb.put(sidecarTwo, writeCheckpoint(tb.t, add("ccc")))
	return &v2{
		head:     []string{`{"checkpointMetadata":{"version":3}}`},
		sidecars: []string{tb.sidecar("one.parquet", sidecarOne), tb.sidecar("two.parquet", sidecarTwo)},
		rest: []string{
			`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["v2Checkpoint"],"writerFeatures":["v2Checkpoint"]}}`,
			fmt.Sprintf(`{"metaData":{"id":"table","format":{"provider":"parquet"},"schemaString":%q,"partitionColumns":[],"configuration":{}}}`, schemaText),
		},
	}
}

func (tb *table) sidecar(path, key string) string {
	info, err := tb.mem.Head(context.Background(), key)
	require.NoError(tb.t, err)
	return fmt.Sprintf(`{"sidecar":{"path":%q,"sizeInBytes":%d,"modificationTime":1}}`, path, info.Size)
}

func (v *v2) put(tb *table, version int64) {
	lines := append(append(append([]string{}, v.head...), v.sidecars...), v.rest...)
	tb.put(fmt.Sprintf(manifestJSON, version), []byte(strings.Join(lines, "\n")+"\n"))
}

// A V2 checkpoint is read from its manifest and all its sidecars, or it is not used at all.
func TestV2Checkpoints(t *testing.T) {
	for name, c := range map[string]struct {
		change func(tb *table, v *v2)
		broken string // what is said of a checkpoint that cannot be used
	}{
		"as it should be":        {change: func(*table, *v2) {}},
		"file actions inline":    {change: func(tb *table, v *v2) { v.sidecars = []string{line(tb, add("bb")), line(tb, add("ccc"))} }},
		"an absolute path":       {change: func(tb *table, v *v2) { v.sidecars[1] = tb.sidecar(tb.mem.URL()+sidecarTwo, sidecarTwo) }},
		"a sidecar that is gone": {func(tb *table, v *v2) { tb.delete(sidecarTwo) }, "a sidecar is missing"},
		"a sidecar cut short":    {func(tb *table, v *v2) { tb.put(sidecarTwo, []byte("PAR1")) }, "two.parquet"},
		"a sidecar with a metaData": {func(tb *table, v *v2) {
			tb.put(sidecarTwo, writeCheckpoint(tb.t, add("ccc"), metadata()))
			v.sidecars[1] = tb.sidecar("two.parquet", sidecarTwo)
		}, "neither add nor remove"},
		"a sidecar elsewhere":   {func(tb *table, v *v2) { v.sidecars[1] = tb.sidecar("s3://other/two.parquet", sidecarTwo) }, "outside"},
		"a sidecar that climbs": {func(tb *table, v *v2) { v.sidecars[1] = tb.sidecar("../../two.parquet", sidecarTwo) }, "climbs"},
		"a negative size": {func(tb *table, v *v2) {
			v.sidecars[1] = `{"sidecar":{"path":"two.parquet","sizeInBytes":-1,"modificationTime":1}}`
		}, "-1 bytes"},
		"a size beyond all files": {func(tb *table, v *v2) {
			v.sidecars[1] = strings.Replace(v.sidecars[1], `"sizeInBytes":`, `"sizeInBytes":99999999`, 1)
		}, "two.parquet"},
		"no head":             {func(tb *table, v *v2) { v.head = nil }, "one checkpointMetadata, this one has 0"},
		"two heads":           {func(tb *table, v *v2) { v.head = append(v.head, v.head[0]) }, "one checkpointMetadata, this one has 2"},
		"the head of another": {func(tb *table, v *v2) { v.head[0] = `{"checkpointMetadata":{"version":2}}` }, "says that it is of version 2"},
		"cut in a line":       {func(tb *table, v *v2) { v.rest[1] = v.rest[1][:50] }, ".json line 5"},
		"a file live twice under two vectors": {func(tb *table, v *v2) {
			a := add("bb")
			a.Add.DeletionVector = &delta.DeletionVector{StorageType: "u", PathOrInlineDV: "abc"}
			v.sidecars = append(v.sidecars, line(tb, a))
		}, "two deletion vectors"},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newHistory(t)
			v := newV2(tb)
			c.change(tb, v)
			v.put(tb, 3)

			var said bytes.Buffer
			l, _ := tb.log(logio.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
			snap, err := l.Load(t.Context())
			require.NoError(t, err, "the commits are there")
			requireTable(t, snap, 4, "bb", "ccc", "dddd")
			requireStats(t, l, snap)
			if c.broken != "" {
				require.Contains(t, said.String(), c.broken)
				require.Equal(t, 1, snap.Protocol().MinReaderVersion, "nothing of the broken checkpoint is taken")
			} else {
				require.Empty(t, said.String())
				require.Equal(t, 3, snap.Protocol().MinReaderVersion)
			}

			tb.cleanTo(4)
			snap, err = l.Load(t.Context())
			if c.broken != "" {
				require.ErrorContains(t, err, c.broken, "never a part of it")
				require.Nil(t, snap)
				return
			}
			require.NoError(t, err)
			requireTable(t, snap, 4, "bb", "ccc", "dddd")
			requireStats(t, l, snap)
		})
	}
}

func line(tb *table, a delta.Action) string {
	data, err := delta.EncodeCommit([]delta.Action{a})
	require.NoError(tb.t, err)
	return strings.TrimSpace(string(data))
}

// A checkpoint that is broken is stepped over for an older one of any kind.
func TestAnOlderCheckpointServes(t *testing.T) {
	tb := newHistory(t)
	newV2(tb).put(tb, 3)
	tb.put(delta.CheckpointKey(4), []byte("PAR1"))
	tb.cleanTo(4)
	snap, err := tb.load()
	require.NoError(t, err)
	requireTable(t, snap, 4, "bb", "ccc", "dddd")
}

// What the store cannot answer decides nothing about a checkpoint.
func TestSidecarsThatCannotBeReadNow(t *testing.T) {
	tb := newHistory(t)
	newV2(tb).put(tb, 3)
	l, _ := tb.log(logio.Options{}, storetest.Rule{Op: storetest.OpGet, Key: sidecarTwo, Fault: storetest.Fault{Kind: storetest.FailBefore}})
	_, err := l.Load(t.Context())
	require.ErrorContains(t, err, "two.parquet")
	require.NotErrorIs(t, err, delta.ErrCorrupt)
}

// FuzzManifest reads what is said to be the manifest of a V2 checkpoint: it is used whole, or the
// commits are.
func FuzzManifest(f *testing.F) {
	tb := newHistory(f)
	v := newV2(tb)
	v.put(tb, 3)
	key := fmt.Sprintf(manifestJSON, 3)
	data, err := tb.mem.Get(f.Context(), key, 0)
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(strings.Replace(string(data), "two.parquet", "../two.parquet", 1)))
	f.Add([]byte(v.head[0] + "\n" + v.sidecars[0]))
	for _, data := range fuzzing.Seeds(f, 20, 8<<10, func(path string) bool { return delta.ParseLogFile(logName(path)).Ext == "json" }) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fresh := &table{t: t, mem: tb.mem.Clone(), clock: tb.clock}
		fresh.put(key, data)
		requireWhole(t, fresh, len(data))
	})
}

// What idem lacks for a checkpoint may be gone since: it is the newest version that must be read.
func TestACheckpointOfWhatIsGoneSince(t *testing.T) {
	geometry := strings.Replace(schemaText, `"fields":[`, `"fields":[{"name":"g","type":"geometry(OGC:CRS84)","nullable":true,"metadata":{}},`, 1)
	plain := delta.Action{Metadata: &delta.Metadata{ID: "table", Provider: "parquet", SchemaString: schemaText, Configuration: map[string]string{}}}
	with := func(names ...string) delta.Action {
		return delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: names, WriterFeatures: names}}
	}
	outside := delta.Action{Add: &delta.Add{Path: "file:/elsewhere/x.parquet", Size: 1, DataChange: true, PartitionValues: map[string]*string{}}}
	left := delta.Action{Remove: &delta.Remove{Path: "file:/elsewhere/x.parquet", DataChange: true}}
	odd := plain
	odd.Metadata = &delta.Metadata{ID: "table", Provider: "parquet", SchemaString: geometry, Configuration: map[string]string{}}
	for name, c := range map[string]struct{ then, since []delta.Action }{
		"a type":                {[]delta.Action{with("geospatial"), odd, add("a")}, []delta.Action{with("deletionVectors"), plain, add("bb")}},
		"files outside of root": {[]delta.Action{with("deletionVectors"), plain, add("a"), outside}, []delta.Action{left, add("bb")}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t)
			tb.commit(add("a"))
			l, _ := tb.log(logio.Options{})
			before, err := l.Load(t.Context())
			require.NoError(t, err)
			checkpoint := writeCheckpoint(t, c.then...)
			tb.commit(c.then...) // version 2
			tb.put(delta.CheckpointKey(2), checkpoint)
			_, err = tb.load()
			require.ErrorIs(t, err, delta.ErrUnsupported)
			tb.commit(c.since...) // version 3
			l, _ = tb.log(logio.Options{})
			after, err := l.Refresh(t.Context(), before)
			require.NoError(t, err, "of a handle from before")
			requireTable(t, after, 3, "a", "bb")
			tb.cleanTo(3)
			snap, err := tb.load()
			require.NoError(t, err)
			requireTable(t, snap, 3, "a", "bb")
		})
	}
}
