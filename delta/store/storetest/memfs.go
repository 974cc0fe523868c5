package storetest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/idemtable/idem/delta/store"
)

// FSOp is an operation on a MemFS.
type FSOp string

const (
	FSMkdir   FSOp = "mkdir"
	FSCreate  FSOp = "create"
	FSOpen    FSOp = "open"
	FSLink    FSOp = "link"
	FSRename  FSOp = "rename"
	FSRemove  FSOp = "remove"
	FSLstat   FSOp = "lstat"
	FSStat    FSOp = "stat"
	FSReadDir FSOp = "readdir"
	FSSyncDir FSOp = "syncdir"
	FSWrite   FSOp = "write"
	FSRead    FSOp = "read"
	FSSync    FSOp = "sync"
	FSClose   FSOp = "close"
)

// When says how much of an operation has happened when it fails.
type When int

const (
	Before  When = iota // nothing
	Halfway             // half of the bytes of a write, of anything else nothing
	After               // everything
)

// FSFault makes one operation of a MemFS fail.
type FSFault struct {
	// Op is the operation. "" means any.
	Op FSOp

	// Nth is which of the operations that Op names fails, from 1 and from now on. 0 means each.
	Nth int

	When When

	// Err is the error. nil means EIO.
	Err error

	// Crash makes every later operation fail with ErrCrashed.
	Crash bool

	seen int
}

// MemFS is a file system in memory that keeps apart what is durable and what is not: the bytes
// of a file are durable once the file was synced, and a name is once its directory was. Crash
// returns what a power cut may leave. After a sync that failed, further syncs of the file answer
// yes and write nothing, as Linux does. Its names for temporary files and its times count up.
type MemFS struct {
	// Before, if set, is called ahead of every operation, without a lock, with the index from 1
	// that the operation will have if no other comes in between. Set it before the first one.
	Before func(index int, op FSOp)

	mu     sync.Mutex
	root   *node
	made   int // nodes, for names and numbers
	ticks  int64
	ops    int
	trace  []string
	faults []*FSFault
	down   bool
	links  error // refusal of hard links
	limit  int64 // of used, -1: none
	used   int64
}

var _ store.FS = (*MemFS)(nil)

// node is a file or a directory.
type node struct {
	at      time.Time
	names   map[string][]*node // of a directory; see set
	data    []byte
	durable []byte
	links   int  // names and open files
	lost    bool // a sync failed
}

func (n *node) isDir() bool { return n.names != nil }

// get is what the name leads to now.
func (n *node) get(name string) *node {
	states := n.names[name]
	if len(states) == 0 {
		return nil
	}
	return states[len(states)-1]
}

// set changes what the name leads to. All states since the last sync are kept, the durable one
// first: a power cut may leave any.
func (n *node) set(name string, to *node) {
	states := n.names[name]
	if len(states) == 0 {
		states = []*node{nil}
	}
	n.names[name] = append(states, to)
}

// NewMemFS is an empty file system.
func NewMemFS() *MemFS {
	return &MemFS{root: &node{names: map[string][]*node{}}, limit: -1}
}

// Fail adds faults.
func (m *MemFS) Fail(faults ...FSFault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range faults {
		f.seen = 0
		m.faults = append(m.faults, &f)
	}
}

// Heal forgets the faults and brings a crashed process back to life, with nothing lost.
func (m *MemFS) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults, m.down = nil, false
}

// RefuseLinks makes Link fail with err. nil allows links.
func (m *MemFS) RefuseLinks(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links = err
}

// Limit is how many bytes all files may have together; a write beyond is cut short with ENOSPC.
// A negative number means no limit.
func (m *MemFS) Limit(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = n
}

// Ops is the number of operations so far.
func (m *MemFS) Ops() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops
}

// Trace is the operations so far, one line each, as "link a b".
func (m *MemFS) Trace() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.trace)
}

// do runs an operation. f is told how much of a write to do. It is called under the lock.
func (m *MemFS) do(op FSOp, name string, f func(half bool) error) error {
	if m.Before != nil {
		m.Before(m.Ops()+1, op)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return &fs.PathError{Op: string(op), Path: name, Err: ErrCrashed}
	}
	m.ops++
	m.trace = append(m.trace, string(op)+" "+name)
	fault := m.fault(op)
	if fault == nil {
		return pathError(op, name, f(false))
	}
	m.down = fault.Crash
	if fault.When == After {
		_ = f(false)
	} else if fault.When == Halfway && op == FSWrite {
		_ = f(true)
	}
	err := fault.Err
	if err == nil && fault.Crash {
		err = ErrCrashed
	} else if err == nil {
		err = syscall.EIO
	}
	return &fs.PathError{Op: string(op), Path: name, Err: injected(err)}
}

func (m *MemFS) fault(op FSOp) *FSFault {
	var hit *FSFault
	for _, f := range m.faults {
		if f.Op != "" && f.Op != op {
			continue
		}
		f.seen++
		if hit == nil && (f.Nth == 0 || f.Nth == f.seen) {
			hit = f
		}
	}
	return hit
}

func pathError(op FSOp, name string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &fs.PathError{Op: string(op), Path: name, Err: err}
}

// SetTime moves the clock that files have their times from ahead to a time, in whole seconds.
func (m *MemFS) SetTime(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ticks = max(m.ticks, at.Unix())
}

func (m *MemFS) now() time.Time {
	m.ticks++
	return time.Unix(m.ticks, 0).UTC()
}

func (m *MemFS) find(name string) (*node, error) {
	n := m.root
	if name == "." {
		return n, nil
	}
	for element := range strings.SplitSeq(name, "/") {
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		if n = n.get(element); n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// findDir is the directory that holds a name.
func (m *MemFS) findDir(name string) (*node, string, error) {
	dir, err := m.find(path.Dir(name))
	if err == nil && !dir.isDir() {
		err = syscall.ENOTDIR
	}
	return dir, path.Base(name), err
}

// add gives a node a name that is free.
func (m *MemFS) add(name string, n *node) error {
	dir, base, err := m.findDir(name)
	if err != nil {
		return err
	}
	if dir.get(base) != nil {
		return fs.ErrExist
	}
	dir.set(base, n)
	n.links++
	return nil
}

// release takes back one of a file's names or openings.
func (m *MemFS) release(n *node) {
	if n.links--; n.links == 0 {
		m.used -= int64(len(n.data))
	}
}

// Mkdir implements store.FS. The root always exists.
func (m *MemFS) Mkdir(name string) error {
	return m.do(FSMkdir, name, func(bool) error {
		if name == "." {
			return fs.ErrExist
		}
		return m.add(name, &node{at: m.now(), names: map[string][]*node{}})
	})
}

// CreateTemp implements store.FS.
func (m *MemFS) CreateTemp(dir string) (store.File, error) {
	f := &memFile{m: m, n: &node{}}
	err := m.do(FSCreate, dir, func(bool) error {
		m.made++
		f.n.at = m.now()
		f.name = path.Join(dir, store.TempName(fmt.Sprint(m.made)))
		err := m.add(f.name, f.n)
		f.n.links++
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Open implements store.FS.
func (m *MemFS) Open(name string) (store.File, error) {
	f := &memFile{m: m, name: name}
	err := m.do(FSOpen, name, func(bool) (err error) {
		if f.n, err = m.find(name); err == nil {
			f.n.links++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Link implements store.FS.
func (m *MemFS) Link(oldname, newname string) error {
	return m.do(FSLink, oldname+" "+newname, func(bool) error {
		if m.links != nil {
			return m.links
		}
		n, err := m.find(oldname)
		if err != nil {
			return err
		}
		return m.add(newname, n)
	})
}

// Rename implements store.FS.
func (m *MemFS) Rename(oldname, newname string) error {
	return m.do(FSRename, oldname+" "+newname, func(bool) error {
		n, err := m.find(oldname)
		if err != nil {
			return err
		}
		to, toBase, err := m.findDir(newname)
		if err != nil {
			return err
		}
		if old := to.get(toBase); old != nil && old.isDir() {
			return syscall.EISDIR
		} else if old != nil {
			m.release(old)
		}
		from, fromBase, err := m.findDir(oldname)
		if err != nil {
			return err
		}
		to.set(toBase, n)
		from.set(fromBase, nil)
		return nil
	})
}

// Remove implements store.FS.
func (m *MemFS) Remove(name string) error {
	return m.do(FSRemove, name, func(bool) error {
		n, err := m.find(name)
		if err != nil {
			return err
		}
		if n.isDir() {
			return syscall.EISDIR
		}
		dir, base, err := m.findDir(name)
		if err != nil {
			return err
		}
		dir.set(base, nil)
		m.release(n)
		return nil
	})
}

// Lstat implements store.FS.
func (m *MemFS) Lstat(name string) (fs.FileInfo, error) { return m.stat(FSLstat, name) }

// Stat implements store.FS. There are no symbolic links.
func (m *MemFS) Stat(name string) (fs.FileInfo, error) { return m.stat(FSStat, name) }

func (m *MemFS) stat(op FSOp, name string) (info fs.FileInfo, err error) {
	err = m.do(op, name, func(bool) error {
		n, err := m.find(name)
		if err == nil {
			info = n.info(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// ReadDir implements store.FS.
func (m *MemFS) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = m.do(FSReadDir, name, func(bool) error {
		dir, err := m.find(name)
		if err != nil {
			return err
		}
		if !dir.isDir() {
			return syscall.ENOTDIR
		}
		// In no helpful order, as on a disk.
		for _, base := range slices.Backward(slices.Sorted(maps.Keys(dir.names))) {
			if n := dir.get(base); n != nil {
				entries = append(entries, fs.FileInfoToDirEntry(n.info(base)))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// SyncDir implements store.FS.
func (m *MemFS) SyncDir(name string) error {
	return m.do(FSSyncDir, name, func(bool) error {
		dir, err := m.find(name)
		if err != nil {
			return err
		}
		if !dir.isDir() {
			return syscall.ENOTDIR
		}
		for base, states := range dir.names {
			if n := states[len(states)-1]; n != nil {
				dir.names[base] = []*node{n}
			} else {
				delete(dir.names, base)
			}
		}
		return nil
	})
}

// SameFile implements store.FS.
func (m *MemFS) SameFile(a, b fs.FileInfo) bool {
	x, y := a.Sys(), b.Sys()
	return x != nil && x == y
}

// Crash returns what the disk holds after a power cut at this moment. For everything that was
// not synced, choose(n) picks one of n states: 0 is always the synced one and n-1 the newest.
// Between them are older states of a name, and files with half of their bytes or with zeros. The
// file system itself goes on as if nothing had happened.
func (m *MemFS) Crash(choose func(n int) int) *MemFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMemFS()
	after.made, after.ticks, after.limit, after.links = m.made, m.ticks, m.limit, m.links
	after.root = after.survive(m.root, choose, map[*node]*node{})
	return after
}

func (m *MemFS) survive(n *node, choose func(int) int, seen map[*node]*node) *node {
	if s := seen[n]; s != nil {
		return s
	}
	s := &node{at: n.at}
	seen[n] = s
	if !n.isDir() {
		s.data = bytes.Clone(n.durable)
		if !bytes.Equal(n.durable, n.data) {
			states := [][]byte{n.durable, n.data[:len(n.data)/2], make([]byte, len(n.data)), n.data}
			s.data = bytes.Clone(states[choose(len(states))])
		}
		s.durable = bytes.Clone(s.data)
		m.used += int64(len(s.data))
		return s
	}
	s.names = map[string][]*node{}
	for _, base := range slices.Sorted(maps.Keys(n.names)) {
		states := n.names[base]
		state := states[0]
		if len(states) > 1 {
			state = states[choose(len(states))]
		}
		if state != nil {
			child := m.survive(state, choose, seen)
			child.links++
			s.names[base] = []*node{child}
		}
	}
	return s
}
