package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// source is a part of a merge's source: the rows of a range of keys, few enough to be held.
type source struct {
	buffer *spill.Buffer
	batch  arrow.RecordBatch // in memory while the part is used
	index  *rows.Index

	ranges  []*keyRange   // of each key column
	matches *spill.Buffer // what was found in files, one row a match: see matchSchema
	todo    *spill.Buffer // the rows to insert, by the last attempt: see todoSchema
}

// size is the number of rows.
func (s *source) size() int64 { return s.buffer.Rows() }

func (s *source) close() {
	s.unload()
	for _, r := range s.ranges {
		r.release()
	}
	s.buffer.Close()
}

func (s *source) unload() {
	if s.batch != nil {
		s.batch.Release()
		s.batch, s.index = nil, nil
	}
}

// load brings a part into memory and indexes its keys.
func (p *Merge) load(ctx context.Context, s *source) error {
	if s.batch != nil {
		return nil
	}
	batch, err := gather(ctx, p.Env.Allocator, s.buffer)
	if err != nil {
		return err
	}
	if batch == nil {
		batch = emptyBatch(p.Env.Allocator, p.kept)
	}
	if batch, err = p.refitted(batch); err != nil {
		return err
	}
	if s.index, err = rows.NewIndex(pick(batch, p.shape.key), int(batch.NumRows())); err != nil {
		batch.Release()
		return err
	}
	rows.CountNulls(batch)
	s.batch = batch
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
		env: p.Env, area: p.area, conform: p.shape.conform, lift: p.shape.lift, partitions: snap.PartitionColumns(),
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
	if err := p.allowsEmpty(); err != nil {
		d.Buffer.Close()
		return err
	}
	return p.split(ctx, d.Buffer)
}

func (p *Merge) addSum(batch arrow.RecordBatch) error {
	d, err := rows.DigestRows(batch, nil)
	p.sum = p.sum.Add(d)
	return err
}

// split cuts the source into parts that fit a share of the budget each.
func (p *Merge) split(ctx context.Context, b *spill.Buffer) error {
	cut := &cutter{ctx: ctx, mem: p.Env.Allocator, area: p.area, key: p.shape.key}
	parts, least, err := cut.split(b, p.Env.share())
	defer func() {
		for _, l := range least {
			l.Release()
		}
	}()
	if err != nil {
		return err
	}
	for _, part := range parts {
		p.sources = append(p.sources, &source{buffer: part, matches: p.area.NewBuffer(matchSchema)})
	}
	if len(least) > 0 {
		p.pivots, err = rows.Concat(p.Env.Allocator, least)
	}
	return err
}

// emptyBatch is a batch without rows.
func emptyBatch(mem memory.Allocator, schema *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	return b.NewRecordBatch()
}
