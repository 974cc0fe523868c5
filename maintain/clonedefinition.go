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

// onward are the changes of a copy's definition and domains.
func (p *clone) onward(now *delta.Snapshot) ([]delta.Action, error) {
	all, err := definitionBack(now, p.of)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(all, func(a delta.Action) bool { return a.Domain != nil })
	for d := range p.of.Domains() {
		if is, ok := now.Domain(d.Domain); !ok || is.Configuration != d.Configuration {
			out = append(out, delta.Action{Domain: &d})
		}
	}
	for d := range now.Domains() {
		if _, ok := p.of.Domain(d.Domain); !ok {
			d.Removed = true
			out = append(out, delta.Action{Domain: &d})
		}
	}
	return out, nil
}

// adds are the adds of files, with their statistics.
func (p *clone) adds(ctx context.Context, files []clonedFile) ([]delta.Action, error) {
	sources := make([]*delta.Add, len(files))
	for i, f := range files {
		sources[i] = f.source
	}
	stats, err := p.src.Log.Stats(ctx, p.of, sources)
	if err != nil {
		return nil, err
	}
	out := make([]delta.Action, len(files))
	for i := range files {
		add := files[i].add
		add.Stats, add.StatsDeferred = stats[i], false
		out[i] = delta.Action{Add: &add}
	}
	return out, nil
}

// tags are the txns of the source that a copy lacks, and which version it is of.
func (p *clone) tags(now *delta.Snapshot) []delta.Action {
	var out []delta.Action
	for t := range p.of.Txns() {
		if now != nil {
			if is, ok := now.Txn(t.AppID); ok && is.Version == t.Version {
				continue
			}
		}
		if !strings.HasPrefix(t.AppID, commit.CloneAppID("")) { // what the source itself is a copy of
			out = append(out, delta.Action{Txn: &t})
		}
	}
	at := p.dst.Env.Now().UnixMilli()
	return append(out, delta.Action{Txn: &delta.Txn{AppID: p.record(), Version: p.of.Version(), LastUpdated: &at}})
}
