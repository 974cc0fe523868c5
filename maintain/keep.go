package maintain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/plan"
)

// keepers are the keys of files that must stay: those of a snapshot, and those that removals younger
// than a time refer to.
type keepers struct {
	snap *delta.Snapshot
	keys map[string]struct{} // beside the live data files: removed files, and files of vectors
}

func (k *keepers) has(key string) bool {
	if _, live := k.snap.Live(key); live {
		return true
	}
	_, kept := k.keys[key]
	return kept
}

// protect works out what a snapshot keeps. It is the same again for the same snapshot.
func (v *vacuum) protect(ctx context.Context, snap *delta.Snapshot) error {
	if v.snap == snap {
		return nil
	}
	k := &keepers{snap: snap, keys: map[string]struct{}{}}
	root := v.in.Store.URL()
	for f := range snap.Files() {
		if err := k.vector(root, f.Path, f.DeletionVector); err != nil {
			return err
		}
	}
	for r := range snap.Tombstones() {
		if err := k.removed(root, r, v.out.Before); err != nil {
			return err
		}
	}
	if err := v.forgotten(ctx, k, snap); err != nil {
		return err
	}
	v.snap, v.keep = snap, k
	return nil
}

func (k *keepers) vector(root, path string, dv *delta.DeletionVector) error {
	key, err := vectorKey(root, dv)
	if err != nil {
		return fmt.Errorf("file %s: %w", path, err)
	}
	if key != "" {
		k.keys[key] = struct{}{}
	}
	return nil
}

// removed keeps what a removal that is not older than a time refers to.
func (k *keepers) removed(root string, r *delta.Remove, before time.Time) error {
	if r.DeletionTimestamp == nil || *r.DeletionTimestamp < before.UnixMilli() {
		return nil
	}
	if r.Key != "" {
		k.keys[r.Key] = struct{}{}
	}
	return k.vector(root, r.Path, r.DeletionVector)
}

// forgotten keeps what removals refer to that no checkpoint remembers: one forgets a removal after the
// table's own retention. With a longer one the commits are asked, once: those that follow are known.
func (v *vacuum) forgotten(ctx context.Context, k *keepers, snap *delta.Snapshot) error {
	if v.request.Retention > snap.TombstoneRetention() && v.older == nil {
		old := &keepers{keys: map[string]struct{}{}}
		err := v.backTo(ctx, snap, v.out.Before, func(r *delta.Remove) error {
			return old.removed(v.in.Store.URL(), r, v.out.Before)
		})
		if err != nil {
			return err
		}
		v.older = old.keys
	}
	maps.Copy(k.keys, v.older)
	return nil
}

// backTo gives the removals of all commits, newest first, back to one that was made before a time.
func (v *vacuum) backTo(ctx context.Context, snap *delta.Snapshot, before time.Time, take func(*delta.Remove) error) error {
	for version := snap.Version(); version >= 0; version-- {
		actions, _, err := v.in.Log.ReadCommit(ctx, version)
		if errors.Is(err, store.ErrNotExist) {
			return fmt.Errorf("%w: the log reaches back to version %d only, and which files were removed since %s cannot be told: Vacuum.Retention is longer than the table's (%s); shorten it",
				idem.ErrInput, version+1, before.UTC().Format(time.RFC3339), snap.TombstoneRetention())
		}
		if err != nil {
			return err
		}
		for _, a := range actions {
			if a.Remove == nil {
				continue
			}
			if err := v.resolved(a.Remove, take); err != nil {
				return fmt.Errorf("commit %d: %w", version, err)
			}
		}
		if info := delta.InfoOf(actions); info != nil && info.Timestamp < before.UnixMilli() {
			return nil
		}
	}
	return nil
}

// resolved hands a removal on with its key; one of a file outside the root is none of ours.
func (v *vacuum) resolved(r *delta.Remove, take func(*delta.Remove) error) error {
	key, err := delta.ResolvePath(v.in.Store.URL(), r.Path)
	if errors.Is(err, delta.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	own := *r
	own.Key = key
	return take(&own)
}

// listed finds the files to delete by listing the store.
func (v *vacuum) listed(ctx context.Context) ([]doomed, error) {
	var files []doomed
	var tables []string // directories of other tables
	names := newNames(v.snap)
	for info, err := range v.in.Env.Store.List(ctx, "", "") {
		if err != nil {
			return nil, fmt.Errorf("list the table: %w", err)
		}
		if dir, found := otherTable(info.Key); found && (len(tables) == 0 || tables[len(tables)-1] != dir) {
			tables = append(tables, dir)
		}
		if info.ModTime.Before(v.out.Before) && !names.hidden(info.Key) && !v.keep.has(info.Key) {
			files = append(files, doomed{key: info.Key, size: info.Size, at: info.ModTime})
		}
	}
	if len(tables) == 0 {
		return files, nil
	}
	return slices.DeleteFunc(files, func(f doomed) bool {
		return slices.ContainsFunc(tables, func(dir string) bool { return strings.HasPrefix(f.key, dir) })
	}), nil
}

// otherTable gives the directory, with its slash, of a table below the root whose log a key is in.
func otherTable(key string) (dir string, found bool) {
	before, _, found := strings.Cut(key, "/"+delta.LogDir)
	return before + "/", found
}

// names tells hidden names, which no vacuum touches.
type names struct {
	partitions []string // beginnings of directories that are of partition columns although they look hidden
}

func newNames(snap *delta.Snapshot) *names {
	n := &names{}
	for _, c := range snap.PartitionColumns() {
		for _, name := range []string{c, snap.PartitionKey(c)} {
			escaped, _, _ := strings.Cut(delta.PartitionDir([]string{name}, nil), "=")
			n.partitions = append(n.partitions, name+"=", escaped+"=")
		}
	}
	return n
}

const (
	changeData      = "_change_data"
	icebergMetadata = "metadata/"
)

// hidden says whether a file is none of a vacuum's: an element of its key begins with _ or ., and is
// neither the directory of change data nor that of a partition column.
func (n *names) hidden(key string) bool {
	if strings.HasPrefix(key, icebergMetadata) {
		return true
	}
	first := true
	for element := range strings.SplitSeq(key, "/") {
		looks := strings.HasPrefix(element, "_") || strings.HasPrefix(element, ".")
		if looks && !(first && element == changeData) && !n.partition(element) {
			return true
		}
		first = false
	}
	return false
}

func (n *names) partition(element string) bool {
	return slices.ContainsFunc(n.partitions, func(p string) bool { return strings.HasPrefix(element, p) })
}

// logged finds the files to delete in the commits of the log, and sees whether they are there.
func (v *vacuum) logged(ctx context.Context) ([]doomed, error) {
	seen := map[string]struct{}{}
	var keys []string
	want := func(key string) {
		if delta.IsOutside(key) {
			return // not ours to delete
		}
		if _, again := seen[key]; !again && key != "" && !v.keep.has(key) {
			seen[key] = struct{}{}
			keys = append(keys, key)
		}
	}
	gather := func(r *delta.Remove) error {
		want(r.Key)
		key, err := vectorKey(v.in.Store.URL(), r.DeletionVector)
		if err == nil {
			want(key)
		}
		return nil // a vector that is elsewhere, or none that we know, stays
	}
	for r := range v.snap.Tombstones() {
		if err := gather(r); err != nil {
			return nil, err
		}
	}
	for version := v.snap.Version(); version >= 0; version-- {
		actions, _, err := v.in.Log.ReadCommit(ctx, version)
		if errors.Is(err, store.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, a := range actions {
			if a.Remove != nil {
				if err := v.resolved(a.Remove, gather); err != nil {
					return nil, fmt.Errorf("commit %d: %w", version, err)
				}
			}
		}
	}
	slices.Sort(keys)
	return v.there(ctx, keys)
}

// there keeps the files that exist and are old enough.
func (v *vacuum) there(ctx context.Context, keys []string) ([]doomed, error) {
	names := newNames(v.snap)
	found := make([]*doomed, len(keys))
	err := plan.ForEach(ctx, v.in.Env.Parallelism, len(keys), func(ctx context.Context, i int) error {
		info, err := v.in.Env.Store.Head(ctx, keys[i])
		if errors.Is(err, store.ErrNotExist) {
			return nil
		}
		if err == nil && info.ModTime.Before(v.out.Before) && !names.hidden(keys[i]) {
			found[i] = &doomed{key: keys[i], size: info.Size, at: info.ModTime}
		}
		return err
	})
	var out []doomed
	for _, f := range found {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out, err
}

// directories counts the directories of files.
func directories(files []doomed) int {
	dirs := map[string]struct{}{}
	for _, f := range files {
		dirs[path.Dir(f.key)] = struct{}{}
	}
	return len(dirs)
}
