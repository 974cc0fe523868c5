package tabletest

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Reader reads rows once. It is an array.RecordReader.
type Reader struct {
	mem   memory.Allocator
	rows  []Row
	batch int
	fail  error // comes after the last row

	refs atomic.Int64
	next int
	cur  arrow.RecordBatch
	err  error
}

var _ array.RecordReader = (*Reader)(nil)

// Once is a reader that can be read once, in batches of the given number of rows (0: all at once).
func Once(mem memory.Allocator, batch int, rows ...Row) *Reader {
	if batch <= 0 {
		batch = max(len(rows), 1)
	}
	r := &Reader{mem: mem, rows: rows, batch: batch}
	r.refs.Store(1)
	return r
}

// Failing is a reader that gives an error after the rows.
func Failing(mem memory.Allocator, err error, batch int, rows ...Row) *Reader {
	r := Once(mem, batch, rows...)
	r.fail = err
	return r
}

// Rereader is a reader that can be rewound.
type Rereader struct{ *Reader }

// Again is a reader that can be read again, as Once in all else.
func Again(mem memory.Allocator, batch int, rows ...Row) Rereader {
	return Rereader{Once(mem, batch, rows...)}
}

// Rewind begins anew.
func (r Rereader) Rewind(context.Context) error {
	r.drop()
	r.next, r.err = 0, nil
	return nil
}

// Retain adds a reference.
func (r *Reader) Retain() { r.refs.Add(1) }

// Release drops a reference; with the last one goes the batch at hand.
func (r *Reader) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
	}
}

func (r *Reader) drop() {
	if r.cur != nil {
		r.cur.Release()
		r.cur = nil
	}
}

// Schema is that of every table here.
func (r *Reader) Schema() *arrow.Schema { return Schema }

// Next moves to the next batch.
func (r *Reader) Next() bool {
	r.drop()
	if r.next >= len(r.rows) {
		r.err = r.fail
		return false
	}
	end := min(r.next+r.batch, len(r.rows))
	r.cur = Batch(r.mem, r.rows[r.next:end])
	r.next = end
	return true
}

// RecordBatch is the batch at hand, valid until Next.
func (r *Reader) RecordBatch() arrow.RecordBatch { return r.cur }

// Record is RecordBatch under its old name, which the interface still asks for.
func (r *Reader) Record() arrow.RecordBatch { return r.cur }

// Err is why Next stopped, nil at the end of the rows.
func (r *Reader) Err() error { return r.err }
