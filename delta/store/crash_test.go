package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

func version(v int) string { return fmt.Sprintf("_delta_log/%020d.json", v) }

// A step writes one object. Its bytes say which, so that a torn one shows.
type step struct {
	key string
	run func(ctx context.Context, s store.Store, key string, data []byte) error
}

func (s step) data(i int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s by step %d\n", s.key, i), 7)
}

func stepPutIfAbsent(ctx context.Context, s store.Store, key string, data []byte) error {
	return s.PutIfAbsent(ctx, key, data)
}

func stepPut(ctx context.Context, s store.Store, key string, data []byte) error {
	return s.Put(ctx, key, data)
}

func stepCreate(ctx context.Context, s store.Store, key string, data []byte) error {
	w, err := s.Create(ctx, key)
	if err != nil {
		return err
	}
	for _, half := range [][]byte{data[:len(data)/2], data[len(data)/2:]} {
		if _, err := w.Write(half); err != nil {
			w.Abort()
			return err
		}
	}
	return w.Close()
}

// steps are two commits of a table, as a verb makes them. The second put of version 1 loses.
var steps = []step{
	{"day=1/part-a.parquet", stepCreate},
	{version(0), stepPutIfAbsent},
	{"day=2/part-b.parquet", stepCreate},
	{version(1), stepPutIfAbsent},
	{version(1), stepPutIfAbsent},
	{"_delta_log/_last_checkpoint", stepPut},
	{"_delta_log/_last_checkpoint", stepPut},
}

// history is what the caller was told.
type history struct {
	acked map[string][]byte   // by key, what it must hold
	tried map[string][][]byte // by key, what it may hold
}

// play runs the steps as a process that stops when it crashes, and goes on after other errors.
func play(ctx context.Context, s store.Store) history {
	h := history{map[string][]byte{}, map[string][][]byte{}}
	for i, st := range steps {
		data := st.data(i)
		h.tried[st.key] = append(h.tried[st.key], data)
		err := st.run(ctx, s, st.key, data)
		switch {
		case err == nil:
			h.acked[st.key] = data
		case errors.Is(err, storetest.ErrCrashed):
			return h
		}
	}
	return h
}

// check compares what a later process finds with what the earlier one was told.
func (h history) check(t *testing.T, s store.Store, at string) {
	t.Helper()
	for info, err := range s.List(t.Context(), "", "") {
		require.NoError(t, err, at)
		data, err := s.Get(t.Context(), info.Key, 0)
		require.NoError(t, err, at)
		whole := slices.ContainsFunc(h.tried[info.Key], func(b []byte) bool { return bytes.Equal(b, data) })
		require.True(t, whole, "%s: %q is torn: %d bytes %.30q", at, info.Key, len(data), data)
	}
	for key, want := range h.acked {
		data, err := s.Get(t.Context(), key, 0)
		require.NoError(t, err, "%s: %q was acknowledged", at, key)
		if !strings.HasSuffix(key, "_last_checkpoint") { // which a later put may have replaced
			require.Equal(t, string(want), string(data), "%s: %q was acknowledged", at, key)
		}
	}
	require.NoError(t, s.PutIfAbsent(t.Context(), version(7), nil), "%s: the table can be written to", at)
}

// powerCuts are the ways in which a crash chooses what survives.
func powerCuts(seed uint64) map[string]func(int) int {
	cuts := map[string]func(int) int{
		"only what was synced": func(int) int { return 0 },
		"everything":           func(n int) int { return n - 1 },
	}
	for i := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, i))
		cuts[fmt.Sprintf("random %d", i)] = r.IntN
	}
	return cuts
}

func dirOver(m *storetest.MemFS) *store.Dir { return store.OpenFileSystem(m, "memfs:///") }

// TestCrashSweep crashes before, in and after every operation on the file system, cuts the power
// in several ways, and checks what is left.
func TestCrashSweep(t *testing.T) {
	whole := storetest.NewMemFS()
	play(t.Context(), dirOver(whole))
	n := whole.Ops()
	require.Greater(t, n, 50)
	for i := range n {
		for _, when := range []storetest.When{storetest.Before, storetest.Halfway, storetest.After} {
			m := storetest.NewMemFS()
			m.Fail(storetest.FSFault{Nth: i + 1, When: when, Crash: true})
			h := play(t.Context(), dirOver(m))
			for cut, choose := range powerCuts(uint64(i)) {
				at := fmt.Sprintf("crash %d at %q, %s", when, m.Trace()[i], cut)
				h.check(t, dirOver(m.Crash(choose)), at)
			}
			m.Heal() // only the process died, the system lives
			h.check(t, dirOver(m), fmt.Sprintf("kill %d at %q", when, m.Trace()[i]))
		}
	}
}

// TestErrorSweep fails every operation once, lets the process go on, and cuts the power at the end.
func TestErrorSweep(t *testing.T) {
	whole := storetest.NewMemFS()
	play(t.Context(), dirOver(whole))
	for i := range whole.Ops() {
		for _, when := range []storetest.When{storetest.Before, storetest.Halfway, storetest.After} {
			for _, fault := range []error{syscall.EIO, syscall.ENOSPC} {
				m := storetest.NewMemFS()
				m.Fail(storetest.FSFault{Nth: i + 1, When: when, Err: fault})
				d := dirOver(m)
				h := play(t.Context(), d)
				// What can be read now has been concluded from: it is as good as acknowledged.
				for _, v := range []string{version(0), version(1)} {
					if data, err := d.Get(t.Context(), v, 0); err == nil {
						h.acked[v] = data
					}
				}
				for cut, choose := range powerCuts(uint64(i)) {
					h.check(t, dirOver(m.Crash(choose)), fmt.Sprintf("%v %d at %q, %s", fault, when, m.Trace()[i], cut))
				}
			}
		}
	}
}

// TestDiskFullSweep lets the disk be full at every size that matters.
func TestDiskFullSweep(t *testing.T) {
	for limit := int64(0); limit < 1400; limit += 23 {
		m := storetest.NewMemFS()
		m.Limit(limit)
		h := play(t.Context(), dirOver(m))
		for key := range h.tried {
			require.LessOrEqual(t, len(h.acked[key]), int(limit))
		}
		m.Limit(-1)
		require.Empty(t, temporary(t, m, "_delta_log"), "a full disk is not made fuller")
		h.check(t, dirOver(m.Crash(func(int) int { return 0 })), fmt.Sprintf("limit %d", limit))
	}
}

func temporary(t *testing.T, m *storetest.MemFS, dir string) []string {
	t.Helper()
	entries, err := m.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if store.IsTemp(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestLookingNeverDecides: a name that is taken between the look and the link is not overwritten.
func TestLookingNeverDecides(t *testing.T) {
	m := storetest.NewMemFS()
	raced := false
	m.Before = func(_ int, op storetest.FSOp) {
		if op == storetest.FSLink && !raced {
			raced = true
			require.NoError(t, dirOver(m).PutIfAbsent(t.Context(), version(0), []byte("other")))
		}
	}
	d := dirOver(m)
	require.ErrorIs(t, d.PutIfAbsent(t.Context(), version(0), []byte("ours")), store.ErrExist)
	data, err := d.Get(t.Context(), version(0), 0)
	require.NoError(t, err)
	require.Equal(t, "other", string(data))
	require.Empty(t, temporary(t, m, "_delta_log"))
	for _, line := range m.Trace() {
		require.NotContains(t, line, "rename", "a rename replaces what is there")
	}
}

func TestLostAnswerOfLink(t *testing.T) {
	for _, answer := range []error{syscall.EEXIST, syscall.EIO, syscall.ETIMEDOUT} {
		t.Run(answer.Error(), func(t *testing.T) {
			m := storetest.NewMemFS()
			d := dirOver(m)
			m.Fail(storetest.FSFault{Op: storetest.FSLink, Nth: 1, When: storetest.After, Err: answer})
			require.NoError(t, d.PutIfAbsent(t.Context(), version(0), []byte("ours")), "the name is that of our own file")
			require.ErrorIs(t, d.PutIfAbsent(t.Context(), version(0), []byte("next")), store.ErrExist)
			data, err := dirOver(m.Crash(func(int) int { return 0 })).Get(t.Context(), version(0), 0)
			require.NoError(t, err)
			require.Equal(t, "ours", string(data))
		})
	}
}

func TestLinkUnknown(t *testing.T) {
	m := storetest.NewMemFS()
	m.Fail(storetest.FSFault{Op: storetest.FSLink, Nth: 1, Err: syscall.EIO})
	err := dirOver(m).PutIfAbsent(t.Context(), version(0), nil)
	require.ErrorIs(t, err, syscall.EIO)
	requireUndecided(t, err)
	require.Empty(t, temporary(t, m, "_delta_log"))
}

func requireUndecided(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrExist)
	require.NotErrorIs(t, err, store.ErrNotExist)
	require.NotErrorIs(t, err, store.ErrUnfit)
}

func TestUnfitFileSystems(t *testing.T) {
	for _, refusal := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EXDEV} {
		t.Run(refusal.Error(), func(t *testing.T) {
			m := storetest.NewMemFS()
			m.RefuseLinks(refusal)
			d := dirOver(m)
			for op, err := range map[string]error{
				"PutIfAbsent": d.PutIfAbsent(t.Context(), version(0), nil),
				"Create":      stepCreate(t.Context(), d, "part-1.parquet", []byte("x")),
				"Probe":       store.Probe(t.Context(), d, "1"),
			} {
				require.ErrorIs(t, err, store.ErrUnfit, op)
				require.ErrorIs(t, err, refusal, op)
				require.ErrorContains(t, err, "hard links", op)
			}
			require.Empty(t, temporary(t, m, "_delta_log"))
			require.Empty(t, temporary(t, m, "."))
			for info, err := range d.List(t.Context(), "", "") {
				t.Fatalf("left %v %v", info, err)
			}
		})
	}
	// EACCES says that we may not, not that nobody can.
	m := storetest.NewMemFS()
	m.RefuseLinks(syscall.EACCES)
	requireUndecided(t, dirOver(m).PutIfAbsent(t.Context(), version(0), nil))
}

// TestFailedSync: a file whose sync failed is thrown away; the second sync of MemFS lies.
func TestFailedSync(t *testing.T) {
	m := storetest.NewMemFS()
	m.Fail(storetest.FSFault{Op: storetest.FSSync, Nth: 1})
	d := dirOver(m)
	requireUndecided(t, d.PutIfAbsent(t.Context(), version(0), []byte("a")))
	require.Empty(t, temporary(t, m, "_delta_log"))
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), []byte("b")))
	data, err := dirOver(m.Crash(func(int) int { return 0 })).Get(t.Context(), version(0), 0)
	require.NoError(t, err)
	require.Equal(t, "b", string(data))
}

// TestFailedDirectorySync: the outcome is unknown, and while it is not durable it is not shown.
func TestFailedDirectorySync(t *testing.T) {
	m := storetest.NewMemFS()
	d := dirOver(m)
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), nil))
	m.Fail(storetest.FSFault{Op: storetest.FSSyncDir})
	requireUndecided(t, d.PutIfAbsent(t.Context(), version(1), []byte("x")))
	_, err := d.Get(t.Context(), version(1), 0)
	requireUndecided(t, err)
	_, err = d.Head(t.Context(), version(1))
	requireUndecided(t, err)
	for _, err := range d.List(t.Context(), "_delta_log/", "") {
		requireUndecided(t, err)
	}
	requireUndecided(t, d.PutIfAbsent(t.Context(), version(1), nil))
	m.Heal()
	data, err := d.Get(t.Context(), version(1), 0)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	_, err = dirOver(m.Crash(func(int) int { return 0 })).Head(t.Context(), version(1))
	require.NoError(t, err, "what was read is durable")
}

// TestWinnerIsDurable: a process links version 0 and is killed before its directory sync. What
// others conclude from it must outlive a power cut.
func TestWinnerIsDurable(t *testing.T) {
	killed := func(t *testing.T) *storetest.MemFS {
		m := storetest.NewMemFS()
		m.Fail(storetest.FSFault{Op: storetest.FSLink, Nth: 1, When: storetest.After, Crash: true})
		require.ErrorIs(t, dirOver(m).PutIfAbsent(t.Context(), version(0), []byte("w")), storetest.ErrCrashed)
		m.Heal()
		_, err := dirOver(m.Crash(func(int) int { return 0 })).Head(t.Context(), version(0))
		require.ErrorIs(t, err, store.ErrNotExist, "the test is about an object that is not durable")
		return m
	}
	for name, conclude := range map[string]func(*testing.T, store.Store){
		"the key is taken": func(t *testing.T, s store.Store) {
			require.ErrorIs(t, s.PutIfAbsent(t.Context(), version(0), nil), store.ErrExist)
		},
		"the log ends there": func(t *testing.T, s store.Store) {
			_, err := s.Get(t.Context(), version(0), 0)
			require.NoError(t, err)
			_, err = s.Get(t.Context(), version(1), 0)
			require.ErrorIs(t, err, store.ErrNotExist)
		},
		"the next version": func(t *testing.T, s store.Store) {
			require.NoError(t, s.PutIfAbsent(t.Context(), version(1), nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := killed(t)
			conclude(t, dirOver(m))
			_, err := dirOver(m.Crash(func(int) int { return 0 })).Head(t.Context(), version(0))
			require.NoError(t, err)
		})
	}
}

// TestDirectoriesOfOthersAreSynced: the directory was made by a process that died before it
// synced the one above.
func TestDirectoriesOfOthersAreSynced(t *testing.T) {
	m := storetest.NewMemFS()
	require.NoError(t, m.Mkdir("a"))
	require.NoError(t, m.Mkdir("a/b"))
	require.NoError(t, dirOver(m).PutIfAbsent(t.Context(), "a/b/c", []byte("x")))
	_, err := dirOver(m.Crash(func(int) int { return 0 })).Head(t.Context(), "a/b/c")
	require.NoError(t, err)
}

// TestOperationsOfACommit pins the cost of a warm commit: one file sync, one directory sync.
func TestOperationsOfACommit(t *testing.T) {
	m := storetest.NewMemFS()
	d := dirOver(m)
	require.NoError(t, d.PutIfAbsent(t.Context(), version(0), []byte("x")))
	before := len(m.Trace())
	require.NoError(t, d.PutIfAbsent(t.Context(), version(1), []byte("x")))
	temp := "_delta_log/" + store.TempName("2")
	require.Equal(t, []string{
		"lstat " + version(1),
		"create _delta_log",
		"write " + temp,
		"sync " + temp,
		"close " + temp,
		"remove _delta_log/.00000000000000000001.json.crc",
		"link " + temp + " " + version(1),
		"remove " + temp,
		"syncdir _delta_log",
	}, m.Trace()[before:])
	before = len(m.Trace())
	require.ErrorIs(t, d.PutIfAbsent(t.Context(), version(1), []byte("x")), store.ErrExist)
	require.Equal(t, []string{"lstat " + version(1), "stat " + version(1), "syncdir _delta_log"}, m.Trace()[before:])
}

// TestCancelledAtEachStep: the context ends at every operation in turn; what was acknowledged
// stays and nothing is torn.
func TestCancelledAtEachStep(t *testing.T) {
	whole := storetest.NewMemFS()
	play(t.Context(), dirOver(whole))
	for i := range whole.Ops() {
		ctx, cancel := context.WithCancel(t.Context())
		m := storetest.NewMemFS()
		m.Before = func(index int, _ storetest.FSOp) {
			if index == i+1 {
				cancel()
			}
		}
		h := play(ctx, dirOver(m))
		cancel()
		h.check(t, dirOver(m.Crash(func(int) int { return 0 })), fmt.Sprintf("cancelled at %d", i+1))
		require.Empty(t, temporary(t, m, "_delta_log"), "cancelled at %d", i+1)
	}
}

// TestSideFileGoesFirst: at no power cut does Hadoop's checksum of the old object stand beside
// the new one.
func TestSideFileGoesFirst(t *testing.T) {
	const key, side = "_delta_log/_last_checkpoint", "_delta_log/._last_checkpoint.crc"
	before := storetest.NewMemFS()
	require.NoError(t, dirOver(before).Put(t.Context(), key, []byte("old")))
	require.NoError(t, dirOver(before).Put(t.Context(), side, []byte("of old")))
	synced := func(int) int { return 0 }
	whole := before.Crash(synced)
	require.NoError(t, dirOver(whole).Put(t.Context(), key, []byte("new")))
	for i := range whole.Ops() {
		m := before.Crash(synced)
		m.Fail(storetest.FSFault{Nth: i + 1, When: storetest.After, Crash: true})
		require.Error(t, dirOver(m).Put(t.Context(), key, []byte("new")))
		for seed := range uint64(32) {
			d := dirOver(m.Crash(rand.New(rand.NewPCG(seed, 1)).IntN))
			data, err := d.Get(t.Context(), key, 0)
			require.NoError(t, err)
			if string(data) == "new" {
				_, err := d.Head(t.Context(), side)
				require.ErrorIs(t, err, store.ErrNotExist, "power cut after %q", m.Trace()[i])
			}
		}
	}
}

func TestDeleteIsDurable(t *testing.T) {
	m := storetest.NewMemFS()
	d := dirOver(m)
	for _, key := range []string{"a/x", "b/x", "b/y"} {
		require.NoError(t, d.PutIfAbsent(t.Context(), key, nil))
	}
	require.NoError(t, d.Delete(t.Context(), "a/x", "b/x"))
	require.Equal(t, []string{"b/y"}, keys(t, dirOver(m.Crash(func(int) int { return 0 }))))
}
