package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// source is a part of a merge's source: every row of a key is in the same part.
type source struct {
	buffer *spill.Buffer
	batch  arrow.RecordBatch // in memory while the part is used
	index  *rows.Index
	kinds  []rowKind // what each row is for

	ranges []*keyRange // of each key column
	size   int64       // rows
}

// rowKind is what a source row asks for.
type rowKind uint8

const (
	upserts rowKind = iota
	deletes
)

func (s *source) close() {
	s.unload()
	for _, r := range s.ranges {
		r.values.Release()
	}
	s.buffer.Close()
}

func (s *source) unload() {
	if s.batch != nil {
		s.batch.Release()
		s.batch, s.index, s.kinds = nil, nil, nil
	}
}

// load brings a part into memory and indexes its keys.
func (p *Merge) load(s *source) error {
	if s.batch != nil {
		return nil
	}
	batch, err := gather(p.Env.Allocator, s.buffer)
	if err != nil {
		return err
	}
	if batch == nil {
		batch = emptyBatch(p.Env.Allocator, p.kept)
	}
	if s.batch, err = p.refitted(batch); err != nil {
		return err
	}
	batch = s.batch
	if s.index, err = rows.NewIndex(pick(batch, p.shape.key), int(batch.NumRows())); err != nil {
		return err
	}
	s.kinds = make([]rowKind, batch.NumRows())
	if p.shape.deletes == nil {
		return nil
	}
	mask, err := p.shape.deletes.Eval(p.Env.Allocator, batch)
	if err != nil {
		return err
	}
	defer mask.Release()
	for i := range s.kinds {
		if isTrue(mask, i) {
			s.kinds[i] = deletes
		}
	}
	return nil
}

// unload gives memory back when the source has more than one part.
func (p *Merge) unload(s *source) {
	if len(p.sources) > 1 {
		s.unload()
	}
}

// take reads the source once, deduplicates it and splits it by key.
func (p *Merge) take(ctx context.Context, snap *delta.Snapshot) error {
	k := &keyed{
		env: p.Env, area: p.area, conform: p.shape.conform, partitions: snap.PartitionColumns(),
		key: p.shape.key, order: p.shape.newer, nulls: p.Request.MatchNulls,
	}
	if p.KeepSum {
		k.look = p.addSum
	}
	d, err := k.take(ctx, p.Input)
	if err != nil {
		return err
	}
	p.Counts.Read, p.Counts.Identical, p.Counts.Older = d.Read, d.Identical, d.Older
	return p.split(d.Buffer)
}

func (p *Merge) addSum(batch arrow.RecordBatch) error {
	d, err := rows.DigestRows(batch, nil)
	p.sum = p.sum.Add(d)
	return err
}

// split cuts the source into parts that fit a third of the budget each.
func (p *Merge) split(b *spill.Buffer) error {
	parts, err := splitByKey(p.area, b, p.Env.memoryBytes()/3, p.shape.key...)
	if err != nil {
		return err
	}
	for _, part := range parts {
		p.sources = append(p.sources, &source{buffer: part})
	}
	return nil
}

// pick gives columns of a batch.
func pick(batch arrow.RecordBatch, columns []int) []arrow.Array {
	out := make([]arrow.Array, len(columns))
	for i, c := range columns {
		out[i] = batch.Column(c)
	}
	return out
}

// named gives columns of a batch by name.
func named(batch arrow.RecordBatch, names []string) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(names))
	for i, n := range names {
		c := slices.IndexFunc(batch.Schema().Fields(), func(f arrow.Field) bool { return f.Name == n })
		if c < 0 {
			return nil, fmt.Errorf("column %q is not in the batch", n)
		}
		out[i] = batch.Column(c)
	}
	return out, nil
}

func emptyBatch(mem memory.Allocator, schema *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	return b.NewRecordBatch()
}
