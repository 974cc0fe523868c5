package idemtest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/internal/trial"
)

// Source hands a job its rows: as they are, and in the runs of [AnotherOrder] in another order and
// in other batches. ctx is the one that the job was given. Wrap what the job reads from, so that
// what it does before it calls a verb (keep the last row of a key, number rows, add up floats) is
// shown to depend on order, or not to:
//
//	idemtest.Prove(t, table, func(ctx context.Context, table *idem.Table) error {
//		return loadOrders(ctx, table, idemtest.Source(ctx, idemtest.Rows(t, orders, …)))
//	}, idemtest.Options{})
//
// The reader returned takes over the caller's reference to rows. It can be read again if rows can.
func Source(ctx context.Context, rows array.RecordReader) array.RecordReader {
	t := trial.From(ctx)
	if t == nil || t.Order == nil {
		return rows
	}
	r := &arranged{RecordReader: rows, trial: t, refs: 1}
	if again, ok := rows.(rewinder); ok {
		return &rearranged{arranged: r, again: again}
	}
	return r
}

// List hands a job a list, such as lines, files or structs, as [Source] does its rows. The list
// given is not changed.
func List[T any](ctx context.Context, list []T) []T {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for i := range list {
		b.Append(int64(i))
	}
	numbers := b.NewArray()
	defer numbers.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{numbers}, int64(len(list)))
	defer batch.Release()
	out := make([]T, 0, len(list))
	for part := range trial.From(ctx).Arrange(func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }) {
		for _, i := range part.Column(0).(*array.Int64).Int64Values() {
			out = append(out, list[i])
		}
	}
	return out
}

type rewinder interface {
	Rewind(ctx context.Context) error
}

// arranged is a reader whose rows come in the order of a trial.
type arranged struct {
	array.RecordReader
	trial *trial.Trial

	mu      sync.Mutex
	refs    int
	closed  bool // by the last Release
	began   bool
	batches []arrow.RecordBatch // those to come
	current arrow.RecordBatch
	err     error
}

func (r *arranged) Retain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refs++
}

func (r *arranged) Release() {
	r.mu.Lock()
	r.refs--
	last := r.refs == 0
	r.closed = r.closed || last
	r.mu.Unlock()
	if last {
		r.drop()
		r.RecordReader.Release()
	}
}

// drop releases what was not read.
func (r *arranged) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	for _, b := range r.batches {
		b.Release()
	}
	r.batches = nil
}

func (r *arranged) Next() bool {
	if r.released() {
		return false
	}
	if !r.began {
		r.began = true
		for b, err := range r.trial.Arrange(r.given) {
			if err != nil {
				r.err = err
				break
			}
			b.Retain()
			r.batches = append(r.batches, b)
		}
	}
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	if len(r.batches) == 0 {
		return false
	}
	r.current, r.batches = r.batches[0], r.batches[1:]
	return true
}

// Begun says whether rows may be behind: a verb rewinds such a reader, or refuses it.
func (r *arranged) Begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began && !r.closed
}

// released says whether the reader was given back before, and makes that its error.
func (r *arranged) released() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed && r.err == nil {
		r.err = errReleased
	}
	return r.closed
}

// errReleased tells a reader that has no rows any more from one that never had some.
var errReleased = fmt.Errorf("%w: the reader of these rows was released before they were read: release it after the call that reads them", idem.ErrInput)

// given is the reader's rows. Its error is the reader's to tell.
func (r *arranged) given(yield func(arrow.RecordBatch, error) bool) {
	for r.RecordReader.Next() {
		if r.RecordReader.Err() != nil {
			return
		}
		batch := r.RecordReader.RecordBatch()
		if batch == nil {
			yield(nil, fmt.Errorf("%w: the reader given to Source says that there is a batch (its Next is true) and gives none (its RecordBatch is nil): mend the reader", idem.ErrInput))
			return
		}
		if !yield(batch, nil) {
			return
		}
	}
}

// Err comes after the rows that were read before it.
func (r *arranged) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RecordReader.Err()
}

func (r *arranged) RecordBatch() arrow.RecordBatch { return r.current }

func (r *arranged) Record() arrow.RecordBatch { return r.current }

// rearranged can be read again, and comes in yet another order then.
type rearranged struct {
	*arranged
	again rewinder
}

func (r *rearranged) Rewind(ctx context.Context) error {
	r.drop()
	r.began, r.err = false, nil
	return r.again.Rewind(ctx)
}

// order is the order in which rows come in one run. It is decided by a seed and by how often rows
// were read before.
type order struct {
	mu       sync.Mutex
	random   *rand.Rand
	backward bool // and one by one; otherwise by chance
}

func newOrder(seed uint64) *order {
	return &order{random: rand.New(rand.NewPCG(seed, 0x1de3)), backward: seed == 0}
}

// manyRows is beyond how many rows several are kept together, so that moving them stays cheap.
const manyRows = 10_000

// arrange implements trial.Trial.Order. It holds the rows in memory.
func (o *order) arrange(in trial.Batches) trial.Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		batches, err := gather(in)
		defer release(batches)
		pieces := o.pieces(batches)
		defer release(pieces)
		for group := range o.groups(pieces) {
			batch, joined := join(group)
			if joined != nil {
				yield(nil, joined)
				return
			}
			more := yield(batch, nil)
			batch.Release()
			if !more {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// gather copies rows: a batch lives until the next one is asked for.
func gather(in trial.Batches) ([]arrow.RecordBatch, error) {
	var out []arrow.RecordBatch
	for batch, err := range in {
		if err != nil {
			return out, err
		}
		own, err := join([]arrow.RecordBatch{batch})
		if err != nil {
			return out, err
		}
		out = append(out, own)
	}
	return out, nil
}

func release(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

// join copies batches of one schema into one.
func join(batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	first, n := batches[0], int64(0)
	columns := make([]arrow.Array, 0, first.NumCols())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, b := range batches {
		n += b.NumRows()
	}
	for c := range int(first.NumCols()) {
		parts := make([]arrow.Array, len(batches))
		for i, b := range batches {
			parts[i] = b.Column(c)
		}
		column, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return array.NewRecordBatch(first.Schema(), columns, n), nil
}

// pieces cuts the rows, and puts them into their order.
func (o *order) pieces(batches []arrow.RecordBatch) []arrow.RecordBatch {
	total := int64(0)
	for _, b := range batches {
		total += b.NumRows()
	}
	unit := total/manyRows + 1
	var pieces []arrow.RecordBatch
	for _, b := range batches {
		for from := int64(0); from < b.NumRows(); from += unit {
			pieces = append(pieces, b.NewSlice(from, min(from+unit, b.NumRows())))
		}
	}
	if o.backward {
		slices.Reverse(pieces)
		return pieces
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	return pieces
}

// groups says which pieces come in one batch.
func (o *order) groups(pieces []arrow.RecordBatch) iter.Seq[[]arrow.RecordBatch] {
	return func(yield func([]arrow.RecordBatch) bool) {
		largest := max(len(pieces)/2, 1)
		for len(pieces) > 0 {
			n := 1
			if !o.backward {
				n = min(1+o.chance(largest), len(pieces))
			}
			if !yield(pieces[:n]) {
				return
			}
			pieces = pieces[n:]
		}
	}
}

func (o *order) chance(n int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.random.IntN(n)
}
