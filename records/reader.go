package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
)

// source makes the batches of a reader.
type source interface {
	// next gives the next batch, which the caller releases, or io.EOF after the last one.
	next() (arrow.RecordBatch, error)

	// close ends the use of what is open. After it comes rewind, or nothing more.
	close()

	// rewind begins again at the first row, after close. A source that is read once has none.
	rewind() error
}

// Reader gives rows once, as an array.RecordReader. RecordBatch is valid until the next call of Next
// or of Release.
//
// It begins with one reference; the last Release closes what it reads. A reader that is read after that
// says so by Err: a verb that is given one fails instead of writing no rows.
type Reader struct {
	schema *arrow.Schema
	src    source
	refs   atomic.Int64
	free   func() // with the last reference, if not nil
	batch  arrow.RecordBatch
	err    error
	begun  bool // by Next
	ended  bool
	closed bool // by the last Release
}

// errReleased tells a reader that has no rows any more from one that never had some.
var errReleased = inputErrorf("the reader of these rows was released before they were read: release it after the call that reads them")

// Rereader is a Reader that can be read again.
type Rereader struct {
	Reader
}

var (
	_ array.RecordReader = (*Reader)(nil)
	_ array.RecordReader = (*Rereader)(nil)
)

func newReader(schema *arrow.Schema, src source) *Reader {
	r := &Reader{schema: schema, src: src}
	r.refs.Store(1)
	return r
}

func newRereader(schema *arrow.Schema, src source) *Rereader {
	r := &Rereader{Reader{schema: schema, src: src}}
	r.refs.Store(1)
	return r
}

// Retain adds a reference.
func (r *Reader) Retain() { r.refs.Add(1) }

// Release gives a reference back. With the last one what is read is closed.
func (r *Reader) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
		r.ended, r.closed = true, true
		r.src.close()
		if r.free != nil {
			r.free()
		}
	}
}

// Schema is that of every batch.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Begun says whether Next was called, since the reader was made or rewound: whether rows may be behind.
// idem's verbs ask it, and rewind such a reader or, if it can be read once, refuse it. After the last
// Release it is false: then Err says what became of the rows.
func (r *Reader) Begun() bool { return r.begun && !r.closed }

// Next goes to the next batch. It is false after the last one, and when an error came up: see Err.
func (r *Reader) Next() bool {
	r.drop()
	r.begun = true
	if r.closed && r.err == nil {
		r.err = errReleased
	}
	if r.ended {
		return false
	}
	batch, err := r.src.next()
	if err != nil {
		r.ended = true
		if err != io.EOF {
			r.err = err
		}
		r.src.close()
		return false
	}
	r.batch = batch
	return true
}

// RecordBatch is the batch at hand, nil before the first and after the last.
func (r *Reader) RecordBatch() arrow.RecordBatch { return r.batch }

// Record is RecordBatch, by its old name.
func (r *Reader) Record() arrow.RecordBatch { return r.batch }

// Err is why Next was false, nil if the rows were at their end.
func (r *Reader) Err() error { return r.err }

func (r *Reader) drop() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

// Rewind begins again at the first row, also after an error. It is what idem's verbs look for in
// rows; see idem.Rewinder.
func (r *Rereader) Rewind(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.closed {
		return errReleased
	}
	r.drop()
	r.src.close()
	if err := r.src.rewind(); err != nil {
		return err
	}
	r.err, r.begun, r.ended = nil, false, false
	return nil
}

// Seq gives the batches of a sequence, as idem's Table.Scan makes one. Every batch must have the
// schema. An error of the sequence ends the rows and is handed on as it is.
//
// Errors: [delta.ErrInput] for a missing schema or sequence.
func Seq(schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) (*Reader, error) {
	if schema == nil || rows == nil {
		return nil, inputErrorf("Seq needs a schema and a sequence; one of them is nil")
	}
	return newReader(schema, &seqSource{schema: schema, rows: rows}), nil
}

type seqSource struct {
	schema *arrow.Schema
	rows   iter.Seq2[arrow.RecordBatch, error]
	pull   func() (arrow.RecordBatch, error, bool)
	stop   func()
	batch  int
}

func (s *seqSource) next() (arrow.RecordBatch, error) {
	if s.pull == nil {
		s.pull, s.stop = iter.Pull2(s.rows)
	}
	batch, err, ok := s.pull()
	if !ok {
		return nil, io.EOF
	}
	if err != nil {
		return nil, brokenOff(err)
	}
	s.batch++
	if err := sameColumns(batch, s.schema, s.batch); err != nil {
		return nil, err
	}
	batch.Retain()
	return batch, nil
}

// brokenOff is an error that a sequence gave, which is never the end of the rows: a sequence that is
// at its end just ends.
func brokenOff(err error) error {
	if err == io.EOF {
		return fmt.Errorf("the sequence of rows broke off: %w", io.ErrUnexpectedEOF)
	}
	return err
}

func (s *seqSource) close() {
	if s.stop != nil {
		s.stop()
	}
}

func (s *seqSource) rewind() error { return errOnce }

// errOnce cannot be seen: a source that is read once is never part of a Rereader.
var errOnce = errors.New("rewind rows: they can be read once")

// Batches gives batches that are held in memory; they can be read again. The reader keeps them until
// it is released; the caller keeps its own references.
//
// Errors: [delta.ErrInput] for a missing schema and for a batch of another one.
func Batches(schema *arrow.Schema, batches []arrow.RecordBatch) (*Rereader, error) {
	if schema == nil {
		return nil, inputErrorf("Batches needs a schema; it is nil")
	}
	for i, b := range batches {
		if err := sameColumns(b, schema, i+1); err != nil {
			return nil, err
		}
	}
	for _, b := range batches {
		b.Retain()
	}
	batches = slices.Clone(batches)
	r := newRereader(schema, &batchesSource{batches: batches})
	r.free = func() {
		for _, b := range batches {
			b.Release()
		}
	}
	return r, nil
}

type batchesSource struct {
	batches []arrow.RecordBatch
	at      int
}

func (s *batchesSource) next() (arrow.RecordBatch, error) {
	if s.at == len(s.batches) {
		return nil, io.EOF
	}
	b := s.batches[s.at]
	s.at++
	b.Retain()
	return b, nil
}

func (s *batchesSource) close() {}

func (s *batchesSource) rewind() error {
	s.at = 0
	return nil
}

// sameColumns guards those who rely on a reader's schema.
func sameColumns(batch arrow.RecordBatch, schema *arrow.Schema, number int) error {
	switch {
	case batch == nil:
		return inputErrorf("batch %d is nil", number)
	case batch.Schema() == schema:
		return nil
	case int(batch.NumCols()) != schema.NumFields():
		return inputErrorf("batch %d has %d columns, but the schema given has %d; every batch must have the schema", number, batch.NumCols(), schema.NumFields())
	}
	for i, f := range schema.Fields() {
		got := batch.Schema().Field(i)
		if got.Name != f.Name || !arrow.TypeEqual(got.Type, f.Type) {
			return inputErrorf("column %d of batch %d is %q (%s), but the schema given says %q (%s); every batch must have the schema",
				i+1, number, got.Name, got.Type, f.Name, f.Type)
		}
	}
	return nil
}

func inputErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{delta.ErrInput}, args...)...)
}

func allocator(mem memory.Allocator) memory.Allocator {
	if mem == nil {
		return memory.DefaultAllocator
	}
	return mem
}
