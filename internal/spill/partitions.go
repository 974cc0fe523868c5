package spill

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/idemtable/idem/internal/rows"
)

// Partitions are buffers of one schema among which rows are divided, by the hash of their keys as a rule: all rows of one key are
// in one partition, in the order they came. A partition that is too large is divided again, at the next level of Split.
type Partitions struct {
	area    *Area
	buffers []*Buffer
}

// NewPartitions makes n empty partitions.
func (a *Area) NewPartitions(schema *arrow.Schema, n int) *Partitions {
	p := &Partitions{area: a, buffers: make([]*Buffer, n)}
	for i := range p.buffers {
		p.buffers[i] = a.NewBuffer(schema)
	}
	return p
}

// Split writes for each hash its partition of n, a power of two. Level 0 uses the topmost bits and each further level the
// bits below, so that what is in one partition at one level is divided at the next. n 1 is one partition.
func Split(hashes []uint64, level, n int, out []uint32) {
	width := bits.Len(uint(n)) - 1
	for i, h := range hashes {
		out[i] = uint32(h << (level * width) >> 1 >> (63 - width))
	}
}

// Append adds row i of the batch to partition part[i]. After an error some partitions may have their rows and others not:
// the partitions can only be closed.
func (p *Partitions) Append(batch arrow.RecordBatch, part []uint32) error {
	if int64(len(part)) != batch.NumRows() {
		return fmt.Errorf("divide rows: %d partition numbers for %d rows", len(part), batch.NumRows())
	}
	start := make([]int, len(p.buffers)+1)
	for _, k := range part {
		if int(k) >= len(p.buffers) {
			return fmt.Errorf("divide rows: partition %d of %d", k, len(p.buffers))
		}
		start[k+1]++
	}
	for k := range p.buffers {
		start[k+1] += start[k]
	}
	order, next := make([]int32, len(part)), append([]int(nil), start...)
	for row, k := range part {
		order[next[k]] = int32(row)
		next[k]++
	}
	for k := range p.buffers {
		if err := p.appendRows(k, batch, order[start[k]:start[k+1]]); err != nil {
			return err
		}
	}
	return nil
}

// appendRows copies rows rather than slicing them: a slice would keep the whole batch in memory.
func (p *Partitions) appendRows(k int, batch arrow.RecordBatch, index []int32) error {
	if len(index) == 0 {
		return nil
	}
	if len(index) == int(batch.NumRows()) {
		return p.buffers[k].Append(batch)
	}
	part, err := rows.Take(p.area.allocator(), batch, index)
	if err != nil {
		return fmt.Errorf("divide rows: %w", err)
	}
	defer part.Release()
	return p.buffers[k].Append(part)
}

// Len is the number of partitions.
func (p *Partitions) Len() int { return len(p.buffers) }

// Partition is the buffer of one partition, to read and, when done with, to close.
func (p *Partitions) Partition(i int) *Buffer { return p.buffers[i] }

// Close closes every partition.
func (p *Partitions) Close() error {
	var errs []error
	for _, b := range p.buffers {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}
