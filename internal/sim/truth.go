package sim

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// truth is the store as it is, and what became of it: which commits landed and when, which objects
// were deleted and what was in them. Nothing that was ever there is forgotten.
type truth struct {
	*store.Mem
	now     func() time.Time
	gone    *store.Mem // what was deleted
	landed  map[int64]landing
	deleted []deletion
}

// landing is a commit that is in the log, or was.
type landing struct {
	data []byte
	at   time.Time
}

// deletion is an object that is in the store no more.
type deletion struct {
	key string
	at  time.Time
}

func newTruth(now func() time.Time) *truth {
	return &truth{Mem: store.NewMemClock(now), now: now, gone: store.NewMemClock(now), landed: map[int64]landing{}}
}

func logFile(key string) delta.LogFile {
	name, ok := strings.CutPrefix(key, delta.LogDir)
	if !ok {
		return delta.LogFile{}
	}
	return delta.ParseLogFile(name)
}

func (t *truth) land(key string, data []byte) {
	if f := logFile(key); f.Kind == delta.Commit {
		t.landed[f.Version] = landing{bytes.Clone(data), t.now()}
	}
}

// PutIfAbsent implements store.Store.
func (t *truth) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	err := t.Mem.PutIfAbsent(ctx, key, data)
	if err == nil {
		t.land(key, data)
	}
	return err
}

// Put implements store.Store.
func (t *truth) Put(ctx context.Context, key string, data []byte) error {
	err := t.Mem.Put(ctx, key, data)
	if err == nil {
		t.land(key, data)
	}
	return err
}

// Delete implements store.Store.
func (t *truth) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		data, err := t.Mem.Get(ctx, key, 0)
		if err != nil {
			continue
		}
		if err := errors.Join(t.gone.Put(ctx, key, data), t.Mem.Delete(ctx, key)); err != nil {
			return err
		}
		t.deleted = append(t.deleted, deletion{key, t.now()})
	}
	return ctx.Err()
}

// everything is the store with all that was ever in it.
type everything struct {
	*store.Mem
	gone *store.Mem
}

func (t *truth) everything() everything { return everything{t.Mem, t.gone} }

func (e everything) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := e.Mem.Get(ctx, key, limit)
	if errors.Is(err, store.ErrNotExist) {
		return e.gone.Get(ctx, key, limit)
	}
	return data, err
}

func (e everything) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	err := e.Mem.GetRange(ctx, key, off, p)
	if errors.Is(err, store.ErrNotExist) {
		return e.gone.GetRange(ctx, key, off, p)
	}
	return err
}

func (e everything) Head(ctx context.Context, key string) (store.Info, error) {
	info, err := e.Mem.Head(ctx, key)
	if errors.Is(err, store.ErrNotExist) {
		return e.gone.Head(ctx, key)
	}
	return info, err
}

// pager lists in parts, between which others go on, if turn is set: in pages of keys in their order, as a list of an object
// store is made, or by the places that names have in a directory, in an order of their own.
type pager struct {
	store.Store
	turn      func()
	directory bool
}

const (
	pageKeys = 2
	places   = 2
	turns    = 12 // of the others while a directory is read, between one place and the next
)

// List implements store.Store. What was set counts for one list.
func (p *pager) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	turn, directory := p.turn, p.directory
	p.turn, p.directory = nil, false
	switch {
	case turn == nil:
		return p.Store.List(ctx, prefix, after)
	case directory:
		return p.byPlace(ctx, prefix, after, turn)
	}
	return p.byPage(ctx, prefix, after, turn)
}

func (p *pager) byPage(ctx context.Context, prefix, after string, turn func()) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for {
			n := 0
			for info, err := range p.Store.List(ctx, prefix, after) {
				if !yield(info, err) || err != nil {
					return
				}
				after = info.Key
				if n++; n == pageKeys {
					break
				}
			}
			if n < pageKeys {
				return
			}
			turn()
		}
	}
}

func (p *pager) byPlace(ctx context.Context, prefix, after string, turn func()) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		var found []store.Info
		for place := range uint32(places) {
			for range min(place, 1) * turns {
				turn()
			}
			for info, err := range p.Store.List(ctx, prefix, after) {
				if err != nil {
					yield(info, err)
					return
				}
				if crc32.ChecksumIEEE([]byte(info.Key))%places == place {
					found = append(found, info)
				}
			}
		}
		slices.SortFunc(found, func(a, b store.Info) int { return strings.Compare(a.Key, b.Key) })
		for _, info := range found {
			if !yield(info, nil) {
				return
			}
		}
	}
}
