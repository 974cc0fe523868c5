package plan

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// intake takes the rows of a call in: conform, normalise, check, then write or hash.
type intake struct {
	env     *Env
	snap    *delta.Snapshot
	input   Input
	conform *Conformer
	check   *Validator
}

// newIntake takes rows in for a table; evolves says that the columns they bring were added to it.
func newIntake(env *Env, snap *delta.Snapshot, in Input, evolves bool) (*intake, error) {
	c, err := NewConformer(in.Reader.Schema(), snap.ArrowSchema(), ConformOptions{Evolve: evolves})
	if err != nil {
		return nil, err
	}
	v, err := NewValidator(snap)
	if err != nil {
		return nil, err
	}
	return &intake{env: env, snap: snap, input: in, conform: c, check: v}, nil
}

// written is what an intake wrote or hashed.
type written struct {
	files []*delta.Add
	rows  int64
	sum   rows.Digest
}

// each gives every batch of the input, ready to be written. inside, if any, sees it first.
func (in *intake) each(ctx context.Context, inside *guard, f func(arrow.RecordBatch) error) error {
	first := int64(0)
	for batch, err := range in.input.batches(ctx) {
		if err != nil {
			return err
		}
		if err := in.one(batch, first, inside, f); err != nil {
			return err
		}
		first += batch.NumRows()
	}
	return inside.verdict()
}

func (in *intake) one(batch arrow.RecordBatch, first int64, inside *guard, f func(arrow.RecordBatch) error) error {
	mem := in.env.Allocator
	typed, err := in.conform.Batch(mem, batch, first)
	if err != nil {
		return err
	}
	defer typed.Release()
	ready, err := NormalisePartitions(mem, typed, in.snap.PartitionColumns())
	if err != nil {
		return err
	}
	defer ready.Release()
	if err := inside.look(mem, ready, first); err != nil {
		return err
	}
	if err := in.check.Check(mem, ready, first); err != nil {
		return err
	}
	if inside.broken() {
		return nil // only the count of rows outside is still wanted
	}
	return f(ready)
}

// write makes data files of the input. On failure nothing of them is left.
func (in *intake) write(ctx context.Context, inside *guard) (*written, error) {
	set, err := NewFileSet(ctx, in.env, in.snap, NewRows)
	if err != nil {
		return nil, err
	}
	if err := in.each(ctx, inside, set.Write); err != nil {
		set.Abort()
		return nil, err
	}
	files, err := set.Finish()
	if err != nil {
		set.Abort()
		return nil, err
	}
	return &written{files: files, rows: set.Rows(), sum: set.Digest()}, nil
}

// hash reads the input without writing it.
func (in *intake) hash(ctx context.Context, inside *guard) (*written, error) {
	var w written
	err := in.each(ctx, inside, func(batch arrow.RecordBatch) error {
		d, err := rows.DigestRows(batch, nil)
		if err != nil {
			return err
		}
		w.sum = w.sum.Add(d)
		w.rows += batch.NumRows()
		return nil
	})
	return &w, err
}

// partitionParameter is the partition columns as other engines put them into commitInfo.
func partitionParameter(snap *delta.Snapshot) string { return NamesParameter(snap.PartitionColumns()) }

// NamesParameter is a list of names as other engines put it into commitInfo: as JSON text.
func NamesParameter(names []string) string {
	if names == nil {
		names = []string{}
	}
	return jsonText(names)
}

// PropertiesParameter is table properties as other engines put them into commitInfo: as JSON text.
func PropertiesParameter(properties map[string]string) string {
	if properties == nil {
		properties = map[string]string{}
	}
	return jsonText(properties)
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a commitInfo parameter: %v", err))
	}
	return string(text)
}
