package logio_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/logio"
)

// logName is the name of a file in a log of the corpus, "" of one that is elsewhere.
func logName(path string) string {
	_, name, _ := strings.Cut(path, "/"+delta.LogDir)
	return name
}

// requireWhole loads a table of which a file of a checkpoint of version 3 holds anything: it is used whole, or the
// commits are; and without the commits it is used whole or refused.
func requireWhole(t *testing.T, tb *table, n int) {
	snap, err := fuzzing.Read(t, n, func() ([]string, error) { return loaded(tb) })
	if err == nil {
		require.Equal(t, "version 4", snap[0])
		require.Contains(t, snap, "dddd", "the commit after it is there")
	}
	tb.cleanTo(4)
	alone, err := fuzzing.Read(t, n, func() ([]string, error) { return loaded(tb) })
	if err == nil {
		require.Equal(t, "version 4", alone[0])
		require.Contains(t, alone, "dddd")
		return
	}
	require.True(t, errors.Is(err, delta.ErrCorrupt) || errors.Is(err, delta.ErrUnsupported), "%v", err)
}

// loaded is what a snapshot says, as lines.
func loaded(tb *table) ([]string, error) {
	snap, err := tb.load()
	if err != nil {
		return nil, err
	}
	return append([]string{fmt.Sprintf("version %d", snap.Version())}, files(snap)...), nil
}

// FuzzCheckpointFile: bytes in the place of a classic checkpoint, of the manifest of a V2 checkpoint in Parquet, or of
// one of its sidecars.
func FuzzCheckpointFile(f *testing.F) {
	tb := newHistory(f)
	newV2(tb).put(tb, 3)
	uuid := strings.Replace(fmt.Sprintf(manifestJSON, 3), ".json", ".parquet", 1)
	places := []string{delta.CheckpointKey(3), uuid, sidecarOne, delta.CheckpointPartKey(3, 1, 2)}
	sound := writeCheckpoint(f, delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}, metadata(), add("bb"), add("ccc"), remove("a"))
	side := writeCheckpoint(f, add("bb"), remove("a"))
	rest := writeCheckpoint(f, add("ccc"))
	for i := range places {
		f.Add(sound, byte(i))
		f.Add(side, byte(i))
	}
	isCheckpoint := func(path string) bool {
		return strings.Contains(path, "_delta_log/") && strings.HasSuffix(path, ".parquet")
	}
	for i, data := range fuzzing.Seeds(f, 12, 20<<10, isCheckpoint) {
		f.Add(data, byte(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, place byte) {
		fresh := &table{t: t, mem: tb.mem.Clone(), clock: tb.clock}
		key := places[int(place)%len(places)]
		if key != sidecarOne { // the manifest would serve in its place
			fresh.delete(fmt.Sprintf(manifestJSON, 3))
		}
		fresh.put(delta.CheckpointPartKey(3, 2, 2), rest)
		fresh.put(key, data)
		if key == sidecarOne {
			v := &v2{head: []string{`{"checkpointMetadata":{"version":3}}`}, sidecars: []string{fresh.sidecar("one.parquet", sidecarOne), fresh.sidecar("two.parquet", sidecarTwo)},
				rest: []string{line(fresh, delta.Action{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}), line(fresh, metadata())}}
			v.put(fresh, 3)
		}
		requireWhole(t, fresh, len(data))
	})
}

// listed is a log of which only the names were drawn: each file holds what a file of that name has to, of a table
// whose version n has one file, "n".
type listed struct {
	*table
	commits, checkpoints, broken map[int64]bool
	parts                        map[[2]int64]int
	last                         bool // a file is of a version after which there is none
}

func definedBy() []delta.Action {
	return []delta.Action{{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}, metadata()}
}

func fileOf(version int64) string { return fmt.Sprint(version) }

// step is what the commits first to last do.
func step(first, last int64) []delta.Action {
	actions := []delta.Action{add(fileOf(last))}
	if first == 0 {
		return append(actions, definedBy()...)
	}
	return append(actions, remove(fileOf(first-1)))
}

// take writes the file of a name, once.
func (l *listed) take(name string) {
	f := delta.ParseLogFile(name)
	key := delta.LogDir + f.Name
	if _, err := l.mem.Head(context.Background(), key); err == nil || f.Kind == delta.Other && strings.HasPrefix(f.Name, "_") {
		return
	}
	l.last = l.last || f.Version == math.MaxInt64 && f.Kind != delta.Checksum
	var data []byte
	switch f.Kind {
	case delta.Commit:
		data = lines(l.table, step(f.Version, f.Version)...)
		l.commits[f.Version] = true
	case delta.Compaction:
		data = lines(l.table, step(f.Version, f.End)...)
	case delta.Checkpoint:
		data = writeCheckpoint(l.t, append(definedBy(), add(fileOf(f.Version)))...)
		l.checkpoints[f.Version] = true
	case delta.CheckpointUUID:
		data = l.manifest(f)
	case delta.CheckpointPart:
		data = l.part(f)
	default:
		data = []byte("whatever it holds")
	}
	_ = l.mem.Put(context.Background(), key, data) // a name may be none that a store takes
}

// manifest is a V2 checkpoint in JSON; one in Parquet lacks its head and is not to be used.
func (l *listed) manifest(f delta.LogFile) []byte {
	actions := append(definedBy(), add(fileOf(f.Version)))
	if f.Ext != "json" {
		l.broken[f.Version] = true
		return writeCheckpoint(l.t, actions...)
	}
	l.checkpoints[f.Version] = true
	return fmt.Appendf(lines(l.table, actions...), `{"checkpointMetadata":{"version":%d}}`, f.Version)
}

// part is one of several; only all of them together are a checkpoint.
func (l *listed) part(f delta.LogFile) []byte {
	id := [2]int64{f.Version, int64(f.Parts)}
	if l.parts[id]++; l.parts[id] == f.Parts {
		l.checkpoints[f.Version] = true
	}
	switch f.Part {
	case 1:
		return writeCheckpoint(l.t, definedBy()...)
	case f.Parts:
		return writeCheckpoint(l.t, add(fileOf(f.Version)))
	}
	return writeCheckpoint(l.t, delta.Action{Txn: &delta.Txn{AppID: fmt.Sprint(f.Part)}})
}

func lines(tb *table, actions ...delta.Action) []byte {
	var out []byte
	for _, a := range actions { // one by one: together they may break the rules of a commit
		data, err := delta.EncodeCommit([]delta.Action{a})
		require.NoError(tb.t, err)
		out = append(out, data...)
	}
	return out
}

// reaches says whether the log leads to a version: from the beginning, or from a checkpoint.
func (l *listed) reaches(version int64) bool {
	for v := version; ; v-- {
		if v < 0 || l.checkpoints[v] {
			return true
		}
		if !l.commits[v] {
			return false
		}
	}
}

// names are those that a recipe stands for: of each two bytes the first says what the file is, the second which version.
func names(recipe []byte) (out []string) {
	number := func(b byte) int64 {
		if b&0x80 != 0 {
			return math.MaxInt64 - int64(b&0x7)
		}
		return int64(b & 0xf)
	}
	for pair := range slices.Chunk(recipe, 2) {
		if len(pair) < 2 {
			break
		}
		v, n := number(pair[1]), int64(pair[0]>>4)
		switch pair[0] % 8 {
		case 0, 1, 2:
			out = append(out, delta.CommitKey(v))
		case 3:
			out = append(out, delta.CheckpointKey(v))
		case 4:
			out = append(out, delta.CheckpointPartKey(v, int(n&3), 2+int(n>>2)))
		case 5:
			out = append(out, delta.CompactionKey(v, v+n))
		case 6:
			out = append(out, fmt.Sprintf(manifestJSON, v))
		case 7:
			out = append(out, delta.ChecksumKey(v))
		}
	}
	return out
}

// FuzzListing: whatever files a log has, in whatever number, a table is loaded exactly where they lead to a version, and
// has that version's state.
func FuzzListing(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x00\x02"), "", int64(0), int64(-1))
	f.Add([]byte("\x00\x00\x00\x01\x00\x02\x03\x01\x25\x00\x07\x02"), "00000000000000000003.json\n3.json\n.00000000000000000004.json.crc\n_x", int64(1), int64(1))
	f.Add([]byte("\x14\x03\x24\x03\x00\x04\x06\x05"), "00000000000000000004.checkpoint.6374b053-df23-479b-b2cf-c9c550132b49.parquet", int64(9), int64(4))
	f.Add([]byte("\x03\x81\x00\x80"), "", int64(math.MaxInt64), int64(-1))
	f.Add([]byte("\x03\x80"), "", int64(0), int64(-1))
	f.Add([]byte("\x03\x82\x00\x81\x15\x81"), "_staged_commits/00000000000000000004.json\n_sidecars/x.parquet", int64(3), int64(math.MaxInt64-2))
	f.Fuzz(func(t *testing.T, recipe []byte, text string, hint, target int64) {
		c := newClock()
		l := &listed{table: &table{t: t, mem: store.NewMemClock(c.Now), clock: c}, commits: map[int64]bool{}, checkpoints: map[int64]bool{}, broken: map[int64]bool{}, parts: map[[2]int64]int{}}
		all := append(names(recipe[:min(len(recipe), 64)]), strings.Split(text[:min(len(text), 1000)], "\n")...)
		for _, name := range all {
			l.take(name)
		}
		if hint > 0 {
			l.put(delta.LastCheckpointKey, delta.LastCheckpoint{Version: hint}.Encode())
		}
		newest := int64(-1)
		for _, versions := range []map[int64]bool{l.commits, l.checkpoints, l.broken} {
			for v := range versions {
				newest = max(newest, v)
			}
		}
		l.requireVersion(t, newest, -1)
		l.requireVersion(t, newest, target)
	})
}

// requireVersion loads a version, the newest for one below 0.
func (l *listed) requireVersion(t *testing.T, newest, target int64) {
	log, _ := l.log(logio.Options{})
	load, want := log.Load, newest
	if target >= 0 {
		load, want = func(ctx context.Context) (*delta.Snapshot, error) { return log.LoadAt(ctx, target) }, target
	}
	snap, err := fuzzing.Read(t, 0, func() (*delta.Snapshot, error) { return load(t.Context()) })
	switch {
	case l.last:
		require.ErrorIs(t, err, delta.ErrUnsupported)
	case newest < 0:
		require.ErrorIs(t, err, delta.ErrNotTable)
	case want > newest:
		require.ErrorIs(t, err, delta.ErrInput)
	case err != nil:
		require.False(t, l.reaches(want), "version %d of %d: %v", want, newest, err)
		require.True(t, errors.Is(err, delta.ErrCorrupt) || errors.Is(err, delta.ErrInput), "%v", err)
		require.NotContains(t, err.Error(), " -", "a version below 0")
	default:
		require.True(t, l.reaches(want), "version %d of %d", want, newest)
		requireTable(t, snap, want, fileOf(want))
	}
}
