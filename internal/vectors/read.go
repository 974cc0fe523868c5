package vectors

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

const (
	// headBytes is the distance from a file's beginning up to which one request fetches both the
	// file's version and the frame.
	headBytes = 64 << 10

	// trustedBytes is the size of a frame up to which memory is taken before the file's size is known.
	trustedBytes = 1 << 20
)

// Read gives the vector that a descriptor of the log means. root is the URL of the table's root;
// numRows is the number of rows of the data file, deleted ones included, -1 if it is not known.
//
// Errors wrap [delta.ErrCorrupt] (the file is missing, short or damaged, or not what the log says)
// or [delta.ErrUnsupported] (it lies outside the root and
// [store.ReadsOutside] is false of the store); they name the file and the position.
func Read(ctx context.Context, st store.Store, root string, dv *delta.DeletionVector, numRows int64) (*delta.Vector, error) {
	v, err := read(ctx, st, root, dv)
	if err != nil {
		return nil, err
	}
	switch {
	case v.Cardinality() != dv.Cardinality:
		return nil, fmt.Errorf("%w: %s has %d rows, the log says %d", delta.ErrCorrupt, describe(dv, root), v.Cardinality(), dv.Cardinality)
	case numRows >= 0 && v.Max() >= numRows:
		return nil, fmt.Errorf("%w: %s deletes the row %d of a file of %d rows, which count from 0", delta.ErrCorrupt, describe(dv, root), v.Max(), numRows)
	}
	return v, nil
}

// describe names a vector for messages.
func describe(dv *delta.DeletionVector, root string) string {
	if key, offset, err := dv.Locate(root); err == nil {
		return fmt.Sprintf("the deletion vector at %d of %s", offset, key)
	}
	return fmt.Sprintf("the deletion vector %.80s of the log", dv.ID())
}

func read(ctx context.Context, st store.Store, root string, dv *delta.DeletionVector) (*delta.Vector, error) {
	if dv.Empty() {
		return delta.NewVector(), nil
	}
	data, inline, err := dv.Inline()
	if err == nil && !inline {
		data, err = readFile(ctx, st, root, dv)
	}
	if err != nil {
		return nil, err
	}
	v, err := delta.ParseVector(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(dv, root), err)
	}
	return v, nil
}

// readFile fetches the bytes of a vector that is in a file.
func readFile(ctx context.Context, st store.Store, root string, dv *delta.DeletionVector) ([]byte, error) {
	key, offset, err := dv.Locate(root)
	if err != nil {
		return nil, err
	}
	if delta.IsOutside(key) && !store.ReadsOutside(st) {
		_, _, err = dv.FileKey(root)
		return nil, err
	}
	f := file{ctx: ctx, st: st, key: key, offset: offset, n: int64(dv.SizeInBytes) + delta.VectorFrameOverhead}
	version, frame, err := f.frame()
	if err != nil {
		return nil, err
	}
	if version != delta.VectorFileVersion {
		return nil, fmt.Errorf("%w: %s is a file of deletion vectors of version %d; idem reads version %d",
			delta.ErrCorrupt, key, version, delta.VectorFileVersion)
	}
	data, err := delta.ParseVectorFrame(frame)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(dv, root), err)
	}
	return data, nil
}

// file is a frame in a file of vectors.
type file struct {
	ctx       context.Context
	st        store.Store
	key       string
	offset, n int64
}

// frame fetches the version of the file and the frame.
func (f file) frame() (version byte, frame []byte, err error) {
	if f.n > trustedBytes {
		if err := f.measure(); err != nil {
			return 0, nil, err
		}
	}
	if f.offset <= headBytes {
		b := make([]byte, f.offset+f.n)
		if err := f.get(0, b); err != nil {
			return 0, nil, err
		}
		return b[0], b[f.offset:], nil
	}
	var first [1]byte
	if err := f.get(0, first[:]); err != nil {
		return 0, nil, err
	}
	frame = make([]byte, f.n)
	return first[0], frame, f.get(f.offset, frame)
}

func (f file) get(off int64, p []byte) error {
	err := f.st.GetRange(f.ctx, f.key, off, p)
	if errors.Is(err, io.ErrUnexpectedEOF) { // the object is short, or the connection broke
		if short := f.measure(); errors.Is(short, delta.ErrCorrupt) {
			return short
		}
	}
	return f.explain(err)
}

// measure refuses a file that is too short for the frame.
func (f file) measure() error {
	info, err := f.st.Head(f.ctx, f.key)
	if err != nil {
		return f.explain(err)
	}
	if info.Size < f.offset+f.n {
		return fmt.Errorf("%w: the log has a deletion vector in the %d bytes at %d of %s, which has %d bytes: it was cut short or replaced; restore it",
			delta.ErrCorrupt, f.n, f.offset, f.key, info.Size)
	}
	return nil
}

func (f file) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotExist):
		return fmt.Errorf("%w: the file of deletion vectors %s is in the log and not in the store, so which rows are deleted is not known; restore it: %w",
			delta.ErrCorrupt, f.key, err)
	}
	return fmt.Errorf("read the deletion vector at %d of %s: %w", f.offset, f.key, err)
}
