package idem_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	feed "github.com/idemtable/idem/changes"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/hostile"
	"github.com/idemtable/idem/maintain"
)

// Tables that others wrote to do harm: whatever a path says, in whatever place it stands, nothing outside the
// table's root is read, written or deleted. internal/hostile has the paths.

// rooted is a store whose root has a name, and which notes each key that it is asked for.
type rooted struct {
	*store.Mem
	root  string
	asked map[string]bool
}

func (s *rooted) URL() string { return s.root }

func (s *rooted) note(keys ...string) {
	for _, key := range keys {
		s.asked[key] = true
	}
}

func (s *rooted) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	s.note(key)
	return s.Mem.PutIfAbsent(ctx, key, data)
}
func (s *rooted) Put(ctx context.Context, key string, data []byte) error {
	s.note(key)
	return s.Mem.Put(ctx, key, data)
}
func (s *rooted) Create(ctx context.Context, key string) (store.Writer, error) {
	s.note(key)
	return s.Mem.Create(ctx, key)
}
func (s *rooted) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	s.note(key)
	return s.Mem.Get(ctx, key, limit)
}
func (s *rooted) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	s.note(key)
	return s.Mem.GetRange(ctx, key, off, p)
}
func (s *rooted) Head(ctx context.Context, key string) (store.Info, error) {
	s.note(key)
	return s.Mem.Head(ctx, key)
}
func (s *rooted) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	s.note(strings.TrimSuffix(prefix, "/"))
	return s.Mem.List(ctx, prefix, after)
}
func (s *rooted) Delete(ctx context.Context, keys ...string) error {
	s.note(keys...)
	return s.Mem.Delete(ctx, keys...)
}

const (
	stranger = "x.parquet" // the file that hostile paths lead to
	nothing  = "NOTHING"   // an empty path until it is encoded, which idem would not do
	vectorID = "vBn[lx{q8@P<9BNH/isA"
	vectorAt = "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin"
)

// prey is a table with one row, and what is needed to put a path of somebody else into its log.
type prey struct {
	base *store.Mem // the table at version 1
	file delta.Add  // its one file
	data []byte
}

func newPrey(t *testing.T) *prey {
	clock := &patient{now: time.Unix(1_700_000_000, 0)}
	p := &prey{base: store.NewMemClock(clock.Now)}
	table, _, err := idem.CreateStore(t.Context(), p.base, idem.Definition{Schema: orders, Properties: map[string]string{
		"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true", "delta.checkpointPolicy": "v2",
	}}, idem.Options{Parallelism: 1, Clock: clock})
	require.NoError(t, err)
	_, err = table.Append(t.Context(), rowsOf(order{"d1", 1, 1, "a"}), idem.Append{Reason: "test"})
	require.NoError(t, err)
	for f := range table.Snapshot().Files() {
		p.file = *f
	}
	p.data, err = p.base.Get(t.Context(), p.file.Key, 0)
	require.NoError(t, err)
	return p
}

// victim is the prey under a root, with the actions of somebody else as version 2, seen from version 1.
type victim struct {
	store *rooted
	table *idem.Table
	clock *patient
}

func (p *prey) victim(t *testing.T, root string, actions ...delta.Action) *victim {
	v := &victim{store: &rooted{Mem: p.base.Clone(), root: root, asked: map[string]bool{}}, clock: &patient{now: time.Unix(1_700_000_000, 0)}}
	v.table = v.open(t)
	if len(actions) > 0 {
		data, err := delta.EncodeCommit(append([]delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: 1_700_000_000_000, Operation: "WRITE"}}}, actions...))
		require.NoError(t, err)
		data = bytes.Replace(data, []byte(nothing), nil, 1)
		require.NoError(t, v.store.Mem.PutIfAbsent(t.Context(), delta.CommitKey(2), data))
	}
	return v
}

func (v *victim) open(t *testing.T) *idem.Table {
	table, err := idem.OpenStore(t.Context(), v.store, idem.Options{Parallelism: 1, Clock: v.clock})
	require.NoError(t, err)
	return table
}

// attempt does to the table all that reads, writes or deletes what a log names, and gives the first error of each.
func (v *victim) attempt(ctx context.Context) map[string]error {
	all := v.onTable(ctx)
	_, all["open"] = idem.OpenStore(ctx, v.store, idem.Options{Parallelism: 1, Clock: v.clock})
	return all
}

func (v *victim) onTable(ctx context.Context) map[string]error {
	all := map[string]error{}
	all["scan"] = drained(v.table.Scan(ctx, idem.Scan{}))
	all["changes"] = drained(feed.Rows(ctx, v.table, feed.Request{From: feed.Version(2)}))
	_, all["merge"] = v.table.Merge(ctx, rowsOf(order{"d1", 1, 5, "merged"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
	_, all["optimize"] = maintain.OptimizeTable(ctx, v.table, maintain.Optimize{})
	_, all["restore"] = maintain.RestoreTable(ctx, v.table, maintain.Restore{To: maintain.Version(1)})
	v.clock.now = v.clock.now.Add(30 * 24 * time.Hour)
	_, all["vacuum, lite"] = maintain.VacuumTable(ctx, v.table, maintain.Vacuum{Lite: true})
	_, all["vacuum"] = maintain.VacuumTable(ctx, v.table, maintain.Vacuum{})
	return all
}

// within holds that a store was asked for nothing but names that idem makes, those of the table's own log, and
// keys that a hostile path rightly stands for.
func (v *victim) within(t *testing.T, own string, allowed ...string) {
	for key := range v.store.asked {
		f := delta.ParseLogFile(key)
		made := strings.HasPrefix(key, delta.LogDir) && (f.Kind != delta.Other || key == delta.LastCheckpointKey || strings.HasPrefix(key, delta.SidecarDir)) ||
			strings.HasPrefix(key, "part-") || strings.HasPrefix(key, "_change_data/cdc-") || strings.HasPrefix(key, "deletion_vector_") || key == "_delta_log" || key == "_delta_log/_sidecars" || key == ""
		dir, log := strings.CutSuffix(key, "_delta_log") // a vacuum looks whether a file that it would delete is another table's
		log = log && slices.ContainsFunc(allowed, func(key string) bool { return strings.HasPrefix(key, dir) })
		if !made && !log && key != own && !slices.Contains(allowed, key) {
			t.Fatalf("the store was asked for %q", key)
		}
	}
}

const hostileRoot = "s3://bucket/lake/t/"

// hostilePlaces are the places of a log in which a path can stand, but for those of checkpoints.
var hostilePlaces = []struct {
	name string

	// actions put a path there, and key is what it may be taken for, "" if it is refused.
	actions func(p *prey, h hostile.Path) []delta.Action
	key     func(h hostile.Path) string

	// stops are the attempts that a refused path ends; it must not change what the others do. idle says of a refused
	// path that it may stand there, since nothing is done by it.
	stops []string
	idle  func(h hostile.Path) bool

	refused int // how many forms are, at least
}{
	{"add", func(p *prey, h hostile.Path) []delta.Action {
		a := p.file
		a.Path = cmp.Or(h.Path, nothing)
		return []delta.Action{{Add: &a}}
	}, keyOf, every, nil, 128},
	{"remove", func(p *prey, h hostile.Path) []delta.Action {
		at := int64(1)
		return []delta.Action{{Remove: &delta.Remove{Path: cmp.Or(h.Path, nothing), DeletionTimestamp: &at, DataChange: true}}}
	}, keyOf, every, elsewhere, 128},
	{"cdc", func(p *prey, h hostile.Path) []delta.Action {
		return []delta.Action{{CDC: &delta.CDC{Path: cmp.Or(h.Path, nothing), Size: int64(len(p.data)), PartitionValues: map[string]*string{}}}}
	}, keyOf, []string{"changes"}, nil, 128},
	{"vector by a URI", vectored("p", ""), func(h hostile.Path) string {
		if strings.HasPrefix(strings.ToLower(h.Path), "s3:") {
			return h.Key
		}
		return ""
	}, []string{"scan", "changes", "merge"}, nil, 181},
	{"vector by a name", vectored("u", vectorID), func(h hostile.Path) string {
		key := strings.TrimPrefix(h.Path+"/"+vectorAt, "/")
		if _, _, err := (&delta.DeletionVector{StorageType: "u", PathOrInlineDV: h.Path + vectorID}).Locate(hostileRoot); err != nil || !store.ValidKey(key) {
			return ""
		}
		return key
	}, []string{"scan", "changes", "merge"}, nil, 88},
}

// every is all that attempt does.
var every = []string{"open", "scan", "changes", "merge", "optimize", "restore", "vacuum", "vacuum, lite"}

var schemeOf = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// elsewhere says of a path that it is absolute, or a URI, and well formed: one of a file that is not the table's. A
// remove of such a file takes nothing out of the table, and a vacuum, which deletes below the root alone, passes it by;
// tables whose files were elsewhere, as those of shallow clones, have such removes.
func elsewhere(h hostile.Path) bool {
	scheme, path, uri := strings.Cut(h.Path, ":")
	switch {
	case strings.HasPrefix(h.Path, hostileRoot): // it begins where the table is, and leads to no file of it
		return false
	case strings.HasPrefix(h.Path, "/"):
		path = h.Path
	case !uri || !schemeOf.MatchString(scheme) || len(h.Path) > 4096:
		return false
	case strings.HasPrefix(path, "//"): // behind an authority
		_, path, _ = strings.Cut(path[2:], "/")
	}
	path, err := url.PathUnescape(strings.TrimLeft(path, "/"))
	if err != nil || path == "" || strings.ContainsRune(path, 0) || !utf8.ValidString(path) {
		return false
	}
	for element := range strings.SplitSeq(path, "/") {
		if element == "" || element == "." || slices.Contains(strings.Split(element, `\`), "..") {
			return false
		}
	}
	return true
}

func keyOf(h hostile.Path) string { return h.Key }

// vectored puts the table's file under a vector whose place is a path.
func vectored(storage, after string) func(p *prey, h hostile.Path) []delta.Action {
	return func(p *prey, h hostile.Path) []delta.Action {
		now, at, offset := p.file, int64(1), int32(1)
		now.DeletionVector = &delta.DeletionVector{StorageType: storage, PathOrInlineDV: h.Path + after, Offset: &offset, SizeInBytes: 40, Cardinality: 1}
		return []delta.Action{{Remove: &delta.Remove{Path: p.file.Path, DeletionTimestamp: &at, DataChange: true}}, {Add: &now}}
	}
}

func TestHostilePathsInCommits(t *testing.T) {
	oneGoroutine(t)
	p := newPrey(t)
	for _, place := range hostilePlaces {
		t.Run(place.name, func(t *testing.T) {
			refused, taken, idle := 0, 0, 0
			for _, h := range hostile.Paths(hostileRoot, stranger) {
				v, key := p.victim(t, hostileRoot, place.actions(p, h)...), place.key(h)
				if key != "" {
					require.NoError(t, v.store.Mem.PutIfAbsent(t.Context(), key, p.data), h.Why)
				}
				all := v.attempt(t.Context())
				v.within(t, p.file.Key, key)
				_, err := v.store.Mem.Head(t.Context(), p.file.Key)
				require.NoError(t, err, "%s: the table's own file is there", h.Why)
				if key != "" {
					taken++
					continue
				}
				refused++
				stops := place.stops
				if place.idle != nil && place.idle(h) {
					stops = nil
					idle++
				}
				for what, err := range all {
					if err != nil || slices.Contains(stops, what) {
						undecodable := h.Path == "" && errors.Is(err, idem.ErrUnknownOutcome) // a winner that cannot be read decides nothing
						require.True(t, errors.Is(err, idem.ErrCorrupt) || errors.Is(err, idem.ErrUnsupported) || undecodable, "%s, %s: %v", h.Why, what, err)
						classified(t, err)
					}
				}
			}
			require.GreaterOrEqual(t, refused, place.refused)
			require.Greater(t, taken, 3)
			require.Less(t, idle, refused/2, "most of what is refused ends what it stands in")
			t.Logf("%d refused, %d of them stand idle, %d are names", refused, idle, taken)
		})
	}
}

// A name below the root is read as that very name.
func TestOddNamesAreReadAsTheyAre(t *testing.T) {
	p := newPrey(t)
	for _, h := range hostile.Paths(hostileRoot, stranger) {
		if h.Key == "" {
			continue
		}
		v := p.victim(t, hostileRoot, hostilePlaces[0].actions(p, h)...)
		require.NoError(t, v.store.Mem.PutIfAbsent(t.Context(), h.Key, p.data), h.Why)
		require.Equal(t, []string{"d1/1/1/a", "d1/1/1/a"}, scanned(t, v.open(t)), h.Why)
		require.True(t, v.store.asked[h.Key], h.Why)
		require.NoError(t, v.store.Mem.Delete(t.Context(), h.Key))
		require.ErrorIs(t, drained(v.table.Scan(t.Context(), idem.Scan{})), idem.ErrCorrupt, "%s: no other file is taken for it", h.Why)
	}
}

// Paths of checkpoints, and names beside them, are advice at most: the table is what its commits say.
func TestHostilePathsInCheckpoints(t *testing.T) {
	oneGoroutine(t)
	p := newPrey(t)
	definition, err := p.base.Get(t.Context(), delta.CommitKey(0), 0)
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(definition), []byte("\n"))[1:]
	quoted := func(path string) string {
		text, err := json.Marshal(path)
		require.NoError(t, err)
		return string(text)
	}
	const manifest = "_delta_log/00000000000000000001.checkpoint.0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f.json"
	for name, plant := range map[string]func(v *victim, h hostile.Path) map[string]string{
		"sidecar": func(v *victim, h hostile.Path) map[string]string {
			text := fmt.Sprintf("{\"checkpointMetadata\":{\"version\":1}}\n%s\n{\"sidecar\":{\"path\":%s,\"sizeInBytes\":99,\"modificationTime\":1}}\n", bytes.Join(lines, []byte("\n")), quoted(h.Path))
			return map[string]string{manifest: text, delta.LastCheckpointKey: `{"version":1,"size":3}`}
		},
		"hint": func(v *victim, h hostile.Path) map[string]string {
			return map[string]string{delta.LastCheckpointKey: fmt.Sprintf(`{"version":1,"size":3,"v2Checkpoint":{"path":%s,"sizeInBytes":9,"modificationTime":1,"sidecarFiles":[{"path":%[1]s,"sizeInBytes":9,"modificationTime":1}],"nonFileActions":[]}}`, quoted(h.Path))}
		},
		"names in the log": func(v *victim, h hostile.Path) map[string]string {
			out := map[string]string{}
			for _, name := range []string{h.Path, h.Key, h.Path + "/00000000000000000002.json", "00000000000000000002.json" + h.Path, "00000000000000000001.checkpoint." + h.Path + ".parquet"} {
				if key := delta.LogDir + name; store.ValidKey(key) && delta.ParseLogFile(key).Kind == delta.Other {
					out[key] = "junk"
				}
			}
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			planted := 0
			for _, h := range hostile.Paths(hostileRoot, stranger) {
				v := p.victim(t, hostileRoot)
				for key, text := range plant(v, h) {
					require.NoError(t, v.store.Mem.Put(t.Context(), key, []byte(text)))
					planted++
				}
				for _, key := range []string{stranger, h.Key} {
					if key != "" {
						require.NoError(t, v.store.Mem.Put(t.Context(), key, p.data))
					}
				}
				v.table = v.open(t)
				require.Equal(t, []string{"d1/1/1/a"}, scanned(t, v.table), h.Why)
				_, err := v.table.Merge(t.Context(), rowsOf(order{"d1", 1, 5, "merged"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
				require.NoError(t, err, h.Why)
				v.clock.now = v.clock.now.Add(60 * 24 * time.Hour)
				_, err = maintain.CleanUpLog(t.Context(), v.table, maintain.CleanUp{})
				require.NoError(t, err, h.Why)
				v.within(t, p.file.Key)
				require.Equal(t, []string{"d1/1/5/merged"}, scanned(t, v.open(t)), h.Why)
			}
			require.Greater(t, planted, 100)
		})
	}
}

// disk is a table in a directory that is not alone: beside it are a canary, a sibling with the table's name in
// front, and a table of somebody else; within it may be symbolic links that lead to them.
type disk struct {
	base, root string
	clock      *patient
	table      *idem.Table
	before     []string // what is outside the root
}

func newDisk(t *testing.T, p *prey, links map[string]string) *disk {
	d := &disk{base: t.TempDir(), clock: &patient{now: time.Now()}}
	d.root = filepath.Join(d.base, "t")
	other, err := p.base.Get(t.Context(), delta.CommitKey(0), 0)
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		stranger: p.data, "t2/" + stranger: p.data, "t-evil/" + stranger: p.data, "other/_delta_log/00000000000000000000.json": other, "other/" + stranger: p.data,
	} {
		file := filepath.Join(d.base, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, data, 0o644))
		require.NoError(t, os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)))
	}
	st, err := store.OpenDir(d.root)
	require.NoError(t, err)
	for info, err := range p.base.List(t.Context(), "", "") {
		require.NoError(t, err)
		data, err := p.base.Get(t.Context(), info.Key, 0)
		require.NoError(t, err)
		require.NoError(t, st.PutIfAbsent(t.Context(), info.Key, data))
	}
	for link, to := range links {
		require.NoError(t, os.Symlink(to, filepath.Join(d.root, link)))
	}
	d.before = d.outside(t)
	d.table, err = idem.OpenStore(t.Context(), st, idem.Options{Parallelism: 1, Clock: d.clock})
	require.NoError(t, err)
	return d
}

// outside is all that is beside the root: names, sizes, times, what links lead to.
func (d *disk) outside(t *testing.T) (out []string) {
	require.NoError(t, filepath.WalkDir(d.base, func(name string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		if name == d.root {
			return filepath.SkipDir
		}
		if !e.IsDir() {
			info, err := e.Info()
			require.NoError(t, err)
			out = append(out, fmt.Sprint(name, info.Size(), info.ModTime()))
		} else {
			out = append(out, name)
		}
		return nil
	}))
	return out
}

func (d *disk) commit(t *testing.T, actions ...delta.Action) {
	data, err := delta.EncodeCommit(append([]delta.Action{{CommitInfo: &delta.CommitInfo{Timestamp: 1, Operation: "WRITE"}}}, actions...))
	require.NoError(t, err)
	data = bytes.Replace(data, []byte(nothing), nil, 1)
	require.NoError(t, os.WriteFile(filepath.Join(d.root, delta.CommitKey(2)), data, 0o644))
}

// attempt reads what the log names and vacuums, of a table that opens, and if writes is set all else; the error is
// that of reading.
func (d *disk) attempt(t *testing.T, writes bool) error {
	table, err := idem.Open(t.Context(), d.root, idem.Options{Parallelism: 1, Clock: d.clock})
	if err != nil {
		for _, lite := range []bool{false, true} {
			_, err := maintain.VacuumTable(t.Context(), d.table, maintain.Vacuum{Lite: lite})
			require.Error(t, err)
		}
		return err
	}
	err = drained(table.Scan(t.Context(), idem.Scan{}))
	if writes {
		(&victim{table: table, clock: d.clock}).onTable(t.Context())
		return err
	}
	_ = drained(feed.Rows(t.Context(), table, feed.Request{From: feed.Version(2)}))
	for _, lite := range []bool{false, true} {
		if _, vacuum := maintain.VacuumTable(t.Context(), table, maintain.Vacuum{Lite: lite}); vacuum != nil {
			require.True(t, errors.Is(vacuum, idem.ErrCorrupt) || errors.Is(vacuum, idem.ErrUnsupported), "%v", vacuum)
		}
	}
	return err
}

// links lead out of a table.
var links = map[string]string{"up": "..", "file.parquet": "../x.parquet", "dir": "../other", "loop": "loop"}

// linked are paths through them.
var linked = []string{"up/x.parquet", "up/t/up/x.parquet", "file.parquet", "dir/x.parquet", "loop/x.parquet", "loop", "up", "dir"}

func TestHostilePathsOnDisk(t *testing.T) {
	oneGoroutine(t)
	p := newPrey(t)
	held := func(d *disk, writes bool, paths []hostile.Path) {
		for _, place := range hostilePlaces[:4] {
			for _, h := range paths {
				if h.Key != "" && place.name != "add" {
					continue
				}
				d.commit(t, place.actions(p, h)...)
				if err := d.attempt(t, writes); place.name == "add" {
					require.Error(t, err, "%s: no such file is below the root", h.Why)
					classified(t, err)
				}
				require.Equal(t, d.before, d.outside(t), "%s, as %s", h.Why, place.name)
				require.FileExists(t, filepath.Join(d.root, p.file.Key), h.Why)
				d.rollBack(t)
			}
		}
	}
	d := newDisk(t, p, nil)
	d.clock.now = d.clock.now.Add(60 * 24 * time.Hour)
	paths := hostile.Paths(d.table.Store().URL(), stranger)
	for _, to := range []string{d.base + "/" + stranger, "file://" + d.base + "/other/" + stranger, "file:" + d.base + "/t/../" + stranger} {
		paths = append(paths, hostile.Path{Why: "the canary by its place: " + to, Path: to})
	}
	held(d, false, paths)
	paths = nil
	for _, path := range linked {
		paths = append(paths, hostile.Path{Why: "through a link: " + path, Path: path}, hostile.Path{Why: "through a link, absolute: " + path, Path: d.table.Store().URL() + path})
	}
	held(newDisk(t, p, links), true, paths)
}

// rollBack takes all versions after 1 away.
func (d *disk) rollBack(t *testing.T) {
	files, err := os.ReadDir(filepath.Join(d.root, delta.LogDir))
	require.NoError(t, err)
	for _, f := range files {
		if l := delta.ParseLogFile(f.Name()); l.Kind != delta.Other && l.Version > 1 || f.Name() == "_last_checkpoint" {
			require.NoError(t, os.Remove(filepath.Join(d.root, delta.LogDir, f.Name())))
		}
	}
}

// Links that lead out are no way for what idem writes, lists and deletes either.
func TestLinksOutOfATableAreNotFollowed(t *testing.T) {
	p := newPrey(t)
	for _, c := range []struct {
		what, link, to string
		run            func(d *disk) error
	}{
		{"change data", "_change_data", "../other", func(d *disk) error {
			_, err := d.table.Merge(t.Context(), rowsOf(order{"d1", 1, 5, "merged"}, order{"d1", 2, 5, "new"}), idem.Merge{On: []string{"id"}, Newer: []string{"seq"}})
			return err
		}},
		{"sidecars", "_delta_log/_sidecars", "../../other", func(d *disk) error { _, err := maintain.Checkpoint(t.Context(), d.table); return err }},
		{"a partition", "nested/day=d9", "../../other", func(d *disk) error {
			table, _, err := idem.Create(t.Context(), filepath.Join(d.root, "nested"), idem.Definition{Schema: orders, PartitionBy: []string{"day"}}, idem.Options{Parallelism: 1})
			require.NoError(t, err)
			_, err = table.Append(t.Context(), rowsOf(order{"d9", 1, 9, "n"}), idem.Append{Reason: "test"})
			return err
		}},
		{"a log", "nested/_delta_log", "../../other/_delta_log", func(d *disk) error {
			_, err := idem.Open(t.Context(), filepath.Join(d.root, "nested"), idem.Options{Parallelism: 1})
			return err
		}},
	} {
		d := newDisk(t, p, nil)
		link := filepath.Join(d.root, c.link)
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(t, os.Symlink(c.to, link))
		d.clock.now = d.clock.now.Add(60 * 24 * time.Hour)
		err := c.run(d)
		require.Equal(t, d.before, d.outside(t), "%s: %v", c.what, err)
		require.Error(t, err, c.what)
		classified(t, err)
	}
}

// A vacuum goes past links that lead out: it deletes what it would without them, and nothing behind them.
func TestVacuumGoesPastLinksOutOfATable(t *testing.T) {
	p := newPrey(t)
	for _, lite := range []bool{false, true} {
		d := newDisk(t, p, map[string]string{"dir": "../other", "file.parquet": "../x.parquet", "loop": "loop", "day=d9": "../t2"})
		at := int64(1)
		d.commit(t, delta.Action{Remove: &delta.Remove{Path: p.file.Path, DeletionTimestamp: &at, DataChange: true}},
			delta.Action{Remove: &delta.Remove{Path: "dir/" + stranger, DeletionTimestamp: &at, DataChange: true}},
			delta.Action{Remove: &delta.Remove{Path: "file.parquet", DeletionTimestamp: &at, DataChange: true}})
		d.clock.now = d.clock.now.Add(60 * 24 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(d.root, p.file.Key), time.Unix(1, 0), time.Unix(1, 0)))
		res, err := maintain.VacuumTable(t.Context(), d.table, maintain.Vacuum{Lite: lite})
		require.NoError(t, err)
		require.EqualValues(t, 1, res.Files)
		require.NoFileExists(t, filepath.Join(d.root, p.file.Key))
		require.Equal(t, d.before, d.outside(t))
		for _, link := range []string{"dir", "file.parquet", "loop", "day=d9"} {
			_, err := os.Lstat(filepath.Join(d.root, link))
			require.NoError(t, err, "it is left where it is")
		}
	}
}
