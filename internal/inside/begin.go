package inside

import (
	"context"

	"github.com/idemtable/idem/delta/store"
)

var begin func(ctx context.Context, st store.Store, options any) (table any, found bool, err error)

// BindBegin is called once, by the root's init.
func BindBegin(f func(ctx context.Context, st store.Store, options any) (table any, found bool, err error)) {
	begin = f
}

// Begin opens the table whose root is a store's. If there is none, found is false, and the first call
// of Write on the *idem.Table makes version 0: its planner gets no snapshot, or that of another who was
// first. options are idem.Options; an error is not wrapped yet.
func Begin(ctx context.Context, st store.Store, options any) (table any, found bool, err error) {
	return begin(ctx, st, options)
}
