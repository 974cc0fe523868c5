package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

const logDir = "_delta_log"

// Get implements Store.
func (d *Dir) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := d.get(ctx, key, limit)
	if errors.Is(err, ErrNotExist) {
		err = d.absent(key, err)
	}
	if err != nil {
		return nil, fail("get", key, err)
	}
	return data, nil
}

func (d *Dir) get(ctx context.Context, key string, limit int64) ([]byte, error) {
	f, size, err := d.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if limit != 0 && size > limit {
		return nil, tooLarge(size, limit)
	}
	if size > readAtOnce {
		return readGrowing(f, size)
	}
	data := make([]byte, size)
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return nil, short(int64(n), size, 0, err)
	}
	return data, nil
}

// readAtOnce is the size above which memory is taken as bytes arrive: the size of a sparse file
// costs nothing to claim.
const readAtOnce = 64 << 20

func readGrowing(f File, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	if err != nil || int64(len(data)) < size {
		return nil, short(int64(len(data)), size, 0, err)
	}
	return data, nil
}

// absent is the answer that nothing has the key. Directly in the log a caller takes it for the
// end of the log: see Dir for why the end is made durable first.
func (d *Dir) absent(key string, answer error) error {
	if path.Dir(key) != logDir {
		return answer
	}
	err := d.fsys.SyncDir(logDir)
	if err == nil || missing(err) || unwritable(err) {
		return answer
	}
	return fmt.Errorf("sync directory %q: %w", logDir, err)
}

// GetRange implements Store.
func (d *Dir) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	return fail("get range of", key, d.getRange(ctx, key, off, p))
}

func (d *Dir) getRange(ctx context.Context, key string, off int64, p []byte) error {
	if err := readyRange(ctx, key, off); err != nil {
		return err
	}
	f, _, err := d.open(ctx, key)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := f.ReadAt(p, off); n < len(p) {
		return short(int64(n), int64(len(p)), off, err)
	}
	return nil
}

func short(n, want, off int64, err error) error {
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%d of %d bytes at %d: %w", n, want, off, err)
}

// open opens a regular file and returns its size.
func (d *Dir) open(ctx context.Context, key string) (File, int64, error) {
	if err := ready(ctx, key); err != nil {
		return nil, 0, err
	}
	if err := d.settle(path.Dir(key)); err != nil {
		return nil, 0, err
	}
	f, err := d.fsys.Open(key)
	if err != nil {
		return nil, 0, notExist(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func notExist(err error) error {
	if missing(err) {
		return ErrNotExist
	}
	return err
}

func regular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return ErrNotExist
	default:
		return fmt.Errorf("not a regular file but %v", mode.Type())
	}
}

// Head implements Store.
func (d *Dir) Head(ctx context.Context, key string) (Info, error) {
	info, err := d.head(ctx, key)
	if err != nil {
		return Info{}, fail("head", key, err)
	}
	return info, nil
}

func (d *Dir) head(ctx context.Context, key string) (Info, error) {
	if err := ready(ctx, key); err != nil {
		return Info{}, err
	}
	if err := d.settle(path.Dir(key)); err != nil {
		return Info{}, err
	}
	info, err := d.fsys.Stat(key)
	if err != nil {
		return Info{}, notExist(err)
	}
	return describe(key, info), regular(info)
}

func describe(key string, info fs.FileInfo) Info {
	return Info{Key: key, Size: info.Size(), ModTime: info.ModTime()}
}

// List implements Store. It reads one directory at a time, so that objects which come and go
// while it runs are seen or not. Directories that end before after are not read.
func (d *Dir) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := readyList(ctx, prefix); err != nil {
			yield(Info{}, fail("list", prefix, err))
			return
		}
		w := walk{d: d, ctx: ctx, after: after, yield: func(info Info, err error) bool {
			return yield(info, fail("list", prefix, err))
		}}
		w.directory(prefix)
	}
}

// walk goes through a directory and those below it in byte order of keys. Its methods tell
// whether to go on.
type walk struct {
	d     *Dir
	ctx   context.Context
	after string
	temps bool // yield the temporary files, and nothing else
	yield func(Info, error) bool
}

// listed is a directory's entry with the part of the key that orders it: the key itself, or for
// a directory the prefix of the keys in it. So "a-b" comes before "a/b" and that before "a0".
type listed struct {
	key string
	fs.DirEntry
}

func (w *walk) directory(prefix string) bool {
	entries, err := w.read(prefix)
	if err != nil {
		return w.stop(err)
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return w.stop(err)
		}
		if !w.entry(e) {
			return false
		}
	}
	return true
}

func (w *walk) stop(err error) bool {
	w.yield(Info{}, err)
	return false
}

func (w *walk) read(prefix string) ([]listed, error) {
	dir := path.Clean(prefix) // "" is "."
	if err := w.d.settle(dir); err != nil {
		return nil, err
	}
	entries, err := w.d.fsys.ReadDir(dir)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys := make([]listed, len(entries))
	for i, e := range entries {
		keys[i] = listed{prefix + e.Name(), e}
		if e.IsDir() {
			keys[i].key += "/"
		}
	}
	slices.SortFunc(keys, func(a, b listed) int { return strings.Compare(a.key, b.key) })
	return keys, nil
}

func (w *walk) entry(e listed) bool {
	if e.key <= w.after && !(e.IsDir() && strings.HasPrefix(w.after, e.key)) {
		return true
	}
	if e.IsDir() {
		return w.directory(e.key)
	}
	if IsTemp(e.key) != w.temps {
		return true
	}
	if e.Type()&fs.ModeSymlink != 0 {
		return w.link(e)
	}
	info, err := e.Info()
	switch {
	case missing(err):
		return true // gone since
	case err != nil:
		return w.stop(fmt.Errorf("%q: %w", e.key, err))
	case !info.Mode().IsRegular():
		return true
	}
	return w.yield(describe(e.key, info), nil)
}

// link shows what a symbolic link leads to if that is a file below the root.
func (w *walk) link(e listed) bool {
	info, err := w.d.fsys.Stat(e.key)
	if missing(err) {
		return true // it leads to nothing
	}
	target := ""
	if r, ok := w.d.fsys.(realNames); ok {
		target = r.RealName(e.key)
	}
	switch {
	case err != nil:
		return w.stop(&LinkError{e.key, target, err})
	case info.IsDir():
		return w.stop(&LinkError{e.key, target, errors.New("a symbolic link to a directory, which is not followed; put the directory itself into the table")})
	case !info.Mode().IsRegular():
		return true
	}
	out := describe(e.key, info)
	out.Target = target
	return w.yield(out, nil)
}

// Delete implements Store. What it removed is durable when it returns nil.
func (d *Dir) Delete(ctx context.Context, keys ...string) error {
	touched := map[string]bool{}
	err := d.removeAll(ctx, keys, touched)
	for _, dir := range slices.Sorted(maps.Keys(touched)) {
		if serr := d.syncDir(dir); err == nil {
			err = fail("delete in", dir, serr)
		}
	}
	return err
}

func (d *Dir) removeAll(ctx context.Context, keys []string, touched map[string]bool) error {
	for _, key := range keys {
		if err := ready(ctx, key); err != nil {
			return fail("delete", key, err)
		}
		info, err := d.fsys.Lstat(key)
		if missing(err) || err == nil && info.IsDir() {
			continue // a directory is no object
		}
		if err == nil {
			touched[path.Dir(key)] = true
			err = d.remove(key)
		}
		if err != nil {
			return fail("delete", key, err)
		}
	}
	return ctx.Err()
}

func (d *Dir) remove(key string) error {
	for _, name := range []string{key, sideFile(key)} {
		if err := d.fsys.Remove(name); err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// RemoveTemp removes the temporary files that were last written before the given time and
// returns their number. A process that is still writing an older one fails with an error and
// loses nothing: choose a time before which no living process can have started to write.
func (d *Dir) RemoveTemp(ctx context.Context, before time.Time) (int, error) {
	n := 0
	var failed error
	w := walk{d: d, ctx: ctx, temps: true, yield: func(info Info, err error) bool {
		if err == nil && info.ModTime.Before(before) {
			if err = d.fsys.Remove(info.Key); err == nil {
				n++
			} else if missing(err) {
				err = nil
			}
		}
		failed = err
		return err == nil
	}}
	if err := ctx.Err(); err != nil {
		return 0, fail("remove temporary files", "", err)
	}
	w.directory("")
	if failed != nil {
		return n, fmt.Errorf("remove temporary files: %w", failed)
	}
	return n, nil
}
