package plan

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/spill"
)

// DedupeStream keeps one row a key of a stream that belongs to no table.
func DedupeStream(ctx context.Context, env *Env, schema *delta.Struct, in Input, on, newer []string, nulls bool) (array.RecordReader, *Deduped, error) {
	typed, err := delta.ArrowSchema(schema)
	if err != nil {
		return nil, nil, err
	}
	conform, err := NewConformer(in.Reader.Schema(), typed, ConformOptions{})
	if err != nil {
		return nil, nil, err
	}
	key, err := placesNamed(typed, "On", on)
	if err != nil {
		return nil, nil, err
	}
	if len(key) == 0 {
		return nil, nil, fmt.Errorf("%w: Dedupe.On is empty: name the key columns", delta.ErrInput)
	}
	order, err := placesNamed(typed, "Newer", newer)
	if err != nil {
		return nil, nil, err
	}
	lift, columns := newLifter(typed, append(key, order...))
	area := env.area()
	k := &keyed{env: env, area: area, conform: conform, lift: lift, key: columns[:len(key)], order: columns[len(key):], nulls: nulls}
	d, err := k.take(ctx, in)
	if err != nil {
		area.Close()
		return nil, nil, err
	}
	return newKeptReader(array.ReaderFromIter(typed, drain(area, d.Buffer, typed)), area), d, nil
}

// keptReader is a reader that says so by Err when it is read after its last Release, with which its spill files go: a
// stream that was not begun has no end at which they would.
type keptReader struct {
	array.RecordReader
	area     *spill.Area
	refs     atomic.Int64
	begun    bool // by Next
	released bool // and read
}

func newKeptReader(rows array.RecordReader, area *spill.Area) *keptReader {
	r := &keptReader{RecordReader: rows, area: area}
	r.refs.Store(1)
	return r
}

func (r *keptReader) Retain() { r.refs.Add(1) }

func (r *keptReader) Release() {
	if r.refs.Add(-1) == 0 {
		r.RecordReader.Release()
		r.area.Close()
	}
}

func (r *keptReader) Next() bool {
	r.begun = true
	r.released = r.released || r.refs.Load() <= 0
	return !r.released && r.RecordReader.Next()
}

// Begun says whether rows may be behind: a verb would miss them.
func (r *keptReader) Begun() bool { return r.begun && r.refs.Load() > 0 }

func (r *keptReader) Err() error {
	if err := r.RecordReader.Err(); err != nil || !r.released {
		return err
	}
	return fmt.Errorf("%w: the reader of these rows was released before they were read: release it after the call that reads them", delta.ErrInput)
}

// placesNamed finds columns, and fields of structs, that can be compared.
func placesNamed(schema *arrow.Schema, what string, names []string) ([]place, error) {
	out := make([]place, 0, len(names))
	for _, n := range names {
		at, err := locate(schema, n)
		if err != nil {
			return nil, lacking(err, "%w: %s names %q, which the rows lack; they have %v", delta.ErrInput, what, n, fieldNames(schema))
		}
		if err := comparable(what, at.field(schema)); err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}

// drain yields the columns of a schema, which come first in a buffer, and removes what was spilled
// when the stream ends.
func drain(area *spill.Area, b *spill.Buffer, schema *arrow.Schema) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer area.Close()
		defer b.Close()
		for batch, err := range b.Batches() {
			if err != nil {
				yield(nil, err)
				return
			}
			out := array.NewRecordBatch(schema, batch.Columns()[:schema.NumFields()], batch.NumRows())
			more := yield(out, nil)
			out.Release()
			if !more {
				return
			}
		}
	}
}
