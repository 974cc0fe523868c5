package plan

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/idemtable/idem/delta"
	"github.com/idemtable/idem/internal/rows"
	"github.com/idemtable/idem/internal/spill"
)

// The budget of a call is given out in quarters: to what its spill area holds, to the rows that are
// looked at together with their tables, to the files that are being written, and to the batches in
// between.
const shares = 4

// leastShare is the least that is looked at together: below it a batch costs more than its rows.
const leastShare = 1 << 10

// share is a quarter of the budget of a call.
func (e *Env) share() int64 { return max(e.memoryBytes()/shares, leastShare) }

// weight is the memory that the rows of a buffer take when they are looked at together: their bytes,
// hashes, tables and lists of row numbers, and columns widened for comparison.
func weight(b *spill.Buffer, columns int) int64 {
	return b.Bytes() + b.Rows()*int64(rowTables+8*columns)
}

// rowTables is what tables and lists take for each row.
const rowTables = 48

// gather makes one batch of a buffer; nil if it is empty. The caller releases it.
func gather(ctx context.Context, mem memory.Allocator, b *spill.Buffer) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	defer func() {
		for _, x := range all {
			x.Release()
		}
	}()
	for batch, err := range b.Batches() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		batch.Retain()
		all = append(all, batch)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return rows.Concat(mem, all)
}

// comparable refuses columns that have no order: they cannot be keys, nor order rows.
func comparable(what string, fields ...arrow.Field) error {
	for _, f := range fields {
		if delta.IsVariant(f.Type) {
			return fmt.Errorf("%w: %s names %s, which is a variant: variants have no order, so it can be neither key nor version", delta.ErrInput, what, f.Name)
		}
		switch f.Type.ID() {
		case arrow.STRUCT, arrow.LIST, arrow.MAP, arrow.NULL:
			return fmt.Errorf("%w: %s names %s, which is %s: a column of that type has no order, so it can be neither key nor version", delta.ErrInput, what, f.Name, f.Type)
		}
	}
	return nil
}

// cutter divides buffers by the order of their keys, so that all rows of a key are in one part. It
// goes by the keys themselves: however keys hash and however often one occurs, a buffer with two
// keys is divided.
type cutter struct {
	ctx  context.Context
	mem  memory.Allocator
	area *spill.Area
	key  []int
}

// cut is a buffer that was divided.
type cut struct {
	parts  []*spill.Buffer
	pivots arrow.RecordBatch // the least key of each part but the first; nil if parts are what is below, at and above one key
	one    int               // the part that has one key only, -1
}

const (
	mostParts  = 64   // into which a buffer is cut at once
	spots      = 64   // of a buffer that are looked at to find where to cut it
	mostSample = 2048 // rows that are looked at
)

// each calls together for pieces of a buffer of at most limit, and alone for pieces that have one key
// and are larger. A piece is closed behind it; the buffer stays the caller's.
func (c *cutter) each(b *spill.Buffer, limit int64, together, alone func(*spill.Buffer) error) error {
	if err := c.ctx.Err(); err != nil || b.Rows() == 0 {
		return err
	}
	columns := b.Schema().NumFields()
	if weight(b, columns) <= limit || b.Rows() == 1 {
		return together(b)
	}
	d, err := c.divide(b, limit)
	if err != nil {
		return err
	}
	defer d.close()
	for i, part := range d.parts {
		if i == d.one && weight(part, columns) > limit {
			err = alone(part)
		} else {
			err = c.each(part, limit, together, alone)
		}
		if closed := part.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *cut) close() {
	if d.pivots != nil {
		d.pivots.Release()
	}
	for _, p := range d.parts {
		p.Close()
	}
}

// split cuts a buffer into parts of at most limit, as far as one key a part allows, and gives the
// least key of each part but the first. It takes the buffer over.
func (c *cutter) split(b *spill.Buffer, limit int64) ([]*spill.Buffer, []arrow.RecordBatch, error) {
	columns := b.Schema().NumFields()
	if weight(b, columns) <= limit || b.Rows() < 2 {
		return []*spill.Buffer{b}, nil, nil
	}
	defer b.Close()
	d, err := c.divide(b, limit)
	if err != nil {
		return nil, nil, err
	}
	if d.pivots == nil {
		d.close()
		return nil, nil, fmt.Errorf("divide rows by key: a key occurs twice")
	}
	defer d.pivots.Release()
	var parts []*spill.Buffer
	var least []arrow.RecordBatch
	for i, part := range d.parts {
		if i > 0 {
			least = append(least, d.pivots.NewSlice(int64(i-1), int64(i)))
		}
		list, below, err := c.split(part, limit)
		if err != nil {
			return nil, nil, err // the area closes what is left
		}
		parts, least = append(parts, list...), append(least, below...)
	}
	return parts, least, nil
}

// divide cuts a buffer with more than one row into parts of about limit, at least two unless it has
// one key only.
func (c *cutter) divide(b *spill.Buffer, limit int64) (*cut, error) {
	parts := int(min(weight(b, b.Schema().NumFields())/limit*5/4+2, mostParts))
	sample, err := c.sample(b, limit)
	if err != nil {
		return nil, err
	}
	defer sample.Release()
	pivots, err := c.pivots(sample, parts)
	if err != nil {
		return nil, err
	}
	if pivots == nil {
		return c.around(b, sample)
	}
	d := &cut{pivots: pivots, one: -1}
	if d.parts, err = c.scatter(b, int(pivots.NumRows())+1, byPivots(pivots)); err != nil {
		pivots.Release()
		return nil, err
	}
	return d, nil
}

// sample gives keys from spots all over a buffer, in order, as many as an eighth of limit holds.
func (c *cutter) sample(b *spill.Buffer, limit int64) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	defer func() {
		for _, x := range all {
			x.Release()
		}
	}()
	total := b.Rows()
	each := max(1, min(limit/8/max(1, b.Bytes()/total), mostSample)/spots)
	for at, step := int64(0), max(total/spots, 1); at < total; at += step {
		batch, err := b.At(at)
		if err == nil {
			err = c.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		n := min(batch.NumRows(), each, step)
		keys := c.keys(batch)
		taken, err := rows.Take(c.mem, keys, counting(int(n)))
		keys.Release()
		batch.Release()
		if err != nil {
			return nil, err
		}
		all = append(all, taken)
	}
	return c.sorted(all)
}

// sorted joins batches of keys in their order.
func (c *cutter) sorted(all []arrow.RecordBatch) (arrow.RecordBatch, error) {
	joined, err := rows.Concat(c.mem, all)
	if err != nil {
		return nil, err
	}
	defer joined.Release()
	order, err := rows.NewOrder(joined.Columns(), joined.Columns())
	if err != nil {
		return nil, err
	}
	index := counting(int(joined.NumRows()))
	slices.SortStableFunc(index, func(i, j int32) int { return order.Compare(int(i), int(j)) })
	return rows.Take(c.mem, joined, index)
}

// keys is a batch of the key columns. The caller releases it.
func (c *cutter) keys(batch arrow.RecordBatch) arrow.RecordBatch {
	fields := make([]arrow.Field, len(c.key))
	for i, k := range c.key {
		fields[i] = batch.Schema().Field(k)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), pick(batch, c.key), batch.NumRows())
}

// pivots chooses keys at which a sorted sample falls into that many parts of like size, fewer if keys
// repeat; nil if the sample has one key. No pivot is the least key, so that each part has rows.
func (c *cutter) pivots(sample arrow.RecordBatch, parts int) (arrow.RecordBatch, error) {
	order, err := rows.NewOrder(sample.Columns(), sample.Columns())
	if err != nil {
		return nil, err
	}
	var index []int32
	last, n := 0, int(sample.NumRows())
	for k := 1; k < parts; k++ {
		i := max(k*n/parts, last) // a key may be longer than a part
		for i < n && order.Compare(last, i) == 0 {
			i++ // past the rows of the key that the last part begins with
		}
		if i < n {
			index = append(index, int32(i))
			last = i
		}
	}
	if len(index) == 0 {
		return nil, nil
	}
	return rows.Take(c.mem, sample, index)
}

// byPivots gives for each row the number of pivots that are not above its key.
func byPivots(pivots arrow.RecordBatch) func(keys []arrow.Array, out []uint32) error {
	return func(keys []arrow.Array, out []uint32) error {
		order, err := rows.NewOrder(keys, pivots.Columns())
		if err != nil {
			return err
		}
		n := int(pivots.NumRows())
		for i := range out {
			out[i] = uint32(sort.Search(n, func(k int) bool { return order.Compare(i, k) < 0 }))
		}
		return nil
	}
}

// around cuts a buffer into what is below, at and above the one key of a sample.
func (c *cutter) around(b *spill.Buffer, sample arrow.RecordBatch) (*cut, error) {
	d := &cut{one: 1}
	var err error
	d.parts, err = c.scatter(b, 3, func(keys []arrow.Array, out []uint32) error {
		order, err := rows.NewOrder(keys, sample.Columns())
		if err != nil {
			return err
		}
		for i := range out {
			out[i] = uint32(order.Compare(i, 0) + 1)
		}
		return nil
	})
	return d, err
}

// scatter deals the rows of a buffer out to so many parts.
func (c *cutter) scatter(b *spill.Buffer, n int, part func(keys []arrow.Array, out []uint32) error) ([]*spill.Buffer, error) {
	parts := c.area.NewPartitions(b.Schema(), n)
	var to []uint32
	for batch, err := range b.Batches() {
		if err == nil {
			err = c.ctx.Err()
		}
		if err == nil {
			to = slices.Grow(to[:0], int(batch.NumRows()))[:batch.NumRows()]
			err = part(pick(batch, c.key), to)
		}
		if err == nil {
			err = parts.Append(batch, to)
		}
		if err != nil {
			parts.Close()
			return nil, err
		}
	}
	out := make([]*spill.Buffer, n)
	for i := range out {
		out[i] = parts.Partition(i)
	}
	return out, nil
}
