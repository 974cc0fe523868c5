package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/idemtable/idem/delta"
)

// ReadsOutside says whether a store reads objects outside its root too, by keys of which
// delta.IsOutside is true. A store that wraps another may pass the question on by a method of this
// name.
func ReadsOutside(s Store) bool {
	o, ok := s.(interface{ ReadsOutside() bool })
	return ok && o.ReadsOutside()
}

// WithOutside is s, except that Get, GetRange and Head take keys outside its root too, spelled as
// delta.Locate spells them. open is asked once for each directory with such an object: url is the
// directory's, percent-encoded, with a slash at the end. It gives a store in whose root, or below it,
// the directory is; a nil store is no answer. Nothing outside is ever written, listed or deleted.
//
// An error of open wraps delta.ErrUnsupported.
func WithOutside(s Store, open func(ctx context.Context, url string) (Store, error)) Store {
	return &outside{Store: s, open: open, stores: map[string]Store{}}
}

type outside struct {
	Store
	open func(ctx context.Context, url string) (Store, error)

	mu     sync.Mutex
	stores map[string]Store // by the URL of a directory
}

func (o *outside) ReadsOutside() bool { return true }

// place gives the store that an object is in, and its key there.
func (o *outside) place(ctx context.Context, key string) (Store, string, error) {
	if !delta.IsOutside(key) {
		return o.Store, key, nil
	}
	url := delta.OutsidePath(key)
	s, err := o.directory(ctx, url[:strings.LastIndexByte(url, '/')+1])
	if err == nil {
		key, err = delta.ResolvePath(s.URL(), url)
	}
	if err != nil {
		if !errors.Is(err, delta.ErrUnsupported) && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", delta.ErrUnsupported, err)
		}
		return nil, "", fmt.Errorf("%s, outside the table's root: %w", url, err)
	}
	return s, key, nil
}

func (o *outside) directory(ctx context.Context, url string) (Store, error) {
	o.mu.Lock()
	s, ok := o.stores[url]
	o.mu.Unlock()
	if ok {
		return s, nil
	}
	s, err := o.open(ctx, url)
	if err == nil && s == nil {
		err = errors.New("no store was given for the directory")
	}
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stores[url] = s
	return s, nil
}

func (o *outside) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	s, key, err := o.place(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, key, limit)
}

func (o *outside) GetRange(ctx context.Context, key string, off int64, p []byte) error {
	s, key, err := o.place(ctx, key)
	if err != nil {
		return err
	}
	return s.GetRange(ctx, key, off, p)
}

func (o *outside) Head(ctx context.Context, key string) (Info, error) {
	s, at, err := o.place(ctx, key)
	if err != nil {
		return Info{}, err
	}
	info, err := s.Head(ctx, at)
	info.Key = key
	return info, err
}

// errOutside is the answer to whoever would change what is not the table's.
func errOutside(keys ...string) error {
	for _, key := range keys {
		if delta.IsOutside(key) {
			return fmt.Errorf("%s lies outside the table's root, where nothing is written or deleted", key)
		}
	}
	return nil
}

func (o *outside) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := errOutside(key); err != nil {
		return err
	}
	return o.Store.PutIfAbsent(ctx, key, data)
}

func (o *outside) Put(ctx context.Context, key string, data []byte) error {
	if err := errOutside(key); err != nil {
		return err
	}
	return o.Store.Put(ctx, key, data)
}

func (o *outside) Create(ctx context.Context, key string) (Writer, error) {
	if err := errOutside(key); err != nil {
		return nil, err
	}
	return o.Store.Create(ctx, key)
}

func (o *outside) Delete(ctx context.Context, keys ...string) error {
	if err := errOutside(keys...); err != nil {
		return err
	}
	return o.Store.Delete(ctx, keys...)
}
