package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// Dir is a store in a directory of a file system, safe among any number of processes.
//
// An object is written to a temporary file and synced; link(2) gives it its name, which fails if
// the name is taken; then the directory is synced. Nothing is ever decided by looking first. The
// first write into a directory syncs the directories above it too, since another process may
// have made them and died.
//
// Before it answers that a key is taken, and before it answers that the next object of the log
// does not exist, a Dir syncs the directory: what a caller concludes from the winner, or from
// being at the end of the log, holds after a power cut, also if the process that wrote the end
// of the log was killed before its own sync.
//
// Temporary files (see IsTemp) of killed processes stay until RemoveTemp; List does not show
// them. Symbolic links inside the root are followed for reading a file; those that lead to a
// directory or outside are a LinkError in List. When an object is written or deleted, Hadoop's side
// file (".NAME.crc") of an earlier one goes, since Spark would refuse the new object for it.
type Dir struct {
	fsys FS
	url  string

	mu       sync.Mutex
	made     map[string]bool // directories that are durable, with all above them
	unsynced map[string]bool // directories whose last sync failed
}

// OpenDir is a store in a directory of the local disk. The directory need not exist: the first
// write makes it.
func OpenDir(path string) (*Dir, error) {
	if path == "" {
		return nil, errors.New("open directory: the path is empty")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open directory %q: %w", path, err)
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open directory %q: it is a file, a table is a directory", path)
	}
	return OpenFileSystem(osFS{root}, fileURL(root)), nil
}

// OpenFileSystem is a store in the root of fsys. url is what URL returns and ends in a slash.
func OpenFileSystem(fsys FS, url string) *Dir {
	return &Dir{fsys: fsys, url: url, made: map[string]bool{}, unsynced: map[string]bool{}}
}

// URL is the root's file URL.
func (d *Dir) URL() string { return d.url }

// PutIfAbsent implements Store. On a file system without hard links its error wraps ErrUnfit.
func (d *Dir) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return fail("put if absent", key, d.putIfAbsent(ctx, key, data))
}

func (d *Dir) putIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := d.readyWrite(ctx, key); err != nil {
		return err
	}
	// The link decides. To look before only spares the latecomer a write.
	switch _, err := d.fsys.Lstat(key); {
	case err == nil:
		return d.taken(key)
	case !missing(err):
		return err
	}
	t, err := d.writeTemp(ctx, key, data)
	if err != nil {
		return err
	}
	return d.linkTemp(ctx, t, key)
}

// Put implements Store.
func (d *Dir) Put(ctx context.Context, key string, data []byte) error {
	return fail("put", key, d.put(ctx, key, data))
}

func (d *Dir) put(ctx context.Context, key string, data []byte) error {
	if err := d.readyWrite(ctx, key); err != nil {
		return err
	}
	t, err := d.writeTemp(ctx, key, data)
	if err != nil {
		return err
	}
	err = ctx.Err()
	if err == nil {
		err = d.dropSideFile(key)
	}
	if err == nil {
		err = d.fsys.Rename(t.Name(), key)
	}
	if err != nil {
		_ = d.fsys.Remove(t.Name())
		return err
	}
	return d.syncDir(path.Dir(key))
}

func (d *Dir) readyWrite(ctx context.Context, key string) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	if IsTemp(key) {
		return fmt.Errorf("names of the form %q are for temporary files, choose another", TempName("*"))
	}
	return nil
}

// Create implements Store.
func (d *Dir) Create(ctx context.Context, key string) (Writer, error) {
	err := d.readyWrite(ctx, key)
	var f File
	if err == nil {
		f, err = d.createTemp(path.Dir(key))
	}
	if err != nil {
		return nil, fail("create", key, err)
	}
	return &dirWriter{ctx: ctx, d: d, key: key, f: f}, nil
}

type dirWriter struct {
	ctx context.Context
	d   *Dir
	key string
	f   File
	err error // the first failure, or errClosed
}

func (w *dirWriter) Write(p []byte) (int, error) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return 0, fail("write", w.key, w.err)
	}
	var n int
	n, w.err = w.f.Write(p)
	return n, fail("write", w.key, w.err)
}

func (w *dirWriter) Close() error {
	err := w.err
	if err == errClosed {
		return fail("close", w.key, err)
	}
	w.err = errClosed
	if err == nil {
		err = w.ctx.Err()
	}
	t, err := w.d.finishTemp(w.f, err)
	if err == nil {
		err = w.d.linkTemp(w.ctx, t, w.key)
	}
	return fail("close", w.key, err)
}

func (w *dirWriter) Abort() {
	if w.err == errClosed {
		return
	}
	w.err = errClosed
	_, _ = w.d.finishTemp(w.f, errClosed)
}

// temp is a temporary file whose bytes are durable.
type temp struct {
	File // closed
	info fs.FileInfo
}

func (d *Dir) writeTemp(ctx context.Context, key string, data []byte) (temp, error) {
	f, err := d.createTemp(path.Dir(key))
	if err != nil {
		return temp{}, err
	}
	if err = ctx.Err(); err == nil {
		_, err = io.Copy(onlyWriter{f}, bytes.NewReader(data))
	}
	if err == nil {
		err = ctx.Err()
	}
	return d.finishTemp(f, err)
}

// onlyWriter hides the other methods of a file from io.Copy.
type onlyWriter struct{ io.Writer }

// finishTemp syncs and closes f, unless err says that it is lost already. A file that could not
// be synced is thrown away: a second sync may answer yes without having written.
func (d *Dir) finishTemp(f File, err error) (temp, error) {
	if err == nil {
		err = f.Sync()
	}
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = d.fsys.Remove(f.Name())
		return temp{}, err
	}
	return temp{f, info}, nil
}

// linkTemp gives a temporary file its name if that is free. From the link on, ctx is not asked.
func (d *Dir) linkTemp(ctx context.Context, t temp, key string) error {
	err := ctx.Err()
	if err == nil {
		err = d.dropSideFile(key)
	}
	if err != nil {
		_ = d.fsys.Remove(t.Name())
		return err
	}
	err = d.fsys.Link(t.Name(), key)
	if err != nil {
		err = d.linkFailed(t, key, err)
	}
	_ = d.fsys.Remove(t.Name())
	if err != nil {
		return err
	}
	return d.syncDir(path.Dir(key))
}

// linkFailed finds out what became of a link that was answered with an error. It returns nil if
// the name is that of our own file: on NFS a repeated request meets the effect of the first.
func (d *Dir) linkFailed(t temp, key string, linkErr error) error {
	info, err := d.fsys.Lstat(key)
	if err == nil && d.fsys.SameFile(info, t.info) {
		return nil
	}
	switch {
	case errors.Is(linkErr, fs.ErrExist) && err == nil:
		return d.taken(key)
	case errors.Is(linkErr, fs.ErrExist) && missing(err):
		return ErrExist // and deleted since
	case errors.Is(linkErr, fs.ErrExist):
		return fmt.Errorf("the name is taken, perhaps by this call: %w", err)
	case cannotLink(linkErr):
		return fmt.Errorf("%w: the file system has no hard links (%w), without which two writers "+
			"can overwrite each other's commits; keep the table on a local disk, on NFS or in an object store",
			ErrUnfit, linkErr)
	}
	return linkErr
}

// taken is the answer to a put of a key that somebody has.
func (d *Dir) taken(key string) error {
	if info, err := d.fsys.Stat(key); err == nil && info.IsDir() {
		return errors.New("a directory has this name, remove it")
	}
	if err := d.syncDir(path.Dir(key)); err != nil {
		return err
	}
	return ErrExist
}

// dropSideFile removes Hadoop's checksum of an object that had the key before. To lack it harms
// no reader; so it goes first, and durably.
func (d *Dir) dropSideFile(key string) error {
	err := d.fsys.Remove(sideFile(key))
	if err == nil {
		return d.syncDir(path.Dir(key))
	}
	if missing(err) {
		return nil
	}
	return fmt.Errorf("remove Hadoop's checksum: %w", err)
}

func sideFile(key string) string {
	dir, name := path.Split(key)
	return dir + "." + name + ".crc"
}

func (d *Dir) createTemp(dir string) (File, error) {
	if err := d.makeDir(dir); err != nil {
		return nil, err
	}
	f, err := d.fsys.CreateTemp(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	// Somebody removed the directory since this process made sure of it.
	d.forget()
	if err := d.makeDir(dir); err != nil {
		return nil, err
	}
	return d.fsys.CreateTemp(dir)
}

// makeDir makes a directory and those above it, and makes sure once that they are durable.
func (d *Dir) makeDir(dir string) error {
	d.mu.Lock()
	known := d.made[dir]
	d.mu.Unlock()
	if known {
		return nil
	}
	if dir != "." {
		if err := d.makeDir(path.Dir(dir)); err != nil {
			return err
		}
	}
	if err := d.fsys.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if dir != "." {
		if err := d.syncDir(path.Dir(dir)); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.made) >= maxMade {
		clear(d.made)
	}
	d.made[dir] = true
	return nil
}

// maxMade bounds the memory of directories. One that was forgotten costs a sync.
const maxMade = 1 << 14

func (d *Dir) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.made)
}

// syncDir makes the names in a directory durable. After a failure the directory counts as
// unsynced until a later sync succeeds, and nothing is read from it.
func (d *Dir) syncDir(dir string) error {
	err := d.fsys.SyncDir(dir)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		if len(d.unsynced) >= maxMade {
			clear(d.unsynced)
		}
		d.unsynced[dir] = true
		return fmt.Errorf("sync directory %q: %w", dir, err)
	}
	delete(d.unsynced, dir)
	return nil
}

// settle syncs a directory whose last sync failed, before anything in it is read: an object
// whose creator got an error must not be taken for durable because it can be seen.
func (d *Dir) settle(dir string) error {
	d.mu.Lock()
	unsynced := d.unsynced[dir]
	d.mu.Unlock()
	if !unsynced {
		return nil
	}
	err := d.syncDir(dir)
	if missing(err) {
		return nil
	}
	return err
}
