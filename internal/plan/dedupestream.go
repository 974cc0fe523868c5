package plan

import (
	"context"
	"fmt"
	"iter"

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
	key, err := columnsNamed(typed, "On", on)
	if err != nil {
		return nil, nil, err
	}
	if len(key) == 0 {
		return nil, nil, fmt.Errorf("%w: Dedupe.On is empty: name the key columns", delta.ErrInput)
	}
	order, err := columnsNamed(typed, "Newer", newer)
	if err != nil {
		return nil, nil, err
	}
	area := env.area()
	k := &keyed{env: env, area: area, conform: conform, key: key, order: order, nulls: nulls}
	d, err := k.take(ctx, in)
	if err != nil {
		area.Close()
		return nil, nil, err
	}
	return array.ReaderFromIter(typed, drain(area, d.Buffer)), d, nil
}

func columnsNamed(schema *arrow.Schema, what string, names []string) ([]int, error) {
	out := make([]int, 0, len(names))
	for _, n := range names {
		c := fieldIndex(schema, n)
		if c < 0 {
			return nil, fmt.Errorf("%w: %s names %q, which the rows lack; they have %v", delta.ErrInput, what, n, fieldNames(schema))
		}
		if err := comparable(what, schema.Field(c)); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// drain yields a buffer's batches and removes what was spilled when the stream ends.
func drain(area *spill.Area, b *spill.Buffer) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer area.Close()
		defer b.Close()
		for batch, err := range b.Batches() {
			if !yield(batch, err) {
				return
			}
		}
	}
}
