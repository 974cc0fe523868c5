package maintain

import (
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

const trackingFeature = "rowTracking"

// idsSince are the row ids that files of a version have, as it says and the commits after it. Once the feature is
// dropped they are void, until it is back: then those of files that came before may be those of others by now.
type idsSince struct {
	root string
	of   map[string]*delta.Add // by key, the last add of each file that has ids; nil if it has none any more
	mark int64                 // the greatest id given
	anew bool                  // the feature came since, for the first time or again
}

// idsOf are those that the version itself says, of some files.
func idsOf(root string, then *delta.Snapshot, files []*delta.Add) (*idsSince, error) {
	mark, err := commit.RowIDMark(then)
	g := &idsSince{root: root, of: make(map[string]*delta.Add, len(files)), mark: mark}
	for _, f := range files {
		g.of[f.Key] = f
	}
	return g, err
}

// take goes on by a commit.
func (g *idsSince) take(actions []delta.Action) error {
	for _, a := range actions {
		if a.Protocol != nil {
			g.under(a.Protocol)
		}
		if a.Domain != nil && a.Domain.Domain == commit.RowIDDomain {
			if err := g.raise(a.Domain.Configuration); err != nil {
				return err
			}
		}
	}
	for _, a := range actions {
		if a.Add == nil || a.Add.BaseRowID == nil {
			continue
		}
		key, err := delta.Locate(g.root, a.Add.Path)
		if _, wanted := g.of[key]; wanted && err == nil {
			g.of[key] = a.Add
		}
	}
	return nil
}

func (g *idsSince) under(p *delta.Protocol) {
	if p.Supports(trackingFeature) {
		return
	}
	g.anew = true
	for key := range g.of {
		g.of[key] = nil
	}
}

func (g *idsSince) raise(configuration string) error {
	mark, err := commit.ParseRowIDMark(configuration)
	g.mark = max(g.mark, mark)
	return err
}

// end goes on to the table as it is now. Where it does not track rows it takes the ids up that it had.
func (g *idsSince) end(now *delta.Snapshot) error {
	mark, err := commit.RowIDMark(now)
	g.mark = max(g.mark, mark)
	g.under(now.Protocol())
	g.anew = g.anew && now.Protocol().Supports(trackingFeature)
	for key := range g.of {
		if live, ok := now.Live(key); ok && live.BaseRowID != nil {
			g.of[key] = live
		}
	}
	return err
}

// give gives adds of the version their ids. One that gets none here gets some where the commit lands.
func (g *idsSince) give(adds []*delta.Add, now *delta.Snapshot) {
	for _, f := range adds {
		if now.Protocol().Supports(trackingFeature) {
			last := g.of[f.Key]
			if last == nil {
				last = &delta.Add{}
			}
			f.BaseRowID, f.CommitVersion = last.BaseRowID, last.CommitVersion
		}
		if n, ok := delta.NumRecords(f.Stats); ok && f.BaseRowID != nil {
			g.mark = max(g.mark, *f.BaseRowID+n-1)
		}
	}
}

// untracked says whether a live file lacks the ids that it is to have: f is what it is to be, in a table as then. While
// tracking is suspended, as a drop begins, it needs none.
func untracked(live, f *delta.Add, then *delta.Snapshot) bool {
	if suspended, _ := then.Property("delta.rowTrackingSuspended"); strings.EqualFold(suspended, "true") {
		return false
	}
	tracks := then.TracksRows()
	return live.BaseRowID == nil && (tracks || f.BaseRowID != nil) || live.CommitVersion == nil && tracks
}

// idsRemoved are the removed files that have row ids, by key: by the protocol a file that is added
// again has the ids of its last add.
func idsRemoved(now *delta.Snapshot) map[string]*delta.Remove {
	out := map[string]*delta.Remove{}
	if now == nil || !now.Protocol().Supports(trackingFeature) {
		return out
	}
	for r := range now.Tombstones() {
		if r.BaseRowID != nil {
			out[r.Key] = r
		}
	}
	return out
}
