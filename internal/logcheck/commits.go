package logcheck

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/idemtable/idem/delta"
)

// read decodes a commit and looks at what needs no state.
func (c *checker) read(ctx context.Context, v int64) ([]delta.Action, error) {
	key := delta.CommitKey(v)
	data, err := c.store.Get(ctx, key, maxObject)
	if err != nil {
		return nil, fmt.Errorf("read commit %d: %w", v, err)
	}
	if _, err := delta.DecodeActions(key, data); broken(err) {
		c.find(CommitDecode, v, key, "%v", err)
		return nil, errStopped
	}
	actions, err := delta.DecodeCommit(key, data)
	if broken(err) {
		c.find(CommitUnique, v, key, "%v", err)
		return nil, errStopped
	}
	if err != nil {
		return nil, err
	}
	c.form(v, data, actions)
	c.info(v, actions)
	return actions, nil
}

// ours says whether idem made a commit, by its commitInfo.
func ours(actions []delta.Action) bool { return madeByUs(delta.InfoOf(actions)) }

func madeByUs(info *delta.CommitInfo) bool {
	if info == nil {
		return false
	}
	name, _, _ := strings.Cut(info.EngineInfo, "/")
	return name == "idem"
}

// info looks at what a commit says of itself.
func (c *checker) info(v int64, actions []delta.Action) {
	key, info := delta.CommitKey(v), delta.InfoOf(actions)
	if info == nil {
		c.find(CommitInfo, v, key, "there is none")
		return
	}
	c.latest = max(c.latest, info.Timestamp)
	if ours(actions) && actions[0].CommitInfo == nil {
		c.find(CommitInfo, v, key, "it does not come first")
	}
	before, twice := c.txnIDs[info.TxnID]
	switch {
	case info.TxnID == "" && ours(actions):
		c.find(CommitTxnID, v, key, "there is none")
	case info.TxnID != "" && twice:
		c.find(CommitTxnID, v, key, "version %d has %s too", before, info.TxnID)
	}
	c.txnIDs[info.TxnID] = v
}

// commit replays a version and looks at each action on the state before it.
func (c *checker) commit(ctx context.Context, v int64) error {
	actions, err := c.read(ctx, v)
	if err != nil {
		return err
	}
	before := c.snap
	after, err := c.advance(v, actions)
	if broken(err) {
		rule := CommitReplay
		if v == 0 && !defines(actions) {
			rule = CommitZero
		}
		c.find(rule, v, delta.CommitKey(v), "%v", err)
		return errStopped
	}
	if err != nil {
		return err
	}
	c.take(after)
	if before != nil {
		c.definition(v, before, actions)
	}
	for _, a := range actions {
		switch {
		case a.Remove != nil:
			c.remove(v, before, a.Remove, ours(actions))
		case a.Txn != nil && a.Txn.LastUpdated == nil && ours(actions):
			c.find(TxnUpdated, v, delta.CommitKey(v), "the txn of %q has none", a.Txn.AppID)
		}
	}
	for _, a := range actions {
		if a.Add != nil {
			c.add(v, before, a.Add, ours(actions) && !adopts(delta.InfoOf(actions).Operation))
		}
	}
	return c.each(ctx, c.step(v, actions, before))
}

func (c *checker) advance(v int64, actions []delta.Action) (*delta.Snapshot, error) {
	if c.snap != nil {
		return c.snap.Advance(v, actions)
	}
	r := c.newReplay()
	if err := r.Commit(v, actions); err != nil {
		return nil, err
	}
	return r.Snapshot(v)
}

func defines(actions []delta.Action) bool {
	var protocol, metadata bool
	for _, a := range actions {
		protocol, metadata = protocol || a.Protocol != nil, metadata || a.Metadata != nil
	}
	return protocol && metadata
}

// definition looks at what a commit does to the table as a whole.
func (c *checker) definition(v int64, before *delta.Snapshot, actions []delta.Action) {
	if was, is := before.Metadata().ID, c.snap.Metadata().ID; was != is {
		c.find(CommitTableID, v, delta.CommitKey(v), "it was %s and is %s", was, is)
	}
	if !before.AppendOnly() {
		return
	}
	for _, a := range actions {
		if a.Remove != nil && a.Remove.DataChange {
			c.find(CommitAppend, v, a.Remove.Path, "it is removed with dataChange")
		}
	}
}

func (c *checker) remove(v int64, before *delta.Snapshot, r *delta.Remove, ours bool) {
	key, err := c.resolve(r.Path)
	if err != nil {
		c.find(RemoveLive, v, r.Path, "%v", err)
		return
	}
	var live *delta.Add
	if before != nil {
		live, _ = before.Live(key)
	}
	if live == nil || live.DeletionVector.ID() != r.DeletionVector.ID() || live.Path != r.Path {
		c.find(RemoveLive, v, r.Path, "it was not live at version %d", v-1)
		return
	}
	if _, still := c.snap.Live(key); !still {
		delete(c.origins, key)
	}
	if r.DeletionTimestamp != nil {
		c.latest = max(c.latest, *r.DeletionTimestamp)
	}
	switch {
	case !ours:
	case !r.ExtendedMetadata || r.PartitionValues == nil || r.Size == nil:
		c.find(RemoveMetadata, v, r.Path, "extendedFileMetadata, partitionValues or size is missing")
	case *r.Size != live.Size:
		c.find(RemoveMetadata, v, r.Path, "its size is %d, that of the add %d", *r.Size, live.Size)
	case r.DeletionTimestamp == nil:
		c.find(RemoveMetadata, v, r.Path, "deletionTimestamp is missing")
	}
}

func (c *checker) add(v int64, before *delta.Snapshot, a *delta.Add, ours bool) {
	live, ok := c.snap.Live(c.keyOf(a.Path))
	if !ok {
		return // the same commit cannot remove it: the replay refuses that
	}
	mapped := c.snap.Mapping() != delta.MappingNone
	if by, known := c.authors[live.Key]; !known {
		c.authors[live.Key] = author{v, ours}
	} else if then := c.snaps[by.version]; then != nil {
		mapped = mapped && then.Mapping() != delta.MappingNone // it may be older than the mapping
	}
	o := origin{version: v, ours: ours && c.authors[live.Key].ours, mapped: mapped}
	if before != nil && ours && a.DataChange {
		if old, ok := before.Live(live.Key); ok && old.DeletionVector.ID() == a.DeletionVector.ID() {
			c.find(AddAgain, v, a.Path, "it has been live since version %d", c.origins[live.Key].version)
		}
	}
	o.unfit = !c.partitions(v, a)
	c.origins[live.Key] = o
}

// newReplay begins a replay of the log, or of a part of it.
func (c *checker) newReplay() *delta.Replay {
	r := delta.NewReplay(c.store.URL())
	if c.outside {
		r.AllowOutside()
	}
	return r
}

// resolve gives the key of a path, or its one spelling outside the root where files may be there.
func (c *checker) resolve(path string) (string, error) {
	if c.outside {
		return delta.Locate(c.store.URL(), path)
	}
	return delta.ResolvePath(c.store.URL(), path)
}

// vectorKey is where the file of a vector is, as resolve says it.
func (c *checker) vectorKey(dv *delta.DeletionVector) (key string, offset int64, err error) {
	if c.outside {
		return dv.Locate(c.store.URL())
	}
	return dv.FileKey(c.store.URL())
}

// keyOf gives the key of a path, "" if it has none: then no file is live under it.
func (c *checker) keyOf(path string) string {
	key, err := c.resolve(path)
	if err != nil {
		return ""
	}
	return key
}

// partitions holds an add against the partition columns; false if it breaks a rule.
func (c *checker) partitions(v int64, a *delta.Add) bool {
	columns := map[string]int{} // of the schema, -1 in a table without one
	for i, name := range c.snap.Metadata().PartitionColumns {
		key := name
		if c.snap.HasSchema() {
			key = c.snap.PartitionKey(c.snap.PartitionColumns()[i])
		}
		columns[key] = c.snap.Schema().Index(name)
	}
	want := slices.Sorted(maps.Keys(columns))
	if got := slices.Sorted(maps.Keys(a.PartitionValues)); !slices.Equal(got, want) {
		c.find(AddPartitions, v, a.Path, "it has %q, the table has %q", got, want)
		return false
	}
	fit := true
	for _, name := range want {
		i, text := columns[name], a.PartitionValues[name]
		if i < 0 {
			continue // a table without a schema
		}
		if text != nil && *text == "" {
			c.find(AddValue, v, a.Path, "%s is an empty string, which stands for NULL: write null", name)
			fit = false
		} else if _, err := delta.ParsePartitionValue(c.snap.Schema().Fields[i].Type, text); err != nil {
			c.find(AddValue, v, a.Path, "%s: %v", name, err)
			fit = false
		}
	}
	return fit
}
