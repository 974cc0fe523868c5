package idem_test

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/hostile"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/maintain"
)

// checkpointed are the kinds of checkpoints in whose rows a path can stand: each gives the files of a checkpoint of
// version 1 that holds the definition of a table and these actions.
var checkpointed = []struct {
	name  string
	files func(t *testing.T, definition, files []delta.Action) map[string][]byte
}{
	{"classic", func(t *testing.T, definition, files []delta.Action) map[string][]byte {
		return map[string][]byte{delta.CheckpointKey(1): checkpointOf(t, parquetio.ClassicCheckpoint, append(definition, files...))}
	}},
	{"manifest", func(t *testing.T, definition, files []delta.Action) map[string][]byte {
		head := delta.Action{CheckpointMetadata: &delta.CheckpointMetadata{Version: 1}}
		return map[string][]byte{manifestKey: checkpointOf(t, parquetio.CheckpointManifest, slices.Concat([]delta.Action{head}, definition, files))}
	}},
	{"sidecar", func(t *testing.T, definition, files []delta.Action) map[string][]byte {
		const name = "0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0e.parquet"
		side := checkpointOf(t, parquetio.CheckpointSidecar, files)
		head := []delta.Action{{CheckpointMetadata: &delta.CheckpointMetadata{Version: 1}}, {Sidecar: &delta.Sidecar{Path: name, SizeInBytes: int64(len(side)), ModificationTime: 1}}}
		return map[string][]byte{manifestKey: checkpointOf(t, parquetio.CheckpointManifest, append(head, definition...)), delta.SidecarDir + name: side}
	}},
}

var manifestKey = delta.CheckpointUUIDKey(1, "0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f")

func checkpointOf(t *testing.T, content parquetio.CheckpointContent, actions []delta.Action) []byte {
	var out bytes.Buffer
	_, _, err := parquetio.Parquet{}.WriteCheckpoint(&out, slices.Values(actions), parquetio.CheckpointLayout{Content: content})
	require.NoError(t, err)
	return out.Bytes()
}

// A path in a row of a checkpoint is refused as one in a commit is. Where the commits are still there they say what the
// table is, unless the checkpoint is sound and has a file elsewhere, which is not read; where they are not, no table is.
// Nothing outside the root is touched.
func TestHostilePathsInRowsOfCheckpoints(t *testing.T) {
	oneGoroutine(t)
	p := newPrey(t)
	definition := p.definition(t)
	for _, kind := range checkpointed {
		for _, place := range hostilePlaces {
			if place.name == "cdc" {
				continue // checkpoints have none
			}
			t.Run(kind.name+"/"+place.name, func(t *testing.T) {
				refused := 0
				for _, h := range hostile.Paths(hostileRoot, stranger) {
					if place.key(h) != "" {
						continue
					}
					if refused++; testing.Short() && refused%8 != 0 {
						continue
					}
					files := kind.files(t, slices.Clone(definition), p.checkpointRows(place.actions(p, h), h))
					inert := place.idle != nil && place.idle(h)
					for _, alone := range []bool{true, false} {
						if !alone && (kind.name != "classic" || !slices.Contains(place.stops, "open")) {
							continue // what the commits say does not depend on the kind, and says nothing of a vector's place
						}
						v := p.victim(t, hostileRoot)
						for key, data := range files {
							require.NoError(t, v.store.Mem.Put(t.Context(), key, data))
						}
						if alone {
							require.NoError(t, v.store.Mem.Delete(t.Context(), delta.CommitKey(0), delta.CommitKey(1), delta.ChecksumKey(0), delta.ChecksumKey(1)))
						}
						v.readAndVacuum(t, h, p.file.Key, !inert && (alone || elsewhere(h)))
					}
				}
				require.GreaterOrEqual(t, refused, place.refused)
			})
		}
	}
}

// readAndVacuum opens a table anew, reads it and vacuums it: its one row is there, or reading it is refused.
func (v *victim) readAndVacuum(t *testing.T, h hostile.Path, own string, refused bool) {
	table, err := idem.OpenStore(t.Context(), v.store, idem.Options{Parallelism: 1, Clock: v.clock})
	if err == nil {
		rows := 0
		for b, e := range table.Scan(t.Context(), idem.Scan{}) {
			if err = e; err == nil {
				rows += int(b.NumRows())
			}
		}
		if err == nil {
			require.Equal(t, 1, rows, h.Why)
		}
		v.clock.now = v.clock.now.Add(30 * 24 * time.Hour)
		_, _ = maintain.VacuumTable(t.Context(), table, maintain.Vacuum{})
	}
	require.Equal(t, refused, err != nil, "%s: %v", h.Why, err)
	if err != nil {
		require.True(t, errors.Is(err, idem.ErrCorrupt) || errors.Is(err, idem.ErrUnsupported), "%s: %v", h.Why, err)
		classified(t, err)
	}
	v.within(t, own)
	_, err = v.store.Mem.Head(t.Context(), own)
	require.NoError(t, err, "%s: the table's own file is there", h.Why)
}

// definition is the protocol and the metadata of the table.
func (p *prey) definition(t *testing.T) (out []delta.Action) {
	data, err := p.base.Get(t.Context(), delta.CommitKey(0), 0)
	require.NoError(t, err)
	actions, err := delta.DecodeCommit(delta.CommitKey(0), data)
	require.NoError(t, err)
	for _, a := range actions {
		if a.Protocol != nil || a.Metadata != nil {
			out = append(out, a)
		}
	}
	return out
}

// checkpointRows are the table's file and what is done to it, as rows of a checkpoint.
func (p *prey) checkpointRows(done []delta.Action, h hostile.Path) []delta.Action {
	var out []delta.Action
	own := p.file
	live := delta.Action{Add: &own}
	for _, a := range done {
		switch {
		case a.Add != nil && a.Add.Path == p.file.Path: // the same file under a vector
			live = a
			continue
		case a.Add != nil:
			a.Add.Path = h.Path
		case a.Remove.Path == cmp.Or(h.Path, nothing):
			a.Remove.Path = h.Path
		}
		out = append(out, a)
	}
	return append(out, live)
}
