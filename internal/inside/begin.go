package inside

import (
	"context"

	"github.com/idemtable/idem/delta/store"
)

var (
	begin func(ctx context.Context, st store.Store, options any) (table any, found bool, err error)
	fail  func(op, url string, err error) error
	url   func(st store.Store) string
)

// BindBegin is called once, by the root's init.
func BindBegin(b func(ctx context.Context, st store.Store, options any) (table any, found bool, err error), f func(op, url string, err error) error, u func(st store.Store) string) {
	begin, fail, url = b, f, u
}

// Fail wraps an error as the verbs do, of a call that has no table yet: op, URL, cause. nil stays nil.
func Fail(op, url string, err error) error { return fail(op, url, err) }

// URL is the URL of a store, "" of none.
func URL(st store.Store) string { return url(st) }

// Begin opens the table whose root is a store's. If there is none, found is false, and the first call
// of Write on the *idem.Table makes version 0: its planner gets no snapshot, or that of another who was
// first. options are idem.Options; an error is not wrapped yet.
func Begin(ctx context.Context, st store.Store, options any) (table any, found bool, err error) {
	return begin(ctx, st, options)
}
