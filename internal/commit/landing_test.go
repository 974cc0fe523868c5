package commit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/commit"
)

// landed is the table at version 4 with what some actions leave.
func landed(t require.TestingT, change func(*delta.Protocol, *delta.Metadata), actions ...delta.Action) *delta.Snapshot {
	p, m := *base().Protocol, metadata(nil)
	if change != nil {
		change(&p, m)
	}
	r := delta.NewReplay("mem:///")
	r.CheckpointAt(3)
	require.NoError(t, r.Checkpoint(delta.Action{Protocol: &p}))
	require.NoError(t, r.Checkpoint(delta.Action{Metadata: m}))
	require.NoError(t, r.Commit(4, actions))
	snap, err := r.Snapshot(4)
	require.NoError(t, err)
	return snap
}

func bodyOf(t require.TestingT, in *commit.Intent, l commit.Landing) []delta.Action {
	body, err := in.Body(l)
	require.NoError(t, err)
	return body
}

func supports(features ...string) func(*delta.Protocol, *delta.Metadata) {
	return func(p *delta.Protocol, m *delta.Metadata) {
		p.MinReaderVersion, p.MinWriterVersion, p.WriterFeatures = 1, 7, features
	}
}

func with(change func(*delta.Protocol, *delta.Metadata), key, value string) func(*delta.Protocol, *delta.Metadata) {
	return func(p *delta.Protocol, m *delta.Metadata) {
		change(p, m)
		m.Configuration[key] = value
	}
}

// counted is a new file with a number of rows.
func counted(key string, rows int) delta.Action {
	a := add(key, "1", true)
	a.Add.Stats = fmt.Sprintf(`{"numRecords":%d}`, rows)
	return a
}

const timestamps = "delta.enableInCommitTimestamps"

// §12.16: the timestamp is the time, but later than that of the version before.
func TestInCommitTimestamp(t *testing.T) {
	on := with(supports("inCommitTimestamp"), timestamps, "true")
	for name, c := range map[string]struct {
		table      *delta.Snapshot
		now, after int64
		want       int64
	}{
		"the clock":                      {landed(t, on), 1000, 900, 1000},
		"a clock that stands still":      {landed(t, on), 1000, 1000, 1001},
		"a clock that runs behind":       {landed(t, on), 1000, 5000, 5001},
		"the property without a feature": {landed(t, with(supports(), timestamps, "true")), 1000, 0, 0},
		"the feature without a property": {landed(t, supports("inCommitTimestamp")), 1000, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := intents()["append"]
			require.Equal(t, c.want != 0, in.NeedsAfter(c.table))
			info := bodyOf(t, in, commit.Landing{Version: 5, Now: c.now, Table: c.table, After: c.after})[0].CommitInfo
			if c.want == 0 {
				require.Nil(t, info.InCommitTimestamp)
				return
			}
			require.Equal(t, c.want, *info.InCommitTimestamp)
			require.Nil(t, in.Info.InCommitTimestamp, "the template stays as it is")
		})
	}
}

// §12.16: a commit that turns timestamps on says from which version and time on they count, as they
// really are; one that makes the table says nothing.
func TestTurningTimestampsOn(t *testing.T) {
	p, m := *base().Protocol, metadata(nil)
	with(supports("inCommitTimestamp"), timestamps, "true")(&p, m)
	turn := &commit.Intent{TxnID: "t", TableID: "table", ReadVersion: 4, Actions: []delta.Action{{Protocol: &p}, {Metadata: m}}}
	body := bodyOf(t, turn, commit.Landing{Version: 5, Now: 1000, Table: landed(t, nil), After: 2000})
	require.EqualValues(t, 2001, *body[0].CommitInfo.InCommitTimestamp)
	got := body[2].Metadata.Configuration
	require.Equal(t, "5", got["delta.inCommitTimestampEnablementVersion"])
	require.Equal(t, "2001", got["delta.inCommitTimestampEnablementTimestamp"])
	require.NotContains(t, m.Configuration, "delta.inCommitTimestampEnablementVersion", "the plan stays as it is")

	later := bodyOf(t, turn, commit.Landing{Version: 9, Now: 3000, Table: landed(t, nil), After: 2000})
	require.Equal(t, "9", later[2].Metadata.Configuration["delta.inCommitTimestampEnablementVersion"], "after another writer's commits")

	made := *turn
	made.TableID, made.ReadVersion = "", -1
	body = bodyOf(t, &made, commit.Landing{Now: 1000})
	require.EqualValues(t, 1000, *body[0].CommitInfo.InCommitTimestamp)
	require.NotContains(t, body[2].Metadata.Configuration, "delta.inCommitTimestampEnablementVersion")
}

func mark(n int) delta.Action {
	return delta.Action{Domain: &delta.DomainMetadata{Domain: "delta.rowTracking", Configuration: fmt.Sprintf(`{"rowIdHighWaterMark":%d}`, n)}}
}

// §12.17: new files get fresh ids above the mark of the table that the commit lands on.
func TestRowIDs(t *testing.T) {
	tracked := supports("rowTracking", "domainMetadata")
	in := *intents()["append"]
	in.Actions = []delta.Action{counted("x", 10), counted("y", 5)}

	body := bodyOf(t, &in, commit.Landing{Version: 5, Now: 1, Table: landed(t, tracked)})
	require.EqualValues(t, 0, *body[1].Add.BaseRowID, "the first id is 0")
	require.EqualValues(t, 10, *body[2].Add.BaseRowID)
	require.EqualValues(t, 5, *body[2].Add.CommitVersion)
	require.Equal(t, mark(14), body[3])
	require.Nil(t, in.Actions[0].Add.BaseRowID, "the plan stays as it is")

	body = bodyOf(t, &in, commit.Landing{Version: 9, Now: 1, Table: landed(t, tracked, mark(99))})
	require.EqualValues(t, 100, *body[1].Add.BaseRowID, "after another writer raised the mark")
	require.EqualValues(t, 9, *body[1].Add.CommitVersion)
	require.Equal(t, mark(114), body[3])

	for name, change := range map[string]func(*delta.Protocol, *delta.Metadata){
		"without the feature": nil,
		"while suspended":     with(tracked, "delta.rowTrackingSuspended", "true"),
	} {
		body := bodyOf(t, &in, commit.Landing{Version: 5, Now: 1, Table: landed(t, change)})
		require.Nil(t, body[1].Add.BaseRowID, name)
		require.Len(t, body, 3, name)
	}

	in.Actions = []delta.Action{add("z", "1", true)}
	_, err := in.Body(commit.Landing{Version: 5, Now: 1, Table: landed(t, tracked)})
	require.ErrorIs(t, err, delta.ErrUnsupported, "numRecords is mandatory")
	_, err = in.Body(commit.Landing{Version: 5, Now: 1, Table: landed(t, tracked, delta.Action{Domain: &delta.DomainMetadata{Domain: "delta.rowTracking", Configuration: "nonsense"}})})
	require.ErrorIs(t, err, delta.ErrCorrupt)
}

// §12.17: a file that is added again, for another vector or other statistics, keeps its ids.
func TestAFileAddedAgainKeepsItsRowIDs(t *testing.T) {
	tracked := supports("rowTracking", "domainMetadata", "deletionVectors")
	live := counted("x", 10)
	id, version := int64(40), int64(2)
	live.Add.BaseRowID, live.Add.CommitVersion = &id, &version
	table := landed(t, tracked, live, mark(49))
	in := *intents()["delete"]
	again := counted("x", 10)
	again.Add.DeletionVector = &delta.DeletionVector{StorageType: "i", PathOrInlineDV: "v", Cardinality: 1}
	in.Actions = []delta.Action{remove("x", true), again}
	body := bodyOf(t, &in, commit.Landing{Version: 5, Now: 1, Table: table})
	require.EqualValues(t, 40, *body[2].Add.BaseRowID)
	require.EqualValues(t, 2, *body[2].Add.CommitVersion)
	require.Len(t, body, 3, "the mark stands")
	require.Empty(t, in.Files(), "the file is the table's whatever becomes of the commit")

	in.Actions = []delta.Action{again}
	_, err := in.Body(commit.Landing{Version: 5, Now: 1, Table: table})
	require.ErrorContains(t, err, "without being removed", "JSON-6")
}

// A restore that brings its own mark never lowers the table's.
func TestTheMarkOfRowIDsOnlyRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		has, given := rapid.IntRange(0, 50).Draw(t, "has"), rapid.IntRange(0, 50).Draw(t, "given")
		rows := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 5).Draw(t, "rows")
		in := *intents()["append"]
		in.Actions = []delta.Action{mark(given)}
		total := 0
		for i, n := range rows {
			in.Actions = append(in.Actions, counted(fmt.Sprint("f", i), n))
			total += n
		}
		body := bodyOf(t, &in, commit.Landing{Version: 5, Now: 1, Table: landed(t, supports("rowTracking", "domainMetadata"), mark(has))})
		want := max(has, given) + total
		last := body[len(body)-1]
		if want == has {
			require.Nil(t, last.Domain)
			return
		}
		require.Equal(t, mark(want), last)
		next, file := int64(max(has, given)+1), 0
		for _, a := range body {
			if a.Add == nil {
				continue
			}
			require.Equal(t, next, *a.Add.BaseRowID, "no id is given twice")
			next, file = next+int64(rows[file]), file+1
		}
	})
}

// TestRecordsOfWhatWasTakenBack: what a commit makes of them, so that they say the same once the log is cleaned up.
func TestRecordsOfWhatWasTakenBack(t *testing.T) {
	const none = commit.Cleared
	from, upTo := commit.GapAppIDs(0, "app")
	record := func(app string, version int64) delta.Action {
		return delta.Action{Txn: &delta.Txn{AppID: app, Version: version}}
	}
	gap := func(a, b int64) []delta.Action { return []delta.Action{record(from, a), record(upTo, b)} }
	undone := func(v int64) delta.Action { return record(commit.UndoneAppID("app"), v) }
	for _, c := range []struct {
		why    string
		have   []delta.Action
		write  int64
		rewind bool
		want   map[string]int64 // what is written beside the tag's own record
	}{
		{"the version that was taken back is written again", []delta.Action{record("app", 2), undone(1)}, 2, false, map[string]int64{commit.UndoneAppID("app"): none}},
		{"a later one is written", []delta.Action{record("app", 2), undone(1)}, 3, false, map[string]int64{commit.UndoneAppID("app"): none, from: 1, upTo: 2}},
		{"one below it that was taken back too", []delta.Action{record("app", 3), undone(0)}, 2, false, map[string]int64{commit.UndoneAppID("app"): none, from: 2, upTo: 3}},
		{"the tag is moved back", append(gap(1, 3), record("app", 5), undone(4)), 4, true, map[string]int64{commit.UndoneAppID("app"): none, from: none, upTo: none}},
		{"the tag is moved to never", append(gap(1, 3), record("app", 5)), -1, true, map[string]int64{from: none, upTo: none}},
		{"nothing was taken back", []delta.Action{record("app", 2)}, 3, false, map[string]int64{}},
		{"what is in a gap stays there", append(gap(1, 3), record("app", 5)), 6, false, map[string]int64{}},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := *intents()["tag only"]
			in.Tag, in.Rewind = &commit.Tag{AppID: "app", Version: c.write}, c.rewind
			got := map[string]int64{}
			for _, a := range bodyOf(t, &in, commit.Landing{Version: 1, Now: 9, Table: landed(t, nil, c.have...)}) {
				if a.Txn != nil {
					require.EqualValues(t, 9, *a.Txn.LastUpdated)
					got[a.Txn.AppID] = a.Txn.Version
				}
			}
			require.Equal(t, c.write, got["app"])
			delete(got, "app")
			require.Equal(t, c.want, got)
		})
	}
}

// TestRemovalsHaveTheTimeOfTheCommit: a vacuum counts from it, and the plan may be long ago.
func TestRemovalsHaveTheTimeOfTheCommit(t *testing.T) {
	in := *intents()["delete"]
	in.Actions = nil
	for name, at := range map[string]int64{"planned long ago": 1, "planned now": 500, "planned by a clock that was ahead": 900} {
		a := remove(name, true)
		a.Remove.DeletionTimestamp = &at
		in.Actions = append(in.Actions, a)
	}
	got := map[string]int64{}
	for _, a := range bodyOf(t, &in, commit.Landing{Version: 5, Now: 500, Table: landed(t, nil)}) {
		if a.Remove != nil {
			got[a.Remove.Path] = *a.Remove.DeletionTimestamp
		}
	}
	require.Equal(t, map[string]int64{"planned long ago": 500, "planned now": 500, "planned by a clock that was ahead": 900}, got)
	for _, a := range in.Actions {
		if a.Remove.Path == "planned long ago" {
			require.EqualValues(t, 1, *a.Remove.DeletionTimestamp, "the plan stays as it is")
		}
	}
}
