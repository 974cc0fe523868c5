package logio

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// listing is what a list of the log showed.
type listing struct {
	commits     map[int64]store.Info
	checkpoints []checkpoint // complete ones, newest first; of one version the one to try first first
	compactions map[int64][]compaction
	checksums   map[int64]store.Info
}

type checkpoint struct {
	version int64
	parts   []store.Info // in order
	uuid    bool         // named by a UUID: its content is that of a V2 checkpoint
}

type compaction struct {
	first, last int64
	info        store.Info
}

// after is the greatest key that is below every file of a version.
func after(version int64) string {
	if version <= 0 {
		return ""
	}
	return strings.TrimSuffix(delta.CommitKey(version), ".json")
}

// list reads the log from a version on. A list need not be of one moment: that of a directory may show a commit, and not
// the one before it, if both were made while it ran. So what it lacks before its newest version is looked for once more: it
// was there before the second list began, unless the log has no such commit.
func (l *Log) list(ctx context.Context, from int64) (*listing, error) {
	ls, err := l.listOnce(ctx, from)
	if err != nil {
		return nil, err
	}
	gap, ok := ls.gap(from)
	if !ok {
		return ls, nil
	}
	again, err := l.listOnce(ctx, gap)
	if err != nil {
		return nil, err
	}
	newest := ls.newest()
	for v, info := range again.commits {
		if v < newest {
			ls.commits[v] = info
		}
	}
	return ls, nil
}

func (l *Log) listOnce(ctx context.Context, from int64) (*listing, error) {
	ls := newListing()
	parts := make(map[[2]int64]map[int]store.Info)
	for info, err := range l.st.List(ctx, delta.LogDir, after(from)) {
		if err != nil {
			return nil, fmt.Errorf("list the log: %w", err)
		}
		name := strings.TrimPrefix(info.Key, delta.LogDir)
		if name != "" && name[0] > '9' {
			break // versions come first: what follows is the hint, sidecars and files of others
		}
		f := delta.ParseLogFile(name)
		if f.Version == math.MaxInt64 && f.Kind != delta.Checksum {
			return nil, fmt.Errorf("list the log: %s: no version can come after this one: %w", info.Key, delta.ErrUnsupported)
		}
		ls.take(f, info, parts)
	}
	ls.seal(parts)
	return ls, nil
}

func newListing() *listing {
	return &listing{commits: make(map[int64]store.Info), compactions: make(map[int64][]compaction), checksums: make(map[int64]store.Info)}
}

// seal ends the list: parts become checkpoints where they are complete.
func (ls *listing) seal(parts map[[2]int64]map[int]store.Info) {
	for id, set := range parts {
		ls.takeParts(id[0], int(id[1]), set)
	}
	slices.SortStableFunc(ls.checkpoints, func(a, b checkpoint) int {
		return cmp.Or(cmp.Compare(b.version, a.version), cmp.Compare(a.rank(), b.rank()))
	})
}

// rank orders checkpoints of one version: one file, then parts, then what needs V2.
func (c checkpoint) rank() int {
	if c.uuid {
		return 1 << 30
	}
	return len(c.parts)
}

func (ls *listing) take(f delta.LogFile, info store.Info, parts map[[2]int64]map[int]store.Info) {
	switch f.Kind {
	case delta.Commit:
		ls.commits[f.Version] = info
	case delta.Checkpoint:
		ls.checkpoints = append(ls.checkpoints, checkpoint{version: f.Version, parts: []store.Info{info}})
	case delta.CheckpointUUID:
		ls.checkpoints = append(ls.checkpoints, checkpoint{version: f.Version, parts: []store.Info{info}, uuid: true})
	case delta.CheckpointPart:
		id := [2]int64{f.Version, int64(f.Parts)}
		if parts[id] == nil {
			parts[id] = make(map[int]store.Info)
		}
		parts[id][f.Part] = info
	case delta.Checksum:
		ls.checksums[f.Version] = info
	case delta.Compaction:
		ls.compactions[f.Version] = append(ls.compactions[f.Version], compaction{first: f.Version, last: f.End, info: info})
	}
}

// takeParts takes a multi-part checkpoint if all its parts are there.
func (ls *listing) takeParts(version int64, n int, set map[int]store.Info) {
	if len(set) != n {
		return
	}
	c := checkpoint{version: version}
	for i := 1; i <= n; i++ {
		info, ok := set[i]
		if !ok {
			return
		}
		c.parts = append(c.parts, info)
	}
	ls.checkpoints = append(ls.checkpoints, c)
}

// newest is the latest version that exists, -1 if none does.
func (ls *listing) newest() int64 {
	v := int64(-1)
	if len(ls.checkpoints) > 0 {
		v = ls.checkpoints[0].version
	}
	for n := range ls.commits {
		v = max(v, n)
	}
	return v
}

// newestFile is the commit of the newest version, or the checkpoint that stands in for it.
func (ls *listing) newestFile() store.Info {
	if info, ok := ls.commits[ls.newest()]; ok {
		return info
	}
	return ls.checkpoints[0].parts[0]
}

// oldest is the first version of the unbroken run of commits that ends at version; version+1 if
// that commit is not there.
func (ls *listing) oldest(version int64) int64 {
	for {
		if _, ok := ls.commits[version]; !ok {
			return version + 1
		}
		version--
	}
}

// missing is the first version of first..last without a commit; ok is false if there is none.
func (ls *listing) missing(first, last int64) (version int64, ok bool) {
	for v := first; v <= last; v++ {
		if _, there := ls.commits[v]; !there {
			return v, true
		}
	}
	return 0, false
}

// gap is the first version without a commit before the newest of a list that began at a version. What a checkpoint may
// stand in for is none: that the list begins with one, or after it.
func (ls *listing) gap(from int64) (version int64, ok bool) {
	if len(ls.checkpoints) > 0 {
		from = ls.checkpoints[len(ls.checkpoints)-1].version + 1
		for v := range ls.commits {
			from = min(from, v)
		}
	}
	return ls.missing(max(from, 0), ls.newest())
}

// segment is a commit, or a compaction with the commits that it stands for.
type segment struct {
	first, last int64
	compacted   *store.Info
}

// segments covers first..last, by the longest compaction at each place.
func (ls *listing) segments(first, last int64) []segment {
	var out []segment
	for v := first; v <= last; {
		s := segment{first: v, last: v}
		for _, c := range ls.compactions[v] {
			if c.last > s.last && c.last <= last {
				s = segment{first: v, last: c.last, compacted: &c.info}
			}
		}
		out = append(out, s)
		v = s.last + 1
	}
	return out
}
