package plan

import "github.com/idemtable/idem/delta"

// feedsChanges says whether the table has a change data feed: commits that copy rows tell it what
// changed.
func feedsChanges(snap *delta.Snapshot) bool {
	return snap.Protocol().Supports("changeDataFeed") && isSet(snap, "delta.enableChangeDataFeed")
}

// Changes are the actions of files that a [FileSet] of ChangeRows finished.
func Changes(files []*delta.Add) []delta.Action {
	out := make([]delta.Action, len(files))
	for i, f := range files {
		out[i] = delta.Action{CDC: &delta.CDC{Path: f.Path, PartitionValues: f.PartitionValues, Size: f.Size}}
	}
	return out
}
