package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// osFS is a directory of the operating system. Each call opens the root anew: the root may be
// made, moved or replaced while the store is open, and a store needs no Close. All access goes
// through os.Root, so that no symbolic link leads outside.
type osFS struct {
	root string
}

// within runs f with the opened root and the system's spelling of name.
func (o osFS) within(name string, f func(root *os.Root, name string) error) error {
	local, err := localName(name)
	if err != nil {
		return fmt.Errorf("name %q: %w", name, err)
	}
	root, err := os.OpenRoot(o.root)
	if err != nil {
		return err
	}
	defer root.Close()
	return f(root, local)
}

func (o osFS) Mkdir(name string) error {
	if name == "." {
		return o.makeRoot()
	}
	return o.within(name, func(r *os.Root, name string) error { return r.Mkdir(name, 0o777) })
}

// makeRoot makes the root and every missing directory above it, each durable before the next.
func (o osFS) makeRoot() error {
	var absent []string
	for dir := o.root; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		absent = append(absent, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if len(absent) == 0 {
		// Whoever made the root may not have synced it. Above the root we may lack the right to.
		_ = syncPath(filepath.Dir(o.root))
		return nil
	}
	for i := len(absent) - 1; i >= 0; i-- {
		if err := os.Mkdir(absent[i], 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := syncPath(filepath.Dir(absent[i])); err != nil {
			return err
		}
	}
	return nil
}

func syncPath(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDirectory(f)
}

func (o osFS) CreateTemp(dir string) (File, error) {
	name := path.Join(dir, TempName(rand.Text()))
	return o.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
}

func (o osFS) Open(name string) (File, error) {
	return o.open(name, os.O_RDONLY|openNonblock)
}

func (o osFS) open(name string, flag int) (File, error) {
	var f *os.File
	err := o.within(name, func(r *os.Root, local string) (err error) {
		f, err = r.OpenFile(local, flag, 0o666)
		return err
	})
	if err != nil {
		return nil, err
	}
	return osFile{f, name}, nil
}

func (o osFS) Link(oldname, newname string) error {
	return o.pair(oldname, newname, (*os.Root).Link)
}

func (o osFS) Rename(oldname, newname string) error {
	return o.pair(oldname, newname, (*os.Root).Rename)
}

func (o osFS) pair(oldname, newname string, f func(r *os.Root, oldname, newname string) error) error {
	target, err := localName(newname)
	if err != nil {
		return fmt.Errorf("name %q: %w", newname, err)
	}
	return o.within(oldname, func(r *os.Root, source string) error { return f(r, source, target) })
}

func (o osFS) Remove(name string) error {
	return o.within(name, (*os.Root).Remove)
}

func (o osFS) Lstat(name string) (info fs.FileInfo, err error) {
	err = o.within(name, func(r *os.Root, name string) (err error) {
		info, err = r.Lstat(name)
		return err
	})
	return info, err
}

func (o osFS) Stat(name string) (info fs.FileInfo, err error) {
	err = o.within(name, func(r *os.Root, name string) (err error) {
		info, err = r.Stat(name)
		return err
	})
	return info, err
}

// RealName resolves the links of a name. Nothing is opened, so that it may look at what is outside.
func (o osFS) RealName(name string) string {
	local, err := localName(name)
	if err != nil {
		return ""
	}
	root, errRoot := filepath.EvalSymlinks(o.root)
	file, err := filepath.EvalSymlinks(filepath.Join(o.root, local))
	if errRoot != nil || err != nil {
		return ""
	}
	below, err := filepath.Rel(root, file)
	if err != nil || !filepath.IsLocal(below) {
		return ""
	}
	return filepath.ToSlash(below)
}

func (o osFS) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = o.directory(name, func(f *os.File) (err error) {
		entries, err = f.ReadDir(-1)
		return err
	})
	return entries, err
}

func (o osFS) SyncDir(name string) error {
	return o.directory(name, syncDirectory)
}

func (o osFS) directory(name string, do func(*os.File) error) error {
	return o.within(name, func(r *os.Root, name string) error {
		f, err := r.OpenFile(name, os.O_RDONLY|openNonblock, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return do(f)
	})
}

func (o osFS) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

type osFile struct {
	*os.File
	name string
}

func (f osFile) Name() string { return f.name }
