package idem

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"unsafe"
	"weak"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/internal/plan"
)

// Rewinder is implemented by rows that can be read again: after Rewind the reader gives the same
// rows from the first on. [Table.ReplaceWhere] hashes such rows first and writes them only if they
// differ from what the slice holds.
//
// Every call that is given rows writes all of them or none. Rows that an earlier call has read, or that
// the caller has begun to read, are rewound before they are read; without Rewind they are [ErrInput].
// That a reader was begun is seen by its batch, if RecordBatch is not nil before the call's first Next and
// another one after it, or said by its method Begun() bool, as those of package records have it. It cannot
// be seen of a reader of another make that is at its end, can be read once and shows no batch any more, as
// those of arrow-go for CSV, JSON, IPC and Parquet: to a call it has no rows.
type Rewinder interface {
	Rewind(ctx context.Context) error
}

// beginner is implemented by rows that know whether Next was called, since they were made or rewound.
type beginner interface {
	Begun() bool
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

// taken gives the rows of one call to its planner, or says why they are none.
func taken(rows array.RecordReader) (plan.Input, error) {
	if missing(rows) {
		return plan.Input{}, fmt.Errorf("%w: the rows are nil", ErrInput)
	}
	if rows.Schema() == nil {
		if err := rows.Err(); err != nil {
			return plan.Input{}, fmt.Errorf("read the schema of the rows given: %w", err)
		}
		return plan.Input{}, fmt.Errorf("%w: the rows have no schema (their Schema() is nil), so that no column has a name; was the reader released before the call that reads it?", ErrInput)
	}
	in := plan.Input{Reader: rows}
	if r, again := rows.(Rewinder); again {
		in.Rewind = r.Rewind
	}
	begun := false
	in.Begin = func(ctx context.Context) (bool, error) {
		if begun {
			return rows.Next(), nil
		}
		begun = true
		return begin(ctx, in)
	}
	return in, nil
}

// begin goes to the first batch of rows, also if they were begun before; it is false if there is none.
func begin(ctx context.Context, in plan.Input) (bool, error) {
	rows := in.Reader
	used, shown := readers.use(rows), shows(rows)
	b, tells := rows.(beginner)
	begun := tells && b.Begun()
	switch {
	case in.Rewind == nil && used:
		return false, fmt.Errorf("%w: these rows were read by an earlier call and are used up; nothing was changed: make the reader anew for each call, or give one that can be read again (Rewinder)", ErrInput)
	case in.Rewind == nil && begun:
		return false, errBegun
	case in.Rewind != nil && (used || begun || shown != nil):
		if err := in.Rewind(ctx); err != nil {
			return false, err
		}
		return rows.Next(), nil
	}
	more := rows.Next()
	switch {
	case rows.Err() != nil || tells:
	case in.Rewind != nil && !more: // there are none, or all were read
		if err := in.Rewind(ctx); err != nil {
			return false, err
		}
		return rows.Next(), nil
	case shown != nil && (!more || shows(rows) != shown):
		return false, errBegun
	}
	return more, nil
}

var errBegun = fmt.Errorf("%w: these rows were begun to be read before the call, which would miss those that are behind; nothing was changed: make the reader anew and give it unread, or give one that can be read again (Rewinder)", ErrInput)

// shows gives the address of the batch that a reader has at hand; nil if it has none. One that is not begun yet has
// none, if it is arrow-go's own. Others may show the first already, or look for one where there is none
// and panic.
func shows(rows array.RecordReader) (batch unsafe.Pointer) {
	defer func() {
		if recover() != nil {
			batch = nil
		}
	}()
	v := reflect.ValueOf(rows.RecordBatch())
	if v.Kind() != reflect.Pointer {
		return nil
	}
	return v.UnsafePointer()
}

// missing says whether no reader is given: nil, or a nil pointer.
func missing(rows array.RecordReader) bool {
	if rows == nil {
		return true
	}
	v := reflect.ValueOf(rows)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
