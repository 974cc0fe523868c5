package engine_test

import (
	"context"
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

// The kinds of a store that keeps its contract. Reads that lie without an error are not among them.
func kinds() []storetest.Kind {
	var out []storetest.Kind
	for _, k := range storetest.Kinds() {
		switch k {
		case storetest.ShortRead, storetest.BitFlip, storetest.StaleMissing, storetest.StaleList:
		default:
			out = append(out, k)
		}
	}
	return out
}

// scene is a verb among others.
type scene struct {
	name    string
	planner func(id int) engine.Planner
	others  func(w *world) // what lands after the process has loaded its snapshot
	want    []string       // the files after the call was repeated until it had an answer; nil: not repeatable
}

func scenes() []scene {
	tag := &commit.Tag{AppID: "app", Version: 5}
	nobody := func(*world) {}
	return []scene{
		{"append", func(id int) engine.Planner { return appends(id, nil) }, nobody, nil},
		{"append after another", func(id int) engine.Planner { return appends(id, nil) }, func(w *world) { w.foreign(add("c")) }, nil},
		{"tagged append", func(int) engine.Planner { return tagged{plans: appends(1, tag)} }, nobody, []string{"a", "b", "new-1"}},
		{"tagged append after another", func(int) engine.Planner { return tagged{plans: appends(1, tag)} },
			func(w *world) { w.foreign(add("c")); w.foreign(add("d")) }, []string{"a", "b", "c", "d", "new-1"}},
		{"tagged append after its twin", func(int) engine.Planner { return tagged{plans: appends(1, tag)} },
			func(w *world) { w.foreign(add("twin"), delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}}) }, []string{"a", "b", "twin"}},
		{"overwrite after another", func(int) engine.Planner { return rewrites(1) }, func(w *world) { w.foreign(add("c")) }, []string{"whole"}},
	}
}

// script makes the given operations go wrong, by their number.
func script(p *process, faults map[int]storetest.Fault) {
	n := 0
	p.faulty.Before = func(c storetest.Call) storetest.Fault {
		n++
		return faults[n]
	}
}

// Each kind of fault at each operation of each scene, and each pair of faults at the first ones.
// The claim is held against the log before the second run; the repeats then run on a healthy store.
func TestFaultSweep(t *testing.T) {
	hits := map[storetest.Kind]int{}
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			for _, first := range kinds() {
				for at := 1; at <= 9; at++ {
					if !sweepOne(t, s, map[int]storetest.Fault{at: {Kind: first, K: 2}}, hits) {
						break
					}
				}
				for _, second := range kinds() {
					sweepOne(t, s, map[int]storetest.Fault{1: {Kind: first, K: 3}, 2: {Kind: second, K: 1}}, hits)
					sweepOne(t, s, map[int]storetest.Fault{1: {Kind: first, K: 2}, 4: {Kind: second, K: 2}}, hits)
				}
			}
		})
	}
	for _, k := range kinds() {
		if k != storetest.DiskFull && k != storetest.TornUpload {
			require.NotZero(t, hits[k], "no operation went wrong by %s", k)
		}
	}
}

// sweepOne is false when the call ended before its faults.
func sweepOne(t *testing.T, s scene, faults map[int]storetest.Fault, hits map[storetest.Kind]int) bool {
	w := newWorld(t)
	p := w.process()
	s.others(w)
	script(p, faults)
	out, err := p.commit(t.Context(), s.planner(1))
	defer func() {
		if t.Failed() {
			t.Logf("%v: %v, %v\n%q", faults, out.Kind, err, p.faulty.Transcript())
		}
	}()
	for k, n := range p.faulty.Hits() {
		hits[k] += n
	}
	reached := p.faulty.Calls()
	requireTruth(t, w, p, txnID(1), out, err)
	for range 3 {
		if s.want == nil {
			return reached >= max(1, lastOf(faults))
		}
		again := w.process()
		out, err := again.commit(t.Context(), s.planner(1))
		require.NoError(t, err)
		require.Contains(t, []engine.Kind{engine.Committed, engine.AlreadyApplied, engine.Unchanged}, out.Kind)
	}
	if s.want[0] == "whole" {
		require.Len(t, w.files(), 1)
	} else {
		require.Equal(t, s.want, w.files(), "%v", faults)
	}
	return reached >= lastOf(faults)
}

func lastOf(faults map[int]storetest.Fault) int {
	n := 0
	for at := range faults {
		n = max(n, at)
	}
	return n
}

// The context ends at each operation, before or after its effect.
func TestContextEndsAnywhere(t *testing.T) {
	for _, s := range scenes() {
		for _, lost := range []storetest.Kind{storetest.None, storetest.LostAnswer, storetest.FailBefore, storetest.LateEffect} {
			for at := 1; at <= 8; at++ {
				t.Run(fmt.Sprintf("%s/%s/%d", s.name, lost, at), func(t *testing.T) {
					w := newWorld(t)
					p := w.process()
					s.others(w)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					n := 0
					p.faulty.Before = func(c storetest.Call) storetest.Fault {
						if n++; n == at {
							cancel()
							return storetest.Fault{Kind: lost, K: 1}
						}
						return storetest.Fault{}
					}
					out, err := p.commit(ctx, s.planner(1))
					requireTruth(t, w, p, txnID(1), out, err)
				})
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	put := func(k storetest.Kind, times, n int) storetest.Rule {
		return storetest.Rule{Op: storetest.OpPutIfAbsent, Times: times, Fault: storetest.Fault{Kind: k, K: n}}
	}
	for name, c := range map[string]struct {
		rules    []storetest.Rule
		attempts int
	}{
		"the answer is lost":                    {[]storetest.Rule{put(storetest.LostAnswer, 1, 0)}, 1},
		"an error, and it landed":               {[]storetest.Rule{put(storetest.FailAfter, 1, 0)}, 1},
		"sent twice: our own success is taken":  {[]storetest.Rule{put(storetest.Duplicate, 1, 0)}, 1},
		"409 decides nothing":                   {[]storetest.Rule{put(storetest.Conflict, 3, 0)}, 4},
		"throttled":                             {[]storetest.Rule{put(storetest.Throttle, 2, 0)}, 3},
		"late, during the read-back":            {[]storetest.Rule{put(storetest.LateEffect, 1, 1)}, 1},
		"late, after the read-back was absent":  {[]storetest.Rule{put(storetest.LateEffect, 1, 3)}, 2},
		"late, and the read-back is unreadable": {[]storetest.Rule{put(storetest.LateEffect, 1, 2), {Op: storetest.OpGet, Times: 9, Fault: storetest.Fault{Kind: storetest.Throttle}}}, 1},
		"the read-back denies what is listed":   {[]storetest.Rule{put(storetest.LostAnswer, 1, 0), {Op: storetest.OpGet, Times: 1, Fault: storetest.Fault{Kind: storetest.StaleMissing}}}, 1},
		"torn read-back":                        {[]storetest.Rule{put(storetest.LostAnswer, 1, 0), {Op: storetest.OpGet, Times: 5, Fault: storetest.Fault{Kind: storetest.TornRead}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.process(c.rules...)
			out, err := p.commit(t.Context(), appends(1, nil))
			require.NoError(t, err, "%q", p.faulty.Transcript())
			require.Equal(t, engine.Committed, out.Kind)
			require.EqualValues(t, 1, out.Version)
			require.Equal(t, c.attempts, out.Attempts, "%q", p.faulty.Transcript())
			requireTruth(t, w, p, txnID(1), out, err)
		})
	}
}

// The same bytes are proposed for a version each time, whatever time it is.
func TestBytesOfOneVersionStay(t *testing.T) {
	w := newWorld(t)
	p := w.process(storetest.Rule{Op: storetest.OpPutIfAbsent, Times: 3, Fault: storetest.Fault{Kind: storetest.LateEffect, K: 100}})
	recorder := &puts{Store: p.faulty}
	p.Engine.Store = recorder
	out, err := p.commit(t.Context(), appends(1, nil))
	require.NoError(t, err)
	require.Equal(t, 4, out.Attempts)
	require.Len(t, recorder.data, 4)
	for _, data := range recorder.data {
		require.Equal(t, recorder.data[0], data)
	}
	p.faulty.Land(t.Context())
	require.Equal(t, []int64{1}, w.holders(txnID(1)))
}

func TestUnknownAndResolve(t *testing.T) {
	outage := []storetest.Rule{
		{Op: storetest.OpPutIfAbsent, Fault: storetest.Fault{Kind: storetest.Timeout}},
		{Op: storetest.OpGet, Fault: storetest.Fault{Kind: storetest.Timeout}},
	}
	lost := func(t *testing.T, w *world, tag *commit.Tag, kind storetest.Kind) (*process, *engine.UnknownError) {
		outage[0].Fault.Kind = kind
		p := w.process(outage...)
		out, err := p.commit(t.Context(), appends(1, tag))
		require.ErrorIs(t, err, commit.ErrUnknownOutcome)
		var u *engine.UnknownError
		require.ErrorAs(t, err, &u)
		require.Equal(t, []string{"new-1"}, u.Files)
		require.Equal(t, "table", u.TableID)
		require.Equal(t, 1, out.Attempts, "blind, it does not send again")
		p.faulty.Reset()
		return p, u
	}
	t.Run("it landed", func(t *testing.T) {
		w := newWorld(t)
		p, u := lost(t, w, nil, storetest.LostAnswer)
		out, err := p.Resolve(t.Context(), u)
		require.NoError(t, err)
		require.Equal(t, engine.Committed, out.Kind)
		require.EqualValues(t, 1, out.Version)
		require.NotNil(t, out.Snapshot)
	})
	t.Run("another has the version", func(t *testing.T) {
		w := newWorld(t)
		p, u := lost(t, w, nil, storetest.Timeout)
		w.foreign(add("c"))
		out, err := p.Resolve(t.Context(), u)
		require.NoError(t, err)
		require.Equal(t, engine.NotCommitted, out.Kind)
	})
	t.Run("nothing is there", func(t *testing.T) {
		w := newWorld(t)
		p, u := lost(t, w, nil, storetest.Timeout)
		_, err := p.Resolve(t.Context(), u)
		require.ErrorIs(t, err, commit.ErrUnknownOutcome)
	})
	t.Run("the store is still away", func(t *testing.T) {
		w := newWorld(t)
		p, u := lost(t, w, nil, storetest.LostAnswer)
		p.faulty.Reset(outage...)
		_, err := p.Resolve(t.Context(), u)
		require.ErrorIs(t, err, commit.ErrUnknownOutcome)
	})
	for name, tag := range map[string]*commit.Tag{"with a tag": {AppID: "app", Version: 5}, "without a tag": nil} {
		t.Run("cleaned away "+name, func(t *testing.T) {
			w := newWorld(t)
			p, u := lost(t, w, tag, storetest.LostAnswer)
			w.foreign()
			require.NoError(t, p.Log.Checkpoint(t.Context(), w.snapshot(), w.clock.Now()))
			for v := range int64(2) {
				require.NoError(t, w.mem.Delete(t.Context(), delta.CommitKey(v)))
			}
			out, err := p.Resolve(t.Context(), u)
			if tag == nil {
				require.ErrorIs(t, err, commit.ErrUnknownOutcome)
				return
			}
			require.NoError(t, err)
			require.Equal(t, engine.AlreadyApplied, out.Kind)
		})
	}
}

// The read-back has its own time: it ends in a definite answer although the caller's has passed.
func TestReadBackOutlivesTheContext(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	ctx, cancel := context.WithCancel(t.Context())
	p.Engine.Store = &puts{Store: p.faulty, answer: func(error) error {
		cancel()
		return ctx.Err()
	}}
	out, err := p.commit(ctx, appends(1, nil))
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
}

// It is not a way to hang: after the timeout the answer is that there is none.
func TestReadBackEnds(t *testing.T) {
	w := newWorld(t)
	p := w.process(
		storetest.Rule{Op: storetest.OpPutIfAbsent, Fault: storetest.Fault{Kind: storetest.Timeout}},
		storetest.Rule{Op: storetest.OpGet, Fault: storetest.Fault{Kind: storetest.Denied}},
	)
	began := w.clock.now
	_, err := p.commit(t.Context(), appends(1, nil))
	require.ErrorIs(t, err, commit.ErrUnknownOutcome)
	require.InDelta(t, 10*time.Second, w.clock.now.Sub(began), float64(time.Second), "by the virtual clock")
}

// A record that is as high as before is no sign that a tag was moved back.
func TestATagMovedBackThatLooksCleanedAway(t *testing.T) {
	tag := commit.Tag{AppID: "app", Version: 2}
	planner := func() *plans {
		return &plans{txnID: txnID(1), tag: &tag, make: func(*delta.Snapshot, int) (*commit.Intent, error) { return &commit.Intent{Rewind: true}, nil }}
	}
	w := newWorld(t)
	w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}}, add("five"))
	w.foreign(add("c"))
	p := w.process(
		storetest.Rule{Op: storetest.OpPutIfAbsent, Times: 1, Fault: storetest.Fault{Kind: storetest.DiskFull}},
		storetest.Rule{Op: storetest.OpList, Times: 1, Fault: storetest.Fault{Kind: storetest.StaleList, K: 1}},
	)
	_, err := p.commit(t.Context(), planner())
	require.ErrorIs(t, err, commit.ErrUnknownOutcome)
	var u *engine.UnknownError
	require.ErrorAs(t, err, &u)
	w.foreign(add("d"))
	require.NoError(t, p.Log.Checkpoint(t.Context(), w.snapshot(), w.clock.Now()))
	for v := range u.Version + 1 {
		require.NoError(t, w.mem.Delete(t.Context(), delta.CommitKey(v)))
	}
	_, err = p.Resolve(t.Context(), u)
	require.ErrorIs(t, err, commit.ErrUnknownOutcome)
	out, err := w.process().commit(t.Context(), planner())
	require.NoError(t, err)
	require.Equal(t, engine.Committed, out.Kind)
	require.EqualValues(t, 2, out.Recorded)
}

// Version taken, then cleaned away before it could be read: a duplicate delivery looks like this,
// too. Only the tag can tell.
func TestTakenThenCleanedAway(t *testing.T) {
	tag := &commit.Tag{AppID: "app", Version: 5}
	for name, c := range map[string]struct {
		tag  *commit.Tag
		ours bool
		ends bool // the caller's context does, once the commit was sent
	}{
		"ours, with a tag":               {tag, true, false},
		"ours, and nobody waits anymore": {tag, true, true},
		"ours, no tag":                   {nil, true, false},
		"theirs":                         {tag, false, false},
	} {
		for order, gone := range map[string][]int64{"all before the checkpoint": {0, 1}, "the first is still to go": {1}} {
			t.Run(name+", "+order, func(t *testing.T) {
				w := newWorld(t)
				p := w.process()
				checkpointer := w.process()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p.faulty.Before = func(call storetest.Call) storetest.Fault {
					switch {
					case call.Op == storetest.OpPutIfAbsent && c.ours:
						return storetest.Fault{Kind: storetest.LostAnswer}
					case call.Op == storetest.OpPutIfAbsent:
						w.foreign()
					case call.Op == storetest.OpGet && w.tail() == 2:
						if c.ends {
							cancel()
						}
						w.foreign()
						require.NoError(t, checkpointer.Log.Checkpoint(context.Background(), w.snapshot(), w.clock.Now()))
						for _, v := range gone {
							require.NoError(t, w.mem.Delete(context.Background(), delta.CommitKey(v)))
						}
					}
					return storetest.Fault{}
				}
				out, err := p.commit(ctx, appends(1, c.tag))
				if c.ours && c.tag != nil {
					require.NoError(t, err)
					require.Equal(t, engine.AlreadyApplied, out.Kind)
					return
				}
				require.ErrorIs(t, err, commit.ErrUnknownOutcome)
			})
		}
	}
}

// The tag of another table that was made at the place of ours is no proof.
func TestTakenThenMadeAnew(t *testing.T) {
	tag := &commit.Tag{AppID: "app", Version: 5}
	w := newWorld(t)
	p := w.process(storetest.Rule{Op: storetest.OpPutIfAbsent, Fault: storetest.Fault{Kind: storetest.LostAnswer}})
	p.faulty.Before = func(call storetest.Call) storetest.Fault {
		if call.Op == storetest.OpGet && w.tail() == 2 {
			w.makeAnew(2)
			w.foreign(delta.Action{Txn: &delta.Txn{AppID: "app", Version: 5}})
			w.checkpointAlone()
		}
		return storetest.Fault{}
	}
	_, err := p.commit(t.Context(), appends(1, tag))
	require.EqualValues(t, 4, w.tail(), "it was made anew")
	require.ErrorIs(t, err, commit.ErrUnknownOutcome)
}

// What follows a commit that was first may be cleaned away before it is read: the plan is made anew.
func TestWinnersThatAreCleanedAway(t *testing.T) {
	for order, gone := range map[string][]int64{"all of them": {0, 1, 2}, "the first are still to go": {2}} {
		t.Run(order, func(t *testing.T) {
			w := newWorld(t)
			p := w.process()
			p.CommitBudget = time.Hour
			p.faulty.Before = func(call storetest.Call) storetest.Fault {
				switch {
				case call.Op == storetest.OpPutIfAbsent && w.tail() == 1:
					w.foreign(add("c"))
					w.foreign(add("d"))
				case call.Op == storetest.OpGet && call.Key == delta.CommitKey(2) && w.tail() == 3:
					w.checkpoint()
					w.clock.now = w.clock.now.Add(logio.FreshFor)
					for _, v := range gone {
						require.NoError(t, w.mem.Delete(t.Context(), delta.CommitKey(v)))
					}
				}
				return storetest.Fault{}
			}
			out, err := p.commit(t.Context(), rewrites(1))
			require.NoError(t, err)
			require.EqualValues(t, 3, out.Version)
			require.Equal(t, 2, out.Plans)
			require.Equal(t, []string{"whole-1-2"}, w.files())
		})
	}
}

// A foreign commit that cannot be decoded may be ours, read badly, or the end of the table: nothing
// is put after it, and nothing is claimed.
func TestUndecodableCommitDecidesNothing(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	require.NoError(t, w.mem.PutIfAbsent(t.Context(), delta.CommitKey(1), []byte(`{"add":{"path`)))
	_, err := p.commit(t.Context(), appends(1, nil))
	require.ErrorIs(t, err, commit.ErrUnknownOutcome)
	require.ErrorIs(t, err, delta.ErrCorrupt)
	require.EqualValues(t, 2, w.tail())
}

// A store that lists versions which it does not have keeps nobody spinning.
func TestContradictingStoreEnds(t *testing.T) {
	w := newWorld(t)
	p := w.process()
	w.clock.now = w.clock.now.Add(time.Hour)
	require.NoError(t, w.mem.PutIfAbsent(t.Context(), delta.CommitKey(7), []byte("{}")))
	_, err := p.commit(t.Context(), appends(1, nil))
	require.ErrorIs(t, err, delta.ErrCorrupt, "a gap in the log")
	require.Zero(t, p.faulty.Count(storetest.OpPutIfAbsent))
}
