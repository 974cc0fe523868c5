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
	k.follow(v.links)
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
	s := &sieve{before: v.out.Before, keep: v.keep, names: newNames(v.snap)}
	links, err := v.list(ctx, s.see)
	if err != nil {
		return nil, err
	}
	v.linked(links)
	return slices.DeleteFunc(s.doomed(), func(f doomed) bool { return v.keep.has(f.key) }), nil
}

// list gives the objects of the table, and the symbolic links in it, which it goes past.
func (v *vacuum) list(ctx context.Context, see func(store.Info)) (links map[string]string, err error) {
	links = map[string]string{}
	for after, more := "", true; more; {
		more = false
		for info, err := range v.in.Env.Store.List(ctx, "", after) {
			var link *store.LinkError
			if errors.As(err, &link) {
				links[link.Key], after, more = link.Target, link.Key, true
				break
			}
			if err != nil {
				return nil, fmt.Errorf("list the table: %w", err)
			}
			if info.Target != "" {
				links[info.Key] = info.Target
			}
			see(info)
		}
	}
	return links, nil
}

// linked takes notice of links.
func (v *vacuum) linked(links map[string]string) {
	v.links = links
	v.keep.follow(links)
}

// follow keeps what kept names lead to by links.
func (k *keepers) follow(links map[string]string) {
	if len(links) == 0 {
		return
	}
	keep := func(key string) {
		if real, ok := behind(key, links); ok {
			k.keys[real] = struct{}{}
		}
	}
	for _, key := range slices.Collect(maps.Keys(k.keys)) {
		keep(key)
	}
	for f := range k.snap.Files() {
		keep(f.Key)
	}
}

// behind is the key of the object that a key names where links may be on the way; ok is false if one leads out
// of the root. There is no link on the way to what a link leads to.
func behind(key string, links map[string]string) (real string, ok bool) {
	for element := range strings.SplitSeq(key, "/") {
		real = path.Join(real, element)
		if target, link := links[real]; link {
			if real = target; target == "" {
				return "", false
			}
		}
	}
	return real, true
}

// sieve tells the files that go from those that stay. It sees the objects of a table in the order of a list, and
// decides when it has seen all.
type sieve struct {
	before time.Time
	keep   *keepers
	names  *names

	files  []doomed
	tables []string // directories of other tables
}

func (s *sieve) see(info store.Info) {
	if dir, found := otherTable(info.Key); found && (len(s.tables) == 0 || s.tables[len(s.tables)-1] != dir) {
		s.tables = append(s.tables, dir)
	}
	if s.old(info) && !s.keep.has(info.Key) {
		s.files = append(s.files, doomed{key: info.Key, size: info.Size, at: info.ModTime})
	}
}

// old is true of a file that is a vacuum's to delete unless something needs it.
func (s *sieve) old(info store.Info) bool {
	return info.ModTime.Before(s.before) && !s.names.hidden(info.Key)
}

// doomed are the files that go: those of other tables do not.
func (s *sieve) doomed() []doomed {
	if len(s.tables) == 0 {
		return s.files
	}
	return slices.DeleteFunc(s.files, func(f doomed) bool {
		return slices.ContainsFunc(s.tables, func(dir string) bool { return strings.HasPrefix(f.key, dir) })
	})
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
	if strings.HasPrefix(v.in.Store.URL(), "file:") { // in a directory there may be links
		links, err := v.list(ctx, func(store.Info) {})
		if err != nil {
			return nil, err
		}
		v.linked(links)
		keys = slices.DeleteFunc(keys, func(key string) bool {
			real, ok := behind(key, links)
			return !ok || v.keep.has(key) || v.keep.has(real)
		})
	}
	slices.Sort(keys)
	return v.there(ctx, keys)
}

// there keeps the files that exist, are old enough and are not another table's.
func (v *vacuum) there(ctx context.Context, keys []string) ([]doomed, error) {
	s := &sieve{before: v.out.Before, keep: v.keep, names: newNames(v.snap)}
	found := make([]*store.Info, len(keys))
	err := plan.ForEach(ctx, v.in.Env.Parallelism, len(keys), func(ctx context.Context, i int) error {
		info, err := v.in.Env.Store.Head(ctx, keys[i])
		if errors.Is(err, store.ErrNotExist) {
			return nil
		}
		if err == nil && s.old(info) {
			found[i] = &info
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var infos []store.Info
	for _, info := range found {
		if info != nil {
			infos = append(infos, *info)
		}
	}
	if err := v.otherTables(ctx, s, infos); err != nil {
		return nil, err
	}
	for _, info := range infos {
		s.see(info)
	}
	return s.doomed(), nil
}

// otherTables looks for a log in each directory above a file: a log may name, as removed, what is another
// table's by now.
func (v *vacuum) otherTables(ctx context.Context, s *sieve, files []store.Info) error {
	looked := map[string]bool{}
	var dirs []string
	for _, f := range files {
		for dir := path.Dir(f.Key); dir != "." && !looked[dir]; dir = path.Dir(dir) {
			looked[dir] = true
			dirs = append(dirs, dir)
		}
	}
	tables := make([]string, len(dirs))
	err := plan.ForEach(ctx, v.in.Env.Parallelism, len(dirs), func(ctx context.Context, i int) error {
		for _, err := range v.in.Env.Store.List(ctx, dirs[i]+"/"+delta.LogDir, "") {
			if err != nil {
				return fmt.Errorf("look for another table in %s: %w", dirs[i], err)
			}
			tables[i] = dirs[i] + "/"
			break
		}
		return nil
	})
	for _, dir := range tables {
		if dir != "" {
			s.tables = append(s.tables, dir)
		}
	}
	return err
}

// directories counts the directories of files.
func directories(files []doomed) int {
	dirs := map[string]struct{}{}
	for _, f := range files {
		dirs[path.Dir(f.key)] = struct{}{}
	}
	return len(dirs)
}
