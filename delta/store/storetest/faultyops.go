package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/idemtable/idem/delta/store"
)

// URL is that of the wrapped store. It is no operation.
func (f *Faulty) URL() string { return f.inner.URL() }

// PutIfAbsent implements store.Store.
func (f *Faulty) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	data = bytes.Clone(data) // the effect may come later
	return f.perform(ctx, Call{Op: OpPutIfAbsent, Key: key}, func(ctx context.Context, _ Fault) error {
		return f.inner.PutIfAbsent(ctx, key, data)
	}, word)
}

// Put implements store.Store.
func (f *Faulty) Put(ctx context.Context, key string, data []byte) error {
	data = bytes.Clone(data)
	return f.perform(ctx, Call{Op: OpPut, Key: key}, func(ctx context.Context, _ Fault) error {
		return f.inner.Put(ctx, key, data)
	}, word)
}

// Delete implements store.Store.
func (f *Faulty) Delete(ctx context.Context, keys ...string) error {
	c := Call{Op: OpDelete, Keys: slices.Clone(keys)}
	if len(keys) > 0 {
		c.Key = keys[0]
	}
	return f.perform(ctx, c, func(ctx context.Context, _ Fault) error {
		return f.inner.Delete(ctx, c.Keys...)
	}, word)
}

// Get implements store.Store.
func (f *Faulty) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	var data []byte
	c := Call{Op: OpGet, Key: key}
	err := f.perform(ctx, c, func(ctx context.Context, fault Fault) error {
		whole, err := f.inner.Get(ctx, key, limit)
		if err == nil && answers(fault.Kind) {
			data, err = spoil(whole, fault, c)
		}
		return err
	}, word)
	return data, err
}

// answers tells whether what was read reaches the caller.
func answers(k Kind) bool {
	return k == None || k == TornRead || k == ShortRead || k == BitFlip
}

// spoil damages what was read.
func spoil(data []byte, fault Fault, c Call) ([]byte, error) {
	switch fault.Kind {
	case TornRead:
		return data[:len(data)/2], fault.error(c)
	case ShortRead:
		return data[:len(data)/2], nil
	case BitFlip:
		if len(data) > 0 {
			bit := max(fault.K, 0) % (8 * len(data))
			data[bit/8] ^= 1 << (bit % 8)
		}
	}
	return data, nil
}

// GetRange implements store.Store. Of a ShortRead, which a range cannot answer without an error,
// the second half is zeros.
func (f *Faulty) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	c := Call{Op: OpGetRange, Key: key}
	return f.perform(ctx, c, func(ctx context.Context, fault Fault) error {
		if fault.Kind == None {
			return f.inner.GetRange(ctx, key, off, p)
		}
		buf := make([]byte, len(p))
		err := f.inner.GetRange(ctx, key, off, buf)
		if err == nil && answers(fault.Kind) {
			buf, err = spoil(buf, fault, c)
			clear(p[copy(p, buf):])
		}
		return err
	}, word)
}

// Head implements store.Store.
func (f *Faulty) Head(ctx context.Context, key string) (store.Info, error) {
	var info store.Info
	err := f.perform(ctx, Call{Op: OpHead, Key: key}, func(ctx context.Context, _ Fault) (err error) {
		info, err = f.inner.Head(ctx, key)
		return err
	}, word)
	if err != nil {
		return store.Info{}, err
	}
	return info, nil
}

// List implements store.Store. Going through the sequence is the operation. A fault that comes
// after the effect comes after the last object.
func (f *Faulty) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		n, stopped := 0, false
		c := Call{Op: OpList, Key: prefix, After: after}
		err := f.perform(ctx, c, func(ctx context.Context, fault Fault) error {
			for info, err := range stale(f.inner.List(ctx, prefix, after), fault) {
				if err != nil {
					return err
				}
				n++
				if !yield(info, nil) {
					stopped = true
					return nil
				}
			}
			return nil
		}, func(err error) string {
			if err == nil {
				return fmt.Sprint(n)
			}
			return word(err)
		})
		if err != nil && !stopped {
			yield(store.Info{}, err)
		}
	}
}

// stale is a list with objects missing or repeated.
func stale(list iter.Seq2[store.Info, error], fault Fault) iter.Seq2[store.Info, error] {
	if fault.Kind != StaleList && fault.Kind != DuplicateList {
		return list
	}
	return func(yield func(store.Info, error) bool) {
		var infos []store.Info
		for info, err := range list {
			if err != nil {
				yield(store.Info{}, err)
				return
			}
			infos = append(infos, info)
		}
		if fault.Kind == StaleList {
			infos = withoutNewest(infos, max(fault.K, 1))
		} else {
			infos = repeatLast(infos, fault.K)
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func withoutNewest(infos []store.Info, k int) []store.Info {
	order := slices.Clone(infos)
	slices.SortStableFunc(order, func(a, b store.Info) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), cmp.Compare(b.Key, a.Key))
	})
	hidden := map[string]bool{}
	for _, info := range order[:min(k, len(order))] {
		hidden[info.Key] = true
	}
	return slices.DeleteFunc(infos, func(info store.Info) bool { return hidden[info.Key] })
}

func repeatLast(infos []store.Info, k int) []store.Info {
	from := 0
	if k > 0 {
		from = max(0, len(infos)-k)
	}
	twice := slices.Clone(infos[:from])
	for _, info := range infos[from:] {
		twice = append(twice, info, info)
	}
	return twice
}

// Create implements store.Store.
func (f *Faulty) Create(ctx context.Context, key string) (store.Writer, error) {
	var w store.Writer
	err := f.perform(ctx, Call{Op: OpCreate, Key: key}, func(ctx context.Context, _ Fault) (err error) {
		if err = ctx.Err(); err == nil {
			// The writer must outlive ctx if its Close takes effect late; faultyWriter asks ctx.
			w, err = f.inner.Create(context.WithoutCancel(ctx), key)
		}
		return err
	}, word)
	if err != nil {
		if w != nil {
			w.Abort()
		}
		return nil, err
	}
	return &faultyWriter{ctx: ctx, f: f, key: key, inner: w}, nil
}

type faultyWriter struct {
	ctx    context.Context
	f      *Faulty
	key    string
	inner  store.Writer
	failed error // of an earlier Write: the object never becomes visible
	done   bool
}

func (w *faultyWriter) Write(p []byte) (n int, err error) {
	if w.done {
		return w.inner.Write(p)
	}
	err = w.f.perform(w.ctx, Call{Op: OpWrite, Key: w.key}, func(ctx context.Context, _ Fault) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		n, err = w.inner.Write(p)
		return err
	}, word)
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return n, err
}

func (w *faultyWriter) Close() error {
	if w.done {
		return w.inner.Close()
	}
	w.done = true
	closed := false
	kind, err := w.f.performKind(w.ctx, Call{Op: OpClose, Key: w.key}, func(ctx context.Context, _ Fault) error {
		if closed {
			return fmt.Errorf("close %q: %w", w.key, store.ErrExist) // sent twice
		}
		closed = true
		return w.finish(ctx)
	}, word)
	if !closed && kind != LateEffect {
		w.inner.Abort()
	}
	return err
}

func (w *faultyWriter) finish(ctx context.Context) error {
	err := w.failed
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		w.inner.Abort()
		return fmt.Errorf("close %q: %w", w.key, err)
	}
	return w.inner.Close()
}

func (w *faultyWriter) Abort() {
	if w.done {
		return
	}
	w.done = true
	_ = w.f.perform(w.ctx, Call{Op: OpAbort, Key: w.key}, func(context.Context, Fault) error { return nil }, word)
	w.inner.Abort() // also if the process died: what it wrote never becomes visible
}
