package kill_test

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store/storetest"
)

var everything = flag.Bool("kill.all", false, "sweep and cut every call, and with every kind of fault, also those that look alike to the caller")

// allKinds are the faults of a store that keeps its contract.
var allKinds = []storetest.Kind{
	storetest.FailBefore, storetest.FailAfter, storetest.Timeout, storetest.LostAnswer, storetest.LateEffect, storetest.Duplicate,
	storetest.Conflict, storetest.Throttle, storetest.Denied, storetest.TornRead, storetest.StaleMissing, storetest.DiskFull,
	storetest.TornUpload, storetest.CrashBefore, storetest.CrashAfter,
}

// takesEffect tells the faults after which the store may have done what it gave no answer to, or another answer.
func takesEffect(k storetest.Kind) bool {
	return k == storetest.FailAfter || k == storetest.LostAnswer || k == storetest.LateEffect || k == storetest.Duplicate
}

// kindsOf are the faults that an operation is tried with. Of those that a caller cannot tell apart
// there is one, unless all are asked for.
func kindsOf(op storetest.Op) []storetest.Kind {
	kinds := []storetest.Kind{storetest.FailBefore, storetest.TornRead, storetest.TornUpload, storetest.CrashBefore}
	switch op {
	case storetest.OpPutIfAbsent, storetest.OpPut, storetest.OpClose, storetest.OpDelete:
		kinds = append(kinds, storetest.FailAfter, storetest.LateEffect, storetest.CrashAfter)
	}
	if *everything {
		kinds = slices.Clone(allKinds)
	}
	return slices.DeleteFunc(kinds, func(k storetest.Kind) bool { return !k.AppliesTo(op) })
}

// ops are the store operations of one run of a call, but for the writes of a stream.
func (tr *trials) ops(t *testing.T) []storetest.Op {
	st := storetest.NewFaulty(tr.fresh())
	var ops []storetest.Op
	var one sync.Mutex // the probe of a store is several operations at once
	st.Before = func(c storetest.Call) storetest.Fault {
		one.Lock()
		defer one.Unlock()
		ops = append(ops, c.Op)
		return storetest.Fault{}
	}
	_, err := tr.do(tr.b.ctx, st)
	require.NoError(t, err)
	require.NotEmpty(t, ops)
	return ops
}

// TestSweep lets each store operation of each call go wrong in each way: the claim is held against
// the log, then the call is made again and must leave what one run leaves.
func TestSweep(t *testing.T) {
	t.Parallel()
	calls, points, hits := 0, 0, map[storetest.Kind]int{}
	everyCall(t, func(t *testing.T, b *base, c call) {
		tr := newTrials(t, b, c)
		calls++
		for i, op := range tr.ops(t) {
			points++
			for _, kind := range kindsOf(op) {
				tr.faulted(t, i+1, kind, hits)
			}
		}
	})
	total := 0
	for _, n := range hits {
		total += n
	}
	if *everything && calls == callsInAll() {
		require.Len(t, hits, len(allKinds))
		for kind, n := range hits {
			require.GreaterOrEqual(t, n, 100, "the fault %s is hardly met", kind)
		}
		require.GreaterOrEqual(t, total, 9_000)
	}
	fmt.Printf("sweeps: %d calls, %d store operations, %d kinds of faults, %d trials\n", calls, points, len(hits), total)
}

// faulted makes the call with a fault at one operation, and again.
func (tr *trials) faulted(t *testing.T, at int, kind storetest.Kind, hits map[storetest.Kind]int) {
	defer func() {
		if t.Failed() {
			t.Logf("operation %d, %s", at, kind)
		}
	}()
	mem := tr.fresh()
	st := storetest.NewFaulty(mem)
	st.Before = func(c storetest.Call) storetest.Fault {
		if c.Index == at {
			return storetest.Fault{Kind: kind}
		}
		return storetest.Fault{}
	}
	outcome, err := tr.do(tr.b.ctx, st)
	st.Land(tr.b.ctx)
	for k, n := range st.Hits() {
		hits[k] += n
	}
	switch {
	case err != nil && tr.none && takesEffect(kind):
		err = fmt.Errorf("%w: %w", errUnanswered, err)
	case err == nil && tr.name == "CleanUpLog" && kind == storetest.StaleMissing && outcome == idem.Unchanged:
		err = fmt.Errorf("%w: a checkpoint whose sidecar is missing stands in for no commit, so that nothing was to be done", storetest.ErrInjected)
	}
	tr.again(t, mem, tr.claim(t, mem, outcome, err))
}
