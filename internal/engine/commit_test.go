package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/engine"
	"github.com/idemtable/idem/internal/logio"
)

func TestWarmCommitIsOnePut(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	out, err := p.commit(t.Context(), appends(1, &commit.Tag{AppID: "app", Version: 1}))
	require.NoError(t, err)
	require.Equal(t, []string{"GET-RANGE _delta_log/00000000000000000000.json -> ok", "PUT-IF-ABSENT _delta_log/00000000000000000001.json -> ok", "PUT-IF-ABSENT _delta_log/00000000000000000001.crc -> ok"}, transcript(p))
	require.Equal(t, engine.Committed, out.Kind)
	require.EqualValues(t, 1, out.Recorded)
	requireTruth(t, w, p, txnID(1), out, err)

	p.snap = out.Snapshot
	p.faulty.Reset()
	out, err = p.commit(t.Context(), appends(2, nil))
	require.NoError(t, err)
	require.Equal(t, 3, p.faulty.Calls(), "the second is as warm as the first")
	require.EqualValues(t, 2, out.Version)
	require.Equal(t, []string{"a", "b", "new-1", "new-2"}, w.files())
}

func transcript(p *process) []string { return p.faulty.Transcript() }

// A skip makes no put, so it is proven by one get of the next version.
func TestSkipIsProvenByOneGet(t *testing.T) {
	w := newWorld(t)
	w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}}, add("five"))
	for version, want := range map[int64]engine.Kind{5: engine.AlreadyApplied, 4: engine.Superseded} {
		p := w.process()
		planner := tagged{plans: appends(1, &commit.Tag{AppID: "app", Version: version})}
		out, err := p.commit(t.Context(), planner)
		require.NoError(t, err)
		require.Equal(t, want, out.Kind)
		require.EqualValues(t, 5, out.Recorded)
		require.Zero(t, planner.asked, "no row is read")
		require.Zero(t, p.faulty.Count(storetest.OpPutIfAbsent))
		require.Zero(t, p.faulty.Count(storetest.OpList))
		gets := map[engine.Kind]int{engine.AlreadyApplied: 2, engine.Superseded: 3}[want]
		require.Equal(t, gets, p.faulty.Count(storetest.OpGet), "the commit with the record, those before it to where the version would be, and the next version: %q", transcript(p))
	}
}

// A tag that was moved back behind the back of a cached snapshot is not skipped.
func TestSkipOnAnOldSnapshotIsSeenThrough(t *testing.T) {
	w := newWorld(t)
	w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}}, add("five"))
	p := w.process()
	w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 3}})
	out, err := p.commit(t.Context(), tagged{plans: appends(1, &commit.Tag{AppID: "app", Version: 5})})
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
	require.EqualValues(t, 3, out.Version)
}

func TestNothingToDoIsProven(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	idle := &plans{txnID: txnID(1), make: func(snap *delta.Snapshot, _ int) (*commit.Intent, error) {
		if snap.NumFiles() == 2 {
			return nil, nil
		}
		return &commit.Intent{Actions: []delta.Action{add("more")}, DataChange: true, Reads: commit.Reads{WholeTable: true}}, nil
	}}
	out, err := p.commit(t.Context(), idle)
	require.NoError(t, err)
	require.Equal(t, engine.Unchanged, out.Kind)
	require.EqualValues(t, 0, out.Version)
	require.Equal(t, 2, p.faulty.Calls(), "%q", transcript(p))

	w.foreign(add("c"))
	out, err = p.commit(t.Context(), idle)
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind, "on the newest snapshot there was something to do")
	require.Equal(t, []string{"a", "b", "c", "more"}, w.files())
}

func TestRaces(t *testing.T) {
	tag := func(v int64) *commit.Tag { return &commit.Tag{AppID: "app", Version: v} }
	record := func(v int64) delta.Action { return delta.Action{Txn: &delta.Txn{AppID: "app", Version: v}} }
	redefined := func(change func(*delta.Metadata)) []delta.Action {
		m := definition()
		change(m)
		return []delta.Action{{Metadata: m}}
	}
	for name, c := range map[string]struct {
		planner *plans
		others  [][]delta.Action // commits that beat ours
		want    engine.Kind
		err     error
		version int64
		plans   int
		files   []string
	}{
		"append against append":          {appends(1, nil), [][]delta.Action{{add("c")}}, engine.Committed, nil, 2, 1, []string{"a", "b", "c", "new-1"}},
		"append against many":            {appends(1, nil), [][]delta.Action{{add("c")}, {add("d")}, {remove("a")}}, engine.Committed, nil, 4, 1, []string{"b", "c", "d", "new-1"}},
		"same tag":                       {appends(1, tag(5)), [][]delta.Action{{record(5), add("c")}}, engine.AlreadyApplied, nil, 1, 1, []string{"a", "b", "c"}},
		"lower tag":                      {appends(1, tag(5)), [][]delta.Action{{record(4), add("c")}}, engine.Committed, nil, 2, 1, []string{"a", "b", "c", "new-1"}},
		"higher tag":                     {appends(1, tag(5)), [][]delta.Action{{record(6), add("c")}}, engine.Superseded, nil, 1, 1, []string{"a", "b", "c"}},
		"same tag, then moved back":      {appends(1, tag(5)), [][]delta.Action{{record(5), add("c")}, {record(2)}}, engine.Committed, nil, 3, 1, []string{"a", "b", "c", "new-1"}},
		"overwrite against append":       {rewrites(1), [][]delta.Action{{add("c")}}, engine.Committed, nil, 2, 2, []string{"whole-1-2"}},
		"overwrite against compaction":   {rewrites(1), [][]delta.Action{{remove("a"), remove("b"), add("ab")}}, engine.Committed, nil, 2, 2, []string{"whole-1-2"}},
		"overwrite against our own twin": {rewrites(1), [][]delta.Action{{remove("a"), remove("b"), add("whole-1-9")}}, engine.Unchanged, nil, 1, 2, []string{"whole-1-9"}},
		"append against a property":      {appends(1, nil), [][]delta.Action{redefined(func(m *delta.Metadata) { m.Configuration["owner"] = "x" })}, engine.Committed, nil, 2, 1, []string{"a", "b", "new-1"}},
		"append against a constraint":    {appends(1, nil), [][]delta.Action{redefined(func(m *delta.Metadata) { m.Configuration["delta.constraints.c"] = "x > 0" })}, engine.Committed, nil, 2, 2, []string{"a", "b", "new-1"}},
		"append against others, of which the last adds a constraint": {appends(1, nil), [][]delta.Action{{add("c")}, redefined(func(m *delta.Metadata) { m.Configuration["delta.constraints.c"] = "x > 0" })},
			engine.Committed, nil, 3, 2, []string{"a", "b", "c", "new-1"}},
		"overwrite against a property and then an append": {rewrites(1), [][]delta.Action{redefined(func(m *delta.Metadata) { m.Configuration["owner"] = "x" }), {add("c")}},
			engine.Committed, nil, 3, 2, []string{"whole-1-2"}},
		"append against others, of which the last is another table": {appends(1, nil), [][]delta.Action{{add("c")}, redefined(func(m *delta.Metadata) { m.ID = "another" })},
			0, commit.ErrConflict, -1, 1, []string{"a", "b", "c"}},
		"append against another table":    {appends(1, nil), [][]delta.Action{redefined(func(m *delta.Metadata) { m.ID = "another" })}, 0, commit.ErrConflict, -1, 1, []string{"a", "b"}},
		"append against a newer protocol": {appends(1, nil), [][]delta.Action{{{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: []string{"newFeature"}}}}}, 0, delta.ErrUnsupported, -1, 1, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.process()
			for _, actions := range c.others {
				w.foreign(actions...)
			}
			out, err := p.commit(t.Context(), c.planner)
			require.ErrorIs(t, err, c.err)
			requireTruth(t, w, p, txnID(1), out, err)
			require.Equal(t, c.plans, out.Plans)
			require.Equal(t, c.files, w.files())
			if c.err == nil {
				require.Equal(t, c.want, out.Kind)
				require.Equal(t, c.version, out.Version)
				require.Equal(t, c.version, out.Snapshot.Version())
			}
		})
	}
}

// Two compactions of the same files: one commits, the other finds nothing left to do.
func TestTwoCompactions(t *testing.T) {
	w := newWorld(t)
	compacts := func(id int) *plans {
		return &plans{txnID: txnID(id), make: func(snap *delta.Snapshot, _ int) (*commit.Intent, error) {
			if snap.NumFiles() < 2 {
				return nil, nil
			}
			in := &commit.Intent{Info: delta.CommitInfo{Operation: "OPTIMIZE"}}
			for f := range snap.Files() {
				gone := remove(f.Path)
				gone.Remove.DataChange = false
				in.Actions = append(in.Actions, gone)
			}
			whole := add(fmt.Sprintf("compacted-%d", id))
			whole.Add.DataChange = false
			in.Actions = append(in.Actions, whole)
			return in, nil
		}}
	}
	one, two := w.process(), w.process()
	out, err := one.commit(t.Context(), compacts(1))
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
	out, err = two.commit(t.Context(), compacts(2))
	require.NoError(t, err)
	require.Equal(t, engine.Unchanged, out.Kind)
	require.Equal(t, []string{"compacted-1"}, w.files())
}

func TestRestoredTag(t *testing.T) {
	w := newWorld(t)
	tag := &commit.Tag{AppID: "app", Version: 5}
	out, err := w.process().commit(t.Context(), appends(1, tag))
	require.NoError(t, err)
	w.restore(0, remove("new-1"))

	p := w.process()
	out, err = p.commit(t.Context(), tagged{plans: appends(2, tag)})
	require.ErrorIs(t, err, commit.ErrRestored)
	require.ErrorContains(t, err, "the RESTORE at version 2")
	require.EqualValues(t, 5, out.Recorded)
	requireTruth(t, w, p, txnID(2), out, err)

	again := appends(3, tag)
	plain := again.make
	again.make = func(snap *delta.Snapshot, n int) (*commit.Intent, error) {
		in, err := plain(snap, n)
		in.Reapply = true
		return in, err
	}
	out, err = w.process().commit(t.Context(), tagged{plans: again, reapply: true})
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
	require.Equal(t, []string{"a", "b", "new-3"}, w.files())

	out, err = w.process().commit(t.Context(), tagged{plans: appends(4, tag)})
	require.NoError(t, err)
	require.Equal(t, engine.AlreadyApplied, out.Kind, "written again, it counts again")
}

// The record of our own restore is cleared by writing the tag again.
func TestWritingClearsTheUndoneRecord(t *testing.T) {
	w := newWorld(t)
	w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 1}}, add("one"))
	w.restore(0, remove("one"), delta.Action{Txn: &delta.Txn{AppID: commit.UndoneAppID("app"), Version: -1}})
	out, err := w.process().commit(t.Context(), appends(1, &commit.Tag{AppID: "app", Version: 2}))
	require.NoError(t, err)
	undone, ok := out.Snapshot.Txn(commit.UndoneAppID("app"))
	require.True(t, ok)
	require.EqualValues(t, commit.Cleared, undone.Version)
}

func TestTwoCreators(t *testing.T) {
	creates := func(id int) *plans {
		return &plans{txnID: txnID(id), make: func(snap *delta.Snapshot, _ int) (*commit.Intent, error) {
			if snap != nil {
				return nil, nil
			}
			return &commit.Intent{ReadVersion: -1, Info: delta.CommitInfo{Operation: "CREATE TABLE"}, Actions: created(definition())}, nil
		}}
	}
	w := &world{t: t, mem: newWorld(t).mem, clock: newClock()}
	for key := range w.mem.List(t.Context(), "", "") {
		require.NoError(t, w.mem.Delete(t.Context(), key.Key))
	}
	one, two := w.process(), w.process()
	require.Nil(t, one.snap)
	out, err := one.commit(t.Context(), creates(1))
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
	require.EqualValues(t, 0, out.Version)
	require.Equal(t, "table", out.Snapshot.Metadata().ID)
	out, err = two.commit(t.Context(), creates(2))
	require.NoError(t, err)
	require.Equal(t, engine.Unchanged, out.Kind, "the loser is handed the winner's table")
	require.Equal(t, "table", out.Snapshot.Metadata().ID)
	require.Equal(t, []int64{0}, w.holders(txnID(1)))
	require.Empty(t, w.holders(txnID(2)))
}

func TestTransactionIDStays(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	w.foreign(add("c"))
	other := rewrites(1)
	plain := other.make
	other.make = func(snap *delta.Snapshot, n int) (*commit.Intent, error) {
		other.txnID = txnID(n)
		return plain(snap, n)
	}
	_, err := p.commit(t.Context(), other)
	require.ErrorContains(t, err, "the transaction id changed")
	require.Equal(t, []string{"a", "b", "c"}, w.files())
}

// What readers would refuse is never sent.
func TestBrokenPlansAreNotSent(t *testing.T) {
	for name, actions := range map[string][]delta.Action{
		"added and removed":       {add("a"), remove("a")},
		"a file of the log":       {add("_delta_log/00000000000000000007.json")},
		"a path out of the table": {add("../x")},
		"an unwritable protocol": {{Protocol: &delta.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"columnMapping"}, WriterFeatures: []string{"columnMapping"}}}, {Metadata: func() *delta.Metadata {
			m := definition()
			m.Configuration["delta.columnMapping.mode"] = "name"
			return m
		}()}},
	} {
		w := newWorld(t)
		p := w.process()
		_, err := p.commit(t.Context(), &plans{txnID: txnID(1), make: func(*delta.Snapshot, int) (*commit.Intent, error) {
			return &commit.Intent{Actions: actions, DataChange: true}, nil
		}})
		require.Error(t, err, name)
		require.Zero(t, p.faulty.Count(storetest.OpPutIfAbsent), name)
	}
}

// A process that slept while the log was cleaned must not put a version that is gone.
func TestNoZombieBelowACheckpoint(t *testing.T) {
	for name, after := range map[string]time.Duration{"a moment ago": 0, "while it slept": logio.FreshFor} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.process()
			for range 3 {
				w.foreign()
			}
			require.NoError(t, p.Log.Checkpoint(t.Context(), w.snapshot(), w.clock.Now()))
			for v := range int64(3) {
				require.NoError(t, w.mem.Delete(t.Context(), delta.CommitKey(v)))
			}
			w.clock.now = w.clock.now.Add(after)
			out, err := p.commit(t.Context(), appends(1, nil))
			require.NoError(t, err)
			require.EqualValues(t, 4, out.Version)
			require.Equal(t, []int64{4}, w.holders(txnID(1)))
			require.Equal(t, []string{"a", "b", "new-1"}, w.files())
		})
	}
}

// A process that holds a table open must not write into another one that was made at its place, however long
// the log of that is by now, nor skip because of a tag that the old one had.
func TestTableMadeAnewWhileAsleep(t *testing.T) {
	tag := &commit.Tag{AppID: "app", Version: 5}
	for what, planner := range map[string]func() engine.Planner{
		"append":    func() engine.Planner { return appends(1, nil) },
		"overwrite": func() engine.Planner { return rewrites(1) },
		"skip":      func() engine.Planner { return tagged{plans: appends(1, tag)} },
		"no changes": func() engine.Planner {
			return &plans{txnID: txnID(1), make: func(*delta.Snapshot, int) (*commit.Intent, error) { return nil, nil }}
		},
	} {
		for name, after := range map[string]time.Duration{"at once": 0, "while it slept": logio.FreshFor, "and the clock was set back": -time.Minute} {
			for versions := range 6 {
				for opened, prepare := range map[string]func(*world){"commits": func(*world) {}, "a checkpoint": (*world).checkpoint, "a checkpoint alone": (*world).checkpointAlone} {
					t.Run(fmt.Sprintf("%s, %s, %d versions since, opened by %s", what, name, versions, opened), func(t *testing.T) {
						madeAnew(t, prepare, versions, after, planner())
					})
				}
			}
		}
	}
}

// madeAnew drops a table that a process has opened, makes it anew with some versions, and lets a time pass.
func madeAnew(t *testing.T, prepare func(*world), versions int, after time.Duration, planner engine.Planner) {
	w := newWorld(t)
	w.foreign(add("c"), delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}})
	prepare(w)
	p := w.process()
	w.makeAnew(versions)
	w.clock.now = w.clock.now.Add(after)
	_, err := p.commit(t.Context(), planner)
	require.ErrorIs(t, err, commit.ErrConflict)
	require.ErrorContains(t, err, "open it again")
	require.EqualValues(t, versions, w.snapshot().Version(), "nothing was put")
}

// The log is looked at again after the commits of a tag were read: those of a table that was made anew meanwhile say
// nothing about ours.
func TestTableMadeAnewWhileItsTagIsLookedFor(t *testing.T) {
	tag := &commit.Tag{AppID: "app", Version: 5}
	for what, planner := range map[string]func() engine.Planner{
		"after a plan":    func() engine.Planner { return appends(1, tag) },
		"ahead of it":     func() engine.Planner { return tagged{plans: appends(1, tag)} },
		"of many at once": nil,
	} {
		dropped := true
		for at := 1; dropped; at++ {
			w := newWorld(t)
			w.foreign(add("c"))
			p := w.process()
			w.foreign(add("d"), delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}})
			w.foreign(add("e"))
			if planner == nil {
				p = w.process()
			}
			n := 0
			dropped = false
			p.faulty.Before = func(storetest.Call) storetest.Fault {
				if n++; n == at {
					w.makeAnew(3)
					w.restore(0)
					dropped = true
				}
				return storetest.Fault{}
			}
			var err error
			if planner == nil {
				var answers []commit.TagAnswer
				if answers, err = p.CheckTags(t.Context(), p.snap, *tag); err == nil {
					require.Equal(t, commit.Applied, answers[0].Status, "dropped before operation %d", at)
				}
			} else {
				_, err = p.commit(t.Context(), planner())
			}
			if err != nil {
				require.True(t, dropped)
				require.ErrorIs(t, err, commit.ErrConflict, "%s, dropped before operation %d", what, at)
				require.ErrorContains(t, err, "open it again")
			}
		}
	}
}

func TestCheckpointAfterCommit(t *testing.T) {
	w := newWorld(t)
	for range 9 {
		w.foreign()
	}
	p := w.process()
	out, err := p.commit(t.Context(), appends(1, nil))
	require.NoError(t, err)
	require.EqualValues(t, 10, out.Version)
	_, err = w.mem.Head(t.Context(), delta.CheckpointKey(10))
	require.NoError(t, err)
	_, err = w.mem.Head(t.Context(), delta.LastCheckpointKey)
	require.NoError(t, err)
	for range 9 {
		w.foreign()
	}
	failing := w.process(storetest.Rule{Op: storetest.OpPutIfAbsent, Key: "*.checkpoint.parquet", Fault: storetest.Fault{Kind: storetest.FailBefore}})
	out, err = failing.commit(t.Context(), appends(2, nil))
	require.NoError(t, err, "a checkpoint never fails a commit")
	require.EqualValues(t, 20, out.Version)
}

func TestBudgetUnderContention(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	p.faulty.Before = func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutIfAbsent { // somebody is always first
			w.foreign()
			w.clock.now = w.clock.now.Add(time.Second)
		}
		return storetest.Fault{}
	}
	out, err := p.commit(t.Context(), appends(1, nil))
	require.ErrorIs(t, err, commit.ErrConflict)
	require.Equal(t, 10, out.Attempts, "time ends it, not a count")
	requireTruth(t, w, p, txnID(1), out, err)
}

// A budget that went by while nobody else committed, and nothing was sent as the store contradicted itself, is no conflict.
func TestABudgetThatNobodyElseSpentIsNoConflict(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	p.faulty.Before = func(c storetest.Call) storetest.Fault {
		switch {
		case c.Op == storetest.OpGetRange && c.Index == 1: // whether the log is still the one that was read
			return storetest.Fault{Kind: storetest.ShortRead}
		case c.Op == storetest.OpGet:
			w.clock.now = w.clock.now.Add(time.Hour)
		}
		return storetest.Fault{}
	}
	out, err := p.commit(t.Context(), appends(1, nil))
	require.ErrorContains(t, err, "contradict each other for 10s")
	require.NotErrorIs(t, err, commit.ErrConflict)
	require.Zero(t, out.Attempts)
	requireTruth(t, w, p, txnID(1), out, err)
}

// A plan that took longer than the budget is proposed all the same, once.
func TestLongPlansAreProposed(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	w.foreign(add("c"))
	slow := rewrites(1)
	plain := slow.make
	slow.make = func(snap *delta.Snapshot, n int) (*commit.Intent, error) {
		w.clock.now = w.clock.now.Add(time.Minute)
		return plain(snap, n)
	}
	out, err := p.commit(t.Context(), slow)
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
	require.Equal(t, 2, out.Plans)
}

// What another writer committed while a plan was made for long is read back with the whole time for
// that, though the last proposal was answered long ago.
func TestLongPlansAreOvertaken(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	p.CommitBudget = time.Hour // a budget that would let it plan once more
	w.foreign(add("c"))
	slow := rewrites(1)
	plain := slow.make
	slow.make = func(snap *delta.Snapshot, n int) (*commit.Intent, error) {
		if n == 2 {
			w.clock.now = w.clock.now.Add(2 * logio.FreshFor)
			w.foreign(add("d"))
		}
		return plain(snap, n)
	}
	out, err := p.commit(t.Context(), slow)
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
	require.Equal(t, 3, out.Plans)
	requireTruth(t, w, p, txnID(1), out, err)
}

func TestPlannerErrorsPassThrough(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	mine := errors.New("mine")
	out, err := p.commit(t.Context(), &plans{make: func(*delta.Snapshot, int) (*commit.Intent, error) { return nil, mine }})
	require.ErrorIs(t, err, mine)
	require.EqualValues(t, 0, out.Version)
}

func TestContextAlreadyDone(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.commit(ctx, appends(1, nil))
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, p.faulty.Calls())
}

// A planner that does not tell its tag ahead is asked, and its plan is dropped.
func TestTagOfAPlanIsChecked(t *testing.T) {
	w := newWorld(t)
	w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}}, add("five"))
	p := w.process()
	out, err := p.commit(t.Context(), appends(1, &commit.Tag{AppID: "app", Version: 5}))
	require.NoError(t, err)
	require.Equal(t, engine.AlreadyApplied, out.Kind)
	require.Equal(t, 1, out.Plans)
	require.Equal(t, []string{"a", "b", "five"}, w.files())
}

// After a long sleep an absent next version proves nothing: it may have been cleaned away.
func TestNothingToDoIsNotProvenByAnOldSnapshot(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	w.foreign(add("c"))
	w.foreign()
	require.NoError(t, p.Log.Checkpoint(t.Context(), w.snapshot(), w.clock.Now()))
	for v := range int64(2) {
		require.NoError(t, w.mem.Delete(t.Context(), delta.CommitKey(v)))
	}
	w.clock.now = w.clock.now.Add(logio.FreshFor)
	out, err := p.commit(t.Context(), &plans{txnID: txnID(1), make: func(*delta.Snapshot, int) (*commit.Intent, error) { return nil, nil }})
	require.NoError(t, err)
	require.Equal(t, engine.Unchanged, out.Kind)
	require.EqualValues(t, 2, out.Version)
	require.Equal(t, 3, out.Snapshot.NumFiles())
}

// Moving a tag gives way to whoever moved it meanwhile.
func TestRewind(t *testing.T) {
	w := newWorld(t)
	w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}}, add("five"))
	rewinds := func(id int) *plans {
		return &plans{txnID: txnID(id), tag: &commit.Tag{AppID: "app", Version: -1}, make: func(*delta.Snapshot, int) (*commit.Intent, error) {
			return &commit.Intent{Rewind: true}, nil
		}}
	}
	late := w.process()
	out, err := w.process().commit(t.Context(), rewinds(1))
	require.NoError(t, err)
	require.EqualValues(t, -1, out.Recorded)
	_, err = late.commit(t.Context(), rewinds(2))
	require.ErrorIs(t, err, commit.ErrConflict)
	out, err = w.process().commit(t.Context(), tagged{plans: appends(3, &commit.Tag{AppID: "app", Version: 0})})
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
}
