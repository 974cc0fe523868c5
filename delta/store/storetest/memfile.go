package storetest

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"syscall"
	"time"
)

// memFile is an open file of a MemFS. Writes append.
type memFile struct {
	m      *MemFS
	n      *node
	name   string
	closed bool
}

func (f *memFile) Name() string { return f.name }

func (f *memFile) do(op FSOp, do func(half bool) error) error {
	return f.m.do(op, f.name, func(half bool) error {
		if f.closed {
			return fs.ErrClosed
		}
		return do(half)
	})
}

func (f *memFile) Write(p []byte) (n int, err error) {
	err = f.do(FSWrite, func(half bool) error {
		n = len(p)
		if half {
			n /= 2
		}
		var full error
		if room := f.m.limit - f.m.used; f.m.limit >= 0 && int64(n) > room {
			n, full = int(max(room, 0)), syscall.ENOSPC
		}
		f.n.data = append(f.n.data, p[:n]...)
		f.m.used += int64(n)
		f.n.at = f.m.now()
		return full
	})
	return n, err
}

func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do(FSRead, func(bool) error {
		if f.n.isDir() {
			return syscall.EISDIR
		}
		n = copy(p, f.n.data[min(off, int64(len(f.n.data))):])
		if n < len(p) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

// Sync makes the bytes durable, unless an earlier sync failed: the system then takes the pages
// for clean.
func (f *memFile) Sync() error {
	done := false
	err := f.do(FSSync, func(bool) error {
		done = true
		if !f.n.lost {
			f.n.durable = bytes.Clone(f.n.data)
		}
		return nil
	})
	if !done {
		f.m.mu.Lock()
		defer f.m.mu.Unlock()
		f.n.lost = true
	}
	return err
}

func (f *memFile) Close() error {
	return f.do(FSClose, func(bool) error {
		f.closed = true
		f.m.release(f.n)
		return nil
	})
}

// Stat is no operation that fails: the file is open.
func (f *memFile) Stat() (fs.FileInfo, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.n.info(f.name), nil
}

func (n *node) info(name string) fs.FileInfo {
	return memInfo{node: n, name: path.Base(name), size: int64(len(n.data)), at: n.at}
}

type memInfo struct {
	node *node
	name string
	size int64
	at   time.Time
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.at }
func (i memInfo) IsDir() bool        { return i.node.isDir() }
func (i memInfo) Sys() any           { return i.node }

func (i memInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o777
	}
	return 0o666
}
