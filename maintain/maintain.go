package maintain

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/idemtable/idem"
	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/delta/scan"
	"github.com/idemtable/idem/internal/inside"
	"github.com/idemtable/idem/internal/plan"
)

// open is the inside of a table that may be worked on.
func open(op string, t *idem.Table) (*inside.Table, error) {
	in := inside.Of(t)
	if in.Frozen {
		return nil, in.Fail(op, fmt.Errorf("%w: this is a view of version %d; %s works on the table itself", idem.ErrInput, t.Version(), op))
	}
	return in, nil
}

// write carries out a call that may commit.
func write(ctx context.Context, in *inside.Table, c inside.Call) (*idem.Result, error) {
	res, err := in.Write(ctx, c)
	if err != nil {
		return nil, err
	}
	return res.(*idem.Result), nil
}

// forEach calls f for 0..n-1, on up to parallelism goroutines; with one, in order on the caller's.
func forEach(ctx context.Context, parallelism, n int, f func(ctx context.Context, i int) error) error {
	if parallelism <= 1 || n < 2 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelism)
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, i)
		})
	}
	return g.Wait()
}

// source is a snapshot to read rows from.
func source(env *plan.Env, snap *delta.Snapshot) scan.Table {
	return scan.Table{Store: env.Store, Snapshot: snap, Stats: env.Stats, Allocator: env.Allocator, Parallelism: max(env.Parallelism, 1)}
}

// removal ends the life of a file as of now.
func removal(env *plan.Env, f *delta.Add, dataChange bool) delta.Action {
	now, size := env.Now().UnixMilli(), f.Size
	return delta.Action{Remove: &delta.Remove{
		Path: f.Path, Key: f.Key, DeletionTimestamp: &now, DataChange: dataChange, ExtendedMetadata: true,
		PartitionValues: f.PartitionValues, Size: &size, Tags: f.Tags,
		DeletionVector: f.DeletionVector, BaseRowID: f.BaseRowID, CommitVersion: f.CommitVersion,
	}}
}
