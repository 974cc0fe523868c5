package commit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/idemtable/idem/delta"
)

// Landing is what the bytes of a commit depend on beside the intent: the table that it lands on.
// A commit that is overtaken lands on another table, and its bytes are made anew.
type Landing struct {
	// Version is that of the commit.
	Version int64

	// Now is the time in milliseconds since the epoch.
	Now int64

	// Table is the table before the commit, nil if the commit makes it.
	Table *delta.Snapshot

	// Beside says that the tag's version is below one that is in the table, and is written again: see
	// TagAnswer.Beside.
	Beside bool

	// After is the time of the version before in milliseconds since the epoch: its in-commit
	// timestamp or, where it has none, the time of its file. It is asked for by NeedsAfter.
	After int64
}

// RowIDDomain is the domain of the greatest row id that was given.
const RowIDDomain = "delta.rowTracking"

// The features and names that a landing looks at.
const (
	timestampsFeature  = "inCommitTimestamp"
	timestampsKey      = "delta.enableInCommitTimestamps"
	timestampsFrom     = "delta.inCommitTimestampEnablementVersion"
	timestampsFromTime = "delta.inCommitTimestampEnablementTimestamp"

	rowTrackingFeature   = "rowTracking"
	rowTrackingSuspended = "delta.rowTrackingSuspended"
)

// TimestampsInCommits says whether the commits of a table carry their timestamps.
func TimestampsInCommits(p *delta.Protocol, m *delta.Metadata) bool {
	return p != nil && m != nil && p.Supports(timestampsFeature) && strings.EqualFold(m.Configuration[timestampsKey], "true")
}

// NeedsAfter says whether the commit, on a table that exists, depends on the time of the version
// before it.
func (in *Intent) NeedsAfter(table *delta.Snapshot) bool {
	return table != nil && TimestampsInCommits(in.after(table))
}

// after is the definition that the commit leaves.
func (in *Intent) after(table *delta.Snapshot) (*delta.Protocol, *delta.Metadata) {
	var p *delta.Protocol
	var m *delta.Metadata
	if table != nil {
		p, m = table.Protocol(), table.Metadata()
	}
	for _, a := range in.Actions {
		switch {
		case a.Protocol != nil:
			p = a.Protocol
		case a.Metadata != nil:
			m = a.Metadata
		}
	}
	return p, m
}

// Body is the whole commit on the table that it lands on: commitInfo first. What a plan cannot know
// is completed here: the in-commit timestamp, the row ids of new files and their high-water mark,
// the tag's record. A plan that contradicts the table is an error: it is our own mistake.
func (in *Intent) Body(l Landing) ([]delta.Action, error) {
	body := make([]delta.Action, 0, len(in.Actions)+4)
	body = append(body, delta.Action{CommitInfo: in.info(l)})
	body = append(body, in.Actions...)
	if err := in.consistent(l); err != nil {
		return nil, err
	}
	stampRemoves(body, l.Now)
	in.stamp(body, l)
	body, err := in.trackRows(body, l)
	if err != nil {
		return nil, err
	}
	if in.Tag == nil {
		return body, nil
	}
	return in.record(body, l), nil
}

// record writes the tag's record, and what becomes of those of versions that were taken back. Beside a
// later version that is in the table neither the record nor those of its rows move.
func (in *Intent) record(body []delta.Action, l Landing) []delta.Action {
	app, v := in.Tag.AppID, in.Tag.Version
	if l.Beside {
		body = slices.DeleteFunc(body, func(a delta.Action) bool { return a.Txn != nil && in.Tag.belongsTo(a.Txn.AppID) })
	} else if !in.writesTxn(app) {
		body = append(body, txn(app, v, l.Now))
	}
	if l.Table == nil {
		return body
	}
	is := RecordsOf(l.Table, app)
	to := is.Write(v)
	switch {
	case in.Rewind:
		to = is.Rewind(v)
	case l.Beside:
		to = is.WriteBeside(v)
	}
	return append(body, is.Changes(to, app, l.Now)...)
}

func (in *Intent) info(l Landing) *delta.CommitInfo {
	info := in.Info
	info.OperationParameters, info.Tags = maps.Clone(in.Info.OperationParameters), maps.Clone(in.Info.Tags)
	blind := in.Blind()
	info.TxnID, info.IsBlindAppend, info.IsolationLevel = in.TxnID, &blind, in.level()
	info.ReadVersion = nil
	if in.ReadVersion >= 0 {
		read := in.ReadVersion
		info.ReadVersion = &read
	}
	if info.Timestamp == 0 {
		info.Timestamp = l.Now
	}
	return &info
}

// consistent holds the files of the plan against those that are live: a file that stays under
// another vector takes the place of the one that it was.
func (in *Intent) consistent(l Landing) error {
	if l.Table == nil {
		return nil
	}
	removed := map[string]struct{}{}
	for _, a := range in.Actions {
		if a.Remove != nil {
			removed[delta.LogicalFile(keyOf(a.Remove.Key, a.Remove.Path), a.Remove.DeletionVector)] = struct{}{}
		}
	}
	for _, a := range in.Actions {
		if a.Add == nil {
			continue
		}
		key := keyOf(a.Add.Key, a.Add.Path)
		live, ok := l.Table.Live(key)
		if !ok || live.DeletionVector.ID() == a.Add.DeletionVector.ID() {
			continue
		}
		if _, gone := removed[delta.LogicalFile(key, live.DeletionVector)]; !gone {
			return fmt.Errorf("plan of %s: the file %s is added under another deletion vector without being removed under the one that it has", in.Info.Operation, a.Add.Path)
		}
	}
	return nil
}

// stampRemoves gives removals the time of the commit. The one of the plan may be long ago, and a vacuum
// counts from it: files that were live a moment ago would go at once.
func stampRemoves(body []delta.Action, now int64) {
	for i, a := range body {
		if a.Remove != nil && a.Remove.DeletionTimestamp != nil && *a.Remove.DeletionTimestamp < now {
			r := *a.Remove
			r.DeletionTimestamp = &now
			body[i].Remove = &r
		}
	}
}

// stamp gives the commit its timestamp, later than the one before, and the definition that turns
// such timestamps on the version from which they count.
func (in *Intent) stamp(body []delta.Action, l Landing) {
	if !TimestampsInCommits(in.after(l.Table)) {
		return
	}
	at := l.Now
	if l.Table != nil {
		at = max(at, l.After+1)
	}
	body[0].CommitInfo.InCommitTimestamp = &at
	if l.Table == nil || TimestampsInCommits(l.Table.Protocol(), l.Table.Metadata()) {
		return
	}
	for i, a := range body {
		if a.Metadata == nil {
			continue
		}
		m := *a.Metadata
		m.Configuration = maps.Clone(m.Configuration)
		m.Configuration[timestampsFrom] = strconv.FormatInt(l.Version, 10)
		m.Configuration[timestampsFromTime] = strconv.FormatInt(at, 10)
		body[i].Metadata = &m
	}
}

// trackRows gives every new file its row ids, above those that were ever given.
func (in *Intent) trackRows(body []delta.Action, l Landing) ([]delta.Action, error) {
	p, m := in.after(l.Table)
	if p == nil || m == nil || !p.Supports(rowTrackingFeature) || strings.EqualFold(m.Configuration[rowTrackingSuspended], "true") {
		return body, nil
	}
	mark, err := RowIDMark(l.Table)
	if err != nil {
		return nil, err
	}
	kept := body[:0]
	was := mark
	for _, a := range body {
		if a.Domain != nil && a.Domain.Domain == RowIDDomain && !a.Domain.Removed {
			own, err := ParseRowIDMark(a.Domain.Configuration)
			if err != nil {
				return nil, err
			}
			mark = max(mark, own)
			continue
		}
		kept = append(kept, a)
	}
	for i, a := range kept {
		if a.Add == nil || a.Add.BaseRowID != nil && a.Add.CommitVersion != nil {
			continue
		}
		add := *a.Add
		in.inherit(&add, l)
		if add.BaseRowID == nil {
			n, err := numRecords(&add)
			if err != nil {
				return nil, fmt.Errorf("plan of %s: %w", in.Info.Operation, err)
			}
			first := mark + 1
			add.BaseRowID, mark = &first, mark+n
		}
		if add.CommitVersion == nil {
			version := l.Version
			add.CommitVersion = &version
		}
		kept[i].Add = &add
	}
	if mark != was {
		d := RowIDDomainOf(mark)
		kept = append(kept, delta.Action{Domain: &d})
	}
	return kept, nil
}

// inherit keeps what a live file has, when it is added again.
func (in *Intent) inherit(add *delta.Add, l Landing) {
	if l.Table == nil {
		return
	}
	live, ok := l.Table.Live(keyOf(add.Key, add.Path))
	if !ok {
		return
	}
	if add.BaseRowID == nil {
		add.BaseRowID = live.BaseRowID
	}
	if add.CommitVersion == nil {
		add.CommitVersion = live.CommitVersion
	}
}

func numRecords(add *delta.Add) (int64, error) {
	if n, ok := delta.NumRecords(add.Stats); ok && n >= 0 {
		return n, nil
	}
	return 0, fmt.Errorf("%w: row tracking needs the number of rows of each file, and the statistics of %s do not say it", delta.ErrUnsupported, add.Path)
}

// RowIDDomainOf is the domain that says which row id is the greatest that was given.
func RowIDDomainOf(mark int64) delta.DomainMetadata {
	return delta.DomainMetadata{Domain: RowIDDomain, Configuration: `{"rowIdHighWaterMark":` + strconv.FormatInt(mark, 10) + `}`}
}

// RowIDMark is the greatest row id that was given, -1 if none was.
func RowIDMark(table *delta.Snapshot) (int64, error) {
	if table == nil {
		return -1, nil
	}
	d, ok := table.Domain(RowIDDomain)
	if !ok {
		return -1, nil
	}
	return ParseRowIDMark(d.Configuration)
}

// ParseRowIDMark reads the configuration of the domain.
func ParseRowIDMark(text string) (int64, error) {
	var c struct {
		Mark *int64 `json:"rowIdHighWaterMark"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return 0, fmt.Errorf("%w: the domain %s holds %q, which is no row-id high-water mark: %w", delta.ErrCorrupt, RowIDDomain, text, err)
	}
	if c.Mark == nil {
		return -1, nil
	}
	return *c.Mark, nil
}
