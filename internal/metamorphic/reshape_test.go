package metamorphic_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
)

// reshaper puts checkpoints into forms that other engines write: classic ones in parts, V2 ones with
// sidecars of two actions, or with a manifest in JSON.
type reshaper struct {
	ctx   context.Context
	mem   *store.Mem
	table *idem.Table
	kind  string
	done  map[string]bool // keys that are as they are to be
}

// run does it to every checkpoint that is new, and says whether there was one.
func (r *reshaper) run() (changed bool, err error) {
	if r.kind == "" {
		return false, nil
	}
	var all []string
	for info, err := range r.mem.List(r.ctx, delta.LogDir, "") {
		if err != nil {
			return false, err
		}
		if name := strings.TrimPrefix(info.Key, delta.LogDir); strings.Contains(name, ".checkpoint.") && !strings.Contains(name, "/") && !r.done[info.Key] {
			all = append(all, info.Key)
		}
	}
	for _, key := range all {
		r.done[key] = true
		switch classic := strings.HasSuffix(key, ".checkpoint.parquet"); {
		case classic && r.kind == "parts":
			err = r.parts(key)
		case !classic && r.kind == "sidecars":
			err = r.sidecars(key)
		case !classic && r.kind == "json":
			err = r.json(key)
		default:
			continue
		}
		if err != nil {
			return false, fmt.Errorf("another form of %s: %w", key, err)
		}
		changed = true
	}
	return changed, nil
}

func (r *reshaper) read(key string) ([]delta.Action, error) {
	info, err := r.mem.Head(r.ctx, key)
	if err != nil {
		return nil, err
	}
	var out []delta.Action
	src := parquetio.Object(r.ctx, r.mem, key, info.Size)
	err = parquetio.From(r.ctx).ReadCheckpoint(r.ctx, src, parquetio.CheckpointOptions{}, func(a delta.Action) error {
		out = append(out, a)
		return nil
	})
	return out, err
}

func (r *reshaper) layout(version int64) (parquetio.CheckpointLayout, error) {
	var l parquetio.CheckpointLayout
	view, err := r.table.At(r.ctx, version)
	if err != nil {
		return l, err
	}
	text, typed := view.Snapshot().CheckpointStats()
	l.SkipText = typed && !text
	if typed {
		l.Typed = view.Snapshot().TypedColumns()
	}
	return l, nil
}

func (r *reshaper) write(key string, actions []delta.Action, l parquetio.CheckpointLayout) (int64, error) {
	var buf bytes.Buffer
	if _, _, err := parquetio.From(r.ctx).WriteCheckpoint(&buf, slices.Values(actions), l); err != nil {
		return 0, err
	}
	r.done[key] = true
	return int64(buf.Len()), r.mem.PutIfAbsent(r.ctx, key, buf.Bytes())
}

func (r *reshaper) hint(change func(c *delta.LastCheckpoint)) error {
	data, err := r.mem.Get(r.ctx, delta.LastCheckpointKey, 0)
	if err != nil {
		return err
	}
	c, err := delta.DecodeLastCheckpoint(data)
	if err != nil {
		return err
	}
	change(&c)
	return r.mem.Put(r.ctx, delta.LastCheckpointKey, c.Encode())
}

func versionOf(key string) (v int64) {
	fmt.Sscanf(strings.TrimPrefix(key, delta.LogDir), "%d", &v)
	return v
}

func (r *reshaper) parts(key string) error {
	version := versionOf(key)
	view, err := r.table.At(r.ctx, version)
	if err != nil || view.Snapshot().Protocol().Supports("v2Checkpoint") {
		return err // there a checkpoint has no parts
	}
	l, err := r.layout(version)
	if err != nil {
		return err
	}
	actions, err := r.read(key)
	if err != nil {
		return err
	}
	half, size := len(actions)/2, int64(0)
	for i, part := range [][]delta.Action{actions[:half], actions[half:]} {
		n, err := r.write(delta.CheckpointPartKey(version, i+1, 2), part, l)
		if err != nil {
			return err
		}
		size += n
	}
	if err := r.mem.Delete(r.ctx, key); err != nil {
		return err
	}
	return r.hint(func(c *delta.LastCheckpoint) {
		if c.Version == version {
			c.Parts, c.SizeInBytes = 2, size
		}
	})
}

// sidecars cuts the sidecars of a V2 checkpoint into some of two actions.
func (r *reshaper) sidecars(key string) error {
	version := versionOf(key)
	l, err := r.layout(version)
	if err != nil {
		return err
	}
	top, err := r.read(key)
	if err != nil {
		return err
	}
	var next []delta.Action
	l.Content = parquetio.CheckpointSidecar
	for _, a := range top {
		if a.Sidecar == nil {
			next = append(next, a)
			continue
		}
		within, err := r.read(delta.SidecarDir + a.Sidecar.Path)
		if err != nil {
			return err
		}
		i := 0
		for some := range slices.Chunk(within, 2) {
			name := fmt.Sprintf("%02d-%s", i, a.Sidecar.Path)
			size, err := r.write(delta.SidecarDir+name, some, l)
			if err != nil {
				return err
			}
			next = append(next, delta.Action{Sidecar: &delta.Sidecar{Path: name, SizeInBytes: size, ModificationTime: a.Sidecar.ModificationTime}})
			i++
		}
		if err := r.mem.Delete(r.ctx, delta.SidecarDir+a.Sidecar.Path); err != nil {
			return err
		}
	}
	if err := r.mem.Delete(r.ctx, key); err != nil {
		return err
	}
	size, err := r.write(key, next, parquetio.CheckpointLayout{Content: parquetio.CheckpointManifest})
	if err != nil {
		return err
	}
	return r.manifest(key, key, size)
}

// json writes the manifest of a V2 checkpoint as lines of JSON.
func (r *reshaper) json(key string) error {
	top, err := r.read(key)
	if err != nil {
		return err
	}
	data, err := manifestJSON(top)
	if err != nil {
		return err
	}
	now := strings.TrimSuffix(key, ".parquet") + ".json"
	r.done[now] = true
	if err := r.mem.PutIfAbsent(r.ctx, now, data); err != nil {
		return err
	}
	if err := r.mem.Delete(r.ctx, key); err != nil {
		return err
	}
	return r.manifest(key, now, int64(len(data)))
}

// manifestJSON is the manifest of a V2 checkpoint as lines of JSON.
func manifestJSON(top []delta.Action) ([]byte, error) {
	var out []byte
	var rest []delta.Action
	for _, a := range top {
		switch {
		case a.CheckpointMetadata != nil:
			out = fmt.Appendf(out, "{\"checkpointMetadata\":{\"version\":%d}}\n", a.CheckpointMetadata.Version)
		case a.Sidecar != nil:
			out = fmt.Appendf(out, "{\"sidecar\":{\"path\":%q,\"sizeInBytes\":%d,\"modificationTime\":%d}}\n", a.Sidecar.Path, a.Sidecar.SizeInBytes, a.Sidecar.ModificationTime)
		default:
			rest = append(rest, a)
		}
	}
	data, err := delta.EncodeActions(rest)
	return append(out, data...), err
}

func (r *reshaper) manifest(was, now string, size int64) error {
	return r.hint(func(c *delta.LastCheckpoint) {
		if c.V2 != nil && c.V2.Path == strings.TrimPrefix(was, delta.LogDir) {
			c.V2.Path, c.V2.SizeInBytes = strings.TrimPrefix(now, delta.LogDir), size
		}
	})
}
