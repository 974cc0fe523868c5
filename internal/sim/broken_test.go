package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/sim"
	"github.com/idemtable/idem/internal/tabletest"
)

// isCommit says whether a key is that of a commit after the first.
func isCommit(key string) bool {
	name, ok := strings.CutPrefix(key, delta.LogDir)
	return ok && delta.ParseLogFile(name).Kind == delta.Commit && key != delta.CommitKey(0)
}

// overwriting is a store whose put-if-absent of commits replaces what is there.
type overwriting struct{ store.Store }

func (s overwriting) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if !isCommit(key) {
		return s.Store.PutIfAbsent(ctx, key, data)
	}
	return s.Put(ctx, key, data)
}

// dropping is a store that acknowledges a commit whose version is taken, and drops it.
type dropping struct{ store.Store }

func (s dropping) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	err := s.Store.PutIfAbsent(ctx, key, data)
	if isCommit(key) && errors.Is(err, store.ErrExist) {
		return nil
	}
	return err
}

// losing is a store that acknowledges data files and keeps only some.
type losing struct {
	store.Store
	n *int
}

func (s losing) Create(ctx context.Context, key string) (store.Writer, error) {
	w, err := s.Store.Create(ctx, key)
	if *s.n++; err == nil && *s.n%5 == 0 {
		return lost{w}, nil
	}
	return w, err
}

type lost struct{ store.Writer }

func (w lost) Close() error {
	w.Abort()
	return nil
}

// taken is a store that says of every third commit that it created that the version was taken, as
// one behind a layer that sends a lost put again.
type taken struct {
	store.Store
	n, lied *int
}

func (s taken) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	err := s.Store.PutIfAbsent(ctx, key, data)
	if isCommit(key) && err == nil {
		if *s.n++; *s.n%3 == 0 {
			*s.lied++
			return fmt.Errorf("put %s: %w", key, store.ErrExist)
		}
	}
	return err
}

func TestALostAnswerThatLooksTakenIsTheWritersOwn(t *testing.T) {
	lied := 0
	for seed := range uint64(150) {
		n := 0
		h := sim.Run(seed+1, sim.Hooks{Store: func(s store.Store) store.Store { return taken{s, &n, &lied} }})
		require.Empty(t, h.Broken, "%s", h)
	}
	require.Greater(t, lied, 150)
}

// naive is a commit loop as one writes it before the first incident.
type naive struct {
	takenIsOurs  bool // an answer "taken" is taken for our own commit
	errorIsFinal bool // any other error is reported and not looked into
	errorIsTaken bool // any error is taken for "taken": try the next version
	skipsTags    bool // the tag is written and never looked at
	twoFiles     bool // the rows are written twice
}

var naiveIDs atomic.Int64

func (n naive) append(ctx context.Context, s store.Store, t *idem.Table, rows []tabletest.Row, tag idem.Txn) (*idem.Result, error) {
	if _, err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	snap := t.Snapshot()
	actions := []delta.Action{{CommitInfo: &delta.CommitInfo{Operation: "WRITE", TxnID: fmt.Sprintf("%032x", naiveIDs.Add(1))}}}
	if tag.AppID != "" {
		if x, ok := snap.Txn(tag.AppID); ok && x.Version >= tag.Version && !n.skipsTags {
			return &idem.Result{Outcome: idem.AlreadyApplied, Version: snap.Version()}, nil
		}
		actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: tag.AppID, Version: tag.Version}})
	}
	for i := range 2 {
		if i == 0 || n.twoFiles {
			add, err := n.write(ctx, s, t, rows, fmt.Sprintf("naive-%d-%d.stub", naiveIDs.Add(1), i))
			if err != nil {
				return nil, err
			}
			actions = append(actions, delta.Action{Add: add})
		}
	}
	data, err := delta.EncodeCommit(actions)
	if err != nil {
		return nil, err
	}
	return n.commit(ctx, s, snap.Version()+1, data)
}

func (n naive) commit(ctx context.Context, s store.Store, v int64, data []byte) (*idem.Result, error) {
	for range 10 {
		err := s.PutIfAbsent(ctx, delta.CommitKey(v), data)
		exists := errors.Is(err, store.ErrExist)
		switch {
		case err == nil, exists && n.takenIsOurs:
			return &idem.Result{Outcome: idem.Committed, Version: v}, nil
		case !exists && n.errorIsFinal:
			return nil, err
		}
		v++
	}
	return nil, idem.ErrConflict
}

func (n naive) write(ctx context.Context, s store.Store, t *idem.Table, rows []tabletest.Row, key string) (*delta.Add, error) {
	batch := tabletest.Batch(memory.DefaultAllocator, rows)
	defer batch.Release()
	values := map[string]*string{}
	schema, columns := batch.Schema(), batch.Columns()
	if slices.Contains(t.PartitionBy(), "day") {
		values["day"] = &rows[0].Day
		schema, columns = arrow.NewSchema(schema.Fields()[1:], nil), columns[1:]
	}
	var buf bytes.Buffer
	w, err := tabletest.Stub{}.NewWriter(&buf, schema, parquetio.WriteOptions{})
	if err == nil {
		err = errors.Join(w.Write(array.NewRecordBatch(schema, columns, batch.NumRows())), w.Close())
	}
	if err != nil {
		return nil, err
	}
	out, err := s.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	size := int64(buf.Len())
	if _, err := buf.WriteTo(out); err != nil {
		return nil, err
	}
	return &delta.Add{Path: key, Size: size, PartitionValues: values, DataChange: true, Stats: fmt.Sprintf(`{"numRecords":%d}`, len(rows))}, out.Close()
}

// A simulator that cannot fail proves nothing.
func TestWhatIsBrokenIsFoundOut(t *testing.T) {
	wrap := func(f func(store.Store) store.Store) sim.Hooks { return sim.Hooks{Store: f} }
	loop := func(n naive) sim.Hooks { return sim.Hooks{Append: n.append} }
	for _, c := range []struct {
		name  string
		hooks func() sim.Hooks
		seeds uint64
		says  string // of one seed at least
	}{
		{"put-if-absent overwrites", func() sim.Hooks {
			return wrap(func(s store.Store) store.Store { return overwriting{s} })
		}, 20, "is not its work"},
		{"a commit is acknowledged and dropped", func() sim.Hooks {
			return wrap(func(s store.Store) store.Store { return dropping{s} })
		}, 20, "is not its work"},
		{"a data file is acknowledged and lost", func() sim.Hooks {
			return wrap(func(s store.Store) store.Store { return losing{s, new(int)} })
		}, 20, "not in the store"},
		{"taken is taken for our own", func() sim.Hooks { return loop(naive{takenIsOurs: true}) }, 20, "is not its work"},
		{"a lost answer is taken for taken", func() sim.Hooks { return loop(naive{errorIsTaken: true}) }, 60, "committed twice"},
		{"the next version is tried while one is vacant", func() sim.Hooks { return loop(naive{errorIsTaken: true}) }, 60, "is vacant"},
		{"an error is reported as a no", func() sim.Hooks { return loop(naive{errorIsFinal: true}) }, 60, "its work is version"},
		{"the tag is never looked at", func() sim.Hooks { return loop(naive{skipsTags: true}) }, 60, "is recorded"},
		{"appends of others are not looked at", func() sim.Hooks { // right for WriteSerializable, and not for the order of versions
			return sim.Hooks{Options: func(o *idem.Options) { o.Isolation = idem.WriteSerializable }}
		}, 60, "the rows are not the model's"},
		{"rows are written twice", func() sim.Hooks { return loop(naive{twoFiles: true}) }, 20, "the rows are not the model's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []string
			for seed := range c.seeds {
				h := sim.Run(seed+1, c.hooks())
				seen = append(seen, h.Broken...)
				if slices.ContainsFunc(h.Broken, func(s string) bool { return strings.Contains(s, c.says) }) {
					t.Logf("found out with seed %d", seed+1)
					return
				}
			}
			t.Fatalf("not found out by %d seeds; they said:\n%s", c.seeds, strings.Join(seen, "\n"))
		})
	}
}

func TestASeedIsOneHistory(t *testing.T) {
	for seed := range uint64(25) {
		first, second := sim.Run(seed+1, sim.Hooks{}), sim.Run(seed+1, sim.Hooks{})
		require.Equal(t, strings.Join(first.Trace, "\n"), strings.Join(second.Trace, "\n"), "seed %d", seed+1)
	}
	require.NotEqual(t, sim.Run(1, sim.Hooks{}).Trace, sim.Run(2, sim.Hooks{}).Trace)
}
