package idem

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"weak"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/internal/plan"
)

// Rewinder is implemented by rows that can be read again: after Rewind the reader gives the same
// rows from the first on. [Table.ReplaceWhere] hashes such rows first and writes them only if they
// differ from what the slice holds. A call that is given rows which an earlier call has read rewinds
// them; rows without Rewind are then refused.
type Rewinder interface {
	Rewind(ctx context.Context) error
}

// readers are those that a call has begun to read, for as long as they live. A reader that was read
// looks like one without rows, or with some of them: written again by a retry, under a tag even, it
// would lose the others without a word. It is used up for every table and every handle, so this is
// the one thing that no table owns.
var readers = usedReaders{seen: map[weak.Pointer[byte]]struct{}{}}

type usedReaders struct {
	mu   sync.Mutex
	seen map[weak.Pointer[byte]]struct{}
	most int // how many are kept before those that are gone are looked for
}

// use says whether a reader was used before, and notes that it is now.
func (u *usedReaders) use(r array.RecordReader) (before bool) {
	v := reflect.ValueOf(r)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Size() == 0 {
		return false // without an address of its own
	}
	key := weak.Make((*byte)(v.UnsafePointer()))
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, before = u.seen[key]; before {
		return true
	}
	if len(u.seen) >= u.most {
		for k := range u.seen {
			if k.Value() == nil {
				delete(u.seen, k)
			}
		}
		u.most = max(64, 2*len(u.seen))
	}
	u.seen[key] = struct{}{}
	return false
}

// input gives the rows of one call to its planner.
func input(rows array.RecordReader) plan.Input {
	in := plan.Input{Reader: rows}
	r, again := rows.(Rewinder)
	if again {
		in.Rewind = r.Rewind
	}
	begun := false
	in.Begin = func(ctx context.Context) error {
		if begun {
			return nil
		}
		begun = true
		switch {
		case !readers.use(rows):
			return nil
		case again:
			return r.Rewind(ctx)
		}
		return fmt.Errorf("%w: these rows were read by an earlier call and are used up; nothing was changed: make the reader anew for each call, or give one that can be read again (Rewinder)", ErrInput)
	}
	return in
}

// missing says whether no reader is given: nil, or a nil pointer.
func missing(rows array.RecordReader) bool {
	if rows == nil {
		return true
	}
	v := reflect.ValueOf(rows)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
