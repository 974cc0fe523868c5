package maintain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
	"github.com/idemtable/idem/internal/plan"
)

// copied is one object: where it is read, and what it is called in the copy.
type copied struct {
	from, to string
	size     int64 // -1 if the log does not tell
}

// clonedFile is a file of the source as the copy has it.
type clonedFile struct {
	source *delta.Add
	add    delta.Add // without statistics, which the snapshot may not keep
	data   copied
	vector *copied // the file of its deletion vector; nil without one
}

// clonedFiles names the files of a version for a copy, the same for every call.
func clonedFiles(root string, snap *delta.Snapshot) ([]clonedFile, error) {
	out := make([]clonedFile, 0, snap.NumFiles())
	for f := range snap.Files() {
		c := clonedFile{source: f, add: *f, data: copied{from: f.Key, to: homeKey(f.Key), size: f.Size}}
		c.add.Key, c.add.Path, c.add.DataChange = c.data.to, delta.EncodePath(c.data.to), true
		c.add.CommitVersion = nil // rows of the copy are as old as the copy's version
		if err := c.place(root); err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Path, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// homeKey is the key in the copy: the same, and for a file outside the source's root a name that says
// which it is.
func homeKey(key string) string {
	if !delta.IsOutside(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "outside-" + hex.EncodeToString(sum[:16]) + "/" + path.Base(key)
}

// place names the file of a deletion vector, whose descriptor says where in the copy it is.
func (c *clonedFile) place(root string) error {
	v := c.source.DeletionVector
	key, err := vectorKey(root, v)
	if err != nil || key == "" {
		return err
	}
	to := homeKey(key)
	dir, name := path.Split(to)
	id, ok := strings.CutPrefix(strings.TrimSuffix(name, ".bin"), "deletion_vector_")
	standard, text, err := delta.NewVectorFile(id)
	if !ok || err != nil || standard != name {
		return fmt.Errorf("%w: its deletion vectors are in %s, which has none of the names that a copy could give it; have the source's files rewritten without deletion vectors first (REORG TABLE … APPLY (PURGE) of Spark)", idem.ErrUnsupported, key)
	}
	moved := *v
	moved.StorageType, moved.PathOrInlineDV = "u", strings.TrimSuffix(dir, "/")+text
	c.add.DeletionVector, c.vector = &moved, &copied{from: key, to: to, size: -1}
	return nil
}

// copyAll copies what is not in the copy yet.
func (p *clone) copyAll(ctx context.Context, files []clonedFile) error {
	var all []copied
	want := func(c copied) {
		if !p.there[c.to] {
			p.there[c.to] = true
			all = append(all, c)
		}
	}
	for _, f := range files {
		want(f.data)
		if f.vector != nil {
			want(*f.vector)
		}
	}
	sizes := make([]int64, len(all))
	err := plan.ForEach(ctx, p.dst.Env.Parallelism, len(all), func(ctx context.Context, i int) (err error) {
		sizes[i], err = p.copy(ctx, all[i])
		return err
	})
	for _, n := range sizes {
		if n >= 0 {
			p.out.FilesCopied, p.out.BytesCopied = p.out.FilesCopied+1, p.out.BytesCopied+n
		}
	}
	return err
}

// copy copies one object and gives its size, -1 if it was there. An object is visible whole or not at
// all, and its name is of this very content.
func (p *clone) copy(ctx context.Context, c copied) (int64, error) {
	info, err := p.src.Env.Store.Head(ctx, c.from)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return -1, fmt.Errorf("%w: version %d needs %s, which is not in the store any more, deleted by a vacuum most likely: clone a later version", idem.ErrInput, p.of.Version(), c.from)
	case err != nil:
		return -1, err
	case c.size >= 0 && info.Size != c.size:
		return -1, fmt.Errorf("%w: %s has %d bytes, the log says %d", idem.ErrCorrupt, c.from, info.Size, c.size)
	}
	there, err := p.has(ctx, c, info.Size)
	if there || err != nil {
		return -1, err
	}
	err = p.send(ctx, c, info.Size)
	if errors.Is(err, store.ErrExist) { // another copied it meanwhile
		if there, err := p.has(ctx, c, info.Size); there || err != nil {
			return -1, err
		}
	}
	return info.Size, err
}

// has says whether an object is in the copy. Another in its place wraps delta.ErrDiffers.
func (p *clone) has(ctx context.Context, c copied, size int64) (bool, error) {
	there, err := p.dst.Env.Store.Head(ctx, c.to)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return false, nil
	case err == nil && there.Size != size:
		err = fmt.Errorf("%w: the copy's place has another file %s of %d bytes: choose an empty place", delta.ErrDiffers, c.to, there.Size)
	}
	return err == nil, err
}

// copyBytes is what is read at once.
const copyBytes = 4 << 20

// send writes an object's bytes.
func (p *clone) send(ctx context.Context, c copied, size int64) error {
	w, err := p.dst.Env.Store.Create(ctx, c.to)
	if err != nil {
		return fmt.Errorf("write %s: %w", c.to, err)
	}
	buf := make([]byte, min(size, copyBytes))
	for at := int64(0); at < size; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), size-at)]
		if err = p.src.Env.Store.GetRange(ctx, c.from, at, buf); err != nil {
			w.Abort()
			return fmt.Errorf("read %s: %w", c.from, err)
		}
		if _, err = w.Write(buf); err != nil {
			w.Abort()
			return fmt.Errorf("write %s: %w", c.to, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write %s: %w", c.to, err)
	}
	return nil
}

// apart makes sure that a copy would be neither its source nor within its log. A store in memory has no
// place of its own: only that it is the source's own store can be told.
func apart(from, to store.Store) error {
	source, place := from.URL(), to.URL()
	switch {
	case reflect.ValueOf(from).Comparable() && reflect.ValueOf(to).Comparable() && from == to:
		return fmt.Errorf("%w: the store of the copy is the source's own: choose another", idem.ErrInput)
	case strings.HasPrefix(source, "mem:") || strings.HasPrefix(place, "mem:"):
	case store.Within(place, source+delta.LogDir):
		return fmt.Errorf("%w: the place of the copy is within the source's log: choose another", idem.ErrInput)
	case store.Within(place, source) && store.Within(source, place):
		return fmt.Errorf("%w: the place of the copy is the source's own: choose another", idem.ErrInput)
	}
	return nil
}
