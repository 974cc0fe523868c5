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
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/parquetio"
	"github.com/idemtable/idem/internal/sim"
	"github.com/idemtable/idem/internal/spill"
	"github.com/idemtable/idem/internal/tabletest"
	"github.com/idemtable/idem/maintain"
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
	for seed := range uint64(300) {
		n := 0
		h := sim.Run(seed+1, sim.Hooks{Plain: true, Store: func(s store.Store) store.Store { return taken{s, &n, &lied} }})
		require.Empty(t, h.Broken, "%s", h)
	}
	require.Greater(t, lied, 100)
}

// forgetting is a disk for spill files that acknowledges what is written and keeps nothing.
type forgetting struct{ spill.Disk }

func (d forgetting) CreateTemp(dir, pattern string) (spill.File, error) {
	f, err := d.Disk.CreateTemp(dir, pattern)
	return forgotten{f}, err
}

type forgotten struct{ spill.File }

func (f forgotten) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// hoarding is a disk for spill files that says it removed what it keeps.
type hoarding struct{ spill.Disk }

func (hoarding) Remove(string) error { return nil }

func (hoarding) RemoveAll(string) error { return nil }

// patient is a disk for spill files on which nothing ever fails, though it should: what cannot be written is said to be.
type patient struct{ spill.Disk }

func (d patient) CreateTemp(dir, pattern string) (spill.File, error) {
	f, err := d.Disk.CreateTemp(dir, pattern)
	return swallowing{f}, err
}

type swallowing struct{ spill.File }

func (f swallowing) WriteAt(p []byte, at int64) (int, error) {
	f.File.WriteAt(p, at)
	return len(p), nil
}

// naive appends with a commit loop as one writes it before the first incident.
type naive struct {
	loop      tabletest.NaiveLoop
	skipsTags bool // the tag is written and never looked at
	twoFiles  bool // the rows are written twice
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
	return n.loop.Commit(ctx, s, snap.Version()+1, data)
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
	w, err := sim.Codec().NewWriter(&buf, schema, parquetio.WriteOptions{})
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

// stripping is a store in which the commits of restores say nothing of tags.
type stripping struct{ store.Store }

func (s stripping) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if !isCommit(key) || !bytes.Contains(data, []byte(`"operation":"RESTORE"`)) {
		return s.Store.PutIfAbsent(ctx, key, data)
	}
	data = bytes.ReplaceAll(data, []byte(`"operation":"RESTORE"`), []byte(`"operation":"WRITE"`))
	var kept [][]byte
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte("idem/v1/undone/")) {
			kept = append(kept, line)
		}
	}
	return s.Store.PutIfAbsent(ctx, key, bytes.Join(kept, nil))
}

// eager deletes every file that is not live, whatever its age.
func eager(ctx context.Context, _ store.Store, t *idem.Table) (*idem.Result, error) {
	v, err := maintain.VacuumTable(ctx, t, maintain.Vacuum{Retention: time.Millisecond, AllowShortRetention: true})
	if err != nil {
		return nil, err
	}
	return &idem.Result{Outcome: v.Outcome, Version: v.Version}, nil
}

// forgetful is an optimize that takes the files of a table over without their deletion vectors.
func forgetful(ctx context.Context, s store.Store, t *idem.Table) (*idem.Result, error) {
	if _, err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	snap := t.Snapshot()
	actions := []delta.Action{{CommitInfo: &delta.CommitInfo{Operation: "OPTIMIZE", TxnID: fmt.Sprintf("%032x", naiveIDs.Add(1))}}}
	now := int64(0)
	for f := range snap.Files() {
		if f.DeletionVector == nil {
			continue
		}
		whole := *f
		whole.DeletionVector, whole.DataChange, whole.Tags, whole.StatsDeferred = nil, false, nil, false
		remove := &delta.Remove{Path: f.Path, DeletionTimestamp: &now, DeletionVector: f.DeletionVector}
		actions = append(actions, delta.Action{Remove: remove}, delta.Action{Add: &whole})
	}
	if len(actions) == 1 {
		return &idem.Result{Outcome: idem.Unchanged, Version: snap.Version()}, nil
	}
	data, err := delta.EncodeCommit(actions)
	if err != nil {
		return nil, err
	}
	if err := s.PutIfAbsent(ctx, delta.CommitKey(snap.Version()+1), data); err != nil {
		return nil, fmt.Errorf("%w: %w", idem.ErrConflict, err)
	}
	return &idem.Result{Outcome: idem.Committed, Version: snap.Version() + 1}, nil
}

// idle does nothing, and says that it did or that there was nothing to do.
func idle(says idem.Outcome) func(context.Context, store.Store, *idem.Table) (*idem.Result, error) {
	return func(ctx context.Context, _ store.Store, t *idem.Table) (*idem.Result, error) {
		v, err := t.Refresh(ctx)
		if err != nil {
			return nil, err
		}
		return &idem.Result{Outcome: says, Version: v}, nil
	}
}

// gives gives up at once.
func gives(err error) func(context.Context, store.Store, *idem.Table) (*idem.Result, error) {
	return func(context.Context, store.Store, *idem.Table) (*idem.Result, error) { return nil, err }
}

func instead(verb string, do func(context.Context, store.Store, *idem.Table) (*idem.Result, error)) sim.Hooks {
	return sim.Hooks{Instead: map[string]func(context.Context, store.Store, *idem.Table) (*idem.Result, error){verb: do}}
}

func wrap(f func(store.Store) store.Store) sim.Hooks { return sim.Hooks{Store: f, Plain: true} }

// world is a broken one, and what histories say of it.
type world struct {
	name  string
	hooks func() sim.Hooks
	seeds uint64
	says  string // of one seed at least
	after uint64 // seeds that are left out, for what few histories have
}

var worlds = []world{
	{"put-if-absent overwrites", func() sim.Hooks {
		return wrap(func(s store.Store) store.Store { return overwriting{s} })
	}, 100, "not its work", 0},
	{"a commit is acknowledged and dropped", func() sim.Hooks {
		return wrap(func(s store.Store) store.Store { return dropping{s} })
	}, 100, "not its work", 0},
	{"a data file is acknowledged and lost", func() sim.Hooks {
		return wrap(func(s store.Store) store.Store { return losing{s, new(int)} })
	}, 100, "not in the store", 0},
	{"taken is taken for our own", func() sim.Hooks { return loop(naive{loop: tabletest.NaiveLoop{TakenIsOurs: true}}) }, 200, "not its work", 0},
	{"a lost answer is taken for taken", func() sim.Hooks { return loop(naive{}) }, 400, "committed twice", 400},
	{"the next version is tried while one is vacant", func() sim.Hooks { return loop(naive{}) }, 400, "is vacant", 0},
	{"an error is reported as a no", func() sim.Hooks { return loop(naive{loop: tabletest.NaiveLoop{ErrorIsFinal: true}}) }, 400, "its work is in the log", 0},
	{"the tag is never looked at", func() sim.Hooks { return loop(naive{skipsTags: true}) }, 200, "it has a tag that", 0},
	{"appends of others are not looked at", func() sim.Hooks { // right for WriteSerializable, and not for the order of versions
		return sim.Hooks{Options: func(o *idem.Options) { o.Isolation = idem.WriteSerializable }}
	}, 1500, "the rows are not the model's", 0},
	{"rows are written twice", func() sim.Hooks { return loop(naive{twoFiles: true}) }, 100, "the rows are not the model's", 0},
	{"a vacuum ignores the retention", func() sim.Hooks { return instead("vacuum", eager) }, 400, "a version within the retention needs", 0},
	{"a restore does not take tags back", func() sim.Hooks {
		return sim.Hooks{Store: func(s store.Store) store.Store { return stripping{s} }}
	}, 1000, "a tag that was taken back", 0},
	{"an optimize drops deletion vectors", func() sim.Hooks { return instead("optimize", forgetful) }, 2000, "the rows are not the model's", 0},
	{"a checkpoint is said to be made", func() sim.Hooks { return instead("checkpoint", idle(idem.Committed)) }, 400, "there is no checkpoint", 0},
	{"a checkpoint is said to be there", func() sim.Hooks { return instead("checkpoint", idle(idem.Unchanged)) }, 400, "there is no checkpoint", 0},
	{"a compaction is said to be made", func() sim.Hooks { return instead("compact", idle(idem.Committed)) }, 400, "there is no compaction", 0},
	{"a clean-up is said to delete", func() sim.Hooks { return instead("clean-up", idle(idem.Committed)) }, 400, "nothing of the log was deleted", 0},
	{"a clean-up finds nothing", func() sim.Hooks { return instead("clean-up", idle(idem.Unchanged)) }, 4000, "there was something to delete", 1300},
	{"a vacuum finds nothing", func() sim.Hooks { return instead("vacuum", idle(idem.Unchanged)) }, 1000, "there was something to delete", 0},
	{"an optimize finds nothing", func() sim.Hooks { return instead("optimize", idle(idem.Unchanged)) }, 400, "two files of a partition", 0},
	{"an optimize leaves deletion vectors", func() sim.Hooks { return instead("optimize", idle(idem.Unchanged)) }, 1000, "a file has a deletion vector", 700},
	{"a feature is said to be on", func() sim.Hooks { return instead("enable", idle(idem.Unchanged)) }, 400, "the feature is not on", 0},
	{"an append is a conflict", func() sim.Hooks { return instead("append", gives(idem.ErrConflict)) }, 400, "explains the conflict", 0},
	{"a restore is a conflict", func() sim.Hooks { return instead("restore", gives(idem.ErrConflict)) }, 400, "explains the conflict", 0},
	{"a log is said to be damaged", func() sim.Hooks { return instead("merge", gives(idem.ErrCorrupt)) }, 400, "explains the error", 0},
	{"a tag is said to be of other rows", func() sim.Hooks { return instead("append-txn", gives(idem.ErrPayload)) }, 400, "explains the error", 0},
	{"rows that are set aside are lost", func() sim.Hooks { return spills(func(d spill.Disk) spill.Disk { return forgetting{d} }) }, 400, "explains the error", 0},
	{"a full disk for spill files says nothing", func() sim.Hooks { return spills(func(d spill.Disk) spill.Disk { return patient{d} }) }, 1500, "explains the error", 0},
	{"spill files stay behind", func() sim.Hooks { return spills(func(d spill.Disk) spill.Disk { return hoarding{d} }) }, 400, "leaves spill files", 0},
	{"a foreign writer overwrites", func() sim.Hooks { return sim.Hooks{ForeignOverwrites: true} }, 1000, "not its work", 0},
}

func spills(f func(spill.Disk) spill.Disk) sim.Hooks { return sim.Hooks{Spills: f} }

func loop(n naive) sim.Hooks { return sim.Hooks{Append: n.append} }

// failing is the first history of a broken world that says so, and what the others said.
func (c world) failing() (found *sim.History, seen []string) {
	for seed := range c.seeds {
		h := sim.Run(c.after+seed+1, c.hooks())
		seen = append(seen, h.Broken...)
		if len(h.Broken) > 0 && strings.Contains(h.Broken[0], c.says) {
			return h, nil
		}
	}
	return nil, seen
}

// A simulator that cannot fail proves nothing.
func TestWhatIsBrokenIsFoundOut(t *testing.T) {
	for _, c := range worlds {
		if testing.Short() && c.seeds > 400 { // under the race detector, for which a history is one goroutine
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			h, seen := c.failing()
			if h == nil {
				t.Fatalf("not found out by %d seeds; they said:\n%s", c.seeds, strings.Join(seen, "\n"))
			}
			t.Logf("found out with seed %d", h.Seed)
		})
	}
}

// mostLines is how long a history may be that a person reads.
const mostLines = 80

func TestWhatFailsIsMadeShort(t *testing.T) {
	for _, c := range worlds {
		switch c.name {
		case "put-if-absent overwrites", "a lost answer is taken for taken", "a vacuum ignores the retention", "an error is reported as a no":
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			h, _ := c.failing()
			require.NotNil(t, h)
			short := sim.Shrink(h, c.hooks)
			t.Logf("%d lines are now %d", len(h.Trace()), len(short.Trace()))
			require.Equal(t, h.Reason(), short.Reason())
			require.LessOrEqual(t, len(short.Trace()), mostLines, "%s", short)
			cut, err := sim.ParseCut(short.Cut.String())
			require.NoError(t, err)
			again := sim.RunCut(short.Seed, c.hooks(), cut)
			require.Equal(t, short.Reason(), again.Reason(), "what is printed does not run again")
		})
	}
}
