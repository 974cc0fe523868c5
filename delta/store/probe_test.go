package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

// broken is a store whose put-if-absent is replaced.
type broken struct {
	*store.Mem
	put func(ctx context.Context, key string, data []byte) error
	get func(ctx context.Context, key string, limit int64) ([]byte, error)
}

func (b *broken) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return b.put(ctx, key, data)
}

func (b *broken) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if b.get != nil {
		return b.get(ctx, key, limit)
	}
	return b.Mem.Get(ctx, key, limit)
}

// barrier lets callers go on once all of them have come.
type barrier struct {
	sync.WaitGroup
}

func (b *barrier) wait() { b.Done(); b.Wait() }

func TestProbeRefuses(t *testing.T) {
	taken := errors.Join(store.ErrExist)
	for name, put := range map[string]func(*store.Mem) func(context.Context, string, []byte) error{
		"the header is ignored": func(m *store.Mem) func(context.Context, string, []byte) error {
			return m.Put
		},
		"the loser is told yes": func(m *store.Mem) func(context.Context, string, []byte) error {
			return func(ctx context.Context, key string, data []byte) error {
				_ = m.PutIfAbsent(ctx, key, data)
				return nil
			}
		},
		"the loser is told no and wins": func(m *store.Mem) func(context.Context, string, []byte) error {
			return func(ctx context.Context, key string, data []byte) error {
				err := m.PutIfAbsent(ctx, key, data)
				_ = m.Put(ctx, key, data)
				return err
			}
		},
		"look, then put": func(m *store.Mem) func(context.Context, string, []byte) error {
			var all barrier
			all.Add(4)
			return func(ctx context.Context, key string, data []byte) error {
				if _, err := m.Head(ctx, key); err == nil {
					return taken
				}
				if len(key) > len("_delta_log/_idem_probe.1") {
					all.wait()
				}
				return m.Put(ctx, key, data)
			}
		},
		"another's bytes win the race": func(m *store.Mem) func(context.Context, string, []byte) error {
			var mu sync.Mutex
			seen := map[string]int{}
			return func(ctx context.Context, key string, data []byte) error {
				mu.Lock()
				defer mu.Unlock()
				seen[key]++
				err := m.PutIfAbsent(ctx, key, data)
				if seen[key] == 3 {
					_ = m.Put(ctx, key, data)
				}
				return err
			}
		},
		"half of the bytes are kept": func(m *store.Mem) func(context.Context, string, []byte) error {
			return func(ctx context.Context, key string, data []byte) error {
				return m.PutIfAbsent(ctx, key, data[:len(data)/2])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := store.NewMem()
			err := store.Probe(t.Context(), &broken{Mem: m, put: put(m)}, "1")
			require.ErrorIs(t, err, store.ErrUnfit)
			require.ErrorContains(t, err, "mem:///")
			require.Empty(t, keys(t, m), "the probe cleans up")
		})
	}
}

// TestProbeUndecided: what proves nothing is neither a yes nor a proof against the store.
func TestProbeUndecided(t *testing.T) {
	probes := "_idem_probe.*"
	for name, rule := range map[string]storetest.Rule{
		"no answer":            {Op: storetest.OpPutIfAbsent, Nth: 1, Fault: storetest.Fault{Kind: storetest.Timeout}},
		"loser throttled":      {Op: storetest.OpPutIfAbsent, Nth: 2, Fault: storetest.Fault{Kind: storetest.Throttle}},
		"loser in conflict":    {Op: storetest.OpPutIfAbsent, Nth: 2, Fault: storetest.Fault{Kind: storetest.Conflict}},
		"all racers throttled": {Op: storetest.OpPutIfAbsent, Key: "*.race", Fault: storetest.Fault{Kind: storetest.Throttle}},
		"unreadable":           {Op: storetest.OpGet, Key: probes, Fault: storetest.Fault{Kind: storetest.Denied}},
	} {
		t.Run(name, func(t *testing.T) {
			m := store.NewMem()
			err := store.Probe(t.Context(), storetest.NewFaulty(m, rule), "1")
			require.ErrorIs(t, err, storetest.ErrInjected)
			require.NotErrorIs(t, err, store.ErrUnfit)
			require.Empty(t, keys(t, m))
		})
	}
}

func TestProbeAccepts(t *testing.T) {
	for name, rule := range map[string]storetest.Rule{
		"first put sent twice":  {Op: storetest.OpPutIfAbsent, Nth: 1, Fault: storetest.Fault{Kind: storetest.Duplicate}},
		"no right to delete":    {Op: storetest.OpDelete, Fault: storetest.Fault{Kind: storetest.Denied}},
		"some racers throttled": {Op: storetest.OpPutIfAbsent, Nth: 4, Fault: storetest.Fault{Kind: storetest.Throttle}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, store.Probe(t.Context(), storetest.NewFaulty(store.NewMem(), rule), "1"))
		})
	}
}

func TestProbeCleansUpAfterItsContext(t *testing.T) {
	m := store.NewMem()
	ctx, cancel := context.WithCancel(t.Context())
	f := storetest.NewFaulty(m)
	f.Before = func(c storetest.Call) storetest.Fault {
		if c.Index == 3 {
			cancel()
		}
		return storetest.Fault{}
	}
	require.ErrorIs(t, store.Probe(ctx, f, "1"), context.Canceled)
	require.Empty(t, keys(t, m))
}
