package parquetio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// wholeObject is the size up to which an object is fetched in one request.
const wholeObject = 8 << 20

// tailBytes is what the first request of a larger object fetches: most footers fit.
const tailBytes = 256 << 10

// Object is a Source over a store. An object of at most 8 MiB is fetched whole at the first read; of a larger one the
// end is fetched first and then what is asked for. size is what the log says: another size, or no object, is an error
// that wraps delta.ErrCorrupt and names the file.
func Object(ctx context.Context, st store.Store, key string, size int64) Source {
	return &object{ctx: ctx, st: st, key: key, size: size}
}

type object struct {
	ctx  context.Context
	st   store.Store
	key  string
	size int64

	mu   sync.Mutex
	off  int64  // where held begins
	held []byte // the whole object, or its end
}

func (o *object) Size() int64  { return o.size }
func (o *object) Name() string { return o.key }

func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > o.size {
		return 0, fmt.Errorf("read %s at %d: outside of its %d bytes", o.key, off, o.size)
	}
	if b, err := o.view(off, int64(len(p))); err != nil {
		return 0, err
	} else if b != nil {
		return copy(p, b), nil
	}
	n := int(min(int64(len(p)), o.size-off))
	if err := o.st.GetRange(o.ctx, o.key, off, p[:n]); err != nil {
		return 0, o.explain(err)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// view gives n bytes at off without copying, nil if they are not held. The first call fetches the object or its end.
func (o *object) view(off, n int64) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		if err := o.fetch(); err != nil {
			return nil, err
		}
	}
	if off < o.off || n < 0 || off+n > o.size {
		return nil, nil
	}
	return o.held[off-o.off : off-o.off+n : off-o.off+n], nil
}

func (o *object) fetch() error {
	if o.size > wholeObject {
		tail := make([]byte, tailBytes)
		if err := o.st.GetRange(o.ctx, o.key, o.size-tailBytes, tail); err != nil {
			return o.explain(err)
		}
		o.off, o.held = o.size-tailBytes, tail
		return nil
	}
	b, err := o.st.Get(o.ctx, o.key, o.size+1)
	if err != nil {
		return o.oversize(err)
	}
	if int64(len(b)) != o.size {
		return o.wrongSize(int64(len(b)))
	}
	o.held = b
	return nil
}

// oversize finds out whether a failed Get was refused because the object is larger than the log says.
func (o *object) oversize(err error) error {
	if errors.Is(err, store.ErrNotExist) || o.ctx.Err() != nil {
		return o.explain(err)
	}
	if info, headErr := o.st.Head(o.ctx, o.key); headErr == nil && info.Size != o.size {
		return o.wrongSize(info.Size)
	}
	return o.explain(err)
}

func (o *object) wrongSize(got int64) error {
	return fmt.Errorf("%w: %s has %d bytes, the log says %d: it was cut short or replaced; restore it or remove it from the table",
		delta.ErrCorrupt, o.key, got, o.size)
}

func (o *object) explain(err error) error {
	switch {
	case errors.Is(err, store.ErrNotExist):
		return fmt.Errorf("%w: %s is in the log and not in the store: %w", delta.ErrCorrupt, o.key, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The object is short, or the connection broke.
		if info, headErr := o.st.Head(o.ctx, o.key); headErr == nil && info.Size != o.size {
			return o.wrongSize(info.Size)
		}
	}
	return fmt.Errorf("read %s: %w", o.key, err)
}
