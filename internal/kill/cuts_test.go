package kill_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/delta/store/storetest"
)

func dirOver(m *storetest.MemFS) *store.Dir { return store.OpenFileSystem(m, "memfs:///") }

// onDisk is what is there before the call, on a disk on which all of it is durable.
func (tr *trials) onDisk(t *testing.T) *storetest.MemFS {
	if tr.disk == nil {
		tr.disk = tr.copied(t)
	}
	tr.b.clock.set(tr.began)
	return tr.disk.Crash(newest)
}

func (tr *trials) copied(t *testing.T) *storetest.MemFS {
	m := storetest.NewMemFS()
	d, from := dirOver(m), tr.fresh()
	for info, err := range from.List(t.Context(), "", "") {
		require.NoError(t, err)
		data, err := from.Get(t.Context(), info.Key, 0)
		require.NoError(t, err)
		require.NoError(t, d.PutIfAbsent(t.Context(), info.Key, data))
	}
	m.SetTime(tr.began) // what is there is older by the age of the call, and more
	return m
}

func newest(n int) int { return n - 1 }
func synced(int) int   { return 0 }

// cuts are the ways in which the loss of power chooses, for everything that was not synced, what
// is left of it.
func cuts(seed uint64) []func(n int) int {
	out := []func(n int) int{synced, newest}
	for i := range uint64(6) {
		out = append(out, rand.New(rand.NewPCG(seed, i)).IntN)
	}
	return out
}

// state tells disks apart by what a reader can see of them: temporary files are nothing.
func state(t *testing.T, m *storetest.MemFS) string {
	h := sha256.New()
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := m.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case store.IsTemp(name):
			case e.IsDir():
				walk(name)
			default:
				fmt.Fprintf(h, "%q:", name)
				h.Write(contents(t, m, name))
			}
		}
	}
	walk(".")
	return string(h.Sum(nil))
}

func contents(t *testing.T, m *storetest.MemFS, name string) []byte {
	f, err := m.Open(name)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	data := make([]byte, info.Size())
	if len(data) > 0 {
		_, err = f.ReadAt(data, 0)
	}
	require.True(t, err == nil || errors.Is(err, io.EOF), "%v", err)
	require.NoError(t, f.Close())
	return data
}

// changes tells whether an operation can change what a power cut leaves.
func changes(op storetest.FSOp) bool {
	switch op {
	case storetest.FSOpen, storetest.FSLstat, storetest.FSStat, storetest.FSReadDir, storetest.FSRead, storetest.FSClose:
		return false
	}
	return true
}

// errCut is what a call whose machine went dark claims: nothing.
var errCut = fmt.Errorf("the power was cut: %w", storetest.ErrCrashed)

// TestCut runs each call on a disk that forgets what was not synced, and cuts the power ahead of each
// operation on the file system and after the answer: what was acknowledged is there, nothing is
// torn, and the call made again leaves what one run leaves, also after one more cut.
func TestCut(t *testing.T) {
	points, disks, trials := 0, 0, 0
	everyCall(t, func(t *testing.T, b *base, c call) {
		tr := newTrials(t, b, c)
		m := tr.onDisk(t)
		seen := map[string]bool{}
		var left []*storetest.MemFS
		dirty := true
		cut := func(seed int) {
			points++
			for _, choose := range cuts(uint64(seed)) {
				disk := m.Crash(choose)
				disks++
				if s := state(t, disk); !seen[s] {
					seen[s] = true
					left = append(left, disk)
				}
			}
		}
		var one sync.Mutex // the probe of a store is several operations at once
		m.Before = func(index int, op storetest.FSOp) {
			one.Lock()
			defer one.Unlock()
			if dirty {
				cut(index)
			}
			dirty = changes(op)
		}
		outcome, err := tr.do(b.ctx, dirOver(m))
		m.Before = nil
		require.NoError(t, err)
		for _, disk := range left {
			tr.cut(t, disk, 0, errCut)
		}
		trials += len(left)
		seen, left = map[string]bool{}, nil
		cut(0) // now it was acknowledged
		for _, disk := range left {
			tr.cut(t, disk, outcome, nil)
		}
		trials += len(left)
	})
	fmt.Printf("cuts in memory: %d points, %d disks left, %d trials of those that differ\n", points, disks, trials)
}

// cut is a machine that comes up again: what is there is held against the claim, and the call is made
// again; then the power is cut once more.
func (tr *trials) cut(t *testing.T, disk *storetest.MemFS, outcome idem.Outcome, claimed error) {
	tr.b.clock.set(tr.began)
	d := dirOver(disk)
	tr.again(t, d, tr.claim(t, d, outcome, claimed))
	tr.settled(t, dirOver(disk.Crash(synced)))
}

// TestCutFullDisk has each write of each call find the disk full, once, and from then on.
func TestCutFullDisk(t *testing.T) {
	writes := 0
	everyCall(t, func(t *testing.T, b *base, c call) {
		tr := newTrials(t, b, c)
		whole := tr.onDisk(t)
		_, err := tr.do(b.ctx, dirOver(whole))
		require.NoError(t, err)
		n := 0
		for _, line := range whole.Trace() {
			if len(line) > 6 && line[:6] == "write " {
				n++
			}
		}
		writes += n
		for i := range n {
			for _, stays := range []bool{false, true} {
				tr.full(t, i+1, stays)
			}
		}
	})
	fmt.Printf("full disks: %d writes\n", writes)
}

func (tr *trials) full(t *testing.T, at int, stays bool) {
	m := tr.onDisk(t)
	m.Fail(storetest.FSFault{Op: storetest.FSWrite, Nth: at, When: storetest.Halfway, Err: syscall.ENOSPC})
	if stays {
		var begun atomic.Int64
		m.Before = func(_ int, op storetest.FSOp) {
			if op == storetest.FSWrite && begun.Add(1) == int64(at) {
				m.Limit(0)
			}
		}
	}
	outcome, err := tr.do(tr.b.ctx, dirOver(m))
	m.Before = nil
	m.Heal()
	m.Limit(-1)
	if err != nil {
		require.ErrorIs(t, err, syscall.ENOSPC, "the cause is told")
	}
	temporaries(t, m, ".")
	d := dirOver(m)
	tr.again(t, d, tr.claim(t, d, outcome, err))
}

// temporaries fails if a full disk was left fuller.
func temporaries(t *testing.T, m *storetest.MemFS, dir string) {
	entries, err := m.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, store.IsTemp(e.Name()), "left %s", e.Name())
		if e.IsDir() {
			temporaries(t, m, path.Join(dir, e.Name()))
		}
	}
}

// lazy is a disk whose directories are never synced, whatever it answers.
type lazy struct{ *storetest.MemFS }

func (lazy) SyncDir(string) error { return nil }

// TestCutSeesWhatWasNotSynced is about the cuts themselves: they find the commit lost that a store
// acknowledged without having made it durable.
func TestCutSeesWhatWasNotSynced(t *testing.T) {
	tr := newTrials(t, newBase(t, flavours[0]), verbs[1])
	for _, lost := range []bool{false, true} {
		m := tr.onDisk(t)
		var fsys store.FS = m
		if lost {
			fsys = lazy{m}
		}
		_, err := tr.do(tr.b.ctx, store.OpenFileSystem(fsys, "memfs:///"))
		require.NoError(t, err)
		require.Equal(t, lost, versionOf(t, dirOver(m.Crash(synced))) == tr.version)
	}
}
