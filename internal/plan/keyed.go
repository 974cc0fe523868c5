package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/internal/spill"
)

// keyed takes rows with keys in, once: conform, normalise, lift, refuse NULL keys, deduplicate.
type keyed struct {
	env        *Env
	area       *spill.Area
	conform    *Conformer
	lift       *lifter
	partitions []string // columns in which '' is NULL
	key, order []int    // of the lifted rows
	nulls      bool     // NULL is allowed in keys

	look func(arrow.RecordBatch) error // sees every batch before it is lifted, if set
}

func (k *keyed) take(ctx context.Context, in Input) (*Deduped, error) {
	raw := k.area.NewBuffer(k.lift.schema)
	d, err := k.dedupe(ctx, in, raw)
	if err != nil || d.Buffer != raw {
		raw.Close()
	}
	return d, err
}

func (k *keyed) dedupe(ctx context.Context, in Input, raw *spill.Buffer) (*Deduped, error) {
	first := int64(0)
	for batch, err := range in.batches(ctx) {
		if err != nil {
			return nil, err
		}
		if err := k.one(raw, batch, first); err != nil {
			return nil, err
		}
		first += batch.NumRows()
	}
	compare := make([]int, k.conform.Schema().NumFields())
	for i := range compare {
		compare[i] = i
	}
	return Dedupe(ctx, k.env, k.area, raw, k.key, k.order, compare)
}

func (k *keyed) one(raw *spill.Buffer, batch arrow.RecordBatch, first int64) error {
	mem := k.env.Allocator
	typed, err := k.conform.Batch(mem, batch, first)
	if err != nil {
		return err
	}
	defer typed.Release()
	ready, err := NormalisePartitions(mem, typed, k.partitions)
	if err != nil {
		return err
	}
	defer ready.Release()
	if k.look != nil {
		if err := k.look(ready); err != nil {
			return err
		}
	}
	lifted, err := k.lift.batch(mem, ready)
	if err != nil {
		return err
	}
	defer lifted.Release()
	if !k.nulls {
		if err := CheckKeys(lifted, k.key, first); err != nil {
			return err
		}
	}
	return raw.Append(lifted)
}
