package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// Writer writes the vectors of one commit into one file, which it starts at the first Put. Exactly
// one of Close and Abort ends it; Abort after Close does nothing.
type Writer struct {
	ctx   context.Context
	st    store.Store
	newID func() string

	w    store.Writer
	key  string
	path string // what descriptors call the file
	at   int64
	err  error
	done bool
}

// New makes a Writer of files below st's root, named by newID, which gives a new UUID at each call.
func New(ctx context.Context, st store.Store, newID func() string) *Writer {
	return &Writer{ctx: ctx, st: st, newID: newID}
}

// Key is the key of the file, "" as long as nothing was put.
func (w *Writer) Key() string { return w.key }

// Put writes a vector and gives its descriptor, which is of use once Close gave no error. A vector
// of no row is the caller's mistake: an error that wraps [delta.ErrInput].
func (w *Writer) Put(v *delta.Vector) (*delta.DeletionVector, error) {
	switch {
	case w.err != nil:
		return nil, w.err
	case w.done:
		return nil, fmt.Errorf("put a deletion vector: the writer is closed")
	case v.Cardinality() == 0:
		return nil, fmt.Errorf("%w: a deletion vector of no row", delta.ErrInput)
	}
	data := v.Bytes()
	frame := delta.AppendVectorFrame(nil, data)
	if w.at+int64(len(frame)) > math.MaxInt32 {
		return nil, fmt.Errorf("%w: the deletion vectors of one commit have more than the %d bytes that a descriptor can reach: delete fewer rows at once",
			delta.ErrInput, math.MaxInt32)
	}
	if w.err = w.write(frame); w.err != nil {
		return nil, w.err
	}
	offset := int32(w.at) - int32(len(frame))
	return &delta.DeletionVector{StorageType: "u", PathOrInlineDV: w.path, Offset: &offset, SizeInBytes: int32(len(data)), Cardinality: v.Cardinality()}, nil
}

func (w *Writer) write(frame []byte) error {
	if w.w == nil {
		if err := w.start(); err != nil {
			return err
		}
		frame = append([]byte{delta.VectorFileVersion}, frame...)
	}
	if _, err := w.w.Write(frame); err != nil {
		return fmt.Errorf("write %s: %w", w.key, err)
	}
	w.at += int64(len(frame))
	return nil
}

func (w *Writer) start() (err error) {
	if w.key, w.path, err = delta.NewVectorFile(w.newID()); err != nil {
		return err
	}
	if w.w, err = w.st.Create(w.ctx, w.key); err != nil {
		return fmt.Errorf("write %s: %w", w.key, err)
	}
	return nil
}

// Close makes the file durable, if there is one. After an error the descriptors are of no use.
func (w *Writer) Close() error {
	if w.done {
		return w.err
	}
	if w.err != nil {
		w.Abort()
		return w.err
	}
	w.done = true
	if w.w == nil {
		return nil
	}
	if err := w.w.Close(); err != nil && !w.ours(err) {
		w.err = fmt.Errorf("write %s: %w", w.key, err)
	}
	return w.err
}

// ours says whether a file that exists already is the one being closed: a layer in between sent it
// twice. Nobody else uses its name, which is a new UUID.
func (w *Writer) ours(err error) bool {
	if !errors.Is(err, store.ErrExist) {
		return false
	}
	info, err := w.st.Head(w.ctx, w.key)
	return err == nil && info.Size == w.at
}

// Abort drops what was written.
func (w *Writer) Abort() {
	if !w.done && w.w != nil {
		w.w.Abort()
	}
	w.done = true
}
