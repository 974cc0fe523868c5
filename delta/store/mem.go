package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mem is a store in memory, for tests and for tables that need not outlive the process. Bytes are
// copied on the way in and on the way out. "Durable" means as long as the Mem is referenced.
type Mem struct {
	now func() time.Time

	mu      sync.Mutex
	objects map[string]object
}

// object is never changed after it was stored: Clone shares data.
type object struct {
	data []byte
	at   time.Time
}

// NewMem is an empty store in memory whose objects carry the time of the computer's clock.
func NewMem() *Mem { return NewMemClock(time.Now) }

// NewMemClock is an empty store in memory that takes the time of its objects from now. It calls
// now from the goroutine that writes, while it holds a lock: now must not use the store.
func NewMemClock(now func() time.Time) *Mem {
	return &Mem{now: now, objects: map[string]object{}}
}

// Clone is a store of its own that holds the same objects and uses the same clock.
func (m *Mem) Clone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMemClock(m.now)
	for key, o := range m.objects {
		c.objects[key] = o
	}
	return c
}

// URL is "mem:///" for every Mem.
func (m *Mem) URL() string { return "mem:///" }

// PutIfAbsent implements Store.
func (m *Mem) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	err := ready(ctx, key)
	if err == nil {
		err = m.create(key, data)
	}
	return fail("put if absent", key, err)
}

func (m *Mem) create(key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.objects[key]; taken {
		return ErrExist
	}
	m.objects[key] = object{bytes.Clone(data), m.now()}
	return nil
}

// Put implements Store.
func (m *Mem) Put(ctx context.Context, key string, data []byte) error {
	if err := ready(ctx, key); err != nil {
		return fail("put", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[key] = object{bytes.Clone(data), m.now()}
	return nil
}

// Create implements Store.
func (m *Mem) Create(ctx context.Context, key string) (Writer, error) {
	if err := ready(ctx, key); err != nil {
		return nil, fail("create", key, err)
	}
	return &memWriter{ctx: ctx, m: m, key: key}, nil
}

var errClosed = errors.New("writer is closed")

type memWriter struct {
	ctx  context.Context
	m    *Mem
	key  string
	buf  []byte
	done bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	if err := w.usable(); err != nil {
		return 0, fail("write", w.key, err)
	}
	w.buf = append(w.buf, p...)
	return len(p), nil
}

func (w *memWriter) Close() error {
	err := w.usable()
	w.done = true
	if err == nil {
		err = w.m.create(w.key, w.buf)
	}
	w.buf = nil
	return fail("close", w.key, err)
}

func (w *memWriter) Abort() { w.done, w.buf = true, nil }

func (w *memWriter) usable() error {
	if w.done {
		return errClosed
	}
	return w.ctx.Err()
}

// Get implements Store.
func (m *Mem) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	o, err := m.read(ctx, key)
	if size := int64(len(o.data)); err == nil && limit != 0 && size > limit {
		err = tooLarge(size, limit)
	}
	if err != nil {
		return nil, fail("get", key, err)
	}
	return append([]byte{}, o.data...), nil
}

// GetRange implements Store.
func (m *Mem) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	err := readyRange(ctx, key, off)
	var o object
	if err == nil {
		o, err = m.read(ctx, key)
	}
	if err != nil {
		return fail("get range of", key, err)
	}
	n := copy(p, o.data[min(off, int64(len(o.data))):])
	if n < len(p) {
		err = fmt.Errorf("%d of %d bytes at %d, the object has %d: %w", n, len(p), off, len(o.data), io.ErrUnexpectedEOF)
	}
	return fail("get range of", key, err)
}

// Head implements Store.
func (m *Mem) Head(ctx context.Context, key string) (Info, error) {
	o, err := m.read(ctx, key)
	if err != nil {
		return Info{}, fail("head", key, err)
	}
	return o.info(key), nil
}

func (o object) info(key string) Info {
	return Info{Key: key, Size: int64(len(o.data)), ModTime: o.at}
}

func (m *Mem) read(ctx context.Context, key string) (object, error) {
	if err := ready(ctx, key); err != nil {
		return object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return object{}, ErrNotExist
	}
	return o, nil
}

// List implements Store. It yields the objects of one instant.
func (m *Mem) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := readyList(ctx, prefix); err != nil {
			yield(Info{}, fail("list", prefix, err))
			return
		}
		for _, info := range m.matching(prefix, after) {
			if err := ctx.Err(); err != nil {
				yield(Info{}, fail("list", prefix, err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (m *Mem) matching(prefix, after string) []Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	var infos []Info
	for key, o := range m.objects {
		if strings.HasPrefix(key, prefix) && key > after {
			infos = append(infos, o.info(key))
		}
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Key, b.Key) })
	return infos
}

// Delete implements Store.
func (m *Mem) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := ready(ctx, key); err != nil {
			return fail("delete", key, err)
		}
		m.mu.Lock()
		delete(m.objects, key)
		m.mu.Unlock()
	}
	return ctx.Err()
}
