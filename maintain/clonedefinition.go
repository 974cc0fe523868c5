package maintain

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

// first are protocol, metadata and domains of version 0.
func (p *clone) first() ([]delta.Action, error) {
	m, now := *p.of.Metadata(), p.dst.Env.Now().UnixMilli()
	m.ID, m.CreatedTime = p.dst.Env.NewID(), &now
	m.Configuration = maps.Clone(m.Configuration)
	for _, key := range ofTheLog[1:] { // the copy keeps its own times from its first version on
		delete(m.Configuration, key)
	}
	out := []delta.Action{{Protocol: p.of.Protocol()}, {Metadata: &m}}
	for d := range p.of.Domains() {
		out = append(out, delta.Action{Domain: &d})
	}
	return out, nil
}

// definitionOnward are the changes of a copy's definition and domains that make it one of a version. own says that its row
// ids are its own.
func definitionOnward(now, of *delta.Snapshot, own bool, fresh func() string) ([]delta.Action, error) {
	given := &given{numbers: numbersOf(of)}
	given.numbers.take(now.Schema(), now.Mapping() != delta.MappingNone)
	all, err := definitionBack(now, of, given, own, fresh)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(all, func(a delta.Action) bool { return a.Domain != nil })
	for d := range of.Domains() {
		if is, ok := now.Domain(d.Domain); d.Domain != commit.RowIDDomain && (!ok || is.Configuration != d.Configuration) {
			out = append(out, delta.Action{Domain: &d})
		}
	}
	for d := range now.Domains() {
		if _, ok := of.Domain(d.Domain); d.Domain != commit.RowIDDomain && !ok {
			d.Removed = true
			out = append(out, delta.Action{Domain: &d})
		}
	}
	is, err := commit.RowIDMark(now)
	if err != nil {
		return nil, err
	}
	mark, err := commit.RowIDMark(of)
	if mark > is { // it is never lowered, nor taken away: the copy keeps the feature
		d := commit.RowIDDomainOf(mark)
		out = append(out, delta.Action{Domain: &d})
	}
	return out, err
}

// ownIDs says whether the rows of a copy have other row ids than those of the source, which dropped row tracking and
// enabled it again. The copy keeps the feature, so that its rows keep their ids.
func (p *clone) ownIDs(now *delta.Snapshot) bool {
	if now == nil || !now.Protocol().Supports(trackingFeature) {
		return false
	}
	for _, hidden := range delta.HiddenColumns {
		key := hidden.Property
		is, ok := now.Property(key)
		if of, has := p.of.Property(key); ok && has && is != of {
			return true
		}
	}
	removed := idsRemoved(now)
	return slices.ContainsFunc(p.files, func(f clonedFile) bool {
		var has *int64
		if live, ok := now.Live(f.data.to); ok {
			has = live.BaseRowID
		} else if r := removed[f.data.to]; r != nil {
			has = r.BaseRowID
		}
		return has != nil && f.add.BaseRowID != nil && *has != *f.add.BaseRowID
	})
}

// bare are the files that stay and lack the row ids that they are to have.
func (p *clone) bare(now *delta.Snapshot) []clonedFile {
	if now == nil {
		return nil
	}
	var out []clonedFile
	for _, f := range p.files {
		live, ok := now.Live(f.data.to)
		if ok && live.DeletionVector.ID() == f.add.DeletionVector.ID() && untracked(live, &f.add, p.of) {
			f.add.DataChange = false
			out = append(out, f)
		}
	}
	return out
}

// adds are the adds of files, with their statistics and row ids.
func (p *clone) adds(ctx context.Context, now *delta.Snapshot, files []clonedFile) ([]delta.Action, error) {
	sources := make([]*delta.Add, len(files))
	for i, f := range files {
		sources[i] = f.source
	}
	stats, err := p.src.Log.Stats(ctx, p.of, sources)
	if err != nil {
		return nil, err
	}
	removed := idsRemoved(now)
	out := make([]delta.Action, len(files))
	for i := range files {
		add := files[i].add
		add.Stats, add.StatsDeferred = stats[i], false
		if p.own {
			add.BaseRowID = nil
		}
		if r := removed[add.Key]; r != nil {
			add.BaseRowID, add.CommitVersion = r.BaseRowID, r.CommitVersion
		}
		out[i] = delta.Action{Add: &add}
	}
	return out, nil
}

// tags are the txns of the source that a copy lacks, and which version it is of. The records of what was
// taken back of a tag stand beside it in one commit: the copy's log does not have the RESTORE.
func (p *clone) tags(ctx context.Context, now *delta.Snapshot) ([]delta.Action, error) {
	undone, err := p.takenBack(ctx)
	if err != nil {
		return nil, err
	}
	byApp := map[string][]delta.Action{}
	changed := map[string]bool{}
	take := func(t delta.Txn) {
		app := commit.TaggedApp(t.AppID)
		byApp[app] = append(byApp[app], delta.Action{Txn: &t})
		changed[app] = changed[app] || lacks(now, t)
	}
	for t := range p.of.Txns() {
		if strings.HasPrefix(t.AppID, commit.CloneAppID("")) { // what the source itself is a copy of
			continue
		}
		if own, ok := undone[t.AppID]; ok {
			t.Version = own
			delete(undone, t.AppID)
		}
		take(t)
	}
	at := p.dst.Env.Now().UnixMilli()
	for id, version := range undone {
		take(delta.Txn{AppID: id, Version: version, LastUpdated: &at})
	}
	var out []delta.Action
	for _, app := range slices.Sorted(maps.Keys(byApp)) {
		if changed[app] {
			out = append(out, byApp[app]...)
		}
	}
	return append(out, delta.Action{Txn: &delta.Txn{AppID: p.record(), Version: p.of.Version(), LastUpdated: &at}}), nil
}

func lacks(now *delta.Snapshot, t delta.Txn) bool {
	if now == nil {
		return true
	}
	is, ok := now.Txn(t.AppID)
	return !ok || is.Version != t.Version
}

// takenBack are the undone records of tags whose last version is not in effect in the source, by their app
// ids: a RESTORE of another engine left none, and the source's log tells of it.
func (p *clone) takenBack(ctx context.Context) (map[string]int64, error) {
	var tags []commit.Tag
	for _, app := range taggedApps(p.of) {
		if r := commit.RecordsOf(p.of, app); r.Recorded >= 0 {
			tags = append(tags, commit.Tag{AppID: app, Version: r.Recorded})
		}
	}
	answers, err := p.src.CheckTags(ctx, p.of, tags...)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, a := range answers {
		undone, r := int64(commit.Cleared), commit.RecordsOf(p.of, a.Tag.AppID)
		if a.Status == commit.Restored {
			undone = a.Effective
		}
		if undone != r.Undone {
			out[commit.UndoneAppID(a.Tag.AppID)] = undone
		}
	}
	return out, nil
}
