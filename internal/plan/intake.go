package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
)

// intake takes the rows of a call in: conform, fill, normalise, check, then write or hash.
type intake struct {
	env     *Env
	snap    *delta.Snapshot
	input   Input
	conform *Conformer
	fill    *filler
	check   *Validator
}

// newIntake takes rows in for a table; evolves says that the columns they bring were added to it.
func newIntake(env *Env, snap *delta.Snapshot, in Input, evolves bool) (*intake, error) {
	c, err := conformer(in.Reader.Schema(), snap, evolves)
	if err != nil {
		return nil, err
	}
	f, err := newFiller(env, snap, c.given())
	if err != nil {
		return nil, err
	}
	v, err := NewValidator(snap)
	if err != nil {
		return nil, err
	}
	return &intake{env: env, snap: snap, input: in, conform: c, fill: f, check: v}, nil
}

// written is what an intake wrote or hashed. sum leaves volatile columns out, so that it is the same
// at every run.
type written struct {
	files   []*delta.Add
	rows    int64
	sum     rows.Digest
	steady  steady
	numbers *numbers // that the rows of files have
}

// steady is what stays the same from run to run: all columns but some.
type steady struct{ without []string }

// whole says that nothing is left out.
func (s steady) whole() bool { return len(s.without) == 0 }

// digest is that of rows, of those that keep names if it is not nil.
func (s steady) digest(batch arrow.RecordBatch, keep []bool) (rows.Digest, error) {
	if s.whole() {
		return rows.DigestRows(batch, keep)
	}
	var fields []arrow.Field
	var columns []arrow.Array
	for c, f := range batch.Schema().Fields() {
		if !slices.Contains(s.without, f.Name) {
			fields, columns = append(fields, f), append(columns, batch.Column(c))
		}
	}
	rest := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows())
	defer rest.Release()
	return rows.DigestRows(rest, keep)
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
	filled, err := in.fill.Batch(mem, typed, first)
	if err != nil {
		return err
	}
	defer filled.Release()
	ready, err := NormalisePartitions(mem, filled, in.snap.PartitionColumns())
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
	w := &written{steady: in.fill.steady(), numbers: in.fill.numbers}
	err = in.each(ctx, inside, func(batch arrow.RecordBatch) error {
		if !w.steady.whole() {
			if err := w.add(batch); err != nil {
				return err
			}
		}
		return set.Write(batch)
	})
	if err != nil {
		set.Abort()
		return nil, err
	}
	if w.files, err = set.Finish(); err != nil {
		set.Abort()
		return nil, err
	}
	if w.steady.whole() {
		w.rows, w.sum = set.Rows(), set.Digest() // computed beside the files
	}
	return w, nil
}

// add counts rows.
func (w *written) add(batch arrow.RecordBatch) error {
	d, err := w.steady.digest(batch, nil)
	w.sum = w.sum.Add(d)
	w.rows += batch.NumRows()
	return err
}

// hash reads the input without writing it.
func (in *intake) hash(ctx context.Context, inside *guard) (*written, error) {
	w := &written{steady: in.fill.steady(), numbers: newNumbers()}
	return w, in.each(ctx, inside, w.add)
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
