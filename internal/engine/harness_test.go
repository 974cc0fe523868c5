package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
	"github.com/idemtable/idem/internal/commit"
	"github.com/idemtable/idem/internal/engine"
	"github.com/idemtable/idem/internal/logio"
)

// clock is virtual: sleeping is what makes time pass.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

func (c *clock) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// zeros is chance without chance.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

const schemaText = `{"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}},{"name":"x","type":"long","nullable":true,"metadata":{}}]}`

func definition() *delta.Metadata {
	return &delta.Metadata{ID: "table", Provider: "parquet", SchemaString: schemaText, PartitionColumns: []string{"p"}, Configuration: map[string]string{}}
}

func created(m *delta.Metadata) []delta.Action {
	return []delta.Action{{Protocol: &delta.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}}, {Metadata: m}}
}

func add(key string) delta.Action {
	p := "1"
	return delta.Action{Add: &delta.Add{Path: key, PartitionValues: map[string]*string{"p": &p}, Size: 1, DataChange: true}}
}

func remove(key string) delta.Action {
	now := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	return delta.Action{Remove: &delta.Remove{Path: key, DeletionTimestamp: &now, DataChange: true}}
}

// world is one table in one store, seen by any number of processes.
type world struct {
	t     *testing.T
	mem   *store.Mem
	clock *clock
	ids   int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, mem: store.NewMem(), clock: newClock()}
	w.foreign(append(created(definition()), add("a"), add("b"))...)
	return w
}

// tail is the version after the newest.
func (w *world) tail() int64 {
	v := int64(0)
	for info, err := range w.mem.List(context.Background(), delta.LogDir, "") {
		require.NoError(w.t, err)
		if f := delta.ParseLogFile(info.Key); f.Kind == delta.Commit || f.Kind == delta.Checkpoint {
			v = max(v, f.Version+1)
		}
	}
	return v
}

// foreign commits for somebody else, at the tail.
func (w *world) foreign(actions ...delta.Action) int64 {
	v := w.tail()
	if len(actions) == 0 || actions[0].CommitInfo == nil {
		w.ids++
		info := &delta.CommitInfo{Operation: "WRITE", TxnID: fmt.Sprintf("foreign-%d", w.ids)}
		actions = append([]delta.Action{{CommitInfo: info}}, actions...)
	}
	data, err := delta.EncodeCommit(actions)
	require.NoError(w.t, err)
	require.NoError(w.t, w.mem.PutIfAbsent(context.Background(), delta.CommitKey(v), data))
	return v
}

func (w *world) restore(version int64, actions ...delta.Action) int64 {
	w.ids++
	info := &delta.CommitInfo{Operation: "RESTORE", OperationParameters: map[string]any{"version": version}, TxnID: fmt.Sprintf("foreign-%d", w.ids)}
	return w.foreign(append([]delta.Action{{CommitInfo: info}}, actions...)...)
}

// checkpoint writes that of the newest version.
func (w *world) checkpoint() {
	log := logio.New(w.mem, logio.Options{Clock: w.clock, Random: zeros{}})
	require.NoError(w.t, log.Checkpoint(w.t.Context(), w.snapshot(), w.clock.now))
}

// checkpointAlone writes that, and clears away the commits that it stands for.
func (w *world) checkpointAlone() {
	w.checkpoint()
	for v := range w.tail() {
		require.NoError(w.t, w.mem.Delete(w.t.Context(), delta.CommitKey(v)))
	}
}

// makeAnew drops the table, and makes another at its place with some versions.
func (w *world) makeAnew(versions int) {
	for key := range w.mem.List(w.t.Context(), "", "") {
		require.NoError(w.t, w.mem.Delete(w.t.Context(), key.Key))
	}
	m := definition()
	m.ID = "another"
	w.foreign(created(m)...)
	for i := range versions {
		w.foreign(add(fmt.Sprintf("other-%d", i)))
	}
}

// process is an engine over a store that may fail.
type process struct {
	*engine.Engine
	faulty *storetest.Faulty
	snap   *delta.Snapshot
}

func (w *world) process(rules ...storetest.Rule) *process {
	faulty := storetest.NewFaulty(w.mem)
	log := logio.New(faulty, logio.Options{Clock: w.clock, Random: zeros{}})
	p := &process{faulty: faulty, Engine: &engine.Engine{Log: log, Store: faulty, Clock: w.clock, Rand: zeros{}, CommitBudget: 10 * time.Second}}
	snap, err := log.Load(w.t.Context())
	if !errors.Is(err, delta.ErrNotTable) {
		require.NoError(w.t, err)
		p.snap = snap
	}
	faulty.Reset(rules...)
	return p
}

func (p *process) commit(ctx context.Context, planner engine.Planner) (engine.Outcome, error) {
	return p.Engine.Commit(ctx, p.snap, planner)
}

// snapshot is what a reader sees now.
func (w *world) snapshot() *delta.Snapshot {
	snap, err := logio.New(w.mem, logio.Options{Clock: w.clock}).Load(w.t.Context())
	require.NoError(w.t, err)
	return snap
}

func (w *world) files() []string {
	var keys []string
	for f := range w.snapshot().Files() {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys
}

// holders are the versions whose commit holds a transaction.
func (w *world) holders(txnID string) []int64 {
	var versions []int64
	for info, err := range w.mem.List(context.Background(), delta.LogDir, "") {
		require.NoError(w.t, err)
		f := delta.ParseLogFile(info.Key)
		if f.Kind != delta.Commit {
			continue
		}
		data, err := w.mem.Get(context.Background(), info.Key, 0)
		require.NoError(w.t, err)
		if delta.TxnID(data) == txnID {
			versions = append(versions, f.Version)
		}
	}
	return versions
}

// plans is a planner made of a function. Its tag is told ahead if ahead is set.
type plans struct {
	txnID string
	tag   *commit.Tag
	make  func(snap *delta.Snapshot, n int) (*commit.Intent, error)
	asked int
}

func (p *plans) Plan(_ context.Context, snap *delta.Snapshot) (*commit.Intent, error) {
	p.asked++
	in, err := p.make(snap, p.asked)
	if in != nil {
		in.TxnID, in.Tag = p.txnID, p.tag
		in.TableID = ""
		if snap != nil {
			in.TableID = snap.Metadata().ID
		}
	}
	return in, err
}

type tagged struct {
	*plans
	reapply bool
}

func (p tagged) Tag() (commit.Tag, bool, bool) { return *p.tag, p.reapply, true }

func txnID(n int) string { return fmt.Sprintf("%032x", n) }

// appends plans a blind append of one file, the same each time.
func appends(id int, tag *commit.Tag) *plans {
	return &plans{txnID: txnID(id), tag: tag, make: func(*delta.Snapshot, int) (*commit.Intent, error) {
		return &commit.Intent{
			Info: delta.CommitInfo{Operation: "WRITE"}, BlindAppend: true, DataChange: true, Actions: []delta.Action{add(fmt.Sprintf("new-%d", id))},
		}, nil
	}}
}

// rewrites plans what an overwrite does: it replaces all live files by one, and does nothing when
// nothing but its own file is there.
func rewrites(id int) *plans {
	return &plans{txnID: txnID(id), make: func(snap *delta.Snapshot, n int) (*commit.Intent, error) {
		in := &commit.Intent{
			Info: delta.CommitInfo{Operation: "WRITE"}, DataChange: true, Reads: commit.Reads{WholeTable: true, Files: map[string]struct{}{}},
			Actions: []delta.Action{add(fmt.Sprintf("whole-%d-%d", id, n))},
		}
		mine := 0
		for f := range snap.Files() {
			if strings.HasPrefix(f.Key, fmt.Sprintf("whole-%d-", id)) {
				mine++
			}
			in.Reads.Files[f.Key] = struct{}{}
			in.Actions = append(in.Actions, remove(f.Path))
		}
		if mine == 1 && snap.NumFiles() == 1 {
			return nil, nil
		}
		return in, nil
	}}
}

// requireTruth holds the claim of a call against the log. It is made before anything else happens,
// so that a false claim is not mended by what follows; then late effects land, and it must still be
// true.
func requireTruth(t *testing.T, w *world, p *process, id string, out engine.Outcome, err error) {
	t.Helper()
	for _, when := range []string{"at once", "after late effects"} {
		held := w.holders(id)
		require.LessOrEqual(t, len(held), 1, "%s: versions %v hold the transaction", when, held)
		switch {
		case errors.Is(err, commit.ErrUnknownOutcome):
			var u *engine.UnknownError
			require.ErrorAs(t, err, &u)
			require.Equal(t, id, u.TxnID)
			require.NotEmpty(t, u.Files)
			if len(held) == 1 {
				require.Equal(t, u.Version, held[0], when)
			}
		case err != nil, out.Kind == engine.Unchanged:
			require.Empty(t, held, "%s: %v %v", when, out.Kind, err)
		case out.Kind == engine.Committed:
			require.Equal(t, []int64{out.Version}, held, when)
			require.Equal(t, out.Version, out.Snapshot.Version())
		}
		p.faulty.Land(context.Background())
	}
	require.Zero(t, p.faulty.Count(storetest.OpDelete), "an engine deletes nothing")
}

// puts keeps the bytes of each proposal, and may change the answer.
type puts struct {
	store.Store
	data   [][]byte
	answer func(error) error
}

func (p *puts) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	p.data = append(p.data, slices.Clone(data))
	err := p.Store.PutIfAbsent(ctx, key, data)
	if p.answer != nil {
		err = p.answer(err)
	}
	return err
}
