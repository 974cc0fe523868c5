package logio

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/store"
)

// How often a read is tried, and the first pause, which doubles.
const (
	readAttempts = 4
	firstPause   = 20 * time.Millisecond
)

// Retry is a store whose reads are tried again after a pause when the store gives an answer that
// decides nothing. What writes or deletes is passed on as it is, once. clock and random may be nil.
func Retry(st store.Store, clock Clock, random io.Reader) store.Store {
	if r, ok := st.(*retrying); ok {
		return r
	}
	if clock == nil {
		clock = SystemClock{}
	}
	if random == nil {
		random = rand.Reader
	}
	return &retrying{Store: st, clock: clock, random: random}
}

type retrying struct {
	store.Store
	clock  Clock
	random io.Reader
}

// ReadsOutside is the store's own answer.
func (r *retrying) ReadsOutside() bool { return store.ReadsOutside(r.Store) }

// decided says whether trying again cannot give another answer.
func decided(ctx context.Context, err error) bool {
	var link *store.LinkError
	return err == nil || errors.As(err, &link) || ctx.Err() != nil || errors.Is(err, store.ErrNotExist) || errors.Is(err, store.ErrTooLarge) ||
		errors.Is(err, store.ErrUnfit) || errors.Is(err, delta.ErrUnsupported) || errors.Is(err, context.Canceled)
}

func (r *retrying) again(ctx context.Context, read func() error) error {
	for attempt := 1; ; attempt++ {
		err := read()
		if attempt == readAttempts || decided(ctx, err) {
			return err
		}
		if r.clock.Sleep(ctx, Jitter(r.random, firstPause<<(attempt-1))) != nil {
			return err
		}
	}
}

// Jitter is a random time between half of d and d.
func Jitter(random io.Reader, d time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil || d < 2 {
		return d
	}
	half := uint64(d / 2)
	return time.Duration(half + binary.LittleEndian.Uint64(b[:])%half)
}

func (r *retrying) Get(ctx context.Context, key string, limit int64) (data []byte, err error) {
	err = r.again(ctx, func() error {
		data, err = r.Store.Get(ctx, key, limit)
		return err
	})
	return data, err
}

func (r *retrying) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	return r.again(ctx, func() error { return r.Store.GetRange(ctx, key, off, p) })
}

func (r *retrying) Head(ctx context.Context, key string) (info store.Info, err error) {
	err = r.again(ctx, func() error {
		info, err = r.Store.Head(ctx, key)
		return err
	})
	return info, err
}

// List goes on after the last object that it has yielded.
func (r *retrying) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		left := false
		err := r.again(ctx, func() error {
			for info, err := range r.Store.List(ctx, prefix, after) {
				if err != nil {
					return err
				}
				after = info.Key
				if !yield(info, nil) {
					left = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !left {
			yield(store.Info{}, err)
		}
	}
}
